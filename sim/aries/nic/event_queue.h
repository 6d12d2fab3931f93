/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Completion queues as the NIC sees them: a ring that receives events, and the requests of a
 * queue.
 */
#ifndef JACQUARD_ARIES_EVENT_QUEUE_H
#define JACQUARD_ARIES_EVENT_QUEUE_H

#include "nic/attachment.h"
#include "nic/endpoint.h"

/*
 * A request: one outstanding post with events, or one SMSG send. It stays in the table of its CQ
 * (cq->requests) until the last expected event is collected. The TID of its events holds its index
 * + 1 in the low bits and a generation above, so that an event that is used twice is detected. A
 * queue may have hundreds of requests, each used rarely, so they are small.
 */
struct aries_request {
    struct gni_ep *ep; /* NULL: the endpoint was destroyed */
    gni_post_descriptor_t *descr; /* NULL for SMSG */
    /* SMSG: copy of a message that may have to be sent again; smsg.c. */
    struct aries_smsg_copy *copy;
    uint64_t post_id; /* SMSG: the msg_id that its event shows, and in the upper bits the slot */
    uint32_t tid;
    union {
        uint32_t inst_id; /* local_event at the time of the post */
        uint32_t next_free;
    };
    uint16_t expected; /* GNI_CQMODE_LOCAL and _GLOBAL events that are still to be collected */
    uint8_t pushed; /* number of events that were pushed or lost, and are not collected */
    uint8_t place; /* index in its chunk of the table */
    bool busy;
    bool in_flight; /* `done` has not been called yet */
    bool local_pushed : 1; /* its LOCAL event was pushed */
    bool orphan : 1; /* SMSG: the endpoint was destroyed; the memory is freed by `done` */
    uint8_t unit; /* enum aries_unit: names the source in its events */
};

#define ARIES_REQUESTS_SHIFT 4
#define ARIES_REQUESTS_CHUNK (1u << ARIES_REQUESTS_SHIFT)

struct aries_request_chunk {
    struct aries_request request[ARIES_REQUESTS_CHUNK];
    struct gni_cq *cq;
};

/* The queue whose table holds the request. For completions, whose context is the request. */
static inline struct gni_cq *aries_request_cq(const struct aries_request *request)
{
    return ((const struct aries_request_chunk *)(request - request->place))->cq;
}

#define ARIES_RING_FIRST 16u /* initial number of entries of a ring */

struct aries_cq_slot {
    gni_cq_entry_t entry;
    /*
     * Data that the reader of the entry will use, or NULL; for prefetching. A remote event: struct
     * gni_ep; any other: struct aries_request.
     */
    const void *reader_data;
};

/*
 * The first cache line holds the fields that an entry needs, the second those that a request needs
 * besides.
 */
struct gni_cq {
    uint32_t magic;
    /*
     * One for the handle, and one for each transaction and endpoint that names it; see
     * aries_cq_unref.
     */
    uint32_t refs;
    struct gni_nic *nic; /* NULL when the handle died */
    struct aries_fabric *fabric;
    struct aries_cq_slot *ring;
    uint32_t head, count; /* ring positions head … head+count-1 (mod ring_size) hold entries */
    uint32_t ring_size; /* a power of two; grows when needed until it holds `capacity` entries */
    uint32_t capacity;
    uint32_t modes;
    uint32_t index; /* number of the queue on its node, for traces and reports */
    uint32_t id; /* for sim_poll_turn(); the next id is that of GNI_CqTestEvent */
    bool overrun; /* an event was lost; the newest entry has the flag */
    bool has_mr; /* named by a registration: destination CQ */
    bool has_source; /* bound to an EP or named by a post: source CQ */
    bool armed; /* the next entry fires its completion channel */
    uint32_t mask_count;
    uint32_t last_poll; /* state of sim_poll_turn() */

    void (*handler)(gni_cq_entry_t *, void *);
    void *context;
    /* A table that grows when needed; its chunks never move. */
    struct aries_request_chunk **requests;
    uint32_t requests_count, requests_max, requests_free, requests_busy;
    /* Number of endpoints created with it and of collective engines configured with it. */
    uint32_t ep_count;
    uint32_t entry_count;
    uint32_t fired; /* number of channel events that were not collected */
    bool lost_events; /* it has overrun at least once */
    bool left_checked; /* its leftovers were recorded as findings */
    struct aries_list nic_link;
    struct gni_comp_chan *channel; /* completion channel, or NULL */
    struct aries_list channel_link, fired_link; /* links in the channel's lists */
} __attribute__((aligned(SIM_LINE)));

/*
 * Stores an entry, which becomes visible now, and wakes the process. If the queue is full, the
 * event is lost, the newest entry is marked OVERRUN (once until the reader sees it), and false is
 * returned. Dead or UNMANAGED queues ignore the entry and return true. Also asks the fault point
 * "aries.cq" and books the event in book_event as handed in; aries_cq_taken() books its end.
 */
bool aries_cq_push(struct gni_cq *cq, gni_cq_entry_t entry);
/*
 * The same with the data that the reader will use, which is prefetched before the reader runs: the
 * endpoint of a remote event (it may be destroyed by then, but its memory still holds an
 * endpoint), or the request of any other event. NULL: unknown.
 */
bool aries_cq_push_for(struct gni_cq *cq, gni_cq_entry_t entry, const void *reader_data);
/* The next read of the queue reports an overrun, as if an event had just been lost. */
void aries_cq_overrun(struct gni_cq *cq);
/* Writes the number of unread entries to the trace. Not in the digest. */
void aries_cq_trace_depth(const struct gni_cq *cq);
/* The program has taken so many entries, which are out of the queue. */
static inline void aries_cq_taken(struct gni_cq *cq, uint32_t count)
{
    sim_ledger_count(&cq->fabric->book_event, 0, count);
    if (sim_unlikely(sim_trace_on))
        aries_cq_trace_depth(cq);
}
/*
 * Books the entries that nobody will read as lost: the queue ends, or the run does. Rules of
 * findings say whether that is a mistake.
 */
void aries_cq_abandon(struct gni_cq *cq);
extern const struct aries_class aries_cq_class; /* api/cq.c */
void aries_cq_ref(struct gni_cq *cq);
void aries_cq_unref(struct gni_cq *cq); /* frees the object when the last reference goes */

/*
 * Prefetches the data that the completion of a post will use. The request and the queue must be in
 * the cache.
 */
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
