/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Typed texts of the scenario language. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <glib.h>
#include "scenario/value.h"

static void expect_number(enum arg_type type, const char *text, uint64_t number)
{
    struct value value;
    char *error = NULL;

    if (!scenario_value_parse(type, text, NULL, NULL, NULL, &value, &error))
        fail_msg("%s: %s", text, error);
    assert_int_equal(value.number, number);
}

static void expect_refused(enum arg_type type, const char *text, const char *minimum,
                           const char *maximum)
{
    struct value value;
    char *error = NULL;

    if (scenario_value_parse(type, text, minimum, maximum, "one|two", &value, &error))
        fail_msg("%s was accepted", text);
    assert_non_null(strstr(error, "allowed: "));
    assert_null(strchr(error, '\n'));
    g_free(error);
}

static void counts(void **state)
{
    (void)state;
    expect_number(ARG_COUNT, "0", 0);
    expect_number(ARG_COUNT, "9223372036854775807", INT64_MAX);
    expect_refused(ARG_COUNT, "9223372036854775808", NULL, NULL);
    expect_refused(ARG_COUNT, "", NULL, NULL);
    expect_refused(ARG_COUNT, "-1", NULL, NULL);
    expect_refused(ARG_COUNT, "1.5", NULL, NULL);
    expect_refused(ARG_COUNT, "1 ", NULL, NULL);
    expect_refused(ARG_COUNT, "0x10", NULL, NULL);
    expect_refused(ARG_COUNT, "3", "4", NULL);
    expect_refused(ARG_COUNT, "9", "4", "8");
}

static void sizes(void **state)
{
    (void)state;
    expect_number(ARG_BYTES, "8", 8);
    expect_number(ARG_BYTES, "4KiB", 4096);
    expect_number(ARG_BYTES, "4 KiB", 4096);
    expect_number(ARG_BYTES, "1MB", 1000000);
    expect_number(ARG_BYTES, "1.5MiB", 1572864);
    expect_number(ARG_BYTES, "2TiB", 2ull << 40);
    expect_refused(ARG_BYTES, "1.5", NULL, NULL);
    expect_refused(ARG_BYTES, "4kib", NULL, NULL);
    expect_refused(ARG_BYTES, "KiB", NULL, NULL);
    expect_refused(ARG_BYTES, "9000000TiB", NULL, NULL);
    expect_refused(ARG_BYTES, "5KiB", NULL, "4KiB");
}

static void times(void **state)
{
    (void)state;
    expect_number(ARG_TIME, "0", 0);
    expect_number(ARG_TIME, "250ns", 250000);
    expect_number(ARG_TIME, "1.5us", 1500000);
    expect_number(ARG_TIME, "0.001ns", 1);
    expect_number(ARG_TIME, "3s", 3000000000000);
    expect_refused(ARG_TIME, "250", NULL, NULL);
    expect_refused(ARG_TIME, "0.0001ns", NULL, NULL);
    expect_refused(ARG_TIME, "0.5ps", NULL, NULL);
    expect_refused(ARG_TIME, "1min", NULL, NULL);
    expect_refused(ARG_TIME, "10000000s", NULL, NULL);
}

static void reals_bools_choices(void **state)
{
    struct value value;
    char *error = NULL;

    (void)state;
    assert_true(scenario_value_parse(ARG_REAL, "1.0e-4", "0", "1", NULL, &value, &error));
    assert_float_equal(value.real, 1e-4, 0);
    expect_refused(ARG_REAL, "nan", NULL, NULL);
    expect_refused(ARG_REAL, "inf", NULL, NULL);
    expect_refused(ARG_REAL, "1e999", NULL, NULL);
    expect_refused(ARG_REAL, "0x1p3", NULL, NULL);
    expect_refused(ARG_REAL, "1.1", "0", "1");
    assert_true(scenario_value_parse(ARG_BOOL, "yes", NULL, NULL, NULL, &value, &error));
    assert_int_equal(value.number, 1);
    assert_true(scenario_value_parse(ARG_BOOL, "off", NULL, NULL, NULL, &value, &error));
    assert_int_equal(value.number, 0);
    expect_refused(ARG_BOOL, "1", NULL, NULL);
    assert_true(
        scenario_value_parse(ARG_CHOICE, "two", NULL, NULL, "one|two|twofold", &value, &error));
    assert_int_equal(value.number, 1);
    assert_string_equal(value.text, "two");
    expect_refused(ARG_CHOICE, "tw", NULL, NULL);
    expect_refused(ARG_CHOICE, "", NULL, NULL);
    expect_refused(ARG_CHOICE, "one|two", NULL, NULL);
}

static void node_sets(void **state)
{
    static const uint32_t expected[] = {0, 1, 2, 128, 200, 202, 204};
    static const char *const bad[] = {"",     ",",           "1,",       "3-1", "1-5/0", "-1",
                                      "1--2", "99999999999", "0-400000", "a",   "1,2,1"};
    struct node_set set = {0};
    char *error = NULL;
    size_t i;

    (void)state;
    assert_true(scenario_node_set_parse(&set, "0-2, 128 ,200-205/2", &error));
    assert_int_equal(set.count, G_N_ELEMENTS(expected));
    assert_memory_equal(set.nodes, expected, sizeof(expected));
    scenario_node_set_clear(&set);
    for (i = 0; i < G_N_ELEMENTS(bad); i++) {
        if (scenario_node_set_parse(&set, bad[i], &error))
            fail_msg("%s was accepted", bad[i]);
        g_free(error);
        scenario_node_set_clear(&set);
    }
}

static void words(void **state)
{
    char *shown = scenario_quoted("a\"b\nc");

    (void)state;
    assert_string_equal(shown, "\"a\\\"b\\x0ac\"");
    g_free(shown);
    assert_int_equal(scenario_edit_distance("nods", "nodes"), 1);
    assert_int_equal(scenario_edit_distance("ndoes", "nodes"), 1);
    assert_int_equal(scenario_edit_distance("", "nodes"), 5);
    assert_int_equal(scenario_edit_distance("nodes", "nodes"), 0);
}

static void for_people(void **state)
{
    char text[32];

    (void)state;
    scenario_format_ps(text, sizeof(text), 785250);
    assert_string_equal(text, "785 ns");
    scenario_format_ps(text, sizeof(text), 1250000);
    assert_string_equal(text, "1.25 us");
    scenario_format_bytes_rate(text, sizeof(text), 9.87e9);
    assert_string_equal(text, "9.87 GB/s");
    scenario_format_count(text, sizeof(text), 12);
    assert_string_equal(text, "12");
    scenario_format_bytes(text, sizeof(text), 1536);
    assert_string_equal(text, "1.50 KiB");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts),     cmocka_unit_test(sizes),
        cmocka_unit_test(times),      cmocka_unit_test(reals_bools_choices),
        cmocka_unit_test(node_sets),  cmocka_unit_test(words),
        cmocka_unit_test(for_people),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
