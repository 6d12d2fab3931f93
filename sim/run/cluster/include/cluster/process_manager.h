/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The process manager, as the cluster uses it; pmi/ implements it. Nothing exists before a rank
 * uses PMI or exchanges something. */
#ifndef JACQUARD_RUN_PROCESS_MANAGER_H
#define JACQUARD_RUN_PROCESS_MANAGER_H

#include "cluster/cluster.h"

void pmi_begin(struct cluster *cluster);
void pmi_rank_left(struct rank *rank);
void pmi_ranks_are_over(struct cluster *cluster);
void pmi_end(struct cluster *cluster);
void pmi_rank_free(struct rank *rank);
/* The PMI id of the job with this index in the cluster. */
void pmi_name_job(size_t index, char id[16]);
void pmi_publish_counters(const struct cluster *cluster);
/* Publishes `mine` to the job; returns when all live ranks have published. False: it is not
 * possible. */
bool pmi_publish(struct rank *rank, const void *mine, size_t bytes, uint64_t generation);
/* What they published, by rank; the part of a rank that published nothing is left as it is. */
void pmi_collect(const struct rank *rank, uint64_t generation, uint8_t *all, size_t bytes);

#endif
