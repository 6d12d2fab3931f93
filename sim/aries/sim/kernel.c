/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages between the kernels of two nodes, which carry datagrams: one packet, processing by the
 * kernel of the target, and repetition by the sending kernel if the packet was lost.
 */
#include "sim/nic.h"

#include <assert.h>
#include <glib.h>
#include "nic/datagram.h"

#define RETRY_AFTER (2 * SIM_MS)

struct kernel_message {
    struct net_transfer transfer; /* first: fires the event */
    struct aries_list link; /* in the list of all messages in flight */
    struct aries_nic *from, *to;
    uint32_t bytes;
    struct aries_datagram_message *content;
};

_Static_assert(offsetof(struct kernel_message, transfer) == 0 &&
                   offsetof(struct net_transfer, event) == 0,
               "the event is the first member, which the handlers assume");

static void arrived(struct sim_event *event);

static void message_free(struct kernel_message *message)
{
    aries_list_remove(&message->link);
    g_free(message);
}

static void send(struct sim_event *event)
{
    struct kernel_message *message = (struct kernel_message *)event;
    struct aries_fabric *fabric = message->from->fabric;
    struct net_transfer *transfer = &message->transfer;

    if (!message->from->alive || !message->to->alive) {
        message_free(message);
        return;
    }
    if (fabric->sim->quiesce_until > sim_now()) {
        sim_event_schedule(event, fabric->sim->quiesce_until);
        return;
    }
    transfer->event.fire = arrived;
    transfer->source = message->from->node;
    transfer->target = message->to->node;
    transfer->packets = (message->bytes + ARIES_PACKET_BYTES - 1) / ARIES_PACKET_BYTES;
    transfer->units = aries_kernel_message_phits(message->bytes);
    transfer->last_units = transfer->units;
    transfer->class = NET_REQUEST;
    transfer->route = NET_ROUTE_ADAPTIVE_0;
    transfer->ejection_time = 0;
    transfer->receiver_latency =
        fabric->timing.rx + fabric->timing.pcie_write + fabric->timing.cold_datagram_remote;
    net_send(fabric->net, transfer, 0);
}

static void arrived(struct sim_event *event)
{
    struct kernel_message *message = (struct kernel_message *)event;

    if (message->transfer.status != NET_DELIVERED || message->transfer.poisoned) {
        event->fire = send;
        sim_event_schedule(event, sim_now() + RETRY_AFTER);
        return;
    }
    assert(message->content != NULL);
    if (message->from->alive && message->to->alive)
        aries_datagram_send_ended(message->content, message->content->arrived ||
                                                        aries_datagram_arrived(message->content));
    message_free(message);
}

void aries_hw_kernel_send(struct aries_datagram_message *content, uint32_t bytes)
{
    struct aries_nic *from = content->from.nic;
    const struct aries_timing *timing = &from->fabric->timing;
    struct kernel_message *message = g_new0(struct kernel_message, 1);
    sim_time_t now = sim_fiber_self() != NULL ? sim_local_time() : sim_now();

    assert(bytes > 0 && content->from.nic != NULL && content->to.nic != NULL);
    aries_list_add(&from->fabric->sim->kernel_messages, &message->link);
    message->from = from;
    message->to = content->to.nic;
    message->bytes = bytes;
    message->content = content;
    message->transfer.event.fire = send;
    sim_event_schedule(&message->transfer.event,
                       (now > sim_now() ? now : sim_now()) + timing->pcie_write + timing->tx);
}

void aries_sim_kernel_fini(struct aries_fabric *fabric)
{
    struct aries_list *messages = &fabric->sim->kernel_messages;

    while (!aries_list_empty(messages))
        message_free(sim_container_of(messages->next, struct kernel_message, link));
}
