/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The calls of the collective engine. This file counts the channels of a NIC; ce_channel.c
 * implements what they do.
 */
#include "api/ce.h"

#include "nic/ce_combine.h"
#include "nic/ce_result.h"
#include "nic/job.h"
#include "nic/mem_handle.h"

#define ROUNDINGS                                                             \
    (GNI_CE_MODE_ROUND_UP | GNI_CE_MODE_ROUND_DOWN | GNI_CE_MODE_ROUND_NEAR | \
     GNI_CE_MODE_ROUND_ZERO)
#define EVENTS (GNI_CE_MODE_CQE_ONCOMP | GNI_CE_MODE_CQE_ONERR)
#define ROUTES                                                                       \
    (GNI_CE_MODE_RC_NMIN_HASH | GNI_CE_MODE_RC_MIN_HASH | GNI_CE_MODE_RC_MNON_HASH | \
     GNI_CE_MODE_RC_ADAPT)

static bool ce_ok(const struct gni_ce *ce)
{
    return aries_handle_ok(ce, ARIES_MAGIC_CE);
}

/* Time of a call into the driver. */
static void spend_setup(const struct gni_nic *nic)
{
    sim_spend(aries_timing_of(nic)->cold_ce);
    sim_settle();
    sim_idle_break();
}

/* ---- channels -------------------------------------------------------------------------------- */

static const struct aries_class ce_class = {.size = sizeof(struct gni_ce), .handle = true};

static void release_all(struct gni_nic *nic);

gni_return_t GNI_CeCreate(gni_nic_handle_t nic_hndl, gni_ce_handle_t *ce_hndl)
{
    struct aries_nic *hw;
    struct gni_ce *ce;
    uint32_t id;

    if (!aries_handle_ok(nic_hndl, ARIES_MAGIC_NIC) || ce_hndl == NULL)
        return GNI_RC_INVALID_PARAM;
    spend_setup(nic_hndl);
    /* It was destroyed while this call spent time. */
    if (!aries_handle_ok(nic_hndl, ARIES_MAGIC_NIC))
        return GNI_RC_INVALID_PARAM;
    hw = nic_hndl->hw;
    if (!aries_job_may_add(hw, nic_hndl->ptag, GNI_JOB_RES_CE) || !aries_hw_ce(hw, &id))
        return GNI_RC_ERROR_RESOURCE;
    ce = aries_object_new(hw->fabric->objects, &ce_class);
    ce->magic = ARIES_MAGIC_CE;
    ce->id = id;
    ce->nic = nic_hndl;
    hw->ce_used |= 1u << id;
    aries_list_add(&nic_hndl->ces, &ce->nic_link);
    aries_nic_on_detach(nic_hndl, ARIES_DETACH_ENGINES, release_all);
    *ce_hndl = ce;
    return GNI_RC_SUCCESS;
}

gni_return_t GNI_CeGetId(gni_ce_handle_t ce_hndl, uint32_t *ce_id)
{
    if (!ce_ok(ce_hndl) || ce_id == NULL)
        return GNI_RC_INVALID_PARAM;
    *ce_id = ce_hndl->id;
    return GNI_RC_SUCCESS;
}

static void use_queue(struct gni_ce *ce, struct gni_cq *cq)
{
    if (cq != NULL) {
        aries_cq_ref(cq);
        cq->ep_count++;
    }
    if (ce->cq != NULL) {
        ce->cq->ep_count--;
        aries_cq_unref(ce->cq);
    }
    ce->cq = cq;
}

static void ce_release(struct gni_ce *ce)
{
    struct aries_nic *hw = ce->nic->hw;

    aries_ce_configure(hw, ce->id, NULL);
    use_queue(ce, NULL);
    hw->ce_used &= ~(1u << ce->id);
    aries_hw_ce_gone(hw, ce->id);
    aries_list_remove(&ce->nic_link);
    aries_object_delete(hw->fabric->objects, &ce_class, ce);
}

static void release_all(struct gni_nic *nic)
{
    while (!aries_list_empty(&nic->ces))
        ce_release(sim_container_of(nic->ces.next, struct gni_ce, nic_link));
}

gni_return_t GNI_CeDestroy(gni_ce_handle_t ce_hndl)
{
    if (!ce_ok(ce_hndl))
        return GNI_RC_INVALID_PARAM;
    spend_setup(ce_hndl->nic);
    if (!ce_ok(ce_hndl)) /* another thread destroyed it first */
        return GNI_RC_INVALID_PARAM;
    ce_release(ce_hndl);
    return GNI_RC_SUCCESS;
}

/* ---- trees ----------------------------------------------------------------------------------- */

gni_return_t GNI_EpSetCeAttr(gni_ep_handle_t ep_hndl, uint32_t ce_id, uint32_t child_id,
                             gni_ce_child_t child_type)
{
    if (!aries_handle_ok(ep_hndl, ARIES_MAGIC_EP) || !aries_ep_bound(ep_hndl) ||
        child_id >= GNI_CE_MAX_CHILDREN ||
        (child_type != GNI_CE_CHILD_VCE && child_type != GNI_CE_CHILD_PE))
        return GNI_RC_INVALID_PARAM;
    /* All numbers above the number of channels of a NIC are equal: no channel answers. */
    ep_hndl->ce_id = (uint8_t)(ce_id < UINT8_MAX ? ce_id : UINT8_MAX);
    ep_hndl->ce_child_id = (uint8_t)child_id;
    ep_hndl->ce_child_type = (uint8_t)child_type;
    aries_hw_ce_met(ep_hndl->remote, ep_hndl->ce_id);
    sim_idle_break();
    return GNI_RC_SUCCESS;
}

/* Whether an endpoint may be a member of a tree. */
static bool member_of(const struct gni_ce *ce, const struct gni_ep *ep,
                      struct aries_ce_member *member)
{
    if (!aries_handle_ok(ep, ARIES_MAGIC_EP) || ep->nic != ce->nic || !aries_ep_bound(ep) ||
        ep->ce_child_type == GNI_CE_CHILD_UNUSED)
        return false;
    *member = (struct aries_ce_member){
        .nic = ep->remote,
        .child_id = ep->ce_child_id,
        .type = ep->ce_child_type,
        .ce_id = ep->ce_id,
    };
    return true;
}

static bool children_of(const struct gni_ce *ce, gni_ep_handle_t *eps, uint32_t count,
                        struct aries_ce_config *config)
{
    uint32_t seen = 0, i;

    if (eps == NULL || count == 0 || count > GNI_CE_MAX_CHILDREN)
        return false;
    for (i = 0; i < count; i++) {
        struct aries_ce_member *child = &config->children[i];

        if (!member_of(ce, eps[i], child) || (seen & 1u << child->child_id) != 0)
            return false;
        seen |= 1u << child->child_id;
    }
    config->children_count = count;
    return true;
}

/*
 * Reads the mode of one group: at most one may be set, and without any the default applies.
 * Returns false when more than one is set.
 */
static bool mode_of(uint32_t modes, uint32_t group, uint32_t fallback, uint32_t *out)
{
    uint32_t mode = modes & group;

    *out |= mode != 0 ? mode : fallback;
    return (mode & (mode - 1)) == 0;
}

static bool modes_of(uint32_t modes, uint32_t *out)
{
    *out = 0;
    return (modes & ~(uint32_t)(ROUNDINGS | EVENTS | ROUTES)) == 0 &&
           mode_of(modes, ROUNDINGS, GNI_CE_MODE_ROUND_NEAR, out) &&
           mode_of(modes, EVENTS, GNI_CE_MODE_CQE_ONERR, out) &&
           mode_of(modes, ROUTES, GNI_CE_MODE_RC_ADAPT, out);
}

static bool queue_ok(const struct gni_ce *ce, const struct gni_cq *cq)
{
    return cq == NULL || (aries_handle_ok(cq, ARIES_MAGIC_CQ) && cq->nic == ce->nic);
}

gni_return_t GNI_CeConfigure(gni_ce_handle_t ce_hndl, gni_ep_handle_t *child_eps,
                             uint32_t num_child_eps, gni_ep_handle_t parent_ep,
                             gni_cq_handle_t cq_hndl, uint32_t modes)
{
    struct aries_ce_config config = {.cq = cq_hndl};

    if (!ce_ok(ce_hndl) || !queue_ok(ce_hndl, cq_hndl) || !modes_of(modes, &config.modes) ||
        !children_of(ce_hndl, child_eps, num_child_eps, &config))
        return GNI_RC_INVALID_PARAM;
    if (parent_ep != NULL &&
        (!member_of(ce_hndl, parent_ep, &config.parent) || config.parent.type != GNI_CE_CHILD_VCE))
        return GNI_RC_INVALID_PARAM;
    config.ptag = ce_hndl->nic->ptag;
    spend_setup(ce_hndl->nic);
    /* It was destroyed while this call spent time. */
    if (!ce_ok(ce_hndl) || !queue_ok(ce_hndl, cq_hndl))
        return GNI_RC_INVALID_PARAM;
    use_queue(ce_hndl, cq_hndl);
    aries_ce_configure(ce_hndl->nic->hw, ce_hndl->id, &config);
    return GNI_RC_SUCCESS;
}

/* ---- joins ----------------------------------------------------------------------------------- */

static gni_return_t post_check(struct aries_post *post)
{
    const gni_post_descriptor_t *descr = post->descr;
    gni_return_t result;

    if (descr->cq_mode & GNI_CQMODE_LOCAL_EVENT)
        return GNI_RC_INVALID_PARAM;
    result = aries_fma_check_events(post);
    if (result != GNI_RC_SUCCESS)
        return result;
    if (!aries_ce_command_valid(descr->ce_cmd) || (descr->ce_mode & ~ARIES_CE_POST_MODES) ||
        !aries_mem_handle_check(&descr->local_mem_hndl) || !aries_ep_bound(post->ep) ||
        post->ep->ce_child_type != GNI_CE_CHILD_PE || !aries_delivery_valid(descr->dlvr_mode))
        return GNI_RC_INVALID_PARAM;
    return GNI_RC_SUCCESS;
}

sim_noinline gni_return_t aries_ce_post(struct aries_post *post)
{
    const struct gni_ep *ep = post->ep;
    struct gni_nic *nic = ep->nic;
    const struct aries_timing *timing = aries_timing_of(nic);
    gni_post_descriptor_t *descr = post->descr;
    struct aries_work work = {.op = ARIES_CE_JOIN, .unit = ARIES_UNIT_FMA, .target = ep->remote};
    gni_return_t result = post_check(post);

    if (result != GNI_RC_SUCCESS)
        return result;
    aries_work_fill(&work, ep, descr);
    work.remote_wanted = false; /* the event would announce the result, which is not here yet */
    work.book = &nic->hw->fabric->book_ce;
    work.cpu = timing->cpu_fma + (nic->fma_shared ? timing->cpu_fma_shared : 0);
    work.local_addr = aries_mem_handle_offset(&descr->local_mem_hndl, descr->local_addr);
    work.local_handle = descr->local_mem_hndl;
    nic->process->ce_result = descr->local_addr;
    nic->process->ce_id = sim_new_ids(1);
    work.operand[0] = descr->first_operand;
    work.operand[1] = descr->second_operand;
    work.ce = (struct aries_ce_header){
        .reduction_id = descr->ce_red_id & ARIES_CE_RESULT_RED_ID_MASK,
        .ce_id = ep->ce_id,
        .child_id = ep->ce_child_id,
        .child_type = GNI_CE_CHILD_PE,
        .command = (uint8_t)descr->ce_cmd,
        .mode = (uint8_t)descr->ce_mode,
    };
    nic->statistics[GNI_STAT_FMA_LAUNCH_COUNT]++;
    descr->next_descr = NULL;
    return aries_post_launch(post, &work, 1);
}

/* ---- results --------------------------------------------------------------------------------- */

static bool delivered(const void *what)
{
    return aries_ce_result_done(what);
}

gni_return_t GNI_CeCheckResult(gni_ce_result_t *result, uint32_t length)
{
    struct sim_wait wait = {.text = "result of a reduction", .what = result};
    struct aries_process *process = aries_process_self();
    sim_time_t cost;

    if (result == NULL)
        return GNI_RC_INVALID_PARAM;
    if (process != NULL) {
        cost = process->fabric->timing.cpu_ce_check;
        if (process->ce_result == (uintptr_t)result)
            wait.id = process->ce_id;
        else
            /* The engine cannot watch memory of the program, so this fiber must not be parked. */
            sim_idle_break();
        if (!sim_poll(&wait, delivered, cost))
            return GNI_RC_NOT_DONE;
        sim_idle_break();
        sim_spend(cost);
    }
    if (!delivered(result))
        return GNI_RC_NOT_DONE;
    if (gni_ce_res_get_status(result) != 0 || gni_ce_res_get_fpe(result) != 0)
        return GNI_RC_TRANSACTION_ERROR;
    return GNI_RC_SUCCESS;
}
