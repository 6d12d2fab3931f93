/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Peer discovery. Before the first PUT or GET to a peer, a ping asks for its NIDs, and a push tells
 * it ours; meanwhile messages to it wait. A peer with several NIDs is then multi-rail.
 *
 *   idle ── first message ──▶ ping ── answer of a multi-rail peer ──▶ push ── end ──▶ up to date
 *                               └── no answer ──▶ idle, and what waits is sent to the NID as given
 */
#include "core/ni.h"

#include <stdlib.h>
#include <string.h>

struct lnet_discovery {
    struct lnet_peer *peer;
    struct list_head waiting; /* messages; FIFO */
    bool pushing;
    struct lnet_ping ping; /* the answer; then what the push sends */
};

struct lnet_push_target {
    uint64_t me_cookie;
    struct lnet_eq *eq; /* of pushes, both ways */
    union {
        struct lnet_ping_info info;
        char space[sizeof(struct lnet_ping_info) +
                   LNET_PING_INTERFACES * sizeof(struct lnet_ni_status)];
    };
};

/* ---- what a peer says about itself ----------------------------------------------------------- */

static void move_to(struct lnet_peer_ni *peer_ni, struct lnet_peer *peer)
{
    struct lnet_peer *from = peer_ni->peer;

    if (from == peer)
        return;
    if (from->discovery != NULL || from->configured)
        return; /* it will find out itself, or somebody knows better */

    list_move_tail(&peer_ni->on_peer, &peer->nis);
    peer_ni->peer = peer;
    if (list_empty(&from->nis)) {
        list_del(&from->on_node);
        free(from);
    }
}

/* NIDs that the peer has no more are peers of their own, which nobody configured: messages may be
 * under way to them. */
static void forget_others(struct lnet_instance *instance, struct lnet_peer *peer,
                          const struct lnet_ping_info *info, uint32_t nis)
{
    struct lnet_peer_ni *peer_ni, *next;
    uint32_t i;

    list_for_each_entry_safe (peer_ni, next, &peer->nis, on_peer) {
        for (i = 1; i < nis && info->pi_ni[i].ns_nid != peer_ni->nid;)
            i++;
        if (i < nis || peer_ni->nid == peer->primary)
            continue;
        (void)lnet_peer_split_off(instance, peer_ni);
    }
}

/* Lengths come from the other node; they are bounded by what it sent. The first NI is its lo. */
static bool learn(struct lnet_node *node, struct lnet_peer *peer, const struct lnet_ping_info *info,
                  uint32_t bytes)
{
    uint32_t room, nis, i;

    if (bytes < sizeof(*info) || info->pi_magic != LNET_PROTO_PING_MAGIC ||
        (info->pi_features & LNET_PING_FEAT_MULTI_RAIL) == 0)
        return false;
    if (peer->configured)
        return true;

    room = (uint32_t)((bytes - sizeof(*info)) / sizeof(info->pi_ni[0]));
    nis = info->pi_nnis < room ? info->pi_nnis : room;
    for (i = 1; i < nis; i++) {
        struct lnet_peer_ni *peer_ni = lnet_peer_ni_get(node, info->pi_ni[i].ns_nid);

        if (peer_ni == NULL)
            return false;
        move_to(peer_ni, peer);
    }
    if (nis > 1 && lnet_peer_ni_find(node->instance, info->pi_ni[1].ns_nid)->peer == peer)
        peer->primary = info->pi_ni[1].ns_nid;
    if (nis > 1 && nis == info->pi_nnis) /* the list is whole */
        forget_others(node->instance, peer, info, nis);
    peer->multi_rail = true;
    return true;
}

/* ---- discovering ----------------------------------------------------------------------------- */

static void release(struct lnet_discovery *discovery, bool up_to_date)
{
    struct lnet_peer *peer = discovery->peer;
    struct lnet_node *node = discovery->ping.node;

    peer->discovery = NULL;
    peer->up_to_date = up_to_date;
    while (!list_empty(&discovery->waiting)) {
        struct lnet_msg *msg = list_first_entry(&discovery->waiting, struct lnet_msg, on_list);
        int rc;

        list_del(&msg->on_list);
        msg->discovered = true;
        rc = node->state == LNET_RUNNING ? lnet_send(msg, msg->source_argument, NULL) : -ESHUTDOWN;
        if (rc < 0) {
            msg->no_resend = true;
            lnet_finalize(msg, rc);
        }
    }
    free(discovery);
    lnet_host_wake(node); /* LNetPrimaryNID */
}

static uint32_t own_info(struct lnet_node *node, struct lnet_ping_info *info)
{
    uint32_t nis = 0;
    struct lnet_ni *ni;

    memset(info, 0, sizeof(*info));
    info->pi_magic = LNET_PROTO_PING_MAGIC;
    info->pi_features = LNET_PING_FEAT_BASE | LNET_PING_FEAT_NI_STATUS | LNET_PING_FEAT_MULTI_RAIL |
                        LNET_PING_FEAT_DISCOVERY;
    info->pi_pid = node->pid;
    while (nis < LNET_PING_INTERFACES && (ni = lnet_ni_by_index(node->instance, nis)) != NULL) {
        info->pi_ni[nis] = (struct lnet_ni_status){
            ni->nid, nis == 0 ? 1 + node->instance->ni_changes : ni->status, 0};
        nis++;
    }
    info->pi_nnis = nis;
    return (uint32_t)(sizeof(*info) + nis * sizeof(info->pi_ni[0]));
}

/* Tells the peer our NIDs; the event of the descriptor's end goes on. False: it could not begin. */
static bool push(struct lnet_discovery *discovery)
{
    struct lnet_node *node = discovery->ping.node;
    struct lnet_process_id target = {discovery->ping.nid, LNET_PID_LUSTRE};
    struct lnet_md md = {
        .start = &discovery->ping.info,
        .length = own_info(node, &discovery->ping.info),
        .threshold = 2, /* PUT, ACK */
        .user_ptr = discovery,
        .eq_handle = {node->instance->push->eq->cookie},
    };
    struct lnet_handle_md handle;

    discovery->pushing = true;
    if (lnet_md_bind(node, &md, LNET_UNLINK, &handle) != 0)
        return false;
    if (lnet_put(node, LNET_NID_ANY, handle, LNET_ACK_REQ, target, LNET_RESERVED_PORTAL,
                 LNET_PROTO_PING_MATCHBITS, 0, 0) != 0)
        lnet_md_abort(node, lnet_md_find(node, handle));
    return true;
}

static void ping_done(struct lnet_ping *ping)
{
    struct lnet_discovery *discovery = sim_container_of(ping, struct lnet_discovery, ping);
    bool knows_discovery = (ping->info.pi_features & LNET_PING_FEAT_DISCOVERY) != 0;

    discovery->peer->discovery_status = ping->replied ? 0 : ping->status;
    if (!ping->replied) {
        release(discovery, false);
        return;
    }
    if (!learn(ping->node, discovery->peer, &ping->info, ping->bytes) || !knows_discovery ||
        !push(discovery))
        release(discovery, true);
}

/* Events of pushes: of our own, and of those that come in. */
static void push_event(struct lnet_event *event)
{
    if (event->type == LNET_EVENT_PUT) {
        struct lnet_push_target *target = event->md.user_ptr;
        struct lnet_node *node = target->eq->node;
        struct lnet_peer_ni *peer_ni = lnet_peer_ni_find(node->instance, event->source.nid);

        if (peer_ni == NULL)
            return;
        if (event->status != 0) /* what it wanted to tell is unknown: the next message asks again */
            peer_ni->peer->up_to_date = false;
        else if (learn(node, peer_ni->peer, &target->info, event->mlength))
            peer_ni->peer->up_to_date = true;
        return;
    }
    if (event->unlinked && event->type != LNET_EVENT_PUT && event->md.length > 0 &&
        event->md.options == 0)
        release(event->md.user_ptr, true);
}

static bool wants(const struct lnet_msg *msg)
{
    uint32_t portal;

    if (msg->node->instance->push == NULL || msg->discovered || msg->routing || msg->recovery)
        return false;
    if (msg->header.type == LNET_MSG_PUT)
        portal = msg->header.msg.put.ptl_index;
    else if (msg->header.type == LNET_MSG_GET)
        portal = msg->header.msg.get.ptl_index;
    else
        return false;

    return portal != LNET_RESERVED_PORTAL;
}

static struct lnet_discovery *discovery_new(struct lnet_node *node, struct lnet_peer *peer,
                                            lnet_nid_t nid)
{
    struct lnet_discovery *discovery = calloc(1, sizeof(*discovery));

    if (discovery == NULL)
        return NULL;
    discovery->peer = peer;
    discovery->ping.node = node;
    discovery->ping.nid = nid;
    discovery->ping.done = ping_done;
    INIT_LIST_HEAD(&discovery->waiting);
    peer->discovery = discovery;
    return discovery;
}

void lnet_discovery_push_all(struct lnet_node *node)
{
    struct lnet_peer *peer, *next;

    if (node->instance->push == NULL)
        return;
    list_for_each_entry_safe (peer, next, &node->instance->peers, on_node) {
        struct lnet_discovery *discovery;

        if (!peer->multi_rail || !peer->up_to_date || peer->discovery != NULL)
            continue;
        discovery = discovery_new(node, peer, peer->primary);
        if (discovery != NULL && !push(discovery))
            release(discovery, true);
    }
}

static int discover(struct lnet_node *node, struct lnet_peer *peer, lnet_nid_t nid)
{
    struct lnet_discovery *discovery = discovery_new(node, peer, nid);
    int rc;

    if (discovery == NULL)
        return -ENOMEM;
    rc = lnet_ping_send(&discovery->ping, false);
    if (rc != 0) {
        peer->discovery = NULL;
        free(discovery);
    }
    return rc;
}

/* True: the message waits until the peer is known. */
bool lnet_discovery_delays(struct lnet_msg *msg, struct lnet_peer_ni *peer_ni)
{
    struct lnet_peer *peer = peer_ni->peer;

    if (!wants(msg) || peer->up_to_date ||
        lnet_ni_by_nid(msg->node->instance, peer_ni->nid) != NULL)
        return false;
    if (peer->discovery == NULL && discover(msg->node, peer, peer_ni->nid) != 0)
        return false;
    if (peer_ni->peer->discovery == NULL) /* it failed at once */
        return false;

    list_add_tail(&msg->on_list, &peer_ni->peer->discovery->waiting);
    return true;
}

/* For LNetPrimaryNID. */
void lnet_discovery_wait(struct lnet_node *node, lnet_nid_t nid)
{
    struct lnet_peer_ni *peer_ni;

    if (node->instance->push == NULL || nid == LNET_NID_LO_0 ||
        lnet_ni_by_nid(node->instance, nid) != NULL)
        return;
    peer_ni = lnet_peer_ni_get(node, nid);
    if (peer_ni == NULL || peer_ni->peer->up_to_date)
        return;
    if (peer_ni->peer->discovery == NULL && discover(node, peer_ni->peer, nid) != 0)
        return;

    while (node->state == LNET_RUNNING) {
        peer_ni = lnet_peer_ni_find(node->instance, nid);
        if (peer_ni == NULL || peer_ni->peer->discovery == NULL)
            return;
        lnet_host_wait(node, SIM_NEVER, "waiting until LNet has discovered a peer");
    }
}

int lnet_discovery_again(struct lnet_node *node, lnet_nid_t nid)
{
    struct lnet_peer_ni *peer_ni = lnet_peer_ni_get(node, nid);

    if (peer_ni == NULL)
        return -ENOMEM;
    if (peer_ni->peer->discovery == NULL)
        peer_ni->peer->up_to_date = false;
    lnet_discovery_wait(node, nid);
    if (node->state != LNET_RUNNING)
        return -ESHUTDOWN;
    peer_ni = lnet_peer_ni_find(node->instance, nid);
    if (node->instance->push == NULL || lnet_ni_by_nid(node->instance, nid) != NULL ||
        peer_ni->peer->up_to_date)
        return 0;
    return peer_ni->peer->discovery_status < 0 ? peer_ni->peer->discovery_status : -EHOSTUNREACH;
}

/* ---- the push target --------------------------------------------------------------------------
 */

int lnet_discovery_start(struct lnet_node *node)
{
    struct lnet_process_id any = {LNET_NID_ANY, LNET_PID_ANY};
    struct lnet_push_target *target;
    struct lnet_handle_md handle;
    struct lnet_md md;
    struct lnet_me *me;
    int rc;

    if (node->params.lnet_peer_discovery_disabled != 0)
        return 0;
    target = calloc(1, sizeof(*target));
    if (target == NULL)
        return -ENOMEM;
    target->eq = lnet_eq_internal(node, push_event);
    if (target->eq == NULL) {
        free(target);
        return -ENOMEM;
    }
    node->instance->push = target;
    rc = lnet_me_attach(node, LNET_RESERVED_PORTAL, any, LNET_PROTO_PING_MATCHBITS, 0, LNET_UNLINK,
                        LNET_INS_AFTER, &me);
    if (rc != 0)
        return rc;
    target->me_cookie = me->cookie;
    md = (struct lnet_md){
        .start = &target->info,
        .length = sizeof(target->space),
        .threshold = LNET_MD_THRESH_INF,
        .options = LNET_MD_OP_PUT | LNET_MD_TRUNCATE | LNET_MD_MANAGE_REMOTE,
        .user_ptr = target,
        .eq_handle = {target->eq->cookie},
    };
    return lnet_md_attach(node, me, &md, LNET_RETAIN, &handle);
}

void lnet_discovery_stop(struct lnet_node *node)
{
    struct lnet_instance *instance = node->instance;
    struct lnet_me *me = NULL;

    /* The trackers have stopped, so no ping or push is waited for; what is still queued goes. */
    if (instance->push != NULL)
        me = lnet_handle_find(node, LNET_HANDLE_ME, instance->push->me_cookie);
    if (me != NULL)
        lnet_me_remove(node, me);
}

void lnet_discovery_free(struct lnet_instance *instance)
{
    if (instance->push == NULL)
        return;
    lnet_eq_internal_free(instance->push->eq);
    free(instance->push);
    instance->push = NULL;
}
