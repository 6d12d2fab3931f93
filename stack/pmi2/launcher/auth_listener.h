/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A port that lets in who proves to know a key (proof.h). Whoever connects has 5 s for that. At
 * most 16 connections of one user of this machine, or of another machine, have yet to do it; a
 * further one closes the oldest of the same user or machine. So nobody keeps another user waiting.
 * A wrong proof closes the connection, and that is all.
 */
#ifndef JACQUARD_PMRUN_AUTH_LISTENER_H
#define JACQUARD_PMRUN_AUTH_LISTENER_H

#include "acceptor.h"
#include "proof.h"

struct pmrun_auth_listener_config {
    uv_loop_t *loop;
    const uint8_t *key;
    const struct pmrun_proof_kind *kind;
    /* For a connection that is about to be accepted; and when it is closed without having proven.
     */
    uv_tcp_t *(*stream_new)(void *owner);
    void (*stream_free)(void *owner, uv_tcp_t *stream);
    /* The proof is right: NULL, or why it is not wanted all the same. */
    const char *(*wanted)(void *owner, const struct pmrun_proof_hello *hello);
    /* The stream is the owner's from now on; `rest` came behind the proof. */
    void (*enters)(void *owner, const struct pmrun_proof_hello *hello, uv_tcp_t *stream,
                   const char *rest, gsize length);
    void (*refused)(void *owner, const char *why);
    void (*closed)(void *owner); /* after pmrun_auth_listener_close(): the gate may be freed */
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
