/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Link 1 of VIA: groups of user blocks as messages of at most 32 KiB. Both sides register the whole
 * group and cut it alike; for each piece the receiver posts its memory, and says so.
 */
#include <assert.h>
#include <string.h>

#include "via.h"

/* ---- registration ---------------------------------------------------------------------------- */

VIP_MEM_HANDLE mad_via_memory(const mad_buffer_t *buffer)
{
    return (VIP_MEM_HANDLE)(uintptr_t)buffer->specific;
}

int mad_via_register_group(struct mvia_peer *peer, p_mad_buffer_t first, bool receive)
{
    struct mvia_adapter *adapter = peer->channel->adapter;
    VIP_MEM_ATTRIBUTES attributes = {.Ptag = adapter->ptag, .EnableRdmaWrite = receive};
    p_mad_buffer_t each;
    VIP_MEM_HANDLE handle;
    VIP_RETURN rc;

    for (each = first; each != NULL; each = each->next)
        each->specific = NULL;
    for (each = first; each != NULL; each = each->next) {
        rc = VipRegisterMem(adapter->nic, each->buffer, each->length, &attributes, &handle);
        if (rc != VIP_SUCCESS) {
            mad_via_deregister_group(peer, first);
            mad_via_lost(peer, MAD_EDRIVER, "a block cannot be registered", (int)rc);
            return MAD_EDRIVER;
        }
        each->specific = (void *)(uintptr_t)handle; /* NOLINT: the handle is a number */
    }
    return MAD_OK;
}

void mad_via_deregister_group(struct mvia_peer *peer, p_mad_buffer_t first)
{
    for (; first != NULL; first = first->next)
        if (first->specific != NULL) {
            VipDeregisterMem(peer->channel->adapter->nic, first->buffer, mad_via_memory(first));
            first->specific = NULL;
        }
}

/* ---- pieces ---------------------------------------------------------------------------------- */

/* The next piece of a group, from *at of *buffer on, which move behind it. Its length. */
static uint32_t cut(p_mad_buffer_t *buffer, size_t *at, struct mvia_list *list)
{
    uint32_t bytes = 0;
    unsigned count = 0;

    while (*buffer != NULL && bytes < MVIA_TRANSFER_MAX && count < MVIA_SEGMENTS_MAX) {
        size_t part = (*buffer)->length - *at;

        if (part > MVIA_TRANSFER_MAX - bytes)
            part = MVIA_TRANSFER_MAX - bytes;
        list->data[count].Data.Address = (char *)(*buffer)->buffer + *at;
        list->data[count].Handle = mad_via_memory(*buffer);
        list->data[count++].Length = (uint32_t)part;
        bytes += (uint32_t)part;
        *at += part;
        if (*at == (*buffer)->length) {
            *buffer = (*buffer)->next;
            *at = 0;
        }
    }
    list->control = (VIP_CONTROL_SEGMENT){.SegCount = (VIP_UINT16)count, .Length = bytes};
    return bytes;
}

/* The receiver is ready: a frame without data that has the length of the piece. */
static int wait_for_ready(struct mvia_peer *peer, uint32_t bytes)
{
    struct mvia_vi *vi = mad_via_out(peer, 1);
    VIP_DESCRIPTOR *descriptor;
    int error = mad_via_wait(vi, &descriptor);

    if (error == MAD_OK && ((descriptor->Control.Status & VIP_STATUS_IMMEDIATE) == 0 ||
                            descriptor->Control.ImmediateData != bytes)) {
        mad_via_lost(peer, MAD_EWIRE, "the peer expects a block of another length",
                     (int)descriptor->Control.ImmediateData);
        error = MAD_EWIRE;
    }
    if (error == MAD_OK)
        return mad_via_post_receive(vi, (struct mvia_frame *)descriptor);
    if (descriptor != NULL)
        mad_via_frame_free(peer->channel->adapter, (struct mvia_frame *)descriptor);
    return error;
}

static int send_pieces(struct mvia_peer *peer, p_mad_buffer_t buffer, struct mvia_list *list)
{
    VIP_DESCRIPTOR *descriptor = (VIP_DESCRIPTOR *)list;
    size_t at = 0;
    int error = MAD_OK;

    while (error == MAD_OK && buffer != NULL) {
        error = wait_for_ready(peer, cut(&buffer, &at, list));
        if (error == MAD_OK)
            error = mad_via_send_descriptor(mad_via_out(peer, 1), descriptor, list->handle, true);
    }
    return error;
}

int mad_via_group_send(struct mvia_peer *peer, p_mad_buffer_t first)
{
    struct mvia_list *list = mad_via_list(peer->channel->adapter);
    p_mad_buffer_t each;
    int error = list != NULL ? mad_via_announce(peer) : MAD_ENOMEM;

    if (error == MAD_OK)
        error = mad_via_register_group(peer, first, false);
    if (error == MAD_OK) {
        error = send_pieces(peer, first, list);
        mad_via_deregister_group(peer, first);
    }
    for (each = first; error == MAD_OK && each != NULL; each = each->next)
        each->bytes_read = each->bytes_written;
    if (list != NULL)
        mad_via_list_free(peer->channel->adapter, list);
    return error;
}

/* ---- receiving ------------------------------------------------------------------------------- */

static int send_ready(struct mvia_peer *peer, uint32_t bytes)
{
    struct mvia_frame *frame = mad_via_frame(peer->channel->adapter);
    int error;

    if (frame == NULL)
        return MAD_ENOMEM;
    error = mad_via_send_frame(mad_via_in(peer, 1), frame, 0, true, bytes);
    mad_via_frame_free(peer->channel->adapter, frame);
    return error;
}

static int receive_piece(struct mvia_peer *peer, struct mvia_list *list, uint32_t bytes)
{
    struct mvia_vi *vi = mad_via_in(peer, 1);
    VIP_DESCRIPTOR *done;
    VIP_RETURN rc = VipPostRecv(vi->handle, (VIP_DESCRIPTOR *)list, list->handle);
    int error;

    if (rc != VIP_SUCCESS) {
        mad_via_lost(peer, MAD_EDRIVER, "a receive cannot be posted", (int)rc);
        return MAD_EDRIVER;
    }
    error = send_ready(peer, bytes);
    if (error == MAD_OK)
        error = mad_via_wait(vi, &done);
    if (error == MAD_OK && list->control.Length != bytes) {
        mad_via_lost(peer, MAD_EWIRE, "a block of another length was received",
                     (int)list->control.Length);
        error = MAD_EWIRE;
    }
    return error;
}

int mad_via_group_receive(struct mvia_peer *peer, p_mad_buffer_t first)
{
    struct mvia_list *list = mad_via_list(peer->channel->adapter);
    p_mad_buffer_t buffer = first, each;
    int error = list != NULL ? mad_via_register_group(peer, first, true) : MAD_ENOMEM;
    bool registered = error == MAD_OK;
    size_t at = 0;

    while (error == MAD_OK && buffer != NULL) {
        uint32_t bytes = cut(&buffer, &at, list);

        error = receive_piece(peer, list, bytes);
    }
    for (each = first; error == MAD_OK && each != NULL; each = each->next)
        each->bytes_written = each->length;
    if (registered)
        mad_via_deregister_group(peer, first);
    if (list != NULL)
        mad_via_list_free(peer->channel->adapter, list);
    return error;
}
