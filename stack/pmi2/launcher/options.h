/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The command line of pmrun: global options, and for each executable (separated by `:`) its own.
 * Names are mpiexec's; one dash or two, upper or lower case, `-n 4` or `-n=4`.
 */
#ifndef JACQUARD_PMRUN_OPTIONS_H
#define JACQUARD_PMRUN_OPTIONS_H

#include <glib.h>
#include <stdint.h>

#include "environment.h"

struct pmrun_executable {
    uint32_t processes; /* 0: not given */
    char **argv; /* the name first; ends with NULL */
    char *wdir; /* NULL: where pmrun runs */
    char *path; /* directories to search instead of PATH's; NULL: PATH */
    char *hosts; /* of a spawn: a list; NULL: those of the job */
    struct pmrun_environment_rules environment;
};

enum pmrun_exit_rule {
    PMRUN_EXIT_RULE_MAXIMUM, /* of the ranks' statuses; signal s: s */
    PMRUN_EXIT_RULE_OR, /* bitwise, as Hydra */
    PMRUN_EXIT_RULE_SHELL /* maximum; signal s: 128 + s */
};

/* The authentication of clients that connect to a port (--pmi-port). */
enum pmrun_auth { PMRUN_AUTH_USER, PMRUN_AUTH_CHALLENGE, PMRUN_AUTH_DRAFT };

enum pmrun_universe {
    PMRUN_UNIVERSE_INFINITE = -1,
    PMRUN_UNIVERSE_SYSTEM = -2,
    PMRUN_UNIVERSE_SLOTS = -3
};

struct pmrun_options {
    GPtrArray *executables; /* struct pmrun_executable; never empty */
    struct pmrun_environment_rules environment; /* --genv… */
    char *hosts, *hostfile;
    uint32_t per_node; /* --ppn; 0: the hosts' slots */
    gboolean fabric; /* an emulated one is wanted */
    char *scenario, *fabric_report; /* of it; NULL: the defaults, standard error */
    char *launcher, *launcher_exec; /* ssh, rsh, fork, slurm, manual, or a command */
    char *iface, *localhost; /* what remote proxies connect to */
    char *name_server; /* host[:port]; NULL: names are pmrun's own */
    char *prefix_pattern; /* of lines; "[%r] " is -l; NULL: none */
    char *outfile_pattern, *errfile_pattern;
    char *bind_to, *map_by, *membind;
    int64_t universe; /* or enum universe */
    uint32_t stdin_rank; /* 0, or UINT32_MAX: all get nothing */
    double timeout; /* seconds; 0: none */
    enum pmrun_exit_rule exit_rule;
    uint32_t fanout; /* proxies below one server */
    uint32_t max_spawned;
    enum pmrun_auth auth;
    gboolean print_exitcodes, keep_survivors, tcp_port, open_mpi, verbose;
};

enum pmrun_options_result {
    PMRUN_OPTIONS_RUN,
    PMRUN_OPTIONS_DONE /* help, version: printed */,
    PMRUN_OPTIONS_BAD
};
/* BAD: *error says what, where and what to do. The environment's MPIEXEC_TIMEOUT counts, too. */
enum pmrun_options_result pmrun_options_parse(int argc, char **argv, struct pmrun_options *options,
                                              GError **error);
void pmrun_options_clear(struct pmrun_options *options);
void pmrun_executable_free(gpointer executable);

/* The table of all options as rows "name<TAB>argument<TAB>meaning", for the manual page's test and
 * the completion of shells: pmrun --list-options. */
void pmrun_options_list(void);

#endif
