/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The plan of a job: how many processes of which programs run where, with what environment. */
#ifndef JACQUARD_PMRUN_PLAN_H
#define JACQUARD_PMRUN_PLAN_H

#include "hosts.h"
#include "launch.h"
#include "options.h"
#include "pmi2/server.h"

struct pmrun_launch_plan {
    struct pmrun_launch *launch;
    uint32_t size;
    uint32_t *node_of, *app_size;
};
/* FALSE: too many processes. */
gboolean pmrun_plan_command_line(struct pmrun_launch_plan *plan,
                                 const struct pmrun_options *options, const GPtrArray *hosts,
                                 const char *libraries);
/* Of a spawn: info keys wdir, path, host, hosts, hostfile; others are ignored. FALSE: *reason, one
 * word. */
gboolean pmrun_plan_spawn(struct pmrun_launch_plan *plan, const struct pmi2_spawn *spawn,
                          const struct pmrun_options *options, const GPtrArray *hosts,
                          const char *libraries, const char **reason);
void pmrun_plan_clear(struct pmrun_launch_plan *plan);

#endif
