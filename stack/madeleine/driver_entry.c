/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Entries of the tables of drivers whose link 0 sends static buffers, and whose other links send
 * lists of the user's blocks.
 */
#include <assert.h>

#include "internal.h"

static const mad_driver_interface_t *interface_of(p_mad_link_t link)
{
    return mad_interface(link->connection);
}

int mad_entry_send_buffer(p_mad_link_t link, p_mad_buffer_t buffer)
{
    p_mad_buffer_t next = buffer->next;
    int error;

    if (link->id == 0)
        return interface_of(link)->send_static(link, buffer);
    buffer->next = NULL; /* a list of one */
    error = interface_of(link)->send_list(link, buffer);
    buffer->next = next;
    return error;
}

int mad_entry_receive_buffer(p_mad_link_t link, p_mad_buffer_t *buffer)
{
    p_mad_buffer_t user = *buffer, next;
    int error;

    if (link->id == 0)
        return interface_of(link)->receive_static(link, buffer);
    next = user->next;
    user->next = NULL;
    error = interface_of(link)->receive_list(link, user);
    user->next = next;
    return error;
}

int mad_entry_send_group(p_mad_link_t link, p_mad_buffer_group_t group)
{
    const mad_driver_interface_t *interface = interface_of(link);
    p_mad_buffer_t buffer;
    int error = MAD_OK;

    if (link->id != 0)
        return interface->send_list(link, group->buffer_list.first);
    for (buffer = group->buffer_list.first; buffer != NULL; buffer = buffer->next) {
        if (error == MAD_OK)
            error = interface->send_static(link, buffer);
        else
            interface->return_static_buffer(link, buffer);
    }
    return error;
}

int mad_entry_receive_group(p_mad_link_t link, tbx_bool_t first, p_mad_buffer_group_t group)
{
    (void)first; /* static buffers are received one by one, and groups are never divided */
    assert(link->id != 0);
    return interface_of(link)->receive_list(link, group->buffer_list.first);
}
