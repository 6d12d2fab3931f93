/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages over TCP: contents, modes, order, independence. */
#define _GNU_SOURCE
#include <dirent.h>
#include <sched.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "driver/tcp.h"
#include "ranks.h"

static long sends;
ssize_t __real_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags);

ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
    __atomic_fetch_add(&sends, 1, __ATOMIC_SEQ_CST);
    return __real_sendmsg(fd, message, flags);
}

static int descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int count = 0;

    CHECK(folder != NULL);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

static void run_clean(int size, const char *adapters, void (*body)(p_mad_madeleine_t, int))
{
    int before = descriptors();

    ranks_run(size, adapters, body);
    assert_int_equal(ranks_all_failures(), 0);
    assert_int_equal(descriptors(), before);
}

/* ---- contents and modes ---------------------------------------------------------------------- */

static const size_t sizes[] = {1,    360,  361,  512,   513,   1024,   1025,   5120,
                               5121, 8192, 8193, 32768, 32769, 192000, 1000000};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static const struct {
    mad_send_mode_t send;
    mad_receive_mode_t receive;
} modes[] = {{S, E}, {S, R}, {L, E}, {L, R}, {C, E}, {C, R}};

static void pack_changing(p_mad_channel_t channel, char *memory, size_t size, int mode)
{
    p_mad_connection_t out = mad_begin_packing(channel, 1);

    memset(memory, modes[mode].send == L ? 0x7E : mode + 1, size);
    mad_pack(out, memory, size, modes[mode].send, modes[mode].receive);
    if (modes[mode].send == S)
        memset(memory, 0x7E, size);
    if (modes[mode].send == L)
        memset(memory, mode + 1, size);
    mad_end_packing(out);
    memset(memory, 0x7D, size);
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
    char *memory = malloc(1000000);

    CHECK(channel != NULL && memory != NULL);
    CHECK(strcmp(channel->adapter->name, "TCP0") == 0);
    for (int i = 0; i < SIZES; i++)
        for (int mode = 0; mode < 6; mode++) {
            if (rank == 0)
                pack_changing(channel, memory, sizes[i], mode);
            else
                unpack_checking(channel, memory, sizes[i], mode);
        }
    free(memory);
}

static void mad_10_mad_11_mad_13_mad_14_mad_18_modes(void **state)
{
    run_clean(2, NULL, all_sizes_and_modes);
    setenv("MAD_TCP_EAGER", "1", 1);
    run_clean(2, NULL, all_sizes_and_modes);
    unsetenv("MAD_TCP_EAGER");
}

static void one_large_block(p_mad_madeleine_t session, int rank)
{
    p_mad_channel_t channel = mad_open_channel(session, 0);
    int fd = mad_tcp_peer(channel->input_connection[1 - rank])->fd, value = 0;
    socklen_t length = sizeof(value);
    char *memory = malloc(32769);

    CHECK(memory != NULL);
    CHECK(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, &length) == 0 && value != 0);
    CHECK(getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &value, &length) == 0 && value <= 8192);
    if (rank == 0)
        pack_changing(channel, memory, 32769, 5);
    else
        unpack_checking(channel, memory, 32769, 5);
    free(memory);
}

static void mad_54_small_socket_buffers(void **state)
{
    setenv("MAD_TCP_BUFFER", "4096", 1);
    run_clean(2, NULL, one_large_block);
    unsetenv("MAD_TCP_BUFFER");
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
    run_clean(2, NULL, figure_1);
}

static void raw_stream(p_mad_madeleine_t session, int rank)
{
    p_mad_channel_t channel = mad_open_channel(session, 0);
    char bytes[2000];
    size_t got = 0;
    ssize_t some;
    int size = 1000, fd = mad_tcp_peer(channel->input_connection[1 - rank])->fd;
    p_mad_connection_t out;

    memset(bytes, 5, sizeof(bytes));
    if (rank == 0) {
        out = mad_begin_packing(channel, 1);
        mad_pack(out, &size, sizeof(size), C, E);
        mad_pack(out, bytes, 1000, C, R);
        mad_end_packing(out);
        ranks_barrier();
        return;
    }
    ranks_barrier(); /* all of it has been sent */
    memset(bytes, 0, sizeof(bytes));
    for (;;) {
        some = recv(fd, bytes + got, sizeof(bytes) - got, MSG_DONTWAIT);
        if (some <= 0)
            break;
        got += (size_t)some;
    }
    CHECK(got == 1004);
    CHECK(memcmp(bytes, &size, sizeof(size)) == 0);
    CHECK(all_are(bytes + 4, 1000, 5));
}

static void mad_24_nothing_but_the_users_bytes(void **state)
{
    run_clean(2, NULL, raw_stream);
}

static void eight_blocks(p_mad_madeleine_t session, int rank)
{
    p_mad_channel_t channel = mad_open_channel(session, 0);
    char blocks[8][8] = {{0}};
    p_mad_connection_t connection;
    long before;

    ranks_barrier();
    before = sends;
    ranks_barrier();
    connection = rank == 0 ? mad_begin_packing(channel, 1) : mad_begin_unpacking(channel);
    for (int i = 0; i < 8; i++) {
        if (rank == 0)
            mad_pack(connection, blocks[i], 8, C, R);
        else
            mad_unpack(connection, blocks[i], 8, C, R);
    }
    if (rank == 0)
        mad_end_packing(connection);
    else
        mad_end_unpacking(connection);
    ranks_barrier();
    CHECK(sends == before + 1);
    ranks_barrier();
}

static void mad_97_eight_blocks_in_one_system_call(void **state)
{
    run_clean(2, NULL, eight_blocks);
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
    run_clean(2, NULL, many_messages);
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
    run_clean(SENDERS + 1, NULL, seven_senders);
}

static void two_channels(p_mad_madeleine_t session, int rank)
{
    p_mad_channel_t one = mad_open_channel(session, 0), two = mad_open_channel(session, 0);
    p_mad_connection_t out, in;
    int number = 1, i;

    if (rank == 0) {
        out = mad_begin_packing(one, 1);
        mad_pack(out, &number, sizeof(number), S, E);
        for (i = 0; i < 10; i++) /* one open message here, ten there */
            ranks_send(two, 1, i);
        CHECK(ranks_receive(two, NULL) == 99);
        mad_pack(out, &number, sizeof(number), S, E);
        mad_end_packing(out);
        return;
    }
    in = mad_begin_unpacking(one);
    mad_unpack(in, &number, sizeof(number), S, E);
    for (i = 0; i < 10; i++)
        CHECK(ranks_receive(two, NULL) == i);
    ranks_send(two, 0, 99);
    mad_unpack(in, &number, sizeof(number), S, E);
    mad_end_unpacking(in);
}

static void mad_33_a_message_half_unpacked(void **state)
{
    run_clean(2, NULL, two_channels);
}

static void two_adapters(p_mad_madeleine_t session, int rank)
{
    p_mad_channel_t one = mad_open_channel(session, 0), two = mad_open_channel(session, 1);

    CHECK(session->nb_adapter == 2 && session->adapter[1].id == 1);
    CHECK(strcmp(two->adapter->name, "TCP1") == 0);
    CHECK(strncmp(session->adapter[1].parameter, "127.0.0.1:", 10) == 0);
    CHECK(mad_protocol_available(session, (char[]){"tcp"}) == mad_TCP);
    CHECK(mad_protocol_available(session, (char[]){"via"}) == -1);
    if (rank == 0) {
        ranks_send(two, 1, 2);
        ranks_send(one, 1, 1);
        return;
    }
    CHECK(ranks_receive(one, NULL) == 1);
    CHECK(ranks_receive(two, NULL) == 2);
}

static void mad_35_mad_77_mad_78_two_adapters(void **state)
{
    run_clean(2, "tcp,tcp:127.0.0.1", two_adapters);
}

static void several_open(p_mad_madeleine_t session, int rank)
{
    p_mad_channel_t channel = mad_open_channel(session, 0);
    p_mad_connection_t out[4] = {NULL}, in;
    int number = rank, to, i;

    for (to = 0; to < 4; to++)
        if (to != rank)
            out[to] = mad_begin_packing(channel, to);
    for (to = 0; to < 4; to++)
        if (to != rank)
            mad_pack(out[to], &number, sizeof(number), C, E);
    for (i = 0; i < 3; i++) {
        int received = -1;

        in = mad_begin_unpacking(channel);
        mad_unpack(in, &received, sizeof(received), C, E);
        CHECK(received == in->remote_host_id);
        if (i == 0)
            for (to = 0; to < 4; to++)
                if (to != rank)
                    mad_end_packing(out[to]);
        mad_end_unpacking(in);
    }
}

static void mad_36_one_incoming_and_several_outgoing(void **state)
{
    run_clean(4, NULL, several_open);
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
    run_clean(2, NULL, ready_or_not);
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
    run_clean(2, NULL, waits);
}

static void sessions_in_turn(p_mad_madeleine_t session, int rank)
{
    p_mad_channel_t one = mad_open_channel(session, 0);
    p_mad_channel_t two = mad_open_named_channel(session, "other_one", 0);

    CHECK(one != NULL && two != NULL && session->channel == one);
    CHECK(mad_close_channel(one) == MAD_OK);
    CHECK(session->channel == two);
    if (rank == 0)
        ranks_send(two, 1, 3);
    else if (rank == 1)
        CHECK(ranks_receive(two, NULL) == 3);
}

static void mad_83_nothing_stays_open(void **state)
{
    for (int i = 0; i < 3; i++)
        run_clean(3, NULL, sessions_in_turn); /* counts descriptors */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mad_10_mad_11_mad_13_mad_14_mad_18_modes),
        cmocka_unit_test(mad_54_small_socket_buffers),
        cmocka_unit_test(mad_1_figure_1),
        cmocka_unit_test(mad_24_nothing_but_the_users_bytes),
        cmocka_unit_test(mad_97_eight_blocks_in_one_system_call),
        cmocka_unit_test(mad_31_messages_in_order),
        cmocka_unit_test(mad_9_mad_32_seven_senders),
        cmocka_unit_test(mad_33_a_message_half_unpacked),
        cmocka_unit_test(mad_35_mad_77_mad_78_two_adapters),
        cmocka_unit_test(mad_36_one_incoming_and_several_outgoing),
        cmocka_unit_test(mad_21_message_ready),
        cmocka_unit_test(mad_57_begin_unpacking_waits),
        cmocka_unit_test(mad_83_nothing_stays_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
