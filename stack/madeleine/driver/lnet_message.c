/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages over LNet: how they begin, and short blocks. */
#include <assert.h>
#include <string.h>

#include "driver/lnet.h"

enum { AWAKE_POLLS = 64, NAP_NS = 1000, NAP_MOST_NS = 1000000 };

static struct mlnet_adapter *adapter_of(p_mad_link_t link)
{
    return mad_lnet_adapter(link->connection->channel->adapter);
}

/* ---- noticing a message ---------------------------------------------------------------------- */

int mad_lnet_new_message(p_mad_connection_t out)
{
    mad_lnet_peer(out)->armed = true;
    return MAD_OK;
}

static bool is_usable(const struct mlnet_peer *peer)
{
    return peer != NULL && peer->joined && mad_connection_error(peer->in) == MAD_OK;
}

static bool begins(const struct mlnet_peer *peer)
{
    const struct mlnet_frame *front;

    if (!is_usable(peer))
        return false;
    front = peer->ring[peer->next % MLNET_CREDITS];
    return front != NULL && (front->slot.header & MLNET_FIRST) != 0;
}

/* In turn after the rank served last. */
static p_mad_connection_t next_message(struct mlnet_channel *own)
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

static bool any_left(const struct mlnet_channel *own)
{
    for (int rank = 0; rank < own->size; rank++)
        if (is_usable(own->peers[rank]))
            return true;
    return false;
}

p_mad_connection_t mad_lnet_receive_message(p_mad_channel_t channel)
{
    struct mlnet_channel *own = mad_lnet_channel(channel);
    struct mlnet_wait wait = {.adapter = own->adapter, .channel = own, .what = "a message"};
    p_mad_connection_t in;

    port_mutex_lock(&own->adapter->mutex);
    while ((in = next_message(own)) == NULL && any_left(own))
        mad_lnet_wait(&wait);
    mad_lnet_wait_end(&wait);
    port_mutex_unlock(&own->adapter->mutex);
    if (in == NULL)
        mad_channel_fail(channel, MAD_EPEER, "no peer is left");
    return in;
}

/* A program that polls for messages learns that peers have gone, too. */
static void probe_now_and_then(struct mlnet_channel *own)
{
    uint64_t now = port_now();

    if (own->polled_ns != 0 && now < own->polled_ns)
        return;
    if (own->polled_ns != 0)
        mad_lnet_probe_all(own);
    own->polled_ns = now + own->adapter->probe_ns;
}

static void progress(struct mlnet_adapter *adapter)
{
    if (mad_lnet_progress(adapter))
        port_condition_broadcast(&adapter->changed);
}

/* An event ends the nap of a program that does nothing but poll for a message. */
static void nap(struct mlnet_adapter *adapter, uint64_t naps)
{
    uint64_t limit = naps * NAP_NS < NAP_MOST_NS ? naps * NAP_NS : NAP_MOST_NS;

    adapter->waiting = true;
    port_mutex_unlock(&adapter->mutex);
    port_semaphore_wait(&adapter->events, limit);
    port_mutex_lock(&adapter->mutex);
    adapter->waiting = false;
    mad_lnet_progress(adapter);
    port_condition_broadcast(&adapter->changed);
}

static void idle(struct mlnet_channel *own)
{
    struct lnet_event event;

    own->empty_polls++;
    if (own->empty_polls > AWAKE_POLLS && !own->adapter->waiting)
        nap(own->adapter, own->empty_polls - AWAKE_POLLS);
    else
        LNetEQGet(own->adapter->queue, &event); /* it has callbacks only: this takes time */
    probe_now_and_then(own);
}

p_mad_connection_t mad_lnet_poll_message(p_mad_channel_t channel)
{
    struct mlnet_channel *own = mad_lnet_channel(channel);
    p_mad_connection_t in;

    port_mutex_lock(&own->adapter->mutex);
    progress(own->adapter);
    in = next_message(own);
    if (in == NULL)
        idle(own);
    else
        own->empty_polls = 0;
    port_mutex_unlock(&own->adapter->mutex);
    return in;
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* Also credits that came alone. */
static bool take_credit(struct mlnet_peer *peer)
{
    uint32_t *returned = &peer->channel->shared->credits[peer->out->remote_host_id];
    uint32_t count = __atomic_exchange_n(returned, 0, __ATOMIC_ACQUIRE);

    if (count > MLNET_CREDITS - peer->available) {
        mad_lnet_lost(peer, MAD_EWIRE, 0);
        return false;
    }
    peer->available += count;
    peer->credited += count;
    if (peer->available == 0)
        return false;
    peer->available--;
    return true;
}

static uint64_t header_of(struct mlnet_peer *peer, uint64_t flags)
{
    struct mlnet_status *status = &peer->channel->shared->status[peer->out->remote_host_id];
    uint64_t header = flags | (uint64_t)peer->owed << MLNET_CREDIT_SHIFT | peer->sent++;

    assert(peer->owed <= MLNET_CREDITS);
    if (peer->armed)
        header |= MLNET_FIRST;
    peer->armed = false;
    status->sent++;
    status->credited += peer->owed;
    peer->owed = 0;
    return header;
}

int mad_lnet_send_frame(struct mlnet_peer *peer, struct mlnet_frame *frame, size_t bytes,
                        uint64_t flags)
{
    struct mlnet_channel *channel = peer->channel;
    struct mlnet_wait wait = {.adapter = channel->adapter,
                              .channel = channel,
                              .peer = peer,
                              .what = "a buffer at the receiver"};
    uint64_t bits;
    bool taken = false;
    int rc;

    progress(channel->adapter);
    while (!peer->lost && !(taken = take_credit(peer)))
        mad_lnet_wait(&wait);
    mad_lnet_wait_end(&wait);
    if (peer->lost || !taken) {
        mad_lnet_frame_free(channel->adapter, frame);
        return mad_connection_error(peer->out);
    }
    bits = mad_lnet_bits(channel, channel->own, MLNET_EAGER, peer->sent);
    frame->slot.peer = peer;
    rc = mad_lnet_put(&frame->slot, bits, frame->bytes, bytes, header_of(peer, flags));
    if (rc == 0) {
        channel->in_flight++;
        return MAD_OK;
    }
    mad_lnet_frame_free(channel->adapter, frame);
    mad_lnet_lost(peer, rc == -ENOMEM ? MAD_ENOMEM : MAD_EDRIVER, rc);
    return mad_connection_error(peer->out);
}

struct mlnet_frame *mad_lnet_next_frame(struct mlnet_peer *peer, const char *what)
{
    struct mlnet_channel *channel = peer->channel;
    struct mlnet_wait wait = {
        .adapter = channel->adapter, .channel = channel, .peer = peer, .what = what};
    struct mlnet_frame **front = &peer->ring[peer->next % MLNET_CREDITS], *frame;

    while (*front == NULL && !peer->lost)
        mad_lnet_wait(&wait);
    mad_lnet_wait_end(&wait);
    frame = *front;
    *front = NULL;
    if (frame != NULL)
        peer->next++;
    return frame;
}

int mad_lnet_recycle(struct mlnet_peer *peer, struct mlnet_frame *frame)
{
    int error = mad_lnet_post(peer, frame);

    if (error != MAD_OK) {
        mad_lnet_lost(peer, error, 0);
        return error;
    }
    peer->owed++;
    mad_lnet_return_credits(peer);
    return MAD_OK;
}

/* ---- short blocks ---------------------------------------------------------------------------- */

/* With the lock. NULL: no memory, and the frame goes back. */
static p_mad_buffer_t buffer_of(p_mad_link_t link, struct mlnet_frame *frame)
{
    p_mad_buffer_t buffer = mad_buffer_alloc(link->connection);

    if (buffer == NULL) {
        if (frame->posted)
            mad_lnet_recycle(mad_lnet_peer(link->connection), frame);
        else
            mad_lnet_frame_free(adapter_of(link), frame);
        return NULL;
    }
    buffer->type = mad_static_buffer;
    buffer->buffer = frame->bytes;
    buffer->specific = frame;
    buffer->length = MLNET_FRAME_BYTES;
    return buffer;
}

p_mad_buffer_t mad_lnet_get_static(p_mad_link_t link)
{
    struct mlnet_adapter *adapter = adapter_of(link);
    struct mlnet_frame *frame;
    p_mad_buffer_t buffer;

    port_mutex_lock(&adapter->mutex);
    frame = mad_lnet_frame(adapter);
    buffer = frame != NULL ? buffer_of(link, frame) : NULL;
    port_mutex_unlock(&adapter->mutex);
    return buffer;
}

int mad_lnet_return_static(p_mad_link_t link, p_mad_buffer_t buffer)
{
    struct mlnet_adapter *adapter = adapter_of(link);
    struct mlnet_frame *frame = buffer->specific;
    int error = MAD_OK;

    port_mutex_lock(&adapter->mutex);
    if (frame->posted)
        error = mad_lnet_recycle(mad_lnet_peer(link->connection), frame);
    else
        mad_lnet_frame_free(adapter, frame);
    port_mutex_unlock(&adapter->mutex);
    return error;
}

int mad_lnet_send_static(p_mad_link_t link, p_mad_buffer_t buffer)
{
    struct mlnet_adapter *adapter = adapter_of(link);
    size_t bytes = buffer->bytes_written;
    int error;

    assert(buffer->type == mad_static_buffer && buffer->bytes_read == 0);
    buffer->bytes_read = bytes;
    port_spend(PORT_COST_COPY, bytes);
    port_mutex_lock(&adapter->mutex);
    error = mad_lnet_send_frame(mad_lnet_peer(link->connection), buffer->specific, bytes, 0);
    port_mutex_unlock(&adapter->mutex);
    return error;
}

int mad_lnet_receive_static(p_mad_link_t link, p_mad_buffer_t *buffer)
{
    struct mlnet_peer *peer = mad_lnet_peer(link->connection);
    struct mlnet_adapter *adapter = adapter_of(link);
    struct mlnet_frame *frame;
    int error = MAD_OK;
    size_t bytes = 0;

    port_mutex_lock(&adapter->mutex);
    frame = mad_lnet_next_frame(peer, "a block of a message");
    if (frame == NULL) {
        error = mad_connection_error(link->connection);
    } else if ((frame->slot.header & MLNET_RTS) != 0) {
        mad_lnet_recycle(peer, frame);
        mad_lnet_give_up(peer);
        error = MAD_ESYMM;
    } else {
        bytes = frame->slot.bytes;
        *buffer = buffer_of(link, frame);
        error = *buffer != NULL ? MAD_OK : MAD_ENOMEM;
    }
    port_mutex_unlock(&adapter->mutex);
    if (error != MAD_OK)
        return error;
    (*buffer)->length = (*buffer)->bytes_written = bytes;
    port_spend(PORT_COST_COPY, bytes);
    return MAD_OK;
}
