/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* LNet on the nodes of a cluster. Without `lnet` in the scenario the functions do nothing. */
#ifndef JACQUARD_RUN_LNET_H
#define JACQUARD_RUN_LNET_H

#include "cluster/cluster.h"

void cluster_lnet_register(void); /* its finding */
/* After the networks. False: *error (g_free) is a line. */
bool cluster_lnet_create(struct cluster *cluster, char **error);
void cluster_lnet_crash_node(struct cluster *cluster, uint32_t node);
/* The node runs again: LNet starts there if it is up from the beginning. */
void cluster_lnet_boot_node(struct cluster *cluster, uint32_t node);
void cluster_lnet_end(struct cluster *cluster); /* before the ledger is closed */
/* What `lnet.show` of the scenario wanted to see, in the order of time. */
struct cluster_lnet_shown {
    sim_time_t time;
    uint32_t node;
    const char *command; /* of the scenario */
    char *text;
};
const GPtrArray *cluster_lnet_shown(const struct cluster *cluster); /* NULL: no LNet */
void cluster_lnet_publish(const struct cluster *cluster);
void cluster_lnet_destroy(struct cluster *cluster);

#endif
