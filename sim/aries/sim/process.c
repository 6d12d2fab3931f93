/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Processes of a simulation. Their threads are fibers. */
#include "nic/interface.h"

#include <glib.h>
#include "nic/error_event.h"

void aries_process_bind(struct aries_process *process, struct sim_fiber *fiber)
{
    process->fibers =
        g_renew(struct sim_fiber *, process->fibers, (size_t)process->fibers_count + 1);
    process->fibers[process->fibers_count++] = fiber;
    process->first = process->fibers[0];
    sim_fiber_set_owner(fiber, process);
}

static bool remove_fiber(struct sim_fiber **fibers, uint32_t *count, const struct sim_fiber *fiber)
{
    uint32_t i;

    for (i = 0; i < *count && fibers[i] != fiber; i++)
        ;
    if (i == *count)
        return false;
    --*count;
    memmove(&fibers[i], &fibers[i + 1], (*count - i) * sizeof(*fibers));
    return true;
}

void aries_process_unbind(struct aries_process *process, const struct sim_fiber *fiber)
{
    remove_fiber(process->fibers, &process->fibers_count, fiber);
    process->first = process->fibers_count > 0 ? process->fibers[0] : NULL;
    while (remove_fiber(process->interrupted, &process->interrupted_count, fiber))
        ;
    aries_errors_forget(process, fiber);
}

void aries_process_interrupt(struct aries_process *process, struct sim_fiber *fiber)
{
    process->interrupted =
        g_renew(struct sim_fiber *, process->interrupted, (size_t)process->interrupted_count + 1);
    process->interrupted[process->interrupted_count++] = fiber;
    sim_wake(fiber);
}

bool aries_interrupted(struct aries_process *process)
{
    bool found = false;

    while (sim_unlikely(process->interrupted_count > 0) &&
           remove_fiber(process->interrupted, &process->interrupted_count, sim_fiber_self()))
        found = true;
    return found;
}

struct aries_process *aries_process_self(void)
{
    struct sim_fiber *fiber = sim_fiber_self();

    return fiber != NULL ? sim_fiber_owner(fiber) : NULL;
}

void aries_process_wake(struct aries_process *process)
{
    uint32_t i;

    if (process == NULL || process->dead)
        return;
    if (process->first != NULL)
        sim_notify(process->first);
    for (i = 1; i < process->fibers_count; i++)
        sim_notify(process->fibers[i]);
}

void aries_process_written(struct aries_process *process)
{
    uint32_t i;

    if (process == NULL || process->dead)
        return;
    if (process->first != NULL)
        sim_written(process->first);
    for (i = 1; i < process->fibers_count; i++)
        sim_written(process->fibers[i]);
}

/* ---- spinning on memory ---------------------------------------------------------------------- */

void aries_spin(bool (*ready)(const void *arg), const void *arg)
{
    const struct sim_wait wait = {.text = "a change in its memory (it spins)", .what = arg};

    /*
     * The NIC makes a write visible at the time when a spinning CPU sees it, so `poll` is
     * included.
     */
    sim_settle();
    while (!ready(arg))
        sim_wait_until(SIM_NEVER, &wait);
}

/* ---- one process has all: nothing to agree on with others ------------------------------------ */

bool aries_hw_attach(struct gni_nic *nic)
{
    (void)nic;
    return true;
}

void aries_hw_detach(struct gni_nic *nic)
{
    (void)nic;
}

struct aries_job *aries_hw_job(struct aries_nic *hw, uint8_t ptag, uint32_t cookie)
{
    (void)hw, (void)ptag, (void)cookie;
    return NULL;
}

bool aries_hw_mdd(struct aries_nic *hw, uint8_t ptag, bool vmdh, uint32_t *index)
{
    (void)hw, (void)ptag, (void)vmdh, (void)index;
    return true;
}

void aries_hw_mdd_gone(struct aries_nic *hw, uint8_t ptag, bool vmdh, uint32_t index)
{
    (void)hw, (void)ptag, (void)vmdh, (void)index;
}

bool aries_hw_ce(struct aries_nic *hw, uint32_t *id)
{
    for (*id = 0; *id < hw->fabric->timing.vces; ++*id)
        if ((hw->ce_used & 1u << *id) == 0)
            return true;
    return false;
}

void aries_hw_ce_gone(struct aries_nic *hw, uint32_t id)
{
    (void)hw, (void)id;
}

void aries_hw_ce_met(const struct aries_nic *hw, uint32_t id)
{
    (void)hw, (void)id;
}

void aries_hw_mr_changed(const struct aries_mr *mr)
{
    (void)mr;
}

uint32_t aries_hw_msgq_lanes(void)
{
    return 1;
}

uint32_t aries_hw_msgq_place(const struct gni_nic *nic, const gni_msgq_attr_t *attrs)
{
    (void)nic, (void)attrs;
    return UINT32_MAX;
}

int aries_hw_msgq_introduce(struct gni_msgq *msgq)
{
    (void)msgq;
    return 1;
}

void aries_hw_msgq_leave(struct gni_msgq *msgq, bool wait)
{
    (void)msgq, (void)wait;
}

bool aries_hw_msgq_assign(struct gni_msgq *msgq, uint32_t pe, uint32_t *index)
{
    (void)msgq, (void)pe, (void)index;
    return true;
}

void aries_hw_msgq_assigned(struct gni_msgq *msgq, const struct aries_msgq_connection *first)
{
    (void)msgq, (void)first;
}

void aries_hw_msgq_connected(struct gni_msgq *msgq, const struct aries_msgq_connection *first,
                             uint64_t mailbox)
{
    (void)msgq, (void)first, (void)mailbox;
}

bool aries_hw_msgq_others_idle(struct gni_msgq *msgq, const struct aries_msgq_connection *first)
{
    (void)msgq, (void)first;
    return true;
}

void aries_hw_msgq_released(struct gni_msgq *msgq, const struct aries_msgq_connection *first)
{
    (void)msgq, (void)first;
}
