/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Streams: segments, windows, losses, the end. */
#include "devices.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

struct tcp_segment {
    struct sim_timer timer; /* its next step */
    struct tcp_socket *from; /* NULL: it has gone */
    struct tcp_socket *to; /* that it becomes readable at */
    size_t length;
    size_t counted; /* in `coming` of the receiver: at least 1 keeps that */
    sim_time_t began; /* on the wire */
    unsigned tries;
    bool fin;
    unsigned char bytes[TCP_MSS];
};

struct tcp_socket *tcp_socket_new(struct ethernet_port *port, uint64_t process)
{
    GPtrArray *sockets = port->devices->sockets;
    struct tcp_socket *socket = g_new0(struct tcp_socket, 1);
    guint place;

    for (place = 0; place < sockets->len && sockets->pdata[place] != NULL; place++)
        ;
    if (place == sockets->len)
        g_ptr_array_add(sockets, NULL);
    sockets->pdata[place] = socket;
    socket->fd = TCP_FIRST_FD + (int)place;
    socket->process = process;
    socket->port = port;
    socket->out = g_byte_array_new();
    socket->in = g_byte_array_new();
    socket->out_max = socket->in_max = TCP_BUFFER;
    socket->waiters = g_ptr_array_new();
    g_queue_init(&socket->backlog);
    g_queue_init(&socket->ends);
    return socket;
}

void tcp_socket_free(struct tcp_socket *socket)
{
    GPtrArray *sockets = socket->port->devices->sockets;

    sim_timer_cancel(&socket->next);
    if (socket->segment != NULL) {
        sim_timer_cancel(&socket->segment->timer);
        sim_ledger_count_lost(&socket->port->devices->book, 1);
        g_free(socket->segment);
    }
    if (socket->peer != NULL)
        socket->peer->peer = NULL;
    g_byte_array_unref(socket->out);
    g_byte_array_unref(socket->in);
    g_queue_clear(&socket->ends);
    g_queue_clear(&socket->backlog);
    g_ptr_array_unref(socket->waiters);
    sockets->pdata[socket->fd - TCP_FIRST_FD] = NULL;
    g_free(socket);
}

void tcp_wake(struct tcp_socket *socket)
{
    guint i;

    for (i = 0; i < socket->waiters->len; i++)
        sim_wake(socket->waiters->pdata[i]);
    g_ptr_array_set_size(socket->waiters, 0);
}

void tcp_break(struct tcp_socket *socket, int error)
{
    if (socket->error == 0)
        socket->error = error;
    tcp_wake(socket);
}

/* A socket that its process has closed goes when nothing is left to send. */
static bool freed(struct tcp_socket *socket)
{
    if (!socket->closed || socket->segment != NULL || socket->coming != 0 ||
        (socket->error == 0 && !socket->finished && socket->peer != NULL))
        return false;
    tcp_socket_free(socket);
    return true;
}

/* ---- at the receiver ------------------------------------------------------------------------- */

static void become_readable(struct sim_event *event)
{
    struct tcp_segment *segment = sim_container_of(event, struct tcp_segment, timer.event);
    struct tcp_socket *to = segment->to;

    assert(to->coming >= segment->counted);
    to->coming -= segment->counted;
    if (!to->closed) {
        g_byte_array_append(to->in, segment->bytes, (guint)segment->length);
        to->ended |= segment->fin;
    }
    sim_ledger_count(&to->port->devices->book, 0, 1);
    g_free(segment);
    sim_progress();
    tcp_wake(to);
    freed(to);
}

static void next_may_go(struct sim_event *event)
{
    struct tcp_socket *socket = sim_container_of(event, struct tcp_socket, next.event);

    if (!freed(socket))
        tcp_kick(socket);
}

static void lose(struct tcp_segment *segment, bool unreachable)
{
    struct tcp_socket *from = segment->from;
    struct legacy_network *network = from->port->devices->network;

    if (++segment->tries < TCP_TRIES_MAX && !(unreachable && from->closed)) {
        sim_timer_arm(&segment->timer,
                      sim_now() + (legacy_service(network, TCP_RTO_US, 1) << (segment->tries - 1)));
        return;
    }
    sim_ledger_count_lost(&from->port->devices->book, 1);
    if (from->peer != NULL)
        from->peer->coming -= segment->counted;
    from->segment = NULL;
    g_free(segment);
    tcp_break(from, ETIMEDOUT);
    freed(from);
}

static void arrive(struct sim_event *event)
{
    struct tcp_segment *segment = sim_container_of(event, struct tcp_segment, timer.event);
    struct tcp_socket *from = segment->from, *to = from->peer;
    struct legacy_network *network = from->port->devices->network;
    struct legacy_packet packet = {.source = from->port->endpoint,
                                   .target = from->peer_endpoint,
                                   .bytes = (uint32_t)segment->length + TCP_HEADER,
                                   .what = segment->fin ? "FIN" : "segment"};
    enum legacy_outcome outcome = legacy_transmit(network, &packet);
    sim_time_t spacing = legacy_service(network, TCP_GAP_US, 1) - ethernet_frame(network, TCP_MSS);

    if (outcome != LEGACY_DELIVERED) {
        lose(segment, outcome == LEGACY_UNREACHABLE);
        return;
    }
    from->segment = NULL;
    from->next.event.fire = next_may_go;
    sim_timer_arm(
        &from->next,
        MAX(sim_now(), segment->began + ethernet_frame(network, segment->length) + spacing));
    if (to == NULL || (to->closed && segment->length != 0)) { /* reset by the other host */
        sim_ledger_count(&from->port->devices->book, 0, 1);
        if (to != NULL) {
            to->coming -= segment->counted;
            freed(to);
        }
        g_free(segment);
        tcp_break(from, ECONNRESET);
        freed(from);
        return;
    }
    to->readable_at =
        MAX(to->readable_at, sim_now() + packet.delay + legacy_service(network, TCP_RECEIVE_US, 1));
    segment->to = to;
    segment->timer.event.fire = become_readable;
    if (segment->counted == 0)
        to->coming += segment->counted = 1;
    sim_timer_arm(&segment->timer, to->readable_at);
}

/* ---- at the sender --------------------------------------------------------------------------- */

/* The next segment: at most up to the end of a write. */
static size_t segment_length(struct tcp_socket *socket)
{
    size_t length = MIN(socket->out->len, TCP_MSS), end;

    if (!g_queue_is_empty(&socket->ends)) {
        end = GPOINTER_TO_UINT(g_queue_peek_head(&socket->ends));
        length = MIN(length, end);
    }
    return length;
}

static void take(struct tcp_socket *socket, struct tcp_segment *segment)
{
    GList *each;

    memcpy(segment->bytes, socket->out->data, segment->length);
    g_byte_array_remove_range(socket->out, 0, (guint)segment->length);
    for (each = socket->ends.head; each != NULL; each = each->next)
        each->data = GUINT_TO_POINTER(GPOINTER_TO_UINT(each->data) - (guint)segment->length);
    if (!g_queue_is_empty(&socket->ends) && g_queue_peek_head(&socket->ends) == NULL)
        g_queue_pop_head(&socket->ends);
}

static void put_on_wire(struct tcp_socket *socket, struct tcp_segment *segment)
{
    struct ethernet_devices *devices = socket->port->devices;
    sim_time_t frame = ethernet_frame(devices->network, segment->length), end;

    end = legacy_occupy(&socket->port->out, sim_now(), frame);
    segment->began = end - frame;
    end = legacy_occupy(&devices->ports[socket->peer_endpoint].in, segment->began, frame);
    segment->timer.event.fire = arrive;
    sim_timer_arm(&segment->timer, end);
}

void tcp_kick(struct tcp_socket *socket)
{
    struct tcp_segment *segment;
    struct tcp_socket *peer = socket->peer;
    size_t length = segment_length(socket);
    bool fin = length == 0 && socket->closed && !socket->finished;

    if (socket->segment != NULL || sim_timer_armed(&socket->next) || socket->error != 0 ||
        (length == 0 && !fin))
        return;
    if (peer == NULL) {
        tcp_break(socket, ECONNRESET);
        freed(socket);
        return;
    }
    if (length != 0 && !peer->closed && peer->in->len + peer->coming + length > peer->in_max)
        return; /* the window is closed: a read opens it */
    segment = g_new0(struct tcp_segment, 1);
    segment->from = socket;
    segment->length = segment->counted = length;
    segment->fin = fin;
    take(socket, segment);
    peer->coming += length;
    socket->segment = segment;
    socket->finished |= fin;
    sim_ledger_count(&socket->port->devices->book, 1, 0);
    put_on_wire(socket, segment);
    if (socket->out_max - MIN(socket->out_max, socket->out->len) >= socket->out_max / 3)
        tcp_wake(socket);
}

void tcp_close(struct tcp_socket *socket)
{
    struct tcp_socket *waiting;

    socket->closed = true;
    while ((waiting = g_queue_pop_head(&socket->backlog)) != NULL)
        tcp_close(waiting);
    if (!freed(socket)) {
        if (socket->peer != NULL)
            tcp_kick(socket->peer); /* what it still sends is refused */
        tcp_kick(socket);
    }
}
