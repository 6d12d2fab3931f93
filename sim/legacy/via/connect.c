/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections. A request travels to the host that it names, where a process must be waiting for it
 * (VipConnectWait), and the answer comes back:
 *
 *   REQUESTED ──accept──▶ ACCEPTED      the VI is CONNECTED
 *       │ └────refuse──▶ REFUSED        no process waits, or it rejects
 *       └──────timeout─▶ given up       an acceptance that comes later is answered by a
 * disconnection
 */
#include "via.h"

#include <assert.h>
#include <glib.h>
#include <string.h>

struct via_request {
    struct via_request *next;
    struct via_devices *devices;
    uint32_t number, endpoint; /* of the host that it goes to */
    enum { REQUESTED, ACCEPTED, REFUSED } state;
    VIP_RETURN answer;
    uint32_t vi, peer; /* the requester's; ACCEPTED: the other one */
    bool given_up; /* the requester does not wait any more */
    bool offered; /* a process has got it from VipConnectWait */
    struct via_process *acceptor; /* that has got it */
    void *handle; /* in that process */
    struct via_address from, to;
    uint32_t source;
    VIP_VI_ATTRIBUTES attributes, peer_attributes;
};

struct via_listener {
    struct via_listener *next;
    struct via_process *process;
    uint32_t number;
    struct via_address address;
    struct via_request *request; /* that came */
};

static struct via_request *find_request(const struct via_devices *devices, uint32_t number)
{
    struct via_request *request = devices->requests;

    while (request != NULL && request->number != number)
        request = request->next;
    return request;
}

static void request_free(struct via_request *request)
{
    struct via_request **place = &request->devices->requests;

    if (request->handle != NULL)
        via_handle_free(request->acceptor, request->handle);
    while (*place != request)
        place = &(*place)->next;
    *place = request->next;
    g_free(request);
}

/* When neither side needs it any more. */
static void request_release(struct via_request *request)
{
    if (request->given_up && (!request->offered || request->acceptor == NULL))
        request_free(request);
}

/* ---- addresses ------------------------------------------------------------------------------- */

bool via_address_read(const VIP_NET_ADDRESS *address, struct via_address *read)
{
    if (address == NULL || address->HostAddressLen != VIA_ADDRESS_BYTES ||
        address->DiscriminatorLen > VIA_DISCRIMINATOR_MAX)
        return false;
    *read = (struct via_address){address->HostAddressLen, address->DiscriminatorLen, {0}};
    memcpy(read->bytes, address->HostAddress,
           (size_t)address->HostAddressLen + address->DiscriminatorLen);
    return true;
}

static void write_address(const struct via_address *address, VIP_NET_ADDRESS *write)
{
    write->HostAddressLen = address->host_length;
    write->DiscriminatorLen = address->discriminator_length;
    memcpy(write->HostAddress, address->bytes,
           (size_t)address->host_length + address->discriminator_length);
}

bool via_address_is_own(const struct via_nic *nic, const struct via_address *address)
{
    return memcmp(address->bytes, nic->address, VIA_ADDRESS_BYTES) == 0;
}

/* ---- the passive side ------------------------------------------------------------------------ */

static struct via_listener **find_listener(struct via_host *host, uint32_t number)
{
    struct via_listener **place = &host->listeners;

    while (*place != NULL && (*place)->number != number)
        place = &(*place)->next;
    return place;
}

static void listener_free(struct via_listener **place)
{
    struct via_listener *listener = *place;

    *place = listener->next;
    g_free(listener);
}

VIP_RETURN VipConnectWait(VIP_NIC_HANDLE NicHandle, VIP_NET_ADDRESS *LocalAddr, VIP_ULONG Timeout,
                          VIP_NET_ADDRESS *RemoteAddr, VIP_VI_ATTRIBUTES *RemoteViAttributes,
                          VIP_CONN_HANDLE *ConnHandle)
{
    static const struct sim_wait wait = {.text = "a connection request of VIA"};
    struct via_nic *nic = via_nic_get(NicHandle);
    struct via_listener *listener, **place;
    struct via_request *request = NULL;
    sim_time_t deadline = via_deadline(Timeout);
    struct via_process *process;
    struct via_host *host;
    struct via_address address;
    uint32_t number;

    if (nic == NULL || !via_address_read(LocalAddr, &address) ||
        !via_address_is_own(nic, &address) || RemoteAddr == NULL || RemoteViAttributes == NULL ||
        ConnHandle == NULL)
        return VIP_INVALID_PARAMETER;
    process = nic->process;
    host = &process->devices->hosts[process->endpoint];
    listener = g_new0(struct via_listener, 1);
    number = listener->number = process->devices->request_count++;
    listener->process = process;
    listener->address = address;
    place = find_listener(host, UINT32_MAX); /* the end */
    *place = listener;
    while (listener->request == NULL && via_process_wait(process, deadline, &wait)) {
    }
    request = listener->request;
    listener_free(find_listener(host, number));
    if (request == NULL)
        return VIP_TIMEOUT;
    write_address(&request->from, RemoteAddr);
    *RemoteViAttributes = request->attributes;
    RemoteViAttributes->Ptag = NULL; /* means nothing here */
    request->handle = via_handle_new(process, VIA_HANDLE_CONNECTION, request);
    *ConnHandle = request->handle;
    sim_spend(legacy_service(process->devices->network, VIA_WAIT, 1));
    return VIP_SUCCESS;
}

/* The calling process is done with it. */
static void let_go(struct via_request *request)
{
    via_handle_free(request->acceptor, request->handle);
    request->handle = NULL;
    request->acceptor = NULL;
    request_release(request);
}

VIP_RETURN via_attributes_compare(const VIP_VI_ATTRIBUTES *a, const VIP_VI_ATTRIBUTES *b)
{
    if (a->ReliabilityLevel != b->ReliabilityLevel)
        return VIP_INVALID_RELIABILITY_LEVEL;
    if (a->MaxTransferSize != b->MaxTransferSize)
        return VIP_INVALID_MTU;
    return a->QoS != b->QoS ? VIP_INVALID_QOS : VIP_SUCCESS;
}

void via_vi_connect(struct via_vi *vi, uint32_t peer, uint32_t endpoint)
{
    vi->state = VIP_STATE_CONNECTED;
    vi->era++;
    vi->peer = peer;
    vi->peer_endpoint = endpoint;
    vi->ordered = 0;
}

VIP_RETURN VipConnectAccept(VIP_CONN_HANDLE ConnHandle, VIP_VI_HANDLE ViHandle)
{
    struct via_vi *vi = via_vi_get(ViHandle);
    struct via_request *request =
        vi != NULL ? via_handle_get(vi->nic->process, VIA_HANDLE_CONNECTION, ConnHandle) : NULL;
    VIP_RETURN rc;

    if (request == NULL)
        return VIP_INVALID_PARAMETER;
    if (vi->state != VIP_STATE_IDLE)
        return VIP_INVALID_STATE;
    rc = via_attributes_compare(&vi->attributes, &request->attributes);
    if (rc != VIP_SUCCESS)
        return rc; /* another VI may be tried */
    sim_spend(legacy_service(request->devices->network, VIA_POST, 1));
    if (request->given_up) {
        let_go(request);
        return VIP_TIMEOUT;
    }
    via_vi_connect(vi, request->vi, request->source);
    request->peer = vi->number;
    request->peer_attributes = vi->attributes;
    via_send_control(request->devices, VIA_ACCEPT, vi->nic->process->endpoint, request->source,
                     vi->number, request->vi, request->number, VIP_SUCCESS);
    let_go(request);
    return VIP_SUCCESS;
}

VIP_RETURN VipConnectReject(VIP_CONN_HANDLE ConnHandle)
{
    struct via_request *request =
        via_handle_get(via_process_of(ConnHandle), VIA_HANDLE_CONNECTION, ConnHandle);

    if (request == NULL)
        return VIP_INVALID_PARAMETER;
    sim_spend(legacy_service(request->devices->network, VIA_POST, 1));
    via_send_control(request->devices, VIA_REFUSE, request->endpoint, request->source, 0,
                     request->vi, request->number, VIP_REJECT);
    let_go(request);
    return VIP_SUCCESS;
}

/* ---- the active side ------------------------------------------------------------------------- */

static struct via_request *request_new(struct via_vi *vi, const struct via_address *from,
                                       const struct via_address *to, uint32_t endpoint)
{
    struct via_devices *devices = vi->nic->process->devices;
    struct via_request *request = g_new0(struct via_request, 1);

    request->devices = devices;
    request->number = devices->request_count++;
    request->vi = vi->number;
    request->source = vi->nic->process->endpoint;
    request->endpoint = endpoint;
    request->attributes = vi->attributes;
    request->from = *from;
    request->to = *to;
    request->next = devices->requests;
    devices->requests = request;
    return request;
}

VIP_RETURN VipConnectRequest(VIP_VI_HANDLE ViHandle, VIP_NET_ADDRESS *LocalAddr,
                             VIP_NET_ADDRESS *RemoteAddr, VIP_ULONG Timeout,
                             VIP_VI_ATTRIBUTES *RemoteViAttributes)
{
    static const struct sim_wait wait = {.text = "the answer to a connection request of VIA"};
    struct via_vi *vi = via_vi_get(ViHandle);
    sim_time_t deadline = via_deadline(Timeout);
    struct via_process *process;
    struct via_request *request;
    struct via_address from, to;
    uint32_t endpoint, number;
    VIP_RETURN rc;

    if (vi == NULL || RemoteViAttributes == NULL || !via_address_read(LocalAddr, &from) ||
        !via_address_read(RemoteAddr, &to) || !via_address_is_own(vi->nic, &from))
        return VIP_INVALID_PARAMETER;
    if (vi->state != VIP_STATE_IDLE)
        return VIP_INVALID_STATE;
    process = vi->nic->process;
    if (!via_host_find(process->devices, RemoteAddr, &endpoint))
        return VIP_NOT_REACHABLE;
    vi->state = VIP_STATE_CONNECT_PENDING;
    request = request_new(vi, &from, &to, endpoint);
    sim_spend(legacy_service(process->devices->network, VIA_POST, 1));
    sim_settle();
    via_send_control(process->devices, VIA_REQUEST, request->source, endpoint, vi->number, 0,
                     request->number, VIP_SUCCESS);
    number = request->number;
    while (request != NULL && request->state == REQUESTED &&
           via_process_wait(process, deadline, &wait))
        request = find_request(process->devices, number);
    vi = via_vi_get(ViHandle);
    if (request == NULL || vi == NULL) /* another thread has closed the NIC */
        return VIP_INVALID_PARAMETER;
    rc = request->state == ACCEPTED  ? VIP_SUCCESS
         : request->state == REFUSED ? request->answer
                                     : VIP_TIMEOUT;
    if (rc == VIP_SUCCESS) {
        *RemoteViAttributes = request->peer_attributes;
        RemoteViAttributes->Ptag = NULL;
    } else if (vi->state == VIP_STATE_CONNECT_PENDING) {
        vi->state = VIP_STATE_IDLE;
    }
    request->given_up = true;
    request_release(request);
    sim_spend(legacy_service(process->devices->network, VIA_WAIT, 1));
    return rc;
}

/* ---- what the kernels do --------------------------------------------------------------------- */

static bool same_discriminator(const struct via_address *a, const struct via_address *b)
{
    return a->discriminator_length == b->discriminator_length &&
           memcmp(a->bytes + a->host_length, b->bytes + b->host_length, a->discriminator_length) ==
               0;
}

static void request_arrived(struct via_message *message)
{
    struct via_request *request = find_request(message->devices, message->request);
    struct via_listener *listener = message->devices->hosts[message->target].listeners;

    if (request == NULL || request->given_up)
        return;
    while (listener != NULL &&
           (listener->request != NULL || !same_discriminator(&listener->address, &request->to)))
        listener = listener->next;
    if (listener == NULL) {
        via_send_control(message->devices, VIA_REFUSE, message->target, message->source, 0,
                         message->from, message->request, VIP_NO_MATCH);
        return;
    }
    listener->request = request;
    request->offered = true;
    request->acceptor = listener->process;
    via_process_wake(listener->process);
}

static void answer_arrived(struct via_message *message)
{
    struct via_request *request = find_request(message->devices, message->request);
    struct via_vi *vi = via_vi_number(message->devices, message->to);
    bool waits = request != NULL && !request->given_up && vi != NULL &&
                 vi->state == VIP_STATE_CONNECT_PENDING;

    if (message->kind == VIA_ACCEPT && !waits) {
        via_send_control(message->devices, VIA_DISCONNECT, message->target, message->source,
                         message->to, message->from, 0, VIP_SUCCESS);
        return;
    }
    if (!waits)
        return;
    request->state = message->kind == VIA_ACCEPT ? ACCEPTED : REFUSED;
    request->answer = message->answer;
    if (message->kind == VIA_ACCEPT)
        via_vi_connect(vi, message->from, message->source);
    via_process_wake(vi->nic->process);
}

void via_connect_unreachable(const struct via_message *message)
{
    struct via_request *request = find_request(message->devices, message->request);
    struct via_vi *vi = via_vi_number(message->devices, message->from);

    if (message->kind == VIA_PEER_REQUEST)
        via_peer_unreachable(message);
    if (message->kind != VIA_REQUEST || request == NULL || request->given_up || vi == NULL)
        return;
    request->state = REFUSED;
    request->answer = VIP_NOT_REACHABLE;
    via_process_wake(vi->nic->process);
}

void via_connect_arrived(struct via_message *message)
{
    struct via_vi *vi;

    switch (message->kind) {
    case VIA_REQUEST:
        request_arrived(message);
        return;
    case VIA_ACCEPT:
    case VIA_REFUSE:
        answer_arrived(message);
        return;
    case VIA_PEER_REQUEST:
    case VIA_PEER_WITHDRAWAL:
        via_peer_arrived(message);
        return;
    default:
        vi = via_vi_number(message->devices, message->to);
        if (vi != NULL && vi->state == VIP_STATE_CONNECTED && vi->peer == message->from)
            via_vi_break(vi, true);
    }
}

/* ---- the end of a process -------------------------------------------------------------------- */

void via_connect_forget(struct via_vi *vi)
{
    struct via_request *request = vi->nic->process->devices->requests, *next;

    for (; request != NULL; request = next) {
        next = request->next;
        if (request->vi == vi->number && !request->given_up) {
            request->given_up = true;
            request_release(request);
        }
    }
}

void via_connect_end(struct via_process *process)
{
    struct via_devices *devices = process->devices;
    struct via_listener **place = &devices->hosts[process->endpoint].listeners;
    struct via_request *request, *next;

    while (*place != NULL) {
        if ((*place)->process == process)
            listener_free(place);
        else
            place = &(*place)->next;
    }
    for (request = devices->requests; request != NULL; request = next) {
        next = request->next;
        if (request->acceptor != process)
            continue;
        if (request->handle != NULL)
            via_handle_free(process, request->handle);
        request->handle = NULL;
        request->acceptor = NULL;
        if (!devices->ending && !request->given_up)
            via_send_control(devices, VIA_REFUSE, request->endpoint, request->source, 0,
                             request->vi, request->number, VIP_REJECT);
        request_release(request);
    }
}
