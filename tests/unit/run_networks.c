/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Machines with several networks: what is refused, which node has which device, names, faults. */
#define _GNU_SOURCE /* memmem */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <glib/gstdio.h>
#include "cluster/cluster.h"
#include "report/report.h"

#define TWO                                                                    \
    "networks:\n- {name: aries, preset: mini2}\n"                              \
    "- {name: ethernet, topology: fat-tree, attached: \"8,0-6/2\", radix: 8, " \
    "link_rate_GBps: 1.25}\n"
#define BARRIER "jobs: [{name: a, nodes: 0-3, workload: barrier}]\n"
#define MESSAGES                                                                   \
    "jobs:\n- {name: a, nodes: 0-8/2, network: ethernet, workload: raw_messages, " \
    "args: {messages: 50}}\n"

static struct scenario *parse(const char *text, char **error)
{
    const struct scenario_options options = {.no_programs = true};

    return scenario_parse(text, strlen(text), "t", &options, error);
}

static json_t *run_traced(const char *text, const char *trace)
{
    struct cluster_options options = {.trace = trace};
    char *error = NULL;
    struct scenario *scenario = parse(text, &error);
    json_t *result;

    if (scenario == NULL)
        fail_msg("%s", error);
    options.seed = scenario->seed;
    result = report_run(scenario, &options, &error);
    if (result == NULL)
        fail_msg("%s", error);
    scenario_free(scenario);
    return result;
}

static json_t *run(const char *text)
{
    return run_traced(text, NULL);
}

static json_int_t counter(const json_t *result, const char *name)
{
    const json_t *metric = json_object_get(json_object_get(result, "metrics"), name);

    assert_non_null(metric);
    return json_integer_value(json_object_get(metric, "value"));
}

static const char *digest(const json_t *result)
{
    return json_string_value(json_object_get(result, "digest"));
}

/* Document → the line that says what is wrong. */
static const struct {
    const char *text, *error;
} refusals[] = {
    {BARRIER "networks: []\n", "t:2: networks: allowed: 1 to 16 networks"},
    {BARRIER "fabric: {preset: mini2}\nnetworks: [{name: a}]\n",
     "t:3: networks: allowed: at most one of fabric and networks"},
    {BARRIER "networks: [{preset: mini2}]\n",
     "t:2: networks.0.name: missing; it is required: what jobs, faults and metrics call it"},
    {BARRIER "networks: [{name: 1a}]\n",
     "t:2: networks.0.name: not a name; allowed: at most 60 letters, digits, - and _, starting "
     "with a letter"},
    {BARRIER "networks:\n- {name: a}\n- {name: a, topology: fat-tree}\n",
     "t:4: networks.1.name: another network has this name; allowed: unique names"},
    {BARRIER "networks:\n- {name: a}\n- {name: b}\n",
     "t:4: networks.1.topology: a node has one Aries NIC; allowed: a dragonfly as the first "
     "network, "
     "single-switch or fat-tree for the others"},
    {BARRIER "networks: [{name: a, attached: 0-3}]\n",
     "t:2: networks.0.attached: the first network numbers the nodes and has all of them; allowed: "
     "for the other networks"},
    {BARRIER "networks:\n- {name: a}\n- {name: b, topology: fat-tree, attached: 63-64}\n",
     "t:4: networks.1.attached: there is no node 64; allowed: 0 to 63"},
    {BARRIER "networks:\n- {name: a}\n- {name: b, topology: fat-tree, attached: 3}\n",
     "t:4: networks.1.attached: a single node; allowed: at least two"},
    {BARRIER "networks:\n- {name: a}\n- {name: b, topology: fat-tree, nodes: 65}\n",
     "t:4: networks.1.nodes: more than the machine has; allowed: 2 to 64"},
    {BARRIER "networks:\n- {name: a}\n- {name: b, topology: fat-tree, nodes: 2, attached: 0-1}\n",
     "t:4: networks.1.nodes: allowed: at most one of nodes and attached"},
    {BARRIER "networks: [{name: a, params: {aries.nic.tx_n: 4}}]\n",
     "t:2: networks.0.params.aries.nic.tx_n: unknown parameter; did you mean aries.nic.tx_ns; "
     "allowed: names of sim-run --list-params"},
    {BARRIER "networks: [{name: a, kind: sci, topology: fat-tree}]\n",
     "t:2: networks.0.topology: a network of a kind is a single switch; allowed: single-switch"},
    {BARRIER "networks: [{name: a, kind: ethernet, link_latency: 1us}]\n",
     "t:2: networks.0.link_latency: the model of the kind says this; allowed: params"},
    {BARRIER "networks: [{name: a, kind: sci, params: {sci.bas_us: 1}}]\n",
     "t:2: networks.0.params: unknown parameter sci.bas_us; allowed: those of the kind's model"},
    {TWO "jobs: [{name: a, nodes: 0-3, network: ether, workload: barrier}]\n",
     "t:4: jobs.0.network: no network of this name; allowed: aries, "
     "ethernet"},
    {TWO "jobs: [{name: a, nodes: 0-3, network: ethernet, workload: barrier}]\n",
     "t:4: jobs.0.network: node 1 has no port; allowed: a network that all nodes of the job are "
     "attached to"},
    {TWO "jobs: [{name: a, nodes: [0, 2], network: ethernet, workload: smsg_pingpong}]\n",
     "t:4: jobs.0.workload: calls uGNI, but a switched network has no Aries NICs; allowed there: "
     "barrier, raw_messages, and the workloads of LNet (lnet_..., m0_...) and Madeleine "
     "(mad_... with MAD_ADAPTERS, sbp_..., sisci_..., tcp_..., via_...)"},
    {TWO BARRIER "faults: [{at: net.packet, do: drop, network: x}]\n",
     "t:5: faults.0.network: no network of this name; allowed: aries, ethernet"},
    {TWO BARRIER "faults: [{at: net.packet, do: drop, network: ethernet, source: 1}]\n",
     "t:5: faults.0.source: node 1 has no port; allowed: nodes that are attached to the network"},
};

static void every_refusal_names_the_network(void **state)
{
    size_t i;

    (void)state;
    for (i = 0; i < G_N_ELEMENTS(refusals); i++) {
        char *error = NULL;

        if (parse(refusals[i].text, &error) != NULL)
            fail_msg("was accepted: %s", refusals[i].text);
        assert_string_equal(error, refusals[i].error);
        g_free(error);
    }
}

/* `fabric` is the short form of one network. */
static void one_network_has_a_name(void **state)
{
    char *error = NULL;
    struct scenario *scenario = parse(BARRIER, &error);

    (void)state;
    assert_int_equal(scenario_network_count(scenario), 1);
    assert_string_equal(scenario_network(scenario, 0)->name, "aries");
    scenario_free(scenario);
    scenario = parse("fabric: {topology: fat-tree}\n" BARRIER, &error);
    assert_string_equal(scenario_network(scenario, 0)->name, "switched");
    scenario_free(scenario);
    scenario = parse("fabric: {name: gemini}\n" BARRIER, &error);
    assert_string_equal(scenario_network(scenario, 0)->name, "gemini");
    scenario_free(scenario);
}

static void a_node_has_the_devices_of_its_networks(void **state)
{
    static const uint32_t endpoints[] = {1, UINT32_MAX, 2, UINT32_MAX, 3, UINT32_MAX,
                                         4, UINT32_MAX, 0, UINT32_MAX};
    char *error = NULL;
    struct scenario *scenario = parse(TWO BARRIER, &error);
    struct cluster *cluster =
        cluster_create(scenario, &(struct cluster_options){.seed = 1}, &error);
    uint32_t node;

    (void)state;
    assert_non_null(cluster);
    assert_int_equal(cluster->network_count, 2);
    assert_int_equal(cluster->node_count, 64);
    assert_non_null(cluster->networks[0].aries);
    assert_null(cluster->networks[1].aries);
    assert_int_equal(net_endpoints(cluster->networks[1].net), 5);
    for (node = 0; node < G_N_ELEMENTS(endpoints); node++) {
        const struct cluster_device *device = cluster_device(cluster, node, 1);

        assert_int_equal(cluster_device(cluster, node, 0)->endpoint, node);
        assert_int_equal(cluster->nodes[node].device_count, endpoints[node] == UINT32_MAX ? 1 : 2);
        assert_int_equal(device != NULL ? device->endpoint : UINT32_MAX, endpoints[node]);
    }
    cluster_destroy(cluster);
    scenario_free(scenario);
}

static void each_network_counts_its_own_transfers(void **state)
{
    json_t *result = run(TWO MESSAGES), *networks = json_object_get(result, "networks");

    (void)state;
    assert_int_equal(counter(result, "net.transfers"), 0);
    assert_int_equal(counter(result, "net.ethernet.transfers"), 250);
    assert_int_equal(json_array_size(networks), 2);
    assert_string_equal(json_string_value(json_object_get(json_array_get(networks, 1), "name")),
                        "ethernet");
    json_decref(result);
}

/* What happens on the first network does not depend on others, nor on its name. */
static void an_idle_network_changes_nothing(void **state)
{
    static const char *const job =
        "jobs: [{name: a, nodes: 0-7, workload: alltoall_put, args: {rounds: 3}}]\n";
    char *alone = g_strconcat("fabric: {preset: mini2}\n", job, NULL),
         *beside = g_strconcat(TWO, job, NULL);
    json_t *one = run(alone), *two = run(beside);

    (void)state;
    assert_string_equal(digest(one), digest(two));
    assert_null(json_object_get(one, "networks"));
    json_decref(one);
    json_decref(two);
    g_free(alone);
    g_free(beside);
}

static void a_rule_matches_on_its_network_only(void **state)
{
    json_t *second = run(TWO MESSAGES "faults: [{at: net.packet, network: ethernet, do: drop, "
                                      "source: 8, probability: 0.5}]\n"),
           *first = run(TWO MESSAGES "faults: [{at: net.packet, do: drop}]\n"), *fault;

    (void)state;
    assert_true(counter(second, "net.ethernet.dropped") > 0);
    assert_true(counter(second, "net.ethernet.dropped") <= 50);
    assert_int_equal(counter(second, "net.dropped"), 0);
    fault = json_array_get(json_object_get(second, "faults"), 0);
    assert_string_equal(json_string_value(json_object_get(fault, "at")), "net.ethernet.packet");
    assert_int_equal(json_integer_value(json_object_get(fault, "seen")), 50);
    assert_int_equal(counter(first, "net.ethernet.dropped"), 0);
    json_decref(second);
    json_decref(first);
}

/* All devices of a crashed node are gone: nothing reaches it on any network. */
static void a_crashed_node_is_off_every_network(void **state)
{
    json_t *result = run(TWO MESSAGES "faults: [{at: node, do: crash, node: 4, time: 1us}]\n");

    (void)state;
    assert_true(
        counter(result, "net.ethernet.unreachable") + counter(result, "net.ethernet.dropped") > 0);
    assert_true(json_is_true(json_object_get(json_object_get(result, "ledger"), "balanced")));
    json_decref(result);
}

static void a_trace_names_the_network_of_a_router(void **state)
{
    char *path = NULL, *bytes = NULL;
    int file = g_file_open_tmp("run-networks-XXXXXX", &path, NULL);
    json_t *traced, *plain = run(TWO MESSAGES);
    gsize length;

    (void)state;
    assert_true(file >= 0);
    g_close(file, NULL);
    traced = run_traced(TWO MESSAGES, path);
    assert_string_equal(digest(traced), digest(plain));
    assert_true(g_file_get_contents(path, &bytes, &length, NULL));
    assert_non_null(memmem(bytes, length, "ethernet router 0", strlen("ethernet router 0")));
    g_unlink(path);
    g_free(bytes);
    g_free(path);
    json_decref(traced);
    json_decref(plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_refusal_names_the_network),
        cmocka_unit_test(one_network_has_a_name),
        cmocka_unit_test(a_node_has_the_devices_of_its_networks),
        cmocka_unit_test(each_network_counts_its_own_transfers),
        cmocka_unit_test(an_idle_network_changes_nothing),
        cmocka_unit_test(a_rule_matches_on_its_network_only),
        cmocka_unit_test(a_crashed_node_is_off_every_network),
        cmocka_unit_test(a_trace_names_the_network_of_a_router),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
