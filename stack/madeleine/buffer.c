/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Buffers, lists of them, and the pools that their structures come from. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

enum { SLAB_BUFFERS = 64 };

/* Memory for structures. All of them have room in one union, so one kind of slab serves. */
union piece {
    mad_buffer_t buffer;
    mad_buffer_pair_t pair;
    mad_buffer_group_t group;
};
struct mad_slab {
    struct mad_slab *next;
    union piece pieces[SLAB_BUFFERS];
};

static bool refill(struct mad_connection_full *full)
{
    struct mad_slab *slab = malloc(sizeof(*slab));
    int i;

    if (slab == NULL)
        return false;
    slab->next = full->slabs;
    full->slabs = slab;
    for (i = 0; i < SLAB_BUFFERS; i++) {
        slab->pieces[i].buffer.next = full->free_buffers;
        full->free_buffers = &slab->pieces[i].buffer;
    }
    return true;
}

p_mad_buffer_t mad_buffer_alloc(p_mad_connection_t connection)
{
    struct mad_connection_full *full = mad_full(connection);
    p_mad_buffer_t buffer;

    if (full->free_buffers == NULL && !refill(full))
        return NULL;
    buffer = full->free_buffers;
    full->free_buffers = buffer->next;
    memset(buffer, 0, sizeof(*buffer));
    return buffer;
}

void mad_buffer_free(p_mad_connection_t connection, p_mad_buffer_t buffer)
{
    struct mad_connection_full *full = mad_full(connection);

    if (buffer->type == mad_dynamic_buffer)
        free(buffer->buffer);
    buffer->next = full->free_buffers;
    full->free_buffers = buffer;
}

p_mad_buffer_pair_t mad_pair_alloc(p_mad_connection_t connection)
{
    struct mad_connection_full *full = mad_full(connection);
    p_mad_buffer_pair_t pair = full->free_pairs;

    if (pair != NULL)
        full->free_pairs = pair->next;
    else
        pair = (p_mad_buffer_pair_t)mad_buffer_alloc(connection);
    if (pair != NULL)
        memset(pair, 0, sizeof(*pair));
    return pair;
}

void mad_pairs_free(p_mad_connection_t connection)
{
    struct mad_connection_full *full = mad_full(connection);

    if (connection->pair_first == NULL)
        return;
    connection->pair_last->next = full->free_pairs;
    full->free_pairs = connection->pair_first;
    connection->pair_first = connection->pair_last = NULL;
    connection->pair_list_used = tbx_false;
}

p_mad_buffer_group_t mad_group_alloc(p_mad_connection_t connection)
{
    struct mad_connection_full *full = mad_full(connection);
    p_mad_buffer_group_t group = full->free_groups;

    if (group != NULL)
        full->free_groups = group->next;
    else
        group = (p_mad_buffer_group_t)mad_buffer_alloc(connection);
    if (group != NULL)
        memset(group, 0, sizeof(*group));
    return group;
}

void mad_group_free(p_mad_connection_t connection, p_mad_buffer_group_t group)
{
    group->next = mad_full(connection)->free_groups;
    mad_full(connection)->free_groups = group;
}

void mad_pools_fini(p_mad_connection_t connection)
{
    struct mad_connection_full *full = mad_full(connection);

    while (full->slabs != NULL) {
        struct mad_slab *slab = full->slabs;

        full->slabs = slab->next;
        free(slab);
    }
    full->free_buffers = NULL;
    full->free_pairs = NULL;
    full->free_groups = NULL;
}

void mad_list_append(mad_buffer_list_t *list, p_mad_buffer_t buffer)
{
    buffer->next = NULL;
    if (list->last != NULL)
        list->last->next = buffer;
    else
        list->first = buffer;
    list->last = buffer;
    list->count++;
}

p_mad_buffer_t mad_list_pop(mad_buffer_list_t *list)
{
    p_mad_buffer_t buffer = list->first;

    if (buffer == NULL)
        return NULL;
    list->first = buffer->next;
    if (list->first == NULL)
        list->last = NULL;
    list->count--;
    return buffer;
}

size_t mad_buffer_copy(p_mad_buffer_t source, p_mad_buffer_t destination)
{
    size_t length = source->bytes_written - source->bytes_read;
    size_t space = destination->length - destination->bytes_written;

    assert(source->bytes_read <= source->bytes_written && source->bytes_written <= source->length);
    assert(destination->bytes_written <= destination->length);
    if (length > space)
        length = space;
    memcpy((char *)destination->buffer + destination->bytes_written,
           (char *)source->buffer + source->bytes_read, length);
    source->bytes_read += length;
    destination->bytes_written += length;
    return length;
}

void mad_list_drop(p_mad_link_t link, mad_buffer_list_t *list)
{
    const mad_driver_interface_t *interface = mad_interface(link->connection);
    p_mad_buffer_t buffer;

    while ((buffer = mad_list_pop(list)) != NULL) {
        if (buffer->type == mad_static_buffer)
            interface->return_static_buffer(link, buffer);
        mad_buffer_free(link->connection, buffer);
    }
}
