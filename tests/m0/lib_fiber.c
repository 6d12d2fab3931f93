/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The cases of M0_CASES on the fibers of ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "cluster/cluster.h"
#include "report/report.h"
#include "verdict/verdict.h"

#include M0_CASES

static int (*body)(void);

static int run_body(struct rank *rank)
{
    int line = body();

#ifdef M0_AFTER
    M0_AFTER();
#endif
    return line == 0 ? 0 : rank_fail(rank, "line %d: not so", line);
}

static const struct workload_arg no_args[] = {{NULL}};
static const struct workload tested = {.name = "m0_lib_test", .args = no_args, .main = run_body};

static json_t *run(int (*what)(void))
{
    static const char text[] = "fabric: {preset: chassis}\n"
                               "jobs: [{name: a, nodes: 0-1, workload: m0_lib_test}]\n";
    const struct scenario_options options = {.no_programs = true};
    struct scenario *scenario;
    char *error = NULL;
    json_t *result;

    if (body == NULL)
        program_add(&tested);
    body = what;
    scenario = scenario_parse(text, strlen(text), "t", &options, &error);
    if (scenario == NULL)
        fail_msg("%s", error);
    result = report_run(scenario, &(struct cluster_options){.seed = 1}, &error);
    if (result == NULL)
        fail_msg("%s", error);
    scenario_free(scenario);
    return result;
}

static void holds(int (*what)(void))
{
    json_t *result = run(what);

    if (json_integer_value(json_object_get(result, "exit")) != EXIT_HOLDS)
        fail_msg("%s", json_dumps(json_object_get(result, "problems"), 0));
    json_decref(result);
}

#define CASE(name)                        \
    static void test_##name(void **state) \
    {                                     \
        holds(name);                      \
    }
M0_RUN_CASES(CASE)

#ifdef M0_BREAKS
static int broken(void)
{
    m0_lib_break_a_precondition();
    return 0;
}

/* Both ranks end with the clause's text; the simulation goes on. */
static void a_violated_precondition_ends_the_rank(void **state)
{
    json_t *result = run(broken);
    char *text = json_dumps(result, 0);

    assert_int_not_equal(json_integer_value(json_object_get(result, "exit")), EXIT_HOLDS);
    assert_non_null(strstr(text, "rank 0: precondition of m0_list_fini does not hold: "
                                 "m0_list_is_empty(list)"));
    assert_non_null(strstr(text, "rank 1: precondition of m0_list_fini"));
    free(text);
    json_decref(result);
}
#define BREAKS cmocka_unit_test(a_violated_precondition_ends_the_rank),
#else
#define BREAKS
#endif

#ifdef M0_UNBALANCED
/* Of the address sanitizer, where there is one. */
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

/* A process that ends with something open does not free its memory. */
static json_t *run_with_leaks(int (*what)(void))
{
    json_t *result;

    if (__lsan_disable != NULL)
        __lsan_disable();
    result = run(what);
    if (__lsan_enable != NULL)
        __lsan_enable();
    return result;
}

/* The ledger has this violation, and the run does not hold. */
static void unbalanced(int (*what)(void), const char *violation)
{
    json_t *result = run_with_leaks(what), *ledger = json_object_get(result, "ledger");
    char *text = json_dumps(ledger, 0);

    assert_int_not_equal(json_integer_value(json_object_get(result, "exit")), EXIT_HOLDS);
    assert_true(json_is_false(json_object_get(ledger, "balanced")));
    if (strstr(text, violation) == NULL)
        fail_msg("%s is not in %s", violation, text);
    free(text);
    json_decref(result);
}
#define UNBALANCED(name, violation)       \
    static void test_##name(void **state) \
    {                                     \
        unbalanced(name, violation);      \
    }
M0_UNBALANCED(UNBALANCED)
#else
#define M0_UNBALANCED(X)
#endif

int main(void)
{
#define LISTED(name, ...) cmocka_unit_test(test_##name),
    const struct CMUnitTest tests[] = {M0_RUN_CASES(LISTED) M0_UNBALANCED(LISTED) BREAKS};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
