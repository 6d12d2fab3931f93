/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Module parameters from a text, or from a file in the format of `lnetctl export`. */
#ifndef JACQUARD_LNET_EXPORT_H
#define JACQUARD_LNET_EXPORT_H

#include "lnet/node.h"

/* The networks of a file on this host. */
struct lnet_export_host {
    bool tcp_only; /* the NIDs of the file are addresses of this machine */
    const struct lnet_interface *interfaces; /* those that the file may name */
    uint32_t interface_count;
};

struct lnet_settings { /* all zero: empty */
    struct lnet_setting *settings; /* malloc'd, also the texts */
    uint32_t count;
    bool by_address; /* of lnet_export_read: they depend on the addresses of the host */
};

/* Names of settings that come from files only and may occur several times: a peer with its NIDs,
 * the primary one first, "multi-rail 10.0.0.1@tcp 10.1.0.1@o2ib"; and what the node warns of. */
#define LNET_SETTING_PEER "lnet.peer"
#define LNET_SETTING_WARNING "lnet.warning"

void lnet_settings_add(struct lnet_settings *config, const char *name, const char *value);
void lnet_settings_free(struct lnet_settings *config);
/*
 * Adds what a text says: name=value, separated by blanks, or lines as in the files of modprobe.
 * Blanks inside of quotes or brackets belong to the value. False: *error is malloc'd.
 */
bool lnet_options_read(struct lnet_settings *config, const char *text, char **error);
/*
 * Adds what the file says: networks, by address or not, tunables, routes, peers, routing, buffers,
 * global. False: *error is malloc'd, "FILE:LINE: ...". Counters and states that an export also
 * contains are skipped, and unknown sections with a warning of the node. On a
 * host whose addresses are given, NIDs of local NIs are skipped, and interfaces that it does not
 * have: the first one that suits the network takes their place.
 */
bool lnet_export_read(struct lnet_settings *config, const char *path,
                      const struct lnet_export_host *host, char **error);

#endif
