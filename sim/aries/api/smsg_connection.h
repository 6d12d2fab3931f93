/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* An SMSG connection of an endpoint: the types and functions that the files smsg*.c share. */
#ifndef JACQUARD_ARIES_SMSG_CONNECTION_H
#define JACQUARD_ARIES_SMSG_CONNECTION_H

#include "api/front.h"
#include "api/smsg.h"

/* Result of aries_smsg_find_room(): the message fits nowhere. */
#define ARIES_SMSG_NO_ROOM UINT32_MAX

/* Mark of a slot: its transaction has not ended without error yet. */
#define ARIES_SMSG_IN_FLIGHT 0x8000u
#define ARIES_SMSG_EPOCHS 64u /* number of values of gni_ep.epoch */

/*
 * A copy of a message whose bytes the NIC may need again: of a long one until it has been sent,
 * and with MBOX_AUTO_RETRANSMIT of every one until it has arrived. Endpoints share the copies,
 * because most endpoints of most programs are idle.
 */
struct aries_smsg_copy {
    struct aries_smsg_copy *next; /* next free copy */
    uint32_t number;
    uint32_t offset, bytes; /* of the record in the ring */
    uint16_t attempts;
    uint16_t class; /* size class */
    uint64_t record[];
};

enum aries_smsg_record_state { ARIES_SMSG_ABSENT, ARIES_SMSG_PRESENT, ARIES_SMSG_DAMAGED };

/* Multiplies each word by an odd number of its own, so that no step waits for the previous one. */
static inline uint32_t aries_smsg_record_checksum(const struct aries_smsg_record *record)
{
    const uint8_t *at = (const uint8_t *)(record + 1);
    uint32_t left = record->length;
    uint64_t word, sum, odd = 1;

    memcpy(&word, record, sizeof(word));
    sum = word ^ (uint64_t)record->returned << 17;
    for (; left >= 8; left -= 8, at += 8) {
        memcpy(&word, at, 8);
        sum += word * (odd += 2);
    }
    if (left != 0) {
        word = 0;
        memcpy(&word, at, left);
        sum += word * (odd + 2);
    }
    return (uint32_t)(sum * 0x9e3779b97f4a7c15ull >> 32);
}

/* smsg_copy.c */
/* NULL: no memory. */
struct aries_smsg_copy *aries_smsg_copy_new(struct aries_fabric *fabric, uint32_t bytes);

/* smsg.c */
/* Describes the wait in the deadlock report. */
void aries_smsg_describe(const void *what, char *buffer, size_t size);

/* smsg_receive.c */
/*
 * Finds record `number`: behind the records that end at `read_at`, or at one of the places where
 * the sender may have started again. *offset is its place.
 */
enum aries_smsg_record_state aries_smsg_find_record(struct gni_ep *ep, uint32_t read_at,
                                                    uint32_t number, uint32_t *offset);
/* Size of the current message in the ring. */
uint32_t aries_smsg_current_span(const struct gni_ep *ep);

/* smsg_credit.c */
/* Reads the credits in the control block and in the messages that have arrived. */
void aries_smsg_note_arrived(struct gni_ep *ep);
/*
 * The offset at which a record of `bytes` fits now, and in *span the space that it takes.
 * ARIES_SMSG_NO_ROOM: it fits nowhere.
 */
uint32_t aries_smsg_find_room(const struct gni_ep *ep, uint32_t bytes, uint32_t *span);
/*
 * Looks for credits, cheapest source first: the last message read, the control block if few
 * credits are left, then messages that are not read yet.
 */
bool aries_smsg_can_send(const void *what);
/*
 * Reports the released messages by a PUT into the peer's control block. It is sent in order,
 * because an older count must not arrive last.
 */
void aries_smsg_return_credits(struct gni_ep *ep);

#endif
