/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A thread that cannot be started while a virtual or a multiplexed channel opens, in one of three
 * processes: all of them learn it, and go on with the channels below. Then both are opened and
 * closed, and the channels below can be used again.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <madeleine.h>

#define CHECK(condition)                                                    \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                        \
        }                                                                   \
    } while (0)

static int failures, last_code, fails_at, started, rank;

/* In place of that of the C library. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *arg)
{
    int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
        (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(
            RTLD_NEXT, "pthread_create");

    return ++started == fails_at ? EAGAIN : next(thread, attributes, run, arg);
}

static void on_failure(const mad_failure_t *failure, void *arg)
{
    failures++;
    last_code = failure->code;
}

static void pass(p_mad_channel_t channel, int from, int to)
{
    p_mad_connection_t connection;
    int number = 7;

    if (rank == from) {
        connection = mad_begin_packing(channel, to);
        CHECK(connection != NULL);
        mad_pack(connection, &number, sizeof(number), mad_send_CHEAPER, mad_receive_CHEAPER);
        mad_end_packing(connection);
    }
    if (rank == to) {
        number = 0;
        connection = mad_begin_unpacking(channel);
        CHECK(connection != NULL);
        mad_unpack(connection, &number, sizeof(number), mad_send_CHEAPER, mad_receive_CHEAPER);
        mad_end_unpacking(connection);
        CHECK(number == 7);
    }
}

static p_mad_channel_t open_above(p_mad_madeleine_t session, const p_mad_channel_t *parts,
                                  const p_mad_channel_t *rails, int kind)
{
    static const char *const names[] = {"sub"};

    return kind == 0 ? mad_open_virtual_channel(session, "above", 2, parts)
                     : mad_open_multiplexed_channel(session, "above", 2, rails, 1, names, 0);
}

/* `threads`: as many as rank 1 starts. */
static void try(p_mad_madeleine_t session, const p_mad_channel_t *parts,
                const p_mad_channel_t *rails, int kind, int threads)
{
    p_mad_channel_t above;

    for (int at = 1; at <= threads + 1; at++) {
        failures = started = 0;
        fails_at = rank == 1 && at <= threads ? at : 0;
        above = open_above(session, parts, rails, kind);
        if (at <= threads) {
            CHECK(above == NULL && failures == 1 && last_code == MAD_ENOMEM);
        } else {
            CHECK(above != NULL && failures == 0 && (rank != 1 || started == threads));
            pass(above, 0, 2);
            CHECK(mad_close_channel(above) == MAD_OK);
        }
        pass(parts[0], 0, 1);
        pass(parts[1], 2, 1);
        pass(rails[0], 2, 0);
        pass(rails[1], 0, 2);
        CHECK(failures == (at <= threads));
    }
}

int main(int argc, char **argv)
{
    static const ntbx_host_id_t left[] = {0, 1}, right[] = {1, 2};
    p_mad_madeleine_t session = mad_init(&argc, argv, NULL, NULL);
    p_mad_channel_t parts[2], rails[2];

    CHECK(session != NULL && session->configuration.size == 3);
    rank = session->configuration.local_host_id;
    mad_set_failure_handler(on_failure, NULL);
    parts[0] = mad_open_channel_of(session, "left", 0, 2, left);
    parts[1] = mad_open_channel_of(session, "right", 1, 2, right);
    rails[0] = mad_open_channel(session, 0);
    rails[1] = mad_open_channel(session, 1);
    try(session, parts, rails, 0, 6); /* it is a gateway: two receive on each part, two send */
    try(session, parts, rails, 1, 3);
    mad_exit(session);
    printf("good\n");
    return 0;
}
