/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* jacquard top: what the processes of a live fabric show of their NICs. */
#ifndef JACQUARD_TOP_TOP_H
#define JACQUARD_TOP_TOP_H

#include <stdio.h>
#include "shm/shm.h"
#include "aries/watch.h"

struct sample { /* of one process */
    struct live_member is;
    struct watch watch; /* magic 0: it shows nothing (yet) */
    uint64_t transactions, bytes, taken_ns; /* of the sample before; taken_ns 0: none */
    char command[32];
};

/* Of all processes but this one, by slot; `samples` of facts.processes_max keep what was before.
 * How many there are. */
uint32_t samples_take(struct live *live, struct sample *samples);

struct screen_options {
    bool all; /* queues and connections of each process, too */
};
void screen_print(FILE *to, const struct live_facts *facts, const struct sample *samples,
                  uint32_t processes, const struct screen_options *options);

#endif
