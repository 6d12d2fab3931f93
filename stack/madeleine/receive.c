/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Buffer management of the receiver: the mirror of send.c. */
#include <assert.h>

#include "internal.h"

/* Receives a list of user blocks as one group or buffer, and frees its structures. */
static int take(p_mad_link_t link, mad_buffer_list_t *list, tbx_bool_t first)
{
    p_mad_connection_t connection = link->connection;
    const mad_driver_interface_t *interface = mad_interface(connection);
    mad_buffer_group_t group = {.buffer_list = *list, .link = link};
    p_mad_buffer_t buffer = list->first;
    int error;

    *list = (mad_buffer_list_t){0};
    if (group.buffer_list.count == 1 && link->group_mode == mad_group_mode_split)
        error = interface->receive_buffer(link, &buffer);
    else
        error = interface->receive_sub_buffer_group(link, first, &group);
    while ((buffer = mad_list_pop(&group.buffer_list)) != NULL)
        mad_buffer_free(connection, buffer);
    return error;
}

static int return_static(p_mad_connection_t connection)
{
    p_mad_link_t link = mad_full(connection)->static_link;
    p_mad_buffer_t buffer = connection->static_buffer;
    int error;

    connection->static_buffer = NULL;
    connection->more_data = tbx_false;
    error = mad_interface(connection)->return_static_buffer(link, buffer);
    mad_buffer_free(connection, buffer);
    return error;
}

/* Fills a user block from static buffers; a buffer that is exhausted goes back at once. */
static int fill(p_mad_link_t link, p_mad_buffer_t user)
{
    p_mad_connection_t connection = link->connection;
    p_mad_buffer_t buffer;
    int error;

    while (user->bytes_written < user->length) {
        if (!connection->more_data) {
            buffer = NULL;
            error = mad_interface(connection)->receive_buffer(link, &buffer);
            if (error != MAD_OK)
                return error;
            assert(buffer != NULL && buffer->type == mad_static_buffer);
            connection->static_buffer = buffer;
            mad_full(connection)->static_link = link;
            connection->more_data = tbx_true;
            if (buffer->bytes_read == buffer->bytes_written) {
                mad_driver_note(connection, "an empty buffer was received", 0);
                return MAD_EWIRE;
            }
            mad_book_buffer(link, buffer);
        }
        buffer = connection->static_buffer;
        mad_buffer_copy(buffer, user);
        if (buffer->bytes_read == buffer->bytes_written) {
            error = return_static(connection);
            if (error != MAD_OK)
                return error;
        }
    }
    return MAD_OK;
}

static int fill_list(p_mad_link_t link, mad_buffer_list_t *list)
{
    p_mad_buffer_t user;
    int error = MAD_OK;

    while (error == MAD_OK && (user = mad_list_pop(list)) != NULL) {
        error = fill(link, user);
        mad_buffer_free(link->connection, user);
    }
    return error;
}

static int checkout(p_mad_connection_t connection)
{
    p_mad_link_t link = connection->last_link;
    int error = MAD_OK;

    if (link->buffer_mode == mad_buffer_mode_static) {
        error = fill_list(link, &connection->user_buffer_list);
        if (error == MAD_OK && connection->more_data)
            error = return_static(connection);
    } else if (connection->buffer_list.count != 0) {
        error = take(link, &connection->buffer_list, connection->first_sub_buffer_group);
    }
    connection->flushed = tbx_true;
    connection->more_data = tbx_false;
    return error;
}

/* ---- one block, by effective mode and buffer mode -------------------------------------------- */

static int now_dynamic(p_mad_connection_t connection, const struct mad_block *block)
{
    mad_buffer_t user = {.buffer = block->buffer, .length = block->length, .type = mad_user_buffer};
    p_mad_buffer_t buffer = &user;

    connection->flushed = tbx_true;
    return mad_interface(connection)->receive_buffer(block->link, &buffer);
}

static int now_static(p_mad_connection_t connection, const struct mad_block *block)
{
    mad_buffer_t user = {.buffer = block->buffer, .length = block->length};
    int error = fill(block->link, &user);

    connection->flushed = connection->more_data ? tbx_false : tbx_true;
    return error;
}

static int append_user(p_mad_connection_t connection, const struct mad_block *block,
                       mad_buffer_list_t *list)
{
    p_mad_buffer_t user = mad_buffer_alloc(connection);

    if (user == NULL)
        return MAD_ENOMEM;
    user->buffer = block->buffer;
    user->length = block->length;
    user->type = mad_user_buffer;
    mad_list_append(list, user);
    return MAD_OK;
}

static int group_static(p_mad_connection_t connection, const struct mad_block *block)
{
    int error = append_user(connection, block, &connection->user_buffer_list);

    connection->flushed = tbx_false;
    if (error != MAD_OK || block->receive_mode != mad_receive_EXPRESS)
        return error;
    error = fill_list(block->link, &connection->user_buffer_list);
    if (error == MAD_OK && connection->more_data && block->link->group_mode == mad_group_mode_split)
        error = return_static(connection);
    connection->flushed = connection->more_data ? tbx_false : tbx_true;
    return error;
}

static int group_dynamic(p_mad_connection_t connection, const struct mad_block *block)
{
    int error = append_user(connection, block, &connection->buffer_list);

    connection->flushed = tbx_false;
    if (error != MAD_OK || block->receive_mode != mad_receive_EXPRESS)
        return error;
    error = take(block->link, &connection->buffer_list, connection->first_sub_buffer_group);
    connection->flushed = tbx_true;
    connection->first_sub_buffer_group =
        block->link->group_mode == mad_group_mode_split ? tbx_true : tbx_false;
    return error;
}

int mad_receive_block(p_mad_connection_t connection, struct mad_block *block)
{
    bool is_static;
    int error;

    mad_switch(connection, block);
    if (block->commit) {
        error = checkout(connection);
        if (error != MAD_OK)
            return error;
    }
    if (block->changed)
        connection->first_sub_buffer_group = tbx_true;
    is_static = block->link->buffer_mode == mad_buffer_mode_static;
    if (block->mode == mad_link_mode_link_group)
        return append_user(connection, block,
                           is_static ? &block->link->user_buffer_list : &block->link->buffer_list);
    connection->last_link = block->link;
    connection->last_link_mode = block->mode;
    if (block->mode == mad_link_mode_buffer)
        return is_static ? now_static(connection, block) : now_dynamic(connection, block);
    return is_static ? group_static(connection, block) : group_dynamic(connection, block);
}

/* ---- the end of the message ------------------------------------------------------------------ */

static int link_end(p_mad_link_t link)
{
    int error = MAD_OK;

    if (link->user_buffer_list.count != 0) {
        error = fill_list(link, &link->user_buffer_list);
        if (error == MAD_OK && link->connection->more_data)
            error = return_static(link->connection);
    } else if (link->buffer_list.count != 0) {
        error = take(link, &link->buffer_list, tbx_true); /* a new group on the wire */
    }
    return error;
}

int mad_receive_end(p_mad_connection_t connection)
{
    const mad_driver_interface_t *interface = mad_interface(connection);
    int error = MAD_OK, i;

    if (!connection->flushed)
        error = checkout(connection);
    for (i = 0; i < connection->nb_link && error == MAD_OK; i++)
        error = link_end(&connection->link[i]);
    if (error == MAD_OK && interface->message_received != NULL)
        error = interface->message_received(connection);
    return error;
}

void mad_receive_drop(p_mad_connection_t connection)
{
    int i;

    if (connection->static_buffer != NULL)
        return_static(connection);
    if (connection->last_link != NULL) {
        mad_list_drop(connection->last_link, &connection->buffer_list);
        mad_list_drop(connection->last_link, &connection->user_buffer_list);
    }
    for (i = 0; i < connection->nb_link; i++) {
        mad_list_drop(&connection->link[i], &connection->link[i].buffer_list);
        mad_list_drop(&connection->link[i], &connection->link[i].user_buffer_list);
    }
}
