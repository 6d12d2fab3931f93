/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A workload of a user's own, as a shared object, that behaves as its argument says. */
#include <gni_pub.h>
#include <string.h>
#include "run/workload.h"

static const struct workload_arg args[] = {
    {"behaviour", ARG_CHOICE, "good", NULL, NULL,
     "good|fails|exits|undeclared|deadlock|latecomer|livelock|sizes|overflow", "how it ends"},
    {"ranks", ARG_COUNT, "0", NULL, NULL, NULL, "ranks that behave so; 0: all"},
    {NULL},
};

/* Touches the stack page by page, as a real recursion does. */
static int overflow(volatile char *above, unsigned depth)
{
    volatile char page[4096];

    page[0] = above[0];
    return depth == 0 ? page[0] : overflow(page, depth - 1) + page[0];
}

/* For an event that nobody sends. */
static int wait_forever(struct rank *rank)
{
    gni_cdm_handle_t cdm;
    gni_nic_handle_t nic;
    gni_cq_handle_t queue;
    gni_cq_entry_t event;
    uint32_t address;

    if (GNI_CdmCreate(rank_id(rank), rank_ptag(rank), rank_cookie(rank), GNI_CDM_MODE_ERR_NO_KILL,
                      &cdm) != GNI_RC_SUCCESS ||
        GNI_CdmAttach(cdm, 0, &address, &nic) != GNI_RC_SUCCESS ||
        GNI_CqCreate(nic, 8, 0, GNI_CQ_BLOCKING, NULL, NULL, &queue) != GNI_RC_SUCCESS)
        return rank_fail(rank, "no queue");
    return GNI_CqWaitEvent(queue, UINT64_MAX, &event) != GNI_RC_SUCCESS;
}

static int run(struct rank *rank)
{
    const char *behaviour = rank_arg_choice(rank, "behaviour");
    uint64_t ranks = rank_arg_count(rank, "ranks");
    uint8_t all[4096] = {0};

    rank_count(rank, "started", 1);
    if (ranks != 0 && rank_id(rank) >= ranks)
        behaviour = "good";
    if (strcmp(behaviour, "fails") == 0)
        return rank_fail(rank, "found %d of %d", 1, 2);
    if (strcmp(behaviour, "exits") == 0)
        return 7;
    if (strcmp(behaviour, "undeclared") == 0)
        return rank_arg_count(rank, "nonsense") != 0;
    if (strcmp(behaviour, "sizes") == 0) {
        rank_allgather(rank, &rank, all, 1 + rank_id(rank) % 2);
        return 0;
    }
    if (strcmp(behaviour, "overflow") == 0)
        return overflow((volatile char *)all, 1000) != 0;
    while (strcmp(behaviour, "livelock") == 0)
        rank_compute(1000 + (rank_now() & 1));
    if (strcmp(behaviour, "deadlock") == 0)
        return wait_forever(rank);
    if (strcmp(behaviour, "latecomer") == 0)
        rank_barrier(rank); /* one more than the others */
    rank_compute(1000000);
    rank_barrier(rank);
    return 0;
}

static const struct workload program = {
    .name = "behaviours",
    .meaning = "ends as it is told",
    .metrics = "started (count)",
    .args = args,
    .main = run,
};
WORKLOAD(program)
