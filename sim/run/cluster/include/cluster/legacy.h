/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The small networks of a cluster (legacy/network.h): devices of the nodes, processes, costs. */
#ifndef JACQUARD_RUN_LEGACY_H
#define JACQUARD_RUN_LEGACY_H

#include "cluster/cluster.h"

/* The devices of a network that has a kind. False: *error (g_free) is a line. */
bool cluster_legacy_create(struct cluster *cluster, struct cluster_network *network,
                           const char *path, char **error);
/* A rank has ended: its process leaves the devices of its node. */
void cluster_legacy_rank_left(const struct rank *rank);

#endif
