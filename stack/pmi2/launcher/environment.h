/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The environment of a job's processes: what they inherit, what --genv and --env add, what the
 * launcher itself sets. Precedence from low to high in this order.
 */
#ifndef JACQUARD_PMRUN_ENVIRONMENT_H
#define JACQUARD_PMRUN_ENVIRONMENT_H

#include <glib.h>

enum pmrun_inherit {
    PMRUN_INHERIT_DEFAULT, /* of an executable: as all; of all: everything */
    PMRUN_INHERIT_ALL,
    PMRUN_INHERIT_NONE,
    PMRUN_INHERIT_LIST
};

struct pmrun_environment_rules {
    enum pmrun_inherit inherit;
    char **list; /* PMRUN_INHERIT_LIST: names */
    GPtrArray *set; /* "NAME=value", later ones win; NULL: none */
};
void pmrun_environment_rules_clear(struct pmrun_environment_rules *rules);
void pmrun_environment_rules_set(struct pmrun_environment_rules *rules, const char *name,
                                 const char *value);

/*
 * "NAME=value" strings of one executable's processes, without what is different for each rank;
 * sorted by nothing, each name once. Variables of an outer launcher (PMI_*, PMIX_*, HYDI_*,
 * HYDRA_*, MPI_LOCAL*, FLUX_*) are never inherited. g_strfreev().
 */
char **pmrun_environment_make(char *const *inherited, const struct pmrun_environment_rules *all,
                              const struct pmrun_environment_rules *own);

#endif
