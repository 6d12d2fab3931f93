/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Module parameters from a file in the format of `lnetctl export`. */
#ifndef JACQUARD_LNET_EXPORT_H
#define JACQUARD_LNET_EXPORT_H

#include "lnet/node.h"

/* The networks of a file on this host. */
struct lnet_export_host {
    bool tcp_only; /* the NIDs of the file are addresses of this machine */
    const struct lnet_interface *interfaces; /* else: those that the file may name */
    uint32_t interface_count;
};

struct lnet_settings { /* all zero: empty */
    struct lnet_setting *settings; /* malloc'd, also the texts */
    uint32_t count;
};

void lnet_settings_add(struct lnet_settings *config, const char *name, const char *value);
void lnet_settings_free(struct lnet_settings *config);
/*
 * Adds what the file says: networks, tunables, routes, routing, buffers, global. False: *error is
 * malloc'd, "FILE:LINE: ...". Counters and states that an export also contains are skipped. On a
 * host whose addresses are given, NIDs of local NIs are skipped, and interfaces that it does not
 * have: the first one that suits the network takes their place.
 */
bool lnet_export_read(struct lnet_settings *config, const char *path,
                      const struct lnet_export_host *host, char **error);

#endif
