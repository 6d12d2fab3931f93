/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Transmit credits. A message takes a credit of its next hop, then one of its NI; where there is
 * none it waits in a FIFO, holding what it has. A counter of -n means that n messages wait.
 */
#include "core/internal.h"

static uint64_t queued_bytes(const struct lnet_msg *msg)
{
    return msg->payload_length + sizeof(struct lnet_hdr);
}

/* A count below 0 is the number of messages in the FIFO. */
static void check_credits(int credits, const struct list_head *waiting)
{
    assert((credits < 0) == !list_empty(waiting));
    (void)credits;
    (void)waiting;
}

static void note_minimum(struct lnet_node *node, int credits)
{
    if (credits < node->credits_min)
        node->credits_min = credits;
}

/* False: it waits. */
static bool take_peer_credit(struct lnet_msg *msg)
{
    struct lnet_peer_ni *peer = msg->tx_peer;

    if (msg->peer_credit)
        return true;

    assert(!msg->ni_credit); /* the peer's comes first */
    check_credits(peer->tx_credits, &peer->tx_delayed);

    msg->peer_credit = true;
    peer->tx_queued_bytes += queued_bytes(msg);
    peer->tx_credits--;
    if (peer->tx_credits < peer->tx_credits_min) {
        peer->tx_credits_min = peer->tx_credits;
        note_minimum(msg->node, peer->tx_credits);
    }
    if (peer->tx_credits >= 0)
        return true;

    msg->tx_delayed = true;
    list_add_tail(&msg->on_list, &peer->tx_delayed);
    return false;
}

static bool take_ni_credit(struct lnet_msg *msg)
{
    struct lnet_ni *ni = msg->tx_ni;

    if (msg->ni_credit)
        return true;

    assert(msg->peer_credit);
    check_credits(ni->tx_credits, &ni->tx_delayed);
    msg->ni_credit = true;
    ni->tx_credits--;
    lnet_trace_credits(ni);
    if (ni->tx_credits < ni->tx_credits_min) {
        ni->tx_credits_min = ni->tx_credits;
        note_minimum(msg->node, ni->tx_credits);
    }
    if (ni->tx_credits >= 0)
        return true;

    msg->tx_delayed = true;
    list_add_tail(&msg->on_list, &ni->tx_delayed);
    return false;
}

/* LNET_POST_OK: it holds both credits. LNET_POST_WAIT: it waits. Or an error. */
int lnet_post_send(struct lnet_msg *msg)
{
    assert(list_empty(&msg->on_list));
    assert(msg->tx_committed);
    if (msg->tx_ni->shutting_down)
        return -ESHUTDOWN;
    if (msg->retries == 0 && !lnet_peer_usable(msg->tx_peer, msg->tx_ni)) {
        msg->health_status = LNET_MSG_STATUS_REMOTE_DROPPED;
        lnet_drop_outgoing(msg);
        return -EHOSTUNREACH;
    }
    if (msg->md != NULL && msg->md->aborted) {
        msg->no_resend = true;
        return -ECANCELED;
    }
    if (!take_peer_credit(msg) || !take_ni_credit(msg))
        return LNET_POST_WAIT;

    return LNET_POST_OK;
}

/* What waited first goes on. It is posted when no other message is being posted, so a driver that
 * completes messages at once does not nest calls. */
static void wake_first(struct lnet_node *node, struct list_head *waiting)
{
    struct lnet_msg *msg;

    assert(!list_empty(waiting));
    msg = list_first_entry(waiting, struct lnet_msg, on_list);
    list_move_tail(&msg->on_list, &node->instance->ready);
}

void lnet_post_ready(struct lnet_node *node)
{
    struct lnet_instance *instance = node->instance;

    if (instance->posting)
        return;

    instance->posting = true;
    while (!list_empty(&instance->ready)) {
        struct lnet_msg *msg = list_first_entry(&instance->ready, struct lnet_msg, on_list);
        int rc;

        list_del(&msg->on_list);
        if (!msg->tx_committed) {
            lnet_router_resume(msg);
            continue;
        }
        rc = lnet_post_send(msg);
        if (rc < 0)
            lnet_finalize(msg, rc);
        else if (rc == LNET_POST_OK)
            lnet_ni_send(msg);
    }
    instance->posting = false;
}

void lnet_return_tx_credits(struct lnet_msg *msg)
{
    struct lnet_ni *ni = msg->tx_ni;
    struct lnet_peer_ni *peer = msg->tx_peer;

    if (msg->ni_credit) {
        msg->ni_credit = false;
        ni->tx_credits++;
        lnet_trace_credits(ni);
        assert(ni->tx_credits <= ni->credits);
        if (ni->tx_credits <= 0)
            wake_first(msg->node, &ni->tx_delayed);
        check_credits(ni->tx_credits, &ni->tx_delayed);
    }
    if (msg->peer_credit) {
        msg->peer_credit = false;
        assert(peer->tx_queued_bytes >= queued_bytes(msg));
        peer->tx_queued_bytes -= queued_bytes(msg);
        peer->tx_credits++;
        if (peer->tx_credits <= 0)
            wake_first(msg->node, &peer->tx_delayed);
        check_credits(peer->tx_credits, &peer->tx_delayed);
    }
    msg->tx_ni = NULL;
    msg->tx_peer = NULL;
}

/* Ends the messages that wait in a FIFO and would go out on the NI. They give back the credit that
 * they wait for without waking anybody. */
static void flush(struct list_head *waiting, struct lnet_ni *ni, struct lnet_peer_ni *peer,
                  int status)
{
    struct lnet_msg *msg, *next;
    LIST_HEAD(ended);

    list_for_each_entry_safe (msg, next, waiting, on_list) {
        if (msg->tx_ni != ni)
            continue;
        list_move_tail(&msg->on_list, &ended);
        if (peer != NULL) {
            assert(msg->tx_peer == peer && !msg->ni_credit);
            msg->peer_credit = false;
            peer->tx_credits++;
            peer->tx_queued_bytes -= queued_bytes(msg);
        } else {
            msg->ni_credit = false;
            ni->tx_credits++;
        }
    }
    while (!list_empty(&ended)) {
        msg = list_first_entry(&ended, struct lnet_msg, on_list);
        list_del(&msg->on_list);
        msg->no_resend = true;
        lnet_finalize(msg, status);
    }
}

void lnet_flush_ni(struct lnet_ni *ni, int status)
{
    struct lnet_peer *peer;
    struct lnet_peer_ni *peer_ni;

    list_for_each_entry (peer, &ni->node->instance->peers, on_node) {
        list_for_each_entry (peer_ni, &peer->nis, on_peer)
            flush(&peer_ni->tx_delayed, ni, peer_ni, status);
    }
    flush(&ni->tx_delayed, ni, NULL, status);
}
