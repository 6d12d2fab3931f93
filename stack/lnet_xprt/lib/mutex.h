/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A lock that one thread has at a time; it is not recursive. */
#ifndef M0_LIB_MUTEX_H
#define M0_LIB_MUTEX_H

#include "lib/types.h"
#include "port/port.h"

struct m0_mutex {
    struct port_mutex m_port;
    struct port_thread *m_owner; /* NULL: nobody has it */
};

/* Initialises a static mutex in its declaration; `mutex` is its address. */
#define M0_MUTEX_SINIT(mutex) \
    {                         \
        .m_owner = NULL       \
    }
void m0_mutex_init(struct m0_mutex *mutex);
void m0_mutex_fini(struct m0_mutex *mutex); /* pre: nobody has it */
void m0_mutex_lock(struct m0_mutex *mutex); /* pre: the caller does not have it */
void m0_mutex_unlock(struct m0_mutex *mutex); /* pre: the caller has it */
int m0_mutex_trylock(struct m0_mutex *mutex); /* 0: the caller has it now; -EBUSY */
bool m0_mutex_is_locked(const struct m0_mutex *mutex); /* the calling thread has it */
bool m0_mutex_is_not_locked(const struct m0_mutex *mutex); /* the calling thread does not */

#endif
