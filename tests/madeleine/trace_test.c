/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The worked traces T1 to T12: which calls of the driver each pack and unpack makes. */
#include "recording.h"

#define OPEN(...)                                       \
    world_open((const struct link_kind[]){__VA_ARGS__}, \
               sizeof((const struct link_kind[]){__VA_ARGS__}) / sizeof(struct link_kind), 0)

static void expect(const char *sent, const char *received)
{
    assert_string_equal(recording.sent, sent);
    assert_string_equal(recording.received, received);
    assert_int_equal(recording.frames, 0);
    world_close();
}

#define TCP_2000                            \
    {                                       \
        EAGER, DYNAMIC, AGGREGATE, SIZE_MAX \
    }

static void mad_42_t1_figure_1(void **state)
{
    OPEN(TCP_2000);
    EXCHANGE({4, C, E}, {1000, C, R});
    assert_int_equal(recording.bytes, 1004);
    expect("SB(0,4) / SB(0,1000) /", "RB(0,4) / RB(0,1000) /");
}

static void mad_42_mad_17_t2_later_delays_no_other_block(void **state)
{
    OPEN(TCP_2000);
    EXCHANGE({8, C, R}, {16, L, R}, {8, C, R});
    expect("SB(0,8) / / SB(0,8) / SG(0,{16})", "RB(0,8) / / RB(0,8) / RG(0,t,{16})");
    OPEN({EAGER, DYNAMIC, SPLIT, SIZE_MAX});
    EXCHANGE({8, C, R}, {16, L, R}, {8, C, R});
    expect("SB(0,8) / / SB(0,8) / SB(0,16)", "RB(0,8) / / RB(0,8) / RB(0,16)");
}

static void mad_42_mad_16_mad_47_mad_52_t3_later_express(void **state)
{
    OPEN(TCP_2000);
    EXCHANGE({8, C, R}, {4, L, E}, {8, C, R}, {4, C, E});
    expect("SB(0,8) / / / / SG(0,{4,4}) SG(0,{8})",
           "RB(0,8) / RG(0,t,{4}) / / RG(0,f,{4}) / RG(0,t,{8})");
    OPEN({GROUP, DYNAMIC, SPLIT, SIZE_MAX});
    EXCHANGE({8, C, R}, {4, L, E}, {8, C, R}, {4, C, E});
    expect("/ / / / SG(0,{8,4}) SB(0,4) SB(0,8)", "/ RG(0,t,{8,4}) / / RB(0,4) / RB(0,8)");
}

static void mad_42_mad_44_mad_46_t4_two_links(void **state)
{
    OPEN({GROUP, DYNAMIC, SPLIT, 360}, {GROUP, DYNAMIC, SPLIT, SIZE_MAX});
    EXCHANGE({4, C, R}, {4, C, R}, {1000, C, R}, {4, C, E});
    expect("/ / SG(0,{4,4}) / SB(1,1000) SB(0,4) /", "/ / RG(0,t,{4,4}) / RB(1,1000) RB(0,4) /");
}

static void mad_42_mad_44_mad_48_t5_static_and_groups(void **state)
{
    OPEN({EAGER, STATIC, AGGREGATE, 5120, 512}, {GROUP, DYNAMIC, SPLIT, 32768},
         {GROUP, DYNAMIC, SPLIT, SIZE_MAX});
    EXCHANGE({100, C, E}, {2000, C, R}, {8000, C, R}, {100000, C, R}, {50, C, R});
    expect("GS(0) / SB(0,512) GS(0) SB(0,512) GS(0) SB(0,512) GS(0) SB(0,512) GS(0) / SB(0,52) / "
           "SB(1,8000) / SB(2,100000) GS(0) / SB(0,50)",
           "RB(0,512) / RS(0) RB(0,512) RS(0) RB(0,512) RS(0) RB(0,512) RS(0) RB(0,52) RS(0) / / "
           "RB(1,8000) / RB(2,100000) RB(0,50) RS(0) /");
}

static void mad_42_mad_48_t6_t7_frames(void **state)
{
    OPEN({EAGER, STATIC, AGGREGATE, SIZE_MAX, 640});
    EXCHANGE({4, C, R}, {4, C, R}, {16, C, R}, {608, C, R}, {4, C, R});
    expect("GS(0) / / / / / SB(0,636)", "RB(0,636) / / / / RS(0) /");
    OPEN({EAGER, STATIC, AGGREGATE, SIZE_MAX, 512});
    EXCHANGE({512, C, R});
    expect("GS(0) SB(0,512) /", "RB(0,512) RS(0) /");
}

static void mad_42_mad_3_t8_empty_blocks(void **state)
{
    p_mad_connection_t out;
    mad_connection_t before;

    OPEN(TCP_2000);
    EXCHANGE({4, C, E}, {0, C, R}, {1000, C, R});
    expect("SB(0,4) / / SB(0,1000) /", "RB(0,4) / / RB(0,1000) /");
    OPEN(TCP_2000);
    out = begin_packing();
    before = *out;
    mad_pack(out, NULL, 0, S, E);
    assert_memory_equal(out, &before, sizeof(before));
    assert_string_equal(recording.sent, "");
    mad_pack(out, (char[]){1}, 1, C, E);
    mad_end_packing(out);
    world_close();
}

static void mad_42_mad_48_mad_50_t9_static_group(void **state)
{
    OPEN({GROUP, STATIC, AGGREGATE, SIZE_MAX, 512});
    EXCHANGE({10, S, E}, {600, C, R});
    expect("GS(0) / GS(0) / SG(0,{512,98})", "RB(0,512) / / RS(0) RB(0,98) RS(0)");
    OPEN({GROUP, STATIC, AGGREGATE, SIZE_MAX, 512});
    EXCHANGE({10, S, E}, {600, C, E});
    expect("GS(0) / GS(0) / SG(0,{512,98})", "RB(0,512) / RS(0) RB(0,98) RS(0) /");
    OPEN({GROUP, STATIC, AGGREGATE, SIZE_MAX, 512});
    EXCHANGE({10, S, R}, {600, C, R});
    expect("GS(0) / GS(0) / SG(0,{512,98})", "/ / RB(0,512) RS(0) RB(0,98) RS(0)");
}

static void mad_42_t10_later_on_a_static_link(void **state)
{
    OPEN({EAGER, STATIC, AGGREGATE, SIZE_MAX, 512});
    EXCHANGE({100, L, R});
    expect("GS(0) / SG(0,{100})", "/ RB(0,100) RS(0)");
    OPEN({EAGER, STATIC, SPLIT, SIZE_MAX, 512});
    EXCHANGE({100, L, R});
    expect("GS(0) / SB(0,100)", "/ RB(0,100) RS(0)");
}

static void mad_42_mad_45_mad_50_t11_later_blocks_share_a_buffer(void **state)
{
    OPEN({EAGER, STATIC, AGGREGATE, SIZE_MAX, 512});
    EXCHANGE({100, C, R}, {50, L, R}, {30, L, R}, {20, C, E});
    expect("GS(0) / GS(0) / / / SB(0,120) SG(0,{80})", "RB(0,120) / / / RS(0) / RB(0,80) RS(0)");
}

#define EIGHT                                                                    \
    {4, S, E}, {4, C, E}, {4, S, R}, {4, C, R}, {4, L, E}, {4, L, R}, {4, C, E}, \
    {                                                                            \
        24, C, R                                                                 \
    }

static void mad_42_mad_19_t12_the_message_of_mad_test(void **state)
{
    OPEN({EAGER, DYNAMIC, SPLIT, SIZE_MAX});
    EXCHANGE(EIGHT);
    expect("SB(0,4) / SB(0,4) / SB(0,4) / SB(0,4) / / / / / SB(0,4) SB(0,4) SG(0,{4,24})",
           "RB(0,4) / RB(0,4) / RB(0,4) / RB(0,4) / RB(0,4) / / RB(0,4) / / RG(0,t,{4,24})");
    OPEN({GROUP, DYNAMIC, SPLIT, 360}, {GROUP, DYNAMIC, SPLIT, SIZE_MAX});
    EXCHANGE(EIGHT);
    expect("SB(0,4) / SB(0,4) / / / / / / / SG(0,{4,4,4}) SB(0,4) SG(0,{4,24})",
           "RB(0,4) / RB(0,4) / / / RG(0,t,{4,4,4}) / / RB(0,4) / / RG(0,t,{4,24})");
}

static void mad_46_mad_52_groups_that_aggregate(void **state)
{
    OPEN({GROUP, DYNAMIC, AGGREGATE, SIZE_MAX});
    EXCHANGE({4, C, E}, {8, C, E}, {16, C, R});
    expect("/ / / SG(0,{4,8,16})", "RG(0,t,{4}) / RG(0,f,{8}) / / RG(0,f,{16})");
    OPEN({GROUP, DYNAMIC, AGGREGATE, 100}, {GROUP, DYNAMIC, AGGREGATE, SIZE_MAX});
    EXCHANGE({4, C, E}, {200, C, E}, {8, C, E});
    expect("/ SG(0,{4}) / SG(1,{200}) / SG(0,{8})", "RG(0,t,{4}) / RG(1,t,{200}) / RG(0,t,{8}) /");
}

static void mad_47_order_at_the_end(void **state)
{
    OPEN({GROUP, DYNAMIC, SPLIT, 100}, {GROUP, DYNAMIC, SPLIT, SIZE_MAX});
    /* The rest of the stream, groups held back, then the links by number. */
    EXCHANGE({200, L, R}, {10, L, R}, {20, L, E}, {30, C, E}, {300, C, R}, {40, C, R});
    expect("/ / / / / / SB(0,20) SB(0,30) SG(0,{10,40}) SG(1,{200,300})",
           "/ / RB(0,20) / RB(0,30) / / / RG(0,t,{10,40}) RG(1,t,{200,300})");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mad_42_t1_figure_1),
        cmocka_unit_test(mad_42_mad_17_t2_later_delays_no_other_block),
        cmocka_unit_test(mad_42_mad_16_mad_47_mad_52_t3_later_express),
        cmocka_unit_test(mad_42_mad_44_mad_46_t4_two_links),
        cmocka_unit_test(mad_42_mad_44_mad_48_t5_static_and_groups),
        cmocka_unit_test(mad_42_mad_48_t6_t7_frames),
        cmocka_unit_test(mad_42_mad_3_t8_empty_blocks),
        cmocka_unit_test(mad_42_mad_48_mad_50_t9_static_group),
        cmocka_unit_test(mad_42_t10_later_on_a_static_link),
        cmocka_unit_test(mad_42_mad_45_mad_50_t11_later_blocks_share_a_buffer),
        cmocka_unit_test(mad_42_mad_19_t12_the_message_of_mad_test),
        cmocka_unit_test(mad_46_mad_52_groups_that_aggregate),
        cmocka_unit_test(mad_47_order_at_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
