/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A process that sends to itself. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "full.h"
#include "ranks.h"

static void with_itself(p_mad_madeleine_t session, int rank)
{
    p_mad_channel_t channel = mad_open_channel(session, 0);
    p_mad_connection_t out, in;
    char text[20000], copy[20000];
    int number = 5;

    CHECK(session->configuration.size == 1 && rank == 0);
    memset(text, 'x', sizeof(text));
    out = mad_begin_packing(channel, 0);
    CHECK(out != NULL && out->remote_host_id == 0 && out->channel == channel);
    mad_pack(out, &number, sizeof(number), L, R);
    mad_pack(out, text, sizeof(text), C, E);
    number = 6;
    mad_end_packing(out);
    ranks_send(channel, 0, 7);

    in = mad_begin_unpacking(channel);
    CHECK(in == channel->input_connection[0]);
    number = 0;
    mad_unpack(in, &number, sizeof(number), L, R);
    mad_unpack(in, copy, sizeof(copy), C, E);
    CHECK(memcmp(copy, text, sizeof(text)) == 0);
    mad_end_unpacking(in);
    CHECK(number == 6);
    CHECK(ranks_receive(channel, NULL) == 7);
}

static void mad_86_a_message_to_itself(void **state)
{
    ranks_run_clean(1, "loop", with_itself);
}

static void nobody_else(p_mad_madeleine_t session, int rank)
{
    p_mad_channel_t channel = mad_open_channel(session, 0), tcp = mad_open_channel(session, 1);
    p_mad_connection_t out, in;
    int number = 1;

    CHECK(mad_message_ready(channel) == NULL);
    CHECK(mad_begin_unpacking(channel) == NULL);
    CHECK(ranks_failures(MAD_EDEADLK) == 1);
    CHECK(mad_begin_packing(channel, 1) == NULL && ranks_failures(MAD_EINVAL) == 1);
    CHECK(mad_begin_packing(tcp, 0) == NULL && ranks_failures(MAD_EINVAL) == 2);

    out = mad_begin_packing(channel, 0);
    for (int i = 0; i < 2000; i++) /* more than a buffer, so a part of it has left */
        mad_pack(out, &number, sizeof(number), S, E);
    in = mad_begin_unpacking(channel);
    CHECK(in != NULL);
    for (int i = 0; i < 2000; i++)
        mad_unpack(in, &number, sizeof(number), S, E);
    CHECK(ranks_failures(MAD_EDEADLK) == 2);
    mad_end_unpacking(in);
    mad_end_packing(out);
    CHECK(ranks_all_failures() == 4);
}

static void mad_7_waiting_for_oneself_is_a_dead_lock(void **state)
{
    ranks_run(1, "loop,tcp", nobody_else);
    assert_int_equal(ranks_all_failures(), 4);
}

/* The own rank and others: sessions in one address space. */
static void all_to_all(p_mad_madeleine_t session, int rank)
{
    p_mad_channel_t channel = mad_open_channel(session, 0);
    int size = session->configuration.size, sum = 0, from;

    for (int to = 0; to < size; to++)
        ranks_send(channel, to, 100 * rank + to);
    for (int i = 0; i < size; i++) {
        CHECK(ranks_receive(channel, &from) == 100 * from + rank);
        sum += from;
    }
    CHECK(sum == size * (size - 1) / 2);
}

static void mad_84_sessions_of_one_address_space(void **state)
{
    ranks_run_clean(8, "loop", all_to_all);
    ranks_run_clean(8, "loop", all_to_all);
}

/* One page of a file, mapped again and again, is a block that needs little memory. */
static char *repeated(int fd, size_t piece, size_t bytes)
{
    char *area = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    CHECK(area != MAP_FAILED);
    for (size_t at = 0; at < bytes; at += piece)
        CHECK(mmap(area + at, piece, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) !=
              MAP_FAILED);
    return area;
}

enum { PIECE = 1 << 20 };
#define HUGE_BYTES ((size_t)PIECE * 2049)

static void huge_block(p_mad_madeleine_t session, int rank)
{
    p_mad_channel_t channel = mad_open_channel(session, 0);
    int fd = memfd_create("block", MFD_CLOEXEC);
    char last = (char)(rank == 0 ? 77 : 0), *area;
    p_mad_connection_t connection;

    CHECK(fd >= 0 && ftruncate(fd, PIECE) == 0);
    area = repeated(fd, PIECE, HUGE_BYTES);
    memset(area, rank == 0 ? 9 : 0, PIECE);
    connection = rank == 0 ? mad_begin_packing(channel, 1) : mad_begin_unpacking(channel);
    CHECK(HUGE_BYTES > (size_t)INT32_MAX);
    if (rank == 0) {
        mad_pack(connection, area, HUGE_BYTES, C, R);
        mad_pack(connection, &last, 1, C, R);
        mad_end_packing(connection);
    } else {
        mad_unpack(connection, area, HUGE_BYTES, C, R);
        mad_unpack(connection, &last, 1, C, R);
        mad_end_unpacking(connection);
        CHECK(area[0] == 9 && area[HUGE_BYTES - 1] == 9 && last == 77);
    }
    munmap(area, HUGE_BYTES);
    close(fd);
}

static void mad_23_a_block_above_two_gigabytes(void **state)
{
    ranks_run_clean(2, "shm", huge_block);
    if (test_full(0, 1))
        ranks_run_clean(2, "loop", huge_block);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mad_86_a_message_to_itself),
        cmocka_unit_test(mad_7_waiting_for_oneself_is_a_dead_lock),
        cmocka_unit_test(mad_84_sessions_of_one_address_space),
        cmocka_unit_test(mad_23_a_block_above_two_gigabytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
