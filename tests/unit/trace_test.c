/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The writer of traces, and the digest of their points. */
#define _GNU_SOURCE /* memmem */
#include "trace_frame.h"

/* ---- digest ---------------------------------------------------------------------------------- */

static uint64_t digest_of(uint32_t node, uint32_t index, const char *name, sim_time_t time,
                          sim_time_t duration, uint64_t flow, uint64_t value)
{
    sim_digest_reset();
    sim_trace(SIM_TRACE_SLICE, SAMPLE_TRACK_BTE, node, index, name, time, duration, flow, value);
    return sim_digest();
}

static void digest_sees_every_field(void **state)
{
    uint64_t base = digest_of(1, 2, "put", 3, 4, 5, 6), bit;
    unsigned i;

    assert_true(base == digest_of(1, 2, "put", 3, 4, 5, 6));
    assert_true(base != digest_of(1, 2, "get", 3, 4, 5, 6));
    assert_true(base != digest_of(1, 2, "put", 3, 6, 5, 4));
    assert_true(base != digest_of(1, 2, "put", 3, 5, 4, 6));
    for (i = 0; i < 64; i++) {
        bit = 1ull << i;
        assert_true(base != digest_of(1, 2, "put", 3 ^ bit, 4, 5, 6));
        assert_true(base != digest_of(1, 2, "put", 3, 4 ^ bit, 5, 6));
        assert_true(base != digest_of(1, 2, "put", 3, 4, 5 ^ bit, 6));
        assert_true(base != digest_of(1, 2, "put", 3, 4, 5, 6 ^ bit));
    }
    for (i = 0; i < 32; i++) {
        assert_true(base != digest_of(1 ^ 1u << i, 2, "put", 3, 4, 5, 6));
        assert_true(base != digest_of(1, 2 ^ 1u << i, "put", 3, 4, 5, 6));
    }
    sim_digest_reset();
    sim_trace(SIM_TRACE_SLICE, SAMPLE_TRACK_FMA, 1, 2, "put", 3, 4, 5, 6);
    assert_true(base != sim_digest());
}

static void digest_sees_order(void **state)
{
    uint64_t once;

    sim_digest_reset();
    sim_trace(SIM_TRACE_INSTANT, SAMPLE_TRACK_CQ, 1, 0, "event", 10, 0, 0, 0);
    sim_trace(SIM_TRACE_INSTANT, SAMPLE_TRACK_CQ, 1, 1, "event", 10, 0, 0, 0);
    once = sim_digest();
    sim_digest_reset();
    sim_trace(SIM_TRACE_INSTANT, SAMPLE_TRACK_CQ, 1, 1, "event", 10, 0, 0, 0);
    sim_trace(SIM_TRACE_INSTANT, SAMPLE_TRACK_CQ, 1, 0, "event", 10, 0, 0, 0);
    assert_true(once != sim_digest());
}

/* What nodes do at the same time has no order: two processes may simulate a part each. */
static void digest_of_nodes_adds_up(void **state)
{
    uint64_t one, two;

    one = digest_of(1, 0, "event", 10, 0, 0, 0);
    two = digest_of(2, 0, "event", 10, 0, 0, 0);
    sim_digest_reset();
    sim_trace(SIM_TRACE_SLICE, SAMPLE_TRACK_BTE, 2, 0, "event", 10, 0, 0, 0);
    sim_trace(SIM_TRACE_SLICE, SAMPLE_TRACK_BTE, 1, 0, "event", 10, 0, 0, 0);
    assert_true(sim_digest() == one + two);
    sim_digest_reset();
    sim_trace(SIM_TRACE_SLICE, SAMPLE_TRACK_LINK, 1, 0, "event", 10, 0, 0, 0);
    one = sim_digest();
    sim_trace(SIM_TRACE_SLICE, SAMPLE_TRACK_BTE, 1, 0, "event", 10, 0, 0, 0);
    assert_true(sim_digest() == one + digest_of(1, 0, "event", 10, 0, 0, 0));
}

/* Also where the compiler does not know the name, and of a name that is too long for it. */
static void digest_sees_whole_names(void **state)
{
    static const char text[] = "transfer of a long message";
    char copy[sizeof text];
    uint64_t once = digest_of(1, 2, text, 3, 4, 5, 6), known;

    memcpy(copy, text, sizeof copy);
    assert_true(once == digest_of(1, 2, copy, 3, 4, 5, 6));
    copy[sizeof copy - 2] ^= 1;
    assert_true(once != digest_of(1, 2, copy, 3, 4, 5, 6));
    assert_true(digest_of(1, 2, "put", 3, 4, 5, 6) != digest_of(1, 2, "pot", 3, 4, 5, 6));
    sim_digest_reset();
    sim_trace(SIM_TRACE_SLICE, SAMPLE_TRACK_BTE, 1, 2, "complete", 3, 4, 5, 6);
    known = sim_digest();
    memcpy(copy, "complete", 9);
    assert_true(known == digest_of(1, 2, copy, 3, 4, 5, 6));
}

static void digest_is_the_same_with_a_file(void **state)
{
    uint64_t without;

    sample_points();
    without = sim_digest();
    sim_digest_reset();
    sim_core = (struct sim_core){0};
    open_trace();
    sample_points();
    assert_true(sim_digest() == without);
}

/* The same on every machine and with every compiler. */
static void digest_has_a_fixed_value(void **state)
{
    sim_trace(SIM_TRACE_SLICE, SAMPLE_TRACK_BTE, 12, 1, "put", 1200000, 400, 5, 4096);
    sim_trace(SIM_TRACE_SLICE, SAMPLE_TRACK_LINK, 431, 39, "put", 1300000, 400, 5, 4096);
    sim_trace(SIM_TRACE_INSTANT, SAMPLE_TRACK_CQ, UINT32_MAX, 0, "\xc3", 1ull << 40, 0, 0,
              UINT64_MAX);
    assert_true(sim_digest() == 0xd635b7251d268020ull);
}

static void flow_numbers(void **state)
{
    assert_int_equal(sim_trace_flow_new(), 1);
    assert_int_equal(sim_trace_flow_new(), 2);
    sim_digest_reset();
    sim_core = (struct sim_core){0};
    assert_int_equal(sim_trace_flow_new(), 1);
}

/* ---- what is written ------------------------------------------------------------------------- */

static void sample_is_read_back(void **state)
{
    struct trace_summary summary;
    unsigned lost = (SAMPLE_MESSAGES + SAMPLE_LOST - 1) / SAMPLE_LOST;

    open_trace();
    sample_points();
    summary = close_and_read();
    assert_int_equal(summary.slices, 4 * SAMPLE_MESSAGES - 2 * lost);
    assert_int_equal(summary.instants, SAMPLE_MESSAGES + 1);
    assert_int_equal(summary.counters, SAMPLE_MESSAGES);
    assert_int_equal(summary.flows, SAMPLE_MESSAGES);
    assert_int_equal(summary.single_ended_flows, lost);
    assert_int_equal(sim_trace_points_written(),
                     summary.slices + summary.instants + summary.counters);
}

static void same_points_same_bytes(void **state)
{
    uint8_t *bytes[2];
    size_t length[2];
    unsigned i;

    for (i = 0; i < 2; i++) {
        sim_digest_reset();
        sim_core = (struct sim_core){0};
        open_trace();
        sample_points();
        close_and_read();
        bytes[i] = slurp(path, &length[i]);
    }
    assert_int_equal(length[0], length[1]);
    assert_memory_equal(bytes[0], bytes[1], length[0]);
    free(bytes[0]);
    free(bytes[1]);
}

static void empty_trace(void **state)
{
    struct trace_summary summary;

    open_trace();
    summary = close_and_read();
    assert_int_equal(summary.packets, 1);
    assert_int_equal(summary.tracks, 0);
}

/* n slices at once need n lanes, and the lanes are used again afterwards. */
static void overlapping_slices_get_lanes(void **state)
{
    struct trace_summary summary;
    unsigned i, round;

    open_trace();
    for (round = 0; round < 3; round++)
        for (i = 0; i < 10; i++)
            sim_trace(SIM_TRACE_SLICE, SAMPLE_TRACK_BTE, 0, 1, "put", round * 100000 + i * 1000,
                      50000, 0, 0);
    summary = close_and_read();
    assert_int_equal(summary.slices, 30);
    assert_int_equal(summary.tracks, 1 + 10);
    assert_int_equal(summary.first, 0);
    assert_int_equal(summary.last, 259000);
}

static void slices_end_to_end_share_a_lane(void **state)
{
    struct trace_summary summary;
    unsigned i;

    open_trace();
    for (i = 0; i < 100; i++)
        sim_trace(SIM_TRACE_SLICE, SAMPLE_TRACK_LINK, 3, 7, "put", i * 10, 10, 0,
                  0); /* below the resolution, too */
    for (i = 0; i < 100; i++)
        sim_trace(SIM_TRACE_SLICE, SAMPLE_TRACK_LINK, 3, 7, "put", 1000, 0, 0,
                  0); /* no duration at all */
    summary = close_and_read();
    assert_int_equal(summary.tracks, 2);
    assert_int_equal(summary.slices, 200);
}

/* Points that are told out of order find a lane where time does not go back. */
static void late_points_get_lanes(void **state)
{
    struct trace_summary summary;

    open_trace();
    sim_trace(SIM_TRACE_SLICE, SAMPLE_TRACK_RX, 0, 0, "put", 10 * SIM_NS, 10 * SIM_NS, 0, 0);
    sim_trace(SIM_TRACE_INSTANT, SAMPLE_TRACK_RX, 0, 0, "a", 15 * SIM_NS, 0, 0, 0); /* inside */
    sim_trace(SIM_TRACE_INSTANT, SAMPLE_TRACK_RX, 0, 0, "b", 12 * SIM_NS, 0, 0,
              0); /* before a: lane 2 */
    sim_trace(SIM_TRACE_SLICE, SAMPLE_TRACK_RX, 0, 0, "put", 5 * SIM_NS, SIM_NS, 0, 0); /* lane 3 */
    sim_trace(SIM_TRACE_INSTANT, SAMPLE_TRACK_RX, 0, 0, "c", 20 * SIM_NS, 0, 0, 0);
    sim_trace(SIM_TRACE_SLICE, SAMPLE_TRACK_RX, 0, 0, "put", 20 * SIM_NS, SIM_NS, 0, 0);
    summary = close_and_read();
    assert_int_equal(summary.tracks, 1 + 3);
    assert_int_equal(summary.slices, 3);
    assert_int_equal(summary.instants, 3);
}

static void many_lanes(void **state)
{
    struct trace_summary summary;
    unsigned i;

    open_trace();
    for (i = 0; i < 5000; i++)
        sim_trace(SIM_TRACE_SLICE, SAMPLE_TRACK_SMSG, 0, 0, "send", i, SIM_S, 0, 0);
    sim_trace(SIM_TRACE_SLICE, SAMPLE_TRACK_SMSG, 0, 0, "send", SIM_S + 2500, 1, 0,
              0); /* 2501 lanes are free again */
    summary = close_and_read();
    assert_int_equal(summary.slices, 5001);
    assert_int_equal(summary.tracks, 5001);
}

static void slice_that_never_ends(void **state)
{
    struct trace_summary summary;

    open_trace();
    sim_trace(SIM_TRACE_SLICE, SAMPLE_TRACK_DATAGRAM, 0, 0, "wait", 5 * SIM_NS, SIM_NEVER, 0, 0);
    summary = close_and_read();
    assert_int_equal(summary.slices, 1);
    assert_int_equal(summary.last, SIM_NEVER / SIM_NS * SIM_NS);
}

/* A counter's name must not take the interning away from an event of the same name. */
static void counter_and_slice_of_one_name(void **state)
{
    struct trace_summary summary;

    open_trace();
    sim_trace(SIM_TRACE_COUNTER, SAMPLE_TRACK_CQ, 0, 0, "depth", 0, 0, 0, 1);
    sim_trace(SIM_TRACE_COUNTER, SAMPLE_TRACK_CQ, 0, 0, "free", 0, 0, 0, 1);
    sim_trace(SIM_TRACE_SLICE, SAMPLE_TRACK_CQ, 0, 0, "depth", 0, 10, 0, 1);
    summary = close_and_read();
    assert_int_equal(summary.tracks, 1 + 3);
    assert_int_equal(summary.counters, 2);
}

static void equal_names_at_two_addresses(void **state)
{
    static char one[] = "put", two[] = "put";
    struct trace_summary summary;
    uint8_t *bytes;
    size_t length, i, found = 0;

    open_trace();
    sim_trace(SIM_TRACE_INSTANT, SAMPLE_TRACK_BTE, 0, 0, one, 0, 0, 0, 0);
    sim_trace(SIM_TRACE_INSTANT, SAMPLE_TRACK_BTE, 0, 0, two, 0, 0, 0, 0);
    summary = close_and_read();
    assert_int_equal(summary.instants, 2);
    bytes = slurp(path, &length);
    for (i = 0; i + 3 <= length; i++)
        found += memcmp(bytes + i, "put", 3) == 0;
    assert_int_equal(found, 1);
    free(bytes);
}

/* Faults of a node share a track, whatever index their points give. */
static void faults_of_a_node(void **state)
{
    struct trace_summary summary;
    unsigned i;

    open_trace();
    for (i = 0; i < 10; i++)
        sim_trace(SIM_TRACE_INSTANT, SIM_TRACK_FAULT, i % 2, i, "drop", i, 0, 0, 0);
    summary = close_and_read();
    assert_int_equal(summary.tracks, 1 + 2);
}

/* The track of a kind that the engine does not know is drawn as its device says. */
static void devices_name_their_tracks(void **state)
{
    static const struct sim_trace_group wires = {"wire", 3, false};
    static const struct sim_trace_track numbered = {"lane", &wires, true, NULL};
    static const struct sim_trace_track single = {"doorbell", &sim_trace_nodes, false, NULL};
    uint8_t *bytes;
    size_t length;

    sim_trace_track_register(20, &numbered);
    sim_trace_track_register(21, &single);
    sim_trace_track_register(21, &single); /* as a second device does it */
    open_trace();
    sim_trace(SIM_TRACE_INSTANT, 20, 4, 0, "a", 0, 0, 0, 0);
    sim_trace(SIM_TRACE_INSTANT, 21, 5, 0, "b", 0, 0, 0, 0);
    assert_int_equal(close_and_read().tracks, 2 + 2);
    bytes = slurp(path, &length);
    assert_non_null(memmem(bytes, length, "wire 4", 6));
    assert_non_null(memmem(bytes, length, "lane 0", 6));
    assert_non_null(memmem(bytes, length, "node 5", 6));
    assert_non_null(memmem(bytes, length, "doorbell", 8));
    assert_null(memmem(bytes, length, "doorbell 0", 10));
    free(bytes);
}

static void rank_names(void **state)
{
    char name[1000];
    uint8_t *bytes;
    size_t length;

    sim_trace_set_rank_name(0, 0, "too early"); /* no trace is open */
    open_trace();
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    sim_trace_set_rank_name(0, 0, "wrong");
    sim_trace_set_rank_name(0, 0, "servers 17");
    sim_trace_set_rank_name(0, 1, name);
    sim_trace(SIM_TRACE_SLICE, SIM_TRACK_RANK, 0, 0, "GNI_CqGetEvent", 0, 10, 0, 0);
    sim_trace(SIM_TRACE_SLICE, SIM_TRACK_RANK, 0, 1, "GNI_CqGetEvent", 0, 10, 0, 0);
    close_and_read();
    bytes = slurp(path, &length);
    assert_non_null(memmem(bytes, length, "servers 17 (API)", 16));
    assert_null(memmem(bytes, length, "wrong", 5));
    assert_null(memmem(bytes, length, "too early", 9));
    free(bytes);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void bad_path(void **state)
{
    char *error = NULL;

    assert_false(sim_trace_open("/nonexistent/folder/trace", &error));
    assert_string_equal(error, "cannot write /nonexistent/folder/trace: No such file or directory");
    free(error);
    assert_false(sim_trace_on);
    assert_false(sim_trace_open("/nonexistent/folder/trace", NULL));
    sim_trace(SIM_TRACE_INSTANT, SAMPLE_TRACK_CQ, 0, 0, "event", 0, 0, 0, 0);
    assert_true(sim_trace_close(&error));
}

static void full_disk(void **state)
{
    char *error = NULL;

    if (access("/dev/full", W_OK) != 0)
        return;
    assert_true(sim_trace_open("/dev/full", &error));
    sample_points();
    assert_false(sim_trace_close(&error));
    assert_string_equal(error, "cannot write /dev/full: No space left on device");
    free(error);
    assert_true(sim_trace_close(&error)); /* told once */
}

static void one_at_a_time(void **state)
{
    char *error = NULL;

    open_trace();
    assert_false(sim_trace_open("/tmp/another", &error));
    assert_string_equal(error, "cannot write a trace to /tmp/another: another trace is open");
    free(error);
    assert_true(sim_trace_on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(digest_sees_every_field),
        TEST(digest_sees_order),
        TEST(digest_of_nodes_adds_up),
        TEST(digest_sees_whole_names),
        TEST(digest_is_the_same_with_a_file),
        TEST(digest_has_a_fixed_value),
        TEST(flow_numbers),
        TEST(sample_is_read_back),
        TEST(same_points_same_bytes),
        TEST(empty_trace),
        TEST(overlapping_slices_get_lanes),
        TEST(slices_end_to_end_share_a_lane),
        TEST(late_points_get_lanes),
        TEST(many_lanes),
        TEST(slice_that_never_ends),
        TEST(counter_and_slice_of_one_name),
        TEST(equal_names_at_two_addresses),
        TEST(faults_of_a_node),
        TEST(devices_name_their_tracks),
        TEST(rank_names),
        TEST(bad_path),
        TEST(full_disk),
        TEST(one_at_a_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
