/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* ALPS and the other services of sim/cray answer for the job of the calling rank. */
#include "cray/host.h"

#include "cluster/cluster.h"

static struct cray_process *self(void)
{
    struct rank *rank = rank_self();

    return rank != NULL ? &rank->cray : NULL;
}

static struct rank *rank_of(const struct cray_process *process)
{
    return sim_container_of(process, struct rank, cray);
}

static uint32_t nid_of(const struct cray_process *process, uint32_t rank)
{
    return rank_of(process)->job->ranks[rank].node;
}

static uint32_t nodes(const struct cray_process *process)
{
    return net_endpoints(cluster_net(rank_of(process)->job->cluster));
}

static bool node_up(const struct cray_process *process, uint32_t nid)
{
    const struct cluster *cluster = rank_of(process)->job->cluster;

    return cluster_aries(cluster) == NULL || aries_node_alive(cluster_aries(cluster), nid);
}

void cluster_cray_begin(struct cluster *cluster)
{
    static const struct cray_host host = {
        .self = self,
        .nid_of = nid_of,
        .nodes = nodes,
        .node_up = node_up,
        .one_memory = true,
    };

    cray_host_set(&host);
}

/* A foreign program gets two credentials, as from ALPS. Cray's sample programs take the second one.
 */
void cluster_cray_job(struct job *job)
{
    struct cray_job *cray = &job->cray;
    bool foreign = false;
    uint32_t i;

    for (i = 0; i < job->app_count; i++)
        foreign |= job->apps[i].scenario->workload->foreign != NULL;
    cray->apid = (uint64_t)(job - job->cluster->jobs) + 1;
    cray->size = job->rank_count;
    cray->credential[0] = (struct cray_credential){job->ptag, job->cookie};
    cray->credentials = 1;
    if (!foreign || cluster_aries(job->cluster) == NULL)
        return;
    cray->credential[1] =
        (struct cray_credential){(uint8_t)(job->ptag + JOBS_MAX), job->cookie + 1};
    cray->credentials = 2;
    aries_job_configure(cluster_aries(job->cluster), job->ptag, cray->credential[1].ptag,
                        cray->credential[1].cookie);
}

void cluster_cray_rank(struct rank *rank)
{
    rank->cray.job = &rank->job->cray;
    rank->cray.rank = rank->id;
    if (cluster_aries(rank->job->cluster) != NULL)
        rank->cray.address = aries_nic_address(cluster_aries(rank->job->cluster), rank->node);
}

void cluster_cray_end(struct cluster *cluster)
{
    uint32_t i;
    size_t j;

    for (j = 0; j < cluster->job_count; j++) {
        struct job *job = &cluster->jobs[j];

        for (i = 0; i < job->rank_count; i++)
            cray_process_clear(&job->ranks[i].cray);
    }
    cray_host_set(NULL);
}
