/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The JSON schema of a scenario file: that of the tables of fields, and the arguments of each
 * workload. */
#include "scenario/programs.h"
#include "scenario/scenario.h"

static json_t *arguments_json(const struct workload_arg *args)
{
    json_t *properties = json_object(), *required = json_array(), *schema, *arg;

    for (; args != NULL && args->name != NULL; args++) {
        arg = scenario_value_json(args->type, args->minimum, args->maximum, args->choices);
        json_object_set_new(arg, "description", json_string(args->meaning));
        json_object_set_new(properties, args->name, arg);
        if (args->fallback == NULL)
            json_array_append_new(required, json_string(args->name));
    }
    schema = json_pack("{s:o,s:b}", "properties", properties, "additionalProperties", 0);
    if (json_array_size(required) != 0)
        json_object_set(schema, "required", required);
    json_decref(required);
    return schema;
}

/* The names of the workloads, and for each of them what `args` may have. */
static void put_workloads(json_t *job)
{
    json_t *names = json_array(), *rules = json_array();
    json_t *workload = json_object_get(json_object_get(job, "properties"), "workload");
    const struct workload *entry;
    size_t i;

    for (i = 0; i < program_count(); i++) {
        entry = program_at(i)->workload;
        json_array_append_new(names, json_string(entry->name));
        json_array_append_new(rules,
                              json_pack("{s:{s:{s:{s:s}},s:[s]},s:{s:{s:o}}}", "if", "properties",
                                        "workload", "const", entry->name, "required", "workload",
                                        "then", "properties", "args", arguments_json(entry->args)));
    }
    json_object_del(workload, "type");
    json_object_set_new(workload, "enum", names);
    json_object_set_new(job, "allOf", rules);
}

json_t *scenario_document_json(void)
{
    json_t *schema = scenario_schema_json(&scenario_schema);
    json_t *jobs = json_object_get(json_object_get(schema, "properties"), "jobs");

    json_object_set_new(schema, "$schema", json_string("http://json-schema.org/draft-07/schema#"));
    json_object_set_new(schema, "title", json_string("A scenario file of sim-run"));
    put_workloads(json_object_get(jobs, "items"));
    return schema;
}
