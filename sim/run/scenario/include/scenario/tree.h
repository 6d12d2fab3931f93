/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A YAML document as a tree in which each node knows its line, so that every later message can name
 * it. Aliases are copied in place, within limits: no input makes the tree large or cyclic.
 *
 * Why libyaml and not libcyaml: libcyaml maps a document onto C structs and then forgets where a
 * value stood, so an error that needs two values (a node outside the fabric, a rank count too small
 * for a workload) could not name its line; and it wants types at compile time, while `args` depends
 * on the workload.
 */
#ifndef JACQUARD_RUN_TREE_H
#define JACQUARD_RUN_TREE_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TREE_BYTES_MAX (1u << 20) /* size of a scenario file */
#define TREE_NODES_MAX 100000u
#define TREE_DEPTH_MAX 32u
#define TREE_KEYS_MAX 1000u /* in one mapping */

enum tree_type { TREE_SCALAR, TREE_SEQUENCE, TREE_MAPPING };

struct tree {
    enum tree_type type;
    uint32_t line; /* 1-based; 0: not from a file */
    const char *origin; /* interned: file name, or "--set a.b=c" */
    char *key; /* member of a mapping: its key */
    char *text; /* TREE_SCALAR */
    struct tree **items;
    size_t count;
};

/* NULL: *error (g_free) is one line "file:line: what". `origin` is used in messages. */
struct tree *scenario_tree_parse(const char *bytes, size_t length, const char *origin,
                                 char **error);
struct tree *scenario_tree_parse_file(const char *path, char **error);
struct tree *scenario_tree_copy(const struct tree *tree);
void scenario_tree_free(struct tree *tree);

struct tree *scenario_tree_get(const struct tree *mapping,
                               const char *key); /* NULL: not a mapping, or no such key */
void scenario_tree_remove(struct tree *mapping, const char *key);

/*
 * Sets what `path` names ("jobs.0.args.bytes", "jobs.clients.nodes") to a YAML value. List items go
 * by number or by their `name` or `label`; a mapping's key may contain dots; missing mappings
 * of the path are created. `origin` is what messages say ("--set"). False: *error (g_free).
 */
bool scenario_tree_set(struct tree *root, const char *path, const char *value, const char *origin,
                       char **error);

/* The document as YAML. g_free it. */
char *scenario_tree_emit(const struct tree *tree);

/* "file:12: field: what" (or "--set a=b: field: what") as a new text. */
char *scenario_tree_problem(const struct tree *at, const char *field, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

#endif
