/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Check levels: violations of the symmetry, of CHEAPER memory, and of the level itself. */
#include "recording.h"

static const struct link_kind eager = {EAGER, DYNAMIC, AGGREGATE, SIZE_MAX};
static const struct link_kind group = {GROUP, DYNAMIC, SPLIT, SIZE_MAX};

static void send_two(void)
{
    p_mad_connection_t out = begin_packing();
    char memory[64] = {0};

    mad_pack(out, memory, 16, C, R);
    mad_pack(out, memory, 8, S, E);
    mad_end_packing(out);
}

static bool is_clear(const char *memory, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (memory[i] != 0x11)
            return false;
    return true;
}

/* Unpacks `pieces` of a message of {16, CHEAPER, CHEAPER} and {8, SAFER, EXPRESS}; the last of
 * them, or if `at_end` the end, reports the violation. */
static void violate(int check, const struct piece *pieces, int count, bool at_end)
{
    p_mad_connection_t in;
    char rows[4][64], *memory = rows[0];
    int i;

    world_open(&eager, 1, check);
    send_two();
    in = begin_unpacking();
    for (i = 0; i < count; i++) {
        memory = rows[i];
        memset(memory, 0x11, sizeof(rows[i]));
        assert_int_equal(failure_count, 0);
        mad_unpack(in, memory, pieces[i].length, pieces[i].send, pieces[i].receive);
    }
    if (at_end)
        assert_int_equal(failure_count, 0);
    else if (check == 2)
        assert_true(is_clear(memory, sizeof(rows[0]))); /* found before it is written */
    mad_end_unpacking(in);
    assert_failure(MAD_ESYMM);
    assert_int_equal(mad_connection_error(in), MAD_ESYMM);
    world_close();
}
#define VIOLATE(check, at_end, ...)                     \
    violate(check, (const struct piece[]){__VA_ARGS__}, \
            sizeof((const struct piece[]){__VA_ARGS__}) / sizeof(struct piece), at_end)

static void mad_25_wrong_length(void **state)
{
    p_mad_connection_t in;
    char memory[32];

    VIOLATE(2, false, {12, C, R});
    VIOLATE(2, false, {16, C, R}, {16, S, E});
    world_open(&eager, 1, 2);
    send_two();
    in = begin_unpacking();
    mad_unpack(in, memory, 12, C, R);
    assert_string_equal(failure_text,
                        "channel ch0 (0), message 0 from rank 0, block 0: expected block 0 of 12 "
                        "bytes CHEAPER/CHEAPER on link 0, found block 0 of 16 bytes "
                        "CHEAPER/CHEAPER on link 0");
    assert_failure(MAD_ESYMM);
    mad_end_unpacking(in);
    world_close();
}

static void mad_26_wrong_modes_and_numbers(void **state)
{
    VIOLATE(2, false, {16, S, R});
    VIOLATE(2, false, {16, C, E});
    VIOLATE(2, false, {16, C, R}, {8, C, E});
    VIOLATE(2, false, {16, C, R}, {8, S, E}, {4, C, E});
    VIOLATE(2, true, {16, C, R});
}

static void mad_27_the_signature(void **state)
{
    /* The number of bytes is right, so no call waits for more. */
    VIOLATE(1, true, {16, C, R}, {8, C, E});
    VIOLATE(1, true, {16, S, R}, {8, S, E});
    VIOLATE(1, true, {8, C, R}, {16, S, E});
    VIOLATE(1, true, {8, C, R}, {8, C, R}, {8, S, E});
    VIOLATE(1, true, {24, C, R});
    VIOLATE(1, true, {16, C, R}); /* one too few */
}

static void mad_28_levels_that_differ(void **state)
{
    world_sessions(&eager, 1, 1);
    ((struct mad_session *)world.session[1])->check = 2;
    foreign_key = "mad.o.ch0.0";
    foreign_value = "0,0,rec,1";
    assert_null(mad_open_channel(world.session[1], 0));
    assert_failure(MAD_ECONFIG);
    world_close();
    foreign_key = "mad.v.0";
    foreign_value = "1,3,2,1,00000000";
    world_sessions(&eager, 1, 1);
    assert_null(world.session[1]);
    assert_failure(MAD_ECONFIG);
    world_close();
}

static void mad_29_a_changed_cheaper_block(void **state)
{
    p_mad_connection_t out;
    char memory[8] = {0};

    for (int check = 0; check <= 2; check++) {
        world_open(&group, 1, check);
        out = begin_packing();
        mad_pack(out, memory, sizeof(memory), C, R);
        memory[3]++;
        mad_end_packing(out);
        if (check == 0)
            assert_int_equal(failure_count, 0);
        else
            assert_failure(MAD_WCHEAPER);
        assert_int_equal(mad_connection_error(out), MAD_OK);
        world_close();
    }
}

static void mad_30_poison_and_overlaps(void **state)
{
    p_mad_connection_t out, in;
    char memory[64] = {0}, area[64];

    world_open(&group, 1, 1);
    out = begin_packing();
    mad_pack(out, memory, 16, C, R);
    mad_pack(out, memory, 16, C, R);
    mad_end_packing(out);
    in = begin_unpacking();
    memset(area, 0, sizeof(area));
    mad_unpack(in, area, 16, C, R);
    for (int i = 0; i < 16; i++)
        assert_int_equal((unsigned char)area[i], 0xA5);
    assert_int_equal(area[16], 0);
    mad_unpack(in, area + 15, 16, C, R);
    assert_failure(MAD_EOVERLAP);
    mad_end_unpacking(in);
    assert_int_equal(failure_count, 0);
    for (int i = 0; i < 31; i++)
        assert_int_equal(area[i], 0);
    world_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mad_25_wrong_length),
        cmocka_unit_test(mad_26_wrong_modes_and_numbers),
        cmocka_unit_test(mad_27_the_signature),
        cmocka_unit_test(mad_28_levels_that_differ),
        cmocka_unit_test(mad_29_a_changed_cheaper_block),
        cmocka_unit_test(mad_30_poison_and_overlaps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
