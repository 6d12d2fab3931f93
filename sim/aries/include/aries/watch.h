/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Figures that a process publishes about its NIC. They follow the registrations in its shared
 * segment. The helper thread writes them several times a second, so that they are available while
 * the program hangs, and once more at the end. They are for people only: no code depends on them.
 * Readers copy them and check every value.
 */
#ifndef JACQUARD_ARIES_WATCH_H
#define JACQUARD_ARIES_WATCH_H

#include <stdint.h>

#define ARIES_WATCH_MAGIC 0x4a517733u
#define ARIES_WATCH_EVERY_NS 200000000u
#define ARIES_WATCH_CQS 32u
#define ARIES_WATCH_EPS 96u
#define ARIES_WATCH_VCS 32u
#define ARIES_WATCH_STATE_BYTES 12u
#define ARIES_WATCH_AT (4096u * 64u) /* in the extra area of the shared segment */

struct aries_watch_cq {
    uint32_t index, capacity, count, overrun;
};

struct aries_watch_ep { /* connected by GNI_SmsgInit */
    uint32_t node, instance; /* of the peer */
    uint16_t credits, free; /* in all, and those that a send can use */
    uint32_t sent, received, broken;
};

struct aries_watch_vc { /* a connection of the library above, under that library's names */
    uint32_t node, instance; /* of the peer; UINT32_MAX: no node of the fabric */
    uint64_t since_ns;
    char state[ARIES_WATCH_STATE_BYTES];
};

struct aries_watch {
    uint32_t magic, sequence; /* odd: it is being written */
    uint64_t taken_ns; /* CLOCK_MONOTONIC */
    uint64_t progress_ns; /* likewise: when a counter of the next line was last found changed */
    uint64_t transactions, bytes, events, errors, overruns, smsg_sent, smsg_received, datagrams;
    uint32_t nics, regions, cqs, eps; /* numbers of objects; the first ones are listed */
    struct aries_watch_cq cq[ARIES_WATCH_CQS];
    struct aries_watch_ep ep[ARIES_WATCH_EPS];
    uint32_t vcs; /* number of connections listed: those that changed last, newest first */
    struct aries_watch_vc vc[ARIES_WATCH_VCS];
};

#endif
