/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The one thread of a live process that serves its sockets and timers. A mutex protects LNet, the
 * engine's queue of timers and libuv's loop: the thread holds it except while it sleeps, so any
 * thread with the node's lock may change what the loop polls for. A change that the sleeping thread
 * has to see wakes it when the lock is released.
 *
 * A thread of the program that waits for an event serves the sockets itself meanwhile, which saves
 * a switch of threads for each message. The loop's thread is parked while that happens often.
 */
#ifndef JACQUARD_LNET_LIVE_LOOP_H
#define JACQUARD_LNET_LIVE_LOOP_H

#include <pthread.h>
#include <stdbool.h>
#include <uv.h>

#include "core/internal.h"

struct lnet_loop {
    uv_loop_t uv;
    uv_async_t kick;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* lnet_host_wake() */
    const void *holder; /* thread that has the node's lock; NULL: none */
    unsigned depth; /* of the node's lock, by the loop's own thread */
    bool running, stop;
    bool again; /* libuv has to look at its handles once more before the thread sleeps */
    bool kick_needed;
    sim_time_t sleeping_until; /* the loop's thread, for sockets and timers; 0: it does not */
    /* A waiting thread that serves the sockets. */
    const void *poller;
    sim_time_t polling_until; /* it sleeps; 0: it does not */
    uint64_t polls; /* counts such waits */
    uint32_t waiters; /* threads that wait for `changed` */
    bool parked, parked_deep; /* the loop's thread waits for `park`; without a limit */
    bool resume; /* it is to go on */
    pthread_cond_t park;
    struct list_head ready; /* streams that have something to report */
    struct lnet_node *node;
};
extern struct lnet_loop lnet_loop;

/* 0 or a negative errno. */
int lnet_loop_start(struct lnet_node *node);
/* Closes the loop; all streams are closed. */
void lnet_loop_stop(void);
/* libuv's handles or the ready list have changed. With the lock held. */
void lnet_loop_changed(void);
/* Serves the ready list; in stream_uv_io.c. */
void lnet_stream_uv_ready(void);
/* The only node of the process; lnet_live_start makes it. */
void lnet_live_set_node(struct lnet_node *node);
/* Makes it from the environment, if it was not made; start.c. */
void lnet_live_ensure(void);

#endif
