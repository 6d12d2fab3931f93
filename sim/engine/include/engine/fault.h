/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Fault points: named places where the model asks the fault table what to do. A layer registers its
 * points once per simulation; rules come from the scenario. A point without rules costs one load
 * and one branch.
 */
#ifndef JACQUARD_ENGINE_FAULT_H
#define JACQUARD_ENGINE_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "engine/random.h"
#include "engine/sim.h"

enum sim_fault_action {
    SIM_FAULT_DELIVER, /* no fault */
    SIM_FAULT_DROP,
    SIM_FAULT_DELAY,
    SIM_FAULT_DUPLICATE,
    SIM_FAULT_CORRUPT,
    SIM_FAULT_FAIL,
    SIM_FAULT_CRASH,
};

/* As scenarios and reports write it: "drop". */
const char *sim_fault_action_name(enum sim_fault_action action);
/* False: no fault has that name ("deliver" is none). */
bool sim_fault_action_find(const char *name, enum sim_fault_action *action);

#define SIM_FAULT_ANY UINT32_MAX

/* Describes the transfer that a fault hit. The layer that has the fault point writes the texts;
 * unused fields are empty. */
struct sim_fault_hit {
    char what[64]; /* "PUT" */
    char extent[96]; /* "4 KiB at offset 8 KiB" */
    char place[64]; /* "link g0-c0s1→g0-c0s4" */
    char source[64], target[64]; /* ranks: "clients.3" */
    uint64_t flow; /* of the transaction in the trace; 0: none */
};

/* What a point knows of the thing at hand. SIM_FAULT_ANY where it does not apply. */
struct sim_fault_subject {
    /* Fills in the record of a fault that was injected; `what` belongs to it. NULL: nothing more is
     * known. */
    void (*describe)(const void *what, struct sim_fault_hit *hit);
    const void *what;
    uint32_t source; /* node */
    uint32_t target; /* node */
    uint32_t source_group; /* topology group of each */
    uint32_t target_group;
    uint32_t kind; /* meaning belongs to the point, e.g. 0 request, 1 response */
    /* Packets that travel together as this subject; 0 means 1. A rule's probability is that of each
     * packet, and a hit on one of them is a fault of the whole subject. */
    uint32_t packets;
};

struct sim_fault_rule {
    char *label; /* how the scenario names it ("faults[2]"); malloc'd, owned by the rule, or NULL */
    enum sim_fault_action action;
    sim_time_t from, until; /* active in [from, until); SIM_NEVER: for good */
    double probability; /* of each packet; 1.0: always; at most 0: never */
    uint64_t skip; /* let this many packets of matching subjects pass first */
    uint64_t count_max; /* fire at most so often; 0: no limit */
    /* Of the faults that the rule would inject, counted from 1, only these: ascending, malloc'd,
     * owned by the rule. NULL: all. They have the numbers that they have without this field. */
    uint64_t *only;
    size_t only_count;
    uint32_t source, target; /* SIM_FAULT_ANY: every */
    uint32_t between[2]; /* groups, in either order; SIM_FAULT_ANY: every; {g, ANY}: touches g */
    uint32_t kind;
    sim_time_t delay; /* for SIM_FAULT_DELAY */
    uint32_t status; /* for SIM_FAULT_FAIL: meaning belongs to the point */
    /* state */
    uint64_t passed; /* packets that `skip` let pass */
    uint64_t seen; /* subjects that matched, in the window */
    uint64_t chosen; /* subjects that the rule faults if `only` does not keep it from that */
    uint64_t fired; /* subjects that the rule faulted */
    struct sim_random random; /* from which the stream of each node is made */
    struct sim_random *streams; /* by node + 1; [0]: of subjects without a node */
    size_t streams_count;
    struct sim_fault_rule *next;
};

struct sim_fault_point {
    const char *name; /* static, e.g. "aries.packet" */
    struct sim_fault_rule *rules;
    struct sim_fault_point *next; /* registration order */
};

/* The point is the caller's memory and is cleared; it must live until sim_fini. */
void sim_fault_point_register(struct sim_fault_point *point, const char *name);
struct sim_fault_point *sim_fault_point_find(const char *name); /* NULL: no such point */
/*
 * Adds a rule behind those that the point has: rules are asked in that order. Copies *rule (takes
 * over label); the copy lives until sim_fini. The caller starts `rule->random` from the
 * simulation's seed: sim_random_init(&rule.random, seed, "fault", number of the rule). When it is
 * all zero it is made of the label and the number of rules before, the same for every seed. Each
 * node, source or else target, has a stream of its own, made of it, so that the order of two nodes'
 * subjects at the same time does not decide which of them the rule hits.
 */
struct sim_fault_rule *sim_fault_rule_add(struct sim_fault_point *point,
                                          const struct sim_fault_rule *rule);
void sim_fault_for_each_rule(void (*visit)(const struct sim_fault_point *,
                                           const struct sim_fault_rule *, void *arg),
                             void *arg);

/* Slow path of sim_fault_ask: the first rule that matches and fires decides. */
const struct sim_fault_rule *sim_fault_match(struct sim_fault_point *point,
                                             const struct sim_fault_subject *subject);

/* The rule that applies to the subject now, or NULL. */
static inline const struct sim_fault_rule *sim_fault_ask(struct sim_fault_point *point,
                                                         const struct sim_fault_subject *subject)
{
    return sim_likely(point->rules == NULL) ? NULL : sim_fault_match(point, subject);
}

/* ---- records --------------------------------------------------------------------------------- */

/* Records kept for each rule; further faults are only counted. */
#define SIM_FAULT_RECORDS_KEPT 1000

/* A fault that was injected, or a transfer that was lost with a link, a router or a node. */
struct sim_fault_record {
    const struct sim_fault_rule *rule; /* NULL: lost without a rule */
    uint64_t number; /* of the rule's faults, from 1: what `only` names */
    uint64_t candidate; /* number of the subject among those that matched, from 1 */
    uint32_t packet; /* the first one of the subject that was hit, from 1; 0: without a rule */
    uint32_t packets; /* of the subject */
    sim_time_t time;
    uint32_t source, target; /* nodes; SIM_FAULT_ANY: none */
    struct sim_fault_hit hit;
    char *title; /* "loss #11: PUT 0→1, 4 KiB at offset 8 KiB, link g0-c0s1→g0-c0s4" */
    /* The transaction that it hit ended with an error: when, and the error (static). 0, NULL: it
     * ended well or not at all. */
    sim_time_t failed;
    const char *error;
    struct sim_fault_record *next; /* in order of time */
};

/*
 * Records that a transfer was lost, unless the record of a rule says so already. The record is kept
 * like one of a rule, and written into an open trace without a step of the digest.
 */
void sim_fault_lost(const struct sim_fault_subject *subject) __attribute__((cold));
/* The transaction of this flow has ended with an error: notes it in the records that hit it. */
void sim_fault_failed(uint64_t flow, const char *error) __attribute__((cold));
/* In order of time. */
void sim_fault_for_each_record(void (*visit)(const struct sim_fault_record *, void *arg),
                               void *arg);

void sim_fault_reset(void); /* forgets points, rules and records; called by sim_fini */

#endif
