/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Lazy portals: a PUT without a matching descriptor waits until one comes. */
#include "core/internal.h"

/* A new descriptor takes, in order of arrival, what matches it; what matches but is too long is
 * dropped, and the others stay. */
void lnet_lazy_resume(struct lnet_node *node, struct lnet_libmd *md)
{
    struct lnet_portal *portal = node->instance->portals[md->me->portal];
    struct lnet_msg *msg, *next;
    LIST_HEAD(taken);
    LIST_HEAD(dropped);

    list_for_each_entry_safe (msg, next, &portal->delayed, on_list) {
        struct lnet_match_info info;
        enum lnet_match result;
        bool last;

        lnet_match_info(msg, &info);
        result = lnet_match_try(node, md, &info, msg);
        if (result == LNET_MATCH_NONE)
            continue;
        list_move_tail(&msg->on_list, result == LNET_MATCH_OK ? &taken : &dropped);
        last = result == LNET_MATCH_OK && (md->dead || lnet_md_exhausted(md));
        if (last)
            break;
    }
    while (!list_empty(&dropped)) {
        msg = list_first_entry(&dropped, struct lnet_msg, on_list);
        list_del(&msg->on_list);
        lnet_record_dropped(node, &msg->header, "no room");
        lnet_drop_incoming(msg->rx_ni, msg->in, msg->header.type, msg->header.payload_length);
        lnet_finalize(msg, -ENOENT);
    }
    while (!list_empty(&taken)) {
        msg = list_first_entry(&taken, struct lnet_msg, on_list);
        list_del(&msg->on_list);
        lnet_receive_put(msg);
    }
}

void lnet_lazy_drop(struct lnet_node *node, struct lnet_portal *portal, const struct lnet_ni *ni)
{
    struct lnet_msg *msg, *next;
    LIST_HEAD(dropped);

    list_for_each_entry_safe (msg, next, &portal->delayed, on_list) {
        if (ni == NULL || msg->rx_ni == ni)
            list_move_tail(&msg->on_list, &dropped);
    }
    while (!list_empty(&dropped)) {
        msg = list_first_entry(&dropped, struct lnet_msg, on_list);
        list_del(&msg->on_list);
        lnet_record_dropped(node, &msg->header,
                            ni == NULL ? "lazy portal cleared" : "interface removed");
        lnet_drop_incoming(msg->rx_ni, msg->in, msg->header.type, msg->header.payload_length);
        lnet_finalize(msg, -ENOENT);
    }
}

static int set_lazy(const char *call, int number, bool lazy)
{
    struct lnet_node *node = lnet_enter(call, true);
    struct lnet_portal *portal;
    int rc = -EINVAL;

    if (node == NULL)
        return -ENODEV;

    if (number >= 0 && number < LNET_PORTALS) {
        portal = lnet_portal_get(node->instance, (uint32_t)number);
        rc = portal != NULL ? 0 : -ENOMEM;
        if (portal != NULL) {
            portal->lazy = lazy;
            if (!lazy)
                lnet_lazy_drop(node, portal, NULL);
        }
    }
    lnet_leave(node, node->params.cost_other_ns);
    return rc;
}

int LNetSetLazyPortal(int portal)
{
    return set_lazy("LNetSetLazyPortal", portal, true);
}

int LNetClearLazyPortal(int portal)
{
    return set_lazy("LNetClearLazyPortal", portal, false);
}
