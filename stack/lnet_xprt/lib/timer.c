/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Timers over threads. */
#include "lib/timer.h"
#include "lib/assert.h"
#include "lib/errno.h"
#include "lib/memory.h"

/* ---- localities ------------------------------------------------------------------------------ */

struct attached {
    struct m0_list_link link;
    struct port_thread *thread;
};

/* NULL: the calling thread is not attached. pre: locked */
static struct attached *attached_find(struct m0_timer_locality *loc)
{
    struct attached *attached;

    M0_PRE(m0_mutex_is_locked(&loc->tlo_lock));
    m0_list_for_each_entry(&loc->tlo_threads, attached, struct attached, link)
    {
        if (attached->thread == port_thread_self())
            return attached;
    }
    return NULL;
}

void m0_timer_locality_init(struct m0_timer_locality *loc)
{
    m0_mutex_init(&loc->tlo_lock);
    m0_list_init(&loc->tlo_threads);
}

void m0_timer_locality_fini(struct m0_timer_locality *loc)
{
    m0_list_fini(&loc->tlo_threads);
    m0_mutex_fini(&loc->tlo_lock);
}

int m0_timer_thread_attach(struct m0_timer_locality *loc)
{
    struct attached *attached;

    if (M0_ALLOC_PTR(attached) == NULL)
        return -ENOMEM;
    attached->thread = port_thread_self();
    m0_list_link_init(&attached->link);
    m0_mutex_lock(&loc->tlo_lock);
    M0_PRE(attached_find(loc) == NULL);
    m0_list_add_tail(&loc->tlo_threads, &attached->link);
    m0_mutex_unlock(&loc->tlo_lock);
    return 0;
}

void m0_timer_thread_detach(struct m0_timer_locality *loc)
{
    struct attached *attached;

    m0_mutex_lock(&loc->tlo_lock);
    attached = attached_find(loc);
    M0_PRE(attached != NULL);
    m0_list_del(&attached->link);
    m0_mutex_unlock(&loc->tlo_lock);
    m0_free(attached);
}

/* ---- timers ---------------------------------------------------------------------------------- */

void m0_timer_callback_execute(struct m0_timer *timer)
{
    timer->t_callback(timer->t_data);
}

/* pre: locked, armed */
static void expire(struct m0_timer *timer)
{
    timer->t_armed = false;
    timer->t_executing = true;
    m0_mutex_unlock(&timer->t_lock);
    m0_timer_callback_execute(timer);
    m0_mutex_lock(&timer->t_lock);
    timer->t_executing = false;
    m0_cond_broadcast(&timer->t_idle);
}

static void timer_main(struct m0_timer *timer)
{
    m0_mutex_lock(&timer->t_lock);
    while (!timer->t_ending) {
        if (timer->t_armed && timer->t_expire <= m0_time_now())
            expire(timer);
        else
            m0_cond_timedwait(&timer->t_changed, timer->t_armed ? timer->t_expire : M0_TIME_NEVER);
    }
    m0_mutex_unlock(&timer->t_lock);
}

int m0_timer_init(struct m0_timer *timer, enum m0_timer_type type, struct m0_timer_locality *loc,
                  m0_timer_callback_t callback, unsigned long data)
{
    int rc;

    M0_PRE(callback != NULL);
    M0_PRE(type == M0_TIMER_SOFT || type == M0_TIMER_HARD);
    M0_PRE(type == M0_TIMER_SOFT || loc == NULL || !m0_list_is_empty(&loc->tlo_threads));
    *timer = (struct m0_timer){
        .t_type = type, .t_state = M0_TIMER_INITED, .t_callback = callback, .t_data = data};
    m0_mutex_init(&timer->t_lock);
    m0_cond_init(&timer->t_changed, &timer->t_lock);
    m0_cond_init(&timer->t_idle, &timer->t_lock);
    rc = M0_THREAD_INIT(&timer->t_thread, struct m0_timer *, NULL, &timer_main, timer, "m0_timer");
    if (rc != 0) {
        m0_cond_fini(&timer->t_idle);
        m0_cond_fini(&timer->t_changed);
        m0_mutex_fini(&timer->t_lock);
        timer->t_state = M0_TIMER_UNINIT;
    }
    return rc;
}

void m0_timer_fini(struct m0_timer *timer)
{
    M0_PRE(timer->t_state == M0_TIMER_INITED || timer->t_state == M0_TIMER_STOPPED);
    m0_mutex_lock(&timer->t_lock);
    timer->t_ending = true;
    m0_cond_signal(&timer->t_changed);
    m0_mutex_unlock(&timer->t_lock);
    m0_thread_join(&timer->t_thread);
    m0_thread_fini(&timer->t_thread);
    m0_cond_fini(&timer->t_idle);
    m0_cond_fini(&timer->t_changed);
    m0_mutex_fini(&timer->t_lock);
    timer->t_state = M0_TIMER_UNINIT;
}

void m0_timer_start(struct m0_timer *timer, m0_time_t expire)
{
    M0_PRE(timer->t_state == M0_TIMER_INITED || timer->t_state == M0_TIMER_STOPPED);
    m0_mutex_lock(&timer->t_lock);
    timer->t_state = M0_TIMER_RUNNING;
    timer->t_expire = expire;
    timer->t_armed = true;
    m0_cond_signal(&timer->t_changed);
    m0_mutex_unlock(&timer->t_lock);
}

void m0_timer_stop(struct m0_timer *timer)
{
    M0_PRE(timer->t_state == M0_TIMER_RUNNING);
    M0_PRE(m0_thread_self() != &timer->t_thread);
    m0_mutex_lock(&timer->t_lock);
    timer->t_armed = false;
    while (timer->t_executing)
        m0_cond_wait(&timer->t_idle);
    timer->t_state = M0_TIMER_STOPPED;
    m0_mutex_unlock(&timer->t_lock);
}

bool m0_timer_is_started(const struct m0_timer *timer)
{
    return timer->t_state == M0_TIMER_RUNNING;
}
