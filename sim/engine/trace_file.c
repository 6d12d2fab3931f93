/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "trace_internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFER_BYTES ((size_t)1 << 18)

bool sim_trace_file_open(struct sim_trace_file *file, const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

    if (fd < 0)
        return false;
    *file = (struct sim_trace_file){.fd = fd, .capacity = BUFFER_BYTES};
    file->path = strdup(path);
    file->buffer = malloc(file->capacity);
    if (file->path == NULL || file->buffer == NULL)
        abort();
    return true;
}

void sim_trace_file_flush(struct sim_trace_file *file)
{
    size_t done = 0;
    ssize_t written;

    while (done < file->used && file->error == 0) {
        written = write(file->fd, file->buffer + done, file->used - done);
        if (written > 0)
            done += (size_t)written;
        else if (written == 0)
            file->error = ENOSPC;
        else if (errno != EINTR)
            file->error = errno;
    }
    file->used = 0;
}

uint8_t *sim_trace_file_reserve(struct sim_trace_file *file, size_t bytes)
{
    assert(file->used <= file->capacity);
    if (bytes > file->capacity - file->used)
        sim_trace_file_flush(file);
    if (bytes > file->capacity) {
        file->capacity = bytes;
        file->buffer = realloc(file->buffer, bytes);
        if (file->buffer == NULL)
            abort();
    }
    assert(bytes <= file->capacity - file->used);
    return file->buffer + file->used;
}

int sim_trace_file_close(struct sim_trace_file *file)
{
    sim_trace_file_flush(file);
    return sim_trace_file_forget(file);
}

int sim_trace_file_forget(struct sim_trace_file *file)
{
    int error;

    if (close(file->fd) != 0 && file->error == 0)
        file->error = errno;
    error = file->error;
    free(file->path);
    free(file->buffer);
    *file = (struct sim_trace_file){.fd = -1};
    return error;
}

size_t sim_trace_put_varint(uint8_t *at, size_t value)
{
    size_t length = 0;

    for (; value >= 0x80; value >>= 7)
        at[length++] = (uint8_t)(value | 0x80);
    at[length++] = (uint8_t)value;
    return length;
}
