/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

struct pmrun_input {
    char job[64];
    uint32_t rank;
    void (*give)(void *owner, const char *job, uint32_t rank, const void *bytes, gsize length);
    void *owner;
    int fd;
    gboolean polled, begun, ended;
    uv_poll_t poll;
    uv_idle_t idle; /* of a file, which cannot be polled */
    char bytes[32u << 10];
};

static void wait_for(struct pmrun_input *input, gboolean wait);

static void read_some(struct pmrun_input *input)
{
    ssize_t got = read(input->fd, input->bytes, sizeof(input->bytes));

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    wait_for(input, FALSE);
    if (got < 0 && errno == EIO && isatty(input->fd)) /* in the background: until SIGCONT */
        return;
    input->ended = got <= 0;
    input->give(input->owner, input->job, input->rank, input->bytes, got > 0 ? (gsize)got : 0);
}

static void readable(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    read_some(poll->data);
}

static void turn(uv_idle_t *idle)
{
    read_some(idle->data);
}

static void wait_for(struct pmrun_input *input, gboolean wait)
{
    if (input->polled && wait)
        uv_poll_start(&input->poll, UV_READABLE, readable);
    else if (input->polled)
        uv_poll_stop(&input->poll);
    else if (wait)
        uv_idle_start(&input->idle, turn);
    else
        uv_idle_stop(&input->idle);
}

void pmrun_input_resume(struct pmrun_input *input)
{
    if (input != NULL && input->begun && !input->ended)
        wait_for(input, TRUE);
}

void pmrun_input_begin(struct pmrun_input *input, const char *job, uint32_t rank)
{
    if (input == NULL || input->rank != rank || strcmp(input->job, job) != 0)
        return;
    input->begun = TRUE;
    pmrun_input_resume(input);
}

struct pmrun_input *pmrun_input_new(uv_loop_t *loop, const char *job, uint32_t rank,
                                    void (*give)(void *owner, const char *job, uint32_t rank,
                                                 const void *bytes, gsize length),
                                    void *owner)
{
    struct pmrun_input *input = g_new0(struct pmrun_input, 1);
    int again = -1;

    g_strlcpy(input->job, job, sizeof(input->job));
    input->rank = rank;
    input->give = give;
    input->owner = owner;
    /* Other processes that share the descriptor do not expect it to become non-blocking. */
    if (lseek(0, 0, SEEK_CUR) < 0 && errno == ESPIPE)
        again = open("/proc/self/fd/0", O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    input->fd = again >= 0 ? again : 0;
    input->polled = again >= 0 && uv_poll_init(loop, &input->poll, again) == 0;
    uv_idle_init(loop, &input->idle);
    input->poll.data = input->idle.data = input;
    return input;
}

void pmrun_input_close(struct pmrun_input *input)
{
    if (input == NULL)
        return;
    input->ended = TRUE;
    if (input->polled)
        uv_close((uv_handle_t *)&input->poll, NULL);
    uv_close((uv_handle_t *)&input->idle, NULL);
}
