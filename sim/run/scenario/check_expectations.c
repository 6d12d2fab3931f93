/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Expectations: jobs, faults and limits that exist. */
#include "check.h"

#include <string.h>
#include "engine/finding.h"

#define RULES_MAX 256

/* "40us", "4KiB", "1.5GB/s", "1e9" as a number in the unit that metrics of that kind have. */
static bool parse_limit(const char *text, double *limit)
{
    static const enum arg_type types[] = {ARG_REAL, ARG_TIME, ARG_BYTES};
    char *plain = g_str_has_suffix(text, "/s") ? g_strndup(text, strlen(text) - 2) : g_strdup(text);
    struct value value;
    char *what = NULL;
    bool ok = false;
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(types) && !ok; i++) {
        ok = scenario_value_parse(types[i], plain, NULL, NULL, NULL, &value, &what);
        if (!ok)
            g_clear_pointer(&what, g_free);
    }
    if (ok)
        *limit = value.real;
    g_free(plain);
    return ok;
}

static bool check_limit(const struct scenario_expectation *expectation, const char *path,
                        const char *field, const char *text, double *limit, char **error)
{
    char *shown;

    if (text == NULL || parse_limit(text, limit))
        return true;
    shown = scenario_quoted(text);
    scenario_refuse_free(
        error, expectation->at, path, field,
        g_strdup_printf("%s is not a limit; allowed: a number, a time such as 40us, a "
                        "size, a rate such as 1GB/s",
                        shown));
    g_free(shown);
    return false;
}

static bool check_limits(struct scenario_expectation *expectation, const char *path, char **error)
{
    if (expectation->kind == EXPECT_METRIC && expectation->below == NULL &&
        expectation->above == NULL && expectation->equals == NULL && expectation->within.at == NULL)
        return scenario_refuse(error, expectation->at, path, "",
                               "says no limit; allowed: below, above, equals, within");
    return check_limit(expectation, path, "below", expectation->below, &expectation->below_value,
                       error) &&
           check_limit(expectation, path, "above", expectation->above, &expectation->above_value,
                       error) &&
           check_limit(expectation, path, "equals", expectation->equals, &expectation->equals_value,
                       error);
}

static const struct scenario_job *job_by_name(const struct scenario *scenario, const char *name,
                                              size_t length)
{
    size_t i;

    for (i = 0; i < scenario->jobs.count; i++) {
        const struct scenario_job *job = scenario_job(scenario, i);
        if (strlen(job->name) == length && memcmp(job->name, name, length) == 0)
            return job;
    }
    return NULL;
}

/* Layers whose metrics an expectation may name, besides those of jobs. */
static const char *const layers[] = {"net", "aries", "lnet", "legacy", "pmi", "engine"};

static bool refuse_owner(const struct scenario *scenario,
                         const struct scenario_expectation *expectation, const char *path,
                         const char *field, const char *word, bool with_layers, char **error)
{
    const char *names[JOBS_MAX + G_N_ELEMENTS(layers)];
    size_t count = 0, i;
    char *hint;

    for (i = 0; i < scenario->jobs.count; i++)
        names[count++] = scenario_job(scenario, i)->name;
    for (i = 0; i < G_N_ELEMENTS(layers) && with_layers; i++)
        names[count++] = layers[i];
    hint = scenario_schema_suggest(word, names, count);
    scenario_refuse_free(error, expectation->at, path, field,
                         g_strdup_printf("no job of this name%s%s", hint,
                                         with_layers ? " (then a dot and the metric)" : ""));
    g_free(hint);
    return false;
}

static bool check_metric(const struct scenario *scenario, struct scenario_expectation *expectation,
                         const char *path, char **error)
{
    size_t length = strcspn(expectation->metric, ".");
    char *owner = g_strndup(expectation->metric, MIN(length, 63));
    bool known = job_by_name(scenario, expectation->metric, length) != NULL;
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(layers); i++)
        known |= strcmp(owner, layers[i]) == 0;
    if (!known)
        refuse_owner(scenario, expectation, path, "metric", owner, true, error);
    g_free(owner);
    return known && check_limits(expectation, path, error);
}

static bool check_expected_fault(const struct scenario *scenario,
                                 struct scenario_expectation *expectation, const char *path,
                                 char **error)
{
    size_t i;

    if (strcmp(expectation->fault, "fired") != 0) {
        for (i = 0; i < scenario->faults.count; i++) {
            char *number = g_strdup_printf("faults.%zu", i);
            bool found = strcmp(scenario_fault(scenario, i)->title, expectation->fault) == 0 ||
                         strcmp(number, expectation->fault) == 0;
            g_free(number);
            if (found)
                break;
        }
        if (i == scenario->faults.count)
            return scenario_refuse(
                error, expectation->at, path, "fault",
                "no fault of this name; allowed: fired (all of them), a label, faults.0 and so on");
    }
    return check_limits(expectation, path, error);
}

static bool check_exit(const struct scenario_expectation *expectation, const char *path,
                       char **error)
{
    struct value code;
    char *what = NULL;

    if (strcmp(expectation->exit, "any") == 0 || strcmp(expectation->exit, "failed") == 0 ||
        scenario_value_parse(ARG_COUNT, expectation->exit, "0", "255", NULL, &code, &what))
        return true;
    g_free(what);
    return scenario_refuse(error, expectation->at, path, "exit",
                           "not an exit code; allowed: 0 to 255, any, failed");
}

struct rule_search {
    const char *name;
    const char *names[RULES_MAX]; /* of all rules, for a suggestion */
    size_t count;
    bool found;
};

static void see_rule(const struct sim_finding_rule *rule, void *arg)
{
    struct rule_search *search = arg;

    search->found |= strcmp(rule->name, search->name) == 0;
    if (search->count < RULES_MAX)
        search->names[search->count++] = rule->name;
}

static bool check_rule(const struct tree *at, const char *path, const char *field, const char *name,
                       char **error)
{
    struct rule_search search = {.name = name};
    char *hint;

    sim_finding_for_each_rule(see_rule, &search);
    if (search.found)
        return true;
    hint = scenario_schema_suggest(name, search.names, search.count);
    scenario_refuse_free(
        error, at, path, field,
        g_strdup_printf("no rule of this name%s; docs/findings.md lists them", hint));
    g_free(hint);
    return false;
}

static bool check_rules(const struct scenario_expectation *expectation, const char *path,
                        char **error)
{
    const struct tree *list = expectation->findings;
    size_t i;

    if (!scenario_check_texts(list, TREE_SEQUENCE, "findings", "a list of rules", path, error))
        return false;
    for (i = 0; i < list->count; i++)
        if (!check_rule(list->items[i], path, "findings", list->items[i]->text, error))
            return false;
    return true;
}

static bool check_expectation(const struct scenario *scenario,
                              struct scenario_expectation *expectation, const char *path,
                              char **error)
{
    static const char *const kinds[] = {"ledger", "metric",  "outcome", "fault",
                                        "job",    "finding", "findings"};

    for (expectation->kind = EXPECT_LEDGER;
         !scenario_given(expectation->at, kinds[expectation->kind]); expectation->kind++)
        ;
    switch (expectation->kind) {
    case EXPECT_METRIC:
        return check_metric(scenario, expectation, path, error);
    case EXPECT_FAULT:
        return check_expected_fault(scenario, expectation, path, error);
    case EXPECT_JOB:
        if (job_by_name(scenario, expectation->job, strlen(expectation->job)) == NULL)
            return refuse_owner(scenario, expectation, path, "job", expectation->job, false, error);
        return check_exit(expectation, path, error);
    case EXPECT_FINDING:
        return check_rule(expectation->at, path, "finding", expectation->finding, error) &&
               check_limits(expectation, path, error);
    case EXPECT_FINDINGS:
        return check_rules(expectation, path, error);
    case EXPECT_LEDGER:
    case EXPECT_OUTCOME:
        break;
    }
    return true;
}

bool scenario_check_expectations(struct scenario *scenario, char **error)
{
    size_t i;
    bool ok = true;

    for (i = 0; i < scenario->expectations.count && ok; i++) {
        char *path = g_strdup_printf("expect.%zu", i);
        ok = check_expectation(scenario, scenario_expectation(scenario, i), path, error);
        g_free(path);
    }
    return ok;
}
