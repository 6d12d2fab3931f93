/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define _GNU_SOURCE /* memmem */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "trace_read.h"
#include "trace_sample.h"

static char path[64];

static int setup(void **state)
{
    int fd;

    sim_core = (struct sim_core){0};
    sample_tracks_register();
    snprintf(path, sizeof path, "%s", "/tmp/trace_test_XXXXXX");
    fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    return 0;
}

static int teardown(void **state)
{
    sim_trace_close(NULL);
    unlink(path);
    return 0;
}

static void open_trace(void)
{
    char *error = NULL;

    if (!sim_trace_open(path, &error))
        fail_msg("%s", error);
}

/* Closes the trace and reads it: what our own writer makes is always in order. */
static struct trace_summary close_and_read(void)
{
    struct trace_summary summary;
    char *error = NULL;

    assert_true(sim_trace_close(&error));
    if (!trace_read(path, &summary, &error))
        fail_msg("%s", error);
    assert_int_equal(summary.unknown_tracks, 0);
    assert_int_equal(summary.unknown_names, 0);
    assert_int_equal(summary.unbalanced_slices, 0);
    assert_int_equal(summary.out_of_order, 0);
    return summary;
}

static uint8_t *slurp(const char *name, size_t *length)
{
    FILE *file = fopen(name, "rb");
    uint8_t *bytes = malloc(1 << 20);

    assert_non_null(file);
    *length = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}

/* ---- digest ---------------------------------------------------------------------------------- */

static uint64_t digest_of(uint32_t node, uint32_t index, const char *name, sim_time_t time,
                          sim_time_t duration, uint64_t flow, uint64_t value)
{
    sim_core.digest = 0;
    trace(SIM_TRACE_SLICE, SAMPLE_TRACK_BTE, node, index, name, time, duration, flow, value);
    return sim_core.digest;
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
    sim_core.digest = 0;
    trace(SIM_TRACE_SLICE, SAMPLE_TRACK_FMA, 1, 2, "put", 3, 4, 5, 6);
    assert_true(base != sim_core.digest);
}

static void digest_sees_order(void **state)
{
    uint64_t once;

    sim_core.digest = 0;
    trace(SIM_TRACE_INSTANT, SAMPLE_TRACK_CQ, 1, 0, "event", 10, 0, 0, 0);
    trace(SIM_TRACE_INSTANT, SAMPLE_TRACK_CQ, 2, 0, "event", 10, 0, 0, 0);
    once = sim_core.digest;
    sim_core.digest = 0;
    trace(SIM_TRACE_INSTANT, SAMPLE_TRACK_CQ, 2, 0, "event", 10, 0, 0, 0);
    trace(SIM_TRACE_INSTANT, SAMPLE_TRACK_CQ, 1, 0, "event", 10, 0, 0, 0);
    assert_true(once != sim_core.digest);
}

static void digest_is_the_same_with_a_file(void **state)
{
    uint64_t without;

    sample_points();
    without = sim_core.digest;
    sim_core = (struct sim_core){0};
    open_trace();
    sample_points();
    assert_true(sim_core.digest == without);
}

/* The same on every machine and with every compiler. */
static void digest_has_a_fixed_value(void **state)
{
    trace(SIM_TRACE_SLICE, SAMPLE_TRACK_BTE, 12, 1, "put", 1200000, 400, 5, 4096);
    trace(SIM_TRACE_SLICE, SAMPLE_TRACK_LINK, 431, 39, "put", 1300000, 400, 5, 4096);
    trace(SIM_TRACE_INSTANT, SAMPLE_TRACK_CQ, UINT32_MAX, 0, "\xc3", 1ull << 40, 0, 0, UINT64_MAX);
    assert_true(sim_core.digest == 0xf49d67893c598f5eull);
}

static void flow_numbers(void **state)
{
    assert_int_equal(sim_trace_flow_new(), 1);
    assert_int_equal(sim_trace_flow_new(), 2);
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
            trace(SIM_TRACE_SLICE, SAMPLE_TRACK_BTE, 0, 1, "put", round * 100000 + i * 1000, 50000,
                  0, 0);
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
        trace(SIM_TRACE_SLICE, SAMPLE_TRACK_LINK, 3, 7, "put", i * 10, 10, 0,
              0); /* below the resolution, too */
    for (i = 0; i < 100; i++)
        trace(SIM_TRACE_SLICE, SAMPLE_TRACK_LINK, 3, 7, "put", 1000, 0, 0,
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
    trace(SIM_TRACE_SLICE, SAMPLE_TRACK_RX, 0, 0, "put", 10 * SIM_NS, 10 * SIM_NS, 0, 0);
    trace(SIM_TRACE_INSTANT, SAMPLE_TRACK_RX, 0, 0, "a", 15 * SIM_NS, 0, 0, 0); /* inside */
    trace(SIM_TRACE_INSTANT, SAMPLE_TRACK_RX, 0, 0, "b", 12 * SIM_NS, 0, 0,
          0); /* before a: lane 2 */
    trace(SIM_TRACE_SLICE, SAMPLE_TRACK_RX, 0, 0, "put", 5 * SIM_NS, SIM_NS, 0, 0); /* lane 3 */
    trace(SIM_TRACE_INSTANT, SAMPLE_TRACK_RX, 0, 0, "c", 20 * SIM_NS, 0, 0, 0);
    trace(SIM_TRACE_SLICE, SAMPLE_TRACK_RX, 0, 0, "put", 20 * SIM_NS, SIM_NS, 0, 0);
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
        trace(SIM_TRACE_SLICE, SAMPLE_TRACK_SMSG, 0, 0, "send", i, SIM_S, 0, 0);
    trace(SIM_TRACE_SLICE, SAMPLE_TRACK_SMSG, 0, 0, "send", SIM_S + 2500, 1, 0,
          0); /* 2501 lanes are free again */
    summary = close_and_read();
    assert_int_equal(summary.slices, 5001);
    assert_int_equal(summary.tracks, 5001);
}

static void slice_that_never_ends(void **state)
{
    struct trace_summary summary;

    open_trace();
    trace(SIM_TRACE_SLICE, SAMPLE_TRACK_DATAGRAM, 0, 0, "wait", 5 * SIM_NS, SIM_NEVER, 0, 0);
    summary = close_and_read();
    assert_int_equal(summary.slices, 1);
    assert_int_equal(summary.last, SIM_NEVER / SIM_NS * SIM_NS);
}

/* A counter's name must not take the interning away from an event of the same name. */
static void counter_and_slice_of_one_name(void **state)
{
    struct trace_summary summary;

    open_trace();
    trace(SIM_TRACE_COUNTER, SAMPLE_TRACK_CQ, 0, 0, "depth", 0, 0, 0, 1);
    trace(SIM_TRACE_COUNTER, SAMPLE_TRACK_CQ, 0, 0, "free", 0, 0, 0, 1);
    trace(SIM_TRACE_SLICE, SAMPLE_TRACK_CQ, 0, 0, "depth", 0, 10, 0, 1);
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
    trace(SIM_TRACE_INSTANT, SAMPLE_TRACK_BTE, 0, 0, one, 0, 0, 0, 0);
    trace(SIM_TRACE_INSTANT, SAMPLE_TRACK_BTE, 0, 0, two, 0, 0, 0, 0);
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
        trace(SIM_TRACE_INSTANT, SIM_TRACK_FAULT, i % 2, i, "drop", i, 0, 0, 0);
    summary = close_and_read();
    assert_int_equal(summary.tracks, 1 + 2);
}

/* The track of a kind that the engine does not know is drawn as its device says. */
static void devices_name_their_tracks(void **state)
{
    static const struct sim_trace_group wires = {"wire", 3, false};
    static const struct sim_trace_track numbered = {"lane", &wires, true};
    static const struct sim_trace_track single = {"doorbell", &sim_trace_nodes, false};
    uint8_t *bytes;
    size_t length;

    sim_trace_track_register(20, &numbered);
    sim_trace_track_register(21, &single);
    sim_trace_track_register(21, &single); /* as a second device does it */
    open_trace();
    trace(SIM_TRACE_INSTANT, 20, 4, 0, "a", 0, 0, 0, 0);
    trace(SIM_TRACE_INSTANT, 21, 5, 0, "b", 0, 0, 0, 0);
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
    trace(SIM_TRACE_SLICE, SIM_TRACK_RANK, 0, 0, "GNI_CqGetEvent", 0, 10, 0, 0);
    trace(SIM_TRACE_SLICE, SIM_TRACK_RANK, 0, 1, "GNI_CqGetEvent", 0, 10, 0, 0);
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
    trace(SIM_TRACE_INSTANT, SAMPLE_TRACK_CQ, 0, 0, "event", 0, 0, 0, 0);
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

/* ---- reader ---------------------------------------------------------------------------------- */

static void expect_error(const char *bytes, size_t length, const char *text)
{
    struct trace_summary summary;
    char *error = NULL;

    assert_false(trace_read_bytes((const uint8_t *)bytes, length, &summary, &error));
    assert_string_equal(error, text);
    free(error);
}

#define EXPECT_ERROR(bytes, text) expect_error(bytes, sizeof(bytes) - 1, text)

static void reader_says_what_is_wrong(void **state)
{
    EXPECT_ERROR("", "byte 0, packet 0: malformed trace: there is no packet in it");
    EXPECT_ERROR("\x0a", "byte 0, packet 0: malformed packet, or one that is cut off");
    EXPECT_ERROR("\x0a\x05\x40\x01", "byte 0, packet 0: malformed packet, or one that is cut off");
    EXPECT_ERROR("\x0a\x00\x0a\x02\x40",
                 "byte 2, packet 1: malformed packet, or one that is cut off");
    EXPECT_ERROR("\x0a\x02\x43\x01", "byte 0, packet 1: malformed packet");
    EXPECT_ERROR("\x0a\x03\x5a\x01\x08", "byte 0, packet 1: malformed track event");
    EXPECT_ERROR("\x0a\x04\xe2\x03\x01\x08", "byte 0, packet 1: malformed track descriptor");
    EXPECT_ERROR("\x0a\x03\x62\x01\x08", "byte 0, packet 1: malformed interned data");
    EXPECT_ERROR("\x0a\x04\xda\x03\x01\x08", "byte 0, packet 1: malformed packet defaults");
    EXPECT_ERROR("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
                 "byte 0, packet 0: malformed packet, or one that is cut off");
    EXPECT_ERROR("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
                 "byte 0, packet 0: malformed packet, or one that is cut off");
}

static void reader_without_file(void **state)
{
    struct trace_summary summary;
    char *error = NULL;

    assert_false(trace_read("/nonexistent", &summary, &error));
    assert_string_equal(error, "cannot read /nonexistent: No such file or directory");
    free(error);
    assert_false(trace_read("/", &summary, &error));
    assert_string_equal(error, "cannot read /: Is a directory");
    free(error);
    assert_false(trace_read(path, &summary, &error)); /* of no bytes */
    assert_non_null(strstr(error, ": byte 0, packet 0: malformed trace"));
    free(error);
}

static struct trace_summary read_literal(const char *bytes, size_t length)
{
    struct trace_summary summary;
    char *error = NULL;

    if (!trace_read_bytes((const uint8_t *)bytes, length, &summary, &error))
        fail_msg("%s", error);
    return summary;
}

#define READ(bytes) read_literal(bytes, sizeof(bytes) - 1)

#define TRACK "\x0a\x05\xe2\x03\x02\x08\x07" /* uuid 7 */

static void reader_finds_unknown_things(void **state)
{
    struct trace_summary summary;

    summary = READ("\x0a\x06\x5a\x04\x48\x03\x58\x07"); /* an instant on track 7 */
    assert_int_equal(summary.instants, 1);
    assert_int_equal(summary.unknown_tracks, 1);
    summary = READ("\x0a\x06\x5a\x04\x48\x03\x58\x07" TRACK);
    assert_int_equal(summary.unknown_tracks, 0);
    assert_int_equal(summary.tracks, 1);
    summary = READ("\x0a\x04\x5a\x02\x48\x03"); /* on the root */
    assert_int_equal(summary.unknown_tracks, 0);
    summary = READ("\x0a\x07\xe2\x03\x04\x08\x07\x28\x09"); /* track 7 below 9 */
    assert_int_equal(summary.unknown_tracks, 1);
    summary = READ("\x0a\x06\x5a\x04\x48\x03\x50\x05"); /* name 5 */
    assert_int_equal(summary.unknown_names, 1);
    summary = READ("\x0a\x06\x62\x04\x12\x02\x08\x05\x0a\x06\x5a\x04\x48\x03\x50\x05");
    assert_int_equal(summary.unknown_names, 0);
    /* interned by another sequence */
    summary =
        READ("\x0a\x08\x50\x02\x62\x04\x12\x02\x08\x05\x0a\x08\x50\x01\x5a\x04\x48\x03\x50\x05");
    assert_int_equal(summary.unknown_names, 1);
}

static void reader_counts_unbalanced_slices(void **state)
{
    assert_int_equal(READ(TRACK "\x0a\x06\x5a\x04\x48\x01\x58\x07").unbalanced_slices, 1);
    assert_int_equal(READ(TRACK "\x0a\x06\x5a\x04\x48\x02\x58\x07").unbalanced_slices, 1);
    assert_int_equal(READ(TRACK "\x0a\x06\x5a\x04\x48\x01\x58\x07"
                                "\x0a\x06\x5a\x04\x48\x02\x58\x07")
                         .unbalanced_slices,
                     0);
    assert_int_equal(READ(TRACK "\x0a\x06\x5a\x04\x48\x02\x58\x07"
                                "\x0a\x06\x5a\x04\x48\x01\x58\x07")
                         .unbalanced_slices,
                     2);
}

#define FLOW_A "\xf9\x02\x01\x00\x00\x00\x00\x00\x00\x00"
#define FLOW_B "\xf9\x02\x02\x00\x00\x00\x00\x00\x00\x00"

static void reader_counts_flows(void **state)
{
    struct trace_summary summary;

    summary = READ("\x0a\x18\x5a\x16\x48\x03" FLOW_A FLOW_B "\x0a\x0e\x5a\x0c\x48\x03" FLOW_A);
    assert_int_equal(summary.flows, 2);
    assert_int_equal(summary.single_ended_flows, 1);
    /* packed; terminating; of the old kind */
    summary = READ("\x0a\x17\x5a\x15\x48\x03\xfa\x02\x10\x01\x00\x00\x00\x00\x00\x00\x00"
                   "\x02\x00\x00\x00\x00\x00\x00\x00"
                   "\x0a\x0e\x5a\x0c\x48\x03\x81\x03\x02\x00\x00\x00\x00\x00\x00\x00"
                   "\x0a\x0c\x5a\x0a\x48\x03\xa0\x02\x01\xa2\x02\x02\x03\x03");
    assert_int_equal(summary.flows, 3);
    assert_int_equal(summary.single_ended_flows, 0);
    EXPECT_ERROR("\x0a\x08\x5a\x06\xfa\x02\x03\x01\x00\x00",
                 "byte 0, packet 1: malformed track event");
}

static void reader_sees_time_go_back(void **state)
{
    struct trace_summary summary;

    summary = READ("\x0a\x06\x40\x09\x5a\x02\x48\x03\x0a\x06\x40\x08\x5a\x02\x48\x03");
    assert_int_equal(summary.out_of_order, 1);
    assert_int_equal(summary.first, 8 * SIM_NS);
    assert_int_equal(summary.last, 9 * SIM_NS);
    /* on another track it may */
    summary =
        READ(TRACK "\x0a\x06\x40\x09\x5a\x02\x48\x03\x0a\x08\x40\x08\x5a\x04\x48\x03\x58\x07");
    assert_int_equal(summary.out_of_order, 0);
    /* and with a clock that counts from event to event */
    summary = READ("\x0a\x06\x40\x09\x5a\x02\x48\x03\x0a\x09\x40\x08\xd0\x03\x40\x5a\x02\x48\x03");
    assert_int_equal(summary.out_of_order, 0);
}

/* The default track of a sequence, as other writers use it. */
static void reader_knows_defaults(void **state)
{
    struct trace_summary summary;

    summary = READ(TRACK "\x0a\x07\xda\x03\x04\x5a\x02\x58\x07"
                         "\x0a\x04\x5a\x02\x48\x01"
                         "\x0a\x06\x5a\x04\x48\x02\x58\x07");
    assert_int_equal(summary.unbalanced_slices, 0);
    assert_int_equal(summary.slices, 1);
}

/* Cut anywhere, or with any byte changed, a trace is read or refused, and nothing else happens. */
static void reader_survives_damage(void **state)
{
    struct trace_summary summary;
    struct sim_random random;
    uint8_t *bytes, *copy;
    size_t length, i, j, refused = 0;
    char *error;

    open_trace();
    trace(SIM_TRACE_SLICE, SAMPLE_TRACK_BTE, 0, 1, "put", 0, 100, 5, 8);
    trace(SIM_TRACE_COUNTER, SAMPLE_TRACK_CQ, 0, 1, "depth", 0, 0, 0, 8);
    trace(SIM_TRACE_SLICE, SAMPLE_TRACK_RX, 1, 0, "put", 0, 100, 5, 8);
    close_and_read();
    bytes = slurp(path, &length);
    for (i = 0; i < length; i++) {
        copy = malloc(i + 1); /* of exact size: the sanitizer sees the first byte beyond */
        memcpy(copy, bytes, i);
        if (!trace_read_bytes(copy, i, &summary, &error)) {
            free(error);
            refused++;
        }
        free(copy);
    }
    assert_true(refused > length / 2);
    sim_random_init(&random, 6, "damage", 0);
    for (i = 0; i < 20000; i++) {
        copy = malloc(length);
        memcpy(copy, bytes, length);
        for (j = 0; j <= i % 4; j++)
            copy[sim_random_below(&random, length)] = (uint8_t)sim_random_next(&random);
        trace_read_bytes(copy, length, &summary, NULL);
        free(copy);
    }
    free(bytes);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(digest_sees_every_field),
        TEST(digest_sees_order),
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
        TEST(reader_says_what_is_wrong),
        TEST(reader_without_file),
        TEST(reader_finds_unknown_things),
        TEST(reader_counts_unbalanced_slices),
        TEST(reader_counts_flows),
        TEST(reader_sees_time_go_back),
        TEST(reader_knows_defaults),
        TEST(reader_survives_damage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
