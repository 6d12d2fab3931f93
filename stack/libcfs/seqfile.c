/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Files whose text is made record by record, from the place that the reader has reached. */
#include "kernel.h"

#include <stdarg.h>

static void full(struct seq_file *m)
{
    m->count = m->size;
}

int libcfs_seq_write(struct seq_file *m, const void *data, size_t bytes)
{
    if (m->count + bytes >= m->size) {
        full(m);
        return -1;
    }
    memcpy(m->buf + m->count, data, bytes);
    m->count += bytes;
    return 0;
}

void libcfs_seq_vprintf(struct seq_file *m, const char *format, va_list arguments)
{
    int length;

    if (m->count >= m->size)
        return;
    length = libcfs_vsnprintf(m->buf + m->count, m->size - m->count, format, arguments);
    if (length < 0 || m->count + (size_t)length >= m->size)
        full(m);
    else
        m->count += (size_t)length;
}

void libcfs_seq_printf(struct seq_file *m, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    libcfs_seq_vprintf(m, format, arguments);
    va_end(arguments);
}

void libcfs_seq_escape(struct seq_file *m, const char *text, const char *escaped)
{
    for (; *text != '\0'; text++) {
        if (strchr(escaped, *text) != NULL)
            libcfs_seq_printf(m, "\\%03o", (unsigned char)*text);
        else
            seq_putc(m, *text);
    }
}

/* ---- opening --------------------------------------------------------------------------------- */

int libcfs_seq_open(struct file *file, const struct seq_operations *operations, size_t bytes)
{
    struct seq_file *m = calloc(1, sizeof(*m));

    if (m == NULL)
        return -ENOMEM;
    mutex_init(&m->lock);
    m->op = operations;
    m->file = file;
    if (bytes > 0) {
        m->private = calloc(1, bytes);
        if (m->private == NULL) {
            free(m);
            return -ENOMEM;
        }
    }
    file->private_data = m;
    return 0;
}

static void *single_start(struct seq_file *m, loff_t *position)
{
    (void)m;
    return *position == 0 ? SEQ_START_TOKEN : NULL;
}
static void *single_next(struct seq_file *m, void *record, loff_t *position)
{
    (void)m, (void)record;
    ++*position;
    return NULL;
}
static void single_stop(struct seq_file *m, void *record)
{
    (void)m, (void)record;
}

int libcfs_seq_single(struct file *file, int (*show)(struct seq_file *m, void *unused), void *data,
                      size_t size)
{
    struct seq_operations *operations = malloc(sizeof(*operations));
    struct seq_file *m;
    int rc = operations == NULL ? -ENOMEM : 0;

    if (rc == 0) {
        *operations = (struct seq_operations){single_start, single_stop, single_next, show};
        rc = libcfs_seq_open(file, operations, 0);
    }
    if (rc != 0) {
        free(operations);
        return rc;
    }
    m = file->private_data;
    m->private = data;
    if (size > 0) {
        m->buf = malloc(size);
        m->size = m->buf != NULL ? size : 0;
    }
    return 0;
}

int libcfs_seq_release(struct file *file, bool own_data, bool own_operations)
{
    struct seq_file *m = file->private_data;

    if (own_data)
        free(m->private);
    if (own_operations)
        free((void *)(uintptr_t)m->op);
    free(m->buf);
    free(m);
    file->private_data = NULL;
    return 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool buffer_grow(struct seq_file *m)
{
    size_t size = m->size > 0 ? 2 * m->size : PAGE_SIZE;
    char *buffer = malloc(size);

    if (buffer == NULL)
        return false;
    free(m->buf);
    m->buf = buffer;
    m->size = size;
    m->count = 0;
    return true;
}

/* Records from m->index on, until there are `wanted` bytes or the buffer is full. 0 or an error. */
static int fill(struct seq_file *m, size_t wanted)
{
    loff_t index = m->index;
    void *record;
    size_t before;
    int rc = 0;

    if (m->size == 0 && !buffer_grow(m))
        return -ENOMEM;
    m->from = m->count = 0;
    record = m->op->start(m, &index);
    while (record != NULL && !IS_ERR(record)) {
        before = m->count;
        rc = m->op->show(m, record);
        if (rc != 0)
            m->count = before; /* an error, or SEQ_SKIP */
        if (rc < 0)
            break;
        if (m->count == m->size && before > 0) { /* it begins the next text */
            m->count = before;
            break;
        }
        if (m->count == m->size) { /* the first record needs a larger buffer */
            m->op->stop(m, record);
            if (!buffer_grow(m))
                return -ENOMEM;
            index = m->index;
            record = m->op->start(m, &index);
            continue;
        }
        record = m->op->next(m, record, &index);
        m->index = index;
        if (m->count >= wanted)
            break;
    }
    if (IS_ERR(record))
        rc = (int)PTR_ERR(record);
    m->op->stop(m, record);
    return rc < 0 && m->count == 0 ? rc : 0;
}

ssize_t libcfs_seq_read(struct file *file, char __user *buffer, size_t bytes, loff_t *position)
{
    struct seq_file *m = file->private_data;
    ssize_t got = 0;
    int rc = 0;

    mutex_lock(&m->lock);
    if (*position == 0) {
        m->index = 0;
        m->from = m->count = 0;
    }
    while (bytes > 0 && rc == 0) {
        size_t n = m->count - m->from < bytes ? m->count - m->from : bytes;

        if (n == 0) {
            rc = fill(m, bytes);
            if (rc == 0 && m->count == 0)
                break;
            continue;
        }
        memcpy(buffer + got, m->buf + m->from, n);
        m->from += n;
        got += (ssize_t)n;
        bytes -= n;
    }
    mutex_unlock(&m->lock);
    *position += got;
    return got > 0 ? got : rc;
}

/* To the beginning, or to a place that reading reaches. */
loff_t libcfs_seq_seek(struct file *file, loff_t offset, int whence)
{
    struct seq_file *m = file->private_data;
    char skipped[256];
    ssize_t n;

    offset += whence == SEEK_CUR ? file->f_pos : 0;
    if ((whence != SEEK_SET && whence != SEEK_CUR) || offset < 0)
        return -EINVAL;
    m->index = 0;
    m->from = m->count = 0;
    for (file->f_pos = 0; file->f_pos < offset;) {
        size_t left = (size_t)(offset - file->f_pos);

        n = libcfs_seq_read(file, skipped, left < sizeof(skipped) ? left : sizeof(skipped),
                            &file->f_pos);
        if (n <= 0)
            return n < 0 ? n : -EINVAL;
    }
    return file->f_pos;
}
