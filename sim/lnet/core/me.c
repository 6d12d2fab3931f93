/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Match entries. */
#include "core/internal.h"

/* The first entry decides the kind of the portal until LNet stops. */
static bool suits(struct lnet_portal *portal, struct lnet_process_id id, uint64_t ignore_bits)
{
    enum lnet_portal_kind kind =
        ignore_bits == 0 && id.nid != LNET_NID_ANY && id.pid != LNET_PID_ANY ? LNET_PORTAL_UNIQUE
                                                                             : LNET_PORTAL_WILDCARD;

    if (portal->kind == LNET_PORTAL_UNUSED)
        portal->kind = kind;
    return portal->kind == kind;
}

static int make(struct lnet_node *node, uint32_t portal, struct lnet_process_id id,
                uint64_t match_bits, uint64_t ignore_bits, enum lnet_unlink unlink,
                struct lnet_me **me)
{
    *me = lnet_me_new();
    if (*me == NULL)
        return -ENOMEM;

    (*me)->cookie = lnet_handle_new(node, LNET_HANDLE_ME, *me);
    if ((*me)->cookie == 0) {
        lnet_me_free(*me);
        return -ENOMEM;
    }
    (*me)->portal = portal;
    (*me)->match_id = id;
    (*me)->match_bits = match_bits;
    (*me)->ignore_bits = ignore_bits;
    (*me)->unlink = unlink == LNET_UNLINK;
    return 0;
}

int lnet_me_attach(struct lnet_node *node, uint32_t number, struct lnet_process_id id,
                   uint64_t match_bits, uint64_t ignore_bits, enum lnet_unlink unlink,
                   enum lnet_ins_pos pos, struct lnet_me **me)
{
    struct lnet_portal *portal;
    struct list_head *list;
    int rc;

    if (number >= LNET_PORTALS)
        return -EINVAL;
    portal = lnet_portal_get(node->instance, number);
    if (portal == NULL)
        return -ENOMEM;
    if ((unsigned)pos > LNET_INS_LOCAL || !suits(portal, id, ignore_bits))
        return -EPERM;
    list = lnet_portal_list(portal, id, match_bits, ignore_bits, true);
    if (list == NULL)
        return -ENOMEM;
    rc = make(node, number, id, match_bits, ignore_bits, unlink, me);
    if (rc != 0)
        return rc;

    (*me)->list = list;
    if (pos == LNET_INS_BEFORE)
        list_add(&(*me)->on_list, list);
    else
        list_add_tail(&(*me)->on_list, list);
    return 0;
}

static int insert(struct lnet_node *node, struct lnet_handle_me current, struct lnet_process_id id,
                  uint64_t match_bits, uint64_t ignore_bits, enum lnet_unlink unlink,
                  enum lnet_ins_pos pos, struct lnet_handle_me *handle)
{
    struct lnet_me *me, *neighbour;
    int rc;

    if (pos != LNET_INS_BEFORE && pos != LNET_INS_AFTER)
        return -EPERM;
    neighbour = lnet_handle_find(node, LNET_HANDLE_ME, current.cookie);
    if (neighbour == NULL)
        return -ENOENT;
    if (node->instance->portals[neighbour->portal]->kind == LNET_PORTAL_UNIQUE)
        return -EPERM;
    rc = make(node, neighbour->portal, id, match_bits, ignore_bits, unlink, &me);
    if (rc != 0)
        return rc;

    me->list = neighbour->list;
    if (pos == LNET_INS_BEFORE)
        list_add_tail(&me->on_list, &neighbour->on_list);
    else
        list_add(&me->on_list, &neighbour->on_list);
    handle->cookie = me->cookie;
    return 0;
}

void lnet_me_remove(struct lnet_node *node, struct lnet_me *me)
{
    struct lnet_libmd *md = me->md;

    list_del(&me->on_list);
    lnet_handle_free(node, me->cookie);
    if (md != NULL) {
        me->md = NULL;
        md->me = NULL;
        lnet_md_abort(node, md);
    }
    lnet_me_free(me);
}

int LNetMEAttach(unsigned int portal, struct lnet_process_id id, __u64 match_bits,
                 __u64 ignore_bits, enum lnet_unlink unlink, enum lnet_ins_pos pos,
                 struct lnet_handle_me *handle)
{
    struct lnet_node *node = lnet_enter("LNetMEAttach", true);
    struct lnet_me *me;
    int rc;

    if (node == NULL)
        return -ENODEV;

    rc = lnet_me_attach(node, portal, id, match_bits, ignore_bits, unlink, pos, &me);
    if (rc == 0)
        handle->cookie = me->cookie;
    lnet_leave(node, node->params.cost_me_ns);
    return rc;
}

int LNetMEInsert(struct lnet_handle_me current, struct lnet_process_id id, __u64 match_bits,
                 __u64 ignore_bits, enum lnet_unlink unlink, enum lnet_ins_pos pos,
                 struct lnet_handle_me *handle)
{
    struct lnet_node *node = lnet_enter("LNetMEInsert", true);
    int rc;

    if (node == NULL)
        return -ENODEV;

    rc = insert(node, current, id, match_bits, ignore_bits, unlink, pos, handle);
    lnet_leave(node, node->params.cost_me_ns);
    return rc;
}

int LNetMEUnlink(struct lnet_handle_me handle)
{
    struct lnet_node *node = lnet_enter("LNetMEUnlink", true);
    struct lnet_me *me;

    if (node == NULL)
        return -ENODEV;

    me = lnet_handle_find(node, LNET_HANDLE_ME, handle.cookie);
    if (me != NULL)
        lnet_me_remove(node, me);
    lnet_leave(node, node->params.cost_me_ns);
    return me != NULL ? 0 : -ENOENT;
}
