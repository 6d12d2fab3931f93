/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The result of a run as JSON: docs/json-output.md describes every member. */
#include "report/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "engine/fault.h"
#include "engine/ledger.h"
#include "verdict/verdict.h"

#define WAITERS_LISTED 20

static json_t *integer(uint64_t value)
{
    return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

static void put(json_t *object, const char *key, uint64_t value)
{
    json_object_set_new(object, key, integer(value));
}

static void put_text(json_t *object, const char *key, const char *text)
{
    json_object_set_new(object, key, json_stringn_nocheck(text, strlen(text)));
}

/* ---- parts ----------------------------------------------------------------------------------- */

static json_t *scenario_part(const struct cluster *cluster)
{
    const struct scenario *scenario = cluster->scenario;
    json_t *part = json_object();

    put_text(part, "file", scenario->file);
    put_text(part, "name", scenario->name);
    put_text(part, "description", scenario->description);
    put(part, "seed", scenario->seed);
    return part;
}

/* One network; the first one is the member "fabric". */
static json_t *network_part(const struct cluster_network *network)
{
    static const char *const topologies[] = {"dragonfly", "single-switch", "fat-tree"};
    static const char *const fidelities[] = {"F0", "F1", "F2"};
    const struct scenario_network *fabric = network->scenario;
    json_t *part = json_object();

    put_text(part, "topology", topologies[fabric->topology]);
    if (fabric->preset != NULL)
        put_text(part, "preset", fabric->preset);
    if (network->aries != NULL)
        put_text(part, "profile", scenario_profile(fabric));
    put_text(part, "fidelity", fidelities[net_fidelity(network->net)]);
    put(part, "nodes", net_endpoints(network->net));
    put(part, "groups", net_groups(network->net));
    put(part, "routers", net_routers(network->net));
    return part;
}

/* All networks with their names, when there are several. */
static void put_networks(json_t *result, const struct cluster *cluster)
{
    json_t *array, *part;
    size_t i;

    if (cluster->network_count == 1)
        return;
    array = json_array();
    for (i = 0; i < cluster->network_count; i++) {
        part = network_part(&cluster->networks[i]);
        put_text(part, "name", cluster->networks[i].name);
        json_array_append_new(array, part);
    }
    json_object_set_new(result, "networks", array);
}

static uint32_t count_nodes(const struct job *job)
{
    GHashTable *nodes = g_hash_table_new(NULL, NULL);
    uint32_t count, i;

    for (i = 0; i < job->rank_count; i++)
        g_hash_table_add(nodes, GUINT_TO_POINTER(job->ranks[i].node));
    count = g_hash_table_size(nodes);
    g_hash_table_destroy(nodes);
    return count;
}

static json_t *job_part(const struct job *job)
{
    json_t *part = json_object(), *failures = json_array();
    GString *workloads = g_string_new(job->apps[0].workload->name);
    uint32_t i;
    size_t f;

    for (i = 1; i < job->app_count; i++)
        if (job->apps[i].workload != job->apps[i - 1].workload)
            g_string_append_printf(workloads, ", %s", job->apps[i].workload->name);
    put_text(part, "name", job->name);
    put_text(part, "workload", workloads->str);
    g_string_free(workloads, TRUE);
    if (job->spawner != NULL)
        put_text(part, "spawned_by", job->spawner->name);
    put(part, "ranks", job->rank_count);
    put(part, "nodes", count_nodes(job));
    put(part, "running", job->running);
    put(part, "killed", job->killed);
    put(part, "started_ps", job->started);
    put(part, "ended_ps", job->ended);
    put(part, "progress", job->progress);
    json_object_set_new(
        part, "exit",
        job->running != 0
            ? json_null()
            : json_integer(job->exit_code != 0 ? job->exit_code : verdict_job_failed(job)));
    put(part, "failures", job->failure_count);
    for (f = 0; f < MIN(job->failure_count, FAILURE_TEXTS_MAX); f++)
        json_array_append_new(failures, json_string_nocheck(job->failures[f]));
    for (i = 0; i < job->rank_count && json_array_size(failures) < FAILURE_TEXTS_MAX; i++) {
        if (job->ranks[i].killed != NULL) {
            char *text = g_strdup_printf("rank %u on node %u: killed: %s", i, job->ranks[i].node,
                                         job->ranks[i].killed);
            json_array_append_new(failures, json_string_nocheck(text));
            g_free(text);
        }
    }
    json_object_set_new(part, "texts", failures);
    return part;
}

static const char *unit_name(enum sim_metric_unit unit)
{
    static const char *const names[] = {"count", "ps", "bytes", "bytes/s", "1/s", "ratio"};

    return names[unit];
}

static void metric_part(const struct sim_metric *metric, void *arg)
{
    static const struct {
        const char *name;
        double q;
    } quantiles[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p999", 0.999}};
    json_t *part = json_object();
    size_t i;

    put_text(part, "unit", unit_name(metric->unit));
    switch (metric->type) {
    case SIM_METRIC_COUNTER:
        put_text(part, "type", "counter");
        put(part, "value", metric->counter);
        break;
    case SIM_METRIC_GAUGE:
        put_text(part, "type", "gauge");
        json_object_set_new(part, "value", json_real(metric->gauge));
        break;
    case SIM_METRIC_HISTOGRAM:
        put_text(part, "type", "histogram");
        put(part, "count", metric->histogram->count);
        put(part, "min", metric->histogram->count != 0 ? metric->histogram->min : 0);
        json_object_set_new(
            part, "mean",
            json_real(metric->histogram->count != 0 ? sim_histogram_mean(metric->histogram) : 0));
        for (i = 0; i < G_N_ELEMENTS(quantiles); i++)
            put(part, quantiles[i].name, sim_histogram_quantile(metric->histogram, quantiles[i].q));
        put(part, "max", metric->histogram->max);
        break;
    }
    json_object_set_new(arg, metric->name, part);
}

static void book_part(const struct sim_ledger_book *book, void *arg)
{
    json_t *part = json_object();

    put_text(part, "book", book->name);
    put(part, "opened", book->opened);
    put(part, "delivered", book->delivered);
    put(part, "settled_ok", book->settled_ok);
    put(part, "settled_error", book->settled_error);
    put(part, "abandoned", book->abandoned);
    put(part, "bytes_in", book->bytes_in);
    put(part, "bytes_out", book->bytes_out);
    put(part, "violations", book->violations);
    json_array_append_new(arg, part);
}

static void violation_part(const char *text, void *arg)
{
    json_array_append_new(arg, json_string_nocheck(text));
}

static json_t *ledger_part(const struct cluster *cluster)
{
    json_t *part = json_object(), *books = json_array(), *texts = json_array();

    sim_ledger_for_each_book(book_part, books);
    sim_ledger_for_each_violation(violation_part, texts);
    json_object_set_new(part, "balanced", json_boolean(cluster->balanced));
    json_object_set_new(part, "books", books);
    json_object_set_new(part, "violations", texts);
    return part;
}

static void warn(json_t *warnings, char *text)
{
    json_array_append_new(warnings, json_string_nocheck(text));
    g_free(text);
}

static json_t *warnings_part(const struct cluster *cluster, const json_t *faults)
{
    json_t *warnings = json_array();
    const json_t *fault;
    size_t i;

    json_array_foreach (faults, i, fault) {
        if (json_integer_value(json_object_get(fault, "fired")) == 0)
            warn(warnings, g_strdup_printf("fault %s (%s %s) was never injected",
                                           json_string_value(json_object_get(fault, "fault")),
                                           json_string_value(json_object_get(fault, "at")),
                                           json_string_value(json_object_get(fault, "do"))));
    }
    return warnings;
}

/* ---- who waits for what ---------------------------------------------------------------------- */

static json_t *waiter_part(const struct waiter *waiter)
{
    json_t *part = json_object(), *ranks = json_array();

    json_array_append_new(ranks, json_string_nocheck(waiter->name));
    json_object_set_new(part, "ranks", ranks);
    put(part, "count", 1);
    put_text(part, "waits_for", waiter->why);
    put(part, "since_ps", waiter->since);
    return part;
}

static json_t *find_reason(const json_t *array, const char *why)
{
    const json_t *part;
    size_t i;

    json_array_foreach (array, i, part) {
        if (strcmp(json_string_value(json_object_get(part, "waits_for")), why) == 0)
            return json_array_get(array, i);
    }
    return NULL;
}

/* One entry for each waiting rank; if there are many, one entry for each reason (up to 100) with
 * its first ranks. */
static json_t *waiters_part(const struct cluster *cluster)
{
    json_t *array = json_array(), *part, *ranks;
    size_t i;

    for (i = 0; i < cluster->waiter_count; i++) {
        const struct waiter *waiter = &cluster->waiters[i];

        part = cluster->waiter_count > WAITERS_LISTED ? find_reason(array, waiter->why) : NULL;
        if (part == NULL && json_array_size(array) < 100) {
            json_array_append_new(array, waiter_part(waiter));
        } else if (part != NULL) {
            ranks = json_object_get(part, "ranks");
            put(part, "count", (uint64_t)json_integer_value(json_object_get(part, "count")) + 1);
            if (json_array_size(ranks) < 8)
                json_array_append_new(ranks, json_string_nocheck(waiter->name));
        }
    }
    return array;
}

/* ---- why it failed --------------------------------------------------------------------------- */

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text != NULL ? text : "";
}

#define WAITERS_NAMED 8 /* of those that wait for the same */

/* "a.0, a.1 wait for the barrier": one line for all ranks with the same reason. */
static void waiter_problem(json_t *problems, const json_t *waiters, const char *why)
{
    const json_t *waiter, *ranks, *rank;
    GString *out = g_string_new(NULL);
    json_int_t count = 0, named = 0;
    size_t i, r;

    json_array_foreach (waiters, i, waiter) {
        if (strcmp(text_of(waiter, "waits_for"), why) != 0)
            continue;
        count += json_integer_value(json_object_get(waiter, "count"));
        ranks = json_object_get(waiter, "ranks");
        json_array_foreach (ranks, r, rank) {
            if (named++ < WAITERS_NAMED)
                g_string_append_printf(out, "%s%s", out->len != 0 ? ", " : "",
                                       json_string_value(rank));
        }
    }
    if (count > WAITERS_NAMED)
        g_string_append_printf(out, " and others, %lld in all,", (long long)count);
    g_string_append_printf(out, " %s for %s", count > 1 ? "wait" : "waits", why);
    warn(problems, g_string_free(out, FALSE));
}

static void waiter_problems(json_t *problems, const json_t *waiters)
{
    GHashTable *said = g_hash_table_new(g_str_hash, g_str_equal);
    const json_t *waiter;
    size_t i;

    json_array_foreach (waiters, i, waiter) {
        if (g_hash_table_add(said, (char *)text_of(waiter, "waits_for")))
            waiter_problem(problems, waiters, text_of(waiter, "waits_for"));
    }
    g_hash_table_destroy(said);
}

/* The text without its rank: "rank 3 on node 1: why". */
static const char *reason_of(const char *text)
{
    const char *colon = strstr(text, ": ");

    return colon != NULL ? colon : text;
}

/* "job a: rank 3 on node 1: killed: why": one line for all ranks of a job with the same reason. */
static void job_problems(json_t *problems, const json_t *job)
{
    const json_t *texts = json_object_get(job, "texts"), *text;
    GHashTable *reasons = g_hash_table_new(g_str_hash, g_str_equal);
    size_t i, count;

    json_array_foreach (texts, i, text) {
        const char *why = reason_of(json_string_value(text));

        count = GPOINTER_TO_SIZE(g_hash_table_lookup(reasons, why));
        g_hash_table_insert(reasons, (char *)why, GSIZE_TO_POINTER(count + 1));
    }
    json_array_foreach (texts, i, text) {
        const char *why = reason_of(json_string_value(text));

        count = GPOINTER_TO_SIZE(g_hash_table_lookup(reasons, why));
        if (count == 0) /* the first of them has said it */
            continue;
        g_hash_table_insert(reasons, (char *)why, GSIZE_TO_POINTER(0));
        if (count > 1)
            warn(problems, g_strdup_printf("job %s: %s (and %zu more ranks)", text_of(job, "name"),
                                           json_string_value(text), count - 1));
        else
            warn(problems,
                 g_strdup_printf("job %s: %s", text_of(job, "name"), json_string_value(text)));
    }
    g_hash_table_destroy(reasons);
}

/* One text for each deviation, the story first. */
static json_t *problems_part(json_t *result)
{
    json_t *problems = json_array();
    const json_t *item, *text;
    const char *rule;
    size_t i;

    json_array_extend(problems, json_object_get(result, "story"));
    json_object_foreach (json_object_get(result, "findings"), rule, item) {
        const json_t *finding = json_array_get(json_object_get(item, "first"), 0);

        if (!json_is_true(json_object_get(item, "allowed")) &&
            strcmp(text_of(item, "severity"), "error") == 0)
            warn(problems, g_strdup_printf("%s: %s: %s", rule, text_of(finding, "rank"),
                                           text_of(finding, "text")));
    }
    waiter_problems(problems, json_object_get(result, "waiters"));
    json_array_foreach (json_object_get(result, "expectations"), i, item) {
        if (!json_is_true(json_object_get(item, "holds")))
            warn(problems, g_strdup_printf("expected: %s; found: %s", text_of(item, "expect"),
                                           text_of(item, "value")));
    }
    json_array_foreach (json_object_get(result, "jobs"), i, item)
        job_problems(problems, item);
    json_array_foreach (json_object_get(json_object_get(result, "ledger"), "violations"), i, text)
        warn(problems, g_strdup_printf("ledger: %s", json_string_value(text)));
    return problems;
}

static void put_story(json_t *result, const struct cluster *cluster)
{
    char *signature;

    json_object_set_new(result, "story", verdict_story_json(cluster, &signature));
    if (signature != NULL)
        put_text(result, "signature", signature);
    g_free(signature);
}

/* A run without a story has the signature of its first problem. */
static void put_signature(json_t *result)
{
    const char *problem = json_string_value(json_array_get(json_object_get(result, "problems"), 0));
    char *signature;

    if (json_object_get(result, "signature") != NULL || problem == NULL)
        return;
    signature = verdict_without_numbers(problem);
    put_text(result, "signature", signature);
    g_free(signature);
}

/* ---- together -------------------------------------------------------------------------------- */

json_t *report_result_json(struct cluster *cluster)
{
    json_t *result = json_object(), *jobs = json_array(), *metrics = json_object(), *faults,
           *host = json_object();
    char digest[20];
    int exit_code;
    size_t i;

    put(result, "schema", 1);
    json_object_set_new(result, "scenario", scenario_part(cluster));
    json_object_set_new(result, "fabric", network_part(&cluster->networks[0]));
    put_networks(result, cluster);
    put_text(result, "outcome", verdict_outcome_name(cluster));
    put(result, "virtual_time_ps", cluster->ended);
    put(result, "events", cluster->events);
    snprintf(digest, sizeof(digest), "%016" PRIx64, cluster->digest);
    put_text(result, "digest", digest);
    for (i = 0; i < cluster->job_count; i++)
        if (!cluster->jobs[i].not_started)
            json_array_append_new(jobs, job_part(&cluster->jobs[i]));
    json_object_set_new(result, "jobs", jobs);
    sim_metrics_for_each(metric_part, metrics);
    json_object_set_new(result, "metrics", metrics);
    json_object_set_new(result, "ledger", ledger_part(cluster));
    faults = report_faults_json(cluster);
    json_object_set_new(result, "faults", faults);
    json_object_set_new(result, "losses", report_losses_json());
    json_object_set_new(result, "findings", report_findings_json(cluster));
    json_object_set_new(result, "crashes", report_crashes_json(cluster));
    report_lnet_json(result, cluster);
    json_object_set_new(result, "waiters", waiters_part(cluster));
    json_object_set_new(result, "expectations", verdict_json(cluster, &exit_code));
    json_object_set_new(result, "warnings", warnings_part(cluster, faults));
    if (exit_code != EXIT_HOLDS || cluster->outcome != SIM_DONE)
        put_story(result, cluster);
    else
        json_object_set_new(result, "story", json_array());
    json_object_set_new(result, "problems",
                        exit_code != EXIT_HOLDS ? problems_part(result) : json_array());
    if (exit_code != EXIT_HOLDS)
        put_signature(result);
    put(result, "exit", (uint64_t)exit_code);
    json_object_set_new(result, "trace",
                        cluster->trace_path != NULL ? json_string_nocheck(cluster->trace_path)
                                                    : json_null());
    json_object_set_new(host, "wall_seconds", json_real(cluster->wall_seconds));
    json_object_set_new(
        host, "events_per_second",
        json_real(cluster->wall_seconds > 0 ? (double)cluster->events / cluster->wall_seconds : 0));
    json_object_set_new(result, "host", host);
    return result;
}
