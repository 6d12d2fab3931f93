/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* LNetPut and LNetGet. */
#include "core/internal.h"

#include <string.h>

void lnet_prepare_send(struct lnet_msg *msg, uint32_t type, struct lnet_process_id target,
                       uint32_t offset, uint32_t length)
{
    msg->type = type;
    msg->target = target;
    msg->sending = true;
    msg->payload_offset = offset;
    msg->payload_length = length;
    msg->payload = (struct lnet_fragments){0, 0, NULL};
    if (length > 0)
        msg->payload = msg->md->fragments;
    memset(&msg->header, 0, sizeof(msg->header));
    msg->header.type = type;
    msg->header.dest_nid = target.nid;
    msg->header.dest_pid = target.pid;
    msg->header.src_nid = LNET_NID_ANY; /* the path has it */
    msg->header.src_pid = msg->node->pid;
    msg->header.payload_length = length;
}

int lnet_send(struct lnet_msg *msg, lnet_nid_t source, struct lnet_peer_ni *peer)
{
    int rc;

    msg->source_argument = source;
    msg->delay_rule_passed = false;
    msg->health_status = LNET_MSG_STATUS_OK;
    rc = lnet_path_select(msg, source, peer);
    if (rc != 0)
        return rc;
    if (!list_empty(&msg->on_list))
        return 0; /* it waits until its peer is discovered */
    if (msg->md != NULL && !msg->md->attached)
        msg->md->response_peer = msg->next_hop;

    lnet_msg_commit_tx(msg);
    lnet_record_hop(msg);
    if (msg->tx_ni == msg->node->instance->lo) {
        lnet_ni_send(msg);
        return 0;
    }
    rc = lnet_post_send(msg);
    if (rc < 0)
        return rc;
    if (rc == LNET_POST_OK)
        lnet_ni_send(msg);
    return 0;
}

/* Credits are held: to the driver, unless a delay rule takes the message. */
void lnet_ni_send(struct lnet_msg *msg)
{
    struct lnet_ni *ni = msg->tx_ni;
    int rc;

    if (ni != msg->node->instance->lo && !msg->delay_rule_passed &&
        lnet_fault_delays(msg->node, msg))
        return;

    rc = ni->lnd->send(ni, msg->in, msg);
    if (rc < 0) {
        msg->no_resend = true;
        lnet_finalize(msg, rc);
    }
}

/* Fetches what the path of a message will use, while other work is done. */
static void fetch(const struct lnet_peer_ni *peer, uint32_t bytes)
{
    if (peer == NULL)
        return;
    sim_fetch(peer->peer, 1);
    if (peer->fetch != NULL)
        peer->fetch(peer, bytes);
}

/* The descriptor of a request, if it may start an operation. */
static struct lnet_libmd *usable(struct lnet_node *node, struct lnet_handle_md handle)
{
    struct lnet_libmd *md = lnet_md_find(node, handle);

    if (md == NULL || md->user.threshold == 0 || md->attached)
        return NULL;

    return md;
}

/* A PUT or GET with its descriptor, which counts one operation more. */
struct request {
    struct lnet_libmd *md;
    struct lnet_msg *msg;
    struct lnet_peer_ni *peer; /* NULL: not known yet */
};

/* Starts an operation of the descriptor. A negative errno: nothing has happened. */
static int begin(struct lnet_node *node, struct lnet_handle_md handle, lnet_nid_t target,
                 struct request *request)
{
    if (lnet_fault_fails_nid(node, target))
        return -EIO;
    lnet_peer_ni_fetch(node->instance, target);
    request->md = usable(node, handle);
    if (request->md == NULL)
        return -ENOENT;
    request->msg = lnet_msg_new(node);
    if (request->msg == NULL)
        return -ENOMEM;
    request->peer = lnet_peer_ni_find(node->instance, target);
    sim_fetch(request->peer, LNET_PEER_SEND_LINES);
    lnet_msg_attach_md(request->msg, request->md, 0, 0);
    return 0;
}

/* From here on the request is accepted: what goes wrong is the status of its SEND event. */
static void launch(struct lnet_msg *msg, lnet_nid_t self, struct lnet_peer_ni *peer)
{
    int rc;

    lnet_event_build(msg, LNET_EVENT_SEND);
    fetch(peer, msg->payload_length);
    lnet_record_open(msg);
    if (msg->payload_length > LNET_MAX_PAYLOAD)
        rc = -EMSGSIZE;
    else
        rc = lnet_send(msg, self, peer);
    if (rc < 0) {
        msg->no_resend = true;
        lnet_finalize(msg, rc);
    }
}

int lnet_put(struct lnet_node *node, lnet_nid_t self, struct lnet_handle_md handle,
             enum lnet_ack_req ack, struct lnet_process_id target, uint32_t portal,
             uint64_t match_bits, uint32_t offset, uint64_t hdr_data)
{
    struct request request;
    struct lnet_libmd *md;
    struct lnet_msg *msg;
    struct lnet_put *put;
    int rc = begin(node, handle, target.nid, &request);

    if (rc != 0)
        return rc;
    md = request.md;
    msg = request.msg;
    lnet_prepare_send(msg, LNET_MSG_PUT, target, 0, md->length);
    put = &msg->header.msg.put;
    put->match_bits = match_bits;
    put->ptl_index = portal;
    put->offset = offset;
    put->hdr_data = hdr_data;
    if (ack == LNET_ACK_REQ) {
        put->ack_wmd.wh_interface_cookie = node->interface_cookie;
        put->ack_wmd.wh_object_cookie = md->cookie;
        lnet_response_track(node, md);
    } else {
        put->ack_wmd.wh_interface_cookie = (uint64_t)LNET_WIRE_HANDLE_COOKIE_NONE;
        put->ack_wmd.wh_object_cookie = (uint64_t)LNET_WIRE_HANDLE_COOKIE_NONE;
    }
    launch(msg, self, request.peer);
    return 0;
}

int lnet_get(struct lnet_node *node, lnet_nid_t self, struct lnet_handle_md handle,
             struct lnet_process_id target, uint32_t portal, uint64_t match_bits, uint32_t offset,
             bool recovery)
{
    struct request request;
    struct lnet_libmd *md;
    struct lnet_msg *msg;
    struct lnet_get *get;
    int rc = begin(node, handle, target.nid, &request);

    if (rc != 0)
        return rc;
    md = request.md;
    msg = request.msg;
    lnet_prepare_send(msg, LNET_MSG_GET, target, 0, 0);
    msg->recovery = recovery;
    get = &msg->header.msg.get;
    get->match_bits = match_bits;
    get->ptl_index = portal;
    get->src_offset = offset;
    get->sink_length = md->length;
    get->return_wmd.wh_interface_cookie = node->interface_cookie;
    get->return_wmd.wh_object_cookie = md->cookie;
    lnet_response_track(node, md);
    launch(msg, self, request.peer);
    return 0;
}

int LNetPut(lnet_nid_t self, struct lnet_handle_md md, enum lnet_ack_req ack,
            struct lnet_process_id target, unsigned int portal, __u64 match_bits,
            unsigned int offset, __u64 hdr_data)
{
    struct lnet_node *node = lnet_enter("LNetPut", true);
    int rc;

    if (node == NULL)
        return -ENODEV;

    rc = lnet_put(node, self, md, ack, target, portal, match_bits, offset, hdr_data);
    lnet_leave(node, node->params.cost_put_ns);
    return rc;
}

int LNetGet(lnet_nid_t self, struct lnet_handle_md md, struct lnet_process_id target,
            unsigned int portal, __u64 match_bits, unsigned int offset, bool recovery)
{
    struct lnet_node *node = lnet_enter("LNetGet", true);
    int rc;

    if (node == NULL)
        return -ENODEV;

    rc = lnet_get(node, self, md, target, portal, match_bits, offset, recovery);
    lnet_leave(node, node->params.cost_get_ns);
    return rc;
}

/* ---- optimized GET --------------------------------------------------------------------------- */

/* The driver of the initiator will place the answer itself: an operation of the GET's descriptor.
 */
struct lnet_msg *lnet_create_reply_msg(struct lnet_ni *ni, struct lnet_msg *get)
{
    struct lnet_libmd *md = get->md;
    struct lnet_msg *reply;

    assert(get->target_is_router == false && md != NULL);
    if (md->user.threshold == 0)
        return NULL;
    reply = lnet_msg_new(ni->node);
    if (reply == NULL)
        return NULL;

    lnet_msg_attach_md(reply, md, 0, md->length);
    reply->type = LNET_MSG_GET;
    reply->header.type = LNET_MSG_REPLY;
    reply->optimized_get = true;
    reply->event.type = LNET_EVENT_REPLY;
    reply->event.msg_type = LNET_MSG_GET;
    reply->event.initiator.nid = lnet_peer_primary(ni->node->instance, get->header.dest_nid);
    reply->event.source.nid = get->header.dest_nid;
    reply->event.sender = get->header.dest_nid;
    reply->event.rlength = md->length;
    reply->event.mlength = md->length;
    lnet_msg_commit_rx(reply, ni);
    get->reply = reply;
    return reply;
}

void lnet_set_reply_msg_len(struct lnet_ni *ni, struct lnet_msg *reply, uint32_t length)
{
    (void)ni;
    assert(reply->optimized_get && length <= reply->event.rlength);
    reply->event.mlength = length;
}
