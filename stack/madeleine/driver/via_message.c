/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages over VIA: how they begin, and the frames and credits of link 0. */
#include <assert.h>
#include <string.h>

#include "via.h"

static struct mvia_adapter *adapter_of(p_mad_link_t link)
{
    return mad_via_adapter(link->connection->channel->adapter);
}

/* ---- the sender's credits -------------------------------------------------------------------- */

/* A credit frame has no data, and their number. */
static int wait_for_credits(struct mvia_peer *peer)
{
    struct mvia_vi *vi = mad_via_out(peer, 0);
    VIP_DESCRIPTOR *descriptor;
    int error = mad_via_wait(vi, &descriptor);
    uint32_t count;

    if (error != MAD_OK) {
        if (descriptor != NULL)
            mad_via_frame_free(peer->channel->adapter, (struct mvia_frame *)descriptor);
        return error;
    }
    count = descriptor->Control.ImmediateData;
    if (descriptor->Control.Length != 0 ||
        (descriptor->Control.Status & VIP_STATUS_IMMEDIATE) == 0 || count > MVIA_CREDITS ||
        peer->credits + (int)count > MVIA_CREDITS)
        mad_via_lost(peer, MAD_EWIRE, "not a return of credits", (int)count);
    error = mad_via_post_receive(vi, (struct mvia_frame *)descriptor);
    peer->credits += (int)count;
    if (error == MAD_OK && peer->credits == 0) {
        mad_via_lost(peer, MAD_EDRIVER, "No more credits", 0);
        return MAD_EDRIVER;
    }
    return error;
}

static int send_short(struct mvia_peer *peer, struct mvia_frame *frame, uint32_t bytes)
{
    int error = MAD_OK;

    while (error == MAD_OK && peer->credits <= MVIA_ALERT)
        error = wait_for_credits(peer);
    if (error != MAD_OK)
        return error;
    peer->credits--;
    peer->armed = false;
    /* NEWMSG has no data and no immediate data, so it has no number; the next frame has one. */
    return mad_via_send_frame(mad_via_out(peer, 0), frame, bytes, bytes != 0, peer->sequence++);
}

int mad_via_new_message(p_mad_connection_t out)
{
    mad_via_peer(out)->armed = true;
    return MAD_OK;
}

int mad_via_announce(struct mvia_peer *peer)
{
    struct mvia_frame *frame;
    int error;

    if (!peer->armed)
        return MAD_OK;
    frame = mad_via_frame(peer->channel->adapter);
    if (frame == NULL)
        return MAD_ENOMEM;
    error = send_short(peer, frame, 0);
    mad_via_frame_free(peer->channel->adapter, frame);
    return error;
}

/* ---- the receiver's side of it ----------------------------------------------------------------
 */

static int return_credits(struct mvia_peer *peer)
{
    struct mvia_frame *frame;
    int error, count = peer->owed;

    if (peer->expected > MVIA_ALERT)
        return MAD_OK;
    frame = mad_via_frame(peer->channel->adapter);
    if (frame == NULL)
        return MAD_ENOMEM;
    peer->expected += count;
    peer->owed = 0;
    error = mad_via_send_frame(mad_via_in(peer, 0), frame, 0, true, (uint32_t)count);
    mad_via_frame_free(peer->channel->adapter, frame);
    return error;
}

/* Takes the first frame; another one is posted in its place. */
static struct mvia_frame *take_first(struct mvia_peer *peer)
{
    struct mvia_frame *frame = peer->first, *fresh;

    assert(frame != NULL);
    peer->first = frame->next;
    peer->expected--;
    peer->owed++;
    fresh = mad_via_frame(peer->channel->adapter);
    if (fresh == NULL)
        mad_via_lost(peer, MAD_ENOMEM, "no memory for a receive", 0);
    else
        mad_via_post_receive(mad_via_in(peer, 0), fresh);
    return frame;
}

static bool is_usable(const struct mvia_peer *peer)
{
    return peer != NULL && peer->connected && !peer->lost &&
           mad_connection_error(peer->in) == MAD_OK;
}

/* Whether a message waits; an announcement is used up, and bytes of the user stay. */
static bool begins(struct mvia_peer *peer)
{
    if (!is_usable(peer) || peer->first == NULL)
        return false;
    if (peer->first->descriptor.Control.Length == 0)
        mad_via_frame_free(peer->channel->adapter, take_first(peer));
    return !peer->lost;
}

/* In turn after the rank served last. */
static p_mad_connection_t next_message(struct mvia_channel *own)
{
    for (int i = 1; i <= own->size; i++) {
        int rank = (own->last_served + i) % own->size;

        if (begins(own->peers[rank])) {
            own->last_served = rank;
            return own->peers[rank]->in;
        }
    }
    return NULL;
}

/* Who has no credits cannot begin a message. False: nobody is left. */
static bool let_them_send(struct mvia_channel *own)
{
    bool any = false;

    for (int rank = 0; rank < own->size; rank++) {
        if (!is_usable(own->peers[rank]))
            continue;
        return_credits(own->peers[rank]);
        any |= !own->peers[rank]->lost;
    }
    return any;
}

p_mad_connection_t mad_via_receive_message(p_mad_channel_t channel)
{
    struct mvia_channel *own = mad_via_channel(channel);
    p_mad_connection_t in;
    int error = MAD_OK;

    while ((in = next_message(own)) == NULL && error == MAD_OK) {
        if (!let_them_send(own)) {
            mad_channel_fail(channel, MAD_EPEER, "no peer is left");
            return NULL;
        }
        error = mad_via_collect(own, true);
    }
    if (in == NULL)
        mad_channel_fail(channel, error, "the completion queue fails");
    return in;
}

/* A program that polls for messages learns of losses, too. */
static void check_now_and_then(struct mvia_channel *own)
{
    if (own->polling && !port_timer_rang(&own->polled))
        return;
    if (own->polling) {
        mad_via_idle_check(own);
        port_timer_stop(&own->polled);
    }
    own->polling = true;
    port_timer_start(&own->polled, own->adapter->probe_ms * UINT64_C(1000000));
}

p_mad_connection_t mad_via_poll_message(p_mad_channel_t channel)
{
    struct mvia_channel *own = mad_via_channel(channel);
    p_mad_connection_t in = next_message(own);

    if (in != NULL)
        return in;
    let_them_send(own);
    mad_via_collect(own, false);
    in = next_message(own);
    if (in == NULL)
        check_now_and_then(own);
    return in;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static p_mad_buffer_t buffer_of(p_mad_link_t link, struct mvia_frame *frame)
{
    p_mad_buffer_t buffer = mad_buffer_alloc(link->connection);

    if (buffer == NULL) {
        mad_via_frame_free(adapter_of(link), frame);
        return NULL;
    }
    buffer->type = mad_static_buffer;
    buffer->buffer = frame->data;
    buffer->specific = frame;
    return buffer;
}

p_mad_buffer_t mad_via_get_static(p_mad_link_t link)
{
    struct mvia_frame *frame = mad_via_frame(adapter_of(link));
    p_mad_buffer_t buffer = frame != NULL ? buffer_of(link, frame) : NULL;

    if (buffer != NULL)
        buffer->length = MVIA_FRAME_BYTES;
    return buffer;
}

int mad_via_return_static(p_mad_link_t link, p_mad_buffer_t buffer)
{
    mad_via_frame_free(adapter_of(link), buffer->specific);
    return MAD_OK;
}

int mad_via_send_static(p_mad_link_t link, p_mad_buffer_t buffer)
{
    struct mvia_frame *frame = buffer->specific;
    uint32_t bytes = (uint32_t)buffer->bytes_written;
    int error;

    assert(buffer->type == mad_static_buffer && buffer->bytes_read == 0 && bytes != 0);
    buffer->bytes_read = buffer->bytes_written;
    mad_cost(link->connection->channel, COPY, bytes);
    error = send_short(mad_via_peer(link->connection), frame, bytes);
    mad_via_frame_free(adapter_of(link), frame);
    return error;
}

int mad_via_receive_static(p_mad_link_t link, p_mad_buffer_t *buffer)
{
    struct mvia_peer *peer = mad_via_peer(link->connection);
    struct mvia_frame *frame;
    int error = return_credits(peer);

    while (error == MAD_OK && peer->first == NULL && !peer->lost)
        error = mad_via_collect(peer->channel, true);
    if (error != MAD_OK || peer->lost)
        return error != MAD_OK ? error : mad_connection_error(link->connection);
    frame = take_first(peer);
    *buffer = buffer_of(link, frame);
    if (*buffer == NULL)
        return MAD_ENOMEM;
    (*buffer)->length = (*buffer)->bytes_written = frame->descriptor.Control.Length;
    mad_cost(link->connection->channel, COPY, (*buffer)->length);
    return MAD_OK;
}

/* On all links, as the sender may wait on any. A notice that it does not wait for stays unread. */
void mad_via_give_up(p_mad_connection_t in)
{
    struct mvia_peer *peer = mad_via_peer(in);
    struct mvia_frame *frame = peer->gave_up ? NULL : mad_via_frame(peer->channel->adapter);

    if (frame == NULL)
        return;
    peer->gave_up = true;
    for (unsigned link = 0; link < MVIA_LINKS && !peer->lost; link++)
        mad_via_send_frame(mad_via_in(peer, link), frame, 0, true, MVIA_REFUSED);
    mad_via_frame_free(peer->channel->adapter, frame);
}

int mad_via_send_list(p_mad_link_t link, p_mad_buffer_t first)
{
    struct mvia_peer *peer = mad_via_peer(link->connection);

    return link->id == 1 ? mad_via_group_send(peer, first) : mad_via_rdma_send(peer, first);
}

int mad_via_receive_list(p_mad_link_t link, p_mad_buffer_t first)
{
    struct mvia_peer *peer = mad_via_peer(link->connection);

    return link->id == 1 ? mad_via_group_receive(peer, first) : mad_via_rdma_receive(peer, first);
}
