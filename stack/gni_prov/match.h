/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Posted receives, and messages that arrived before their receive (match.c). */
#ifndef GNIP_MATCH_H
#define GNIP_MATCH_H

#include "gnip.h"
#include "port/list.h"

/*
 * A message that arrived before its receive. Both stores are in order of arrival. Entries with a
 * tag are also in a few hash buckets, in many if the EP asks for that (GNI_HASH_TAG_IMPL).
 */
struct gnip_unexpected {
    struct port_link link, bucket;
    uint64_t tag, sequence, data;
    struct gnip_vc *vc; /* NULL: it has been freed */
    fi_addr_t source; /* as far as it was known on arrival */
    uint32_t credits; /* of the receive window that it holds */
    /* the sender's request id; for a rendezvous, or if it wants an ACK of delivery */
    uint32_t request;
    uint16_t wire_flags; /* GNIP_W_ */
    bool rendezvous, claimed;
    bool lost; /* its connection has failed: the sender expects no answer */
    bool pooled; /* it came from the EP's free list */
    uint8_t segment_count;
    void *claimer; /* the context that claimed it */
    uint64_t bytes; /* of the message */
    struct gnip_segment *segments; /* of a rendezvous; behind this struct */
    uint8_t *payload; /* of an eager message; behind this struct */
};

struct gnip_match; /* one of tagged or untagged messages */
/* bits: log2 of the number of buckets; 0: no buckets. NULL: no memory. */
struct gnip_match *gnip_match_new(uint32_t bits, bool directed);
void gnip_match_free(struct gnip_match *match);
void gnip_match_post(struct gnip_match *match, struct gnip_post *post);
void gnip_match_unpost(struct gnip_match *match, struct gnip_post *post);
/* The oldest posted receive that matches such a message; it stays posted. */
struct gnip_post *gnip_match_arrived(struct gnip_match *match, uint64_t tag, fi_addr_t source);
void gnip_match_keep(struct gnip_match *match, struct gnip_unexpected *message);
void gnip_match_forget(struct gnip_match *match, struct gnip_unexpected *message);
/* The oldest unclaimed message that matches such a receive; it stays in the store. */
struct gnip_unexpected *gnip_match_find(struct gnip_match *match, uint64_t tag, uint64_t ignore,
                                        fi_addr_t source);
struct gnip_unexpected *gnip_match_claimed(struct gnip_match *match, const void *claimer);
struct gnip_post *gnip_match_first_post(struct gnip_match *match, struct gnip_post *after);
struct gnip_unexpected *gnip_match_first(struct gnip_match *match, struct gnip_unexpected *after);

#endif
