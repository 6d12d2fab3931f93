/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The tables of fields as a JSON schema. */
#include "scenario/schema.h"

static json_t *choices_json(const char *choices)
{
    char **words = g_strsplit(choices, "|", -1);
    json_t *list = json_array();
    char **word;

    for (word = words; *word != NULL; word++)
        json_array_append_new(list, json_string(*word));
    g_strfreev(words);
    return json_pack("{s:o}", "enum", list);
}

static json_t *value_json(const struct field *field)
{
    switch (field->type) {
    case ARG_CHOICE:
        return choices_json(field->choices);
    case ARG_BOOL:
        return json_pack("{s:s}", "type", "boolean");
    default: /* with a unit it is a text */
        return json_pack("{s:[s,s]}", "type", "number", "string");
    }
}

static json_t *field_json(const struct field *field)
{
    json_error_t error;
    json_t *schema = NULL;

    if (field->json != NULL)
        return json_loads(field->json, 0, &error);
    switch (field->kind) {
    case FIELD_VALUE:
        schema = value_json(field);
        break;
    case FIELD_STRING:
        schema = json_pack("{s:[s,s,s]}", "type", "string", "number", "boolean");
        break;
    case FIELD_NODES:
        schema = json_pack("{s:[s,s,s]}", "type", "string", "integer", "array");
        break;
    case FIELD_PAIR:
        schema = json_pack("{s:s,s:i,s:i}", "type", "array", "minItems", 2, "maxItems", 2);
        break;
    case FIELD_RECORD:
        schema = scenario_schema_json(field->of);
        break;
    case FIELD_LIST:
        schema = json_pack("{s:s,s:o}", "type", "array", "items", scenario_schema_json(field->of));
        break;
    case FIELD_FREE:
        schema = json_object();
        break;
    }
    return schema;
}

json_t *scenario_schema_json(const struct schema *schema)
{
    const struct schema *const *variant;
    const struct field *field;
    json_t *json, *properties, *required, *member;

    if (schema->variants != NULL) {
        required = json_array();
        for (variant = schema->variants; *variant != NULL; variant++)
            json_array_append_new(required, scenario_schema_json(*variant));
        return json_pack("{s:s,s:o}", "description", schema->meaning, "anyOf", required);
    }
    properties = json_object();
    required = json_array();
    for (field = schema->fields; field->name != NULL; field++) {
        member = field_json(field);
        json_object_set_new(member, "description", json_string(field->meaning));
        json_object_set_new(properties, field->name, member);
        if (field->required)
            json_array_append_new(required, json_string(field->name));
    }
    json = json_pack("{s:s,s:s,s:o,s:b}", "type", "object", "description", schema->meaning,
                     "properties", properties, "additionalProperties", 0);
    if (json_array_size(required) != 0)
        json_object_set(json, "required", required);
    json_decref(required);
    return json;
}
