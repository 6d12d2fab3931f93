/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Parts of the story of a run: story.c tells it, wait_chain.c says who waits for whom. */
#ifndef JACQUARD_RUN_STORY_H
#define JACQUARD_RUN_STORY_H

#include "verdict/verdict.h"

/* A rank that reported a failure or was killed. */
struct failure {
    const struct rank *rank;
    sim_time_t time;
    const char *text;
    bool killed;
};

struct story {
    const struct cluster *cluster;
    json_t *lines;
    GString *signature;
    GPtrArray *records; /* of faults, in order of time */
    GArray *failures; /* in order of time */
    GHashTable *waiters; /* name → struct waiter */
};

/* Ranks are known by their names, "job.rank", which fault records and waiters carry, too. */
bool verdict_rank_is_called(const struct rank *rank, const char *name);
char *verdict_rank_name(const struct rank *rank); /* g_free() */

void verdict_story_say(struct story *story, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Adds to the signature, without numbers. */
void verdict_story_sign(struct story *story, const char *text);
/*
 * The last fault before `until` that hit a transfer of the rank: one that it issued and that ended
 * with an error, else one to its memory, else any that it issued. NULL: there is none.
 */
const struct sim_fault_record *verdict_fault_of(const struct story *story, const struct rank *rank,
                                                sim_time_t until);
const struct failure *verdict_failure_of(const struct story *story, const struct rank *rank);

/* ---- wait_chain.c ---------------------------------------------------------------------------- */

#define CHAIN_MAX 8 /* ranks of a chain that the story names */

struct wait_chain {
    const struct rank *ranks[CHAIN_MAX];
    size_t length;
    const struct rank *again; /* the last one waits for this one of them: a cycle; NULL: none */
};

/* The longest chain whose end a fault hit or that failed; else the longest one. False: no rank
 * waits. */
bool verdict_chain_find(const struct story *story, struct wait_chain *chain);
const struct rank *verdict_chain_end(const struct wait_chain *chain);
void verdict_chain_say(struct story *story, const struct wait_chain *chain);

#endif
