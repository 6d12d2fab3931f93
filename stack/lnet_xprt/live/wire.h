/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A crossing to the driver of a daemon, on a SOCK_SEQPACKET connection, which is one descriptor of
 * the driver. Both sides are on one machine, so numbers have its byte order.
 *
 * A request is one message: the head, the verb's parameters (_IOC_SIZE bytes), and regions of the
 * process's memory that the verb reads, each with a head. The reply is one message: its head, the
 * parameters if the verb returns some, and what the verb wrote to the process's memory. The first
 * request is M0_LNET_ARENA_ATTACH with the descriptor of a sealed memory file; all that the process
 * shares lies in there. Verbs that wait never cross: events are in the shared memory, and the
 * daemon wakes the futex in the low half of cbcq_count when the first one arrives and ctm_asleep is
 * set.
 */
#ifndef JACQUARD_M0_LIVE_WIRE_H
#define JACQUARD_M0_LIVE_WIRE_H

#include <stdint.h>

#include "net/lnet/lnet_ioctl.h"

struct m0_live_request {
    uint32_t lr_cmd;
    uint32_t lr_regions;
};
struct m0_live_region {
    uint64_t lg_address;
    uint64_t lg_bytes;
};
struct m0_live_reply {
    int64_t lp_rc;
    uint64_t lp_bytes; /* written behind the parameters */
};

enum {
    M0_LIVE_REGIONS_MAX = 2,
    M0_LIVE_REGION_BYTES = 4096,
    M0_LIVE_PARAMS_MAX = 1024,
    M0_LIVE_REQUEST_MAX =
        sizeof(struct m0_live_request) + M0_LIVE_PARAMS_MAX +
        M0_LIVE_REGIONS_MAX * (sizeof(struct m0_live_region) + M0_LIVE_REGION_BYTES),
    M0_LIVE_OUT_MAX = 65536,
};
#define M0_LIVE_ARENA_MAX (64ull << 30)

/* The driver's counters: a request that belongs to no descriptor's domain. */
struct m0_lnet_dev_live_stats_params {
    uint32_t dls_files, dls_tms, dls_bufs, dls_bevs; /* now */
    uint64_t dls_pinned_pages; /* now */
    uint64_t dls_verbs, dls_operations; /* so far */
    uint64_t dls_internal_errors; /* of the core, so far */
};
#define M0_LNET_LIVE_STATS M0_LNET_IOWR(0x4e, live_stats)

/* The last request of a connection: when the reply comes, everything of the domain has been
 * released.
 */
#define M0_LNET_LIVE_CLOSE _IO(M0_LNET_IOC_MAGIC, 0x4f)

/* M0_LNET_SQ_SUBMIT that has a reply only if it failed, and a late one: whoever reads the reply of
 * another request may find it first. */
#define M0_LNET_LIVE_SUBMIT M0_LNET_IOW(0x4d, tm)
#define M0_LIVE_LATE UINT64_MAX /* lp_bytes of a late reply, which is its head */

_Static_assert(sizeof(struct m0_lnet_dev_bev_bless_n_params) <= M0_LIVE_PARAMS_MAX, "room");

#endif
