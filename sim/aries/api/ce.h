/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Handles of the collective engine and the post of a join. */
#ifndef JACQUARD_ARIES_API_CE_H
#define JACQUARD_ARIES_API_CE_H

#include "api/post.h"
#include "nic/ce.h"

struct gni_ce {
    uint32_t magic;
    uint32_t id; /* number of the channel in its NIC */
    struct gni_nic *nic;
    struct gni_cq *cq; /* takes its events; NULL: none; holds a reference */
    struct aries_list nic_link; /* nic->ces */
};

/* Checks the post of a join and launches it. */
gni_return_t aries_ce_post(struct aries_post *post);

#endif
