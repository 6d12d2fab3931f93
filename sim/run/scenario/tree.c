/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "scenario/tree.h"

#include <string.h>
#include <yaml.h>
#include "scenario/file.h"
#include "scenario/value.h"

#define MESSAGE_MAX 2000

struct builder {
    yaml_document_t *document;
    const char *origin;
    uint32_t nodes;
    size_t bytes; /* of all texts */
    char *error;
};

static char *problem_at(const char *origin, uint32_t line, const char *field, const char *what)
{
    GString *out = g_string_new(origin);
    char *c;

    if (line != 0)
        g_string_append_printf(out, ":%u", line);
    g_string_append(out, ": ");
    if (field != NULL && field[0] != '\0')
        g_string_append_printf(out, "%s: ", field);
    g_string_append(out, what);
    if (out->len > MESSAGE_MAX)
        g_string_append(g_string_truncate(out, MESSAGE_MAX), "...");
    for (c = out->str; *c != '\0'; c++)
        *c = g_ascii_iscntrl(*c) ? '?' : *c; /* keys may hold anything; a message is one line */
    return g_string_free(out, FALSE);
}

char *scenario_tree_problem(const struct tree *at, const char *field, const char *format, ...)
{
    va_list arguments;
    char *what, *problem;

    va_start(arguments, format);
    what = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    problem = problem_at(at->origin, at->line, field, what);
    g_free(what);
    return problem;
}

void scenario_tree_free(struct tree *tree)
{
    size_t i;

    if (tree == NULL)
        return;
    for (i = 0; i < tree->count; i++)
        scenario_tree_free(tree->items[i]);
    g_free(tree->items);
    g_free(tree->key);
    g_free(tree->text);
    g_free(tree);
}

struct tree *scenario_tree_get(const struct tree *mapping, const char *key)
{
    size_t i;

    if (mapping == NULL || mapping->type != TREE_MAPPING)
        return NULL;
    for (i = 0; i < mapping->count; i++) {
        if (strcmp(mapping->items[i]->key, key) == 0)
            return mapping->items[i];
    }
    return NULL;
}

void scenario_tree_remove(struct tree *mapping, const char *key)
{
    struct tree *item = scenario_tree_get(mapping, key);
    size_t i;

    if (item == NULL)
        return;
    for (i = 0; mapping->items[i] != item; i++)
        ;
    memmove(&mapping->items[i], &mapping->items[i + 1],
            (mapping->count - i - 1) * sizeof(*mapping->items));
    mapping->count--;
    scenario_tree_free(item);
}

static void append(struct tree *parent, struct tree *child)
{
    if ((parent->count & (parent->count - 1)) == 0) /* room for the next power of two */
        parent->items = g_renew(struct tree *, parent->items, MAX(parent->count * 2, 1));
    parent->items[parent->count++] = child;
}

struct tree *scenario_tree_copy(const struct tree *tree)
{
    struct tree *copy = g_new(struct tree, 1);
    size_t i;

    *copy = *tree;
    copy->key = g_strdup(tree->key);
    copy->text = g_strdup(tree->text);
    copy->items = NULL;
    copy->count = 0;
    for (i = 0; i < tree->count; i++)
        append(copy, scenario_tree_copy(tree->items[i]));
    return copy;
}

/* ---- from YAML ------------------------------------------------------------------------------- */

static struct tree *build(struct builder *builder, int index, uint32_t depth);

static bool refuse(struct builder *builder, uint32_t line, const char *what)
{
    builder->error = problem_at(builder->origin, line, NULL, what);
    return false;
}

static bool take_text(struct builder *builder, const yaml_node_t *node, uint32_t line, char **text)
{
    const char *bytes = (const char *)node->data.scalar.value;
    size_t length = node->data.scalar.length;

    if (memchr(bytes, '\0', length) != NULL)
        return refuse(builder, line, "a text contains a zero byte; allowed: any other character");
    builder->bytes += length;
    if (builder->bytes > 2 * TREE_BYTES_MAX)
        return refuse(builder, line, "too much text after expanding aliases; allowed: 2 MiB");
    *text = g_strndup(bytes, length);
    return true;
}

static bool build_sequence(struct builder *builder, const yaml_node_t *node, struct tree *tree,
                           uint32_t depth)
{
    yaml_node_item_t *item;

    for (item = node->data.sequence.items.start; item < node->data.sequence.items.top; item++) {
        struct tree *child = build(builder, *item, depth + 1);
        if (child == NULL)
            return false;
        append(tree, child);
    }
    return true;
}

static bool build_pair(struct builder *builder, const yaml_node_pair_t *pair, struct tree *tree,
                       uint32_t depth)
{
    const yaml_node_t *key = yaml_document_get_node(builder->document, pair->key);
    uint32_t line = (uint32_t)key->start_mark.line + 1;
    struct tree *child;
    char *text, *what, *shown;

    if (key->type != YAML_SCALAR_NODE)
        return refuse(builder, line, "a key is a list or a mapping; allowed: a word");
    if (tree->count == TREE_KEYS_MAX)
        return refuse(builder, line, "too many keys; allowed: 1000 in one mapping");
    if (!take_text(builder, key, line, &text))
        return false;
    if (scenario_tree_get(tree, text) != NULL) {
        shown = scenario_quoted(text);
        what = g_strdup_printf("%s is given twice; allowed: each key once", shown);
        refuse(builder, line, what);
        g_free(what);
        g_free(shown);
        g_free(text);
        return false;
    }
    child = build(builder, pair->value, depth + 1);
    if (child == NULL) {
        g_free(text);
        return false;
    }
    child->key = text;
    append(tree, child);
    return true;
}

static bool build_mapping(struct builder *builder, const yaml_node_t *node, struct tree *tree,
                          uint32_t depth)
{
    yaml_node_pair_t *pair;

    for (pair = node->data.mapping.pairs.start; pair < node->data.mapping.pairs.top; pair++) {
        if (!build_pair(builder, pair, tree, depth))
            return false;
    }
    return true;
}

static struct tree *build(struct builder *builder, int index, uint32_t depth)
{
    const yaml_node_t *node = yaml_document_get_node(builder->document, index);
    uint32_t line = (uint32_t)node->start_mark.line + 1;
    struct tree *tree;
    bool ok = false;

    if (depth > TREE_DEPTH_MAX) {
        refuse(builder, line,
               "nested too deeply, or an alias inside what it names; allowed: 32 levels");
        return NULL;
    }
    if (++builder->nodes > TREE_NODES_MAX) {
        refuse(builder, line, "too many values after expanding aliases; allowed: 100000");
        return NULL;
    }
    tree = g_new0(struct tree, 1);
    tree->line = line;
    tree->origin = builder->origin;
    switch (node->type) {
    case YAML_SCALAR_NODE:
        tree->type = TREE_SCALAR;
        ok = take_text(builder, node, line, &tree->text);
        break;
    case YAML_SEQUENCE_NODE:
        tree->type = TREE_SEQUENCE;
        ok = build_sequence(builder, node, tree, depth);
        break;
    case YAML_MAPPING_NODE:
        tree->type = TREE_MAPPING;
        ok = build_mapping(builder, node, tree, depth);
        break;
    case YAML_NO_NODE:
        refuse(builder, line, "no value");
        break;
    }
    if (!ok) {
        scenario_tree_free(tree);
        return NULL;
    }
    return tree;
}

static char *parser_problem(const yaml_parser_t *parser, const char *origin)
{
    const char *what = parser->problem != NULL ? parser->problem : "out of memory";
    uint32_t line = (uint32_t)parser->problem_mark.line + 1;
    char *text, *problem;

    if (parser->error == YAML_READER_ERROR)
        line = (uint32_t)parser->mark.line + 1;
    if (parser->context != NULL)
        text = g_strdup_printf("not YAML: %s, %s", parser->context, what);
    else
        text = g_strdup_printf("not YAML: %s", what);
    problem = problem_at(origin, line, NULL, text);
    g_free(text);
    return problem;
}

static void start_parser(yaml_parser_t *parser, const char *bytes, size_t length)
{
    static const char mark[] = {'\xef', '\xbb', '\xbf'}; /* of UTF-8, which some editors write */

    if (length >= sizeof(mark) && memcmp(bytes, mark, sizeof(mark)) == 0) {
        bytes += sizeof(mark);
        length -= sizeof(mark);
    }
    yaml_parser_set_input_string(parser, (const unsigned char *)bytes, length);
    yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING);
}

/* Limits the depth before the real parsing, because the parser's time grows with the square of the
 * depth. Other errors are found by the second pass. */
static bool depth_is_fine(const char *bytes, size_t length, const char *origin, char **error)
{
    yaml_parser_t parser;
    yaml_event_t event;
    uint32_t depth = 0, line = 0;
    bool over = false;

    if (!yaml_parser_initialize(&parser))
        return true;
    start_parser(&parser, bytes, length);
    while (!over && depth <= TREE_DEPTH_MAX && yaml_parser_parse(&parser, &event)) {
        if (event.type == YAML_SEQUENCE_START_EVENT || event.type == YAML_MAPPING_START_EVENT)
            depth++;
        else if (event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT)
            depth--;
        over = event.type == YAML_STREAM_END_EVENT;
        line = (uint32_t)event.start_mark.line + 1;
        yaml_event_delete(&event);
        if (parser.error != YAML_NO_ERROR)
            break;
    }
    yaml_parser_delete(&parser);
    if (depth > TREE_DEPTH_MAX)
        *error = problem_at(origin, line, NULL, "nested too deeply; allowed: 32 levels");
    return depth <= TREE_DEPTH_MAX;
}

/* True: the stream has no second document. */
static bool nothing_follows(yaml_parser_t *parser, const char *origin, char **error)
{
    yaml_document_t second;
    const yaml_node_t *root;
    bool nothing;

    if (!yaml_parser_load(parser, &second)) {
        *error = parser_problem(parser, origin);
        return false;
    }
    root = yaml_document_get_root_node(&second);
    nothing = root == NULL;
    if (!nothing)
        *error = problem_at(origin, (uint32_t)root->start_mark.line + 1, NULL,
                            "a second document starts; allowed: one document");
    yaml_document_delete(&second);
    return nothing;
}

struct tree *scenario_tree_parse(const char *bytes, size_t length, const char *origin, char **error)
{
    yaml_parser_t parser;
    yaml_document_t document;
    struct builder builder = {.document = &document, .origin = g_intern_string(origin)};
    struct tree *tree = NULL;

    if (length > TREE_BYTES_MAX) {
        *error = problem_at(origin, 0, NULL, "too large; allowed: 1 MiB");
        return NULL;
    }
    if (!depth_is_fine(bytes, length, builder.origin, error))
        return NULL;
    if (!yaml_parser_initialize(&parser)) {
        *error = problem_at(origin, 0, NULL, "out of memory");
        return NULL;
    }
    start_parser(&parser, bytes, length);
    if (!yaml_parser_load(&parser, &document)) {
        *error = parser_problem(&parser, origin);
        goto out_parser;
    }
    if (yaml_document_get_root_node(&document) == NULL) {
        *error = problem_at(origin, 1, NULL, "empty; allowed: a mapping");
        goto out_document;
    }
    tree = build(&builder, 1, 1);
    *error = builder.error;
    if (tree != NULL && !nothing_follows(&parser, origin, error)) {
        scenario_tree_free(tree);
        tree = NULL;
    }
out_document:
    yaml_document_delete(&document);
out_parser:
    yaml_parser_delete(&parser);
    return tree;
}

struct tree *scenario_tree_parse_file(const char *path, char **error)
{
    struct tree *tree;
    char *bytes, *what = NULL;
    size_t length;

    if (!scenario_file_read(path, TREE_BYTES_MAX, &bytes, &length, &what)) {
        *error = problem_at(path, 0, NULL, what);
        g_free(what);
        return NULL;
    }
    tree = scenario_tree_parse(bytes, length, path, error);
    g_free(bytes);
    return tree;
}

/* ---- paths ----------------------------------------------------------------------------------- */

/* Finds the longest sequence of path components that is a key here. Keys such as "aries.nic.tx_ns"
 * contain dots. */
static struct tree *member_by_path(const struct tree *mapping, const char *path, const char **rest)
{
    char *prefix = g_strdup(path);
    struct tree *item;
    char *dot;

    for (;;) {
        item = scenario_tree_get(mapping, prefix);
        dot = strrchr(prefix, '.');
        if (item != NULL || dot == NULL)
            break;
        *dot = '\0';
    }
    if (item != NULL)
        *rest = path + strlen(prefix);
    g_free(prefix);
    return item;
}

/* Items are named by `name` (jobs, networks) or `label` (faults). */
static bool is_called(const struct tree *item, const char *word)
{
    const struct tree *name = scenario_tree_get(item, "name");

    if (name == NULL)
        name = scenario_tree_get(item, "label");
    return name != NULL && name->type == TREE_SCALAR && strcmp(name->text, word) == 0;
}

static struct tree *item_by_path(const struct tree *sequence, const char *component)
{
    char *end;
    guint64 index = g_ascii_strtoull(component, &end, 10);
    size_t i;

    if (g_ascii_isdigit(component[0]) && *end == '\0')
        return index < sequence->count ? sequence->items[index] : NULL;
    for (i = 0; i < sequence->count; i++) {
        if (is_called(sequence->items[i], component))
            return sequence->items[i];
    }
    return NULL;
}

static struct tree *create_member(struct tree *mapping, const char *key, const char *origin)
{
    struct tree *item = g_new0(struct tree, 1);

    item->type = TREE_MAPPING;
    item->origin = g_intern_string(origin);
    item->key = g_strdup(key);
    append(mapping, item);
    return item;
}

static void overwrite(struct tree *place, struct tree *value)
{
    char *key = place->key;
    size_t i;

    for (i = 0; i < place->count; i++)
        scenario_tree_free(place->items[i]);
    g_free(place->items);
    g_free(place->text);
    *place = *value;
    place->key = key;
    g_free(value);
}

static void set_lines(struct tree *tree, uint32_t line)
{
    size_t i;

    tree->line = line;
    for (i = 0; i < tree->count; i++)
        set_lines(tree->items[i], line);
}

/* Finds or creates the node that `path` names. */
static struct tree *resolve(struct tree *root, const char *path, const char *origin, char **error)
{
    struct tree *at = root, *next;
    const char *rest;
    char *component;
    uint32_t depth = 1;

    for (;; at = next, path = rest + 1) {
        component = g_strndup(path, strcspn(path, "."));
        rest = path + strlen(component);
        next = NULL;
        if (component[0] == '\0' || depth++ == TREE_DEPTH_MAX)
            *error = problem_at(origin, 0, path,
                                "not a path; allowed: names and numbers joined by single dots");
        else if (at->type == TREE_SCALAR)
            *error =
                problem_at(origin, 0, component,
                           "its parent is a single value; allowed: paths into mappings and lists");
        else if (at->type == TREE_SEQUENCE && (next = item_by_path(at, component)) == NULL)
            *error = problem_at(
                origin, 0, component,
                "no such item; allowed: the number of an item, from 0, or its name or label");
        else if (at->type == TREE_MAPPING && (next = member_by_path(at, path, &rest)) == NULL)
            next = create_member(at, component, origin);
        g_free(component);
        if (next == NULL || *rest == '\0')
            return next;
    }
}

bool scenario_tree_set(struct tree *root, const char *path, const char *value, const char *origin,
                       char **error)
{
    struct tree *place, *parsed;

    if (value[strspn(value, " \t\r\n")] == '\0') {
        *error = problem_at(origin, 0, path, "no value; allowed: a YAML value");
        return false;
    }
    parsed = scenario_tree_parse(value, strlen(value), origin, error);
    if (parsed == NULL)
        return false;
    set_lines(parsed, 0);
    place = resolve(root, path, origin, error);
    if (place == NULL) {
        scenario_tree_free(parsed);
        return false;
    }
    overwrite(place, parsed);
    return true;
}
