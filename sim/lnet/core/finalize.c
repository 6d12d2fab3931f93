/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The end of a message, and what follows from it: an event, an acknowledgement, the next hop. */
#include "core/internal.h"

/* The PUT that was received turns into its own acknowledgement. 0: it is on its way. */
static int acknowledge(struct lnet_msg *msg)
{
    struct lnet_handle_wire descriptor = msg->header.msg.put.ack_wmd;
    struct lnet_process_id source = msg->event.source;
    lnet_nid_t self = msg->event.target.nid;
    struct lnet_peer_ni *peer = msg->rx_peer;

    lnet_msg_decommit(msg, 0);
    msg->ack_wanted = false;
    lnet_prepare_send(msg, LNET_MSG_ACK, source, 0, 0);
    msg->header.msg.ack.dst_wmd = descriptor;
    msg->header.msg.ack.match_bits = msg->event.match_bits;
    msg->header.msg.ack.mlength = msg->event.mlength;
    lnet_record_open(msg);
    return lnet_send(msg, self, peer);
}

/* The answer to an optimized GET that failed and is sent again: it never happened. */
static void undo(struct lnet_msg *msg)
{
    struct lnet_libmd *md = msg->md;

    md->operations--;
    if (md->user.threshold != LNET_MD_THRESH_INF)
        md->user.threshold++;
    msg->md = NULL;
    lnet_msg_decommit(msg, -ECANCELED);
    lnet_msg_free(msg);
}

void lnet_finalize(struct lnet_msg *msg, int status)
{
    struct lnet_node *node = msg->node;

    if (msg->superseded) {
        undo(msg);
        return;
    }
    if (lnet_health_check(msg, status)) {
        lnet_post_ready(node);
        return;
    }
    if (msg->record != NULL)
        lnet_record_sent(msg, status);
    else if (msg->md != NULL && !msg->tx_committed && !msg->rdma)
        lnet_record_arrived(node, msg, status);
    if (msg->tx_committed)
        lnet_trace_sent(msg);
    else if (msg->md != NULL)
        lnet_trace_received(msg);
    msg->event.status = status;
    if (msg->md != NULL)
        lnet_msg_detach_md(msg, status);

    if (status == 0 && msg->ack_wanted && msg->rx_committed) {
        status = acknowledge(msg);
        if (status == 0)
            return;
    } else if (status == 0 && msg->routing && !msg->sending) {
        status = lnet_router_forward(msg);
        if (status == 0)
            return;
    }
    if (msg->record != NULL) /* an acknowledgement that could not be sent */
        lnet_record_sent(msg, status);
    if (msg->tx_committed || msg->rx_committed)
        lnet_msg_decommit(msg, status);
    lnet_msg_free(msg);
    lnet_post_ready(node);
}
