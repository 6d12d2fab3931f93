/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Findings, and the API call that a fiber is in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "engine/finding.h"

static struct sim_finding_rule rule = {
    .name = "test.rule", .summary = "A test broke it.", .severity = SIM_FINDING_ERROR};

struct seen {
    unsigned findings, rules;
    struct sim_finding first;
    char text[64], rank[64];
};

static void see(const struct sim_finding *finding, void *arg)
{
    struct seen *seen = arg;

    if (seen->findings++ == 0) {
        seen->first = *finding;
        if (finding->rank != NULL)
            snprintf(seen->rank, sizeof(seen->rank), "%s", finding->rank);
        snprintf(seen->text, sizeof(seen->text), "%s", finding->text);
    }
}

static void see_rule(const struct sim_finding_rule *known, void *arg)
{
    ((struct seen *)arg)->rules += known == &rule;
}

static void outer_and_inner(void *arg)
{
    uintptr_t outer = sim_call_begin("fi_send"), inner;

    (void)arg;
    assert_true(sim_in_call());
    inner = sim_call_begin("GNI_SmsgSend");
    sim_spend(5 * SIM_NS);
    sim_finding_record(&rule, 3, "job.1", "%s of %d bytes", "send", 8);
    sim_sleep_until(20 * SIM_NS); /* the other fiber makes calls meanwhile */
    assert_string_equal(sim_call_name(), "GNI_SmsgSend");
    sim_call_end(inner);
    assert_string_equal(sim_call_name(), "fi_send");
    sim_call_end(outer);
    assert_string_equal(sim_call_name(), "fi_send");
    assert_false(sim_in_call());
}

static void other(void *arg)
{
    uintptr_t outer;

    (void)arg;
    assert_null(sim_call_name());
    outer = sim_call_begin("PMI2_Init");
    sim_sleep_until(40 * SIM_NS);
    sim_call_end(outer);
    assert_string_equal(sim_call_name(), "PMI2_Init");
}

static void a_finding_has_rank_time_and_call(void **state)
{
    struct seen seen = {0};

    (void)state;
    sim_init(&(struct sim_options){.seed = 1});
    sim_fiber_start(outer_and_inner, NULL, "one", 0);
    sim_fiber_start(other, NULL, "two", 0);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_null(sim_call_name());
    sim_finding_for_each(see, &seen);
    sim_finding_for_each_rule(see_rule, &seen);
    assert_int_equal(seen.findings, 1);
    assert_int_equal(seen.rules, 1);
    assert_ptr_equal(seen.first.rule, &rule);
    assert_int_equal(seen.first.node, 3);
    assert_string_equal(seen.rank, "job.1");
    assert_int_equal(seen.first.time, 5 * SIM_NS);
    assert_string_equal(seen.first.call, "GNI_SmsgSend");
    assert_string_equal(seen.text, "send of 8 bytes");
    sim_fini();
}

static void findings_beyond_the_limit_are_counted(void **state)
{
    struct seen seen = {0};
    int i;

    (void)state;
    sim_init(&(struct sim_options){.seed = 1});
    for (i = 0; i < 3 * SIM_FINDINGS_KEPT; i++)
        sim_finding_record(&rule, UINT32_MAX, NULL, "number %d", i);
    sim_finding_for_each(see, &seen);
    assert_int_equal(seen.findings, SIM_FINDINGS_KEPT);
    assert_int_equal(rule.count, 3 * SIM_FINDINGS_KEPT);
    sim_finding_reset();
    memset(&seen, 0, sizeof(seen));
    sim_finding_for_each(see, &seen);
    sim_finding_for_each_rule(see_rule, &seen);
    assert_int_equal(seen.findings, 0);
    assert_int_equal(seen.rules, 1);
    assert_int_equal(rule.count, 0);
    sim_fini();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_finding_has_rank_time_and_call),
        cmocka_unit_test(findings_beyond_the_limit_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
