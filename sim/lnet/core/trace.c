/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The tracks of a node's LNet: messages that it sends, receives and forwards, and its credits. */
#include "core/internal.h"
#include "engine/trace.h"

enum {
    TRACK_SENT = 16,
    TRACK_RECEIVED = 17,
    TRACK_FORWARDED = 18,
    TRACK_CREDITS = 19,
    TRACK_CONNECTIONS = 20,
    TRACKS = 5
};

void lnet_trace_register(void)
{
    static const struct sim_trace_track kinds[] = {
        {"LNet sends", &sim_trace_nodes, false},       {"LNet receives", &sim_trace_nodes, false},
        {"LNet forwards", &sim_trace_nodes, false},    {"LNet credits", &sim_trace_nodes, false},
        {"LNet connections", &sim_trace_nodes, false},
    };
    uint32_t i;

    for (i = 0; i < TRACKS; i++)
        sim_trace_track_register(TRACK_SENT + i, &kinds[i]);
}

static const char *name_of(uint32_t type)
{
    static const char *const names[] = {"ACK", "PUT", "GET", "REPLY"};

    return type < 4 ? names[type] : "?";
}

static void write_point(const struct lnet_msg *msg, const struct sim_trace_point *point)
{
    const struct lnet_hdr *header = &msg->header;
    char source[LNET_NIDSTR_SIZE], target[LNET_NIDSTR_SIZE];
    struct sim_trace_argument arguments[4] = {
        {"from", libcfs_nid2str_r(header->src_nid, source, sizeof(source)), 0},
        {"to", libcfs_nid2str_r(header->dest_nid, target, sizeof(target)), 0},
        {"match bits", NULL, msg->event.match_bits},
        {"portal", NULL, msg->event.pt_index},
    };

    sim_trace_write_arguments(point, true, arguments, 4);
}

static void emit(const struct lnet_msg *msg, uint32_t track, uint32_t type, sim_time_t began,
                 uint64_t bytes)
{
    struct sim_trace_point point = {
        .kind = SIM_TRACE_SLICE,
        .track = track,
        .node = msg->node->number,
        .name = name_of(type),
        .time = began,
        .duration = sim_now() > began ? sim_now() - began : 0,
        .flow = msg->flow,
        .value = bytes,
    };

#if SIM_VIRTUAL_TIME
    sim_digest_add(point.kind, track, point.node, 0, point.name, began, point.duration, point.flow,
                   bytes);
#endif
    if (sim_unlikely(sim_trace_on))
        write_point(msg, &point);
}

void lnet_trace_sent(const struct lnet_msg *msg)
{
    emit(msg, msg->routing ? TRACK_FORWARDED : TRACK_SENT, msg->header.type, msg->began,
         msg->payload_length);
}

void lnet_trace_received(const struct lnet_msg *msg)
{
    emit(msg, TRACK_RECEIVED, msg->event.msg_type, msg->began, msg->wanted);
}

/* How many NIs of the node, without that of the loopback, come before it. */
static uint32_t number_of(const struct lnet_ni *ni)
{
    const struct lnet_net *net;
    const struct lnet_ni *other;
    uint32_t number = 0;

    list_for_each_entry (net, &ni->node->instance->nets, on_node) {
        list_for_each_entry (other, &net->nis, on_net) {
            if (other == ni)
                return number;
            number += other->lnd->type != LOLND;
        }
    }
    return number;
}

void lnet_trace_credits(const struct lnet_ni *ni)
{
    struct sim_trace_point point = {
        .kind = SIM_TRACE_COUNTER,
        .track = TRACK_CREDITS,
        .node = ni->node->number,
        .name = "transmit credits",
        .time = sim_now(),
        .value = ni->tx_credits > 0 ? (uint64_t)ni->tx_credits : 0,
    };

    if (sim_likely(!sim_trace_on))
        return;
    point.index = number_of(ni);
    sim_trace_write(&point);
}

/* Not in the digest. */
void lnet_connection_state(const struct lnet_node *node, const char *state, lnet_nid_t peer,
                           const char *kind, sim_time_t since, sim_time_t now)
{
    struct sim_trace_point point = {
        .kind = SIM_TRACE_SLICE,
        .track = TRACK_CONNECTIONS,
        .node = node->number,
        .name = state,
        .time = since,
        .duration = now > since ? now - since : 0,
    };
    char nid[LNET_NIDSTR_SIZE];
    struct sim_trace_argument arguments[2];
    size_t count = 0;

    if (sim_likely(!sim_trace_on))
        return;
    if (peer != LNET_NID_ANY)
        arguments[count++] =
            (struct sim_trace_argument){"peer", libcfs_nid2str_r(peer, nid, sizeof(nid)), 0};
    if (kind != NULL)
        arguments[count++] = (struct sim_trace_argument){"kind", kind, 0};
    sim_trace_write_arguments(&point, false, arguments, count);
}
