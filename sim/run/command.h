/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command line of sim-run. */
#ifndef JACQUARD_RUN_COMMAND_H
#define JACQUARD_RUN_COMMAND_H

#include <glib.h>
#include <stdbool.h>
#include "scenario/scenario.h"

struct command {
    gboolean help, version, list_workloads, list_presets, list_params, list_rules, check, json,
        force, markdown, schema, no_color, quiet, live, until_fail, minimize;
    gint ready_fd;
    gchar **set;
    gchar *help_text; /* --help was given */
    gchar *seed, *seeds, *out, *trace, *pcap, *report, *socket;
    gint parallel;
    /* made from it */
    const char *file;
    struct override *overrides;
    size_t override_count;
    uint64_t first_seed, last_seed;
};

/* False: *error (g_free) is a line. Without *help_text, `file` NULL means that none was named. */
bool command_parse(struct command *command, int argc, char **argv, char **error);

/* A message (g_free) if a word gives a value to an option that takes none ("--json=x"), which
 * GOption would ignore; else NULL. */
char *command_check_flags(const GOptionEntry *entries, int argc, char **argv);

/* Splits "-j4" into "-j" and "4", the only form that GOption knows. g_free the array, not its
 * words. */
char **command_split_words(const GOptionEntry *entries, int *argc, char **argv);

#endif
