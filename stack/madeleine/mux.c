/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Multiplexed channels: opening and closing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mux.h"
#include "session.h"
#include "virtual.h"

enum { PACKET = 8 << 10, PACKET_MOST = 1 << 20, WINDOW = 64 << 10, WINDOW_MOST = 1 << 30 };
enum { SPLIT_MIN = 1 << 20, SPLIT_MOST = 1 << 30 };
enum { FRAME_BYTES = MAD_MUX_FRAME + sizeof(struct mad_mux_header) };

struct mad_mux_sub *mad_mux_sub_of(p_mad_channel_t channel)
{
    return channel->adapter->driver->interface == &mad_mux_interface ? channel->adapter->specific
                                                                     : NULL;
}

bool mad_mux_is_main(p_mad_channel_t channel)
{
    const struct mad_mux_sub *sub = mad_mux_sub_of(channel);

    return sub != NULL && sub->number == 0;
}

p_mad_channel_t mad_get_sub_channel(p_mad_channel_t channel, unsigned sub)
{
    p_mad_channel_t found = NULL;

    if (channel != NULL && mad_mux_is_main(channel))
        found = channel->adapter->driver->interface->get_sub_channel(channel, sub);
    if (found == NULL)
        MAD_REPORT(MAD_EINVAL, "mad_get_sub_channel: there is no such channel", channel, -1);
    return found;
}

void mad_mux_flush_all(struct mad_mux *own)
{
    port_mutex_lock(&own->mutex);
    mad_mux_flush_ranks(own);
    port_mutex_unlock(&own->mutex);
}

void mad_flush(p_mad_channel_t channel)
{
    const struct mad_mux_sub *sub = channel != NULL ? mad_mux_sub_of(channel) : NULL;

    if (sub != NULL)
        mad_mux_flush_all(sub->owner);
}

/* ---- opening --------------------------------------------------------------------------------- */

/* From now on only the multiplexed channel uses it, also with threads of its own. */
static void claim(struct mad_mux *own, p_mad_channel_t channel, bool claimed)
{
    struct mad_channel_full *full = mad_channel_full(channel);

    full->rail_of = claimed ? own : NULL;
    full->gate.shared = claimed;
    for (int rank = 0; rank < own->size && channel->output_connection != NULL; rank++)
        mad_full(channel->output_connection[rank])->gate.shared = claimed;
}

static size_t parameter(const char *name, long otherwise, size_t least, size_t most)
{
    long value = mad_parameter(name, otherwise);

    if (value < 0 || (size_t)value < least)
        return least;
    return (size_t)value > most ? most : (size_t)value;
}

static bool rails_init(struct mad_mux *own, int count, const p_mad_channel_t *channels)
{
    for (; own->rail_count < count; own->rail_count++) {
        struct mad_mux_rail *rail = &own->rails[own->rail_count];

        rail->packet = malloc(own->packet_bytes);
        if (rail->packet == NULL)
            return false;
        rail->owner = own;
        rail->number = own->rail_count;
        rail->channel = channels[own->rail_count];
        port_condition_init(&rail->work);
        claim(own, rail->channel, true);
    }
    return true;
}

static bool lanes_init(struct mad_mux *own)
{
    own->lanes = calloc((size_t)own->size, sizeof(*own->lanes));
    for (int rank = 0; rank < own->size && own->lanes != NULL; rank++) {
        struct mad_mux_lane *lane = &own->lanes[rank];

        if (!mad_channel_has(own->rails[0].channel, rank))
            continue;
        lane->bytes = malloc(own->packet_bytes);
        lane->leaving = malloc(own->packet_bytes);
        if (lane->bytes == NULL || lane->leaving == NULL)
            return false;
    }
    return own->lanes != NULL;
}

/* The names of the rails, and all that must be the same on all processes. */
static char *place_of(const struct mad_mux *own)
{
    size_t room = (size_t)own->rail_count * (MAD_NAME_MAX + 1) + 96, used = 0;
    char *text = malloc(room);

    for (int i = 0; i < own->rail_count && text != NULL; i++)
        used += (size_t)snprintf(text + used, room - used, "%s%s", i != 0 ? "+" : "",
                                 own->rails[i].channel->name);
    if (text != NULL)
        snprintf(text + used, room - used, "*%d/%zu/%zu", own->sub_count, own->packet_bytes,
                 own->window);
    return text;
}

/* A driver of the same name as that of the first rail: its costs are those of its network. */
static bool subs_init(struct mad_mux *own, int count)
{
    own->driver = (mad_driver_t){.name = own->rails[0].channel->adapter->driver->name,
                                 .madeleine = own->madeleine,
                                 .interface = &mad_mux_interface,
                                 .connection_type = mad_bidirectional_connection};
    own->subs = calloc((size_t)count, sizeof(*own->subs));
    if (own->subs == NULL)
        return false;
    for (; own->sub_count < count; own->sub_count++) {
        struct mad_mux_sub *sub = &own->subs[own->sub_count];

        sub->owner = own;
        sub->number = own->sub_count;
        sub->last_served = own->size - 1; /* rank 0 is the first */
        sub->peers = calloc((size_t)own->size, sizeof(*sub->peers));
        sub->adapter = (mad_adapter_t){.driver = &own->driver,
                                       .id = -1,
                                       .name = own->rails[0].channel->adapter->name,
                                       .specific = sub};
        if (sub->peers == NULL)
            return false;
    }
    for (int i = 0; i < own->sub_count; i++)
        if ((own->subs[i].adapter.place = place_of(own)) == NULL)
            return false;
    return true;
}

/* NULL: no memory. */
static struct mad_mux *mux_new(p_mad_madeleine_t madeleine, int count,
                               const p_mad_channel_t *channels, int subs)
{
    struct mad_mux *own = calloc(1, sizeof(*own));

    if (own == NULL)
        return NULL;
    port_mutex_init(&own->mutex);
    port_condition_init(&own->changed);
    own->madeleine = madeleine;
    own->size = madeleine->configuration.size;
    own->own = madeleine->configuration.local_host_id;
    own->packet_bytes = parameter("MAD_MUX_PACKET", PACKET, FRAME_BYTES, PACKET_MOST);
    own->window = parameter("MAD_MUX_WINDOW", WINDOW, (size_t)2 * FRAME_BYTES, WINDOW_MOST);
    own->split_min = parameter("MAD_MUX_SPLIT", SPLIT_MIN, MAD_MUX_FRAME + 1, SPLIT_MOST);
    if (rails_init(own, count, channels) && lanes_init(own) && subs_init(own, subs))
        return own;
    mad_mux_free(own);
    return NULL;
}

void mad_mux_free(struct mad_mux *own)
{
    struct mad_mux_frame *frame;

    for (int i = 0; i < own->rail_count; i++) {
        claim(own, own->rails[i].channel, false);
        port_condition_destroy(&own->rails[i].work);
    }
    for (int i = 0; i < MAD_MUX_RAILS_MAX; i++)
        free(own->rails[i].packet);
    for (int rank = 0; rank < own->size && own->lanes != NULL; rank++) {
        free(own->lanes[rank].bytes);
        free(own->lanes[rank].leaving);
    }
    for (int i = 0; i < own->sub_count; i++) {
        free(own->subs[i].peers);
        free(own->subs[i].adapter.place);
    }
    while ((frame = own->unused) != NULL) {
        own->unused = frame->next;
        free(frame);
    }
    port_condition_destroy(&own->changed);
    port_mutex_destroy(&own->mutex);
    free(own->subs);
    free(own->lanes);
    free(own);
}

static bool same_members(p_mad_channel_t one, p_mad_channel_t other, int size)
{
    for (int rank = 0; rank < size; rank++)
        if (mad_channel_has(one, rank) != mad_channel_has(other, rank))
            return false;
    return true;
}

static bool valid(p_mad_madeleine_t madeleine, const char *name, int count,
                  const p_mad_channel_t *channels, int subs, const char *const *names)
{
    bool good = madeleine != NULL && count > 0 && count <= MAD_MUX_RAILS_MAX && subs >= 0 &&
                subs < MAD_MUX_SUBS_MAX && mad_channel_name_is_valid(name);

    for (int i = 0; i < count && good; i++)
        good = channels[i] != NULL && mad_channel_full(channels[i])->part_of == NULL &&
               mad_channel_full(channels[i])->rail_of == NULL &&
               mad_mux_sub_of(channels[i]) == NULL &&
               same_members(channels[0], channels[i], madeleine->configuration.size);
    for (int i = 0; i < subs && good; i++)
        good = mad_channel_name_is_valid(names[i]);
    return good;
}

/* The main one is the last: it starts the threads. */
static p_mad_channel_t open_subs(struct mad_mux *own, const char *name, const char *const *names)
{
    const bool *member = mad_channel_full(own->rails[0].channel)->member;

    for (int i = own->sub_count - 1; i >= 0; i--) {
        struct mad_mux_sub *sub = &own->subs[i];

        sub->channel = mad_channel_open(own->madeleine, i != 0 ? names[i - 1] : name, &sub->adapter,
                                        member, -1);
        if (sub->channel == NULL)
            return NULL;
    }
    return own->subs[0].channel;
}

p_mad_channel_t mad_open_multiplexed_channel(p_mad_madeleine_t madeleine, const char *name,
                                             int count, const p_mad_channel_t *channels, int subs,
                                             const char *const *sub_names, int strategy)
{
    p_mad_channel_t channel;
    struct mad_mux *own;

    if (!valid(madeleine, name, count, channels, subs, sub_names) ||
        (strategy != mad_strategy_default && strategy != mad_strategy_aggregate)) {
        MAD_REPORT(MAD_EINVAL, "mad_open_multiplexed_channel: invalid argument", NULL, -1);
        return NULL;
    }
    own = mux_new(madeleine, count, channels, subs + 1);
    if (own == NULL) {
        MAD_REPORT(MAD_ENOMEM, mad_error_text(MAD_ENOMEM), NULL, -1);
        return NULL;
    }
    own->aggregate = strategy == mad_strategy_aggregate;
    channel = open_subs(own, name, sub_names);
    if (channel != NULL)
        return channel;
    for (int i = own->sub_count - 1; i > 0; i--)
        if (own->subs[i].channel != NULL)
            mad_channel_close(own->subs[i].channel);
    mad_mux_free(own);
    return NULL;
}

/* ---- entries of the table -------------------------------------------------------------------- */

int mad_mux_channel_exit(p_mad_channel_t channel)
{
    (void)channel; /* mad_mux_free */
    return MAD_OK;
}

int mad_mux_connection_init(p_mad_connection_t in, p_mad_connection_t out)
{
    struct mad_mux_sub *sub = mad_mux_sub_of(in->channel);
    struct mad_mux_peer *peer = calloc(1, sizeof(*peer));

    if (peer == NULL)
        return MAD_ENOMEM;
    peer->sub = sub;
    peer->in = in;
    peer->out = out;
    peer->credit = sub->owner->window;
    in->nb_link = out->nb_link = 2;
    in->specific = out->specific = peer;
    sub->peers[in->remote_host_id] = peer;
    return MAD_OK;
}

int mad_mux_connection_exit(p_mad_connection_t in, p_mad_connection_t out)
{
    struct mad_mux_peer *peer = in->specific;
    struct mad_mux_frame *frame;

    (void)out;
    if (peer == NULL)
        return MAD_OK;
    port_mutex_lock(&peer->sub->owner->mutex); /* the threads end after this */
    peer->sub->peers[in->remote_host_id] = NULL;
    port_mutex_unlock(&peer->sub->owner->mutex);
    while ((frame = peer->first) != NULL) {
        peer->first = frame->next;
        free(frame);
    }
    free(peer);
    return MAD_OK;
}

static void break_rank(struct mad_mux *own, int rank)
{
    port_mutex_lock(&own->mutex);
    for (int i = 0; i < own->sub_count; i++) {
        struct mad_mux_peer *peer = own->subs[i].peers[rank];

        if (peer == NULL)
            continue; /* it is closed already */
        peer->lost = true;
        if (peer->first == NULL)
            mad_connection_break(peer->in, MAD_EPEER);
        mad_connection_break(peer->out, MAD_EPEER);
    }
    port_condition_broadcast(&own->changed);
    port_mutex_unlock(&own->mutex);
}

void mad_mux_broken(p_mad_connection_t connection)
{
    struct mad_mux *own = mad_channel_full(connection->channel)->rail_of;

    if (__atomic_load_n(&own->running, __ATOMIC_ACQUIRE)) /* else mad_mux_after_open finds it */
        break_rank(own, connection->remote_host_id);
}

/* Of the main one, when all others are open. */
int mad_mux_after_open(p_mad_channel_t channel)
{
    struct mad_mux_sub *sub = mad_mux_sub_of(channel);
    struct mad_mux *own = sub->owner;
    int error;

    if (sub->number != 0)
        return MAD_OK;
    sub->channel = channel;
    error = mad_all_started(channel, mad_mux_start(own));
    for (int i = 0; i < own->rail_count && error == MAD_OK; i++) /* broken in the meantime */
        for (int rank = 0; rank < own->size; rank++)
            if (rank != own->own && mad_channel_has(channel, rank) &&
                mad_connection_error(own->rails[i].channel->output_connection[rank]) != MAD_OK)
                break_rank(own, rank);
    if (error != MAD_OK)
        mad_mux_stop(own);
    return error;
}
