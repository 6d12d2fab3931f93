/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "report/lists.h"

#include <string.h>
#include "aries/aries.h"
#include "net/net.h"
#include "scenario/value.h"
#include "scenario/programs.h"

static void put_text(json_t *object, const char *key, const char *text)
{
    if (text != NULL)
        json_object_set_new(object, key, json_string_nocheck(text));
}

/* ---- workloads ------------------------------------------------------------------------------- */

static json_t *arg_json(const struct workload_arg *arg)
{
    json_t *object = json_object(), *choices;
    gchar **words;
    size_t i;

    put_text(object, "name", arg->name);
    put_text(object, "type", arg->type == ARG_BYTES ? "size" : scenario_value_type_name(arg->type));
    put_text(object, "default", arg->fallback);
    put_text(object, "minimum", arg->minimum);
    put_text(object, "maximum", arg->maximum);
    put_text(object, "meaning", arg->meaning);
    if (arg->type == ARG_CHOICE) {
        choices = json_array();
        words = g_strsplit(arg->choices, "|", -1);
        for (i = 0; words[i] != NULL; i++)
            json_array_append_new(choices, json_string_nocheck(words[i]));
        g_strfreev(words);
        json_object_set_new(object, "choices", choices);
    }
    return object;
}

json_t *report_workloads_json(void)
{
    json_t *list = json_array();
    size_t i, j;

    for (i = 0; i < program_count(); i++) {
        const struct program *program = program_at(i);
        const struct workload *workload = program->workload;
        json_t *object = json_object(), *args = json_array();

        put_text(object, "name", workload->name);
        put_text(object, "meaning", workload->meaning);
        put_text(object, "metrics", workload->metrics);
        json_object_set_new(object, "ranks_min", json_integer(MAX(workload->ranks_min, 1u)));
        json_object_set_new(object, "any_network", json_boolean(program->any_network));
        for (j = 0; workload->args != NULL && workload->args[j].name != NULL; j++)
            json_array_append_new(args, arg_json(&workload->args[j]));
        json_object_set_new(object, "args", args);
        json_array_append_new(list, object);
    }
    return json_pack("{s:o}", "workloads", list);
}

static void arg_print(const struct workload_arg *arg, GString *out)
{
    char *allowed = scenario_value_allowed(arg->type, arg->minimum, arg->maximum, arg->choices);

    g_string_append_printf(out, "    %-14s %-10s %s\n    %-14s %-10s (%s)\n", arg->name,
                           arg->fallback != NULL ? arg->fallback : "required", arg->meaning, "", "",
                           allowed);
    g_free(allowed);
}

void report_workloads_print(GString *out)
{
    size_t i, j;

    for (i = 0; i < program_count(); i++) {
        const struct program *program = program_at(i);
        const struct workload *workload = program->workload;

        g_string_append_printf(out, "%s%s: %s\n", i != 0 ? "\n" : "", workload->name,
                               workload->meaning);
        g_string_append_printf(out, "    at least %u rank%s, %s; measures %s\n",
                               MAX(workload->ranks_min, 1u), workload->ranks_min > 1 ? "s" : "",
                               program->any_network ? "any network" : "Aries (topology dragonfly)",
                               workload->metrics != NULL ? workload->metrics : "nothing");
        for (j = 0; workload->args != NULL && workload->args[j].name != NULL; j++)
            arg_print(&workload->args[j], out);
    }
}

/* ---- presets --------------------------------------------------------------------------------- */

json_t *report_presets_json(void)
{
    json_t *list = json_array();
    size_t count, i;
    const struct net_preset *presets = net_presets(&count);

    for (i = 0; i < count; i++) {
        const struct net_preset *preset = &presets[i];
        json_t *object = json_object();

        put_text(object, "name", preset->name);
        put_text(object, "system", preset->system);
        put_text(object, "profile", preset->profile);
        json_object_set_new(object, "groups", json_integer(preset->groups));
        json_object_set_new(object, "chassis", json_integer(preset->chassis));
        json_object_set_new(object, "slots", json_integer(preset->slots));
        json_object_set_new(object, "cables", json_integer(preset->cables));
        json_object_set_new(
            object, "nodes",
            json_integer((json_int_t)preset->groups * preset->chassis * preset->slots * 4));
        json_array_append_new(list, object);
    }
    return json_pack("{s:o}", "presets", list);
}

void report_presets_print(GString *out)
{
    size_t count, i;
    const struct net_preset *presets = net_presets(&count);

    g_string_append_printf(out, "%-14s %7s %7s %8s %7s %7s  %-10s %s\n", "preset", "nodes",
                           "groups", "chassis", "slots", "cables", "profile", "system");
    for (i = 0; i < count; i++) {
        const struct net_preset *preset = &presets[i];

        g_string_append_printf(out, "%-14s %7u %7u %8u %7u %7u  %-10s %s\n", preset->name,
                               preset->groups * preset->chassis * preset->slots * 4, preset->groups,
                               preset->chassis, preset->slots, preset->cables,
                               preset->profile != NULL ? preset->profile : "any", preset->system);
    }
}

/* ---- parameters ------------------------------------------------------------------------------ */

static const char *const confidences[] = {"published", "derived", "fitted", "assumed", "recalled"};
static const char *const profiles[] = {"xc40_hsw", "xc30_snb", "xc40_knl"};

json_t *report_params_json(void)
{
    json_t *list = json_array();
    size_t count, i, j;
    const struct aries_param *table = aries_param_table(&count);

    for (i = 0; i < count; i++) {
        json_t *object = json_object(), *values = json_object();

        put_text(object, "name", table[i].name);
        put_text(object, "unit", table[i].unit);
        put_text(object, "meaning", table[i].meaning);
        put_text(object, "source", table[i].source);
        put_text(object, "confidence", confidences[table[i].confidence]);
        json_object_set_new(object, "minimum", json_real(table[i].minimum));
        json_object_set_new(object, "maximum", json_real(table[i].maximum));
        for (j = 0; j < G_N_ELEMENTS(profiles); j++)
            json_object_set_new(values, profiles[j], json_real(table[i].value[j]));
        json_object_set_new(object, "values", values);
        json_array_append_new(list, object);
    }
    return json_pack("{s:o}", "params", list);
}

void report_params_print(GString *out)
{
    size_t count, i;
    const struct aries_param *table = aries_param_table(&count);

    g_string_append_printf(out, "%-34s %-8s %10s %10s %10s  %-10s %s\n", "parameter", "unit",
                           profiles[0], profiles[1], profiles[2], "confidence",
                           "meaning [source]; range");
    for (i = 0; i < count; i++)
        g_string_append_printf(
            out, "%-34s %-8s %10.6g %10.6g %10.6g  %-10s %s [%s]; %.6g to %.6g\n", table[i].name,
            table[i].unit, table[i].value[0], table[i].value[1], table[i].value[2],
            confidences[table[i].confidence], table[i].meaning, table[i].source, table[i].minimum,
            table[i].maximum);
}
