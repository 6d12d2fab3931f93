/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "pmi_state.h"

#include <stdio.h>
#include <stdlib.h>

struct cray_process *pmi_self(void)
{
    struct cray_process *self = cray_process_self();

    return self->pmi != NULL && self->pmi->started ? self : NULL;
}

struct cray_process *pmi_start(void)
{
    struct cray_process *self = cray_process_self();

    if (self->pmi == NULL) {
        self->pmi = calloc(1, sizeof(*self->pmi));
        if (self->pmi == NULL)
            return NULL;
        self->pmi->unpublished_end = &self->pmi->unpublished;
    }
    self->pmi->started = true;
    return self;
}

/* What was published stays for the others. */
void pmi_stop(struct cray_process *self)
{
    pmi_state_free(self->pmi);
    self->pmi = NULL;
}

void pmi_state_free(struct pmi_state *state)
{
    struct pmi_pair *pair, *next;

    for (pair = state != NULL ? state->unpublished : NULL; pair != NULL; pair = next) {
        next = pair->next;
        free(pair);
    }
    free(state);
}

uint32_t pmi_local_ranks(const struct cray_process *self, int *ranks, uint32_t max)
{
    uint32_t nid = cray_host()->nid_of(self, self->rank), rank, count = 0;

    for (rank = 0; rank < self->job->size; rank++) {
        if (cray_host()->nid_of(self, rank) != nid)
            continue;
        if (count < max)
            ranks[count] = (int)rank;
        count++;
    }
    return count;
}

uint32_t pmi_local_count(const struct cray_process *self)
{
    return pmi_local_ranks(self, NULL, 0);
}

/*
 * Blocks (first node, nodes, ranks on each): ranks in order, so runs of equal length on different
 * nodes are one block. Node numbers are those of the job: in the order in which its ranks use them.
 */
bool pmi_mapping(const struct cray_process *self, char *text, size_t size)
{
    uint32_t rank = 0, ranks = self->job->size, node = 0, first = 0, nodes = 0, each = 0, run;
    size_t at = (size_t)snprintf(text, size, "(vector");

    while (rank < ranks) {
        uint32_t nid = cray_host()->nid_of(self, rank);

        for (run = 1; rank + run < ranks && cray_host()->nid_of(self, rank + run) == nid;)
            run++;
        if (nodes != 0 && run != each) {
            at += (size_t)snprintf(text + at, size - at, ",(%u,%u,%u)", first, nodes, each);
            nodes = 0;
            if (at >= size)
                return false;
        }
        if (nodes++ == 0)
            first = node;
        each = run;
        node++;
        rank += run;
    }
    at += (size_t)snprintf(text + at, size - at, ",(%u,%u,%u))", first, nodes, each);
    return at < size;
}
