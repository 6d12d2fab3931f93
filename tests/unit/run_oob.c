/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The servers of PMI: the tree that they form, the jobs that each knows, and the time that a call
 * takes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "cluster/cluster.h"
#include "report/report.h"
#include "verdict/verdict.h"
#include "oob.h"

static struct scenario *parse(const char *text)
{
    const struct scenario_options options = {.no_programs = true};
    char *error = NULL;
    struct scenario *scenario = scenario_parse(text, strlen(text), "t", &options, &error);

    if (scenario == NULL)
        fail_msg("%s", error);
    return scenario;
}

/* A cluster with its servers, before anything runs. */
static struct cluster *build(const struct scenario *scenario)
{
    char *error = NULL;
    struct cluster *cluster =
        cluster_create(scenario, &(struct cluster_options){.seed = 1}, &error);

    if (cluster == NULL)
        fail_msg("%s", error);
    assert_null(cluster->oob); /* nobody has used it */
    assert_non_null(oob_of(cluster));
    assert_ptr_equal(oob_of(cluster), cluster->oob);
    return cluster;
}

static void destroy(struct cluster *cluster, struct scenario *scenario)
{
    cluster_destroy(cluster);
    scenario_free(scenario);
}

/* ---- the tree -------------------------------------------------------------------------------- */

/* Returns the number of servers above a node, with the root. */
static uint32_t depth(const struct oob *oob, const struct oob_server *server)
{
    const struct oob_line *line;

    if (server->node == PMI2_NO_NODE)
        return 0;
    for (line = oob->lines; line != NULL; line = line->next) {
        /*
         * of the two ends, that of the server above was created first and comes later in the list
         */
        if (line->server == server && line->other != NULL && line->next == line->other)
            return 1 + depth(oob, line->other->server);
    }
    fail_msg("nobody is above the server of node %u", server->node);
    return 0;
}

static void check_tree(uint64_t fan_out, uint32_t deepest)
{
    char *text = g_strdup_printf("fabric: {preset: mini2}\noob: {fan_out: %u}\n"
                                 "jobs:\n- {name: a, nodes: 0-29, workload: barrier}\n"
                                 "- {name: b, nodes: '50,7,3,63', workload: barrier}\n"
                                 "- {name: c, nodes: 60-61, spawnable: true, workload: barrier}\n",
                                 (unsigned)fan_out);
    struct scenario *scenario = parse(text);
    struct cluster *cluster = build(scenario);
    struct oob *oob = cluster->oob;
    const struct oob_line *line;
    uint32_t below[64] = {0}, i, most = 0;

    /* one for each node of any job, also of those that may be spawned, and the launcher's */
    assert_int_equal(oob->server_count, 30 + 2 + 2 + 1);
    for (i = 0; i + 1 < oob->server_count; i++) {
        assert_ptr_equal(oob_server_of(oob, oob->servers[i].node), &oob->servers[i]);
        assert_true(i == 0 || oob->servers[i - 1].node < oob->servers[i].node);
        most = MAX(most, depth(oob, &oob->servers[i]));
    }
    for (line = oob->lines; line != NULL; line = line->next)
        if (line->next == line->other)
            below[line->other->server - oob->servers]++;
    for (i = 0; i < oob->server_count; i++)
        assert_true(below[i] <= fan_out);
    assert_int_equal(most, deepest);
    destroy(cluster, scenario);
    g_free(text);
}

static void the_tree_has_the_fan_out(void **state)
{
    (void)state;
    check_tree(1, 34);
    check_tree(2, 5); /* 2 + 4 + 8 + 16 are not enough */
    check_tree(16, 2);
    check_tree(1024, 1);
}

/* Each server knows exactly the jobs of its node. */
static void servers_know_their_jobs(void **state)
{
    struct scenario *scenario =
        parse("fabric: {preset: mini2}\n"
              "jobs:\n- {name: a, nodes: 0-3, ranks_per_node: 2, workload: barrier}\n"
              "- {name: b, nodes: 3-5, workload: barrier}\n");
    struct cluster *cluster = build(scenario);
    const struct oob_server *server = oob_server_of(cluster->oob, 3);
    struct oob_server *other = oob_server_of(cluster->oob, 5);

    (void)state;
    assert_string_equal(cluster->jobs[0].pmi_id, "1.0");
    assert_string_equal(cluster->jobs[1].pmi_id, "2.0");
    assert_ptr_equal(pmi_job_of(cluster, "2.0"), &cluster->jobs[1]);
    assert_null(pmi_job_of(cluster, "3.0"));
    assert_null(pmi_job_of(cluster, "0.0"));
    assert_null(pmi2_server_client(server->core, "1.0", 5, PMI2_AUTH_NONE, NULL));
    assert_non_null(pmi2_server_client(server->core, "1.0", 6, PMI2_AUTH_NONE, NULL));
    assert_non_null(pmi2_server_client(server->core, "2.0", 0, PMI2_AUTH_NONE, NULL));
    assert_null(pmi2_server_client(other->core, "1.0", 7, PMI2_AUTH_NONE, NULL));
    assert_non_null(pmi2_server_client(other->core, "2.0", 2, PMI2_AUTH_NONE, NULL));
    destroy(cluster, scenario);
}

/* ---- times ----------------------------------------------------------------------------------- */

static double metric(const json_t *result, const char *name, const char *field)
{
    const json_t *value =
        json_object_get(json_object_get(json_object_get(result, "metrics"), name), field);

    if (value == NULL)
        fail_msg("no metric %s.%s", name, field);
    return json_number_value(value);
}

static json_t *run(const char *text)
{
    struct scenario *scenario = parse(text);
    char *error = NULL;
    json_t *result = report_run(scenario, &(struct cluster_options){.seed = 1}, &error);

    if (result == NULL)
        fail_msg("%s", error);
    if (json_integer_value(json_object_get(result, "exit")) != EXIT_HOLDS)
        fail_msg("%s", json_dumps(json_object_get(result, "problems"), 0));
    scenario_free(scenario);
    return result;
}

#define FENCE(oob, fields)                                                                        \
    "fabric: {preset: mini2}\noob: {" oob "}\njobs: [{name: a, workload: pmi_fence, " fields "}]" \
    "\n"

/* One rank on a node: to its server, work there, back, work: what each round trip takes. */
static void calls_take_what_the_scenario_says(void **state)
{
    json_t *result = run(FENCE("local_latency: 7us, hop_latency: 100us, frame_time: 2us, "
                               "rate_GBps: 0",
                               "nodes: 0-1, args: {neighbours: 1}"));

    (void)state;
    /* init and fullinit */
    assert_float_equal(metric(result, "a.init", "min"), 2 * (7 + 2 + 2 + 7) * 1e6, 0);
    assert_float_equal(metric(result, "a.get", "min"), (7 + 2 + 2 + 7) * 1e6, 0);
    /* up and down: the root takes the two messages one after the other, and sends two */
    assert_float_equal(metric(result, "a.fence", "min"),
                       (7 + 2 + (2 + 100) + 2 + 2 + (2 + 100) + 2 + (2 + 7)) * 1e6, 0);
    assert_float_equal(metric(result, "a.fence", "max"),
                       (7 + 2 + (2 + 100) + 2 + 2 + (2 + 2 + 100) + 2 + (2 + 7)) * 1e6, 0);
    json_decref(result);
}

static void nothing_takes_time_when_all_is_zero(void **state)
{
    json_t *result = run(FENCE("local_latency: 0, hop_latency: 0, frame_time: 0, rate_GBps: 0",
                               "nodes: 0-40, ranks_per_node: 2"));

    (void)state;
    assert_float_equal(metric(result, "a.init", "max"), 0, 0);
    assert_float_equal(metric(result, "a.fence", "max"), 0, 0);
    json_decref(result);
}

/* Each rank's pairs go up at 1 MB/s; those of both come down, to one node after the other. */
static void the_rate_bounds_what_a_server_sends(void **state)
{
    const double mine = 60 * 1024, us = 1e6;
    json_t *result = run(FENCE("rate_GBps: 0.001", "nodes: 0-1, args: {pairs: 60, bytes: 1024}"));

    (void)state;
    assert_true(metric(result, "a.fence", "min") > (mine + 2 * mine) * us);
    assert_true(metric(result, "a.fence", "min") < (mine + 2 * mine) * us * 1.05);
    assert_true(metric(result, "a.fence", "max") > (mine + 4 * mine) * us);
    assert_true(metric(result, "a.fence", "max") < (mine + 4 * mine) * us * 1.05);
    json_decref(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tree_has_the_fan_out),
        cmocka_unit_test(servers_know_their_jobs),
        cmocka_unit_test(calls_take_what_the_scenario_says),
        cmocka_unit_test(nothing_takes_time_when_all_is_zero),
        cmocka_unit_test(the_rate_bounds_what_a_server_sends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
