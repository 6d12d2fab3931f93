/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Request objects of a source queue. A request holds the state of a transaction until its last
 * event has been collected.
 *
 *   free ── new ──▶ busy ── retire ──▶ free        SMSG; posts whose transaction has ended
 *                    │
 *                    └── retire ──▶ collected, in flight ── landed ──▶ free
 *                                   (only a LOCAL event was asked for, and it came first)
 *
 * The table grows in chunks that never move, because completions name requests by address.
 */
#include "api/front.h"

#include <assert.h>

#include "nic/cq_entry.h"

#define NO_REQUEST UINT32_MAX

_Static_assert(ARIES_REQUESTS_CHUNK - 1 <= UINT8_MAX, "a place in a chunk is 8 bits");

static struct aries_request *request_at(const struct gni_cq *cq, uint32_t index)
{
    return &cq->requests[index >> ARIES_REQUESTS_SHIFT]
                ->request[index & (ARIES_REQUESTS_CHUNK - 1)];
}

/*
 * The low bits of a TID hold index + 1. The table has room for twice the limit, because collected
 * requests may still be in flight.
 */
static uint32_t index_bits(const struct gni_cq *cq)
{
    return 32 - (uint32_t)__builtin_clz(2 * cq->requests_max + 1);
}

void aries_requests_init(struct gni_cq *cq, uint32_t count)
{
    const uint32_t most = (ARIES_CQ_TID_MAX - 1) / 2;

    cq->requests_max = count < most ? count : most;
    cq->requests_free = NO_REQUEST;
}

static sim_cold bool table_grow(struct gni_cq *cq)
{
    uint32_t chunks = cq->requests_count >> ARIES_REQUESTS_SHIFT, i;
    struct aries_request_chunk *chunk;

    if (cq->requests_count >= 2 * cq->requests_max)
        return false;
    if ((chunks & (chunks - 1)) == 0)
        cq->requests = g_renew(struct aries_request_chunk *, cq->requests, chunks * 2 + 1);
    chunk = g_new0(struct aries_request_chunk, 1);
    chunk->cq = cq;
    cq->requests[chunks] = chunk;
    for (i = ARIES_REQUESTS_CHUNK; i-- > 0;) {
        struct aries_request *request = &chunk->request[i];
        uint32_t index = cq->requests_count + i;

        /*
         * Each queue starts with another generation, so that an event of another queue is not
         * accepted.
         */
        request->tid = (index + 1) | ((cq->index * 0x9e3779b1u) >> 9) << index_bits(cq);
        request->tid &= ARIES_CQ_TID_MAX;
        request->next_free = cq->requests_free;
        request->place = (uint8_t)i;
        cq->requests_free = index;
    }
    cq->requests_count += ARIES_REQUESTS_CHUNK;
    return true;
}

bool aries_requests_exhausted(const struct gni_cq *cq)
{
    return cq->requests_busy >= cq->requests_max;
}

struct aries_request *aries_request_new(struct gni_cq *cq, struct gni_ep *ep,
                                        gni_post_descriptor_t *descr, uint16_t expected)
{
    struct aries_request *request;

    if (aries_requests_exhausted(cq) || (cq->requests_free == NO_REQUEST && !table_grow(cq)))
        return NULL;
    assert(cq->requests_free < cq->requests_count);
    request = request_at(cq, cq->requests_free);
    assert(!request->busy && !request->in_flight && request->copy == NULL);
    cq->requests_free = request->next_free;
    if (cq->requests_free != NO_REQUEST && descr == NULL)
        __builtin_prefetch(request_at(cq, cq->requests_free), 1);
    else if (cq->requests_free != NO_REQUEST)
        sim_fiber_prefetch_add(NULL, request_at(cq, cq->requests_free), sizeof(*request));
    cq->requests_busy++;
    request->ep = ep;
    request->descr = descr;
    request->post_id = descr != NULL ? descr->post_id : 0;
    request->inst_id = ep->local_event;
    request->expected = expected;
    request->pushed = 0;
    request->local_pushed = request->orphan = false;
    request->busy = true;
    request->in_flight = false;
    ep->outstanding++;
    return request;
}

static void slot_free(struct gni_cq *cq, struct aries_request *request)
{
    uint32_t bits = index_bits(cq);
    uint32_t index = (request->tid & ((1u << bits) - 1)) - 1;

    assert(!request->busy && !request->in_flight);
    assert(index < cq->requests_count && request_at(cq, index) == request);
    if (sim_unlikely(request->copy != NULL))
        aries_smsg_copy_free(request);
    request->tid = (request->tid + (1u << bits)) & ARIES_CQ_TID_MAX;
    request->next_free = cq->requests_free;
    cq->requests_free = index;
}

static void forget_ep(struct aries_request *request)
{
    if (request->ep == NULL)
        return;
    assert(request->orphan || request->ep->outstanding > 0);
    if (!request->orphan)
        request->ep->outstanding--;
    request->orphan = request->in_flight && request->descr == NULL;
    if (!request->orphan)
        request->ep = NULL;
}

void aries_request_retire(struct gni_cq *cq, struct aries_request *request)
{
    assert(request->busy && cq->requests_busy > 0 && cq->requests_busy <= cq->requests_max);
    forget_ep(request);
    request->busy = false;
    cq->requests_busy--;
    if (!request->in_flight)
        slot_free(cq, request);
}

void aries_request_landed(struct gni_cq *cq, struct aries_request *request)
{
    assert(request->in_flight);
    request->in_flight = false;
    if (request->orphan)
        forget_ep(request);
    if (!request->busy)
        slot_free(cq, request);
}

struct aries_request *aries_request_of(struct gni_cq *cq, uint32_t tid)
{
    uint32_t index = (tid & ((1u << index_bits(cq)) - 1)) - 1;
    struct aries_request *request;

    if (index >= cq->requests_count)
        return NULL;
    request = request_at(cq, index);
    return request->busy && request->tid == tid ? request : NULL;
}

void aries_requests_detach(struct gni_cq *cq)
{
    uint32_t index;

    for (index = 0; index < cq->requests_count; index++)
        forget_ep(request_at(cq, index));
}

void aries_requests_forget(struct gni_cq *cq, const struct gni_ep *ep)
{
    uint32_t index;

    for (index = 0; index < cq->requests_count; index++)
        if (request_at(cq, index)->ep == ep)
            forget_ep(request_at(cq, index));
}

void aries_requests_free(struct gni_cq *cq)
{
    uint32_t chunks = cq->requests_count >> ARIES_REQUESTS_SHIFT, i;

    for (i = 0; i < cq->requests_count; i++)
        aries_smsg_copy_free(request_at(cq, i));
    for (i = 0; i < chunks; i++)
        g_free(cq->requests[i]);
    g_free(cq->requests);
    cq->requests = NULL;
    cq->requests_count = 0;
}
