/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Calls that ask the driver about the resources of the node and its jobs. */
#include "api/front.h"

#include "nic/job.h"

#define DLA_CREDITS 16384u
#define TRANSLATION_CONTEXTS 16u /* contexts of the NIC's IOMMU */

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
        total = timing->vces;
        held = (uint64_t)__builtin_popcount(hw->ce_used);
    } else if (res_type == GNI_DEV_RES_DLA) {
        total = DLA_CREDITS;
    } else if (res_type == GNI_DEV_RES_TCR) {
        total = TRANSLATION_CONTEXTS;
    }
    *res_desc = (gni_dev_res_desc_t){.available = total - held, .held = held, .total = total};
    return GNI_RC_SUCCESS;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static uint64_t list_length(const struct aries_list *head)
{
    const struct aries_list *link;
    uint64_t length = 0;

    for (link = head->next; link != head; link = link->next)
        length++;
    return length;
}

static uint64_t registrations(const struct gni_nic *nic, bool with_vmdhs)
{
    const struct aries_list *link;
    uint64_t count = 0;

    for (link = nic->mrs.next; link != &nic->mrs; link = link->next)
        count += with_vmdhs || !sim_container_of(link, struct aries_mr, nic_link)->vmdh;
    return count;
}

static uint64_t used_by(const struct gni_nic *nic, gni_job_res_t resource)
{
    switch (resource) {
    case GNI_JOB_RES_MDD:
        return registrations(nic, true);
    case GNI_JOB_RES_NONVMDH:
        return registrations(nic, false);
    case GNI_JOB_RES_CQ:
        return list_length(&nic->cqs);
    case GNI_JOB_RES_FMA:
        return !nic->fma_shared;
    case GNI_JOB_RES_SFMA:
        return nic->fma_shared;
    case GNI_JOB_RES_CE:
        return list_length(&nic->ces);
    default:
        return 0;
    }
}

/* How much of a resource the attachments of a protection tag hold on this node. */
uint64_t aries_job_used(const struct aries_nic *hw, uint8_t ptag, gni_job_res_t resource)
{
    const struct aries_list *link;
    uint64_t used = 0;

    for (link = hw->attached.next; link != &hw->attached; link = link->next) {
        const struct gni_nic *nic = sim_container_of(link, struct gni_nic, nic_link);

        if (nic->ptag == ptag)
            used += used_by(nic, resource);
    }
    return used;
}

/* How much of a resource the NIC has. A resource that is not counted gives a large number. */
static uint64_t capacity(const struct aries_nic *hw, gni_job_res_t resource)
{
    const struct aries_timing *timing = &hw->fabric->timing;

    switch (resource) {
    case GNI_JOB_RES_MDD:
    case GNI_JOB_RES_NONVMDH:
        return timing->mdds;
    case GNI_JOB_RES_CQ:
        return timing->cqs;
    case GNI_JOB_RES_FMA:
        return timing->fma_descs;
    case GNI_JOB_RES_CE:
        return timing->vces;
    default:
        return UINT32_MAX;
    }
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

gni_return_t GNI_GetJobResInfo(uint32_t device_id, uint8_t ptag, gni_job_res_t res_type,
                               gni_job_res_desc_t *res_desc)
{
    const struct aries_nic *hw = aries_device(device_id);
    const struct aries_job_state *state;

    if (res_desc == NULL || hw == NULL || res_type <= GNI_JOB_RES_FIRST ||
        res_type >= GNI_JOB_RES_LAST || !ptag_known(hw, ptag))
        return GNI_RC_INVALID_PARAM;
    if (!gni_job_res_valid(res_type))
        return GNI_RC_ERROR_RESOURCE;
    state = aries_job_state_of(hw, ptag);
    res_desc->used = aries_job_used(hw, ptag, res_type);
    res_desc->limit = capacity(hw, res_type);
    if (state != NULL && state->limit[res_type] != ARIES_NO_LIMIT)
        res_desc->limit = state->limit[res_type];
    return GNI_RC_SUCCESS;
}

/* Whether GNI_SetJobResInfo may set the limit of the resource. */
static bool settable(gni_job_res_t resource)
{
    return resource != GNI_JOB_RES_SFMA && resource != GNI_JOB_RES_DIRECT &&
           resource != GNI_JOB_RES_PCI_IOMMU && resource != GNI_JOB_RES_NONVMDH;
}

gni_return_t GNI_SetJobResInfo(uint32_t device_id, uint8_t ptag, gni_job_res_t res_type,
                               uint64_t res_value)
{
    const struct aries_process *process = aries_process_self();
    struct aries_nic *hw = aries_device(device_id);

    if (hw == NULL || res_type <= GNI_JOB_RES_FIRST || res_type >= GNI_JOB_RES_LAST)
        return GNI_RC_INVALID_PARAM;
    if (!process->privileged)
        return GNI_RC_PERMISSION_ERROR;
    if (!ptag_known(hw, ptag))
        return GNI_RC_NOT_DONE;
    if (!gni_job_res_valid(res_type) || res_value > capacity(hw, res_type))
        return GNI_RC_ERROR_RESOURCE;
    if (!settable(res_type))
        return GNI_RC_ILLEGAL_OP;
    sim_settle();
    sim_idle_break();
    aries_job_state_make(hw, ptag)->limit[res_type] = res_value;
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
