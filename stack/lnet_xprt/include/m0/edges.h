/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What m0_net promises of its buffers: lengths, offsets and senders of messages, whose data a bulk
 * buffer gets, and how cancelled and late buffers end. */
#ifndef JACQUARD_M0_EDGES_H
#define JACQUARD_M0_EDGES_H

#include <stddef.h>

struct m0_net_xprt;

/* Two transfer machines of one domain at `address`, whose last part is "*", send to each other.
 * 0, or -1 and a text that says what was wrong. */
int m0_edges_run(const struct m0_net_xprt *xprt, const char *address, char *text, size_t size);

#endif
