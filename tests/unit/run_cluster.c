/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Scenarios run in this process: ranks, barriers, faults, expectations, the result. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <glib/gstdio.h>
#include "engine/trace.h"
#include "trace_read.h"
#include "cluster/cluster.h"
#include "report/report.h"
#include "verdict/verdict.h"

static json_t *run_seed(const char *text, uint64_t seed)
{
    const struct scenario_options options = {.no_programs = true};
    struct cluster_options cluster_options = {.seed = seed};
    char *error = NULL;
    struct scenario *scenario = scenario_parse(text, strlen(text), "t", &options, &error);
    json_t *result;

    if (scenario == NULL)
        fail_msg("%s", error);
    if (seed == 0)
        cluster_options.seed = scenario->seed;
    result = report_run(scenario, &cluster_options, &error);
    if (result == NULL)
        fail_msg("%s", error);
    scenario_free(scenario);
    return result;
}

static json_t *run(const char *text)
{
    return run_seed(text, 0);
}

static void expect_not_built(const char *text, const char *message)
{
    const struct scenario_options options = {.no_programs = true};
    struct cluster_options cluster_options = {.seed = 1};
    char *error = NULL;
    struct scenario *scenario = scenario_parse(text, strlen(text), "t", &options, &error);

    assert_non_null(scenario);
    assert_null(report_run(scenario, &cluster_options, &error));
    assert_string_equal(error, message);
    g_free(error);
    scenario_free(scenario);
}

static json_int_t exit_of(const json_t *result)
{
    return json_integer_value(json_object_get(result, "exit"));
}

static const char *text_at(const json_t *result, const char *array, size_t index)
{
    return json_string_value(json_array_get(json_object_get(result, array), index));
}

static double metric(const json_t *result, const char *name, const char *field)
{
    const json_t *value =
        json_object_get(json_object_get(json_object_get(result, "metrics"), name), field);

    if (value == NULL)
        fail_msg("no metric %s.%s", name, field);
    return json_number_value(value);
}

#define RAW                                                                                   \
    "jobs: [{name: a, nodes: 0-7, workload: raw_messages, args: {bytes: 8KiB, messages: 20, " \
    "window: 3}}]\n"

static void same_twice_and_by_seed(void **state)
{
    json_t *first = run(RAW), *second = run(RAW), *other = run_seed(RAW, 2);

    (void)state;
    assert_int_equal(exit_of(first), EXIT_HOLDS);
    json_object_del(first, "host");
    json_object_del(second, "host");
    assert_true(json_equal(first, second));
    assert_string_not_equal(json_string_value(json_object_get(first, "digest")),
                            json_string_value(json_object_get(other, "digest")));
    json_decref(first);
    json_decref(second);
    json_decref(other);
}

/* Exchanges without the time that PMI takes. */
#define IDEAL "oob: {local_latency: 0, hop_latency: 0, frame_time: 0, rate_GBps: 0}\n"

static void barrier_costs_ten_microseconds(void **state)
{
    json_t *result =
        run(IDEAL "jobs: [{name: a, nodes: 0-3, ranks_per_node: 2, workload: barrier,\n"
                  "        args: {rounds: 3, compute: 0}}]\n");

    (void)state;
    assert_int_equal(exit_of(result), EXIT_HOLDS);
    assert_float_equal(metric(result, "a.latency", "min"), 10e6, 0);
    assert_float_equal(metric(result, "a.latency", "max"), 10e6, 0);
    assert_float_equal(metric(result, "a.latency", "count"), 24, 0);
    /* three barriers and an exchange */
    assert_int_equal(json_integer_value(json_object_get(result, "virtual_time_ps")), 40 * SIM_US);
    json_decref(result);
}

static void jobs_start_at_their_time(void **state)
{
    json_t *result = run(
        IDEAL "jobs:\n- {name: a, nodes: 0-1, workload: barrier, args: {rounds: 1, compute: 0}, "
              "start: 5us}\n"
              "- {name: b, nodes: 0-1, workload: barrier, args: {rounds: 2, compute: 0}}\n");
    const json_t *jobs = json_object_get(result, "jobs");

    (void)state;
    assert_int_equal(json_integer_value(json_object_get(json_array_get(jobs, 0), "ended_ps")),
                     25 * SIM_US);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(jobs, 1), "ended_ps")),
                     30 * SIM_US);
    json_decref(result);
}

static void raw_messages_everywhere(void **state)
{
    static const char *const fabrics[] = {"{preset: mini2}", "{preset: mini2, fidelity: F0}",
                                          "{topology: single-switch}",
                                          "{topology: fat-tree, nodes: 8, radix: 4, fidelity: F0}"};
    static const char *const patterns[] = {"uniform", "neighbour", "incast", "alltoall"};
    size_t i, j;

    (void)state;
    for (i = 0; i < G_N_ELEMENTS(fabrics); i++) {
        for (j = 0; j < G_N_ELEMENTS(patterns); j++) {
            char *text = g_strdup_printf(
                "fabric: %s\njobs: [{name: a, nodes: 0-7, workload: raw_messages,\n"
                "        args: {pattern: %s, bytes: 10000, messages: 6, root: 2}}]\n",
                fabrics[i], patterns[j]);
            json_t *result = run(text);
            assert_int_equal(exit_of(result), EXIT_HOLDS);
            assert_float_equal(metric(result, "a.latency", "count"), j == 2 ? 42 : 48, 0);
            assert_float_equal(metric(result, "a.lost", "value"), 0, 0);
            json_decref(result);
            g_free(text);
        }
    }
}

/* On an idle network: a message of one packet takes the closed form, whatever the fidelity. */
static void raw_latency_is_the_networks(void **state)
{
    static const char *const fidelities[] = {"F0", "F1"};
    size_t i;

    (void)state;
    for (i = 0; i < G_N_ELEMENTS(fidelities); i++) {
        /* 64 bytes at 12.5 GB/s, once on the idle path; two links of 100 ns, one switch of 200 ns
         */
        char *text =
            g_strdup_printf("fabric: {topology: single-switch, fidelity: %s}\n"
                            "jobs: [{name: a, nodes: 0-1, workload: raw_messages,\n"
                            "        args: {pattern: neighbour, bytes: 64, messages: 1}}]\n",
                            fidelities[i]);
        json_t *result = run(text);
        assert_float_equal(metric(result, "a.latency", "min"), 405120, 0);
        json_decref(result);
        g_free(text);
    }
}

static void rules_match_and_are_counted(void **state)
{
    json_t *result = run(RAW "faults:\n"
                             "- {at: net.packet, do: drop, count: 3, skip: 10, label: some}\n"
                             "- {at: net.packet, do: corrupt, source: 2, count: 1}\n"
                             "- {at: net.packet, do: drop, from: 1s}\n"
                             "expect:\n"
                             "- {fault: some, equals: 3}\n- {fault: faults.1, above: 0}\n- {fault: "
                             "faults.2, equals: 0}\n"
                             "- {metric: a.lost.value, equals: 4}\n");

    (void)state;
    /* A counter has no field: the last expectation is wrong, and only that one. */
    assert_int_equal(exit_of(result), EXIT_BROKEN);
    assert_int_equal(json_array_size(json_object_get(result, "problems")), 1);
    assert_string_equal(text_at(result, "problems", 0),
                        "expected: a.lost.value equals 4; found: there is no such metric");
    assert_string_equal(text_at(result, "warnings", 0),
                        "fault faults.2 (net.packet drop) was never injected");
    /* Two of the four faults may affect the same message. */
    assert_in_range((uint64_t)metric(result, "a.lost", "value"), 2, 4);
    assert_true(json_is_true(json_object_get(json_object_get(result, "ledger"), "balanced")));
    json_decref(result);
}

static void every_fault_must_occur_when_expected(void **state)
{
    json_t *result =
        run(RAW "faults: [{at: net.packet, do: drop, from: 1s}]\nexpect: [{fault: fired}]\n");

    (void)state;
    assert_int_equal(exit_of(result), EXIT_BROKEN);
    assert_string_equal(text_at(result, "problems", 0),
                        "expected: every fault was injected; found: 0 times, 0 of 1 faults");
    json_decref(result);
}

static void timed_faults_occur(void **state)
{
    json_t *result = run("fabric: {preset: mini2}\n" RAW "faults:\n"
                         "- {at: link, do: down, routers: [g0c0s0, g0c0s1], time: 1us}\n"
                         "- {at: link, do: up, routers: [g0c0s0, g0c0s1], time: 9us}\n"
                         "- {at: link, do: lane_loss, routers: [0, 2], lanes: 1}\n"
                         "- {at: router, do: down, router: 1, time: 11us}\n"
                         "- {at: fabric, do: quiesce, time: 2us, for: 1us}\n"
                         "- {at: fabric, do: throttle, percent: 50, time: 4us, for: 1us}\n"
                         "- {at: node, do: hang, node: 3, time: 5us, for: 1us}\n"
                         "- {at: node, do: pcie_stall, node: 3, time: 7us, for: 1us}\n"
                         "- {at: cq, do: overrun, node: 3, time: 5us}\n"
                         "- {at: router, do: down, router: 1, time: 11s}\n"
                         "expect: [{fault: faults.0}, {fault: faults.8}, {job: a, exit: any}]\n");
    const json_t *faults = json_object_get(result, "faults");
    size_t i;

    (void)state;
    assert_int_equal(exit_of(result), EXIT_HOLDS);
    for (i = 0; i < json_array_size(faults); i++)
        assert_int_equal(json_integer_value(json_object_get(json_array_get(faults, i), "fired")),
                         i < 9);
    /* Waiting for the last alarm would have extended the run by seconds. */
    assert_true(json_integer_value(json_object_get(result, "virtual_time_ps")) <
                (json_int_t)SIM_MS);
    json_decref(result);
}

static void what_only_the_machine_knows(void **state)
{
    (void)state;
    expect_not_built("fabric: {preset: mini2}\n" RAW
                     "faults: [{at: link, do: down, routers: [0, 15]}]\n",
                     "t:3: faults.0.routers: no link 0 joins routers 0 and 15; allowed: two "
                     "routers with that many links");
    expect_not_built("fabric: {topology: single-switch}\n" RAW
                     "faults:\n- {at: router, do: down, router: 1}\n",
                     "t:4: faults.0.router: there is no router 1; allowed: 0 to 0");
}

/*
 * When a node crashes, its ranks end. The others continue, and no barrier waits for the dead ones.
 */
static void crashed_nodes_end_their_ranks(void **state)
{
    static const char *const text =
        "jobs: [{name: a, nodes: 0-3, ranks_per_node: 2, workload: barrier}]\n"
        "faults: [{at: node, do: crash, node: 1, time: 33us}]\n%s";
    char *plain = g_strdup_printf(text, ""),
         *expected = g_strdup_printf(text, "expect: [{job: a, exit: 137}]\n");
    json_t *result = run(plain);
    const json_t *job = json_array_get(json_object_get(result, "jobs"), 0);

    (void)state;
    assert_int_equal(exit_of(result), EXIT_BROKEN);
    assert_int_equal(json_integer_value(json_object_get(job, "killed")), 2);
    assert_int_equal(json_integer_value(json_object_get(job, "exit")), EXIT_KILLED);
    assert_non_null(strstr(json_string_value(json_array_get(json_object_get(job, "texts"), 0)),
                           "rank 2 on node 1: killed"));
    assert_float_equal(metric(result, "a.latency", "count"), 6 * 10 + 2 * 2, 4);
    json_decref(result);
    result = run(expected);
    assert_int_equal(exit_of(result), EXIT_HOLDS);
    json_decref(result);
    g_free(plain);
    g_free(expected);
}

/*
 * A node that reboots loses the ranks that run or start meanwhile, and runs those that start
 * afterwards. `hang` would stop its NIC for a second, but the boot ends that.
 */
static void rebooted_node_runs_later_jobs(void **state)
{
    static const char *const text =
        "jobs:\n"
        "- {name: before, nodes: 0-3, workload: put_latency, args: {iterations: 1000}}\n"
        "- {name: meanwhile, nodes: 1, start: 50us, workload: amo_rate}\n"
        "- {name: after, nodes: 0-3, start: 2ms, workload: put_latency, args: {iterations: 10}}\n"
        "oob: {local_latency: 0, hop_latency: 0, frame_time: 0, rate_GBps: 0}\n"
        "faults:\n"
        "- {at: node, do: hang, node: 1, time: 39us, for: 1s}\n"
        "- {at: node, do: reboot, node: 1, time: 40us, for: 1ms}\n"
        "expect:\n"
        "- {job: before, exit: 137}\n"
        "- {job: meanwhile, exit: 137}\n"
        "- {job: after, exit: 0}\n"
        "- {outcome: failed}\n"
        "- {fault: fired}\n";
    json_t *result = run(text);
    const json_t *after = json_array_get(json_object_get(result, "jobs"), 2);

    (void)state;
    assert_int_equal(exit_of(result), EXIT_HOLDS);
    assert_int_equal(json_integer_value(json_object_get(after, "killed")), 0);
    assert_true(json_integer_value(json_object_get(after, "ended_ps")) < 100 * (int64_t)SIM_MS);
    json_decref(result);
}

static void limits_end_runs(void **state)
{
    json_t *result =
        run("limits: {virtual_time: 50us}\n"
            "jobs: [{name: a, nodes: 0-29, workload: barrier, args: {rounds: 100}}]\n");
    const json_t *waiters = json_object_get(result, "waiters");

    (void)state;
    assert_int_equal(exit_of(result), EXIT_STUCK);
    assert_string_equal(json_string_value(json_object_get(result, "outcome")), "time-limit");
    assert_int_equal(json_integer_value(json_object_get(result, "virtual_time_ps")), 50 * SIM_US);
    /* More than twenty ranks: grouped by reason. */
    assert_true(json_array_size(waiters) < 4);
    json_decref(result);

    result = run("limits: {virtual_time: 50us}\n"
                 "jobs: [{name: a, nodes: 0-2, workload: barrier, args: {rounds: 100}}]\n"
                 "expect: [{outcome: time-limit}]\n");
    assert_int_equal(exit_of(result), EXIT_HOLDS);
    assert_int_equal(json_array_size(json_object_get(result, "waiters")), 3);
    json_decref(result);
}

static void unmet_expectations_break_the_verdict(void **state)
{
    static const char *const expectations[] = {
        "{ledger: broken}",
        "{outcome: deadlock}",
        "{outcome: failed}",
        "{job: a, exit: 1}",
        "{job: a, exit: failed}",
        "{metric: a.latency.p50, below: 1ns}",
        "{metric: a.latency.p50, above: 1s}",
        "{metric: a.latency.p50, equals: 3}",
        "{metric: a.latency.p50, within: {value: 1, percent: 50}}",
        "{metric: a.bandwith.p50, above: 0}",
        "{metric: net.packets, equals: 0}",
    };
    size_t i;

    (void)state;
    for (i = 0; i < G_N_ELEMENTS(expectations); i++) {
        char *text = g_strdup_printf(RAW "expect: [%s]\n", expectations[i]);
        json_t *result = run(text);
        if (exit_of(result) != EXIT_BROKEN)
            fail_msg("%s holds", expectations[i]);
        assert_int_equal(json_array_size(json_object_get(result, "problems")), 1);
        json_decref(result);
        g_free(text);
    }
}

/* Ranks that never end, parked in every kind of wait, are cleaned up. */
static void stuck_jobs_are_cleaned_up(void **state)
{
    static const char *const workloads[] = {"smsg_pingpong", "alltoall_put", "incast_smsg"};
    static const char *const limits[] = {"3us", "25us", "100us", "1s"};
    size_t i, j;

    (void)state;
    for (i = 0; i < G_N_ELEMENTS(workloads); i++) {
        for (j = 0; j < G_N_ELEMENTS(limits); j++) {
            char *text =
                g_strdup_printf("limits: {virtual_time: %s}\n"
                                "jobs: [{name: a, nodes: 0-7, workload: %s}]\n"
                                "faults: [{at: aries.packet, do: drop, probability: 0.08}]\n",
                                limits[j], workloads[i]);
            json_decref(run(text));
            g_free(text);
        }
    }
}

static void parameters_reach_the_model(void **state)
{
    static const char *const text =
        "fabric: {params: {aries: {nic: {tx_ns: %d}}}}\n"
        "jobs: [{name: a, nodes: 0-1, workload: smsg_pingpong, args: {iterations: 5}}]\n";
    char *fast = g_strdup_printf(text, 50), *slow = g_strdup_printf(text, 150);
    json_t *one = run(fast), *other = run(slow);

    (void)state;
    assert_float_equal(metric(other, "a.latency", "min") - metric(one, "a.latency", "min"), 100e3,
                       10e3);
    json_decref(one);
    json_decref(other);
    g_free(fast);
    g_free(slow);
}

/* Every event on a described track, in order; flows have two ends. */
static void traces_are_well_formed(void **state)
{
    static const char *const text =
        "jobs:\n- {name: a, nodes: 0-3, workload: smsg_pingpong, args: {iterations: 20}}\n"
        "- {name: b, nodes: 4-7, workload: alltoall_put, args: {rounds: 2}}\n"
        "- {name: c, nodes: 0-3, workload: raw_messages}\n";
    const struct scenario_options options = {.no_programs = true};
    struct cluster_options cluster_options = {.seed = 1};
    char *error = NULL, *path = NULL;
    struct scenario *scenario = scenario_parse(text, strlen(text), "t", &options, &error);
    int file = g_file_open_tmp("run-cluster-XXXXXX", &path, NULL);
    struct trace_summary summary;
    json_t *traced, *plain = run(text);

    (void)state;
    assert_true(file >= 0);
    g_close(file, NULL);
    cluster_options.trace = path;
    traced = report_run(scenario, &cluster_options, &error);
    assert_non_null(traced);
    assert_string_equal(json_string_value(json_object_get(traced, "trace")), path);
    /* Writing a trace does not change the run. */
    assert_string_equal(json_string_value(json_object_get(traced, "digest")),
                        json_string_value(json_object_get(plain, "digest")));
    assert_true(trace_read(path, &summary, &error));
    assert_true(summary.tracks > 12 && summary.slices > 100 && summary.flows > 20);
    assert_int_equal(summary.unknown_tracks, 0);
    assert_int_equal(summary.out_of_order, 0);
    assert_int_equal(summary.single_ended_flows, 0);
    g_unlink(path);
    g_free(path);
    json_decref(traced);
    json_decref(plain);
    scenario_free(scenario);
}

static void the_screen_says_it_all(void **state)
{
    static const char *const parts[] = {"t, seed 1; dragonfly",
                                        "a                    raw_messages",
                                        "a.latency",
                                        "lossy                net.packet drop",
                                        "balanced: nothing lost",
                                        "FAILED  a.latency.p50 below 1ns",
                                        "problems\n  expected: a.latency.p50 below 1ns",
                                        "of virtual time in",
                                        "DOES NOT HOLD"};
    json_t *result =
        run(RAW "faults: [{at: net.packet, do: drop, probability: 0.01, label: lossy}]\n"
                "expect: [{metric: a.latency.p50, below: 1ns}]\n");
    GString *screen = g_string_new(NULL);
    size_t i;

    (void)state;
    report_summary_print(result, false, screen);
    for (i = 0; i < G_N_ELEMENTS(parts); i++) {
        if (strstr(screen->str, parts[i]) == NULL)
            fail_msg("\"%s\" is not in\n%s", parts[i], screen->str);
    }
    assert_null(strchr(screen->str, '\033'));
    g_string_truncate(screen, 0);
    report_summary_print(result, true, screen);
    assert_non_null(strstr(screen->str, "\033[31mDOES NOT HOLD\033[0m"));
    g_string_free(screen, TRUE);
    json_decref(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_twice_and_by_seed),
        cmocka_unit_test(barrier_costs_ten_microseconds),
        cmocka_unit_test(jobs_start_at_their_time),
        cmocka_unit_test(raw_messages_everywhere),
        cmocka_unit_test(raw_latency_is_the_networks),
        cmocka_unit_test(rules_match_and_are_counted),
        cmocka_unit_test(every_fault_must_occur_when_expected),
        cmocka_unit_test(timed_faults_occur),
        cmocka_unit_test(what_only_the_machine_knows),
        cmocka_unit_test(crashed_nodes_end_their_ranks),
        cmocka_unit_test(rebooted_node_runs_later_jobs),
        cmocka_unit_test(limits_end_runs),
        cmocka_unit_test(unmet_expectations_break_the_verdict),
        cmocka_unit_test(stuck_jobs_are_cleaned_up),
        cmocka_unit_test(parameters_reach_the_model),
        cmocka_unit_test(traces_are_well_formed),
        cmocka_unit_test(the_screen_says_it_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
