/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The report page of a campaign: one HTML file that shows its results (docs/report.md). */
#ifndef JACQUARD_CAMPAIGN_PAGE_H
#define JACQUARD_CAMPAIGN_PAGE_H

#include "campaign/store.h"

/*
 * Writes the page of the results that the open store has now. `file` is the campaign or the results
 * file that the user named; `program` the version of sim-run. False: *error (g_free) is a line, and
 * a page that was there stays.
 */
bool campaign_page_write(struct campaign_store *store, const char *path, const char *file,
                         const char *program, char **error);

#endif
