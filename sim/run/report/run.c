/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "report/page.h"
#include "report/report.h"

#include "page_write.h"
#include "record.h"

/* Result, tables and page of a cluster that has run. */
static json_t *results(struct cluster *cluster, const struct report_page *page,
                       struct record *record, char **error)
{
    const struct cluster_options *options = &cluster->options;
    json_t *result = report_result_json(cluster);

    if ((options->tables == NULL || report_tables_write(cluster, options->tables, error)) &&
        (page == NULL || report_page_write(page, cluster, record, result, error)))
        return result;
    json_decref(result);
    return NULL;
}

json_t *report_run_page(const struct scenario *scenario, const struct cluster_options *options,
                        const struct report_page *page, char **error)
{
    struct cluster_options with_sink = *options;
    struct record *record = page != NULL ? report_record_new() : NULL;
    struct cluster *cluster;
    json_t *result = NULL;

    if (record != NULL)
        with_sink.sink = &record->sink;
    cluster = cluster_create(scenario, &with_sink, error);
    if (cluster != NULL && cluster_run(cluster, error))
        result = results(cluster, page, record, error);
    if (cluster != NULL)
        cluster_destroy(cluster);
    report_record_free(record);
    return result;
}

json_t *report_run(const struct scenario *scenario, const struct cluster_options *options,
                   char **error)
{
    return report_run_page(scenario, options, NULL, error);
}
