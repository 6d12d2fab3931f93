/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Opening and closing a channel over TCP. The lower rank connects and says who it is; whoever says
 * something else is refused, and the listener goes on.
 */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sock.h"
#include "tcp.h"

static const mad_configuration_t *configuration_of(p_mad_channel_t channel)
{
    return &channel->adapter->driver->madeleine->configuration;
}

/* ---- the connecting side --------------------------------------------------------------------- */

/* Where the peer's adapter listens. */
static int peer_address(p_mad_connection_t out, char *host, size_t size, unsigned *port)
{
    p_mad_adapter_t adapter = out->channel->adapter;
    p_mad_madeleine_t madeleine = adapter->driver->madeleine;
    char parameter[1025], own[256], *colon;
    int error = mad_adapter_parameter(adapter, out->remote_host_id, parameter, sizeof(parameter));

    if (error != MAD_OK)
        return error;
    colon = strrchr(parameter, ':');
    *port = (unsigned)strtoul(colon != NULL ? colon + 1 : parameter, NULL, 10);
    if (colon != NULL) {
        snprintf(host, size, "%.*s", (int)(colon - parameter), parameter);
        return MAD_OK;
    }
    error = mad_host_of(madeleine, out->remote_host_id, host, size);
    if (error == MAD_OK)
        error = mad_host_of(madeleine, madeleine->configuration.local_host_id, own, sizeof(own));
    if (error == MAD_OK && strcmp(host, own) == 0)
        snprintf(host, size, "127.0.0.1");
    return error;
}

static void write_hello(p_mad_connection_t out, unsigned char *hello)
{
    p_mad_channel_t channel = out->channel;

    mad_tcp_put(hello, TCP_HELLO_MAGIC, 4);
    mad_tcp_put(hello + 4, TCP_HELLO_VERSION, 4);
    mad_tcp_put(hello + 8, (uint64_t)configuration_of(channel)->local_host_id, 4);
    mad_tcp_put(hello + 12, (uint64_t)out->remote_host_id, 4);
    mad_tcp_put(hello + 16, (uint64_t)channel->id, 8);
    mad_tcp_put(hello + 24, mad_job_hash(channel->adapter->driver->madeleine), 8);
}

int mad_tcp_connect_peer(p_mad_connection_t out)
{
    unsigned char hello[TCP_HELLO_BYTES];
    struct tcp_peer *peer = mad_tcp_peer(out);
    char host[256];
    unsigned port;
    int error = peer_address(out, host, sizeof(host), &port), code;

    if (error != MAD_OK)
        return error;
    peer->fd = mad_tcp_dial(host, port);
    if (peer->fd < 0) {
        mad_channel_fail(out->channel, MAD_EPEER, "a process of the session cannot be reached");
        return MAD_EPEER;
    }
    write_hello(out, hello);
    return mad_tcp_send_all(peer->fd, hello, sizeof(hello), &code);
}

/* ---- the accepting side ---------------------------------------------------------------------- */

static void pending_remove(struct tcp_adapter *adapter, unsigned place)
{
    adapter->pending_count--;
    memmove(&adapter->pending[place], &adapter->pending[place + 1],
            (adapter->pending_count - place) * sizeof(adapter->pending[0]));
}

static void pending_refuse(struct tcp_adapter *adapter, unsigned place)
{
    mad_sock_close(adapter->pending[place].fd);
    pending_remove(adapter, place);
    adapter->refused++;
}

/* The incoming connection that this hello asks for, or NULL. */
static p_mad_connection_t read_hello(p_mad_channel_t channel, const unsigned char *hello)
{
    const mad_configuration_t *configuration = configuration_of(channel);
    uint64_t sender = mad_tcp_get(hello + 8, 4);
    p_mad_connection_t in;

    if (mad_tcp_get(hello, 4) != TCP_HELLO_MAGIC ||
        mad_tcp_get(hello + 4, 4) != TCP_HELLO_VERSION ||
        sender >= (uint64_t)configuration->local_host_id ||
        mad_tcp_get(hello + 12, 4) != (uint64_t)configuration->local_host_id ||
        mad_tcp_get(hello + 16, 8) != (uint64_t)channel->id ||
        mad_tcp_get(hello + 24, 8) != mad_job_hash(channel->adapter->driver->madeleine))
        return NULL;
    in = channel->input_connection[sender];
    return mad_tcp_peer(in)->fd < 0 ? in : NULL;
}

/* Reads from one that has yet to say who it is. True: it was accepted. */
static bool pending_read(p_mad_channel_t channel, unsigned place)
{
    struct tcp_adapter *adapter = mad_tcp_adapter(channel->adapter);
    struct tcp_pending *pending = &adapter->pending[place];
    p_mad_connection_t in;
    ssize_t got;

    got = mad_sock_recv(pending->fd, pending->hello + pending->got, TCP_HELLO_BYTES - pending->got,
                        0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (got <= 0) {
        pending_refuse(adapter, place);
        return false;
    }
    pending->got += (unsigned)got;
    if (pending->got < TCP_HELLO_BYTES)
        return false;
    in = read_hello(channel, pending->hello);
    if (in == NULL) {
        pending_refuse(adapter, place);
        return false;
    }
    mad_tcp_peer(in)->fd = pending->fd;
    pending_remove(adapter, place);
    return true;
}

static void pending_add(struct tcp_adapter *adapter)
{
    int fd = mad_tcp_accept(adapter->listener);

    if (fd < 0)
        return;
    if (adapter->pending_count == TCP_PENDING_MAX)
        pending_refuse(adapter, 0);
    adapter->pending[adapter->pending_count++] = (struct tcp_pending){.fd = fd};
}

int mad_tcp_accept_peer(p_mad_channel_t channel)
{
    struct tcp_adapter *adapter = mad_tcp_adapter(channel->adapter);
    struct pollfd descriptors[TCP_PENDING_MAX + 1];
    mad_event_t event = {.descriptors = descriptors};
    unsigned i;

    for (;;) {
        descriptors[0] = (struct pollfd){.fd = adapter->listener, .events = POLLIN};
        for (i = 0; i < adapter->pending_count; i++)
            descriptors[i + 1] = (struct pollfd){.fd = adapter->pending[i].fd, .events = POLLIN};
        event.count = adapter->pending_count + 1;
        if (mad_wait(&event, -1) < 0)
            return MAD_EDRIVER;
        for (i = event.count - 1; i > 0; i--) /* downwards: reading may remove an entry */
            if (descriptors[i].revents != 0 && pending_read(channel, i - 1))
                return MAD_OK;
        if (descriptors[0].revents != 0)
            pending_add(adapter);
    }
}

/* ---- the handshake after opening and before closing, which is a barrier ---------------------- */

/* The one whose turn it is checks the channel of the other, which checks the rank. */
static int ask(p_mad_connection_t connection, int own)
{
    unsigned char id[8], rank[4];
    int fd = mad_tcp_peer(connection)->fd, code;
    int error = mad_tcp_receive_all(fd, id, sizeof(id), &code);

    if (error != MAD_OK)
        return error;
    if (mad_tcp_get(id, 8) != (uint64_t)connection->channel->id) {
        mad_channel_fail(connection->channel, MAD_EWIRE, "wrong channel id");
        return MAD_EWIRE;
    }
    mad_tcp_put(rank, (uint64_t)own, 4);
    return mad_tcp_send_all(fd, rank, sizeof(rank), &code);
}

static int answer(p_mad_connection_t connection)
{
    unsigned char id[8], rank[4];
    int fd = mad_tcp_peer(connection)->fd, code, error;

    mad_tcp_put(id, (uint64_t)connection->channel->id, 8);
    error = mad_tcp_send_all(fd, id, sizeof(id), &code);
    if (error == MAD_OK)
        error = mad_tcp_receive_all(fd, rank, sizeof(rank), &code);
    if (error == MAD_OK && mad_tcp_get(rank, 4) != (uint64_t)connection->remote_host_id) {
        mad_channel_fail(connection->channel, MAD_EWIRE, "wrong host id");
        error = MAD_EWIRE;
    }
    return error;
}

static bool is_usable(p_mad_connection_t connection)
{
    return mad_tcp_peer(connection)->fd >= 0 && mad_connection_error(connection) == MAD_OK &&
           mad_connection_error(connection->reverse) == MAD_OK;
}

/* The peer may wait for the next part of the handshake. */
static void end_stream(p_mad_connection_t out, int error)
{
    mad_tcp_lost(out, error, 0);
    mad_sock_reset(mad_tcp_peer(out)->fd);
}

static int shake_hands_with(p_mad_connection_t out, int turn, int own)
{
    if (!is_usable(out))
        return MAD_OK;
    return turn == own ? ask(out, own) : answer(out);
}

/*
 * `closing`: a peer that has gone or has reset its connection is no failure, and a failure does not
 * keep the other peers from their turns. They would wait.
 */
static int shake_hands(p_mad_channel_t channel, bool closing)
{
    int size = configuration_of(channel)->size, own = configuration_of(channel)->local_host_id;
    int result = MAD_OK;

    for (int turn = 0; turn < size; turn++)
        for (int rank = 0; rank < size; rank++) {
            p_mad_connection_t out = channel->output_connection[turn == own ? rank : turn];
            int error;

            if ((turn == own) == (rank == own))
                continue; /* a pair that does not have this process, or has it twice */
            error = shake_hands_with(out, turn, own);
            if (error != MAD_OK && !closing)
                return error;
            if (error != MAD_OK)
                end_stream(out, error);
            if (error == MAD_EWIRE)
                result = error;
        }
    return result;
}

int mad_tcp_handshake(p_mad_channel_t channel)
{
    return shake_hands(channel, false);
}

/* A peer that has gone, or has reset its connection, is no failure of the close. */
int mad_tcp_closing_handshake(p_mad_channel_t channel)
{
    return shake_hands(channel, true);
}

int mad_tcp_disconnect(p_mad_connection_t connection)
{
    struct tcp_peer *peer = mad_tcp_peer(connection);

    if (peer != NULL && peer->fd >= 0) {
        mad_sock_close(peer->fd);
        peer->fd = -1;
    }
    return MAD_OK;
}
