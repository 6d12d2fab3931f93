/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Module parameters from a file in the format of `lnetctl export`. */
#ifndef JACQUARD_LNET_LIVE_CONFIG_H
#define JACQUARD_LNET_LIVE_CONFIG_H

#include "lnet/node.h"

struct lnet_live_config { /* all zero: empty */
    struct lnet_setting *settings; /* malloc'd, also the texts */
    uint32_t count;
};

void lnet_live_config_add(struct lnet_live_config *config, const char *name, const char *value);
void lnet_live_config_free(struct lnet_live_config *config);
/*
 * Adds what the file says: networks, tunables, routes, routing, buffers, global. False: *error is
 * malloc'd, "FILE:LINE: ...". Counters and states that an export also contains are skipped.
 */
bool lnet_live_config_read(struct lnet_live_config *config, const char *path, char **error);

#endif
