/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Peers that go, and connections with a wrong hello. */
#define _GNU_SOURCE
#include <sys/socket.h>
#include <unistd.h>

#include "driver/tcp.h"
#include "ranks.h"

/* Ends the connection as the end of a process does. */
static void hang_up(p_mad_channel_t channel, int peer)
{
    p_mad_connection_t in = channel->input_connection[peer];

    CHECK(shutdown(mad_tcp_peer(in)->fd, SHUT_RDWR) == 0);
    mad_tcp_lost(in, MAD_EPEER, 0); /* this side does not use it any more */
}

static void ends_inside(p_mad_madeleine_t session, int rank)
{
    p_mad_channel_t channel = mad_open_channel(session, 0);
    p_mad_connection_t in, out;
    char memory[100] = {0};

    if (rank == 0) {
        out = mad_begin_packing(channel, 1);
        mad_pack(out, memory, 10, C, E);
        hang_up(channel, 1);
        mad_end_packing(out);
        return;
    }
    in = mad_begin_unpacking(channel);
    mad_unpack(in, memory, 10, C, E);
    CHECK(ranks_all_failures() == 0);
    mad_unpack(in, memory, 100, C, E);
    CHECK(ranks_failures(MAD_EPEER) == 1);
    mad_unpack(in, memory, 100, C, E); /* no effect */
    mad_end_unpacking(in);
    CHECK(mad_connection_error(in) == MAD_EPEER);
    CHECK(ranks_all_failures() == 1);
    CHECK(mad_begin_packing(channel, 0) == NULL);
    CHECK(ranks_failures(MAD_EPEER) == 2);
    CHECK(mad_begin_unpacking(channel) == NULL); /* no peer is left */
    CHECK(ranks_failures(MAD_EPEER) == 3);
}

static void mad_55_the_peer_goes_inside_a_message(void **state)
{
    ranks_run(2, NULL, ends_inside);
    assert_int_equal(ranks_all_failures(), 3);
}

static void ends_outside(p_mad_madeleine_t session, int rank)
{
    p_mad_channel_t channel = mad_open_channel(session, 0);
    int from;

    if (rank == 1)
        hang_up(channel, 0);
    ranks_barrier();
    if (rank == 2)
        ranks_send(channel, 0, 5);
    if (rank == 0) {
        CHECK(ranks_receive(channel, &from) == 5);
        CHECK(from == 2);
        CHECK(ranks_all_failures() == 0);
        CHECK(mad_connection_error(channel->input_connection[1]) == MAD_EPEER);
    }
}

static void mad_55_the_peer_goes_outside_of_a_message(void **state)
{
    ranks_run(3, NULL, ends_outside);
    assert_int_equal(ranks_all_failures(), 0);
}

/* Connects to the adapter and says `hello`; the last one of them says nothing. */
static int raw_client(p_mad_madeleine_t session, const unsigned char *hello, size_t length)
{
    unsigned port = (unsigned)strtoul(session->adapter[0].parameter, NULL, 10);
    int fd = mad_tcp_dial("127.0.0.1", port), code;

    CHECK(fd >= 0);
    CHECK(mad_tcp_send_all(fd, hello, length, &code) == MAD_OK);
    return fd;
}

/* Whether the other side has closed the connection. */
static bool is_refused(int fd)
{
    char byte;
    int code;

    return mad_tcp_receive_all(fd, &byte, 1, &code) == MAD_EPEER;
}

static void hello(unsigned char *bytes, const uint64_t *fields)
{
    mad_tcp_put(bytes, fields[0], 4);
    mad_tcp_put(bytes + 4, fields[1], 4);
    mad_tcp_put(bytes + 8, fields[2], 4);
    mad_tcp_put(bytes + 12, fields[3], 4);
    mad_tcp_put(bytes + 16, fields[4], 8);
    mad_tcp_put(bytes + 24, fields[5], 8);
}

static void wrong_hellos(p_mad_madeleine_t session, int rank)
{
    const uint64_t job = mad_job_hash(session);
    /* magic, version, sender, receiver, channel, job: each time one is wrong */
    const uint64_t wrong[][6] = {
        {0x3248444E, 1, 0, 1, 0, job},     {0x3248444D, 2, 0, 1, 0, job},
        {0x3248444D, 1, 1, 1, 0, job},     {0x3248444D, 1, 7, 1, 0, job},
        {0x3248444D, 1, 0, 0, 0, job},     {0x3248444D, 1, 0, 1, 1, job},
        {0x3248444D, 1, 0, 1, 0, job + 1},
    };
    enum { WRONG = sizeof(wrong) / sizeof(wrong[0]) };
    unsigned char bytes[TCP_HELLO_BYTES];
    int fds[WRONG + 2], i;
    p_mad_channel_t channel;

    /* They wait in the listener's queue before rank 0 connects. */
    for (i = 0; rank == 1 && i < WRONG; i++) {
        hello(bytes, wrong[i]);
        fds[i] = raw_client(session, bytes, sizeof(bytes));
    }
    if (rank == 1) {
        fds[WRONG] = raw_client(session, bytes, 5);
        fds[WRONG + 1] = raw_client(session, bytes, 0);
    }
    ranks_barrier();
    channel = mad_open_channel(session, 0);
    CHECK(channel != NULL);
    for (i = 0; rank == 1 && i < WRONG; i++)
        CHECK(is_refused(fds[i]));
    for (i = 0; rank == 1 && i < WRONG + 2; i++)
        close(fds[i]);
    if (rank == 0)
        ranks_send(channel, 1, 4);
    else
        CHECK(ranks_receive(channel, NULL) == 4);
}

static void mad_56_wrong_hellos_are_refused(void **state)
{
    ranks_run(2, NULL, wrong_hellos);
    assert_int_equal(ranks_all_failures(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mad_55_the_peer_goes_inside_a_message),
        cmocka_unit_test(mad_55_the_peer_goes_outside_of_a_message),
        cmocka_unit_test(mad_56_wrong_hellos_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
