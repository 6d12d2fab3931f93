/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A listening port that admits clients that know a key (proof.h). A client has 5 s to prove it. At
 * most 16 connections of one user of this machine, or of another machine, may be unauthenticated; a
 * further one closes the oldest of the same user or machine, so no user can block another one. A
 * wrong proof closes the connection and has no other effect.
 */
#ifndef JACQUARD_PMRUN_AUTH_LISTENER_H
#define JACQUARD_PMRUN_AUTH_LISTENER_H

#include "acceptor.h"
#include "proof.h"

struct pmrun_auth_listener_config {
    uv_loop_t *loop;
    const uint8_t *key;
    const struct pmrun_proof_kind *kind;
    /* Make the stream for a connection that is accepted; free it if the connection closes
     * unauthenticated.
     */
    uv_tcp_t *(*stream_new)(void *owner);
    void (*stream_free)(void *owner, uv_tcp_t *stream);
    /* The proof is right. Returns NULL, or the reason to refuse the connection all the same. */
    const char *(*wanted)(void *owner, const struct pmrun_proof_hello *hello);
    /* The owner has the stream from now on; `rest` arrived after the proof. */
    void (*enters)(void *owner, const struct pmrun_proof_hello *hello, uv_tcp_t *stream,
                   const char *rest, gsize length);
    void (*refused)(void *owner, const char *why);
    void (*closed)(void *owner); /* after pmrun_auth_listener_close(): the listener may be freed */
    void *owner;
};
struct pmrun_auth_listener {
    struct pmrun_auth_listener_config config;
    struct pmrun_acceptor acceptor;
    GPtrArray *unauthenticated; /* oldest first */
    guint users;
};

/* Takes a socket of pmrun_tcp_listen(). 0, or libuv's code; to be closed in both cases. */
int pmrun_auth_listener_open(struct pmrun_auth_listener *auth,
                             const struct pmrun_auth_listener_config *config, int fd);
void pmrun_auth_listener_close(struct pmrun_auth_listener *auth);

#endif
