/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The networks of the report page: routers, links, and how busy each link was over time. */
#include "page_write.h"

#include <inttypes.h>
#include <string.h>

#define LOADS_MAX 300000u /* numbers of all links together */

enum { FROM, TO, COLOUR, WHICH, ALIVE, TRANSFERS, LOST, COLUMNS };

struct links {
    FILE *file;
    const struct record *record;
    struct report_page_list list;
    uint32_t name; /* of the series */
    uint32_t joined; /* intervals that become one */
    int column;
};

static void put_link(const struct net_link_info *link, void *arg)
{
    struct links *links = arg;
    const int64_t columns[COLUMNS] = {
        [FROM] = link->router,
        [TO] = link->peer,
        [COLOUR] = (int64_t)link->color,
        [WHICH] = link->which,
        [ALIVE] = link->alive,
        [TRANSFERS] = (int64_t)link->transfers,
        [LOST] = (int64_t)(link->dropped + link->dead),
    };

    report_page_list_add(&links->list, columns[links->column]);
}

/* In 1/1000 of the joined intervals' time. */
static int64_t load_at(const struct links *links, const struct record_series *series, uint32_t at)
{
    double sum = 0;
    uint32_t i;

    for (i = at; i < at + links->joined && i < RECORD_INTERVALS; i++)
        sum += (double)series->value[i];
    return sum > 0 ? MAX((int64_t)(sum * 1000 / (double)links->record->width / links->joined), 1)
                   : 0;
}

/* Of a link with traffic: its number of intervals with traffic, then for each of them its number
 * and the load. */
static void put_load(const struct net_link_info *link, void *arg)
{
    struct links *links = arg;
    const struct record_series key = {.name = links->name,
                                      .track = SIM_TRACK_LINK,
                                      .node = link->trace_node,
                                      .index = link->trace_index};
    const struct record_series *series = g_hash_table_lookup(links->record->series_of, &key);
    uint32_t i, used = 0;

    for (i = 0; series != NULL && i < RECORD_INTERVALS; i += links->joined)
        used += load_at(links, series, i) != 0;
    report_page_list_add(&links->list, used);
    for (i = 0; used != 0 && i < RECORD_INTERVALS; i += links->joined)
        if (load_at(links, series, i) != 0) {
            report_page_list_add(&links->list, i / links->joined);
            report_page_list_add(&links->list, load_at(links, series, i));
        }
}

static void put_links(FILE *file, const struct record *record, const struct net *net,
                      uint32_t joined)
{
    static const char *const names[COLUMNS] = {"from",  "to",        "colour", "which",
                                               "alive", "transfers", "lost"};
    struct links links = {.file = file, .record = record, .joined = joined};

    links.name = GPOINTER_TO_UINT(g_hash_table_lookup(record->string_numbers, "transfer")) - 1;
    for (links.column = 0; links.column < COLUMNS; links.column++) {
        report_page_list_begin(&links.list, file, names[links.column]);
        net_for_each_link(net, put_link, &links);
        report_page_list_end(&links.list);
        fputs(",\n", file);
    }
    report_page_list_begin(&links.list, file, "load");
    net_for_each_link(net, put_load, &links);
    report_page_list_end(&links.list);
}

/* Group, chassis and slot of each router; empty on switched networks. */
static void put_routers(FILE *file, const struct net *net)
{
    uint32_t routers = net_routers(net), each = routers != 0 ? net_endpoints(net) / routers : 0;
    struct net_coordinates at;
    struct report_page_list list;
    uint32_t i;

    report_page_list_begin(&list, file, "places");
    for (i = 0; i < routers; i++)
        if (net_coordinates(net, i * each, &at)) {
            report_page_list_add(&list, at.group);
            report_page_list_add(&list, at.chassis);
            report_page_list_add(&list, at.slot);
        }
    report_page_list_end(&list);
    fputs(",\n", file);
}

/* For each node its router, or -1. */
static void put_attached(FILE *file, const struct cluster *cluster,
                         const struct cluster_network *network)
{
    struct report_page_list list;
    uint32_t node, endpoint;

    report_page_list_begin(&list, file, "routerOf");
    for (node = 0; node < cluster->node_count; node++) {
        endpoint = scenario_endpoint(network->scenario, node);
        report_page_list_add(&list, endpoint < net_endpoints(network->net)
                                        ? (int64_t)net_router_of(network->net, endpoint)
                                        : -1);
    }
    report_page_list_end(&list);
    fputs(",\n", file);
}

/* Few enough intervals that all loads together are not too many. */
static uint32_t intervals_joined(const struct record *record)
{
    uint64_t loads = 0;
    uint32_t joined = 1, at;
    guint i;

    for (i = 0; i < record->series->len; i++) {
        const struct record_series *series = g_ptr_array_index(record->series, i);

        for (at = 0; series->track == SIM_TRACK_LINK && at < series->used; at++)
            loads += series->value[at] > 0;
    }
    while (joined < RECORD_INTERVALS && loads / joined > LOADS_MAX)
        joined *= 2;
    return joined;
}

void report_page_networks(FILE *file, const struct cluster *cluster, const struct record *record)
{
    uint32_t joined = intervals_joined(record);
    size_t i;

    fprintf(file, "\"loadWidth\":%" PRIu64 ",\n\"networks\":[", record->width * joined);
    for (i = 0; i < cluster->network_count; i++) {
        const struct cluster_network *network = &cluster->networks[i];

        fputs(i != 0 ? ",\n{\"name\":" : "{\"name\":", file);
        report_page_text(file, network->name != NULL ? network->name : "");
        fprintf(file, ",\"routers\":%u,\"firstRouter\":%u,\"fidelity\":\"F%d\",",
                net_routers(network->net), network->first_router, (int)net_fidelity(network->net));
        put_routers(file, network->net);
        put_attached(file, cluster, network);
        put_links(file, record, network->net, joined);
        putc('}', file);
    }
    fputs("],\n", file);
}
