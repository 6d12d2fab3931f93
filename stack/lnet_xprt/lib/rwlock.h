/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A lock that one writer or any number of readers have. A reader may lock it again while a writer
 * waits, so writers wait until there is no reader.
 */
#ifndef M0_LIB_RWLOCK_H
#define M0_LIB_RWLOCK_H

#include "lib/types.h"
#include "port/port.h"

struct m0_rwlock {
    struct port_mutex rw_guard; /* of what follows */
    struct port_condition rw_free; /* nobody has it */
    uint32_t rw_readers;
    struct port_thread *rw_writer; /* NULL: none */
};

void m0_rwlock_init(struct m0_rwlock *lock);
void m0_rwlock_fini(struct m0_rwlock *lock); /* pre: nobody has it */
void m0_rwlock_write_lock(struct m0_rwlock *lock); /* pre: the caller does not have it */
void m0_rwlock_write_unlock(struct m0_rwlock *lock); /* pre: the caller has it as its writer */
void m0_rwlock_read_lock(struct m0_rwlock *lock); /* pre: the caller is not its writer */
void m0_rwlock_read_unlock(struct m0_rwlock *lock); /* pre: a reader has it */

#endif
