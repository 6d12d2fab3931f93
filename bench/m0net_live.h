/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The live part of bench-m0net: two processes on daemons, and two that are LNet nodes themselves.
 */
#ifndef JACQUARD_BENCH_M0NET_LIVE_H
#define JACQUARD_BENCH_M0NET_LIVE_H

#include <stdbool.h>

#define BENCH_M0_MESSAGE 4096u
#define BENCH_M0_BULK (1u << 20)
#define BENCH_M0_WINDOW 8u /* bulk transfers under way */

struct bench;
/* False: it failed, and said why. */
bool bench_m0net_live(struct bench *bench);

/* The body of a process of m0_net: process 0 writes how long a message takes one way, and what it
 * reads of the other one per second. */
void bench_m0net_process(unsigned self, int end, const char *socket, unsigned turns,
                         unsigned transfers, double *us, double *gbps);

#endif
