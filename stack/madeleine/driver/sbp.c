/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The SBP driver: adapters, channels and the table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sbp.h"
#include "session.h"

enum { ALIGNMENT = 32, PROBE_MS = 500 };

/* Joining takes the process's buffers away, so that nobody joins just to see whether it can. */
int mad_sbp_usable(void)
{
    return 0;
}

static int join(struct msbp_adapter *own, const mad_configuration_t *configuration)
{
    int in = 0, out = 0, size, rank;
    unsigned long first, second;

    if (sbp_initialize(0, SBP_HEADER_SIZE + SBP_PAYLOAD_SIZE, &in, &out, &size, &rank, &first,
                       &second, &own->in, &own->out) != 0)
        return MAD_ENOTSUP;
    return size == configuration->size && rank == configuration->local_host_id ? MAD_OK
                                                                               : MAD_EDRIVER;
}

static int adapter_init(p_mad_adapter_t adapter)
{
    const mad_madeleine_t *session = adapter->driver->madeleine;
    struct msbp_adapter *own;
    char text[32];
    int error;

    for (int i = 0; i < adapter->id; i++)
        if (session->adapter[i].driver == adapter->driver)
            return MAD_ENOTSUP; /* a process has one queue of frames */
    own = calloc(1, sizeof(*own));
    if (own == NULL)
        return MAD_ENOMEM;
    adapter->specific = own;
    port_mutex_init(&own->mutex);
    own->probe_ns = (uint64_t)mad_parameter("MAD_SBP_PROBE_MS", PROBE_MS) * UINT64_C(1000000);
    error = join(own, &session->configuration);
    if (error != MAD_OK)
        return error;
    snprintf(text, sizeof(text), "SBP%d", adapter->id);
    adapter->name = strdup(text);
    adapter->parameter = strdup("sbp:v1");
    return adapter->parameter != NULL && adapter->name != NULL ? MAD_OK : MAD_ENOMEM;
}

static void free_list(struct msbp_frame *frame)
{
    while (frame != NULL) {
        struct msbp_frame *next = frame->next;

        free(frame->room);
        free(frame);
        frame = next;
    }
}

static int adapter_exit(p_mad_adapter_t adapter)
{
    struct msbp_adapter *own = mad_sbp_adapter(adapter);

    if (own == NULL)
        return MAD_OK;
    free_list(own->free);
    free_list(own->unknown);
    port_mutex_destroy(&own->mutex);
    free(own);
    return MAD_OK;
}

/* ---- channels -------------------------------------------------------------------------------- */

static int channel_init(p_mad_channel_t channel)
{
    const mad_configuration_t *configuration = &channel->adapter->driver->madeleine->configuration;
    struct msbp_channel *own;

    if (channel->id >= MSBP_CHANNELS)
        return MAD_ENOTSUP; /* it is one byte of a frame */
    own = calloc(1, sizeof(*own));
    if (own == NULL)
        return MAD_ENOMEM;
    channel->specific = own;
    own->object = channel;
    own->adapter = mad_sbp_adapter(channel->adapter);
    own->size = configuration->size;
    own->own = configuration->local_host_id;
    own->peers = calloc((size_t)own->size, sizeof(*own->peers));
    return own->peers != NULL ? MAD_OK : MAD_ENOMEM;
}

/* From now on frames are sorted into it. */
static int after_open(p_mad_channel_t channel)
{
    struct msbp_channel *own = mad_sbp_channel(channel);

    port_mutex_lock(&own->adapter->mutex);
    own->next = own->adapter->channels;
    own->adapter->channels = own;
    port_mutex_unlock(&own->adapter->mutex);
    mad_sbp_sort_unknown(own);
    return MAD_OK;
}

static int channel_exit(p_mad_channel_t channel)
{
    struct msbp_channel *own = mad_sbp_channel(channel), **place;

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
    free(own->peers);
    free(own);
    return MAD_OK;
}

static int connection_init(p_mad_connection_t in, p_mad_connection_t out)
{
    struct msbp_channel *channel = mad_sbp_channel(in->channel);
    struct msbp_peer *peer = calloc(1, sizeof(*peer));

    if (peer == NULL)
        return MAD_ENOMEM;
    peer->channel = channel;
    peer->in = in;
    peer->out = out;
    in->specific = out->specific = peer;
    if (mad_channel_has(in->channel, in->remote_host_id))
        channel->peers[in->remote_host_id] = peer;
    return MAD_OK;
}

static int connection_exit(p_mad_connection_t in, p_mad_connection_t out)
{
    struct msbp_peer *peer = mad_sbp_peer(in);
    struct msbp_adapter *adapter;

    (void)out; /* has the same peer */
    if (peer == NULL)
        return MAD_OK;
    adapter = peer->channel->adapter;
    port_mutex_lock(&adapter->mutex);
    peer->channel->peers[in->remote_host_id] = NULL;
    adapter->due -= peer->refusal_due + peer->ack_due;
    port_mutex_unlock(&adapter->mutex);
    free_list(peer->first);
    free(peer);
    return MAD_OK;
}

static int link_init(p_mad_link_t link)
{
    link->link_mode = mad_link_mode_buffer;
    link->buffer_mode = mad_buffer_mode_static;
    link->group_mode = mad_group_mode_aggregate;
    return MAD_OK;
}

/* Blocks always go through static buffers, so the library does not come here. */
static int receive_group(p_mad_link_t link, tbx_bool_t first, p_mad_buffer_group_t group)
{
    (void)first, (void)group;
    mad_driver_note(link->connection, "SBP receives no groups", 0);
    return MAD_EDRIVER;
}

void mad_sbp_register(p_mad_driver_t driver)
{
    static const mad_driver_interface_t table = {
        .abi_version = MAD_DRIVER_ABI,
        .adapter_init = adapter_init,
        .adapter_exit = adapter_exit,
        .channel_init = channel_init,
        .channel_exit = channel_exit,
        .connection_init = connection_init,
        .connection_exit = connection_exit,
        .link_init = link_init,
        .after_open_channel = after_open,
        .get_static_buffer = mad_sbp_get_static,
        .return_static_buffer = mad_sbp_return_static,
        .new_message = mad_sbp_new_message,
        .receive_message = mad_sbp_receive_message,
        .poll_message = mad_sbp_poll_message,
        .send_buffer = mad_sbp_send_buffer,
        .receive_buffer = mad_sbp_receive_buffer,
        .send_buffer_group = mad_entry_send_group,
        .receive_sub_buffer_group = receive_group,
        .quiesce = mad_sbp_quiesce,
        .give_up = mad_sbp_give_up,
        .send_static = mad_sbp_send_buffer,
    };

    driver->interface = &table;
    driver->connection_type = mad_unidirectional_connection;
    driver->buffer_alignment = ALIGNMENT;
}
