/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A program as they were written in the year 2000: the configuration is a structure in the session,
 * the adapters are listed, the toolbox measures the time. Rank 0 sends an array whose length the
 * receiver learns from the message, and the last rank passes a sum on to rank 0.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "madeleine.h"

static const int param_length = 1000;

static void master(p_mad_madeleine_t madeleine, p_mad_channel_t channel)
{
    p_mad_connection_t connection;
    int *array, i, n, sum = 0;
    tbx_tick_t t1, t2;

    array = tbx_aligned_malloc(param_length * sizeof(int), 64);
    for (i = 0; i < param_length; i++)
        array[i] = i;

    TBX_GET_TICK(t1);
    for (i = 1; i < madeleine->configuration.size; i++) {
        n = param_length;
        connection = mad_begin_packing(channel, i);
        mad_pack(connection, &n, sizeof(int), mad_send_CHEAPER, mad_receive_EXPRESS);
        mad_pack(connection, array, n * sizeof(int), mad_send_CHEAPER, mad_receive_CHEAPER);
        mad_end_packing(connection);
    }

    for (i = 1; i < madeleine->configuration.size; i++) {
        int part = 0;

        connection = mad_begin_unpacking(channel);
        mad_unpack(connection, &part, sizeof(int), mad_send_SAFER, mad_receive_EXPRESS);
        mad_end_unpacking(connection);
        sum += part;
    }
    TBX_GET_TICK(t2);
    tbx_aligned_free(array, 64);

    printf("%s: sum %d\n", channel->adapter->name, sum);
    if (TBX_TIMING_DELAY(t1, t2) <= 0)
        FAILURE("the clock stands");
}

static void slave(p_mad_channel_t channel)
{
    p_mad_connection_t connection;
    int *array, i, n = 0, sum = 0;

    connection = mad_begin_unpacking(channel);
    mad_unpack(connection, &n, sizeof(int), mad_send_CHEAPER, mad_receive_EXPRESS);
    array = malloc(n * sizeof(int));
    mad_unpack(connection, array, n * sizeof(int), mad_send_CHEAPER, mad_receive_CHEAPER);
    mad_end_unpacking(connection);
    for (i = 0; i < n; i++)
        sum += array[i];
    free(array);

    connection = mad_begin_packing(channel, 0);
    mad_pack(connection, &sum, sizeof(int), mad_send_SAFER, mad_receive_EXPRESS);
    mad_end_packing(connection);
}

int main(int argc, char **argv)
{
    p_mad_madeleine_t madeleine;
    p_mad_adapter_set_t adapter_set;
    p_mad_channel_t channel;

    adapter_set = mad_adapter_set_init(1, mad_DRIVER_DEFAULT, NULL);
    madeleine = mad_init(&argc, argv, NULL, adapter_set);
    channel = mad_open_channel(madeleine, 0);
    DISP("process %d of %d, %d arguments", (int)madeleine->configuration.local_host_id,
         (int)madeleine->configuration.size, argc);
    if (madeleine->configuration.local_host_id == 0)
        master(madeleine, channel);
    else
        slave(channel);
    mad_exit(madeleine);
    return 0;
}
