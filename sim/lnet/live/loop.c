/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define _GNU_SOURCE
#include "loop.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lnet/live.h"

#define PARK_TICK SIM_MS

struct lnet_loop lnet_loop = {
    .mutex = PTHREAD_MUTEX_INITIALIZER,
    .ready = LIST_HEAD_INIT(lnet_loop.ready),
};

static _Thread_local char self; /* its address is the thread */
static _Thread_local bool in_loop;
static struct lnet_node *the_node;

static void (*unlocked)(void); /* lnet_live_set_unlocked() */

void lnet_live_set_unlocked(void (*call)(void))
{
    __atomic_store_n(&unlocked, call, __ATOMIC_RELEASE);
}

static void call_unlocked(void)
{
    void (*call)(void) = __atomic_load_n(&unlocked, __ATOMIC_ACQUIRE);

    if (call != NULL)
        call();
}

static void unlock_loop(void)
{
    pthread_mutex_unlock(&lnet_loop.mutex);
    call_unlocked();
}

/* ---- the thread -------------------------------------------------------------------------------
 */

void lnet_loop_changed(void)
{
    lnet_loop.again = true;
    if (!in_loop)
        lnet_loop.kick_needed = true;
}

static void kicked(uv_async_t *handle)
{
    (void)handle;
}

/* Until a socket is ready, a timer is due, or another thread kicks. */
static void sleep_until(sim_time_t due)
{
    struct pollfd poll = {.fd = uv_backend_fd(&lnet_loop.uv), .events = POLLIN};
    sim_time_t now = sim_now(), left = due > now ? due - now : 0;
    struct timespec timeout = {(time_t)(left / SIM_S), (long)(left % SIM_S / SIM_NS)};

    ppoll(&poll, 1, due == SIM_NEVER ? NULL : &timeout, NULL);
}

static void run_once(void)
{
    do {
        lnet_loop.again = false;
        uv_run(&lnet_loop.uv, UV_RUN_NOWAIT);
        sim_wall_fire();
        lnet_stream_uv_ready();
    } while (lnet_loop.again);
}

static void wait_until(pthread_cond_t *condition, sim_time_t deadline)
{
    struct timespec until = {(time_t)(deadline / SIM_S), (long)(deadline % SIM_S / SIM_NS)};

    call_unlocked();
    if (deadline == SIM_NEVER)
        pthread_cond_wait(condition, &lnet_loop.mutex);
    else
        pthread_cond_timedwait(condition, &lnet_loop.mutex, &until);
}

/* Until no thread of the program has served the sockets for a tick. A wait that lasts for a whole
 * tick parks without a limit; its end then says so. */
static void park(void)
{
    uint64_t seen;

    lnet_loop.parked = true;
    do {
        seen = lnet_loop.polls;
        wait_until(&lnet_loop.park, lnet_loop.parked_deep ? SIM_NEVER : sim_now() + PARK_TICK);
        lnet_loop.parked_deep = lnet_loop.poller != NULL && lnet_loop.polls == seen;
    } while (!lnet_loop.stop && !lnet_loop.resume &&
             (lnet_loop.poller != NULL || lnet_loop.polls != seen));
    lnet_loop.parked = lnet_loop.parked_deep = lnet_loop.resume = false;
}

static void *thread_main(void *argument)
{
    uint64_t polls = 0;

    (void)argument;
    in_loop = true;
    pthread_mutex_lock(&lnet_loop.mutex);
    while (!lnet_loop.stop) {
        sim_time_t due;

        run_once();
        if (lnet_loop.poller != NULL || lnet_loop.polls != polls) {
            park();
            polls = lnet_loop.polls;
            continue;
        }
        if (lnet_loop.stop)
            break;
        due = sim_wall_next();
        lnet_loop.sleeping_until = due;
        unlock_loop();
        sleep_until(due);
        pthread_mutex_lock(&lnet_loop.mutex);
        lnet_loop.sleeping_until = 0;
    }
    pthread_mutex_unlock(&lnet_loop.mutex);
    return NULL;
}

int lnet_loop_start(struct lnet_node *node)
{
    pthread_condattr_t attributes;
    sigset_t all, before;
    int error;

    assert(!lnet_loop.running);
    lnet_loop.node = node;
    lnet_loop.stop = false;
    lnet_loop.sleeping_until = 0;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&lnet_loop.changed, &attributes);
    pthread_cond_init(&lnet_loop.park, &attributes);
    pthread_condattr_destroy(&attributes);
    error = uv_loop_init(&lnet_loop.uv);
    if (error != 0)
        return error;
    error = uv_async_init(&lnet_loop.uv, &lnet_loop.kick, kicked);
    if (error != 0) {
        uv_loop_close(&lnet_loop.uv);
        return error;
    }
    sigfillset(&all); /* signals are the program's */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = -pthread_create(&lnet_loop.thread, NULL, thread_main, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    lnet_loop.running = error == 0;
    return error;
}

void lnet_loop_stop(void)
{
    if (!lnet_loop.running)
        return;
    pthread_mutex_lock(&lnet_loop.mutex);
    lnet_loop.stop = true;
    pthread_cond_signal(&lnet_loop.park);
    pthread_mutex_unlock(&lnet_loop.mutex);
    uv_async_send(&lnet_loop.kick);
    pthread_join(lnet_loop.thread, NULL);
    uv_close((uv_handle_t *)&lnet_loop.kick, NULL);
    uv_run(&lnet_loop.uv, UV_RUN_DEFAULT);
    uv_loop_close(&lnet_loop.uv);
    pthread_cond_destroy(&lnet_loop.changed);
    pthread_cond_destroy(&lnet_loop.park);
    lnet_loop.running = false;
}

/* ---- core/host.h ------------------------------------------------------------------------------
 */

void lnet_live_set_node(struct lnet_node *node)
{
    the_node = node;
}

struct lnet_node *lnet_host_current(void)
{
    if (the_node == NULL)
        lnet_live_ensure();
    return the_node;
}

void lnet_host_open(struct lnet_node *node)
{
    (void)node;
}

void lnet_host_close(struct lnet_node *node)
{
    (void)node;
}

static void set_holder(const void *holder)
{
    __atomic_store_n(&lnet_loop.holder, holder, __ATOMIC_RELAXED);
}

void lnet_host_lock(struct lnet_node *node)
{
    (void)node;
    if (!in_loop)
        pthread_mutex_lock(&lnet_loop.mutex);
    assert(in_loop || lnet_loop.depth == 0);
    lnet_loop.depth++;
    set_holder(&self);
}

/* Whether a sleeping thread has to be woken: something to do, or a timer that is due earlier. */
static bool take_kick(void)
{
    sim_time_t asleep = lnet_loop.sleeping_until;
    bool needed = lnet_loop.kick_needed;

    lnet_loop.kick_needed = false;
    if (!lnet_loop.running)
        return false;
    if (lnet_loop.polling_until != 0 && (asleep == 0 || lnet_loop.polling_until < asleep))
        asleep = lnet_loop.polling_until;
    if (asleep != 0)
        return needed || sim_wall_next() < asleep;
    if (needed && lnet_loop.parked && lnet_loop.poller == NULL) {
        lnet_loop.resume = true;
        pthread_cond_signal(&lnet_loop.park);
    }
    return false; /* who is awake looks before it sleeps */
}

void lnet_host_unlock(struct lnet_node *node)
{
    bool kick;

    (void)node;
    assert(lnet_loop.holder == &self && lnet_loop.depth > 0);
    if (--lnet_loop.depth > 0)
        return;
    set_holder(NULL);
    if (in_loop)
        return;
    kick = take_kick();
    unlock_loop();
    if (kick)
        uv_async_send(&lnet_loop.kick);
}

bool lnet_host_locked_by_me(const struct lnet_node *node)
{
    (void)node;
    return __atomic_load_n(&lnet_loop.holder, __ATOMIC_RELAXED) == &self;
}

static void run_in_place(void)
{
    in_loop = true;
    run_once();
    in_loop = false;
}

/* Serves the sockets once, in place of the loop's thread. */
static void poll_instead(sim_time_t deadline)
{
    sim_time_t due = sim_wall_next();

    lnet_loop.poller = &self;
    lnet_loop.polls++;
    if (lnet_loop.again) { /* what the caller waits for may come from there */
        run_in_place();
    } else {
        lnet_loop.polling_until = due < deadline ? due : deadline;
        unlock_loop();
        sleep_until(due < deadline ? due : deadline);
        pthread_mutex_lock(&lnet_loop.mutex);
        lnet_loop.polling_until = 0;
        run_in_place();
    }
    lnet_loop.poller = NULL;
    if (lnet_loop.waiters > 0) /* another one may poll now */
        pthread_cond_broadcast(&lnet_loop.changed);
    if (lnet_loop.parked_deep)
        pthread_cond_signal(&lnet_loop.park);
}

void lnet_host_wait(struct lnet_node *node, sim_time_t deadline, const char *why)
{
    (void)node, (void)why;
    assert(!in_loop && lnet_loop.holder == &self && lnet_loop.depth == 1);
    lnet_loop.depth = 0;
    set_holder(NULL);
    if (lnet_loop.poller == NULL && lnet_loop.running) {
        lnet_loop.kick_needed = false; /* this thread looks itself */
        poll_instead(deadline);
    } else {
        if (take_kick())
            uv_async_send(&lnet_loop.kick);
        lnet_loop.waiters++;
        wait_until(&lnet_loop.changed, deadline);
        lnet_loop.waiters--;
    }
    lnet_loop.depth = 1;
    set_holder(&self);
}

void lnet_host_wake(struct lnet_node *node)
{
    (void)node;
    if (lnet_loop.polling_until != 0) /* one of them sleeps on the sockets */
        uv_async_send(&lnet_loop.kick);
    if (lnet_loop.waiters > 0)
        pthread_cond_broadcast(&lnet_loop.changed);
}

struct lnet_node *lnet_host_of_caller(void)
{
    return lnet_host_current();
}

void lnet_host_call(struct lnet_node *node, lnet_eq_handler_t callback, struct lnet_event *event)
{
    (void)node;
    callback(event);
}

void lnet_host_stay(struct lnet_node *node)
{
    (void)node; /* the process has ended */
}

void lnet_host_warn(struct lnet_node *node, enum lnet_warning warning, const char *text)
{
    (void)node, (void)warning;
    fprintf(stderr, "lnet: warning: %s\n", text);
}

void lnet_host_panic(struct lnet_node *node, const char *text)
{
    (void)node;
    fprintf(stderr, "lnet: assertion failed: %s\n", text);
    abort();
}
