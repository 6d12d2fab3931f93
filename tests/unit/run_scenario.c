/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Scenarios: what is refused and how, defaults, everything that is accepted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "scenario/scenario.h"

static const struct scenario_options no_options = {.no_programs = true, .keep_sweep = true};

static struct scenario *parse(const char *text)
{
    char *error = NULL;
    struct scenario *scenario = scenario_parse(text, strlen(text), "t", &no_options, &error);

    if (scenario == NULL)
        fail_msg("%s", error);
    return scenario;
}

#define JOB "jobs: [{name: a, nodes: 0-3, workload: barrier}]\n"

/* Document → the line that says what is wrong. */
static const struct {
    const char *text, *error;
} refusals[] = {
    {"[1]", "t:1: not a mapping; allowed: the fields of scenario, as \"field: value\""},
    {"seed: 1\n", "t:1: jobs: missing; it is required: what runs"},
    {JOB "sede: 1\n",
     "t:2: sede: unknown field; did you mean seed?; allowed: name, description, "
     "trace, seed, checks, fabric, networks, limits, oob, live, lnet, jobs, faults, "
     "expect, sweep"},
    {JOB "seed: -1\n",
     "t:2: seed: \"-1\" is not allowed; allowed: a whole number, at most 9007199254740991"},
    {JOB "seed: [1]\n",
     "t:2: seed: not a single value; allowed: a whole number, at most 9007199254740991"},
    {JOB "fabric: 3\n",
     "t:2: fabric: not a mapping; allowed: the fields of fabric, as \"field: value\""},
    {JOB "fabric: {topology: ring}\n",
     "t:2: fabric.topology: \"ring\" is not allowed; allowed: dragonfly, single-switch, fat-tree"},
    {JOB "fabric: {preset: mini2, groups: 2}\n",
     "t:2: fabric.groups: the preset says this; allowed: a preset, or groups, chassis, slots and "
     "cables"},
    {JOB "fabric: {nodes: 4}\n", "t:2: fabric.nodes: has no meaning on a dragonfly; allowed: with "
                                 "topology single-switch or fat-tree"},
    {JOB "fabric: {topology: fat-tree, preset: mini2}\n",
     "t:2: fabric.preset: has no meaning on a switched network; allowed: with topology dragonfly"},
    {JOB "fabric: {profile: xc99}\n",
     "t:2: fabric.profile: unknown host profile; allowed: xc40_hsw, xc30_snb, xc40_knl"},
    {JOB "fabric: {params: {aries.nic.tx_n: 4}}\n",
     "t:2: fabric.params.aries.nic.tx_n: unknown parameter; did you mean aries.nic.tx_ns; allowed: "
     "names of sim-run "
     "--list-params"},
    {JOB "fabric: {params: {aries.nic.tx_ns: 4, aries: {nic: {tx_ns: 5}}}}\n",
     "t:2: fabric.params.aries.nic.tx_ns: given twice; allowed: each parameter once"},
    {JOB "fabric: {params: {aries.nic.tx_ns: four}}\n",
     "t:2: fabric.params.aries.nic.tx_ns: \"four\" is not allowed; allowed: a number"},
    {JOB "fabric: {params: [1]}\n",
     "t:2: fabric.params: not a mapping; allowed: parameter: number"},
    {"jobs: []\n", "t:1: jobs: allowed: 1 to 64 jobs"},
    {"jobs: {}\n", "t:1: jobs: not a list; allowed: a list of job, each line starting with \"- \""},
    {"jobs:\n- {name: a, workload: barrier}\n",
     "t:2: jobs.0.nodes: allowed: exactly one of nodes and placement"},
    {"jobs:\n- {name: a, nodes: 0-3, placement: {count: 2}, workload: barrier}\n",
     "t:2: jobs.0.nodes: allowed: exactly one of nodes and placement"},
    {"jobs:\n- {name: a, nodes: 64, workload: barrier}\n",
     "t:2: jobs.0.nodes: there is no node 64; allowed: 0 to 63 in this fabric"},
    {"jobs:\n- {name: a, nodes: 5-1, workload: barrier}\n",
     "t:2: jobs.0.nodes: \"5-1\" is not a set of nodes; allowed: numbers and ranges such as "
     "0-63,128,200-210/2, below 262144"},
    {"jobs:\n- {name: a, nodes: [1, 1], workload: barrier}\n",
     "t:2: jobs.0.nodes: node 1 is there twice; allowed: each node once"},
    {"jobs:\n- {name: a, nodes: [1, [2]], workload: barrier}\n",
     "t:2: jobs.0.nodes: \"1,list or mapping\" is not a set of nodes; allowed: numbers and ranges "
     "such as "
     "0-63,128,200-210/2, below 262144"},
    {"jobs:\n- {name: a, placement: {count: 65}, workload: barrier}\n",
     "t:2: jobs.0.placement: needs 65 nodes; allowed: the fabric has 64"},
    {"jobs:\n- {name: a, placement: {policy: random}, workload: barrier}\n",
     "t:2: jobs.0.placement.count: missing; it is required: number of nodes"},
    {"jobs:\n- {name: a, nodes: 0}\n",
     "t:2: jobs.0.workload: allowed: exactly one of workload and program"},
    {"jobs:\n- {name: a, nodes: 0, program: ./x.so}\n",
     "t:2: jobs.0.program: programs are switched off here; allowed: workload"},
    {"jobs:\n- {name: a, nodes: 0, workload: barrier, ranks: 2}\n",
     "t:2: jobs.0.ranks: the nodes hold 1 ranks; allowed: at most that"},
    {"jobs:\n- {name: a, nodes: 0, workload: raw_messages}\n",
     "t:2: jobs.0: 1 ranks; allowed: workload raw_messages needs at least 2"},
    {"jobs:\n- {name: a, nodes: 0, workload: barrier, args: {round: 2}}\n",
     "t:2: jobs.0: args.round: workload barrier has no such argument; did you mean rounds?; "
     "allowed: rounds, compute"},
    {"jobs:\n- {name: a, nodes: 0, workload: barrier, args: {rounds: many}}\n",
     "t:2: jobs.0.args.rounds: \"many\" is not allowed; allowed: a whole number, from 1 to "
     "1000000"},
    {"jobs:\n- {name: a, nodes: 0, workload: barrier, args: {rounds: [1]}}\n",
     "t:2: jobs.0.args.rounds: not a single value; allowed: a whole number, from 1 to 1000000"},
    {"jobs:\n- {name: 1a, nodes: 0, workload: barrier}\n",
     "t:2: jobs.0.name: not a name; allowed: at most 60 letters, digits, - and _, starting with a "
     "letter; not net, aries, "
     "pmi, engine, all"},
    {"jobs:\n- {name: a, nodes: 0, workload: barrier}\n- {name: a, nodes: 1, workload: barrier}\n",
     "t:3: jobs.1.name: another job has this name; allowed: unique names"},
    {JOB "faults: [{do: drop}]\n", "t:2: faults.0.at: missing or not a single value; allowed: "
                                   "aries.packet, net.packet, aries.cq, aries.datagram, link, "
                                   "router, node, cq, fabric, memory, error, oob.message, "
                                   "oob.server"},
    {JOB "faults: [{at: lnk, do: down}]\n",
     "t:2: faults.0.at: \"lnk\" is not allowed; did you mean link?; allowed: aries.packet, "
     "net.packet, aries.cq, "
     "aries.datagram, link, router, node, cq, fabric, memory, error, oob.message, oob.server"},
    {JOB "faults: [{at: aries.packet, do: delay}]\n",
     "t:2: faults.0.do: \"delay\" is not allowed; allowed: drop, corrupt, fail"},
    {JOB "faults: [{at: aries.packet, do: fail, status: NONSENSE}]\n",
     "t:2: faults.0.status: no completion status; allowed: a name of aries/misc/exceptions.h "
     "without A_STATUS_, such as RMT_DESC_UNAVAILABLE"},
    {JOB "faults: [{at: node, do: bi_set, node: 1, orbs: 993}]\n",
     "t:2: faults.0.orbs: \"993\" is not allowed; allowed: a whole number, at most 992"},
    {JOB "faults: [{at: aries.packet, do: drop, node: 3}]\n",
     "t:2: faults.0.node: unknown field; allowed: at, do, label, status, probability, count, skip, "
     "only, "
     "from, "
     "until, source, target, "
     "between, kind"},
    {JOB "faults: [{at: aries.packet, do: drop, probability: 1.5}]\n",
     "t:2: faults.0.probability: \"1.5\" is not allowed; allowed: a number, from 0 to 1"},
    {JOB "faults: [{at: aries.packet, do: drop, from: 5us, until: 5us}]\n",
     "t:2: faults.0.until: never active; allowed: a time after `from`"},
    {JOB "faults: [{at: aries.packet, do: drop, source: 64}]\n",
     "t:2: faults.0.source: there is no node 64; allowed: 0 to 63 in this fabric"},
    {JOB "faults: [{at: aries.packet, do: drop, between: [g0, g7]}]\n",
     "t:2: faults.0.between: \"g7\" is not a group; allowed: g0 to g1"},
    {JOB "faults: [{at: aries.packet, do: drop, between: g0}]\n",
     "t:2: faults.0.between: not a list of two; allowed: two groups: [g0, g1]"},
    {JOB "faults: [{at: link, do: down, routers: [0, g0c9s0]}]\n",
     "t:2: faults.0.routers: \"g0c9s0\" is not a router; allowed: 0 to 15, or names such as "
     "g0c0s0"},
    {JOB "faults: [{at: node, do: crash, node: 99}]\n",
     "t:2: faults.0.node: there is no node 99; allowed: 0 to 63 in this fabric"},
    {JOB "faults: [{at: cq, do: overrun, node: 1, label: fired}]\n",
     "t:2: faults.0.label: not a name; allowed: at most 60 letters, digits, - and _, starting with "
     "a letter; not `fired`"},
    {"fabric: {topology: single-switch}\n" JOB "faults: [{at: node, do: hang, node: 1}]\n",
     "t:3: faults.0.at: concerns Aries NICs, which a switched network has not; allowed there: "
     "net.packet, oob.message, oob.server, link, router, and node with do: crash or reboot"},
    {"fabric: {topology: single-switch}\njobs:\n- {name: a, nodes: 0-1, workload: smsg_pingpong}\n",
     "t:3: jobs.0.workload: calls uGNI, but a switched network has no Aries NICs; allowed there: "
     "barrier, raw_messages, and the workloads of LNet (lnet_..., m0_...) and Madeleine "
     "(mad_... with MAD_ADAPTERS, sbp_..., sisci_..., tcp_..., via_...)"},
    {JOB "expect: [{leger: balanced}]\n",
     "t:2: expect.0: none of the known expectations; did you mean ledger?; allowed: ledger, "
     "metric, outcome, fault, job, finding, findings"},
    {JOB "expect: [{ledger: fine}]\n",
     "t:2: expect.0.ledger: \"fine\" is not allowed; allowed: balanced, broken"},
    {JOB "expect: [{metric: a.latency.p50}]\n",
     "t:2: expect.0: says no limit; allowed: below, above, equals, within"},
    {JOB "expect: [{metric: b.latency.p50, below: 1us}]\n",
     "t:2: expect.0.metric: no job of this name; did you mean a?; allowed: a, net, aries, lnet, "
     "legacy, pmi, "
     "engine "
     "(then a dot and the metric)"},
    {JOB "expect: [{metric: a.latency.p50, below: soon}]\n",
     "t:2: expect.0.below: \"soon\" is not a limit; allowed: a number, a time such as 40us, a "
     "size, a rate such as 1GB/s"},
    {JOB "expect: [{fault: loss}]\n", "t:2: expect.0.fault: no fault of this name; allowed: fired "
                                      "(all of them), a label, faults.0 and so on"},
    {JOB "expect: [{job: a, exit: 256}]\n",
     "t:2: expect.0.exit: not an exit code; allowed: 0 to 255, any, failed"},
    {JOB "sweep: {seed: 3}\n", "t:2: sweep.seed: not a list of values; allowed: [value, value]"},
    {JOB "sweep: {seed: [[3]]}\n",
     "t:2: sweep.seed: a value is not single; allowed: numbers and words"},
    {JOB "sweep: {}\n", "t:2: sweep: not a mapping; allowed: path: [value, value]"},
};

static void every_refusal_names_line_field_and_what_is_allowed(void **state)
{
    struct scenario *scenario;
    char *error;
    size_t i;

    (void)state;
    for (i = 0; i < G_N_ELEMENTS(refusals); i++) {
        error = NULL;
        scenario =
            scenario_parse(refusals[i].text, strlen(refusals[i].text), "t", &no_options, &error);
        if (scenario != NULL)
            fail_msg("was accepted: %s", refusals[i].text);
        assert_string_equal(error, refusals[i].error);
        g_free(error);
    }
}

static void unknown_names_are_listed(void **state)
{
    static const char *const texts[] = {JOB "fabric: {preset: mini3}\n",
                                        "jobs:\n- {name: a, nodes: 0, workload: barier}\n"};
    static const char *const parts[] = {
        "t:2: fabric.preset: \"mini3\" is not a known machine; did you mean mini2?; allowed: ",
        "t:2: jobs.0.workload: \"barier\" is not a known workload; did you mean barrier?; "
        "allowed: "};
    char *error;
    size_t i;

    (void)state;
    for (i = 0; i < G_N_ELEMENTS(texts); i++) {
        error = NULL;
        assert_null(scenario_parse(texts[i], strlen(texts[i]), "t", &no_options, &error));
        assert_memory_equal(error, parts[i], strlen(parts[i]));
        g_free(error);
    }
}

static void defaults(void **state)
{
    struct scenario *scenario = parse(JOB);

    (void)state;
    assert_string_equal(scenario->name, "unnamed");
    assert_int_equal(scenario->seed, 1);
    assert_int_equal(scenario_network(scenario, 0)->topology, TOPOLOGY_DRAGONFLY);
    assert_int_equal(scenario_network(scenario, 0)->fidelity, 1);
    assert_string_equal(scenario_profile(scenario_network(scenario, 0)), "xc40_hsw");
    assert_int_equal(scenario->endpoints, 64);
    assert_int_equal(scenario->limits.stack, 65536);
    assert_int_equal(scenario->limits.no_progress, 100 * SIM_S);
    assert_int_equal(scenario->rank_count, 4);
    assert_int_equal(scenario_job(scenario, 0)->values[0].number, 10);
    scenario_free(scenario);
}

static void preset_gives_the_profile(void **state)
{
    struct scenario *scenario = parse("fabric: {preset: theta9}\n" JOB);
    struct net_config config;

    (void)state;
    assert_string_equal(scenario_profile(scenario_network(scenario, 0)), "xc40_knl");
    assert_int_equal(scenario->endpoints, 3456);
    scenario_net_config(scenario_network(scenario, 0), 5, &config);
    assert_int_equal(config.dragonfly.groups, 9);
    assert_int_equal(config.seed, 5);
    scenario_free(scenario);
}

static void expect_nodes(const char *placement, const uint32_t *nodes, size_t count)
{
    char *text =
        g_strdup_printf("jobs: [{name: a, placement: %s, workload: barrier}]\n", placement);
    struct scenario *scenario = parse(text);

    assert_int_equal(scenario_job(scenario, 0)->nodes.count, count);
    assert_memory_equal(scenario_job(scenario, 0)->nodes.nodes, nodes, count * sizeof(*nodes));
    scenario_free(scenario);
    g_free(text);
}

static void placements(void **state)
{
    static const uint32_t linear[] = {7, 8, 9}, spread[] = {0, 32, 1, 33, 2};
    struct scenario *one =
        parse("jobs: [{name: a, placement: {policy: random, count: 64}, workload: barrier}]\n");
    struct scenario *same = parse(
        "seed: 9\njobs: [{name: a, placement: {policy: random, count: 64}, workload: barrier}]\n");
    struct scenario *other = parse(
        "jobs: [{name: a, placement: {policy: random, count: 64, seed: 1}, workload: barrier}]\n");
    uint64_t seen = 0;
    size_t i;

    (void)state;
    expect_nodes("{count: 3, first: 7}", linear, 3);
    expect_nodes("{policy: per-group, count: 5}", spread, 5);
    for (i = 0; i < 64; i++)
        seen |= 1ull << scenario_job(one, 0)->nodes.nodes[i];
    assert_true(seen == UINT64_MAX);
    assert_memory_equal(scenario_job(one, 0)->nodes.nodes, scenario_job(same, 0)->nodes.nodes,
                        64 * sizeof(uint32_t));
    assert_memory_not_equal(scenario_job(one, 0)->nodes.nodes, scenario_job(other, 0)->nodes.nodes,
                            64 * sizeof(uint32_t));
    scenario_free(one);
    scenario_free(same);
    scenario_free(other);
}

static void faults_of_every_kind(void **state)
{
    struct scenario *scenario =
        parse(JOB "faults:\n"
                  "- {at: aries.packet, do: corrupt, between: [g1, g0], kind: response, from: 1us, "
                  "until: 5ms, label: poison}\n"
                  "- {at: link, do: lane_loss, routers: [g0c1s3, 1], lanes: 1, time: 2ms}\n"
                  "- {at: fabric, do: throttle, percent: 12.5, for: 1us}\n");

    (void)state;
    assert_int_equal(scenario_fault(scenario, 0)->place, FAULT_POINT);
    assert_int_equal(scenario_fault(scenario, 0)->groups[0], 1);
    assert_int_equal(scenario_fault(scenario, 0)->kind, 1);
    assert_string_equal(scenario_fault(scenario, 0)->title, "poison");
    assert_int_equal(scenario_fault(scenario, 1)->place, FAULT_LINK);
    assert_int_equal(scenario_fault(scenario, 1)->router_numbers[0], 7);
    assert_int_equal(scenario_fault(scenario, 1)->router_numbers[1], 1);
    assert_int_equal(scenario_fault(scenario, 1)->time, 2 * SIM_MS);
    assert_string_equal(scenario_fault(scenario, 1)->title, "faults.1");
    assert_int_equal(scenario_fault(scenario, 2)->action, FABRIC_THROTTLE);
    assert_float_equal(scenario_fault(scenario, 2)->percent, 12.5, 0);
    scenario_free(scenario);
}

static void limits_of_expectations(void **state)
{
    struct scenario *scenario = parse(
        JOB "expect:\n"
            "- {metric: a.latency.p99, below: 40us, above: 4KiB}\n"
            "- {metric: a.bandwidth.p50, above: 1.5GB/s, within: {value: 2e9, percent: 5}}\n");

    (void)state;
    assert_float_equal(scenario_expectation(scenario, 0)->below_value, 40e6, 0);
    assert_float_equal(scenario_expectation(scenario, 0)->above_value, 4096, 0);
    assert_float_equal(scenario_expectation(scenario, 1)->above_value, 1.5e9, 0);
    assert_float_equal(scenario_expectation(scenario, 1)->within.value, 2e9, 0);
    scenario_free(scenario);
}

static void overrides_are_applied_in_order(void **state)
{
    static const struct override overrides[] = {
        {"seed", "3", "--set"}, {"seed", "4", "--set"}, {"jobs.a.nodes", "0-9", "--set"}};
    const struct scenario_options options = {overrides, 3, .no_programs = true};
    struct scenario *scenario;
    char *error = NULL;

    (void)state;
    scenario = scenario_parse(JOB, strlen(JOB), "t", &options, &error);
    assert_non_null(scenario);
    assert_int_equal(scenario->seed, 4);
    assert_int_equal(scenario->rank_count, 10);
    scenario_free(scenario);
}

static void overrides_name_themselves(void **state)
{
    static const struct override override = {"jobs.a.nodes", "0-99", "--set jobs.a.nodes=0-99"};
    const struct scenario_options options = {&override, 1, .no_programs = true};
    char *error = NULL;

    (void)state;
    assert_null(scenario_parse(JOB, strlen(JOB), "t", &options, &error));
    assert_string_equal(error, "--set jobs.a.nodes=0-99: jobs.0.nodes: there is no node 64; "
                               "allowed: 0 to 63 in this fabric");
    g_free(error);
}

/* Regenerate: ./dev generate, or sim-run --schema-markdown > docs/scenario-reference.md */
static void reference_is_current(void **state)
{
    char *reference = scenario_reference(), *page = NULL;

    (void)state;
    assert_true(g_file_get_contents("docs/scenario-reference.md", &page, NULL, NULL));
    assert_string_equal(page, reference);
    g_free(page);
    g_free(reference);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_refusal_names_line_field_and_what_is_allowed),
        cmocka_unit_test(unknown_names_are_listed),
        cmocka_unit_test(defaults),
        cmocka_unit_test(preset_gives_the_profile),
        cmocka_unit_test(placements),
        cmocka_unit_test(faults_of_every_kind),
        cmocka_unit_test(limits_of_expectations),
        cmocka_unit_test(overrides_are_applied_in_order),
        cmocka_unit_test(overrides_name_themselves),
        cmocka_unit_test(reference_is_current),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
