/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Pools of buffers in tests. */
#ifndef JACQUARD_TESTS_M0_POOLS_H
#define JACQUARD_TESTS_M0_POOLS_H

#include "net/buffer_pool.h"
#include "net/net_internal.h"
#include "rig.h"

#define ANY ((uint32_t)M0_BUFFER_ANY_COLOUR)
enum { COLOURS = 5 };

extern unsigned not_empty_calls, below_calls; /* since the last pool_up */
extern struct port_thread *below_thread; /* that took a buffer and left few */
/* Buffers of `segments` pages. */
void pool_up(struct m0_net_buffer_pool *pool, unsigned node, uint32_t threshold, int buffers,
             uint32_t segments);
void pool_down(struct m0_net_buffer_pool *pool, unsigned node); /* all buffers are in it */
struct m0_net_buffer *take(struct m0_net_buffer_pool *pool, uint32_t colour); /* or NULL */
void put_back(struct m0_net_buffer_pool *pool, struct m0_net_buffer *nb, uint32_t colour);

/* What an application does with a buffer whose last event it got. */
void give_back(const struct m0_net_buffer_event *event);
/* Messages of up to 1000 bytes. Initialised only. */
struct machine *attached(unsigned node, struct m0_net_buffer_pool *pool, unsigned max_msgs);
/* Started, with buffers for one message each. */
struct machine *pooled(unsigned node, int tmid, struct m0_net_buffer_pool *pool);
size_t queued(struct machine *machine); /* receive buffers */
int64_t deficit(struct machine *machine);
uint64_t failures(struct machine *machine); /* failed events of the receive queue */

#endif
