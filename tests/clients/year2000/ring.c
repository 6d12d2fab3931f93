/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A token passes all processes, each of which adds one; K&R definitions and globals, as they were
 * usual. */
#include <stdio.h>
#include <stdlib.h>
#include "madeleine.h"

p_mad_madeleine_t madeleine;
p_mad_channel_t channel;
int my_rank, size, laps = 5;

static void send_token(token) int token;
{
    p_mad_connection_t out = mad_begin_packing(channel, (my_rank + 1) % size);

    mad_pack(out, &token, sizeof(token), mad_send_SAFER, mad_receive_EXPRESS);
    token = -1;
    mad_end_packing(out);
}

static int receive_token()
{
    p_mad_connection_t in = mad_begin_unpacking(channel);
    int token;

    mad_unpack(in, &token, sizeof(token), mad_send_SAFER, mad_receive_EXPRESS);
    mad_end_unpacking(in);
    return token;
}

int main(argc, argv)
int argc;
char **argv;
{
    p_mad_adapter_set_t adapters = mad_adapter_set_init(1, mad_DRIVER_DEFAULT, NULL);
    int i, token = 0;

    /* the options of the library are gone then, and a file is what is left */
    madeleine = mad_init(&argc, argv, argc > 1 ? argv[1] : NULL, adapters);
    channel = mad_open_channel(madeleine, 0);
    my_rank = madeleine->configuration.local_host_id;
    size = madeleine->configuration.size;
    for (i = 0; i < laps; i++) {
        if (my_rank == 0)
            send_token(token);
        token = receive_token();
        if (my_rank != 0)
            send_token(token + 1);
    }
    DISP("%d on %s: token %d", my_rank, madeleine->configuration.host_name[my_rank], token);
    mad_exit(madeleine);
    return 0;
}
