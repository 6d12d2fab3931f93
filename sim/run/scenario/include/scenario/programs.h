/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The programs that ranks can execute: those compiled in (workloads/, one file each, found by
 * CMake) and shared objects named by a scenario.
 */
#ifndef JACQUARD_RUN_WORKLOADS_H
#define JACQUARD_RUN_WORKLOADS_H

#include <stdbool.h>
#include <stddef.h>
#include "run/workload.h"

struct foreign_image;

struct program {
    const struct workload *workload;
    struct foreign_image
        *foreign; /* a program with a main() (foreign/foreign.h); NULL: a workload */
    bool any_network; /* does not call uGNI: runs on switched networks, too */
    bool libfabric; /* calls it */
    void *object; /* dlopen handle of a shared object; NULL: compiled in */
};

const struct program *program_find(const char *name); /* NULL: none */
const struct program *program_at(size_t index); /* in order of name; NULL: past the end */
size_t program_count(void);
/* Adds a workload, for a program that links sim-run's library. Call it before any scenario is read.
 */
void program_add(const struct workload *workload);

/* Opens a shared object. NULL: *error (g_free) is a clause. */
struct program *program_open(const char *path, char **error);
void program_close(const struct program *program); /* no effect on those compiled in */

#endif
