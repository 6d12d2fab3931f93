/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Packets of the collective engine at the simulated NIC. ce_channel.c implements the channels. */
#include "sim/nic.h"

#include <assert.h>

#include "aries/misc/exceptions.h"
#include "nic/ce.h"
#include "nic/ce_combine.h"
#include "nic/cq_entry.h"

_Static_assert(sizeof(gni_ce_result_t) >=
                   offsetof(gni_ce_result_t, result1) + sizeof(((struct aries_work *)0)->operand),
               "both operands fit into the result");

/* Writes the control word last, because it marks the result as complete. */
static void land(struct sim_event *event)
{
    struct aries_chunk *chunk = sim_container_of(event, struct aries_chunk, landing.event);
    struct aries_txn *txn = chunk->txn;
    const struct aries_work *work = &txn->work;
    struct aries_mr *mr = chunk->mr;

    if (mr->live && work->target->alive) {
        aries_mr_write(mr, work->remote_addr + offsetof(gni_ce_result_t, result1), work->operand,
                       sizeof(work->operand));
        aries_mr_write(mr, work->remote_addr + offsetof(gni_ce_result_t, control),
                       &work->sync_flag_value, sizeof(work->sync_flag_value));
    }
    sim_trace(SIM_TRACE_INSTANT, ARIES_TRACK_RX, work->target->node, 0, "land", sim_now(), 0,
              txn->flow, sizeof(gni_ce_result_t));
    if (txn->entry.book != NULL)
        sim_ledger_deliver(&txn->entry, 0, 0);
    aries_process_written(mr->process);
    aries_mr_unref(mr);
    aries_chunk_unref(chunk);
}

static uint8_t write_arrived(struct aries_nic *nic, struct aries_chunk *chunk)
{
    const struct aries_work *work = &chunk->txn->work;
    const struct aries_timing *timing = &nic->fabric->timing;
    struct aries_mr *mr;
    gni_ce_result_t before;
    uint8_t status = aries_mr_check(nic, work->ptag, work->remote_handle, work->remote_addr,
                                    sizeof(before), ARIES_WRITE, &mr);

    if (status == 0 && !aries_mr_read(mr, work->remote_addr, &before, sizeof(before)))
        status = A_STATUS_AT_PF_INV;
    if (status != 0)
        return status;
    assert(chunk->mr == NULL);
    chunk->mr = mr;
    aries_mr_ref(mr);
    chunk->refs++;
    chunk->landing.event.fire = land;
    sim_event_schedule(&chunk->landing.event,
                       sim_now() + timing->pcie_write + timing->cqe + timing->poll);
    return 0;
}

sim_time_t aries_sim_ce_wait(struct aries_nic *nic)
{
    struct aries_sim_nic *sim = nic->sim;
    sim_time_t start = sim->ce_free > sim_now() ? sim->ce_free : sim_now();

    sim->ce_free = start + nic->fabric->timing.ce_gap;
    return start - sim_now();
}

void aries_sim_ce_arrived(struct aries_nic *nic, struct aries_chunk *chunk)
{
    struct aries_txn *txn = chunk->txn;

    assert(txn->work.op >= ARIES_CE_JOIN && txn->work.op <= ARIES_CE_WRITE);
    chunk->info = ARIES_CQ_CPLTN_DREQ;
    if (txn->work.op == ARIES_CE_WRITE) {
        chunk->status = write_arrived(nic, chunk);
        return;
    }
    chunk->status = txn->work.op == ARIES_CE_JOIN
                        ? aries_ce_accept_join(nic, txn->source, &txn->work)
                        : aries_ce_accept_result(nic, txn->source, &txn->work);
    if (chunk->status == 0 && txn->entry.book != NULL)
        sim_ledger_deliver(&txn->entry, 0, 0);
}

uint32_t aries_sim_ce_phits(const struct aries_work *work)
{
    bool two = work->op == ARIES_CE_WRITE || aries_ce_two_operands(work->ce.command, work->ce.mode);

    return 3 + aries_data_phits(two ? 16 : 8);
}
