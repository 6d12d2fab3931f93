/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Who may hold a connection or the reception of a channel. The holder is no thread: another thread
 * may release what one has entered, so this is no mutex.
 */
#include <assert.h>

#include "internal.h"

void mad_gate_init(struct mad_gate *gate)
{
    port_mutex_init(&gate->mutex);
    port_condition_init(&gate->changed);
    gate->next = gate->serving = 0;
    gate->shared = false;
}

void mad_gate_fini(struct mad_gate *gate)
{
    port_condition_destroy(&gate->changed);
    port_mutex_destroy(&gate->mutex);
}

bool mad_gate_enter(struct mad_gate *gate, tbx_bool_t *held, bool wait)
{
    uint64_t ticket;

    if (!mad_process()->threads && !gate->shared) {
        if (*held)
            return false;
        *held = tbx_true;
        return true;
    }
    port_mutex_lock(&gate->mutex);
    if (!wait && gate->next != gate->serving) {
        port_mutex_unlock(&gate->mutex);
        return false;
    }
    ticket = gate->next++;
    while (gate->serving != ticket)
        port_condition_wait(&gate->changed, &gate->mutex);
    assert(!*held);
    *held = tbx_true;
    port_mutex_unlock(&gate->mutex);
    return true;
}

void mad_gate_leave(struct mad_gate *gate, tbx_bool_t *held)
{
    assert(*held);
    if (!mad_process()->threads && !gate->shared) {
        *held = tbx_false;
        return;
    }
    port_mutex_lock(&gate->mutex);
    *held = tbx_false;
    gate->serving++;
    port_condition_broadcast(&gate->changed);
    port_mutex_unlock(&gate->mutex);
}
