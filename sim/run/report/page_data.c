/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The data of the report page: one JSON object, in which tables are stored by columns. */
#include "page_write.h"

#include <inttypes.h>
#include <string.h>

/* ---- rows ------------------------------------------------------------------------------------ */

static void add_row(struct report_page_rows *rows, struct rank *rank, uint32_t node)
{
    gpointer key = GUINT_TO_POINTER(node);

    g_ptr_array_add(rows->ranks, rank);
    g_array_append_val(rows->nodes, node);
    if (g_hash_table_lookup(rows->of_node, key) == NULL)
        g_hash_table_insert(rows->of_node, key, GUINT_TO_POINTER(rows->nodes->len));
}

static void add_ranks(struct report_page_rows *rows)
{
    size_t i;
    uint32_t id;

    for (i = 0; i < rows->cluster->job_count; i++) {
        struct job *job = &rows->cluster->jobs[i];

        for (id = 0; id < job->rank_count && !job->not_started; id++) {
            add_row(rows, &job->ranks[id], job->ranks[id].node);
            g_hash_table_insert(rows->of_rank_name, g_strdup_printf("%s.%u", job->name, id),
                                GUINT_TO_POINTER(rows->nodes->len));
        }
    }
}

static void add_node(struct report_page_rows *rows, uint32_t node)
{
    if (node != RECORD_NONE && g_hash_table_lookup(rows->of_node, GUINT_TO_POINTER(node)) == NULL)
        add_row(rows, NULL, node);
}

/* The name that a message gives its end: that of a rank, which has a row, or a NID of LNet. */
static void name_end(struct report_page_rows *rows, const struct record *record, uint32_t name,
                     uint32_t node)
{
    const char *text;

    if (name == RECORD_NONE || node == RECORD_NONE)
        return;
    text = g_ptr_array_index(record->strings, name);
    if (g_hash_table_lookup(rows->of_rank_name, text) == NULL)
        g_hash_table_insert(rows->of_rank_name, g_strdup(text),
                            g_hash_table_lookup(rows->of_node, GUINT_TO_POINTER(node)));
}

static void begin_rows(struct report_page_rows *rows, const struct cluster *cluster,
                       const struct record *record)
{
    guint i;

    *rows = (struct report_page_rows){
        .cluster = cluster,
        .ranks = g_ptr_array_new(),
        .nodes = g_array_new(FALSE, FALSE, sizeof(uint32_t)),
        .of_rank_name = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
        .of_node = g_hash_table_new(NULL, NULL),
    };
    add_ranks(rows);
    for (i = 1; i < record->flows->len; i++) {
        const struct record_flow *flow = &g_array_index(record->flows, struct record_flow, i);

        add_node(rows, flow->from);
        add_node(rows, flow->to);
        add_node(rows, flow->through);
        name_end(rows, record, flow->from_rank, flow->from);
        name_end(rows, record, flow->to_rank, flow->to);
    }
}

static void end_rows(struct report_page_rows *rows)
{
    g_ptr_array_unref(rows->ranks);
    g_array_unref(rows->nodes);
    g_hash_table_destroy(rows->of_rank_name);
    g_hash_table_destroy(rows->of_node);
}

static void put_rows(FILE *file, const struct report_page_rows *rows)
{
    struct report_page_list list;
    guint i;

    fputs("\"rows\":{\"name\":[", file);
    for (i = 0; i < rows->nodes->len; i++) {
        const struct rank *rank = g_ptr_array_index(rows->ranks, i);
        uint32_t node = g_array_index(rows->nodes, uint32_t, i);
        char *name = rank != NULL ? g_strdup_printf("%s.%u", rank->job->name, rank->id)
                                  : g_strdup_printf("node %u", node);

        fputs(i != 0 ? "," : "", file);
        report_page_text(file, name);
        g_free(name);
    }
    fputs("],", file);
    report_page_list_begin(&list, file, "node");
    for (i = 0; i < rows->nodes->len; i++)
        report_page_list_add(&list, g_array_index(rows->nodes, uint32_t, i));
    report_page_list_end(&list);
    putc(',', file);
    report_page_list_begin(&list, file, "rank");
    for (i = 0; i < rows->nodes->len; i++)
        report_page_list_add(&list, g_ptr_array_index(rows->ranks, i) != NULL);
    report_page_list_end(&list);
    fputs("},\n", file);
}

/* ---- quantities over time -------------------------------------------------------------------- */

static void put_series(FILE *file, const struct record *record, const struct record_series *series)
{
    uint32_t i;

    fputs("{\"name\":", file);
    report_page_text(file, g_ptr_array_index(record->strings, series->name));
    if (series->track != RECORD_NONE) {
        fprintf(file, ",\"track\":");
        report_page_text(file, sim_trace_track_kind(series->track)->name);
        fprintf(file, ",\"node\":%u,\"index\":%u", series->node, series->index);
    }
    if (series->counter)
        fprintf(file, ",\"last\":%.6g,\"smallest\":%s", (double)series->last,
                series->smallest ? "true" : "false");
    fputs(",\"values\":[", file);
    for (i = 0; i < series->used; i++)
        fprintf(file, "%s%.6g", i != 0 ? "," : "", (double)series->value[i]);
    fputs("]}", file);
}

static void put_time(FILE *file, const struct record *record)
{
    struct report_page_list list;
    guint i;

    fprintf(file, "\"time\":{\"width\":%" PRIu64 ",\"latest\":%" PRIu64 ",", record->width,
            record->latest);
    report_page_list_begin(&list, file, "gaps"); /* pairs: begin, length */
    for (i = 0; i < record->gaps->len; i++) {
        const struct record_gap *gap = &g_array_index(record->gaps, struct record_gap, i);

        report_page_list_add(&list, (int64_t)gap->begin);
        report_page_list_add(&list, (int64_t)gap->length);
    }
    report_page_list_end(&list);
    fputs("},\n", file);
}

/* The largest value; of one that counts down, how far it fell. */
static float extent_of(const struct record_series *series)
{
    float low = series->value[0], high = low;
    uint32_t i;

    for (i = 1; i < series->used; i++) {
        low = MIN(low, series->value[i]);
        high = MAX(high, series->value[i]);
    }
    return series->smallest ? high - low : high;
}

/* Counters of one name are side by side, those that went farthest first. */
static gint by_name_and_extent(gconstpointer a, gconstpointer b)
{
    const struct record_series *left = *(const struct record_series *const *)a;
    const struct record_series *right = *(const struct record_series *const *)b;

    if (left->name != right->name)
        return left->name < right->name ? -1 : 1;
    if (left->extent < right->extent || left->extent > right->extent)
        return left->extent > right->extent ? -1 : 1;
    if (left->node != right->node)
        return left->node < right->node ? -1 : 1;
    return left->index < right->index ? -1 : left->index > right->index;
}

/* The set of counters that the page shows: of each name as many as of the others, if there are as
 * many. */
static GHashTable *shown_counters(const struct record *record)
{
    GPtrArray *counters = g_ptr_array_new();
    GHashTable *shown = g_hash_table_new(NULL, NULL);
    struct record_series *series;
    guint i, round, left = RECORD_COUNTERS_SHOWN, before, rank;

    for (i = 0; i < record->series->len; i++) {
        series = g_ptr_array_index(record->series, i);
        if (series->counter) {
            series->extent = extent_of(series);
            g_ptr_array_add(counters, series);
        }
    }
    g_ptr_array_sort(counters, by_name_and_extent);
    /* Round N takes the N-th counter of each name. */
    for (round = 0, before = G_MAXUINT; left > 0 && before != left; round++) {
        before = left;
        for (i = rank = 0; i < counters->len && left > 0; i++) {
            series = g_ptr_array_index(counters, i);
            if (i > 0)
                rank = ((struct record_series *)g_ptr_array_index(counters, i - 1))->name ==
                               series->name
                           ? rank + 1
                           : 0;
            if (rank == round) {
                g_hash_table_add(shown, series);
                left--;
            }
        }
    }
    g_ptr_array_unref(counters);
    return shown;
}

static void put_all_series(FILE *file, const struct record *record)
{
    GHashTable *shown = shown_counters(record);
    struct record_series *series;
    const char *separator = "";
    guint i;

    put_time(file, record);
    fprintf(file, "\"counters\":%u,\"countersLeftOut\":%u,\n\"series\":[", record->counters,
            record->counters_left_out);
    for (i = 0; i < record->series->len; i++) {
        series = g_ptr_array_index(record->series, i);
        if (series->track == SIM_TRACK_LINK && !series->counter)
            continue; /* page_topology.c */
        if (series->counter && !g_hash_table_contains(shown, series))
            continue;
        fputs(separator, file);
        put_series(file, record, series);
        separator = ",\n";
    }
    fputs("],\n", file);
    g_hash_table_unref(shown);
}

/* ---- distributions --------------------------------------------------------------------------- */

struct bucket_lists {
    FILE *file;
    struct report_page_list list;
    bool counts;
};

static void put_bucket(uint64_t value, uint64_t count, void *arg)
{
    struct bucket_lists *lists = arg;

    report_page_list_add(&lists->list, (int64_t)(lists->counts ? count : value));
}

static void put_histogram(const struct sim_metric *metric, void *arg)
{
    struct bucket_lists *lists = arg;

    if (metric->type != SIM_METRIC_HISTOGRAM || metric->histogram->count == 0)
        return;
    fputs(lists->list.filled ? ",\n" : "", lists->file);
    report_page_text(lists->file, metric->name);
    fputs(":{", lists->file);
    report_page_list_begin(&lists->list, lists->file, "value");
    lists->counts = false;
    sim_histogram_for_each(metric->histogram, put_bucket, lists);
    report_page_list_end(&lists->list);
    putc(',', lists->file);
    report_page_list_begin(&lists->list, lists->file, "count");
    lists->counts = true;
    sim_histogram_for_each(metric->histogram, put_bucket, lists);
    report_page_list_end(&lists->list);
    putc('}', lists->file);
}

static void put_histograms(FILE *file)
{
    struct bucket_lists lists = {.file = file};

    fputs("\"histograms\":{", file);
    sim_metrics_for_each(put_histogram, &lists);
    fputs("},\n", file);
}

/* ---- faults and LNet ------------------------------------------------------------------------- */

static void put_timed_fault(FILE *file, const struct timed_fault *timed)
{
    static const char *const places[] = {
        [FAULT_LINK] = "link", [FAULT_ROUTER] = "router", [FAULT_NODE] = "node"};
    const struct scenario_fault *fault = timed->scenario;
    const char *place = (size_t)fault->place < G_N_ELEMENTS(places) && places[fault->place] != NULL
                            ? places[fault->place]
                            : "";

    fputs("{\"title\":", file);
    report_page_text(file, fault->title);
    fputs(",\"action\":", file);
    report_page_text(file, scenario_fault_action(fault));
    fprintf(file, ",\"place\":\"%s\",\"time\":%" PRIu64 ",\"network\":%u", place, fault->time,
            fault->network_index);
    if (scenario_given(fault->at, "node"))
        fprintf(file, ",\"node\":%" PRIu64, fault->node);
    fprintf(file, ",\"routers\":[%u,%u],\"which\":%" PRIu64 ",\"injected\":%s}",
            fault->router_numbers[0], fault->router_numbers[1], fault->which,
            timed->injected ? "true" : "false");
}

static void put_timed_faults(FILE *file, const struct cluster *cluster)
{
    size_t i;

    fputs("\"timedFaults\":[", file);
    for (i = 0; i < cluster->timed_count; i++) {
        fputs(i != 0 ? ",\n" : "", file);
        put_timed_fault(file, &cluster->timed[i]);
    }
    fputs("],\n", file);
}

static void put_lnet(FILE *file, const struct scenario *scenario)
{
    size_t i, n;

    fputs("\"lnet\":[", file);
    for (i = 0; i < scenario->lnet.nodes.count; i++) {
        const struct scenario_lnet_nodes *nodes = scenario_lnet_nodes(scenario, i);
        struct report_page_list list;

        fputs(i != 0 ? ",\n{\"name\":" : "{\"name\":", file);
        report_page_text(file, nodes->name != NULL ? nodes->name : "");
        fputs(",\"networks\":", file);
        report_page_text(file, nodes->networks != NULL ? nodes->networks : "");
        fputs(",\"routes\":", file);
        report_page_text(file, nodes->routes != NULL ? nodes->routes : "");
        fprintf(file, ",\"forwarding\":%s,",
                nodes->forwarding != NULL && strcmp(nodes->forwarding, "enabled") == 0 ? "true"
                                                                                       : "false");
        report_page_list_begin(&list, file, "nodes");
        for (n = 0; n < nodes->nodes.count; n++)
            report_page_list_add(&list, nodes->nodes.nodes[n]);
        report_page_list_end(&list);
        putc('}', file);
    }
    fputs("],\n", file);
}

/* ---- together -------------------------------------------------------------------------------- */

static void put_strings(FILE *file, const struct record *record)
{
    guint i;

    fputs("\"strings\":[", file);
    for (i = 0; i < record->strings->len; i++) {
        fputs(i != 0 ? ",\n" : "", file);
        report_page_text(file, g_ptr_array_index(record->strings, i));
    }
    fputs("]", file);
}

/* The result without what differs from machine to machine. */
static void put_result(FILE *file, const json_t *result)
{
    json_t *copy = json_copy((json_t *)result);

    json_object_del(copy, "host");
    fputs("\"result\":", file);
    report_page_json(file, copy);
    fputs(",\n", file);
    json_decref(copy);
}

static void put_about(FILE *file, const struct report_page *page, const struct scenario *scenario)
{
    char *yaml = scenario_tree_emit(scenario->tree);

    fputs("\"version\":", file);
    report_page_text(file, page->version);
    fputs(",\"command\":", file);
    report_page_text(file, page->command);
    fputs(",\"scenario\":", file);
    report_page_text(file, yaml);
    fputs(",\n", file);
    g_free(yaml);
}

void report_page_data(FILE *file, const struct report_page *page, const struct cluster *cluster,
                      struct record *record, const json_t *result)
{
    struct report_page_rows rows;

    begin_rows(&rows, cluster, record);
    fputs("{\"schema\":1,", file);
    put_about(file, page, cluster->scenario);
    put_result(file, result);
    put_rows(file, &rows);
    put_all_series(file, record);
    put_histograms(file);
    put_timed_faults(file, cluster);
    put_lnet(file, cluster->scenario);
    report_page_networks(file, cluster, record);
    report_page_flows(file, &rows, record);
    report_page_points(file, &rows, record);
    put_strings(file, record); /* the parts before may add some */
    fputs("}", file);
    end_rows(&rows);
}
