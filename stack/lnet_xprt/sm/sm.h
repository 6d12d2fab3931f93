/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The group of state machines: only its lock is used here. */
#ifndef M0_SM_SM_H
#define M0_SM_SM_H

#include "lib/mutex.h"

struct m0_sm_group {
    struct m0_mutex s_lock;
};

void m0_sm_group_init(struct m0_sm_group *group);
void m0_sm_group_fini(struct m0_sm_group *group);
void m0_sm_group_lock(struct m0_sm_group *group);
void m0_sm_group_unlock(struct m0_sm_group *group);
bool m0_sm_group_is_locked(const struct m0_sm_group *group); /* by the calling thread */

#endif
