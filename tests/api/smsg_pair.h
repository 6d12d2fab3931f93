/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The tests of short messages: a connection of two ranks. */
#ifndef JACQUARD_TESTS_API_SMSG_PAIR_H
#define JACQUARD_TESTS_API_SMSG_PAIR_H

#include "fixture.h"
#include <stdlib.h>
#include <string.h>
#include "engine/ledger.h"
#include "nic/interface.h"
#include "nic/mem_handle.h"

/* How the mailboxes of a connection are made. */
struct shape {
    gni_smsg_type_t type;
    uint16_t credits;
    uint32_t bytes;
    uint32_t extra; /* of the buffer, beyond what is needed */
    uint32_t offset; /* of the mailbox in its buffer */
    bool no_events; /* the registration has no queue */
    bool no_init; /* GNI_SmsgInit is left to the test */
    bool vmdh; /* the registration lies in the MDD block */
};

/* One rank's side of a connection. */
struct link {
    struct domain domain;
    gni_ep_handle_t ep;
    uint32_t peer;
    uint8_t *memory;
    uint32_t bytes;
    gni_smsg_attr_t mine, theirs;
};

void link_open(struct rank *rank, struct link *link, const struct shape *shape);

void link_close(struct rank *rank, struct link *link);

/* Sends, waiting for room; returns how often there was none. */
uint32_t send_message(struct link *link, void *data, uint32_t bytes, uint32_t id);

/* Waits for the next message; the caller releases it. */
void *get_message(struct link *link);

/* Waits for the event of the message that was sent with this id. */
void sent(struct link *link, uint32_t id);

/* Reads events until the queue is empty. */
void drain(gni_cq_handle_t cq);

extern const struct shape mbox;

extern const struct shape safe;

/* Sends messages until there is no credit; returns how many were sent. */
uint32_t fill(struct link *link, uint32_t bytes);

#endif
