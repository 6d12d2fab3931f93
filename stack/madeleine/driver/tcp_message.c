/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages over TCP: nothing but the user's bytes. */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "internal.h"
#include "sock.h"
#include "tcp.h"

enum { GATHER_BYTES = 1024 };

int mad_tcp_lost(p_mad_connection_t connection, int code, int driver_code)
{
    mad_driver_note(connection, NULL, driver_code);
    mad_connection_break(connection, code);
    mad_connection_break(connection->reverse, code);
    return code;
}

void mad_tcp_give_up(p_mad_connection_t in)
{
    mad_connection_break(in->reverse, MAD_EPEER);
    mad_sock_reset(mad_tcp_peer(in)->fd);
}

/* ---- noticing a message ---------------------------------------------------------------------- */

/* The peers that may send, in turn after the one served last. */
static unsigned candidates(p_mad_channel_t channel)
{
    struct tcp_channel *own = channel->specific;
    int size = channel->adapter->driver->madeleine->configuration.size, i;
    unsigned count = 0;

    for (i = 1; i <= size; i++) {
        int rank = (own->last_served + i) % size;
        p_mad_connection_t in = channel->input_connection[rank];

        if (mad_tcp_peer(in)->fd < 0 || mad_connection_error(in) != MAD_OK)
            continue;
        own->descriptors[count] = (struct pollfd){.fd = mad_tcp_peer(in)->fd, .events = POLLIN};
        own->ranks[count++] = rank;
    }
    return count;
}

/*
 * Whether data wait at a socket that is ready; else it has ended, and the peer is lost. The kernel
 * may report the end of a stream as input alone, for it counts the end before it marks it.
 */
static bool has_data(p_mad_connection_t in)
{
    char byte;
    ssize_t got = mad_sock_recv(mad_tcp_peer(in)->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

    if (got > 0)
        return true;
    if (got == 0 || (errno != EAGAIN && errno != EINTR))
        mad_tcp_lost(in, MAD_EPEER, got < 0 ? errno : 0);
    return false;
}

static bool has_ahead(p_mad_connection_t in)
{
    return mad_tcp_peer(in)->ahead_from != mad_tcp_peer(in)->ahead_to;
}

/*
 * Receives what has come from the only peer, without asking first whether anything has: with
 * several peers that would prefer those that have sent much. False: nothing, or the peer is lost.
 */
static bool receive_ahead(p_mad_connection_t in)
{
    struct tcp_peer *peer = mad_tcp_peer(in);
    ssize_t got = mad_sock_recv(peer->fd, peer->ahead, sizeof(peer->ahead), MSG_DONTWAIT);

    if (got > 0) {
        peer->ahead_from = 0;
        peer->ahead_to = (unsigned)got;
        return true;
    }
    if (got == 0 || (errno != EAGAIN && errno != EINTR))
        mad_tcp_lost(in, MAD_EPEER, got < 0 ? errno : 0);
    return false;
}

static p_mad_connection_t next_message(p_mad_channel_t channel, int64_t timeout_ns)
{
    struct tcp_channel *own = channel->specific;
    mad_event_t event = {.descriptors = own->descriptors};
    p_mad_connection_t in;
    unsigned i, passes = 0;
    int ready;

    do {
        event.count = candidates(channel);
        if (event.count == 0) {
            mad_channel_fail(channel, MAD_EPEER, "no peer is left");
            return NULL;
        }
        in = channel->input_connection[own->ranks[0]];
        if (has_ahead(in))
            return in; /* it is the only peer */
        if (event.count == 1 && mad_wait_spins(&passes)) {
            if (receive_ahead(in))
                return in;
            continue;
        }
        ready = mad_wait(&event, timeout_ns);
        if (ready < 0) {
            mad_channel_fail(channel, MAD_EDRIVER, "waiting for sockets failed");
            return NULL;
        }
        for (i = 0; i < event.count && ready > 0; i++) {
            if (event.descriptors[i].revents == 0)
                continue;
            in = channel->input_connection[own->ranks[i]];
            if (has_data(in)) {
                own->last_served = own->ranks[i];
                return in;
            }
        }
    } while (timeout_ns != 0);
    return NULL;
}

p_mad_connection_t mad_tcp_receive_message(p_mad_channel_t channel)
{
    return next_message(channel, -1);
}

p_mad_connection_t mad_tcp_poll_message(p_mad_channel_t channel)
{
    return next_message(channel, 0);
}

/* ---- transfers ------------------------------------------------------------------------------- */

static int transfer_failed(p_mad_connection_t connection)
{
    int code =
        errno == ECONNRESET || errno == EPIPE || errno == ETIMEDOUT ? MAD_EPEER : MAD_EDRIVER;

    return mad_tcp_lost(connection, code, errno);
}

/* Moves the pieces on by `bytes`. Returns how many of them are complete. */
static unsigned advance(struct iovec *pieces, unsigned count, size_t bytes)
{
    unsigned done = 0;

    while (done < count && bytes >= pieces[done].iov_len)
        bytes -= pieces[done++].iov_len;
    if (done < count) {
        pieces[done].iov_base = (char *)pieces[done].iov_base + bytes;
        pieces[done].iov_len -= bytes;
    }
    return done;
}

/* One piece has a cheaper system call than several. */
static ssize_t send_some(int fd, struct iovec *pieces, unsigned count)
{
    struct msghdr message = {.msg_iov = pieces, .msg_iovlen = count};

    return count == 1 ? mad_sock_send(fd, pieces->iov_base, pieces->iov_len, MSG_NOSIGNAL)
                      : mad_sock_sendmsg(fd, &message, MSG_NOSIGNAL);
}

static ssize_t receive_some(int fd, struct iovec *pieces, unsigned count)
{
    struct msghdr message = {.msg_iov = pieces, .msg_iovlen = count};

    return count == 1 ? mad_sock_recv(fd, pieces->iov_base, pieces->iov_len, 0)
                      : mad_sock_recvmsg(fd, &message, 0);
}

/* Copies what was received ahead to the first pieces. Returns how many bytes. */
static size_t take_ahead(struct tcp_peer *peer, const struct iovec *pieces, unsigned count)
{
    size_t taken = 0;

    for (unsigned i = 0; i < count && peer->ahead_from != peer->ahead_to; i++) {
        size_t length = peer->ahead_to - peer->ahead_from;

        if (length > pieces[i].iov_len)
            length = pieces[i].iov_len;
        memcpy(pieces[i].iov_base, peer->ahead + peer->ahead_from, length);
        peer->ahead_from += (unsigned)length;
        taken += length;
    }
    return taken;
}

/* Transfers all pieces, in as few system calls as the sockets' buffers permit. */
static int transfer(p_mad_connection_t connection, struct iovec *pieces, unsigned count, bool out)
{
    int fd = mad_tcp_peer(connection)->fd;
    unsigned passes = 0;

    if (!out && has_ahead(connection)) {
        unsigned done = advance(pieces, count, take_ahead(mad_tcp_peer(connection), pieces, count));

        pieces += done;
        count -= done;
    }
    while (count != 0) {
        ssize_t bytes = out ? send_some(fd, pieces, count) : receive_some(fd, pieces, count);
        unsigned done;

        if (bytes == 0 && !out)
            return mad_tcp_lost(connection, MAD_EPEER, 0);
        if (bytes < 0 && errno == EINTR)
            continue;
        if (bytes < 0 && errno == EAGAIN) {
            if (!mad_wait_spins(&passes) && mad_tcp_wait(fd, out ? POLLOUT : POLLIN) != MAD_OK)
                return transfer_failed(connection);
            continue;
        }
        if (bytes < 0)
            return transfer_failed(connection);
        done = advance(pieces, count, (size_t)bytes);
        pieces += done;
        count -= done;
    }
    return MAD_OK;
}

int mad_tcp_send_buffer(p_mad_link_t link, p_mad_buffer_t buffer)
{
    struct iovec piece = {(char *)buffer->buffer + buffer->bytes_read,
                          buffer->bytes_written - buffer->bytes_read};

    buffer->bytes_read = buffer->bytes_written;
    return transfer(link->connection, &piece, 1, true);
}

int mad_tcp_receive_buffer(p_mad_link_t link, p_mad_buffer_t *buffer)
{
    struct iovec piece = {(char *)(*buffer)->buffer + (*buffer)->bytes_written,
                          (*buffer)->length - (*buffer)->bytes_written};

    (*buffer)->bytes_written = (*buffer)->length;
    return transfer(link->connection, &piece, 1, false);
}

/* The bytes of the group if they fit in GATHER_BYTES, else 0. */
static size_t small_total(p_mad_buffer_group_t group, bool out)
{
    size_t total = 0;

    for (const mad_buffer_t *each = group->buffer_list.first; each != NULL; each = each->next) {
        total += out ? each->bytes_written - each->bytes_read : each->length - each->bytes_written;
        if (total > GATHER_BYTES)
            return 0;
    }
    return total;
}

/* Copying a few bytes costs less than describing where they are. */
static int transfer_small(p_mad_link_t link, p_mad_buffer_group_t group, size_t total, bool out)
{
    char bytes[GATHER_BYTES], *at = bytes;
    struct iovec piece = {bytes, total};
    p_mad_buffer_t each;
    int error = MAD_OK;

    if (!out)
        error = transfer(link->connection, &piece, 1, false);
    for (each = group->buffer_list.first; each != NULL && error == MAD_OK; each = each->next) {
        size_t done = out ? each->bytes_read : each->bytes_written;
        size_t length = (out ? each->bytes_written : each->length) - done;

        memcpy(out ? at : (char *)each->buffer + done, out ? (char *)each->buffer + done : at,
               length);
        at += length;
        if (out)
            each->bytes_read = each->bytes_written;
        else
            each->bytes_written = each->length;
    }
    return out ? transfer(link->connection, &piece, 1, true) : error;
}

static int transfer_group(p_mad_link_t link, p_mad_buffer_group_t group, bool out)
{
    size_t total = small_total(group, out);
    p_mad_buffer_t buffer = group->buffer_list.first;
    struct iovec pieces[TCP_PIECES_MAX];
    int error = MAD_OK;

    if (total != 0)
        return transfer_small(link, group, total, out);

    while (buffer != NULL && error == MAD_OK) {
        unsigned count = 0;

        for (; buffer != NULL && count < TCP_PIECES_MAX; buffer = buffer->next) {
            size_t done = out ? buffer->bytes_read : buffer->bytes_written;
            size_t end = out ? buffer->bytes_written : buffer->length;

            pieces[count++] = (struct iovec){(char *)buffer->buffer + done, end - done};
            buffer->bytes_read = out ? end : buffer->bytes_read;
            buffer->bytes_written = end;
        }
        error = transfer(link->connection, pieces, count, out);
    }
    return error;
}

int mad_tcp_send_group(p_mad_link_t link, p_mad_buffer_group_t group)
{
    return transfer_group(link, group, true);
}

int mad_tcp_receive_group(p_mad_link_t link, tbx_bool_t first, p_mad_buffer_group_t group)
{
    (void)first; /* a group is no more than its bytes */
    return transfer_group(link, group, false);
}
