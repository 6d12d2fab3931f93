/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libfabric for ranks: the system's own library, with our provider as its only one. It is loaded
 * when a job needs it, as it takes about 0.3 s to start (libraries of other networks look at the
 * machine), and before any rank runs, as it locks while it starts.
 */
#ifndef JACQUARD_RUN_LIBFABRIC_H
#define JACQUARD_RUN_LIBFABRIC_H

#include <stdbool.h>

struct scenario;

/* Is it in this process, since a program that was loaded needs it? */
bool cluster_libfabric_is_loaded(void);
/*
 * Loads and starts it unless that was done. False: *error (g_free) is a clause; it is tried once.
 */
bool cluster_libfabric_start(char **error);
/* The same when a job of the scenario needs it; the error is a line. */
bool cluster_libfabric_start_for(const struct scenario *scenario, char **error);

#endif
