/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Operations: transactions of more than one record, with a reply, or that have to wait. */
#include "transaction.h"

#include <assert.h>
#include <glib.h>
#include "api/datagram.h"
#include "nic/cq_entry.h"

struct aries_live_op *aries_live_op_new(struct gni_nic *nic, const struct aries_work *work,
                                        struct aries_live_chain *chain)
{
    struct aries_live_op *op = aries_live.free_ops;

    if (op != NULL)
        aries_live.free_ops = op->next;
    else
        op = g_new(struct aries_live_op, 1);
    memset(op, 0, offsetof(struct aries_live_op, work));
    op->work = *work;
    memset(&op->chain, 0, sizeof(*op) - offsetof(struct aries_live_op, chain));
    op->chain = chain;
    op->nic = nic;
    op->began = sim_trace_begin();
    return op;
}

static void op_trace(const struct aries_live_op *op)
{
    const struct aries_live_end end = {
        .name = op->message != NULL ? "datagram" : aries_op_name(op->work.op),
        .began = op->began,
        .flow = op->flow,
        .bytes = aries_live_bytes_of(&op->work),
        .unit = op->work.unit,
        .status = op->status,
    };

    aries_live_trace_transaction(&end);
}

static void op_report(struct aries_live_op *op)
{
    struct aries_live_chain *chain = op->chain;
    const struct aries_work *work = &op->work;

    if (op->status != 0)
        aries_live.fabric->counters.errors++;
    if (op->message != NULL) { /* the datagrams of a dead node are gone already */
        if (work->target->alive && aries_live.hw->alive)
            aries_datagram_send_ended(op->message, op->status == 0 && !op->overrun);
        return;
    }
    if (chain == NULL) {
        if (work->done != NULL)
            work->done(work->context, op->status, op->info, op->overrun);
        return;
    }
    if (op->status != 0 && chain->status == 0) {
        chain->status = op->status;
        chain->info = op->info;
    }
    chain->overrun |= op->overrun;
    if (--chain->open > 0)
        return;
    if (chain->done != NULL)
        chain->done(chain->context, chain->status, chain->info, chain->overrun);
    g_free(chain);
}

void aries_live_op_finish(struct aries_live_op *op)
{
    if (sim_unlikely(op->fault_status != 0) && op->status == 0) {
        op->status = op->fault_status;
        op->info = op->fault_info;
    }
    if (sim_unlikely(op->path != NULL) && !aries_live_path_end(op))
        return; /* the model's response is still to come */
    if (sim_unlikely(sim_trace_on))
        op_trace(op);
    if (op->departed) {
        assert(aries_live.in_flight[op->work.ptag] > 0);
        aries_live.in_flight[op->work.ptag]--;
    }
    op_report(op);
    g_free(op->data);
    op->next = aries_live.free_ops;
    aries_live.free_ops = op;
}

void aries_live_op_end(struct aries_live_op *op, uint8_t status, uint8_t info)
{
    if (op->status == 0) {
        op->status = status;
        op->info = info;
    }
    op->next = NULL;
    *aries_live.ready_tail = op;
    aries_live.ready_tail = &op->next;
}

void aries_live_finish_ready(void)
{
    struct aries_live_op *op = aries_live.ready;

    aries_live.ready = NULL;
    aries_live.ready_tail = &aries_live.ready;
    while (op != NULL) {
        struct aries_live_op *next = op->next;

        aries_live_op_finish(op);
        op = next;
    }
}
