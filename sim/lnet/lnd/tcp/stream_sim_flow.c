/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The bytes of simulated TCP: socket buffers, chunks on the network, retransmission, reading. */
#include "stream_sim.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/fault.h"

struct lnet_tcp_counters lnet_tcp_counters;

/* ---- chunks -----------------------------------------------------------------------------------
 */

#define SIZE_CLASSES 3
static const uint32_t class_bytes[SIZE_CLASSES] = {256, 4608, LNET_TCP_CHUNK_MAX};
static struct lnet_tcp_chunk *free_chunks[SIZE_CLASSES], *all_chunks;

/* Lines of the cache that the arrival of a chunk reads. */
#define CHUNK_LINES ((offsetof(struct lnet_tcp_chunk, data) + SIM_LINE - 1) / SIM_LINE + 1)
#define RECEIVE_LINES ((offsetof(struct lnet_stream, writes) + SIM_LINE - 1) / SIM_LINE)
#define SEND_LINES                                                                       \
    ((offsetof(struct lnet_stream, busy_until) - offsetof(struct lnet_stream, writes)) / \
         SIM_LINE +                                                                      \
     1)

#define HINT_LINES 2

static void chunk_retry(struct sim_event *event);

struct lnet_tcp_chunk *lnet_stream_sim_chunk_new(struct lnet_stream *from, uint32_t bytes)
{
    uint8_t size_class = 0;
    struct lnet_tcp_chunk *chunk;

    while (class_bytes[size_class] < bytes)
        size_class++;
    assert(size_class < SIZE_CLASSES);
    chunk = free_chunks[size_class];
    if (chunk != NULL) {
        free_chunks[size_class] = chunk->next;
        sim_fetch(chunk->next, CHUNK_LINES); /* for the next one */
    } else {
        chunk = malloc(sizeof(*chunk) + class_bytes[size_class]);
        if (chunk == NULL)
            abort();
        chunk->retry = (struct sim_timer){.event = {chunk_retry}};
        chunk->all = all_chunks;
        all_chunks = chunk;
    }
    chunk->transfer = (struct net_transfer){0};
    chunk->from = from;
    chunk->to = lnet_stream_other(from);
    chunk->next = NULL;
    chunk->bytes = bytes;
    chunk->tries = 0;
    chunk->fin = false;
    chunk->kind = CHUNK_DATA;
    chunk->size_class = size_class;
    from->connection->references++;
    return chunk;
}

void lnet_stream_sim_chunk_free(struct lnet_tcp_chunk *chunk)
{
    struct lnet_tcp_connection *connection = chunk->from->connection;

    assert(!sim_timer_armed(&chunk->retry));
    chunk->next = free_chunks[chunk->size_class];
    free_chunks[chunk->size_class] = chunk;
    lnet_stream_sim_release(connection);
}

void lnet_stream_sim_flow_reset(void)
{
    memset(free_chunks, 0, sizeof(free_chunks));
    while (all_chunks != NULL) {
        struct lnet_tcp_chunk *next = all_chunks->all;

        free(all_chunks);
        all_chunks = next;
    }
}

void lnet_stream_sim_append(struct lnet_tcp_chunks *list, struct lnet_tcp_chunk *chunk)
{
    chunk->next = NULL;
    if (list->last != NULL)
        list->last->next = chunk;
    else
        list->first = chunk;
    list->last = chunk;
}

struct lnet_tcp_chunk *lnet_stream_sim_take_first(struct lnet_tcp_chunks *list)
{
    struct lnet_tcp_chunk *chunk = list->first;

    list->first = chunk->next;
    if (list->first == NULL)
        list->last = NULL;
    return chunk;
}

static void drop_list(struct lnet_tcp_chunks *list)
{
    while (list->first != NULL)
        lnet_stream_sim_chunk_free(lnet_stream_sim_take_first(list));
}

/* ---- the network ------------------------------------------------------------------------------
 */

/* Fetches what the arrival of a chunk will read: the chunk, the end, and what its owner says. */
static void fetch(struct sim_event *event, unsigned stage)
{
    struct lnet_tcp_chunk *chunk = sim_container_of(event, struct lnet_tcp_chunk, transfer.event);

    if (stage == 0) {
        sim_fetch((const char *)chunk + SIM_LINE, CHUNK_LINES - 1);
    } else if (stage == 1) {
        sim_fetch(chunk->to, RECEIVE_LINES);
        sim_fetch(chunk->from, 1);
        sim_fetch(&chunk->from->writes, SEND_LINES);
    } else if (chunk->to->state == END_ESTABLISHED && chunk->to->handler != NULL) {
        const struct lnet_stream *to = chunk->to;
        unsigned i;

        sim_fetch(&to->connection->net, 1); /* its references */
        for (i = 0; i < LNET_STREAM_HINTS; i++)
            sim_fetch(to->hints[i], HINT_LINES);
        if (to->handler->fetch_lines > 0)
            sim_fetch(to->owner, to->handler->fetch_lines);
    }
}

void lnet_stream_sim_transmit(struct lnet_tcp_chunk *chunk, sim_time_t feed)
{
    const struct lnet_tcp_model *model = &lnet_tcp_model;
    struct lnet_tcp_connection *connection = chunk->from->connection;
    uint32_t packets = (chunk->bytes + model->segment - 1) / model->segment;
    uint32_t last;

    if (packets == 0)
        packets = 1;
    last = chunk->bytes - (packets - 1) * model->segment;
    chunk->transfer = (struct net_transfer){
        .prefetch_event = {{lnet_stream_sim_arrived}, fetch},
        .source = chunk->from->endpoint,
        .target = chunk->from->peer_endpoint,
        .units = chunk->bytes + packets * model->overhead,
        .last_units = last + model->overhead,
        .packets = packets,
        .class = NET_REQUEST,
        .route = NET_ROUTE_IN_ORDER,
        .receiver_latency = model->software,
    };
    chunk->tries++;
    lnet_tcp_counters.chunks++;
    lnet_tcp_counters.bytes += chunk->bytes;
    net_send(connection->net, &chunk->transfer, feed);
}

static void describe(const void *what, struct sim_fault_hit *hit)
{
    static const char *const kinds[] = {"TCP", "TCP SYN", "TCP SYN-ACK", "TCP RST"};
    const struct lnet_tcp_chunk *chunk = what;

    snprintf(hit->what, sizeof(hit->what), "%s", kinds[chunk->kind]);
    snprintf(hit->extent, sizeof(hit->extent), "%u bytes at %llu, port %u to port %u", chunk->bytes,
             (unsigned long long)chunk->position, chunk->from->local.port,
             chunk->from->remote.port);
    hit->flow = chunk->from->connection->flow;
}

void lnet_stream_sim_describe(const struct net_transfer *transfer, struct sim_fault_hit *hit)
{
    describe(sim_container_of(transfer, struct lnet_tcp_chunk, transfer), hit);
}

/* A control segment: not part of the stream of bytes. */
void lnet_stream_sim_send_control(struct lnet_stream *from, enum lnet_tcp_chunk_kind kind)
{
    struct lnet_tcp_chunk *chunk = lnet_stream_sim_chunk_new(from, 0);

    chunk->kind = (uint8_t)kind;
    chunk->position = from->taken;
    if (kind == CHUNK_RESET)
        lnet_tcp_counters.resets++;
    lnet_stream_sim_transmit(chunk, 0);
}

/* Callbacks run with the lock of the owner's node. A machine without LNet (tests) has no node. */
void lnet_stream_sim_lock(const struct lnet_stream *stream)
{
    struct lnet_node *node = lnet_stream_sim_node(stream->host);

    if (node != NULL)
        lnet_host_lock(node);
}

void lnet_stream_sim_unlock(const struct lnet_stream *stream)
{
    struct lnet_node *node = lnet_stream_sim_node(stream->host);

    if (node != NULL)
        lnet_host_unlock(node);
}

/* ---- sending ----------------------------------------------------------------------------------
 */

/* Acknowledgements that have arrived by now. */
void lnet_stream_sim_settle(struct lnet_stream *stream)
{
    while (stream->coming[0].at != 0 && stream->coming[0].at <= sim_now()) {
        stream->acked = stream->coming[0].acked;
        stream->window_end = stream->coming[0].window_end;
        stream->coming[0] = stream->coming[1];
        stream->coming[1].at = 0;
    }
}

static bool buffer_full(const struct lnet_stream *stream)
{
    return stream->taken - stream->acked >= stream->send_buffer;
}

/* Fills a chunk with the next bytes of the writes. */
static void fill(struct lnet_stream *stream, struct lnet_tcp_chunk *chunk)
{
    const struct lnet_stream_write *write = stream->writes;
    uint32_t from = stream->write_taken, left = chunk->bytes;
    uint8_t *to = chunk->data;

    if (from < write->head_bytes) {
        uint32_t part = write->head_bytes - from < left ? write->head_bytes - from : left;

        memcpy(to, (const char *)write->head + from, part);
        to += part;
        left -= part;
        from += part;
    }
    if (left > 0)
        lnet_copy_from_fragments(to, &write->payload, write->offset + from - write->head_bytes,
                                 left);
}

/* Copies bytes of the writes into the socket, while there is room. Each call of `done` may start a
 * new write. `within`: a write that must not be reported. */
static void fill_socket(struct lnet_stream *stream, const struct lnet_stream_write *within)
{
    while (stream->writes != NULL && !buffer_full(stream)) {
        struct lnet_stream_write *write = stream->writes;
        uint32_t left = write->head_bytes + write->length - stream->write_taken;
        uint64_t room = stream->send_buffer - (stream->taken - stream->acked);
        uint32_t bytes = left < lnet_tcp_model.chunk ? left : lnet_tcp_model.chunk;

        if (bytes > room)
            bytes = (uint32_t)room;
        if (bytes > 0) {
            struct lnet_tcp_chunk *chunk = lnet_stream_sim_chunk_new(stream, bytes);

            chunk->position = stream->taken;
            fill(stream, chunk);
            lnet_stream_sim_append(&stream->unsent, chunk);
            stream->taken += bytes;
            stream->unwritten -= bytes;
            stream->write_taken += bytes;
        }
        if (bytes < left)
            continue;
        stream->writes = write->next;
        if (stream->writes == NULL)
            stream->writes_last = NULL;
        stream->write_taken = 0;
        if (write != within)
            write->done(write);
    }
}

static bool window_open(const struct lnet_stream *stream)
{
    return stream->sent < stream->window_end || stream->unsent.first->bytes == 0;
}

/* The pump has to run again when the core, the window or the buffer is free. */
void lnet_stream_sim_arm_pump(struct lnet_stream *stream)
{
    sim_time_t at = SIM_NEVER;

    if (stream->unsent.first != NULL && window_open(stream))
        at = stream->busy_until;
    else if (stream->unsent.first != NULL || stream->writes != NULL)
        at = stream->coming[0].at != 0 ? stream->coming[0].at : SIM_NEVER;
    if (at == SIM_NEVER || sim_timer_armed(&stream->pump))
        return;
    stream->connection->references++;
    sim_timer_arm(&stream->pump, at > sim_now() ? at : sim_now());
}

static void send_waiting(struct lnet_stream *stream, const struct lnet_stream_write *within)
{
    struct lnet_tcp_connection *connection = stream->connection;

    connection->references++; /* `done` may close the stream */
    lnet_stream_sim_settle(stream);
    fill_socket(stream, within);
    while (stream->unsent.first != NULL && stream->busy_until <= sim_now() && window_open(stream)) {
        struct lnet_tcp_chunk *chunk = lnet_stream_sim_take_first(&stream->unsent);
        sim_time_t feed =
            (sim_time_t)((double)chunk->bytes * (double)SIM_US / lnet_tcp_model.rate_Bpus);

        stream->sent += chunk->bytes;
        stream->outstanding++;
        stream->busy_until = sim_now() + feed;
        lnet_stream_sim_transmit(chunk, feed);
    }
    lnet_stream_sim_arm_pump(stream);
    lnet_stream_sim_release(connection);
}

static void pump_fired(struct sim_event *event)
{
    struct lnet_stream *stream = sim_container_of(event, struct lnet_stream, pump.event);

    lnet_stream_sim_lock(stream);
    if (stream->state == END_ESTABLISHED || stream->state == END_CLOSED)
        send_waiting(stream, NULL);
    lnet_stream_sim_unlock(stream);
    lnet_stream_sim_release(stream->connection);
}

void lnet_stream_fetch(const struct lnet_stream *stream)
{
    sim_fetch(stream, 1);
    sim_fetch(&stream->writes, SEND_LINES);
}

const void *lnet_stream_shared(const struct lnet_stream *stream)
{
    return &stream->connection->net; /* and the references behind it */
}

void lnet_stream_sim_pump(struct lnet_stream *stream)
{
    send_waiting(stream, NULL);
}

bool lnet_stream_write(struct lnet_stream *stream, struct lnet_stream_write *write)
{
    assert(stream->state == END_ESTABLISHED || stream->state == END_DEAD);
    write->next = NULL;
    if (stream->writes_last != NULL)
        stream->writes_last->next = write;
    else
        stream->writes = write;
    stream->writes_last = write;
    stream->unwritten += write->head_bytes + write->length;
    if (stream->state == END_ESTABLISHED && stream->writes == write)
        send_waiting(stream, write);
    return stream->writes_last != write;
}

uint64_t lnet_stream_queued(const struct lnet_stream *stream)
{
    lnet_stream_sim_settle((struct lnet_stream *)stream);
    return stream->unwritten + stream->taken - stream->acked;
}

uint64_t lnet_stream_acknowledged(const struct lnet_stream *stream)
{
    lnet_stream_sim_settle((struct lnet_stream *)stream);
    return stream->acked;
}

/* The owner has closed: behind the bytes in the socket goes the end of the stream. */
void lnet_stream_sim_close_sending(struct lnet_stream *stream)
{
    struct lnet_tcp_chunk *chunk;

    assert(!stream->fin_taken);
    stream->writes = stream->writes_last = NULL;
    stream->unwritten = 0;
    stream->fin_taken = true;
    chunk = lnet_stream_sim_chunk_new(stream, 0);
    chunk->position = stream->taken;
    chunk->fin = true;
    lnet_stream_sim_append(&stream->unsent, chunk);
    send_waiting(stream, NULL);
}

/* ---- loss -------------------------------------------------------------------------------------
 */

/* Nobody waits for it any more. */
static bool given_up(const struct lnet_tcp_chunk *chunk)
{
    enum lnet_tcp_state state = chunk->from->state;

    if (chunk->kind == CHUNK_SYN)
        return state != END_SYN_SENT;
    if (chunk->kind == CHUNK_SYN_ACK)
        return state != END_SYN_RECEIVED;
    return chunk->kind == CHUNK_RESET || state == END_DEAD;
}

static void give_up(struct lnet_tcp_chunk *chunk)
{
    if (chunk->kind == CHUNK_DATA)
        chunk->from->outstanding--;
    lnet_stream_sim_chunk_free(chunk);
}

/* How often a lost chunk is sent again. */
static uint32_t retries(const struct lnet_stream *from, bool handshake)
{
    const struct lnet_tcp_model *model = &lnet_tcp_model;

    if (handshake)
        return model->syn_retries;
    return from->state == END_CLOSED ? model->orphan_retries : model->retries;
}

void lnet_stream_sim_lost(struct lnet_tcp_chunk *chunk)
{
    const struct lnet_tcp_model *model = &lnet_tcp_model;
    struct lnet_stream *from = chunk->from, *to = chunk->to;
    bool handshake = chunk->kind == CHUNK_SYN || chunk->kind == CHUNK_SYN_ACK;
    const struct sim_fault_subject subject = {
        .describe = describe,
        .what = chunk,
        .source = from->endpoint,
        .target = to->endpoint,
        .kind = NET_REQUEST,
    };
    sim_time_t wait;
    uint32_t i;

    lnet_tcp_counters.lost++;
    sim_fault_lost(&subject);
    if (given_up(chunk)) {
        give_up(chunk);
        return;
    }
    if (chunk->tries > retries(from, handshake)) {
        lnet_stream_sim_fail(from, -ETIMEDOUT);
        give_up(chunk);
        return;
    }
    wait = handshake ? model->syn_timeout : model->rto_min;
    if (!handshake && chunk->tries == 1 && from->outstanding > 1)
        wait = from->connection->round_trip; /* duplicate acknowledgements tell it at once */
    else
        for (i = 1; i < chunk->tries && wait < model->rto_max; i++)
            wait *= 2;
    if (!handshake && wait > model->rto_max)
        wait = model->rto_max;
    sim_timer_arm(&chunk->retry, sim_now() + wait);
}

static void chunk_retry(struct sim_event *event)
{
    struct lnet_tcp_chunk *chunk = sim_container_of(event, struct lnet_tcp_chunk, retry.event);

    if (given_up(chunk)) {
        give_up(chunk);
        return;
    }
    lnet_tcp_counters.retransmitted++;
    lnet_stream_sim_transmit(chunk, 0);
}

/* ---- the end ----------------------------------------------------------------------------------
 */

void lnet_stream_sim_drop(struct lnet_stream *stream)
{
    drop_list(&stream->unsent);
    drop_list(&stream->received);
    drop_list(&stream->early);
    stream->writes = stream->writes_last = NULL;
    stream->unwritten = 0;
    stream->reading = false;
    if (sim_timer_armed(&stream->pump)) {
        sim_timer_cancel(&stream->pump);
        lnet_stream_sim_release(stream->connection);
    }
}

void lnet_stream_sim_fail(struct lnet_stream *stream, int status)
{
    struct lnet_tcp_connection *connection = stream->connection;
    bool owned = stream->state == END_SYN_SENT || stream->state == END_ESTABLISHED;

    stream->connecting = stream->state == END_SYN_SENT;
    connection->references++;
    stream->state = END_DEAD;
    lnet_stream_sim_drop(stream);
    if (owned && stream->handler != NULL) {
        stream->failure = status;
        lnet_stream_sim_wake(stream);
    }
    lnet_stream_sim_release(connection);
}

void lnet_stream_sim_flow_init(struct lnet_stream *stream)
{
    stream->pump = (struct sim_timer){.event = {pump_fired}};
    stream->wake = (struct sim_timer){.event = {lnet_stream_sim_wake_fired}};
}
