/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Madeleine over MPI, with MPI's calls counted by its profiling interface: each channel has its own
 * communicator, and blocks that are sent as a group arrive by one receive.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <mpi.h>
#include "madeleine.h"

enum { TRANSFER = 1, GROUP = 5 };

static int receives, different;
static MPI_Comm last = MPI_COMM_NULL;

int MPI_Irecv(void *buffer, int count, MPI_Datatype type, int source, int tag,
              MPI_Comm communicator, MPI_Request *request)
{
    receives += tag == TRANSFER;
    different += last != MPI_COMM_NULL && last != communicator;
    last = communicator;
    return PMPI_Irecv(buffer, count, type, source, tag, communicator, request);
}

static void require(int condition, const char *text)
{
    if (!condition) {
        fprintf(stderr, "mpi_groups: %s\n", text);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void send_number(p_mad_channel_t channel, int number)
{
    p_mad_connection_t out = mad_begin_packing(channel, 1);

    mad_pack(out, &number, sizeof(number), mad_send_SAFER, mad_receive_EXPRESS);
    mad_end_packing(out);
}

static int receive_number(p_mad_channel_t channel)
{
    p_mad_connection_t in = mad_begin_unpacking(channel);
    int number = 0;

    mad_unpack(in, &number, sizeof(number), mad_send_SAFER, mad_receive_EXPRESS);
    mad_end_unpacking(in);
    return number;
}

/* LATER blocks leave as one group at the end. */
static void exchange_group(p_mad_channel_t channel, int rank)
{
    p_mad_connection_t connection;
    char blocks[GROUP][1000];
    int i;

    memset(blocks, 0, sizeof(blocks));
    connection = rank == 0 ? mad_begin_packing(channel, 1) : mad_begin_unpacking(channel);
    for (i = 0; i < GROUP; i++) {
        size_t length = (size_t)(i + 1) * 200;

        if (rank == 0)
            mad_pack(connection, blocks[i], length, mad_send_LATER, mad_receive_CHEAPER);
        else
            mad_unpack(connection, blocks[i], length, mad_send_LATER, mad_receive_CHEAPER);
        if (rank == 0)
            memset(blocks[i], i + 1, length);
    }
    receives = 0;
    if (rank == 0)
        mad_end_packing(connection);
    else
        mad_end_unpacking(connection);
    require(receives == (rank == 0 ? 0 : 1), "the group did not arrive by one receive");
    for (i = 0; i < GROUP; i++)
        require(blocks[i][(i + 1) * 200 - 1] == i + 1, "wrong data");
}

static void choice(p_mad_channel_t channel, int rank)
{
    static const size_t lengths[] = {1, 1024, 1025, 65536, 1 << 30};
    p_mad_connection_t out = channel->output_connection[1 - rank];
    const mad_link_t *link = &out->link[0];

    require(out->nb_link == 1, "there are other transfer methods");
    require(link->buffer_mode == mad_buffer_mode_dynamic &&
                link->group_mode == mad_group_mode_split,
            "the properties of the transfer method are others");
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
        for (int send = mad_send_SAFER; send <= mad_send_CHEAPER; send++)
            for (int receive = mad_receive_EXPRESS; receive <= mad_receive_CHEAPER; receive++)
                if (channel->adapter->driver->interface->choice != NULL)
                    require(channel->adapter->driver->interface->choice(
                                out, lengths[i], (mad_send_mode_t)send,
                                (mad_receive_mode_t)receive) == link,
                            "a block has another transfer method");
}

int main(int argc, char **argv)
{
    p_mad_madeleine_t madeleine = mad_init(&argc, argv, NULL, NULL);
    p_mad_channel_t first, second, tcp;
    int rank = madeleine->configuration.local_host_id;

    require(mad_protocol_available(madeleine, "mpi") == mad_MPI, "no driver");
    require(madeleine->configuration.size == 2, "wrong size");
    first = mad_open_channel(madeleine, 0);
    second = mad_open_channel(madeleine, 0);
    tcp = mad_open_channel(madeleine, 1);
    require(strcmp(first->adapter->name, "MPI0") == 0 && strcmp(tcp->adapter->name, "TCP1") == 0,
            "wrong adapters");
    if (rank == 0) {
        send_number(tcp, 3);
        send_number(second, 2);
        send_number(first, 1);
    } else {
        require(receive_number(first) == 1, "wrong message on the first channel");
        require(receive_number(second) == 2, "wrong message on the second channel");
        require(receive_number(tcp) == 3, "wrong message over TCP");
        require(different == 1, "the channels have one communicator");
    }
    exchange_group(first, rank);
    choice(first, rank);
    mad_exit(madeleine);
    madeleine =
        mad_init(&argc, argv, NULL, NULL); /* MPI does not start again, but a session does */
    require(mad_open_channel(madeleine, 0) != NULL, "no second session");
    mad_exit(madeleine);
    if (rank == 1)
        printf("good\n");
    return 0;
}
