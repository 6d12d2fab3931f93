/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The variables that a launcher on the machine exports to each process: its rank and its job, and
 * the credentials and the address that a uGNI program needs at its start. Nothing comes from the
 * host's environment, so runs are the same on every host.
 */
#include <stdio.h>
#include <string.h>

#include "cluster/cluster.h"

#define TEXT_BYTES 64

/* ---- values ---------------------------------------------------------------------------------- */

static void write_number(char *text, uint64_t value)
{
    snprintf(text, TEXT_BYTES, "%llu", (unsigned long long)value);
}

/* "16:80"; a job has at most two credentials. */
static void write_list(const struct rank *rank, char *text, bool cookies, char between)
{
    const struct cray_job *job = &rank->job->cray;
    int length = 0;
    uint32_t i;

    for (i = 0; i < job->credentials; i++) {
        if (i > 0)
            text[length++] = between;
        length += snprintf(text + length, TEXT_BYTES - (size_t)length, "%u",
                           cookies ? job->credential[i].cookie : (uint32_t)job->credential[i].ptag);
    }
}

static bool write_ptags(const struct rank *rank, char *text)
{
    write_list(rank, text, false, ':');
    return cluster_aries(rank->job->cluster) != NULL;
}

static bool write_cookies(const struct rank *rank, char *text)
{
    write_list(rank, text, true, ':');
    return cluster_aries(rank->job->cluster) != NULL;
}

static bool write_cookies_of_slurm(const struct rank *rank, char *text)
{
    write_list(rank, text, true, ',');
    return cluster_aries(rank->job->cluster) != NULL;
}

static bool write_cookie_count(const struct rank *rank, char *text)
{
    write_number(text, rank->job->cray.credentials);
    return cluster_aries(rank->job->cluster) != NULL;
}

static bool write_devices(const struct rank *rank, char *text)
{
    write_number(text, 0);
    return cluster_aries(rank->job->cluster) != NULL;
}

static bool write_addresses(const struct rank *rank, char *text)
{
    if (cluster_aries(rank->job->cluster) == NULL)
        return false;
    write_number(text, aries_nic_address(cluster_aries(rank->job->cluster), rank->node));
    return true;
}

static bool write_rank(const struct rank *rank, char *text)
{
    write_number(text, rank->id);
    return true;
}

static bool write_one(const struct rank *rank, char *text)
{
    (void)rank;
    write_number(text, 1);
    return true;
}

static bool write_spawned(const struct rank *rank, char *text)
{
    write_number(text, 1);
    return rank->job->spawner != NULL;
}

static bool write_local_rank(const struct rank *rank, char *text)
{
    write_number(text, rank->on_node);
    return true;
}

static bool write_local_size(const struct rank *rank, char *text)
{
    write_number(text, cluster_job_ranks_on(rank->job, rank->node));
    return true;
}

/* ---- variables ------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    bool (*write)(const struct rank *rank, char *text); /* false: not set */
} variables[] = {
    {"PMI_GNI_PTAG", write_ptags},
    {"PMI_GNI_COOKIE", write_cookies},
    {"PMI_GNI_DEV_ID", write_devices},
    {"PMI_GNI_LOC_ADDR", write_addresses},
    {"PMI_FORK_RANK", write_rank},
    {"ALPS_APP_PE", write_rank},
    {"PMI_NO_FORK", write_one},
    {"CRAY_NUM_COOKIES", write_cookie_count},
    {"CRAY_COOKIES", write_cookies_of_slurm},
    {"PMI_LOCAL_RANK", write_local_rank},
    {"PMI_LOCAL_SIZE", write_local_size},
    {"MPI_LOCALRANKID", write_local_rank},
    {"MPI_LOCALNRANKS", write_local_size},
    {"PMI_SPAWNED", write_spawned},
};

void rank_for_each_variable(const struct rank *rank,
                            void (*visit)(void *arg, const char *name, const char *value),
                            void *arg)
{
    const struct tree *given = rank->app->scenario->env;
    char text[TEXT_BYTES];
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(variables); i++)
        if (variables[i].write(rank, text))
            visit(arg, variables[i].name, text);
    for (i = 0; given != NULL && i < given->count; i++)
        visit(arg, given->items[i]->key, given->items[i]->text);
}

/* A variable that a rank has read. Its text lives as long as the rank. */
struct rank_variable {
    struct rank_variable *next;
    const char *name;
    char text[TEXT_BYTES];
};

const char *rank_variable(struct rank *rank, const char *name)
{
    const struct tree *given = scenario_tree_get(rank->app->scenario->env, name);
    struct rank_variable *known;
    char text[TEXT_BYTES];
    size_t i = 0;

    if (given != NULL)
        return given->text;
    for (known = rank->variables; known != NULL; known = known->next)
        if (strcmp(known->name, name) == 0)
            return known->text;
    while (i < G_N_ELEMENTS(variables) && strcmp(variables[i].name, name) != 0)
        i++;
    if (i == G_N_ELEMENTS(variables) || !variables[i].write(rank, text))
        return NULL;
    known = rank_alloc(rank, sizeof(*known));
    known->name = variables[i].name;
    memcpy(known->text, text, strlen(text) + 1);
    known->next = rank->variables;
    rank->variables = known;
    return known->text;
}
