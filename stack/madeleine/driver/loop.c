/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The loopback driver: a process sends to itself, and to other sessions in its address space.
 * Blocks are copied into buffers that change their owner: one queue for each sender at the
 * receiver.
 */
#define _GNU_SOURCE
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "internal.h"

enum { BUFFER_BYTES = 4096, ALIGNMENT = 32 };

struct chunk {
    struct chunk *next;
    size_t used;
    char bytes[BUFFER_BYTES];
};

/* What other ranks sent to this one on a channel. */
struct inbox {
    struct inbox *next; /* of the same adapter */
    mad_channel_id_t channel;
    struct port_mutex mutex;
    struct port_condition arrived;
    struct chunk *unused;
    int size, last_served;
    struct {
        struct chunk *first, *last;
    } queue[]; /* by sender */
};

struct loop_adapter {
    struct port_mutex mutex;
    struct inbox *inboxes;
};

static const mad_configuration_t *configuration_of(p_mad_channel_t channel)
{
    return &channel->adapter->driver->madeleine->configuration;
}

/* ---- adapters and channels ------------------------------------------------------------------- */

/* The parameter names the address space, and the adapter in it. */
static int adapter_init(p_mad_adapter_t adapter)
{
    struct loop_adapter *own = calloc(1, sizeof(*own));
    uint64_t program;
    char text[80];

    if (own == NULL)
        return MAD_ENOMEM;
    port_mutex_init(&own->mutex);
    adapter->specific = own;
    memcpy(&program, (const void *)getauxval(AT_RANDOM), sizeof(program)); /* differs per exec */
    snprintf(text, sizeof(text), "%016" PRIx64 ".%010d:%016" PRIxPTR, program, (int)getpid(),
             (uintptr_t)own);
    adapter->parameter = strdup(text);
    snprintf(text, sizeof(text), "LOOP%d", adapter->id);
    adapter->name = strdup(text);
    return adapter->parameter != NULL && adapter->name != NULL ? MAD_OK : MAD_ENOMEM;
}

static int adapter_exit(p_mad_adapter_t adapter)
{
    struct loop_adapter *own = adapter->specific;

    if (own != NULL)
        port_mutex_destroy(&own->mutex);
    free(own);
    return MAD_OK;
}

static int channel_init(p_mad_channel_t channel)
{
    struct loop_adapter *adapter = channel->adapter->specific;
    int size = configuration_of(channel)->size;
    struct inbox *inbox = calloc(1, sizeof(*inbox) + (size_t)size * sizeof(inbox->queue[0]));

    if (inbox == NULL)
        return MAD_ENOMEM;
    inbox->channel = channel->id;
    inbox->size = size;
    inbox->last_served = size - 1; /* rank 0 is the first */
    port_mutex_init(&inbox->mutex);
    port_condition_init(&inbox->arrived);
    channel->specific = inbox;
    port_mutex_lock(&adapter->mutex);
    inbox->next = adapter->inboxes;
    adapter->inboxes = inbox;
    port_mutex_unlock(&adapter->mutex);
    return MAD_OK;
}

static void chunks_free(struct chunk *chunk)
{
    while (chunk != NULL) {
        struct chunk *next = chunk->next;

        free(chunk);
        chunk = next;
    }
}

static int channel_exit(p_mad_channel_t channel)
{
    struct loop_adapter *adapter = channel->adapter->specific;
    struct inbox *inbox = channel->specific, **place = &adapter->inboxes;

    if (inbox == NULL)
        return MAD_OK;
    port_mutex_lock(&adapter->mutex);
    while (*place != inbox)
        place = &(*place)->next;
    *place = inbox->next;
    port_mutex_unlock(&adapter->mutex);
    for (int rank = 0; rank < inbox->size; rank++)
        chunks_free(inbox->queue[rank].first);
    chunks_free(inbox->unused);
    port_condition_destroy(&inbox->arrived);
    port_mutex_destroy(&inbox->mutex);
    free(inbox);
    return MAD_OK;
}

/* The inbox of a rank in this address space; NULL: it is in another one. */
static struct inbox *find_inbox(p_mad_channel_t channel, int rank)
{
    const char *own = channel->adapter->parameter;
    size_t space = strcspn(own, ":") + 1;
    struct loop_adapter *adapter;
    struct inbox *inbox;
    char text[128];

    if (mad_adapter_parameter(channel->adapter, rank, text, sizeof(text)) != MAD_OK ||
        strncmp(text, own, space) != 0)
        return NULL;
    adapter = (struct loop_adapter *)(uintptr_t)strtoull(text + space, NULL, 16);
    port_mutex_lock(&adapter->mutex);
    inbox = adapter->inboxes;
    while (inbox != NULL && inbox->channel != channel->id)
        inbox = inbox->next;
    port_mutex_unlock(&adapter->mutex);
    return inbox;
}

/* All ranks have their inboxes now. */
static int after_open_channel(p_mad_channel_t channel)
{
    for (int rank = 0; rank < configuration_of(channel)->size; rank++) {
        channel->input_connection[rank]->specific = channel->specific;
        channel->output_connection[rank]->specific = find_inbox(channel, rank);
    }
    return MAD_OK;
}

static int connection_exit(p_mad_connection_t in, p_mad_connection_t out)
{
    in->specific = out->specific = NULL; /* the inboxes belong to channels */
    return MAD_OK;
}

static int link_init(p_mad_link_t link)
{
    link->link_mode = mad_link_mode_buffer;
    link->buffer_mode = mad_buffer_mode_static;
    link->group_mode = mad_group_mode_aggregate;
    return MAD_OK;
}

/* ---- messages -------------------------------------------------------------------------------- */

static int new_message(p_mad_connection_t out)
{
    if (out->specific != NULL)
        return MAD_OK;
    mad_driver_note(out, "the loopback driver does not reach other processes", 0);
    return MAD_ENOTSUP;
}

static p_mad_buffer_t wrap(p_mad_connection_t connection, struct chunk *chunk)
{
    p_mad_buffer_t buffer = chunk != NULL ? mad_buffer_alloc(connection) : NULL;

    if (buffer == NULL)
        return NULL;
    buffer->buffer = chunk->bytes;
    buffer->length = BUFFER_BYTES;
    buffer->bytes_written = chunk->used;
    buffer->type = mad_static_buffer;
    buffer->specific = chunk;
    return buffer;
}

static void put_back(struct inbox *inbox, struct chunk *chunk)
{
    port_mutex_lock(&inbox->mutex);
    chunk->next = inbox->unused;
    inbox->unused = chunk;
    port_mutex_unlock(&inbox->mutex);
}

static p_mad_buffer_t get_static_buffer(p_mad_link_t link)
{
    struct inbox *inbox = link->connection->specific;
    p_mad_buffer_t buffer;
    struct chunk *chunk;

    port_mutex_lock(&inbox->mutex);
    chunk = inbox->unused;
    if (chunk != NULL)
        inbox->unused = chunk->next;
    port_mutex_unlock(&inbox->mutex);
    if (chunk == NULL)
        chunk = malloc(sizeof(*chunk));
    if (chunk != NULL)
        chunk->used = 0;
    buffer = wrap(link->connection, chunk);
    if (buffer == NULL && chunk != NULL)
        put_back(inbox, chunk);
    return buffer;
}

static int return_static_buffer(p_mad_link_t link, p_mad_buffer_t buffer)
{
    put_back(link->connection->specific, buffer->specific);
    return MAD_OK;
}

static int send_buffer(p_mad_link_t link, p_mad_buffer_t buffer)
{
    struct inbox *inbox = link->connection->specific;
    int own = configuration_of(link->connection->channel)->local_host_id;
    struct chunk *chunk = buffer->specific;

    chunk->used = buffer->bytes_written;
    chunk->next = NULL;
    buffer->bytes_read = buffer->bytes_written;
    port_mutex_lock(&inbox->mutex);
    if (inbox->queue[own].first == NULL)
        inbox->queue[own].first = chunk;
    else
        inbox->queue[own].last->next = chunk;
    inbox->queue[own].last = chunk;
    port_condition_signal(&inbox->arrived); /* one thread at most receives on a channel */
    port_mutex_unlock(&inbox->mutex);
    return MAD_OK;
}

static int send_buffer_group(p_mad_link_t link, p_mad_buffer_group_t group)
{
    p_mad_buffer_t buffer;

    for (buffer = group->buffer_list.first; buffer != NULL; buffer = buffer->next)
        send_buffer(link, buffer);
    return MAD_OK;
}

/* Whether nobody could send while this thread waits. */
static bool is_alone(p_mad_channel_t channel)
{
    const mad_configuration_t *configuration = configuration_of(channel);
    int rank;

    if (mad_process()->threads)
        return false;
    for (rank = 0; rank < configuration->size; rank++)
        if (rank != configuration->local_host_id &&
            channel->output_connection[rank]->specific != NULL)
            return false;
    return true;
}

static int receive_buffer(p_mad_link_t link, p_mad_buffer_t *buffer)
{
    p_mad_connection_t in = link->connection;
    struct inbox *inbox = in->specific;
    struct chunk *chunk;

    port_mutex_lock(&inbox->mutex);
    while ((chunk = inbox->queue[in->remote_host_id].first) == NULL) {
        if (is_alone(in->channel)) {
            port_mutex_unlock(&inbox->mutex);
            mad_driver_note(in, "the own process has not packed this block", 0);
            return MAD_EDEADLK;
        }
        port_condition_wait(&inbox->arrived, &inbox->mutex);
    }
    inbox->queue[in->remote_host_id].first = chunk->next;
    port_mutex_unlock(&inbox->mutex);
    *buffer = wrap(in, chunk);
    if (*buffer != NULL)
        return MAD_OK;
    put_back(inbox, chunk);
    return MAD_ENOMEM;
}

/* The mutex is locked. Senders are served in turn. */
static p_mad_connection_t find_message(p_mad_channel_t channel)
{
    struct inbox *inbox = channel->specific;

    for (int i = 1; i <= inbox->size; i++) {
        int rank = (inbox->last_served + i) % inbox->size;

        if (inbox->queue[rank].first != NULL &&
            mad_connection_error(channel->input_connection[rank]) == MAD_OK) {
            inbox->last_served = rank;
            return channel->input_connection[rank];
        }
    }
    return NULL;
}

static p_mad_connection_t receive_message(p_mad_channel_t channel)
{
    struct inbox *inbox = channel->specific;
    p_mad_connection_t in;

    port_mutex_lock(&inbox->mutex);
    while ((in = find_message(channel)) == NULL && !is_alone(channel))
        port_condition_wait(&inbox->arrived, &inbox->mutex);
    port_mutex_unlock(&inbox->mutex);
    if (in == NULL)
        mad_channel_fail(channel, MAD_EDEADLK, "no message waits, and nobody could send one");
    return in;
}

static p_mad_connection_t poll_message(p_mad_channel_t channel)
{
    struct inbox *inbox = channel->specific;
    p_mad_connection_t in;

    port_mutex_lock(&inbox->mutex);
    in = find_message(channel);
    port_mutex_unlock(&inbox->mutex);
    return in;
}

void mad_loop_register(p_mad_driver_t driver)
{
    static const mad_driver_interface_t table = {
        .abi_version = MAD_DRIVER_ABI,
        .adapter_init = adapter_init,
        .adapter_exit = adapter_exit,
        .channel_init = channel_init,
        .channel_exit = channel_exit,
        .connection_exit = connection_exit,
        .link_init = link_init,
        .after_open_channel = after_open_channel,
        .get_static_buffer = get_static_buffer,
        .return_static_buffer = return_static_buffer,
        .new_message = new_message,
        .receive_message = receive_message,
        .poll_message = poll_message,
        .send_buffer = send_buffer,
        .receive_buffer = receive_buffer,
        .send_buffer_group = send_buffer_group,
    };

    driver->interface = &table;
    driver->connection_type = mad_unidirectional_connection;
    driver->buffer_alignment = ALIGNMENT;
    driver->loopback = tbx_true;
}
