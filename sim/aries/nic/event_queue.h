/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completion queues as the NIC sees them: a ring that takes events. And the requests of a queue. */
#ifndef JACQUARD_ARIES_EVENT_QUEUE_H
#define JACQUARD_ARIES_EVENT_QUEUE_H

#include "nic/attachment.h"
#include "nic/endpoint.h"

/*
 * A request object: one outstanding evented post, or SMSG send. Lives in the CQ's table
 * (cq->requests) until the last expected event is collected. The TID of its events is its index + 1
 * below and a generation above, so that an event that is used once too often is noticed. A queue
 * may have hundreds, each used once in a while, so they are small.
 */
struct aries_request {
    struct gni_ep *ep; /* NULL when the EP was destroyed */
    gni_post_descriptor_t *descr; /* NULL for SMSG */
    struct aries_smsg_copy *copy; /* SMSG: of a message that may have to be sent again; smsg.c */
    uint64_t post_id; /* SMSG: the msg_id that its event shows, and above it the slot */
    uint32_t tid;
    union {
        uint32_t inst_id; /* local_event at the time of the post */
        uint32_t next_free;
    };
    uint16_t expected; /* GNI_CQMODE_LOCAL/GLOBAL events still to be collected */
    uint8_t pushed; /* events in the queue, or lost by it, and not collected */
    uint8_t place; /* in its chunk of the table */
    bool busy;
    bool in_flight; /* its `done` is still to come */
    bool local_pushed : 1; /* its LOCAL event was */
    bool orphan : 1; /* SMSG: the endpoint was destroyed; its memory waits for `done` */
    uint8_t unit; /* enum aries_unit: names the source in its events */
};

#define ARIES_REQUESTS_SHIFT 4
#define ARIES_REQUESTS_CHUNK (1u << ARIES_REQUESTS_SHIFT)

struct aries_request_chunk {
    struct aries_request request[ARIES_REQUESTS_CHUNK];
    struct gni_cq *cq;
};

/* The queue in whose table it is: for completions, whose context is the request. */
static inline struct gni_cq *aries_request_cq(const struct aries_request *request)
{
    return ((const struct aries_request_chunk *)(request - request->place))->cq;
}

#define ARIES_RING_FIRST 16u /* entries, when a ring is first needed */

struct aries_cq_slot {
    gni_cq_entry_t entry;
    /* What who reads the entry will look at, or NULL; a remote event: struct gni_ep, any other:
     * struct aries_request. For the cache. */
    const void *reader_data;
};

/* What an entry touches lies in the first line, what a request does besides in the second. */
struct gni_cq {
    uint32_t magic;
    uint32_t refs; /* the handle, plus one for each transaction and EP that names it; see
                      aries_cq_unref */
    struct gni_nic *nic; /* NULL when the handle died */
    struct aries_fabric *fabric;
    struct aries_cq_slot *ring;
    uint32_t head, count; /* ring positions head … head+count-1 (mod ring_size) hold entries */
    uint32_t ring_size; /* power of two, grown by need until it holds `capacity` entries */
    uint32_t capacity;
    uint32_t modes;
    uint32_t index; /* number on its node, for traces and reports */
    uint32_t id; /* for sim_poll_turn; the next: of GNI_CqTestEvent */
    bool overrun; /* an event was lost; the newest entry carries the flag */
    bool has_mr; /* named by a registration: destination CQ */
    bool has_source; /* bound to an EP or named by a post: source CQ */
    bool armed; /* the next entry fires its completion channel */
    uint32_t mask_count;
    uint32_t looked; /* for sim_poll_turn */

    void (*handler)(gni_cq_entry_t *, void *);
    void *context;
    struct aries_request_chunk **requests; /* table whose chunks never move, grown by need */
    uint32_t requests_count, requests_max, requests_free, requests_busy;
    uint32_t ep_count; /* EPs created with it, collective engines configured with it */
    uint32_t entry_count;
    uint32_t fired; /* channel events not collected */
    struct aries_list nic_link;
    struct gni_comp_chan *channel; /* completion channel, or NULL */
    struct aries_list channel_link, fired_link; /* in its lists */
} __attribute__((aligned(SIM_LINE)));

/*
 * Stores an entry that becomes visible now, wakes the process. When full: the event is lost, the
 * newest entry is marked OVERRUN (once per episode) and false is returned; dead or UNMANAGED queues
 * swallow it and return true. Also asks the fault point "aries.cq" and books in book_event.
 */
bool aries_cq_push(struct gni_cq *cq, gni_cq_entry_t entry);
/*
 * The same, with what its reader will look at: the endpoint of a remote event (it may be dead by
 * then, but its memory is still that of endpoints), or the request of any other. NULL: unknown. It
 * is fetched into the cache before its turn comes.
 */
bool aries_cq_push_for(struct gni_cq *cq, gni_cq_entry_t entry, const void *reader_data);
/* The next read of the queue reports an overrun, as if an event had been lost just now. */
void aries_cq_overrun(struct gni_cq *cq);
extern const struct aries_class aries_cq_class; /* api/cq.c */
void aries_cq_ref(struct gni_cq *cq);
void aries_cq_unref(struct gni_cq *cq); /* frees the object when the last reference goes */

/* Fetches what the completion of a post will look at, when request and queue are in the cache. */
static inline void aries_post_fetch(const struct aries_request *request, const struct gni_cq *cq)
{
    const struct aries_request_chunk *chunk =
        (const struct aries_request_chunk *)(request - request->place);

    sim_fetch(&chunk->cq, 1);
    sim_fetch(cq->nic, 1);
    if (cq->ring != NULL)
        sim_fetch(cq->ring + ((cq->head + cq->count) & (cq->ring_size - 1)), 1);
}

#endif
