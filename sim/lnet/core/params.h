/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Module parameters: names, defaults and bounds of the kernel's modules, and the numbers of the
 * timing model. LNet's own are fields of struct lnet_params; a driver has a table of its own.
 */
#ifndef JACQUARD_LNET_PARAMS_H
#define JACQUARD_LNET_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "lnet/node.h"

struct lnet_param {
    const char *name; /* without the module */
    int value, minimum, maximum; /* value: the default */
    const char *meaning;
};

/* X(name, default, minimum, maximum, meaning): the parameters of module lnet that are numbers. */
#define LNET_PARAMS(X)                                                                            \
    X(tiny_router_buffers, 0, -1, 1 << 24, "router buffers without payload; 0: 2048")             \
    X(small_router_buffers, 0, -1, 1 << 24, "router buffers of a page; 0: 16384")                 \
    X(large_router_buffers, 0, -1, 1 << 24, "router buffers of 1 MiB; 0: 1024")                   \
    X(router_buffers_exact, 0, 0, 1, "pools may be smaller than the minimum: for tests")          \
    X(peer_buffer_credits, 0, 0, 1 << 20, "router buffers per peer; 0: the peer's credits")       \
    X(auto_down, 1, 0, 1, "believe a driver that says a peer is down")                            \
    X(check_routers_before_use, 0, 0, 1, "wait at the start until every router was checked")      \
    X(avoid_asym_router_failure, 1, 0, 1, "judge a router by the state of its interfaces")        \
    X(dead_router_check_interval, 60, 0, 1 << 20,                                                 \
      "seconds between pings of a dead router; 0: never")                                         \
    X(live_router_check_interval, 60, 0, 1 << 20,                                                 \
      "seconds between pings of a live router; 0: never")                                         \
    X(router_ping_timeout, 50, 1, 1 << 20, "seconds until a router that does not answer is dead") \
    X(lnet_drop_asym_route, 0, 0, 1, "drop messages that come by another router than theirs")     \
    X(lnet_transaction_timeout, 50, 1, 1 << 20, "seconds until a request without response ends")  \
    X(lnet_retry_count, 2, 0, 1 << 20, "how often a message is sent again")                       \
    X(lnet_health_sensitivity, 100, 0, 1000, "health lost at a failure; 0: no health")            \
    X(lnet_recovery_interval, 1, 1, 1 << 20, "seconds between pings of an unhealthy interface")   \
    X(lnet_peer_discovery_disabled, 1, 0, 1, "do not ask peers for their interfaces; Lustre: 0")  \
    X(lnet_interfaces_max, 200, 16, 1 << 20, "interfaces of a node")                              \
    X(lnet_numa_range, 0, 0, 1 << 20, "no effect: one NUMA node")                                 \
    X(local_nid_dist_zero, 1, 0, 1, "LNetDist to an own NID: 0, else 1")                          \
    X(portal_rotor, 3, 0, 3, "no effect: one CPU partition")                                      \
    X(strict_fragments, 1, 0, 1, "warn of gaps between page fragments of a descriptor")           \
    X(strict_pid, 1, 0, 1, "drop messages for another PID than the node's")                       \
    X(exact_expiry, 0, 0, 1, "end requests at their deadline, not at the next scan")              \
    X(abort_status, 1, 0, 1, "success of an aborted descriptor: -ETIMEDOUT, else 0")              \
    X(cost_put_ns, 300, 0, 1 << 30, "CPU time of LNetPut")                                        \
    X(cost_get_ns, 300, 0, 1 << 30, "CPU time of LNetGet")                                        \
    X(cost_md_ns, 150, 0, 1 << 30, "CPU time of LNetMDAttach, LNetMDBind, LNetMDUnlink")          \
    X(cost_me_ns, 100, 0, 1 << 30, "CPU time of LNetMEAttach, LNetMEInsert, LNetMEUnlink")        \
    X(cost_eq_ns, 50, 0, 1 << 30, "CPU time of a poll of an event queue")                         \
    X(cost_other_ns, 50, 0, 1 << 30, "CPU time of other calls")                                   \
    X(cost_lo_ns, 500, 0, 1 << 30, "CPU time of a message to 0@lo, without the copy")             \
    X(cost_lo_MBps, 5369, 1, 1 << 30, "rate of the copy to 0@lo, MB/s")                           \
    X(cost_route_ns, 1500, 0, 1 << 30, "time of a router from the whole message to its sending")

struct lnet_params {
#define X(name, value, minimum, maximum, meaning) int name;
    LNET_PARAMS(X)
#undef X
    int lnd_timeout; /* seconds; follows from others when they are written */
};

/* The table of LNET_PARAMS. */
const struct lnet_param *lnet_param_table(size_t *count);
/* Sets all from the settings of a node. False: *error is malloc'd text. */
bool lnet_params_read(struct lnet_params *params, const struct lnet_setting *settings,
                      uint32_t count, char **error);
/* The text of a setting of module `module`, or NULL: "networks", "lnet.networks". The last one
 * counts. */
const char *lnet_setting(const struct lnet_setting *settings, uint32_t count, const char *module,
                         const char *name);
/* Whether the module of "module.name" has such a parameter; true if the module is not one of ours.
 */
bool lnet_param_known(const char *setting);
/* The values of a driver's table. False: *error is malloc'd text. */
bool lnet_params_read_driver(const char *module, const struct lnet_param *table, size_t table_count,
                             const struct lnet_setting *settings, uint32_t count, int *values,
                             char **error);

#endif
