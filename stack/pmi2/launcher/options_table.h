/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The options of pmrun as a table: for reading the command line, for --help, for --list-options. */
#ifndef JACQUARD_PMRUN_OPTIONS_TABLE_H
#define JACQUARD_PMRUN_OPTIONS_TABLE_H

#include <stddef.h>

enum pmrun_option_code {
    OPT_HELP = 256,
    OPT_VERSION,
    OPT_LIST_OPTIONS,
    OPT_N,
    OPT_HOSTS,
    OPT_HOSTFILE,
    OPT_PPN,
    OPT_FABRIC,
    OPT_FABRIC_REPORT,
    OPT_LAUNCHER,
    OPT_LAUNCHER_EXEC,
    OPT_IFACE,
    OPT_LOCALHOST,
    OPT_ENV,
    OPT_ENVLIST,
    OPT_ENVNONE,
    OPT_ENVALL,
    OPT_GENV,
    OPT_GENVLIST,
    OPT_GENVNONE,
    OPT_GENVALL,
    OPT_WDIR,
    OPT_PATH,
    OPT_LABEL,
    OPT_PATTERN,
    OPT_OUTFILE,
    OPT_ERRFILE,
    OPT_BIND_TO,
    OPT_MAP_BY,
    OPT_MEMBIND,
    OPT_USIZE,
    OPT_STDIN,
    OPT_TIMEOUT,
    OPT_EXIT_CODE,
    OPT_EXITCODES,
    OPT_KEEP,
    OPT_CLEANUP,
    OPT_PORT,
    OPT_AUTH,
    OPT_NAMESERVER,
    OPT_OMPI,
    OPT_FANOUT,
    OPT_SPAWNED,
    OPT_CONFIGFILE,
    OPT_VERBOSE,
};

struct pmrun_option {
    const char *name;
    enum pmrun_option_code option;
    const char *argument; /* NULL: none */
    const char *meaning; /* NULL: another name of the one above */
};

#define PMRUN_OPTIONS_MAX 128 /* room for the table */
extern const struct pmrun_option pmrun_option_table[]; /* in the order of --help */
extern const size_t pmrun_option_count;

void pmrun_options_help(void); /* prints the text of --help */

#endif
