/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* An SMSG connection between two ranks. */
#ifndef JACQUARD_TESTS_SMSG_FRAME_H
#define JACQUARD_TESTS_SMSG_FRAME_H

#include "fixture.h"
#include "engine/ledger.h"
#include "nic/interface.h"
#include "nic/mem_handle.h"

struct shape {
    gni_smsg_type_t type;
    uint16_t credits;
    uint32_t bytes;
    uint32_t extra; /* bytes of the buffer beyond the size needed */
    uint32_t offset; /* of the mailbox in its buffer */
    bool no_events; /* the registration has no queue */
    bool no_init; /* GNI_SmsgInit is left to the test */
    bool vmdh; /* the registration lies in the MDD block */
};

struct link {
    struct domain domain;
    gni_ep_handle_t ep;
    uint32_t peer;
    uint8_t *memory;
    uint32_t bytes;
    gni_smsg_attr_t mine, theirs;
};

static const struct shape mbox = {.type = GNI_SMSG_TYPE_MBOX, .credits = 8, .bytes = 256};
static const struct shape safe = {
    .type = GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT, .credits = 8, .bytes = 256};

void link_open(struct rank *rank, struct link *link, const struct shape *shape);
void link_close(struct rank *rank, struct link *link);
/* Sends, waiting for room; returns how often there was none. */
uint32_t send_message(struct link *link, void *data, uint32_t bytes, uint32_t id);
void *get_message(struct link *link);
void sent(struct link *link, uint32_t id);
void drain(gni_cq_handle_t cq);
uint32_t fill(struct link *link, uint32_t bytes);

#endif
