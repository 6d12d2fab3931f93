/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The source side of the simulated NIC: from doorbell to completion. Stages and their times:
 * docs/model.md. */
#include "sim/nic.h"

#include <assert.h>
#include <glib.h>
#include "nic/amo.h"
#include "aries/misc/exceptions.h"
#include "nic/cq_entry.h"

#define FMA_WINDOW (UINT64_C(1) << 30) /* what is longer fails before */

const struct aries_nic_ops aries_hw_nic_ops = {sim_submit, sim_submit_chain};

/* ---- cutting -----------------------------------------------------------------------------------
 */

/*
 * End of what so many packets carry from `offset` on: they are cut at 64-byte boundaries of the
 * remote address.
 */
static uint64_t packet_end(const struct aries_txn *txn, uint64_t offset, uint64_t packets)
{
    uint64_t start = txn->work.remote_addr + offset;
    uint64_t end = (start & ~(uint64_t)(PACKET_BYTES - 1)) + packets * PACKET_BYTES;
    uint64_t total = txn->work.header_length + txn->work.length;

    return end - txn->work.remote_addr < total ? end - txn->work.remote_addr : total;
}

static uint64_t chunk_end(const struct aries_txn *txn, uint64_t offset)
{
    const struct aries_timing *timing = &txn_fabric(txn)->timing;

    /* a fixed path is chosen chunk by chunk: these must be the same at all fidelities */
    uint32_t packets = txn->work.route >= NET_ROUTE_ADAPTIVE_0 ? timing->chunk_packets
                                                               : timing->chunk_packets_fixed;

    return packet_end(txn, offset, MIN(packets, txn->source->sim->chunk_most));
}

static struct chunk *chunk_cut(struct aries_txn *txn, uint64_t offset, uint64_t end)
{
    struct chunk *chunk = chunk_new(txn_fabric(txn), (uint32_t)(end - offset));
    uint64_t first = (txn->work.remote_addr + offset) / PACKET_BYTES;
    uint64_t last = (txn->work.remote_addr + end - (end > offset)) / PACKET_BYTES;

    chunk->txn = txn;
    chunk->offset = offset;
    chunk->packets = (uint32_t)(last - first + 1);
    txn->refs++;
    txn->chunks_open++;
    txn->offset = end;
    return chunk;
}

/* The CPU stores the chunk's part of the message. */
static void capture(const struct aries_work *work, uint64_t offset, struct chunk *chunk)
{
    struct aries_fabric *fabric = txn_fabric(chunk->txn);
    const uint8_t *data = (const uint8_t *)(uintptr_t)work->local_addr + offset;
    uint64_t digest;

    if (chunk->bytes <= CHUNK_INLINE_BYTES || work->header_length > 0 ||
        !chunk_same_data(fabric, chunk, data, &digest)) {
        chunk_room(fabric, chunk);
        aries_work_copy(work, offset, chunk->bytes, chunk->data);
        digest = sim_ledger_digest(chunk->data, chunk->bytes, offset);
        chunk_captured(fabric, chunk, digest);
    }
    sim_ledger_hand_in(&chunk->txn->entry, digest);
}

/* FMA PUT: the data leaves the CPU during the call, so all of it is taken now. A packet leaves when
 * it is stored whole. */
static void cut_stores(struct aries_txn *txn, const struct aries_work *work)
{
    const struct aries_timing *timing = &txn_fabric(txn)->timing;
    uint64_t total = txn->work.header_length + txn->work.length, offset = 0;
    sim_time_t stored = sim_local_time(), time = aries_store_time(timing, total);
    struct chunk **tail = &txn->chunks;

    if (work->length > SIM_LINE) /* what was sent once is sent again */
        sim_fiber_prefetch_add(NULL, (const void *)(uintptr_t)work->local_addr, 8 * SIM_LINE);
    do {
        uint64_t end = chunk_end(txn, offset), first = packet_end(txn, offset, 1);
        struct chunk *chunk;

        if (offset == 0 && timing->burst_apart) /* these may come later than the rest */
            end = MIN(end, packet_end(txn, 0, STORE_BURST_BYTES / PACKET_BYTES));
        chunk = chunk_cut(txn, offset, end);

        chunk->ready = stored - (time - aries_store_time(timing, first));
        chunk->feed = aries_store_time(timing, end) - aries_store_time(timing, first);
        capture(work, offset, chunk);
        *tail = chunk;
        tail = &chunk->next;
        offset = end;
    } while (offset < total);
}

/* BTE: the next piece is read from registered memory when its turn comes. False: the chunk has
 * ended with an error. */
static bool read_local(struct aries_txn *txn, struct chunk *chunk)
{
    struct aries_mr *mr;
    uint64_t address = txn->work.local_addr + chunk->offset;

    chunk->status = aries_mr_check(txn->source, txn->work.ptag, txn->work.local_handle, address,
                                   chunk->bytes, ARIES_READ, &mr);
    if (chunk->status == 0 && !aries_mr_read(mr, address, chunk->data, chunk->bytes))
        chunk->status = A_STATUS_AT_PF_INV;
    chunk->info = ARIES_CQ_CPLTN_SREQ;
    if (chunk->status == 0)
        sim_ledger_hand_in(&txn->entry,
                           sim_ledger_digest(chunk->data, chunk->bytes, chunk->offset));
    return chunk->status == 0;
}

/* ---- completion --------------------------------------------------------------------------------
 */

static void channel_next(struct aries_nic *nic, struct channel *channel);
static void pump(struct sim_event *event);

void txn_unref(struct aries_txn *txn)
{
    assert(txn->refs > 0);
    if (--txn->refs == 0)
        txn_free(txn_fabric(txn), txn);
}

static void wake_first(struct txn_queue *queue)
{
    struct aries_txn *txn = txn_queue_pop(queue);

    if (txn != NULL)
        sim_prefetch_schedule(&txn->pumping, sim_now());
}

static void report(struct aries_txn *txn)
{
    struct chain *chain = txn->chain;

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
        if (txn->channel->active == txn) { /* ended before its last chunk left: a local error */
            txn->channel->active = NULL;
            txn->channel->free_at = sim_now();
        }
        channel_next(nic, txn->channel);
    }
    /* Ten or more lost responses: the hardware calls the endpoint unreachable. */
    if (txn->status == A_STATUS_ORB_TIMEOUT && txn->lost >= 10)
        txn->status = A_STATUS_ENDPOINT_UNREACHABLE;
    outcome = !nic->alive        ? SIM_LEDGER_ABANDONED
              : txn->status != 0 ? SIM_LEDGER_ERROR
                                 : SIM_LEDGER_OK;
    if (outcome == SIM_LEDGER_ERROR)
        nic->fabric->counters.errors++;
    sim_ledger_settle(&txn->entry, outcome);
    trace(SIM_TRACE_INSTANT, ARIES_TRACK_RX, nic->node, 0, "complete", sim_now(), 0, txn->flow,
          txn->status);
    report(txn);
    txn_unref(txn);
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

void source_chunk_end(struct chunk *chunk)
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
    chunk_unref(chunk);
}

/* Hardware timers stand still while the network is quiesced. */
static void timed_out(struct sim_event *event)
{
    struct chunk *chunk = sim_container_of(event, struct chunk, transfer.event);
    uint64_t quiesced = txn_fabric(chunk->txn)->sim->quiesced;

    if (quiesced > chunk->frozen) {
        sim_event_schedule(event, sim_now() + (quiesced - chunk->frozen));
        chunk->frozen = quiesced;
        return;
    }
    chunk->status = A_STATUS_ORB_TIMEOUT;
    chunk->info = ARIES_CQ_CPLTN_SRSP;
    fault_found(chunk->txn->source, chunk->txn, A_STATUS_ORB_TIMEOUT);
    source_chunk_end(chunk);
}

void source_lost(struct chunk *chunk, uint32_t packets)
{
    struct aries_txn *txn = chunk->txn;
    sim_time_t at = chunk->sent + txn_fabric(txn)->timing.orb_timeout;

    txn->lost += packets;
    trace(SIM_TRACE_INSTANT, SIM_TRACK_FAULT, txn->source->node, 0, "lost", sim_now(), 0, txn->flow,
          packets);
    chunk->transfer.event.fire = timed_out;
    sim_event_schedule(&chunk->transfer.event, at > sim_now() ? at : sim_now());
}

/* ---- sending -----------------------------------------------------------------------------------
 */

/* Data bytes of a chunk's packets: the first one, up to a boundary; `rest` whole ones; the tail. */
struct pieces {
    uint32_t first, rest, tail;
};

static struct pieces pieces_of(const struct chunk *chunk)
{
    uint64_t start = chunk->txn->work.remote_addr + chunk->offset;
    struct pieces pieces = {.first = PACKET_BYTES - (uint32_t)(start % PACKET_BYTES)};

    if (pieces.first >= chunk->bytes) {
        pieces.first = chunk->bytes;
    } else {
        pieces.rest = (chunk->bytes - pieces.first) / PACKET_BYTES;
        pieces.tail = (chunk->bytes - pieces.first) % PACKET_BYTES;
    }
    return pieces;
}

uint32_t chunk_units(const struct chunk *chunk, uint32_t header, uint32_t *last)
{
    struct pieces pieces = pieces_of(chunk);
    uint32_t largest = pieces.rest > 0              ? PACKET_BYTES
                       : pieces.first > pieces.tail ? pieces.first
                                                    : pieces.tail;

    *last = header + data_phits(largest);
    return chunk->packets * header + data_phits(pieces.first) +
           pieces.rest * data_phits(PACKET_BYTES) + data_phits(pieces.tail);
}

uint32_t chunk_flits(const struct chunk *chunk)
{
    struct pieces pieces = pieces_of(chunk);

    return chunk->packets + data_flits(pieces.first) + pieces.rest * data_flits(PACKET_BYTES) +
           data_flits(pieces.tail);
}

static uint32_t request_units(const struct chunk *chunk, uint32_t *last)
{
    const struct aries_work *work = &chunk->txn->work;

    if (work->op == ARIES_PUT)
        return chunk_units(chunk, request_phits(work), last);
    *last = sim_unlikely(work->op >= ARIES_CE_JOIN) ? ce_units(work) : request_phits(work);
    return *last * chunk->packets;
}

/* One flit with the data of a request that carries none to memory: operands, lengths, addresses. */
static uint32_t request_flits(const struct chunk *chunk)
{
    return chunk->txn->work.op == ARIES_PUT ? chunk_flits(chunk) : 2 * chunk->packets;
}

/*
 * The gap between FMA packets is one of many: the first packets of a message leave as the CPU
 * stores them, which is faster. At F1 a chunk does not wait for itself; packets one by one do not,
 * for as many.
 */
static sim_time_t burst(sim_time_t wait, const struct aries_timing *timing)
{
    sim_time_t free = timing->chunk_packets == 1 ? 15 * timing->fma_gap : 0;

    return wait > free ? wait - free : 0;
}

/* Takes the chunk's share of the transmit side; returns how long it waits. */
static sim_time_t reserve_transmit(struct chunk *chunk)
{
    struct aries_txn *txn = chunk->txn;
    struct aries_fabric *fabric = txn_fabric(txn);
    struct aries_sim_nic *sim = txn->source->sim;
    sim_time_t now = sim_now(), service = request_flits(chunk) * fabric->timing.nic_flit;
    sim_time_t feed = chunk->feed, wait, other = 0;

    if (sim_unlikely(fabric->sim->throttle_until > now))
        service = (sim_time_t)((double)service / fabric->sim->throttle);
    wait = occupy(&sim->tx_free, now, feed, service);
    if (txn->work.unit == ARIES_UNIT_FMA)
        other = burst(occupy(&sim->fma_free, now, feed, chunk->packets * fabric->timing.fma_gap),
                      &fabric->timing);
    else if (txn->work.op == ARIES_PUT)
        other = occupy(&sim->duplex_free, now, feed,
                       (sim_time_t)(chunk->bytes * 1e3 / fabric->timing.duplex_rate));
    return wait > other ? wait : other;
}

static const struct sim_fault_rule *packet_fault(struct aries_fabric *fabric,
                                                 const struct net_transfer *transfer)
{
    struct sim_fault_subject subject;

    if (sim_likely(fabric->fault_packet.rules == NULL))
        return NULL;
    subject = (struct sim_fault_subject){
        .source = transfer->source,
        .target = transfer->target,
        .source_group = net_group_of(fabric->net, transfer->source),
        .target_group = net_group_of(fabric->net, transfer->target),
        .kind = transfer->class,
    };
    return sim_fault_ask(&fabric->fault_packet, &subject);
}

static void delayed(struct sim_event *event)
{
    struct chunk *chunk = sim_container_of(event, struct chunk, transfer.event);

    chunk->transfer.event.fire =
        chunk->transfer.class == NET_REQUEST ? target_arrive : source_response;
    net_send(txn_fabric(chunk->txn)->net, &chunk->transfer,
             chunk->transfer.class == NET_REQUEST ? 0 : chunk->feed);
}

/* Hands a request or response to the network, unless a fault takes it. */
void chunk_launch(struct chunk *chunk, sim_time_t feed)
{
    struct aries_fabric *fabric = txn_fabric(chunk->txn);
    const struct sim_fault_rule *rule = packet_fault(fabric, &chunk->transfer);

    if (sim_unlikely(rule != NULL)) {
        switch (rule->action) {
        case SIM_FAULT_DROP:
        case SIM_FAULT_CRASH:
            source_lost(chunk, 1);
            return;
        case SIM_FAULT_FAIL:
            chunk->status = (uint8_t)rule->status;
            chunk->info = ARIES_CQ_CPLTN_DREQ;
            if (chunk->transfer.class == NET_RESPONSE) {
                chunk->info = ARIES_CQ_CPLTN_SRSP;
                fault_found(chunk->txn->source, chunk->txn, chunk->status);
            }
            break;
        case SIM_FAULT_DELAY:
            chunk->transfer.event.fire = delayed;
            sim_event_schedule(&chunk->transfer.event, sim_now() + rule->delay);
            return;
        case SIM_FAULT_CORRUPT:
            chunk->poisoned = true;
            break;
        case SIM_FAULT_DUPLICATE: /* the link protocol filters duplicates by sequence number */
        case SIM_FAULT_DELIVER:
            break;
        }
    }
    net_send(fabric->net, &chunk->transfer, feed);
}

/* How long a packet of the request keeps the target's input busy: F2 holds back what comes faster.
 */
static sim_time_t request_drain(const struct chunk *chunk, const struct aries_timing *timing)
{
    const struct aries_work *work = &chunk->txn->work;

    if (work->op == ARIES_PUT)
        return chunk_flits(chunk) * timing->nic_flit / chunk->packets;
    if (work->op == ARIES_GET)
        return MAX(timing->nic_flit, read_service(timing));
    return work->op == ARIES_AMO ? timing->fma_gap : timing->nic_flit;
}

/*
 * The cache line that hashed modes go by: counted from where its region begins, because the address
 * itself is this run's only.
 */
static uint64_t line_of(const struct aries_work *work, uint64_t offset)
{
    const struct aries_mr *mr = NULL;

    if (work->route < NET_ROUTE_ADAPTIVE_0)
        mr = aries_mr_find(work->target, work->ptag, work->remote_handle);
    return (work->remote_addr + offset) / PACKET_BYTES - (mr != NULL ? mr->base : 0) / PACKET_BYTES;
}

static sim_time_t chunk_feed(const struct aries_txn *txn, uint64_t bytes)
{
    return txn->rate > 0 ? (sim_time_t)((double)bytes * 1e3 / txn->rate) : 0;
}

/* What of the message came before its last full packets, and how fast its end comes: for the
 * request, and for the data of a GET, which keeps the same pace. The chunks before these are there
 * sooner. */
static void describe_stream(const struct chunk *chunk, struct net_transfer *transfer)
{
    const struct aries_txn *txn = chunk->txn;
    const struct aries_timing *timing = &txn_fabric(txn)->timing;
    uint64_t begin = chunk->offset, end = begin + chunk->bytes;
    uint64_t last = end > PACKET_BYTES ? end - PACKET_BYTES : 0;
    sim_time_t since = 0, pace = 0;

    transfer->stream_packets = (uint32_t)((begin + PACKET_BYTES - 1) / PACKET_BYTES);
    if (transfer->stream_packets + chunk->packets > 1 && txn->work.length - end <= PACKET_BYTES) {
        if (txn->rate > 0) {
            since = chunk_feed(txn, begin);
            pace = chunk_feed(txn, PACKET_BYTES);
        } else if (txn->work.op == ARIES_PUT) { /* stored by the CPU; one is there at once */
            pace = aries_store_time(timing, end) - aries_store_time(timing, last);
            since = aries_store_time(timing, begin) + pace;
        }
    }
    transfer->stream_elapsed_ps = (uint32_t)MIN(since, UINT32_MAX);
    transfer->packet_interval_ps = (uint32_t)MIN(pace, UINT32_MAX);
}

static void send_request(struct chunk *chunk)
{
    struct aries_txn *txn = chunk->txn;
    struct aries_fabric *fabric = txn_fabric(txn);
    const struct aries_work *work = &txn->work;
    struct net_transfer *transfer = &chunk->transfer;

    transfer->event.fire = target_arrive;
    transfer->hinted.fetch = request_fetch;
    chunk->at = work->target;
    transfer->source = txn->source->node;
    transfer->target = aries_node_of(fabric, work->target);
    transfer->units = request_units(chunk, &transfer->last_units);
    transfer->packets = chunk->packets;
    transfer->class = NET_REQUEST;
    transfer->route = (uint8_t)work->route;
    transfer->streamed = chunk->offset > 0;
    describe_stream(chunk, transfer);
    transfer->ready_span = work->op == ARIES_GET ? chunk->feed : 0; /* they leave over that time */
    transfer->hash = line_of(work, chunk->offset);
    transfer->receiver_latency = arrival_lag(work, &fabric->timing);
    transfer->ejection_time = request_drain(chunk, &fabric->timing);
    chunk->sent = sim_now();
    chunk->frozen = fabric->sim->quiesced;
    fabric->counters.request_packets += chunk->packets;
    fabric->counters.request_flits += request_flits(chunk);
    if (work->op == ARIES_PUT)
        fabric->counters.payload_bytes += chunk->bytes;
    trace(SIM_TRACE_SLICE, work->unit == ARIES_UNIT_BTE ? ARIES_TRACK_BTE : ARIES_TRACK_FMA,
          txn->source->node,
          txn->channel != NULL ? (uint32_t)(txn->channel - txn->source->sim->channels) : 0,
          aries_op_name(work->op), sim_now(),
          chunk->feed > 0 ? chunk->feed : transfer->units * SIM_NS, txn->flow, chunk->bytes);
    chunk_launch(chunk, work->op == ARIES_PUT ? chunk->feed : 0);
}

/* The chunk that is to leave next, cut when there is none; NULL when the transaction ended with an
 * error. */
static struct chunk *next_chunk(struct aries_txn *txn)
{
    struct chunk *chunk = txn->chunks;

    if (chunk != NULL)
        return chunk;
    chunk = chunk_cut(txn, txn->offset, chunk_end(txn, txn->offset));
    chunk_room(txn_fabric(txn), chunk);
    chunk->feed = chunk_feed(txn, chunk->bytes);
    if (txn->work.op == ARIES_PUT && !read_local(txn, chunk)) {
        txn->all_sent = true;
        source_chunk_end(chunk);
        return NULL;
    }
    txn->chunks = chunk;
    return chunk;
}

/* False: the transaction waits in a queue, or for its time. */
static bool admit(struct aries_txn *txn, struct chunk *chunk)
{
    const struct aries_timing *timing = &txn_fabric(txn)->timing;
    struct aries_sim_nic *sim = txn->source->sim;
    bool bte_get = txn->work.op == ARIES_GET && txn->work.unit == ARIES_UNIT_BTE;
    sim_time_t wait;

    if ((sim->orb_used + chunk->packets > sim->orb_limit && sim->orb_used > 0) ||
        (bte_get && sim->orb_get + chunk->packets > timing->orb_bte_get && sim->orb_get > 0)) {
        txn_queue_push(&sim->orb_waiting, txn);
        return false;
    }
    chunk->admitted = true;
    sim->orb_used += chunk->packets;
    if (bte_get)
        sim->orb_get += chunk->packets;
    if (sim->orb_used > txn_fabric(txn)->counters.orb_max)
        txn_fabric(txn)->counters.orb_max = sim->orb_used;
    wait = reserve_transmit(chunk);
    if (wait > 0) {
        sim_prefetch_schedule(&txn->pumping, sim_now() + wait);
        return false;
    }
    return true;
}

static void channel_done(struct aries_txn *txn, const struct chunk *last)
{
    struct channel *channel = txn->channel;

    if (channel == NULL)
        return;
    channel->active = NULL;
    channel->free_at = sim_now() - txn_fabric(txn)->timing.tx + last->feed;
    channel_next(txn->source, channel);
}

static void notify_local(struct sim_event *event)
{
    struct aries_txn *txn = sim_container_of(event, struct aries_txn, notify);

    if (txn->work.local_done != NULL)
        txn->work.local_done(txn->work.context);
    txn_unref(txn);
}

/*
 * What was not sent yet will not be: the own node died, or responses stay away. The transaction
 * ends with what is still in flight.
 */
static void abandon(struct aries_txn *txn)
{
    struct chunk *chunk = txn->chunks;

    txn->chunks = NULL;
    txn->all_sent = true;
    if (chunk == NULL && txn->chunks_open == 0) {
        finish(txn);
        return;
    }
    while (chunk != NULL) {
        struct chunk *next = chunk->next;

        source_chunk_end(chunk);
        chunk = next;
    }
}

/* The job is suspended: what is not admitted yet waits until it goes on. */
static bool held_back(struct aries_txn *txn)
{
    struct aries_nic *nic = txn->source;

    if ((txn->chunks != NULL && txn->chunks->admitted) ||
        !aries_ptag_suspended(nic, txn->work.ptag))
        return false;
    txn_queue_push(&nic->sim->held, txn);
    return true;
}

/*
 * Ran out of a region at either end: what is left would only fail in the same way. A PUT ends where
 * its source does.
 */
static bool is_hopeless(const struct aries_txn *txn)
{
    return (txn->work.op == ARIES_GET || txn->work.op == ARIES_AMO) &&
           txn->status >= A_STATUS_AT_VMDHCAM_MALFORMED && txn->status <= A_STATUS_PE_BOUNDS_ERR;
}

/* One chunk's turn to leave. */
static void pump(struct sim_event *event)
{
    struct aries_txn *txn = sim_container_of(event, struct aries_txn, pump);
    struct aries_nic *nic = txn->source;
    struct aries_fabric *fabric = nic->fabric;
    const struct aries_timing *timing = &fabric->timing;
    sim_time_t now = sim_now();
    struct chunk *chunk;

    if (sim_unlikely(!nic->alive || txn->status == A_STATUS_ORB_TIMEOUT || is_hopeless(txn))) {
        if (txn->status == 0)
            txn->status = A_STATUS_ENDPOINT_UNREACHABLE;
        abandon(txn);
        orb_wake(nic); /* whoever waits behind it */
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
            txn_queue_push(&nic->sim->ssid_waiting, txn);
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
    if (txn->chunks != NULL) { /* stored by the CPU */
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
    send_request(chunk);
    orb_wake(nic);
}

/* ---- BTE channels ------------------------------------------------------------------------------
 */

static void channel_start(struct channel *channel, struct aries_txn *txn)
{
    const struct aries_timing *timing = &txn_fabric(txn)->timing;
    sim_time_t at = txn->ready > channel->free_at ? txn->ready : channel->free_at;

    at += timing->bte_desc + timing->tx;
    if (txn->work.op == ARIES_PUT)
        at += timing->pcie_read;
    channel->active = txn;
    channel->open++;
    sim_prefetch_schedule(&txn->pumping, at > sim_now() ? at : sim_now());
}

/* The next descriptor of an idle channel; a fenced one waits until all before it have completed. */
static void channel_next(struct aries_nic *nic, struct channel *channel)
{
    struct aries_txn *txn = channel->waiting.head;

    if (channel->active != NULL || txn == NULL || (txn->work.fence && channel->open > 0))
        return;
    channel_start(channel, txn_queue_pop(&channel->waiting));
}

/* ---- entry points ------------------------------------------------------------------------------
 */

static void no_such_target(struct sim_event *event)
{
    struct aries_txn *txn = sim_container_of(event, struct aries_txn, pump);

    txn->all_sent = true;
    txn->status = A_STATUS_PE_BOUNDS_ERR;
    txn->info = ARIES_CQ_CPLTN_SREQ;
    finish(txn);
}

static void begin(struct gni_nic *nic, const struct aries_work *work, struct chain *chain)
{
    struct aries_nic *hw = nic->hw;
    struct aries_fabric *fabric = hw->fabric;
    const struct aries_timing *timing = &fabric->timing;
    struct aries_txn *txn = txn_new(fabric);
    bool brief = work->op == ARIES_PUT && work->unit == ARIES_UNIT_FMA && !work->sync_flag &&
                 !work->local_wanted;
    sim_time_t local;

    sim_spend(work->cpu);
    local = sim_local_time();
    txn->pump.fire = pump;
    txn->pumping.fetch = pump_fetch;
    txn->source = hw;
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
    memcpy(&txn->work, work, brief ? ARIES_WORK_SHORT : sizeof(*work));
    fabric->counters.transactions++;
    sim_ledger_open(work->book, &txn->entry, hw->node,
                    work->target != NULL ? aries_node_of(fabric, work->target) : hw->node,
                    work->op == ARIES_CQWRITE ? 0 : work->header_length + work->length);
    if (work->target != NULL)
        txn->rate = stream_rate(&txn->work, timing);
    if (work->target == NULL) {
        txn->pump.fire = no_such_target;
        sim_prefetch_schedule(&txn->pumping, local + timing->pcie_write + timing->poll);
    } else if (work->unit == ARIES_UNIT_BTE) {
        /* A communication domain is pinned to one channel: see docs/model.md. */
        txn->channel = &hw->sim->channels[nic->cdm->inst_id % timing->bte_channels];
        txn->ready = local + timing->pcie_write;
        txn_queue_push(&txn->channel->waiting, txn);
        channel_next(hw, txn->channel);
    } else if (work->op == ARIES_PUT) {
        cut_stores(txn, work);
        sim_prefetch_schedule(&txn->pumping, txn->chunks->ready + timing->pcie_write + timing->tx);
    } else {
        sim_time_t launch = local + timing->pcie_write;

        if (work->op == ARIES_GET) { /* one descriptor launches one stream at a time */
            launch = launch > nic->fma_get_free ? launch : nic->fma_get_free;
            nic->fma_get_free = launch + chunk_feed(txn, MIN(work->length, FMA_WINDOW));
        }
        sim_prefetch_schedule(&txn->pumping, launch + timing->tx);
    }
}

void sim_submit(struct gni_nic *nic, const struct aries_work *work)
{
    begin(nic, work, NULL);
}

void sim_submit_chain(struct gni_nic *nic, const struct aries_work *works, uint32_t count)
{
    struct chain *chain = g_new0(struct chain, 1);
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
    struct aries_txn *txn = txn_new(fabric);

    *txn = (struct aries_txn){
        .source = hw,
        .work = *work,
        .refs = 1,
        .flow = sim_trace_flow_new(),
        .ready = sim_now(),
    };
    txn->pump.fire = work->target != NULL ? pump : no_such_target;
    txn->pumping.fetch = pump_fetch;
    fabric->counters.transactions++;
    sim_ledger_open(work->book, &txn->entry, hw->node,
                    work->target != NULL ? work->target->node : hw->node, 0);
    sim_prefetch_schedule(&txn->pumping, sim_now() + fabric->timing.tx);
}
