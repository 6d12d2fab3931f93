/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The links of a transfer in flight whose packets take several paths. struct net_flight has room
 * for one path only.
 */
#ifndef JACQUARD_NET_MULTIPATH_H
#define JACQUARD_NET_MULTIPATH_H

#include "internal.h"

#define NET_MULTIPATH_PATHS_MAX 16

struct net_multipath {
    struct net_multipath *next;
    uint32_t links;
    struct net_passed_link passed[NET_MULTIPATH_PATHS_MAX * NET_PATH_MAX];
};

/* The network keeps it until the transfer gets it, which net_multipath_free() ends. */
struct net_multipath *net_multipath_new(struct net *net);
/* Appends the links that were just reserved for a part of the transfer; the part leaves `delay`
 * later than the first one. */
void net_multipath_append(struct net_multipath *multipath, const struct net_flight *flight,
                          sim_time_t delay);
static inline void net_multipath_give(struct net_transfer *transfer,
                                      struct net_multipath *multipath)
{
    transfer->flight.links = NET_MULTIPATH;
    transfer->flight.multipath = multipath;
}

#endif
