/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Portals: the lists of match entries, and which descriptor takes an incoming PUT or GET. Entries
 * with ignore bits come first, all of them; then the bucket of those without, each list in its
 * order.
 */
#include "core/internal.h"

#include <stdlib.h>

#include "engine/outside.h"

struct lnet_portal *lnet_portal_get(struct lnet_instance *instance, uint32_t number)
{
    struct lnet_portal *portal = instance->portals[number];

    if (portal != NULL)
        return portal;
    portal = calloc(1, sizeof(*portal));
    if (portal == NULL)
        return NULL;

    INIT_LIST_HEAD(&portal->delayed);
    INIT_LIST_HEAD(&portal->ignore);
    instance->portals[number] = portal;
    return portal;
}

static struct list_head *bucket(struct lnet_portal *portal, uint32_t number, bool create)
{
    struct list_head **block = &portal->blocks[number / LNET_BLOCK];
    uint32_t i;

    assert(number < LNET_BUCKETS);
    if (*block == NULL) {
        if (!create)
            return NULL;
        sim_outside_begin(); /* all processes of the node share it */
        *block = malloc(LNET_BLOCK * sizeof(**block));
        sim_outside_end();
        if (*block == NULL)
            return NULL;
        for (i = 0; i < LNET_BLOCK; i++)
            INIT_LIST_HEAD(&(*block)[i]);
    }
    return &(*block)[number % LNET_BLOCK];
}

struct list_head *lnet_portal_list(struct lnet_portal *portal, struct lnet_process_id id,
                                   uint64_t match_bits, uint64_t ignore_bits, bool create)
{
    uint64_t hash = match_bits;

    if (ignore_bits != 0)
        return &portal->ignore;
    if (portal->kind == LNET_PORTAL_UNIQUE)
        hash = sim_mix(match_bits + id.nid + id.pid);

    return bucket(portal, (uint32_t)hash & (LNET_BUCKETS - 1), create);
}

static uint32_t room(const struct lnet_libmd *md, uint32_t offset)
{
    if ((md->user.options & LNET_MD_MAX_SIZE) != 0)
        return (uint32_t)md->user.max_size;

    return offset > md->length ? 0 : md->length - offset;
}

/* Bytes that the descriptor takes at `offset`; false: the request is too long. */
static bool fits(const struct lnet_libmd *md, const struct lnet_match_info *info, uint32_t offset,
                 uint32_t *mlength)
{
    uint32_t limit = room(md, offset);

    *mlength = info->length <= limit ? info->length : limit;
    if (*mlength > 0 && (uint64_t)offset + *mlength > md->length) {
        /* MANAGE_REMOTE with MAX_SIZE: an offset from outside near the end of the memory. */
        *mlength = offset > md->length ? 0 : md->length - offset;
    }
    return *mlength == info->length || (md->user.options & LNET_MD_TRUNCATE) != 0;
}

static bool matches(const struct lnet_me *me, const struct lnet_match_info *info)
{
    if (me->match_id.nid != LNET_NID_ANY && me->match_id.nid != info->id.nid)
        return false;
    if (me->match_id.pid != LNET_PID_ANY && me->match_id.pid != info->id.pid)
        return false;

    return ((me->match_bits ^ info->match_bits) & ~me->ignore_bits) == 0;
}

enum lnet_match lnet_match_try(struct lnet_node *node, struct lnet_libmd *md,
                               const struct lnet_match_info *info, struct lnet_msg *msg)
{
    uint32_t offset, mlength;

    if (lnet_md_exhausted(md) || (md->user.options & info->operation) == 0 ||
        !matches(md->me, info))
        return LNET_MATCH_NONE;

    offset = (md->user.options & LNET_MD_MANAGE_REMOTE) != 0 ? info->offset : md->offset;
    if (!fits(md, info, offset, &mlength))
        return LNET_MATCH_DROP;

    assert(md->me != NULL && md->me->md == md);
    lnet_msg_attach_md(msg, md, offset, mlength);
    md->offset = offset + mlength;
    if (md->auto_unlink && lnet_md_exhausted(md))
        lnet_md_unlink(node, md);
    return LNET_MATCH_OK;
}

static enum lnet_match match_list(struct lnet_node *node, struct list_head *list,
                                  const struct lnet_match_info *info, struct lnet_msg *msg)
{
    struct lnet_me *me, *next;

    if (list == NULL)
        return LNET_MATCH_NONE;

    list_for_each_entry_safe (me, next, list, on_list) {
        enum lnet_match result;

        if (me->md == NULL)
            continue;
        result = lnet_match_try(node, me->md, info, msg);
        if (result != LNET_MATCH_NONE)
            return result;
    }
    return LNET_MATCH_NONE;
}

enum lnet_match lnet_match(struct lnet_node *node, const struct lnet_match_info *info,
                           struct lnet_msg *msg)
{
    struct lnet_portal *portal;
    enum lnet_match result;

    if (info->portal >= LNET_PORTALS)
        return LNET_MATCH_DROP;
    portal = node->instance->portals[info->portal];
    if (portal == NULL)
        return LNET_MATCH_DROP;

    result = match_list(node, &portal->ignore, info, msg);
    if (result == LNET_MATCH_NONE)
        result = match_list(node, lnet_portal_list(portal, info->id, info->match_bits, 0, false),
                            info, msg);
    if (result != LNET_MATCH_NONE)
        return result;
    if (info->operation != LNET_MD_OP_PUT || !portal->lazy)
        return LNET_MATCH_DROP;

    if (msg->rx_ready_delay) {
        assert(list_empty(&msg->on_list));
        list_add_tail(&msg->on_list, &portal->delayed);
        msg->rx_delayed = true;
    }
    return LNET_MATCH_NONE;
}

void lnet_match_info(const struct lnet_msg *msg, struct lnet_match_info *info)
{
    const struct lnet_hdr *header = &msg->header;

    info->id.nid = lnet_msg_initiator(msg);
    info->id.pid = header->src_pid;
    if (header->type == LNET_MSG_PUT) {
        info->operation = LNET_MD_OP_PUT;
        info->portal = header->msg.put.ptl_index;
        info->length = header->payload_length;
        info->offset = header->msg.put.offset;
        info->match_bits = header->msg.put.match_bits;
    } else {
        info->operation = LNET_MD_OP_GET;
        info->portal = header->msg.get.ptl_index;
        info->length = header->msg.get.sink_length;
        info->offset = header->msg.get.src_offset;
        info->match_bits = header->msg.get.match_bits;
    }
}

static void entries_free(struct lnet_node *node, struct list_head *list)
{
    while (!list_empty(list)) {
        lnet_me_remove(node, list_first_entry(list, struct lnet_me, on_list));
        node->instance->leaks.mes++;
    }
}

void lnet_portals_free(struct lnet_node *node)
{
    uint32_t number, block, i;

    for (number = 0; number < LNET_PORTALS; number++) {
        struct lnet_portal *portal = node->instance->portals[number];

        if (portal == NULL)
            continue;
        assert(list_empty(&portal->delayed));
        entries_free(node, &portal->ignore);
        for (block = 0; block < LNET_BUCKETS / LNET_BLOCK; block++) {
            for (i = 0; portal->blocks[block] != NULL && i < LNET_BLOCK; i++)
                entries_free(node, &portal->blocks[block][i]);
            free(portal->blocks[block]);
        }
        free(portal);
        node->instance->portals[number] = NULL;
    }
}
