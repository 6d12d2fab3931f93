/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The tests' own reader of traces: what it counts, and which files it refuses. */
#include "trace_frame.h"

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
    sim_trace(SIM_TRACE_SLICE, SAMPLE_TRACK_BTE, 0, 1, "put", 0, 100, 5, 8);
    sim_trace(SIM_TRACE_COUNTER, SAMPLE_TRACK_CQ, 0, 1, "depth", 0, 0, 0, 8);
    sim_trace(SIM_TRACE_SLICE, SAMPLE_TRACK_RX, 1, 0, "put", 0, 100, 5, 8);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reader_says_what_is_wrong),   TEST(reader_without_file),
        TEST(reader_finds_unknown_things), TEST(reader_counts_unbalanced_slices),
        TEST(reader_counts_flows),         TEST(reader_sees_time_go_back),
        TEST(reader_knows_defaults),       TEST(reader_survives_damage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
