/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* LNet's counters as programs read and reset them. Those of a run go on: their value at the last
 * reset is subtracted. */
#include "core/internal.h"

#include <string.h>
#include "lnet/lib-lnet.h"

void lnet_counters_since_reset(const struct lnet_node *node, struct lnet_counters *counters)
{
    const struct lnet_counters_common *before = &node->counters_at_reset.lct_common;
    struct lnet_counters_common *common = &counters->lct_common;
    const __u32 *health_before = (const void *)&node->counters_at_reset.lct_health;
    __u32 *health = (void *)&counters->lct_health; /* all of them are of this type */
    size_t i;

    *counters = node->counters;
    common->lcc_errors -= before->lcc_errors;
    common->lcc_send_count -= before->lcc_send_count;
    common->lcc_recv_count -= before->lcc_recv_count;
    common->lcc_route_count -= before->lcc_route_count;
    common->lcc_drop_count -= before->lcc_drop_count;
    common->lcc_send_length -= before->lcc_send_length;
    common->lcc_recv_length -= before->lcc_recv_length;
    common->lcc_route_length -= before->lcc_route_length;
    common->lcc_drop_length -= before->lcc_drop_length;
    for (i = 0; i < sizeof(counters->lct_health) / sizeof(*health); i++)
        health[i] -= health_before[i];
}

/* Also from callbacks of event queues, which have the lock. */
static struct lnet_node *begin(bool *locked)
{
    struct lnet_node *node = lnet_host_of_caller();

    *locked = node != NULL && !lnet_host_locked_by_me(node);
    if (*locked)
        lnet_host_lock(node);
    return node;
}

void lnet_counters_get(struct lnet_counters *counters)
{
    bool locked;
    struct lnet_node *node = begin(&locked);

    if (node != NULL)
        lnet_counters_since_reset(node, counters);
    else
        memset(counters, 0, sizeof(*counters));
    if (locked)
        lnet_host_unlock(node);
}

void lnet_counters_get_common(struct lnet_counters_common *common)
{
    struct lnet_counters all;

    lnet_counters_get(&all);
    *common = all.lct_common;
}

void lnet_counters_reset(void)
{
    bool locked;
    struct lnet_node *node = begin(&locked);

    if (node != NULL) {
        node->counters_at_reset = node->counters;
        node->counters.lct_common.lcc_msgs_max = node->counters.lct_common.lcc_msgs_alloc;
    }
    if (locked)
        lnet_host_unlock(node);
}
