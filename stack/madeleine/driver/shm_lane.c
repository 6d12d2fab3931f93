/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The shared memory driver: rings of slots, and waiting for them. A waiter sets its flag, looks
 * again, and sleeps at its doorbell; the other side publishes, looks at the flag, and rings. The
 * counters and the flag are sequentially consistent, so one of them sees the other.
 */
#define _GNU_SOURCE
#include <errno.h>

#include "shm.h"

enum { POLLS_PER_CHECK = 64 };

static uint64_t load(const uint64_t *from)
{
    return __atomic_load_n(from, __ATOMIC_SEQ_CST);
}

static struct shm_view view_of(struct shm_mailbox *mailbox, mad_link_id_t id)
{
    if (id == 0)
        return (struct shm_view){.lane = &mailbox->lane[0],
                                 .slots = &mailbox->short_slots[0][0],
                                 .slot_bytes = SHM_SHORT_BYTES,
                                 .slot_count = SHM_SHORT_SLOTS};
    return (struct shm_view){.lane = &mailbox->lane[1],
                             .slots = &mailbox->long_slots[0][0],
                             .slot_bytes = SHM_LONG_BYTES,
                             .slot_count = SHM_LONG_SLOTS};
}

static struct shm_mailbox *incoming(p_mad_connection_t in)
{
    const struct shm_channel *own = in->channel->specific;

    return &own->segment->mailbox[in->remote_host_id];
}

struct shm_view mad_shm_view(p_mad_link_t link)
{
    p_mad_connection_t connection = link->connection;
    const mad_configuration_t *configuration;

    if (mad_shm_is_incoming(connection))
        return view_of(incoming(connection), link->id);
    configuration = &connection->channel->adapter->driver->madeleine->configuration;
    return view_of(&mad_shm_peer(connection)->segment->mailbox[configuration->local_host_id],
                   link->id);
}

int mad_shm_lost(p_mad_connection_t connection)
{
    mad_connection_break(connection, MAD_EPEER);
    mad_connection_break(connection->reverse, MAD_EPEER);
    return MAD_EPEER;
}

/* Sleeps until the doorbell rings. False: the peer's process has ended, or waiting is impossible.
 */
static bool sleep_at(int doorbell, int process)
{
    struct pollfd descriptors[2] = {{.fd = doorbell, .events = POLLIN},
                                    {.fd = process, .events = POLLIN}};
    mad_event_t event = {.descriptors = descriptors, .count = process >= 0 ? 2 : 1};

    if (mad_wait(&event, -1) < 0)
        return false;
    if (descriptors[0].revents != 0)
        mad_shm_drain(doorbell);
    return event.count == 1 || descriptors[1].revents == 0;
}

/* ---- sending --------------------------------------------------------------------------------- */

static bool has_room(const struct shm_view *view)
{
    return view->lane->produced - load(&view->lane->consumed) < view->slot_count;
}

static bool is_refused(const struct shm_view *view)
{
    return __atomic_load_n(&view->lane->refused, __ATOMIC_SEQ_CST) != 0;
}

/* False: the peer has gone, or consumes no more. */
static bool wait_for_room(p_mad_link_t link, const struct shm_view *view)
{
    struct shm_peer *peer = mad_shm_peer(link->connection);
    bool alive = true;

    if (peer->own_doorbell[0] < 0 && mad_shm_doorbell_make(peer->own_doorbell) != MAD_OK)
        return false;
    __atomic_store_n(&view->lane->sender_doorbell, peer->own_doorbell[0], __ATOMIC_RELAXED);
    while (!has_room(view)) {
        if (!alive || is_refused(view))
            return false;
        __atomic_store_n(&view->lane->sender_waits, 1, __ATOMIC_SEQ_CST);
        if (!has_room(view) && !is_refused(view))
            alive = sleep_at(peer->own_doorbell[0], peer->process);
    }
    return true;
}

char *mad_shm_slot(p_mad_link_t link, const struct shm_view *view)
{
    if (!has_room(view) && !wait_for_room(link, view))
        return NULL;
    return view->slots + view->lane->produced % view->slot_count * view->slot_bytes;
}

int mad_shm_send_failed(p_mad_link_t link, const struct shm_view *view)
{
    if (!is_refused(view))
        return mad_shm_lost(link->connection);
    mad_driver_note(link->connection, "the receiver's blocks are others", 0);
    return MAD_ESYMM;
}

void mad_shm_produce(p_mad_link_t link, const struct shm_view *view, size_t length)
{
    struct shm_peer *peer = mad_shm_peer(link->connection);
    struct shm_lane *lane = view->lane;

    lane->length[lane->produced % view->slot_count] = (uint32_t)length;
    __atomic_store_n(&lane->produced, lane->produced + 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&peer->segment->receiver_waits, __ATOMIC_SEQ_CST) != 0 &&
        __atomic_exchange_n(&peer->segment->receiver_waits, 0, __ATOMIC_SEQ_CST) != 0)
        mad_shm_ring(peer->doorbell);
}

/* ---- receiving ------------------------------------------------------------------------------- */

static bool has_data(const struct shm_view *view)
{
    return load(&view->lane->produced) != view->lane->consumed;
}

int mad_shm_arrival(p_mad_link_t link, const struct shm_view *view, char **slot, size_t *length)
{
    p_mad_connection_t in = link->connection;
    struct shm_channel *own = in->channel->specific;
    const struct shm_lane *lane = view->lane;
    bool alive = true;

    while (!has_data(view)) {
        if (!alive)
            return mad_shm_lost(in);
        __atomic_store_n(&own->segment->receiver_waits, 1, __ATOMIC_SEQ_CST);
        if (!has_data(view))
            alive = sleep_at(own->doorbell[0], mad_shm_peer(in)->process);
    }
    *slot = view->slots + lane->consumed % view->slot_count * view->slot_bytes;
    *length = lane->length[lane->consumed % view->slot_count];
    if (*length == 0 || *length > view->slot_bytes ||
        load(&lane->produced) - lane->consumed > view->slot_count) {
        mad_driver_note(in, "the shared memory has no valid slot", 0);
        return MAD_EWIRE;
    }
    return MAD_OK;
}

static void wake_sender(p_mad_link_t link, struct shm_lane *lane)
{
    struct shm_peer *peer = mad_shm_peer(link->connection);
    int number;

    if (__atomic_load_n(&lane->sender_waits, __ATOMIC_SEQ_CST) == 0 ||
        __atomic_exchange_n(&lane->sender_waits, 0, __ATOMIC_SEQ_CST) == 0)
        return;
    number = __atomic_load_n(&lane->sender_doorbell, __ATOMIC_RELAXED);
    if (peer->sender_number[link->id] != number) { /* the first time */
        peer->sender_doorbell[link->id] = mad_shm_doorbell_open(peer->pid, number);
        peer->sender_number[link->id] = number;
    }
    mad_shm_ring(peer->sender_doorbell[link->id]); /* an open that failed: the sender has gone */
}

void mad_shm_consume(p_mad_link_t link, const struct shm_view *view)
{
    struct shm_lane *lane = view->lane;

    __atomic_store_n(&lane->consumed, lane->consumed + 1, __ATOMIC_SEQ_CST);
    wake_sender(link, lane);
}

/* The sender finds no room, or soon none, and learns why. */
void mad_shm_give_up(p_mad_connection_t in)
{
    for (int i = 0; i < in->nb_link; i++) {
        struct shm_view view = mad_shm_view(&in->link[i]);

        __atomic_store_n(&view.lane->refused, 1, __ATOMIC_SEQ_CST);
        wake_sender(&in->link[i], view.lane);
    }
}

/* ---- noticing a message ---------------------------------------------------------------------- */

/* Of the senders, in turn after the one served last. */
static p_mad_connection_t find_message(p_mad_channel_t channel)
{
    struct shm_channel *own = channel->specific;
    int size = (int)own->segment->size, i;

    for (i = 1; i <= size; i++) {
        int rank = (own->last_served + i) % size;
        p_mad_connection_t in = channel->input_connection[rank];
        struct shm_view view[SHM_LANES] = {view_of(incoming(in), 0), view_of(incoming(in), 1)};

        if (mad_connection_error(in) == MAD_OK && (has_data(&view[0]) || has_data(&view[1]))) {
            own->last_served = rank;
            return in;
        }
    }
    return NULL;
}

/* The descriptors that a receiver polls: its doorbell, and the pidfds of the peers that are alive.
 */
static unsigned wanted(p_mad_channel_t channel)
{
    struct shm_channel *own = channel->specific;
    unsigned count = 0;

    for (int rank = 0; rank < (int)own->segment->size; rank++) {
        p_mad_connection_t in = channel->input_connection[rank];

        if (mad_shm_peer(in)->segment == NULL || mad_connection_error(in) != MAD_OK)
            continue;
        own->ranks[count++] = rank;
        own->descriptors[count] =
            (struct pollfd){.fd = mad_shm_peer(in)->process, .events = POLLIN};
    }
    own->descriptors[0] = (struct pollfd){.fd = own->doorbell[0], .events = POLLIN};
    return count;
}

/* After a wait for `count` peers. What a process sent before it ended is received. */
static void note_deaths(p_mad_channel_t channel, unsigned count)
{
    struct shm_channel *own = channel->specific;

    for (unsigned i = 0; i < count; i++)
        if (own->descriptors[i + 1].revents != 0 && find_message(channel) == NULL)
            mad_shm_lost(channel->input_connection[own->ranks[i]]);
}

p_mad_connection_t mad_shm_receive_message(p_mad_channel_t channel)
{
    struct shm_channel *own = channel->specific;
    mad_event_t event = {.descriptors = own->descriptors};
    p_mad_connection_t in;
    unsigned count;

    while ((in = find_message(channel)) == NULL) {
        count = wanted(channel);
        if (count == 0) {
            mad_channel_fail(channel, MAD_EPEER, "no peer is left");
            return NULL;
        }
        __atomic_store_n(&own->segment->receiver_waits, 1, __ATOMIC_SEQ_CST);
        if ((in = find_message(channel)) != NULL)
            break;
        event.count = count + 1;
        if (mad_wait(&event, -1) < 0) {
            mad_channel_fail(channel, MAD_EDRIVER, "waiting for messages failed");
            return NULL;
        }
        mad_shm_drain(own->doorbell[0]);
        note_deaths(channel, count);
    }
    return in;
}

/* Some polls also ask the kernel whether the peers are alive. */
p_mad_connection_t mad_shm_poll_message(p_mad_channel_t channel)
{
    struct shm_channel *own = channel->specific;
    mad_event_t event = {.descriptors = own->descriptors};
    p_mad_connection_t in = find_message(channel);

    if (in != NULL || ++own->empty_polls % POLLS_PER_CHECK != 0)
        return in;
    event.count = wanted(channel) + 1;
    if (event.count > 1 && mad_wait(&event, 0) > 0)
        note_deaths(channel, event.count - 1);
    return find_message(channel);
}
