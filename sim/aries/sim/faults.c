/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Faults of a NIC, a node or the whole fabric, and the deliberate bugs that test the ledger. */
#include "sim/nic.h"

#include <assert.h>
#include <glib.h>

#include "aries/misc/exceptions.h"
#include "nic/cq_entry.h"

void aries_node_crash(struct aries_fabric *fabric, uint32_t node)
{
    aries_node_crash_until(fabric, node, SIM_NEVER);
}

void aries_node_crash_until(struct aries_fabric *fabric, uint32_t node, sim_time_t boots_at)
{
    struct aries_nic *nic = &fabric->nics[node];
    struct aries_list *link;

    if (!nic->alive)
        return;
    nic->alive = false;
    aries_hw_release(nic); /* requests that are held back end, too */
    sim_trace_add_number("node", node);
    sim_trace(SIM_TRACE_INSTANT, SIM_TRACK_FAULT, node, 0, "node crash", sim_now(), 0, 0, node);
    for (link = nic->processes.next; link != &nic->processes;) {
        struct aries_process *process = sim_container_of(link, struct aries_process, node_link);

        link = link->next; /* the callback may release the process */
        if (process->starts_at >= boots_at)
            continue;
        process->dead = true;
        if (process->killed != NULL)
            process->killed(process->killed_arg, "node crashed");
    }
    aries_datagrams_node_down(fabric, node);
}

void aries_node_boot(struct aries_fabric *fabric, uint32_t node)
{
    struct aries_nic *nic = &fabric->nics[node];

    if (nic->alive)
        return;
    nic->alive = true;
    nic->boots++;
    nic->sim->hang_until = nic->sim->stall_until = 0;
    g_free(nic->bi);
    nic->bi = NULL;
    nic->sim->orb_limit = fabric->timing.orb_entries;
    nic->sim->chunk_most = UINT32_MAX;
    g_free(nic->sim->amo_lines); /* its cache of atomics is cold */
    nic->sim->amo_lines = NULL;
    sim_trace_add_number("node", node);
    sim_trace(SIM_TRACE_INSTANT, SIM_TRACK_FAULT, node, 0, "node boot", sim_now(), 0, 0, node);
}

bool aries_node_alive(const struct aries_fabric *fabric, uint32_t node)
{
    return fabric->nics[node].alive;
}

void aries_sim_report_fault(struct aries_nic *nic, const struct aries_txn *txn, uint8_t status)
{
    const struct aries_nic *other = nic == txn->source ? txn->work.target : txn->source;

    aries_error_raise(nic, aries_error_category(status), status, txn->work.ptag,
                      other != NULL ? other->pe_addr : 0);
}

static void mdd_hit(struct aries_nic *hw, struct aries_mr *mr)
{
    if (mr->corrupt)
        return;
    mr->corrupt = true;
    sim_trace(SIM_TRACE_INSTANT, SIM_TRACK_FAULT, hw->node, 0, "mdd corrupt", sim_now(), 0, 0,
              mr->mdh);
    aries_error_raise(hw, GNI_ERRMASK_CRITICAL, A_STATUS_AT_MDD_UNCORRECTABLE, mr->ptag, mr->mdh);
}

void aries_mdd_corrupt(struct aries_fabric *fabric, uint32_t node, uint32_t region)
{
    struct aries_nic *hw = &fabric->nics[node];
    struct aries_list *link, *inner;
    uint32_t index = 0;

    for (link = hw->attached.next; link != &hw->attached; link = link->next) {
        struct gni_nic *nic = sim_container_of(link, struct gni_nic, nic_link);

        for (inner = nic->mrs.next; inner != &nic->mrs; inner = inner->next) {
            struct aries_mr *mr = sim_container_of(inner, struct aries_mr, nic_link);

            if (region == ARIES_EVERY || region == index++)
                mdd_hit(hw, mr);
        }
    }
}

/* ---- suspended jobs -------------------------------------------------------------------------- */

void aries_hw_hold(struct aries_nic *hw, uint8_t ptag)
{
    sim_trace(SIM_TRACE_INSTANT, ARIES_TRACK_FMA, hw->node, 0, "hold", sim_now(), 0, 0, ptag);
    hw->sim->holding = true;
}

/* Lets all held requests try again. Those whose job is still suspended are held again. */
void aries_hw_release(struct aries_nic *hw)
{
    struct aries_txn *txn;
    uint32_t ptag;

    hw->sim->holding = false;
    for (ptag = 0; ptag < 256; ptag++)
        hw->sim->holding |= hw->alive && aries_ptag_suspended(hw, (uint8_t)ptag);
    while ((txn = aries_txn_queue_pop(&hw->sim->held)) != NULL)
        sim_event_schedule(&txn->pump, sim_now());
}

static void extend(sim_time_t *until, sim_time_t duration)
{
    if (*until < sim_now() + duration)
        *until = sim_now() + duration;
}

void aries_nic_hang(struct aries_fabric *fabric, uint32_t node, sim_time_t duration)
{
    extend(&fabric->nics[node].sim->hang_until, duration);
    aries_error_raise(&fabric->nics[node], GNI_ERRMASK_TRANSIENT, A_STATUS_REQ_DISABLED, 0,
                      duration);
    sim_trace_add_number("for ns", duration / SIM_NS);
    sim_trace(SIM_TRACE_INSTANT, SIM_TRACK_FAULT, node, 0, "nic hang", sim_now(), 0, 0, duration);
}

void aries_pcie_stall(struct aries_fabric *fabric, uint32_t node, sim_time_t duration)
{
    extend(&fabric->nics[node].sim->stall_until, duration);
    aries_error_raise(&fabric->nics[node], GNI_ERRMASK_TRANSIENT, A_STATUS_PI_ERR, 0, duration);
    sim_trace_add_number("for ns", duration / SIM_NS);
    sim_trace(SIM_TRACE_INSTANT, SIM_TRACK_FAULT, node, 0, "pcie stall", sim_now(), 0, 0, duration);
}

void aries_quiesce(struct aries_fabric *fabric, sim_time_t duration)
{
    struct aries_sim_fabric *sim = fabric->sim;
    sim_time_t start = sim->quiesce_until > sim_now() ? sim->quiesce_until : sim_now();

    extend(&sim->quiesce_until, duration);
    if (sim->quiesce_until > start)
        sim->quiesced += sim->quiesce_until - start;
    sim_trace_add_number("for ns", duration / SIM_NS);
    sim_trace(SIM_TRACE_INSTANT, SIM_TRACK_FAULT, 0, 0, "quiesce", sim_now(), 0, 0, duration);
}

bool aries_hw_throttled(const struct aries_fabric *fabric)
{
    return fabric->sim->throttle_until > sim_now();
}

static void throttle_ended(struct sim_event *event)
{
    struct aries_sim_fabric *sim =
        sim_container_of(event, struct aries_sim_fabric, throttle_end.event);

    assert(sim->throttle_until <= sim_now());
    aries_bi_throttled(sim->fabric, false);
}

/* The timer is only needed if a NIC was configured for the end of a throttle. */
static void throttle_watch(struct aries_fabric *fabric)
{
    struct aries_sim_fabric *sim = fabric->sim;
    uint32_t node;

    for (node = 0; node < fabric->nodes && fabric->nics[node].bi == NULL; node++)
        ;
    if (node == fabric->nodes || !aries_hw_throttled(fabric))
        return;
    sim->fabric = fabric;
    sim->throttle_end.event.fire = throttle_ended;
    sim_timer_arm(&sim->throttle_end, sim->throttle_until);
}

void aries_hw_orb_limit(struct aries_nic *hw, uint32_t packets)
{
    assert(packets > 0);
    hw->sim->orb_limit = packets;
    /* As in sim/pool.c: four chunks in flight keep a stream busy. */
    hw->sim->chunk_most = packets < 4 ? 1 : packets / 4;
    aries_sim_orb_wake(hw);
    throttle_watch(hw->fabric);
}

void aries_throttle(struct aries_fabric *fabric, double percent, sim_time_t duration)
{
    assert(percent > 0);
    fabric->sim->throttle = percent / 100;
    fabric->sim->throttle_until = sim_now() + duration;
    aries_bi_throttled(fabric, true);
    throttle_watch(fabric);
    sim_trace_add_number("percent", (uint64_t)percent);
    sim_trace(SIM_TRACE_INSTANT, SIM_TRACK_FAULT, 0, 0, "throttle", sim_now(), 0, 0,
              (uint64_t)percent);
}
