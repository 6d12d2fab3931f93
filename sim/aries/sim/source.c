/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The source side of the simulated NIC, from the doorbell to the completion. docs/model.md has the
 * stages and their times.
 */
#include "sim/nic.h"

#include <assert.h>
#include <glib.h>
#include "aries/misc/exceptions.h"
#include "nic/cq_entry.h"

#define FMA_WINDOW (UINT64_C(1) << 30) /* longer ones have failed before */

const struct aries_nic_ops aries_hw_nic_ops = {aries_sim_submit, aries_sim_submit_chain};

/* ---- completion ------------------------------------------------------------------------------ */

static void channel_next(struct aries_nic *nic, struct aries_bte_channel *channel);
static void pump(struct sim_event *event);

void aries_txn_unref(struct aries_txn *txn)
{
    assert(txn->refs > 0);
    if (--txn->refs == 0)
        aries_txn_free(aries_txn_fabric(txn), txn);
}

static void wake_first(struct aries_txn_queue *queue)
{
    struct aries_txn *txn = aries_txn_queue_pop(queue);

    if (txn != NULL)
        sim_prefetch_schedule(&txn->pumping, sim_now());
}

static void report(struct aries_txn *txn)
{
    struct aries_chain *chain = txn->chain;

    if (chain == NULL) {
        if (txn->work.done != NULL)
            txn->work.done(txn->work.context, txn->status, txn->info, txn->remote_overrun);
        return;
    }
    if (txn->status != 0 && chain->status == 0) {
        chain->status = txn->status;
        chain->info = txn->info;
    }
    chain->remote_overrun |= txn->remote_overrun;
    assert(chain->open > 0);
    if (--chain->open == 0) {
        if (chain->done != NULL)
            chain->done(chain->context, chain->status, chain->info, chain->remote_overrun);
        aries_list_remove(&chain->link);
        g_free(chain);
    }
}

static void finish(struct aries_txn *txn)
{
    struct aries_nic *nic = txn->source;
    enum sim_ledger_outcome outcome;

    assert(txn->all_sent && txn->chunks_open == 0);
    if (txn->has_ssid) {
        assert(nic->sim->ssid_used > 0);
        nic->sim->ssid_used--;
        wake_first(&nic->sim->ssid_waiting);
    }
    if (txn->channel != NULL) {
        assert(txn->channel->open > 0);
        txn->channel->open--;
        /* It ended before its last chunk was sent: a local error. */
        if (txn->channel->active == txn) {
            txn->channel->active = NULL;
            txn->channel->free_at = sim_now();
        }
        channel_next(nic, txn->channel);
    }
    /* After ten or more lost responses the hardware reports the endpoint as unreachable. */
    if (txn->status == A_STATUS_ORB_TIMEOUT && txn->lost >= 10)
        txn->status = A_STATUS_ENDPOINT_UNREACHABLE;
    outcome = !aries_txn_source_alive(txn) ? SIM_LEDGER_ABANDONED
              : txn->status != 0           ? SIM_LEDGER_ERROR
                                           : SIM_LEDGER_OK;
    if (sim_unlikely(outcome == SIM_LEDGER_ERROR)) {
        nic->fabric->counters.errors++;
        aries_sim_failure_record(txn);
    }
    sim_ledger_settle(&txn->entry, outcome);
    sim_trace(SIM_TRACE_INSTANT, ARIES_TRACK_RX, nic->node, 0, "complete", sim_now(), 0, txn->flow,
              txn->status);
    if (sim_unlikely(txn->channel != NULL && txn->source_copy != NULL))
        aries_source_copy_free(txn);
    if (aries_txn_has_access(txn))
        aries_access_end(txn);
    report(txn);
    aries_txn_unref(txn);
}

static void orb_wake(struct aries_nic *nic)
{
    if (nic->sim->orb_waiting.head != NULL)
        wake_first(&nic->sim->orb_waiting);
}

void aries_sim_orb_wake(struct aries_nic *nic)
{
    orb_wake(nic);
}

void aries_source_chunk_end(struct aries_chunk *chunk)
{
    struct aries_txn *txn = chunk->txn;
    struct aries_nic *nic = txn->source;

    if (chunk->admitted) {
        assert(nic->sim->orb_used >= chunk->packets);
        nic->sim->orb_used -= chunk->packets;
        if (txn->work.op == ARIES_GET && txn->work.unit == ARIES_UNIT_BTE)
            nic->sim->orb_get -= chunk->packets;
        orb_wake(nic);
    }
    if (chunk->status != 0 && txn->status == 0) {
        txn->status = chunk->status;
        txn->info = chunk->info;
    }
    assert(txn->chunks_open > 0);
    txn->chunks_open--;
    if (txn->all_sent && txn->chunks_open == 0)
        finish(txn);
    aries_chunk_unref(chunk);
}

/* Hardware timers stand still while the network is quiesced. */
static void timed_out(struct sim_event *event)
{
    struct aries_chunk *chunk = sim_container_of(event, struct aries_chunk, transfer.event);
    uint64_t quiesced = aries_txn_fabric(chunk->txn)->sim->quiesced;

    if (quiesced > chunk->frozen) {
        sim_event_schedule(event, sim_now() + (quiesced - chunk->frozen));
        chunk->frozen = quiesced;
        return;
    }
    chunk->status = A_STATUS_ORB_TIMEOUT;
    chunk->info = ARIES_CQ_CPLTN_SRSP;
    aries_sim_report_fault(chunk->txn->source, chunk->txn, A_STATUS_ORB_TIMEOUT);
    aries_source_chunk_end(chunk);
}

void aries_source_chunk_lost(struct aries_chunk *chunk, uint32_t packets)
{
    struct aries_txn *txn = chunk->txn;
    sim_time_t at = chunk->sent + aries_txn_fabric(txn)->timing.orb_timeout;

    txn->lost += packets;
    sim_trace_add_number("packets", packets);
    sim_trace_add_number("to node", txn->work.target->node);
    sim_trace(SIM_TRACE_INSTANT, SIM_TRACK_FAULT, txn->source->node, 0, "lost", sim_now(), 0,
              txn->flow, packets);
    chunk->transfer.event.fire = timed_out;
    sim_event_schedule(&chunk->transfer.event, at > sim_now() ? at : sim_now());
}

/* ---- the pump -------------------------------------------------------------------------------- */

/* The next chunk to send; it is cut if there is none. NULL: the transaction ended with an error. */
static struct aries_chunk *next_chunk(struct aries_txn *txn)
{
    struct aries_chunk *chunk = txn->chunks;

    if (chunk != NULL)
        return chunk;
    chunk = aries_chunk_cut(txn, txn->offset, aries_chunk_range_end(txn, txn->offset));
    aries_chunk_make_room(aries_txn_fabric(txn), chunk);
    chunk->feed = aries_chunk_feed(txn, chunk->bytes);
    if (txn->work.op == ARIES_PUT && !aries_chunk_read_local(txn, chunk)) {
        txn->all_sent = true;
        aries_source_chunk_end(chunk);
        return NULL;
    }
    txn->chunks = chunk;
    return chunk;
}

/* False: the transaction waits in a queue or for a time. */
static bool admit(struct aries_txn *txn, struct aries_chunk *chunk)
{
    const struct aries_timing *timing = &aries_txn_fabric(txn)->timing;
    struct aries_sim_nic *sim = txn->source->sim;
    bool bte_get = txn->work.op == ARIES_GET && txn->work.unit == ARIES_UNIT_BTE;
    sim_time_t wait;

    if ((sim->orb_used + chunk->packets > sim->orb_limit && sim->orb_used > 0) ||
        (bte_get && sim->orb_get + chunk->packets > timing->orb_bte_get && sim->orb_get > 0)) {
        aries_txn_queue_push(&sim->orb_waiting, txn);
        return false;
    }
    chunk->admitted = true;
    sim->orb_used += chunk->packets;
    if (bte_get)
        sim->orb_get += chunk->packets;
    if (sim->orb_used > aries_txn_fabric(txn)->counters.orb_max)
        aries_txn_fabric(txn)->counters.orb_max = sim->orb_used;
    wait = aries_chunk_reserve_transmit(chunk);
    if (wait > 0) {
        sim_prefetch_schedule(&txn->pumping, sim_now() + wait);
        return false;
    }
    return true;
}

static void channel_done(struct aries_txn *txn, const struct aries_chunk *last)
{
    struct aries_bte_channel *channel = txn->channel;

    if (channel == NULL)
        return;
    channel->active = NULL;
    channel->free_at = sim_now() - aries_txn_fabric(txn)->timing.tx + last->feed;
    channel_next(txn->source, channel);
}

static void notify_local(struct sim_event *event)
{
    struct aries_txn *txn = sim_container_of(event, struct aries_txn, notify);

    if (txn->work.local_done != NULL)
        txn->work.local_done(txn->work.context);
    aries_txn_unref(txn);
}

/*
 * Stops sending, because this node died or responses are missing. The transaction ends with its
 * last chunk in flight.
 */
static void abandon(struct aries_txn *txn)
{
    struct aries_chunk *chunk = txn->chunks;

    txn->chunks = NULL;
    txn->all_sent = true;
    if (chunk == NULL && txn->chunks_open == 0) {
        finish(txn);
        return;
    }
    while (chunk != NULL) {
        struct aries_chunk *next = chunk->next;

        aries_source_chunk_end(chunk);
        chunk = next;
    }
}

/*
 * Whether the job is suspended: then transactions that are not admitted yet wait until it
 * continues.
 */
static bool held_back(struct aries_txn *txn)
{
    struct aries_nic *nic = txn->source;

    if ((txn->chunks != NULL && txn->chunks->admitted) ||
        !aries_ptag_suspended(nic, txn->work.ptag))
        return false;
    aries_txn_queue_push(&nic->sim->held, txn);
    return true;
}

/*
 * The transaction has left its region at one end, so all further chunks would fail in the same
 * way. A PUT ends where its source region ends.
 */
static bool is_hopeless(const struct aries_txn *txn)
{
    return (txn->work.op == ARIES_GET || txn->work.op == ARIES_AMO) &&
           txn->status >= A_STATUS_AT_VMDHCAM_MALFORMED && txn->status <= A_STATUS_PE_BOUNDS_ERR;
}

/* Sends one chunk. */
static void pump(struct sim_event *event)
{
    struct aries_txn *txn = sim_container_of(event, struct aries_txn, pump);
    struct aries_nic *nic = txn->source;
    struct aries_fabric *fabric = nic->fabric;
    const struct aries_timing *timing = &fabric->timing;
    sim_time_t now = sim_now();
    struct aries_chunk *chunk;

    if (sim_unlikely(!aries_txn_source_alive(txn) || txn->status == A_STATUS_ORB_TIMEOUT ||
                     is_hopeless(txn))) {
        if (txn->status == 0)
            txn->status = A_STATUS_ENDPOINT_UNREACHABLE;
        abandon(txn);
        orb_wake(nic); /* other transactions may be waiting behind it */
        return;
    }
    if (sim_unlikely(fabric->sim->quiesce_until > now)) {
        sim_prefetch_schedule(&txn->pumping, fabric->sim->quiesce_until);
        return;
    }
    if (sim_unlikely(nic->sim->holding) && held_back(txn))
        return;
    if (!txn->has_ssid) {
        if (nic->sim->ssid_used >= timing->ssids) {
            aries_txn_queue_push(&nic->sim->ssid_waiting, txn);
            return;
        }
        nic->sim->ssid_used++;
        txn->has_ssid = true;
    }
    chunk = next_chunk(txn);
    if (chunk == NULL || (!chunk->admitted && !admit(txn, chunk)))
        return;
    txn->chunks = chunk->next;
    chunk->next = NULL;
    if (txn->chunks != NULL) { /* captured during the call */
        sim_time_t at = txn->chunks->ready + timing->pcie_write + timing->tx;

        sim_prefetch_schedule(&txn->pumping, at > now ? at : now);
    } else if (txn->offset < txn->work.header_length + txn->work.length) {
        sim_prefetch_schedule(&txn->pumping, now + chunk->feed);
    } else {
        txn->all_sent = true;
        channel_done(txn, chunk);
        if (txn->work.local_wanted) {
            txn->refs++;
            txn->notify.fire = notify_local;
            sim_event_schedule(&txn->notify,
                               now - timing->tx + chunk->feed + timing->pcie_write + timing->poll);
        }
    }
    aries_chunk_send_request(chunk);
    orb_wake(nic);
}

/* ---- BTE channels ---------------------------------------------------------------------------- */

static void channel_start(struct aries_bte_channel *channel, struct aries_txn *txn)
{
    const struct aries_timing *timing = &aries_txn_fabric(txn)->timing;
    sim_time_t at = txn->ready > channel->free_at ? txn->ready : channel->free_at;

    at += timing->bte_desc + timing->tx;
    if (txn->work.op == ARIES_PUT)
        at += timing->pcie_read;
    channel->active = txn;
    channel->open++;
    sim_prefetch_schedule(&txn->pumping, at > sim_now() ? at : sim_now());
}

/*
 * Starts the next descriptor of an idle channel. A fenced one waits until all earlier ones have
 * completed.
 */
static void channel_next(struct aries_nic *nic, struct aries_bte_channel *channel)
{
    struct aries_txn *txn = channel->waiting.head;

    if (channel->active != NULL || txn == NULL || (txn->work.fence && channel->open > 0))
        return;
    channel_start(channel, aries_txn_queue_pop(&channel->waiting));
}

/* ---- entry points ---------------------------------------------------------------------------- */

static void no_such_target(struct sim_event *event)
{
    struct aries_txn *txn = sim_container_of(event, struct aries_txn, pump);

    txn->all_sent = true;
    txn->status = A_STATUS_PE_BOUNDS_ERR;
    txn->info = ARIES_CQ_CPLTN_SREQ;
    finish(txn);
}

static void begin(struct gni_nic *nic, const struct aries_work *work, struct aries_chain *chain)
{
    struct aries_nic *hw = nic->hw;
    struct aries_fabric *fabric = hw->fabric;
    const struct aries_timing *timing = &fabric->timing;
    struct aries_txn *txn = aries_txn_new(fabric);
    bool brief = work->op == ARIES_PUT && work->unit == ARIES_UNIT_FMA && !work->sync_flag &&
                 !work->local_wanted;
    sim_time_t local;

    sim_spend(work->cpu);
    local = sim_local_time();
    txn->pump.fire = pump;
    txn->pumping.fetch = aries_pump_prefetch;
    txn->source = hw;
    txn->boots = hw->boots;
    txn->chunks = NULL;
    txn->offset = txn->landed = 0;
    txn->flow = sim_trace_flow_new();
    txn->refs = 1;
    txn->chunks_open = 0;
    txn->status = txn->info = 0;
    txn->all_sent = txn->has_ssid = txn->remote_overrun = false;
    txn->chain = chain;
    txn->channel = NULL;
    txn->rate = 0;
    txn->lost = 0;
    if (sim_likely(brief))
        memcpy(&txn->work, work, ARIES_WORK_SHORT);
    else
        txn->work = *work;
    fabric->counters.transactions++;
    sim_ledger_open(work->book, &txn->entry, hw->node,
                    work->target != NULL ? aries_node_of(fabric, work->target) : hw->node,
                    work->op == ARIES_CQWRITE ? 0 : work->header_length + work->length);
    if (!work->remote_optional) {
        txn->access = NULL;
        if (fabric->checks && work->op <= ARIES_AMO && work->target != NULL)
            aries_access_begin(txn, work, nic);
    }
    if (work->target != NULL)
        txn->rate = aries_stream_rate(&txn->work, timing);
    if (work->target == NULL) {
        txn->pump.fire = no_such_target;
        sim_prefetch_schedule(&txn->pumping, local + timing->pcie_write + timing->poll);
    } else if (work->unit == ARIES_UNIT_BTE) {
        /* A communication domain always uses the same channel: see docs/model.md. */
        txn->channel = &hw->sim->channels[nic->cdm->inst_id % timing->bte_channels];
        txn->ready = local + timing->pcie_write;
        txn->source_copy = NULL;
        if (fabric->checks && work->op == ARIES_PUT)
            aries_source_copy_new(txn, nic, local);
        aries_txn_queue_push(&txn->channel->waiting, txn);
        channel_next(hw, txn->channel);
    } else if (work->op == ARIES_PUT) {
        aries_chunk_cut_stores(txn, work);
        sim_prefetch_schedule(&txn->pumping, txn->chunks->ready + timing->pcie_write + timing->tx);
    } else {
        sim_time_t launch = local + timing->pcie_write;

        if (work->op == ARIES_GET) { /* an FMA descriptor launches one stream at a time */
            launch = launch > nic->fma_get_free ? launch : nic->fma_get_free;
            nic->fma_get_free = launch + aries_chunk_feed(txn, MIN(work->length, FMA_WINDOW));
        }
        sim_prefetch_schedule(&txn->pumping, launch + timing->tx);
    }
}

void aries_sim_submit(struct gni_nic *nic, const struct aries_work *work)
{
    begin(nic, work, NULL);
}

void aries_sim_submit_chain(struct gni_nic *nic, const struct aries_work *works, uint32_t count)
{
    struct aries_chain *chain = g_new0(struct aries_chain, 1);
    uint32_t i;

    aries_list_add(&nic->hw->fabric->sim->chains, &chain->link);
    chain->open = count;
    chain->done = works[0].done;
    chain->context = works[0].context;
    for (i = 0; i < count; i++)
        begin(nic, &works[i], chain);
}

void aries_hw_originate(struct aries_nic *hw, const struct aries_work *work)
{
    struct aries_fabric *fabric = hw->fabric;
    struct aries_txn *txn = aries_txn_new(fabric);

    *txn = (struct aries_txn){
        .source = hw,
        .boots = hw->boots,
        .work = *work,
        .refs = 1,
        .flow = sim_trace_flow_new(),
        .ready = sim_now(),
    };
    txn->pump.fire = work->target != NULL ? pump : no_such_target;
    txn->pumping.fetch = aries_pump_prefetch;
    fabric->counters.transactions++;
    sim_ledger_open(work->book, &txn->entry, hw->node,
                    work->target != NULL ? work->target->node : hw->node, 0);
    sim_prefetch_schedule(&txn->pumping, sim_now() + fabric->timing.tx);
}

uint64_t aries_delivered_bytes(const struct aries_fabric *fabric, uint32_t node)
{
    return fabric->sim->nics[node].delivered_bytes;
}
