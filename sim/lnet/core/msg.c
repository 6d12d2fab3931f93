/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A message and what it holds: an operation of a descriptor, its place among the active messages.
 */
#include "core/internal.h"

void lnet_msg_attach_md(struct lnet_msg *msg, struct lnet_libmd *md, uint32_t offset,
                        uint32_t mlength)
{
    assert(msg->md == NULL);
    assert(md->user.threshold != 0);
    assert(!md->dead);
    assert((uint64_t)offset + mlength <= md->length || mlength == 0);
    msg->md = md;
    msg->offset = offset;
    msg->wanted = mlength;
    md->operations++;
    if (md->user.threshold != LNET_MD_THRESH_INF)
        md->user.threshold--;
    msg->event.md_handle.cookie = md->cookie;
    lnet_md_snapshot(md, &msg->event.md);
}

static int event_status(const struct lnet_msg *msg, int status)
{
    if (status == 0 && msg->md->aborted && msg->node->params.abort_status != 0)
        return -ETIMEDOUT;

    return status;
}

void lnet_msg_detach_md(struct lnet_msg *msg, int status)
{
    struct lnet_libmd *md = msg->md;
    bool unlink;

    assert(md != NULL && md->operations > 0);
    md->operations--;
    unlink = lnet_md_unlinkable(md);
    if (unlink || (md->operations == 0 && md->user.threshold == LNET_MD_THRESH_INF))
        lnet_response_forget(msg->node, md);
    if (md->eq != NULL) {
        if (md->unlinked_reported)
            lnet_ledger_md_violation(msg->node);
        md->unlinked_reported = unlink;
        msg->event.status = event_status(msg, status);
        msg->event.unlinked = unlink;
        lnet_eq_enqueue(msg->node, md->eq, &msg->event);
    }
    msg->md = NULL;
    if (unlink)
        lnet_md_unlink(msg->node, md);
}

static void active(struct lnet_msg *msg)
{
    struct lnet_counters_common *counters = &msg->node->counters.lct_common;

    if (msg->tx_committed || msg->rx_committed)
        return; /* it is already counted */

    counters->lcc_msgs_alloc++;
    if (counters->lcc_msgs_alloc > counters->lcc_msgs_max)
        counters->lcc_msgs_max = counters->lcc_msgs_alloc;
}

void lnet_msg_commit_tx(struct lnet_msg *msg)
{
    assert(!msg->tx_committed);
    active(msg);
    msg->sending = true;
    msg->tx_committed = true;
    msg->began = sim_now();
    if (msg->deadline == 0) /* a message that is sent again keeps its deadline */
        msg->deadline = sim_now() + (sim_time_t)msg->node->params.lnet_transaction_timeout * SIM_S;
}

void lnet_msg_commit_rx(struct lnet_msg *msg, struct lnet_ni *ni)
{
    assert(!msg->rx_committed);
    active(msg);
    msg->rx_ni = ni;
    msg->receiving = true;
    msg->rx_committed = true;
    msg->began = sim_now();
}

void lnet_drop_outgoing(struct lnet_msg *msg)
{
    struct lnet_counters_common *counters = &msg->node->counters.lct_common;

    counters->lcc_drop_count++;
    counters->lcc_drop_length += msg->payload_length;
    lnet_count_type(&msg->tx_ni->dropped, msg->header.type);
    lnet_count_type(&msg->tx_peer->dropped, msg->header.type);
}

void lnet_count_type(struct lnet_type_counts *counts, uint32_t type)
{
    switch (type) {
    case LNET_MSG_PUT:
        counts->put++;
        break;
    case LNET_MSG_GET:
        counts->get++;
        break;
    case LNET_MSG_REPLY:
        counts->reply++;
        break;
    default:
        assert(type == LNET_MSG_ACK);
        counts->ack++;
        break;
    }
}

static void count_sent(const struct lnet_msg *msg)
{
    struct lnet_counters_common *counters = &msg->node->counters.lct_common;

    if (msg->routing) {
        counters->lcc_route_count++;
        counters->lcc_route_length += msg->payload_length;
    } else {
        counters->lcc_send_count++;
        if (msg->header.type == LNET_MSG_PUT || msg->header.type == LNET_MSG_REPLY)
            counters->lcc_send_length += msg->payload_length;
    }
    if (msg->tx_ni != NULL)
        lnet_count_type(&msg->tx_ni->sent, msg->header.type);
    if (msg->tx_peer != NULL)
        lnet_count_type(&msg->tx_peer->sent, msg->header.type);
}

static void count_received(const struct lnet_msg *msg)
{
    struct lnet_counters_common *counters = &msg->node->counters.lct_common;
    uint32_t type = msg->optimized_get ? LNET_MSG_REPLY : msg->event.msg_type;

    if (!msg->routing) {
        counters->lcc_recv_count++;
        if (type == LNET_MSG_PUT || type == LNET_MSG_REPLY)
            counters->lcc_recv_length += msg->event.mlength;
        /* The driver answers an optimized GET itself: no REPLY is sent that would count the bytes.
         */
        if (type == LNET_MSG_GET && !msg->tx_committed)
            counters->lcc_send_length += msg->wanted;
    }
    lnet_count_type(&msg->rx_ni->received, type);
    if (msg->rx_peer != NULL)
        lnet_count_type(&msg->rx_peer->received, type);
}

static void inactive(struct lnet_msg *msg)
{
    struct lnet_counters_common *counters = &msg->node->counters.lct_common;

    if (msg->tx_committed || msg->rx_committed)
        return;

    assert(counters->lcc_msgs_alloc > 0);
    counters->lcc_msgs_alloc--;
}

/* Counts what the message was, and returns the credits that it holds. */
void lnet_msg_decommit(struct lnet_msg *msg, int status)
{
    bool tx = msg->tx_committed, rx = msg->rx_committed;

    if (status == 0 && tx)
        count_sent(msg);
    if (status == 0 && rx)
        count_received(msg);
    if (tx) {
        msg->tx_committed = false;
        lnet_return_tx_credits(msg);
    }
    if (rx) {
        msg->rx_committed = false;
        lnet_router_return_credits(msg);
        msg->rx_ni = NULL;
        msg->rx_peer = NULL;
    }
    assert(!msg->peer_credit && !msg->ni_credit);
    assert(!msg->router_peer_credit && !msg->router_buffer_credit);
    inactive(msg);
}
