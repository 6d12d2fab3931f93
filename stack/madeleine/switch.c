/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The switch: which transfer method a block takes, and when the previous stream has to be
 * committed. Both sides run it on the same sequence of blocks and come to the same result.
 */
#include <assert.h>

#include "internal.h"

p_mad_link_t mad_choice(p_mad_connection_t connection, const struct mad_block *block)
{
    const mad_driver_interface_t *interface = mad_interface(connection);
    p_mad_link_t link = &connection->link[0];

    if (interface->choice != NULL)
        link = interface->choice(connection, block->length, block->send_mode, block->receive_mode);
    assert(link != NULL && link->connection == connection);
    assert(link->id >= 0 && link->id < connection->nb_link);
    return link;
}

static mad_link_mode_t effective_mode(const struct mad_block *block, bool delayed)
{
    bool express = block->receive_mode == mad_receive_EXPRESS;

    if (delayed)
        return express ? mad_link_mode_buffer_group : mad_link_mode_link_group;
    if (!express && block->send_mode == mad_send_LATER)
        return mad_link_mode_link_group;
    if (express && block->link->link_mode == mad_link_mode_link_group)
        return mad_link_mode_buffer_group;
    return block->link->link_mode;
}

void mad_switch(p_mad_connection_t connection, struct mad_block *block)
{
    bool delay_begins;

    block->link = mad_choice(connection, block);
    block->was_delayed = connection->delayed_send;
    if (block->send_mode == mad_send_LATER && block->receive_mode == mad_receive_EXPRESS)
        connection->delayed_send = tbx_true;
    block->mode = effective_mode(block, connection->delayed_send);
    assert(block->mode != mad_link_mode_buffer || block->send_mode != mad_send_LATER);
    assert(block->mode != mad_link_mode_link_group || block->receive_mode != mad_receive_EXPRESS);

    delay_begins = (bool)connection->delayed_send != block->was_delayed;
    block->changed = block->mode != mad_link_mode_link_group && connection->last_link != NULL &&
                     (block->link != connection->last_link ||
                      (delay_begins && connection->last_link_mode == mad_link_mode_buffer));
    block->commit = block->changed && !connection->flushed;
}

void mad_connection_reset(p_mad_connection_t connection)
{
    struct mad_connection_full *full = mad_full(connection);

    assert(connection->buffer_list.count == 0 && connection->user_buffer_list.count == 0);
    assert(connection->buffer_group_first == NULL && connection->pair_first == NULL);
    connection->static_buffer = NULL;
    connection->last_link = NULL;
    connection->last_link_mode = mad_link_mode_unknown;
    connection->delayed_send = tbx_false;
    connection->flushed = tbx_true;
    connection->pair_list_used = tbx_false;
    connection->first_sub_buffer_group = tbx_true;
    connection->more_data = tbx_false;
    full->blocks = 0;
    full->bytes = 0;
    full->hash = UINT64_C(14695981039346656037);
    full->area_count = 0;
    mad_book_begin(connection);
}
