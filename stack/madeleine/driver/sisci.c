/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The SISCI driver: adapters, links, messages and the table. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session.h"
#include "sisci.h"

enum { ALIGNMENT = 64, PROBE_MS = 100 };
#define POLL_NS UINT64_C(500) /* of a poll that finds nothing */

int mad_sisci_usable(void)
{
    unsigned node;
    sci_query_adapter_t query = {.subcommand = SCI_Q_ADAPTER_NODEID, .data = &node};
    sci_error_t error;

    SCIQuery(SCI_Q_ADAPTER, &query, 0, &error);
    return error == SCI_ERR_OK;
}

/* ---- adapters -------------------------------------------------------------------------------- */

/* The number of the selector, or how many adapters of the driver come before. */
static bool adapter_number(p_mad_adapter_t adapter, unsigned *number)
{
    const mad_madeleine_t *session = adapter->driver->madeleine;
    char *end;
    int i;

    *number = 0;
    if (adapter->selector != NULL) {
        *number = (unsigned)strtoul(adapter->selector, &end, 10);
        return end != adapter->selector && *end == '\0';
    }
    for (i = 0; i < adapter->id; i++)
        *number += session->adapter[i].driver == adapter->driver;
    return true;
}

static int open_library(struct msisci_adapter *own)
{
    sci_query_adapter_t query = {
        .localAdapterNo = own->number, .subcommand = SCI_Q_ADAPTER_NODEID, .data = &own->node};
    sci_error_t error;

    SCIInitialize(0, &error);
    if (error != SCI_ERR_OK)
        return MAD_ENOTSUP;
    SCIQuery(SCI_Q_ADAPTER, &query, 0, &error);
    if (error == SCI_ERR_OK)
        SCIOpen(&own->desc, 0, &error);
    if (error == SCI_ERR_OK)
        return MAD_OK;
    SCITerminate();
    return error == SCI_ERR_NO_SUCH_ADAPTERNO ? MAD_ENOTSUP : MAD_EDRIVER;
}

static size_t bounded(long value, long least, long most)
{
    return (size_t)(value < least ? least : value > most ? most : value);
}

static int adapter_init(p_mad_adapter_t adapter)
{
    struct msisci_adapter *own = calloc(1, sizeof(*own));
    char text[64];
    int error;

    if (own == NULL)
        return MAD_ENOMEM;
    adapter->specific = own;
    port_mutex_init(&own->mutex);
    if (!adapter_number(adapter, &own->number))
        return MAD_EINVAL;
    own->segments = (uint32_t)bounded(mad_parameter("MAD_SISCI_SEGMENTS", MSISCI_SEGMENTS_MAX), 1,
                                      MSISCI_SEGMENTS_MAX);
    own->opt_max = bounded(mad_parameter("MAD_SISCI_OPT_MAX", MSISCI_OPT_MAX), 0, MSISCI_OPT_LIMIT);
    own->dma_min = bounded(mad_parameter("MAD_SISCI_DMA_MIN", 0), 0, LONG_MAX);
    if (own->dma_min == 0)
        own->dma_min = SIZE_MAX;
    own->probe_ns =
        bounded(mad_parameter("MAD_SISCI_PROBE_MS", PROBE_MS), 1, 1000000000) * UINT64_C(1000000);
    error = open_library(own);
    if (error != MAD_OK)
        return error;
    snprintf(text, sizeof(text), "%u", own->node);
    adapter->parameter = strdup(text);
    snprintf(text, sizeof(text), "SISCI%u", own->number);
    adapter->name = strdup(text);
    return adapter->parameter != NULL && adapter->name != NULL ? MAD_OK : MAD_ENOMEM;
}

static int adapter_exit(p_mad_adapter_t adapter)
{
    struct msisci_adapter *own = mad_sisci_adapter(adapter);
    sci_error_t error = SCI_ERR_OK;

    if (own == NULL)
        return MAD_OK;
    if (own->desc != NULL) {
        SCIClose(own->desc, 0, &error);
        SCITerminate();
    }
    port_mutex_destroy(&own->mutex);
    free(own);
    adapter->specific = NULL;
    return error == SCI_ERR_OK ? MAD_OK : MAD_EDRIVER;
}

/* ---- links ----------------------------------------------------------------------------------- */

static int link_init(p_mad_link_t link)
{
    link->link_mode = mad_link_mode_buffer_group;
    link->buffer_mode = mad_buffer_mode_dynamic;
    link->group_mode = mad_group_mode_split;
    return MAD_OK;
}

static p_mad_link_t choice(p_mad_connection_t connection, size_t length, mad_send_mode_t send_mode,
                           mad_receive_mode_t receive_mode)
{
    const struct msisci_adapter *own = mad_sisci_adapter(connection->channel->adapter);

    (void)send_mode, (void)receive_mode;
    if (length <= own->opt_max)
        return &connection->link[0];
    return &connection->link[length < own->dma_min ? 1 : 2];
}

/* ---- messages -------------------------------------------------------------------------------- */

static bool is_usable(const struct msisci_channel *own, int rank)
{
    const struct msisci_peer *peer = own->peers[rank];

    return peer != NULL && !peer->lost && mad_connection_error(peer->in) == MAD_OK;
}

/* In turn after the rank served last. */
static p_mad_connection_t next_message(struct msisci_channel *own)
{
    for (int i = 1; i <= own->size; i++) {
        int rank = (own->last_served + i) % own->size;

        if (!is_usable(own, rank) || !mad_sisci_arrived(own->peers[rank]))
            continue;
        own->last_served = rank;
        return own->peers[rank]->in;
    }
    return NULL;
}

static bool any_left(const struct msisci_channel *own)
{
    for (int rank = 0; rank < own->size; rank++)
        if (is_usable(own, rank))
            return true;
    return false;
}

static p_mad_connection_t receive_message(p_mad_channel_t channel)
{
    struct msisci_channel *own = mad_sisci_channel(channel);
    uint64_t seen = 0;
    p_mad_connection_t in;

    while ((in = next_message(own)) == NULL && any_left(own))
        mad_sisci_pause(own, &seen, own->adapter->probe_ns);
    if (in == NULL)
        mad_channel_fail(channel, MAD_EPEER, "no peer is left");
    return in;
}

static p_mad_connection_t poll_message(p_mad_channel_t channel)
{
    struct msisci_channel *own = mad_sisci_channel(channel);
    p_mad_connection_t in = next_message(own);
    uint64_t seen = 0;

    if (in != NULL)
        return in;
    SCI_PAUSE(&seen, 0); /* what came before is seen */
    in = next_message(own);
    if (in == NULL)
        mad_sisci_pause(own, &seen, POLL_NS);
    return in;
}

static int send_buffer(p_mad_link_t link, p_mad_buffer_t buffer)
{
    struct msisci_peer *peer = mad_sisci_peer(link->connection);
    int error = link->id == 0   ? mad_sisci_send_short(peer, buffer)
                : link->id == 1 ? mad_sisci_send_stream(peer, buffer)
                                : mad_sisci_send_dma(peer, buffer);

    if (error == MAD_OK)
        buffer->bytes_read = buffer->bytes_written;
    return error;
}

static int receive_buffer(p_mad_link_t link, p_mad_buffer_t *buffer)
{
    struct msisci_peer *peer = mad_sisci_peer(link->connection);
    int error = link->id == 0 ? mad_sisci_receive_short(peer, *buffer)
                              : mad_sisci_receive_stream(peer, *buffer);

    if (error == MAD_OK)
        (*buffer)->bytes_written = (*buffer)->length;
    return error;
}

static int send_group(p_mad_link_t link, p_mad_buffer_group_t group)
{
    int error = (link->id == 2 ? mad_sisci_send_dma : mad_sisci_send_stream)(
        mad_sisci_peer(link->connection), group->buffer_list.first);
    p_mad_buffer_t buffer;

    for (buffer = group->buffer_list.first; error == MAD_OK && buffer != NULL;
         buffer = buffer->next)
        buffer->bytes_read = buffer->bytes_written;
    return error;
}

static int receive_group(p_mad_link_t link, tbx_bool_t first, p_mad_buffer_group_t group)
{
    int error =
        mad_sisci_receive_stream(mad_sisci_peer(link->connection), group->buffer_list.first);
    p_mad_buffer_t buffer;

    (void)first;
    for (buffer = group->buffer_list.first; error == MAD_OK && buffer != NULL;
         buffer = buffer->next)
        buffer->bytes_written = buffer->length;
    return error;
}

void mad_sisci_register(p_mad_driver_t driver)
{
    static const mad_driver_interface_t table = {
        .abi_version = MAD_DRIVER_ABI,
        .adapter_init = adapter_init,
        .adapter_exit = adapter_exit,
        .channel_init = mad_sisci_channel_init,
        .channel_exit = mad_sisci_channel_exit,
        .connection_init = mad_sisci_connection_init,
        .connection_exit = mad_sisci_connection_exit,
        .link_init = link_init,
        .before_open_channel = mad_sisci_publish,
        .after_open_channel = mad_sisci_connect,
        .quiesce = mad_sisci_quiesce,
        .before_close_channel = mad_sisci_drain,
        .give_up = mad_sisci_give_up,
        .choice = choice,
        .receive_message = receive_message,
        .poll_message = poll_message,
        .send_buffer = send_buffer,
        .receive_buffer = receive_buffer,
        .send_buffer_group = send_group,
        .receive_sub_buffer_group = receive_group,
    };

    driver->interface = &table;
    driver->connection_type = mad_bidirectional_connection;
    driver->buffer_alignment = ALIGNMENT;
}
