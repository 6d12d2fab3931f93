/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completion: what the target has executed, and what it replied. */
#include "transaction.h"

#include <assert.h>
#include <glib.h>
#include "nic/amo.h"
#include "nic/cq_entry.h"
#include "aries/misc/exceptions.h"

#define TXNS_FIRST 64u

sim_cold void aries_live_txns_grow(struct aries_live_link *link)
{
    uint32_t room = link->txn_room > 0 ? 2 * link->txn_room : TXNS_FIRST, number;
    struct aries_live_txn *txns = g_new0(struct aries_live_txn, room);

    assert((room & (room - 1)) == 0 && link->txn_next - link->txn_first <= link->txn_room);

    for (number = link->txn_first; number != link->txn_next; number++)
        txns[number & (room - 1)] = *aries_live_txn_at(link, number);
    g_free(link->txns);
    link->txns = txns;
    link->txn_room = room;
}

sim_noinline void aries_live_piece_end(struct aries_live_op *op, uint8_t status, uint8_t info,
                                       bool overrun)
{
    if (status != 0 && op->status == 0) {
        op->status = status;
        op->info = info;
    }
    op->overrun |= overrun;
    assert(op->open > 0 && op->offset <= aries_live_bytes_of(&op->work));
    /* All of it has been sent, or no more of it will be. Otherwise the operation is in the queue of
     * the link. */
    if (--op->open == 0 && (op->offset >= aries_live_bytes_of(&op->work)))
        aries_live_op_finish(op);
}

static sim_cold void txn_trace(const struct aries_live_txn *txn, uint8_t status)
{
    const struct aries_live_end end = {
        .name = aries_op_name(ARIES_PUT),
        .began = txn->began,
        .flow = txn->flow,
        .bytes = txn->bytes,
        .unit = ARIES_UNIT_FMA,
        .status = status,
    };

    aries_live_trace_transaction(&end);
}

void aries_live_txn_end(struct aries_live_txn *txn, uint8_t status, uint8_t info, bool overrun)
{
    txn->position = 0;
    if (txn->op != NULL) {
        aries_live_piece_end(txn->op, status, info, overrun);
        return;
    }
    assert(aries_live.in_flight[txn->ptag] > 0);
    aries_live.in_flight[txn->ptag]--;
    if (sim_unlikely(sim_trace_on) && txn->began != 0) /* otherwise it is a record of the library */
        txn_trace(txn, status);
    if (txn->done != NULL)
        txn->done(txn->context, status, info, overrun);
}

sim_noinline void aries_live_result(struct aries_live_link *link, const struct shm_record *record)
{
    struct aries_live_result result;
    struct aries_live_txn *txn;
    struct aries_live_op *op;

    if (record->count < sizeof(result) || record->kind != ARIES_LIVE_RESULT)
        return;
    memcpy(&result, record->bytes, sizeof(result));
    if (result.number - link->txn_first >= link->txn_next - link->txn_first)
        return; /* no such record is in flight */
    txn = aries_live_txn_at(link, result.number);
    op = txn->op;
    if (txn->position == 0)
        return;
    if (txn->reply && op->message == NULL && result.status == 0 &&
        (op->work.op == ARIES_GET || aries_amo_fetches(op->work.amo_cmd))) {
        result.info = ARIES_CQ_CPLTN_SRSP;
        if (record->count - sizeof(result) < txn->bytes)
            result.status = A_STATUS_PKT_MALFORMED_SIZE;
        else
            result.status = aries_live_write_local(
                op, txn->offset, (const uint8_t *)record->bytes + sizeof(result), txn->bytes);
    }
    aries_live_txn_end(txn, result.status & 0x3f, result.info & 3, result.overrun != 0);
}

void aries_live_settle_executed(struct aries_live_link *link)
{
    uint64_t executed = shm_executed(link->peer, SHM_REQUEST);

    while (link->txn_first != link->txn_next) {
        struct aries_live_txn *txn = aries_live_txn_at(link, link->txn_first);

        if (txn->position > executed)
            break;
        link->txn_first++; /* first, because the handler may send again */
        if (txn->position == 0)
            continue;
        /* The owner has executed it without the reply that is due: it breaks the protocol. */
        if (sim_unlikely(txn->reply))
            aries_live_txn_end(txn, A_STATUS_RMT_TIMEOUT, ARIES_CQ_CPLTN_SRSP, false);
        else
            aries_live_txn_end(txn, 0, ARIES_CQ_CPLTN_SREQ, false);
    }
}

/* False: nothing is in flight any more. */
static bool link_settle(struct aries_live_link *link)
{
    aries_live_settle_executed(link);
    if (sim_unlikely(link->waiting != NULL))
        aries_live_send_waiting(link);
    return link->txn_first != link->txn_next || link->waiting != NULL;
}

void aries_live_settle(void)
{
    struct aries_live_link **at = &aries_live.active;

    if (aries_live.ready != NULL)
        aries_live_finish_ready();
    while (*at != NULL) {
        struct aries_live_link *link = *at;

        if (link_settle(link)) {
            at = &link->next_active;
            continue;
        }
        /* The handlers may have put other links before this one. */
        for (at = &aries_live.active; *at != link; at = &(*at)->next_active)
            ;
        *at = link->next_active;
        link->active = false;
    }
}
