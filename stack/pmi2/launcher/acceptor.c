/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "acceptor.h"

#include <assert.h>

#include "tcp.h"

#define ACCEPT_AT_ONCE 32u

static void let_in(struct door *door)
{
    assert(!door->held && door->accepted < ACCEPT_AT_ONCE);
    door->accepted++;
    door->came(door->owner);
}

/* libuv accepts no further one before this one was taken. */
static void next_turn(uv_idle_t *turn)
{
    struct door *door = turn->data;

    door->accepted = 0;
    if (!door->held) {
        uv_idle_stop(turn);
        return;
    }
    door->held = FALSE;
    let_in(door);
}

static void knocked(uv_stream_t *listener, int status)
{
    struct door *door = listener->data;

    if (status != 0)
        return;
    uv_idle_start(&door->turn, next_turn);
    if (door->accepted == ACCEPT_AT_ONCE)
        door->held = TRUE;
    else
        let_in(door);
}

int pmrun_acceptor_open(struct door *door, uv_loop_t *loop, int fd, void (*came)(void *owner),
                        void *owner)
{
    int code;

    *door = (struct door){.came = came, .owner = owner, .handles = 2};
    uv_tcp_init(loop, &door->listener);
    uv_idle_init(loop, &door->turn);
    door->listener.data = door->turn.data = door;
    code = uv_tcp_open(&door->listener, fd);
    return code != 0 ? code : uv_listen((uv_stream_t *)&door->listener, TCP_BACKLOG, knocked);
}

gboolean pmrun_acceptor_accept(struct door *door, uv_tcp_t *stream)
{
    return uv_accept((uv_stream_t *)&door->listener, (uv_stream_t *)stream) == 0 &&
           uv_tcp_nodelay(stream, 1) == 0;
}

static void handle_closed(uv_handle_t *handle)
{
    struct door *door = handle->data;

    assert(door->handles > 0);
    if (--door->handles == 0)
        door->closed(door->owner);
}

void pmrun_acceptor_close(struct door *door, void (*closed)(void *owner))
{
    door->closed = closed;
    uv_close((uv_handle_t *)&door->listener, handle_closed);
    uv_close((uv_handle_t *)&door->turn, handle_closed);
}
