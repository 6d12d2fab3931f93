/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * LNet self-test: the traffic generator of Lustre's lnet_selftest (2.12), with its words and its
 * messages. A console makes a session with test nodes, puts them into groups, and lets the nodes of
 * one group send `ping` or `brw` RPCs to those of another one.
 *
 *   lst_node_start ──▶ (console) lst_session_new ─▶ lst_group_add ─▶ lst_test_add ─▶ lst_batch_run
 * ─▶ lst_stat
 *
 * All functions return 0 or a negative errno value unless they say otherwise. Those of a console
 * block; one thread of a process at a time may call them. Semantics: Lustre's lnet/selftest and its
 * manual.
 */
#ifndef LST_LST_H
#define LST_LST_H

#include <stdbool.h>
#include <stdint.h>
#include <lnet/api.h>

struct lst_node;
struct lst_console;

#define LST_NAME_BYTES 32 /* with the terminating zero */

/* ---- test nodes ------------------------------------------------------------------------------ */

struct lst_parameters {
    uint32_t rpc_timeout_s; /* 64 */
    uint32_t session_timeout_s; /* 100: of a node whose console is silent */
    uint32_t request_buffers; /* 256: of each test service; 16 of each framework service */
};
void lst_parameters_default(struct lst_parameters *parameters);

/* Starts LNet and the services on this process. One per process. NULL and *error: not possible. */
struct lst_node *lst_node_start(const struct lst_parameters *parameters, int *error);
/* Ends what runs, waits for the last events, and stops LNet. 0; -EBUSY: descriptors were left
 * behind. */
int lst_node_stop(struct lst_node *node);

/* ---- console --------------------------------------------------------------------------------- */

/* `node` sends the console's RPCs. Features: bit 0 allows lengths that are no multiple of a page.
 */
struct lst_console *lst_session_new(struct lst_node *node, const char *name, uint32_t features,
                                    bool force);
/* Ends the session on all nodes that can be reached, and frees the console. */
int lst_session_end(struct lst_console *console);

/* Adds nodes to a group, which is made if need be. The first error of a node; the others are added
 * all the same. -EBUSY: a node is in another session. -ENAMETOOLONG. A node that cannot join the
 * session is in the group, too, but tests do not use it. */
int lst_group_add(struct lst_console *console, const char *group, const struct lnet_process_id *ids,
                  uint32_t count);
/* Takes nodes out of a group; those that are in no group leave the session. -ENOENT; -EBUSY: a test
 * uses the group. */
int lst_group_remove(struct lst_console *console, const char *group,
                     const struct lnet_process_id *ids, uint32_t count);
int lst_group_delete(struct lst_console *console, const char *group);

enum lst_state { LST_ACTIVE = 1, LST_BUSY = 2, LST_DOWN = 4, LST_UNKNOWN = 8 };
struct lst_member {
    struct lnet_process_id id;
    enum lst_state state;
};
/* Takes the nodes of these states (but LST_ACTIVE) out of a group. */
int lst_group_clean(struct lst_console *console, const char *group, unsigned states);
/* Asks the active nodes whether they are there, and the others to join. */
int lst_group_refresh(struct lst_console *console, const char *group);
/* The nodes of a group, the active ones first; `members` has room for `room`. Their number, or
 * -ENOENT. */
int lst_group_members(struct lst_console *console, const char *group, struct lst_member *members,
                      uint32_t room);
/* The names of the groups and batches in the order in which they were made; NULL: there are no
 * more. */
const char *lst_group_name(struct lst_console *console, uint32_t index);
const char *lst_batch_name(struct lst_console *console, uint32_t index);

struct lst_presence {
    enum lst_state state; /* LST_BUSY: in another session; LST_UNKNOWN: in none */
    lnet_nid_t console; /* of the session that the node is in; 0: in none */
    char session[LST_NAME_BYTES];
};
/* Asks nodes which session they are in, of any group or none. The first error of a node. */
int lst_ping(struct lst_console *console, const struct lnet_process_id *ids, uint32_t count,
             struct lst_presence *presence);

enum lst_test_kind { LST_PING, LST_BRW_READ, LST_BRW_WRITE };
enum lst_check { LST_CHECK_NONE = 1, LST_CHECK_SIMPLE = 2, LST_CHECK_FULL = 3 };

struct lst_test {
    enum lst_test_kind kind;
    enum lst_check check; /* of the data of brw */
    uint32_t bytes; /* of brw: 1 … 1 MiB; whole pages unless the session has feature 0 */
    uint32_t offset; /* of brw data in the source node's first page: a multiple of 8 below a page;
                        with `bytes` at most 1 MiB */
    uint32_t concurrency; /* RPCs in flight for each pair of nodes: 1 … 1024 */
    int32_t loop; /* RPCs of each stream; -1: until stopped */
    uint32_t distribute, span; /* d:s: d source nodes share s targets */
    bool stop_on_error;
    const char *from, *to; /* groups */
};
/* Adds a test to a batch, which is made if need be. -ENOENT: no such group. -EINVAL: an argument,
 * or s > targets. */
int lst_test_add(struct lst_console *console, const char *batch, const struct lst_test *test);
/* An empty batch. -EEXIST, -ENAMETOOLONG. */
int lst_batch_add(struct lst_console *console, const char *batch);
int lst_batch_run(struct lst_console *console, const char *batch);
int lst_batch_stop(struct lst_console *console, const char *batch);
/* Streams of the batch that still run, over all nodes; negative: an error. */
int lst_batch_active(struct lst_console *console, const char *batch);

/* The counters of a node. */
struct lst_counters {
    struct {
        uint32_t running_ms, active_batches, zombie_sessions, brw_errors, ping_errors;
    } framework;
    struct {
        uint32_t errors, rpcs_sent, rpcs_received, rpcs_dropped, rpcs_expired;
        uint64_t bulk_get, bulk_put; /* bytes */
    } rpc;
    struct lnet_counters_common lnet;
    uint64_t when_ns; /* at the node that asked */
};
/* Of each node of a group, in the order in which they were added; `counters` has room for `room` of
 * them. The number of nodes, or an error. */
int lst_stat(struct lst_console *console, const char *group, struct lst_counters *counters,
             uint32_t room);
/* Of these nodes; `counters` has room for all. Their number, or the first error. */
int lst_stat_nodes(struct lst_console *console, const struct lnet_process_id *ids, uint32_t count,
                   struct lst_counters *counters);

/* The two lines of `lst stat` for a pair of samples of a group: LNet messages, and bytes, per
 * second. */
struct lst_rates {
    double average, minimum, maximum;
};
void lst_rates(const struct lst_counters *before, const struct lst_counters *after, uint32_t count,
               struct lst_rates *send_rate, struct lst_rates *receive_rate,
               struct lst_rates *send_bandwidth, struct lst_rates *receive_bandwidth);

#endif
