/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A listening socket on an event loop. It accepts a limited number of connections in one turn of
 * the loop, so a client that connects again and again cannot starve other work.
 */
#ifndef JACQUARD_PMRUN_ACCEPTOR_H
#define JACQUARD_PMRUN_ACCEPTOR_H

#include <glib.h>
#include <uv.h>

struct pmrun_acceptor {
    uv_tcp_t listener;
    uv_idle_t turn; /* active in turns in which something was accepted */
    guint accepted, handles;
    gboolean held; /* one waits for the next turn */
    void (*came)(void *owner); /* calls pmrun_acceptor_accept() */
    void (*closed)(void *owner);
    void *owner;
};

/* Takes a socket of pmrun_tcp_listen(); 0, or libuv's code. To be closed in both cases. */
int pmrun_acceptor_open(struct pmrun_acceptor *acceptor, uv_loop_t *loop, int fd,
                        void (*came)(void *owner), void *owner);
/* The connection that came, as a stream that was initialised. */
gboolean pmrun_acceptor_accept(struct pmrun_acceptor *acceptor, uv_tcp_t *stream);
void pmrun_acceptor_close(struct pmrun_acceptor *acceptor,
                          void (*closed)(void *owner)); /* closed: it may be freed */

#endif
