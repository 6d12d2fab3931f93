/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The common part of CQs, counters, event queues and wait sets: threads wait for them (waitable.c).
 */
#ifndef GNIP_WAITABLE_H
#define GNIP_WAITABLE_H

#include "gnip.h"

/* The common part of a CQ, counter, EQ or wait set: threads may wait for it. */
struct gnip_waitable {
    struct port_mutex lock;
    /* the last thread that found it empty: it is to be woken; NULL: none */
    struct port_thread *poller;
    struct port_thread **others; /* more such threads */
    uint32_t other_count, other_room;
    uint32_t waiters; /* threads in gnip_waitable_wait */
    uint32_t id; /* for port_poll_mark() */
    bool closing;
    bool signalled; /* gnip_waitable_interrupt: the next wait ends at once */
    bool signalled_since; /* an entry was added since gnip_waitable_clear */
    bool armed; /* the descriptor is clear: the next signal sets it */
    int event; /* descriptor of FI_WAIT_FD; -1: none */
    struct gnip_waitable *set; /* wait set that it belongs to; NULL: none */
};
int gnip_waitable_init(struct gnip_waitable *waitable, bool descriptor); /* 0 or -errno */
/* The owner is being closed: all waits end, also those that begin later. No lock is held. */
void gnip_waitable_end_waits(struct gnip_waitable *waitable);
/* Ends all waits first. */
void gnip_waitable_fini(struct gnip_waitable *waitable);
/*
 * An entry was added and can be read. To be called by any thread, with or without the owner's lock.
 */
void gnip_waitable_signal(struct gnip_waitable *waitable);
/* fi_cq_signal: one wait, now or later, returns. */
void gnip_waitable_interrupt(struct gnip_waitable *waitable);
/* The calling thread found nothing and polls. */
void gnip_waitable_idle(struct gnip_waitable *waitable);
/* The calling thread found nothing, and there was no queue to poll: other threads may run. */
void gnip_waitable_yield(void);
/* The owner is empty, and its lock is held: clears the descriptor until the next signal. */
void gnip_waitable_clear(struct gnip_waitable *waitable);
/*
 * Calls `ready` (which makes progress and adds the number of its polls) until it returns true, the
 * waitable is interrupted, or `milliseconds` have passed (negative: no limit). 1: ready; 0: not;
 * -FI_ECANCELED: the waitable is being closed.
 */
int gnip_waitable_wait(struct gnip_waitable *waitable, int milliseconds,
                       bool (*ready)(void *argument, uint32_t *polls), void *argument);
/* FI_GETWAIT and FI_GETWAITOBJ of the owner; other commands: -FI_ENOSYS. */
int gnip_waitable_control(const struct gnip_waitable *waitable, enum fi_wait_obj type, int command,
                          void *argument);

#endif
