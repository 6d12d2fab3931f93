/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Several threads of one rank: who waits for whom, and messages that change their thread. */
#define _GNU_SOURCE
#include <pthread.h>

#include "ranks.h"

enum { THREADS = 8, EACH = 500 };

static const char *driver;

struct sender {
    p_mad_channel_t channel;
    int number;
    pthread_t thread;
};

static void *send_many(void *argument)
{
    struct sender *sender = argument;

    for (int i = 0; i < EACH; i++) {
        int pair[2] = {sender->number, i};
        p_mad_connection_t out = mad_begin_packing(sender->channel, 1);

        CHECK(out != NULL);
        mad_pack(out, &pair[0], sizeof(int), S, E);
        mad_pack(out, &pair[1], sizeof(int), C, R);
        mad_end_packing(out);
    }
    return NULL;
}

/* The messages that were received of each sending thread. */
static int received[THREADS];

static void *receive_many(void *argument)
{
    p_mad_channel_t channel = argument;

    for (int i = 0; i < EACH * THREADS / 2; i++) {
        int pair[2] = {-1, -1};
        p_mad_connection_t in = mad_begin_unpacking(channel);

        CHECK(in != NULL);
        mad_unpack(in, &pair[0], sizeof(int), S, E);
        mad_unpack(in, &pair[1], sizeof(int), C, R);
        CHECK(pair[0] >= 0 && pair[0] < THREADS);
        mad_end_unpacking(in);
        CHECK(pair[1] >= 0 && pair[1] < EACH);
        __atomic_fetch_add(&received[pair[0]], 1, __ATOMIC_SEQ_CST);
    }
    return NULL;
}

static void many_threads(p_mad_madeleine_t session, int rank)
{
    p_mad_channel_t channel = mad_open_channel(session, 0);
    struct sender senders[THREADS];
    pthread_t receivers[2];
    int i;

    for (i = 0; rank == 0 && i < THREADS; i++) {
        senders[i] = (struct sender){.channel = channel, .number = i};
        CHECK(pthread_create(&senders[i].thread, NULL, send_many, &senders[i]) == 0);
    }
    for (i = 0; rank == 0 && i < THREADS; i++)
        pthread_join(senders[i].thread, NULL);
    for (i = 0; rank == 1 && i < 2; i++)
        CHECK(pthread_create(&receivers[i], NULL, receive_many, channel) == 0);
    for (i = 0; rank == 1 && i < 2; i++)
        pthread_join(receivers[i], NULL);
    for (i = 0; rank == 1 && i < THREADS; i++)
        CHECK(__atomic_exchange_n(&received[i], 0, __ATOMIC_SEQ_CST) == EACH);
}

static void mad_37_mad_38_threads_wait_for_each_other(void **state)
{
    mad_set_threads(1);
    ranks_run_clean(2, driver, many_threads);
    mad_set_threads(0);
}

/* ---- eight threads and eight peers ----------------------------------------------------------- */

enum { MESSAGES = 12500 }; /* of each thread */

static void *send_to_peer(void *argument)
{
    struct sender *sender = argument;

    for (int i = 0; i < MESSAGES; i++)
        ranks_send(sender->channel, sender->number, i);
    return NULL;
}

static void *receive_of_rank_0(void *argument)
{
    for (int i = 0; i < MESSAGES; i++)
        CHECK(ranks_receive(argument, NULL) == i);
    return NULL;
}

static void eight_peers(p_mad_madeleine_t session, int rank)
{
    p_mad_channel_t channel = mad_open_channel(session, 0);
    struct sender senders[THREADS];
    pthread_t receiver;
    int i;

    if (rank != 0) {
        CHECK(pthread_create(&receiver, NULL, receive_of_rank_0, channel) == 0);
        pthread_join(receiver, NULL);
        return;
    }
    for (i = 0; i < THREADS; i++) {
        senders[i] = (struct sender){.channel = channel, .number = i + 1};
        CHECK(pthread_create(&senders[i].thread, NULL, send_to_peer, &senders[i]) == 0);
    }
    for (i = 0; i < THREADS; i++)
        pthread_join(senders[i].thread, NULL);
}

static void mad_39_eight_threads_and_eight_peers(void **state)
{
    mad_set_threads(1);
    ranks_run_clean(THREADS + 1, driver, eight_peers);
    mad_set_threads(0);
}

struct open_message {
    p_mad_connection_t in;
    int number;
};

static void *finish(void *argument)
{
    struct open_message *message = argument;

    mad_unpack(message->in, &message->number, sizeof(int), C, E);
    mad_end_unpacking(message->in);
    return NULL;
}

static void handed_over(p_mad_madeleine_t session, int rank)
{
    p_mad_channel_t channel = mad_open_channel(session, 0);
    struct open_message message = {.number = 0};
    pthread_t thread;
    int i, number;

    for (i = 0; i < 20; i++) {
        if (rank == 0) {
            p_mad_connection_t out = mad_begin_packing(channel, 1);

            mad_pack(out, &i, sizeof(int), S, E);
            number = i + 1000;
            mad_pack(out, &number, sizeof(int), C, E);
            mad_end_packing(out);
            continue;
        }
        message.in = mad_begin_unpacking(channel);
        mad_unpack(message.in, &number, sizeof(int), S, E);
        CHECK(number == i);
        CHECK(pthread_create(&thread, NULL, finish, &message) == 0);
        pthread_join(thread, NULL);
        CHECK(message.number == i + 1000);
    }
}

static void mad_40_another_thread_ends_the_message(void **state)
{
    mad_set_threads(1);
    ranks_run_clean(2, driver, handed_over);
    mad_set_threads(0);
}

/* ---- both directions ------------------------------------------------------------------------- */

static void *receive_all(void *argument)
{
    for (int i = 0; i < EACH; i++)
        CHECK(ranks_receive(argument, NULL) == i);
    return NULL;
}

/* TH3: each rank sends while a thread of it waits for those of the other one. */
static void both_directions(p_mad_madeleine_t session, int rank)
{
    p_mad_channel_t channel = mad_open_channel(session, 0);
    pthread_t receiver;

    CHECK(pthread_create(&receiver, NULL, receive_all, channel) == 0);
    for (int i = 0; i < EACH; i++)
        ranks_send(channel, 1 - rank, i);
    pthread_join(receiver, NULL);
}

static void directions_do_not_wait_for_each_other(void **state)
{
    mad_set_threads(1);
    ranks_run_clean(2, driver, both_directions);
    mad_set_threads(0);
}

int main(void)
{
    static const char *const drivers[] = {"tcp", "loop", "shm"};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mad_37_mad_38_threads_wait_for_each_other),
        cmocka_unit_test(mad_39_eight_threads_and_eight_peers),
        cmocka_unit_test(mad_40_another_thread_ends_the_message),
        cmocka_unit_test(directions_do_not_wait_for_each_other),
    };
    int failed = 0;

    for (int i = 0; i < 3; i++) {
        driver = drivers[i];
        failed += cmocka_run_group_tests_name(driver, tests, NULL, NULL);
    }
    return failed;
}
