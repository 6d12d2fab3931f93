/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Opening and closing a channel over SISCI. The id of a segment is channel, own rank and the rank
 * that writes it; where another session on the node has these ids, a process adds a number and
 * publishes it. Node ids come from the bootstrap.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "sisci.h"

enum { CHANNELS_MAX = 256, RANKS_MAX = 256, SECOND = 1 << 24, SERIES_SHIFT = 26, SERIES_MAX = 32 };

static unsigned segment_id(const struct msisci_channel *own, unsigned series, int owner, int writer,
                           uint32_t which)
{
    return (unsigned)own->object->id | (unsigned)owner << 8 | (unsigned)writer << 16 |
           which * SECOND | series << SERIES_SHIFT;
}

int mad_sisci_channel_init(p_mad_channel_t channel)
{
    const mad_configuration_t *configuration = &channel->adapter->driver->madeleine->configuration;
    struct msisci_channel *own;

    if (channel->id >= CHANNELS_MAX || configuration->size > RANKS_MAX)
        return MAD_ENOTSUP;
    own = calloc(1, sizeof(*own));
    if (own == NULL)
        return MAD_ENOMEM;
    channel->specific = own;
    own->adapter = mad_sisci_adapter(channel->adapter);
    own->object = channel;
    own->size = configuration->size;
    own->own = configuration->local_host_id;
    own->last_served = own->size - 1; /* rank 0 is the first */
    own->peers = calloc((size_t)own->size, sizeof(struct msisci_peer *));
    return own->peers != NULL ? MAD_OK : MAD_ENOMEM;
}

static void list(struct msisci_channel *own)
{
    port_mutex_lock(&own->adapter->mutex);
    own->next = own->adapter->channels;
    own->adapter->channels = own;
    port_mutex_unlock(&own->adapter->mutex);
}

void mad_sisci_unlist(struct msisci_channel *own)
{
    struct msisci_channel **place;

    port_mutex_lock(&own->adapter->mutex);
    for (place = &own->adapter->channels; *place != NULL && *place != own; place = &(*place)->next)
        ;
    if (*place != NULL)
        *place = own->next;
    port_mutex_unlock(&own->adapter->mutex);
}

int mad_sisci_channel_exit(p_mad_channel_t channel)
{
    struct msisci_channel *own = mad_sisci_channel(channel);

    if (own != NULL)
        free(own->peers);
    free(own);
    channel->specific = NULL;
    return MAD_OK;
}

/* ---- the own segments of a peer -------------------------------------------------------------- */

/* MAD_ECONFIG: another segment has its id. */
static int local_make(struct msisci_peer *peer, int rank, uint32_t which)
{
    struct msisci_channel *own = peer->channel;
    struct msisci_local *local = &peer->local[which];
    unsigned number = own->adapter->number;
    sci_error_t error;

    SCICreateSegment(own->adapter->desc, &local->segment,
                     segment_id(own, own->series, own->own, rank, which), MSISCI_SEGMENT_BYTES,
                     NULL, NULL, 0, &error);
    if (error != SCI_ERR_OK) {
        local->segment = NULL;
        return error == SCI_ERR_SEGMENTID_USED ? MAD_ECONFIG
               : error == SCI_ERR_NOSPC        ? MAD_ENOMEM
                                               : MAD_EDRIVER;
    }
    SCIPrepareSegment(local->segment, number, 0, &error);
    if (error == SCI_ERR_SEGMENTID_USED)
        return MAD_ECONFIG; /* on this adapter */
    if (error == SCI_ERR_OK)
        local->memory = SCIMapLocalSegment(local->segment, &local->map, 0, MSISCI_SEGMENT_BYTES,
                                           NULL, 0, &error);
    if (error == SCI_ERR_OK)
        SCISetSegmentAvailable(local->segment, number, 0, &error);
    return error == SCI_ERR_OK ? MAD_OK : MAD_EDRIVER;
}

static void local_free(struct msisci_peer *peer, struct msisci_local *local)
{
    unsigned number = peer->channel->adapter->number;
    uint64_t seen = 0, end = port_now() + peer->channel->adapter->probe_ns;
    sci_error_t error;

    if (local->segment == NULL)
        return;
    SCISetSegmentUnavailable(local->segment, number, 0, &error);
    if (local->map != NULL)
        SCIUnmapSegment(local->map, 0, &error);
    for (;;) { /* the peer may still be connected */
        SCIRemoveSegment(local->segment, 0, &error);
        if (error != SCI_ERR_BUSY || port_now() >= end)
            return;
        SCI_PAUSE(&seen, peer->channel->adapter->probe_ns / 100);
    }
}

/* Also for the own rank, which has no segments. */
int mad_sisci_connection_init(p_mad_connection_t in, p_mad_connection_t out)
{
    struct msisci_channel *own = mad_sisci_channel(in->channel);
    int rank = in->remote_host_id;
    struct msisci_peer *peer;

    in->nb_link = out->nb_link = MSISCI_LINKS;
    if (rank == own->own || !mad_channel_has(in->channel, rank))
        return MAD_OK;
    peer = calloc(1, sizeof(*peer));
    if (peer == NULL)
        return MAD_ENOMEM;
    peer->channel = own;
    peer->in = in;
    peer->out = out;
    in->specific = out->specific = peer;
    own->peers[rank] = peer;
    return MAD_OK;
}

static int make_all(struct msisci_channel *own)
{
    int error = MAD_OK, rank;

    for (rank = 0; rank < own->size; rank++)
        for (uint32_t i = 0; i < own->adapter->segments && own->peers[rank] != NULL; i++) {
            error = local_make(own->peers[rank], rank, i);
            if (error != MAD_OK)
                return error;
        }
    return MAD_OK;
}

static void free_all(struct msisci_channel *own)
{
    for (int rank = 0; rank < own->size; rank++)
        for (uint32_t i = 0; i < MSISCI_SEGMENTS_MAX && own->peers[rank] != NULL; i++) {
            local_free(own->peers[rank], &own->peers[rank]->local[i]);
            own->peers[rank]->local[i] = (struct msisci_local){0};
        }
}

int mad_sisci_publish(p_mad_channel_t channel)
{
    struct msisci_channel *own = mad_sisci_channel(channel);
    char text[16];
    int error;

    while ((error = make_all(own)) == MAD_ECONFIG && own->series + 1 < SERIES_MAX) {
        free_all(own);
        own->series++;
    }
    if (error != MAD_OK)
        return error == MAD_ECONFIG ? MAD_EDRIVER : error;
    snprintf(text, sizeof(text), "%02u", own->series); /* always of one length */
    return mad_channel_publish(channel, text);
}

/* ---- those of the peer ----------------------------------------------------------------------- */

static sci_callback_action_t on_event(void *arg, sci_remote_segment_t segment,
                                      sci_segment_cb_reason_t reason, sci_error_t status)
{
    struct msisci_peer *peer = arg;

    (void)segment, (void)status;
    peer->gone |= reason == SCI_CB_LOST;
    return SCI_CALLBACK_CONTINUE;
}

static int remote_make(struct msisci_peer *peer, int rank, unsigned series, uint32_t which)
{
    struct msisci_channel *own = peer->channel;
    struct msisci_remote *remote = &peer->remote[which];
    sci_error_t error;

    SCIConnectSegment(own->adapter->desc, &remote->segment, peer->node,
                      segment_id(own, series, rank, own->own, which), own->adapter->number,
                      on_event, peer, SCI_INFINITE_TIMEOUT, SCI_FLAG_USE_CALLBACK, &error);
    if (error == SCI_ERR_OK)
        SCIMapRemoteSegment(remote->segment, &remote->map, 0, MSISCI_SEGMENT_BYTES, NULL, 0,
                            &error);
    if (error == SCI_ERR_OK)
        SCICreateMapSequence(remote->map, &remote->sequence, 0, &error);
    if (error == SCI_ERR_OK)
        return MAD_OK;
    mad_driver_note(peer->out, "SISCI: cannot connect to the peer's segment", (int)error);
    return MAD_EDRIVER;
}

static void remote_free(struct msisci_remote *remote)
{
    sci_error_t error;

    if (remote->sequence != NULL)
        SCIRemoveSequence(remote->sequence, 0, &error);
    if (remote->map != NULL)
        SCIUnmapSegment(remote->map, 0, &error);
    if (remote->segment != NULL)
        SCIDisconnectSegment(remote->segment, 0, &error);
}

static int connect_peer(struct msisci_channel *own, int rank)
{
    struct msisci_peer *peer = own->peers[rank];
    unsigned series;
    char text[32];
    int error = mad_adapter_parameter(own->object->adapter, rank, text, sizeof(text));

    if (error != MAD_OK)
        return error;
    peer->node = (unsigned)strtoul(text, NULL, 10);
    error = mad_channel_parameter(own->object, rank, text, sizeof(text));
    if (error != MAD_OK)
        return error;
    series = (unsigned)strtoul(text, NULL, 10);
    for (uint32_t i = 0; i < own->adapter->segments && error == MAD_OK; i++)
        error = remote_make(peer, rank, series, i);
    return error == MAD_OK ? mad_sisci_dma_init(peer, segment_id(own, own->series, own->own, rank,
                                                                 MSISCI_SEGMENTS_MAX))
                           : error;
}

/* All processes have made their segments. */
int mad_sisci_connect(p_mad_channel_t channel)
{
    struct msisci_channel *own = mad_sisci_channel(channel);
    int error = MAD_OK, rank;

    for (rank = 0; rank < own->size && error == MAD_OK; rank++)
        if (own->peers[rank] != NULL)
            error = connect_peer(own, rank);
    if (error == MAD_OK)
        list(own);
    return error;
}

/* ---- closing --------------------------------------------------------------------------------- */

int mad_sisci_quiesce(p_mad_channel_t channel)
{
    struct msisci_channel *own = mad_sisci_channel(channel);

    if (own == NULL)
        return MAD_OK; /* this process has no connections in it */
    for (int rank = 0; rank < own->size; rank++)
        if (own->peers[rank] != NULL && !own->peers[rank]->lost)
            mad_sisci_repair(own->peers[rank]);
        else if (own->peers[rank] != NULL)
            mad_sisci_report_at_last(own->peers[rank]);
    return MAD_OK;
}

/* Nobody writes any more; who removes his segments needs the others to have disconnected. */
int mad_sisci_drain(p_mad_channel_t channel)
{
    struct msisci_channel *own = mad_sisci_channel(channel);

    mad_sisci_unlist(own);
    for (int rank = 0; rank < own->size; rank++)
        for (uint32_t i = 0; i < MSISCI_SEGMENTS_MAX && own->peers[rank] != NULL; i++) {
            mad_sisci_dma_fini(own->peers[rank]);
            remote_free(&own->peers[rank]->remote[i]);
            own->peers[rank]->remote[i] = (struct msisci_remote){0};
        }
    return MAD_OK;
}

int mad_sisci_connection_exit(p_mad_connection_t in, p_mad_connection_t out)
{
    struct msisci_peer *peer = mad_sisci_peer(in);

    assert(in->specific == out->specific);
    if (peer == NULL)
        return MAD_OK;
    mad_sisci_unlist(peer->channel); /* it may not have been drained */
    for (uint32_t i = 0; i < MSISCI_SEGMENTS_MAX; i++) {
        mad_sisci_dma_fini(peer);
        remote_free(&peer->remote[i]);
        local_free(peer, &peer->local[i]);
    }
    peer->channel->peers[in->remote_host_id] = NULL;
    in->specific = out->specific = NULL;
    free(peer);
    return MAD_OK;
}
