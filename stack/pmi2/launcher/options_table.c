/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "options_table.h"

#include <assert.h>
#include <stdio.h>

#include "options.h"

/* In the order of --help. An entry without a meaning is another name of the one before it. */
const struct pmrun_option pmrun_option_table[] = {
    {"n", OPT_N, "COUNT", "processes of this executable (all slots of the hosts)"},
    {"np", OPT_N, "COUNT", NULL},
    {"hosts", OPT_HOSTS, "LIST", "where to run: name[:slots],... (the allocation's, or this host)"},
    {"host", OPT_HOSTS, "LIST", NULL},
    {"hostlist", OPT_HOSTS, "LIST", NULL},
    {"hostfile", OPT_HOSTFILE, "FILE",
     "the same, one host a line: name[:slots] [user=NAME] [binding=WHAT]"},
    {"f", OPT_HOSTFILE, "FILE", NULL},
    {"machinefile", OPT_HOSTFILE, "FILE", NULL},
    {"ppn", OPT_PPN, "COUNT", "processes per host, whatever the slots"},
    {"fabric", OPT_FABRIC, "[FILE.yaml]",
     "on the nodes of an emulated Cray XC, of that scenario or the default one"},
    {"fabric-report", OPT_FABRIC_REPORT, "FILE", "where its report goes; none (standard error)"},
    {"launcher", OPT_LAUNCHER, "HOW",
     "to reach hosts: ssh, rsh, slurm, fork (all here), or a command"},
    {"bootstrap", OPT_LAUNCHER, "HOW", NULL},
    {"launcher-exec", OPT_LAUNCHER_EXEC, "FILE", "the program of that launcher"},
    {"bootstrap-exec", OPT_LAUNCHER_EXEC, "FILE", NULL},
    {"iface", OPT_IFACE, "NAME", "network interface that other hosts connect to"},
    {"localhost", OPT_LOCALHOST, "NAME", "what other hosts call this one"},
    {"env", OPT_ENV, "NAME VALUE", "sets a variable of this executable"},
    {"envlist", OPT_ENVLIST, "NAMES", "this executable inherits only these variables"},
    {"envnone", OPT_ENVNONE, NULL, "... none"},
    {"envall", OPT_ENVALL, NULL, "... all"},
    {"genv", OPT_GENV, "NAME VALUE", "sets a variable of all executables"},
    {"genvlist", OPT_GENVLIST, "NAMES", "all executables inherit only these variables"},
    {"genvnone", OPT_GENVNONE, NULL, "... none"},
    {"genvall", OPT_GENVALL, NULL, "... all"},
    {"wdir", OPT_WDIR, "DIR", "working directory of this executable"},
    {"path", OPT_PATH, "DIRS", "where to search this executable"},
    {"l", OPT_LABEL, NULL, "begins each line of output with [rank]"},
    {"prepend-rank", OPT_LABEL, NULL, NULL},
    {"prepend-pattern", OPT_PATTERN, "TEXT",
     "the same with %r rank, %g job, %p proxy, %h host, %t seconds"},
    {"outfile-pattern", OPT_OUTFILE, "FILE", "output into files, with the same letters"},
    {"outfile", OPT_OUTFILE, "FILE", NULL},
    {"errfile-pattern", OPT_ERRFILE, "FILE", "error output into files"},
    {"errfile", OPT_ERRFILE, "FILE", NULL},
    {"bind-to", OPT_BIND_TO, "WHAT",
     "none, core[:n], hwthread[:n], socket, numa, l3cache, ..., user:0+2,1"},
    {"binding", OPT_BIND_TO, "WHAT", NULL},
    {"map-by", OPT_MAP_BY, "WHAT", "how the places follow each other (as bind-to)"},
    {"membind", OPT_MEMBIND, "WHAT", "none, firsttouch, nexttouch, bind:LIST, interleave:LIST"},
    {"usize", OPT_USIZE, "SIZE", "universe: SYSTEM, INFINITE or a number (the slots)"},
    {"stdin", OPT_STDIN, "RANK", "who gets the standard input: a rank (0), or none"},
    {"timeout", OPT_TIMEOUT, "SECONDS", "ends the job after so long, status 255"},
    {"exit-code", OPT_EXIT_CODE, "RULE", "of several: max (default), or, shell (128 + signal)"},
    {"print-all-exitcodes", OPT_EXITCODES, NULL, "says how each rank ended"},
    {"disable-auto-cleanup", OPT_KEEP, NULL, "ranks go on when one dies; they get SIGUSR1"},
    {"dac", OPT_KEEP, NULL, NULL},
    {"enable-auto-cleanup", OPT_CLEANUP, NULL, "they do not (the default)"},
    {"pmi-port", OPT_PORT, NULL, "processes reach PMI by a port instead of a descriptor"},
    {"auth", OPT_AUTH, "HOW", "proof asked on ports: user (default), challenge, draft"},
    {"nameserver", OPT_NAMESERVER, "HOST[:PORT]",
     "published names are kept by a pmnameserver there, for several pmruns (6392)"},
    {"ompi", OPT_OMPI, NULL, "for Open MPI programs: shows them the way to libpmi"},
    {"fanout", OPT_FANOUT, "COUNT", "proxies below one server of the tree (16)"},
    {"max-spawned", OPT_SPAWNED, "COUNT", "processes that a job may spawn (1024)"},
    {"configfile", OPT_CONFIGFILE, "FILE", "executables with their options, one a line"},
    {"verbose", OPT_VERBOSE, NULL, "explains what is done"},
    {"v", OPT_VERBOSE, NULL, NULL},
    {"help", OPT_HELP, NULL, "this"},
    {"h", OPT_HELP, NULL, NULL},
    {"version", OPT_VERSION, NULL, "the version"},
    {"list-options", OPT_LIST_OPTIONS, NULL, "the options as a table"},
};
static_assert(G_N_ELEMENTS(pmrun_option_table) <= PMRUN_OPTIONS_MAX,
              "the table of options is full");
const size_t pmrun_option_count = G_N_ELEMENTS(pmrun_option_table);

void pmrun_options_list(void)
{
    size_t i;

    for (i = 0; i < pmrun_option_count; i++)
        printf("%s\t%s\t%s\n", pmrun_option_table[i].name,
               pmrun_option_table[i].argument != NULL ? pmrun_option_table[i].argument : "",
               pmrun_option_table[i].meaning != NULL ? pmrun_option_table[i].meaning : "");
}

void pmrun_options_help(void)
{
    size_t i, j;

    puts("usage: pmrun [OPTIONS] PROGRAM [ARGUMENTS] [: [OPTIONS] PROGRAM [ARGUMENTS]]...\n\n"
         "Starts the processes of a parallel job and serves them PMI-1 and PMI-2.\n");
    for (i = 0; i < pmrun_option_count; i++) {
        GString *names;

        if (pmrun_option_table[i].meaning == NULL)
            continue;
        names = g_string_new(NULL);
        for (j = i; j < pmrun_option_count && (j == i || pmrun_option_table[j].meaning == NULL);
             j++)
            g_string_append_printf(names, "%s-%s", j > i ? ", " : "", pmrun_option_table[j].name);
        if (pmrun_option_table[i].argument != NULL)
            g_string_append_printf(names, " %s", pmrun_option_table[i].argument);
        printf("  %-38s %s\n", names->str, pmrun_option_table[i].meaning);
        g_string_free(names, TRUE);
    }
    puts("\nManual: man pmrun, docs/pmrun.md.");
}
