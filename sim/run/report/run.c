/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "report/report.h"

json_t *report_run(const struct scenario *scenario, const struct cluster_options *options,
                   char **error)
{
    struct cluster *cluster = cluster_create(scenario, options, error);
    json_t *result = NULL;

    if (cluster == NULL)
        return NULL;
    if (cluster_run(cluster, error))
        result = report_result_json(cluster);
    if (result != NULL && options->tables != NULL &&
        !report_tables_write(cluster, options->tables, error)) {
        json_decref(result);
        result = NULL;
    }
    cluster_destroy(cluster);
    return result;
}
