/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Threads of ranks: run_thread_program.c under scenarios of two ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "cluster/cluster.h"
#include "report/report.h"
#include "verdict/verdict.h"

static json_int_t run_job(const char *fields, const char *behaviour, const char *expect)
{
    const struct scenario_options options = {0};
    char *text = g_strdup_printf("fabric: {preset: chassis}\n"
                                 "jobs: [{name: a, nodes: 0-1%s, program: %s, args: {behaviour: "
                                 "%s}}]\n%s",
                                 fields, PROGRAM, behaviour, expect);
    char *error = NULL;
    struct scenario *scenario = scenario_parse(text, strlen(text), "t", &options, &error);
    json_t *result;
    json_int_t code;

    if (scenario == NULL)
        fail_msg("%s", error);
    result = report_run(scenario, &(struct cluster_options){.seed = 1}, &error);
    if (result == NULL)
        fail_msg("%s", error);
    code = json_integer_value(json_object_get(result, "exit"));
    if (code != EXIT_HOLDS)
        print_error("%s\n", json_dumps(json_object_get(result, "problems"), 0));
    json_decref(result);
    scenario_free(scenario);
    g_free(text);
    return code;
}

static json_int_t run(const char *behaviour, const char *expect)
{
    return run_job("", behaviour, expect);
}

static void aries_33_privilege_is_of_the_job(void **state)
{
    assert_int_equal(run_job("", "user", ""), EXIT_HOLDS);
    assert_int_equal(run_job(", privileged: false", "user", ""), EXIT_HOLDS);
    assert_int_equal(run_job(", privileged: true", "root", ""), EXIT_HOLDS);
}

static void threads_run_side_by_side(void **state)
{
    assert_int_equal(run("join", ""), EXIT_HOLDS);
}

static void threads_wait_for_each_other(void **state)
{
    assert_int_equal(run("wait", ""), EXIT_HOLDS);
}

static void ugni_47_threads_are_cancelled(void **state)
{
    assert_int_equal(run("cancel", ""), EXIT_HOLDS);
}

static void ugni_46_threads_are_interrupted(void **state)
{
    assert_int_equal(run("interrupt", ""), EXIT_HOLDS);
}

static void threads_end_with_their_rank(void **state)
{
    assert_int_equal(run("outlive", ""), EXIT_HOLDS);
    assert_int_equal(run("alarm", ""), EXIT_HOLDS);
}

static void ugni_91_a_rank_is_killed_with_its_threads(void **state)
{
    assert_int_equal(run("killed", "expect: [{outcome: failed}, {job: a, exit: 137}]\n"),
                     EXIT_HOLDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aries_33_privilege_is_of_the_job),
        cmocka_unit_test(threads_run_side_by_side),
        cmocka_unit_test(threads_wait_for_each_other),
        cmocka_unit_test(ugni_47_threads_are_cancelled),
        cmocka_unit_test(ugni_46_threads_are_interrupted),
        cmocka_unit_test(threads_end_with_their_rank),
        cmocka_unit_test(ugni_91_a_rank_is_killed_with_its_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
