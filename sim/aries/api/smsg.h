/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What lies in an SMSG mailbox. Cray's layout is not public; this one is ours, and both ends of a
 * connection are ours. A mailbox belongs to the receiver of its messages:
 *
 *   0   control    how many messages of the other direction the peer has released; the peer writes
 *   16  byte ring  records, each at a multiple of 16 and never across the end; the peer writes
 *                  records, the owner clears them when it releases them
 *
 * No word is written by both roles, so that one mailbox can be local and remote at once (an
 * endpoint connected to itself).
 *
 * The owner finds record number n behind record n-1; at the start of the ring, when the sender had
 * no room there; or, when everything was released, at the ring's home. Free space is zero, the mark
 * is not, and a record counts when its sequence and checksum are right: so the order of arrival of
 * its pieces and of other records does not matter, and nothing depends on when GNI_SmsgInit was
 * called.
 *
 * Most connections carry a short message now and then, which goes to the home. Of a long ring that
 * is the start or a place near the end, by the mailbox's address: two neighbours, of which one
 * begins in the lower half of a page and the other one in the upper half, touch one page.
 */
#ifndef JACQUARD_ARIES_SMSG_H
#define JACQUARD_ARIES_SMSG_H

#include <stdint.h>
#include "nic/gni.h"

#define ARIES_SMSG_CONTROL_BYTES 16u
#define ARIES_SMSG_UNIT \
    16u /* alignment of records; they start at an address that is a multiple of 8 */
#define ARIES_SMSG_HOME_BYTES 1024u /* behind a home near the end */
#define ARIES_SMSG_LONG_RING 16384u
#define ARIES_SMSG_HALF_PAGE 2048u
#define ARIES_SMSG_MARK \
    0x5au /* in every record; + 1: the end of the ring was left empty before it */

struct aries_smsg_control {
    uint32_t returned; /* messages released by the peer so far, modulo 2^32 */
    uint32_t reserved;
};

/* Header of a record, 16 bytes: what the timing model counts per message. Header and data follow.
 */
struct aries_smsg_record {
    uint16_t length; /* header and data */
    uint8_t tag, mark;
    uint32_t sequence; /* number of the message in its direction, from 0, modulo 2^32 */
    uint32_t returned; /* as in the control block: credits that ride along */
    uint32_t checksum; /* of the fields above and the payload */
};
_Static_assert(sizeof(struct aries_smsg_record) == ARIES_SMSG_UNIT, "a record header is one unit");

/* Bytes of the ring that a message takes. */
static inline uint32_t aries_smsg_span(uint32_t length)
{
    return (ARIES_SMSG_UNIT + length + ARIES_SMSG_UNIT - 1) & ~(ARIES_SMSG_UNIT - 1);
}

/*
 * The largest message of a mailbox for messages of `maxsize` bytes: a mailbox is laid out in cache
 * lines, header included. GNI_SmsgSend keeps to maxsize, as its documentation says. That of
 * GNI_SmsgSendWTag names only GNI_SMSG_MAX_SIZE, and libfabric sends up to 31 bytes more than
 * maxsize with it (assumed: what fits in the lines of a full message is accepted).
 */
static inline uint32_t aries_smsg_message_max(uint32_t maxsize)
{
    uint32_t room = ((ARIES_SMSG_UNIT + maxsize + 63) & ~63u) - ARIES_SMSG_UNIT;

    return room < GNI_SMSG_MAX_SIZE ? room : GNI_SMSG_MAX_SIZE;
}

/* The place where a sender starts over when nothing is in the ring; of both sides' knowledge. */
static inline uint32_t aries_smsg_home(uint64_t ring, uint32_t ring_bytes)
{
    if (ring_bytes < ARIES_SMSG_LONG_RING ||
        ((ring - ARIES_SMSG_CONTROL_BYTES) & ARIES_SMSG_HALF_PAGE) != 0)
        return 0;
    return (ring_bytes - ARIES_SMSG_HOME_BYTES) & ~63u; /* in its lines as the start is */
}

#endif
