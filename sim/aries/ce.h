/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The collective engine: what front (ce.c) and back end (sim_ce.c) know of a channel, a VCE. It is
 * one node of a tree. Its children are processes, which join by a post, and channels of other
 * NICs; joins go up, the root combines, results go down.
 */
#ifndef JACQUARD_ARIES_CE_H
#define JACQUARD_ARIES_CE_H

#include "front.h"
#include "post.h"

/* TRANS_TYPE of a channel's events. */
enum aries_ce_transaction {
    ARIES_CE_TRANS_NONE = 0, /* a reduction is through this channel */
    ARIES_CE_TRANS_JOIN = 1, /* joining the parent failed */
    ARIES_CE_TRANS_RESULT = 2 /* handing the result to a child failed */
};

struct gni_ce {
    uint32_t magic;
    uint32_t id; /* of the NIC's channels */
    struct gni_nic *nic;
    struct gni_cq *cq; /* of its events; NULL: none. Referenced */
    struct aries_list nic_link; /* nic->ces */
};

struct aries_ce_member { /* a child of a channel, or its parent */
    struct aries_nic *nic; /* NULL: there is no such node */
    uint8_t child_id; /* by which the upper one knows the lower one */
    uint8_t type; /* gni_ce_child_t; parent: GNI_CE_CHILD_UNUSED when there is none */
    uint8_t ce_id; /* of a channel */
};

/* A channel's place in its tree. */
struct aries_ce_config {
    struct aries_ce_member children[GNI_CE_MAX_CHILDREN], parent;
    uint32_t children_count;
    uint32_t modes; /* GNI_CE_MODE_, one of each group */
    uint8_t ptag; /* what it accepts, and sends */
    struct gni_cq *cq;
};

/* The post of a join: checks, and launches it. */
gni_return_t aries_ce_post(struct post *post);
void aries_ce_release(struct gni_ce *ce); /* the handle dies */

#endif
