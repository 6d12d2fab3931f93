/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Faults in the result: each rule with its counts, and each fault that was injected. */
#include "report/report.h"

#include <string.h>
#include "engine/fault.h"

static void put(json_t *object, const char *key, uint64_t value)
{
    json_object_set_new(object, key,
                        json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value));
}

static void put_text(json_t *object, const char *key, const char *text)
{
    json_object_set_new(object, key, json_stringn_nocheck(text, strlen(text)));
}

/* ---- JSON ------------------------------------------------------------------------------------ */

struct listing {
    const struct sim_fault_rule *rule; /* NULL: lost without a rule */
    json_t *array;
};

static void put_place(json_t *part, const char *node_key, const char *rank_key, uint32_t node,
                      const char *rank)
{
    if (node != SIM_FAULT_ANY)
        put(part, node_key, node);
    if (rank[0] != '\0')
        put_text(part, rank_key, rank);
}

static void record_part(const struct sim_fault_record *record, void *arg)
{
    const struct listing *listing = arg;
    json_t *part;

    if (record->rule != listing->rule)
        return;
    part = json_object();
    put(part, "number", record->number);
    put(part, "candidate", record->candidate);
    put(part, "time_ps", record->time);
    put_text(part, "text", record->title);
    put_place(part, "source", "source_rank", record->source, record->hit.source);
    put_place(part, "target", "target_rank", record->target, record->hit.target);
    if (record->hit.what[0] != '\0')
        put_text(part, "what", record->hit.what);
    if (record->hit.extent[0] != '\0')
        put_text(part, "extent", record->hit.extent);
    if (record->packets > 1) {
        put(part, "packet", record->packet);
        put(part, "packets", record->packets);
    }
    if (record->hit.place[0] != '\0')
        put_text(part, "place", record->hit.place);
    if (record->error != NULL) {
        put(part, "failed_ps", record->failed);
        put_text(part, "error", record->error);
    }
    json_array_append_new(listing->array, part);
}

static json_t *records_of(const struct sim_fault_rule *rule)
{
    struct listing listing = {rule, json_array()};

    sim_fault_for_each_record(record_part, &listing);
    return listing.array;
}

static void rule_part(const struct sim_fault_point *point, const struct sim_fault_rule *rule,
                      void *arg)
{
    json_t *part = json_object();

    put_text(part, "fault", rule->label);
    put_text(part, "at", point->name);
    put_text(part, "do", sim_fault_action_name(rule->action));
    put(part, "seen", rule->seen);
    put(part, "fired", rule->fired);
    json_object_set_new(part, "injected", records_of(rule));
    json_array_append_new(arg, part);
}

static char *timed_title(const struct scenario_fault *fault)
{
    const char *action = scenario_fault_action(fault);

    switch (fault->place) {
    case FAULT_LINK:
        return g_strdup_printf("%s #1: link %s of routers %s and %s", fault->title, action,
                               fault->routers[0], fault->routers[1]);
    case FAULT_ROUTER:
        return g_strdup_printf("%s #1: router %s %s", fault->title, fault->router, action);
    case FAULT_FABRIC:
        return g_strdup_printf("%s #1: fabric %s", fault->title, action);
    default:
        return g_strdup_printf("%s #1: %s %s, node %u", fault->title, fault->where, action,
                               (unsigned)fault->node);
    }
}

static json_t *timed_injected(const struct timed_fault *timed)
{
    const struct scenario_fault *fault = timed->scenario;
    json_t *array = json_array(), *part;
    char *title;

    if (!timed->injected)
        return array;
    part = json_object();
    title = timed_title(fault);
    put(part, "number", 1);
    put(part, "candidate", 1);
    put(part, "time_ps", fault->time);
    put_text(part, "text", title);
    g_free(title);
    if (scenario_given(fault->at, "node"))
        put(part, "target", fault->node);
    json_array_append_new(array, part);
    return array;
}

static void timed_part(const struct timed_fault *timed, json_t *array)
{
    const char *network = timed->scenario->network;
    json_t *part = json_object();

    put_text(part, "fault", timed->scenario->title);
    put_text(part, "at", timed->scenario->where);
    put_text(part, "do", scenario_fault_action(timed->scenario));
    if (network != NULL)
        put_text(part, "network", network);
    put(part, "time_ps", timed->scenario->time);
    put(part, "seen", timed->injected);
    put(part, "fired", timed->injected);
    json_object_set_new(part, "injected", timed_injected(timed));
    json_array_append_new(array, part);
}

json_t *report_faults_json(const struct cluster *cluster)
{
    json_t *array = json_array();
    size_t i;

    sim_fault_for_each_rule(rule_part, array);
    for (i = 0; i < cluster->timed_count; i++)
        timed_part(&cluster->timed[i], array);
    return array;
}

json_t *report_losses_json(void)
{
    return records_of(NULL);
}

/* ---- the screen ------------------------------------------------------------------------------ */

static double number_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text != NULL ? text : "";
}

#define INJECTED_SHOWN 8 /* of each fault */

/* "loss #11: PUT 0→1, 4 KiB at offset 8 KiB, link g0-c0s1→g0-c0s4, 575.5 us (a.0 to a.1)" */
static void injected_line(const json_t *injected, GString *out)
{
    const char *from = text_of(injected, "source_rank"), *to = text_of(injected, "target_rank");
    char when[32];

    scenario_format_exact_ps(when, sizeof(when), (uint64_t)number_of(injected, "time_ps"));
    g_string_append_printf(out, "  %s, at %s", text_of(injected, "text"), when);
    if (from[0] != '\0' || to[0] != '\0')
        g_string_append_printf(out, " (%s to %s)", from[0] != '\0' ? from : "?",
                               to[0] != '\0' ? to : "?");
    if (text_of(injected, "error")[0] != '\0')
        g_string_append_printf(out, ": %s", text_of(injected, "error"));
    g_string_append_c(out, '\n');
}

static void injected_lines(const json_t *array, uint64_t all, const char *name, GString *out)
{
    const json_t *injected;
    size_t i;

    json_array_foreach (array, i, injected) {
        if (i == INJECTED_SHOWN)
            break;
        injected_line(injected, out);
    }
    if (all > i)
        g_string_append_printf(out, "  and %" G_GUINT64_FORMAT " more of %s: see --json\n", all - i,
                               name);
}

void report_faults_print(const json_t *result, GString *out)
{
    const json_t *array = json_object_get(result, "faults"), *fault,
                 *losses = json_object_get(result, "losses");
    char what[64], seen[32], fired[32];
    size_t i;

    json_array_foreach (array, i, fault) {
        g_snprintf(what, sizeof(what), "%s %s", text_of(fault, "at"), text_of(fault, "do"));
        scenario_format_count(seen, sizeof(seen), number_of(fault, "seen"));
        scenario_format_count(fired, sizeof(fired), number_of(fault, "fired"));
        g_string_append_printf(out, "%-20s %-20s %8s %8s\n", text_of(fault, "fault"), what, seen,
                               fired);
        injected_lines(json_object_get(fault, "injected"), (uint64_t)number_of(fault, "fired"),
                       text_of(fault, "fault"), out);
    }
    if (json_array_size(losses) != 0) {
        g_string_append(out, "lost with a link, a router or a node\n");
        injected_lines(losses, json_array_size(losses), "them", out);
    }
}
