/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Buffer management of the sender. The wire order of a message is: the stream, transfer method by
 * transfer method; then the EXPRESS groups that a LATER/EXPRESS block has held back; then what each
 * link has collected, by link number.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* Takes the group over in every case: its buffers are freed. */
static int hand_over(p_mad_link_t link, mad_buffer_list_t *list)
{
    p_mad_connection_t connection = link->connection;
    const mad_driver_interface_t *interface = mad_interface(connection);
    mad_buffer_group_t group = {.buffer_list = *list, .link = link};
    const mad_buffer_t *each;
    p_mad_buffer_t buffer;
    int error;

    for (each = list->first; each != NULL; each = each->next) {
        mad_check_unchanged(connection, each);
        if (each->type == mad_static_buffer)
            mad_book_buffer(link, each);
    }
    *list = (mad_buffer_list_t){0};
    if (group.buffer_list.count == 1 && link->group_mode == mad_group_mode_split)
        error = interface->send_buffer(link, group.buffer_list.first);
    else
        error = interface->send_buffer_group(link, &group);
    while ((buffer = mad_list_pop(&group.buffer_list)) != NULL)
        mad_buffer_free(connection, buffer);
    return error;
}

/* The stream's list waits for the end of the message. */
static int hold_back(p_mad_connection_t connection, p_mad_link_t link)
{
    p_mad_buffer_group_t group = mad_group_alloc(connection);

    if (group == NULL)
        return MAD_ENOMEM;
    group->link = link;
    group->buffer_list = connection->buffer_list;
    connection->buffer_list = (mad_buffer_list_t){0};
    if (connection->buffer_group_last != NULL)
        connection->buffer_group_last->next = group;
    else
        connection->buffer_group_first = group;
    connection->buffer_group_last = group;
    return MAD_OK;
}

static int send_static(p_mad_connection_t connection, p_mad_link_t link)
{
    p_mad_buffer_t buffer = mad_list_pop(&connection->buffer_list);
    int error;

    mad_book_buffer(link, buffer);
    error = mad_interface(connection)->send_buffer(link, buffer);
    assert(connection->buffer_list.count == 0);
    mad_buffer_free(connection, buffer);
    return error;
}

static int commit(p_mad_connection_t connection, bool delayed)
{
    p_mad_link_t link = connection->last_link;
    int error;

    if (connection->last_link_mode == mad_link_mode_buffer) {
        assert(!delayed && link->buffer_mode == mad_buffer_mode_static);
        error = send_static(connection, link);
    } else if (delayed) {
        error = hold_back(connection, link);
    } else {
        error = hand_over(link, &connection->buffer_list);
    }
    connection->flushed = tbx_true;
    return error;
}

static p_mad_buffer_t next_static(p_mad_link_t link, mad_buffer_list_t *list)
{
    p_mad_buffer_t buffer = list->last;

    if (buffer != NULL && buffer->bytes_written < buffer->length)
        return buffer;
    buffer = mad_interface(link->connection)->get_static_buffer(link);
    if (buffer == NULL)
        return NULL;
    assert(buffer->type == mad_static_buffer && buffer->length != 0);
    mad_list_append(list, buffer);
    return buffer;
}

/* ---- one block, by effective mode and buffer mode -------------------------------------------- */

static int now_dynamic(p_mad_connection_t connection, const struct mad_block *block)
{
    mad_buffer_t buffer = {.buffer = block->buffer,
                           .length = block->length,
                           .bytes_written = block->length,
                           .type = mad_user_buffer};

    connection->flushed = tbx_true;
    return mad_interface(connection)->send_buffer(block->link, &buffer);
}

static int now_static(p_mad_connection_t connection, const struct mad_block *block)
{
    mad_buffer_t source = {
        .buffer = block->buffer, .length = block->length, .bytes_written = block->length};
    p_mad_buffer_t buffer;
    int error;

    while (source.bytes_read < source.bytes_written) {
        buffer = next_static(block->link, &connection->buffer_list);
        if (buffer == NULL)
            return MAD_ENOMEM;
        mad_buffer_copy(&source, buffer);
        connection->flushed = tbx_false;
        if (buffer->bytes_written == buffer->length) {
            error = send_static(connection, block->link);
            connection->flushed = tbx_true;
            if (error != MAD_OK)
                return error;
        }
    }
    return MAD_OK;
}

static int collect_dynamic(p_mad_connection_t connection, const struct mad_block *block,
                           mad_buffer_list_t *list)
{
    p_mad_buffer_t buffer = mad_buffer_alloc(connection);

    if (buffer == NULL)
        return MAD_ENOMEM;
    buffer->buffer = block->buffer;
    buffer->length = buffer->bytes_written = block->length;
    buffer->type = mad_user_buffer;
    if (block->send_mode == mad_send_SAFER) {
        buffer->buffer = malloc(block->length);
        if (buffer->buffer == NULL) {
            mad_buffer_free(connection, buffer);
            return MAD_ENOMEM;
        }
        buffer->type = mad_dynamic_buffer;
        memcpy(buffer->buffer, block->buffer, block->length);
    } else if (block->send_mode == mad_send_CHEAPER) {
        mad_check_digest(connection, buffer);
    }
    mad_list_append(list, buffer);
    return MAD_OK;
}

/* Space for a LATER piece, which is copied at the end. */
static int reserve(p_mad_connection_t connection, p_mad_buffer_t source, p_mad_buffer_t buffer)
{
    p_mad_buffer_pair_t pair = mad_pair_alloc(connection);
    size_t length = source->length - source->bytes_read;

    if (pair == NULL)
        return MAD_ENOMEM;
    if (length > buffer->length - buffer->bytes_written)
        length = buffer->length - buffer->bytes_written;
    pair->dynamic_buffer = (char *)source->buffer + source->bytes_read;
    pair->static_buffer = (char *)buffer->buffer + buffer->bytes_written;
    pair->length = length;
    source->bytes_read += length;
    buffer->bytes_written += length;
    if (connection->pair_last != NULL)
        connection->pair_last->next = pair;
    else
        connection->pair_first = pair;
    connection->pair_last = pair;
    connection->pair_list_used = tbx_true;
    return MAD_OK;
}

static int collect_static(p_mad_connection_t connection, const struct mad_block *block,
                          mad_buffer_list_t *list)
{
    mad_buffer_t source = {
        .buffer = block->buffer, .length = block->length, .bytes_written = block->length};
    p_mad_buffer_t buffer;
    int error = MAD_OK;

    while (source.bytes_read < source.length && error == MAD_OK) {
        buffer = next_static(block->link, list);
        if (buffer == NULL)
            return MAD_ENOMEM;
        if (block->send_mode == mad_send_LATER)
            error = reserve(connection, &source, buffer);
        else
            mad_buffer_copy(&source, buffer);
    }
    return error;
}

static int collect(p_mad_connection_t connection, const struct mad_block *block,
                   mad_buffer_list_t *list)
{
    if (block->link->buffer_mode == mad_buffer_mode_static)
        return collect_static(connection, block, list);
    return collect_dynamic(connection, block, list);
}

static int stream_group(p_mad_connection_t connection, const struct mad_block *block)
{
    int error = collect(connection, block, &connection->buffer_list);

    connection->flushed = tbx_false;
    if (error != MAD_OK || block->link->group_mode != mad_group_mode_split ||
        block->receive_mode != mad_receive_EXPRESS)
        return error;
    connection->flushed = tbx_true;
    if (connection->delayed_send)
        return hold_back(connection, block->link);
    return hand_over(block->link, &connection->buffer_list);
}

int mad_send_block(p_mad_connection_t connection, struct mad_block *block)
{
    int error;

    mad_switch(connection, block);
    if (block->commit) {
        error = commit(connection, block->was_delayed);
        if (error != MAD_OK)
            return error;
    }
    if (block->mode == mad_link_mode_link_group)
        return collect(connection, block, &block->link->buffer_list);
    connection->last_link = block->link;
    connection->last_link_mode = block->mode;
    if (block->mode == mad_link_mode_buffer_group)
        return stream_group(connection, block);
    if (block->link->buffer_mode == mad_buffer_mode_static)
        return now_static(connection, block);
    return now_dynamic(connection, block);
}

/* ---- the end of the message ------------------------------------------------------------------ */

static void copy_pairs(p_mad_connection_t connection)
{
    const mad_buffer_pair_t *pair;

    for (pair = connection->pair_first; pair != NULL; pair = pair->next)
        memcpy(pair->static_buffer, pair->dynamic_buffer, pair->length);
    mad_pairs_free(connection);
}

static p_mad_buffer_group_t pop_group(p_mad_connection_t connection)
{
    p_mad_buffer_group_t group = connection->buffer_group_first;

    if (group != NULL)
        connection->buffer_group_first = group->next;
    if (connection->buffer_group_first == NULL)
        connection->buffer_group_last = NULL;
    return group;
}

int mad_send_end(p_mad_connection_t connection)
{
    const mad_driver_interface_t *interface = mad_interface(connection);
    p_mad_buffer_group_t group;
    int error = MAD_OK, i;

    if (!connection->flushed)
        error = commit(connection, connection->delayed_send);
    if (connection->pair_list_used)
        copy_pairs(connection);
    while (error == MAD_OK && (group = pop_group(connection)) != NULL) {
        error = hand_over(group->link, &group->buffer_list);
        mad_group_free(connection, group);
    }
    for (i = 0; i < connection->nb_link && error == MAD_OK; i++)
        if (connection->link[i].buffer_list.count != 0)
            error = hand_over(&connection->link[i], &connection->link[i].buffer_list);
    if (error == MAD_OK && interface->finalize_message != NULL)
        error = interface->finalize_message(connection);
    return error;
}

void mad_send_drop(p_mad_connection_t connection)
{
    p_mad_buffer_group_t group;
    int i;

    if (connection->buffer_list.count != 0)
        mad_list_drop(connection->last_link, &connection->buffer_list);
    while ((group = pop_group(connection)) != NULL) {
        mad_list_drop(group->link, &group->buffer_list);
        mad_group_free(connection, group);
    }
    for (i = 0; i < connection->nb_link; i++)
        mad_list_drop(&connection->link[i], &connection->link[i].buffer_list);
    mad_pairs_free(connection);
}
