/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* LNet in scenarios: what is refused, in which line; what a node has; an assertion that fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "cluster/cluster.h"
#include "lnet/api.h"
#include "report/report.h"

#define ETHERNET "fabric: {name: eth, topology: single-switch, nodes: 4}\n"
#define BARRIER "jobs: [{name: a, nodes: 0-3, workload: barrier}]\n"
#define NODES "lnet:\n  nodes:\n  - {nodes: 0-3}\n"

static struct scenario *parse(const char *text, char **error)
{
    const struct scenario_options options = {.no_programs = true};

    return scenario_parse(text, strlen(text), "t", &options, error);
}

static json_t *run(const char *text, char **error)
{
    struct cluster_options options = {.seed = 1};
    struct scenario *scenario = parse(text, error);
    json_t *result;

    if (scenario == NULL)
        return NULL;
    result = report_run(scenario, &options, error);
    scenario_free(scenario);
    return result;
}

static const struct {
    const char *text, *error;
} refusals[] = {
    {ETHERNET "lnet:\n  nodes:\n  - {nodes: 4}\n" BARRIER,
     "t:4: lnet.nodes.0.nodes: node 4 is not in this machine; allowed: 0 to 3"},
    {ETHERNET NODES "  - {nodes: 3}\n" BARRIER,
     "t:5: lnet.nodes.1.nodes: node 3 is in another entry, too"},
    {ETHERNET NODES "  rules: [{do: drop, nodes: 0}]\n" BARRIER,
     "t:5: lnet.rules.0.rate: allowed: exactly one of rate and interval"},
    {ETHERNET NODES "  rules: [{do: delay, nodes: 0, rate: 2}]\n" BARRIER,
     "t:5: lnet.rules.0.latency: allowed: either latency, 1 second or more, or hold"},
    {ETHERNET NODES "  rules: [{do: delay, nodes: 0, rate: 2, latency: 1, hold: 1ms}]\n" BARRIER,
     "t:5: lnet.rules.0.latency: allowed: either latency, 1 second or more, or hold"},
    {ETHERNET NODES "  rules: [{do: drop, nodes: 0, rate: 2, hold: 1ms}]\n" BARRIER,
     "t:5: lnet.rules.0.hold: only rules that delay have it"},
    {ETHERNET NODES "  rules: [{do: drop, nodes: 0, rate: 2, from: 2s, until: 2s}]\n" BARRIER,
     "t:5: lnet.rules.0.until: allowed: later than from"},
    {ETHERNET NODES "  rules: [{do: fail-nid, nodes: 0, seed: 3}]\n" BARRIER,
     "t:5: lnet.rules.0.seed: only rules that drop or delay have it"},
    {ETHERNET NODES "  rules: [{do: fail-nid, nodes: 0, until: 3s}]\n" BARRIER,
     "t:5: lnet.rules.0.until: only rules that drop or delay have it"},
    {ETHERNET NODES "  rules: [{do: drop, nodes: 0, rate: 2, source: nonsense}]\n" BARRIER,
     "t:5: lnet.rules.0.source: not a NID; allowed: 10.0.0.1@tcp, *, *@tcp"},
    {ETHERNET NODES "  rules: [{do: drop, nodes: 0, rate: 2, portal: 64}]\n" BARRIER,
     "t:5: lnet.rules.0.portal: not a portal; allowed: 0 to 63, or a list"},
    {ETHERNET NODES "  rules: [{do: drop, nodes: 0, rate: 2, message: [PUT, HELLO]}]\n" BARRIER,
     "t:5: lnet.rules.0.message: not a type; allowed: PUT, GET, ACK, REPLY, or a list"},
    {ETHERNET NODES "  rules: [{do: drop, nodes: 0, rate: 2, message: ACK, portal: 3}]\n" BARRIER,
     "t:5: lnet.rules.0.portal: ACK and REPLY have no portal"},
    {ETHERNET
     "lnet:\n  nodes:\n  - {nodes: 0-1}\n  rules: [{do: drop, nodes: 2, rate: 2}]\n" BARRIER,
     "t:5: lnet.rules.0.nodes: node 2 has no LNet (lnet.nodes)"},
    /* LNet's own checks, when the nodes are made and before anything runs. */
    {ETHERNET "lnet:\n  nodes:\n  - nodes: 0-3\n    networks: tcp(ib0)\n" BARRIER,
     "t:5: lnet.nodes.0: networks: the node has no interface ib0 for tcp"},
    {ETHERNET "lnet:\n  nodes:\n  - nodes: 0-3\n    networks: tcp(eth),tcp(eth)\n" BARRIER,
     "t:5: lnet.nodes.0: networks: two interfaces have the NID 10.0.0.1@tcp"},
    {ETHERNET "lnet:\n  nodes:\n  - nodes: 0-3\n    routes: o2ib 0 10.0.0.9@tcp\n" BARRIER,
     "t:5: lnet.nodes.0: routes: \"o2ib 0 10.0.0.9@tcp\": hops are 1 to 255"},
    {ETHERNET "lnet:\n  nodes:\n  - nodes: 0-3\n    routes: tcp1 10.0.0.9@tcp1\n" BARRIER,
     "t:5: lnet.nodes.0: routes: tcp1 by 10.0.0.9@tcp1: the gateway is on the network that it is a "
     "gateway to"},
    {ETHERNET "lnet:\n  nodes:\n  - nodes: 0-3\n    parameters: {ksocklnd.credits: many}\n" BARRIER,
     "t:4: lnet.nodes.0: ksocklnd.credits: many: a number from 1 to 16777216 is needed"},
};

static void refusals_name_the_line(void **state)
{
    size_t i;

    (void)state;
    for (i = 0; i < G_N_ELEMENTS(refusals); i++) {
        char *error = NULL;
        json_t *result = run(refusals[i].text, &error);

        if (result != NULL)
            fail_msg("was accepted: %s", refusals[i].text);
        assert_string_equal(error, refusals[i].error);
        g_free(error);
    }
}

static void nothing(struct lnet_event *event)
{
    struct lnet_process_id id;

    (void)LNetGetId(event->type == LNET_EVENT_UNLINK ? 0 : 1, &id); /* not allowed here */
}

/* Rank 0 calls LNet from a callback, which is an assertion of its node. */
static int mistaken_main(struct rank *rank)
{
    struct lnet_md md = {.start = &md, .length = 8, .threshold = 1};
    struct lnet_handle_md handle;

    if (LNetNIInit(LNET_PID_LUSTRE) < 0)
        return rank_fail(rank, "LNetNIInit");
    rank_compute(1000000);
    if (rank_id(rank) == 0) {
        LNetEQAlloc(0, nothing, &md.eq_handle);
        LNetMDBind(md, LNET_UNLINK, &handle);
        LNetMDUnlink(handle);
        return rank_fail(rank, "the call returned");
    }
    rank_compute(1000000000);
    return LNetNIFini();
}
static const struct workload mistaken = {.name = "lnet_mistaken", .main = mistaken_main};

static void an_assertion_ends_its_node_only(void **state)
{
    char *error = NULL;
    json_t *result, *job;
    const json_t *findings;

    (void)state;
    program_add(&mistaken);
    result = run("fabric: {preset: chassis}\nlnet: {nodes: [{nodes: 0-3, networks: lo}]}\n"
                 "jobs: [{name: a, nodes: 0-3, workload: lnet_mistaken}]\n",
                 &error);
    if (result == NULL)
        fail_msg("%s", error);
    job = json_array_get(json_object_get(result, "jobs"), 0);
    assert_int_equal(json_integer_value(json_object_get(job, "killed")), 1);
    findings = json_object_get(result, "findings");
    assert_non_null(
        strstr(json_dumps(findings, 0), "LNetGetId: LNet was called from the callback"));
    assert_false(json_boolean_value(json_object_get(result, "ok")));
    json_decref(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals_name_the_line),
        cmocka_unit_test(an_assertion_ends_its_node_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
