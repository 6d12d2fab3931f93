/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The settings that a pmproxy reads from its standard input. They contain the key, so they are
 * never on a command line or in the environment. */
#ifndef JACQUARD_PMRUN_PROXY_SETUP_H
#define JACQUARD_PMRUN_PROXY_SETUP_H

#include "tree.h"

struct pmrun_proxy_setup {
    uint8_t key[PMRUN_TREE_KEY_BYTES];
    uint32_t first, last, fanout, max_spawned;
    GPtrArray *hosts; /* of nodes 0 to last; those before first are not filled in */
    char *above; /* where to connect: words `host:port` */
    char *launcher, *launcher_exec, *iface, *localhost;
    gboolean verbose;
};
/* For the pmproxy of nodes [first, last). */
GByteArray *pmrun_proxy_setup_write(const struct pmrun_tree_config *config, uint32_t first,
                                    uint32_t last, const char *above);
/* Reads all of them from a descriptor. FALSE: it ended before, or they are malformed. */
gboolean pmrun_proxy_setup_read(int fd, struct pmrun_proxy_setup *setup);
void pmrun_proxy_setup_clear(struct pmrun_proxy_setup *setup);
/* Connects to the server above and authenticates; blocks for some seconds at most. Returns the
 * descriptor, or -1. */
int pmrun_proxy_setup_connect(const struct pmrun_proxy_setup *setup);

#endif
