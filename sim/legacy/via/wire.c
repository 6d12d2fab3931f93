/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages on their way. The sender's kernel works on one message at a time, then the frames of the
 * message leave back to back. At the receiver frames of several senders queue for the port, and the
 * kernel takes an interrupt for the last frame of a message; the interrupts of the others happen
 * while further frames arrive.
 */
#include "via.h"

#include <assert.h>
#include <glib.h>
#include <string.h>

enum {
    ETHERNET_HEADER = 18, /* with the check sum */
    ETHERNET_LEAST = 64,
    ETHERNET_AROUND = 20 /* preamble and gap */
};

static sim_time_t service(const struct via_devices *devices, enum via_param param, double amount)
{
    return legacy_service(devices->network, param, amount);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static struct via_message *message_new(struct via_devices *devices, enum via_kind kind,
                                       uint32_t source, uint32_t target)
{
    struct via_message *message = g_new0(struct via_message, 1);

    message->devices = devices;
    message->kind = kind;
    message->source = source;
    message->target = target;
    message->next = devices->messages;
    if (message->next != NULL)
        message->next->link = &message->next;
    message->link = &devices->messages;
    devices->messages = message;
    return message;
}

static void message_free(struct via_message *message)
{
    *message->link = message->next;
    if (message->next != NULL)
        message->next->link = message->link;
    g_free(message->data);
    g_free(message);
}

void via_messages_free(struct via_devices *devices)
{
    while (devices->messages != NULL)
        message_free(devices->messages);
}

/* ---- frames ---------------------------------------------------------------------------------- */

static unsigned frame_bytes(const struct via_devices *devices, uint64_t data)
{
    unsigned bytes =
        (unsigned)data + (unsigned)devices->network->values[VIA_HEADER] + ETHERNET_HEADER;

    return (bytes > ETHERNET_LEAST ? bytes : ETHERNET_LEAST) + ETHERNET_AROUND;
}

static sim_time_t wire_time(const struct via_devices *devices, uint64_t data)
{
    return service(devices, VIA_BYTE, frame_bytes(devices, data));
}

static const char *name_of(const struct via_message *message)
{
    static const char *const names[] = {"send",         "RDMA write", "connection request",
                                        "acceptance",   "refusal",    "disconnection",
                                        "peer request", "withdrawal"};

    return names[message->kind];
}

/* Sends a frame; on reliable services again and again. How much later it arrives for that. */
static sim_time_t transmit(struct via_message *message, uint64_t data, bool reliable)
{
    struct via_devices *devices = message->devices;
    struct legacy_packet packet = {.source = message->source,
                                   .target = message->target,
                                   .bytes = frame_bytes(devices, data),
                                   .what = name_of(message)};
    sim_time_t delay = 0;
    unsigned tries;

    for (tries = 0; tries < VIA_TRIES_MAX; tries++) {
        switch (legacy_transmit(devices->network, &packet)) {
        case LEGACY_DELIVERED:
            return delay + packet.delay;
        case LEGACY_UNREACHABLE:
            message->unreachable = true;
            return delay;
        case LEGACY_LOST:
            break;
        }
        if (!reliable)
            break;
        delay += service(devices, VIA_RETRY, 1) + wire_time(devices, data);
    }
    message->lost = true;
    return delay;
}

/* ---- the four times of a message ------------------------------------------------------------- */

static void placed(struct sim_event *event)
{
    struct via_message *message = sim_container_of(event, struct via_message, event);

    if (message->kind == VIA_DATA || message->kind == VIA_RDMA_WRITE)
        via_place(message);
    else
        via_connect_arrived(message);
    message_free(message);
}

/* The last frame is at the receiver's port. */
static void arrived(struct sim_event *event)
{
    struct via_message *message = sim_container_of(event, struct via_message, event);
    struct via_devices *devices = message->devices;
    struct via_host *host = &devices->hosts[message->target];
    unsigned mtu = (unsigned)devices->network->values[VIA_MTU];
    uint64_t last = message->length == 0 ? 0 : (message->length - 1) % mtu + 1;
    sim_time_t wire = wire_time(devices, last), at;

    at = legacy_occupy(&host->input, sim_now() - wire, wire);
    at = legacy_occupy(&host->interrupt, at, service(devices, VIA_INTERRUPT, 1));
    message->event.fire = placed;
    sim_event_schedule(&message->event, at);
}

void via_sent(struct via_message *message, uint32_t status)
{
    struct via_vi *vi = via_vi_number(message->devices, message->from);

    if (vi == NULL || vi->era != message->era || message->work == NULL)
        return;
    assert(vi->send.open == message->work);
    message->work = NULL;
    via_queue_complete(
        &vi->send,
        status | (message->kind == VIA_RDMA_WRITE ? VIP_STATUS_OP_RDMA_WRITE : VIP_STATUS_OP_SEND),
        0);
}

/* The peer has not answered for so long. */
static void give_up(struct sim_event *event)
{
    struct via_message *message = sim_container_of(event, struct via_message, event);
    struct via_vi *vi = via_vi_number(message->devices, message->to);

    if (vi != NULL && vi->era == message->era &&
        !legacy_reachable(message->devices->network, message->target, message->source))
        via_vi_break(vi, true);
    message_free(message);
}

/* Its kernel asks the peer's from time to time: after a while the connection counts as lost. */
static void suspect(struct via_vi *vi)
{
    struct via_devices *devices = vi->nic->process->devices;
    struct via_message *message =
        message_new(devices, VIA_SUSPICION, vi->peer_endpoint, vi->nic->process->endpoint);

    message->to = vi->number;
    message->era = vi->era;
    message->event.fire = give_up;
    sim_event_schedule(&message->event, sim_now() + service(devices, VIA_LOST, 1));
}

/* A message of the kernels that nobody gets. */
static void abandon_control(const struct via_message *message)
{
    struct via_vi *peer = via_vi_number(message->devices, message->to);

    if (!message->unreachable)
        return;
    if (message->kind == VIA_DISCONNECT && peer != NULL && peer->state == VIP_STATE_CONNECTED &&
        peer->peer == message->from)
        suspect(peer);
    else
        via_connect_unreachable(message);
}

static void abandon(struct via_message *message)
{
    struct via_vi *vi = via_vi_number(message->devices, message->from);
    bool same = vi != NULL && vi->era == message->era;

    if (message->kind != VIA_DATA && message->kind != VIA_RDMA_WRITE) {
        abandon_control(message);
        message_free(message);
        return;
    }
    if (message->entry.book != NULL)
        sim_ledger_settle(&message->entry, SIM_LEDGER_ERROR);
    if (same && vi->state == VIP_STATE_CONNECTED) {
        if (via_is_reliable(vi)) {
            via_sent(message, VIP_STATUS_TRANSPORT_ERROR);
            via_vi_break(vi, true);
        } else if (message->unreachable) {
            suspect(vi);
        }
    }
    message_free(message);
}

/* The last frame has left: an unreliable send is done. */
static void left(struct sim_event *event)
{
    struct via_message *message = sim_container_of(event, struct via_message, event);
    const struct via_vi *vi = via_vi_number(message->devices, message->from);

    if (vi != NULL && !via_is_reliable(vi))
        via_sent(message, 0);
    /* The receiver's kernel sees by the numbers of frames that an RDMA write is not complete. */
    if ((message->lost && (message->kind != VIA_RDMA_WRITE || vi == NULL || via_is_reliable(vi))) ||
        message->unreachable) {
        abandon(message);
        return;
    }
    message->event.fire = arrived;
    sim_event_schedule(&message->event, sim_now() + message->delay);
}

/* Cuts the message into frames and sends them. */
static void send_frames(struct via_message *message, struct via_vi *vi)
{
    struct via_devices *devices = message->devices;
    struct via_host *host = &devices->hosts[message->source];
    unsigned mtu = (unsigned)devices->network->values[VIA_MTU];
    bool reliable = vi == NULL || via_is_reliable(vi); /* the kernels' own messages are repeated */
    uint64_t at = 0, part;
    sim_time_t wire = 0, end;

    do {
        part = message->length - at < mtu ? message->length - at : mtu;
        wire += wire_time(devices, part);
        if (!message->lost && !message->unreachable)
            message->delay += transmit(message, part, reliable);
        at += part;
    } while (at < message->length);
    end = legacy_occupy(&host->wire, sim_now(), wire);
    if (vi != NULL) { /* what was sent earlier arrives earlier */
        if (end + message->delay < vi->ordered)
            message->delay = vi->ordered - end;
        vi->ordered = end + message->delay;
    }
    message->event.fire = left;
    sim_event_schedule(&message->event, end);
}

/* ---- data ------------------------------------------------------------------------------------ */

static void copy_data(struct via_message *message, const VIP_DESCRIPTOR *descriptor)
{
    unsigned count, i;
    const VIP_DATA_SEGMENT *data = via_descriptor_data(descriptor, &count);
    uint64_t at = 0;

    message->data = g_malloc(message->length + 1);
    for (i = 0; i < count; i++) {
        memcpy(message->data + at, data[i].Data.Address, data[i].Length);
        at += data[i].Length;
    }
    assert(at == message->length);
}

static void read_descriptor(struct via_message *message, const VIP_DESCRIPTOR *descriptor)
{
    unsigned control = descriptor->Control.Control;

    message->immediate = (control & VIP_CONTROL_IMMEDIATE) != 0;
    message->immediate_data = descriptor->Control.ImmediateData;
    if ((control & VIP_CONTROL_OP_MASK) == VIP_CONTROL_OP_RDMAWRITE) {
        const VIP_ADDRESS_SEGMENT *remote = &descriptor->DS[0].Remote;

        message->kind = VIA_RDMA_WRITE;
        message->remote_address = remote->Data.AddressBits;
        message->remote_handle = remote->Handle;
    }
}

/* The kernel takes a descriptor: what the memory has now is what is sent. */
static void taken(struct sim_event *event)
{
    struct via_message *message = sim_container_of(event, struct via_message, event);
    struct via_devices *devices = message->devices;
    struct via_vi *vi = via_vi_number(devices, message->from);
    uint32_t status;

    if (vi == NULL || vi->era != message->era) {
        message_free(message);
        return;
    }
    assert(vi->state == VIP_STATE_CONNECTED);
    status = via_descriptor_check(vi, message->work, false, &message->length);
    if ((status & (VIP_STATUS_FORMAT_ERROR | VIP_STATUS_PROTECTION_ERROR)) == 0)
        read_descriptor(message, message->work->descriptor);
    if (status != 0) {
        via_error(vi->nic, vi, NULL, message->work->descriptor, VIP_RESOURCE_DESCRIPTOR,
                  VIP_ERROR_POST_DESC);
        via_sent(message, status);
        message_free(message);
        if (via_is_reliable(vi))
            via_vi_break(vi, true);
        return;
    }
    copy_data(message, message->work->descriptor);
    sim_ledger_open(&devices->book, &message->entry, message->source, message->target,
                    message->length);
    sim_ledger_hand_in(&message->entry, sim_ledger_digest(message->data, message->length, 0));
    send_frames(message, vi);
}

void via_send(struct via_vi *vi, struct via_work *work)
{
    struct via_devices *devices = vi->nic->process->devices;
    struct via_message *message =
        message_new(devices, VIA_DATA, vi->nic->process->endpoint, vi->peer_endpoint);
    struct via_host *host = &devices->hosts[message->source];

    message->from = vi->number;
    message->to = vi->peer;
    message->era = vi->era;
    message->work = work;
    message->event.fire = taken;
    sim_event_schedule(&message->event,
                       legacy_occupy(&host->kernel, sim_now(), service(devices, VIA_FRAME, 1)));
}

/* ---- messages of the kernels ----------------------------------------------------------------- */

static void control_taken(struct sim_event *event)
{
    send_frames(sim_container_of(event, struct via_message, event), NULL);
}

void via_send_control(struct via_devices *devices, enum via_kind kind, uint32_t source,
                      uint32_t target, uint32_t from, uint32_t to, uint32_t request,
                      VIP_RETURN answer)
{
    struct via_message *message = message_new(devices, kind, source, target);
    const struct via_vi *peer = kind == VIA_DISCONNECT ? via_vi_number(devices, to) : NULL;

    message->from = from;
    message->to = to;
    message->era = peer != NULL ? peer->era : 0;
    message->request = request;
    message->answer = answer;
    message->event.fire = control_taken;
    sim_event_schedule(&message->event, legacy_occupy(&devices->hosts[source].kernel, sim_now(),
                                                      service(devices, VIA_FRAME, 1)));
}

void via_send_offer(struct via_devices *devices, const struct via_offer *offer, uint32_t target,
                    uint32_t to)
{
    via_send_control(devices, VIA_PEER_REQUEST, offer->source, target, offer->vi, to, offer->number,
                     VIP_SUCCESS);
    devices->messages->data = g_memdup2(offer, sizeof(*offer)); /* the newest one */
}
