/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The lock of a group of state machines. */
#include "sm/sm.h"

void m0_sm_group_init(struct m0_sm_group *group)
{
    m0_mutex_init(&group->s_lock);
}

void m0_sm_group_fini(struct m0_sm_group *group)
{
    m0_mutex_fini(&group->s_lock);
}

void m0_sm_group_lock(struct m0_sm_group *group)
{
    m0_mutex_lock(&group->s_lock);
}

void m0_sm_group_unlock(struct m0_sm_group *group)
{
    m0_mutex_unlock(&group->s_lock);
}

bool m0_sm_group_is_locked(const struct m0_sm_group *group)
{
    return m0_mutex_is_locked(&group->s_lock);
}
