/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two processes at one long transfer. The initiator begins at the front; a target that looks at its
 * rings just then is told by a record, and takes pieces from the back. Both say on their boards how
 * far they are. A piece that both take is copied twice, which does no harm; what counts is that a
 * transfer does not end while the target is at it, and that nothing is left out:
 *
 * - The target says in which transfer it helps, fences, and looks whether that is still open. The
 *   initiator closes it, fences, and looks whether the target is in it. So at least one of them
 *   sees the other.
 * - What the target has done counts when it says so after its last piece, with the transfer's name.
 *
 * A target that is held up in a piece (stopped, or its processor taken away) holds up the transfer,
 * and nothing else: the record's end tells when it is done, or dead.
 */
#include "backend.h"

#include <assert.h>
#include <errno.h>
#include "nic/mem_handle.h"

#define SHARE_LEAST 32768u /* bytes; below, the record costs more than it brings */
#define PIECE_LEAST 32768u /* what is left in the middle is not cut further */
#define PIECE_MOST 524288u /* some 40 us */
#define HELP_MOST (64u << 20) /* bytes for which one record keeps a target busy */
#define COPY_MOST (16u << 20) /* some 2 ms: so long a deregistration of the target's waits */
#define GRANULE 4096u
#define SPIN_TICKS 400000u /* some 100 us, in which a piece should end */
#define VAIN_MOST 3u /* transfers in a row with which nobody helped: then */
#define VAIN_EVERY 16u /* one of so many is offered */

static uint64_t name_of(const struct live_peer *initiator, uint32_t number)
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

/* Between own memory and the peer's. */
static int copy(const struct live_peer *peer, bool from, uint64_t address, char *memory,
                uint64_t bytes)
{
    return from ? live_copy_from(peer, address, memory, bytes)
                : live_copy_to(peer, address, memory, bytes);
}

/* ---- the target ------------------------------------------------------------------------------ */

/*
 * From the back to where the initiator is. Where that was. What the initiator says moves forward
 * only: so each round ends with a piece, and their number is bounded.
 */
static uint64_t take_pieces(const struct live_peer *initiator, const struct lnic_share_call *call,
                            bool from, char *memory, uint64_t length, struct lnic_share *own)
{
    const struct lnic_share *other = lnic_share_of(initiator);
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

sim_noinline void lnic_share_help(const struct lnic_link *link, const struct lnic_request *request,
                                  const struct lnic_share_call *call)
{
    const struct lnic_share *other = lnic_share_of(link->peer);
    bool read = request->flags & LNIC_WAS_READ;
    sim_time_t began = sim_unlikely(sim_trace_on) ? sim_now() : 0;
    struct lnic_share *own;
    uint64_t name, from;
    void *memory;

    if (other == NULL || lnic_backend.board == NULL || call->number == 0 ||
        load(&other->open) != call->number)
        return;
    memory = lnic_target_memory(request, read ? ARIES_READ : ARIES_WRITE);
    if (memory == NULL)
        return;
    own = lnic_own_share();
    name = name_of(link->peer, call->number);
    store(&own->helped, 0);
    store(&own->back, request->length);
    store(&own->helping, name);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    from = take_pieces(link->peer, call, !read, memory, request->length, own);
    store(&own->helped, name);
    store(&own->helping, 0);
    trace(SIM_TRACE_SLICE, ARIES_TRACK_RX, lnic_backend.hw->node, 0, "help", began,
          sim_now() - began, 0, request->length - from);
}

/* ---- the initiator --------------------------------------------------------------------------- */

/* From where on the target has it, as far as it says so now. */
static uint64_t taken_from(const struct lnic_transfer *transfer)
{
    const struct lnic_share *other = lnic_share_of(transfer->link->peer);
    uint64_t name = transfer->name, from = transfer->length, at;

    if (load(&other->helping) == name)
        at = load(&other->back);
    else if (load(&other->helped) == name)
        at = load(&other->from);
    else
        return from;
    return at < from ? at : from;
}

/* From where on the target has copied it; it is not at it any more. The word is the target's: any
 * value may stand there. */
static uint64_t done_from(const struct lnic_transfer *transfer)
{
    const struct lnic_share *other = lnic_share_of(transfer->link->peer);
    uint64_t from;

    if (load(&other->helped) != transfer->name)
        return transfer->length;
    from = load(&other->from);
    if (load(&other->helped) != transfer->name || from > transfer->length)
        return transfer->length;
    return from;
}

/* Up to the end of the local buffer at most, and no further when the target deregisters. */
static int copy_until(struct lnic_transfer *transfer, uint64_t upto)
{
    int result = 0;

    assert(transfer->done <= upto && upto <= transfer->length);
    while (result == 0 && transfer->done < upto) {
        uint64_t piece = upto - transfer->done;

        if (piece > COPY_MOST)
            piece = COPY_MOST;
        if (!lnic_mdd_same(transfer->link, transfer->mdh, transfer->sequence))
            return -EFAULT; /* records find out why */
        result = copy(transfer->link->peer, transfer->get, transfer->address + transfer->done,
                      transfer->local + transfer->done, piece);
        if (result == 0)
            transfer->done += piece;
    }
    return result;
}

static int copy_pieces(struct lnic_transfer *transfer)
{
    struct lnic_share *own = lnic_own_share();
    uint64_t end, piece;
    int result;

    while ((result = copy_until(transfer, own->front)) == 0) {
        end = taken_from(transfer);
        if (transfer->done >= end)
            break;
        piece = end - transfer->done;
        if (end < transfer->length && piece > 2 * PIECE_LEAST)
            piece /= 2; /* the other half is the target's */
        store(&own->front, transfer->done + (piece < PIECE_MOST ? piece : PIECE_MOST));
    }
    return result;
}

static int copy_rest(struct lnic_transfer *transfer)
{
    uint64_t from = done_from(transfer);

    transfer->link->vain = from < transfer->length ? 0 : transfer->link->vain + 1;
    return transfer->done < from ? copy_until(transfer, from) : 0;
}

static bool helped_still(const struct lnic_transfer *transfer)
{
    const struct lnic_share *other = lnic_share_of(transfer->link->peer);

    return load(&other->helping) == transfer->name;
}

/* The target has released the record, or died. */
static void record_ended(void *number, uint8_t status, uint8_t info, bool overrun)
{
    struct lnic_transfer *transfer = &lnic_backend.shared;
    struct lnic_op *op = transfer->op;

    (void)status, (void)info, (void)overrun;
    if (op == NULL || (uint32_t)transfer->name != (uint32_t)(uintptr_t)number)
        return;
    transfer->op = NULL;
    if (transfer->result == 0) {
        lnic_copy_begin(transfer->link, transfer->mdh);
        transfer->result = copy_rest(transfer);
        lnic_copy_end();
    }
    lnic_copied(transfer->link, op, transfer->result);
}

/* Records bring the bytes when the target has ended, and find out what is wrong. */
const uint64_t *lnic_share_abandon(const struct aries_mr *mr, uint64_t *name)
{
    struct lnic_transfer *transfer = &lnic_backend.shared;
    const struct aries_work *work = transfer->op != NULL ? &transfer->op->work : NULL;

    if (work == NULL || work->ptag != mr->ptag ||
        aries_mem_handle_mdh(&work->local_handle) != mr->mdh ||
        mr->vmdh != ((aries_mem_handle_flags(&work->local_handle) & ARIES_MEM_VMDH) != 0))
        return NULL;
    assert(transfer->name != 0 && lnic_share_of(transfer->link->peer) != NULL);
    transfer->result = -EFAULT;
    *name = transfer->name;
    return &lnic_share_of(transfer->link->peer)->helping;
}

/* False: the target is not asked. */
static bool offer(struct lnic_transfer *transfer, const struct aries_work *work)
{
    struct lnic_link *link = transfer->link;
    struct lnic_share *own = lnic_own_share();
    struct lnic_request request = {
        .flags = work->op == ARIES_GET ? LNIC_WAS_READ : 0,
        .ptag = work->ptag,
        .mdh = (uint16_t)aries_mem_handle_mdh(&work->remote_handle),
        .length = (uint32_t)work->length,
        .address = work->remote_addr,
    };
    struct lnic_share_call call = {.address = (uintptr_t)transfer->local};
    uint64_t first = (work->length / 2 + GRANULE - 1) / GRANULE * GRANULE;
    bool offered;

    /* What the CPU stores, as of messages, arrives from the front to the back. */
    if (work->unit != ARIES_UNIT_BTE || work->length < SHARE_LEAST || work->length > UINT32_MAX ||
        work->route == NET_ROUTE_IN_ORDER || /* who watches the last byte finds all of it */
        lnic_share_of(link->peer) == NULL ||
        (link->vain >= VAIN_MOST && ++link->vain % VAIN_EVERY != 0))
        return false;
    if (!live_looks(link->peer))
        return false;
    if (++lnic_backend.shares == 0)
        lnic_backend.shares = 1;
    call.number = lnic_backend.shares;
    transfer->name = name_of(live_self(lnic_backend.live), call.number);
    store(&own->front, first < PIECE_MOST ? first : PIECE_MOST);
    store(&own->open, call.number);
    offered = lnic_say(link, LNIC_SHARE, &request, &call, sizeof(call), record_ended,
                       (void *)(uintptr_t)call.number);
    if (!offered)
        store(&own->open, 0);
    return offered;
}

int lnic_share_copy(struct lnic_link *link, struct lnic_op *op, uint64_t address, void *local,
                    uint32_t sequence)
{
    struct lnic_transfer *transfer = &lnic_backend.shared, alone = {0};
    const struct aries_work *work = &op->work;
    uint64_t began;

    if (transfer->op != NULL) /* that one is not over */
        transfer = &alone;
    *transfer = (struct lnic_transfer){.link = link,
                                       .address = address,
                                       .local = local,
                                       .length = work->length,
                                       .mdh = aries_mem_handle_mdh(&work->remote_handle),
                                       .sequence = sequence,
                                       .get = work->op == ARIES_GET};
    if (transfer == &alone || !offer(transfer, work))
        return copy_until(transfer, work->length);
    transfer->result = copy_pieces(transfer);
    store(&lnic_own_share()->open, 0);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    for (began = live_ticks(); helped_still(transfer); __builtin_ia32_pause())
        if (live_ticks() - began > SPIN_TICKS) {
            transfer->op = op;
            return LNIC_LATER;
        }
    return transfer->result == 0 ? copy_rest(transfer) : transfer->result;
}
