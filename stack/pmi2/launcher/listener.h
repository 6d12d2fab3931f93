/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where the servers below connect. Whoever connects has 5 s to prove that it knows the key. At most
 * 16 connections of one user of this machine, or of another machine, have yet to do that; a further
 * one closes the oldest of the same user or machine. So nobody keeps a server of another user
 * waiting. A wrong proof closes the connection, and that is all.
 */
#ifndef JACQUARD_PMRUN_LISTENER_H
#define JACQUARD_PMRUN_LISTENER_H

#include "tree.h"

struct listener;
struct listener_config {
    struct shell *shell;
    const uint8_t *key;
    gboolean remote; /* not only from this machine */
    const char *iface, *localhost;
    /* A server has proven to be that of nodes [first, last); FALSE: it is not wanted. */
    gboolean (*proven)(void *owner, uint32_t first, uint32_t last);
    void (*connected)(void *owner, uint32_t first); /* its link is there */
    void (*refused)(void *owner, const char *why);
    void *owner;
};
/* NULL: *error. */
struct listener *listener_new(const struct listener_config *config, GError **error);
const char *listener_addresses(const struct listener *listener); /* words `host:port` */
void listener_close(struct listener *listener);

#endif
