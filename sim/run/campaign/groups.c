/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The failed runs of a campaign, grouped by cause. */
#include "groups.h"

#include <string.h>
#include "campaign/campaign.h"
#include "verdict/verdict.h"

static json_int_t number_of(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text != NULL ? text : "";
}

const char *campaign_problem(const json_t *run)
{
    const char *problem = json_string_value(json_object_get(run, "error"));

    if (problem == NULL)
        problem = json_string_value(json_array_get(json_object_get(run, "problems"), 0));
    return problem != NULL ? problem : "no reason given";
}

char *campaign_signature(const json_t *run)
{
    const char *signature = json_string_value(json_object_get(run, "signature"));

    return signature != NULL ? g_strdup(signature) : verdict_without_numbers(campaign_problem(run));
}

/* The group with the signature and exit code of the run; a new one if there is none. */
static json_t *group_for(json_t *groups, const json_t *run)
{
    char *signature = campaign_signature(run);
    json_t *group = NULL, *known, *seed = json_object_get(run, "seed");
    size_t i;

    json_array_foreach (groups, i, known) {
        if (strcmp(text_of(known, "signature"), signature) == 0 &&
            number_of(known, "exit") == number_of(run, "exit"))
            group = known;
    }
    if (group == NULL) {
        group = json_pack("{s:s,s:I,s:s,s:I,s:s}", "signature", signature, "count", (json_int_t)0,
                          "run", text_of(run, "run"), "exit", number_of(run, "exit"), "problem",
                          campaign_problem(run));
        if (seed != NULL)
            json_object_set(group, "seed", seed);
        json_array_append_new(groups, group);
    }
    g_free(signature);
    return group;
}

json_t *campaign_groups_json(const json_t *runs)
{
    json_t *groups = json_array(), *group;
    const json_t *run;
    size_t i;

    json_array_foreach (runs, i, run) {
        if (number_of(run, "exit") == EXIT_HOLDS)
            continue;
        group = group_for(groups, run);
        json_object_set_new(group, "count", json_integer(number_of(group, "count") + 1));
    }
    return groups;
}

#define GROUPS_SHOWN 40
void campaign_groups_print(const json_t *groups, GString *out)
{
    static const char *const states[] = {"holds", "FAILED", "REFUSED", "STUCK"};
    const json_t *group;
    size_t i;

    json_array_foreach (groups, i, group) {
        json_int_t count = number_of(group, "count");

        if (i == GROUPS_SHOWN) {
            g_string_append_printf(out, "and %zu more causes: see --json\n",
                                   json_array_size(groups) - i);
            break;
        }
        g_string_append_printf(out, "%s %lld run%s, the first is %s: %s\n",
                               states[number_of(group, "exit") & 3], (long long)count,
                               count != 1 ? "s" : "", text_of(group, "run"),
                               text_of(group, "signature"));
        g_string_append_printf(out, "    %s\n", text_of(group, "problem"));
    }
}
