/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A workload of a user's own, as a shared object, that behaves as its argument says. */
#include <gni_pub.h>
#include <string.h>
#include "run/workload.h"

static const struct workload_arg args[] = {
    {"behaviour", ARG_CHOICE, "good", NULL, NULL,
     "good|fails|exits|undeclared|deadlock|latecomer|livelock|sizes|overflow|alarm", "how it ends"},
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

/* A queue to which nothing is sent; NULL: the run has failed. */
static gni_cq_handle_t silent_queue(struct rank *rank)
{
    gni_cdm_handle_t cdm;
    gni_nic_handle_t nic;
    gni_cq_handle_t queue;
    uint32_t address;

    if (GNI_CdmCreate(rank_id(rank), rank_ptag(rank), rank_cookie(rank), GNI_CDM_MODE_ERR_NO_KILL,
                      &cdm) == GNI_RC_SUCCESS &&
        GNI_CdmAttach(cdm, 0, &address, &nic) == GNI_RC_SUCCESS &&
        GNI_CqCreate(nic, 8, 0, GNI_CQ_BLOCKING, NULL, NULL, &queue) == GNI_RC_SUCCESS)
        return queue;
    rank_fail(rank, "no queue");
    return NULL;
}

static int wait_forever(struct rank *rank)
{
    gni_cq_handle_t queue = silent_queue(rank);
    gni_cq_entry_t event;

    return queue == NULL || GNI_CqWaitEvent(queue, UINT64_MAX, &event) != GNI_RC_SUCCESS;
}

#define US 1000000ull

/* Waits for a word that nobody writes: the alarm ends it. */
static int rings_after(struct rank *rank, uint64_t ps, uint64_t begin)
{
    static const uint64_t word;
    uint64_t took;

    if (rank_alarm_rang(rank))
        return rank_fail(rank, "the alarm rang too early");
    if (rank_spin_until_alarm(rank, &word, 1) || !rank_alarm_rang(rank))
        return rank_fail(rank, "it did not ring");
    took = rank_now() - begin;
    return took == ps ? 0 : rank_fail(rank, "it rang after %llu ps", (unsigned long long)took);
}

/*
 * An alarm fires once after its time, not if it was cancelled, and at the last time that was set.
 */
static int alarm_clock(struct rank *rank)
{
    static const uint64_t word;
    uint64_t begin = rank_now();

    rank_alarm(rank, 10 * US);
    rank_compute(9 * US);
    if (rings_after(rank, 10 * US, begin) != 0)
        return -1;
    rank_alarm(rank, 5 * US);
    rank_alarm(rank, 0);
    rank_compute(9 * US);
    begin = rank_now();
    if (rank_alarm_rang(rank))
        return rank_fail(rank, "it rang although it was cancelled");
    rank_alarm(rank, 5 * US);
    rank_alarm(rank, 20 * US);
    rank_compute(9 * US);
    if (!rank_spin_until_alarm(rank, &word, 0) || rings_after(rank, 20 * US, begin) != 0)
        return rank_fail(rank, "a second time did not replace the first");
    return 0;
}

/* A loop that polls an empty queue is parked, and the alarm still ends it in time. */
static int alarm_ends_polling(struct rank *rank)
{
    gni_cq_handle_t queue = silent_queue(rank);
    gni_cq_entry_t event;
    uint64_t begin = rank_now(), took;

    if (queue == NULL)
        return -1;
    rank_alarm(rank, 1000 * US);
    while (!rank_alarm_rang(rank))
        if (GNI_CqGetEvent(queue, &event) != GNI_RC_NOT_DONE)
            return rank_fail(rank, "an event from nowhere");
    took = rank_now() - begin;
    if (took < 1000 * US || took > 1001 * US)
        return rank_fail(rank, "polling ended after %llu ps", (unsigned long long)took);
    rank_alarm(rank, 1000000 * US); /* does not keep the run alive */
    return 0;
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
    if (strcmp(behaviour, "alarm") == 0)
        return alarm_clock(rank) != 0 || alarm_ends_polling(rank) != 0;
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
