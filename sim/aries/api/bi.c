/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Balanced injection: it lowers the number of request packets that a NIC may have in flight. Only
 * admission is affected: a packet that waits is late but never lost. A NIC has two values: one for
 * normal operation, and one that applies while the system controller throttles the network ("apply
 * on throttle").
 *
 * Percentages are of 992 packets. A setting with GNI_BI_FLAG_APPLY_AFTER_THROTTLE is kept until a
 * throttle ends; GNI_BISyncWait blocks until then.
 */
#include "api/front.h"

#include <assert.h>

#include "api/bi.h"

#define FLAGS_ALL                                                                                  \
    (GNI_BI_FLAG_APPLY_NOW | GNI_BI_FLAG_APPLY_AFTER_THROTTLE | GNI_BI_FLAG_USE_DEFAULT_SETTINGS | \
     GNI_BI_FLAG_VALUE_IS_NUM_ORB_ENTRIES)

/* The default of the system is no limit. */
static const struct aries_bi_setting by_default = {0, 0, 0};

static struct aries_bi *bi_of(struct aries_nic *hw)
{
    if (hw->bi == NULL) {
        hw->bi = g_new0(struct aries_bi, 1);
        hw->bi->norbs = (uint16_t)hw->fabric->timing.orb_entries;
    }
    return hw->bi;
}

/* Number of packets that a value allows. A value above 0 allows at least one. */
static uint32_t packets(const struct aries_nic *hw, uint16_t flags, uint16_t value)
{
    uint32_t most = hw->fabric->timing.orb_entries, limit = value;

    if (value == 0)
        return most;
    if (!(flags & GNI_BI_FLAG_VALUE_IS_NUM_ORB_ENTRIES))
        limit = (uint32_t)value * GNI_BI_INJECT_BW_ORB_MAX / GNI_BI_INJECT_BW_MAX;
    return limit < most ? limit : most;
}

static void apply(struct aries_nic *hw)
{
    struct aries_bi *bi = hw->bi;
    uint32_t limit = packets(hw, bi->current.flags, bi->current.bw), on_throttle;

    if (aries_hw_throttled(hw->fabric)) {
        on_throttle = packets(hw, bi->current.flags, bi->current.aot_bw);
        limit = on_throttle < limit ? on_throttle : limit;
    }
    bi->norbs = (uint16_t)limit;
    aries_hw_orb_limit(hw, limit);
    sim_trace(SIM_TRACE_COUNTER, ARIES_TRACK_FMA, hw->node, 0, "orb limit", sim_now(), 0, 0, limit);
}

static void commit(struct aries_nic *hw)
{
    hw->bi->current = hw->bi->next;
    hw->bi->pending = false;
}

static void notify_node(struct aries_nic *hw)
{
    struct aries_list *link;

    for (link = hw->processes.next; link != &hw->processes; link = link->next)
        aries_process_notify(sim_container_of(link, struct aries_process, node_link));
}

void aries_bi_throttled(struct aries_fabric *fabric, bool begun)
{
    uint32_t node;

    for (node = 0; node < fabric->nodes; node++) {
        struct aries_nic *hw = &fabric->nics[node];

        if (hw->bi == NULL)
            continue;
        hw->bi->hss_seqnum++;
        if (!begun && hw->bi->pending) {
            commit(hw);
            notify_node(hw);
        }
        apply(hw);
    }
}

void aries_bi_set(struct aries_fabric *fabric, uint32_t node, uint32_t orb_entries)
{
    struct aries_nic *hw = &fabric->nics[node];
    struct aries_bi *bi = bi_of(hw);

    bi->current.bw = (uint16_t)MIN(orb_entries, (uint32_t)GNI_BI_INJECT_BW_ORB_MAX);
    bi->current.flags = GNI_BI_FLAG_VALUE_IS_NUM_ORB_ENTRIES;
    bi->current.aot_bw = 0;
    bi->hss_seqnum++;
    apply(hw);
}

/* ---- the calls ------------------------------------------------------------------------------- */

gni_return_t GNI_SetBIConfig(uint32_t device_id, uint16_t bw, uint16_t aot_bw, uint16_t modes)
{
    const uint16_t most = modes & GNI_BI_FLAG_VALUE_IS_NUM_ORB_ENTRIES ? GNI_BI_INJECT_BW_ORB_MAX
                                                                       : GNI_BI_INJECT_BW_MAX;
    const struct aries_process *process = aries_process_self();
    struct aries_nic *hw = aries_device(device_id);
    struct aries_bi *bi;

    if (hw == NULL || (modes & ~FLAGS_ALL) ||
        (!(modes & GNI_BI_FLAG_USE_DEFAULT_SETTINGS) && (bw > most || aot_bw > most)))
        return GNI_RC_INVALID_PARAM;
    if (!process->privileged)
        return GNI_RC_PERMISSION_ERROR;
    sim_spend(hw->fabric->timing.cold_ep_create);
    sim_settle();
    sim_idle_break();
    bi = bi_of(hw);
    bi->next = (struct aries_bi_setting){bw, aot_bw, modes};
    if (modes & GNI_BI_FLAG_USE_DEFAULT_SETTINGS)
        bi->next = by_default;
    bi->cle_seqnum++;
    bi->pending = true;
    if (!(modes & GNI_BI_FLAG_APPLY_AFTER_THROTTLE) || (modes & GNI_BI_FLAG_APPLY_NOW)) {
        commit(hw);
        apply(hw);
    }
    return GNI_RC_SUCCESS;
}

gni_return_t GNI_GetBIConfig(uint32_t device_id, gni_bi_desc_t *desc)
{
    const struct aries_nic *hw = aries_device(device_id);

    if (hw == NULL || desc == NULL)
        return GNI_RC_INVALID_PARAM;
    sim_settle();
    *desc = (gni_bi_desc_t){
        .current_norbs = (uint16_t)hw->fabric->timing.orb_entries,
        .sys_def_bw = by_default.bw,
        .sys_def_aot_bw = by_default.aot_bw,
    };
    if (hw->bi == NULL)
        return GNI_RC_SUCCESS;
    desc->current_bw = hw->bi->current.bw;
    desc->current_aot_bw = hw->bi->current.aot_bw;
    desc->current_norbs = hw->bi->norbs;
    desc->flags = hw->bi->current.flags;
    desc->cle_seqnum = hw->bi->cle_seqnum;
    desc->hss_seqnum = hw->bi->hss_seqnum;
    return GNI_RC_SUCCESS;
}

gni_return_t GNI_BISyncWait(uint32_t device_id, uint32_t timeout)
{
    static const struct sim_wait wait = {.text = "the end of a throttle (GNI_BISyncWait)"};
    const struct aries_nic *hw = aries_device(device_id);
    sim_time_t deadline = SIM_NEVER;

    if (hw == NULL)
        return GNI_RC_INVALID_PARAM;
    sim_spend(hw->fabric->timing.cpu_cqget);
    sim_settle();
    sim_idle_break();
    if (timeout != UINT32_MAX)
        deadline = sim_now() + timeout * SIM_MS;
    while (hw->bi != NULL && hw->bi->pending) {
        if (sim_now() >= deadline)
            return GNI_RC_TIMEOUT;
        sim_wait_until(deadline, &wait);
    }
    return GNI_RC_SUCCESS;
}
