/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* An incoming header: what it is for, and who takes it. */
#include "core/internal.h"

static const struct lnet_fragments nothing = {0, 0, NULL};

void lnet_ni_receive(struct lnet_ni *ni, void *in, struct lnet_msg *msg, bool delayed,
                     uint32_t offset, uint32_t mlen, uint32_t rlen)
{
    const struct lnet_fragments *to = &nothing;
    int rc;

    if (msg != NULL) {
        msg->receiving = false;
        if (mlen > 0)
            to = msg->md != NULL ? &msg->md->fragments : &msg->payload;
    }
    rc = ni->lnd->receive(ni, in, msg, delayed, to, offset, mlen, rlen);
    if (rc < 0 && msg != NULL)
        lnet_finalize(msg, rc);
}

void lnet_drop_incoming(struct lnet_ni *ni, void *in, uint32_t type, uint32_t bytes)
{
    struct lnet_counters_common *counters = &ni->node->counters.lct_common;

    counters->lcc_drop_count++;
    counters->lcc_drop_length += bytes;
    lnet_count_type(&ni->dropped, type);
    lnet_ni_receive(ni, in, NULL, false, 0, 0, bytes);
}

/* ---- messages for this node ------------------------------------------------------------------ */

static bool wants_ack(const struct lnet_msg *msg)
{
    const struct lnet_handle_wire *wire = &msg->header.msg.put.ack_wmd;

    return (wire->wh_object_cookie != (uint64_t)LNET_WIRE_HANDLE_COOKIE_NONE ||
            wire->wh_interface_cookie != (uint64_t)LNET_WIRE_HANDLE_COOKIE_NONE) &&
           (msg->md->user.options & LNET_MD_ACK_DISABLE) == 0;
}

void lnet_receive_put(struct lnet_msg *msg)
{
    lnet_event_build(msg, LNET_EVENT_PUT);
    msg->ack_wanted = wants_ack(msg);
    lnet_ni_receive(msg->rx_ni, msg->in, msg, msg->rx_delayed, msg->offset, msg->wanted,
                    msg->header.payload_length);
}

/* What became of an incoming message: 0, or why it is to be dropped. */
static const char *parse_put(struct lnet_msg *msg)
{
    struct lnet_ni *ni = msg->rx_ni;
    struct lnet_match_info info;

    if (ni->lnd->eager_receive == NULL)
        msg->rx_ready_delay = true;
    for (;;) {
        lnet_match_info(msg, &info);
        switch (lnet_match(msg->node, &info, msg)) {
        case LNET_MATCH_OK:
            lnet_receive_put(msg);
            return NULL;
        case LNET_MATCH_DROP:
            return "no match";
        default:
            break;
        }
        if (msg->rx_ready_delay || ni->lnd->eager_receive == NULL)
            return NULL; /* it waits */
        if (ni->lnd->eager_receive(ni, msg->in, msg, &msg->in) != 0)
            return "no memory";
        msg->rx_ready_delay = true;
    }
}

static const char *parse_get(struct lnet_msg *msg, bool rdma)
{
    struct lnet_ni *ni = msg->rx_ni;
    struct lnet_handle_wire descriptor = msg->header.msg.get.return_wmd;
    struct lnet_process_id source = {msg->header.src_nid, msg->header.src_pid};
    lnet_nid_t self = ni->nid;
    void *in = msg->in;
    struct lnet_match_info info;
    uint32_t offset, length;
    int rc;

    lnet_match_info(msg, &info);
    if (info.portal == LNET_RESERVED_PORTAL)
        lnet_ping_refresh(msg->node);
    if (lnet_match(msg->node, &info, msg) != LNET_MATCH_OK)
        return "no match";

    lnet_event_build(msg, LNET_EVENT_GET);
    lnet_record_arrived(msg->node, msg, 0);
    lnet_trace_received(msg);
    offset = msg->offset;
    length = msg->wanted;
    lnet_prepare_send(msg, LNET_MSG_REPLY, source, offset, length);
    msg->header.msg.reply.dst_wmd = descriptor;
    if (rdma) {
        /* The driver moves the bytes itself, and finalizes the message. */
        msg->sending = false;
        lnet_ni_receive(ni, in, msg, false, offset, length, length);
        return NULL;
    }
    lnet_ni_receive(ni, in, NULL, false, 0, 0, 0);
    msg->receiving = false;
    lnet_record_open(msg);
    rc = lnet_send(msg, self, msg->rx_peer);
    if (rc < 0)
        lnet_finalize(msg, rc);
    return NULL;
}

/* The descriptor that a REPLY or ACK is for. */
static struct lnet_libmd *answered(struct lnet_msg *msg, const struct lnet_handle_wire *wire)
{
    struct lnet_libmd *md = lnet_md_find_wire(msg->node, wire);

    if (md == NULL || md->user.threshold == 0 || md->attached)
        return NULL;

    return md;
}

static const char *parse_reply(struct lnet_msg *msg)
{
    struct lnet_libmd *md = answered(msg, &msg->header.msg.reply.dst_wmd);
    uint32_t rlength = msg->header.payload_length;
    uint32_t mlength = rlength;

    if (md == NULL)
        return "no descriptor";
    if (rlength > md->length) {
        if ((md->user.options & LNET_MD_TRUNCATE) == 0)
            return "no room";
        mlength = md->length;
    }
    lnet_msg_attach_md(msg, md, 0, mlength);
    lnet_event_build(msg, LNET_EVENT_REPLY);
    lnet_ni_receive(msg->rx_ni, msg->in, msg, false, 0, mlength, rlength);
    return NULL;
}

static const char *parse_ack(struct lnet_msg *msg)
{
    struct lnet_libmd *md = answered(msg, &msg->header.msg.ack.dst_wmd);

    if (md == NULL)
        return "no descriptor";

    lnet_msg_attach_md(msg, md, 0, 0);
    lnet_event_build(msg, LNET_EVENT_ACK);
    lnet_ni_receive(msg->rx_ni, msg->in, msg, false, 0, 0, 0);
    return NULL;
}

static void drop(struct lnet_msg *msg, const char *why)
{
    struct lnet_ni *ni = msg->rx_ni;
    void *in = msg->in;
    uint32_t type = msg->header.type, bytes = msg->header.payload_length;

    lnet_record_dropped(msg->node, &msg->header, why);
    lnet_finalize(msg, -ENOENT);
    lnet_drop_incoming(ni, in, type, bytes);
}

/* LNet's own pings go to PID 12345 whatever the node's is. */
static bool wrong_pid(const struct lnet_msg *msg)
{
    if (msg->node->params.strict_pid == 0 || msg->header.dest_pid == msg->node->pid)
        return false;

    return msg->header.type != LNET_MSG_GET ||
           msg->header.msg.get.ptl_index != LNET_RESERVED_PORTAL;
}

static void parse_local(struct lnet_msg *msg)
{
    const char *why;

    if (wrong_pid(msg)) {
        drop(msg, "wrong PID");
        return;
    }
    switch (msg->header.type) {
    case LNET_MSG_PUT:
        why = parse_put(msg);
        break;
    case LNET_MSG_GET:
        why = parse_get(msg, msg->rdma);
        break;
    case LNET_MSG_REPLY:
        why = parse_reply(msg);
        break;
    default:
        why = parse_ack(msg);
        break;
    }
    if (why != NULL)
        drop(msg, why);
}

/* ---- all messages ---------------------------------------------------------------------------- */

static bool for_this_ni(const struct lnet_msg *msg)
{
    return msg->header.dest_nid == msg->rx_ni->nid;
}

void lnet_parse_delayed(struct lnet_msg *msg)
{
    int rc;

    if (for_this_ni(msg)) {
        parse_local(msg);
        return;
    }
    rc = lnet_router_admit(msg);
    if (rc < 0) {
        drop(msg, "no router buffer");
    } else if (rc == LNET_POST_OK) {
        lnet_ni_receive(msg->rx_ni, msg->in, msg, msg->rx_delayed, 0, msg->payload_length,
                        msg->payload_length);
    }
}

/* A rule holds the message: what the driver has of it is only there until lnet_parse returns. */
static void copy_aside(struct lnet_msg *msg)
{
    struct lnet_ni *ni = msg->rx_ni;

    if (ni->lnd->eager_receive == NULL)
        return;
    if (ni->lnd->eager_receive(ni, msg->in, msg, &msg->in) == 0) {
        msg->rx_ready_delay = true;
    } else {
        list_del_init(&msg->on_list);
        drop(msg, "no memory");
    }
}

/* Lengths are checked before anything is allocated: the header comes from outside. */
static bool well_formed(const struct lnet_hdr *header)
{
    switch (header->type) {
    case LNET_MSG_ACK:
    case LNET_MSG_GET:
        return header->payload_length == 0;
    case LNET_MSG_PUT:
    case LNET_MSG_REPLY:
        return header->payload_length <= LNET_MAX_PAYLOAD;
    default:
        return false;
    }
}

/* A message for another NID may pass a router only. -EPROTO: it is a mistake of the sender. */
static int check_destination(const struct lnet_ni *ni, const struct lnet_hdr *header, bool rdma)
{
    if (header->dest_nid == ni->nid)
        return 0;
    if (LNET_NIDNET(header->dest_nid) == LNET_NIDNET(ni->nid))
        return -EPROTO;
    if (lnet_ni_by_nid(ni->node->instance, header->dest_nid) != NULL)
        return -EPROTO;
    if (rdma)
        return -EPROTO;

    return 0;
}

static bool unwanted_route(const struct lnet_ni *ni, const struct lnet_hdr *header, lnet_nid_t from)
{
    if (ni->node->params.lnet_drop_asym_route == 0 || header->src_nid == from ||
        header->dest_nid != ni->nid)
        return false;

    return !lnet_route_uses(ni->node, LNET_NIDNET(header->src_nid), from);
}

static const char *reason_to_drop(struct lnet_ni *ni, const struct lnet_hdr *header,
                                  lnet_nid_t from)
{
    struct lnet_node *node = ni->node;

    if (header->dest_nid != ni->nid && !node->instance->routing)
        return "routing is off";
    if (lnet_fault_fails_nid(node, header->src_nid))
        return "fail-nid";
    if (unwanted_route(ni, header, from))
        return "asymmetric route";

    return lnet_fault_drops(node, header);
}

static struct lnet_msg *make_msg(struct lnet_ni *ni, const struct lnet_hdr *header,
                                 struct lnet_peer_ni **peer, lnet_nid_t from, void *in, bool rdma)
{
    struct lnet_msg *msg = lnet_msg_new(ni->node);

    if (msg == NULL)
        return NULL;

    msg->header = *header;
    msg->type = header->type;
    msg->from = from;
    msg->in = in;
    msg->rdma = rdma;
    msg->payload_length = header->payload_length;
    msg->event.msg_type = header->type;
    msg->rx_ni = ni;
    if (from != LNET_NID_LO_0) {
        if (*peer == NULL)
            *peer = lnet_peer_ni_get(ni->node, from);
        msg->rx_peer = *peer;
        if (msg->rx_peer == NULL) {
            lnet_msg_free(msg);
            return NULL;
        }
        lnet_peer_received(msg->rx_peer);
    }
    return msg;
}

int lnet_parse(struct lnet_ni *ni, const struct lnet_hdr *header, lnet_nid_t from, void *in,
               bool rdma)
{
    struct lnet_peer_ni *peer = NULL;

    return lnet_parse_from(ni, header, &peer, from, in, rdma);
}

int lnet_parse_from(struct lnet_ni *ni, const struct lnet_hdr *header, struct lnet_peer_ni **peer,
                    lnet_nid_t from, void *in, bool rdma)
{
    struct lnet_node *node = ni->node;
    struct lnet_msg *msg;
    const char *why;
    int rc;

    if (node->silent || ni->shutting_down)
        return -ESHUTDOWN;
    if (!well_formed(header))
        return -EPROTO;
    rc = check_destination(ni, header, rdma);
    if (rc != 0)
        return rc;

    ni->last_alive = sim_now();
    ni->status = LNET_NI_STATUS_UP;
    why = reason_to_drop(ni, header, from);
    msg = why == NULL ? make_msg(ni, header, peer, from, in, rdma) : NULL;
    if (msg == NULL) {
        lnet_record_dropped(node, header, why != NULL ? why : "no memory");
        lnet_drop_incoming(ni, in, header->type, header->payload_length);
        return 0;
    }
    lnet_msg_commit_rx(msg, ni);
    if (lnet_fault_delays(node, msg)) {
        copy_aside(msg);
        return 0;
    }

    lnet_parse_delayed(msg);
    return 0;
}
