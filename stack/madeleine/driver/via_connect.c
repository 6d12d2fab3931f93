/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Channels of the VIA driver: VIs, their discriminators, connecting and closing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session.h"
#include "via.h"

enum { LIMIT_MS = 10000, ADDRESS_MAX = 32, DISCRIMINATOR_BYTES = 12, BYTE_VALUES = 256 };

union address {
    VIP_NET_ADDRESS address;
    uint8_t room[ADDRESS_MAX];
};

/* ---- channels -------------------------------------------------------------------------------- */

int mad_via_channel_init(p_mad_channel_t channel)
{
    const mad_configuration_t *configuration = &channel->adapter->driver->madeleine->configuration;
    struct mvia_adapter *adapter = mad_via_adapter(channel->adapter);
    struct mvia_channel *own = calloc(1, sizeof(*own));
    unsigned peers = (unsigned)configuration->size;

    if (own == NULL)
        return MAD_ENOMEM;
    channel->specific = own;
    own->object = channel;
    own->adapter = adapter;
    own->size = configuration->size;
    own->own = configuration->local_host_id;
    own->peers = calloc(peers, sizeof(*own->peers));
    if (own->peers == NULL)
        return MAD_ENOMEM;
    port_mutex_lock(&adapter->mutex);
    own->next = adapter->channels;
    adapter->channels = own;
    port_mutex_unlock(&adapter->mutex);
    if (channel->id >= BYTE_VALUES || peers > BYTE_VALUES) /* in a discriminator */
        return MAD_ENOTSUP;
    if (!mad_via_reserve(adapter, peers * (MVIA_CREDITS + MVIA_REPORTS + 8) + MVIA_POOL))
        return MAD_EDRIVER;
    return VipCreateCQ(adapter->nic, peers * (MVIA_CREDITS + 1), &own->queue) == VIP_SUCCESS
               ? MAD_OK
               : MAD_EDRIVER;
}

int mad_via_channel_exit(p_mad_channel_t channel)
{
    struct mvia_channel *own = mad_via_channel(channel), **place;

    if (own == NULL)
        return MAD_OK;
    port_mutex_lock(&own->adapter->mutex);
    for (place = &own->adapter->channels; *place != NULL && *place != own; place = &(*place)->next)
        ;
    if (*place != NULL)
        *place = own->next;
    port_mutex_unlock(&own->adapter->mutex);
    if (own->polling)
        port_timer_stop(&own->polled);
    if (own->queue != NULL)
        VipDestroyCQ(own->queue);
    free(own->peers);
    free(own);
    return MAD_OK;
}

int mad_via_connection_init(p_mad_connection_t in, p_mad_connection_t out)
{
    struct mvia_channel *channel = mad_via_channel(in->channel);
    struct mvia_peer *peer = calloc(1, sizeof(*peer));

    in->nb_link = out->nb_link = MVIA_LINKS;
    if (peer == NULL)
        return MAD_ENOMEM;
    peer->channel = channel;
    peer->in = in;
    peer->out = out;
    peer->credits = peer->expected = MVIA_CREDITS;
    for (unsigned i = 0; i < MVIA_VIS; i++)
        peer->vi[i].peer = peer;
    in->specific = out->specific = peer;
    channel->peers[in->remote_host_id] = peer;
    return MAD_OK;
}

/* Takes back what is posted, so that the VI can be destroyed. */
static void drain(struct mvia_adapter *adapter, struct mvia_vi *vi, bool frames)
{
    VIP_DESCRIPTOR *descriptor = NULL;
    VIP_RETURN rc;

    while ((rc = VipRecvDone(vi->handle, &descriptor)) == VIP_SUCCESS ||
           (rc == VIP_DESCRIPTOR_ERROR && descriptor != NULL)) {
        if (frames)
            mad_via_frame_free(adapter, (struct mvia_frame *)descriptor);
        descriptor = NULL;
    }
    while ((rc = VipSendDone(vi->handle, &descriptor)) == VIP_SUCCESS ||
           (rc == VIP_DESCRIPTOR_ERROR && descriptor != NULL))
        descriptor = NULL;
}

int mad_via_connection_exit(p_mad_connection_t in, p_mad_connection_t out)
{
    struct mvia_peer *peer = mad_via_peer(in);
    struct mvia_adapter *adapter;
    struct mvia_frame *frame;

    (void)out; /* has the same peer */
    if (peer == NULL)
        return MAD_OK;
    adapter = peer->channel->adapter;
    port_mutex_lock(&adapter->mutex);
    peer->channel->peers[in->remote_host_id] = NULL;
    port_mutex_unlock(&adapter->mutex);
    for (unsigned i = 0; i < MVIA_VIS; i++) {
        struct mvia_vi *vi = &peer->vi[i];

        if (vi->handle == NULL)
            continue;
        if (vi->connected)
            VipDisconnect(vi->handle);
        /* what is posted on the receiving side of link 1 is a list of the group that waits */
        drain(adapter, vi, vi != mad_via_in(peer, 1));
        VipDestroyVi(vi->handle);
    }
    while ((frame = peer->first) != NULL) {
        peer->first = frame->next;
        mad_via_frame_free(adapter, frame);
    }
    free(peer);
    return MAD_OK;
}

/* ---- VIs ------------------------------------------------------------------------------------- */

static bool post_frames(struct mvia_vi *vi, unsigned count)
{
    struct mvia_frame *frame;
    bool good = true;

    while (good && count-- != 0) {
        frame = mad_via_frame(vi->peer->channel->adapter);
        good = frame != NULL && mad_via_post_receive(vi, frame) == MAD_OK;
    }
    return good;
}

/* With the receives that it has from the beginning. */
static bool create_vi(struct mvia_peer *peer, unsigned number)
{
    struct mvia_adapter *adapter = peer->channel->adapter;
    struct mvia_vi *vi = &peer->vi[number];
    bool data = vi == mad_via_in(peer, 0);
    VIP_VI_ATTRIBUTES attributes = {.ReliabilityLevel = VIP_SERVICE_UNRELIABLE,
                                    .MaxTransferSize = MVIA_TRANSFER_MAX,
                                    .Ptag = adapter->ptag,
                                    .EnableRdmaWrite = VIP_TRUE};

    if (VipCreateVi(adapter->nic, &attributes, NULL, data ? peer->channel->queue : NULL,
                    &vi->handle) != VIP_SUCCESS)
        return false;
    if (number < MVIA_LINKS)
        return post_frames(vi, 2);
    return post_frames(vi, data ? MVIA_CREDITS : number == MVIA_VIS - 1 ? MVIA_REPORTS : 0);
}

/*
 * Four bytes name adapter, channel, rank of the connecting process and VI, by its own numbers; the
 * others keep processes and jobs on one host apart.
 */
static void set_discriminator(VIP_NET_ADDRESS *address, const struct mvia_channel *channel,
                              int from, int to, unsigned number)
{
    uint8_t *at = address->HostAddress + address->HostAddressLen;
    uint32_t target = (uint32_t)to,
             job = (uint32_t)mad_job_hash(channel->object->adapter->driver->madeleine);

    address->DiscriminatorLen = DISCRIMINATOR_BYTES;
    at[0] = (uint8_t)channel->object->adapter->id;
    at[1] = (uint8_t)channel->object->id;
    at[2] = (uint8_t)from;
    at[3] = (uint8_t)number;
    memcpy(at + 4, &target, sizeof(target));
    memcpy(at + 8, &job, sizeof(job));
}

static void own_address(const struct mvia_adapter *adapter, VIP_NET_ADDRESS *address)
{
    address->HostAddressLen = adapter->attributes.NicAddressLen;
    memcpy(address->HostAddress, adapter->attributes.LocalNicAddress,
           adapter->attributes.NicAddressLen);
}

/* "via:v1:0200000000ff" */
static int find_address(p_mad_channel_t channel, int rank, VIP_NET_ADDRESS *address)
{
    const struct mvia_adapter *adapter = mad_via_adapter(channel->adapter);
    char text[MAD_VALUE_MAX + 1];
    unsigned byte, i;
    int error = mad_adapter_parameter(channel->adapter, rank, text, sizeof(text));

    if (error != MAD_OK)
        return error;
    address->HostAddressLen = adapter->attributes.NicAddressLen;
    if (strncmp(text, "via:v1:", 7) != 0 || strlen(text) != 7 + 2 * (size_t)address->HostAddressLen)
        return MAD_EBOOT;
    for (i = 0; i < address->HostAddressLen; i++) {
        if (sscanf(text + 7 + (size_t)2 * i, "%2x", &byte) != 1)
            return MAD_EBOOT;
        address->HostAddress[i] = (uint8_t)byte;
    }
    return MAD_OK;
}

/* ---- connecting ------------------------------------------------------------------------------ */

static int begin(struct mvia_peer *peer)
{
    for (unsigned i = 0; i < MVIA_VIS; i++)
        if (peer->vi[i].handle == NULL && !create_vi(peer, i))
            return MAD_EDRIVER;
    return MAD_OK;
}

static int failed(p_mad_channel_t channel, VIP_RETURN rc, const char *text)
{
    bool gone =
        rc == VIP_TIMEOUT || rc == VIP_NO_MATCH || rc == VIP_NOT_REACHABLE || rc == VIP_REJECT;

    mad_channel_fail(channel, gone ? MAD_EPEER : MAD_EDRIVER, text);
    return gone ? MAD_EPEER : MAD_EDRIVER;
}

/* Asks until the peer waits. */
static VIP_RETURN request(struct mvia_vi *vi, VIP_NET_ADDRESS *from, VIP_NET_ADDRESS *to)
{
    VIP_VI_ATTRIBUTES attributes;
    struct port_timer limit;
    VIP_RETURN rc;

    port_timer_start(&limit, LIMIT_MS * UINT64_C(1000000));
    do {
        rc = VipConnectRequest(vi->handle, from, to, LIMIT_MS, &attributes);
    } while (rc == VIP_NO_MATCH && !port_timer_rang(&limit));
    port_timer_stop(&limit);
    vi->connected = rc == VIP_SUCCESS;
    return rc;
}

int mad_via_connect(p_mad_connection_t out)
{
    struct mvia_channel *channel = mad_via_channel(out->channel);
    struct mvia_peer *peer = mad_via_peer(out);
    union address from = {{0}}, to = {{0}};
    int error = begin(peer);
    VIP_RETURN rc = VIP_SUCCESS;

    if (error == MAD_OK)
        error = find_address(out->channel, out->remote_host_id, &to.address);
    own_address(channel->adapter, &from.address);
    for (unsigned i = 0; error == MAD_OK && rc == VIP_SUCCESS && i < MVIA_VIS; i++) {
        set_discriminator(&from.address, channel, channel->own, out->remote_host_id, i);
        set_discriminator(&to.address, channel, channel->own, out->remote_host_id, i);
        rc = request(&peer->vi[i], &from.address, &to.address);
    }
    if (rc != VIP_SUCCESS)
        return failed(out->channel, rc, "a VI cannot be connected");
    peer->connected = error == MAD_OK;
    return error;
}

/* The peer's out is the own in. */
static VIP_RETURN answer(struct mvia_peer *peer, unsigned number)
{
    struct mvia_channel *channel = peer->channel;
    unsigned own = number == MVIA_VIS - 1 ? number : (number + MVIA_LINKS) % (2 * MVIA_LINKS);
    union address here = {{0}}, from = {{0}};
    VIP_VI_ATTRIBUTES attributes;
    VIP_CONN_HANDLE connection;
    VIP_RETURN rc;

    own_address(channel->adapter, &here.address);
    set_discriminator(&here.address, channel, peer->in->remote_host_id, channel->own, number);
    rc = VipConnectWait(channel->adapter->nic, &here.address, LIMIT_MS, &from.address, &attributes,
                        &connection);
    if (rc == VIP_SUCCESS)
        rc = VipConnectAccept(connection, peer->vi[own].handle);
    peer->vi[own].connected = rc == VIP_SUCCESS;
    return rc;
}

/* Of the lower ranks in turn. */
int mad_via_accept(p_mad_channel_t channel)
{
    struct mvia_channel *own = mad_via_channel(channel);
    struct mvia_peer *peer = NULL;
    VIP_RETURN rc = VIP_SUCCESS;
    int error;

    for (int rank = 0; rank < own->own; rank++)
        if (mad_channel_has(channel, rank) && !own->peers[rank]->connected) {
            peer = own->peers[rank];
            break;
        }
    if (peer == NULL)
        return MAD_EDRIVER;
    error = begin(peer);
    for (unsigned i = 0; error == MAD_OK && rc == VIP_SUCCESS && i < MVIA_VIS; i++)
        rc = answer(peer, i);
    if (rc != VIP_SUCCESS)
        return failed(channel, rc, "no connection of a VI has come");
    peer->connected = error == MAD_OK;
    return error;
}

/* After a fence: nobody waits for the channel any more. */
int mad_via_disconnect(p_mad_connection_t connection)
{
    struct mvia_peer *peer = mad_via_peer(connection);

    if (peer != NULL)
        peer->connected = false; /* what the NIC reports from now on is no failure */
    return MAD_OK;
}

int mad_via_quiesce(p_mad_channel_t channel)
{
    struct mvia_channel *own = mad_via_channel(channel);

    for (int rank = 0; own != NULL && rank < own->size; rank++)
        if (own->peers[rank] != NULL)
            mad_via_report(own->peers[rank], false);
    return MAD_OK;
}
