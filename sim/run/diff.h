/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* sim-run diff A.pftrace B.pftrace: the first difference of two traces. */
#ifndef JACQUARD_RUN_DIFF_H
#define JACQUARD_RUN_DIFF_H

/* Becomes the reader of traces, `jacquard trace diff`, which is installed beside sim-run. Returns
 * only if that is not possible: *error (g_free) is a line. */
void diff_run(int argc, char **argv, char **error);

#endif
