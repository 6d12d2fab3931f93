/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Channels announce events to clinks that are registered with them. A channel has a lock of its
 * user's as guard: announcing, registering and removing need it held; the variants with _lock take
 * it themselves.
 */
#ifndef M0_LIB_CHAN_H
#define M0_LIB_CHAN_H

#include "lib/mutex.h"
#include "lib/semaphore.h"
#include "lib/time.h"
#include "lib/tlist.h"

struct m0_chan {
    struct m0_mutex *ch_guard;
    struct m0_tl ch_links;
    uint32_t ch_waiters; /* clinks */
};
struct m0_clink;
/*
 * Runs where the event is announced, with the guard held. True: the event is consumed; false: it
 * becomes pending.
 */
typedef bool (*m0_chan_cb_t)(struct m0_clink *link);

struct m0_clink {
    struct m0_chan *cl_chan; /* NULL: not registered */
    m0_chan_cb_t cl_cb; /* NULL: every event becomes pending */
    struct m0_clink *cl_group; /* whose pending events count; itself: no group */
    struct m0_semaphore cl_wait; /* how many events are pending */
    struct m0_tlink cl_linkage;
    bool cl_is_oneshot; /* it is removed before its first event is delivered */
    uint64_t cl_magic;
};

void m0_chan_init(struct m0_chan *chan, struct m0_mutex *guard);
void m0_chan_fini(struct m0_chan *chan); /* pre: guard held, no clinks */
void m0_chan_fini_lock(struct m0_chan *chan);
/* To one clink; the next event goes to the next one. */
void m0_chan_signal(struct m0_chan *chan);
void m0_chan_signal_lock(struct m0_chan *chan);
void m0_chan_broadcast(struct m0_chan *chan); /* to all */
void m0_chan_broadcast_lock(struct m0_chan *chan);
bool m0_chan_has_waiters(struct m0_chan *chan);
void m0_chan_lock(struct m0_chan *chan); /* its guard */
void m0_chan_unlock(struct m0_chan *chan);
bool m0_chan_is_locked(const struct m0_chan *chan); /* by the calling thread */

void m0_clink_init(struct m0_clink *link, m0_chan_cb_t cb);
void m0_clink_fini(struct m0_clink *link); /* pre: not registered */
/*
 * Initialises a clink of the group of `group`: its events become pending there. The head is
 * registered first and removed last.
 */
void m0_clink_attach(struct m0_clink *link, struct m0_clink *group, m0_chan_cb_t cb);
void m0_clink_add(struct m0_chan *chan, struct m0_clink *link);
void m0_clink_add_lock(struct m0_chan *chan, struct m0_clink *link);
void m0_clink_del(struct m0_clink *link);
void m0_clink_del_lock(struct m0_clink *link);
bool m0_clink_is_armed(const struct m0_clink *link); /* registered */
void m0_clink_signal(struct m0_clink *link); /* an event for this one only */
void m0_clink_cleanup(struct m0_clink *link); /* removes it if it is registered; takes the guard */
void m0_clink_cleanup_locked(struct m0_clink *link);

/* Each consumes one pending event of the group; the first waits for one. */
void m0_chan_wait(struct m0_clink *link);
bool m0_chan_trywait(struct m0_clink *link); /* false: none is pending */
bool m0_chan_timedwait(struct m0_clink *link, m0_time_t absolute); /* false: the time came first */

#endif
