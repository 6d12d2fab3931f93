/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared by the tests of socklnd in simulation: nodes with LNet on one network of switches. */
#ifndef JACQUARD_TESTS_LNET_TCP_H
#define JACQUARD_TESTS_LNET_TCP_H

#include <errno.h>
#include <stdio.h>

#include "core/internal.h"
#include "engine/fault.h"
#include "lnd/tcp/sock.h"
#include "lnd/tcp/stream_sim.h"
#include "lnet/api.h"
#include "net_test.h"

#define NODES_MAX 8
#define PORTAL 40
#define SECONDS(n) ((sim_time_t)(n)*SIM_S)

struct cluster {
    struct net *net;
    uint32_t nodes;
    struct lnet_node *node[NODES_MAX];
    struct lnet_setting settings[16];
    uint32_t setting_count;
};
static struct cluster cluster;

static inline uint32_t address_of(uint32_t node)
{
    return 0x0a000001u + node;
}

static inline lnet_nid_t nid_of(uint32_t node)
{
    return LNET_MKNID(LNET_MKNET(SOCKLND, 0), address_of(node));
}

static inline struct lnet_process_id id_of(uint32_t node)
{
    return (struct lnet_process_id){nid_of(node), LNET_PID_LUSTRE};
}

static struct lnet_node *current(void)
{
    struct sim_fiber *fiber = sim_fiber_self();

    return fiber == NULL ? NULL : sim_fiber_owner(fiber);
}

/* A setting of all nodes that are made afterwards. */
static inline void set_all(const char *name, const char *value)
{
    cluster.settings[cluster.setting_count++] = (struct lnet_setting){name, value};
}

/* A node with the settings of all, and one more (name NULL: none). */
static inline void node_make(uint32_t number, const char *name, const char *value)
{
    struct lnet_interface interface = {.name = "eth0",
                                       .lnd_type = SOCKLND,
                                       .address = address_of(number),
                                       .net = cluster.net,
                                       .endpoint = number};
    struct lnet_node_config config = {.number = number,
                                      .name = "node",
                                      .seed = 1,
                                      .interfaces = &interface,
                                      .interface_count = 1,
                                      .settings = cluster.settings,
                                      .setting_count = cluster.setting_count};
    char *error = NULL;

    if (name != NULL)
        cluster.settings[config.setting_count++] = (struct lnet_setting){name, value};
    cluster.node[number] = lnet_node_create(&config, &error);
    if (cluster.node[number] == NULL)
        fail_msg("%s", error);
}

static inline void cluster_begin(void)
{
    struct net_config config;

    memset(&cluster, 0, sizeof(cluster));
    cluster.nodes = NODES_MAX;
    net_config_default(&config);
    config.topology = NET_SWITCHED;
    config.switched = (struct net_switched_config){"single-switch", NODES_MAX,   0,
                                                   12500,           50 * SIM_NS, 300 * SIM_NS};
    cluster.net = test_begin(&config);
    lnet_tcp_model_default(&lnet_tcp_model);
    lnet_lnd_register(&lnet_lnd_tcp);
    lnet_sim_set_current(current);
    set_all("networks", "tcp(eth0)");
    sim_fault_reset();
}

static inline void cluster_end(void)
{
    uint32_t i;

    for (i = 0; i < NODES_MAX; i++)
        if (cluster.node[i] != NULL)
            lnet_node_destroy(cluster.node[i]);
    test_end(cluster.net);
    lnet_stream_sim_reset();
}

/* Runs a function as a program of a node. */
static inline void run_on(uint32_t node, void (*program)(void *argument), void *argument,
                          sim_time_t at)
{
    struct sim_fiber *fiber = sim_fiber_start(program, argument, "program", at);

    assert_non_null(fiber);
    sim_fiber_set_owner(fiber, cluster.node[node]);
}

static inline void run_all(void)
{
    assert_int_equal(sim_run(), SIM_DONE);
}

/* ---- inside of programs -----------------------------------------------------------------------
 */

static inline struct lnet_sock *sock_of(uint32_t node)
{
    struct lnet_ni *ni = lnet_ni_by_nid(cluster.node[node]->instance, nid_of(node));

    assert_non_null(ni);
    return ni->driver;
}

static inline struct lnet_sock_peer *peer_of(uint32_t node, uint32_t other)
{
    return lnet_sock_peer_find(sock_of(node), id_of(other));
}

/* The connection of that type, if there is exactly one. */
static inline struct lnet_sock_conn *conn_of(uint32_t node, uint32_t other, int type)
{
    struct lnet_sock_peer *peer = peer_of(node, other);
    struct lnet_sock_conn *conn, *found = NULL;

    if (peer == NULL)
        return NULL;
    list_for_each_entry (conn, &peer->conns, on_peer) {
        if (conn->type != type)
            continue;
        assert_null(found);
        found = conn;
    }
    return found;
}

static inline uint32_t conn_count(uint32_t node, uint32_t other)
{
    struct lnet_sock_peer *peer = peer_of(node, other);
    struct lnet_sock_conn *conn;
    uint32_t count = 0;

    if (peer != NULL)
        list_for_each_entry (conn, &peer->conns, on_peer)
            count++;
    return count;
}

static inline struct lnet_handle_eq eq_make(void)
{
    struct lnet_handle_eq eq;

    assert_int_equal(LNetEQAlloc(256, LNET_EQ_HANDLER_NONE, &eq), 0);
    return eq;
}

/* A place for PUTs and GETs. */
static inline struct lnet_handle_md target_make(struct lnet_handle_eq eq, uint32_t portal,
                                                uint64_t bits, void *memory, uint32_t length,
                                                uint32_t options)
{
    struct lnet_process_id any = {LNET_NID_ANY, LNET_PID_ANY};
    struct lnet_md md = {.start = memory,
                         .length = length,
                         .threshold = LNET_MD_THRESH_INF,
                         .options = options,
                         .eq_handle = eq};
    struct lnet_handle_me me;
    struct lnet_handle_md handle;

    assert_int_equal(LNetMEAttach(portal, any, bits, 0, LNET_UNLINK, LNET_INS_AFTER, &me), 0);
    assert_int_equal(LNetMDAttach(me, md, LNET_UNLINK, &handle), 0);
    return handle;
}

static inline struct lnet_handle_md source_make(struct lnet_handle_eq eq, void *memory,
                                                uint32_t length, int threshold)
{
    struct lnet_md md = {
        .start = memory, .length = length, .threshold = threshold, .eq_handle = eq};
    struct lnet_handle_md handle;

    assert_int_equal(LNetMDBind(md, LNET_UNLINK, &handle), 0);
    return handle;
}

static inline void put(struct lnet_handle_eq eq, uint32_t to, uint32_t portal, uint64_t bits,
                       void *memory, uint32_t length, enum lnet_ack_req ack)
{
    struct lnet_handle_md md = source_make(eq, memory, length, ack == LNET_ACK_REQ ? 2 : 1);

    assert_int_equal(LNetPut(LNET_NID_ANY, md, ack, id_of(to), portal, bits, 0, 0), 0);
}

/* The next event; false: none until the timeout. */
static inline bool event_wait(struct lnet_handle_eq eq, struct lnet_event *event, int timeout_ms)
{
    int which, rc = LNetEQPoll(&eq, 1, timeout_ms, event, &which);

    assert_true(rc == 0 || rc == 1);
    return rc == 1;
}

static inline void expect(struct lnet_handle_eq eq, enum lnet_event_kind kind, int status,
                          struct lnet_event *event)
{
    if (!event_wait(eq, event, 100000))
        fail_msg("no event came instead of one of kind %d", kind);
    assert_int_equal(event->type, kind);
    assert_int_equal(event->status, status);
}

static inline void sleep_for(sim_time_t span)
{
    sim_sleep_until(sim_local_time() + span);
}

/* ---- programs ---- */

#define MIB (1u << 20)
static uint8_t message_out[MIB], message_in[MIB];

static inline int put_status(struct lnet_handle_eq eq, uint32_t to, uint32_t length,
                             sim_time_t *took)
{
    sim_time_t start = sim_local_time();
    struct lnet_event event;

    put(eq, to, PORTAL, 1, message_out, length, LNET_NOACK_REQ);
    assert_true(event_wait(eq, &event, 200000));
    assert_int_equal(event.type, LNET_EVENT_SEND);
    *took = sim_local_time() - start;
    return event.status;
}

/* A node that takes PUTs and counts them until a time. */
struct taker {
    sim_time_t start, end;
    uint32_t taken;
    int last_status;
};

static inline void taking(void *argument)
{
    struct taker *taker = argument;
    struct lnet_handle_eq eq;
    struct lnet_event event;

    sim_sleep_until(taker->start);
    assert_int_equal(LNetNIInit(LNET_PID_LUSTRE), 0);
    eq = eq_make();
    target_make(eq, PORTAL, 1, message_in, MIB, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE);
    while (sim_local_time() < taker->end) {
        if (!event_wait(eq, &event, 100))
            continue;
        assert_int_equal(event.type, LNET_EVENT_PUT);
        taker->taken++;
        taker->last_status = event.status;
    }
    assert_int_equal(LNetNIFini(), 0);
}

#endif
