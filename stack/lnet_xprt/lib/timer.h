/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Timers, each of which calls a function once at a time of the clock of lib/time.h. A timer has a
 * thread of its own, from m0_timer_init() to m0_timer_fini(), in which the function runs. This is
 * so for both types: no signal interrupts a thread here.
 */
#ifndef M0_LIB_TIMER_H
#define M0_LIB_TIMER_H

#include "lib/cond.h"
#include "lib/mutex.h"
#include "lib/thread.h"
#include "lib/time.h"
#include "lib/tlist.h"
#include "lib/types.h"

/* The return value is not used. The function may block. It must not start or stop a timer. */
typedef unsigned long (*m0_timer_callback_t)(unsigned long data);

enum m0_timer_type { M0_TIMER_SOFT, M0_TIMER_HARD, M0_TIMER_TYPE_NR };
enum m0_timer_state {
    M0_TIMER_UNINIT = 0,
    M0_TIMER_INITED,
    M0_TIMER_RUNNING, /* until m0_timer_stop(), also when the function has been called */
    M0_TIMER_STOPPED,
    M0_TIMER_STATE_NR
};

struct m0_timer {
    enum m0_timer_type t_type;
    enum m0_timer_state t_state;
    m0_timer_callback_t t_callback;
    unsigned long t_data;
    m0_time_t t_expire;
    struct m0_thread t_thread;
    struct m0_mutex t_lock; /* of what follows */
    struct m0_cond t_changed; /* for the timer's thread: t_armed or t_ending */
    struct m0_cond t_idle; /* for m0_timer_stop(): not t_executing */
    bool t_armed; /* the function is to be called at t_expire */
    bool t_executing;
    bool t_ending;
};

/* Threads on which the functions of hard timers might run. Here it only counts them. */
struct m0_timer_locality {
    struct m0_mutex tlo_lock;
    struct m0_list tlo_threads;
};

/*
 * The state is M0_TIMER_INITED; 0 or a negative errno: the thread could not be started. `loc` may
 * be NULL; it has a thread else.
 */
int m0_timer_init(struct m0_timer *timer, enum m0_timer_type type, struct m0_timer_locality *loc,
                  m0_timer_callback_t callback, unsigned long data);
void m0_timer_fini(struct m0_timer *timer); /* pre: initialised, not running */
/* Calls the function at this time, or soon if it has passed. pre: initialised, not running */
void m0_timer_start(struct m0_timer *timer, m0_time_t expire);
/*
 * The function will not be called any more; if it is running, waits until it has returned. pre:
 * running, and the caller is not the function
 */
void m0_timer_stop(struct m0_timer *timer);
bool m0_timer_is_started(const struct m0_timer *timer); /* M0_TIMER_RUNNING */
void m0_timer_callback_execute(struct m0_timer *timer); /* calls the function now, here */

void m0_timer_locality_init(struct m0_timer_locality *loc);
void m0_timer_locality_fini(struct m0_timer_locality *loc); /* pre: no thread is attached */
/* The calling thread; 0 or -ENOMEM. pre: it is not attached */
int m0_timer_thread_attach(struct m0_timer_locality *loc);
void m0_timer_thread_detach(struct m0_timer_locality *loc); /* pre: it is attached */

#endif
