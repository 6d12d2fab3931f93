/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The fields of a campaign file, once: reader, JSON schema and reference are made from them. */
#include "plan_fields.h"

#include <string.h>

#define STRING(record, member) .kind = FIELD_STRING, .offset = PLACE(const char *, record, member)
#define FREE(record, member) \
    .kind = FIELD_FREE, .offset = PLACE(const struct tree *, record, member)

#define B struct campaign_block
static const struct field block_fields[] = {
    {"scenario", FREE(B, scenario), .required = true, .syntax = "a file, or a list of files",
     .json = "{\"anyOf\": [{\"type\": \"string\"}, {\"type\": \"array\", \"minItems\": 1, "
             "\"items\": {\"type\": \"string\"}}]}",
     .meaning = "what runs; paths are relative to the folder of the campaign file"},
    {"seeds", STRING(B, seeds), .syntax = "numbers and ranges such as `1-1000,2000`",
     .json = "{\"anyOf\": [{\"type\": \"integer\", \"minimum\": 0}, {\"type\": \"string\", "
             "\"pattern\": \"^[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$\"}]}",
     .meaning = "each scenario runs once with each of them; default: the scenario's own seed"},
    {"set", FREE(B, set), .syntax = "a mapping from a path as of `--set` to a value",
     .json = JSON_MAPPING(JSON_SCALAR), .meaning = "values of the scenarios that are changed"},
    {"sweep", FREE(B, sweep), .syntax = "a mapping from a path as of `--set` to a list of values",
     .json = JSON_SWEEP,
     .meaning = "the scenarios run with each combination, together with those of a scenario's own "
                "`sweep`; a path that both have gets the values given here"},
    {NULL},
};
#undef B
static const struct schema block_schema = {.name = "runs",
                                           .meaning = "Scenarios with the same seeds and settings.",
                                           .size = sizeof(struct campaign_block),
                                           .fields = block_fields};

#define P struct campaign_plan
static const struct field plan_fields[] = {
    {"name", STRING(P, name), .required = true, .syntax = "a text",
     .meaning = "what reports and Slurm call the campaign"},
    {"description", STRING(P, description), .fallback = "", .syntax = "a text",
     .meaning = "for people"},
    {"results", STRING(P, results), .syntax = "a file",
     .meaning = "the SQLite file with the results, relative to the folder of the campaign file; "
                "default: the name of the campaign file with `.sqlite` instead of `.yaml`"},
    {"set", FREE(P, set), .syntax = "a mapping from a path as of `--set` to a value",
     .json = JSON_MAPPING(JSON_SCALAR),
     .meaning = "for all runs; those of an item of `runs` are applied afterwards"},
    {"runs", .kind = FIELD_LIST, .offset = PLACE(struct record_list, P, blocks), .required = true,
     .of = &block_schema, .meaning = "what runs, in this order"},
    {NULL},
};
#undef P
const struct schema campaign_schema = {.name = "campaign",
                                       .meaning = "The whole file.",
                                       .size = sizeof(struct campaign_plan),
                                       .fields = plan_fields};

json_t *campaign_plan_schema(void)
{
    json_t *schema = scenario_schema_json(&campaign_schema);

    json_object_set_new(schema, "$schema", json_string("http://json-schema.org/draft-07/schema#"));
    json_object_set_new(schema, "title", json_string("A campaign file of sim-run"));
    return schema;
}

char *campaign_plan_reference(void)
{
    GString *out = g_string_new(NULL);

    scenario_schema_markdown(&campaign_schema, out);
    g_string_truncate(out, out->len - 1);
    return g_string_free(out, FALSE);
}

char *campaign_plan_default_results(const char *file)
{
    char *base = g_path_get_basename(file), *name;

    if (g_str_has_suffix(base, ".yaml"))
        base[strlen(base) - strlen(".yaml")] = '\0';
    name = g_strconcat(base, ".sqlite", NULL);
    g_free(base);
    return name;
}
