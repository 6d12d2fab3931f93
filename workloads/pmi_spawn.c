/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Jobs that spawn jobs, as a chain: rank 0 of each job starts the next one from the scenario's
 * spawnable job `link`, whose ranks run this workload, too. Parent and child read each other's
 * pairs. Or a spawn must fail, and say why for each process.
 */
#include <errno.h>
#include <pmi.h>
#include <pmi2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "run/workload.h"

#define RETRY_PS (100 * 1000 * 1000ull) /* ps, for a pair that is not there yet */

static const struct workload_arg args[] = {
    {"depth", ARG_COUNT, "1", "0", "60", NULL, "jobs that follow this one in the chain"},
    {"generation", ARG_COUNT, "0", "0", "60", NULL, "jobs before this one; the chain counts them"},
    {"ranks", ARG_COUNT, "1", "1", "100000", NULL, "of each spawned job"},
    {"api", ARG_CHOICE, "pmi2", NULL, NULL, "pmi2|pmi1", "PMI2_Job_Spawn or PMI_Spawn_multiple"},
    {"fails", ARG_CHOICE, "no", NULL, NULL, "no|missing|argument|many|dead",
     "the spawn must: no such job, a wrong argument, more ranks than fit, a dead node"},
    {"pause", ARG_TIME, "0", "0", "10s", NULL, "before the spawn"},
    {NULL},
};

struct link {
    struct rank *rank;
    uint64_t depth, generation, ranks;
    const char *fails;
    bool pmi1;
    char id[64], child[64];
    int *errors;
};

static int failed(const struct link *link, const char *what, int code)
{
    char why[200];

    PMI2X_Last_errmsg(why, sizeof(why));
    return rank_fail(link->rank, "%s: %s (%s)", what, PMI2X_Error_string(code), why);
}

/* ---- the spawn ------------------------------------------------------------------------------- */

#define COMMANDS 2 /* the first rank and all others, if there are such */
#define TEXTS 4

struct request {
    const char *commands[COMMANDS], **argvs[COMMANDS], *argv[TEXTS + 1];
    int argcs[COMMANDS], processes[COMMANDS], sizes[COMMANDS];
    char texts[TEXTS][48];
    int count;
};

static void make_request(const struct link *link, struct request *request)
{
    int i;

    memset(request, 0, sizeof(*request));
    request->count = link->ranks > 1 ? 2 : 1;
    snprintf(request->texts[0], 48, "depth=%llu", (unsigned long long)link->depth - 1);
    snprintf(request->texts[1], 48, "generation=%llu", (unsigned long long)link->generation + 1);
    snprintf(request->texts[2], 48, "ranks=%llu", (unsigned long long)link->ranks);
    snprintf(request->texts[3], 48, "api=%s", link->pmi1 ? "pmi1" : "pmi2");
    if (strcmp(link->fails, "argument") == 0)
        snprintf(request->texts[0], 48, "depth=deep");
    for (i = 0; i < TEXTS; i++)
        request->argv[i] = request->texts[i];
    for (i = 0; i < request->count; i++) {
        request->commands[i] = strcmp(link->fails, "missing") == 0 ? "no_such_job" : "link";
        request->argvs[i] = request->argv;
        request->argcs[i] = TEXTS;
        request->processes[i] = i == 0 ? 1 : (int)link->ranks - 1;
    }
}

static int call_spawn(struct link *link, struct request *request)
{
    char key[] = "parent";
    const PMI_keyval_t pair = {key, link->id};
    const struct MPID_Info info = {.key = key, .value = link->id}, *preput[1] = {&info};

    if (link->pmi1)
        return PMI_Spawn_multiple(request->count, request->commands, request->argvs,
                                  request->processes, request->sizes, NULL, 1, &pair, link->errors);
    return PMI2_Job_Spawn(request->count, request->commands, request->argcs, request->argvs,
                          request->processes, request->sizes, NULL, 1, preput, link->child,
                          sizeof(link->child), link->errors);
}

/* Nothing was started: at least one process could not be started, and the others were not tried. */
static int check_failure(const struct link *link, int code)
{
    static const struct {
        const char *fails;
        int error;
    } wanted[] = {{"missing", ENOENT}, {"argument", EINVAL}, {"many", EAGAIN}, {"dead", EHOSTDOWN}};
    uint64_t i, count = 0;
    size_t which = 0;

    if (code == PMI2_SUCCESS)
        return rank_fail(link->rank, "the spawn succeeded");
    while (strcmp(wanted[which].fails, link->fails) != 0)
        which++;
    for (i = 0; i < link->ranks; i++) {
        if (link->errors[i] == wanted[which].error)
            count++;
        else if (link->errors[i] != ECANCELED)
            return rank_fail(link->rank, "process %llu: error %d", (unsigned long long)i,
                             link->errors[i]);
    }
    rank_count(link->rank, "refused", count);
    return count > 0 ? 0 : rank_fail(link->rank, "no process has error %d", wanted[which].error);
}

/* Repeats a get: the other job may not have fenced yet. */
static int wait_for_pair(const struct link *link, const char *job, const char *key,
                         const char *wanted)
{
    char found[256];
    int length;

    while (PMI2_KVS_Get(job, PMI2_ID_NULL, key, found, sizeof(found), &length) != PMI2_SUCCESS) {
        rank_count(link->rank, "misses", 1);
        rank_compute(RETRY_PS);
    }
    return strcmp(found, wanted) == 0 ? 0
                                      : rank_fail(link->rank, "%s of job %s is \"%s\", not \"%s\"",
                                                  key, job, found, wanted);
}

static int check_child(const struct link *link)
{
    char greeting[64];
    uint64_t i;

    for (i = 0; i < link->ranks; i++)
        if (link->errors[i] != 0)
            return rank_fail(link->rank, "process %llu: error %d", (unsigned long long)i,
                             link->errors[i]);
    if (link->pmi1) /* PMI-1 does not return the name of the job */
        return 0;
    if (strcmp(link->child, link->id) == 0)
        return rank_fail(link->rank, "the child has the id of its parent");
    snprintf(greeting, sizeof(greeting), "generation %llu",
             (unsigned long long)link->generation + 1);
    return wait_for_pair(link, link->child, "parent", link->id) != 0 ||
                   wait_for_pair(link, link->child, "greeting", greeting) != 0
               ? -1
               : 0;
}

static int spawn(struct link *link)
{
    struct request request;
    uint64_t began;
    int code, status;

    rank_compute(rank_arg_ps(link->rank, "pause"));
    make_request(link, &request);
    link->errors = malloc(link->ranks * sizeof(int));
    if (link->errors == NULL)
        return rank_fail(link->rank, "no memory");
    memset(link->errors, 0xff, link->ranks * sizeof(int));
    began = rank_now();
    code = call_spawn(link, &request);
    rank_record_latency(link->rank, "spawn", rank_now() - began);
    if (strcmp(link->fails, "no") != 0)
        status = check_failure(link, code);
    else if (code != PMI2_SUCCESS)
        status = failed(link, "spawn", code);
    else
        status = check_child(link);
    free(link->errors);
    return status;
}

/* ---- neither ends before the other has seen it ----------------------------------------------- */

static void name_of(uint64_t generation, char name[32])
{
    snprintf(name, 32, "generation-%llu", (unsigned long long)generation);
}

/* The child publishes its name when it has seen its parent. */
static int show(const struct link *link)
{
    char name[32];
    int code;

    name_of(link->generation, name);
    code = PMI2_Nameserv_publish(name, NULL, link->id);
    return code == PMI2_SUCCESS ? 0 : failed(link, "publish", code);
}

/* The parent takes it back when it has seen the child. */
static void release_child(const struct link *link)
{
    char name[32];

    name_of(link->generation + 1, name);
    while (PMI2_Nameserv_unpublish(name, NULL) != PMI2_SUCCESS)
        rank_compute(RETRY_PS);
}

static void wait_for_parent(const struct link *link)
{
    char name[32], id[256];

    name_of(link->generation, name);
    while (PMI2_Nameserv_lookup(name, NULL, id, sizeof(id)) == PMI2_SUCCESS)
        rank_compute(RETRY_PS);
}

/* ---- a job of the chain ---------------------------------------------------------------------- */

static int check_attributes(const struct link *link, int spawned, int size, int id, int appnum)
{
    bool child = link->generation > 0;

    if ((spawned != 0) != child)
        return rank_fail(link->rank, "spawned is %d in generation %llu", spawned,
                         (unsigned long long)link->generation);
    if ((uint32_t)size != rank_size(link->rank) || (uint32_t)id != rank_id(link->rank))
        return rank_fail(link->rank, "is rank %d of %d", id, size);
    if (child && (uint64_t)size != link->ranks)
        return rank_fail(link->rank, "%d ranks instead of %llu", size,
                         (unsigned long long)link->ranks);
    if (appnum != (child && id > 0))
        return rank_fail(link->rank, "appnum is %d", appnum);
    return 0;
}

/* Reads the pair that was put at the spawn, before any fence, and then the parent's own pair. */
static int greet_parent(const struct link *link)
{
    char parent[64], greeting[64];
    int length, code;

    code = PMI2_KVS_Get(NULL, PMI2_ID_NULL, "parent", parent, sizeof(parent), &length);
    if (code != PMI2_SUCCESS)
        return failed(link, "the pair that the parent put", code);
    if (strcmp(parent, link->id) == 0)
        return rank_fail(link->rank, "has the id of its parent");
    code = PMI2_Job_Connect(parent, NULL); /* they are connected already */
    if (code != PMI2_SUCCESS)
        return failed(link, "connect", code);
    snprintf(greeting, sizeof(greeting), "generation %llu",
             (unsigned long long)link->generation - 1);
    return wait_for_pair(link, parent, "greeting", greeting);
}

static int take_part(struct link *link)
{
    char greeting[64];
    int code;

    if (link->generation > 0 && greet_parent(link) != 0)
        return 1;
    snprintf(greeting, sizeof(greeting), "generation %llu", (unsigned long long)link->generation);
    code = rank_id(link->rank) == 0 ? PMI2_KVS_Put("greeting", greeting) : PMI2_SUCCESS;
    if (code == PMI2_SUCCESS)
        code = PMI2_KVS_Fence();
    if (code != PMI2_SUCCESS)
        return failed(link, "fence", code);
    if (rank_id(link->rank) == 0 && link->generation > 0 && show(link) != 0)
        return 1;
    if (rank_id(link->rank) == 0 && link->depth > 0) {
        if (spawn(link) != 0)
            return 1;
        if (strcmp(link->fails, "no") == 0)
            release_child(link);
    }
    if (rank_id(link->rank) == 0 && link->generation > 0)
        wait_for_parent(link);
    code = PMI2_KVS_Fence();
    if (code != PMI2_SUCCESS)
        return failed(link, "fence behind the spawn", code);
    rank_count(link->rank, "checked", 1);
    return PMI2_Finalize() != PMI2_SUCCESS;
}

static int run(struct rank *rank)
{
    struct link link = {
        .rank = rank,
        .depth = rank_arg_count(rank, "depth"),
        .generation = rank_arg_count(rank, "generation"),
        .ranks = rank_arg_count(rank, "ranks"),
        .fails = rank_arg_choice(rank, "fails"),
        .pmi1 = strcmp(rank_arg_choice(rank, "api"), "pmi1") == 0,
    };
    int spawned, size, id, appnum, code;

    code = PMI2_Init(&spawned, &size, &id, &appnum);
    if (code != PMI2_SUCCESS)
        return failed(&link, "init", code);
    if (check_attributes(&link, spawned, size, id, appnum) != 0)
        return 1;
    code = PMI2_Job_GetId(link.id, sizeof(link.id));
    if (code != PMI2_SUCCESS)
        return failed(&link, "id of the job", code);
    return take_part(&link);
}

static const struct workload workload = {
    .name = "pmi_spawn",
    .meaning = "PMI-2: each job spawns the next; both check what they see of each other",
    .metrics = "spawn (ps), checked, misses, refused (processes that could not start)",
    .args = args,
    .main = run,
};
WORKLOAD(workload)
