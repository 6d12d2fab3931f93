/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An emulated fabric for the job (--fabric). A separate program runs it. It gets its settings as
 * arguments and writes what the job needs, in lines, to a descriptor:
 *
 *   set NAME=VALUE            a variable of all processes
 *   default NAME=VALUE        the same, unless the user has set it
 *   node NAME SLOTS [NAME=VALUE]...
 *                             an emulated node, ranks that it takes, and variables of those
 *   (an empty line)           the fabric is up
 *   error TEXT                it will not be
 *
 * The fabric ends when the descriptor is closed, by whatever cause.
 */
#ifndef JACQUARD_PMRUN_FABRIC_H
#define JACQUARD_PMRUN_FABRIC_H

#include "hosts.h"
#include "options.h"

struct pmrun_fabric;
/*
 * Waits until it is up. Its variables become rules of `options`, weaker than the user's; *hosts are
 * the nodes that the job uses. NULL: *error.
 */
struct pmrun_fabric *pmrun_fabric_start(struct pmrun_options *options, GPtrArray **hosts,
                                        GError **error);
/* Waits until it has written its report; `hurry` waits for a short time only. FALSE: it failed.
 * NULL: nothing. */
gboolean pmrun_fabric_end(struct pmrun_fabric *fabric, gboolean hurry);

/* Handles a line of the program. TRUE: the fabric is up; *error: the line is malformed. */
gboolean pmrun_fabric_line(struct pmrun_options *options, GPtrArray *hosts, const char *line,
                           GError **error);

#endif
