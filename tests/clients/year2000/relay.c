/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Two clusters that a gateway joins: the master sends an array to each process, which sends back
 * its sum; then a token passes all processes. Started with -master, -slave, -rank and -conf. */
#include <stdio.h>
#include <stdlib.h>
#include "madeleine.h"

#define LENGTH 100000

p_mad_madeleine_t madeleine;
p_mad_channel_t channel;
int my_rank, size;

static void send_array(to) int to;
{
    p_mad_connection_t out = mad_begin_packing(channel, to);
    int n = LENGTH - to, sum = 0, i;
    int *array = tbx_aligned_malloc(n * sizeof(int), 64);

    mad_pack(out, &n, sizeof(int), mad_send_SAFER, mad_receive_EXPRESS);
    mad_pack(out, array, n * sizeof(int), mad_send_LATER, mad_receive_CHEAPER);
    mad_pack(out, &sum, sizeof(int), mad_send_LATER, mad_receive_CHEAPER);
    n = -1;
    for (i = 0; i < LENGTH - to; i++)
        sum += array[i] = i % 1000 + to;
    mad_end_packing(out);
    tbx_aligned_free(array, 64);
}

static void receive_array()
{
    p_mad_connection_t connection = mad_begin_unpacking(channel);
    int n, expected, sum = 0, i, *array;

    mad_unpack(connection, &n, sizeof(int), mad_send_SAFER, mad_receive_EXPRESS);
    array = malloc(n * sizeof(int));
    mad_unpack(connection, array, n * sizeof(int), mad_send_LATER, mad_receive_CHEAPER);
    mad_unpack(connection, &expected, sizeof(int), mad_send_LATER, mad_receive_CHEAPER);
    mad_end_unpacking(connection);
    for (i = 0; i < n; i++)
        sum += array[i];
    if (sum != expected)
        FAILURE("the array is wrong");
    free(array);

    connection = mad_begin_packing(channel, 0);
    mad_pack(connection, &n, sizeof(int), mad_send_CHEAPER, mad_receive_CHEAPER);
    mad_end_packing(connection);
}

static void master()
{
    p_mad_connection_t in;
    int i, n, sum = 0;

    for (i = 1; i < size; i++)
        send_array(i);
    for (i = 1; i < size; i++) {
        in = mad_begin_unpacking(channel);
        mad_unpack(in, &n, sizeof(int), mad_send_CHEAPER, mad_receive_CHEAPER);
        mad_end_unpacking(in);
        sum += LENGTH - n;
    }
    DISP("sum of the ranks: %d", sum);
}

static int pass_token(token)
int token;
{
    p_mad_connection_t in, out;

    if (my_rank != 0) {
        in = mad_begin_unpacking(channel);
        mad_unpack(in, &token, sizeof(token), mad_send_CHEAPER, mad_receive_EXPRESS);
        mad_end_unpacking(in);
        token++;
    }
    out = mad_begin_packing(channel, (my_rank + 1) % size);
    mad_pack(out, &token, sizeof(token), mad_send_CHEAPER, mad_receive_EXPRESS);
    mad_end_packing(out);
    if (my_rank == 0) {
        in = mad_begin_unpacking(channel);
        mad_unpack(in, &token, sizeof(token), mad_send_CHEAPER, mad_receive_EXPRESS);
        mad_end_unpacking(in);
    }
    return token;
}

int main(argc, argv)
int argc;
char **argv;
{
    int token;

    madeleine = mad_init(&argc, argv, NULL, NULL);
    channel = mad_get_channel(madeleine, "whole");
    my_rank = madeleine->configuration.local_host_id;
    size = madeleine->configuration.size;
    if (my_rank == 0)
        master();
    else
        receive_array();
    token = pass_token(0);
    DISP("%d of %d, %s: token %d", my_rank, size, argc == 2 ? argv[1] : "?", token);
    mad_exit(madeleine);
    return 0;
}
