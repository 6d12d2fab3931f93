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
};

/* Samples all processes except this one. samples[facts.processes_max], indexed by slot, holds the
 * previous samples on entry and the new ones on return. Returns the number of processes. */
uint32_t top_samples_take(struct shm *shm, struct sample *samples);

struct screen_options {
    bool all; /* also print the queues and connections of each process */
};
void top_screen_print(FILE *to, const struct shm_facts *facts, const struct sample *samples,
                      uint32_t processes, const struct screen_options *options);

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
