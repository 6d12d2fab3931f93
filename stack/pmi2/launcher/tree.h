/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The servers below one: pmrun and each pmproxy start a pmproxy on the first host of each part of
 * their further hosts, and that one starts those of its part. The key and all else a pmproxy needs
 * comes through its standard input; it connects back by TCP, both sides prove to know the key, and
 * only then is the connection a link of the PMI tree.
 */
#ifndef JACQUARD_PMRUN_TREE_H
#define JACQUARD_PMRUN_TREE_H

#include "hosts.h"
#include "io.h"

#define PMRUN_TREE_KEY_BYTES 32

struct pmrun_tree_config {
    struct pmrun_io *io;
    const uint8_t *key;
    const GPtrArray *hosts; /* of nodes 0, 1, … */
    uint32_t first, last; /* nodes that are below this server */
    uint32_t fanout, max_spawned;
    const char *launcher, *launcher_exec, *iface, *localhost; /* options; NULL: not given */
    gboolean verbose;
};
struct pmrun_tree_events {
    void (*ready)(void *owner); /* all servers below are connected */
    void (*failed)(void *owner, const char *text); /* they will not be */
    void (*explain)(void *owner, const char *text);
};
struct pmrun_tree;
struct pmrun_tree *pmrun_tree_new(const struct pmrun_tree_config *config,
                                  const struct pmrun_tree_events *events, void *owner);
void pmrun_tree_lost(struct pmrun_tree *tree,
                     uint32_t first); /* PMI2_ACTION_TREE_LOST; NULL: nothing */
void pmrun_tree_close(struct pmrun_tree *tree); /* NULL: nothing */
void pmrun_tree_free(struct pmrun_tree *tree); /* after a turn of the loop */
/* The key of clients, derived from that of the tree, which they do not get. */
void pmrun_tree_client_key(const uint8_t *key, uint8_t *client_key);

#endif
