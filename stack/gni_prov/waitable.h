/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What CQs, counters, event queues and wait sets have in common: threads wait for them
 * (waitable.c).
 */
#ifndef GNIP_WAITABLE_H
#define GNIP_WAITABLE_H

#include "gnip.h"

/* What a CQ, counter, EQ or wait set has in common: somebody may be waiting for it. */
struct gnip_waitable {
    struct port_mutex lock;
    struct port_thread *poller; /* found it empty last: to be woken; NULL: nobody */
    struct port_thread **others; /* further such threads */
    uint32_t other_count, other_room;
    uint32_t waiters; /* threads in gnip_waitable_wait */
    bool closing;
    bool signalled; /* gnip_waitable_interrupt: the next wait ends at once */
    bool signalled_since; /* something has come since gnip_waitable_clear */
    bool armed; /* the descriptor is clear: the next signal sets it */
    int event; /* descriptor of FI_WAIT_FD; -1: none */
    struct gnip_waitable *set; /* wait set that it belongs to; NULL: none */
};
int gnip_waitable_init(struct gnip_waitable *waitable, bool descriptor); /* 0 or -errno */
/* Ends all waits first. */
void gnip_waitable_fini(struct gnip_waitable *waitable);
/* Something has come and can be seen; by any thread, with or without the owner's lock. */
void gnip_waitable_signal(struct gnip_waitable *waitable);
/* fi_cq_signal: one thread that waits, now or later, returns. */
void gnip_waitable_interrupt(struct gnip_waitable *waitable);
/* Nothing was found: the calling thread polls. */
void gnip_waitable_idle(struct gnip_waitable *waitable);
/* The calling thread found nothing, and no queue to look at: others get their turn. */
void gnip_waitable_yield(void);
/* The owner is empty, and its lock held: the descriptor is clear until the next signal. */
void gnip_waitable_clear(struct gnip_waitable *waitable);
/*
 * Calls `ready` (which makes progress; says how many polls that took) until it returns true, the
 * waitable is interrupted, or `milliseconds` are over (negative: never). 1: ready; 0: not;
 * -FI_ECANCELED: the waitable is being closed.
 */
int gnip_waitable_wait(struct gnip_waitable *waitable, int milliseconds,
                       bool (*ready)(void *argument, uint32_t *polls), void *argument);
/* FI_GETWAIT and FI_GETWAITOBJ of the owner; anything else: -FI_ENOSYS. */
int gnip_waitable_control(const struct gnip_waitable *waitable, enum fi_wait_obj type, int command,
                          void *argument);

#endif
