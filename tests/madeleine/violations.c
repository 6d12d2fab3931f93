/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections that break, on the adapter that MAD_ADAPTERS names first: the receiver's blocks are
 * others than the sender's, or processes have gone. A rank prints the case's name when all is good.
 */
#include "drivers.h"

/* A check level finds that the receiver's blocks are others: the sender of a long one learns it. */
static void violate(p_mad_channel_t channel)
{
    static char large[16 << 20]; /* more than the buffers of sockets hold */
    p_mad_connection_t connection;
    int number = 1;

    mad_set_failure_handler(on_failure, NULL);
    if (rank == 0) {
        connection = mad_begin_packing(channel, 1);
        mad_pack(connection, &number, sizeof(number), S, E);
        mad_pack(connection, large, sizeof(large), C, E);
        mad_end_packing(connection);
        CHECK(failures == 1 && (last_code == MAD_EPEER || last_code == MAD_ESYMM));
    } else if (rank == 1) {
        connection = mad_begin_unpacking(channel);
        mad_unpack(connection, large, sizeof(number) / 2, S, E);
        CHECK(failures == 1 && last_code == MAD_ESYMM);
        mad_end_unpacking(connection);
        CHECK(failures == 1);
    }
    mad_set_failure_handler(NULL, NULL);
}

/* Other channels get on. */
static void violation(p_mad_channel_t channel)
{
    violate(channel);
    barrier();
}

/*
 * Rank 1 does not wait for messages any more: it opens a channel while rank 0 sends to rank 2, and
 * closes all channels. No call of that fails.
 */
static void violation_of_three(p_mad_channel_t channel)
{
    int i;

    violate(channel);
    for (i = 0; i < 200 && rank != 1; i++) {
        if (rank == 0)
            send(channel, 2, i);
        else
            CHECK(receive(channel, NULL) == i);
    }
    CHECK(mad_open_channel(session, 0) != NULL);
}

/*
 * The message is short, so that it has left before the receiver finds that its blocks are others.
 * The sender does not use the connection again, and all channels close.
 */
static void violation_at_the_end(p_mad_channel_t channel)
{
    p_mad_connection_t connection;
    int number = 1;

    if (rank == 0) {
        mad_set_failure_handler(on_failure, NULL); /* a fast receiver refuses what is being sent */
        send(channel, 1, number);
        mad_set_failure_handler(NULL, NULL);
    } else if (rank == 1) {
        mad_set_failure_handler(on_failure, NULL);
        connection = mad_begin_unpacking(channel);
        mad_unpack(connection, &number, sizeof(number) / 2, S, E);
        mad_end_unpacking(connection);
        CHECK(failures == 1 && last_code == MAD_ESYMM);
        mad_set_failure_handler(NULL, NULL);
    }
    barrier();
}

/* Rank 0 polls, and learns that the others have gone: one has sent a message before. */
static void poll_deserted(p_mad_channel_t channel)
{
    p_mad_connection_t in = NULL;
    int number = -1;

    mad_set_failure_handler(on_failure, NULL);
    if (rank == 1)
        send(channel, 0, 7);
    if (rank != 0)
        _exit(0);
    while (mad_connection_error(channel->input_connection[2]) == MAD_OK || number < 0) {
        in = mad_message_ready(channel);
        if (in == NULL)
            continue;
        CHECK(in->remote_host_id == 1);
        mad_unpack(in, &number, sizeof(number), S, E);
        mad_end_unpacking(in);
    }
    CHECK(number == 7);
    while (mad_connection_error(channel->input_connection[1]) == MAD_OK)
        CHECK(mad_message_ready(channel) == NULL);
    printf("both have gone\n");
    fflush(stdout);
    _exit(0); /* the session cannot end in order any more */
}

static const struct driver_case cases[] = {
    {"violation", violation},
    {"violation_of_three", violation_of_three},
    {"violation_at_the_end", violation_at_the_end},
    {"poll_deserted", poll_deserted},
};

int main(int argc, char **argv)
{
    return run_case(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
