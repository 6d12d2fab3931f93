/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The tables of fields as a JSON schema. */
#include <glib.h>
#include <string.h>
#include "scenario/schema.h"

/* Readers of YAML 1.1 take on, off, yes and no for true and false, and 1 for a number. */
static void append_readings(json_t *list, const char *word)
{
    guint64 number;

    if (strcmp(word, "on") == 0 || strcmp(word, "yes") == 0)
        json_array_append_new(list, json_true());
    else if (strcmp(word, "off") == 0 || strcmp(word, "no") == 0)
        json_array_append_new(list, json_false());
    else if (g_ascii_string_to_unsigned(word, 10, 0, INT64_MAX, &number, NULL))
        json_array_append_new(list, json_integer((json_int_t)number));
}

static json_t *choices_json(const char *choices)
{
    char **words = g_strsplit(choices, "|", -1);
    json_t *list = json_array();
    char **word;

    for (word = words; *word != NULL; word++) {
        json_array_append_new(list, json_string(*word));
        append_readings(list, *word);
    }
    g_strfreev(words);
    return json_pack("{s:o}", "enum", list);
}

/* Limits that carry a unit, or that no JSON integer can have, are checked by sim-run only. */
static void put_limit(json_t *schema, const char *key, const char *text)
{
    guint64 number;

    if (text != NULL && g_ascii_string_to_unsigned(text, 10, 0, INT64_MAX, &number, NULL))
        json_object_set_new(schema, key, json_integer((json_int_t)number));
}

#define DECIMAL "[0-9]+(\\.[0-9]*)? ?"
json_t *scenario_value_json(enum arg_type type, const char *minimum, const char *maximum,
                            const char *choices)
{
    static const char *const patterns[] = {
        [ARG_COUNT] = "^[0-9]+$",
        [ARG_BYTES] = "^" DECIMAL "(B|[kKMGT]B|[KMGT]iB)?$",
        [ARG_TIME] = "^(0+|" DECIMAL "(ps|ns|us|ms|s))$",
        [ARG_REAL] = "^[-+.0-9eE]+$",
    };
    json_t *schema;

    if (type == ARG_CHOICE)
        return choices_json(choices);
    if (type == ARG_BOOL) /* readers of YAML 1.2 leave these words texts */
        return json_pack("{s:[b,b,s,s,s,s]}", "enum", 1, 0, "yes", "no", "on", "off");
    schema = json_pack("{s:[s,s],s:s}", "type", type == ARG_REAL ? "number" : "integer", "string",
                       "pattern", patterns[type]);
    if (type == ARG_TIME) { /* a number without unit */
        json_object_set_new(schema, "maximum", json_integer(0));
    } else {
        put_limit(schema, "minimum", minimum);
        put_limit(schema, "maximum", maximum);
    }
    return schema;
}

static json_t *field_json(const struct field *field)
{
    json_error_t error;
    json_t *schema = NULL;

    if (field->json != NULL)
        return json_loads(field->json, 0, &error);
    switch (field->kind) {
    case FIELD_VALUE:
        schema = scenario_value_json(field->type, field->minimum, field->maximum, field->choices);
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

static json_t *description(const struct field *field)
{
    char *text;
    json_t *json;

    if (field->fallback == NULL || field->fallback[0] == '\0')
        return json_string(field->meaning);
    text = g_strdup_printf("%s (default: %s)", field->meaning, field->fallback);
    json = json_string(text);
    g_free(text);
    return json;
}

json_t *scenario_schema_json(const struct schema *schema)
{
    const struct schema *const *variant;
    const struct field *field;
    json_t *json, *properties, *required, *member;

    if (schema->variants != NULL) {
        required = json_array();
        for (variant = schema->variants; *variant != NULL; variant++) {
            json = scenario_schema_json(*variant);
            if (schema->by != NULL)
                json_object_set_new(
                    json_object_get(json_object_get(json, "properties"), schema->by), "const",
                    json_string((*variant)->when));
            json_array_append_new(required, json);
        }
        return json_pack("{s:s,s:o}", "description", schema->meaning, "anyOf", required);
    }
    properties = json_object();
    required = json_array();
    for (field = schema->fields; field->name != NULL; field++) {
        member = field_json(field);
        json_object_set_new(member, "description", description(field));
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
