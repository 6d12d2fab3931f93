/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The LNet driver's descriptors and their events, and its memory. */
#include <assert.h>
#include <stdlib.h>

#include "driver/lnet.h"

uint64_t mad_lnet_bits(const struct mlnet_channel *channel, int rank, enum mlnet_kind kind,
                       uint32_t sequence)
{
    assert(rank >= 0 && rank < MLNET_RANKS_MAX);
    return (uint64_t)channel->object->id << MLNET_CHANNEL_SHIFT |
           (uint64_t)rank << MLNET_RANK_SHIFT | (uint64_t)kind << MLNET_KIND_SHIFT |
           sequence % MLNET_SEQUENCES;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* A message of credits: its match bits name the sender. */
static void credits_returned(struct mlnet_shared *shared, const struct lnet_event *event)
{
    uint32_t rank = (uint32_t)(event->match_bits >> MLNET_RANK_SHIFT) % MLNET_RANKS_MAX;
    uint32_t count = (uint32_t)(event->hdr_data >> MLNET_CREDIT_SHIFT) & MLNET_CREDIT_MASK;

    if (rank >= (uint32_t)shared->size)
        return;
    __atomic_fetch_add(&shared->credits[rank], count, __ATOMIC_RELEASE);
    port_semaphore_post(&shared->adapter->events);
}

void mad_lnet_callback(struct lnet_event *event)
{
    struct mlnet_slot *slot = event->md.user_ptr, *first;
    struct mlnet_adapter *adapter = slot->adapter;

    if (slot->use == MLNET_USE_SERVICE && event->type == LNET_EVENT_PUT && event->status == 0)
        credits_returned(slot->shared, event);
    if (event->type == LNET_EVENT_UNLINK)
        slot->unlinked = true;
    if (slot->status == 0 && slot->use != MLNET_USE_SERVICE)
        slot->status = event->status;
    if (event->type == LNET_EVENT_PUT || event->type == LNET_EVENT_REPLY) {
        slot->bytes = event->mlength;
        slot->header = event->hdr_data;
    }
    if (!event->unlinked)
        return;
    first = __atomic_load_n(&adapter->ended, __ATOMIC_RELAXED);
    do
        slot->next = first;
    while (!__atomic_compare_exchange_n(&adapter->ended, &first, slot, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED));
    if (first == NULL)
        port_semaphore_post(&adapter->events);
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static void begin(struct mlnet_slot *slot)
{
    assert(!slot->active);
    slot->active = true;
    slot->unlinked = false;
    slot->status = 0;
    slot->bytes = 0;
    slot->adapter->active++;
    if (slot->peer != NULL)
        slot->peer->active++;
}

static int cancel(struct mlnet_slot *slot, int rc)
{
    slot->active = false;
    slot->status = rc;
    slot->adapter->active--;
    if (slot->peer != NULL)
        slot->peer->active--;
    return rc;
}

static struct lnet_md describe(struct mlnet_slot *slot, void *memory, size_t bytes,
                               unsigned options, int threshold)
{
    return (struct lnet_md){.start = memory,
                            .length = (unsigned)bytes,
                            .threshold = threshold,
                            .options = options,
                            .user_ptr = slot,
                            .eq_handle = slot->adapter->queue};
}

int mad_lnet_attach(struct mlnet_slot *slot, uint64_t bits, uint64_t ignored, unsigned options,
                    int threshold, void *memory, size_t bytes)
{
    const struct lnet_process_id any = {.nid = LNET_NID_ANY, .pid = LNET_PID_ANY};
    struct lnet_handle_me entry;
    int rc;

    begin(slot);
    rc = LNetMEAttach(slot->adapter->portal, any, bits, ignored, LNET_UNLINK, LNET_INS_AFTER,
                      &entry);
    if (rc != 0)
        return cancel(slot, rc);
    rc = LNetMDAttach(entry, describe(slot, memory, bytes, options, threshold), LNET_UNLINK,
                      &slot->md);
    if (rc == 0)
        return 0;
    LNetMEUnlink(entry);
    return cancel(slot, rc);
}

/* The UNLINK event ends the slot. */
static void refused(struct mlnet_slot *slot, int rc)
{
    slot->status = rc;
    LNetMDUnlink(slot->md);
}

int mad_lnet_put(struct mlnet_slot *slot, uint64_t bits, void *memory, size_t bytes,
                 uint64_t header)
{
    struct mlnet_adapter *adapter = slot->adapter;
    int rc;

    begin(slot);
    rc = LNetMDBind(describe(slot, memory, bytes, 0, 1), LNET_UNLINK, &slot->md);
    if (rc != 0)
        return cancel(slot, rc);
    rc = LNetPut(adapter->id.nid, slot->md, LNET_NOACK_REQ, slot->peer->id, adapter->portal, bits,
                 0, header);
    if (rc != 0)
        refused(slot, rc);
    return 0;
}

/* Two operations: it is sent, and the reply arrives. */
int mad_lnet_get(struct mlnet_slot *slot, uint64_t bits, unsigned offset, void *memory,
                 size_t bytes)
{
    struct mlnet_adapter *adapter = slot->adapter;
    int rc;

    begin(slot);
    rc = LNetMDBind(describe(slot, memory, bytes, 0, 2), LNET_UNLINK, &slot->md);
    if (rc != 0)
        return cancel(slot, rc);
    rc = LNetGet(adapter->id.nid, slot->md, slot->peer->id, adapter->portal, bits, offset, false);
    if (rc != 0)
        refused(slot, rc);
    return 0;
}

void mad_lnet_unlink(struct mlnet_slot *slot)
{
    if (slot->active)
        LNetMDUnlink(slot->md); /* -ENOENT: its last event is under way */
}

/* ---- memory ---------------------------------------------------------------------------------- */

struct mlnet_slot *mad_lnet_slot(struct mlnet_peer *peer)
{
    struct mlnet_adapter *adapter = peer->channel->adapter;
    struct mlnet_slot *slot = adapter->slots;

    if (slot != NULL)
        adapter->slots = slot->next;
    else
        slot = malloc(sizeof(*slot));
    if (slot != NULL)
        *slot = (struct mlnet_slot){.adapter = adapter, .peer = peer, .use = MLNET_USE_PIECE};
    return slot;
}

void mad_lnet_slot_free(struct mlnet_adapter *adapter, struct mlnet_slot *slot)
{
    assert(!slot->active);
    slot->next = adapter->slots;
    adapter->slots = slot;
}

struct mlnet_frame *mad_lnet_frame(struct mlnet_adapter *adapter)
{
    struct mlnet_frame *frame = adapter->frames;

    if (frame != NULL) {
        adapter->frames = frame->next;
        return frame;
    }
    frame = calloc(1, sizeof(*frame));
    if (frame == NULL)
        return NULL;
    frame->slot.adapter = adapter;
    frame->slot.use = MLNET_USE_SEND;
    frame->bytes = malloc(MLNET_FRAME_BYTES);
    if (frame->bytes != NULL)
        return frame;
    free(frame);
    return NULL;
}

void mad_lnet_frame_free(struct mlnet_adapter *adapter, struct mlnet_frame *frame)
{
    assert(!frame->posted && !frame->slot.active);
    frame->next = adapter->frames;
    adapter->frames = frame;
}
