/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A program as they were written in 2008 for the last Madeleine II: the configuration is a pointer
 * in the session, and the library is started by common_init. A token goes round all
 * processes, in as many sessions one after the other as the first argument says.
 */
#include <stdio.h>
#include <stdlib.h>
#include "pm2_common.h"

static char token[64] MAD_ALIGNED;

static void send_token(p_mad_channel_t channel, ntbx_host_id_t to)
{
    p_mad_connection_t out = mad_begin_packing(channel, to);

    mad_pack(out, token, sizeof(token), mad_send_SAFER, mad_receive_EXPRESS);
    mad_end_packing(out);
}

static void receive_token(p_mad_channel_t channel)
{
    p_mad_connection_t in = mad_begin_unpacking(channel);

    mad_unpack(in, token, sizeof(token), mad_send_SAFER, mad_receive_EXPRESS);
    mad_end_unpacking(in);
}

static void session(int *argc, char **argv)
{
    common_attr_t attr;
    p_mad_madeleine_t madeleine;
    p_mad_channel_t channel;
    int rank, size;

    common_attr_init(&attr);
    common_init(argc, argv, &attr);
    madeleine = attr.madeleine;
    rank = madeleine->configuration->local_host_id;
    size = madeleine->configuration->size;
    channel = mad_open_channel(madeleine, 0);
    if (rank == 0) {
        snprintf(token, sizeof(token), "the token");
        send_token(channel, 1);
        receive_token(channel);
        printf("%s has passed %d processes\n", token, size);
    } else {
        receive_token(channel);
        send_token(channel, (rank + 1) % size);
    }
    common_exit(&attr);
}

int main(int argc, char **argv)
{
    struct {
        char first;
        int aligned TBX_ALIGN(64);
    } probe;
    int i, sessions = argc > 1 ? atoi(argv[1]) : 1;

    if ((size_t)((char *)&probe.aligned - &probe.first) % 64 != 0)
        FAILURE("no alignment");
    for (i = 0; i < sessions; i++)
        session(&argc, argv);
    return 0;
}
