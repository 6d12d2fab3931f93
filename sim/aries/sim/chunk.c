/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Chunks at their source: cutting a transaction into chunks, and handing a chunk to the network.
 */
#include "sim/nic.h"

#include <assert.h>
#include <glib.h>
#include "aries/misc/exceptions.h"
#include "nic/amo.h"
#include "nic/cq_entry.h"

/* ---- cutting --------------------------------------------------------------------------------- */

/*
 * The end of the bytes that `packets` packets carry from `offset` on. Packets are cut at 64-byte
 * boundaries of the remote address.
 */
static uint64_t packet_end(const struct aries_txn *txn, uint64_t offset, uint64_t packets)
{
    uint64_t start = txn->work.remote_addr + offset;
    uint64_t end = (start & ~(uint64_t)(ARIES_PACKET_BYTES - 1)) + packets * ARIES_PACKET_BYTES;
    uint64_t total = txn->work.header_length + txn->work.length;

    return end - txn->work.remote_addr < total ? end - txn->work.remote_addr : total;
}

uint64_t aries_chunk_range_end(const struct aries_txn *txn, uint64_t offset)
{
    const struct aries_timing *timing = &aries_txn_fabric(txn)->timing;

    /* A fixed path is chosen per chunk, so chunks must be the same at all fidelities. */
    uint32_t packets = txn->work.route >= NET_ROUTE_ADAPTIVE_0 ? timing->chunk_packets
                                                               : timing->chunk_packets_fixed;

    return packet_end(txn, offset, MIN(packets, txn->source->sim->chunk_most));
}

/*
 * Data bytes of a chunk's packets: the first packet up to a boundary, then `rest` full packets,
 * then the tail.
 */
struct pieces {
    uint32_t first, rest, tail;
};

static struct pieces pieces_of(const struct aries_chunk *chunk)
{
    uint64_t start = chunk->txn->work.remote_addr + chunk->offset;
    struct pieces pieces = {.first = ARIES_PACKET_BYTES - (uint32_t)(start % ARIES_PACKET_BYTES)};

    if (pieces.first >= chunk->bytes) {
        pieces.first = chunk->bytes;
    } else {
        pieces.rest = (chunk->bytes - pieces.first) / ARIES_PACKET_BYTES;
        pieces.tail = (chunk->bytes - pieces.first) % ARIES_PACKET_BYTES;
    }
    assert(pieces.first + pieces.rest * ARIES_PACKET_BYTES + pieces.tail == chunk->bytes);
    return pieces;
}

/* Number of NIC flits of the packets that carry the chunk's data. */
static uint32_t flits_of(const struct aries_chunk *chunk)
{
    struct pieces pieces;

    if (chunk->packets == 1)
        return 1 + aries_data_flits(chunk->bytes);
    pieces = pieces_of(chunk);
    return chunk->packets + aries_data_flits(pieces.first) +
           pieces.rest * aries_data_flits(ARIES_PACKET_BYTES) + aries_data_flits(pieces.tail);
}

struct aries_chunk *aries_chunk_cut(struct aries_txn *txn, uint64_t offset, uint64_t end)
{
    struct aries_chunk *chunk = aries_chunk_new(aries_txn_fabric(txn), (uint32_t)(end - offset));
    uint64_t first = (txn->work.remote_addr + offset) / ARIES_PACKET_BYTES;
    uint64_t last = (txn->work.remote_addr + end - (end > offset)) / ARIES_PACKET_BYTES;

    assert(offset <= end && end <= txn->work.header_length + txn->work.length);
    chunk->txn = txn;
    chunk->offset = offset;
    chunk->packets = (uint32_t)(last - first + 1);
    chunk->flits = flits_of(chunk);
    assert(txn->refs > 0 && txn->offset == offset);
    txn->refs++;
    txn->chunks_open++;
    txn->offset = end;
    return chunk;
}

/* Copies the chunk's part of the message, as the CPU stores it. */
static void capture(const struct aries_work *work, uint64_t offset, struct aries_chunk *chunk)
{
    struct aries_fabric *fabric = aries_txn_fabric(chunk->txn);
    const uint8_t *data = (const uint8_t *)(uintptr_t)work->local_addr + offset;
    uint64_t digest;

    if (chunk->bytes <= ARIES_CHUNK_INLINE_BYTES || work->header_length > 0 ||
        !aries_chunk_share_data(fabric, chunk, data, &digest)) {
        aries_chunk_make_room(fabric, chunk);
        aries_work_copy(work, offset, chunk->bytes, chunk->data);
        digest = sim_ledger_digest(chunk->data, chunk->bytes, offset);
        aries_chunk_remember_data(fabric, chunk, digest);
    }
    sim_ledger_hand_in(&chunk->txn->entry, digest);
}

void aries_chunk_cut_stores(struct aries_txn *txn, const struct aries_work *work)
{
    const struct aries_timing *timing = &aries_txn_fabric(txn)->timing;
    uint64_t total = txn->work.header_length + txn->work.length, offset = 0;
    uint64_t burst = packet_end(txn, 0, ARIES_STORE_BURST_BYTES / ARIES_PACKET_BYTES);
    sim_time_t stored = sim_local_time(), time = aries_store_time(timing, total);
    struct aries_chunk **tail = &txn->chunks;

    if (work->length > SIM_LINE) /* programs often send the same bytes again */
        sim_fiber_prefetch_add(NULL, (const void *)(uintptr_t)work->local_addr, 8 * SIM_LINE);
    do {
        uint64_t end = aries_chunk_range_end(txn, offset), first = packet_end(txn, offset, 1);
        struct aries_chunk *chunk;

        if (offset == 0 && end > burst &&
            (timing->burst_apart || total - burst <= ARIES_PACKET_BYTES))
            end = burst; /* these may be captured after the rest */
        chunk = aries_chunk_cut(txn, offset, end);

        assert(aries_store_time(timing, first) <= time);
        chunk->ready = stored - (time - aries_store_time(timing, first));
        chunk->feed = aries_store_time(timing, end) - aries_store_time(timing, first);
        capture(work, offset, chunk);
        *tail = chunk;
        tail = &chunk->next;
        offset = end;
    } while (offset < total);
}

bool aries_chunk_read_local(struct aries_txn *txn, struct aries_chunk *chunk)
{
    struct aries_mr *mr;
    uint64_t address = txn->work.local_addr + chunk->offset;

    chunk->status = aries_mr_check(txn->source, txn->work.ptag, txn->work.local_handle, address,
                                   chunk->bytes, ARIES_READ, &mr);
    if (chunk->status == 0 && !aries_mr_read(mr, address, chunk->data, chunk->bytes))
        chunk->status = A_STATUS_AT_PF_INV;
    assert(chunk->bytes == 0 || chunk->data != NULL);
    chunk->info = ARIES_CQ_CPLTN_SREQ;
    if (chunk->status == 0 && txn->source_copy != NULL)
        aries_source_copy_compare(txn, chunk, mr);
    if (txn->offset == txn->work.length && aries_txn_has_access(txn))
        aries_access_local_done(txn);
    if (chunk->status == 0)
        sim_ledger_hand_in(&txn->entry,
                           sim_ledger_digest(chunk->data, chunk->bytes, chunk->offset));
    return chunk->status == 0;
}

/* ---- sending --------------------------------------------------------------------------------- */

uint32_t aries_chunk_units(const struct aries_chunk *chunk, uint32_t header, uint32_t *last)
{
    struct pieces pieces;
    uint32_t largest;

    if (chunk->packets == 1)
        return *last = header + aries_data_phits(chunk->bytes);
    pieces = pieces_of(chunk);
    largest = pieces.rest > 0              ? ARIES_PACKET_BYTES
              : pieces.first > pieces.tail ? pieces.first
                                           : pieces.tail;
    *last = header + aries_data_phits(largest);
    return chunk->packets * header + aries_data_phits(pieces.first) +
           pieces.rest * aries_data_phits(ARIES_PACKET_BYTES) + aries_data_phits(pieces.tail);
}

static uint32_t request_units(const struct aries_chunk *chunk, uint32_t *last)
{
    const struct aries_work *work = &chunk->txn->work;

    if (work->op == ARIES_PUT)
        return aries_chunk_units(chunk, aries_request_phits(work), last);
    *last = sim_unlikely(work->op >= ARIES_CE_JOIN) ? aries_sim_ce_phits(work)
                                                    : aries_request_phits(work);
    return *last * chunk->packets;
}

/* A request without data for memory has one flit: operands, lengths, addresses. */
static uint32_t request_flits(const struct aries_chunk *chunk)
{
    return chunk->txn->work.op == ARIES_PUT ? chunk->flits : 2 * chunk->packets;
}

/*
 * The gap between FMA packets is that of a long stream. The first packets of a message leave
 * faster, as the CPU stores them. At F1 the packets of one chunk do not wait for each other;
 * single packets do not wait either, up to the same number.
 */
static sim_time_t burst(sim_time_t wait, const struct aries_timing *timing)
{
    sim_time_t free = timing->chunk_packets == 1 ? 15 * timing->fma_gap : 0;

    return wait > free ? wait - free : 0;
}

sim_time_t aries_chunk_reserve_transmit(struct aries_chunk *chunk)
{
    struct aries_txn *txn = chunk->txn;
    struct aries_fabric *fabric = aries_txn_fabric(txn);
    struct aries_sim_nic *sim = txn->source->sim;
    sim_time_t now = sim_now(), service = request_flits(chunk) * fabric->timing.nic_flit;
    sim_time_t feed = chunk->feed, wait, other = 0;

    if (sim_unlikely(fabric->sim->throttle_until > now))
        service = (sim_time_t)((double)service / fabric->sim->throttle);
    assert(chunk->packets > 0 && txn->chunks_open > 0);
    wait = aries_sim_occupy(&sim->tx_free, now, feed, service);
    if (txn->work.unit == ARIES_UNIT_FMA)
        other = burst(
            aries_sim_occupy(&sim->fma_free, now, feed, chunk->packets * fabric->timing.fma_gap),
            &fabric->timing);
    else if (txn->work.op == ARIES_PUT)
        other = aries_sim_occupy(&sim->duplex_free, now, feed,
                                 (sim_time_t)(chunk->bytes * 1e3 / fabric->timing.duplex_rate));
    return wait > other ? wait : other;
}

static const struct sim_fault_rule *packet_fault(struct aries_fabric *fabric,
                                                 const struct aries_chunk *chunk)
{
    struct sim_fault_subject subject;

    if (sim_likely(fabric->fault_packet.rules == NULL))
        return NULL;
    subject = aries_sim_fault_subject(chunk);
    return sim_fault_ask(&fabric->fault_packet, &subject);
}

static void delayed(struct sim_event *event)
{
    struct aries_chunk *chunk = sim_container_of(event, struct aries_chunk, transfer.event);

    chunk->transfer.event.fire = chunk->transfer.class == NET_REQUEST
                                     ? aries_target_request_arrived
                                     : aries_source_response_arrived;
    net_send(aries_txn_fabric(chunk->txn)->net, &chunk->transfer,
             chunk->transfer.class == NET_REQUEST ? 0 : chunk->feed);
}

/* Hands a request or response to the network, unless a fault drops it. */
void aries_chunk_launch(struct aries_fabric *fabric, struct aries_chunk *chunk, sim_time_t feed)
{
    const struct sim_fault_rule *rule = packet_fault(fabric, chunk);

    if (sim_unlikely(rule != NULL)) {
        switch (rule->action) {
        case SIM_FAULT_DROP:
        case SIM_FAULT_CRASH:
            aries_source_chunk_lost(chunk, 1);
            return;
        case SIM_FAULT_FAIL:
            chunk->status = (uint8_t)rule->status;
            chunk->info = ARIES_CQ_CPLTN_DREQ;
            if (chunk->transfer.class == NET_RESPONSE) {
                chunk->info = ARIES_CQ_CPLTN_SRSP;
                aries_sim_report_fault(chunk->txn->source, chunk->txn, chunk->status);
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

/*
 * How long a packet of the request occupies the target's input. F2, whose chunks are single
 * packets, holds back packets that come faster.
 */
static sim_time_t request_drain(const struct aries_chunk *chunk, const struct aries_timing *timing)
{
    const struct aries_work *work = &chunk->txn->work;

    if (work->op == ARIES_PUT)
        return chunk->flits * timing->nic_flit / chunk->packets;
    if (work->op == ARIES_GET)
        return MAX(timing->nic_flit, aries_host_read_service(timing));
    return work->op == ARIES_AMO ? timing->amo_gap : timing->nic_flit;
}

/*
 * The cache line that hashed modes use. It counts from the start of the region, because the
 * address itself differs from run to run.
 */
static uint64_t line_of(const struct aries_work *work, uint64_t offset)
{
    const struct aries_mr *mr = NULL;

    if (work->route < NET_ROUTE_ADAPTIVE_0)
        mr = aries_mr_find(work->target, work->ptag, work->remote_handle);
    return (work->remote_addr + offset) / ARIES_PACKET_BYTES -
           (mr != NULL ? mr->base : 0) / ARIES_PACKET_BYTES;
}

sim_time_t aries_chunk_feed(const struct aries_txn *txn, uint64_t bytes)
{
    return txn->rate > 0 ? (sim_time_t)((double)bytes * 1e3 / txn->rate) : 0;
}

/*
 * Describes the stream for the network: what precedes the last full packets of the message, and
 * how fast its end follows. Used for the request and for the data of a GET, which has the same
 * pace. Earlier chunks have arrived by then.
 */
static void describe_stream(const struct aries_chunk *chunk, struct net_transfer *transfer)
{
    const struct aries_txn *txn = chunk->txn;
    const struct aries_timing *timing = &aries_txn_fabric(txn)->timing;
    uint64_t begin = chunk->offset, end = begin + chunk->bytes;
    uint64_t last = end > ARIES_PACKET_BYTES ? end - ARIES_PACKET_BYTES : 0;
    sim_time_t since = 0, pace = 0;

    transfer->stream_packets = (uint32_t)((begin + ARIES_PACKET_BYTES - 1) / ARIES_PACKET_BYTES);
    if (transfer->stream_packets + chunk->packets > 1 &&
        txn->work.length - end <= ARIES_PACKET_BYTES) {
        if (txn->rate > 0) {
            since = aries_chunk_feed(txn, begin);
            pace = aries_chunk_feed(txn, ARIES_PACKET_BYTES);
        } else if (txn->work.op == ARIES_PUT) {
            /* Stored by the CPU: a single packet is ready at once. */
            pace = aries_store_time(timing, end) - aries_store_time(timing, last);
            since = aries_store_time(timing, begin) + pace;
        }
    }
    transfer->stream_elapsed_ps = (uint32_t)MIN(since, UINT32_MAX);
    transfer->packet_interval_ps = (uint32_t)MIN(pace, UINT32_MAX);
}

static inline __attribute__((always_inline)) void
trace_request(const struct aries_chunk *chunk, uint32_t track, uint32_t index, const char *name)
{
    sim_trace(SIM_TRACE_SLICE, track, chunk->txn->source->node, index, name, sim_now(),
              chunk->feed > 0 ? chunk->feed : chunk->transfer.units * SIM_NS, chunk->txn->flow,
              chunk->bytes);
}

void aries_chunk_send_request(struct aries_chunk *chunk)
{
    struct aries_txn *txn = chunk->txn;
    struct aries_fabric *fabric = aries_txn_fabric(txn);
    const struct aries_work *work = &txn->work;
    struct net_transfer *transfer = &chunk->transfer;

    assert(work->target != NULL && chunk->refs > 0 && !chunk->received);
    transfer->event.fire = aries_target_request_arrived;
    transfer->prefetch_event.fetch = aries_arrival_prefetch;
    chunk->at = work->target;
    transfer->source = txn->source->node;
    transfer->target = aries_node_of(fabric, work->target);
    transfer->units = request_units(chunk, &transfer->last_units);
    transfer->packets = chunk->packets;
    transfer->class = NET_REQUEST;
    transfer->route = (uint8_t)work->route;
    transfer->streamed = chunk->offset > 0;
    describe_stream(chunk, transfer);
    /* The packets leave during that time. */
    transfer->ready_span = work->op == ARIES_GET ? chunk->feed : 0;
    transfer->hash = line_of(work, chunk->offset);
    transfer->receiver_latency = aries_arrival_lag(work, &fabric->timing);
    transfer->ejection_time =
        fabric->timing.chunk_packets == 1 ? request_drain(chunk, &fabric->timing) : 0;
    assert(transfer->units > 0 && transfer->last_units <= transfer->units);
    chunk->sent = sim_now();
    chunk->frozen = fabric->sim->quiesced;
    fabric->counters.request_packets += chunk->packets;
    fabric->counters.request_flits += request_flits(chunk);
    if (work->op == ARIES_PUT)
        fabric->counters.payload_bytes += chunk->bytes;
    if (sim_unlikely(sim_trace_on))
        aries_sim_trace_ends(txn);
    if (sim_likely(work->op == ARIES_PUT && work->unit == ARIES_UNIT_FMA)) /* constants */
        trace_request(chunk, ARIES_TRACK_FMA, 0, "put");
    else
        trace_request(chunk, work->unit == ARIES_UNIT_BTE ? ARIES_TRACK_BTE : ARIES_TRACK_FMA,
                      txn->channel != NULL ? (uint32_t)(txn->channel - txn->source->sim->channels)
                                           : 0,
                      aries_op_name(work->op));
    aries_chunk_launch(fabric, chunk, work->op == ARIES_PUT ? chunk->feed : 0);
}
