/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What --out writes besides JSON: how busy each link was, and the histograms bucket by bucket. */
#include "report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct table {
    FILE *file;
    const struct cluster *cluster;
    const struct net *net; /* of links.csv */
    sim_time_t traffic; /* of links.csv: from the first transfer to the end of the last one */
    const struct sim_metric *metric;
};

static void place(const struct table *table, uint32_t router)
{
    struct net_coordinates at;
    uint32_t per_router = net_endpoints(table->net) / net_routers(table->net);

    if (net_coordinates(table->net, router * per_router, &at))
        fprintf(table->file, "%u,%u,%u,%u,", router, at.group, at.chassis, at.slot);
    else
        fprintf(table->file, "%u,,,,", router);
}

static void link_line(const struct net_link_info *link, void *arg)
{
    static const char *const colours[] = {"green", "black", "blue", "switch"};
    const struct table *table = arg;
    double ended = (double)table->cluster->ended;

    place(table, link->router);
    fprintf(table->file, "%u,", link->tile);
    place(table, link->peer);
    fprintf(table->file, "%u,%s,%u,%d,", link->peer_tile, colours[link->color], link->which,
            link->alive);
    fprintf(table->file, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", link->units,
            link->transfers, link->dropped, link->dead);
    fprintf(table->file, "%" PRIu64 ",%.6f,%.9f\n", link->busy,
            ended > 0 ? (double)link->busy / ended : 0,
            table->traffic > 0 ? (double)link->busy / (double)table->traffic : 0);
}

static void links(struct table *table)
{
    struct net_counters counters;

    net_get_counters(table->net, &counters);
    /* Retries after the end of the last rank do not count. */
    counters.last = MIN(counters.last, table->cluster->ended);
    table->traffic = counters.last > counters.first ? counters.last - counters.first : 0;
    fputs("router,group,chassis,slot,tile,peer,peer_group,peer_chassis,peer_slot,peer_tile,colour,"
          "which,alive,units,transfers,dropped,dead,busy_ps,busy,load\n",
          table->file);
    net_for_each_link(table->net, link_line, table);
}

static void bucket_line(uint64_t value, uint64_t count, void *arg)
{
    const struct table *table = arg;

    fprintf(table->file, "%s,%" PRIu64 ",%" PRIu64 "\n", table->metric->name, value, count);
}

static void metric_lines(const struct sim_metric *metric, void *arg)
{
    struct table *table = arg;

    table->metric = metric;
    if (metric->type == SIM_METRIC_HISTOGRAM)
        sim_histogram_for_each(metric->histogram, bucket_line, table);
}

static void histograms(struct table *table)
{
    fputs("metric,value,count\n", table->file);
    sim_metrics_for_each(metric_lines, table);
}

static bool write_table(const struct cluster *cluster, const struct net *net, const char *folder,
                        const char *name, void (*write)(struct table *table), char **error)
{
    char *path = g_build_filename(folder, name, NULL);
    struct table table = {.file = fopen(path, "w"), .cluster = cluster, .net = net};
    bool ok = table.file != NULL;

    if (ok) {
        write(&table);
        ok = !ferror(table.file);
        ok = fclose(table.file) == 0 && ok;
    }
    if (!ok)
        *error = g_strdup_printf("%s: %s", path, g_strerror(errno));
    g_free(path);
    return ok;
}

bool report_tables_write(const struct cluster *cluster, const char *folder, char **error)
{
    bool ok = write_table(cluster, NULL, folder, "histograms.csv", histograms, error);
    size_t i;

    for (i = 0; ok && i < cluster->network_count; i++) {
        const struct cluster_network *network = &cluster->networks[i];
        char *name =
            i == 0 ? g_strdup("links.csv") : g_strdup_printf("links.%s.csv", network->name);

        ok = write_table(cluster, network->net, folder, name, links, error);
        g_free(name);
    }
    return ok;
}
