/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * PMI-2's names across jobs: the ranks of a server job publish ports, those of a client job look
 * them up, connect with the job and read what it has put. Each server leaves when its client has
 * published a name in return.
 */
#include <pmi2.h>
#include <stdio.h>
#include <string.h>
#include "run/workload.h"

static const struct workload_arg args[] = {
    {"role", ARG_CHOICE, "server", NULL, NULL, "server|client", "publishes, or looks up"},
    {"retry", ARG_TIME, "100us", "1ns", "10s", NULL, "between two lookups of a name"},
    {NULL},
};

static int failed(struct rank *rank, const char *what, int code)
{
    char why[200];

    PMI2X_Last_errmsg(why, sizeof(why));
    return rank_fail(rank, "%s: %s (%s)", what, PMI2X_Error_string(code), why);
}

static void wait_for_name(struct rank *rank, const char *name, char port[256])
{
    while (PMI2_Nameserv_lookup(name, NULL, port, 256) != PMI2_SUCCESS) {
        rank_count(rank, "misses", 1);
        rank_compute(rank_arg_ps(rank, "retry"));
    }
}

static int serve(struct rank *rank, const char *name, const char *thanks)
{
    char port[256], job[64];
    int code;

    snprintf(port, sizeof(port), "card of rank %u; at node %u", rank_id(rank), rank_node(rank));
    code = PMI2_KVS_Put(name, port);
    if (code == PMI2_SUCCESS)
        code = PMI2_KVS_Fence();
    if (code == PMI2_SUCCESS)
        code = PMI2_Job_GetId(job, sizeof(job));
    if (code == PMI2_SUCCESS)
        code = PMI2_Nameserv_publish(name, NULL, job);
    if (code != PMI2_SUCCESS)
        return failed(rank, "publish", code);
    if (PMI2_Nameserv_publish(name, NULL, job) == PMI2_SUCCESS)
        return rank_fail(rank, "%s was published twice", name);
    wait_for_name(rank, thanks, port);
    code = PMI2_Nameserv_unpublish(name, NULL);
    return code == PMI2_SUCCESS ? 0 : failed(rank, "unpublish", code);
}

static int use(struct rank *rank, const char *name, const char *thanks)
{
    char job[256], card[256], wanted[64];
    uint64_t began = rank_now();
    int code, length;

    wait_for_name(rank, name, job);
    code = PMI2_Job_Connect(job, NULL);
    if (code != PMI2_SUCCESS)
        return failed(rank, "connect", code);
    code = PMI2_KVS_Get(job, PMI2_ID_NULL, name, card, sizeof(card), &length);
    if (code != PMI2_SUCCESS)
        return failed(rank, "get from the other job", code);
    rank_record_latency(rank, "found", rank_now() - began);
    snprintf(wanted, sizeof(wanted), "card of rank %u; ", rank_id(rank));
    if (strncmp(card, wanted, strlen(wanted)) != 0)
        return rank_fail(rank, "read \"%s\"", card);
    code = PMI2_Nameserv_publish(thanks, NULL, "thanks");
    return code == PMI2_SUCCESS ? 0 : failed(rank, "publish", code);
}

static int run(struct rank *rank)
{
    bool server = strcmp(rank_arg_choice(rank, "role"), "server") == 0;
    int spawned, size, id, appnum, code;
    char name[64], thanks[64];

    code = PMI2_Init(&spawned, &size, &id, &appnum);
    if (code != PMI2_SUCCESS)
        return failed(rank, "init", code);
    snprintf(name, sizeof(name), "service-%u", rank_id(rank));
    snprintf(thanks, sizeof(thanks), "thanks-%u", rank_id(rank));
    if ((server ? serve : use)(rank, name, thanks) != 0)
        return 1;
    if (!server) { /* a job's names end with it, so it stays until all clients are served */
        char port[256];

        while (PMI2_Nameserv_lookup(name, NULL, port, sizeof(port)) == PMI2_SUCCESS)
            rank_compute(rank_arg_ps(rank, "retry"));
    }
    rank_progress(rank);
    code = PMI2_Finalize();
    return code == PMI2_SUCCESS ? 0 : failed(rank, "finalize", code);
}

static const struct workload workload = {
    .name = "pmi_names",
    .meaning = "PMI-2: two jobs find each other by published names",
    .metrics = "found (ps), misses",
    .args = args,
    .main = run,
};
WORKLOAD(workload)
