/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A table-driven reader of trees: one table per record says the name, type, range, default, meaning
 * and place of each field, and drives reading, error messages and the generated reference
 * (docs/scenario-reference.md).
 *
 * Every record starts with `const struct tree *at`, the mapping that it was read from, for later
 * messages.
 */
#ifndef JACQUARD_RUN_SCHEMA_H
#define JACQUARD_RUN_SCHEMA_H

#include <jansson.h>
#include "scenario/tree.h"
#include "scenario/value.h"

enum field_kind {
    FIELD_VALUE, /* one text of an enum arg_type; uint64_t, or double for ARG_REAL */
    FIELD_STRING, /* const char *, inside the tree */
    FIELD_NODES, /* struct node_set */
    FIELD_PAIR, /* two texts: const char *[2] */
    FIELD_RECORD, /* a mapping, embedded struct */
    FIELD_LIST, /* a list of mappings: struct record_list */
    FIELD_FREE, /* anything, kept as const struct tree *; its reader checks it */
};

struct record_list {
    void *records; /* array of the element's struct */
    size_t count;
};

struct field {
    const char *name;
    enum field_kind kind;
    enum arg_type type;
    bool required;
    const char *fallback; /* used when it is not given; NULL: the place stays zero */
    const char *minimum, *maximum;
    const char *choices;
    const char *meaning;
    size_t offset;
    const struct schema *of; /* FIELD_RECORD, FIELD_LIST */
    const char
        *syntax; /* FIELD_FREE, FIELD_STRING, FIELD_PAIR: what is allowed, for the reference */
    const char *json; /* JSON schema of the value; NULL: made from the kind and the type */
};

/* Frequent values of `json`: a scalar, a list of scalars, a mapping to values, a scalar or a list
 * of them, and a mapping from a path to a list of values. */
#define JSON_SCALAR "{\"type\": [\"string\", \"number\", \"boolean\"]}"
#define JSON_SCALARS "{\"type\": \"array\", \"items\": " JSON_SCALAR "}"
#define JSON_MAPPING(of) "{\"type\": \"object\", \"additionalProperties\": " of "}"
#define JSON_ONE_OR_MORE "{\"anyOf\": [" JSON_SCALAR ", " JSON_SCALARS "]}"
#define JSON_SWEEP                                                                       \
    "{\"type\": \"object\", \"minProperties\": 1, \"additionalProperties\": {\"type\": " \
    "\"array\", \"minItems\": 1, \"items\": " JSON_SCALAR "}}"

struct schema {
    const char *name; /* of the record, for the reference */
    const char *meaning;
    size_t size;
    const struct field *fields; /* ends with name == NULL */
    /* Variants: the record is one of several. `by` names the field whose text decides; NULL: the
     * first key decides. */
    const struct schema *const *variants; /* ends with NULL; `fields` is unused */
    const char *by;
    const char *when; /* in a variant: the deciding text or key */
};

/* Where a value of C type `type` is kept; a wrong type does not compile. */
#define PLACE(type, record, member)                                                            \
    (offsetof(record, member) +                                                                \
     0 * sizeof(char[__builtin_types_compatible_p(__typeof__(((record *)0)->member), type) ? 1 \
                                                                                           : -1]))

/*
 * Reads `tree` into *record (schema->size zeroed bytes). `path` is the field path so far ("" at the
 * top). False: *error (g_free) is a whole line. What was read must be cleared in both cases.
 */
bool scenario_schema_read(const struct schema *schema, const struct tree *tree, const char *path,
                          void *record, char **error);
void scenario_schema_clear(const struct schema *schema, void *record);

/* Which variant a record was read as. */
const struct schema *scenario_schema_variant(const struct schema *schema, const struct tree *tree);

/* "; did you mean x? allowed: a, b" for an unknown word. `name(i)` gives the known words, NULL
 * ends. g_free it. */
char *scenario_schema_suggest(const char *word, const char *const *known, size_t count);

void scenario_schema_markdown(const struct schema *schema, GString *out);
/* A JSON schema (draft 7) of the record, and of one value. It accepts every text that is valid, and
 * leaves to scenario_schema_read what it cannot say. json_decref it. */
json_t *scenario_schema_json(const struct schema *schema);
json_t *scenario_value_json(enum arg_type type, const char *minimum, const char *maximum,
                            const char *choices);

#endif
