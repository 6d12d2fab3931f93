/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * PMI-2 beside its usual path: a key that is put twice before one fence, keys that nobody has put,
 * values of the greatest length, ranks that come to a fence at very different times, services that
 * nobody publishes, and the node of each rank.
 */
#include <pmi2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "run/workload.h"

static const struct workload_arg args[] = {
    {"rounds", ARG_COUNT, "3", "1", "1000", NULL, "fences"},
    {NULL},
};

static int failed(struct rank *rank, const char *what, int code)
{
    char why[200];

    PMI2X_Last_errmsg(why, sizeof(why));
    return rank_fail(rank, "%s: %s (%s)", what, PMI2X_Error_string(code), why);
}

static void make_value(uint32_t id, uint64_t round, char value[PMI2_MAX_VALLEN])
{
    size_t length = round % 2 == 0 ? 40 : PMI2_MAX_VALLEN - 1, i;
    int head = snprintf(value, PMI2_MAX_VALLEN, "%u in round %llu ", id, (unsigned long long)round);

    for (i = (size_t)head; i < length; i++)
        value[i] = (char)('a' + (id + round + i) % 26);
    value[length] = '\0';
}

/* The second value is the one that counts. */
static int put_twice(struct rank *rank, uint64_t round)
{
    char key[64], value[PMI2_MAX_VALLEN];
    int code;

    snprintf(key, sizeof(key), "twice-%u", rank_id(rank));
    code = PMI2_KVS_Put(key, "an old value");
    make_value(rank_id(rank), round, value);
    if (code == PMI2_SUCCESS)
        code = PMI2_KVS_Put(key, value);
    return code == PMI2_SUCCESS ? 0 : failed(rank, "put", code);
}

static int get_all(struct rank *rank, uint64_t round)
{
    char key[64], value[PMI2_MAX_VALLEN], found[PMI2_MAX_VALLEN];
    uint32_t id;
    int length, code;

    for (id = 0; id < rank_size(rank); id++) {
        snprintf(key, sizeof(key), "twice-%u", id);
        make_value(id, round, value);
        code = PMI2_KVS_Get(NULL, (int)id, key, found, sizeof(found), &length);
        if (code != PMI2_SUCCESS)
            return failed(rank, "get", code);
        if (strcmp(found, value) != 0 || length != (int)strlen(value))
            return rank_fail(rank, "%s in round %llu is not what was put last", key,
                             (unsigned long long)round);
    }
    code = PMI2_KVS_Get(NULL, 0, "nobody-has-put-this", found, sizeof(found), &length);
    return code != PMI2_SUCCESS ? 0 : rank_fail(rank, "a key was found that nobody has put");
}

/* Ranks come one after the other; the last one comes late. None may leave before that. */
static int fence(struct rank *rank, uint64_t round)
{
    uint32_t turn = (uint32_t)(rank_id(rank) + round) % rank_size(rank);
    uint64_t mine[2], *all = malloc(rank_size(rank) * sizeof(mine)), last = 0, i;
    int code, status = 0;

    rank_compute((uint64_t)turn * 20000000 + (turn + 1 == rank_size(rank)) * 500000000ull);
    mine[0] = rank_now();
    code = PMI2_KVS_Fence();
    mine[1] = rank_now();
    if (code != PMI2_SUCCESS)
        status = failed(rank, "fence", code);
    rank_allgather(rank, mine, all, sizeof(mine));
    for (i = 0; i < rank_size(rank); i++)
        last = all[2 * i] > last ? all[2 * i] : last;
    if (status == 0 && mine[1] < last)
        status = rank_fail(rank, "left a fence before the last rank had entered it");
    free(all);
    return status;
}

static int check_names(struct rank *rank)
{
    char port[PMI2_MAX_VALLEN];
    int code = PMI2_Nameserv_lookup("nobody-publishes-this", NULL, port, sizeof(port));

    return code != PMI2_SUCCESS ? 0 : rank_fail(rank, "a service was found that nobody publishes");
}

static int run(struct rank *rank)
{
    uint64_t rounds = rank_arg_count(rank, "rounds"), round;
    int spawned, size, id, appnum, code = PMI2_Init(&spawned, &size, &id, &appnum), status = 0;

    if (code != PMI2_SUCCESS)
        return failed(rank, "init", code) != 0;
    for (round = 1; round <= rounds && status == 0; round++) {
        status = put_twice(rank, round);
        if (status == 0)
            status = fence(rank, round);
        if (status == 0)
            status = get_all(rank, round);
        rank_progress(rank);
    }
    if (status == 0)
        status = check_names(rank);
    code = PMI2_Finalize();
    return status != 0 || code != PMI2_SUCCESS;
}

static const struct workload pmi_edges = {
    .name = "pmi_edges",
    .meaning = "PMI-2: puts that replace others, missing keys and services, late ranks, verified",
    .metrics = "none",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(pmi_edges)
