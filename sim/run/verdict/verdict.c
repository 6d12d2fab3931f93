/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Whether the expectations of the scenario hold. */
#include "verdict/verdict.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "engine/fault.h"
#include "engine/ledger.h"

/* One line of the verdict. Owned texts. */
struct judgement {
    char *what, *value;
    bool holds;
};

bool verdict_job_failed(const struct job *job)
{
    return job->exit_code != 0 || job->failure_count != 0;
}

static int job_exit(const struct job *job)
{
    return job->exit_code != 0 ? job->exit_code : job->failure_count != 0 ? 1 : 0;
}

static unsigned outcome_index(const struct cluster *cluster)
{
    size_t i;

    switch (cluster->outcome) {
    case SIM_DEADLOCK:
        return OUTCOME_DEADLOCK;
    case SIM_TIME_LIMIT:
        return OUTCOME_TIME_LIMIT;
    case SIM_NO_PROGRESS:
        return OUTCOME_NO_PROGRESS;
    case SIM_DONE:
        break;
    }
    for (i = 0; i < cluster->job_count; i++) {
        if (!cluster->jobs[i].not_started && verdict_job_failed(&cluster->jobs[i]))
            return OUTCOME_FAILED;
    }
    return OUTCOME_DONE;
}

const char *verdict_outcome_name(const struct cluster *cluster)
{
    static const char *const names[] = {"done", "deadlock", "time-limit", "no-progress", "failed"};

    return cluster->interrupted != 0 ? "interrupted" : names[outcome_index(cluster)];
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void show(char *buffer, size_t size, double value, enum sim_metric_unit unit)
{
    switch (unit) {
    case SIM_METRIC_PS:
        scenario_format_ps(buffer, size, value);
        break;
    case SIM_METRIC_BYTES_PER_S:
        scenario_format_bytes_rate(buffer, size, value);
        break;
    case SIM_METRIC_BYTES:
        scenario_format_bytes(buffer, size, value);
        break;
    default:
        snprintf(buffer, size, "%.10g", value);
        break;
    }
}

static bool limits_hold(const struct scenario_expectation *expectation, double value)
{
    const struct scenario_within *within = &expectation->within;

    return (expectation->below == NULL || value < expectation->below_value) &&
           (expectation->above == NULL || value > expectation->above_value) &&
           (expectation->equals == NULL || value == expectation->equals_value) &&
           (within->at == NULL ||
            fabs(value - within->value) <= fabs(within->value) * within->percent / 100.0);
}

static char *limits_text(const struct scenario_expectation *expectation)
{
    GString *out = g_string_new(NULL);

    if (expectation->below != NULL)
        g_string_append_printf(out, " below %s", expectation->below);
    if (expectation->above != NULL)
        g_string_append_printf(out, " above %s", expectation->above);
    if (expectation->equals != NULL)
        g_string_append_printf(out, " equals %s", expectation->equals);
    if (expectation->within.at != NULL)
        g_string_append_printf(out, " within %.10g%% of %.10g", expectation->within.percent,
                               expectation->within.value);
    return g_string_free(out, FALSE);
}

/* ---- each kind ------------------------------------------------------------------------------- */

static void judge_ledger(const struct cluster *cluster, bool balanced, struct judgement *judgement)
{
    judgement->what = g_strdup_printf("ledger %s", balanced ? "balanced" : "broken");
    judgement->value = g_strdup(cluster->balanced ? "balanced" : "broken");
    judgement->holds = balanced == cluster->balanced;
}

static void judge_metric(const struct scenario_expectation *expectation,
                         struct judgement *judgement)
{
    enum sim_metric_unit unit = SIM_METRIC_COUNT;
    char *limits = limits_text(expectation);
    char shown[64];
    double value;

    judgement->what = g_strconcat(expectation->metric, limits, NULL);
    g_free(limits);
    if (!sim_metric_value(expectation->metric, &value, &unit)) {
        judgement->value = g_strdup("there is no such metric");
        return;
    }
    show(shown, sizeof(shown), value, unit);
    judgement->value = g_strdup(shown);
    judgement->holds = limits_hold(expectation, value);
}

static void judge_outcome(const struct cluster *cluster, unsigned outcome,
                          struct judgement *judgement)
{
    static const char *const names[] = {"done", "deadlock", "time-limit", "no-progress", "failed"};

    judgement->what = g_strdup_printf("outcome %s", names[outcome]);
    judgement->value = g_strdup(verdict_outcome_name(cluster));
    judgement->holds = outcome == outcome_index(cluster);
}

struct fault_sum {
    const char *title; /* NULL: all */
    uint64_t fired;
    size_t rules, silent;
};

static void add_rule(const struct sim_fault_point *point, const struct sim_fault_rule *rule,
                     void *arg)
{
    struct fault_sum *sum = arg;

    (void)point;
    if (sum->title != NULL && strcmp(sum->title, rule->label) != 0)
        return;
    sum->rules++;
    sum->silent += rule->fired == 0;
    sum->fired += rule->fired;
}

/* The title of the fault that an expectation names by label or number. */
static const char *fault_title(const struct scenario *scenario, const char *name)
{
    char number[32];
    size_t i;

    for (i = 0; i < scenario->faults.count; i++) {
        snprintf(number, sizeof(number), "faults.%zu", i);
        if (strcmp(number, name) == 0)
            return scenario_fault(scenario, i)->title;
    }
    return name;
}

static void judge_fault(const struct cluster *cluster,
                        const struct scenario_expectation *expectation, struct judgement *judgement)
{
    bool all = strcmp(expectation->fault, "fired") == 0;
    struct fault_sum sum = {.title =
                                all ? NULL : fault_title(cluster->scenario, expectation->fault)};
    char *limits = limits_text(expectation);
    size_t i;

    sim_fault_for_each_rule(add_rule, &sum);
    for (i = 0; i < cluster->timed_count; i++) {
        if (sum.title != NULL && strcmp(sum.title, cluster->timed[i].scenario->title) != 0)
            continue;
        sum.rules++;
        sum.silent += !cluster->timed[i].injected;
        sum.fired += cluster->timed[i].injected;
    }
    judgement->what =
        g_strdup_printf("%s%s%s", all ? "every fault" : "fault ", all ? "" : expectation->fault,
                        limits[0] != '\0' ? limits : " was injected");
    judgement->value = g_strdup_printf("%" PRIu64 " times, %zu of %zu faults", sum.fired,
                                       sum.rules - sum.silent, sum.rules);
    judgement->holds = limits[0] != '\0' ? limits_hold(expectation, (double)sum.fired)
                                         : sum.rules != 0 && sum.silent == 0;
    g_free(limits);
}

static bool has_program(const struct job *job, const char *name)
{
    uint32_t i;

    for (i = 0; i < job->app_count; i++)
        if (strcmp(job->apps[i].scenario->name, name) == 0)
            return !job->not_started;
    return false;
}

static bool was_spawned(const struct cluster *cluster, const char *name)
{
    size_t i;

    for (i = 0; i < cluster->job_count; i++)
        if (has_program(&cluster->jobs[i], name))
            return true;
    return false;
}

/* Of a spawnable job, all spawned jobs are judged; the exit code is that of the first one that
 * failed. */
static void judge_job(const struct cluster *cluster, const char *name, const char *exit,
                      struct judgement *judgement)
{
    uint32_t found = 0, running = 0;
    int code = 0;
    size_t i;

    for (i = 0; i < cluster->job_count; i++) {
        const struct job *job = &cluster->jobs[i];

        if (!has_program(job, name))
            continue;
        found++;
        running += job->running;
        if (code == 0)
            code = job_exit(job);
    }
    judgement->what = g_strdup_printf("job %s exit %s", name, exit);
    if (found == 0 || running != 0) {
        judgement->value = g_strdup(found == 0 ? "was never spawned" : "did not end");
    } else {
        judgement->value = g_strdup_printf("%d", code);
        judgement->holds = strcmp(exit, "any") == 0 || (strcmp(exit, "failed") == 0 && code != 0) ||
                           (g_ascii_isdigit(exit[0]) && atoi(exit) == code);
    }
}

/* ---- findings -------------------------------------------------------------------------------- */

/* Whether an expectation names the rule. */
static bool is_allowed(const struct scenario *scenario, const char *rule)
{
    size_t i, j;

    for (i = 0; i < scenario->expectations.count; i++) {
        const struct scenario_expectation *expectation = scenario_expectation(scenario, i);

        if (expectation->kind == EXPECT_FINDING && strcmp(expectation->finding, rule) == 0)
            return true;
        for (j = 0; expectation->kind == EXPECT_FINDINGS && j < expectation->findings->count; j++)
            if (strcmp(expectation->findings->items[j]->text, rule) == 0)
                return true;
    }
    return false;
}

bool verdict_finding_allowed(const struct cluster *cluster, const struct sim_finding_rule *rule)
{
    return is_allowed(cluster->scenario, rule->name);
}

bool verdict_finding_fails(const struct cluster *cluster, const struct sim_finding_rule *rule)
{
    return rule->severity == SIM_FINDING_ERROR && rule->count != 0 &&
           !verdict_finding_allowed(cluster, rule);
}

struct finding_sum {
    const struct cluster *cluster;
    const char *rule; /* the one that is looked for; NULL: all that fail the run */
    uint64_t count;
    GString *names;
};

static void add_finding_rule(const struct sim_finding_rule *rule, void *arg)
{
    struct finding_sum *sum = arg;

    if (sum->rule != NULL ? strcmp(sum->rule, rule->name) != 0
                          : !verdict_finding_fails(sum->cluster, rule))
        return;
    sum->count += rule->count;
    g_string_append_printf(sum->names, "%s%s (%" PRIu64 ")", sum->names->len != 0 ? ", " : "",
                           rule->name, rule->count);
}

static void judge_findings(const struct cluster *cluster, struct judgement *judgement)
{
    struct finding_sum sum = {.cluster = cluster, .names = g_string_new(NULL)};

    sim_finding_for_each_rule(add_finding_rule, &sum);
    judgement->what = g_strdup("no errors found");
    judgement->holds = sum.count == 0;
    judgement->value = judgement->holds ? g_strdup("none") : g_strdup(sum.names->str);
    g_string_free(sum.names, TRUE);
}

static void judge_finding(const struct scenario_expectation *expectation,
                          struct judgement *judgement)
{
    struct finding_sum sum = {.rule = expectation->finding, .names = g_string_new(NULL)};
    char *limits = limits_text(expectation);

    sim_finding_for_each_rule(add_finding_rule, &sum);
    judgement->what = g_strdup_printf("finding %s%s", expectation->finding, limits);
    judgement->value = g_strdup_printf("%" PRIu64 " times", sum.count);
    judgement->holds =
        limits[0] != '\0' ? limits_hold(expectation, (double)sum.count) : sum.count != 0;
    g_string_free(sum.names, TRUE);
    g_free(limits);
}

static void judge(const struct cluster *cluster, const struct scenario_expectation *expectation,
                  struct judgement *judgement)
{
    switch (expectation->kind) {
    case EXPECT_LEDGER:
        judge_ledger(cluster, expectation->ledger == 0, judgement);
        break;
    case EXPECT_METRIC:
        judge_metric(expectation, judgement);
        break;
    case EXPECT_OUTCOME:
        judge_outcome(cluster, (unsigned)expectation->outcome, judgement);
        break;
    case EXPECT_FAULT:
        judge_fault(cluster, expectation, judgement);
        break;
    case EXPECT_JOB:
        judge_job(cluster, expectation->job, expectation->exit, judgement);
        break;
    case EXPECT_FINDING:
        judge_finding(expectation, judgement);
        break;
    case EXPECT_FINDINGS: /* it only changes what judge_findings() fails on */
        break;
    }
}

/* ---- together -------------------------------------------------------------------------------- */

/* Takes over the judgement's texts. */
static bool append(json_t *array, struct judgement *judgement, bool implied)
{
    bool holds = judgement->holds;

    json_array_append_new(array, json_pack("{s:s,s:s,s:b,s:b}", "expect", judgement->what, "value",
                                           judgement->value, "holds", holds, "implied", implied));
    g_free(judgement->what);
    g_free(judgement->value);
    return holds;
}

static bool expects(const struct scenario *scenario, enum scenario_expectation_kind kind,
                    const char *job)
{
    size_t i;

    for (i = 0; i < scenario->expectations.count; i++) {
        const struct scenario_expectation *expectation = scenario_expectation(scenario, i);
        if (expectation->kind == kind && (job == NULL || strcmp(expectation->job, job) == 0))
            return true;
    }
    return false;
}

/* Expectations that need not be written: the ledger is balanced, no rule is broken, jobs return 0.
 */
static bool judge_implied(const struct cluster *cluster, json_t *array)
{
    const struct scenario *scenario = cluster->scenario;
    struct judgement findings = {0};
    bool holds = true;
    size_t i;

    if (cluster->outcome == SIM_DONE && cluster->interrupted == 0 &&
        !expects(scenario, EXPECT_LEDGER, NULL)) {
        struct judgement judgement = {0};
        judge_ledger(cluster, true, &judgement);
        holds &= append(array, &judgement, true);
    }
    judge_findings(cluster, &findings);
    holds &= append(array, &findings, true);
    for (i = 0; i < scenario->jobs.count && !expects(scenario, EXPECT_OUTCOME, NULL); i++) {
        const struct scenario_job *job = scenario_job(scenario, i);
        struct judgement judgement = {0};

        if (expects(scenario, EXPECT_JOB, job->name) ||
            (job->spawnable && !was_spawned(cluster, job->name)))
            continue;
        judge_job(cluster, job->name, "0", &judgement);
        holds &= append(array, &judgement, true);
    }
    return holds;
}

json_t *verdict_json(const struct cluster *cluster, int *exit_code)
{
    const struct scenario *scenario = cluster->scenario;
    json_t *array = json_array();
    bool holds = judge_implied(cluster, array), outcome_expected = false;
    size_t i;

    for (i = 0; i < scenario->expectations.count; i++) {
        const struct scenario_expectation *expectation = scenario_expectation(scenario, i);
        struct judgement judgement = {0};

        if (expectation->kind == EXPECT_FINDINGS)
            continue;
        judge(cluster, expectation, &judgement);
        outcome_expected |= expectation->kind == EXPECT_OUTCOME && judgement.holds;
        holds &= append(array, &judgement, false);
    }
    if (cluster->interrupted != 0)
        *exit_code = 128 + cluster->interrupted;
    else if (cluster->outcome != SIM_DONE && !outcome_expected && cluster->crashes->len == 0)
        *exit_code = EXIT_STUCK;
    else
        *exit_code = holds ? EXIT_HOLDS : EXIT_BROKEN;
    return array;
}
