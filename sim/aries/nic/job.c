/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Jobs: which processes may use which protection tag, and the state that the driver of a node
 * keeps for a tag.
 */
#include "nic/job.h"

#include <glib.h>

#define PTAG_AUTO_FIRST 4u /* the driver assigns the tags 4 to 127 by itself */
#define PTAG_AUTO_LAST 127u

/* ---- jobs ------------------------------------------------------------------------------------ */

struct aries_job *aries_job_add(struct aries_fabric *fabric, uint32_t node, uint64_t job_id,
                                uint8_t ptag, uint32_t cookie)
{
    struct aries_job *job;

    fabric->jobs = g_renew(struct aries_job, fabric->jobs, fabric->jobs_count + 1);
    job = &fabric->jobs[fabric->jobs_count++];
    *job = (struct aries_job){.job_id = job_id, .cookie = cookie, .node = node, .ptag = ptag};
    return job;
}

void aries_job_configure(struct aries_fabric *fabric, uint64_t job_id, uint8_t ptag,
                         uint32_t cookie)
{
    aries_job_add(fabric, UINT32_MAX, job_id, ptag, cookie);
}

struct aries_job *aries_job_find(struct aries_nic *hw, uint8_t ptag, uint32_t cookie)
{
    struct aries_fabric *fabric = hw->fabric;
    uint32_t i;

    for (i = 0; i < fabric->jobs_count; i++) {
        struct aries_job *job = &fabric->jobs[i];

        if (job->cookie == cookie && (job->node == hw->node || job->node == UINT32_MAX) &&
            (ptag == GNI_FIND_ALLOC_PTAG || job->ptag == ptag))
            return job;
    }
    return aries_hw_job(hw, ptag, cookie);
}

static bool ptag_used(const struct aries_fabric *fabric, uint32_t ptag)
{
    uint32_t i;

    for (i = 0; i < fabric->jobs_count; i++)
        if (fabric->jobs[i].ptag == ptag)
            return true;
    return false;
}

uint8_t aries_job_ptag(struct aries_fabric *fabric, struct aries_job *job)
{
    uint32_t ptag, i;

    /* All nodes use the same tag, because the target compares it. */
    for (i = 0; job->ptag == GNI_FIND_ALLOC_PTAG && i < fabric->jobs_count; i++)
        if (fabric->jobs[i].cookie == job->cookie)
            job->ptag = fabric->jobs[i].ptag;
    for (ptag = PTAG_AUTO_FIRST; job->ptag == GNI_FIND_ALLOC_PTAG && ptag <= PTAG_AUTO_LAST; ptag++)
        if (!ptag_used(fabric, ptag))
            job->ptag = (uint8_t)ptag;
    return job->ptag;
}

/* ---- states ---------------------------------------------------------------------------------- */

struct aries_job_state *aries_job_state_make(struct aries_nic *hw, uint8_t ptag)
{
    struct aries_job_state *state;
    uint32_t i;

    if (hw->job_states == NULL)
        hw->job_states = g_new0(struct aries_job_state *, 256);
    state = hw->job_states[ptag];
    if (state != NULL)
        return state;
    state = hw->job_states[ptag] = g_new0(struct aries_job_state, 1);
    state->hw = hw;
    state->ptag = ptag;
    for (i = 0; i < GNI_JOB_RES_LAST; i++)
        state->limit[i] = ARIES_NO_LIMIT;
    return state;
}

void aries_job_states_free(struct aries_nic *hw)
{
    uint32_t ptag;

    for (ptag = 0; hw->job_states != NULL && ptag < 256; ptag++)
        g_free(hw->job_states[ptag]);
    g_free(hw->job_states);
    hw->job_states = NULL;
    g_free(hw->ntt);
    hw->ntt = NULL;
}

void aries_job_left(struct aries_nic *hw, uint8_t ptag)
{
    struct aries_job_state *state = aries_job_state_of(hw, ptag);
    const struct aries_list *link;

    if (state == NULL)
        return;
    for (link = hw->attached.next; link != &hw->attached; link = link->next)
        if (sim_container_of(link, struct gni_nic, nic_link)->ptag == ptag)
            return;
    if (state->ntt_cleanup && state->ntt_size > 0) {
        aries_ntt_clear(hw, state->ntt_base, state->ntt_size);
        state->ntt_size = 0;
    }
    if (state->suspended) { /* requests that the job left to the NIC continue without it */
        state->suspended = false;
        aries_hw_release(hw);
    }
}

bool aries_ptag_suspended(const struct aries_nic *hw, uint8_t ptag)
{
    const struct aries_job_state *state = aries_job_state_of(hw, ptag);

    return state != NULL && (state->suspended || state->suspending);
}
