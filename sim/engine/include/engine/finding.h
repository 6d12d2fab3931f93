/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Findings: mistakes of a program, or of the model, that a layer of the emulation noticed. The
 * ledger says whether messages were lost or changed; a finding says which rule was broken, by which
 * rank, when and in which call. A rule has a name ("aries.source-changed") that scenarios and
 * docs/findings.md use. Noticing costs nothing until something is found.
 */
#ifndef JACQUARD_ENGINE_FINDING_H
#define JACQUARD_ENGINE_FINDING_H

#include <stdint.h>
#include "engine/sim.h"

enum sim_finding_severity {
    SIM_FINDING_COUNT, /* reported as a number, no reason to fail or to warn */
    SIM_FINDING_WARNING, /* shown */
    SIM_FINDING_ERROR, /* the run fails, unless the scenario allows it */
};

/* A rule is a static object of the layer that checks it. */
struct sim_finding_rule {
    const char *name; /* "layer.what-is-wrong" */
    const char *summary; /* one sentence, for docs and reports */
    enum sim_finding_severity severity;
    uint64_t count; /* since sim_init */
    uint32_t kept; /* of its findings, those that sim_finding_for_each visits */
    struct sim_finding_rule *next; /* in order of registration; set by sim_finding_rule_register */
    bool registered;
};

/* Texts of a rule that are kept; further findings are counted. */
#define SIM_FINDINGS_KEPT 16

struct sim_finding {
    const struct sim_finding_rule *rule;
    uint32_t node; /* UINT32_MAX: none */
    const char *rank; /* its name: "clients.3"; NULL: no rank */
    sim_time_t time; /* virtual time of the finding, on the rank's clock if one runs */
    const char *call; /* static: the API call in progress, or the last one; NULL: none */
    const char *text; /* one sentence with names, sizes and times */
    struct sim_finding *next;
};

/* Rules stay registered for the life of the process; the same rule may be registered again. */
void sim_finding_rule_register(struct sim_finding_rule *rule);

/*
 * Records that `rule` was broken by a rank on a node. `rank` is copied. printf-like: one sentence
 * without the rank, the time and the call, which are recorded besides. The rule need not be
 * registered before. Off hot paths: formats at once. No effect on the simulation, nor on its
 * digest.
 */
void sim_finding_record(struct sim_finding_rule *rule, uint32_t node, const char *rank,
                        const char *format, ...) __attribute__((format(printf, 4, 5), cold));

/* In order of recording. */
void sim_finding_for_each(void (*visit)(const struct sim_finding *finding, void *arg), void *arg);
/* In order of registration, those without findings included. */
void sim_finding_for_each_rule(void (*visit)(const struct sim_finding_rule *rule, void *arg),
                               void *arg);
void sim_finding_reset(void); /* forgets all findings, keeps the rules; called by sim_init */

#endif
