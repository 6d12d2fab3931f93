/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Random messages over the twelve sets of links that together have every buffer management. */
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

static size_t any(size_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (size_t)(seed % below);
}

static int random_message(struct piece *pieces)
{
    static const mad_send_mode_t sends[] = {S, L, C, C};
    int count = 1 + (int)any(PIECES), i;

    for (i = 0; i < count; i++) {
        pieces[i].length = any(3) == 0 ? any(16) : any(BYTES + 1);
        pieces[i].send = sends[any(4)];
        /* LATER/EXPRESS holds back all that follows, so it is rare. */
        pieces[i].receive = any(pieces[i].send == L ? 12 : 3) == 0 ? E : R;
    }
    pieces[any((size_t)count)].length = 1 + any(BYTES);
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
    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
        run(sets[i].kinds, sets[i].links, 0);
    run(via, 3, 0);
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
        cmocka_unit_test(random_messages_with_checks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
