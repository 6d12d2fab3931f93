/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Random messages over the twelve sets of links that together have every buffer management. */
#include "full.h"
#include "random.h"
#include "recording.h"

enum { MESSAGES = 2000, PIECES = 24, BYTES = 3000 };

static const struct {
    const char *name;
    int links;
    struct link_kind kinds[2];
} sets[] = {
    {"eager", 1, {{EAGER, DYNAMIC, AGGREGATE, SIZE_MAX}}},
    {"eager, split", 1, {{EAGER, DYNAMIC, SPLIT, SIZE_MAX}}},
    {"two groups, split", 2, {{GROUP, DYNAMIC, SPLIT, 360}, {GROUP, DYNAMIC, SPLIT, SIZE_MAX}}},
    {"two groups", 2, {{GROUP, DYNAMIC, AGGREGATE, 360}, {GROUP, DYNAMIC, AGGREGATE, SIZE_MAX}}},
    {"static", 1, {{EAGER, STATIC, AGGREGATE, SIZE_MAX, 512}}},
    {"static group", 1, {{GROUP, STATIC, AGGREGATE, SIZE_MAX, 512}}},
    {"static group, split", 1, {{GROUP, STATIC, SPLIT, SIZE_MAX, 512}}},
    {"static group, group",
     2,
     {{GROUP, STATIC, SPLIT, 400, 256}, {GROUP, DYNAMIC, AGGREGATE, SIZE_MAX}}},
    {"static, eager", 2, {{EAGER, STATIC, AGGREGATE, 400, 256}, {EAGER, DYNAMIC, SPLIT, SIZE_MAX}}},
    {"static, static group",
     2,
     {{EAGER, STATIC, AGGREGATE, 400, 256}, {GROUP, STATIC, SPLIT, SIZE_MAX, 512}}},
    {"static, group",
     2,
     {{EAGER, STATIC, AGGREGATE, 400, 256}, {GROUP, DYNAMIC, AGGREGATE, SIZE_MAX}}},
};
static const struct link_kind via[3] = {{EAGER, STATIC, AGGREGATE, 300, 128},
                                        {GROUP, DYNAMIC, SPLIT, 1000},
                                        {GROUP, DYNAMIC, SPLIT, SIZE_MAX}};

static uint64_t seed = 88172645463325252u;

static int random_message(struct piece *pieces)
{
    static const mad_send_mode_t sends[] = {S, L, C, C};
    int count = 1 + (int)random_below(&seed, PIECES), i;

    for (i = 0; i < count; i++) {
        pieces[i].length =
            random_below(&seed, 3) == 0 ? random_below(&seed, 16) : random_below(&seed, BYTES + 1);
        pieces[i].send = sends[random_below(&seed, 4)];
        /* LATER/EXPRESS holds back all that follows, so it is rare. */
        pieces[i].receive = random_below(&seed, pieces[i].send == L ? 12 : 3) == 0 ? E : R;
    }
    pieces[random_below(&seed, (size_t)count)].length = 1 + random_below(&seed, BYTES);
    return count;
}

static void run(const struct link_kind *kinds, int links, int check)
{
    struct piece pieces[PIECES];

    world_open(kinds, links, check);
    recording.quiet = true;
    for (int i = 0; i < MESSAGES; i++) {
        exchange(pieces, random_message(pieces));
        assert_int_equal(recording.sent_sum != 0, 1);
        if (recording.sent_sum != recording.received_sum)
            fail_msg("message %d: other buffers were received than sent", i);
        assert_int_equal(recording.frames, 0);
        assert_int_equal(recording.obtained, recording.handed);
        assert_int_equal(recording.taken, recording.returned);
    }
    assert_int_equal(recording.misplaced, 0);
    world_close();
}

static void mad_22_mad_43_mad_49_random_messages(void **state)
{
    for (long seeds = test_full(1, 1000); seeds > 0; seeds--) {
        for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
            run(sets[i].kinds, sets[i].links, 0);
        run(via, 3, 0);
    }
}

/* ---- long messages --------------------------------------------------------------------------- */

enum { LONG_BLOCKS = 10000, LONG_BYTES = 70000 };

static struct piece long_message[LONG_BLOCKS];

/* Most blocks are short, so that the whole message has some megabytes. Returns its bytes. */
static size_t random_long_message(void)
{
    size_t bytes = 0;
    int count = LONG_BLOCKS, i;

    for (i = 0; i < count; i++) {
        struct piece *piece = &long_message[i];

        piece->length = random_below(&seed, 200) == 0
                            ? random_below(&seed, LONG_BYTES + 1)
                            : random_below(&seed, i % 16 == 0 ? 6000 : 128);
        piece->send = (mad_send_mode_t)(S + random_below(&seed, 3));
        piece->receive = random_below(&seed, 4) == 0 ? E : R;
        bytes += piece->length;
    }
    return bytes;
}

static void exchange_long_message(char *from, char *to)
{
    p_mad_connection_t out = begin_packing(), in;
    size_t at = 0;
    int i;

    for (i = 0; i < LONG_BLOCKS; at += long_message[i++].length)
        mad_pack(out, from + at, long_message[i].length, long_message[i].send,
                 long_message[i].receive);
    mad_end_packing(out);
    in = begin_unpacking();
    for (i = 0, at = 0; i < LONG_BLOCKS; at += long_message[i++].length) {
        const struct piece *piece = &long_message[i];

        mad_unpack(in, to + at, piece->length, piece->send, piece->receive);
        if (piece->receive == E && memcmp(from + at, to + at, piece->length) != 0)
            fail_msg("block %d has not arrived", i);
    }
    mad_end_unpacking(in);
}

static void mad_22_messages_of_ten_thousand_blocks(void **state)
{
    for (long seeds = test_full(5, 1000); seeds > 0; seeds--) {
        size_t bytes = random_long_message();
        char *from = malloc(bytes + 1), *to = calloc(1, bytes + 1);

        for (size_t i = 0; i < bytes; i++)
            from[i] = (char)(i * 7 + (size_t)seeds);
        world_open(via, 3, 0);
        recording.quiet = true;
        exchange_long_message(from, to);
        assert_memory_equal(from, to, bytes);
        assert_int_equal(failure_count, 0);
        world_close();
        free(from);
        free(to);
    }
}

static void random_messages_with_checks(void **state)
{
    for (int check = 1; check <= 2; check++) {
        for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i += 3)
            run(sets[i].kinds, sets[i].links, check);
        run(via, 3, check);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mad_22_mad_43_mad_49_random_messages),
        cmocka_unit_test(mad_22_messages_of_ten_thousand_blocks),
        cmocka_unit_test(random_messages_with_checks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
