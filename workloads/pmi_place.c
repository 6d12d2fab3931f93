/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The placement that PMI reports in the attributes of job and node must be the one of the scenario.
 */
#include <pmi.h>
#include <pmi2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "run/workload.h"

static int check_ranks(struct rank *rank)
{
    uint32_t size = rank_size(rank), i, count = 0;
    int *local = calloc(size, sizeof(*local)), length = 0, found = 0, nid, status = 0;
    char text[64];

    if (local == NULL)
        return -1;
    if (PMI2_Info_GetNodeAttrIntArray("localRanks", local, (int)size, &length, &found) != 0 ||
        !found)
        status = rank_fail(rank, "no localRanks");
    for (i = 0; i < size && status == 0; i++) {
        if (PMI_Get_nid((int)i, &nid) != PMI_SUCCESS || (uint32_t)nid != rank_node_of(rank, i))
            status = rank_fail(rank, "rank %u is said to be on node %d, is on %u", i, nid,
                               rank_node_of(rank, i));
        if (rank_node_of(rank, i) != rank_node(rank))
            continue;
        if (count >= (uint32_t)length || local[count] != (int)i)
            status = rank_fail(rank, "rank %u is not among localRanks", i);
        count++;
    }
    if (status == 0 && count != (uint32_t)length)
        status = rank_fail(rank, "too many localRanks");
    free(local);
    if (PMI2_Info_GetJobAttr("universeSize", text, sizeof(text), &found) != 0 || !found ||
        strtoul(text, NULL, 10) != size)
        status = rank_fail(rank, "universeSize is not %u", size);
    return status;
}

/* Group, chassis, slot and node on the router, in the order of the machine's numbers. */
static int check_coordinates(struct rank *rank)
{
    int dims[8], at[8], dim_count = 0, count = 0, found = 0, i;
    char topology[64] = "", levels[64] = "";
    uint32_t node = 0;

    PMI2_Info_GetJobAttr("physTopology", topology, sizeof(topology), &found);
    PMI2_Info_GetJobAttr("physTopologyLevels", levels, sizeof(levels), &found);
    if (strcmp(topology, "hierarchical") != 0 || strcmp(levels, "cartesian,complete") != 0)
        return rank_fail(rank, "topology %s of %s", topology, levels);
    if (PMI2_Info_GetJobAttrIntArray("cartDims", dims, 8, &dim_count, &found) != 0 || !found ||
        PMI2_Info_GetNodeAttrIntArray("cartCoords", at, 8, &count, &found) != 0 || !found ||
        count != dim_count)
        return rank_fail(rank, "no cartDims, or no cartCoords");
    for (i = 0; i < count; i++) {
        if (at[i] < 0 || at[i] >= dims[i])
            return rank_fail(rank, "coordinate %d is %d of %d", i, at[i], dims[i]);
        node = node * (uint32_t)dims[i] + (uint32_t)at[i];
    }
    if (node != rank_node(rank))
        return rank_fail(rank, "the coordinates are those of node %u", node);
    return 0;
}

static int run(struct rank *rank)
{
    int spawned, size, id, appnum;

    if (PMI2_Init(&spawned, &size, &id, &appnum) != PMI2_SUCCESS)
        return rank_fail(rank, "no process manager");
    if (check_ranks(rank) != 0 || check_coordinates(rank) != 0)
        return 1;
    rank_count(rank, "checked", 1);
    return PMI2_Finalize() != PMI2_SUCCESS;
}

static const struct workload workload = {
    .name = "pmi_place",
    .meaning = "PMI's attributes describe the placement and the dragonfly",
    .metrics = "checked",
    .main = run,
};
WORKLOAD(workload)
