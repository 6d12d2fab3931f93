/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Transactions from the call to their first record; those of suspended jobs wait here. */
#include "transaction.h"

#include <assert.h>
#include <glib.h>
#include "nic/cq_entry.h"
#include "aries/misc/exceptions.h"

static void launch(struct aries_live_op *op)
{
    const struct aries_work *work = &op->work;
    struct aries_live_link *link;

    if (sim_unlikely(!work->target->alive)) { /* the scenario has crashed the node */
        aries_live_op_end(op, aries_live_status_of_death(aries_live_bytes_of(work)),
                          ARIES_CQ_CPLTN_SRSP);
        return;
    }
    link = aries_live_for_channel(work) ? aries_live_route_ce(work->target, work->ce.ce_id)
                                        : aries_live_route(work);
    if (link == &aries_live_self_link)
        aries_live_execute_here(op);
    else if (link == NULL)
        aries_live_op_end(op,
                          aries_live_for_channel(work) ? A_STATUS_CE_OPERATION_UNEXPECTED
                                                       : A_STATUS_AT_MDD_INV,
                          ARIES_CQ_CPLTN_DREQ);
    else if (link->gone)
        aries_live_op_end(op, aries_live_status_of_death(aries_live_bytes_of(work)),
                          ARIES_CQ_CPLTN_SRSP);
    else
        aries_live_op_begin(link, op);
}

/* Applies the scenario to the operation. False: it ends, or is launched later. */
static bool inspect(struct aries_live_op *op)
{
    struct aries_live_fault fault;

    if (aries_live_inject_fault(&op->work, &fault)) {
        sim_trace_add_number("to node", op->work.target->node);
        sim_trace(SIM_TRACE_INSTANT, SIM_TRACK_FAULT, aries_live.hw->node, 0,
                  fault.status != 0 ? "lost" : "delayed", sim_now(), 0, 0, op->work.target->node);
        if (fault.status != 0 && !fault.executed) {
            aries_live_op_end(op, fault.status, fault.info);
            return false;
        }
        op->fault_status = fault.status;
        op->fault_info = fault.info;
    }
    return aries_live_path_begin(op, fault.delay);
}

static void depart(struct aries_live_op *op)
{
    assert(!op->departed && op->message == NULL);
    op->departed = true;
    aries_live.in_flight[op->work.ptag]++;
    if (sim_likely(!aries_live.inspected) || inspect(op))
        launch(op);
}

static void hold(struct aries_live_op *op)
{
    assert(aries_live.holding && !op->departed);
    aries_live_capture(op);
    op->next = NULL;
    *aries_live.held_tail = op;
    aries_live.held_tail = &op->next;
}

static sim_noinline void begin(struct gni_nic *nic, const struct aries_work *work,
                               struct aries_live_chain *chain)
{
    struct aries_live_op *op = aries_live_op_new(nic, work, chain);

    if (work->target == NULL)
        aries_live_op_end(op, A_STATUS_PE_BOUNDS_ERR, ARIES_CQ_CPLTN_SREQ);
    else if (sim_unlikely(aries_live.holding) && aries_ptag_suspended(aries_live.hw, work->ptag))
        hold(op);
    else
        depart(op);
}

/* A short PUT of data that the CPU stores to another process: the path of every short message. */
static bool put_at_once(const struct aries_work *work)
{
    uint32_t length = work->header_length + (uint32_t)work->length;
    struct aries_live_request *request;
    struct aries_live_link *link;
    struct aries_live_txn *txn;

    if (!work->local_is_va || work->sync_flag || work->target == NULL || work->op != ARIES_PUT ||
        work->header_length + work->length > ARIES_LIVE_PIECE || !work->target->alive ||
        sim_unlikely(aries_live.inspected || aries_live.holding))
        return false;
    link = aries_live_route(work);
    if (link == NULL || link == &aries_live_self_link || link->gone || link->waiting != NULL)
        return false;
    request = shm_reserve(link->peer, SHM_REQUEST, (uint32_t)sizeof(*request) + length);
    if (request == NULL)
        return false;
    aries_live_request_fill(request, work, link->txn_next);
    request->length = length;
    request->address = work->remote_addr;
    aries_work_copy(work, 0, length, (uint8_t *)(request + 1));
    txn = aries_live_txn_new(link);
    txn->done = work->done;
    txn->context = work->context;
    txn->op = NULL;
    txn->ptag = work->ptag;
    aries_live.in_flight[work->ptag]++;
    txn->bytes = length;
    if (sim_unlikely(sim_trace_on)) {
        txn->began = sim_now();
        txn->flow = link->flow_to + (link->txn_next - 1);
    }
    txn->reply = false;
    txn->position =
        shm_publish(link->peer, SHM_REQUEST, ARIES_LIVE_PUT, (uint32_t)sizeof(*request) + length);
    return true;
}

static void submit(struct gni_nic *nic, const struct aries_work *work)
{
    aries_live.fabric->counters.transactions++;
    aries_live.fabric->counters.payload_bytes += aries_live_bytes_of(work);
    if (sim_likely(put_at_once(work)))
        return;
    begin(nic, work, NULL);
}

static void submit_chain(struct gni_nic *nic, const struct aries_work *works, uint32_t count)
{
    struct aries_live_chain *chain = g_new0(struct aries_live_chain, 1);
    uint32_t i;

    aries_live.fabric->counters.transactions++;
    chain->open = count;
    chain->done = works[0].done;
    chain->context = works[0].context;
    for (i = 0; i < count; i++) {
        aries_live.fabric->counters.payload_bytes += aries_live_bytes_of(&works[i]);
        begin(nic, &works[i], chain);
    }
}

const struct aries_nic_ops aries_hw_nic_ops = {submit, submit_chain};

void aries_hw_originate(struct aries_nic *hw, const struct aries_work *work)
{
    struct aries_work put = *work;

    hw->fabric->counters.transactions++;
    if (work->op == ARIES_CE_WRITE) { /* first the words of the result, then the control word */
        put.op = ARIES_PUT;
        put.local_is_va = true;
        put.local_addr = (uintptr_t)work->operand;
        put.length = sizeof(work->operand);
        put.remote_addr = work->remote_addr + offsetof(gni_ce_result_t, result1);
        put.sync_flag = true;
        put.sync_flag_addr = work->remote_addr + offsetof(gni_ce_result_t, control);
    }
    begin(NULL, &put, NULL);
}

void aries_live_launch(struct aries_live_op *op)
{
    if (op->message == NULL)
        launch(op);
    else if (op->work.target->alive && aries_live.hw->alive)
        aries_live_launch_datagram(op);
    else
        aries_live_op_end(op, 0, 0);
}

/* ---- suspended jobs -------------------------------------------------------------------------- */

void aries_hw_hold(struct aries_nic *hw, uint8_t ptag)
{
    (void)hw, (void)ptag; /* aries_ptag_suspended() has the state */
    aries_live.holding = true;
}

bool aries_hw_draining(const struct aries_nic *hw, uint8_t ptag)
{
    (void)hw;
    return aries_live.in_flight[ptag] > 0;
}

void aries_hw_release(struct aries_nic *hw)
{
    struct aries_live_op *op = aries_live.held, *next;
    uint32_t ptag;

    aries_live.holding = false;
    for (ptag = 0; ptag < 256; ptag++)
        aries_live.holding |= aries_ptag_suspended(hw, (uint8_t)ptag);
    aries_live.held = NULL;
    aries_live.held_tail = &aries_live.held;
    for (; op != NULL; op = next) {
        next = op->next;
        if (aries_ptag_suspended(hw, op->work.ptag))
            hold(op);
        else
            depart(op);
    }
    sim_wall.changes++;
}
