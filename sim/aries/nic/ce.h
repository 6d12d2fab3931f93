/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The collective engine: the interface of a channel (VCE) for its calls (api/ce.c), ce_channel.c,
 * sim/ and live/. A channel is one node of a tree. Its children are processes, which join by a
 * post, and channels of other NICs. Joins go up, the root combines them, and results go down.
 */
#ifndef JACQUARD_ARIES_CE_H
#define JACQUARD_ARIES_CE_H

#include "nic/interface.h"

#define ARIES_CE_POST_MODES                                                          \
    ((uint32_t)(GNI_CEMODE_TWO_OP | GNI_CEMODE_FPE_OP_INVAL | GNI_CEMODE_FPE_OFLOW | \
                GNI_CEMODE_FPE_UFLOW | GNI_CEMODE_FPE_PRECISION))

/* TRANS_TYPE of a channel's events. */
enum aries_ce_transaction {
    ARIES_CE_TRANS_NONE = 0, /* a reduction of this channel is complete */
    ARIES_CE_TRANS_JOIN = 1, /* joining the parent failed */
    ARIES_CE_TRANS_RESULT = 2 /* sending the result to a child failed */
};

struct aries_ce_member { /* a child of a channel, or its parent */
    struct aries_nic *nic; /* NULL: there is no such node */
    uint8_t child_id; /* number of the child at its parent */
    uint8_t type; /* gni_ce_child_t; parent: GNI_CE_CHILD_UNUSED when there is none */
    uint8_t ce_id; /* of a channel */
};

/* A channel's place in its tree. */
struct aries_ce_config {
    struct aries_ce_member children[GNI_CE_MAX_CHILDREN], parent;
    uint32_t children_count;
    uint32_t modes; /* GNI_CE_MODE_, one of each group */
    uint8_t ptag; /* tag of the requests that it accepts and sends */
    struct gni_cq *cq;
};

/* An event that will be pushed into a queue, or the context of a channel's transaction. */
struct aries_ce_note {
    struct sim_event event; /* first */
    struct aries_vce *vce;
    struct gni_cq *cq;
    gni_cq_entry_t entry;
    uint32_t configuration, round;
    uint64_t reduction_id;
    enum aries_ce_transaction kind;
    uint8_t ptag;
};

/* Sets a channel's place in its tree. NULL removes it from the tree. */
void aries_ce_configure(struct aries_nic *nic, uint32_t ce_id,
                        const struct aries_ce_config *config);
/*
 * Handles a packet that has arrived at a NIC: ARIES_CE_JOIN or ARIES_CE_RESULT. Returns 0, or the
 * status of the refusal. The caller has checked the header with aries_ce_header_valid().
 */
uint8_t aries_ce_accept_join(struct aries_nic *nic, struct aries_nic *source,
                             const struct aries_work *work);
uint8_t aries_ce_accept_result(struct aries_nic *nic, const struct aries_nic *source,
                               const struct aries_work *work);
bool aries_ce_header_valid(const struct aries_ce_header *header);
/* Whether so many packets of the channel are in flight that it should accept no more now. */
bool aries_ce_congested(const struct aries_nic *nic, uint32_t ce_id);

#endif
