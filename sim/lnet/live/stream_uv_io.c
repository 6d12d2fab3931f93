/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sockets: writing and reading, directly from and into the fragments of descriptors. */
#define _GNU_SOURCE
#include "stream_uv.h"

#include <errno.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define PIECES_MAX (LNET_MAX_IOV + 2) /* head or read-ahead, and the fragments */
#define EMPTY_FOR (10 * SIM_MS)
#define READS_PER_EVENT 16 /* then other streams have a turn */

/* Adds part of the fragments to a vector. */
static uint32_t add_fragments(struct iovec *pieces, uint32_t count,
                              const struct lnet_fragments *list, uint32_t offset, uint32_t length)
{
    const struct kvec *fragment = list->fragment;

    while (length > 0 && count < PIECES_MAX - 1) {
        if (offset >= fragment->iov_len) {
            offset -= (uint32_t)fragment->iov_len;
        } else {
            size_t part = fragment->iov_len - offset;

            part = part < length ? part : length;
            pieces[count++] = (struct iovec){(char *)fragment->iov_base + offset, part};
            length -= (uint32_t)part;
            offset = 0;
        }
        fragment++;
    }
    return count;
}

/* Reports the end of the connection, from the loop. */
static void report(struct lnet_stream *stream, int status)
{
    bool connecting = stream->connecting;

    stream->reading = false;
    stream->connecting = false;
    stream->writes = stream->writes_last = NULL;
    stream->unwritten = 0;
    lnet_stream_uv_update(stream);
    if (stream->handler == NULL)
        return;
    if (connecting)
        stream->handler->connected(stream->owner, status);
    else
        stream->handler->closed(stream->owner, status);
}

/* ---- writing ----------------------------------------------------------------------------------
 */

/* Gives the socket as much of the first write as it takes: 1 all of it, 0 a part, or an error. */
static int send_first(struct lnet_stream *stream)
{
    struct lnet_stream_write *write = stream->writes;
    uint32_t total = write->head_bytes + write->length;

    while (stream->write_sent < total) {
        struct iovec pieces[PIECES_MAX];
        struct msghdr message = {.msg_iov = pieces};
        uint32_t count = 0, sent = stream->write_sent, offset = 0;
        ssize_t bytes;

        if (sent < write->head_bytes)
            pieces[count++] = (struct iovec){(char *)write->head + sent, write->head_bytes - sent};
        else
            offset = sent - write->head_bytes;
        message.msg_iovlen = add_fragments(pieces, count, &write->payload, write->offset + offset,
                                           write->length - offset);
        bytes = sendmsg(stream->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (bytes < 0 && errno == EINTR)
            continue;
        if (bytes < 0)
            return errno == EAGAIN ? 0 : -errno;
        stream->write_sent += (uint32_t)bytes;
        stream->written += (uint64_t)bytes;
        stream->unwritten -= (uint64_t)bytes;
    }
    return 1;
}

static struct lnet_stream_write *take_first(struct lnet_stream *stream)
{
    struct lnet_stream_write *write = stream->writes;

    stream->writes = write->next;
    if (stream->writes == NULL)
        stream->writes_last = NULL;
    stream->write_sent = 0;
    return write;
}

bool lnet_stream_write(struct lnet_stream *stream, struct lnet_stream_write *write)
{
    bool first = stream->writes == NULL && !stream->connecting;
    int result;

    assert(!stream->closed);
    write->next = NULL;
    if (stream->writes_last != NULL)
        stream->writes_last->next = write;
    else
        stream->writes = write;
    stream->writes_last = write;
    stream->unwritten += write->head_bytes + write->length;
    if (!first || stream->failure != 0)
        return false;
    result = send_first(stream);
    if (result == 1) {
        take_first(stream);
        return true;
    }
    if (result < 0) {
        stream->failure = result;
        lnet_stream_uv_make_ready(stream);
    } else {
        lnet_stream_uv_update(stream);
    }
    return false;
}

static void writable(struct lnet_stream *stream)
{
    while (!stream->closed && stream->writes != NULL) {
        int result = send_first(stream);
        struct lnet_stream_write *write;

        if (result < 0) {
            report(stream, result);
            return;
        }
        if (result == 0)
            break;
        write = take_first(stream);
        write->done(write);
    }
    lnet_stream_uv_update(stream);
}

static uint64_t in_socket(const struct lnet_stream *stream)
{
    int bytes = 0;

    if (stream->fd < 0 || ioctl(stream->fd, SIOCOUTQ, &bytes) != 0 || bytes < 0)
        return 0;
    return (uint64_t)bytes;
}

void lnet_stream_fetch(const struct lnet_stream *stream)
{
    sim_fetch(stream, 1);
}

const void *lnet_stream_shared(const struct lnet_stream *stream)
{
    (void)stream;
    return NULL;
}

/* Asked before each message. A socket that was empty a moment ago counts as empty, which saves a
 * system call where one message follows the other. */
uint64_t lnet_stream_queued(const struct lnet_stream *stream)
{
    struct lnet_stream *noted = (struct lnet_stream *)stream;
    sim_time_t now = sim_now();
    uint64_t bytes = 0;

    if (now - stream->empty_at >= EMPTY_FOR) {
        bytes = in_socket(stream);
        if (bytes == 0)
            noted->empty_at = now;
    }
    return stream->unwritten + bytes;
}

uint64_t lnet_stream_acknowledged(const struct lnet_stream *stream)
{
    uint64_t queued = in_socket(stream);

    return stream->written > queued ? stream->written - queued : 0;
}

/* ---- reading ----------------------------------------------------------------------------------
 */

/* Copies bytes that were taken ahead. */
static void read_from_ahead(struct lnet_stream *stream)
{
    uint32_t there = stream->ahead_to - stream->ahead_from;
    uint32_t wanted = stream->read_length - stream->read_done;
    uint32_t part = there < wanted ? there : wanted;

    if (part == 0)
        return;
    if (stream->has_target)
        lnet_copy_to_fragments(&stream->target, stream->target_offset + stream->read_done,
                               stream->ahead + stream->ahead_from, part);
    stream->read_done += part;
    stream->ahead_from += part;
}

/* One system call, into the reader's memory and what is behind it. 1: the socket may have more. 0:
 * it is empty. Or an error; -EPIPE: the end of the stream. */
static int read_from_socket(struct lnet_stream *stream)
{
    static uint8_t nowhere[65536]; /* discarded; the loop is one thread */
    uint32_t wanted = stream->read_length - stream->read_done, direct = wanted, count = 0, i;
    struct iovec pieces[PIECES_MAX];
    size_t room = 0;
    ssize_t bytes;

    assert(stream->ahead_from == stream->ahead_to && wanted > 0);
    if (stream->has_target) {
        count = add_fragments(pieces, 0, &stream->target, stream->target_offset + stream->read_done,
                              wanted);
    } else {
        direct = wanted < sizeof(nowhere) ? wanted : (uint32_t)sizeof(nowhere);
        pieces[count++] = (struct iovec){nowhere, direct};
    }
    if (direct == wanted)
        pieces[count++] = (struct iovec){stream->ahead, sizeof(stream->ahead)};
    for (i = 0; i < count; i++)
        room += pieces[i].iov_len;
    do
        bytes = readv(stream->fd, pieces, (int)count);
    while (bytes < 0 && errno == EINTR);
    if (bytes < 0)
        return errno == EAGAIN ? 0 : -errno;
    if (bytes == 0)
        return -EPIPE;
    stream->received += (uint64_t)bytes;
    stream->read_done += bytes < (ssize_t)direct ? (uint32_t)bytes : direct;
    stream->ahead_from = 0;
    stream->ahead_to = bytes > (ssize_t)direct ? (uint32_t)(bytes - (ssize_t)direct) : 0;
    return (size_t)bytes == room;
}

static void readable(struct lnet_stream *stream)
{
    int more = 1, turns = 0;

    if (stream->delivering)
        return;
    stream->delivering = true;
    while (!stream->closed && stream->reading) {
        if (stream->read_done < stream->read_length)
            read_from_ahead(stream);
        if (stream->read_done < stream->read_length) {
            if (more == 0 || ++turns > READS_PER_EVENT)
                break;
            more = read_from_socket(stream);
            if (more < 0) {
                report(stream, more == -EPIPE ? 0 : more);
                break;
            }
            continue;
        }
        stream->reading = false;
        stream->done(stream->owner);
    }
    stream->delivering = false;
    if (!stream->closed)
        lnet_stream_uv_update(stream);
}

void lnet_stream_read(struct lnet_stream *stream, const struct lnet_fragments *to, uint32_t offset,
                      uint32_t length, void (*done)(void *owner))
{
    assert(!stream->reading && !stream->closed);
    assert(to == NULL || (uint64_t)offset + length <= to->length || length == 0);
    stream->reading = true;
    stream->has_target = to != NULL;
    if (to != NULL)
        stream->target = *to;
    stream->target_offset = offset;
    stream->read_length = length;
    stream->read_done = 0;
    stream->done = done;
    if (stream->delivering)
        return;
    if (length == 0 || stream->ahead_from < stream->ahead_to)
        lnet_stream_uv_make_ready(stream);
    lnet_stream_uv_update(stream);
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
    return stream->received;
}

/* ---- the loop ---------------------------------------------------------------------------------
 */

void lnet_stream_uv_event(uv_poll_t *poll, int status, int events)
{
    struct lnet_stream *stream = poll->data;
    struct lnet_node *node = stream->host->node;

    lnet_host_lock(node);
    if (stream->closed || stream->failure != 0) {
        lnet_host_unlock(node);
        return;
    }
    if (stream->connecting) {
        lnet_stream_uv_connected(stream);
    } else {
        if (events & UV_WRITABLE || status < 0)
            writable(stream);
        if (!stream->closed && (events & UV_READABLE || status < 0)) {
            if (stream->reading) {
                readable(stream);
            } else { /* nobody reads now */
                uv_poll_stop(&stream->poll);
                stream->events = 0;
                lnet_stream_uv_update(stream);
            }
        }
    }
    lnet_host_unlock(node);
}

void lnet_stream_uv_ready(void)
{
    while (!list_empty(&lnet_loop.ready)) {
        struct lnet_stream *stream =
            list_first_entry(&lnet_loop.ready, struct lnet_stream, on_ready);
        struct lnet_node *node = stream->host->node;

        list_del_init(&stream->on_ready);
        lnet_host_lock(node);
        if (stream->failure != 0)
            report(stream, stream->failure);
        else if (stream->reading)
            readable(stream);
        lnet_host_unlock(node);
    }
}
