/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* jacquard top: the figures that the processes of a live fabric publish about their NICs. */
#ifndef JACQUARD_TOP_TOP_H
#define JACQUARD_TOP_TOP_H

#include <stdio.h>
#include "shm/shm.h"
#include "aries/watch.h"

struct sample { /* of one process */
    struct shm_member is;
    struct aries_watch watch; /* magic 0: the process has published nothing (yet) */
    uint64_t transactions, bytes, taken_ns; /* of the previous sample; taken_ns 0: there is none */
    char command[32];
    int32_t rank; /* in its job; -1: its launcher has not said */
    bool observer; /* it has no room for figures: another jacquard */
};

/* Events that no reader has taken from the listed queues yet. */
uint64_t top_unread(const struct aries_watch *watch);
double top_seconds_ago(uint64_t ns); /* of CLOCK_MONOTONIC */

/* Samples all members of the fabric except this one. samples[facts.processes_max], indexed by slot,
 * holds the previous samples on entry and the new ones on return. */
void top_samples_take(struct shm *shm, struct sample *samples);

/* Puts the processes, in the order of ranks (those without one last), nodes and process ids, into
 * order[facts.processes_max]. Returns their number; *observers is the number of the others. */
uint32_t top_samples_sort(const struct shm_facts *facts, const struct sample *samples,
                          const struct sample **order, uint32_t *observers);

struct screen_options {
    bool all; /* also print the queues and connections of each process */
};
void top_screen_print(FILE *to, const struct shm_facts *facts, const struct sample *samples,
                      const struct screen_options *options);

/* One JSON object in one line: the same figures, with all queues and connections. */
void top_json_print(FILE *to, const struct shm_facts *facts, const struct sample *samples);

/*
 * The terminal. top_terminal_begin returns false where standard output is a terminal that cannot be
 * addressed (TERM unset or unknown); the other two functions are then not called.
 */
bool top_terminal_begin(void);
void top_terminal_end(void);
/* Shows the page for that long, or until a key asks for new figures. False: the user wants to quit.
 */
bool top_terminal_show(const char *page, double seconds);

#endif
