/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The content of an SMSG mailbox. Cray's layout is not public. This one is ours, and both ends of
 * a connection use it. A mailbox belongs to the receiver of its messages:
 *
 * Bytes 0 to 15, the control block: how many messages of the other direction the peer has
 * released. The peer writes it.
 *
 * Bytes 16 and up, the byte ring: records, each at a multiple of 16 and never across the end. The
 * peer writes records; the owner clears them when it releases them.
 *
 * No word is written by both roles, so one mailbox can be local and remote at once (an endpoint
 * connected to itself).
 *
 * The owner finds record n behind record n-1; at the start of the ring, if the sender had no room
 * behind it; or at the ring's home, if all earlier records were released. Free space is zero and
 * the mark is not. A record is valid when its sequence number and checksum are right. So the order
 * in which its pieces and other records arrive does not matter, and nothing depends on when
 * GNI_SmsgInit was called.
 *
 * Most connections carry a short message now and then, which goes to the home. The home of a long
 * ring is its start or an offset near its end, depending on the mailbox's address: of two
 * neighbours, one begins in the lower half of a page and the other in the upper half, and both use
 * the same page.
 */
#ifndef JACQUARD_ARIES_SMSG_H
#define JACQUARD_ARIES_SMSG_H

#include <stdint.h>
#include "nic/gni.h"

#define ARIES_SMSG_CONTROL_BYTES 16u
#define ARIES_SMSG_UNIT \
    16u /* alignment of records in the ring; their addresses are multiples of 8 */
#define ARIES_SMSG_HOME_BYTES 1024u /* bytes from a home near the end to the end */
#define ARIES_SMSG_LONG_RING 16384u
#define ARIES_SMSG_HALF_PAGE 2048u
#define ARIES_SMSG_MARK \
    0x5au /* in every record; + 1 if the end of the ring was left empty before it */

struct aries_smsg_control {
    uint32_t returned; /* messages released by the peer so far, modulo 2^32 */
    uint32_t reserved;
};

/*
 * Header of a record. Its 16 bytes are what the timing model counts per message. Header and data
 * follow.
 */
struct aries_smsg_record {
    uint16_t length; /* header and data */
    uint8_t tag, mark;
    uint32_t sequence; /* number of the message in its direction, from 0, modulo 2^32 */
    uint32_t returned; /* as in the control block: returned credits */
    uint32_t checksum; /* of the fields above and the payload */
};
_Static_assert(sizeof(struct aries_smsg_record) == ARIES_SMSG_UNIT, "a record header is one unit");

/* Number of bytes of the ring that a message takes. */
static inline uint32_t aries_smsg_span(uint32_t length)
{
    return (ARIES_SMSG_UNIT + length + ARIES_SMSG_UNIT - 1) & ~(ARIES_SMSG_UNIT - 1);
}

/*
 * The largest message of a mailbox for messages of `maxsize` bytes. A mailbox is laid out in cache
 * lines, headers included. GNI_SmsgSend accepts up to maxsize bytes, as its documentation says.
 * The documentation of GNI_SmsgSendWTag names only GNI_SMSG_MAX_SIZE, and libfabric sends up to 31
 * bytes more than maxsize with it. Assumed: a message is accepted if it fits in the cache lines of
 * a full one.
 */
static inline uint32_t aries_smsg_message_max(uint32_t maxsize)
{
    uint32_t room = ((ARIES_SMSG_UNIT + maxsize + 63) & ~63u) - ARIES_SMSG_UNIT;

    return room < GNI_SMSG_MAX_SIZE ? room : GNI_SMSG_MAX_SIZE;
}

/* The offset at which a sender starts again when the ring is empty. Both sides compute it. */
static inline uint32_t aries_smsg_home(uint64_t ring, uint32_t ring_bytes)
{
    if (ring_bytes < ARIES_SMSG_LONG_RING ||
        ((ring - ARIES_SMSG_CONTROL_BYTES) & ARIES_SMSG_HALF_PAGE) != 0)
        return 0;
    return (ring_bytes - ARIES_SMSG_HOME_BYTES) & ~63u; /* aligned to cache lines as the start is */
}

#endif
