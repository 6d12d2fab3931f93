/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A multiplexed channel over all adapters, with the sub-channels "one" and "two" beside itself. A
 * rank prints the case's name when all is good, and ends with 1 otherwise.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <madeleine.h>

#define CHECK(condition)                                                    \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                        \
        }                                                                   \
    } while (0)

enum { SUBS = 3, LONGEST = 3 << 20 };

static p_mad_madeleine_t session;
static p_mad_channel_t rails[8], subs[SUBS];
static int size, rank, failures, last_code;
static char *memory;

static void on_failure(const mad_failure_t *failure, void *arg)
{
    failures++;
    last_code = failure->code;
}

static void open_all(void)
{
    static const char *const names[] = {"one", "two"};
    int count = session->nb_adapter;

    if (getenv("MAD_CONF") != NULL) { /* it has the same channels */
        subs[0] = mad_get_channel(session, (char[]){"all"});
    } else {
        for (int i = 0; i < count; i++)
            rails[i] = mad_open_channel(session, i);
        subs[0] = mad_open_multiplexed_channel(session, "all", count, rails, 2, names,
                                               getenv("AGGREGATE") != NULL ? mad_strategy_aggregate
                                                                           : mad_strategy_default);
    }
    CHECK(subs[0] != NULL && mad_get_sub_channel(subs[0], 0) == subs[0]);
    for (unsigned i = 1; i < SUBS; i++) {
        subs[i] = mad_get_sub_channel(subs[0], i);
        CHECK(subs[i] != NULL && strcmp(subs[i]->name, names[i - 1]) == 0);
        CHECK(mad_get_channel(session, (char *)names[i - 1]) == subs[i]);
    }
}

static void fill(size_t length, int seed)
{
    for (size_t i = 0; i < length; i++)
        memory[i] = (char)(seed + (int)(i % 251));
}

static bool is(size_t length, int seed)
{
    for (size_t i = 0; i < length; i++)
        if (memory[i] != (char)(seed + (int)(i % 251)))
            return false;
    return true;
}

/* ---- all modes and sizes --------------------------------------------------------------------- */

static const size_t lengths[] = {1, 360, 361, 4096, 4097, 8192, 70000, 1 << 20, LONGEST};
enum { LENGTHS = sizeof(lengths) / sizeof(lengths[0]) };

static const struct {
    mad_send_mode_t send;
    mad_receive_mode_t receive;
} modes[] = {{mad_send_SAFER, mad_receive_EXPRESS},   {mad_send_SAFER, mad_receive_CHEAPER},
             {mad_send_LATER, mad_receive_CHEAPER},   {mad_send_CHEAPER, mad_receive_EXPRESS},
             {mad_send_CHEAPER, mad_receive_CHEAPER}, {mad_send_LATER, mad_receive_EXPRESS}};
enum { MODES = sizeof(modes) / sizeof(modes[0]) };

static void send_one(int to, int i)
{
    p_mad_connection_t out = mad_begin_packing(subs[i % SUBS], to);
    int numbers[MODES];

    fill(lengths[i], rank + i);
    for (int mode = 0; mode < MODES; mode++) {
        numbers[mode] = modes[mode].send == mad_send_LATER ? -1 : rank * 100 + mode;
        mad_pack(out, &numbers[mode], sizeof(int), modes[mode].send, modes[mode].receive);
        if (modes[mode].send == mad_send_SAFER)
            numbers[mode] = -1;
    }
    mad_pack(out, memory, lengths[i] / 2, modes[i % 5].send, modes[i % 5].receive);
    mad_pack(out, memory + lengths[i] / 2, lengths[i] - lengths[i] / 2, modes[i % 5].send,
             modes[i % 5].receive);
    for (int mode = 0; mode < MODES; mode++)
        if (modes[mode].send == mad_send_LATER)
            numbers[mode] = rank * 100 + mode;
    mad_end_packing(out);
}

static void receive_one(int from, int i)
{
    p_mad_connection_t in = mad_begin_unpacking(subs[i % SUBS]);
    int numbers[MODES] = {0};

    CHECK(in != NULL && in->channel == subs[i % SUBS] && in->remote_host_id == from);
    for (int mode = 0; mode < MODES; mode++) {
        mad_unpack(in, &numbers[mode], sizeof(int), modes[mode].send, modes[mode].receive);
        if (modes[mode].receive == mad_receive_EXPRESS)
            CHECK(numbers[mode] == from * 100 + mode);
    }
    mad_unpack(in, memory, lengths[i] / 2, modes[i % 5].send, modes[i % 5].receive);
    mad_unpack(in, memory + lengths[i] / 2, lengths[i] - lengths[i] / 2, modes[i % 5].send,
               modes[i % 5].receive);
    mad_end_unpacking(in);
    for (int mode = 0; mode < MODES; mode++)
        CHECK(numbers[mode] == from * 100 + mode);
    CHECK(is(lengths[i], from + i));
}

/* Rank 0 with each other one. */
static void every_mode(void)
{
    for (int other = 1; other < size; other++)
        for (int i = 0; i < 2 * LENGTHS; i++) {
            int from = i < LENGTHS ? 0 : other, to = other - from;

            if (rank == from)
                send_one(to, i % LENGTHS);
            if (rank == to)
                receive_one(from, i % LENGTHS);
        }
}

/* ---- independence and order ------------------------------------------------------------------ */

static void send_number(p_mad_channel_t channel, int number)
{
    p_mad_connection_t out = mad_begin_packing(channel, 1);

    mad_pack(out, &number, sizeof(number), mad_send_SAFER, mad_receive_EXPRESS);
    mad_pack(out, memory, 100, mad_send_SAFER, mad_receive_CHEAPER);
    mad_end_packing(out);
}

static p_mad_connection_t begin_number(p_mad_channel_t channel, int number)
{
    p_mad_connection_t in = mad_begin_unpacking(channel);
    int found = -1;

    CHECK(in != NULL);
    mad_unpack(in, &found, sizeof(found), mad_send_SAFER, mad_receive_EXPRESS);
    CHECK(found == number);
    return in;
}

static void end_number(p_mad_connection_t in)
{
    mad_unpack(in, memory, 100, mad_send_SAFER, mad_receive_CHEAPER);
    mad_end_unpacking(in);
}

/* A message of the first sub-channel is half read while those of the others pass. */
static void independent(void)
{
    enum { MESSAGES = 100 };
    p_mad_connection_t half;

    if (rank == 0) {
        for (int i = 0; i < MESSAGES; i++)
            for (int sub = 0; sub < SUBS; sub++)
                send_number(subs[sub], i);
        mad_flush(subs[0]);
    }
    if (rank != 1)
        return;
    half = begin_number(subs[0], 0);
    CHECK(mad_message_ready(subs[0]) == NULL);
    for (int sub = SUBS - 1; sub > 0; sub--)
        for (int i = 0; i < MESSAGES; i++)
            end_number(begin_number(subs[sub], i));
    end_number(half);
    for (int i = 1; i < MESSAGES; i++)
        end_number(begin_number(subs[0], i));
    for (int sub = 0; sub < SUBS; sub++)
        CHECK(mad_message_ready(subs[sub]) == NULL);
}

/* More than the receiver has room for, which is late. */
static void flow(void)
{
    enum { MESSAGES = 3000 };

    p_mad_connection_t in = NULL;
    int found = -1;

    if (rank == 0) {
        send_number(subs[2], 7);
        for (int i = 0; i < MESSAGES; i++)
            send_number(subs[1], i);
        mad_flush(subs[1]);
    }
    if (rank != 1)
        return;
    while ((in = mad_message_ready(subs[1])) == NULL)
        ;
    usleep(20000);
    end_number(begin_number(subs[2], 7)); /* it has passed */
    mad_unpack(in, &found, sizeof(found), mad_send_SAFER, mad_receive_EXPRESS);
    CHECK(found == 0);
    end_number(in);
    for (int i = 1; i < MESSAGES; i++)
        end_number(begin_number(subs[1], i));
}

/* ---- rails of unequal rates ------------------------------------------------------------------ */

static void send_long(size_t length, int seed)
{
    p_mad_connection_t out = mad_begin_packing(subs[1], 1);

    fill(length, seed);
    mad_pack(out, memory, length, mad_send_CHEAPER, mad_receive_CHEAPER);
    mad_end_packing(out);
}

static void receive_long(size_t length, int seed)
{
    p_mad_connection_t in = mad_begin_unpacking(subs[1]);

    CHECK(in != NULL);
    mad_unpack(in, memory, length, mad_send_CHEAPER, mad_receive_CHEAPER);
    mad_end_unpacking(in);
    CHECK(is(length, seed));
}

/* Long messages, by which both rails are measured; then some of which the slow rail gets nothing.
 */
static void uneven(void)
{
    for (int i = 0; i < 40 && rank < 2; i++) {
        size_t length = i < 4 ? 1 << 20 : (size_t)(10000 + 100 * i);

        if (rank == 0) {
            send_long(length, i);
        } else {
            receive_long(length, i);
            usleep(1000); /* whatever comes late finds no memory */
        }
    }
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* The receiver expects two short blocks where a long one comes: both sides learn it. */
static void wrong(void)
{
    p_mad_connection_t connection;

    mad_set_failure_handler(on_failure, NULL);
    if (rank == 0) {
        connection = mad_begin_packing(subs[1], 1);
        mad_pack(connection, memory, 100000, mad_send_CHEAPER, mad_receive_EXPRESS);
        mad_end_packing(connection);
        CHECK(failures == 1 && last_code == MAD_ESYMM);
    }
    if (rank == 1) {
        connection = mad_begin_unpacking(subs[1]);
        mad_unpack(connection, memory, 100, mad_send_CHEAPER, mad_receive_EXPRESS);
        CHECK(failures == 1 && last_code == MAD_ESYMM);
        mad_end_unpacking(connection);
    }
    failures = 0;
    if (rank == 0) /* the other sub-channels go on */
        send_number(subs[2], 5);
    if (rank == 1)
        end_number(begin_number(subs[2], 5));
    if (rank == 0)
        mad_flush(subs[2]);
    CHECK(failures == 0);
}

static void usage(void)
{
    static const char *const bad[] = {"a b"};
    p_mad_channel_t other;

    mad_set_failure_handler(on_failure, NULL);
    CHECK(mad_get_sub_channel(subs[0], SUBS) == NULL && last_code == MAD_EINVAL);
    CHECK(mad_get_sub_channel(subs[1], 0) == NULL && last_code == MAD_EINVAL);
    CHECK(mad_close_channel(subs[1]) == MAD_ESTATE && mad_close_channel(rails[0]) == MAD_ESTATE);
    last_code = MAD_OK;
    CHECK(mad_get_channel(session, rails[0]->name) == NULL && last_code == MAD_EINVAL);
    CHECK(mad_open_multiplexed_channel(session, "x", 1, rails, 0, NULL, 0) == NULL);
    CHECK(mad_open_virtual_channel(session, "x", 1, rails) == NULL);
    CHECK(mad_close_channel(subs[0]) == MAD_OK); /* with its sub-channels */
    CHECK(mad_open_multiplexed_channel(session, "x", 1, rails, 1, bad, 0) == NULL);
    other = mad_open_multiplexed_channel(session, "again", 1, rails, 0, NULL, 0);
    CHECK(other != NULL);
    subs[2] = other;
    if (rank == 0)
        send_number(other, 1);
    if (rank == 1)
        end_number(begin_number(other, 1));
}

static void send_eight(int to)
{
    p_mad_connection_t out = mad_begin_packing(subs[2], to);

    CHECK(out != NULL);
    mad_pack(out, memory, 8, mad_send_CHEAPER, mad_receive_CHEAPER);
    mad_end_packing(out);
}

static void receive_eight(int from)
{
    p_mad_connection_t in = mad_begin_unpacking(subs[2]);

    CHECK(in != NULL && in->remote_host_id == from);
    mad_unpack(in, memory, 8, mad_send_CHEAPER, mad_receive_CHEAPER);
    mad_end_unpacking(in);
}

/* Sends to a rank until it has ended. */
static void send_until_gone(int other)
{
    p_mad_connection_t connection;

    last_code = MAD_OK;
    while (last_code == MAD_OK) {
        connection = mad_begin_packing(subs[1], other);
        if (connection == NULL)
            break;
        mad_pack(connection, memory, 100000, mad_send_CHEAPER, mad_receive_CHEAPER);
        mad_end_packing(connection);
    }
}

/* Rank 1 is killed: those that send to it, and wait for it, learn it. */
static void killed(void)
{
    mad_set_failure_handler(on_failure, NULL);
    if (rank == 1)
        raise(SIGKILL);
    if (rank == 0)
        send_until_gone(1);
    /* Rank 0 with the others: to and fro, so that nobody ends before its message is read. */
    for (int other = rank == 0 ? 2 : 0; other < (rank == 0 ? size : 1); other++) {
        if (rank == 0)
            send_eight(other);
        receive_eight(other);
        if (rank != 0)
            send_eight(other);
    }
    printf("%d: code %d\n", rank, last_code);
    fflush(stdout);
    /* The others may still be giving credits back, and learned it if rank 0 ended before them. */
    for (int other = 2; rank == 0 && other < size; other++)
        send_until_gone(other);
    _exit(0);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {
        {"modes", every_mode}, {"independent", independent}, {"flow", flow},    {"wrong", wrong},
        {"usage", usage},      {"killed", killed},           {"uneven", uneven}};

    signal(SIGUSR1, SIG_IGN); /* by which the process manager tells of a death */
    session = mad_init(&argc, argv, NULL, NULL);
    CHECK(session != NULL && argc == 2);
    size = session->configuration.size;
    rank = session->configuration.local_host_id;
    memory = calloc(1, LONGEST);
    open_all();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (strcmp(cases[i].name, argv[1]) == 0)
            cases[i].run();
    mad_exit(session);
    free(memory);
    printf("%s\n", argv[1]);
    return 0;
}
