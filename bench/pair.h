/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Benchmarks of two processes. Each round forks them anew, connected by a socket; figures and the
 * reason of a failure are in memory that they share with the program.
 */
#ifndef JACQUARD_BENCH_PAIR_H
#define JACQUARD_BENCH_PAIR_H

#include <stdbool.h>
#include <stddef.h>

/* The body of process 0 or 1, which has an end of the socket. */
typedef void (*bench_pair_body)(unsigned self, int end, unsigned round);

/* Memory for figures, of zeros; before the first round. NULL: there is none. */
void *bench_pair_memory(size_t bytes);
/* Runs both. pinned: each on a processor of its own, if there are two. False: bench_pair_why. */
bool bench_pair_run(bench_pair_body body, unsigned round, bool pinned);
const char *bench_pair_why(void);

/* Of the processes. The first reason counts: the other process fails because of this one. */
void bench_pair_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* They wait for each other. */
void bench_pair_meet(int end);

/* Two LNet nodes: PUTs that answer each other, and GETs of 1 MiB of process 0. */
struct bench_lnet_plan {
    const char *subnet; /* "127.0.77" */
    unsigned host; /* of process 0; that of process 1 follows */
    unsigned port;
    unsigned bytes; /* of a PUT */
    unsigned turns, gets;
    unsigned offset; /* in a page, where the memory of the GETs begins at either end */
};
enum { BENCH_LNET_GET = 1 << 20, BENCH_LNET_WINDOW = 8 }; /* GETs in flight, as the credits allow */
/* Process 0 writes how long a PUT takes one way, and what it reads per second. */
void bench_lnet_process(const struct bench_lnet_plan *plan, unsigned self, int end, double *us,
                        double *gbps);

#endif
