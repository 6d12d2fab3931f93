/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A condition that threads wait for, with the mutex that protects it. Every call is made with the
 * mutex held. Waiting releases it meanwhile; a wait may end without a signal.
 */
#ifndef M0_LIB_COND_H
#define M0_LIB_COND_H

#include "lib/list.h"
#include "lib/mutex.h"
#include "lib/time.h"

struct m0_cond {
    struct m0_mutex *c_mutex;
    struct m0_list c_waiters; /* who came first is signalled first */
};

void m0_cond_init(struct m0_cond *cond, struct m0_mutex *mutex);
void m0_cond_fini(struct m0_cond *cond); /* pre: nobody waits */
void m0_cond_wait(struct m0_cond *cond);
bool m0_cond_timedwait(struct m0_cond *cond, m0_time_t absolute); /* false: the time came first */
void m0_cond_signal(struct m0_cond *cond); /* one that waits */
void m0_cond_broadcast(struct m0_cond *cond); /* all that wait */

#endif
