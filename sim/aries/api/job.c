/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls of the launcher, all privileged: they configure jobs, limit their resources and suspend
 * them.
 */
#include "api/front.h"

#include "nic/job.h"

#define DRAIN_POLL_FIRST \
    SIM_US /* first interval at which a suspension checks whether the job's requests have ended */
#define DRAIN_POLL_LAST SIM_MS

/* ---- configuring ----------------------------------------------------------------------------- */

static bool same_job(const struct aries_job *job, uint64_t job_id, uint32_t cookie)
{
    return job->job_id == job_id && job->cookie == cookie;
}

/* The job on this node that conflicts with (job_id, ptag, cookie) or is the same. */
static struct aries_job *conflicting_job(const struct aries_nic *hw, uint64_t job_id, uint8_t ptag,
                                         uint32_t cookie)
{
    const struct aries_fabric *fabric = hw->fabric;
    uint32_t i;

    for (i = 0; i < fabric->jobs_count; i++) {
        struct aries_job *job = &fabric->jobs[i];

        if (job->node != hw->node && job->node != UINT32_MAX)
            continue;
        if (ptag == GNI_FIND_ALLOC_PTAG ? same_job(job, job_id, cookie) : job->ptag == ptag)
            return job;
    }
    return NULL;
}

static bool wants_ntt(const gni_job_limits_t *limits)
{
    return limits != NULL && limits->ntt_size > 0;
}

static bool limits_ok(const gni_job_limits_t *limits)
{
    return limits == NULL || (limits->ntt_size >= GNI_JOB_INVALID_LIMIT &&
                              (!wants_ntt(limits) || limits->ntt_base >= 0));
}

/* Sets a limit. GNI_JOB_INVALID_LIMIT leaves it unchanged. */
static void set_limit(struct aries_job_state *state, gni_job_res_t resource, int32_t value)
{
    if (value != GNI_JOB_INVALID_LIMIT)
        state->limit[resource] = value < 0 ? ARIES_NO_LIMIT : (uint64_t)value;
}

static void set_limits(struct aries_job_state *state, const gni_job_limits_t *limits)
{
    set_limit(state, GNI_JOB_RES_MDD, limits->mdd_limit);
    set_limit(state, GNI_JOB_RES_DLA, limits->b.dla_limit);
    set_limit(state, GNI_JOB_RES_FMA, limits->fma_limit);
    set_limit(state, GNI_JOB_RES_RDMA, limits->bte_limit);
    set_limit(state, GNI_JOB_RES_CQ, limits->cq_limit);
    /* The two bytes for Aries share this word. */
    if (limits->a.mrt_limit != GNI_JOB_INVALID_LIMIT) {
        set_limit(state, GNI_JOB_RES_CE, limits->a.m.ce_limit);
        /* The value N means 2^N MiB of address space; 0 asks for none. */
        if (limits->a.m.iommu_limit != 0)
            state->limit[GNI_JOB_RES_IOMMU] = UINT64_C(1) << (limits->a.m.iommu_limit % 44);
    }
    if (wants_ntt(limits)) {
        state->ntt_base = (uint32_t)limits->ntt_base;
        state->ntt_size = (uint32_t)limits->ntt_size;
        state->ntt_cleanup = (limits->ntt_ctrl & GNI_JOB_CTRL_NTT_CLEANUP) != 0;
    }
}

static gni_return_t check_ntt(const struct aries_nic *hw, const struct aries_job *job,
                              const gni_job_limits_t *limits)
{
    const struct aries_job_state *state = job != NULL ? aries_job_state_of(hw, job->ptag) : NULL;

    if (!wants_ntt(limits))
        return GNI_RC_SUCCESS;
    if (state != NULL && state->ntt_size != 0 &&
        (state->ntt_size != (uint32_t)limits->ntt_size ||
         state->ntt_base != (uint32_t)limits->ntt_base))
        return GNI_RC_ILLEGAL_OP;
    if (!aries_ntt_has(hw, (uint32_t)limits->ntt_base, (uint32_t)limits->ntt_size))
        return GNI_RC_NO_MATCH;
    return GNI_RC_SUCCESS;
}

static gni_return_t configure(struct aries_nic *hw, uint64_t job_id, uint8_t ptag, uint32_t cookie,
                              const gni_job_limits_t *limits)
{
    struct aries_job *job = conflicting_job(hw, job_id, ptag, cookie);
    gni_return_t result;

    if (job != NULL && !same_job(job, job_id, cookie))
        return GNI_RC_INVALID_STATE;
    result = check_ntt(hw, job, limits);
    if (result != GNI_RC_SUCCESS)
        return result;
    if (job == NULL)
        job = aries_job_add(hw->fabric, hw->node, job_id, ptag, cookie);
    if (limits == NULL)
        return GNI_RC_SUCCESS;
    ptag = aries_job_ptag(hw->fabric, job);
    if (ptag == GNI_FIND_ALLOC_PTAG)
        return GNI_RC_ERROR_RESOURCE;
    set_limits(aries_job_state_make(hw, ptag), limits);
    return GNI_RC_SUCCESS;
}

static gni_return_t check_job(uint8_t ptag, uint32_t cookie)
{
    if (ptag == 0 || cookie >> GNI_COOKIE_PKEY_SHIFT == GNI_PKEY_INVALID)
        return GNI_RC_INVALID_PARAM;
    return GNI_RC_SUCCESS;
}

/* Finds the device and checks that the caller is privileged. */
static gni_return_t privileged_device(uint32_t device_id, struct aries_nic **hw)
{
    const struct aries_process *process = aries_process_self();

    if (process == NULL)
        return GNI_RC_INVALID_PARAM;
    *hw = aries_device(device_id);
    if (*hw == NULL)
        return GNI_RC_NO_MATCH;
    if (!process->privileged)
        return GNI_RC_PERMISSION_ERROR;
    sim_spend((*hw)->fabric->timing.cold_ep_create);
    sim_settle();
    sim_idle_break();
    return GNI_RC_SUCCESS;
}

gni_return_t GNI_ConfigureJob(uint32_t device_id, uint64_t job_id, uint8_t ptag, uint32_t cookie,
                              gni_job_limits_t *limits)
{
    gni_return_t result = check_job(ptag, cookie);
    struct aries_nic *hw = NULL;

    if (result == GNI_RC_SUCCESS && !limits_ok(limits))
        result = GNI_RC_INVALID_PARAM;
    if (result == GNI_RC_SUCCESS)
        result = privileged_device(device_id, &hw);
    return result == GNI_RC_SUCCESS ? configure(hw, job_id, ptag, cookie, limits) : result;
}

gni_return_t GNI_ConfigureNTT(int device_id, gni_ntt_descriptor_t *ntt_desc, uint32_t *ntt_base)
{
    struct aries_nic *hw;
    gni_return_t result;

    if (ntt_desc == NULL || ntt_base == NULL)
        return GNI_RC_INVALID_PARAM;
    result = privileged_device((uint32_t)device_id, &hw);
    return result == GNI_RC_SUCCESS ? aries_ntt_configure(hw, ntt_desc, ntt_base) : result;
}

/* The job uses the range that was just set, unless its limits name another one. */
gni_return_t GNI_ConfigureNTTandJob(int device_id, uint64_t job_id, uint8_t ptag, uint32_t cookie,
                                    gni_job_limits_t *limits, gni_ntt_descriptor_t *ntt_desc,
                                    uint32_t *ntt_base)
{
    gni_job_limits_t own = {.mdd_limit = GNI_JOB_INVALID_LIMIT,
                            .a.mrt_limit = GNI_JOB_INVALID_LIMIT,
                            .b.dla_limit = GNI_JOB_INVALID_LIMIT,
                            .fma_limit = GNI_JOB_INVALID_LIMIT,
                            .bte_limit = GNI_JOB_INVALID_LIMIT,
                            .cq_limit = GNI_JOB_INVALID_LIMIT};
    gni_return_t result = check_job(ptag, cookie);
    const struct aries_job *job;
    struct aries_nic *hw;

    if (ntt_desc == NULL)
        return GNI_ConfigureJob((uint32_t)device_id, job_id, ptag, cookie, limits);
    if (ntt_base == NULL || ntt_desc->u.table_v2 == NULL || !limits_ok(limits))
        return GNI_RC_INVALID_PARAM;
    if (result == GNI_RC_SUCCESS)
        result = privileged_device((uint32_t)device_id, &hw);
    if (result != GNI_RC_SUCCESS)
        return result;
    job = conflicting_job(hw, job_id, ptag, cookie);
    if (job != NULL && !same_job(job, job_id, cookie))
        return GNI_RC_INVALID_STATE; /* checked before the table changes */
    result = aries_ntt_configure(hw, ntt_desc, ntt_base);
    if (result != GNI_RC_SUCCESS)
        return result;
    if (limits != NULL)
        own = *limits;
    if (!wants_ntt(&own)) {
        own.ntt_base = (int32_t)*ntt_base;
        own.ntt_size = (int32_t)ntt_desc->group_size;
    }
    return configure(hw, job_id, ptag, cookie, &own);
}

gni_return_t GNI_GetNttGran(uint32_t device_id, uint32_t *ntt_gran)
{
    const struct aries_nic *hw = aries_device(device_id);

    if (hw == NULL || ntt_gran == NULL)
        return GNI_RC_INVALID_PARAM;
    *ntt_gran = aries_ntt_granularity(hw);
    return GNI_RC_SUCCESS;
}

/* ---- suspending ------------------------------------------------------------------------------ */

/* Finds the state of a job. All its names must match what this NIC knows. */
static gni_return_t find_job(uint32_t device_id, uint64_t job_id, uint8_t ptag, uint32_t cookie,
                             struct aries_nic **hw, struct aries_job_state **state)
{
    struct aries_job *job;
    gni_return_t result = check_job(ptag, cookie);

    if (result != GNI_RC_SUCCESS)
        return result;
    result = privileged_device(device_id, hw);
    if (result != GNI_RC_SUCCESS)
        return result == GNI_RC_NO_MATCH ? GNI_RC_INVALID_PARAM : result;
    job = aries_job_find(*hw, ptag, cookie);
    if (job == NULL || job->job_id != job_id || aries_job_ptag((*hw)->fabric, job) == 0 ||
        job->ptag == GNI_FIND_ALLOC_PTAG)
        return GNI_RC_INVALID_PARAM;
    *state = aries_job_state_make(*hw, job->ptag);
    return GNI_RC_SUCCESS;
}

/* Polls repeatedly, as the driver does: the path of a request has no hook for this. */
static gni_return_t drain(struct aries_job_state *state, sim_time_t deadline)
{
    static const struct sim_wait wait = {.text = "the requests of a job that is suspended"};
    struct aries_process *process = aries_process_self();
    sim_time_t step = DRAIN_POLL_FIRST, next;

    while (aries_hw_draining(state->hw, state->ptag)) {
        if (sim_now() >= deadline)
            return GNI_RC_TIMEOUT;
        next = MIN(sim_now() + step, deadline);
        do {
            if (aries_interrupted(process))
                return GNI_RC_NOT_DONE;
            /* Another event woke the fiber. */
        } while (sim_now() < next && sim_wait_until(next, &wait));
        step = MIN(2 * step, DRAIN_POLL_LAST);
    }
    return GNI_RC_SUCCESS;
}

/*
 * Holds back the job's new requests and waits until those in flight have ended. If they do not end
 * in time, the job continues. After the timeout nothing is pending, so no timer has to be stopped.
 */
gni_return_t GNI_SuspendJob(uint32_t device_id, uint64_t job_id, uint8_t ptag, uint32_t cookie,
                            uint32_t timeout)
{
    struct aries_job_state *state;
    struct aries_nic *hw;
    gni_return_t result = find_job(device_id, job_id, ptag, cookie, &hw, &state);

    if (result != GNI_RC_SUCCESS)
        return result;
    if (job_id == 0)
        return GNI_RC_ERROR_RESOURCE; /* a service, which belongs to no batch job */
    if (state->suspended || state->suspending)
        return GNI_RC_INVALID_STATE;
    state->suspending = true;
    aries_hw_hold(hw, state->ptag);
    result = drain(state, timeout == UINT32_MAX ? SIM_NEVER : sim_now() + timeout * SIM_MS);
    state->suspending = false;
    state->suspended = result == GNI_RC_SUCCESS;
    if (!state->suspended)
        aries_hw_release(hw);
    sim_trace(SIM_TRACE_INSTANT, SIM_TRACK_RANK, hw->node, 0, "job suspended", sim_now(), 0, 0,
              state->ptag);
    return result;
}

gni_return_t GNI_ResumeJob(uint32_t device_id, uint64_t job_id, uint8_t ptag, uint32_t cookie)
{
    struct aries_job_state *state;
    struct aries_nic *hw;
    gni_return_t result = find_job(device_id, job_id, ptag, cookie, &hw, &state);

    if (result != GNI_RC_SUCCESS)
        return result;
    if (!state->suspended)
        return GNI_RC_INVALID_STATE;
    state->suspended = false;
    aries_hw_release(hw);
    sim_trace(SIM_TRACE_INSTANT, SIM_TRACK_RANK, hw->node, 0, "job resumed", sim_now(), 0, 0,
              state->ptag);
    return GNI_RC_SUCCESS;
}
