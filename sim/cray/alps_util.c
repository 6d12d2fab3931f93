/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "alps/libalpsutil.h"
#include "cray/host.h"

static bool list(int **to, uint32_t count, int value)
{
    uint32_t i;

    if (to == NULL)
        return true;
    *to = calloc(count, sizeof(**to));
    for (i = 0; *to != NULL && i < count; i++)
        (*to)[i] = value;
    return *to != NULL;
}

static int by_number(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

    return (a > b) - (a < b);
}

/* Different nodes of all ranks. */
static int count_nodes(const struct cray_process *self)
{
    uint32_t *nids = calloc(self->job->size, sizeof(*nids)), rank, size = self->job->size;
    int count = 0;

    for (rank = 0; nids != NULL && rank < size; rank++)
        nids[rank] = cray_host()->nid_of(self, rank);
    if (nids != NULL)
        qsort(nids, size, sizeof(*nids), by_number);
    for (rank = 0; nids != NULL && rank < size; rank++)
        count += rank == 0 || nids[rank] != nids[rank - 1];
    free(nids);
    return count;
}

static void describe(const struct cray_process *self, alpsAppLayout_t *layout)
{
    uint32_t nid = cray_host()->nid_of(self, self->rank), rank;

    memset(layout, 0, sizeof(*layout));
    layout->firstPe = -1;
    layout->numCmds = 1;
    layout->numNodes = count_nodes(self);
    for (rank = 0; rank < self->job->size; rank++) {
        if (cray_host()->nid_of(self, rank) != nid)
            continue;
        if (layout->firstPe < 0)
            layout->firstPe = (int)rank;
        layout->numPesHere++;
    }
    assert(layout->numPesHere > 0); /* the caller, at least */
}

static bool place(const struct cray_process *self, int **to)
{
    uint32_t rank;

    if (!list(to, self->job->size, 0))
        return false;
    for (rank = 0; to != NULL && rank < self->job->size; rank++)
        (*to)[rank] = (int)cray_host()->nid_of(self, rank);
    return true;
}

static void forget(int **one)
{
    if (one == NULL)
        return;
    free(*one);
    *one = NULL;
}

int alps_get_placement_info(uint64_t apid, alpsAppLayout_t *layout, int **placementList,
                            int **targetNids, int **targetPes, int **targetLen,
                            struct in_addr **targetIps, int **startPe, int **totalPes,
                            int **nodePes, int **peCpus)
{
    const struct cray_process *self = cray_process_in_job();
    int **lists[] = {placementList, targetNids, targetPes, targetLen,
                     startPe,       totalPes,   nodePes,   peCpus};
    bool done;
    size_t i;

    if (self == NULL || layout == NULL || apid != self->job->apid)
        return -1;
    for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        if (lists[i] != NULL)
            *lists[i] = NULL;
    describe(self, layout);
    done = place(self, placementList) && list(startPe, 1, 0) &&
           list(targetNids, 1, (int)cray_host()->nid_of(self, 0)) && list(targetPes, 1, 0) &&
           list(targetLen, 1, 1) && list(totalPes, 1, (int)self->job->size) &&
           list(nodePes, 1, layout->numPesHere) && list(peCpus, 1, 1);
    if (done && targetIps != NULL) {
        *targetIps = calloc(1, sizeof(**targetIps)); /* nodes have no IP address here */
        done = *targetIps != NULL;
    }
    for (i = 0; !done && i < sizeof(lists) / sizeof(lists[0]); i++)
        forget(lists[i]);
    return done ? 1 : -1;
}
