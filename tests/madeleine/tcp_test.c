/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What is particular to TCP: sockets, the bytes on the wire, adapters. */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include "driver/tcp.h"
#include "ranks.h"

static long sends; /* system calls */
ssize_t __real_send(int fd, const void *bytes, size_t length, int flags);
ssize_t __real_sendmsg(int fd, const struct msghdr *message, int flags);
/* Visible, because libraries of the sanitizers call sendmsg. */
#pragma GCC visibility push(default)
ssize_t __wrap_send(int fd, const void *bytes, size_t length, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags);
#pragma GCC visibility pop

ssize_t __wrap_send(int fd, const void *bytes, size_t length, int flags)
{
    __atomic_fetch_add(&sends, 1, __ATOMIC_SEQ_CST);
    return __real_send(fd, bytes, length, flags);
}

ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
    __atomic_fetch_add(&sends, 1, __ATOMIC_SEQ_CST);
    return __real_sendmsg(fd, message, flags);
}

static bool all_are(const char *memory, size_t size, int value)
{
    for (size_t i = 0; i < size; i++)
        if (memory[i] != value)
            return false;
    return true;
}

static void one_large_block(p_mad_madeleine_t session, int rank)
{
    p_mad_channel_t channel = mad_open_channel(session, 0);
    int fd = mad_tcp_peer(channel->input_connection[1 - rank])->fd, value = 0;
    socklen_t length = sizeof(value);
    char *memory = malloc(32769);
    p_mad_connection_t connection;

    CHECK(memory != NULL);
    CHECK(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, &length) == 0 && value != 0);
    CHECK(getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &value, &length) == 0 && value <= 8192);
    if (rank == 0) {
        memset(memory, 6, 32769);
        connection = mad_begin_packing(channel, 1);
        mad_pack(connection, memory, 32769, C, R);
        mad_end_packing(connection);
    } else {
        memset(memory, 0, 32769);
        connection = mad_begin_unpacking(channel);
        mad_unpack(connection, memory, 32769, C, R);
        mad_end_unpacking(connection);
        CHECK(all_are(memory, 32769, 6));
    }
    free(memory);
}

static void mad_54_small_socket_buffers(void **state)
{
    setenv("MAD_TCP_BUFFER", "4096", 1);
    ranks_run_clean(2, NULL, one_large_block);
    unsetenv("MAD_TCP_BUFFER");
}

/* ---- signals --------------------------------------------------------------------------------- */

static int signals;
static bool enough;

static void on_signal(int number)
{
    (void)number;
    __atomic_fetch_add(&signals, 1, __ATOMIC_SEQ_CST);
}

enum { SIGNALLED_BYTES = 1 << 20 };

/* The sender's system calls wait for the receiver, and signals interrupt both. */
static void signalled(p_mad_madeleine_t session, int rank)
{
    p_mad_channel_t channel = mad_open_channel(session, 0);
    char *memory = malloc(SIGNALLED_BYTES);
    p_mad_connection_t connection;

    CHECK(memory != NULL);
    do {
        memset(memory, rank == 0 ? 5 : 0, SIGNALLED_BYTES);
        connection = rank == 0 ? mad_begin_packing(channel, 1) : mad_begin_unpacking(channel);
        if (rank == 0) {
            mad_pack(connection, memory, SIGNALLED_BYTES, C, R);
            mad_end_packing(connection);
        } else {
            mad_unpack(connection, memory, SIGNALLED_BYTES, C, R);
            mad_end_unpacking(connection);
            CHECK(all_are(memory, SIGNALLED_BYTES, 5));
        }
        ranks_barrier();
        if (rank == 0)
            enough = __atomic_load_n(&signals, __ATOMIC_SEQ_CST) >= 20;
        ranks_barrier();
    } while (!enough);
    free(memory);
}

static void mad_54_signals_interrupt_system_calls(void **state)
{
    struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = on_signal}; /* without SA_RESTART */

    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
    setenv("MAD_TCP_BUFFER", "32768", 1);
    ranks_run_clean(2, NULL, signalled);
    unsetenv("MAD_TCP_BUFFER");
    CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
    assert_true(signals >= 20);
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
    ranks_run_clean(2, NULL, raw_stream);
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
    ranks_run_clean(2, NULL, eight_blocks);
}

/* As with plain sockets, a message costs one send of the sender and none of the receiver. */
static void round_trips(p_mad_madeleine_t session, int rank)
{
    p_mad_channel_t channel = mad_open_channel(session, 0);
    long before;

    ranks_barrier();
    before = sends;
    ranks_barrier();
    for (int i = 0; i < 100; i++) {
        if (rank == 0)
            ranks_send(channel, 1, i);
        CHECK(ranks_receive(channel, NULL) == i);
        if (rank == 1)
            ranks_send(channel, 0, i);
    }
    ranks_barrier();
    CHECK(sends == before + 200);
    ranks_barrier();
}

static void mad_96_one_system_call_sends_a_message(void **state)
{
    ranks_run_clean(2, NULL, round_trips);
}

/* ---- adapters and sessions ------------------------------------------------------------------- */

static void two_adapters(p_mad_madeleine_t session, int rank)
{
    p_mad_channel_t one = mad_open_channel(session, 0), two = mad_open_channel(session, 1);

    CHECK(session->nb_adapter == 2 && session->adapter[1].id == 1);
    CHECK(strcmp(two->adapter->name, "TCP1") == 0);
    CHECK(strncmp(session->adapter[1].parameter, "127.0.0.1:", 10) == 0);
    if (rank == 0) {
        ranks_send(two, 1, 2);
        ranks_send(one, 1, 1);
        return;
    }
    CHECK(ranks_receive(one, NULL) == 1);
    CHECK(ranks_receive(two, NULL) == 2);
}

static void mad_35_mad_78_two_adapters(void **state)
{
    ranks_run_clean(2, "tcp,tcp:127.0.0.1", two_adapters);
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
        ranks_run_clean(3, NULL, sessions_in_turn); /* counts descriptors */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mad_54_small_socket_buffers),
        cmocka_unit_test(mad_54_signals_interrupt_system_calls),
        cmocka_unit_test(mad_24_nothing_but_the_users_bytes),
        cmocka_unit_test(mad_97_eight_blocks_in_one_system_call),
        cmocka_unit_test(mad_96_one_system_call_sends_a_message),
        cmocka_unit_test(mad_35_mad_78_two_adapters),
        cmocka_unit_test(mad_83_nothing_stays_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
