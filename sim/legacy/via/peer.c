/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections between peers: both sides make a request (VipConnectPeerRequest) that names the other
 * side's address, and neither waits for it. Each host sends its process's request to the other
 * host, which keeps it as an offer until a process there makes the matching request. A VI is
 * connected as soon as its own request and the other side's offer are in one host:
 *
 *   PENDING ──offer matches──▶ CONNECTED
 *      │ └───attributes──────▶ FAILED      both sides compare, so both get the same error
 *      └─────timeout─────────▶ FAILED      the offer is withdrawn from the other host
 */
#include "via.h"

#include <assert.h>
#include <glib.h>
#include <string.h>

struct via_peer {
    struct via_vi *vi;
    struct via_offer offer; /* what the other host gets */
    uint32_t target; /* that host */
    enum { PENDING, CONNECTED, FAILED } state;
    VIP_RETURN error; /* FAILED */
    VIP_VI_ATTRIBUTES attributes; /* CONNECTED: the other side's */
    struct sim_timer timer;
};

static struct via_devices *devices_of(const struct via_vi *vi)
{
    return vi->nic->process->devices;
}

/* ---- matching -------------------------------------------------------------------------------- */

static bool same_address(const struct via_address *a, const struct via_address *b)
{
    return a->discriminator_length == b->discriminator_length &&
           memcmp(a->bytes, b->bytes, (size_t)a->host_length + a->discriminator_length) == 0;
}

static bool is_match(const struct via_offer *a, const struct via_offer *b)
{
    return same_address(&a->from, &b->to) && same_address(&a->to, &b->from);
}

static void fail(struct via_peer *peer, VIP_RETURN error)
{
    assert(peer->state == PENDING);
    sim_timer_cancel(&peer->timer);
    peer->state = FAILED;
    peer->error = error;
    peer->vi->state = VIP_STATE_IDLE;
    via_process_wake(peer->vi->nic->process);
}

static void match(struct via_peer *peer, const struct via_offer *offer)
{
    VIP_RETURN rc = via_attributes_compare(&peer->offer.attributes, &offer->attributes);

    if (rc != VIP_SUCCESS) {
        fail(peer, rc);
        return;
    }
    assert(peer->state == PENDING && peer->vi->state == VIP_STATE_CONNECT_PENDING);
    sim_timer_cancel(&peer->timer);
    peer->state = CONNECTED;
    peer->attributes = offer->attributes;
    peer->attributes.Ptag = NULL; /* means nothing here */
    via_vi_connect(peer->vi, offer->vi, offer->source);
    via_process_wake(peer->vi->nic->process);
}

static void disconnect(struct via_devices *devices, uint32_t source, uint32_t from, uint32_t target,
                       uint32_t to)
{
    via_send_control(devices, VIA_DISCONNECT, source, target, from, to, 0, VIP_SUCCESS);
}

/* ---- requests -------------------------------------------------------------------------------- */

static void withdraw(const struct via_peer *peer)
{
    struct via_devices *devices = devices_of(peer->vi);

    if (!devices->ending)
        via_send_control(devices, VIA_PEER_WITHDRAWAL, peer->offer.source, peer->target,
                         peer->offer.vi, VIA_NO_VI, peer->offer.number, VIP_SUCCESS);
}

void via_peer_forget(struct via_vi *vi)
{
    struct via_peer *peer = vi->peer_request;

    if (peer == NULL)
        return;
    if (peer->state == PENDING) {
        withdraw(peer);
        sim_timer_cancel(&peer->timer);
    }
    vi->peer_request = NULL;
    g_free(peer);
}

static void expired(struct sim_event *event)
{
    struct via_peer *peer = sim_container_of(event, struct via_peer, timer.event);

    withdraw(peer);
    fail(peer, VIP_TIMEOUT);
}

static struct via_offer **find_offer(struct via_host *host, const struct via_offer *request)
{
    struct via_offer **place = &host->offers;

    while (*place != NULL && !is_match(*place, request))
        place = &(*place)->next;
    return place;
}

static struct via_offer *unlink_offer(struct via_offer **place)
{
    struct via_offer *offer = *place;

    *place = offer->next;
    return offer;
}

VIP_RETURN VipConnectPeerRequest(VIP_VI_HANDLE ViHandle, VIP_NET_ADDRESS *LocalAddr,
                                 VIP_NET_ADDRESS *RemoteAddr, VIP_ULONG Timeout)
{
    struct via_vi *vi = via_vi_get(ViHandle);
    sim_time_t deadline = via_deadline(Timeout);
    struct via_offer **place, *offer = NULL;
    struct via_address from, to;
    struct via_devices *devices;
    struct via_peer *peer;
    uint32_t target;

    if (vi == NULL || !via_address_read(LocalAddr, &from) || !via_address_read(RemoteAddr, &to) ||
        !via_address_is_own(vi->nic, &from))
        return VIP_INVALID_PARAMETER;
    if (vi->state != VIP_STATE_IDLE)
        return VIP_INVALID_STATE;
    devices = devices_of(vi);
    if (!via_host_find(devices, RemoteAddr, &target))
        return VIP_NOT_REACHABLE;
    via_peer_forget(vi); /* one that failed and was not asked for */
    peer = g_new0(struct via_peer, 1);
    peer->vi = vi;
    peer->target = target;
    peer->offer = (struct via_offer){.source = vi->nic->process->endpoint,
                                     .vi = vi->number,
                                     .number = devices->request_count++,
                                     .from = from,
                                     .to = to,
                                     .attributes = vi->attributes};
    peer->timer.event.fire = expired;
    vi->peer_request = peer;
    vi->state = VIP_STATE_CONNECT_PENDING;
    sim_spend(legacy_service(devices->network, VIA_POST, 1));
    sim_settle();
    vi = via_vi_get(ViHandle);
    if (vi == NULL || vi->peer_request != peer)
        return VIP_INVALID_PARAMETER; /* another thread has closed the NIC */
    place = find_offer(&devices->hosts[peer->offer.source], &peer->offer);
    if (peer->state == PENDING && *place != NULL)
        offer = unlink_offer(place);
    if (offer != NULL)
        match(peer, offer);
    via_send_offer(devices, &peer->offer, target, offer != NULL ? offer->vi : VIA_NO_VI);
    if (peer->state == PENDING && deadline != SIM_NEVER)
        sim_timer_arm(&peer->timer, deadline > sim_now() ? deadline : sim_now());
    g_free(offer);
    return VIP_SUCCESS;
}

/* The request has ended: its result, and it is no more. */
static VIP_RETURN take_result(struct via_vi *vi, VIP_VI_ATTRIBUTES *attributes)
{
    const struct via_peer *peer = vi->peer_request;
    VIP_RETURN rc = peer->state == CONNECTED ? VIP_SUCCESS : peer->error;

    if (rc == VIP_SUCCESS)
        *attributes = peer->attributes;
    via_peer_forget(vi);
    return rc;
}

VIP_RETURN VipConnectPeerDone(VIP_VI_HANDLE ViHandle, VIP_VI_ATTRIBUTES *RemoteAttributes)
{
    struct via_vi *vi = via_vi_get(ViHandle);

    if (vi == NULL || RemoteAttributes == NULL)
        return VIP_INVALID_PARAMETER;
    if (vi->peer_request == NULL)
        return VIP_INVALID_STATE;
    if (vi->peer_request->state == PENDING) {
        sim_spend(legacy_service(devices_of(vi)->network, VIA_POLL, 1));
        return VIP_NOT_DONE;
    }
    return take_result(vi, RemoteAttributes);
}

VIP_RETURN VipConnectPeerWait(VIP_VI_HANDLE ViHandle, VIP_VI_ATTRIBUTES *RemoteAttributes)
{
    static const struct sim_wait wait = {.text = "a connection between peers of VIA"};
    struct via_vi *vi = via_vi_get(ViHandle);

    if (vi == NULL || RemoteAttributes == NULL)
        return VIP_INVALID_PARAMETER;
    if (vi->peer_request == NULL)
        return VIP_INVALID_STATE;
    while (vi->peer_request->state == PENDING) { /* the timer ends it in time */
        via_process_wait(vi->nic->process, SIM_NEVER, &wait);
        vi = via_vi_get(ViHandle);
        if (vi == NULL || vi->peer_request == NULL) /* another thread has taken it */
            return VIP_INVALID_STATE;
    }
    sim_spend(legacy_service(devices_of(vi)->network, VIA_WAIT, 1));
    return take_result(vi, RemoteAttributes);
}

/* ---- at the host of the peer ----------------------------------------------------------------- */

/* A request of that host that is pending and matches. */
static struct via_peer *find_pending(const struct via_devices *devices, uint32_t endpoint,
                                     const struct via_offer *offer)
{
    for (uint32_t i = 0; i < devices->vi_count; i++) {
        const struct via_vi *vi = devices->vis[i];

        if (vi != NULL && vi->nic->process->endpoint == endpoint && vi->peer_request != NULL &&
            vi->peer_request->state == PENDING && is_match(&vi->peer_request->offer, offer))
            return vi->peer_request;
    }
    return NULL;
}

static void offer_arrived(const struct via_message *message)
{
    struct via_devices *devices = message->devices;
    const struct via_offer *offer = (const struct via_offer *)message->data;
    struct via_peer *peer = find_pending(devices, message->target, offer);
    struct via_offer **place = &devices->hosts[message->target].offers;

    if (peer != NULL && (message->to == VIA_NO_VI || message->to == peer->vi->number)) {
        match(peer, offer);
    } else if (message->to != VIA_NO_VI) { /* it is connected to a request that is no more */
        const struct via_vi *vi = via_vi_number(devices, message->to);

        if (vi == NULL || vi->state != VIP_STATE_CONNECTED || vi->peer != message->from)
            disconnect(devices, message->target, message->to, message->source, message->from);
    } else {
        while (*place != NULL)
            place = &(*place)->next;
        *place = g_memdup2(offer, sizeof(*offer));
        (*place)->next = NULL;
    }
}

/* The request may have been matched meanwhile: then that connection is over. */
static void withdrawal_arrived(const struct via_message *message)
{
    struct via_devices *devices = message->devices;
    struct via_offer **place = &devices->hosts[message->target].offers;
    uint32_t i;

    while (*place != NULL && (*place)->number != message->request)
        place = &(*place)->next;
    if (*place != NULL) {
        g_free(unlink_offer(place));
        return;
    }
    for (i = 0; i < devices->vi_count; i++) {
        struct via_vi *vi = devices->vis[i];

        if (vi != NULL && vi->nic->process->endpoint == message->target &&
            vi->state == VIP_STATE_CONNECTED && vi->peer == message->from) {
            via_send_control(devices, VIA_PEER_WITHDRAWAL, message->target, message->source,
                             vi->number, VIA_NO_VI, VIA_NO_VI, VIP_SUCCESS);
            via_vi_break(vi, true);
        }
    }
}

void via_peer_arrived(const struct via_message *message)
{
    if (message->kind == VIA_PEER_REQUEST)
        offer_arrived(message);
    else
        withdrawal_arrived(message);
}

void via_peer_unreachable(const struct via_message *message)
{
    struct via_vi *vi = via_vi_number(message->devices, message->from);
    struct via_peer *peer = vi != NULL ? vi->peer_request : NULL;

    if (peer != NULL && peer->offer.number == message->request && peer->state == PENDING)
        fail(peer, VIP_NOT_REACHABLE);
    else if (vi != NULL && vi->state == VIP_STATE_CONNECTED && vi->peer == message->to)
        via_vi_break(vi, true);
}

void via_peer_offers_free(struct via_host *host)
{
    while (host->offers != NULL)
        g_free(unlink_offer(&host->offers));
}
