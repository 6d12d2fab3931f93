/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cray/host.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the host of a process without a launcher ------------------------------------------------ */

/* A Cray node has its number in /proc/cray_xt/nid. On other machines the launcher gives it in the
 * environment; without a launcher it is 0. */
static uint32_t own_nid(const struct cray_process *self, uint32_t rank)
{
    FILE *file = fopen("/proc/cray_xt/nid", "re");
    const char *text = getenv("JACQUARD_NODE");
    unsigned nid = text != NULL ? (unsigned)strtoul(text, NULL, 10) : 0;

    (void)self;
    (void)rank;
    if (file == NULL)
        return nid;
    if (fscanf(file, "%u", &nid) != 1)
        nid = 0;
    fclose(file);
    return nid;
}

/* ---- the host of a process of a live fabric ---------------------------------------------------
 *
 * Its launcher passes in the environment what ALPS provides on a Cray system: protection tags and
 * cookies, rank, size, and (pmrun) the node of each rank. Other launchers do not pass the nodes of
 * the other ranks. These are assumed to fill one node after the other, each with as many ranks as
 * the own node.
 */

#define RANKS_MAX (1u << 20)

static uint32_t *node_of_rank; /* of each rank of the job; NULL: the launcher does not say */

static bool number_of(const char *name, uint32_t *value)
{
    const char *text = getenv(name);
    unsigned long number;
    char *end;

    if (text == NULL || text[0] < '0' || text[0] > '9')
        return false;
    number = strtoul(text, &end, 0);
    *value = (uint32_t)number;
    return *end == '\0' && number <= UINT32_MAX;
}

/* Parses lists of numbers that are separated by colons. False: there are none. */
static bool read_credentials(struct cray_job *job)
{
    const char *ptag = getenv("PMI_GNI_PTAG"), *cookie = getenv("PMI_GNI_COOKIE");
    char *ptag_end, *cookie_end;

    while (ptag != NULL && cookie != NULL && job->credentials < CRAY_CREDENTIALS_MAX) {
        unsigned long tag = strtoul(ptag, &ptag_end, 0), key = strtoul(cookie, &cookie_end, 0);

        if (ptag_end == ptag || cookie_end == cookie || tag == 0 || tag > UINT8_MAX ||
            key > UINT32_MAX)
            break;
        job->credential[job->credentials++] = (struct cray_credential){(uint8_t)tag, (uint32_t)key};
        ptag = *ptag_end == ':' ? ptag_end + 1 : NULL;
        cookie = *cookie_end == ':' ? cookie_end + 1 : NULL;
    }
    return job->credentials > 0;
}

/* `NODE*COUNT` ranks on one node, or `FIRST-LAST`, a rank on each, separated by commas. NULL: no
 * text, or not as many ranks. */
static uint32_t *read_nodes(const char *text, uint32_t ranks)
{
    uint32_t *nodes = ranks <= RANKS_MAX ? calloc(ranks, sizeof(*nodes)) : NULL, rank = 0;
    bool good = nodes != NULL && text != NULL;
    char *end;

    while (good && *text >= '0' && *text <= '9') {
        unsigned long first = strtoul(text, &end, 10), other = first, count = 1, i;
        bool one = *end == '*';

        if (*end == '*' || *end == '-') {
            text = end + 1;
            other = strtoul(text, &end, 10);
            count = one ? other : other - first + 1;
        }
        assert(rank <= ranks);
        good = (one || other >= first) && count > 0 && count <= ranks - rank;
        for (i = 0; good && i < count; i++)
            nodes[rank++] = (uint32_t)(one ? first : first + i);
        text = *end == ',' ? end + 1 : end;
    }
    if (good && *text == '\0' && rank == ranks)
        return nodes;
    free(nodes);
    return NULL;
}

/* The job's number, the same for all of its ranks. It is a hash of the job's name, which the
 * launcher gives. */
static uint64_t apid_of(const char *name)
{
    uint64_t hash = 14695981039346656037u;

    for (; name != NULL && *name != '\0'; name++)
        hash = (hash ^ (uint8_t)*name) * 1099511628211u;
    return hash >> 24 | 1;
}

static struct cray_process *launched_process(void)
{
    static struct cray_job job = {.size = 1};
    static struct cray_process process = {.job = &job};
    static bool read, launched;

    if (read)
        return launched ? &process : NULL;
    read = true;
    launched = getenv("JACQUARD_FABRIC") != NULL && read_credentials(&job);
    if (!number_of("PMI_SIZE", &job.size) && !number_of("OMPI_COMM_WORLD_SIZE", &job.size))
        job.size = 1;
    if (!number_of("ALPS_APP_PE", &process.rank) && !number_of("PMI_RANK", &process.rank) &&
        !number_of("OMPI_COMM_WORLD_RANK", &process.rank))
        process.rank = 0;
    node_of_rank = read_nodes(getenv("JACQUARD_RANK_NODES"), job.size);
    number_of("PMI_GNI_LOC_ADDR", &process.address);
    job.apid =
        apid_of(getenv("PMI_JOBID") != NULL ? getenv("PMI_JOBID") : getenv("JACQUARD_FABRIC"));
    return launched ? &process : NULL;
}

static uint32_t nid_of(const struct cray_process *self, uint32_t rank)
{
    uint32_t own = own_nid(self, 0), here = 1, before = 0, first;

    if (self == NULL || rank == self->rank)
        return own;
    if (node_of_rank != NULL && rank < self->job->size)
        return node_of_rank[rank];
    if (!number_of("PMI_LOCAL_SIZE", &here) || here == 0)
        here = 1;
    if (!number_of("PMI_LOCAL_RANK", &before) || before > self->rank)
        before = 0;
    first = self->rank - before;
    return rank >= first ? own + (rank - first) / here : own - (first - rank + here - 1) / here;
}

static uint32_t one_node(const struct cray_process *self)
{
    return own_nid(self, 0) + 1;
}

static bool own_node_up(const struct cray_process *self, uint32_t nid)
{
    return nid == own_nid(self, 0);
}

static const struct cray_host singleton_host = {
    .self = launched_process,
    .nid_of = nid_of,
    .nodes = one_node,
    .node_up = own_node_up,
};

/* ---- the host in use ------------------------------------------------------------------------- */

static const struct cray_host *current = &singleton_host;

void cray_host_set(const struct cray_host *host)
{
    current = host != NULL ? host : &singleton_host;
}

const struct cray_host *cray_host(void)
{
    return current;
}

struct cray_process *cray_process_in_job(void)
{
    return current->self();
}

struct cray_process *cray_process_self(void)
{
    static struct cray_job alone_job = {.size = 1};
    static struct cray_process alone = {.job = &alone_job};
    struct cray_process *self = current->self();

    return self != NULL ? self : &alone;
}
