/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Queues of DMA transfers:
 *
 *   IDLE ──enqueue──▶ GATHER ──post──▶ POSTED ──▶ DONE or ERROR ──reset──▶ IDLE
 *                                        └──abort──▶ ABORTED ──reset──▶ IDLE
 */
#include <assert.h>
#include <string.h>

#include "devices.h"

enum { UNIT = 8, ENTRIES_MAX = 1024 };

struct entry {
    struct sci_memory *from, *to;
    size_t from_offset, to_offset, size;
};

struct sci_dma_queue {
    struct sci_dma_queue *next;
    struct sci_desc *desc;
    struct sci_card *card;
    sci_dma_queue_state_t state;
    struct entry *entries;
    unsigned count, room;
    struct sim_timer done;
    GPtrArray *waiters;
    sci_cb_dma_t callback;
    void *arg;
};

void SCICreateDMAQueue(sci_desc_t desc, sci_dma_queue_t *queue, unsigned adapter, unsigned entries,
                       unsigned flags, sci_error_t *error)
{
    struct sci_card *card = sci_card_find(adapter, error);

    if (card == NULL || !sci_flags_ok(flags, 0, error) ||
        sci_fails(error, desc == NULL || queue == NULL ? SCI_ERR_ILLEGAL_PARAMETER
                         : entries > ENTRIES_MAX       ? SCI_ERR_NOSPC
                                                       : SCI_ERR_OK))
        return;
    *queue = g_new0(struct sci_dma_queue, 1);
    (*queue)->desc = desc;
    (*queue)->card = card;
    (*queue)->room = entries; /* 0: of a queue for SCIStartDmaTransfer only */
    (*queue)->entries = g_new0(struct entry, MAX(entries, DIS_DMA_MAX_VECLEN));
    (*queue)->waiters = g_ptr_array_new();
    (*queue)->next = desc->queues;
    desc->queues = *queue;
    desc->objects++;
}

static void forget_entries(struct sci_dma_queue *queue)
{
    while (queue->count > 0) {
        queue->count--;
        sci_memory_unref(queue->entries[queue->count].from);
        sci_memory_unref(queue->entries[queue->count].to);
    }
}

static void queue_free(struct sci_dma_queue *queue)
{
    struct sci_dma_queue **place;

    for (place = &queue->desc->queues; *place != queue; place = &(*place)->next)
        ;
    *place = queue->next;
    queue->desc->objects--;
    sim_timer_cancel(&queue->done);
    forget_entries(queue);
    g_ptr_array_unref(queue->waiters);
    g_free(queue->entries);
    g_free(queue);
}

void sci_dma_release(struct sci_desc *desc)
{
    while (desc->queues != NULL)
        queue_free(desc->queues);
}

void SCIRemoveDMAQueue(sci_dma_queue_t queue, unsigned flags, sci_error_t *error)
{
    if (sci_flags_ok(flags, 0, error) &&
        !sci_fails(error, queue == NULL                         ? SCI_ERR_ILLEGAL_PARAMETER
                          : queue->state == SCI_DMAQUEUE_POSTED ? SCI_ERR_BUSY
                                                                : SCI_ERR_OK))
        queue_free(queue);
}

static sci_error_t check_transfer(const struct sci_dma_queue *queue,
                                  const struct sci_local_segment *local,
                                  const struct sci_remote_segment *remote,
                                  const struct entry *entry, size_t unit)
{
    if (local->card != queue->card)
        return SCI_ERR_SEGMENT_NOT_PREPARED;
    if (remote->segment == NULL || remote->card != queue->card)
        return SCI_ERR_SEGMENT_NOT_CONNECTED;
    if (entry->from_offset % unit != 0 || entry->to_offset % unit != 0)
        return SCI_ERR_OFFSET_ALIGNMENT;
    if (entry->size == 0 || entry->size % unit != 0)
        return SCI_ERR_SIZE_ALIGNMENT;
    return entry->from_offset > entry->from->size ||
                   entry->size > entry->from->size - entry->from_offset ||
                   entry->to_offset > entry->to->size ||
                   entry->size > entry->to->size - entry->to_offset
               ? SCI_ERR_OUT_OF_RANGE
               : SCI_ERR_OK;
}

static sci_error_t append(struct sci_dma_queue *queue, const struct sci_local_segment *local,
                          const struct sci_remote_segment *remote, struct entry entry, bool read,
                          size_t unit)
{
    struct entry back;
    sci_error_t error;

    entry.from = local->memory;
    entry.to = remote->memory;
    error = check_transfer(queue, local, remote, &entry, unit);
    if (error != SCI_ERR_OK)
        return error;
    if (read) {
        back = (struct entry){entry.to, entry.from, entry.to_offset, entry.from_offset, entry.size};
        entry = back;
    }
    entry.from->refs++;
    entry.to->refs++;
    queue->entries[queue->count++] = entry;
    queue->state = SCI_DMAQUEUE_GATHER;
    return SCI_ERR_OK;
}

sci_dma_queue_state_t SCIEnqueueDMATransfer(sci_dma_queue_t queue, sci_local_segment_t local,
                                            sci_remote_segment_t remote, size_t local_offset,
                                            size_t remote_offset, size_t size, unsigned flags,
                                            sci_error_t *error)
{
    const struct entry entry = {
        .from_offset = local_offset, .to_offset = remote_offset, .size = size};

    if (!sci_flags_ok(flags,
                      SCI_FLAG_DMA_READ | SCI_FLAG_DMA_POST | SCI_FLAG_DMA_WAIT |
                          SCI_FLAG_DMA_RESET | SCI_FLAG_DMA_GLOBAL,
                      error) ||
        sci_fails(error, queue == NULL || local == NULL || remote == NULL
                             ? SCI_ERR_ILLEGAL_PARAMETER
                             : SCI_ERR_OK))
        return SCI_DMAQUEUE_ERROR;
    if (sci_fails(error, queue->state != SCI_DMAQUEUE_IDLE && queue->state != SCI_DMAQUEUE_GATHER
                             ? SCI_ERR_ILLEGAL_OPERATION
                         : queue->count == queue->room ? SCI_ERR_MAX_ENTRIES
                                                       : SCI_ERR_OK) ||
        sci_fails(error,
                  append(queue, local, remote, entry, (flags & SCI_FLAG_DMA_READ) != 0, UNIT)))
        return queue->state;
    if ((flags & SCI_FLAG_DMA_POST) != 0)
        SCIPostDMAQueue(queue, NULL, NULL, 0, error);
    if (*error == SCI_ERR_OK && (flags & SCI_FLAG_DMA_WAIT) != 0)
        SCIWaitForDMAQueue(queue, SCI_INFINITE_TIMEOUT, 0, error);
    if (*error == SCI_ERR_OK && (flags & SCI_FLAG_DMA_RESET) != 0)
        SCIResetDMAQueue(queue, 0, error);
    return queue->state;
}

/* A queue that is not on its way begins again. False: it has entries of SCIEnqueueDMATransfer. */
static bool begin_again(struct sci_dma_queue *queue)
{
    static const struct sim_wait wait = {.text = "an earlier DMA transfer"};

    sim_settle();
    while (queue->state == SCI_DMAQUEUE_POSTED)
        sci_wait(queue->waiters, SIM_NEVER, &wait);
    if (queue->state == SCI_DMAQUEUE_GATHER)
        return false;
    forget_entries(queue);
    queue->state = SCI_DMAQUEUE_IDLE;
    return true;
}

void SCIStartDmaTransferVec(sci_dma_queue_t queue, sci_local_segment_t local,
                            sci_remote_segment_t remote, size_t count, dis_dma_vec_t *parts,
                            sci_cb_dma_t callback, void *arg, unsigned flags, sci_error_t *error)
{
    if (!sci_flags_ok(flags,
                      SCI_FLAG_DMA_READ | SCI_FLAG_DMA_WAIT | SCI_FLAG_DMA_GLOBAL |
                          SCI_FLAG_USE_CALLBACK,
                      error) ||
        sci_fails(error,
                  queue == NULL || local == NULL || remote == NULL || parts == NULL || count == 0
                      ? SCI_ERR_ILLEGAL_PARAMETER
                  : count > DIS_DMA_MAX_VECLEN ? SCI_ERR_MAX_ENTRIES
                                               : SCI_ERR_OK) ||
        sci_fails(error, begin_again(queue) ? SCI_ERR_OK : SCI_ERR_ILLEGAL_OPERATION))
        return;
    for (size_t i = 0; i < count; i++) {
        const struct entry entry = {.from_offset = parts[i].local_offset,
                                    .to_offset = parts[i].remote_offset,
                                    .size = parts[i].size};

        if (sci_fails(error,
                      append(queue, local, remote, entry, (flags & SCI_FLAG_DMA_READ) != 0, 1))) {
            forget_entries(queue);
            queue->state = SCI_DMAQUEUE_IDLE;
            return;
        }
    }
    SCIPostDMAQueue(queue, callback, arg, flags & SCI_FLAG_USE_CALLBACK, error);
    if (*error == SCI_ERR_OK && (flags & SCI_FLAG_DMA_WAIT) != 0)
        SCIWaitForDMAQueue(queue, SCI_INFINITE_TIMEOUT, 0, error);
}

void SCIStartDmaTransfer(sci_dma_queue_t queue, sci_local_segment_t local,
                         sci_remote_segment_t remote, size_t local_offset, size_t size,
                         size_t remote_offset, sci_cb_dma_t callback, void *arg, unsigned flags,
                         sci_error_t *error)
{
    dis_dma_vec_t part = {(unsigned)size, (unsigned)local_offset, (unsigned)remote_offset, 0};

    if (sci_fails(error, (size | local_offset | remote_offset) > UINT32_MAX ? SCI_ERR_OUT_OF_RANGE
                                                                            : SCI_ERR_OK))
        return;
    SCIStartDmaTransferVec(queue, local, remote, 1, &part, callback, arg, flags, error);
}

/* One of the entries; false: its packets do not get through. */
static bool transfer(struct sci_dma_queue *queue, const struct entry *entry)
{
    struct sci_devices *devices = queue->card->devices;
    struct legacy_packet packet = {.source = queue->card->endpoint,
                                   .target = entry->to->endpoint,
                                   .bytes = (uint32_t)entry->size,
                                   .what = "DMA"};

    if (packet.target == packet.source) /* it reads */
        packet.target = entry->from->endpoint;
    if (legacy_transmit(devices->network, &packet) != LEGACY_DELIVERED || entry->to->revoked ||
        entry->from->revoked)
        return false;
    memmove(entry->to->bytes + entry->to_offset, entry->from->bytes + entry->from_offset,
            entry->size);
    sci_card_arrival(&devices->cards[entry->to->endpoint]);
    return true;
}

static void finish(struct sim_event *event)
{
    struct sci_dma_queue *queue = sim_container_of(event, struct sci_dma_queue, done.event);
    bool ok = true;
    unsigned i;

    assert(queue->state == SCI_DMAQUEUE_POSTED);
    for (i = 0; i < queue->count && ok; i++)
        ok = transfer(queue, &queue->entries[i]);
    queue->state = ok ? SCI_DMAQUEUE_DONE : SCI_DMAQUEUE_ERROR;
    sci_wake(queue->waiters);
    if (queue->callback != NULL)
        queue->callback(queue->arg, queue, ok ? SCI_ERR_OK : SCI_ERR_TRANSFER_FAILED);
}

void SCIPostDMAQueue(sci_dma_queue_t queue, sci_cb_dma_t callback, void *arg, unsigned flags,
                     sci_error_t *error)
{
    struct legacy_network *network;
    sim_time_t service = 0;
    unsigned i;

    if (!sci_flags_ok(flags, SCI_FLAG_USE_CALLBACK, error) ||
        sci_fails(error, queue == NULL                         ? SCI_ERR_ILLEGAL_PARAMETER
                         : queue->state != SCI_DMAQUEUE_GATHER ? SCI_ERR_ILLEGAL_OPERATION
                                                               : SCI_ERR_OK))
        return;
    sim_settle();
    network = queue->card->devices->network;
    for (i = 0; i < queue->count; i++)
        service += legacy_service(network, SCI_DMA_SETUP_US, 1) +
                   legacy_service(network, SCI_DMA_US, (double)queue->entries[i].size);
    queue->callback = (flags & SCI_FLAG_USE_CALLBACK) != 0 ? callback : NULL;
    queue->arg = arg;
    queue->state = SCI_DMAQUEUE_POSTED;
    queue->done.event.fire = finish;
    sim_timer_arm(&queue->done, legacy_occupy(&queue->card->engine, sim_now(), service));
}

sci_dma_queue_state_t SCIWaitForDMAQueue(sci_dma_queue_t queue, unsigned timeout, unsigned flags,
                                         sci_error_t *error)
{
    static const struct sim_wait wait = {.text = "a DMA queue"};
    sim_time_t deadline;

    if (!sci_flags_ok(flags, 0, error) ||
        sci_fails(error, queue == NULL ? SCI_ERR_ILLEGAL_PARAMETER : SCI_ERR_OK))
        return SCI_DMAQUEUE_ERROR;
    sim_settle();
    deadline = sci_deadline(timeout);
    while (queue->state == SCI_DMAQUEUE_POSTED && sim_now() < deadline)
        sci_wait(queue->waiters, deadline, &wait);
    *error = queue->state == SCI_DMAQUEUE_POSTED  ? SCI_ERR_TIMEOUT
             : queue->state == SCI_DMAQUEUE_ERROR ? SCI_ERR_TRANSFER_FAILED
                                                  : SCI_ERR_OK;
    return queue->state;
}

void SCIAbortDMAQueue(sci_dma_queue_t queue, unsigned flags, sci_error_t *error)
{
    if (!sci_flags_ok(flags, 0, error) ||
        sci_fails(error, queue == NULL                         ? SCI_ERR_ILLEGAL_PARAMETER
                         : queue->state != SCI_DMAQUEUE_POSTED ? SCI_ERR_ILLEGAL_OPERATION
                                                               : SCI_ERR_OK))
        return;
    sim_settle();
    if (queue->state != SCI_DMAQUEUE_POSTED)
        return; /* it was done meanwhile */
    sim_timer_cancel(&queue->done);
    queue->state = SCI_DMAQUEUE_ABORTED;
    sci_wake(queue->waiters);
}

void SCIResetDMAQueue(sci_dma_queue_t queue, unsigned flags, sci_error_t *error)
{
    if (!sci_flags_ok(flags, 0, error) ||
        sci_fails(error, queue == NULL                         ? SCI_ERR_ILLEGAL_PARAMETER
                         : queue->state == SCI_DMAQUEUE_POSTED ? SCI_ERR_BUSY
                                                               : SCI_ERR_OK))
        return;
    forget_entries(queue);
    queue->state = SCI_DMAQUEUE_IDLE;
}

sci_dma_queue_state_t SCIDMAQueueState(sci_dma_queue_t queue)
{
    sim_settle();
    return queue != NULL ? queue->state : SCI_DMAQUEUE_ERROR;
}
