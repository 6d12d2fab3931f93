/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Event queues that the engine's queue is compared with. All have a total order (time, order of
 * pushing):
 *   heap      binary heap of pointers to malloc'd events, the simplest choice
 *   heap4     4-ary heap of 24-byte entries in an array
 *   calendar  calendar queue (Brown 1988) of linked events, ideal width given
 */
#ifndef JACQUARD_BENCH_ENGINE_RIVALS_H
#define JACQUARD_BENCH_ENGINE_RIVALS_H

#include <stdint.h>

struct rival {
    const char *name;
    void (*init)(uint64_t pending, double mean_delay);
    void (*push)(uint64_t time, void *what);
    void *(*pop)(uint64_t *time); /* NULL: empty */
    void (*fini)(void);
};

extern const struct rival bench_rival_heap, bench_rival_heap4, bench_rival_calendar;

#endif
