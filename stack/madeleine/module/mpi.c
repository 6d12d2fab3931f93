/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The MPI driver. Each channel has its own communicator. A message is announced by the sender's
 * rank with the tag SERVICE; each block, or group of blocks, is one MPI message with the tag
 * TRANSFER.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi_module.h"

enum {
    PIECE_BYTES = 1 << 30, /* counts are int in MPI; a larger block is several messages */
    ALIGNMENT = 32
};

static const mad_configuration_t *configuration_of(p_mad_channel_t channel)
{
    return &channel->adapter->driver->madeleine->configuration;
}

static bool peer_has_gone(int code)
{
#ifdef MPIX_ERR_PROC_FAILED
    int class_of_code = MPI_SUCCESS;

    return MPI_Error_class(code, &class_of_code) == MPI_SUCCESS &&
           class_of_code == MPIX_ERR_PROC_FAILED;
#else
    return false;
#endif
}

static int failed(p_mad_connection_t connection, int code)
{
    bool gone = peer_has_gone(code);

    mad_driver_note(connection, gone ? NULL : "MPI failed", code);
    return gone ? MAD_EPEER : MAD_EDRIVER;
}

/* ---- waiting --------------------------------------------------------------------------------- */

void mad_mpi_pause(unsigned *passes)
{
    mad_mpi_drop_refused();
    mad_mpi_sleep(passes);
}

/* A sender learns meanwhile that its peer refuses the message. */
static int complete(p_mad_connection_t connection, bool out, MPI_Request *request)
{
    unsigned passes = 0;
    int done = 0, code;

    for (;;) {
        code = MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS || done)
            return code;
        if (out)
            mad_mpi_poll_refusal(connection);
        mad_mpi_pause(&passes);
    }
}

/* ---- adapters, channels, connections --------------------------------------------------------- */

static int adapter_init(p_mad_adapter_t adapter)
{
    char name[32];

    if (!mad_mpi_start())
        return MAD_EDRIVER;
    snprintf(name, sizeof(name), "MPI%d", adapter->id);
    adapter->name = strdup(name);
    adapter->parameter = strdup("mpi");
    return adapter->name != NULL && adapter->parameter != NULL ? MAD_OK : MAD_ENOMEM;
}

static int adapter_exit(p_mad_adapter_t adapter)
{
    (void)adapter;
    mad_mpi_stop();
    return MAD_OK;
}

static int channel_init(p_mad_channel_t channel)
{
    struct mpi_channel *own = calloc(1, sizeof(*own));

    if (own == NULL)
        return MAD_ENOMEM;
    own->object = channel;
    own->own = configuration_of(channel)->local_host_id;
    own->last_served = configuration_of(channel)->size - 1; /* rank 0 is the first */
    channel->specific = own;
    return MAD_OK;
}

/* A communicator of the ranks that the channel has, in their order. */
static int create_for_members(p_mad_channel_t channel, struct mpi_channel *own)
{
    int size = configuration_of(channel)->size, count = 0, code;
    int *ranks = calloc((size_t)size, sizeof(*ranks));
    MPI_Group all, some;

    own->place = calloc((size_t)size, sizeof(*own->place));
    if (ranks == NULL || own->place == NULL) {
        free(ranks);
        return MAD_ENOMEM;
    }
    for (int rank = 0; rank < size; rank++)
        if (mad_channel_has(channel, rank)) {
            own->place[rank] = count;
            ranks[count++] = rank;
        }
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, count, ranks, &some);
    code =
        MPI_Comm_create_group(MPI_COMM_WORLD, some, (int)(channel->id % 1024), &own->communicator);
    MPI_Group_free(&some);
    MPI_Group_free(&all);
    free(ranks);
    return code == MPI_SUCCESS ? MAD_OK : MAD_EDRIVER;
}

static bool has_all(p_mad_channel_t channel)
{
    for (int rank = 0; rank < configuration_of(channel)->size; rank++)
        if (!mad_channel_has(channel, rank))
            return false;
    return true;
}

/* All processes have agreed on the channel, so all of them come here. */
static int after_open_channel(p_mad_channel_t channel)
{
    struct mpi_channel *own = channel->specific;
    int error = MAD_OK;

    if (!has_all(channel))
        error = create_for_members(channel, own);
    else if (MPI_Comm_dup(MPI_COMM_WORLD, &own->communicator) != MPI_SUCCESS)
        error = MAD_EDRIVER;
    if (error != MAD_OK)
        return error;
    own->open = true;
    MPI_Comm_set_errhandler(own->communicator, MPI_ERRORS_RETURN);
    mad_mpi_list(own);
    return MAD_OK;
}

static int channel_exit(p_mad_channel_t channel)
{
    struct mpi_channel *own = channel->specific;

    if (own != NULL && own->open)
        MPI_Comm_free(&own->communicator);
    if (own != NULL)
        free(own->place);
    free(own);
    return MAD_OK;
}

static int connection_init(p_mad_connection_t in, p_mad_connection_t out)
{
    in->specific = calloc(1, sizeof(struct mpi_connection));
    out->specific = calloc(1, sizeof(struct mpi_connection));
    in->nb_link = out->nb_link = 1;
    return in->specific != NULL && out->specific != NULL ? MAD_OK : MAD_ENOMEM;
}

static void connection_free(p_mad_connection_t connection)
{
    struct mpi_connection *own = connection->specific;

    if (own != NULL) {
        free(own->places);
        free(own->lengths);
    }
    free(own);
}

static int connection_exit(p_mad_connection_t in, p_mad_connection_t out)
{
    mad_mpi_unlist(in->channel->specific); /* while it has all its connections */
    connection_free(in);
    connection_free(out);
    return MAD_OK;
}

static int link_init(p_mad_link_t link)
{
    link->link_mode = mad_link_mode_buffer;
    link->buffer_mode = mad_buffer_mode_dynamic;
    link->group_mode = mad_group_mode_split;
    return MAD_OK;
}

/* ---- messages -------------------------------------------------------------------------------- */

static MPI_Comm communicator_of(p_mad_connection_t connection)
{
    return ((struct mpi_channel *)connection->channel->specific)->communicator;
}

static int send_bytes(p_mad_connection_t out, const void *bytes, int count, MPI_Datatype type,
                      int tag)
{
    MPI_Request request;
    int code;

    if (mad_mpi_refused(out))
        return MAD_ESYMM;
    code = MPI_Isend(bytes, count, type, mad_mpi_place(out->channel->specific, out->remote_host_id),
                     tag, communicator_of(out), &request);
    if (code == MPI_SUCCESS)
        code = complete(out, true, &request);
    if (code != MPI_SUCCESS)
        return failed(out, code);
    return mad_mpi_refused(out) ? MAD_ESYMM : MAD_OK;
}

static int receive_bytes(p_mad_connection_t in, void *bytes, int count, MPI_Datatype type)
{
    MPI_Request request;
    int code =
        MPI_Irecv(bytes, count, type, mad_mpi_place(in->channel->specific, in->remote_host_id),
                  TRANSFER, communicator_of(in), &request);

    if (code == MPI_SUCCESS)
        code = complete(in, false, &request);
    return code == MPI_SUCCESS ? MAD_OK : failed(in, code);
}

static int new_message(p_mad_connection_t out)
{
    struct mpi_connection *own = out->specific;

    own->armed = true;
    return MAD_OK;
}

/* Before the first data of a message: one without data does not exist for the receiver. */
static int announce(p_mad_connection_t out)
{
    const struct mpi_channel *channel = out->channel->specific;
    struct mpi_connection *own = out->specific;

    if (!own->armed)
        return MAD_OK;
    own->armed = false;
    return send_bytes(out, &channel->own, 1, MPI_INT, SERVICE);
}

static bool is_usable(const struct mpi_channel *own, int rank)
{
    p_mad_channel_t channel = own->object;

    return rank != own->own && mad_channel_has(channel, rank) &&
           mad_connection_error(channel->input_connection[rank]) == MAD_OK;
}

static bool any_left(const struct mpi_channel *own)
{
    for (int rank = 0; rank < configuration_of(own->object)->size; rank++)
        if (is_usable(own, rank))
            return true;
    return false;
}

/* Senders are served in turn, so each one is asked for. */
static p_mad_connection_t find_message(p_mad_channel_t channel)
{
    struct mpi_channel *own = channel->specific;
    int size = configuration_of(channel)->size, announced = -1, found, i, code = MPI_SUCCESS;

    for (i = 1; i <= size && code == MPI_SUCCESS; i++) {
        int rank = (own->last_served + i) % size;

        found = 0;
        if (is_usable(own, rank))
            code = MPI_Iprobe(mad_mpi_place(own, rank), SERVICE, own->communicator, &found,
                              MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS && peer_has_gone(code)) {
            mad_connection_break(channel->input_connection[rank], MAD_EPEER);
            mad_connection_break(channel->output_connection[rank], MAD_EPEER);
            code = MPI_SUCCESS;
        }
        if (!found || code != MPI_SUCCESS)
            continue;
        code = MPI_Recv(&announced, 1, MPI_INT, mad_mpi_place(own, rank), SERVICE,
                        own->communicator, MPI_STATUS_IGNORE);
        if (code == MPI_SUCCESS && announced == rank) {
            own->last_served = rank;
            return channel->input_connection[rank];
        }
        mad_channel_fail(channel, MAD_EWIRE, "the announcement of a message has a wrong rank");
        return NULL;
    }
    if (code != MPI_SUCCESS)
        mad_channel_fail(channel, MAD_EDRIVER, "MPI failed");
    return NULL;
}

static bool has_failed(p_mad_channel_t channel)
{
    return mad_channel_error(channel) != MAD_OK;
}

static p_mad_connection_t receive_message(p_mad_channel_t channel)
{
    p_mad_connection_t in;
    unsigned passes = 0;

    while ((in = find_message(channel)) == NULL && !has_failed(channel)) {
        if (!any_left(channel->specific)) {
            mad_channel_fail(channel, MAD_EPEER, "no peer is left");
            return NULL;
        }
        mad_mpi_pause(&passes);
    }
    return in;
}

static p_mad_connection_t poll_message(p_mad_channel_t channel)
{
    struct mpi_channel *own = channel->specific;
    p_mad_connection_t in = find_message(channel);

    if (in != NULL)
        own->idle = 0;
    else
        mad_mpi_polled(&own->idle);
    return in;
}

static int send_buffer(p_mad_link_t link, p_mad_buffer_t buffer)
{
    int error = announce(link->connection);

    while (buffer->bytes_read < buffer->bytes_written && error == MAD_OK) {
        size_t length = buffer->bytes_written - buffer->bytes_read;

        if (length > PIECE_BYTES)
            length = PIECE_BYTES;
        error = send_bytes(link->connection, (char *)buffer->buffer + buffer->bytes_read,
                           (int)length, MPI_CHAR, TRANSFER);
        buffer->bytes_read += length;
    }
    return error;
}

static int receive_buffer(p_mad_link_t link, p_mad_buffer_t *buffer)
{
    p_mad_buffer_t user = *buffer;
    int error = MAD_OK;

    while (user->bytes_written < user->length && error == MAD_OK) {
        size_t length = user->length - user->bytes_written;

        if (length > PIECE_BYTES)
            length = PIECE_BYTES;
        error = receive_bytes(link->connection, (char *)user->buffer + user->bytes_written,
                              (int)length, MPI_CHAR);
        user->bytes_written += length;
    }
    return error;
}

/* ---- groups: one element of a type that has all places --------------------------------------- */

static int reserve(struct mpi_connection *own, int count)
{
    MPI_Aint *places;
    int *lengths;

    if (count <= own->room)
        return MAD_OK;
    places = realloc(own->places, (size_t)count * sizeof(*places));
    if (places != NULL)
        own->places = places;
    lengths = realloc(own->lengths, (size_t)count * sizeof(*lengths));
    if (lengths != NULL)
        own->lengths = lengths;
    if (places == NULL || lengths == NULL)
        return MAD_ENOMEM;
    own->room = count;
    return MAD_OK;
}

static int count_pieces(p_mad_buffer_group_t group)
{
    size_t count = 0;

    for (p_mad_buffer_t each = group->buffer_list.first; each != NULL; each = each->next)
        count += (each->length + PIECE_BYTES - 1) / PIECE_BYTES;
    return (int)count;
}

static void add_pieces(struct mpi_connection *own, int *at, char *bytes, size_t length)
{
    while (length != 0) {
        size_t piece = length < PIECE_BYTES ? length : PIECE_BYTES;

        MPI_Get_address(bytes, &own->places[*at]);
        own->lengths[(*at)++] = (int)piece;
        bytes += piece;
        length -= piece;
    }
}

static int describe(p_mad_buffer_group_t group, bool out, MPI_Datatype *type)
{
    p_mad_connection_t connection = group->link->connection;
    struct mpi_connection *own = connection->specific;
    int count = count_pieces(group), at = 0, code, error = reserve(own, count);

    if (error != MAD_OK)
        return error;
    for (p_mad_buffer_t each = group->buffer_list.first; each != NULL; each = each->next) {
        add_pieces(own, &at, each->buffer, each->length);
        if (out)
            each->bytes_read = each->bytes_written;
        else
            each->bytes_written = each->length;
    }
    code = MPI_Type_create_hindexed(at, own->lengths, own->places, MPI_BYTE, type);
    if (code == MPI_SUCCESS)
        code = MPI_Type_commit(type);
    return code == MPI_SUCCESS ? MAD_OK : failed(connection, code);
}

static int send_buffer_group(p_mad_link_t link, p_mad_buffer_group_t group)
{
    MPI_Datatype type;
    int error = describe(group, true, &type);

    if (error != MAD_OK)
        return error;
    error = announce(link->connection);
    if (error == MAD_OK)
        error = send_bytes(link->connection, MPI_BOTTOM, 1, type, TRANSFER);
    MPI_Type_free(&type);
    return error;
}

static int receive_sub_buffer_group(p_mad_link_t link, tbx_bool_t first, p_mad_buffer_group_t group)
{
    MPI_Datatype type;
    int error;

    if (!first) { /* the group arrives as one message */
        mad_driver_note(link->connection, "group split error", 0);
        return MAD_EDRIVER;
    }
    error = describe(group, false, &type);
    if (error != MAD_OK)
        return error;
    error = receive_bytes(link->connection, MPI_BOTTOM, 1, type);
    MPI_Type_free(&type);
    return error;
}

const mad_driver_interface_t *mad_mpi_module_interface(void)
{
    static const mad_driver_interface_t table = {
        .abi_version = MAD_DRIVER_ABI,
        .adapter_init = adapter_init,
        .adapter_exit = adapter_exit,
        .channel_init = channel_init,
        .channel_exit = channel_exit,
        .connection_init = connection_init,
        .connection_exit = connection_exit,
        .link_init = link_init,
        .after_open_channel = after_open_channel,
        .new_message = new_message,
        .receive_message = receive_message,
        .poll_message = poll_message,
        .send_buffer = send_buffer,
        .receive_buffer = receive_buffer,
        .send_buffer_group = send_buffer_group,
        .receive_sub_buffer_group = receive_sub_buffer_group,
        .quiesce = mad_mpi_quiesce,
        .give_up = mad_mpi_give_up,
    };

    return &table;
}
