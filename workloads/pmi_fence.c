/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * PMI-2 as start-up code uses it: all ranks put, fence, and get what their neighbours have put. A
 * rank may be lost before the last fence: then the fence must fail on all others, which may go on
 * without it.
 */
#include <pmi2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "run/workload.h"

static const struct workload_arg args[] = {
    {"rounds", ARG_COUNT, "1", "1", "1000", NULL, "fences"},
    {"pairs", ARG_COUNT, "1", "1", "1000", NULL, "puts of each rank before each fence"},
    {"bytes", ARG_BYTES, "32", "24", "1024", NULL, "length of a value"},
    {"neighbours", ARG_COUNT, "4", "0", "1000", NULL, "ranks whose values each rank gets"},
    {"loss", ARG_CHOICE, "none", NULL, NULL, "none|exit|fault",
     "before the last fence: the last rank leaves without a word; or a fault takes some"},
    {"pause", ARG_TIME, "0", "0", "10s", NULL, "before the last fence"},
    {NULL},
};

struct fence {
    struct rank *rank;
    uint32_t id, size;
    uint64_t pairs, bytes, neighbours;
};

static int failed(const struct fence *fence, const char *what, int code)
{
    char why[200];

    PMI2X_Last_errmsg(why, sizeof(why));
    return rank_fail(fence->rank, "%s: %s (%s)", what, PMI2X_Error_string(code), why);
}

static void make_pair(const struct fence *fence, uint32_t rank, uint64_t round, uint64_t pair,
                      char key[64], char *value)
{
    int length = snprintf(value, fence->bytes + 1, "%llu.%u.%llu ", (unsigned long long)round, rank,
                          (unsigned long long)pair);

    snprintf(key, 64, "card-%u-%llu", rank, (unsigned long long)pair);
    for (; (uint64_t)length < fence->bytes; length++)
        value[length] = (char)('!' + (rank + pair + (uint64_t)length) % 90);
    value[fence->bytes] = '\0';
}

static int put(const struct fence *fence, uint64_t round)
{
    char key[64], value[1025];
    uint64_t pair;
    int code;

    for (pair = 0; pair < fence->pairs; pair++) {
        make_pair(fence, fence->id, round, pair, key, value);
        code = PMI2_KVS_Put(key, value);
        if (code != PMI2_SUCCESS)
            return failed(fence, "put", code);
    }
    return 0;
}

static int get(const struct fence *fence, uint64_t round)
{
    char key[64], value[1025], found[1025];
    uint64_t i, pair, began;
    int length, code;

    for (i = 1; i <= fence->neighbours; i++) {
        uint32_t rank = (uint32_t)((fence->id + i) % fence->size);

        for (pair = 0; pair < fence->pairs; pair++) {
            make_pair(fence, rank, round, pair, key, value);
            began = rank_now();
            code = PMI2_KVS_Get(NULL, (int)rank, key, found, sizeof(found), &length);
            if (code != PMI2_SUCCESS)
                return failed(fence, "get", code);
            rank_record_latency(fence->rank, "get", rank_now() - began);
            if (strcmp(value, found) != 0)
                return rank_fail(fence->rank, "%s is not what was put", key);
        }
    }
    return 0;
}

static int meet(const struct fence *fence, int (*function)(void), const char *metric)
{
    uint64_t began = rank_now();
    int code = function();

    rank_record_latency(fence->rank, metric, rank_now() - began);
    rank_progress(fence->rank);
    return code;
}

/* The strict fence fails on all ranks; the manager lists the lost ones; the others can complete a
 * fence of survivors. */
static int go_on_without(const struct fence *fence)
{
    char dead[1024];
    int found, code = meet(fence, PMI2_KVS_Fence, "failed_fence");

    if (code == PMI2_SUCCESS)
        return rank_fail(fence->rank, "the fence did not notice that a rank is lost");
    code = PMI2_Info_GetJobAttr("PMI_dead_processes", dead, sizeof(dead), &found);
    if (code != PMI2_SUCCESS || !found || dead[0] == '\0')
        return rank_fail(fence->rank, "nobody is said to be dead");
    code = meet(fence, PMI2X_KVS_Fence_survivors, "survivors_fence");
    rank_count(fence->rank, "survivors", code == PMI2_SUCCESS);
    return code == PMI2_SUCCESS ? 0 : failed(fence, "fence among survivors", code);
}

static int run(struct rank *rank)
{
    struct fence fence = {
        .rank = rank,
        .id = rank_id(rank),
        .size = rank_size(rank),
        .pairs = rank_arg_count(rank, "pairs"),
        .bytes = rank_arg_count(rank, "bytes"),
        .neighbours = rank_arg_count(rank, "neighbours"),
    };
    const char *loss = rank_arg_choice(rank, "loss");
    uint64_t rounds = rank_arg_count(rank, "rounds"), round, began = rank_now();
    bool lossy = strcmp(loss, "none") != 0;
    int spawned, size, id, appnum, code;

    code = PMI2_Init(&spawned, &size, &id, &appnum);
    if (code != PMI2_SUCCESS)
        return failed(&fence, "init", code);
    if ((uint32_t)size != fence.size || (uint32_t)id != fence.id)
        return rank_fail(rank, "PMI says rank %d of %d", id, size);
    rank_record_latency(rank, "init", rank_now() - began);
    for (round = 1; round <= rounds; round++) {
        if (put(&fence, round) != 0)
            return 1;
        if (round == rounds)
            rank_compute(rank_arg_ps(rank, "pause"));
        if (lossy && round == rounds) {
            if (strcmp(loss, "exit") == 0 && fence.id == fence.size - 1)
                return 0;
            code = go_on_without(&fence);
        } else {
            code = meet(&fence, PMI2_KVS_Fence, "fence");
            if (code != PMI2_SUCCESS)
                return failed(&fence, "fence", code);
            code = get(&fence, round);
        }
        if (code != 0)
            return 1;
    }
    code = PMI2_Finalize();
    return code == PMI2_SUCCESS ? 0 : failed(&fence, "finalize", code);
}

static const struct workload workload = {
    .name = "pmi_fence",
    .meaning = "PMI-2: all put, fence and get from neighbours; some may be lost before",
    .metrics = "init, fence, get, failed_fence, survivors_fence (ps), survivors",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(workload)
