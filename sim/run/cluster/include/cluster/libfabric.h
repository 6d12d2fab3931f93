/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libfabric for ranks: the system's library, with our provider as the only one. It is loaded only
 * when a job needs it, because its start takes about 0.3 s (libraries of other networks probe the
 * host). It is started before any rank runs, because it takes locks while it starts.
 */
#ifndef JACQUARD_RUN_LIBFABRIC_H
#define JACQUARD_RUN_LIBFABRIC_H

#include <stdbool.h>

struct scenario;

/* Whether a loaded program has brought it into this process. */
bool cluster_libfabric_is_loaded(void);
/* Loads and starts it, unless that was done before. False: *error (g_free) is a clause. It is tried
 * once. */
bool cluster_libfabric_start(char **error);
/* The same when a job of the scenario needs it; the error is a line. */
bool cluster_libfabric_start_for(const struct scenario *scenario, char **error);

#endif
