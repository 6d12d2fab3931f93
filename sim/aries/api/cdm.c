/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Communication domains and the resources of the NIC that they hold while they are attached. */
#include "api/findings.h"

#include <assert.h>
#include <stdlib.h>
#include "nic/findings.h"
#include "nic/job.h"

static const struct aries_class cdm_class = {.size = sizeof(struct gni_cdm), .handle = true};
static const struct aries_class nic_class = {.size = sizeof(struct gni_nic), .handle = true};

static void release_all(struct aries_process *process);

struct aries_nic *aries_device(uint32_t device_id)
{
    struct aries_process *process = aries_process_self();

    if (process == NULL || (device_id != 0 && device_id != UINT32_MAX))
        return NULL;
    return process->nic;
}

gni_return_t GNI_CdmCreate(uint32_t inst_id, uint8_t ptag, uint32_t cookie, uint32_t modes,
                           gni_cdm_handle_t *cdm_hndl)
{
    const uint32_t fma = GNI_CDM_MODE_FMA_DEDICATED | GNI_CDM_MODE_FMA_SHARED;
    const uint32_t mdd = GNI_CDM_MODE_MDD_DEDICATED | GNI_CDM_MODE_MDD_SHARED;
    struct aries_process *process = aries_process_self();
    struct gni_cdm *cdm;

    if (cdm_hndl == NULL || process == NULL || (modes & fma) == fma || (modes & mdd) == mdd)
        return GNI_RC_INVALID_PARAM;
    cdm = aries_object_new(process->fabric->objects, &cdm_class);
    cdm->magic = ARIES_MAGIC_CDM;
    cdm->inst_id = inst_id;
    cdm->ptag = ptag;
    cdm->cookie = cookie;
    cdm->modes = modes;
    cdm->process = process;
    aries_list_add(&process->cdms, &cdm->process_link);
    process->on_exit[ARIES_EXIT_DOMAINS] = release_all;
    *cdm_hndl = cdm;
    sim_idle_break();
    return GNI_RC_SUCCESS;
}

gni_return_t GNI_CdmGetNicAddress(uint32_t device_id, uint32_t *address, uint32_t *cpu_id)
{
    struct aries_nic *hw = aries_device(device_id);

    if (address == NULL || cpu_id == NULL)
        return GNI_RC_INVALID_PARAM;
    if (hw == NULL)
        return GNI_RC_NO_MATCH;
    *address = hw->pe_addr;
    *cpu_id = 0;
    return GNI_RC_SUCCESS;
}

/* ---- attaching ------------------------------------------------------------------------------- */

/* Users may choose the tags 3 to 253, or get the tag that belongs to their cookie. */
static bool ptag_allowed(const struct gni_cdm *cdm)
{
    if (cdm->ptag == 0)
        return false;
    return cdm->process->privileged || cdm->ptag == GNI_FIND_ALLOC_PTAG ||
           (cdm->ptag >= GNI_PTAG_USER_START && cdm->ptag <= GNI_PTAG_USER_END);
}

static bool instance_taken(const struct aries_nic *hw, uint8_t ptag, const struct gni_cdm *cdm)
{
    const struct aries_list *link;

    for (link = hw->attached.next; link != &hw->attached; link = link->next) {
        const struct gni_nic *other = sim_container_of(link, struct gni_nic, nic_link);

        if (other->ptag == ptag && other->cdm->cookie == cdm->cookie &&
            other->cdm->inst_id == cdm->inst_id)
            return true;
    }
    return false;
}

/*
 * The environment can switch FMA_SHARED off: then every domain needs an FMA descriptor of its own.
 */
static bool shares_fma(const struct gni_cdm *cdm)
{
    const char *value = getenv("UGNI_FMA_SHARED");

    return (cdm->modes & GNI_CDM_MODE_FMA_SHARED) && (value == NULL || strcmp(value, "0") != 0);
}

static struct gni_nic *attach(struct gni_cdm *cdm, struct aries_nic *hw, uint8_t ptag)
{
    struct gni_nic *nic = aries_object_new(hw->fabric->objects, &nic_class);

    nic->magic = ARIES_MAGIC_NIC;
    nic->refs = 1;
    nic->ptag = ptag;
    nic->fma_shared = shares_fma(cdm);
    nic->dual_events = (cdm->modes & GNI_CDM_MODE_DUAL_EVENTS) != 0;
    nic->smsg_max_retrans = 10;
    nic->smsg_route = NET_ROUTE_ADAPTIVE_0;
    nic->cdm = cdm;
    nic->inst_id = cdm->inst_id;
    nic->hw = hw;
    nic->process = cdm->process;
    aries_list_init(&nic->eps);
    aries_list_init(&nic->cqs);
    aries_list_init(&nic->mrs);
    aries_list_init(&nic->ces);
    aries_list_init(&nic->channels);
    aries_list_init(&nic->smsg_returns);
    aries_list_add(&hw->attached, &nic->nic_link);
    aries_peer_remember(nic);
    if (!nic->fma_shared)
        hw->fma_used++;
    cdm->nic = nic;
    return nic;
}

static void detach(struct gni_nic *nic);

gni_return_t GNI_CdmAttach(gni_cdm_handle_t cdm_hndl, uint32_t device_id, uint32_t *local_addr,
                           gni_nic_handle_t *nic_hndl)
{
    struct gni_nic *nic;
    struct aries_nic *hw;
    struct aries_job *job;
    uint8_t ptag;

    if (!aries_handle_ok(cdm_hndl, ARIES_MAGIC_CDM) || local_addr == NULL || nic_hndl == NULL)
        return GNI_RC_INVALID_PARAM;
    if (!ptag_allowed(cdm_hndl) || cdm_hndl->cookie >> GNI_COOKIE_PKEY_SHIFT == GNI_PKEY_INVALID)
        return GNI_RC_INVALID_PARAM;
    hw = aries_device(device_id);
    if (hw == NULL)
        return GNI_RC_NO_MATCH;
    sim_spend(hw->fabric->timing.cold_attach);
    sim_settle();
    job = aries_job_find(hw, cdm_hndl->ptag, cdm_hndl->cookie);
    if (job == NULL || (job->job_id != 0 && job->job_id != cdm_hndl->process->job_id))
        return GNI_RC_PERMISSION_ERROR;
    ptag = aries_job_ptag(hw->fabric, job);
    if (ptag == GNI_FIND_ALLOC_PTAG)
        return GNI_RC_ERROR_RESOURCE;
    if (cdm_hndl->nic != NULL || instance_taken(hw, ptag, cdm_hndl))
        return GNI_RC_INVALID_STATE;
    if (!shares_fma(cdm_hndl) && (hw->fma_used >= hw->fabric->timing.fma_descs ||
                                  !aries_job_may_add(hw, ptag, GNI_JOB_RES_FMA)))
        return GNI_RC_ERROR_RESOURCE;
    nic = attach(cdm_hndl, hw, ptag);
    if (!aries_ntt_attach(nic)) {
        detach(nic);
        cdm_hndl->nic = NULL;
        return GNI_RC_NO_MATCH; /* this node is not in the job's translation table */
    }
    if (!aries_hw_attach(nic)) {
        detach(nic);
        cdm_hndl->nic = NULL;
        return GNI_RC_INVALID_STATE;
    }
    *nic_hndl = nic;
    *local_addr = aries_pe_shown(nic, hw->pe_addr);
    return GNI_RC_SUCCESS;
}

/* ---- releasing ------------------------------------------------------------------------------- */

void aries_nic_unref(struct gni_nic *nic)
{
    assert(nic->refs > 0);
    if (--nic->refs == 0)
        aries_object_delete(nic->hw->fabric->objects, &nic_class, nic);
}

static void detach(struct gni_nic *nic)
{
    unsigned stage;

    aries_findings_nic_ends(nic);
    for (stage = 0; stage < ARIES_DETACH_STAGES; stage++)
        if (nic->on_detach[stage] != NULL)
            nic->on_detach[stage](nic);
    aries_hw_detach(nic);
    aries_list_remove(&nic->nic_link);
    aries_job_left(nic->hw, nic->ptag);
    assert(nic->fma_shared || nic->hw->fma_used > 0);
    if (!nic->fma_shared)
        nic->hw->fma_used--;
    nic->magic = 0;
    nic->cdm = NULL;
    /* Wakes the fibers that are blocked in its calls: they see that it is gone. */
    aries_process_notify(nic->process);
    nic->process = NULL;
    aries_nic_unref(nic);
}

static void cdm_release(struct gni_cdm *cdm)
{
    if (cdm->nic != NULL)
        detach(cdm->nic);
    aries_list_remove(&cdm->process_link);
    aries_object_delete(cdm->process->fabric->objects, &cdm_class, cdm);
}

static void release_all(struct aries_process *process)
{
    while (!aries_list_empty(&process->cdms))
        cdm_release(sim_container_of(process->cdms.next, struct gni_cdm, process_link));
}

gni_return_t GNI_CdmDestroy(gni_cdm_handle_t cdm_hndl)
{
    if (!aries_handle_ok(cdm_hndl, ARIES_MAGIC_CDM))
        return GNI_RC_INVALID_PARAM;
    sim_settle();
    sim_idle_break();
    cdm_release(cdm_hndl);
    return GNI_RC_SUCCESS;
}

/* ---- statistics ------------------------------------------------------------------------------ */

gni_return_t GNI_GetNicStat(gni_nic_handle_t nic_hndl, gni_statistic_t stat, uint32_t *value)
{
    if (!aries_handle_ok(nic_hndl, ARIES_MAGIC_NIC) || value == NULL || stat >= GNI_NUM_STATS)
        return GNI_RC_INVALID_PARAM;
    *value = nic_hndl->statistics[stat];
    return GNI_RC_SUCCESS;
}

gni_return_t GNI_ResetNicStat(gni_nic_handle_t nic_hndl, gni_statistic_t stat)
{
    if (!aries_handle_ok(nic_hndl, ARIES_MAGIC_NIC) || stat >= GNI_NUM_STATS)
        return GNI_RC_INVALID_PARAM;
    nic_hndl->statistics[stat] = 0;
    return GNI_RC_SUCCESS;
}
