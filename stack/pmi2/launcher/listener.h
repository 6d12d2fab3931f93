/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The port to which the servers below connect (auth_listener.h), and its addresses, which they
 * receive.
 */
#ifndef JACQUARD_PMRUN_LISTENER_H
#define JACQUARD_PMRUN_LISTENER_H

#include "tree.h"

struct pmrun_listener;
struct pmrun_listener_config {
    struct pmrun_io *io;
    const uint8_t *key;
    gboolean remote; /* not only from this machine */
    const char *iface, *localhost;
    /* A server has authenticated for nodes [first, last); FALSE: it is not expected. */
    gboolean (*proven)(void *owner, uint32_t first, uint32_t last);
    void (*connected)(void *owner, uint32_t first); /* its link is there */
    void (*refused)(void *owner, const char *why);
    void *owner;
};
/* NULL: *error. */
struct pmrun_listener *pmrun_listener_new(const struct pmrun_listener_config *config,
                                          GError **error);
const char *pmrun_listener_addresses(const struct pmrun_listener *listener); /* words `host:port` */
void pmrun_listener_close(struct pmrun_listener *listener);

#endif
