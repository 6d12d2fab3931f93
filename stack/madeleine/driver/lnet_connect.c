/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Opening and closing a channel over LNet. Before the processes agree on a channel, each has posted
 * its buffers, so nothing that is sent afterwards finds none.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/lnet.h"

enum { CHANNELS_MAX = 65535, TEXT_BYTES = 1025 };
#define QUIESCE_NS (UINT64_C(60) * 1000000000)
#define ALL_RANKS ((uint64_t)(MLNET_RANKS_MAX - 1) << MLNET_RANK_SHIFT)

/* ---- what the peers use ---------------------------------------------------------------------- */

static int code_of(int rc)
{
    return rc == 0 ? MAD_OK : rc == -ENOMEM ? MAD_ENOMEM : MAD_EDRIVER;
}

static struct mlnet_shared *shared_new(struct mlnet_adapter *adapter, int size)
{
    struct mlnet_shared *shared = calloc(1, sizeof(*shared));

    if (shared == NULL)
        return NULL;
    shared->adapter = adapter;
    shared->size = size;
    shared->status = calloc((size_t)size, sizeof(*shared->status));
    shared->credits = calloc((size_t)size, sizeof(*shared->credits));
    shared->credit =
        (struct mlnet_slot){.adapter = adapter, .shared = shared, .use = MLNET_USE_SERVICE};
    shared->probe = shared->credit;
    if (shared->status != NULL && shared->credits != NULL)
        return shared;
    free(shared->status);
    free(shared->credits);
    free(shared);
    return NULL;
}

/* Credits and probes of all peers. */
static int shared_open(struct mlnet_channel *own)
{
    struct mlnet_shared *shared = own->shared;
    int rc = mad_lnet_attach(&shared->credit, mad_lnet_bits(own, 0, MLNET_CREDIT, 0), ALL_RANKS,
                             LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE | LNET_MD_TRUNCATE,
                             LNET_MD_THRESH_INF, shared->status, 0);

    if (rc == 0)
        rc = mad_lnet_attach(&shared->probe, mad_lnet_bits(own, 0, MLNET_PROBE, 0), ALL_RANKS,
                             LNET_MD_OP_GET | LNET_MD_MANAGE_REMOTE, LNET_MD_THRESH_INF,
                             shared->status, (size_t)own->size * sizeof(*shared->status));
    return code_of(rc);
}

void mad_lnet_shared_close(struct mlnet_adapter *adapter)
{
    struct mlnet_wait wait = {.adapter = adapter};
    struct mlnet_shared *shared;

    port_mutex_lock(&adapter->mutex);
    while ((shared = adapter->shared) != NULL) {
        adapter->shared = shared->next;
        mad_lnet_unlink(&shared->credit);
        mad_lnet_unlink(&shared->probe);
        while (shared->credit.active || shared->probe.active)
            mad_lnet_wait(&wait);
        mad_lnet_wait_end(&wait);
        free(shared->status);
        free(shared->credits);
        free(shared);
    }
    port_mutex_unlock(&adapter->mutex);
}

/* ---- channels -------------------------------------------------------------------------------- */

int mad_lnet_channel_init(p_mad_channel_t channel)
{
    const mad_configuration_t *configuration = &channel->adapter->driver->madeleine->configuration;
    struct mlnet_adapter *adapter = mad_lnet_adapter(channel->adapter);
    struct mlnet_channel *own;

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
    own->bytes = (size_t)own->size * MLNET_CREDITS * MLNET_FRAME_BYTES;
    own->peers = calloc((size_t)own->size, sizeof(struct mlnet_peer *));
    own->memory = port_pages_alloc(own->bytes, 0);
    own->shared = shared_new(adapter, own->size);
    if (own->peers == NULL || own->memory == NULL || own->shared == NULL)
        return MAD_ENOMEM;
    port_mutex_lock(&adapter->mutex);
    own->shared->next = adapter->shared;
    adapter->shared = own->shared;
    port_mutex_unlock(&adapter->mutex);
    return MAD_OK;
}

int mad_lnet_channel_exit(p_mad_channel_t channel)
{
    struct mlnet_channel *own = mad_lnet_channel(channel);

    if (own == NULL)
        return MAD_OK;
    if (own->memory != NULL)
        port_pages_free(own->memory, own->bytes);
    free(own->peers); /* own->shared is the adapter's */
    free(own);
    return MAD_OK;
}

/* ---- peers ----------------------------------------------------------------------------------- */

int mad_lnet_connection_init(p_mad_connection_t in, p_mad_connection_t out)
{
    struct mlnet_channel *channel = mad_lnet_channel(in->channel);
    struct mlnet_peer *peer = calloc(1, sizeof(*peer));
    int rank = in->remote_host_id;

    if (peer == NULL)
        return MAD_ENOMEM;
    peer->channel = channel;
    peer->in = in;
    peer->out = out;
    peer->available = MLNET_CREDITS;
    peer->returning =
        (struct mlnet_slot){.adapter = channel->adapter, .peer = peer, .use = MLNET_USE_RETURN};
    peer->probe = peer->returning;
    peer->probe.use = MLNET_USE_PROBE;
    for (size_t i = 0; i < MLNET_CREDITS; i++) {
        peer->frames[i].slot = peer->returning;
        peer->frames[i].slot.use = MLNET_USE_RECEIVE;
        peer->frames[i].posted = true;
        peer->frames[i].bytes =
            channel->memory + ((size_t)rank * MLNET_CREDITS + i) * MLNET_FRAME_BYTES;
    }
    in->specific = out->specific = peer;
    channel->peers[rank] = peer;
    return MAD_OK;
}

int mad_lnet_connection_exit(p_mad_connection_t in, p_mad_connection_t out)
{
    struct mlnet_peer *peer = mad_lnet_peer(in);
    struct mlnet_wait wait = {0};

    assert(in->specific == out->specific);
    if (peer == NULL)
        return MAD_OK;
    wait.adapter = peer->channel->adapter;
    port_mutex_lock(&wait.adapter->mutex);
    peer->closing = true;
    for (unsigned i = 0; i < MLNET_CREDITS; i++)
        mad_lnet_unlink(&peer->frames[i].slot);
    mad_lnet_unlink(&peer->returning);
    mad_lnet_unlink(&peer->probe);
    while (peer->active != 0)
        mad_lnet_wait(&wait);
    mad_lnet_wait_end(&wait);
    peer->channel->peers[in->remote_host_id] = NULL;
    port_mutex_unlock(&wait.adapter->mutex);
    free(peer);
    return MAD_OK;
}

int mad_lnet_prepare(p_mad_channel_t channel)
{
    struct mlnet_channel *own = mad_lnet_channel(channel);
    int error, rank;

    port_mutex_lock(&own->adapter->mutex);
    error = shared_open(own);
    for (rank = 0; rank < own->size && error == MAD_OK; rank++)
        if (rank != own->own && mad_channel_has(channel, rank))
            for (unsigned i = 0; i < MLNET_CREDITS && error == MAD_OK; i++)
                error = mad_lnet_post(own->peers[rank], &own->peers[rank]->frames[i]);
    port_mutex_unlock(&own->adapter->mutex);
    return error;
}

/* ---- who the peers are ----------------------------------------------------------------------- */

static int find_id(p_mad_adapter_t adapter, int rank, struct lnet_process_id *id)
{
    char text[TEXT_BYTES], nid[64];
    int error = mad_adapter_parameter(adapter, rank, text, sizeof(text));

    if (error != MAD_OK)
        return error;
    if (sscanf(text, "lnet:v1:%63[^:]:%u", nid, &id->pid) != 2)
        return MAD_EBOOT;
    id->nid = libcfs_str2nid(nid);
    return id->nid != LNET_NID_ANY ? MAD_OK : MAD_EBOOT;
}

static int compare_ids(const void *left, const void *right)
{
    const struct lnet_process_id *a = left, *b = right;

    if (a->nid != b->nid)
        return a->nid < b->nid ? -1 : 1;
    return a->pid < b->pid ? -1 : a->pid > b->pid;
}

/* A node of LNet has one list of buffers: all processes see that two of them share a node. */
static int check_ids(p_mad_channel_t channel, const struct lnet_process_id *ids, int size)
{
    struct lnet_process_id *sorted = malloc((size_t)size * sizeof(*sorted));
    int error = MAD_OK, i;

    if (sorted == NULL)
        return MAD_ENOMEM;
    memcpy(sorted, ids, (size_t)size * sizeof(*sorted));
    qsort(sorted, (size_t)size, sizeof(*sorted), compare_ids);
    for (i = 1; i < size && error == MAD_OK; i++)
        if (compare_ids(&sorted[i - 1], &sorted[i]) == 0)
            error = MAD_ECONFIG;
    free(sorted);
    if (error == MAD_ECONFIG)
        mad_channel_fail(channel, MAD_ECONFIG, "two processes are on one node of LNet");
    return error;
}

static int find_ids(p_mad_channel_t channel, int size)
{
    struct mlnet_adapter *adapter = mad_lnet_adapter(channel->adapter);
    int error = MAD_OK, rank;

    for (rank = 0; rank < size && error == MAD_OK; rank++)
        error = find_id(channel->adapter, rank, &adapter->ids[rank]);
    if (error == MAD_OK)
        error = check_ids(channel, adapter->ids, size);
    adapter->ids_known = error == MAD_OK;
    return error;
}

int mad_lnet_connect(p_mad_channel_t channel)
{
    struct mlnet_channel *own = mad_lnet_channel(channel);
    int error = own->adapter->ids_known ? MAD_OK : find_ids(channel, own->size);

    if (error != MAD_OK)
        return error;
    port_mutex_lock(&own->adapter->mutex);
    for (int rank = 0; rank < own->size; rank++)
        if (rank != own->own && mad_channel_has(channel, rank)) {
            own->peers[rank]->id = own->adapter->ids[rank];
            own->peers[rank]->joined = true;
        }
    port_mutex_unlock(&own->adapter->mutex);
    return MAD_OK;
}

int mad_lnet_quiesce(p_mad_channel_t channel)
{
    struct mlnet_channel *own = mad_lnet_channel(channel);
    struct mlnet_wait wait = {0};
    uint64_t limit = port_now() + QUIESCE_NS;

    if (own == NULL)
        return MAD_OK; /* this process has no connections in it */
    wait.adapter = own->adapter;
    port_mutex_lock(&own->adapter->mutex);
    while (own->in_flight != 0 && port_now() < limit)
        mad_lnet_wait(&wait);
    mad_lnet_wait_end(&wait);
    port_mutex_unlock(&own->adapter->mutex);
    return MAD_OK;
}
