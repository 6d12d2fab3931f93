/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* jacquard top: the figures that the processes of a live fabric publish about their NICs. */
#ifndef JACQUARD_TOP_TOP_H
#define JACQUARD_TOP_TOP_H

#include <stdio.h>
#include "live/live.h"
#include "aries/watch.h"

struct sample { /* of one process */
    struct live_member is;
    struct watch watch; /* magic 0: the process has published nothing (yet) */
    uint64_t transactions, bytes, taken_ns; /* of the previous sample; taken_ns 0: there is none */
    char command[32];
};

/* Samples all processes except this one. samples[facts.processes_max], indexed by slot, holds the
 * previous samples on entry and the new ones on return. Returns the number of processes. */
uint32_t top_samples_take(struct live *live, struct sample *samples);

struct screen_options {
    bool all; /* also print the queues and connections of each process */
};
void top_screen_print(FILE *to, const struct live_facts *facts, const struct sample *samples,
                      uint32_t processes, const struct screen_options *options);

#endif
