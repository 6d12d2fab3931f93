/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A scenario: the content of a scenario file, checked as a whole, with all defaults filled in. It
 * is immutable. Any number of clusters (cluster.h) can be built from it. */
#ifndef JACQUARD_RUN_SCENARIO_H
#define JACQUARD_RUN_SCENARIO_H

#include "legacy/network.h"
#include "net/net.h"
#include "scenario/schema.h"
#include "scenario/programs.h"

#define RANKS_MAX (1u << 17)
#define JOBS_MAX 64u
#define SEED_MAX_TEXT "9007199254740991" /* exact in every JSON reader */

enum { TOPOLOGY_DRAGONFLY, TOPOLOGY_SINGLE_SWITCH, TOPOLOGY_FAT_TREE };

#define NETWORKS_MAX 16u
/* The words of `kind`, in the order of enum legacy_kind. */
#define NETWORK_KINDS "none|sci|ethernet|via|sbp"

struct scenario_network {
    const struct tree *at;
    const char *name;
    uint64_t topology, fidelity;
    uint64_t kind; /* enum legacy_kind */
    const char *preset, *profile;
    uint64_t groups, chassis, slots, cables;
    uint64_t nodes, radix;
    double link_rate_GBps;
    uint64_t link_latency, switch_latency;
    const struct tree *params;
    struct node_set attached; /* the nodes with a port, in the order of the ports */
    /* found by the checks */
    uint32_t endpoint_count, group_count, router_count;
    uint32_t *endpoint_of; /* by node; UINT32_MAX: not attached. NULL: node n has endpoint n. */
};

struct scenario_limits {
    const struct tree *at;
    uint64_t virtual_time, no_progress, no_progress_events, stack, threads, compute;
    uint64_t parking; /* PARKING_* */
};

struct scenario_oob {
    const struct tree *at;
    uint64_t fan_out, local_latency, hop_latency, frame_time, exec_time;
    double rate_GBps;
};

enum { PARKING_OWN, PARKING_ALL, PARKING_OFF };
enum { CHECKS_ON, CHECKS_OFF };
enum { LATENCY_MACHINE, LATENCY_MODEL };

struct scenario_live {
    const struct tree *at;
    uint64_t latency;
};

enum { PLACE_LINEAR, PLACE_RANDOM, PLACE_PER_GROUP };

struct scenario_placement {
    const struct tree *at;
    uint64_t policy, count, first, seed;
};

struct scenario_job {
    const struct tree *at;
    const char *name;
    struct node_set nodes; /* set by the checks if a placement was given */
    struct scenario_placement placement;
    const char *network; /* NULL: the first one */
    uint64_t ranks_per_node, ranks_cap, start;
    bool privileged, spawnable;
    const char *workload_name, *program;
    const struct tree *args;
    const struct tree *argv, *env; /* of a program with main(); NULL: none given */
    /* found by the checks */
    const struct program *workload;
    struct value *values; /* of the workload's arguments, in its order */
    uint32_t network_index; /* of `network` */
    uint32_t rank_count; /* spawnable: at most so many at a time */
};

enum scenario_fault_place {
    FAULT_POINT, /* a rule at a named fault point */
    FAULT_LINK,
    FAULT_ROUTER,
    FAULT_NODE,
    FAULT_CQ_OVERRUN,
    FAULT_FABRIC,
    FAULT_MEMORY,
    FAULT_ERROR,
};
/* The words of `do`, and their numbers. Rules have the names of sim_fault_action_find(). */
#define ARIES_PACKET_ACTIONS "drop|corrupt|fail"
#define ARIES_CQ_ACTIONS "drop"
#define ARIES_DATAGRAM_ACTIONS "drop|delay|duplicate"
#define NET_PACKET_ACTIONS "drop|delay|duplicate|corrupt"
#define OOB_MESSAGE_ACTIONS "drop|delay|duplicate"
#define OOB_SERVER_ACTIONS "delay"
#define LINK_ACTIONS "down|up|lane_loss|link_error"
enum { LINK_DOWN, LINK_UP, LINK_LANE_LOSS, LINK_ERROR };
#define ROUTER_ACTIONS "down|up"
enum { ROUTER_DOWN, ROUTER_UP };
#define NODE_ACTIONS "crash|hang|pcie_stall|bi_set|reboot"
enum { NODE_CRASH, NODE_HANG, NODE_PCIE_STALL, NODE_BI_SET, NODE_REBOOT };
#define CQ_ACTIONS "overrun"
#define MEMORY_ACTIONS "corrupt"
#define ERROR_ACTIONS "raise"
#define FABRIC_ACTIONS "quiesce|throttle"
enum { FABRIC_QUIESCE, FABRIC_THROTTLE };

/* A row of the table of faults (fault_kinds.c). */
struct scenario_fault_kind {
    const char *at; /* as scenarios name it */
    enum scenario_fault_place place;
    const char *actions; /* words of `do` */
    bool aries; /* concerns Aries NICs */
    const char *live; /* what it is called in the plan of a live fabric; NULL: simulation only */
    uint32_t live_actions; /* a bit for each action that happens there */
};

struct scenario_fault {
    const struct tree *at;
    const char *where, *label;
    const char *network; /* NULL: the first one */
    uint64_t action; /* index into the choices of the variant's `do` */
    /* rules */
    double probability;
    uint64_t count, skip, from, until, source, target, kind, delay;
    const char *between[2];
    const struct tree *only;
    /* timed */
    const char *routers[2], *router;
    uint64_t which, lanes, node, time, duration, orbs, queue, region, category, code;
    double rate;
    const char *status;
    double percent;
    /* found by the checks */
    enum scenario_fault_place place;
    uint32_t network_index; /* of `network` */
    uint32_t groups[2], router_numbers[2];
    uint32_t status_code; /* of `status` */
    char *title; /* label, or "faults.2" */
    uint64_t *only_numbers; /* of `only`, ascending; NULL: not given */
    size_t only_count;
};

/* LNet on nodes, and its own rules for faults. */
struct scenario_lnet_nodes {
    const struct tree *at;
    const char *name;
    struct node_set nodes;
    const char *networks, *ip2nets, *routes, *forwarding, *export_file;
    const struct tree *parameters;
    bool start;
};
#define LNET_ACTIONS "drop|delay|fail-nid"
enum { LNET_DROP, LNET_DELAY, LNET_FAIL_NID };
struct scenario_lnet_rule {
    const struct tree *at;
    const char *name;
    uint64_t action;
    struct node_set nodes;
    const char *source, *target;
    uint64_t rate, interval, latency, count, seed;
    uint64_t hold, from, until; /* ps */
    bool random, seeded;
    const struct tree *portal, *message, *error;
    /* found by the checks */
    uint64_t source_nid, target_nid, portal_mask;
    uint32_t message_mask, error_mask;
};
struct scenario_lnet_show { /* of lnet.show and of lnet.change */
    const struct tree *at;
    const char *command;
    struct node_set nodes;
    uint64_t time; /* ps */
};
struct scenario_lnet {
    const struct tree *at;
    struct record_list nodes, rules, shows, changes;
};

struct scenario_within {
    const struct tree *at;
    double value, percent;
};

enum scenario_expectation_kind {
    EXPECT_LEDGER,
    EXPECT_METRIC,
    EXPECT_OUTCOME,
    EXPECT_FAULT,
    EXPECT_JOB,
    EXPECT_FINDING,
    EXPECT_FINDINGS
};
enum { OUTCOME_DONE, OUTCOME_DEADLOCK, OUTCOME_TIME_LIMIT, OUTCOME_NO_PROGRESS, OUTCOME_FAILED };
#define OUTCOMES "done|deadlock|time-limit|no-progress|failed"

struct scenario_expectation {
    const struct tree *at;
    enum scenario_expectation_kind kind;
    uint64_t ledger, outcome;
    const char *metric, *fault, *job, *exit, *finding;
    const struct tree *findings; /* names of rules whose findings are allowed */
    const char *below, *above, *equals;
    struct scenario_within within;
    /* found by the checks: limits in the metric's own unit (ps, B/s, ...) */
    double below_value, above_value, equals_value;
};

struct scenario {
    const struct tree *at; /* the document, owned */
    struct tree *tree;
    char *file;
    const char *name, *description;
    const char *trace; /* file for the trace of a run on the screen; "": none */
    uint64_t seed;
    uint64_t checks; /* CHECKS_* */
    struct scenario_network fabric; /* the only network, when `networks` is not given */
    struct scenario_limits limits;
    struct scenario_oob oob;
    struct scenario_live live;
    struct scenario_lnet lnet;
    struct record_list networks, jobs, faults, expectations;
    const struct tree *sweep;
    /* found by the checks */
    uint32_t endpoints; /* nodes: the first network numbers them */
    uint32_t rank_count; /* ranks of the jobs that start by themselves */
};

struct override {
    const char *path, *value, *origin; /* `origin`: the place that messages name */
};

struct scenario_options {
    const struct override *overrides; /* in order, as by --set */
    size_t override_count;
    bool keep_sweep; /* false: the scenario must not have a sweep (it has been applied) or it is
                        ignored */
    bool no_programs; /* refuse `program:` (for fuzzing) */
    bool no_jobs; /* `jobs` may be missing: what runs comes from elsewhere */
};

/* NULL: *error (g_free) is one line "file:line: field: what; allowed". Nothing was started. */
struct scenario *scenario_load(const char *path, const struct scenario_options *options,
                               char **error);
struct scenario *scenario_parse(const char *bytes, size_t length, const char *origin,
                                const struct scenario_options *options, char **error);
void scenario_free(struct scenario *scenario);

/* Networks, at least one. The first one numbers the nodes; only that can be a dragonfly. */
static inline size_t scenario_network_count(const struct scenario *scenario)
{
    return scenario->networks.count != 0 ? scenario->networks.count : 1;
}
static inline const struct scenario_network *scenario_network(const struct scenario *scenario,
                                                              size_t index)
{
    return scenario->networks.count != 0
               ? (struct scenario_network *)scenario->networks.records + index
               : &scenario->fabric;
}
/* "fabric" or "networks.1", for messages. g_free it. */
char *scenario_network_path(const struct scenario *scenario, size_t index);
/* Of a node at a network; UINT32_MAX: it is not attached to it. */
static inline uint32_t scenario_endpoint(const struct scenario_network *network, uint32_t node)
{
    return network->endpoint_of != NULL ? network->endpoint_of[node] : node;
}

static inline struct scenario_job *scenario_job(const struct scenario *scenario, size_t index)
{
    return (struct scenario_job *)scenario->jobs.records + index;
}
static inline struct scenario_lnet_nodes *scenario_lnet_nodes(const struct scenario *scenario,
                                                              size_t index)
{
    return (struct scenario_lnet_nodes *)scenario->lnet.nodes.records + index;
}
static inline struct scenario_lnet_rule *scenario_lnet_rule(const struct scenario *scenario,
                                                            size_t index)
{
    return (struct scenario_lnet_rule *)scenario->lnet.rules.records + index;
}
static inline struct scenario_lnet_show *scenario_lnet_show(const struct scenario *scenario,
                                                            size_t index)
{
    return (struct scenario_lnet_show *)scenario->lnet.shows.records + index;
}
static inline struct scenario_lnet_show *scenario_lnet_change(const struct scenario *scenario,
                                                              size_t index)
{
    return (struct scenario_lnet_show *)scenario->lnet.changes.records + index;
}
static inline struct scenario_fault *scenario_fault(const struct scenario *scenario, size_t index)
{
    return (struct scenario_fault *)scenario->faults.records + index;
}
static inline struct scenario_expectation *scenario_expectation(const struct scenario *scenario,
                                                                size_t index)
{
    return (struct scenario_expectation *)scenario->expectations.records + index;
}

/* Was this field written in the scenario (and not filled in by a default)? */
static inline bool scenario_given(const struct tree *record, const char *field)
{
    return scenario_tree_get(record, field) != NULL;
}

/* Calls for each "name: value" of a network's params, nested mappings joined by dots. False:
 * stopped by `visit`. */
bool scenario_for_each_param(const struct scenario_network *network,
                             bool (*visit)(const char *name, const struct tree *value, void *arg),
                             void *arg);

/* Fills in the configuration for net_create(), without the values that come from parameters. */
void scenario_net_config(const struct scenario_network *network, uint64_t seed,
                         struct net_config *config);
const char *scenario_profile(const struct scenario_network *network);

const struct scenario_fault_kind *scenario_fault_kind(const struct scenario_fault *fault);
const char *scenario_fault_action(const struct scenario_fault *fault); /* the word of `do` */

/* The tables (fields.c). */
extern const struct schema scenario_schema;

/* The checks that need more than one field (check*.c). */
bool scenario_check(struct scenario *scenario, const struct scenario_options *options,
                    char **error);

/*
 * The arguments of a spawnable job, with some replaced by "name=value" texts, which must outlive
 * the result. NULL: the workload has no such argument, or the value is not allowed. g_free it.
 */
struct value *scenario_spawn_values(const struct scenario_job *job, char *const *argv);

/* docs/scenario-reference.md. g_free it. */
char *scenario_reference(void);
/* The JSON schema of a scenario file. json_decref it. */
json_t *scenario_document_json(void);

#endif
