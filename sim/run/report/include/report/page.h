/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The report page: one HTML file that shows a run, or the results of many, and needs nothing else
 * (docs/report.md). */
#ifndef JACQUARD_RUN_REPORT_PAGE_H
#define JACQUARD_RUN_REPORT_PAGE_H

#include <jansson.h>
#include "cluster/cluster.h"

struct report_page {
    const char *path; /* where to write it */
    const char *version; /* of the program */
    const char *command; /* that runs the scenario again */
};

/*
 * Writes a page whose views show `data`, an object with a member "kind". A page that was there is
 * replaced whole or not at all. False: *error (g_free) is a line.
 */
bool report_page_save(const char *path, const char *title, const json_t *data, char **error);

/* report_run() that also writes a page. NULL: *error (g_free). */
json_t *report_run_page(const struct scenario *scenario, const struct cluster_options *options,
                        const struct report_page *page, char **error);

#endif
