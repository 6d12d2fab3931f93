/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * PMI-2 beside its usual path: a key that is put twice before one fence, keys that nobody has put,
 * values of the greatest length, ranks that come to a fence at very different times, services that
 * nobody publishes, the node of each rank, node attributes that several ranks wait for, and the
 * ring.
 */
#include <pmi2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "run/workload.h"

static const struct workload_arg args[] = {
    {"rounds", ARG_COUNT, "3", "1", "1000", NULL, "fences"},
    {"names", ARG_COUNT, "0", "0", "100000", NULL,
     "rank 0 publishes a service so often, and takes it back each time"},
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

/* ---- the node -------------------------------------------------------------------------------- */

/* The ranks of the own node, as those that say so: their number, and the last one. */
static int neighbours(struct rank *rank, uint32_t *count, uint32_t *last)
{
    uint32_t mine = rank_node(rank), *nodes = calloc(rank_size(rank), sizeof(mine)), id;
    char text[32];
    int found = 0, code, listed = 0, *list = calloc(rank_size(rank), sizeof(int));

    if (nodes == NULL || list == NULL)
        return rank_fail(rank, "no memory");
    rank_allgather(rank, &mine, nodes, sizeof(mine));
    for (*count = id = 0; id < rank_size(rank); id++)
        if (nodes[id] == mine) {
            ++*count;
            *last = id;
        }
    code = PMI2_Info_GetNodeAttr("localRanksCount", text, sizeof(text), &found, 0);
    if (code == PMI2_SUCCESS && (!found || strtoul(text, NULL, 10) != *count))
        code = rank_fail(rank, "localRanksCount is %s, not %u", found ? text : "missing", *count);
    if (code == PMI2_SUCCESS)
        code = PMI2_Info_GetNodeAttrIntArray("localRanks", list, (int)rank_size(rank), &listed,
                                             &found);
    if (code == PMI2_SUCCESS && (!found || listed != (int)*count || list[listed - 1] != (int)*last))
        code = rank_fail(rank, "localRanks has %d ranks, not %u", listed, *count);
    free(nodes);
    free(list);
    return code == PMI2_SUCCESS ? 0 : failed(rank, "localRanks", code);
}

/* The last rank of a node puts an attribute late, when the others wait for it; then it replaces it.
 */
static int attributes(struct rank *rank, uint64_t round)
{
    char name[32], value[64], found_value[64];
    uint32_t count = 0, last = 0;
    int found = 0, code, status = neighbours(rank, &count, &last);

    if (status != 0)
        return status;
    snprintf(name, sizeof(name), "word-%llu", (unsigned long long)round);
    snprintf(value, sizeof(value), "node %u, round %llu", rank_node(rank),
             (unsigned long long)round);
    if (rank_id(rank) == last) {
        rank_compute(300000000); /* 300 µs */
        code = PMI2_Info_PutNodeAttr(name, value);
        if (code != PMI2_SUCCESS)
            return failed(rank, "node attribute", code);
    }
    code = PMI2_Info_GetNodeAttr(name, found_value, sizeof(found_value), &found, 1);
    if (code != PMI2_SUCCESS)
        return failed(rank, "node attribute", code);
    if (!found || strcmp(found_value, value) != 0)
        return rank_fail(rank, "%s is not what was put", name);
    code =
        PMI2_Info_GetNodeAttr("nobody-has-put-this", found_value, sizeof(found_value), &found, 0);
    return code == PMI2_SUCCESS && !found
               ? 0
               : rank_fail(rank, "an attribute was found that nobody has put");
}

/* ---- the ring -------------------------------------------------------------------------------- */

/* Each rank has a place, and the neighbours are those that have the places beside it. */
static int ring(struct rank *rank, uint64_t round)
{
    char mine[32], left[32], right[32];
    uint32_t size = rank_size(rank), *ids = calloc(size, sizeof(*ids)), expected[2] = {0, 0}, id;
    int place = -1, count = 0, *places = calloc(size, sizeof(*places)), code;
    unsigned beside[2] = {0, 0};

    if (ids == NULL || places == NULL)
        return rank_fail(rank, "no memory");
    snprintf(mine, sizeof(mine), "%u in %llu", rank_id(rank), (unsigned long long)round);
    code = PMIX_Ring(mine, &place, &count, left, right, sizeof(mine));
    rank_allgather(rank, &place, places, sizeof(place));
    for (id = 0; id < size; id++)
        if (places[id] >= 0 && places[id] < (int)size)
            ids[places[id]] = id + 1; /* 0: nobody has the place */
    if (code == PMI2_SUCCESS && place >= 0 && place < (int)size) {
        expected[0] = ids[(place + (int)size - 1) % (int)size];
        expected[1] = ids[(place + 1) % (int)size];
        sscanf(left, "%u", &beside[0]);
        sscanf(right, "%u", &beside[1]);
    }
    if (code != PMI2_SUCCESS)
        code = failed(rank, "ring", code);
    else if (count != (int)size || place < 0 || place >= (int)size ||
             beside[0] + 1 != expected[0] || beside[1] + 1 != expected[1])
        code = rank_fail(rank, "at place %d of %d, between \"%s\" and \"%s\"", place, count, left,
                         right);
    free(ids);
    free(places);
    return code;
}

/* ---- together -------------------------------------------------------------------------------- */

static int check_names(struct rank *rank)
{
    char port[PMI2_MAX_VALLEN];
    int code = PMI2_Nameserv_lookup("nobody-publishes-this", NULL, port, sizeof(port));

    return code != PMI2_SUCCESS ? 0 : rank_fail(rank, "a service was found that nobody publishes");
}

/* A server has room for 4096 names of a job at a time, which those that were taken back do not use.
 */
static int publish_again(struct rank *rank)
{
    uint64_t count = rank_id(rank) == 0 ? rank_arg_count(rank, "names") : 0, i;

    for (i = 0; i < count; i++) {
        int code = PMI2_Nameserv_publish("again-and-again", NULL, "port");

        if (code == PMI2_SUCCESS)
            code = PMI2_Nameserv_unpublish("again-and-again", NULL);
        if (code != PMI2_SUCCESS)
            return failed(rank, "publishing once more", code);
    }
    rank_count(rank, "published", count);
    return 0;
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
        if (status == 0)
            status = attributes(rank, round);
        if (status == 0)
            status = ring(rank, round);
        rank_progress(rank);
    }
    if (status == 0)
        status = check_names(rank);
    if (status == 0)
        status = publish_again(rank);
    code = PMI2_Finalize();
    return status != 0 || code != PMI2_SUCCESS;
}

static const struct workload pmi_edges = {
    .name = "pmi_edges",
    .meaning =
        "PMI-2: puts that replace others, missing keys and services, late ranks, attributes, ring",
    .metrics = "published (names)",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(pmi_edges)
