/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A counter that threads wait for; it may be raised from any context. */
#ifndef M0_LIB_SEMAPHORE_H
#define M0_LIB_SEMAPHORE_H

#include "lib/time.h"
#include "port/port.h"

/* At most PORT_SEMAPHORE_WAITERS threads wait at a time. */
struct m0_semaphore {
    struct port_semaphore s_sem;
    unsigned s_value; /* raised before s_sem, lowered after it */
};
int m0_semaphore_init(struct m0_semaphore *semaphore, unsigned value); /* 0 */
void m0_semaphore_fini(struct m0_semaphore *semaphore);
void m0_semaphore_up(struct m0_semaphore *semaphore);
void m0_semaphore_down(struct m0_semaphore *semaphore); /* waits until it is not 0; lowers it */
bool m0_semaphore_trydown(struct m0_semaphore *semaphore); /* false: it is 0 */
bool m0_semaphore_timeddown(struct m0_semaphore *semaphore, m0_time_t absolute);
void m0_semaphore_drain(struct m0_semaphore *semaphore); /* lowers it to 0 */
unsigned m0_semaphore_value(struct m0_semaphore *semaphore); /* at some moment of the call */

#endif
