/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A program of 2000 with the three forms of the start that its library could be built for. */
#include <stdio.h>
#include <stdlib.h>
#include <madeleine.h>

static int unused(void) TBX_UNUSED;

static int unused(void)
{
    return 0;
}

int main(int argc, char **argv)
{
    p_mad_madeleine_t madeleine;
    p_mad_channel_t channel;
    p_mad_connection_t connection;
    int value = 17, rank;

#if defined(APPLICATION_SPAWN)
    char *url = mad_pre_init(mad_adapter_set_init(1, mad_TCP, NULL));

    DISP("%.10s", url);
    if (argc > 1)
        madeleine = mad_init(-1, NULL, argv[1]);
    else
        madeleine = mad_init(-1, NULL, NULL);
    free(url);
#elif defined(LEONIE_SPAWN)
    madeleine = mad_init(&argc, argv);
#else
    madeleine = mad_init(&argc, argv, NULL, mad_adapter_set_init(1, mad_TCP, NULL));
#endif
    rank = madeleine->configuration.local_host_id;
    channel = mad_open_channel(madeleine, 0);
    if (rank == 0) {
        connection = mad_begin_packing(channel, 1);
        mad_pack(connection, &value, sizeof(int), mad_send_SAFER, mad_receive_EXPRESS);
        mad_end_packing(connection);
    } else {
        value = 0;
        connection = mad_begin_unpacking(channel);
        mad_unpack(connection, &value, sizeof(int), mad_send_SAFER, mad_receive_EXPRESS);
        mad_end_unpacking(connection);
        printf("%s: %d from %d\n", channel->adapter->name, value, connection->remote_rank);
    }
    mad_exit(madeleine);
    return 0;
}
