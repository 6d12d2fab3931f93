/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "acceptor.h"

#include <assert.h>

#include "tcp.h"

#define ACCEPT_AT_ONCE 32u

static void accept_next(struct pmrun_acceptor *acceptor)
{
    assert(!acceptor->held && acceptor->accepted < ACCEPT_AT_ONCE);
    acceptor->accepted++;
    acceptor->came(acceptor->owner);
}

/* libuv accepts no further one before this one was taken. */
static void next_turn(uv_idle_t *turn)
{
    struct pmrun_acceptor *acceptor = turn->data;

    acceptor->accepted = 0;
    if (!acceptor->held) {
        uv_idle_stop(turn);
        return;
    }
    acceptor->held = FALSE;
    accept_next(acceptor);
}

static void connection_pending(uv_stream_t *listener, int status)
{
    struct pmrun_acceptor *acceptor = listener->data;

    if (status != 0)
        return;
    uv_idle_start(&acceptor->turn, next_turn);
    if (acceptor->accepted == ACCEPT_AT_ONCE)
        acceptor->held = TRUE;
    else
        accept_next(acceptor);
}

int pmrun_acceptor_open(struct pmrun_acceptor *acceptor, uv_loop_t *loop, int fd,
                        void (*came)(void *owner), void *owner)
{
    int code;

    *acceptor = (struct pmrun_acceptor){.came = came, .owner = owner, .handles = 2};
    uv_tcp_init(loop, &acceptor->listener);
    uv_idle_init(loop, &acceptor->turn);
    acceptor->listener.data = acceptor->turn.data = acceptor;
    code = uv_tcp_open(&acceptor->listener, fd);
    return code != 0 ? code
                     : uv_listen((uv_stream_t *)&acceptor->listener, PMRUN_TCP_BACKLOG,
                                 connection_pending);
}

gboolean pmrun_acceptor_accept(struct pmrun_acceptor *acceptor, uv_tcp_t *stream)
{
    return uv_accept((uv_stream_t *)&acceptor->listener, (uv_stream_t *)stream) == 0 &&
           uv_tcp_nodelay(stream, 1) == 0;
}

static void handle_closed(uv_handle_t *handle)
{
    struct pmrun_acceptor *acceptor = handle->data;

    assert(acceptor->handles > 0);
    if (--acceptor->handles == 0)
        acceptor->closed(acceptor->owner);
}

void pmrun_acceptor_close(struct pmrun_acceptor *acceptor, void (*closed)(void *owner))
{
    acceptor->closed = closed;
    uv_close((uv_handle_t *)&acceptor->listener, handle_closed);
    uv_close((uv_handle_t *)&acceptor->turn, handle_closed);
}
