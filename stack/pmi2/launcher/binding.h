/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where the processes of a node run: --bind-to, --map-by, --membind by the machine's topology
 * (hwloc). Places are counted round the machine: those of --map-by one after the other, first one
 * of each bigger part, then the second.
 */
#ifndef JACQUARD_PMRUN_BINDING_H
#define JACQUARD_PMRUN_BINDING_H

#include <glib.h>
#include <hwloc.h>
#include <stdint.h>

#include "process.h"

struct pmrun_binding;
/* NULL without *error: nothing is to be bound. `topology` is read once, when it is needed. */
struct pmrun_binding *pmrun_binding_new(const char *bind_to, const char *map_by,
                                        const char *membind, GError **error);
/* The same on a given topology, which must live as long. */
struct pmrun_binding *pmrun_binding_new_on_topology(hwloc_topology_t topology, const char *bind_to,
                                                    const char *map_by, const char *membind,
                                                    GError **error);
void pmrun_binding_free(struct pmrun_binding *binding);
/* The CPUs of the process with that number on its node; NULL: not bound. */
hwloc_const_cpuset_t pmrun_binding_cpus(const struct pmrun_binding *binding, uint32_t local);
/* Fills in cpus (CPU_FREE()) and memory. NULL: nothing. */
void pmrun_binding_apply(const struct pmrun_binding *binding, uint32_t local,
                         struct pmrun_process_start *start);

#endif
