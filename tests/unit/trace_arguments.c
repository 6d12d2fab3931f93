/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Arguments of trace points: how values read, what is added to a point, and names once per file. */
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

#include "engine/digest.h"
#include "engine/trace.h"
#include "trace_read.h"

static char path[64];

static size_t show_length(const struct sim_trace_point *point, struct sim_trace_argument *arguments)
{
    *arguments = (struct sim_trace_argument){.name = "length", .number = point->value};
    return 1;
}

static const struct sim_trace_track shown = {"shown", &sim_trace_nodes, false, show_length};
static const struct sim_trace_track plain = {"plain", &sim_trace_nodes, false, NULL};
enum { SHOWN = 22, PLAIN = 23 };

static int setup(void **state)
{
    int fd;

    sim_digest_reset();
    sim_core = (struct sim_core){0};
    sim_trace_track_register(SHOWN, &shown);
    sim_trace_track_register(PLAIN, &plain);
    snprintf(path, sizeof path, "%s", "/tmp/trace_arguments_XXXXXX");
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

static void point(uint32_t track, uint64_t value)
{
    sim_trace(SIM_TRACE_INSTANT, track, 0, 0, "point", 0, 0, 0, value);
}

/* How often the closed file contains the text. */
static unsigned times(const char *text)
{
    static uint8_t bytes[1 << 16];
    FILE *file;
    const uint8_t *at, *end;
    unsigned count = 0;

    assert_true(sim_trace_close(NULL));
    file = fopen(path, "rb");
    assert_non_null(file);
    end = bytes + fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    for (at = bytes; (at = memmem(at, (size_t)(end - at), text, strlen(text))) != NULL; at++)
        count++;
    return count;
}

static void open_trace(void)
{
    assert_true(sim_trace_open(path, NULL));
}

static void a_kind_names_the_value(void **state)
{
    open_trace();
    point(SHOWN, 7);
    point(SHOWN, 8);
    assert_int_equal(times("length"), 1); /* the name is in the file once */
}

static void an_added_text_is_in_the_next_point_only(void **state)
{
    unsigned i;

    open_trace();
    for (i = 0; i < 3; i++) {
        sim_trace_add_text("reason", "because");
        point(PLAIN, 1);
        point(PLAIN, 1);
    }
    assert_int_equal(times("because"), 3);
}

static void names_are_written_into_each_file(void **state)
{
    unsigned i;

    for (i = 0; i < 2; i++) {
        open_trace();
        sim_trace_add_number("packets", 1);
        point(PLAIN, 1);
        assert_int_equal(times("packets"), 1);
    }
}

static void what_is_added_without_a_trace_has_no_effect(void **state)
{
    sim_trace_add_text("reason", "too early");
    point(PLAIN, 1);
    open_trace();
    point(PLAIN, 1);
    assert_int_equal(times("too early"), 0);
}

static void the_digest_does_not_see_what_is_added(void **state)
{
    uint64_t without;

    point(PLAIN, 1);
    without = sim_digest();
    sim_digest_reset();
    open_trace();
    sim_trace_add_number("packets", 1);
    point(PLAIN, 1);
    assert_true(sim_digest() == without && without != 0);
}

static void the_reader_finds_every_name(void **state)
{
    struct trace_summary summary;

    open_trace();
    sim_trace_add_text("reason", "because");
    point(SHOWN, 1);
    assert_true(sim_trace_close(NULL));
    assert_true(trace_read(path, &summary, NULL));
    assert_int_equal(summary.instants, 1);
    assert_int_equal(summary.unknown_names, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_kind_names_the_value),
        TEST(an_added_text_is_in_the_next_point_only),
        TEST(names_are_written_into_each_file),
        TEST(what_is_added_without_a_trace_has_no_effect),
        TEST(the_digest_does_not_see_what_is_added),
        TEST(the_reader_finds_every_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
