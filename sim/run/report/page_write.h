/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Parts of the writer of the report page. */
#ifndef JACQUARD_REPORT_PAGE_WRITE_H
#define JACQUARD_REPORT_PAGE_WRITE_H

#include <stdio.h>
#include "record.h"
#include "report/page.h"

/* The files of page/, as the build found them (made by cmake/embed.cmake). */
struct report_page_part {
    const char *name;
    const unsigned char *bytes;
    size_t length;
};
extern const struct report_page_part report_page_parts[];
extern const size_t report_page_part_count;

/* Writes the page. False: *error (g_free). */
bool report_page_write(const struct report_page *page, const struct cluster *cluster,
                       struct record *record, const json_t *result, char **error);

/* ---- page_json.c: JSON inside of HTML ---------------------------------------------------------
 */

/* Writes JSON in which no character has a meaning in HTML. Bytes that are not UTF-8 are replaced.
 */
void report_page_json(FILE *file, const json_t *json);
void report_page_text(FILE *file, const char *text);

/* A list of numbers, written one by one; all zero but `file`: empty. */
struct report_page_list {
    FILE *file;
    bool filled;
    uint64_t before; /* of report_page_list_step() */
};
void report_page_list_begin(struct report_page_list *list, FILE *file, const char *name);
void report_page_list_add(struct report_page_list *list, int64_t number);
/* Adds the difference to the number before. */
void report_page_list_step(struct report_page_list *list, uint64_t number);
void report_page_list_end(struct report_page_list *list);

/* ---- page_data.c, page_topology.c -------------------------------------------------------------
 */

/* The lines of the space-time diagram: each rank, then each node with messages but without a rank.
 */
struct report_page_rows {
    const struct cluster *cluster;
    GPtrArray *ranks; /* of struct rank; NULL: a node */
    GArray *nodes; /* of uint32_t */
    GHashTable *of_rank_name; /* "job.3" → row + 1 */
    GHashTable *of_node; /* node → first row + 1 */
};
void report_page_data(FILE *file, const struct report_page *page, const struct cluster *cluster,
                      struct record *record, const json_t *result);
void report_page_networks(FILE *file, const struct cluster *cluster, const struct record *record);
void report_page_flows(FILE *file, struct report_page_rows *rows, const struct record *record);
void report_page_points(FILE *file, struct report_page_rows *rows, struct record *record);

#endif
