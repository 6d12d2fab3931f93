/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The target side of the simulated NIC, and the responses back to the source. */
#include "sim/nic.h"

#include <assert.h>
#include <glib.h>
#include "nic/amo.h"
#include "nic/cq_entry.h"
#include "nic/target.h"

/* ---- receive side ---------------------------------------------------------------------------- */

static sim_time_t later(sim_time_t a, sim_time_t b)
{
    return a > b ? a : b;
}

/* Time that a chunk's data packets need in a pipeline of the NIC. */
static sim_time_t data_service(const struct aries_chunk *chunk, const struct aries_timing *timing)
{
    return chunk->flits * timing->nic_flit;
}

/* Reserves a receive pipeline for the chunk at its arrival. Returns how long it has to wait. */
static sim_time_t reserve_receive(struct aries_nic *nic, const struct aries_chunk *chunk, bool data)
{
    struct aries_sim_nic *sim = nic->sim;
    const struct aries_timing *timing = &nic->fabric->timing;
    sim_time_t arrival = sim_now() - chunk->transfer.receiver_latency, wait;
    bool reads;

    assert(sim_now() >= chunk->transfer.receiver_latency);
    wait = aries_sim_occupy(&sim->rx_free, arrival, 0,
                            data ? data_service(chunk, timing) : chunk->packets * timing->nic_flit);
    reads = chunk->txn->work.op == ARIES_GET && !data; /* host memory, for the requester */
    if (reads) /* the number of concurrent host reads is limited */
        wait = later(wait, aries_sim_occupy(&sim->npt_free, arrival, 0,
                                            chunk->packets * aries_host_read_service(timing)));
    if ((data || reads) && chunk->txn->work.unit == ARIES_UNIT_BTE)
        wait =
            later(wait, aries_sim_occupy(&sim->duplex_free, arrival, 0,
                                         (sim_time_t)(chunk->bytes * 1e3 / timing->duplex_rate)));
    return wait;
}

/* False: the chunk is lost, or will be handled later. */
static bool receive(struct aries_nic *nic, struct aries_chunk *chunk)
{
    const struct aries_timing *timing = &nic->fabric->timing;
    const struct aries_work *work = &chunk->txn->work;
    struct sim_event *event = &chunk->transfer.event;
    sim_time_t now = sim_now(), wait;

    if (sim_unlikely(chunk->transfer.status != NET_DELIVERED || !nic->alive)) {
        aries_sim_loss_record(chunk);
        aries_source_chunk_lost(chunk, chunk->packets);
        return false;
    }
    if (sim_unlikely(nic->sim->hang_until > now)) {
        if (nic->sim->hang_until - chunk->sent >= timing->orb_timeout) {
            aries_sim_loss_record(chunk);
            aries_source_chunk_lost(chunk, chunk->packets);
        } else
            sim_event_schedule(event, nic->sim->hang_until);
        return false;
    }
    if (sim_unlikely(nic->sim->stall_until > now)) {
        bool reads = work->op == ARIES_GET || work->op == ARIES_AMO;

        if (!reads || nic->sim->stall_until - now < timing->npt_timeout) {
            sim_event_schedule(event, nic->sim->stall_until);
            return false;
        }
        chunk->status = A_STATUS_PI_TIMEOUT; /* the host did not answer the read */
    }
    if (!chunk->received) {
        chunk->received = true;
        wait = reserve_receive(nic, chunk, work->op == ARIES_PUT);
        if (wait > 0) {
            sim_event_schedule(event, now + wait);
            return false;
        }
    }
    return true;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/*
 * Whether the pages of a write that begins at `memory` are mapped. This is checked before the
 * response is sent; the write itself follows the response.
 */
static bool mapped(struct aries_mr *mr, uint64_t address, const void *memory, uint32_t length)
{
    uint64_t page;
    uint8_t byte;

    if (length == 0)
        return true;
    if (!aries_copy(&byte, memory, 1))
        return false;
    for (page = (address | 4095) + 1; sim_unlikely(page < address + length); page += 4096)
        if (!aries_mr_read(mr, page, &byte, 1))
            return false;
    return true;
}

static struct aries_target target_of(struct aries_nic *nic, const struct aries_chunk *chunk)
{
    const struct aries_work *work = &chunk->txn->work;

    return (struct aries_target){nic, work->remote_handle, work->remote_addr + chunk->offset,
                                 chunk->bytes, work->ptag};
}

static void push_remote(struct aries_txn *txn, const struct aries_mr *mr, enum aries_cq_info info)
{
    if (!aries_target_event(mr, info, txn->work.remote_event, txn->work.peer))
        txn->remote_overrun = true;
}

/* All bytes of a GET were read, or an atomic operation is complete. */
static void executed(struct aries_txn *txn, struct aries_chunk *chunk, const struct aries_mr *mr,
                     enum aries_cq_info info)
{
    if (txn->landed == txn->work.length && aries_txn_has_access(txn))
        aries_access_remote_done(txn);
    if (!txn->work.remote_wanted || txn->landed != txn->work.length)
        return;
    if (mr->cq == NULL)
        chunk->status = aries_target_event_status(mr, false);
    else
        push_remote(txn, mr, info);
}

/* All bytes of a PUT are visible. Flag and event follow, never earlier. */
static void put_landed(struct aries_txn *txn, struct aries_mr *mr)
{
    const struct aries_work *work = &txn->work;

    if (work->sync_flag && mr->live)
        aries_mr_write(mr, work->sync_flag_addr, &work->sync_flag_value,
                       sizeof(work->sync_flag_value));
    if (work->remote_wanted)
        push_remote(txn, mr, ARIES_CQ_CPLTN_DREQ);
}

static void land(struct sim_event *event)
{
    struct aries_chunk *chunk = sim_container_of(event, struct aries_chunk, landing.event);
    struct aries_txn *txn = chunk->txn;
    struct aries_mr *mr = chunk->mr;
    /* Avoids reading a cache line of the source. */
    struct aries_fabric *fabric = txn->work.target->fabric;
    uint64_t address = txn->work.remote_addr + chunk->offset;
    struct aries_process *process = mr->process;
    uint32_t notifications = process != NULL ? process->notifications : 0;
    bool whole;

    /*
     * If the region was deregistered meanwhile, its memory is gone and the NIC's write is dropped.
     */
    if (mr->live && txn->work.target->alive)
        aries_mr_write(mr, address, chunk->data, chunk->bytes);
    assert(mr != NULL && mr->refs > 0 && chunk->refs > 0);
    txn->landed += chunk->bytes;
    if (txn->entry.book != NULL)
        sim_ledger_deliver(&txn->entry, chunk->bytes,
                           sim_ledger_digest(chunk->data, chunk->bytes, chunk->offset));
    aries_chunk_drop_data(fabric, chunk);
    sim_trace(SIM_TRACE_INSTANT, ARIES_TRACK_RX, txn->work.target->node, 0, "land", sim_now(), 0,
              txn->flow, chunk->bytes);
    __builtin_prefetch(txn->work.peer, 1);
    __builtin_prefetch(txn->work.own, 1);
    whole = txn->landed >= txn->work.header_length + txn->work.length;
    if (whole && aries_txn_has_access(txn))
        aries_access_remote_done(txn);
    if (whole)
        put_landed(txn, mr);
    /*
     * Programs find messages by polling. A program that watches memory waits for the end of a PUT.
     */
    if (whole && !txn->work.remote_optional)
        aries_process_written(process);
    else if (process != NULL && process->notifications == notifications)
        aries_process_notify(process); /* its remote event has not done that */
    aries_mr_unref(mr);
    aries_chunk_unref(chunk);
}

static void put(struct aries_nic *nic, struct aries_chunk *chunk)
{
    struct aries_txn *txn = chunk->txn;
    const struct aries_work *work = &txn->work;
    const struct aries_timing *timing = &nic->fabric->timing;
    const struct aries_target target = target_of(nic, chunk);
    sim_time_t visible = sim_now() - timing->rspgen + timing->pcie_write + timing->poll;
    struct aries_mr *mr;
    void *memory;

    assert(chunk->mr == NULL && work->op == ARIES_PUT);
    chunk->info = ARIES_CQ_CPLTN_DREQ;
    chunk->status = aries_target_check_put(&target, ARIES_WRITE,
                                           work->sync_flag ? &work->sync_flag_addr : NULL, &mr);
    if (chunk->status != 0)
        return;
    memory = aries_mr_pointer(mr, target.address, 1);
    if (!mapped(mr, target.address, memory, chunk->bytes)) {
        chunk->status = A_STATUS_AT_PF_INV;
        return;
    }
    if (work->remote_wanted) {
        visible += timing->cqe;
        chunk->status = aries_target_event_status(mr, work->remote_optional);
    }
    chunk->mr = mr;
    aries_mr_ref(mr);
    chunk->refs++;
    chunk->landing.event.fire = land;
    chunk->landing.fetch = aries_landing_prefetch;
    chunk->address = (uint64_t)(uintptr_t)memory;
    sim_prefetch_schedule(&chunk->landing, visible);
}

static void get(struct aries_nic *nic, struct aries_chunk *chunk)
{
    struct aries_txn *txn = chunk->txn;
    const struct aries_target target = target_of(nic, chunk);
    struct aries_mr *mr;

    chunk->info = ARIES_CQ_CPLTN_DREQ;
    chunk->status = aries_target_get(&target, chunk->data, &mr);
    if (chunk->status != 0)
        return;
    sim_ledger_hand_in(&txn->entry, sim_ledger_digest(chunk->data, chunk->bytes, chunk->offset));
    txn->landed += chunk->bytes; /* read at the target */
    executed(txn, chunk, mr, ARIES_CQ_CPLTN_SREQ);
}

/* ---- atomics --------------------------------------------------------------------------------- */

/* True if the line is in the unit's cache. Cached commands bring it in. */
static bool line_cached(struct aries_nic *nic, uint64_t address)
{
    uint32_t lines = nic->fabric->timing.amo_cache;
    uint64_t line = address >> ARIES_AMO_LINE_SHIFT, *slot;

    if (nic->sim->amo_lines == NULL)
        nic->sim->amo_lines = g_new0(uint64_t, lines);
    assert(lines > 0);
    slot = &nic->sim->amo_lines[line % lines];
    if (*slot == line)
        return true;
    *slot = line;
    return false;
}

/* How long this atomic operation waits for the unit, and for a line that is not in its cache. */
static sim_time_t amo_wait(struct aries_nic *nic, struct aries_chunk *chunk)
{
    const struct aries_timing *timing = &nic->fabric->timing;
    struct aries_sim_nic *sim = nic->sim;
    sim_time_t now = sim_now(), start = later(now, sim->amo_free), wait;

    sim->amo_free = start + timing->amo_gap;
    wait = start - now;
    if (aries_amo_cached(chunk->txn->work.amo_cmd) &&
        !line_cached(nic, chunk->txn->work.remote_addr + chunk->offset))
        wait += timing->pcie_read;
    return wait;
}

static void amo(struct aries_nic *nic, struct aries_chunk *chunk)
{
    struct aries_txn *txn = chunk->txn;
    const struct aries_work *work = &txn->work;
    const struct aries_target target = target_of(nic, chunk);
    struct aries_mr *mr;
    uint64_t digest;

    chunk->info = ARIES_CQ_CPLTN_DREQ;
    chunk->status = aries_target_amo(&target, work->amo_cmd, work->operand, chunk->data, &mr);
    if (chunk->status != 0 && chunk->status != A_STATUS_AT_PF_WR_PERMISSION_ERR)
        return;
    digest = sim_ledger_digest(chunk->data, chunk->bytes, chunk->offset);
    sim_ledger_hand_in(&txn->entry, digest);
    sim_ledger_deliver(&txn->entry, chunk->bytes, digest);
    txn->landed += chunk->bytes;
    executed(txn, chunk, mr, ARIES_CQ_CPLTN_DREQ);
    aries_process_written(mr->process);
}

/* ---- CQ writes ------------------------------------------------------------------------------- */

static void land_cqwrite(struct sim_event *event)
{
    struct aries_chunk *chunk = sim_container_of(event, struct aries_chunk, landing.event);
    struct aries_txn *txn = chunk->txn;

    assert(chunk->mr->refs > 0);
    if (chunk->mr->cq != NULL &&
        !aries_cq_push(chunk->mr->cq, aries_cq_entry_cqwrite(txn->work.cqwrite_value)))
        txn->remote_overrun = true;
    if (txn->entry.book != NULL)
        sim_ledger_deliver(&txn->entry, 0, 0);
    aries_mr_unref(chunk->mr);
    aries_chunk_unref(chunk);
}

static void cqwrite(struct aries_nic *nic, struct aries_chunk *chunk)
{
    const struct aries_timing *timing = &nic->fabric->timing;
    const struct aries_target target = target_of(nic, chunk);
    struct aries_mr *mr;

    chunk->info = ARIES_CQ_CPLTN_DREQ;
    chunk->status = aries_target_cqwrite(&target, &mr);
    if (chunk->status != 0)
        return;
    chunk->mr = mr;
    aries_mr_ref(mr);
    chunk->refs++;
    chunk->landing.event.fire = land_cqwrite;
    sim_event_schedule(&chunk->landing.event, sim_now() - timing->rspgen + timing->pcie_write +
                                                  timing->cqe + timing->poll);
}

/* ---- responses ------------------------------------------------------------------------------- */

static void send_data_now(struct sim_event *event)
{
    struct aries_chunk *chunk = sim_container_of(event, struct aries_chunk, transfer.event);

    event->fire = aries_source_response_arrived;
    aries_chunk_launch(aries_txn_fabric(chunk->txn), chunk, chunk->feed);
}

/* Data that a GET has read is sent through the transmit pipeline, as requests are. */
static void send_data(struct aries_nic *nic, struct aries_chunk *chunk)
{
    struct aries_sim_nic *sim = nic->sim;
    sim_time_t wait = aries_sim_occupy(&sim->tx_free, sim_now(), chunk->feed,
                                       data_service(chunk, &nic->fabric->timing));

    if (sim_likely(wait == 0)) {
        aries_chunk_launch(nic->fabric, chunk, chunk->feed);
        return;
    }
    chunk->transfer.event.fire = send_data_now;
    sim_event_schedule(&chunk->transfer.event, sim_now() + wait);
}

static void respond(struct aries_nic *nic, struct aries_chunk *chunk)
{
    struct aries_fabric *fabric = nic->fabric;
    const struct aries_timing *timing = &fabric->timing;
    const struct aries_work *work = &chunk->txn->work;
    struct net_transfer *transfer = &chunk->transfer;
    bool failed = chunk->status != 0, data = !failed && aries_returns_data(work);

    assert(transfer->class == NET_REQUEST);
    transfer->event.fire = aries_source_response_arrived;
    transfer->prefetch_event.fetch = aries_response_prefetch;
    transfer->target = transfer->source;
    chunk->at = &fabric->nics[transfer->target]; /* the source, without a line of it */
    transfer->source = nic->node;
    transfer->class = NET_RESPONSE;
    transfer->ready_span = work->op == ARIES_PUT ? chunk->feed : 0;
    transfer->receiver_latency = aries_response_lag(timing, data);
    transfer->units = chunk->packets;
    transfer->last_units = 1;
    if (work->op == ARIES_GET && !failed) {
        /* Bulk data keeps the request's route: docs/model.md, "Responses". */
        transfer->units = aries_chunk_units(chunk, 1, &transfer->last_units);
    } else {
        if (data) {
            transfer->units = chunk->packets + aries_data_phits(chunk->bytes);
            transfer->last_units = 1 + aries_data_phits(chunk->bytes);
        }
        if (work->route >= NET_ROUTE_ADAPTIVE_0)
            transfer->route = (uint8_t)(NET_ROUTE_ADAPTIVE_0 + timing->response_class);
    }
    fabric->counters.response_packets += chunk->packets;
    if (work->op != ARIES_GET || failed)
        aries_chunk_launch(fabric, chunk, 0);
    else
        send_data(nic, chunk);
}

/* How long a request waits for the unit that executes it. */
static sim_time_t unit_wait(struct aries_nic *nic, struct aries_chunk *chunk)
{
    if (chunk->txn->work.op == ARIES_AMO)
        return amo_wait(nic, chunk);
    return chunk->txn->work.op >= ARIES_CE_JOIN ? aries_sim_ce_wait(nic) : 0;
}

void aries_target_request_arrived(struct sim_event *event)
{
    struct aries_chunk *chunk = sim_container_of(event, struct aries_chunk, transfer.event);
    struct aries_txn *txn = chunk->txn;
    struct aries_nic *nic = txn->work.target;
    sim_time_t wait;

    assert(chunk->refs > 0 && txn->chunks_open > 0);
    if (!receive(nic, chunk))
        return;
    if (txn->work.op >= ARIES_AMO && !chunk->fetched && chunk->status == 0) {
        chunk->fetched = true;
        wait = unit_wait(nic, chunk);
        if (wait > 0) {
            sim_event_schedule(event, sim_now() + wait);
            return;
        }
    }
    if (sim_unlikely(sim_trace_on))
        sim_trace_add_number("from node", txn->source->node);
    sim_trace(SIM_TRACE_INSTANT, ARIES_TRACK_RX, nic->node, 0, "arrive", sim_now(), 0, txn->flow,
              chunk->bytes);
    if (sim_unlikely(chunk->poisoned || chunk->transfer.poisoned)) {
        chunk->status = A_STATUS_DATA_ERR;
        chunk->info = ARIES_CQ_CPLTN_DREQ;
    }
    if (sim_unlikely(chunk->status != 0)) /* caused by a fault */
        aries_sim_report_fault(nic, txn, chunk->status);
    if (sim_likely(chunk->status == 0)) {
        switch (txn->work.op) {
        case ARIES_PUT:
            put(nic, chunk);
            break;
        case ARIES_GET:
            get(nic, chunk);
            break;
        case ARIES_AMO:
            amo(nic, chunk);
            break;
        case ARIES_CQWRITE:
            cqwrite(nic, chunk);
            break;
        case ARIES_CE_JOIN:
        case ARIES_CE_RESULT:
        case ARIES_CE_WRITE:
            aries_sim_ce_arrived(nic, chunk);
            break;
        }
    } else if (chunk->info == 0) {
        chunk->info = ARIES_CQ_CPLTN_DREQ;
    }
    respond(nic, chunk);
}

/* ---- back at the source ---------------------------------------------------------------------- */

/* Stores the data of a GET or of a fetching atomic in local memory. */
static void store_result(struct aries_txn *txn, struct aries_chunk *chunk)
{
    const struct aries_work *work = &txn->work;
    uint64_t address = work->local_addr + chunk->offset;
    struct aries_mr *mr;

    assert(aries_returns_data(work) && chunk->data != NULL);
    chunk->info = ARIES_CQ_CPLTN_SRSP;
    chunk->status = aries_mr_check(txn->source, work->ptag, work->local_handle, address,
                                   chunk->bytes, ARIES_WRITE, &mr);
    if (chunk->status != 0)
        return;
    if (!aries_mr_write(mr, address, chunk->data, chunk->bytes)) {
        chunk->status = A_STATUS_AT_PF_INV;
        return;
    }
    if (work->op == ARIES_GET)
        sim_ledger_deliver(&txn->entry, chunk->bytes,
                           sim_ledger_digest(chunk->data, chunk->bytes, chunk->offset));
    if (work->flag_response && chunk->offset + chunk->bytes == work->length) {
        uint32_t flag = (uint32_t)work->sync_flag_value;

        aries_mr_write(mr, work->local_addr + work->length, &flag, sizeof(flag));
    }
    if (work->flag_response)
        aries_process_written(mr->process);
    else
        aries_process_notify(mr->process);
}

void aries_source_response_arrived(struct sim_event *event)
{
    struct aries_chunk *chunk = sim_container_of(event, struct aries_chunk, transfer.event);
    struct aries_txn *txn = chunk->txn;
    sim_time_t wait;

    assert(chunk->refs > 0 && chunk->transfer.class == NET_RESPONSE);
    if (sim_unlikely(chunk->transfer.status != NET_DELIVERED)) {
        aries_sim_loss_record(chunk);
        aries_source_chunk_lost(chunk, chunk->packets);
        return;
    }
    if (txn->work.op == ARIES_GET && chunk->status == 0 && !chunk->returned) {
        chunk->returned = true;
        wait = reserve_receive(txn->source, chunk, true);
        if (wait > 0) {
            sim_event_schedule(event, sim_now() + wait);
            return;
        }
    }
    if (sim_unlikely(chunk->transfer.poisoned || (chunk->poisoned && chunk->status == 0))) {
        chunk->status = A_STATUS_DATA_ERR;
        chunk->info = ARIES_CQ_CPLTN_SRSP;
        aries_sim_report_fault(txn->source, txn, A_STATUS_DATA_ERR);
    }
    if (chunk->status == 0 && aries_returns_data(&txn->work) && aries_txn_source_alive(txn))
        store_result(txn, chunk);
    if (chunk->status == 0)
        txn->source->sim->delivered_bytes += chunk->bytes;
    aries_source_chunk_end(chunk);
}
