/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The driver is in `jacquard lnetd --m0 PATH`. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "m0/live.h"
#include "tool/place.h"

static const char *from_environment(void)
{
    return getenv("JACQUARD_M0");
}

static int show(const char *path)
{
    struct m0_live_stats stats;
    int rc = m0_live_stats(path, &stats);

    if (rc != 0)
        return rc;
    printf("m0:\n    domains: %u\n    machines: %u\n    buffers: %u\n    event slots: %u\n"
           "    pinned pages: %" PRIu64 "\n    verbs: %" PRIu64 "\n    operations: %" PRIu64
           "\n    internal errors: %" PRIu64 "\n",
           stats.ls_files, stats.ls_tms, stats.ls_bufs, stats.ls_bevs, stats.ls_pinned_pages,
           stats.ls_verbs, stats.ls_operations, stats.ls_internal_errors);
    return 0;
}

const struct m0_tool_place m0_tool_place = {
    .program = "jacquard m0",
    .usage = "  --socket PATH     of a daemon (jacquard lnetd); without it, $JACQUARD_M0 has "
             "it\n",
    .option = "socket",
    .missing = "--socket PATH or $JACQUARD_M0 is needed",
    .standard = from_environment,
    .begin = m0_live_begin,
    .show = show,
};
