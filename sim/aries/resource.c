/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a program can ask of the driver about the node's resources, and the jobs it knows. */
#include "front.h"

#define COLLECTIVE_CHANNELS 4u

/* ---- the device ------------------------------------------------------------------------------ */

gni_return_t GNI_GetDevResInfo(uint32_t device_id, gni_dev_res_t res_type,
                               gni_dev_res_desc_t *res_desc)
{
    const struct aries_nic *hw = aries_device(device_id);
    const struct aries_timing *timing;
    uint64_t total = 0, held = 0;

    if (res_desc == NULL || hw == NULL || res_type <= GNI_DEV_RES_FIRST ||
        res_type >= GNI_DEV_RES_LAST)
        return GNI_RC_INVALID_PARAM;
    if (!gni_dev_res_valid(res_type))
        return GNI_RC_ERROR_RESOURCE;
    timing = &hw->fabric->timing;
    if (res_type == GNI_DEV_RES_MDD) {
        total = timing->mdds;
        held = hw->mdd_used;
    } else if (res_type == GNI_DEV_RES_CQ) {
        total = timing->cqs;
        held = hw->cq_used;
    } else if (res_type == GNI_DEV_RES_FMA) {
        total = timing->fma_descs;
        held = hw->fma_used;
    } else if (res_type == GNI_DEV_RES_CE) {
        total = COLLECTIVE_CHANNELS;
    }
    *res_desc = (gni_dev_res_desc_t){.available = total - held, .held = held, .total = total};
    return GNI_RC_SUCCESS;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

struct usage {
    uint64_t mdds, vmdhs, cqs, fmas;
};

static uint64_t list_length(const struct aries_list *head)
{
    const struct aries_list *link;
    uint64_t length = 0;

    for (link = head->next; link != head; link = link->next)
        length++;
    return length;
}

/* What the attachments of a protection tag hold on this node. */
static struct usage usage_of(const struct aries_nic *hw, uint8_t ptag)
{
    const struct aries_list *link, *inner;
    struct usage usage = {0};

    for (link = hw->attached.next; link != &hw->attached; link = link->next) {
        const struct gni_nic *nic = sim_container_of(link, struct gni_nic, nic_link);

        if (nic->ptag != ptag)
            continue;
        usage.fmas += !nic->fma_shared;
        usage.cqs += list_length(&nic->cqs);
        for (inner = nic->mrs.next; inner != &nic->mrs; inner = inner->next) {
            usage.mdds++;
            usage.vmdhs += sim_container_of(inner, struct aries_mr, nic_link)->vmdh;
        }
    }
    return usage;
}

static bool ptag_known(const struct aries_nic *hw, uint8_t ptag)
{
    const struct aries_fabric *fabric = hw->fabric;
    uint32_t i;

    for (i = 0; i < fabric->jobs_count; i++)
        if (fabric->jobs[i].ptag == ptag &&
            (fabric->jobs[i].node == hw->node || fabric->jobs[i].node == UINT32_MAX))
            return true;
    return false;
}

/* No job has limits of its own: the limit is what the NIC has. */
gni_return_t GNI_GetJobResInfo(uint32_t device_id, uint8_t ptag, gni_job_res_t res_type,
                               gni_job_res_desc_t *res_desc)
{
    const struct aries_nic *hw = aries_device(device_id);
    const struct aries_timing *timing;
    struct usage usage;

    if (res_desc == NULL || hw == NULL || res_type <= GNI_JOB_RES_FIRST ||
        res_type >= GNI_JOB_RES_LAST || !ptag_known(hw, ptag))
        return GNI_RC_INVALID_PARAM;
    if (!gni_job_res_valid(res_type))
        return GNI_RC_ERROR_RESOURCE;
    timing = &hw->fabric->timing;
    usage = usage_of(hw, ptag);
    *res_desc = (gni_job_res_desc_t){.used = 0, .limit = UINT32_MAX};
    if (res_type == GNI_JOB_RES_MDD)
        *res_desc = (gni_job_res_desc_t){.used = usage.mdds, .limit = timing->mdds};
    else if (res_type == GNI_JOB_RES_NONVMDH)
        *res_desc = (gni_job_res_desc_t){.used = usage.mdds - usage.vmdhs, .limit = timing->mdds};
    else if (res_type == GNI_JOB_RES_CQ)
        *res_desc = (gni_job_res_desc_t){.used = usage.cqs, .limit = timing->cqs};
    else if (res_type == GNI_JOB_RES_FMA)
        *res_desc = (gni_job_res_desc_t){.used = usage.fmas, .limit = timing->fma_descs};
    else if (res_type == GNI_JOB_RES_CE)
        res_desc->limit = COLLECTIVE_CHANNELS;
    return GNI_RC_SUCCESS;
}

gni_return_t GNI_GetPtag(uint32_t device_id, uint32_t cookie, uint8_t *ptag)
{
    struct aries_nic *hw = aries_device(device_id);
    struct aries_job *job;
    uint8_t tag;

    if (ptag == NULL)
        return GNI_RC_INVALID_PARAM;
    if (hw == NULL)
        return GNI_RC_NO_MATCH;
    job = aries_job_find(hw, GNI_FIND_ALLOC_PTAG, cookie);
    if (job == NULL)
        return GNI_RC_NO_MATCH;
    tag = aries_job_ptag(hw->fabric, job);
    if (tag == GNI_FIND_ALLOC_PTAG)
        return GNI_RC_ERROR_RESOURCE;
    *ptag = tag;
    return GNI_RC_SUCCESS;
}

static bool same_job(const struct aries_job *job, uint64_t job_id, uint32_t cookie)
{
    return job->job_id == job_id && job->cookie == cookie;
}

/* The job that stands in the way of (job_id, ptag, cookie) on a node, or is it. */
static const struct aries_job *job_in_the_way(const struct aries_nic *hw, uint64_t job_id,
                                              uint8_t ptag, uint32_t cookie)
{
    const struct aries_fabric *fabric = hw->fabric;
    uint32_t i;

    for (i = 0; i < fabric->jobs_count; i++) {
        const struct aries_job *job = &fabric->jobs[i];

        if (job->node != hw->node && job->node != UINT32_MAX)
            continue;
        if (ptag == GNI_FIND_ALLOC_PTAG ? same_job(job, job_id, cookie) : job->ptag == ptag)
            return job;
    }
    return NULL;
}

/* Limits are recorded by nobody here: what a job may use is what the NIC has. */
gni_return_t GNI_ConfigureJob(uint32_t device_id, uint64_t job_id, uint8_t ptag, uint32_t cookie,
                              gni_job_limits_t *limits)
{
    struct aries_process *process = aries_process_self();
    struct aries_nic *hw = aries_device(device_id);
    const struct aries_job *job;

    if (process == NULL || ptag == 0 || cookie >> GNI_COOKIE_PKEY_SHIFT == GNI_PKEY_INVALID)
        return GNI_RC_INVALID_PARAM;
    if (hw == NULL)
        return GNI_RC_NO_MATCH;
    if (!process->privileged)
        return GNI_RC_PERMISSION_ERROR;
    sim_settle();
    sim_idle_break();
    job = job_in_the_way(hw, job_id, ptag, cookie);
    if (job == NULL)
        aries_job_add(hw->fabric, hw->node, job_id, ptag, cookie);
    else if (!same_job(job, job_id, cookie))
        return GNI_RC_INVALID_STATE;
    return GNI_RC_SUCCESS;
}
