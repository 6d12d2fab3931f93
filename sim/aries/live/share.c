/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Long transfers that the initiator and the target copy together. The initiator copies from the
 * front. It sends a record to a target that polls its rings, and the target copies pieces from the
 * back. Both publish in their shared segments how far they are. A piece that both copy is copied
 * twice, which does no harm. But a transfer must not end while the target still copies for it, and
 * nothing may be left out:
 *
 * - The target publishes in which transfer it helps, executes a fence, and checks that the transfer
 * is still open. The initiator closes the transfer, executes a fence, and checks whether the target
 * is in it. So at least one of them sees the other.
 * - The target's progress counts if the target publishes it, with the transfer's name, after its
 * last piece.
 *
 * If a target is held up in a piece (it is stopped, or without a processor), the transfer waits;
 * everything else continues. The end of the record says that the target has finished or died.
 */
#include "backend.h"

#include <assert.h>
#include <errno.h>
#include "nic/mem_handle.h"

#define SHARE_LEAST 32768u /* bytes; for less, the record costs more than it saves */
#define PIECE_LEAST 32768u /* a smaller middle part is not divided further */
#define PIECE_MOST 524288u /* some 40 us */
#define HELP_MOST (64u << 20) /* bytes for which one record keeps a target busy */
#define COPY_MOST (16u << 20) /* some 2 ms: the longest wait of a deregistration */
#define GRANULE 4096u
#define SPIN_TICKS 400000u /* some 100 us: a piece should end within that time */
#define UNHELPED_MAX 3u /* after so many transfers in a row without help, */
#define OFFER_EVERY 16u /* only one transfer in so many is offered */

static uint64_t name_of(const struct shm_peer *initiator, uint32_t number)
{
    return (uint64_t)initiator->slot << 48 | (uint64_t)(uint16_t)initiator->generation << 32 |
           number;
}

static inline uint64_t load(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline void store(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/* Copies between own memory and the peer's. */
static int copy(const struct shm_peer *peer, bool from, uint64_t address, char *memory,
                uint64_t bytes)
{
    return from ? shm_copy_from(peer, address, memory, bytes)
                : shm_copy_to(peer, address, memory, bytes);
}

/* ---- the target ------------------------------------------------------------------------------ */

/* Copies from the back to where the initiator is, and returns that offset. `front` of the initiator
 * only increases here, so each iteration ends with a piece, and their number is bounded. */
static uint64_t take_pieces(const struct shm_peer *initiator,
                            const struct aries_live_share_call *call, bool from, char *memory,
                            uint64_t length, struct aries_live_share *own)
{
    const struct aries_live_share *other = aries_live_share_of(initiator);
    uint64_t least = length > HELP_MOST ? length - HELP_MOST : 0, back = length, front, at;

    while (load(&other->open) == call->number) {
        front = load(&other->front);
        if (front < least)
            front = least;
        least = front;
        if (front >= back)
            break;
        at = back - front > PIECE_MOST ? back - PIECE_MOST : front;
        assert(at >= front && at < back && back <= length);
        store(&own->back, at);
        if (copy(initiator, from, call->address + at, memory + at, back - at) != 0)
            break;
        back = at;
    }
    store(&own->from, back);
    return back;
}

sim_noinline void aries_live_share_help(const struct aries_live_link *link,
                                        const struct aries_live_request *request,
                                        const struct aries_live_share_call *call)
{
    const struct aries_live_share *other = aries_live_share_of(link->peer);
    bool read = request->flags & ARIES_LIVE_WAS_READ;
    sim_time_t began = sim_unlikely(sim_trace_on) ? sim_now() : 0;
    struct aries_live_share *own;
    uint64_t name, from;
    void *memory;

    if (other == NULL || aries_live.segment == NULL || call->number == 0 ||
        load(&other->open) != call->number)
        return;
    memory = aries_live_target_memory(request, read ? ARIES_READ : ARIES_WRITE);
    if (memory == NULL)
        return;
    own = aries_live_own_share();
    name = name_of(link->peer, call->number);
    store(&own->helped, 0);
    store(&own->back, request->length);
    store(&own->helping, name);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    from = take_pieces(link->peer, call, !read, memory, request->length, own);
    store(&own->helped, name);
    store(&own->helping, 0);
    if (from < request->length) /* else the initiator was faster */
        sim_trace(SIM_TRACE_SLICE, ARIES_TRACK_RX, aries_live.hw->node, 0, "help", began,
                  sim_now() - began, 0, request->length - from);
}

/* ---- the initiator --------------------------------------------------------------------------- */

/* The offset from which on the target copies, as it says now. */
static uint64_t taken_from(const struct aries_live_transfer *transfer)
{
    const struct aries_live_share *other = aries_live_share_of(transfer->link->peer);
    uint64_t name = transfer->name, from = transfer->length, at;

    if (load(&other->helping) == name)
        at = load(&other->back);
    else if (load(&other->helped) == name)
        at = load(&other->from);
    else
        return from;
    return at < from ? at : from;
}

/* The offset from which on the target has copied; it has finished. The words are the target's: they
 * may have any value. */
static uint64_t done_from(const struct aries_live_transfer *transfer)
{
    const struct aries_live_share *other = aries_live_share_of(transfer->link->peer);
    uint64_t from;

    if (load(&other->helped) != transfer->name)
        return transfer->length;
    from = load(&other->from);
    if (load(&other->helped) != transfer->name || from > transfer->length)
        return transfer->length;
    return from;
}

/* Copies up to `upto`, and stops when the target deregisters its memory. */
static int copy_until(struct aries_live_transfer *transfer, uint64_t upto)
{
    int result = 0;

    assert(transfer->done <= upto && upto <= transfer->length);
    while (result == 0 && transfer->done < upto) {
        uint64_t piece = upto - transfer->done;

        if (piece > COPY_MOST)
            piece = COPY_MOST;
        if (!aries_live_mdd_same(transfer->link, transfer->mdh, transfer->sequence))
            return -EFAULT; /* the records that follow find out why */
        result = copy(transfer->link->peer, transfer->get, transfer->address + transfer->done,
                      transfer->local + transfer->done, piece);
        if (result == 0)
            transfer->done += piece;
    }
    return result;
}

static int copy_pieces(struct aries_live_transfer *transfer)
{
    struct aries_live_share *own = aries_live_own_share();
    uint64_t end, piece;
    int result;

    while ((result = copy_until(transfer, own->front)) == 0) {
        end = taken_from(transfer);
        if (transfer->done >= end)
            break;
        piece = end - transfer->done;
        if (end < transfer->length && piece > 2 * PIECE_LEAST)
            piece /= 2; /* the other half is left to the target */
        store(&own->front, transfer->done + (piece < PIECE_MOST ? piece : PIECE_MOST));
    }
    return result;
}

static int copy_rest(struct aries_live_transfer *transfer)
{
    uint64_t from = done_from(transfer);

    transfer->link->unhelped = from < transfer->length ? 0 : transfer->link->unhelped + 1;
    return transfer->done < from ? copy_until(transfer, from) : 0;
}

static bool helped_still(const struct aries_live_transfer *transfer)
{
    const struct aries_live_share *other = aries_live_share_of(transfer->link->peer);

    return load(&other->helping) == transfer->name;
}

/* The target has released the record, or died. */
static void record_ended(void *number, uint8_t status, uint8_t info, bool overrun)
{
    struct aries_live_transfer *transfer = &aries_live.shared;
    struct aries_live_op *op = transfer->op;

    (void)status, (void)info, (void)overrun;
    if (op == NULL || (uint32_t)transfer->name != (uint32_t)(uintptr_t)number)
        return;
    transfer->op = NULL;
    if (transfer->result == 0) {
        aries_live_copy_begin(transfer->link, transfer->mdh);
        transfer->result = copy_rest(transfer);
        aries_live_copy_end();
    }
    aries_live_copied(transfer->link, op, transfer->result);
}

/* When the target has finished, the bytes travel in records, which report the error. */
const uint64_t *aries_live_share_abandon(const struct aries_mr *mr, uint64_t *name)
{
    struct aries_live_transfer *transfer = &aries_live.shared;
    const struct aries_work *work = transfer->op != NULL ? &transfer->op->work : NULL;

    if (work == NULL || work->ptag != mr->ptag ||
        aries_mem_handle_mdh(&work->local_handle) != mr->mdh ||
        mr->vmdh != ((aries_mem_handle_flags(&work->local_handle) & ARIES_MEM_VMDH) != 0))
        return NULL;
    assert(transfer->name != 0 && aries_live_share_of(transfer->link->peer) != NULL);
    transfer->result = -EFAULT;
    *name = transfer->name;
    return &aries_live_share_of(transfer->link->peer)->helping;
}

/* False: the target is not asked to help. */
static bool offer(struct aries_live_transfer *transfer, const struct aries_work *work)
{
    struct aries_live_link *link = transfer->link;
    struct aries_live_share *own = aries_live_own_share();
    struct aries_live_request request = {
        .flags = work->op == ARIES_GET ? ARIES_LIVE_WAS_READ : 0,
        .ptag = work->ptag,
        .mdh = (uint16_t)aries_mem_handle_mdh(&work->remote_handle),
        .length = (uint32_t)work->length,
        .address = work->remote_addr,
    };
    struct aries_live_share_call call = {.address = (uintptr_t)transfer->local};
    uint64_t first = (work->length / 2 + GRANULE - 1) / GRANULE * GRANULE;
    bool offered;

    /* Data that the CPU stores, such as messages, must arrive from front to back. */
    if (work->unit != ARIES_UNIT_BTE || work->length < SHARE_LEAST || work->length > UINT32_MAX ||
        work->route == NET_ROUTE_IN_ORDER || /* a program that watches the last byte must find all
                                                bytes before it */
        aries_live_share_of(link->peer) == NULL ||
        (link->unhelped >= UNHELPED_MAX && ++link->unhelped % OFFER_EVERY != 0))
        return false;
    if (!shm_peer_is_polling(link->peer))
        return false;
    if (++aries_live.shares == 0)
        aries_live.shares = 1;
    call.number = aries_live.shares;
    transfer->name = name_of(shm_self(aries_live.shm), call.number);
    store(&own->front, first < PIECE_MOST ? first : PIECE_MOST);
    store(&own->open, call.number);
    offered = aries_live_send(link, ARIES_LIVE_SHARE, &request, &call, sizeof(call), record_ended,
                              (void *)(uintptr_t)call.number);
    if (!offered)
        store(&own->open, 0);
    return offered;
}

int aries_live_share_copy(struct aries_live_link *link, struct aries_live_op *op, uint64_t address,
                          void *local, uint32_t sequence)
{
    struct aries_live_transfer *transfer = &aries_live.shared, alone = {0};
    const struct aries_work *work = &op->work;
    uint64_t began;

    if (transfer->op != NULL) /* that transfer still waits */
        transfer = &alone;
    *transfer = (struct aries_live_transfer){.link = link,
                                             .address = address,
                                             .local = local,
                                             .length = work->length,
                                             .mdh = aries_mem_handle_mdh(&work->remote_handle),
                                             .sequence = sequence,
                                             .get = work->op == ARIES_GET};
    if (transfer == &alone || !offer(transfer, work))
        return copy_until(transfer, work->length);
    transfer->result = copy_pieces(transfer);
    store(&aries_live_own_share()->open, 0);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    for (began = shm_ticks(); helped_still(transfer); __builtin_ia32_pause())
        if (shm_ticks() - began > SPIN_TICKS) {
            transfer->op = op;
            return ARIES_LIVE_PENDING;
        }
    return transfer->result == 0 ? copy_rest(transfer) : transfer->result;
}
