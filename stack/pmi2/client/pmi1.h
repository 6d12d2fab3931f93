/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* State of PMI-1 besides the client: values that are requested once and cached, because programs
 * ask often. */
#ifndef JACQUARD_PMI2_PMI1_H
#define JACQUARD_PMI2_PMI1_H

#include "client.h"

struct pmi1_state {
    char name[PMI2_JOBID_MAX + 1]; /* of the job */
    uint32_t *node_of; /* each rank; NULL: not asked for yet */
    uint32_t collectives; /* that went through the space of keys */
    struct pmi2_buffer pairs; /* of the iteration */
    struct pmi2_decoder iteration;
};

/* Of the open client; NULL: *code says why. */
struct pmi1_state *pmi2_pmi1_state_get(struct pmi2_client *client, int *code);
/* The nodes of all ranks, in the state. */
int pmi2_pmi1_nodes(struct pmi2_client *client, struct pmi1_state *state);
/* Copies a text as PMI-1 functions return it: all of it, or an error. */
int pmi2_pmi1_copy_text(const char *text, char *to, int length);
/* Processes on the caller's node; the first `room` of them, ascending, in `ranks`. */
int pmi2_pmi1_clique(int *ranks, int room, int *size);

#endif
