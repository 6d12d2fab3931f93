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

struct executable {
    uint32_t processes; /* 0: not said */
    char **argv; /* the name first; ends with NULL */
    char *wdir; /* NULL: where pmrun runs */
    char *path; /* directories to search instead of PATH's; NULL: PATH */
    char *hosts; /* of a spawn: a list; NULL: those of the job */
    struct environment_rules environment;
};

enum exit_rule {
    EXIT_RULE_MAXIMUM, /* of the ranks' statuses; signal s: s */
    EXIT_RULE_OR, /* bitwise, as Hydra */
    EXIT_RULE_SHELL /* maximum; signal s: 128 + s */
};

/* What is asked of who connects to a port (--pmi-port). */
enum auth { AUTH_USER, AUTH_CHALLENGE, AUTH_DRAFT };

enum universe { UNIVERSE_INFINITE = -1, UNIVERSE_SYSTEM = -2, UNIVERSE_SLOTS = -3 };

struct options {
    GPtrArray *executables; /* struct executable; never empty */
    struct environment_rules environment; /* --genv… */
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
    enum exit_rule exit_rule;
    uint32_t fanout; /* proxies below one server */
    uint32_t max_spawned;
    enum auth auth;
    gboolean print_exitcodes, keep_survivors, tcp_port, open_mpi, verbose;
};

enum options_result { OPTIONS_RUN, OPTIONS_DONE /* help, version: printed */, OPTIONS_BAD };
/* BAD: *error says what, where and what to do. The environment's MPIEXEC_TIMEOUT counts, too. */
enum options_result pmrun_options_parse(int argc, char **argv, struct options *options,
                                        GError **error);
void pmrun_options_clear(struct options *options);
void pmrun_executable_free(gpointer executable);

/* The table of all options as rows "name<TAB>argument<TAB>meaning", for the manual page's test and
 * the completion of shells: pmrun --list-options. */
void pmrun_options_list(void);

#endif
