/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Machines with TCP in virtual time: addresses, listeners, and connections from SYN to release. */
#include "stream_sim.h"

#include "core/lnd.h"

#include <assert.h>
#include <errno.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "engine/trace.h"

struct lnet_listener {
    struct lnet_stream_host *host;
    uint16_t port;
    void (*accepted)(void *owner, struct lnet_stream *stream);
    void *owner;
    uint32_t references; /* 1, and the connections that are not accepted yet */
    bool closed;
    struct lnet_listener *next;
};

struct lnet_stream_host { /* stays when LNet closes it: the machine is still there */
    struct lnet_node *node; /* NULL: LNet does not run on it */
    struct net *net;
    uint32_t endpoint, address;
    uint32_t open; /* lnet_stream_host_open less lnet_stream_host_close */
    bool down; /* crashed */
    uint16_t next_reserved, next_port;
    uint32_t send_buffer, receive_buffer;
    struct lnet_listener *listeners;
    struct lnet_stream_host *next;
};

struct lnet_tcp_model lnet_tcp_model;
static GHashTable *hosts; /* by network and address; looked up, never visited */
static struct lnet_stream_host *all_hosts;
static struct lnet_tcp_connection *connections, *free_connections;

void lnet_tcp_model_default(struct lnet_tcp_model *model)
{
    *model = (struct lnet_tcp_model){
        .rate_Bpus = 1.6 * 1073.741824, /* 1.6 GiB/s */
        .software = 19 * SIM_US, /* with a switch and two cables of 100 Gbit/s: 20 µs */
        .send_buffer = 4 << 20,
        .receive_buffer = 6 << 20,
        .chunk = LNET_TCP_CHUNK_MAX,
        .segment = 1448,
        .overhead = 90, /* TCP with time stamps, IP, Ethernet, FCS, preamble, gap */
        .rto_min = 200 * SIM_MS,
        .rto_max = 120 * SIM_S,
        .syn_timeout = SIM_S,
        .syn_retries = 6,
        .retries = 15,
        .orphan_retries = 8,
        .no_route = 3 * SIM_S,
    };
}

/* ---- hosts ------------------------------------------------------------------------------------
 */

static guint host_hash(gconstpointer key)
{
    const struct lnet_stream_host *host = key;

    return host->address * 2654435769u; /* not of the network's address in memory */
}

static gboolean host_equal(gconstpointer left, gconstpointer right)
{
    const struct lnet_stream_host *a = left, *b = right;

    return a->net == b->net && a->address == b->address;
}

static struct lnet_stream_host *find_host(struct net *net, uint32_t address)
{
    struct lnet_stream_host key = {.net = net, .address = address};

    return hosts == NULL ? NULL : g_hash_table_lookup(hosts, &key);
}

struct lnet_stream_host *lnet_stream_host_open(struct lnet_node *node,
                                               const struct lnet_interface *interface, int *error)
{
    struct lnet_stream_host *host;

    *error = 0;
    if (interface->net == NULL) {
        *error = -ENODEV;
        return NULL;
    }
    if (lnet_tcp_model.chunk == 0)
        lnet_tcp_model_default(&lnet_tcp_model);
    if (hosts == NULL)
        hosts = g_hash_table_new(host_hash, host_equal);
    host = find_host(interface->net, interface->address);
    if (host != NULL && host->endpoint != interface->endpoint) {
        *error = -EADDRINUSE; /* two machines with one address */
        return NULL;
    }
    if (host == NULL) {
        host = g_new0(struct lnet_stream_host, 1);
        host->net = interface->net;
        host->endpoint = interface->endpoint;
        host->address = interface->address;
        host->send_buffer = lnet_tcp_model.send_buffer;
        host->receive_buffer = lnet_tcp_model.receive_buffer;
        host->next_reserved = LNET_RESERVED_PORT_MAX;
        host->next_port = 32768;
        host->next = all_hosts;
        all_hosts = host;
        g_hash_table_add(hosts, host);
        net_set_describe(interface->net, lnet_stream_sim_arrived, lnet_stream_sim_describe);
    }
    host->open++;
    host->down = false;
    host->node = node;
    return host;
}

void lnet_stream_host_set_options(struct lnet_stream_host *host,
                                  const struct lnet_stream_options *options)
{
    host->send_buffer =
        options->send_buffer != 0 ? options->send_buffer : lnet_tcp_model.send_buffer;
    host->receive_buffer =
        options->receive_buffer != 0 ? options->receive_buffer : lnet_tcp_model.receive_buffer;
}

void lnet_stream_host_close(struct lnet_stream_host *host)
{
    assert(host->open > 0);
    host->open--;
    if (host->open == 0)
        host->node = NULL;
    assert(host->open > 0 || host->listeners == NULL);
}

struct lnet_node *lnet_stream_sim_node(const struct lnet_stream_host *host)
{
    return host->node;
}

bool lnet_stream_sim_host_alive(const struct lnet_stream_host *host)
{
    return !host->down;
}

void lnet_stream_sim_set_alive(struct net *net, uint32_t endpoint, bool alive)
{
    struct lnet_stream_host *host;
    struct lnet_tcp_connection *connection, *next;

    for (host = all_hosts; host != NULL; host = host->next)
        if (host->net == net && host->endpoint == endpoint)
            host->down = !alive;
    if (alive)
        return;
    for (connection = connections; connection != NULL; connection = next) {
        uint32_t i;

        connection->references++;
        for (i = 0; i < 2; i++) {
            struct lnet_stream *end = &connection->end[i];

            if (connection->net == net && end->endpoint == endpoint && end->state != END_UNUSED &&
                end->state != END_DEAD) {
                end->handler = NULL;
                lnet_stream_sim_fail(end, -ENETDOWN);
            }
        }
        next = connection->next;
        lnet_stream_sim_release(connection);
    }
}

void lnet_stream_host_crash(struct lnet_stream_host *host)
{
    lnet_stream_sim_set_alive(host->net, host->endpoint, false);
}

/* Port numbers of connections go down from the highest reserved one, as socklnd's do. Two
 * connections of a machine may have one port if their targets differ; simulated machines have few
 * connections to one target. */
static uint16_t take_port(struct lnet_stream_host *host, bool reserved)
{
    uint16_t port;

    if (!reserved) {
        port = host->next_port++;
        if (host->next_port > 60999)
            host->next_port = 32768;
        return port;
    }
    port = host->next_reserved--;
    if (port == 988) /* the acceptor's */
        port = host->next_reserved--;
    if (host->next_reserved < LNET_RESERVED_PORT_MIN)
        host->next_reserved = LNET_RESERVED_PORT_MAX;
    return port;
}

/* ---- listeners --------------------------------------------------------------------------------
 */

struct lnet_listener *lnet_listen(struct lnet_stream_host *host, uint16_t port, uint32_t backlog,
                                  void (*accepted)(void *owner, struct lnet_stream *stream),
                                  void *owner, int *error)
{
    struct lnet_listener *listener;

    (void)backlog; /* the driver takes a connection at once */
    *error = 0;
    for (listener = host->listeners; listener != NULL; listener = listener->next)
        if (listener->port == port) {
            *error = -EADDRINUSE;
            return NULL;
        }
    listener = g_new0(struct lnet_listener, 1);
    *listener = (struct lnet_listener){
        .host = host,
        .port = port,
        .accepted = accepted,
        .owner = owner,
        .references = 1,
        .next = host->listeners,
    };
    host->listeners = listener;
    return listener;
}

static void listener_release(struct lnet_listener *listener)
{
    assert(listener->references > 0);
    if (--listener->references == 0)
        g_free(listener);
}

void lnet_listener_close(struct lnet_listener *listener)
{
    struct lnet_listener **at = &listener->host->listeners;

    while (*at != listener)
        at = &(*at)->next;
    *at = listener->next;
    listener->closed = true;
    listener_release(listener);
}

/* ---- connections ------------------------------------------------------------------------------
 */

static struct lnet_tcp_connection *connection_new(void)
{
    struct lnet_tcp_connection *connection = free_connections;

    if (connection != NULL)
        free_connections = connection->next;
    else
        connection = lnet_line_alloc(sizeof(*connection));
    *connection = (struct lnet_tcp_connection){.next = connections};
    if (connections != NULL)
        connections->previous = connection;
    connections = connection;
    lnet_tcp_counters.connections++;
    return connection;
}

void lnet_stream_sim_release(struct lnet_tcp_connection *connection)
{
    uint32_t i;

    assert(connection->references > 0);
    if (--connection->references > 0)
        return;
    /* Chunks and timers hold references, so nothing of it is left. */
    for (i = 0; i < 2; i++)
        assert(connection->end[i].unsent.first == NULL &&
               connection->end[i].received.first == NULL && connection->end[i].early.first == NULL);
    if (connection->listener != NULL)
        listener_release(connection->listener);
    if (connection->previous != NULL)
        connection->previous->next = connection->next;
    else
        connections = connection->next;
    if (connection->next != NULL)
        connection->next->previous = connection->previous;
    connection->next = free_connections;
    free_connections = connection;
}

static void end_init(struct lnet_tcp_connection *connection, uint32_t number,
                     struct lnet_stream_host *host, struct lnet_stream_address local,
                     struct lnet_stream_address remote)
{
    struct lnet_stream *end = &connection->end[number];

    end->connection = connection;
    end->host = host;
    end->local = local;
    end->remote = remote;
    end->endpoint = host == NULL ? 0 : host->endpoint;
    end->send_buffer = host == NULL ? 0 : host->send_buffer;
    end->receive_buffer = host == NULL ? 0 : host->receive_buffer;
    lnet_stream_sim_flow_init(end);
}

/* Asks for the machine that has the remote address. If there is one, the SYN leaves. */
static bool resolve(struct lnet_stream *end)
{
    struct lnet_tcp_connection *connection = end->connection;
    struct lnet_stream_host *host = end->host, *target = find_host(host->net, end->remote.address);

    end_init(connection, 1, target, end->remote, end->local);
    end->arp_requests++;
    if (target == NULL)
        return false;
    end->peer_endpoint = connection->end[1].endpoint;
    connection->end[1].peer_endpoint = end->endpoint;
    end->window_end = connection->end[1].receive_buffer;
    connection->end[1].window_end = end->receive_buffer;
    connection->round_trip =
        2 * (lnet_tcp_model.software + net_idle_latency(host->net, host->endpoint, target->endpoint,
                                                        lnet_tcp_model.overhead));
    lnet_stream_sim_send_control(end, CHUNK_SYN);
    return true;
}

bool lnet_stream_sim_resolve_again(struct lnet_stream *end)
{
    if (end->handler == NULL || end->arp_requests == ARP_REQUESTS)
        return false;
    if (resolve(end)) {
        end->connecting = false;
        end->failure = 0;
        lnet_stream_sim_release(end->connection);
    } else {
        sim_timer_arm(&end->wake, sim_now() + lnet_tcp_model.no_route / ARP_REQUESTS);
    }
    return true;
}

struct lnet_stream *lnet_stream_connect(struct lnet_stream_host *host,
                                        struct lnet_stream_address to, bool reserved,
                                        const struct lnet_stream_handler *handler, void *owner)
{
    struct lnet_tcp_connection *connection = connection_new();
    struct lnet_stream_address local = {host->address, take_port(host, reserved)};
    struct lnet_stream *end = &connection->end[0];

    connection->net = host->net;
    connection->flow = sim_trace_flow_new();
    connection->references = 1;
    end_init(connection, 0, host, local, to);
    end->state = END_SYN_SENT;
    end->handler = handler;
    end->owner = owner;
    if (resolve(end))
        return end;
    end->connecting = true;
    end->failure = -EHOSTUNREACH;
    connection->references++;
    sim_timer_arm(&end->wake, sim_now() + lnet_tcp_model.no_route / ARP_REQUESTS);
    return end;
}

bool lnet_stream_sim_accept(struct lnet_tcp_connection *connection)
{
    struct lnet_stream *end = &connection->end[1];
    struct lnet_listener *listener = end->host->listeners;

    if (end->state != END_UNUSED) /* the answer was lost, and the SYN came again */
        return end->state == END_SYN_RECEIVED;
    while (listener != NULL && listener->port != end->local.port)
        listener = listener->next;
    if (listener == NULL)
        return false;
    listener->references++;
    connection->listener = listener;
    end->state = END_SYN_RECEIVED;
    return true;
}

void lnet_stream_sim_accepted(struct lnet_stream *stream)
{
    struct lnet_tcp_connection *connection = stream->connection;
    struct lnet_listener *listener = connection->listener;

    assert(stream == &connection->end[1] && listener != NULL);
    connection->listener = NULL;
    stream->state = END_ESTABLISHED;
    connection->references += 2; /* the owner's, and for this function */
    if (listener->closed)
        lnet_stream_close(stream, true);
    else
        listener->accepted(listener->owner, stream);
    listener_release(listener);
    lnet_stream_sim_release(connection);
}

void lnet_stream_adopt(struct lnet_stream *stream, const struct lnet_stream_handler *handler,
                       void *owner)
{
    stream->handler = handler;
    stream->owner = owner;
}

void lnet_stream_hint(struct lnet_stream *stream, const void *const hints[LNET_STREAM_HINTS])
{
    memcpy(stream->hints, hints, sizeof(stream->hints));
}

struct lnet_stream_address lnet_stream_local(const struct lnet_stream *stream)
{
    return stream->local;
}

struct lnet_stream_address lnet_stream_peer(const struct lnet_stream *stream)
{
    return stream->remote;
}

void lnet_stream_close(struct lnet_stream *stream, bool reset)
{
    struct lnet_tcp_connection *connection = stream->connection;
    enum lnet_tcp_state state = stream->state;

    assert(state != END_UNUSED && state != END_CLOSED);
    stream->handler = NULL;
    stream->reading = false;
    if (sim_timer_armed(&stream->wake)) {
        sim_timer_cancel(&stream->wake);
        lnet_stream_sim_release(connection);
    }
    stream->failure = 0;
    if (state == END_ESTABLISHED && (reset || stream->received.first != NULL)) {
        /* Also where bytes are left that nobody will read, as in Linux. */
        stream->state = END_DEAD;
        lnet_stream_sim_drop(stream);
        if (lnet_stream_sim_host_alive(stream->host))
            lnet_stream_sim_send_control(stream, CHUNK_RESET);
    } else if (state == END_ESTABLISHED) {
        stream->state = END_CLOSED;
        lnet_stream_sim_close_sending(stream);
    } else if (state == END_SYN_SENT) {
        stream->state = END_CLOSED;
    }
    lnet_stream_sim_release(connection);
}

static void free_connection_list(struct lnet_tcp_connection **list)
{
    while (*list != NULL) {
        struct lnet_tcp_connection *next = (*list)->next;

        free(*list);
        *list = next;
    }
}

void lnet_stream_sim_reset(void)
{
    free_connection_list(&connections);
    free_connection_list(&free_connections);
    while (all_hosts != NULL) {
        struct lnet_stream_host *host = all_hosts;

        while (host->listeners != NULL) {
            struct lnet_listener *next = host->listeners->next;

            g_free(host->listeners);
            host->listeners = next;
        }
        all_hosts = host->next;
        g_free(host);
    }
    if (hosts != NULL)
        g_hash_table_destroy(hosts);
    hosts = NULL;
    lnet_tcp_counters = (struct lnet_tcp_counters){0};
    lnet_stream_sim_flow_reset();
}
