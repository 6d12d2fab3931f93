/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What holds for every driver that threads of one process can use: the argument names it. */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "full.h"
#include "random.h"
#include "ranks.h"

static const char *driver;

/* ---- contents and modes ---------------------------------------------------------------------- */

static const size_t sizes[] = {1,    360,  361,  512,   513,   1024,   1025,   5120,
                               5121, 8192, 8193, 32768, 32769, 192000, 1000000};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static const struct {
    mad_send_mode_t send;
    mad_receive_mode_t receive;
} modes[] = {{S, E}, {S, R}, {L, E}, {L, R}, {C, E}, {C, R}};

static void protect(char *memory, size_t size, int protection)
{
    CHECK(mprotect(memory, size, protection) == 0);
}

/*
 * SAFER memory is gone after its pack, LATER memory can be read by nobody before the end, and all
 * memory is gone after it.
 */
static void pack_and_unmap(p_mad_channel_t channel, size_t size, int mode)
{
    p_mad_connection_t out = mad_begin_packing(channel, 1);
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool later = modes[mode].send == L;

    CHECK(memory != MAP_FAILED);
    memset(memory, later ? 0x7E : mode + 1, size);
    if (later)
        protect(memory, size, PROT_NONE);
    mad_pack(out, memory, size, modes[mode].send, modes[mode].receive);
    if (modes[mode].send == S)
        protect(memory, size, PROT_NONE);
    if (later) {
        protect(memory, size, PROT_READ | PROT_WRITE);
        memset(memory, mode + 1, size);
    }
    mad_end_packing(out);
    munmap(memory, size);
}

static bool all_are(const char *memory, size_t size, int value)
{
    for (size_t i = 0; i < size; i++)
        if (memory[i] != value)
            return false;
    return true;
}

static void unpack_checking(p_mad_channel_t channel, char *memory, size_t size, int mode)
{
    p_mad_connection_t in = mad_begin_unpacking(channel);

    mad_unpack(in, memory, size, modes[mode].send, modes[mode].receive);
    if (modes[mode].receive == E)
        CHECK(all_are(memory, size, mode + 1));
    mad_end_unpacking(in);
    CHECK(all_are(memory, size, mode + 1));
}

static void all_sizes_and_modes(p_mad_madeleine_t session, int rank)
{
    p_mad_channel_t channel = mad_open_channel(session, 0);
    char *memory = malloc(1000000), name[16];

    snprintf(name, sizeof(name), "%s0", driver);
    CHECK(channel != NULL && memory != NULL);
    CHECK(strcasecmp(channel->adapter->name, name) == 0);
    for (int i = 0; i < SIZES; i++)
        for (int mode = 0; mode < 6; mode++) {
            if (rank == 0)
                pack_and_unmap(channel, sizes[i], mode);
            else
                unpack_checking(channel, memory, sizes[i], mode);
        }
    free(memory);
}

static void mad_10_mad_11_mad_12_mad_13_mad_14_mad_18_modes(void **state)
{
    ranks_run_clean(2, driver, all_sizes_and_modes);
    setenv("MAD_TCP_EAGER", "1", 1);
    if (strcmp(driver, "tcp") == 0)
        ranks_run_clean(2, driver, all_sizes_and_modes);
    unsetenv("MAD_TCP_EAGER");
}

static void three_values(p_mad_madeleine_t session, int rank)
{
    p_mad_channel_t channel = mad_open_channel(session, 0);
    p_mad_connection_t connection;
    int values[3] = {0}, value;

    if (rank == 0) {
        connection = mad_begin_packing(channel, 1);
        for (value = 1; value <= 3; value++)
            mad_pack(connection, &value, sizeof(value), S, R);
        mad_end_packing(connection);
        return;
    }
    connection = mad_begin_unpacking(channel);
    for (int i = 0; i < 3; i++)
        mad_unpack(connection, &values[i], sizeof(int), S, R);
    mad_end_unpacking(connection);
    CHECK(values[0] == 1 && values[1] == 2 && values[2] == 3);
}

static void mad_15_one_variable_three_times(void **state)
{
    ranks_run_clean(2, driver, three_values);
}

static void figure_1(p_mad_madeleine_t session, int rank)
{
    static const int lengths[] = {0, 1, 1000, 1000000};
    p_mad_channel_t channel = mad_open_channel(session, 0);

    for (int i = 0; i < 4; i++) {
        int size = lengths[i];
        char *array = NULL;
        p_mad_connection_t connection;

        if (rank == 0) {
            array = malloc((size_t)size + 1);
            CHECK(array != NULL);
            memset(array, i + 1, (size_t)size);
            connection = mad_begin_packing(channel, 1);
            mad_pack(connection, &size, sizeof(size), C, E);
            mad_pack(connection, array, (size_t)size, C, R);
            mad_end_packing(connection);
        } else {
            size = -1;
            connection = mad_begin_unpacking(channel);
            mad_unpack(connection, &size, sizeof(size), C, E);
            CHECK(size == lengths[i]);
            array = malloc((size_t)size + 1);
            CHECK(array != NULL);
            mad_unpack(connection, array, (size_t)size, C, R);
            mad_end_unpacking(connection);
            CHECK(all_are(array, (size_t)size, i + 1));
        }
        free(array);
    }
}

static void mad_1_figure_1(void **state)
{
    ranks_run_clean(2, driver, figure_1);
}

/* ---- order and independence ------------------------------------------------------------------ */

static void many_messages(p_mad_madeleine_t session, int rank)
{
    p_mad_channel_t channel = mad_open_channel(session, 0);

    for (int i = 0; i < 100000; i++) {
        if (rank == 0)
            ranks_send(channel, 1, i);
        else
            CHECK(ranks_receive(channel, NULL) == i);
    }
}

static void mad_31_messages_in_order(void **state)
{
    ranks_run_clean(2, driver, many_messages);
}

enum { EACH = 50, SENDERS = 7 };

static void seven_senders(p_mad_madeleine_t session, int rank)
{
    p_mad_channel_t channel = mad_open_channel(session, 0);
    int next[SENDERS + 1] = {0}, served[SENDERS + 1] = {0}, from, number, i;

    for (i = 0; rank != 0 && i < EACH; i++)
        ranks_send(channel, 0, i);
    ranks_barrier(); /* every message of every sender is ready now */
    for (i = 1; rank == 0 && i <= EACH * SENDERS; i++) {
        number = ranks_receive(channel, &from);
        CHECK(from >= 1 && from <= SENDERS);
        CHECK(number == next[from]++);
        CHECK(i - served[from] <= SENDERS);
        served[from] = i;
    }
}

static void mad_9_mad_32_seven_senders(void **state)
{
    ranks_run_clean(SENDERS + 1, driver, seven_senders);
}

/* Blocks that fill a static buffer, which then leaves at once. */
enum { PART = 4096 };

static void two_channels(p_mad_madeleine_t session, int rank)
{
    p_mad_channel_t one = mad_open_channel(session, 0), two = mad_open_channel(session, 0);
    p_mad_connection_t out, in;
    char part[PART] = {1};
    int i;

    if (rank == 0) {
        out = mad_begin_packing(one, 1);
        mad_pack(out, part, PART, S, E);
        for (i = 0; i < 10; i++) /* one open message here, ten there */
            ranks_send(two, 1, i);
        CHECK(ranks_receive(two, NULL) == 99);
        mad_pack(out, part, PART, S, E);
        mad_end_packing(out);
        return;
    }
    in = mad_begin_unpacking(one);
    mad_unpack(in, part, PART, S, E);
    for (i = 0; i < 10; i++)
        CHECK(ranks_receive(two, NULL) == i);
    ranks_send(two, 0, 99);
    mad_unpack(in, part, PART, S, E);
    mad_end_unpacking(in);
}

static void mad_33_a_message_half_unpacked(void **state)
{
    ranks_run_clean(2, driver, two_channels);
}

static void several_open(p_mad_madeleine_t session, int rank)
{
    p_mad_channel_t channel = mad_open_channel(session, 0);
    p_mad_connection_t out[4] = {NULL}, in;
    char rest[PART - sizeof(int)] = {0};
    int number = rank, to, i;

    for (to = 0; to < 4; to++)
        if (to != rank)
            out[to] = mad_begin_packing(channel, to);
    for (to = 0; to < 4; to++)
        if (to != rank) {
            mad_pack(out[to], &number, sizeof(number), C, E);
            mad_pack(out[to], rest, sizeof(rest), C, E);
        }
    for (i = 0; i < 3; i++) {
        int received = -1;

        in = mad_begin_unpacking(channel);
        mad_unpack(in, &received, sizeof(received), C, E);
        CHECK(received == in->remote_host_id);
        mad_unpack(in, rest, sizeof(rest), C, E);
        if (i == 0)
            for (to = 0; to < 4; to++)
                if (to != rank)
                    mad_end_packing(out[to]);
        mad_end_unpacking(in);
    }
}

static void mad_36_one_incoming_and_several_outgoing(void **state)
{
    ranks_run_clean(4, driver, several_open);
}

static void ready_or_not(p_mad_madeleine_t session, int rank)
{
    p_mad_channel_t channel = mad_open_channel(session, 0);
    p_mad_connection_t in;
    int number = 0;

    if (rank == 1)
        CHECK(mad_message_ready(channel) == NULL);
    ranks_barrier();
    if (rank == 0)
        ranks_send(channel, 1, 7);
    if (rank == 1) {
        while ((in = mad_message_ready(channel)) == NULL)
            sched_yield();
        CHECK(mad_message_ready(channel) == NULL);
        mad_unpack(in, &number, sizeof(number), S, E);
        mad_end_unpacking(in);
        CHECK(number == 7);
    }
}

static void mad_21_message_ready(void **state)
{
    ranks_run_clean(2, driver, ready_or_not);
}

static void waits(p_mad_madeleine_t session, int rank)
{
    static int sent;
    p_mad_channel_t channel = mad_open_channel(session, 0);
    p_mad_connection_t in;
    int number;

    if (rank == 0) {
        usleep(50000);
        __atomic_store_n(&sent, 1, __ATOMIC_SEQ_CST);
        ranks_send(channel, 1, 7);
        return;
    }
    in = mad_begin_unpacking(channel);
    CHECK(__atomic_exchange_n(&sent, 0, __ATOMIC_SEQ_CST) == 1);
    mad_unpack(in, &number, sizeof(number), S, E);
    mad_end_unpacking(in);
}

static void mad_57_begin_unpacking_waits(void **state)
{
    ranks_run_clean(2, driver, waits);
}

static void empty_message(p_mad_madeleine_t session, int rank)
{
    p_mad_channel_t channel = mad_open_channel(session, 0);

    if (rank == 0) {
        mad_end_packing(mad_begin_packing(channel, 1));
        CHECK(ranks_failures(MAD_EEMPTY) == 1);
        ranks_send(channel, 1, 6);
    } else {
        CHECK(ranks_receive(channel, NULL) == 6);
    }
}

static void mad_20_an_empty_message(void **state)
{
    ranks_run(2, driver, empty_message);
    assert_int_equal(ranks_all_failures(), 1);
}

/* ---- long messages --------------------------------------------------------------------------- */

enum { BLOCKS = 10000, BLOCK_BYTES = 70000 };

struct random_block {
    size_t length, place;
    mad_send_mode_t send;
    mad_receive_mode_t receive;
};

static struct random_block blocks[BLOCKS];
static char *sent, *received;
static size_t message_bytes;

static uint64_t seed;

/* Most blocks are short, so that the whole message has some megabytes. */
static void random_message(uint64_t number)
{
    static const mad_send_mode_t sends[] = {S, L, C, C};

    seed = 88172645463325252u ^ (number * 2654435761u);
    message_bytes = 0;
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i].length = random_below(&seed, 200) == 0
                               ? random_below(&seed, BLOCK_BYTES + 1)
                               : random_below(&seed, i % 16 == 0 ? 6000 : 128);
        blocks[i].place = message_bytes;
        blocks[i].send = sends[random_below(&seed, 4)];
        /* LATER/EXPRESS holds back all that follows, so it comes near the end. */
        blocks[i].receive =
            random_below(&seed, 4) == 0 && (blocks[i].send != L || i > BLOCKS - 500) ? E : R;
        message_bytes += blocks[i].length;
    }
    sent = malloc(message_bytes + 8);
    received = calloc(1, message_bytes + 1);
    CHECK(sent != NULL && received != NULL);
    for (size_t i = 0; i < message_bytes; i += 8) {
        random_below(&seed, 2);
        memcpy(sent + i, &seed, 8);
    }
}

static void send_blocks(p_mad_channel_t channel)
{
    p_mad_connection_t out = mad_begin_packing(channel, 1);

    for (int i = 0; i < BLOCKS; i++)
        mad_pack(out, sent + blocks[i].place, blocks[i].length, blocks[i].send, blocks[i].receive);
    mad_end_packing(out);
}

static void receive_blocks(p_mad_channel_t channel)
{
    p_mad_connection_t in = mad_begin_unpacking(channel);

    for (int i = 0; i < BLOCKS; i++) {
        const struct random_block *block = &blocks[i];

        mad_unpack(in, received + block->place, block->length, block->send, block->receive);
        if (block->receive == E)
            CHECK(memcmp(received + block->place, sent + block->place, block->length) == 0);
    }
    mad_end_unpacking(in);
    CHECK(memcmp(received, sent, message_bytes) == 0);
}

static void long_messages(p_mad_madeleine_t session, int rank)
{
    p_mad_channel_t channel = mad_open_channel(session, 0);
    long count = strcmp(driver, "loop") == 0 ? test_full(50, 1000) : 50;

    for (long i = 0; i < count; i++) {
        if (rank == 0)
            random_message((uint64_t)i + 1);
        ranks_barrier();
        if (rank == 0)
            send_blocks(channel);
        else
            receive_blocks(channel);
        ranks_barrier();
        if (rank == 0) {
            free(sent);
            free(received);
        }
    }
}

static void mad_22_long_random_messages(void **state)
{
    ranks_run_clean(2, driver, long_messages);
}

/* ---- several drivers ------------------------------------------------------------------------- */

static void three_drivers(p_mad_madeleine_t session, int rank)
{
    p_mad_channel_t channels[3];
    int i;

    CHECK(session->nb_adapter == 3);
    CHECK(mad_protocol_available(session, (char[]){"tcp"}) == mad_TCP);
    CHECK(mad_protocol_available(session, (char[]){"shm"}) == mad_SHM);
    CHECK(mad_protocol_available(session, (char[]){"loop"}) == mad_LOOP);
    CHECK(mad_protocol_available(session, (char[]){"via"}) == -1);
    CHECK(mad_protocol_available(session, (char[]){"tc"}) == -1);
    for (i = 0; i < 3; i++)
        channels[i] = mad_open_channel(session, i);
    if (rank == 0) { /* three open messages, ended in another order */
        p_mad_connection_t out[3];

        for (i = 0; i < 3; i++)
            out[i] = mad_begin_packing(channels[i], 1);
        for (i = 2; i >= 0; i--) {
            mad_pack(out[i], &i, sizeof(i), S, E);
            mad_end_packing(out[i]);
        }
        return;
    }
    for (i = 0; i < 3; i++)
        CHECK(ranks_receive(channels[i], NULL) == i);
}

static void mad_34_mad_77_channels_on_three_drivers(void **state)
{
    ranks_run_clean(2, "loop,shm,tcp", three_drivers);
    ranks_run_clean(2, "tcp,loop,shm", three_drivers);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mad_10_mad_11_mad_12_mad_13_mad_14_mad_18_modes),
        cmocka_unit_test(mad_15_one_variable_three_times),
        cmocka_unit_test(mad_1_figure_1),
        cmocka_unit_test(mad_31_messages_in_order),
        cmocka_unit_test(mad_9_mad_32_seven_senders),
        cmocka_unit_test(mad_33_a_message_half_unpacked),
        cmocka_unit_test(mad_36_one_incoming_and_several_outgoing),
        cmocka_unit_test(mad_21_message_ready),
        cmocka_unit_test(mad_57_begin_unpacking_waits),
        cmocka_unit_test(mad_20_an_empty_message),
        cmocka_unit_test(mad_22_long_random_messages),
        cmocka_unit_test(mad_34_mad_77_channels_on_three_drivers),
    };

    CHECK(argc == 2);
    driver = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
