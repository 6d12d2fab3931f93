/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A poll without the lock of the process: it can tell that there is nothing. A program polls
 * several queues in turn, and one poll of the rings serves all of them; so most polls find an empty
 * queue for which the rings need not be polled. Each word is read by itself: the answer is true for
 * some moment during the call, as the answer of a call that waited for the lock would be.
 */
#ifndef JACQUARD_ARIES_LIVE_FAST_POLL_H
#define JACQUARD_ARIES_LIVE_FAST_POLL_H

#include "api/datagram.h"
#include "nic/interface.h"

static inline bool aries_live_cq_is_empty(struct gni_cq *cq)
{
    const struct gni_nic *nic;

    if (sim_unlikely(!aries_handle_ok(cq, ARIES_MAGIC_CQ)) ||
        __atomic_load_n(&cq->count, __ATOMIC_RELAXED) != 0)
        return false;
    nic = __atomic_load_n(&cq->nic, __ATOMIC_RELAXED);
    return nic != NULL &&
           __atomic_load_n(&nic->smsg_returns.next, __ATOMIC_RELAXED) == &nic->smsg_returns &&
           sim_poll_served(&cq->last_poll);
}

/* Returns the event as GNI_CqGetEvent does then. */
static inline bool aries_live_no_event(struct gni_cq *cq, gni_cq_entry_t *event)
{
    if (event == NULL || !aries_live_cq_is_empty(cq))
        return false;
    *event = 0;
    return true;
}

static inline bool aries_live_no_datagrams(struct gni_nic *nic)
{
    uint32_t *last_poll;

    return sim_likely(aries_handle_ok(nic, ARIES_MAGIC_NIC)) &&
           aries_datagrams_none(nic, &last_poll) && sim_poll_served(last_poll);
}

/* units.c: whether GNI_SetBIConfig, called by a privileged process, would set a limit for requests
 * in flight. */
bool aries_live_wants_throttle(uint16_t bw, uint16_t aot_bw, uint16_t modes)
    __attribute__((visibility("hidden")));

#endif
