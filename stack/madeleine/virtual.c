/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Virtual channels: opening, closing, and paths. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mux.h"
#include "session.h"
#include "virtual.h"

enum { MTU = 256 << 10, MTU_MOST = 1 << 30, DEPTH = 16, DEPTH_MOST = 1 << 16 };

bool mad_is_virtual(p_mad_channel_t channel)
{
    return channel->adapter->driver->interface == &mad_virtual_interface;
}

struct mad_virtual *mad_virtual_of(p_mad_channel_t channel)
{
    return mad_is_virtual(channel) ? channel->adapter->specific : NULL;
}

/* ---- paths ----------------------------------------------------------------------------------- */

static bool has(const struct mad_virtual_part *part, int rank)
{
    return mad_channel_has(part->regular, rank) == tbx_true;
}

/* The first part that both are in; -1: there is none. */
static int common_part(const struct mad_virtual *own, int one, int other)
{
    for (int i = 0; i < own->part_count; i++)
        if (has(&own->parts[i], one) && has(&own->parts[i], other))
            return i;
    return -1;
}

/* Hops from each rank to `to`; -1: there is no path. NULL: no memory. */
static int *distances(const struct mad_virtual *own, int to)
{
    int *distance = malloc((size_t)own->size * sizeof(int));
    bool any = distance != NULL;

    for (int i = 0; i < own->size && distance != NULL; i++)
        distance[i] = i == to ? 0 : -1;
    for (int hops = 0; any; hops++) {
        any = false;
        for (int near = 0; near < own->size; near++)
            for (int rank = 0; rank < own->size && distance[near] == hops; rank++)
                if (distance[rank] < 0 && common_part(own, near, rank) >= 0) {
                    distance[rank] = hops + 1;
                    any = true;
                }
    }
    return distance;
}

static int next_hop(const struct mad_virtual *own, const int *distance, int from, int *part)
{
    for (int rank = 0; rank < own->size && distance[from] > 0; rank++)
        if (distance[rank] == distance[from] - 1 && (*part = common_part(own, from, rank)) >= 0)
            return rank;
    return -1;
}

int mad_virtual_route(const struct mad_virtual *own, int from, int to, int *part)
{
    int *distance = distances(own, to);
    int hop = distance != NULL ? next_hop(own, distance, from, part) : -1;

    free(distance);
    return hop;
}

bool mad_virtual_passes(const struct mad_virtual *own, int from, int to, int rank)
{
    int *distance = distances(own, to);
    int at = from, part;

    while (distance != NULL && at >= 0 && at != rank && at != to)
        at = next_hop(own, distance, at, &part);
    free(distance);
    return at == rank;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int emitters_init(struct mad_virtual *own, struct mad_virtual_part *part)
{
    part->emitters = calloc((size_t)own->size, sizeof(*part->emitters));
    if (part->emitters == NULL)
        return MAD_ENOMEM;
    for (int rank = 0; rank < own->size; rank++) {
        part->emitters[rank].owner = own;
        part->emitters[rank].part = part->number;
        part->emitters[rank].hop = rank;
        port_condition_init(&part->emitters[rank].changed);
    }
    return MAD_OK;
}

/* From now on only the virtual channel uses it, also with threads of its own. */
static void claim(struct mad_virtual *own, p_mad_channel_t channel, bool claimed)
{
    struct mad_channel_full *full = mad_channel_full(channel);

    full->part_of = claimed ? own : NULL;
    full->gate.shared = claimed;
    for (int rank = 0; rank < own->size && channel->output_connection != NULL; rank++)
        mad_full(channel->output_connection[rank])->gate.shared = claimed;
}

static int part_open(struct mad_virtual *own, struct mad_virtual_part *part,
                     p_mad_channel_t regular)
{
    const struct mad_channel_full *full = mad_channel_full(regular);
    char name[MAD_NAME_MAX + 2];

    part->owner = own;
    part->regular = regular;
    part->member = has(part, own->own);
    snprintf(name, sizeof(name), "f%s", regular->name);
    if (!mad_channel_name_is_valid(name))
        return MAD_EINVAL;
    part->clone = mad_channel_open(own->madeleine, name, regular->adapter, full->member, 0);
    if (part->clone == NULL)
        return MAD_ESTATE; /* reported */
    claim(own, part->regular, true);
    claim(own, part->clone, true);
    return part->member ? emitters_init(own, part) : MAD_OK;
}

static uint32_t parameter(const char *name, long otherwise, long most)
{
    long value = mad_parameter(name, otherwise);

    return (uint32_t)(value < 1 ? 1 : value > most ? most : value);
}

static struct mad_virtual *virtual_new(p_mad_madeleine_t madeleine, int count)
{
    struct mad_virtual *own = calloc(1, sizeof(*own));

    if (own == NULL)
        return NULL;
    own->parts = calloc((size_t)count, sizeof(*own->parts));
    own->peers = calloc((size_t)madeleine->configuration.size, sizeof(struct mad_virtual_peer *));
    if (own->parts == NULL || own->peers == NULL) {
        free(own->parts);
        free(own->peers);
        free(own);
        return NULL;
    }
    port_mutex_init(&own->mutex);
    port_condition_init(&own->changed);
    own->madeleine = madeleine;
    own->size = madeleine->configuration.size;
    own->own = madeleine->configuration.local_host_id;
    own->last_served = own->size - 1; /* rank 0 is the first */
    own->mtu = parameter("MAD_FORWARD_MTU", MTU, MTU_MOST);
    own->depth = parameter("MAD_FORWARD_DEPTH", DEPTH, DEPTH_MOST);
    snprintf(own->driver_name, sizeof(own->driver_name), "virtual");
    snprintf(own->adapter_name, sizeof(own->adapter_name), "VIRTUAL");
    own->driver = (mad_driver_t){.name = own->driver_name,
                                 .madeleine = madeleine,
                                 .interface = &mad_virtual_interface,
                                 .connection_type = mad_bidirectional_connection};
    own->adapter = (mad_adapter_t){
        .driver = &own->driver, .id = -1, .name = own->adapter_name, .specific = own};
    return own;
}

void mad_virtual_free(struct mad_virtual *own)
{
    for (int i = 0; i < own->part_count; i++) {
        struct mad_virtual_part *part = &own->parts[i];

        if (part->regular != NULL)
            claim(own, part->regular, false);
        for (int rank = 0; rank < own->size && part->emitters != NULL; rank++) {
            mad_virtual_clear(&part->emitters[rank].queue);
            port_condition_destroy(&part->emitters[rank].changed);
        }
        free(part->emitters);
        if (part->clone != NULL) {
            claim(own, part->clone, false);
            mad_close_channel(part->clone);
        }
    }
    port_condition_destroy(&own->changed);
    port_mutex_destroy(&own->mutex);
    free(own->adapter.place);
    free(own->parts);
    free(own->peers);
    free(own);
}

/* The names of the parts, which must be the same on all processes. */
static char *place_of(const struct mad_virtual *own)
{
    size_t room = (size_t)own->part_count * (MAD_NAME_MAX + 1) + 1, used = 0;
    char *text = calloc(1, room);

    for (int i = 0; i < own->part_count && text != NULL; i++)
        used += (size_t)snprintf(text + used, room - used, "%s%s", i != 0 ? "+" : "",
                                 own->parts[i].regular->name);
    return text;
}

/* The ranks of all parts. NULL: no memory. */
static bool *members_of(const struct mad_virtual *own)
{
    bool *member = calloc((size_t)own->size, sizeof(bool));

    for (int rank = 0; rank < own->size && member != NULL; rank++)
        for (int i = 0; i < own->part_count; i++)
            member[rank] = member[rank] || has(&own->parts[i], rank);
    return member;
}

static p_mad_channel_t open_on(struct mad_virtual *own, const char *name)
{
    bool *member = members_of(own);
    p_mad_channel_t channel = NULL;

    own->adapter.place = place_of(own);
    if (member != NULL && own->adapter.place != NULL)
        channel = mad_channel_open(own->madeleine, name, &own->adapter, member, -1);
    else
        MAD_REPORT(MAD_ENOMEM, mad_error_text(MAD_ENOMEM), NULL, -1);
    free(member);
    return channel;
}

static bool valid(p_mad_madeleine_t madeleine, const char *name, int count,
                  const p_mad_channel_t *channels)
{
    bool good = madeleine != NULL && count > 0 && mad_channel_name_is_valid(name);

    for (int i = 0; i < count && good; i++)
        good = channels[i] != NULL && mad_channel_full(channels[i])->part_of == NULL &&
               mad_channel_full(channels[i])->rail_of == NULL && !mad_is_virtual(channels[i]) &&
               mad_mux_sub_of(channels[i]) == NULL;
    return good;
}

p_mad_channel_t mad_open_virtual_channel(p_mad_madeleine_t madeleine, const char *name, int count,
                                         const p_mad_channel_t *channels)
{
    struct mad_virtual *own;
    p_mad_channel_t channel = NULL;
    int error = MAD_OK;

    if (!valid(madeleine, name, count, channels)) {
        MAD_REPORT(MAD_EINVAL, "mad_open_virtual_channel: invalid argument", NULL, -1);
        return NULL;
    }
    own = virtual_new(madeleine, count);
    if (own == NULL) {
        MAD_REPORT(MAD_ENOMEM, mad_error_text(MAD_ENOMEM), NULL, -1);
        return NULL;
    }
    for (; own->part_count < count && error == MAD_OK; own->part_count++) {
        own->parts[own->part_count].number = own->part_count;
        error = part_open(own, &own->parts[own->part_count], channels[own->part_count]);
    }
    if (error == MAD_OK)
        channel = open_on(own, name);
    else if (error != MAD_ESTATE)
        MAD_REPORT(error, mad_error_text(error), NULL, -1);
    if (channel == NULL)
        mad_virtual_free(own);
    return channel;
}

/* ---- entries of the table -------------------------------------------------------------------- */

int mad_virtual_channel_exit(p_mad_channel_t channel)
{
    (void)channel; /* mad_virtual_free */
    return MAD_OK;
}

int mad_virtual_connection_init(p_mad_connection_t in, p_mad_connection_t out)
{
    struct mad_virtual *own = in->channel->adapter->specific;
    struct mad_virtual_peer *peer = calloc(1, sizeof(*peer));
    int rank = in->remote_host_id;

    if (peer == NULL)
        return MAD_ENOMEM;
    peer->owner = own;
    peer->in = in;
    peer->out = out;
    peer->credits = own->depth;
    peer->hop = -1;
    if (rank != own->own && mad_channel_has(in->channel, rank))
        peer->hop = mad_virtual_route(own, own->own, rank, &peer->part);
    in->specific = out->specific = peer;
    own->peers[rank] = peer;
    return MAD_OK;
}

int mad_virtual_connection_exit(p_mad_connection_t in, p_mad_connection_t out)
{
    struct mad_virtual_peer *peer = in->specific;

    (void)out;
    if (peer == NULL)
        return MAD_OK;
    peer->owner->peers[in->remote_host_id] = NULL;
    mad_virtual_clear(&peer->inbox);
    free(peer);
    return MAD_OK;
}

int mad_virtual_after_open(p_mad_channel_t channel)
{
    struct mad_virtual *own = channel->adapter->specific;
    int i, rank, error;

    for (i = 0; i < own->size; i++)
        if (i != own->own && mad_channel_has(channel, i) && own->peers[i]->hop < 0) {
            mad_channel_fail(channel, MAD_ECONFIG, "no gateway joins the parts of the channel");
            return MAD_ECONFIG;
        }
    error = mad_all_started(channel, mad_virtual_start(own));
    for (i = 0; i < own->part_count && error == MAD_OK; i++) /* broken in the meantime */
        for (rank = 0; rank < own->size && own->parts[i].member; rank++) {
            struct mad_virtual_part *part = &own->parts[i];

            if (has(part, rank) && rank != own->own &&
                (mad_connection_error(part->clone->output_connection[rank]) != MAD_OK))
                mad_virtual_broken(part->clone->output_connection[rank]);
        }
    assert(error != MAD_OK || own->running);
    if (error != MAD_OK)
        mad_virtual_stop(own);
    return error;
}
