/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A tree of collective engines on the small machine: each node's first rank has a channel, of which
 * the ranks of the node are the first children; the channels form a tree of some radix.
 */
#ifndef JACQUARD_TESTS_API_CE_TREE_H
#define JACQUARD_TESTS_API_CE_TREE_H

#include "fixture.h"

struct tree { /* one rank's part of a tree */
    struct rank *rank;
    struct domain domain;
    uint32_t node, nodes, local, locals; /* of the machine and of the node */
    uint32_t radix;
    bool leads;
    gni_ce_handle_t ce; /* of the leader */
    uint32_t ce_id;
    gni_cq_handle_t events; /* of the engine */
    gni_ep_handle_t leaf; /* to post with */
    gni_mem_handle_t handle;
    gni_post_descriptor_t descr; /* of the last join */
    gni_ce_result_t *result; /* of it */
};

/* modes: GNI_CE_MODE_; radix: of the tree of channels. Ends with a barrier. */
void tree_open(struct rank *rank, struct tree *tree, uint32_t radix, uint32_t modes);
/* The same in two steps: everything but GNI_CeConfigure, which is the leader's. */
void tree_prepare(struct rank *rank, struct tree *tree, uint32_t radix);
void tree_configure(struct tree *tree, uint32_t modes);
void tree_close(struct tree *tree); /* with a barrier */

/* An endpoint of the rank's own to a rank, with attributes. */
gni_ep_handle_t tree_ep(struct tree *tree, uint32_t peer, uint32_t ce_id, uint32_t child_id,
                        gni_ce_child_t type);

/* Describes a join with GLOBAL_EVENT. Its result goes to place `slot` of 64, which is cleared. */
void tree_describe(struct tree *tree, uint32_t slot, gni_ce_cmd_type_t command, uint32_t mode,
                   uint64_t reduction_id, uint64_t first, uint64_t second);
void tree_post(struct tree *tree); /* posts the described join */
gni_return_t tree_wait(struct tree *tree); /* of the last post: polls until there is a result */
/* All in one; the post must be a good one. */
gni_return_t tree_reduce(struct tree *tree, gni_ce_cmd_type_t command, uint32_t mode,
                         uint64_t reduction_id, uint64_t first, uint64_t second);

#endif
