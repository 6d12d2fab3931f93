/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The fields of events. */
#include "core/internal.h"

#include <string.h>

void lnet_event_unlink(const struct lnet_libmd *md, struct lnet_event *event)
{
    memset(event, 0, sizeof(*event));
    event->type = LNET_EVENT_UNLINK;
    event->unlinked = 1;
    event->md_handle.cookie = md->cookie;
    lnet_md_snapshot(md, &event->md);
}

static void build_send(struct lnet_msg *msg)
{
    const struct lnet_hdr *header = &msg->header;
    struct lnet_event *event = &msg->event;

    event->target.nid = header->dest_nid;
    event->target.pid = header->dest_pid;
    event->initiator.nid = LNET_NID_ANY;
    event->initiator.pid = header->src_pid;
    event->source = event->initiator;
    event->sender = LNET_NID_ANY;
    if (header->type == LNET_MSG_PUT) {
        event->pt_index = header->msg.put.ptl_index;
        event->match_bits = header->msg.put.match_bits;
        event->offset = header->msg.put.offset;
        event->hdr_data = header->msg.put.hdr_data;
        event->rlength = header->payload_length;
    } else {
        event->pt_index = header->msg.get.ptl_index;
        event->match_bits = header->msg.get.match_bits;
        event->offset = header->msg.get.src_offset;
        event->rlength = header->msg.get.sink_length;
    }
    event->mlength = event->rlength;
}

static void build_received(struct lnet_msg *msg, enum lnet_event_kind type)
{
    const struct lnet_hdr *header = &msg->header;
    struct lnet_event *event = &msg->event;

    event->target.nid = header->dest_nid;
    event->target.pid = header->dest_pid;
    event->initiator.nid = lnet_msg_initiator(msg);
    event->initiator.pid = header->src_pid;
    event->source.nid = header->src_nid;
    event->source.pid = header->src_pid;
    event->sender = msg->from;
    event->rlength = header->payload_length;
    event->mlength = msg->wanted;
    event->offset = msg->offset;
    switch (type) {
    case LNET_EVENT_PUT:
        event->pt_index = header->msg.put.ptl_index;
        event->match_bits = header->msg.put.match_bits;
        event->hdr_data = header->msg.put.hdr_data;
        break;
    case LNET_EVENT_GET:
        event->pt_index = header->msg.get.ptl_index;
        event->match_bits = header->msg.get.match_bits;
        break;
    case LNET_EVENT_ACK:
        event->match_bits = header->msg.ack.match_bits;
        event->mlength = header->msg.ack.mlength;
        break;
    default: /* REPLY */
        break;
    }
}

/* The descriptor's part comes with lnet_msg_attach_md. */
void lnet_event_build(struct lnet_msg *msg, enum lnet_event_kind type)
{
    msg->event.type = type;
    msg->event.msg_type = msg->type;
    if (type == LNET_EVENT_SEND)
        build_send(msg);
    else
        build_received(msg, type);
}
