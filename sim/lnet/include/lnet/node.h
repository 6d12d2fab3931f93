/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How a host gives its nodes LNet: sim-run for simulated nodes, a process for itself. Programs on
 * the nodes use lnet/api.h only. This header is Jacquard's own.
 */
#ifndef JACQUARD_LNET_NODE_H
#define JACQUARD_LNET_NODE_H

#include <stdbool.h>
#include <stdint.h>
#include "engine/sim.h"
#include "lnet/lib-types.h"
#include "lnet/lnetctl.h"

struct lnet_node;
struct net;
struct aries_fabric;

/* A network interface of the host, by the name in the `networks` parameter: "eth0". */
struct lnet_interface {
    char name[32];
    uint32_t lnd_type; /* the drivers that it suits: SOCKLND, ... */
    uint32_t address; /* IPv4 in host order; of gni the number of the node */
    struct net *net; /* simulation: the network, and this node's endpoint on it */
    uint32_t endpoint;
    struct aries_fabric *aries; /* simulation: the NICs of the network; NULL: none */
};

/* A module parameter: "networks" or "lnet.networks", "ksocklnd.credits". */
struct lnet_setting {
    const char *name, *value;
};

/* Of the calling process's node, for libcfs (libcfs/kernel/module.h). NULL: it has no such one. */
const char *libcfs_module_setting(const char *module, const char *name);

struct lnet_node_config {
    uint32_t number; /* in the cluster; the line of the trace */
    const char *name; /* copied */
    uint64_t seed;
    const struct lnet_interface *interfaces; /* copied */
    uint32_t interface_count;
    const struct lnet_setting *settings; /* copied */
    uint32_t setting_count;
    void *owner; /* see lnet_node_owner */
};

/*
 * A node without a running LNet; the first LNetNIInit on it starts one. NULL: the settings cannot
 * work, and *error is malloc'd text that names the setting.
 */
struct lnet_node *lnet_node_create(const struct lnet_node_config *config, char **error);
/* Stops LNet if it runs. No fiber may be in a call of it. */
void lnet_node_destroy(struct lnet_node *node);
/* The node lost power: nothing is sent or reported any more. It may start LNet again afterwards. */
void lnet_node_crash(struct lnet_node *node);
void *lnet_node_owner(const struct lnet_node *node);
uint32_t lnet_node_number(const struct lnet_node *node);
bool lnet_node_running(const struct lnet_node *node);
/* NULL: all is well; else the text of the assertion that failed. */
const char *lnet_node_panic_text(const struct lnet_node *node);
/* That assertion is one of a program on the node, and not of LNet. */
bool lnet_node_panic_of_program(const struct lnet_node *node);
/* LNetNIInit and LNetNIFini on behalf of the node itself: for routers, which run no program. `stop`
 * ends all references. */
int lnet_node_start(struct lnet_node *node, lnet_pid_t pid);
void lnet_node_stop(struct lnet_node *node);
/* Lowest count of transmit credits of an NI or a peer so far; -n: n messages waited. */
int lnet_node_credits_min(const struct lnet_node *node);
/* LNet's counters of the running instance, or of the last one. */
void lnet_node_counters(const struct lnet_node *node, struct lnet_counters *counters);

/* Limits of a fault rule that LNet's own attributes cannot express. All zero: no limits. */
struct lnet_fault_limits {
    sim_time_t hold; /* delay: so long, instead of the whole seconds of la_latency */
    sim_time_t from, until; /* when it acts: from <= now < until; until 0: without end */
    uint64_t count; /* it ends when it has dropped or delayed so many messages; 0: never */
    bool seeded; /* its random choices depend on `seed` and the node only */
    uint64_t seed;
};
/* Fault rules as LNetCtl(IOC_LIBCFS_LNET_FAULT) has them, from outside; `name` is for the report.
 * `limits` NULL: none. 0 or a negative errno. */
int lnet_node_add_drop(struct lnet_node *node, const struct lnet_fault_attr *attr,
                       const struct lnet_fault_limits *limits, const char *name);
int lnet_node_add_delay(struct lnet_node *node, const struct lnet_fault_attr *attr,
                        const struct lnet_fault_limits *limits, const char *name);
/* LNetPut and LNetGet to `nid` fail, `threshold` times (-1: always), and messages from it are
 * dropped. */
int lnet_node_fail_nid(struct lnet_node *node, lnet_nid_t nid, int threshold);
/* LNetCtl for this node, from outside. Only commands that do not wait. */
int lnet_node_control(struct lnet_node *node, unsigned command, void *argument);

/*
 * What `lnetctl WORDS` prints on the node, such as "net show -v" or "export", as YAML in the layout
 * of Lustre 2.12; malloc'd. NULL: there is no such command. It changes nothing.
 */
char *lnet_node_show(struct lnet_node *node, const char *words);
bool lnet_show_known(const char *words);
/*
 * Does what `lnetctl WORDS` does on the node: net add, net del, route add, route del, peer add,
 * peer del, with lnetctl's options, such as "net add --net tcp1 --if eth1". 0 or a negative errno.
 */
int lnet_node_command(struct lnet_node *node, const char *words);
bool lnet_command_known(const char *words);

/* Objects that a run has left behind; to be called before nodes are destroyed. */
struct lnet_leaks {
    uint32_t mes, mds, eqs, messages, credits, connections;
};
void lnet_node_leaks(const struct lnet_node *node, struct lnet_leaks *leaks);

/* Books messages and descriptors (engine/ledger.h) from now on until lnet_ledger_close: in a
 * simulation, whose nodes are all in this process. Before nodes are created, after sim_init. */
void lnet_ledger_open(void);
void lnet_ledger_close(void);

/* ---- drivers --------------------------------------------------------------------------------- */

struct lnet_lnd;
/* Makes a driver known; `lo` always is. Before nodes are created; once or more often. */
void lnet_lnd_register(const struct lnet_lnd *lnd);

/* The drivers of simulated nodes. */
void lnet_sim_register_drivers(void);

/* ---- simulation ------------------------------------------------------------------------------ */

/* Which node the running fiber belongs to; the cluster says so. NULL: it has no LNet. */
void lnet_sim_set_current(struct lnet_node *(*current)(void));
void lnet_sim_register_findings(void);
/* At the end of a simulation, when all nodes are destroyed. */
void lnet_sim_end(void);
/* Called when an assertion of LNet, or of kernel code that uses it, fails on a node: the cluster
 * crashes the node. */
void lnet_sim_set_panic(void (*panicked)(struct lnet_node *node, const char *text));

/* Writes what all nodes send over TCP into a pcapng file, until the second call; around a whole
 * simulation. False: *error is malloc'd text. */
bool lnet_sim_capture(const char *path, char **error);
bool lnet_sim_capture_end(char **error);

#endif
