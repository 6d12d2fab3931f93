/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "scenario/schema.h"

#include <string.h>

static char *join(const char *path, const char *name)
{
    return path[0] == '\0' ? g_strdup(name) : g_strconcat(path, ".", name, NULL);
}

char *scenario_schema_suggest(const char *word, const char *const *known, size_t count)
{
    GString *out = g_string_new(NULL);
    size_t nearest = SIZE_MAX, best = strlen(word) / 3 + 2, i, distance;

    for (i = 0; i < count; i++) {
        distance = scenario_edit_distance(word, known[i]);
        if (distance < best) {
            best = distance;
            nearest = i;
        }
    }
    if (nearest != SIZE_MAX)
        g_string_append_printf(out, "; did you mean %s?", known[nearest]);
    g_string_append(out, "; allowed: ");
    for (i = 0; i < count; i++)
        g_string_append_printf(out, "%s%s", i != 0 ? ", " : "", known[i]);
    return g_string_free(out, FALSE);
}

/* ---- fields ---------------------------------------------------------------------------------- */

static bool read_value(const struct field *field, const char *text, void *place, char **what)
{
    struct value value;

    if (!scenario_value_parse(field->type, text, field->minimum, field->maximum, field->choices,
                              &value, what))
        return false;
    if (field->type == ARG_REAL)
        *(double *)place = value.real;
    else if (field->type == ARG_BOOL)
        *(bool *)place = value.number != 0;
    else
        *(uint64_t *)place = value.number;
    return true;
}

static bool read_nodes(const struct tree *tree, struct node_set *set, char **what)
{
    GString *joined;
    size_t i;
    bool ok;

    if (tree->type == TREE_SCALAR)
        return scenario_node_set_parse(set, tree->text, what);
    joined = g_string_new(NULL);
    for (i = 0; i < tree->count; i++) {
        const char *text =
            tree->items[i]->type == TREE_SCALAR ? tree->items[i]->text : "list or mapping";
        g_string_append_printf(joined, "%s%s", i != 0 ? "," : "", text);
    }
    ok = scenario_node_set_parse(set, joined->str, what);
    g_string_free(joined, TRUE);
    return ok;
}

static bool read_pair(const struct field *field, const struct tree *tree, const char **pair,
                      char **what)
{
    if (tree->type != TREE_SEQUENCE || tree->count != 2 || tree->items[0]->type != TREE_SCALAR ||
        tree->items[1]->type != TREE_SCALAR) {
        *what = g_strdup_printf("not a list of two; allowed: %s", field->syntax);
        return false;
    }
    pair[0] = tree->items[0]->text;
    pair[1] = tree->items[1]->text;
    return true;
}

static bool read_list(const struct field *field, const struct tree *tree, const char *path,
                      struct record_list *list, char **error)
{
    size_t i;
    bool ok = true;

    if (tree->type != TREE_SEQUENCE) {
        *error = scenario_tree_problem(
            tree, path, "not a list; allowed: a list of %s, each line starting with \"- \"",
            field->of->name);
        return false;
    }
    list->records = g_malloc0(field->of->size * MAX(tree->count, 1));
    for (i = 0; i < tree->count && ok; i++) {
        char *item_path = g_strdup_printf("%s.%zu", path, i);
        list->count = i + 1;
        ok = scenario_schema_read(field->of, tree->items[i], item_path,
                                  (char *)list->records + i * field->of->size, error);
        g_free(item_path);
    }
    return ok;
}

/* False: either *error is a whole line, or *what is a clause to put behind the place. */
static bool read_given(const struct field *field, const struct tree *tree, const char *path,
                       void *place, char **what, char **error)
{
    switch (field->kind) {
    case FIELD_RECORD:
        return scenario_schema_read(field->of, tree, path, place, error);
    case FIELD_LIST:
        return read_list(field, tree, path, place, error);
    case FIELD_FREE:
        *(const struct tree **)place = tree;
        return true;
    case FIELD_PAIR:
        return read_pair(field, tree, place, what);
    case FIELD_NODES:
        if (tree->type != TREE_MAPPING)
            return read_nodes(tree, place, what);
        break;
    case FIELD_VALUE:
    case FIELD_STRING:
        if (tree->type != TREE_SCALAR)
            break;
        if (field->kind == FIELD_VALUE)
            return read_value(field, tree->text, place, what);
        *(const char **)place = tree->text;
        return true;
    }
    if (field->kind == FIELD_VALUE) {
        char *allowed =
            scenario_value_allowed(field->type, field->minimum, field->maximum, field->choices);
        *what = g_strdup_printf("not a single value; allowed: %s", allowed);
        g_free(allowed);
    } else {
        *what = g_strdup_printf("not a single value; allowed: %s",
                                field->syntax != NULL ? field->syntax : "a text");
    }
    return false;
}

/* Whether a record has a required field. If such a record is not given, it stays empty (at == NULL)
 * and gets no defaults. */
static bool requires_something(const struct schema *schema)
{
    const struct field *field;

    for (field = schema->fields; field->name != NULL && !field->required; field++)
        ;
    return field->name != NULL;
}

static bool read_field(const struct field *field, const struct tree *parent, const char *path,
                       void *record, char **error)
{
    const struct tree *tree = scenario_tree_get(parent, field->name);
    void *place = (char *)record + field->offset;
    char *what = NULL, *field_path;
    bool ok = true;

    g_assert(!field->required || field->fallback == NULL); /* a table of ours */
    field_path = join(path, field->name);
    if (tree != NULL) {
        ok = read_given(field, tree, field_path, place, &what, error);
        if (!ok && what != NULL)
            *error = scenario_tree_problem(tree, field_path, "%s", what);
    } else if (field->required) {
        ok = false;
        *error = scenario_tree_problem(parent, field_path, "missing; it is required: %s",
                                       field->meaning);
    } else if (field->fallback != NULL && field->kind == FIELD_VALUE) {
        ok = read_value(field, field->fallback, place, &what);
        g_assert(ok); /* a default of our own table */
    } else if (field->fallback != NULL && field->kind == FIELD_STRING) {
        *(const char **)place = field->fallback;
    } else if (field->kind == FIELD_RECORD && !requires_something(field->of)) {
        static const struct tree nothing = {.type = TREE_MAPPING};
        ok = scenario_schema_read(field->of, &nothing, field_path, place, error);
    }
    g_free(what);
    g_free(field_path);
    return ok;
}

/* ---- records --------------------------------------------------------------------------------- */

static bool known_keys(const struct schema *schema, const struct tree *tree, const char *path,
                       char **error)
{
    const char *names[64];
    size_t count = 0, i, j;
    char *hint, *field_path;

    while (schema->fields[count].name != NULL) {
        names[count] = schema->fields[count].name;
        count++;
    }
    for (i = 0; i < tree->count; i++) {
        for (j = 0; j < count && strcmp(names[j], tree->items[i]->key) != 0; j++)
            ;
        if (j != count)
            continue;
        hint = scenario_schema_suggest(tree->items[i]->key, names, count);
        field_path = join(path, tree->items[i]->key);
        *error = scenario_tree_problem(tree->items[i], field_path, "unknown field%s", hint);
        g_free(field_path);
        g_free(hint);
        return false;
    }
    return true;
}

const struct schema *scenario_schema_variant(const struct schema *schema, const struct tree *tree)
{
    const struct schema *const *variant = schema->variants;
    const struct tree *decides = schema->by != NULL ? scenario_tree_get(tree, schema->by) : NULL;

    if (variant == NULL)
        return schema;
    for (; *variant != NULL; variant++) {
        if (schema->by == NULL ? scenario_tree_get(tree, (*variant)->when) != NULL
                               : decides != NULL && decides->type == TREE_SCALAR &&
                                     strcmp(decides->text, (*variant)->when) == 0)
            return *variant;
    }
    return NULL;
}

static void no_variant(const struct schema *schema, const struct tree *tree, const char *path,
                       char **error)
{
    const struct tree *decides = schema->by != NULL ? scenario_tree_get(tree, schema->by) : NULL;
    const char *names[32];
    size_t count;
    char *hint, *shown, *field_path;

    for (count = 0; schema->variants[count] != NULL; count++)
        names[count] = schema->variants[count]->when;
    if (schema->by == NULL) {
        hint = scenario_schema_suggest(tree->count != 0 ? tree->items[0]->key : "", names, count);
        *error = scenario_tree_problem(tree, path, "none of the known %ss%s", schema->name, hint);
    } else if (decides == NULL || decides->type != TREE_SCALAR) {
        hint = scenario_schema_suggest("", names, count);
        field_path = join(path, schema->by);
        *error = scenario_tree_problem(decides != NULL ? decides : tree, field_path,
                                       "missing or not a single value%s", hint);
        g_free(field_path);
    } else {
        hint = scenario_schema_suggest(decides->text, names, count);
        shown = scenario_quoted(decides->text);
        field_path = join(path, schema->by);
        *error = scenario_tree_problem(decides, field_path, "%s is not allowed%s", shown, hint);
        g_free(field_path);
        g_free(shown);
    }
    g_free(hint);
}

bool scenario_schema_read(const struct schema *schema, const struct tree *tree, const char *path,
                          void *record, char **error)
{
    const struct schema *variant;
    const struct field *field;

    *(const struct tree **)record = tree;
    if (tree->type != TREE_MAPPING) {
        *error = scenario_tree_problem(
            tree, path, "not a mapping; allowed: the fields of %s, as \"field: value\"",
            schema->name);
        return false;
    }
    variant = scenario_schema_variant(schema, tree);
    if (variant == NULL) {
        no_variant(schema, tree, path, error);
        return false;
    }
    if (!known_keys(variant, tree, path, error))
        return false;
    for (field = variant->fields; field->name != NULL; field++) {
        if (!read_field(field, tree, path, record, error))
            return false;
    }
    return true;
}

void scenario_schema_clear(const struct schema *schema, void *record)
{
    const struct tree *at = *(const struct tree **)record;
    const struct field *field;
    size_t i;

    if (at == NULL || (schema = scenario_schema_variant(schema, at)) == NULL)
        return;
    for (field = schema->fields; field->name != NULL; field++) {
        void *place = (char *)record + field->offset;
        struct record_list *list = place;

        if (field->kind == FIELD_NODES) {
            scenario_node_set_clear(place);
        } else if (field->kind == FIELD_RECORD) {
            scenario_schema_clear(field->of, place);
        } else if (field->kind == FIELD_LIST) {
            for (i = 0; i < list->count; i++)
                scenario_schema_clear(field->of, (char *)list->records + i * field->of->size);
            g_free(list->records);
            list->records = NULL;
            list->count = 0;
        }
    }
}

/* ---- the reference --------------------------------------------------------------------------- */

/* The anchor of a heading has dashes instead of blanks. */
static char *record_syntax(const struct field *field)
{
    char *anchor = g_strdelimit(g_strdup(field->of->name), " ", '-');
    char *syntax =
        g_strdup_printf("a %s, see [%s](#%s)", field->kind == FIELD_LIST ? "list" : "mapping",
                        field->of->name, anchor);

    g_free(anchor);
    return syntax;
}

static char *field_syntax(const struct field *field)
{
    switch (field->kind) {
    case FIELD_VALUE:
        return scenario_value_allowed(field->type, field->minimum, field->maximum, field->choices);
    case FIELD_NODES:
        return g_strdup("a node set such as 0-63,128,200-210/2, or a list of them");
    case FIELD_RECORD:
    case FIELD_LIST:
        return record_syntax(field);
    case FIELD_STRING:
    case FIELD_PAIR:
    case FIELD_FREE:
        break;
    }
    return g_strdup(field->syntax != NULL ? field->syntax : "a text");
}

static void markdown_fields(const struct field *field, GString *out)
{
    g_string_append(out, "| field | allowed | default | meaning |\n|---|---|---|---|\n");
    for (; field->name != NULL; field++) {
        char *syntax = field_syntax(field);
        const char *fallback = field->fallback != NULL ? field->fallback : "–";

        g_string_append_printf(out, "| `%s` | %s | %s | %s |\n", field->name, syntax,
                               field->required ? "*required*" : fallback, field->meaning);
        g_free(syntax);
    }
    g_string_append_c(out, '\n');
}

static void markdown_nested(const struct field *field, GString *out)
{
    for (; field->name != NULL; field++) {
        if (field->of != NULL)
            scenario_schema_markdown(field->of, out);
    }
}

void scenario_schema_markdown(const struct schema *schema, GString *out)
{
    const struct schema *const *variant;

    g_string_append_printf(out, "## %s\n\n%s\n\n", schema->name, schema->meaning);
    if (schema->variants == NULL) {
        markdown_fields(schema->fields, out);
        markdown_nested(schema->fields, out);
        return;
    }
    for (variant = schema->variants; *variant != NULL; variant++) {
        g_string_append_printf(out, "### %s: `%s`\n\n%s\n\n", schema->name, (*variant)->when,
                               (*variant)->meaning);
        markdown_fields((*variant)->fields, out);
    }
    for (variant = schema->variants; *variant != NULL; variant++)
        markdown_nested((*variant)->fields, out);
}
