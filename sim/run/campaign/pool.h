/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Runs as processes of their own, some at a time: fork(), a result through a pipe. */
#ifndef JACQUARD_CAMPAIGN_POOL_H
#define JACQUARD_CAMPAIGN_POOL_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define CAMPAIGN_POOL_MAX 256u

struct campaign_pool {
    unsigned parallel; /* processes at a time; at most CAMPAIGN_POOL_MAX */
    bool keep_output; /* what a run writes is kept for `done`; else it is discarded */
    void *arg;

    /* Parent: the number of the next run to start. False: there is none now. */
    bool (*next)(void *arg, uint64_t *number);
    /* Child: does the run. The parent gets the result, a JSON object. */
    json_t *(*run)(void *arg, uint64_t number);
    /*
     * Parent: the run has ended. Takes over `result`. A run that ended without a result has
     * {"error": why, "exit": EXIT_BROKEN}, and "signal" if a signal ended it. `output` is what it
     * wrote, or NULL; it is closed afterwards.
     */
    void (*done)(void *arg, uint64_t number, json_t *result, FILE *output);
    /* Parent: at least five times a second. False: stop; the processes are killed, their runs are
     * not reported. */
    bool (*tick)(void *arg);
};

/* Until `next` has no more runs and all have ended. False: `tick` stopped it. */
bool campaign_pool_execute(const struct campaign_pool *pool);

#endif
