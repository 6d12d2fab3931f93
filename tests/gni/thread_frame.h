/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Common to thread_kinds_test.c, thread_test.c. */
#ifndef GNI_THREAD_FRAME_H
#define GNI_THREAD_FRAME_H

/*
 * Threads that share an endpoint, threads that share nothing, and all kinds of endpoints at once.
 * The programs are linked so that calls of the port's lock function go through the one below,
 * which counts the threads that had to wait.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "cq.h"
#include "ep.h"
#include "gnip.h"
#include "msg_party.h"
#include "nic.h"
#include "nic_internal.h"

static __attribute__((unused)) const struct gni_how plain = {0};

/* ---- locks that somebody waits for ----------------------------------------------------------- */

#define NOTED 64

static __attribute__((unused)) uint32_t watching; /* ranks */

static __attribute__((unused)) struct port_mutex *waited_for[NOTED];

static __attribute__((unused)) uint64_t waits;

void __real_port_mutex_lock(struct port_mutex *mutex);

void __wrap_port_mutex_lock(struct port_mutex *mutex);

/* In a simulation the third word of a mutex counts the threads that had to wait (port_fiber.c). */
void __wrap_port_mutex_lock(struct port_mutex *mutex)
{
    uint64_t before = mutex->opaque[2];

    __real_port_mutex_lock(mutex);
    if (watching == 0 || mutex->opaque[2] == before)
        return;
    waited_for[waits % NOTED] = mutex;
    waits++;
}

#endif
