/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What every driver must do: one case for each argument, on the adapter that MAD_ADAPTERS names
 * first. It runs between processes and in simulation. A rank prints the case's name when all is
 * good, and ends with 1 otherwise.
 */
#include <pthread.h>

#include "drivers.h"

/* ---- contents and modes ---------------------------------------------------------------------- */

static const size_t sizes[] = {1,    360,  361,  512,   513,   1024,   1025,   5120,
                               5121, 8192, 8193, 32768, 32769, 192000, 1000000};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]), MODES = 6 };

static const struct {
    mad_send_mode_t send;
    mad_receive_mode_t receive;
} modes[MODES] = {{S, E}, {S, R}, {L, E}, {L, R}, {C, E}, {C, R}};

static bool all_are(const char *memory, size_t length, int value)
{
    for (size_t i = 0; i < length; i++)
        if (memory[i] != value)
            return false;
    return true;
}

static void pack_changing(p_mad_channel_t channel, char *memory, size_t length, int mode)
{
    p_mad_connection_t out = mad_begin_packing(channel, 1);

    memset(memory, modes[mode].send == L ? 0x7E : mode + 1, length);
    mad_pack(out, memory, length, modes[mode].send, modes[mode].receive);
    if (modes[mode].send == S)
        memset(memory, 0x7E, length);
    if (modes[mode].send == L)
        memset(memory, mode + 1, length);
    mad_end_packing(out);
    memset(memory, 0x7D, length);
}

static void unpack_checking(p_mad_channel_t channel, char *memory, size_t length, int mode)
{
    p_mad_connection_t in = mad_begin_unpacking(channel);

    mad_unpack(in, memory, length, modes[mode].send, modes[mode].receive);
    if (modes[mode].receive == E)
        CHECK(all_are(memory, length, mode + 1));
    mad_end_unpacking(in);
    CHECK(all_are(memory, length, mode + 1));
}

static void every_size_and_mode(p_mad_channel_t channel)
{
    char *memory = malloc(1000000);

    CHECK(memory != NULL);
    for (int i = 0; i < SIZES; i++)
        for (int mode = 0; mode < MODES; mode++) {
            if (rank == 0)
                pack_changing(channel, memory, sizes[i], mode);
            else
                unpack_checking(channel, memory, sizes[i], mode);
        }
    free(memory);
}

static void figure_1(p_mad_channel_t channel)
{
    static const int lengths[] = {0, 1, 1000, 1000000};
    p_mad_connection_t connection;
    char *array;
    int n;

    for (int i = 0; i < 4; i++) {
        n = rank == 0 ? lengths[i] : -1;
        connection = rank == 0 ? mad_begin_packing(channel, 1) : mad_begin_unpacking(channel);
        if (rank == 0)
            mad_pack(connection, &n, sizeof(n), C, E);
        else
            mad_unpack(connection, &n, sizeof(n), C, E);
        CHECK(n == lengths[i]);
        array = malloc((size_t)n + 1);
        CHECK(array != NULL);
        memset(array, rank == 0 ? i + 1 : 0, (size_t)n + 1);
        if (rank == 0) {
            mad_pack(connection, array, (size_t)n, C, R);
            mad_end_packing(connection);
        } else {
            mad_unpack(connection, array, (size_t)n, C, R);
            mad_end_unpacking(connection);
        }
        CHECK(all_are(array, (size_t)n, i + 1));
        free(array);
    }
}

static void one_variable_three_times(p_mad_channel_t channel)
{
    static char block[20000];
    p_mad_connection_t connection;
    int i, k;

    for (i = 0; i < SIZES && sizes[i] <= sizeof(block); i++) {
        connection = rank == 0 ? mad_begin_packing(channel, 1) : mad_begin_unpacking(channel);
        for (k = 1; k <= 3; k++) {
            memset(block, rank == 0 ? k : 0, sizeof(block));
            if (rank == 0) {
                mad_pack(connection, block, sizes[i], S, E);
                continue;
            }
            mad_unpack(connection, block, sizes[i], S, E);
            CHECK(all_are(block, sizes[i], k));
        }
        if (rank == 0)
            mad_end_packing(connection);
        else
            mad_end_unpacking(connection);
    }
}

static void empty_message(p_mad_channel_t channel)
{
    mad_set_failure_handler(on_failure, NULL);
    if (rank == 0) {
        mad_end_packing(mad_begin_packing(channel, 1));
        CHECK(failures == 1 && last_code == MAD_EEMPTY);
        send(channel, 1, 5);
        CHECK(failures == 1);
    } else {
        CHECK(receive(channel, NULL) == 5);
        CHECK(mad_message_ready(channel) == NULL); /* nothing of the empty one */
    }
    mad_set_failure_handler(NULL, NULL);
}

/* ---- order and independence ------------------------------------------------------------------ */

static void many_in_order(p_mad_channel_t channel)
{
    for (int i = 0; i < 100000; i++) {
        if (rank == 0)
            send(channel, 1, i);
        else
            CHECK(receive(channel, NULL) == i);
    }
}

/*
 * All others send to rank 0. The result says whether it served them in turn: each has a message
 * that is ready, always.
 */
static bool served_in_turn(p_mad_channel_t channel, int each, unsigned pause_us)
{
    enum { RANKS_MAX = 64 };
    int next[RANKS_MAX] = {0}, served[RANKS_MAX] = {0}, from, number, i;
    bool in_turn = true;

    CHECK(size <= RANKS_MAX);
    for (i = 1; rank == 0 && i <= each * (size - 1); i++) {
        usleep(pause_us);
        number = receive(channel, &from);
        CHECK(from >= 1 && from < size);
        CHECK(number == next[from]++);
        in_turn = in_turn && i - served[from] <= size - 1;
        served[from] = i;
    }
    return in_turn;
}

/*
 * No call tells when threads of the library have sent all messages, and a busy machine may keep
 * some of them waiting: one of some rounds must be in turn.
 */
static void many_senders(p_mad_channel_t channel)
{
    enum { EACH = 20, ROUNDS = 6 };
    int done = 0, round, i;

    for (round = 0; round < ROUNDS && !done; round++) {
        for (i = 0; rank != 0 && i < EACH; i++)
            send(channel, 0, i);
        barrier(); /* every message of every sender has been handed in */
        usleep(50000u << round); /* and arrives */
        done = served_in_turn(channel, EACH, 0);
        for (i = 1; i < size && rank == 0; i++)
            send(channel, i, done);
        if (rank != 0)
            done = receive(channel, NULL);
    }
    CHECK(done);
}

/* On networks that hold fewer messages for a receiver: the senders send more while it waits. */
static void senders_in_turn(p_mad_channel_t channel)
{
    enum { EACH = 20 };

    for (int i = 0; rank != 0 && i < EACH; i++)
        send(channel, 0, i);
    usleep(10000u);
    CHECK(served_in_turn(channel, EACH, 1000));
}

static void message_ready(p_mad_channel_t channel)
{
    p_mad_connection_t in;
    int number = 0;

    if (rank == 1)
        CHECK(mad_message_ready(channel) == NULL);
    barrier();
    if (rank == 0)
        send(channel, 1, 7);
    if (rank == 1) {
        while ((in = mad_message_ready(channel)) == NULL)
            ;
        CHECK(mad_message_ready(channel) == NULL);
        mad_unpack(in, &number, sizeof(number), S, E);
        mad_end_unpacking(in);
        CHECK(number == 7);
    }
}

/* A message is half unpacked on one channel while others pass on another one. */
static void half_unpacked(p_mad_channel_t one, p_mad_channel_t two)
{
    static char large[34 * 1476]; /* whole frames of SBP, where the rest of a block stays behind */
    static char second[sizeof(large)];
    p_mad_connection_t out, in;
    int number = 1, i;

    if (rank == 0) {
        out = mad_begin_packing(one, 1);
        mad_pack(out, large, sizeof(large), C, E); /* leaves at once, or when link 0 is full */
        mad_pack(out, &number, sizeof(number), S, E);
        for (i = 0; i < 10; i++)
            send(two, 1, i);
        CHECK(receive(two, NULL) == 99);
        memset(second, 1, sizeof(second));
        mad_pack(out, second, sizeof(second), C, E);
        mad_end_packing(out);
        return;
    }
    in = mad_begin_unpacking(one);
    mad_unpack(in, large, sizeof(large), C, E);
    for (i = 0; i < 10; i++)
        CHECK(receive(two, NULL) == i);
    send(two, 0, 99);
    mad_unpack(in, &number, sizeof(number), S, E);
    mad_unpack(in, large, sizeof(large), C, E);
    mad_end_unpacking(in);
    CHECK(all_are(large, sizeof(large), 1));
}

static void another_channel(p_mad_channel_t channel)
{
    half_unpacked(channel, mad_open_channel(session, 0));
}

/* The adapters are of one driver or of two. */
static void another_adapter(p_mad_channel_t channel)
{
    p_mad_channel_t other = mad_open_channel(session, 1);

    CHECK(session->nb_adapter == 2 && session->adapter[1].id == 1);
    CHECK(other->adapter == &session->adapter[1]);
    half_unpacked(channel, other);
    half_unpacked(other, channel);
    every_size_and_mode(other);
}

static void several_open(p_mad_channel_t channel)
{
    p_mad_connection_t out[16] = {NULL}, in;
    int number = rank, received, to, i;

    CHECK(size <= 16);
    for (to = 0; to < size; to++)
        if (to != rank) {
            out[to] = mad_begin_packing(channel, to);
            mad_pack(out[to], &number, sizeof(number), C, E);
        }
    for (to = 0; to < size; to++)
        if (to != rank && (rank + to) % 2 != 0)
            mad_end_packing(out[to]);
    for (i = 1; i < size; i++) {
        if (i == size / 2) /* those whose sum is even can only come now */
            for (to = 0; to < size; to++)
                if (to != rank && (rank + to) % 2 == 0)
                    mad_end_packing(out[to]);
        in = mad_begin_unpacking(channel);
        mad_unpack(in, &received, sizeof(received), C, E);
        CHECK(received == in->remote_host_id);
        mad_end_unpacking(in);
    }
}

/*
 * A short message waits in the mailbox while its receiver sends a long one to the same peer. The
 * other way round, an incoming message is open meanwhile.
 */
static void both_directions(p_mad_channel_t channel)
{
    static char large[100000];
    p_mad_connection_t out, in;
    int number = -1;

    memset(large, rank == 1 ? 3 : 0, sizeof(large));
    if (rank == 0) {
        send(channel, 1, 11);
        in = mad_begin_unpacking(channel);
        mad_unpack(in, large, sizeof(large), C, R);
        mad_end_unpacking(in);
        CHECK(all_are(large, sizeof(large), 3));
        out = mad_begin_packing(channel, 1);
        mad_pack(out, &number, sizeof(number), S, E);
        mad_pack(out, &number, sizeof(number), S, E);
        mad_end_packing(out);
        in = mad_begin_unpacking(channel);
        mad_unpack(in, large, sizeof(large), C, R);
        mad_end_unpacking(in);
        return;
    }
    out = mad_begin_packing(channel, 0);
    mad_pack(out, large, sizeof(large), C, R);
    mad_end_packing(out);
    CHECK(receive(channel, NULL) == 11);
    in = mad_begin_unpacking(channel);
    mad_unpack(in, &number, sizeof(number), S, E);
    out = mad_begin_packing(channel, 0);
    mad_pack(out, large, sizeof(large), C, R);
    mad_end_packing(out);
    mad_unpack(in, &number, sizeof(number), S, E);
    mad_end_unpacking(in);
}

/* The receiver waits on another channel while the sender needs the credit of the first message. */
static void credit_elsewhere(p_mad_channel_t channel)
{
    p_mad_channel_t other = mad_open_channel(session, session->nb_adapter - 1);

    if (rank == 0) {
        send(channel, 1, 1);
        send(channel, 1, 2);
        send(other, 1, 3);
    } else {
        CHECK(receive(channel, NULL) == 1);
        CHECK(receive(other, NULL) == 3);
        CHECK(receive(channel, NULL) == 2);
    }
}

/* The boundaries of the transfer methods, which do not depend on anything else. */
static const struct boundary {
    size_t length;
    int link;
} gni_links[] = {{1, 0}, {1025, 0}, {12287, 0}, {12288, 0}, {12289, 2}, {1 << 30, 2}},
  gni_links_set[] = {{1, 0},    {1023, 0}, {1024, 0}, {1025, 1},
                     {8191, 1}, {8192, 1}, {8193, 2}, {1 << 30, 2}},
  lnet_links[] = {{1, 0}, {4095, 0}, {4096, 0}, {4097, 1}, {1 << 30, 1}};

static void choice_of_links(p_mad_channel_t channel)
{
    bool gni = strcmp(channel->adapter->driver->name, "gni") == 0;
    bool set = getenv("MAD_GNI_SMSG_MAX") != NULL; /* to 1024, and MAD_GNI_BTE_MIN to 8192 */
    const struct boundary *table = !gni ? lnet_links : set ? gni_links_set : gni_links;
    size_t count = !gni  ? sizeof(lnet_links) / sizeof(lnet_links[0])
                   : set ? sizeof(gni_links_set) / sizeof(gni_links_set[0])
                         : sizeof(gni_links) / sizeof(gni_links[0]);
    p_mad_connection_t out = channel->output_connection[1 - rank];
    const mad_driver_interface_t *interface = channel->adapter->driver->interface;

    CHECK(out->nb_link == (gni ? 3 : 2));
    CHECK(mad_protocol_available(session, (char[]){"gni"}) == mad_GNI);
    CHECK(mad_protocol_available(session, (char[]){"lnet"}) == mad_LNET);
    CHECK(strcmp(channel->adapter->name, gni ? "GNI0" : "LNET0") == 0);
    for (size_t i = 0; i < count; i++)
        for (int mode = 0; mode < MODES; mode++) {
            p_mad_link_t link =
                interface->choice(out, table[i].length, modes[mode].send, modes[mode].receive);

            CHECK(link == &out->link[table[i].link]);
            CHECK((link->buffer_mode == mad_buffer_mode_static) == (link->id == 0));
        }
}

/* The receiver does not look: more messages than the mailbox has credits must wait. */
static void more_than_credits(p_mad_channel_t channel)
{
    enum { MESSAGES = 500 };

    if (rank == 1)
        barrier();
    for (int i = 0; i < MESSAGES; i++) {
        if (rank == 0 && i == 10)
            barrier();
        if (rank == 0)
            send(channel, 1, i);
        else
            CHECK(receive(channel, NULL) == i);
    }
}

/* Transfers fail for a while: what the ranks are told. Afterwards others still get on. */
static void failing(p_mad_channel_t channel)
{
    static char block[2000];
    p_mad_connection_t connection;

    mad_set_failure_handler(on_failure, NULL);
    if (rank == 0) {
        connection = mad_begin_packing(channel, 1);
        mad_pack(connection, block, sizeof(block), C, E);
        mad_end_packing(connection);
    } else {
        connection = mad_begin_unpacking(channel);
        mad_unpack(connection, block, sizeof(block), C, E);
        mad_end_unpacking(connection);
    }
    CHECK(mad_connection_error(connection) == last_code);
    printf("%d failures, code %d\n", failures, last_code);
    CHECK(failures != 0 || last_code == MAD_OK);
    barrier();
}

/*
 * Rank 0 waits for messages, and the others are killed: the last one leaves nobody. DRIVERS_DESERT:
 * they do it themselves, once all have opened the channel.
 */
static void deserted(p_mad_channel_t channel)
{
    p_mad_connection_t in;

    mad_set_failure_handler(on_failure, NULL);
    if (getenv("DRIVERS_DESERT") != NULL) {
        barrier();
        usleep(500000u * (unsigned)rank); /* tested: rank 0 waits by then, and for both */
        if (rank != 0)
            raise(SIGKILL);
    }
    in = mad_begin_unpacking(channel);
    printf("%s, code %d\n", in == NULL ? "nobody" : "a message", last_code);
    for (int i = 1; i < size; i++)
        CHECK(mad_connection_error(channel->input_connection[i]) == MAD_EPEER);
    CHECK(mad_begin_packing(channel, 1) == NULL && last_code == MAD_EPEER);
}

static void deadlock(p_mad_channel_t channel)
{
    static char block[100000];
    p_mad_connection_t out = mad_begin_packing(channel, 1 - rank);

    mad_pack(out, block, sizeof(block), C, R);
    mad_end_packing(out);
}

/* Threads of both ranks exchange messages, each on a channel of its own. */
enum { THREADS = 3, EXCHANGES = 30 };

static void *exchange(void *argument)
{
    p_mad_channel_t channel = argument;
    p_mad_connection_t connection;
    char *block = malloc(40000);

    CHECK(block != NULL);
    for (int i = 0; i < EXCHANGES; i++)
        for (int turn = 0; turn < 2; turn++) {
            size_t length = (size_t)(i * 1237 + turn * 31) % 40000 + 1;

            memset(block, turn == rank ? i + 1 : 0, length);
            if (turn == rank) {
                connection = mad_begin_packing(channel, 1 - rank);
                mad_pack(connection, block, length, C, R);
                mad_end_packing(connection);
                continue;
            }
            connection = mad_begin_unpacking(channel);
            mad_unpack(connection, block, length, C, R);
            mad_end_unpacking(connection);
            CHECK(all_are(block, length, i + 1));
        }
    free(block);
    return NULL;
}

static void threads(p_mad_channel_t channel)
{
    p_mad_channel_t channels[THREADS];
    pthread_t thread[THREADS];
    int i;

    for (i = 0; i < THREADS; i++)
        channels[i] = mad_open_channel(session, 0);
    for (i = 0; i < THREADS; i++)
        CHECK(pthread_create(&thread[i], NULL, exchange, channels[i]) == 0);
    exchange(channel);
    for (i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
}

/* On each of two channels one thread of a rank sends and another one receives, at the same time. */
static void *send_all(void *argument)
{
    char *block = malloc(40000);

    CHECK(block != NULL);
    for (int i = 0; i < EXCHANGES; i++) {
        p_mad_connection_t out = mad_begin_packing(argument, 1 - rank);
        size_t length = (size_t)(i * 1237) % 40000 + 1;

        memset(block, i + 1, length);
        mad_pack(out, block, length, C, R);
        mad_end_packing(out);
    }
    free(block);
    return NULL;
}

static void *receive_all(void *argument)
{
    char *block = malloc(40000);

    CHECK(block != NULL);
    for (int i = 0; i < EXCHANGES; i++) {
        p_mad_connection_t in = mad_begin_unpacking(argument);
        size_t length = (size_t)(i * 1237) % 40000 + 1;

        memset(block, 0, length);
        mad_unpack(in, block, length, C, R);
        mad_end_unpacking(in);
        CHECK(all_are(block, length, i + 1));
    }
    free(block);
    return NULL;
}

static void duplex(p_mad_channel_t channel)
{
    p_mad_channel_t other = mad_open_channel(session, 0);
    pthread_t thread[3];

    CHECK(pthread_create(&thread[0], NULL, send_all, channel) == 0);
    CHECK(pthread_create(&thread[1], NULL, send_all, other) == 0);
    CHECK(pthread_create(&thread[2], NULL, receive_all, other) == 0);
    receive_all(channel);
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
}

static const struct driver_case cases[] = {
    {"modes", every_size_and_mode},
    {"figure_1", figure_1},
    {"thrice", one_variable_three_times},
    {"empty", empty_message},
    {"order", many_in_order},
    {"senders", many_senders},
    {"senders_in_turn", senders_in_turn},
    {"ready", message_ready},
    {"half", another_channel},
    {"adapters", another_adapter},
    {"several", several_open},
    {"both_directions", both_directions},
    {"choice", choice_of_links},
    {"credits", more_than_credits},
    {"credit_elsewhere", credit_elsewhere},
    {"failing", failing},
    {"deserted", deserted},
    {"threads", threads},
    {"duplex", duplex},
    {"deadlock", deadlock},
};

int main(int argc, char **argv)
{
    return run_case(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
