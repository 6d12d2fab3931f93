/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Peers that were configured: by LNetCtl, or by a file of lnetctl. Discovery leaves them alone. */
#define _GNU_SOURCE
#include "core/internal.h"

#include <stdlib.h>
#include <string.h>
#include "lnet/export.h"

struct lnet_peer *lnet_peer_split_off(struct lnet_instance *instance, struct lnet_peer_ni *peer_ni)
{
    struct lnet_peer *from = peer_ni->peer, *peer;

    if (from->nis.next->next == &from->nis)
        return from;
    peer = calloc(1, sizeof(*peer));
    if (peer == NULL)
        return NULL;
    INIT_LIST_HEAD(&peer->nis);
    peer->primary = peer_ni->nid;
    list_add_tail(&peer->on_node, &instance->peers);
    list_move_tail(&peer_ni->on_peer, &peer->nis);
    peer_ni->peer = peer;
    if (from->primary == peer_ni->nid)
        from->primary = list_first_entry(&from->nis, struct lnet_peer_ni, on_peer)->nid;
    return peer;
}

/* A new peer with one NID. */
static int create(struct lnet_node *node, lnet_nid_t primary, bool multi_rail)
{
    struct lnet_peer_ni *peer_ni = lnet_peer_ni_get(node, primary);
    struct lnet_peer *peer;

    if (peer_ni == NULL)
        return -ENOMEM;
    peer = peer_ni->peer;
    if (peer->configured) {
        if (peer->primary != primary)
            return -EEXIST;
        return peer->multi_rail != multi_rail ? -EPERM : 0;
    }
    if (peer->discovery != NULL)
        return -EBUSY;
    peer = lnet_peer_split_off(node->instance, peer_ni);
    if (peer == NULL)
        return -ENOMEM;
    peer->primary = primary;
    peer->configured = true;
    peer->multi_rail = multi_rail;
    peer->preferred_source = 0;
    return 0;
}

/* One more NID; it may have been a peer of its own until now. */
static int add_nid(struct lnet_node *node, struct lnet_peer *peer, lnet_nid_t nid)
{
    struct lnet_peer_ni *peer_ni = lnet_peer_ni_get(node, nid);
    struct lnet_peer *from;

    if (peer_ni == NULL)
        return -ENOMEM;
    from = peer_ni->peer;
    if (from == peer)
        return 0;
    if (from->configured)
        return -EEXIST;
    if (from->discovery != NULL)
        return -EBUSY;
    from = lnet_peer_split_off(node->instance, peer_ni);
    if (from == NULL)
        return -ENOMEM;
    list_move_tail(&peer_ni->on_peer, &peer->nis);
    peer_ni->peer = peer;
    list_del(&from->on_node);
    free(from);
    return 0;
}

/* NULL: *error says why. */
static struct lnet_peer *find(struct lnet_node *node, lnet_nid_t primary, int *error)
{
    struct lnet_peer_ni *peer_ni =
        primary != LNET_NID_ANY ? lnet_peer_ni_find(node->instance, primary) : NULL;

    *error = primary == LNET_NID_ANY ? -EINVAL : peer_ni == NULL ? -ENOENT : 0;
    if (*error == 0 && peer_ni->peer->primary != primary)
        *error = -ENODEV;
    return *error == 0 ? peer_ni->peer : NULL;
}

int lnet_peer_add(struct lnet_node *node, lnet_nid_t primary, lnet_nid_t nid, bool multi_rail)
{
    struct lnet_peer *peer;
    int rc;

    if (primary == LNET_NID_ANY)
        return -EINVAL;
    if (nid == LNET_NID_ANY)
        return create(node, primary, multi_rail);
    peer = find(node, primary, &rc);
    if (peer == NULL)
        return rc;
    if (!peer->configured)
        return -ENOENT;
    return peer->multi_rail != multi_rail ? -EPERM : add_nid(node, peer, nid);
}

/* What messages and drivers know of a NID stays; it is like one that was never configured. */
static int forget(struct lnet_instance *instance, struct lnet_peer_ni *peer_ni)
{
    struct lnet_peer *peer = lnet_peer_split_off(instance, peer_ni);

    if (peer == NULL)
        return -ENOMEM;
    peer->configured = peer->multi_rail = peer->up_to_date = false;
    return 0;
}

int lnet_peer_delete(struct lnet_node *node, lnet_nid_t primary, lnet_nid_t nid)
{
    struct lnet_peer_ni *peer_ni, *next;
    int rc;
    struct lnet_peer *peer = find(node, primary, &rc);

    if (peer == NULL)
        return rc;
    if (peer->discovery != NULL)
        return -EBUSY;
    list_for_each_entry (peer_ni, &peer->nis, on_peer) {
        if (peer_ni->gateway != NULL)
            return -EBUSY;
    }
    if (nid != LNET_NID_ANY && nid != primary) {
        peer_ni = lnet_peer_ni_find(node->instance, nid);
        if (peer_ni == NULL)
            return -ENOENT;
        return peer_ni->peer != peer ? -ECHILD : forget(node->instance, peer_ni);
    }
    list_for_each_entry_safe (peer_ni, next, &peer->nis, on_peer) {
        rc = forget(node->instance, peer_ni);
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* "multi-rail 10.0.0.1@tcp 10.1.0.1@o2ib"; NIDs of the node itself are not its peers. */
static int start(struct lnet_node *node, char *text)
{
    const char *kind = strsep(&text, " "), *word;
    bool multi_rail = strcmp(kind, "multi-rail") == 0;
    lnet_nid_t primary = LNET_NID_ANY;
    int rc = 0;

    while (rc == 0 && (word = strsep(&text, " ")) != NULL) {
        lnet_nid_t nid = libcfs_str2nid(word);

        if (nid == LNET_NID_ANY || lnet_ni_by_nid(node->instance, nid) != NULL)
            continue;
        if (primary == LNET_NID_ANY) {
            primary = nid;
            rc = lnet_peer_add(node, primary, LNET_NID_ANY, multi_rail);
        } else if (nid != primary) {
            rc = lnet_peer_add(node, primary, nid, multi_rail);
        }
    }
    return rc;
}

int lnet_peers_start(struct lnet_node *node)
{
    uint32_t i;

    for (i = 0; i < node->setting_count; i++) {
        char *text, *warning;
        int rc;

        if (strcmp(node->settings[i].name, LNET_SETTING_PEER) != 0)
            continue;
        text = strdup(node->settings[i].value);
        if (text == NULL)
            return -ENOMEM;
        rc = start(node, text);
        free(text);
        if (rc == -ENOMEM)
            return rc;
        if (rc != 0) {
            warning = lnet_text("peer: \"%s\": error %d: a NID belongs to another peer",
                                node->settings[i].value, -rc);
            lnet_host_warn(node, LNET_WARNING_SETTING, warning);
            free(warning);
        }
    }
    return 0;
}
