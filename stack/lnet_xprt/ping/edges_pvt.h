/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Two transfer machines and their buffers, whose events are verified; what edges.c and shapes.c
 * share. */
#ifndef JACQUARD_M0_EDGES_PVT_H
#define JACQUARD_M0_EDGES_PVT_H

#include <stddef.h>

#include "net/net.h"

enum { MACHINES = 2, BUFFERS = 6, SEGMENTS = 4, EVENTS = 8, MESSAGES = 4 };
#define BYTES ((m0_bcount_t)SEGMENTS * M0_SEG_SIZE)

struct edges;

struct edges_buffer {
    struct m0_net_buffer nb;
    struct edges *edges;
    struct m0_net_buffer_event event[EVENTS];
    unsigned events;
    bool from_other; /* all messages came from machine 1 */
};

struct edges {
    struct m0_net_domain dom;
    struct m0_mutex lock;
    struct m0_cond changed;
    struct m0_net_transfer_mc tm[MACHINES];
    unsigned settled; /* machines that have started, or stopped, or failed */
    struct edges_buffer buffers[BUFFERS];
    char *text;
    size_t size;
};

/* Stores the text of what is wrong; -1. */
int m0_edges__wrong(struct edges *edges, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
extern const struct m0_net_buffer_callbacks m0_edges__callbacks;
/* Adds a buffer, for so many messages of at least these bytes if it receives them; timeout 0: none.
 * 0 or -1. */
int m0_edges__add(struct edges_buffer *buffer, unsigned machine, enum m0_net_queue_type qtype,
                  m0_time_t timeout, m0_bcount_t receive_size, uint32_t messages);
/* Waits for its event, which is the only one; 0 or -1: it has another status. */
int m0_edges__expect_end(struct edges_buffer *buffer, int status);

/* Messages and bulk transfers between memory of many shapes, with the bytes around them. 0 or -1 */
int m0_edges__shapes(struct edges *edges);
/* Threads that take a channel back while it is being signalled. 0 or -1 */
int m0_edges__channels(struct edges *edges, const char *address);

#endif
