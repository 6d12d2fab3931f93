/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An emulated fabric for the job (--fabric). It is run by a program of its own, which is told by
 * its arguments what is wanted, and says through a descriptor, in lines, what the job needs:
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
/* Waits until it has made its report, not long in a hurry. FALSE: it ended badly. NULL: nothing. */
gboolean pmrun_fabric_end(struct pmrun_fabric *fabric, gboolean hurry);

/* What the program says: TRUE when it is up, *error when that is nothing that can be understood. */
gboolean pmrun_fabric_line(struct pmrun_options *options, GPtrArray *hosts, const char *line,
                           GError **error);

#endif
