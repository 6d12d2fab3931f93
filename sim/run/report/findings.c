/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Findings in the result: the rules that were broken, and the first findings of each. */
#include "report/lists.h"
#include "report/report.h"
#include "verdict/verdict.h"

static const char *const severities[] = {"count", "warning", "error"};

struct listing {
    const struct cluster *cluster;
    json_t *rules;
};

static void finding_part(const struct sim_finding *finding, void *arg)
{
    json_t *part = json_object(), *rule = json_object_get(arg, finding->rule->name);

    if (finding->rank != NULL)
        json_object_set_new(part, "rank", json_string_nocheck(finding->rank));
    if (finding->node != UINT32_MAX)
        json_object_set_new(part, "node", json_integer(finding->node));
    json_object_set_new(part, "time_ps", json_integer((json_int_t)finding->time));
    if (finding->call != NULL)
        json_object_set_new(part, "call", json_string_nocheck(finding->call));
    json_object_set_new(part, "text", json_string_nocheck(finding->text));
    json_array_append_new(json_object_get(rule, "first"), part);
}

static void rule_part(const struct sim_finding_rule *rule, void *arg)
{
    const struct listing *listing = arg;

    if (rule->count == 0)
        return;
    json_object_set_new(listing->rules, rule->name,
                        json_pack("{s:s,s:s,s:I,s:b,s:[]}", "severity", severities[rule->severity],
                                  "summary", rule->summary, "count", (json_int_t)rule->count,
                                  "allowed", verdict_finding_allowed(listing->cluster, rule),
                                  "first"));
}

static void list_rule(const struct sim_finding_rule *rule, void *arg)
{
    json_array_append_new(arg, json_pack("{s:s,s:s,s:s}", "name", rule->name, "severity",
                                         severities[rule->severity], "summary", rule->summary));
}

json_t *report_rules_json(void)
{
    json_t *list = json_array();

    sim_finding_for_each_rule(list_rule, list);
    return json_pack("{s:o}", "rules", list);
}

static void print_rule(const struct sim_finding_rule *rule, void *arg)
{
    g_string_append_printf(arg, "%-30s %-8s %s\n", rule->name, severities[rule->severity],
                           rule->summary);
}

void report_rules_print(GString *out)
{
    g_string_append_printf(out, "%-30s %-8s %s\n", "rule", "severity", "meaning");
    sim_finding_for_each_rule(print_rule, out);
}

json_t *report_findings_json(const struct cluster *cluster)
{
    struct listing listing = {cluster, json_object()};

    sim_finding_for_each_rule(rule_part, &listing);
    sim_finding_for_each(finding_part, listing.rules);
    return listing.rules;
}

static void print_finding(const json_t *finding, GString *out)
{
    const char *rank = json_string_value(json_object_get(finding, "rank")),
               *call = json_string_value(json_object_get(finding, "call"));
    char when[32];

    scenario_format_ps(when, sizeof(when), json_number_value(json_object_get(finding, "time_ps")));
    g_string_append_printf(out, "  %s%s%s%s%s: %s\n", rank != NULL ? rank : "",
                           rank != NULL ? ", " : "", when, call != NULL ? ", " : "",
                           call != NULL ? call : "",
                           json_string_value(json_object_get(finding, "text")));
}

#define FINDINGS_SHOWN 4
void report_findings_print(const json_t *findings, GString *out)
{
    const json_t *rule, *first;
    const char *name;
    size_t i;

    json_object_foreach ((json_t *)findings, name, rule) {
        json_int_t count = json_integer_value(json_object_get(rule, "count"));

        g_string_append_printf(
            out, "%s %s (%lld): %s\n", json_string_value(json_object_get(rule, "severity")), name,
            (long long)count, json_string_value(json_object_get(rule, "summary")));
        if (strcmp(json_string_value(json_object_get(rule, "severity")), "count") == 0)
            continue; /* --json lists them */
        first = json_object_get(rule, "first");
        for (i = 0; i < json_array_size(first) && i < FINDINGS_SHOWN; i++)
            print_finding(json_array_get(first, i), out);
        if (count > (json_int_t)i)
            g_string_append_printf(out, "  and %lld more\n", (long long)count - (json_int_t)i);
    }
}

/* ---- ranks that crashed ---------------------------------------------------------------------- */

json_t *report_crashes_json(const struct cluster *cluster)
{
    json_t *array = json_array(), *part, *frames;
    guint i, f;

    for (i = 0; i < cluster->crashes->len; i++) {
        const struct cluster_crash *crash = g_ptr_array_index(cluster->crashes, i);

        part = json_object();
        frames = json_array();
        for (f = 0; f < crash->backtrace->len; f++)
            json_array_append_new(frames, json_string(g_ptr_array_index(crash->backtrace, f)));
        json_object_set_new(part, "rank", json_string_nocheck(crash->rank));
        json_object_set_new(part, "node", json_integer(crash->node));
        json_object_set_new(part, "time_ps", json_integer((json_int_t)crash->time));
        if (crash->call != NULL)
            json_object_set_new(part, "call", json_string_nocheck(crash->call));
        json_object_set_new(part, "text", json_string_nocheck(crash->text));
        json_object_set_new(part, "backtrace", frames);
        json_array_append_new(array, part);
    }
    return array;
}

void report_crashes_print(const json_t *crashes, GString *out)
{
    const json_t *crash, *frames, *frame;
    char when[32];
    size_t i, f;

    json_array_foreach (crashes, i, crash) {
        if (i == FINDINGS_SHOWN) {
            g_string_append_printf(out, "and %zu more backtraces: see --json\n",
                                   json_array_size(crashes) - i);
            break;
        }
        scenario_format_ps(when, sizeof(when),
                           json_number_value(json_object_get(crash, "time_ps")));
        g_string_append_printf(out, "backtrace of %s on node %.0f at %s:\n",
                               json_string_value(json_object_get(crash, "rank")),
                               json_number_value(json_object_get(crash, "node")), when);
        frames = json_object_get(crash, "backtrace");
        json_array_foreach (frames, f, frame)
            g_string_append_printf(out, "  #%zu %s\n", f, json_string_value(frame));
    }
}
