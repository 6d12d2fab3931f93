/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The receiving half of simulated TCP: arrival, order, the reader. */
#include "stream_sim.h"

#include <assert.h>
#include <errno.h>

/* ---- receiving --------------------------------------------------------------------------------
 */

/* Tells the sender what has arrived and how much may follow. */
static void acknowledge(struct lnet_stream *stream)
{
    struct lnet_stream *sender = lnet_stream_other(stream);
    struct lnet_tcp_ack news = {
        .at = sim_now() + stream->connection->round_trip / 2,
        .acked = stream->arrived,
        .window_end = stream->consumed + stream->receive_buffer,
    };

    lnet_stream_sim_settle(sender);
    if (sender->coming[0].at == 0)
        sender->coming[0] = news;
    else
        sender->coming[1] = news;
    if (sender->state == END_ESTABLISHED || sender->state == END_CLOSED)
        lnet_stream_sim_arm_pump(sender);
}

/* Copies what is there into the reader's memory. */
static void copy_to_reader(struct lnet_stream *stream)
{
    while (stream->read_done < stream->read_length && stream->received.first != NULL) {
        struct lnet_tcp_chunk *chunk = stream->received.first;
        uint32_t there = chunk->bytes - stream->first_read;
        uint32_t wanted = stream->read_length - stream->read_done;
        uint32_t part = there < wanted ? there : wanted;

        if (stream->has_target && part > 0)
            lnet_copy_to_fragments(&stream->target, stream->target_offset + stream->read_done,
                                   chunk->data + stream->first_read, part);
        stream->read_done += part;
        stream->first_read += part;
        stream->consumed += part;
        if (stream->first_read == chunk->bytes) {
            stream->first_read = 0;
            lnet_stream_sim_chunk_free(lnet_stream_sim_take_first(&stream->received));
        }
    }
}

/* Serves reads until there is nothing to read, or no read. The stream may be closed meanwhile. */
static void deliver(struct lnet_stream *stream)
{
    struct lnet_tcp_connection *connection = stream->connection;
    uint64_t consumed = stream->consumed;

    if (stream->delivering)
        return;
    connection->references++;
    stream->delivering = true;
    while (stream->state == END_ESTABLISHED && stream->reading) {
        copy_to_reader(stream);
        if (stream->read_done < stream->read_length)
            break;
        stream->reading = false;
        stream->done(stream->owner);
    }
    stream->delivering = false;
    if (stream->state == END_ESTABLISHED && stream->consumed != consumed)
        acknowledge(stream);
    if (stream->state == END_ESTABLISHED && stream->reading && stream->fin_arrived &&
        stream->received.first == NULL) {
        stream->reading = false;
        stream->handler->closed(stream->owner, 0);
    }
    lnet_stream_sim_release(connection);
}

void lnet_stream_sim_wake_fired(struct sim_event *event)
{
    struct lnet_stream *stream = sim_container_of(event, struct lnet_stream, wake.event);
    struct lnet_tcp_connection *connection = stream->connection;
    int failure = stream->failure;

    if (failure != 0 && stream->state == END_SYN_SENT && lnet_stream_sim_resolve_again(stream))
        return;
    stream->failure = 0;
    lnet_stream_sim_lock(stream);
    if (failure == 0)
        deliver(stream);
    else if (stream->handler != NULL && stream->connecting)
        stream->handler->connected(stream->owner, failure);
    else if (stream->handler != NULL)
        stream->handler->closed(stream->owner, failure);
    lnet_stream_sim_unlock(stream);
    lnet_stream_sim_release(connection);
}

void lnet_stream_sim_wake(struct lnet_stream *stream)
{
    if (sim_timer_armed(&stream->wake))
        return;
    stream->connection->references++;
    sim_timer_arm(&stream->wake, sim_now());
}

void lnet_stream_read(struct lnet_stream *stream, const struct lnet_fragments *to, uint32_t offset,
                      uint32_t length, void (*done)(void *owner))
{
    assert(!stream->reading);
    assert(stream->state == END_ESTABLISHED || stream->state == END_DEAD);
    assert(to == NULL || (uint64_t)offset + length <= to->length || length == 0);
    stream->reading = true;
    stream->has_target = to != NULL;
    if (to != NULL)
        stream->target = *to;
    stream->target_offset = offset;
    stream->read_length = length;
    stream->read_done = 0;
    stream->done = done;
    if (!stream->delivering && stream->state == END_ESTABLISHED &&
        (length == 0 || stream->received.first != NULL || stream->fin_arrived))
        lnet_stream_sim_wake(stream);
}

void lnet_stream_read_buffer(struct lnet_stream *stream, void *to, uint32_t length,
                             void (*done)(void *owner))
{
    struct lnet_fragments target = {1, length, &stream->buffer};

    stream->buffer = (struct kvec){to, length};
    lnet_stream_read(stream, &target, 0, length, done);
}

uint64_t lnet_stream_received(const struct lnet_stream *stream)
{
    return stream->arrived;
}

/* ---- arrival ----------------------------------------------------------------------------------
 */

/* Takes a chunk, and those behind it that waited for it, into the received list. */
static void accept_in_order(struct lnet_stream *stream, struct lnet_tcp_chunk *chunk)
{
    for (;;) {
        stream->arrived += chunk->bytes;
        stream->fin_arrived |= chunk->fin;
        if (chunk->bytes > 0)
            lnet_stream_sim_append(&stream->received, chunk);
        else
            lnet_stream_sim_chunk_free(chunk);
        chunk = stream->early.first;
        if (chunk == NULL || chunk->position != stream->arrived)
            return;
        lnet_stream_sim_take_first(&stream->early);
    }
}

static void insert_early(struct lnet_stream *stream, struct lnet_tcp_chunk *chunk)
{
    struct lnet_tcp_chunk **at = &stream->early.first;

    while (*at != NULL && (*at)->position <= chunk->position)
        at = &(*at)->next;
    chunk->next = *at;
    *at = chunk;
    if (chunk->next == NULL)
        stream->early.last = chunk;
}

static void data_arrived(struct lnet_tcp_chunk *chunk)
{
    struct lnet_stream *from = chunk->from, *to = chunk->to;
    struct lnet_tcp_connection *connection = to->connection;

    from->outstanding--;
    if (to->state == END_SYN_RECEIVED)
        lnet_stream_sim_accepted(to);
    if (to->state != END_ESTABLISHED) {
        /* Nobody reads it: the sender learns that, unless it has closed, too. */
        if ((chunk->bytes > 0 || to->state == END_DEAD) && from->state != END_DEAD &&
            lnet_stream_sim_host_alive(to->host))
            lnet_stream_sim_send_control(to, CHUNK_RESET);
        lnet_stream_sim_chunk_free(chunk);
        return;
    }
    if (chunk->bytes == 0 && !chunk->fin) { /* the end of the handshake */
        lnet_stream_sim_chunk_free(chunk);
        return;
    }
    if (chunk->position != to->arrived) {
        assert(chunk->position > to->arrived); /* only what was lost is sent again */
        insert_early(to, chunk);
        return;
    }
    connection->references++;
    accept_in_order(to, chunk);
    if (to->reading)
        deliver(to);
    if (to->state == END_ESTABLISHED)
        acknowledge(to);
    lnet_stream_sim_release(connection);
}

static void syn_arrived(struct lnet_tcp_chunk *chunk)
{
    struct lnet_stream *to = chunk->to;

    if (chunk->from->state != END_SYN_SENT)
        return;
    if (lnet_stream_sim_accept(chunk->from->connection))
        lnet_stream_sim_send_control(to, CHUNK_SYN_ACK);
    else
        lnet_stream_sim_send_control(to, CHUNK_RESET);
}

static void syn_ack_arrived(struct lnet_tcp_chunk *chunk)
{
    struct lnet_stream *to = chunk->to;
    struct lnet_tcp_chunk *answer;

    if (to->state != END_SYN_SENT) {
        if (to->state == END_CLOSED)
            lnet_stream_sim_send_control(to, CHUNK_RESET);
        return;
    }
    to->state = END_ESTABLISHED;
    to->connecting = false;
    answer = lnet_stream_sim_chunk_new(to, 0);
    answer->position = 0;
    to->outstanding++;
    lnet_stream_sim_transmit(answer, 0);
    to->handler->connected(to->owner, 0);
}

static void reset_arrived(struct lnet_tcp_chunk *chunk)
{
    struct lnet_stream *to = chunk->to;

    if (to->state == END_SYN_SENT)
        lnet_stream_sim_fail(to, -ECONNREFUSED);
    else if (to->state != END_DEAD && to->state != END_UNUSED)
        lnet_stream_sim_fail(to, -ECONNRESET);
}

void lnet_stream_sim_arrived(struct sim_event *event)
{
    struct lnet_tcp_chunk *chunk = sim_container_of(event, struct lnet_tcp_chunk, transfer.event);
    struct lnet_stream *to = chunk->to;
    struct lnet_tcp_connection *connection = to->connection;
    bool control = chunk->kind != CHUNK_DATA; /* data is freed, or kept, where it arrives */

    if (chunk->transfer.status != NET_DELIVERED || chunk->transfer.poisoned ||
        !lnet_stream_sim_host_alive(to->host)) {
        lnet_stream_sim_lost(chunk);
        return;
    }
    connection->references++;
    lnet_stream_sim_lock(to);
    switch (chunk->kind) {
    case CHUNK_DATA:
        data_arrived(chunk);
        break;
    case CHUNK_SYN:
        syn_arrived(chunk);
        break;
    case CHUNK_SYN_ACK:
        syn_ack_arrived(chunk);
        break;
    default:
        reset_arrived(chunk);
        break;
    }
    lnet_stream_sim_unlock(to);
    if (control)
        lnet_stream_sim_chunk_free(chunk);
    lnet_stream_sim_release(connection);
}
