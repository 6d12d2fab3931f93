/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Frames of the VIA driver: the pool, sending and waiting, and how losses are found. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "via.h"

/* ---- the pools ------------------------------------------------------------------------------- */

/* Registered memory that stays until the adapter ends. The lock is held. */
static void *chunk_new(struct mvia_adapter *adapter, size_t bytes, VIP_MEM_HANDLE *handle)
{
    VIP_MEM_ATTRIBUTES attributes = {.Ptag = adapter->ptag};
    struct mvia_chunk *chunk = malloc(sizeof(*chunk));

    if (chunk == NULL)
        return NULL;
    *chunk = (struct mvia_chunk){.memory = port_pages_alloc(bytes, 0), .bytes = bytes};
    if (chunk->memory == NULL ||
        VipRegisterMem(adapter->nic, chunk->memory, bytes, &attributes, handle) != VIP_SUCCESS) {
        port_pages_free(chunk->memory, bytes);
        free(chunk);
        return NULL;
    }
    chunk->next = adapter->chunks;
    adapter->chunks = chunk;
    return chunk->memory;
}

static bool add_frames(struct mvia_adapter *adapter, unsigned count)
{
    VIP_MEM_HANDLE handle;
    struct mvia_frame *frames = chunk_new(adapter, count * sizeof(*frames), &handle);
    unsigned i;

    for (i = 0; frames != NULL && i < count; i++) {
        frames[i].handle = handle;
        frames[i].next = adapter->frames;
        adapter->frames = &frames[i];
    }
    return frames != NULL;
}

bool mad_via_reserve(struct mvia_adapter *adapter, unsigned frames)
{
    const struct mvia_frame *frame;
    unsigned count = 0;
    bool enough;

    port_mutex_lock(&adapter->mutex);
    for (frame = adapter->frames; frame != NULL; frame = frame->next)
        count++;
    enough = count >= frames || add_frames(adapter, frames - count);
    port_mutex_unlock(&adapter->mutex);
    return enough;
}

struct mvia_frame *mad_via_frame(struct mvia_adapter *adapter)
{
    struct mvia_frame *frame;

    port_mutex_lock(&adapter->mutex);
    if (adapter->frames == NULL)
        add_frames(adapter, MVIA_POOL);
    frame = adapter->frames;
    if (frame != NULL)
        adapter->frames = frame->next;
    port_mutex_unlock(&adapter->mutex);
    return frame;
}

void mad_via_frame_free(struct mvia_adapter *adapter, struct mvia_frame *frame)
{
    port_mutex_lock(&adapter->mutex);
    frame->next = adapter->frames;
    adapter->frames = frame;
    port_mutex_unlock(&adapter->mutex);
}

struct mvia_list *mad_via_list(struct mvia_adapter *adapter)
{
    struct mvia_list *list;
    VIP_MEM_HANDLE handle;

    port_mutex_lock(&adapter->mutex);
    if (adapter->lists == NULL &&
        (list = chunk_new(adapter, MVIA_LISTS * sizeof(*list), &handle)) != NULL)
        for (unsigned i = 0; i < MVIA_LISTS; i++) {
            list[i].handle = handle;
            list[i].next = adapter->lists;
            adapter->lists = &list[i];
        }
    list = adapter->lists;
    if (list != NULL)
        adapter->lists = list->next;
    port_mutex_unlock(&adapter->mutex);
    return list;
}

void mad_via_list_free(struct mvia_adapter *adapter, struct mvia_list *list)
{
    port_mutex_lock(&adapter->mutex);
    list->next = adapter->lists;
    adapter->lists = list;
    port_mutex_unlock(&adapter->mutex);
}

void mad_via_pool_free(struct mvia_adapter *adapter)
{
    struct mvia_chunk *chunk;

    while ((chunk = adapter->chunks) != NULL) {
        adapter->chunks = chunk->next;
        port_pages_free(chunk->memory, chunk->bytes);
        free(chunk);
    }
}

/* ---- connections that are lost --------------------------------------------------------------- */

/* The VIs are disconnected, so that other threads and the peer learn it. */
void mad_via_lost(struct mvia_peer *peer, int code, const char *text, int driver_code)
{
    if (peer->lost)
        return;
    peer->lost = true;
    mad_driver_note(peer->in, text, driver_code);
    mad_driver_note(peer->out, text, driver_code);
    mad_connection_break(peer->in, code);
    mad_connection_break(peer->out, code);
    for (unsigned i = 0; i < MVIA_VIS; i++)
        if (peer->vi[i].connected)
            VipDisconnect(peer->vi[i].handle);
}

static int code_of(const struct mvia_peer *peer)
{
    int code = mad_connection_error(peer->in);

    return code != MAD_OK ? code : MAD_EPEER;
}

static struct mvia_peer *peer_of(const struct mvia_adapter *adapter, VIP_VI_HANDLE handle)
{
    const struct mvia_channel *channel;

    for (channel = adapter->channels; channel != NULL; channel = channel->next)
        for (int rank = 0; rank < channel->size; rank++)
            for (unsigned i = 0; channel->peers[rank] != NULL && i < MVIA_VIS; i++)
                if (channel->peers[rank]->vi[i].handle == handle)
                    return channel->peers[rank];
    return NULL;
}

/* On a thread of its own. Posts that fail are reported to whoever has posted. */
void mad_via_on_error(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *error)
{
    struct mvia_peer *peer = peer_of(context, error->ViHandle);

    if (peer == NULL || !peer->connected || error->ErrorCode == VIP_ERROR_POST_DESC)
        return;
    if (error->ErrorCode == VIP_ERROR_CONN_LOST)
        mad_via_lost(peer, MAD_EPEER, "the peer's host or process has gone", (int)error->ErrorCode);
    else
        mad_via_lost(peer, MAD_EDRIVER, "the NIC has lost data", (int)error->ErrorCode);
}

/* ---- sending --------------------------------------------------------------------------------- */

int mad_via_send_descriptor(struct mvia_vi *vi, VIP_DESCRIPTOR *descriptor, VIP_MEM_HANDLE handle,
                            bool counted)
{
    struct mvia_peer *peer = vi->peer;
    VIP_DESCRIPTOR *done = NULL;
    VIP_RETURN rc;

    if (peer->lost)
        return code_of(peer);
    vi->sent += counted;
    rc = VipPostSend(vi->handle, descriptor, handle);
    if (rc == VIP_SUCCESS)
        rc = VipSendWait(vi->handle, VIP_INFINITE, &done);
    if (rc != VIP_SUCCESS)
        mad_via_lost(peer,
                     done != NULL && (done->Control.Status & VIP_STATUS_DESC_FLUSHED_ERROR) == 0
                         ? MAD_EDRIVER
                         : MAD_EPEER,
                     "a frame cannot be sent", done != NULL ? (int)done->Control.Status : (int)rc);
    return peer->lost ? code_of(peer) : MAD_OK;
}

static void fill_control(struct mvia_frame *frame, uint32_t bytes)
{
    VIP_DESCRIPTOR *descriptor = &frame->descriptor;

    assert(bytes <= MVIA_FRAME_BYTES);
    memset(descriptor, 0, sizeof(*descriptor));
    descriptor->Control.SegCount = bytes != 0;
    descriptor->Control.Length = bytes;
    descriptor->Data[0].Data.Address = frame->data;
    descriptor->Data[0].Handle = frame->handle;
    descriptor->Data[0].Length = bytes;
}

int mad_via_send_frame(struct mvia_vi *vi, struct mvia_frame *frame, uint32_t bytes, bool immediate,
                       uint32_t immediate_data)
{
    fill_control(frame, bytes);
    if (immediate) {
        frame->descriptor.Control.Control = VIP_CONTROL_IMMEDIATE;
        frame->descriptor.Control.ImmediateData = immediate_data;
    }
    return mad_via_send_descriptor(vi, &frame->descriptor, frame->handle, true);
}

/* ---- receiving ------------------------------------------------------------------------------- */

int mad_via_post_receive(struct mvia_vi *vi, struct mvia_frame *frame)
{
    VIP_RETURN rc;

    fill_control(frame, MVIA_FRAME_BYTES);
    if (vi->peer->lost) {
        mad_via_frame_free(vi->peer->channel->adapter, frame);
        return code_of(vi->peer);
    }
    rc = VipPostRecv(vi->handle, &frame->descriptor, frame->handle);
    if (rc == VIP_SUCCESS)
        return MAD_OK;
    mad_via_frame_free(vi->peer->channel->adapter, frame);
    mad_via_lost(vi->peer, MAD_EDRIVER, "a receive cannot be posted", (int)rc);
    return code_of(vi->peer);
}

/* The queue is empty, and the peer has sent more frames than have come. */
static void check_losses(struct mvia_vi *vi)
{
    if ((int32_t)(vi->reported - vi->received) > 0)
        mad_via_lost(vi->peer, MAD_EDRIVER, "frames were lost", (int)(vi->reported - vi->received));
}

/* Also to peers that it does not wait for: they may wait for frames that it has sent. */
static void report_all(const struct mvia_adapter *adapter)
{
    const struct mvia_channel *channel;

    for (channel = adapter->channels; channel != NULL; channel = channel->next)
        for (int rank = 0; rank < channel->size; rank++)
            if (channel->peers[rank] != NULL)
                mad_via_report(channel->peers[rank], true);
}

/* A notice in place of credits, a ready or addresses: the receiver takes nothing more. */
static bool is_refused(const struct mvia_vi *vi, const VIP_DESCRIPTOR *descriptor)
{
    return vi < mad_via_in(vi->peer, 0) && descriptor->Control.Length == 0 &&
           (descriptor->Control.Status & VIP_STATUS_IMMEDIATE) != 0 &&
           descriptor->Control.ImmediateData == MVIA_REFUSED;
}

int mad_via_wait(struct mvia_vi *vi, VIP_DESCRIPTOR **descriptor)
{
    struct mvia_peer *peer = vi->peer;
    VIP_RETURN rc;

    *descriptor = NULL;
    while (!peer->lost) {
        rc = VipRecvWait(vi->handle, peer->channel->adapter->probe_ms, descriptor);
        if (rc == VIP_SUCCESS) {
            vi->received++;
            if (!is_refused(vi, *descriptor))
                break;
            mad_driver_note(peer->out, "the receiver's blocks are others", 0);
            return MAD_ESYMM;
        }
        if (rc != VIP_TIMEOUT) {
            mad_via_lost(peer,
                         *descriptor != NULL &&
                                 (*descriptor)->Control.Status & VIP_STATUS_LENGTH_ERROR
                             ? MAD_EWIRE
                             : MAD_EPEER,
                         "a frame cannot be received", (int)rc);
            break;
        }
        check_losses(vi);
        report_all(peer->channel->adapter);
    }
    return peer->lost ? code_of(peer) : MAD_OK;
}

/* A frame of link 0, whose entry was in the completion queue. */
static void collect_from(struct mvia_channel *channel, VIP_VI_HANDLE handle)
{
    struct mvia_peer *peer = peer_of(channel->adapter, handle);
    VIP_DESCRIPTOR *descriptor = NULL;
    struct mvia_frame *frame;
    VIP_RETURN rc = VipRecvDone(handle, &descriptor);

    frame = (struct mvia_frame *)descriptor;
    if (peer == NULL || frame == NULL)
        return;
    if (rc != VIP_SUCCESS || peer->lost) {
        mad_via_frame_free(channel->adapter, frame);
        mad_via_lost(peer, MAD_EPEER, "the connection has ended", (int)rc);
        return;
    }
    mad_via_in(peer, 0)->received++;
    if ((descriptor->Control.Status & VIP_STATUS_IMMEDIATE) != 0 &&
        descriptor->Control.ImmediateData != peer->next_sequence) {
        mad_via_frame_free(channel->adapter, frame);
        mad_via_lost(peer, MAD_EDRIVER, "frames were lost", (int)peer->next_sequence);
        return;
    }
    peer->next_sequence++;
    frame->next = NULL;
    if (peer->first == NULL)
        peer->first = frame;
    else
        peer->last->next = frame;
    peer->last = frame;
}

/* Compares with what the peers have reported until now, and reports to them. */
void mad_via_idle_check(struct mvia_channel *channel)
{
    VIP_BOOLEAN receive;
    VIP_VI_HANDLE vi;

    while (VipCQDone(channel->queue, &vi, &receive) == VIP_SUCCESS)
        collect_from(channel, vi);
    for (int rank = 0; rank < channel->size; rank++) {
        struct mvia_peer *peer = channel->peers[rank];

        if (peer == NULL || !peer->connected || peer->lost)
            continue;
        check_losses(mad_via_in(peer, 0));
    }
    report_all(channel->adapter);
}

int mad_via_collect(struct mvia_channel *channel, bool wait)
{
    VIP_VI_HANDLE vi;
    VIP_BOOLEAN receive;
    VIP_RETURN rc = wait ? VipCQWait(channel->queue, channel->adapter->probe_ms, &vi, &receive)
                         : VipCQDone(channel->queue, &vi, &receive);

    if (rc == VIP_TIMEOUT)
        mad_via_idle_check(channel);
    if (rc == VIP_TIMEOUT || rc == VIP_NOT_DONE)
        return MAD_OK;
    if (rc != VIP_SUCCESS)
        return MAD_EDRIVER;
    collect_from(channel, vi);
    return MAD_OK;
}

/* ---- reports --------------------------------------------------------------------------------- */

static void take_reports(struct mvia_peer *peer)
{
    struct mvia_vi *vi = &peer->vi[MVIA_VIS - 1];
    uint32_t counts[2 * MVIA_LINKS];
    VIP_DESCRIPTOR *descriptor;

    while (!peer->lost && VipRecvDone(vi->handle, &descriptor) == VIP_SUCCESS) {
        struct mvia_frame *frame = (struct mvia_frame *)descriptor;

        memcpy(counts, frame->data, sizeof(counts));
        if (descriptor->Control.Length == sizeof(counts))
            for (unsigned i = 0; i < 2 * MVIA_LINKS; i++) /* its out is our in */
                peer->vi[(i + MVIA_LINKS) % (2 * MVIA_LINKS)].reported = counts[i];
        peer->unanswered = 0;
        mad_via_post_receive(vi, frame);
    }
}

void mad_via_report(struct mvia_peer *peer, bool again)
{
    struct mvia_adapter *adapter = peer->channel->adapter;
    uint32_t counts[2 * MVIA_LINKS], sum = 0;
    struct mvia_frame *frame;

    if (peer->reporting || peer->lost || !peer->connected)
        return;
    peer->reporting = true;
    take_reports(peer);
    for (unsigned i = 0; i < 2 * MVIA_LINKS; i++)
        sum += counts[i] = peer->vi[i].sent;
    if (peer->unanswered < MVIA_REPORTS_MAX && (again || sum != peer->last_reported) &&
        (frame = mad_via_frame(adapter)) != NULL) {
        peer->unanswered++;
        peer->last_reported = sum;
        memcpy(frame->data, counts, sizeof(counts));
        mad_via_send_frame(&peer->vi[MVIA_VIS - 1], frame, sizeof(counts), false, 0);
        mad_via_frame_free(adapter, frame);
    }
    peer->reporting = false;
}
