/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Typed texts of the scenario language: counts, sizes, times, reals, truth values, choices, node
 * sets. Scenario fields, workload arguments and their defaults have one parser, wl_value_parse() of
 * workloads/support/value.c; this header adds messages and formats.
 */
#ifndef JACQUARD_RUN_VALUE_H
#define JACQUARD_RUN_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "run/arguments.h"

/*
 * Parses `text`, which must outlive the value. minimum, maximum: texts in the type's own syntax,
 * NULL: the type's limits; choices: "put|get". False: *error (g_free) says what is wrong and what
 * is allowed, as one clause.
 */
bool scenario_value_parse(enum arg_type type, const char *text, const char *minimum,
                          const char *maximum, const char *choices, struct value *value,
                          char **error);

/* "a count from 1 to 8": what scenario_value_parse would accept. g_free it. */
char *scenario_value_allowed(enum arg_type type, const char *minimum, const char *maximum,
                             const char *choices);
const char *scenario_value_type_name(enum arg_type type);

/* A set of nodes in the order written: "0-63,128,200-210/2". */
struct node_set {
    uint32_t *nodes;
    size_t count;
};
#define NODE_SET_MAX (1u << 18)
/* Adds the nodes of `text`; a node twice is an error. */
bool scenario_node_set_parse(struct node_set *set, const char *text, char **error);
void scenario_node_set_clear(struct node_set *set);

/* For messages: at most 60 characters, in double quotes, control characters escaped. g_free it. */
char *scenario_quoted(const char *text);

/* Least number of insertions, deletions, exchanges and swaps of neighbours between two short words.
 */
size_t scenario_edit_distance(const char *a, const char *b);

/* "1.25 us", "3 ns": four significant digits, for people. */
void scenario_format_ps(char *buffer, size_t size, double ps);
/* "575.496 us": for events that shall be found again in a trace. */
void scenario_format_exact_ps(char *buffer, size_t size, uint64_t ps);
void scenario_format_bytes_rate(char *buffer, size_t size, double bytes_per_s);
void scenario_format_count(char *buffer, size_t size, double count);
void scenario_format_bytes(char *buffer, size_t size, double bytes);

#endif
