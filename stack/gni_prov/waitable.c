/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Waiting for a CQ, counter, EQ or wait set.
 *
 * A thread that waits polls: it makes progress, finds nothing, and is idle. It registers as a
 * poller before it polls, so a thread that adds something afterwards (for example, the helper's
 * progress completes an operation) wakes it. A signal removes all pollers but the thread that gives
 * it; those that still find nothing register again.
 */
#include <poll.h>
#include <stdlib.h>

#include "gnip.h"
#include "waitable.h"

int gnip_waitable_init(struct gnip_waitable *waitable, bool descriptor)
{
    memset(waitable, 0, sizeof(*waitable));
    waitable->event = -1;
    waitable->id = port_new_id();
    if (descriptor) {
        waitable->event = port_event_open();
        if (waitable->event < 0)
            return -FI_EMFILE;
        waitable->armed = true;
    }
    port_mutex_init(&waitable->lock);
    return 0;
}

static gnip_noinline void wake_others(struct gnip_waitable *waitable)
{
    port_mutex_lock(&waitable->lock);
    for (uint32_t i = 0; i < waitable->other_count; i++)
        port_thread_wake(waitable->others[i]);
    waitable->other_count = 0;
    port_mutex_unlock(&waitable->lock);
}

static inline void wake(struct gnip_waitable *waitable)
{
    struct port_thread *poller = __atomic_load_n(&waitable->poller, __ATOMIC_RELAXED);

    if (poller == NULL)
        return;
    /*
     * A thread that is awake stays a poller. Another thread may have taken its place meanwhile, or
     * it may have been woken. Only the thread that removes a poller wakes it, so no poller is
     * removed without being woken.
     */
    while (poller != NULL && poller != port_thread_self())
        if (__atomic_compare_exchange_n(&waitable->poller, &poller, NULL, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED)) {
            port_thread_wake(poller);
            break;
        }
    if (gnip_unlikely(__atomic_load_n(&waitable->other_count, __ATOMIC_RELAXED) != 0))
        wake_others(waitable);
}

static gnip_noinline void set_event(struct gnip_waitable *waitable)
{
    port_mutex_lock(&waitable->lock);
    if (waitable->armed) {
        __atomic_store_n(&waitable->armed, false, __ATOMIC_RELAXED);
        port_event_set(waitable->event);
    }
    port_mutex_unlock(&waitable->lock);
}

void gnip_waitable_signal(struct gnip_waitable *waitable)
{
    do {
        __atomic_store_n(&waitable->signalled_since, true, __ATOMIC_RELAXED);
        wake(waitable);
        if (waitable->event >= 0 && __atomic_load_n(&waitable->armed, __ATOMIC_RELAXED))
            set_event(waitable);
        waitable = waitable->set;
    } while (gnip_unlikely(waitable != NULL));
}

void gnip_waitable_interrupt(struct gnip_waitable *waitable)
{
    __atomic_store_n(&waitable->signalled, true, __ATOMIC_RELEASE);
    gnip_waitable_signal(waitable);
}

gnip_noinline void gnip_waitable_clear(struct gnip_waitable *waitable)
{
    __atomic_store_n(&waitable->signalled_since, false, __ATOMIC_RELAXED);
    if (waitable->event < 0 || __atomic_load_n(&waitable->armed, __ATOMIC_RELAXED))
        return;
    port_mutex_lock(&waitable->lock);
    if (!waitable->armed) {
        port_event_clear(waitable->event);
        __atomic_store_n(&waitable->armed, true, __ATOMIC_RELAXED);
    }
    port_mutex_unlock(&waitable->lock);
}

static gnip_noinline void add_other(struct gnip_waitable *waitable, struct port_thread *self)
{
    uint32_t i = 0;

    port_mutex_lock(&waitable->lock);
    while (i < waitable->other_count && waitable->others[i] != self)
        i++;
    if (i == waitable->other_count) {
        if (i == waitable->other_room) {
            uint32_t room = i == 0 ? 8 : 2 * i;
            struct port_thread **others = realloc(waitable->others, room * sizeof(*others));

            if (others ==
                NULL) { /* the other thread polls again, and registers again if it finds nothing */
                struct port_thread *poller =
                    __atomic_exchange_n(&waitable->poller, self, __ATOMIC_SEQ_CST);

                if (poller != NULL && poller != self)
                    port_thread_wake(poller);
                port_mutex_unlock(&waitable->lock);
                return;
            }
            waitable->others = others;
            waitable->other_room = room;
        }
        waitable->others[i] = self;
        __atomic_store_n(&waitable->other_count, i + 1, __ATOMIC_RELAXED);
    }
    port_mutex_unlock(&waitable->lock);
}

void gnip_waitable_idle(struct gnip_waitable *waitable)
{
    struct port_thread *self = port_thread_self();
    struct port_thread *poller = __atomic_load_n(&waitable->poller, __ATOMIC_RELAXED);

    port_poll_mark(waitable->id);
    if (gnip_likely(poller == self))
        return;
    /*
     * A full barrier: the poll that follows sees what was added before the poller became visible.
     */
    if (poller != NULL || !__atomic_compare_exchange_n(&waitable->poller, &poller, self, false,
                                                       __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        add_other(waitable, self);
}

gnip_noinline void gnip_waitable_yield(void)
{
    port_poll_memory();
}

int gnip_waitable_wait(struct gnip_waitable *waitable, int milliseconds,
                       bool (*ready)(void *argument, uint32_t *polls), void *argument)
{
    struct port_timer timer;
    uint32_t polls = 0;
    int result = 0;

    __atomic_fetch_add(&waitable->waiters, 1, __ATOMIC_ACQUIRE);
    port_timer_start(&timer, milliseconds < 0 ? UINT64_MAX : (uint64_t)milliseconds * 1000000);
    for (;;) {
        polls = 0;
        /* before the poll: what is added after it wakes this thread */
        gnip_waitable_idle(waitable);
        if (ready(argument, &polls)) {
            result = 1;
            break;
        }
        if (__atomic_load_n(&waitable->closing, __ATOMIC_RELAXED)) {
            result = -FI_ECANCELED;
            break;
        }
        if (__atomic_load_n(&waitable->signalled, __ATOMIC_RELAXED) &&
            __atomic_exchange_n(&waitable->signalled, false, __ATOMIC_ACQUIRE))
            break;
        if (milliseconds == 0 || port_timer_rang(&timer))
            break;
        port_idle(&timer, polls != 0);
    }
    port_timer_stop(&timer);
    __atomic_fetch_sub(&waitable->waiters, 1, __ATOMIC_RELEASE);
    return result;
}

void gnip_waitable_end_waits(struct gnip_waitable *waitable)
{
    struct port_timer timer;

    __atomic_store_n(&waitable->closing, true, __ATOMIC_RELAXED);
    while (__atomic_load_n(&waitable->waiters, __ATOMIC_ACQUIRE) != 0) {
        wake(waitable);
        port_timer_start(&timer, 10000);
        port_idle(&timer, false);
        port_timer_stop(&timer);
    }
}

void gnip_waitable_fini(struct gnip_waitable *waitable)
{
    gnip_waitable_end_waits(waitable);
    if (waitable->event >= 0)
        port_event_close(waitable->event);
    free(waitable->others);
    port_mutex_destroy(&waitable->lock);
}

/* One descriptor, which never becomes another one. */
static int get_pollfd(const struct gnip_waitable *waitable, struct fi_wait_pollfd *set)
{
    bool fits = set->nfds >= 1;

    set->nfds = 1;
    set->change_index = 1;
    if (!fits)
        return -FI_ETOOSMALL;
    set->fd[0] = (struct pollfd){.fd = waitable->event, .events = POLLIN};
    return 0;
}

int gnip_waitable_control(const struct gnip_waitable *waitable, enum fi_wait_obj type, int command,
                          void *argument)
{
    if (command == FI_GETWAIT && type == FI_WAIT_FD) {
        if (argument == NULL)
            return -FI_EINVAL;
        *(int *)argument = waitable->event;
        return 0;
    }
    if (command == FI_GETWAIT && type == FI_WAIT_POLLFD)
        return argument != NULL ? get_pollfd(waitable, argument) : -FI_EINVAL;
    if (command == FI_GETWAITOBJ && argument != NULL) {
        *(enum fi_wait_obj *)argument = type;
        return 0;
    }
    return -FI_ENOSYS;
}
