/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the launcher itself sets in a process's environment: how it finds PMI, and its rank. */
#ifndef JACQUARD_PMRUN_VARIABLES_H
#define JACQUARD_PMRUN_VARIABLES_H

#include "launch.h"
#include "pmi2/server.h"

struct pmrun_variables {
    GPtrArray *common; /* "NAME=value" of all ranks of the job on this node */
    GPtrArray **of_program; /* environ of each program with the common ones */
    guint programs;
    const char *port;
    gboolean fabric;
};

/* port: "host:port" or NULL; `launch` and `port` live as long as these. */
void pmrun_variables_init(struct pmrun_variables *variables, const struct pmrun_launch *launch,
                          const struct pmi2_job_info *info, uint32_t node, uint32_t local_count,
                          const char *host, const char *port);
void pmrun_variables_clear(struct pmrun_variables *variables);
/* The strings are in the same block or live as long as these. g_free(). */
char **pmrun_variables_of_rank(const struct pmrun_variables *variables, guint program,
                               uint32_t rank, uint32_t local);

#endif
