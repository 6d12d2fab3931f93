/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Channels: their connections, opening and closing. */
#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mux.h"
#include "session.h"
#include "virtual.h"

typedef int (*channel_entry)(p_mad_channel_t channel);

static int optional(channel_entry entry, p_mad_channel_t channel)
{
    return entry != NULL ? entry(channel) : MAD_OK;
}

static const mad_driver_interface_t *interface_of(p_mad_channel_t channel)
{
    return channel->adapter->driver->interface;
}

tbx_bool_t mad_channel_has(p_mad_channel_t channel, ntbx_host_id_t rank)
{
    const bool *member = mad_channel_full(channel)->member;

    return member == NULL || member[rank] ? tbx_true : tbx_false;
}

static const mad_configuration_t *configuration_of(p_mad_channel_t channel)
{
    return &channel->adapter->driver->madeleine->configuration;
}

static bool is_member(p_mad_channel_t channel)
{
    return mad_channel_has(channel, configuration_of(channel)->local_host_id);
}

/* ---- connections ----------------------------------------------------------------------------- */

static p_mad_connection_t connection_new(p_mad_channel_t channel, int rank,
                                         mad_connection_way_t way)
{
    struct mad_connection_full *full = calloc(1, sizeof(*full));

    if (full == NULL)
        return NULL;
    full->object.channel = channel;
    full->object.remote_host_id = rank;
    full->object.way = way;
    full->object.nb_link = 1;
    full->object.flushed = tbx_true;
    mad_gate_init(&full->gate);
    return &full->object;
}

static int links_init(p_mad_connection_t connection)
{
    const mad_driver_interface_t *interface = mad_interface(connection);
    int error = MAD_OK, i;

    connection->link = calloc((size_t)connection->nb_link, sizeof(*connection->link));
    if (connection->link == NULL)
        return MAD_ENOMEM;
    for (i = 0; i < connection->nb_link && error == MAD_OK; i++) {
        p_mad_link_t link = &connection->link[i];

        link->connection = connection;
        link->id = i;
        error = interface->link_init(link);
        assert(error != MAD_OK || link->link_mode != mad_link_mode_unknown);
        assert(error != MAD_OK || link->buffer_mode != mad_buffer_mode_unknown);
        assert(error != MAD_OK || link->group_mode != mad_group_mode_unknown);
    }
    return error;
}

static int pair_init(p_mad_channel_t channel, int rank)
{
    const mad_driver_interface_t *interface = interface_of(channel);
    p_mad_connection_t in = connection_new(channel, rank, mad_incoming_connection);
    p_mad_connection_t out = connection_new(channel, rank, mad_outgoing_connection);
    int error = MAD_OK;

    channel->input_connection[rank] = in;
    channel->output_connection[rank] = out;
    if (in == NULL || out == NULL)
        return MAD_ENOMEM;
    in->reverse = out;
    out->reverse = in;
    if (interface->connection_init != NULL)
        error = interface->connection_init(in, out);
    if (error == MAD_OK && (in->nb_link <= 0 || in->nb_link != out->nb_link))
        error = MAD_EDRIVER;
    if (error == MAD_OK)
        error = links_init(in);
    return error == MAD_OK ? links_init(out) : error;
}

static void links_fini(p_mad_connection_t connection)
{
    const mad_driver_interface_t *interface = mad_interface(connection);

    for (int i = 0; connection->link != NULL && i < connection->nb_link; i++) {
        if (interface->link_exit != NULL)
            interface->link_exit(&connection->link[i]);
        else
            free(connection->link[i].specific);
    }
    free(connection->link);
    connection->link = NULL;
}

static void connection_free(p_mad_connection_t connection)
{
    struct mad_connection_full *full = mad_full(connection);

    if (connection == NULL)
        return;
    mad_pools_fini(connection);
    mad_gate_fini(&full->gate);
    free(full->areas);
    mad_book_fini(connection);
    free(full);
}

static void pair_fini(p_mad_channel_t channel, int rank)
{
    const mad_driver_interface_t *interface = interface_of(channel);
    p_mad_connection_t in = channel->input_connection[rank];
    p_mad_connection_t out = channel->output_connection[rank];

    if (in != NULL && out != NULL) {
        links_fini(out);
        links_fini(in);
        if (interface->connection_exit != NULL) {
            interface->connection_exit(in, out);
        } else {
            if (out->specific != in->specific)
                free(out->specific);
            free(in->specific);
        }
    }
    connection_free(in);
    connection_free(out);
}

/* ---- the phases of opening and closing ------------------------------------------------------- */

static int connect_bidirectional(p_mad_channel_t channel)
{
    const mad_driver_interface_t *interface = interface_of(channel);
    int size = configuration_of(channel)->size, own = configuration_of(channel)->local_host_id;
    int error = MAD_OK, rank;

    for (rank = 0; rank < own && error == MAD_OK; rank++)
        if (mad_channel_has(channel, rank))
            error = interface->accept(channel);
    for (rank = own + 1; rank < size && error == MAD_OK; rank++)
        if (mad_channel_has(channel, rank))
            error = interface->connect(channel->output_connection[rank]);
    return error;
}

static int members(p_mad_channel_t channel)
{
    int count = 0;

    for (int rank = 0; rank < configuration_of(channel)->size; rank++)
        count += mad_channel_has(channel, rank);
    return count;
}

static int connect_unidirectional(p_mad_channel_t channel)
{
    const mad_driver_interface_t *interface = interface_of(channel);
    int size = configuration_of(channel)->size, own = configuration_of(channel)->local_host_id;
    int error = MAD_OK, rank, i;

    for (rank = 0; rank < size && error == MAD_OK; rank++) {
        if (rank == own)
            for (i = 1; i < members(channel) && error == MAD_OK; i++)
                error = interface->accept(channel);
        else if (mad_channel_has(channel, rank))
            error = interface->connect(channel->output_connection[rank]);
    }
    return error;
}

static int connect_all(p_mad_channel_t channel)
{
    const mad_driver_interface_t *interface = interface_of(channel);

    if (interface->accept == NULL || interface->connect == NULL)
        return MAD_OK;
    if (channel->adapter->driver->connection_type == mad_bidirectional_connection)
        return connect_bidirectional(channel);
    return connect_unidirectional(channel);
}

static void disconnect_all(p_mad_channel_t channel)
{
    const mad_driver_interface_t *interface = interface_of(channel);
    int size = configuration_of(channel)->size, own = configuration_of(channel)->local_host_id;
    int rank;

    if (interface->disconnect == NULL)
        return;
    if (channel->adapter->driver->connection_type == mad_bidirectional_connection) {
        for (rank = 0; rank < size; rank++)
            if (rank != own && mad_channel_has(channel, rank))
                interface->disconnect(rank < own ? channel->input_connection[rank]
                                                 : channel->output_connection[rank]);
        return;
    }
    for (rank = 0; rank < size; rank++)
        if (rank != own && mad_channel_has(channel, rank)) {
            interface->disconnect(channel->output_connection[rank]);
            interface->disconnect(channel->input_connection[rank]);
        }
}

static void channel_free(p_mad_channel_t channel)
{
    const mad_driver_interface_t *interface = interface_of(channel);
    int size = configuration_of(channel)->size;

    for (int rank = 0; rank < size && channel->output_connection != NULL; rank++)
        pair_fini(channel, rank);
    if (interface->channel_exit != NULL && is_member(channel))
        interface->channel_exit(channel);
    else
        free(channel->specific);
    mad_gate_fini(&mad_channel_full(channel)->gate);
    free(channel->input_connection);
    free(channel->output_connection);
    free(mad_channel_full(channel)->member);
    free(channel->name);
    free(channel);
}

static int connections_init(p_mad_channel_t channel)
{
    int size = configuration_of(channel)->size, error = MAD_OK, rank;

    channel->input_connection = calloc((size_t)size, sizeof(p_mad_connection_t));
    channel->output_connection = calloc((size_t)size, sizeof(p_mad_connection_t));
    if (channel->input_connection == NULL || channel->output_connection == NULL) {
        free(channel->output_connection);
        channel->output_connection = NULL;
        return MAD_ENOMEM;
    }
    for (rank = 0; rank < size && error == MAD_OK; rank++)
        error = pair_init(channel, rank);
    return error;
}

/* All processes open the same channel, else none of them connects. */
static int agree(p_mad_channel_t channel, struct mad_boot *boot, char *text, size_t size)
{
    const char *place = channel->adapter->place;
    char value[256], prefix[MAD_KEY_MAX], clash[MAD_KEY_MAX];
    int leader = 0;

    while (!mad_channel_has(channel, leader))
        leader++;

    snprintf(prefix, sizeof(prefix), "mad.o.%s", channel->name);
    snprintf(clash, sizeof(clash), "mad.x.ch%ld.0.0", channel->id); /* also if the names differ */
    snprintf(value, sizeof(value), "%ld,%d,%s,%d%s%s", channel->id, channel->adapter->id,
             channel->adapter->driver->name, mad_channel_full(channel)->check,
             place != NULL ? "," : "", place != NULL ? place : "");
    return mad_agree_with(boot, leader, prefix, clash, is_member(channel) ? value : NULL, text,
                          size);
}

/* A process that is not in the channel takes part in the fences. */
static int open_outside(p_mad_channel_t channel, struct mad_boot *boot, char *text, size_t size)
{
    int error = agree(channel, boot, text, size);

    return error == MAD_OK ? boot->ops->fence(boot) : error;
}

static int open_phases(p_mad_channel_t channel, struct mad_boot *boot, char *text, size_t size)
{
    const mad_driver_interface_t *interface = interface_of(channel);
    int error = optional(interface->channel_init, channel);

    if (error == MAD_OK)
        error = connections_init(channel);
    if (error == MAD_OK)
        error = optional(interface->before_open_channel, channel);
    if (error == MAD_OK)
        error = agree(channel, boot, text, size);
    if (error != MAD_OK)
        return error;
    error = connect_all(channel);
    if (error == MAD_OK)
        error = optional(interface->after_open_channel, channel);
    if (error == MAD_OK)
        error = boot->ops->fence(boot);
    if (error != MAD_OK) {
        snprintf(text, size, "%s",
                 mad_channel_full(channel)->note != NULL ? mad_channel_full(channel)->note : "");
        disconnect_all(channel);
    }
    return error;
}

static void list_append(p_mad_madeleine_t madeleine, p_mad_channel_t channel)
{
    p_mad_channel_t *place = &madeleine->channel;

    while (*place != NULL)
        place = &(*place)->next;
    *place = channel;
}

p_mad_channel_t mad_channel_open(p_mad_madeleine_t madeleine, const char *name,
                                 p_mad_adapter_t adapter, const bool *member, int check)
{
    struct mad_session *session = (struct mad_session *)madeleine;
    struct mad_channel_full *full = calloc(1, sizeof(*full));
    size_t size = (size_t)madeleine->configuration.size;
    char text[MAD_TEXT_MAX] = "";
    int error;

    if (full != NULL && member != NULL && (full->member = malloc(size)) != NULL)
        memcpy(full->member, member, size);
    if (full == NULL || (member != NULL && full->member == NULL) ||
        (full->object.name = strdup(name)) == NULL) {
        if (full != NULL)
            free(full->member);
        free(full);
        MAD_REPORT(MAD_ENOMEM, mad_error_text(MAD_ENOMEM), NULL, -1);
        return NULL;
    }
    full->object.id = madeleine->nb_channel++;
    full->object.adapter = adapter;
    full->check = check >= 0 ? check : session->check;
    mad_gate_init(&full->gate);
    mad_quiesce(madeleine);
    error = (is_member(&full->object) ? open_phases : open_outside)(&full->object, session->boot,
                                                                    text, sizeof(text));
    if (error == MAD_OK) {
        list_append(madeleine, &full->object);
        return &full->object;
    }
    channel_free(&full->object);
    MAD_REPORT(error, text[0] != '\0' ? text : mad_error_text(error), NULL, -1);
    return NULL;
}

/* ---- the calls ------------------------------------------------------------------------------- */

bool mad_channel_name_is_valid(const char *name)
{
    size_t length = name != NULL ? strlen(name) : 0;

    if (length == 0 || length > MAD_NAME_MAX)
        return false;
    for (; *name != '\0'; name++)
        if (!isalnum((unsigned char)*name) && *name != '_' && *name != '-')
            return false;
    return true;
}

p_mad_channel_t mad_open_for_members(p_mad_madeleine_t madeleine, const char *name,
                                     mad_adapter_id_t adapter, const bool *member, int check)
{
    if (madeleine == NULL || adapter < 0 || adapter >= madeleine->nb_adapter ||
        !mad_channel_name_is_valid(name)) {
        MAD_REPORT(MAD_EINVAL, "mad_open_channel: invalid argument", NULL, -1);
        return NULL;
    }
    return mad_channel_open(madeleine, name, &madeleine->adapter[adapter], member, check);
}

p_mad_channel_t mad_open_named_channel(p_mad_madeleine_t madeleine, const char *name,
                                       mad_adapter_id_t adapter)
{
    return mad_open_for_members(madeleine, name, adapter, NULL, -1);
}

p_mad_channel_t mad_open_channel_of(p_mad_madeleine_t madeleine, const char *name,
                                    mad_adapter_id_t adapter, int count,
                                    const ntbx_host_id_t *ranks)
{
    int size = madeleine != NULL ? madeleine->configuration.size : 0;
    bool *member = calloc((size_t)size + 1, sizeof(bool)), good = member != NULL && count > 0;
    p_mad_channel_t channel = NULL;

    for (int i = 0; i < count && good; i++) {
        good = ranks[i] >= 0 && ranks[i] < size;
        if (good)
            member[ranks[i]] = true;
    }
    if (good)
        channel = mad_open_for_members(madeleine, name, adapter, member, -1);
    else
        MAD_REPORT(MAD_EINVAL, "mad_open_channel_of: invalid rank", NULL, -1);
    free(member);
    return channel;
}

p_mad_channel_t mad_open_channel(p_mad_madeleine_t madeleine, mad_adapter_id_t adapter)
{
    char name[MAD_NAME_MAX + 1];

    snprintf(name, sizeof(name), "ch%ld", madeleine != NULL ? madeleine->nb_channel : 0);
    return mad_open_named_channel(madeleine, name, adapter);
}

static bool has_open_message(p_mad_channel_t channel)
{
    if (!is_member(channel))
        return false;
    for (int rank = 0; rank < configuration_of(channel)->size; rank++)
        if (channel->output_connection[rank]->lock)
            return true;
    return channel->reception_lock;
}

int mad_all_started(p_mad_channel_t channel, int error)
{
    struct mad_boot *boot = ((struct mad_session *)channel->adapter->driver->madeleine)->boot;
    char key[MAD_KEY_MAX], found[MAD_VALUE_MAX + 1], report[64];
    int boot_error = MAD_OK;

    snprintf(key, sizeof(key), "mad.x.ch%ld.0.1", channel->id);
    snprintf(report, sizeof(report), "rank:%d", configuration_of(channel)->local_host_id);
    if (error != MAD_OK)
        boot_error = boot->ops->put(boot, key, report);
    if (boot_error == MAD_OK)
        boot_error = boot->ops->fence(boot);
    if (boot_error == MAD_OK)
        boot_error = boot->ops->get(boot, -1, key, found, sizeof(found));
    if (error != MAD_OK || boot_error != MAD_OK)
        return error != MAD_OK ? error : boot_error;
    if (found[0] == '\0')
        return MAD_OK;
    mad_channel_fail(channel, MAD_ENOMEM, "another process cannot start its threads");
    return MAD_ENOMEM;
}

/* What a channel above others sends before all processes come to the fence. */
static void leave(p_mad_channel_t channel)
{
    if (mad_mux_is_main(channel))
        mad_mux_flush_all(mad_mux_sub_of(channel)->owner);
}

/* Its threads end; returns what is freed after it. */
static struct mad_mux *mux_stop(p_mad_channel_t channel)
{
    struct mad_mux *own = mad_mux_is_main(channel) ? mad_mux_sub_of(channel)->owner : NULL;

    if (own == NULL)
        return NULL;
    for (int i = own->sub_count - 1; i > 0; i--)
        mad_channel_close(own->subs[i].channel);
    mad_mux_stop(own);
    return own;
}

/*
 * Collective. The fence comes first: what a driver sends while it closes must not reach a process
 * that still waits for messages on the channel.
 */
int mad_channel_close(p_mad_channel_t channel)
{
    struct mad_boot *boot = ((struct mad_session *)channel->adapter->driver->madeleine)->boot;
    const mad_driver_interface_t *interface = interface_of(channel);
    p_mad_channel_t *place = &channel->adapter->driver->madeleine->channel;
    struct mad_virtual *own;
    struct mad_mux *mux;
    int error;

    leave(channel);
    mad_quiesce(channel->adapter->driver->madeleine);
    while (*place != channel)
        place = &(*place)->next;
    *place = channel->next;
    error = boot->ops->fence(boot);
    own = mad_virtual_of(channel);
    if (own != NULL)
        mad_virtual_stop(own); /* also if a process has gone */
    mux = mux_stop(channel);
    if (error == MAD_OK && is_member(channel))
        error = optional(interface->before_close_channel, channel);
    if (is_member(channel))
        disconnect_all(channel);
    if (error == MAD_OK && is_member(channel))
        error = optional(interface->after_close_channel, channel);
    if (error != MAD_OK)
        MAD_REPORT(error, mad_error_text(error), channel, -1);
    mad_directory_remove(channel->adapter->driver->madeleine, channel);
    channel_free(channel);
    if (own != NULL)
        mad_virtual_free(own);
    if (mux != NULL)
        mad_mux_free(mux);
    return error;
}

/* Whether a sub-channel of a multiplexed channel has an open message. */
static bool subs_have(p_mad_channel_t channel)
{
    const struct mad_mux *own = mad_mux_is_main(channel) ? mad_mux_sub_of(channel)->owner : NULL;

    for (int i = 1; own != NULL && i < own->sub_count; i++)
        if (has_open_message(own->subs[i].channel))
            return true;
    return false;
}

int mad_close_channel(p_mad_channel_t channel)
{
    if (channel == NULL || has_open_message(channel) || subs_have(channel)) {
        MAD_REPORT(MAD_ESTATE, "mad_close_channel: a message is open", channel, -1);
        return MAD_ESTATE;
    }
    if (mad_channel_full(channel)->part_of != NULL) {
        MAD_REPORT(MAD_ESTATE, "mad_close_channel: it is a part of a virtual channel", NULL, -1);
        return MAD_ESTATE;
    }
    if (mad_channel_full(channel)->rail_of != NULL ||
        (mad_mux_sub_of(channel) != NULL && !mad_mux_is_main(channel))) {
        MAD_REPORT(MAD_ESTATE, "mad_close_channel: it is a part of a multiplexed channel", NULL,
                   -1);
        return MAD_ESTATE;
    }
    return mad_channel_close(channel);
}

/* Channels that lie above others are closed before those. */
static p_mad_channel_t first_to_close(p_mad_madeleine_t madeleine)
{
    p_mad_channel_t each, virtual = NULL;

    for (each = madeleine->channel; each != NULL; each = each->next) {
        if (mad_mux_is_main(each))
            return each;
        if (virtual == NULL && mad_is_virtual(each))
            virtual = each;
    }
    return virtual != NULL ? virtual : madeleine->channel;
}

void mad_close_channels(p_mad_madeleine_t madeleine)
{
    while (madeleine->channel != NULL)
        mad_channel_close(first_to_close(madeleine));
}
