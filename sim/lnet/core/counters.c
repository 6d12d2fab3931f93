/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* LNet's counters as programs read and reset them. Those of a run go on: their value at the last
 * reset is subtracted. */
#include "core/internal.h"

#include <string.h>
#include "lnet/lib-lnet.h"

#define COMMON_COUNTERS(X)                                                                 \
    X(errors)                                                                              \
    X(send_count) X(recv_count) X(route_count) X(drop_count) X(send_length) X(recv_length) \
        X(route_length) X(drop_length)
#define HEALTH_COUNTERS(X)                                                                         \
    X(rst_alloc)                                                                                   \
    X(resend_count) X(response_timeout_count) X(local_interrupt_count) X(local_dropped_count)      \
        X(local_aborted_count) X(local_no_route_count) X(local_timeout_count) X(local_error_count) \
            X(remote_dropped_count) X(remote_error_count) X(remote_timeout_count)                  \
                X(network_timeout_count)

void lnet_counters_since_reset(const struct lnet_node *node, struct lnet_counters *counters)
{
    *counters = node->counters;
#define SINCE(field) \
    counters->lct_common.lcc_##field -= node->counters_at_reset.lct_common.lcc_##field;
    COMMON_COUNTERS(SINCE)
#undef SINCE
#define SINCE(field) \
    counters->lct_health.lch_##field -= node->counters_at_reset.lct_health.lch_##field;
    HEALTH_COUNTERS(SINCE)
#undef SINCE
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
