/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The calls of gni_pub.h: one thread at a time executes them. */
#include "gni_pub.h"
#include "fast_poll.h"
#include "lock.h"

#include <pthread.h>

#define CALL(name, parameters, arguments)                                       \
    gni_return_t aries_##name parameters __attribute__((visibility("hidden"))); \
    gni_return_t name parameters                                                \
    {                                                                           \
        gni_return_t status;                                                    \
                                                                                \
        aries_live_enter();                                                     \
        status = aries_##name arguments;                                        \
        aries_live_leave();                                                     \
        return status;                                                          \
    }

#define POLL(name, parameters, arguments, is_empty, nothing)                    \
    gni_return_t aries_##name parameters __attribute__((visibility("hidden"))); \
    gni_return_t name parameters                                                \
    {                                                                           \
        gni_return_t status;                                                    \
                                                                                \
        if (is_empty)                                                           \
            return nothing;                                                     \
        aries_live_enter();                                                     \
        status = aries_##name arguments;                                        \
        aries_live_leave();                                                     \
        return status;                                                          \
    }

/* Whether the program's thread may be cancelled. It is cancelled only where it sleeps, which
 * releases everything. */
_Thread_local int aries_live_cancel_state = PTHREAD_CANCEL_DISABLE;

#define WAIT(name, parameters, arguments)                                       \
    gni_return_t aries_##name parameters __attribute__((visibility("hidden"))); \
    gni_return_t name parameters                                                \
    {                                                                           \
        gni_return_t status;                                                    \
        int state;                                                              \
                                                                                \
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);                 \
        aries_live_cancel_state = state;                                        \
        aries_live_enter();                                                     \
        status = aries_##name arguments;                                        \
        aries_live_leave();                                                     \
        aries_live_cancel_state = PTHREAD_CANCEL_DISABLE;                       \
        pthread_setcancelstate(state, NULL);                                    \
        return status;                                                          \
    }
#include "nic/calls.h"
