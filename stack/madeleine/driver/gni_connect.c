/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Opening and closing a channel over GNI. Every process registers a block of mailboxes, one for
 * each rank, and publishes where it is.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gni.h"

enum { LINE = 64, CHANNELS_MAX = 65535 };
#define QUIESCE_NS (UINT64_C(60) * 1000000000)

/* Before the mailboxes: a word that peers read to learn whether this process lives, and for each
 * rank the place where the word of that rank goes. */
static size_t head_bytes(int size)
{
    return LINE + ((size_t)size * sizeof(uint64_t) + LINE - 1) / LINE * LINE;
}

static uint64_t address_of(const struct mgni_channel *channel)
{
    return (uint64_t)(uintptr_t)channel->block;
}

/* ---- channels -------------------------------------------------------------------------------- */

static int block_make(struct mgni_channel *own)
{
    unsigned mailbox = 0;
    gni_return_t rc;

    own->attributes.msg_type = GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT;
    own->attributes.mbox_maxcredit = MGNI_CREDITS;
    own->attributes.msg_maxsize = MGNI_FRAME_BYTES + sizeof(struct mgni_header);
    if (GNI_SmsgBufferSizeNeeded(&own->attributes, &mailbox) != GNI_RC_SUCCESS)
        return MAD_EDRIVER;
    own->stride = (mailbox + LINE - 1) / LINE * LINE;
    own->bytes = head_bytes(own->size) + own->stride * (size_t)own->size;
    own->block = port_pages_alloc(own->bytes, 0);
    if (own->block == NULL)
        return MAD_ENOMEM;
    rc = GNI_MemRegister(own->adapter->nic, address_of(own), own->bytes, own->adapter->rx,
                         GNI_MEM_READWRITE, UINT32_MAX, &own->handle);
    own->registered = rc == GNI_RC_SUCCESS;
    return own->registered ? MAD_OK : MAD_EDRIVER;
}

int mad_gni_channel_init(p_mad_channel_t channel)
{
    const mad_configuration_t *configuration = &channel->adapter->driver->madeleine->configuration;
    struct mgni_adapter *adapter = mad_gni_adapter(channel->adapter);
    struct mgni_channel *own;
    int error;

    if (channel->id > CHANNELS_MAX)
        return MAD_ENOTSUP;
    own = calloc(1, sizeof(*own));
    if (own == NULL)
        return MAD_ENOMEM;
    channel->specific = own;
    own->object = channel;
    own->adapter = adapter;
    own->size = configuration->size;
    own->own = configuration->local_host_id;
    own->last_served = own->size - 1; /* rank 0 is the first */
    own->peers = calloc((size_t)own->size, sizeof(struct mgni_peer *));
    if (own->peers == NULL)
        return MAD_ENOMEM;
    port_mutex_lock(&adapter->mutex);
    error = block_make(own);
    own->next = adapter->channels;
    adapter->channels = own;
    port_mutex_unlock(&adapter->mutex);
    return error;
}

int mad_gni_channel_exit(p_mad_channel_t channel)
{
    struct mgni_channel *own = mad_gni_channel(channel), **place;
    struct mgni_adapter *adapter;

    if (own == NULL)
        return MAD_OK;
    adapter = own->adapter;
    port_mutex_lock(&adapter->mutex);
    for (place = &adapter->channels; *place != NULL && *place != own; place = &(*place)->next)
        ;
    if (*place != NULL)
        *place = own->next;
    if (own->polling)
        port_timer_stop(&own->polled);
    if (own->registered)
        GNI_MemDeregister(adapter->nic, &own->handle);
    port_mutex_unlock(&adapter->mutex);
    port_pages_free(own->block, own->bytes);
    free(own->peers);
    free(own);
    return MAD_OK;
}

int mad_gni_publish(p_mad_channel_t channel)
{
    const struct mgni_channel *own = mad_gni_channel(channel);
    char text[128];

    /* Of one length, wherever the memory is: in a simulation the time of messages depends on it. */
    snprintf(text, sizeof(text), "%016" PRIx64 ":%016" PRIx64 ":%016" PRIx64 ":%zx",
             address_of(own), own->handle.qword1, own->handle.qword2, own->stride);
    return mad_channel_publish(channel, text);
}

/* ---- peers ----------------------------------------------------------------------------------- */

int mad_gni_connection_init(p_mad_connection_t in, p_mad_connection_t out)
{
    struct mgni_channel *channel = mad_gni_channel(in->channel);
    struct mgni_peer *peer = calloc(1, sizeof(*peer));

    if (peer == NULL)
        return MAD_ENOMEM;
    peer->channel = channel;
    peer->in = in;
    peer->out = out;
    peer->probe.peer = peer;
    in->specific = out->specific = peer;
    channel->peers[in->remote_host_id] = peer;
    return MAD_OK;
}

/* A message that is still in flight to a lost peer keeps its place in the table of messages. */
static void forget_sends(struct mgni_adapter *adapter, const struct mgni_peer *peer)
{
    for (unsigned i = 0; i < MGNI_SENDS_MAX; i++)
        if (adapter->sends[i].frame != NULL && adapter->sends[i].peer == peer)
            adapter->sends[i].peer = NULL;
}

int mad_gni_connection_exit(p_mad_connection_t in, p_mad_connection_t out)
{
    struct mgni_peer *peer = mad_gni_peer(in);
    struct mgni_adapter *adapter;
    struct mgni_frame *frame;

    assert(in->specific == out->specific);
    if (peer == NULL)
        return MAD_OK;
    adapter = peer->channel->adapter;
    port_mutex_lock(&adapter->mutex);
    forget_sends(adapter, peer);
    if (peer->ep != NULL)
        GNI_EpDestroy(peer->ep);
    while ((frame = peer->first) != NULL) {
        peer->first = frame->next;
        mad_gni_frame_free(adapter, frame);
    }
    peer->channel->peers[in->remote_host_id] = NULL;
    port_mutex_unlock(&adapter->mutex);
    free(peer);
    return MAD_OK;
}

/* Where the NIC of a rank's adapter is. */
static int find_address(p_mad_channel_t channel, int rank, struct mgni_address *found)
{
    const struct mgni_adapter *own = mad_gni_adapter(channel->adapter);
    char text[MGNI_FRAME_BYTES + 1];
    unsigned address, instance, ptag, cookie;
    int error;

    if (found->known)
        return MAD_OK;
    error = mad_adapter_parameter(channel->adapter, rank, text, sizeof(text));
    if (error != MAD_OK)
        return error;
    if (sscanf(text, "gni:v1:%x:%u:%u:%x", &address, &instance, &ptag, &cookie) != 4)
        return MAD_EBOOT;
    if (ptag != own->ptag || cookie != own->cookie) {
        mad_channel_fail(channel, MAD_ECONFIG, "the processes have different protection tags");
        return MAD_ECONFIG;
    }
    *found = (struct mgni_address){.address = address, .instance = instance, .known = true};
    return MAD_OK;
}

static gni_return_t join(struct mgni_peer *peer, const struct mgni_address *to)
{
    struct mgni_channel *channel = peer->channel;
    struct mgni_adapter *adapter = channel->adapter;
    gni_smsg_attr_t mine = channel->attributes, theirs = channel->attributes;
    uint32_t first = (uint32_t)channel->object->id * (uint32_t)channel->size;
    int rank = peer->in->remote_host_id;
    gni_return_t rc;

    mine.msg_buffer = channel->block;
    mine.mem_hndl = channel->handle;
    theirs.msg_buffer = (void *)(uintptr_t)peer->block;
    theirs.mem_hndl = peer->handle;
    mine.buff_size = theirs.buff_size = (uint32_t)channel->stride;
    mine.mbox_offset = (uint32_t)(head_bytes(channel->size) + channel->stride * (size_t)rank);
    theirs.mbox_offset =
        (uint32_t)(head_bytes(channel->size) + channel->stride * (size_t)channel->own);
    rc = GNI_EpCreate(adapter->nic, adapter->tx, &peer->ep);
    if (rc == GNI_RC_SUCCESS)
        rc = GNI_EpBind(peer->ep, to->address, to->instance);
    if (rc == GNI_RC_SUCCESS)
        rc = GNI_EpSetEventData(peer->ep, (uint32_t)rank, first + (uint32_t)channel->own);
    return rc == GNI_RC_SUCCESS ? GNI_SmsgInit(peer->ep, &mine, &theirs) : rc;
}

static int connect_peer(struct mgni_channel *own, int rank)
{
    struct mgni_peer *peer = own->peers[rank];
    struct mgni_address *to = &own->adapter->addresses[rank];
    char text[MGNI_FRAME_BYTES + 1];
    size_t stride;
    gni_return_t rc;
    int error = find_address(own->object, rank, to);

    if (error == MAD_OK)
        error = mad_channel_parameter(own->object, rank, text, sizeof(text));
    if (error != MAD_OK)
        return error;
    if (sscanf(text, "%" SCNx64 ":%" SCNx64 ":%" SCNx64 ":%zx", &peer->block, &peer->handle.qword1,
               &peer->handle.qword2, &stride) != 4 ||
        stride != own->stride)
        return MAD_EBOOT;
    port_mutex_lock(&own->adapter->mutex);
    rc = join(peer, to);
    port_mutex_unlock(&own->adapter->mutex);
    return rc == GNI_RC_SUCCESS ? MAD_OK : MAD_EDRIVER;
}

int mad_gni_connect(p_mad_channel_t channel)
{
    struct mgni_channel *own = mad_gni_channel(channel);
    int error = MAD_OK, rank;

    for (rank = 0; rank < own->size && error == MAD_OK; rank++)
        if (rank != own->own && mad_channel_has(channel, rank))
            error = connect_peer(own, rank);
    return error;
}

int mad_gni_drain(p_mad_channel_t channel)
{
    struct mgni_adapter *adapter = mad_gni_adapter(channel->adapter);

    port_mutex_lock(&adapter->mutex);
    while (mad_gni_progress(adapter))
        ;
    port_mutex_unlock(&adapter->mutex);
    return MAD_OK;
}

int mad_gni_quiesce(p_mad_channel_t channel)
{
    struct mgni_channel *own = mad_gni_channel(channel);
    struct mgni_wait wait = {0};
    struct port_timer limit;

    if (own == NULL)
        return MAD_OK; /* this process has no connections in it */
    wait.adapter = own->adapter;
    port_mutex_lock(&own->adapter->mutex);
    if (own->in_flight != 0) {
        port_timer_start(&limit, QUIESCE_NS);
        while (own->in_flight != 0 && !port_timer_rang(&limit))
            mad_gni_pass(&wait);
        mad_gni_pass_end(&wait);
        port_timer_stop(&limit);
    }
    port_mutex_unlock(&own->adapter->mutex);
    return MAD_OK;
}
