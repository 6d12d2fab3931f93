/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Writes a tree as YAML. */
#include "scenario/tree.h"

#include <string.h>
#include <yaml.h>

static int emit_bytes(void *data, unsigned char *bytes, size_t length)
{
    g_string_append_len(data, (const gchar *)bytes, (gssize)length);
    return 1;
}

/* Whether a text needs no quotes: words and numbers that every reader reads as such. */
static bool needs_no_quotes(const char *text)
{
    const char *c;

    for (c = text; g_ascii_isalnum(*c) || (c != text && strchr("_./+-", *c) != NULL && *c != '\0');
         c++)
        ;
    return *c == '\0' && c != text;
}

static void emit_scalar(yaml_emitter_t *emitter, const char *text)
{
    bool plain = needs_no_quotes(text);
    yaml_event_t event;

    yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text, (int)strlen(text),
                                 1, 1,
                                 plain ? YAML_PLAIN_SCALAR_STYLE : YAML_DOUBLE_QUOTED_SCALAR_STYLE);
    yaml_emitter_emit(emitter, &event);
}

static bool all_scalars(const struct tree *tree)
{
    size_t i;

    for (i = 0; i < tree->count; i++) {
        if (tree->items[i]->type != TREE_SCALAR)
            return false;
    }
    return true;
}

static void emit_node(yaml_emitter_t *emitter, const struct tree *tree, uint32_t depth)
{
    yaml_event_t event;
    bool flow = depth > 1 && all_scalars(tree);
    size_t i;

    if (tree->type == TREE_SCALAR) {
        emit_scalar(emitter, tree->text);
        return;
    }
    if (tree->type == TREE_SEQUENCE)
        yaml_sequence_start_event_initialize(
            &event, NULL, NULL, 1, flow ? YAML_FLOW_SEQUENCE_STYLE : YAML_BLOCK_SEQUENCE_STYLE);
    else
        yaml_mapping_start_event_initialize(
            &event, NULL, NULL, 1, flow ? YAML_FLOW_MAPPING_STYLE : YAML_BLOCK_MAPPING_STYLE);
    yaml_emitter_emit(emitter, &event);
    for (i = 0; i < tree->count; i++) {
        if (tree->type == TREE_MAPPING)
            emit_scalar(emitter, tree->items[i]->key);
        emit_node(emitter, tree->items[i], depth + 1);
    }
    if (tree->type == TREE_SEQUENCE)
        yaml_sequence_end_event_initialize(&event);
    else
        yaml_mapping_end_event_initialize(&event);
    yaml_emitter_emit(emitter, &event);
}

char *scenario_tree_emit(const struct tree *tree)
{
    yaml_emitter_t emitter;
    yaml_event_t event;
    GString *out = g_string_new(NULL);

    yaml_emitter_initialize(&emitter);
    yaml_emitter_set_output(&emitter, emit_bytes, out);
    yaml_emitter_set_unicode(&emitter, 1);
    yaml_emitter_set_width(&emitter, 120);
    yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING);
    yaml_emitter_emit(&emitter, &event);
    yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1);
    yaml_emitter_emit(&emitter, &event);
    emit_node(&emitter, tree, 1);
    yaml_document_end_event_initialize(&event, 1);
    yaml_emitter_emit(&emitter, &event);
    yaml_stream_end_event_initialize(&event);
    yaml_emitter_emit(&emitter, &event);
    yaml_emitter_delete(&emitter);
    return g_string_free(out, FALSE);
}
