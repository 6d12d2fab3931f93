/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages and trace points of the report page. */
#include "page_write.h"

#include <inttypes.h>
#include "engine/random.h"

#define FLOWS_SHOWN_MAX 100000u
#define NUMBER_MAX (INT64_C(1) << 53) /* larger ones are not exact in a browser */

/* ---- messages -------------------------------------------------------------------------------- */

static int64_t row_of(const struct report_page_rows *rows, const struct record *record,
                      uint32_t rank, uint32_t node)
{
    gpointer row = NULL;

    if (rank != RECORD_NONE)
        row = g_hash_table_lookup(rows->of_rank_name, g_ptr_array_index(record->strings, rank));
    if (row == NULL && node != RECORD_NONE)
        row = g_hash_table_lookup(rows->of_node, GUINT_TO_POINTER(node));
    return (int64_t)GPOINTER_TO_UINT(row) - 1;
}

static int64_t optional(uint32_t number)
{
    return number != RECORD_NONE ? (int64_t)number : -1;
}

/* A time since the beginning of the message; 0, which means never, becomes -1. */
static int64_t since(const struct record_flow *flow, sim_time_t time)
{
    return time == 0 ? -1 : time > flow->begin ? (int64_t)(time - flow->begin) : 0;
}

static bool is_notable(const struct record_flow *flow)
{
    return flow->lost != 0 || flow->failed || flow->end == 0;
}

/* The numbers of the flows that are shown. */
static GArray *choose(const struct record *record, uint64_t *stride, uint64_t *all)
{
    GArray *chosen = g_array_new(FALSE, FALSE, sizeof(guint));
    guint i;

    *all = 0;
    for (i = 1; i < record->flows->len; i++)
        *all += g_array_index(record->flows, struct record_flow, i).name != RECORD_NONE;
    for (*stride = 1; *all / *stride > FLOWS_SHOWN_MAX;)
        *stride *= 2;
    for (i = 1; i < record->flows->len; i++) {
        const struct record_flow *flow = &g_array_index(record->flows, struct record_flow, i);

        if (flow->name != RECORD_NONE && (*stride == 1 || sim_mix(i) % *stride == 0 ||
                                          (is_notable(flow) && chosen->len < FLOWS_SHOWN_MAX * 2)))
            g_array_append_val(chosen, i);
    }
    return chosen;
}

struct flows {
    FILE *file;
    const struct report_page_rows *rows;
    const struct record *record;
    const GArray *chosen;
};

static void put_column(const struct flows *flows, const char *name,
                       int64_t (*value)(const struct flows *flows, const struct record_flow *flow))
{
    struct report_page_list list;
    guint i;

    report_page_list_begin(&list, flows->file, name);
    for (i = 0; i < flows->chosen->len; i++)
        report_page_list_add(&list,
                             value(flows, &g_array_index(flows->record->flows, struct record_flow,
                                                         g_array_index(flows->chosen, guint, i))));
    report_page_list_end(&list);
    fputs(",\n", flows->file);
}

static int64_t from_row(const struct flows *flows, const struct record_flow *flow)
{
    return row_of(flows->rows, flows->record, flow->from_rank, flow->from);
}
static int64_t to_row(const struct flows *flows, const struct record_flow *flow)
{
    return row_of(flows->rows, flows->record, flow->to_rank, flow->to);
}
static int64_t name_of(const struct flows *flows, const struct record_flow *flow)
{
    (void)flows;
    return flow->name;
}
static int64_t through_of(const struct flows *flows, const struct record_flow *flow)
{
    (void)flows;
    return optional(flow->through);
}
static int64_t duration_of(const struct flows *flows, const struct record_flow *flow)
{
    (void)flows;
    return since(flow, flow->end);
}
static int64_t settled_of(const struct flows *flows, const struct record_flow *flow)
{
    (void)flows;
    return since(flow, flow->settled);
}
static int64_t lost_of(const struct flows *flows, const struct record_flow *flow)
{
    (void)flows;
    return since(flow, flow->lost);
}
static int64_t bytes_of(const struct flows *flows, const struct record_flow *flow)
{
    (void)flows;
    return (int64_t)MIN(flow->bytes, (uint64_t)NUMBER_MAX);
}
static int64_t status_of(const struct flows *flows, const struct record_flow *flow)
{
    (void)flows;
    return flow->failed ? optional(flow->status) : -1;
}
static int64_t failed_of(const struct flows *flows, const struct record_flow *flow)
{
    (void)flows;
    return flow->failed;
}

void report_page_flows(FILE *file, struct report_page_rows *rows, const struct record *record)
{
    uint64_t stride, all;
    GArray *chosen = choose(record, &stride, &all);
    struct flows flows = {file, rows, record, chosen};
    struct report_page_list list;
    guint i;

    fprintf(file, "\"messages\":{\"all\":%" PRIu64 ",\"stride\":%" PRIu64 ",\"leftOut\":%s,\n", all,
            stride, record->flows_left_out != 0 ? "true" : "false");
    put_column(&flows, "name", name_of);
    put_column(&flows, "from", from_row);
    put_column(&flows, "to", to_row);
    put_column(&flows, "through", through_of);
    put_column(&flows, "duration", duration_of);
    put_column(&flows, "settled", settled_of);
    put_column(&flows, "lost", lost_of);
    put_column(&flows, "bytes", bytes_of);
    put_column(&flows, "status", status_of);
    put_column(&flows, "failed", failed_of);
    report_page_list_begin(&list, file, "begin");
    for (i = 0; i < chosen->len; i++)
        report_page_list_step(
            &list, g_array_index(record->flows, struct record_flow, g_array_index(chosen, guint, i))
                       .begin);
    report_page_list_end(&list);
    putc(',', file);
    report_page_list_begin(&list, file, "flow");
    for (i = 0; i < chosen->len; i++)
        report_page_list_step(&list, g_array_index(chosen, guint, i));
    report_page_list_end(&list);
    fputs("},\n", file);
    g_array_unref(chosen);
}

/* ---- points ---------------------------------------------------------------------------------- */

struct points {
    FILE *file;
    struct record *record;
    const struct report_page_rows *rows;
    GHashTable *track_of; /* text → number + 1 */
    GPtrArray *tracks; /* of texts: the track's name */
    GArray *track_rows; /* of int */
    GHashTable *rank_at; /* "node index" → row + 1 */
};

static gint by_time(gconstpointer a, gconstpointer b)
{
    const struct record_point *left = a, *right = b;

    if (left->time != right->time)
        return left->time < right->time ? -1 : 1;
    return left->order < right->order ? -1 : left->order > right->order;
}

static void find_ranks(struct points *points)
{
    guint i;

    for (i = 0; i < points->rows->ranks->len; i++) {
        const struct rank *rank = g_ptr_array_index(points->rows->ranks, i);

        if (rank != NULL)
            g_hash_table_insert(points->rank_at,
                                g_strdup_printf("%u %u", rank->node, rank->trace_index),
                                GUINT_TO_POINTER(i + 1));
    }
}

static int rank_row(const struct points *points, uint32_t node, uint32_t index)
{
    char key[32];

    g_snprintf(key, sizeof(key), "%u %u", node, index);
    return GPOINTER_TO_INT(g_hash_table_lookup(points->rank_at, key)) - 1;
}

/* "router 7", counted from the network's own first router. */
static char *router_line(const struct cluster *cluster, uint32_t router)
{
    size_t i = cluster->network_count;

    while (i > 1 && cluster->networks[i - 1].first_router > router)
        i--;
    if (cluster->network_count == 1)
        return g_strdup_printf("router %u", router);
    return g_strdup_printf("%s router %u", cluster->networks[i - 1].name,
                           router - cluster->networks[i - 1].first_router);
}

static char *track_text(const struct points *points, const struct record_point *point, int row)
{
    const struct sim_trace_track *kind = sim_trace_track_kind(point->track);
    char *line, *text;

    if (point->track == SIM_TRACK_FAULT)
        return point->node == RECORD_NONE ? g_strdup("faults fabric")
                                          : g_strdup_printf("faults node %u", point->node);
    if (point->track == SIM_TRACK_RANK && row >= 0) {
        const struct rank *rank = g_ptr_array_index(points->rows->ranks, row);

        return g_strdup_printf("node %u %s.%u (API)", point->node, rank->job->name, rank->id);
    }
    line = point->track == SIM_TRACK_LINK ? router_line(points->rows->cluster, point->node)
                                          : g_strdup_printf("node %u", point->node);
    text = kind->numbered || point->index != 0
               ? g_strdup_printf("%s %s %u", line, kind->name, point->index)
               : g_strdup_printf("%s %s", line, kind->name);
    g_free(line);
    return text;
}

static guint track_number(struct points *points, const struct record_point *point)
{
    char key[48];
    gpointer number;
    int row;

    g_snprintf(key, sizeof(key), "%u %u %u", point->track, point->node,
               point->track == SIM_TRACK_FAULT ? 0 : point->index);
    number = g_hash_table_lookup(points->track_of, key);
    if (number != NULL)
        return GPOINTER_TO_UINT(number) - 1;
    row = point->track == SIM_TRACK_RANK ? rank_row(points, point->node, point->index) : -1;
    g_ptr_array_add(points->tracks, track_text(points, point, row));
    g_array_append_val(points->track_rows, row);
    g_hash_table_insert(points->track_of, g_strdup(key), GUINT_TO_POINTER(points->tracks->len));
    return points->tracks->len - 1;
}

static void put_argument(struct report_page_list *list, struct record *record,
                         const struct record_argument *argument)
{
    char text[24];
    uint32_t string = argument->text;

    if (string == RECORD_NONE && argument->number > (uint64_t)NUMBER_MAX) {
        g_snprintf(text, sizeof(text), "%#" PRIx64, argument->number);
        string = report_record_string(record, text);
    }
    report_page_list_add(list, argument->name);
    report_page_list_add(list,
                         string != RECORD_NONE ? -1 - (int64_t)string : (int64_t)argument->number);
}

static void put_arguments(const struct points *points)
{
    const GArray *array = points->record->points;
    struct report_page_list list;
    guint i, a;

    report_page_list_begin(&list, points->file, "arguments");
    for (i = 0; i < array->len; i++)
        report_page_list_add(&list, g_array_index(array, struct record_point, i).argument_count);
    report_page_list_end(&list);
    fputs(",\n", points->file);
    report_page_list_begin(&list, points->file, "argument");
    for (i = 0; i < array->len; i++) {
        const struct record_point *point = &g_array_index(array, struct record_point, i);

        for (a = 0; a < point->argument_count; a++)
            put_argument(&list, points->record,
                         &g_array_index(points->record->arguments, struct record_argument,
                                        point->arguments + a));
    }
    report_page_list_end(&list);
    fputs(",\n", points->file);
}

static void put_columns(struct points *points)
{
    const GArray *array = points->record->points;
    struct report_page_list list;
    guint i;

    report_page_list_begin(&list, points->file, "time");
    for (i = 0; i < array->len; i++)
        report_page_list_step(&list, g_array_index(array, struct record_point, i).time);
    report_page_list_end(&list);
    fputs(",\n", points->file);
    report_page_list_begin(&list, points->file, "duration"); /* -1: a point in time */
    for (i = 0; i < array->len; i++) {
        const struct record_point *point = &g_array_index(array, struct record_point, i);

        report_page_list_add(&list, point->kind == SIM_TRACE_SLICE
                                        ? (int64_t)MIN(point->duration, (uint64_t)NUMBER_MAX)
                                        : -1);
    }
    report_page_list_end(&list);
    fputs(",\n", points->file);
    report_page_list_begin(&list, points->file, "name");
    for (i = 0; i < array->len; i++)
        report_page_list_add(&list, g_array_index(array, struct record_point, i).name);
    report_page_list_end(&list);
    fputs(",\n", points->file);
    report_page_list_begin(&list, points->file, "flow");
    for (i = 0; i < array->len; i++)
        report_page_list_add(&list, (int64_t)g_array_index(array, struct record_point, i).flow);
    report_page_list_end(&list);
    fputs(",\n", points->file);
    report_page_list_begin(&list, points->file, "track");
    for (i = 0; i < array->len; i++)
        report_page_list_add(&list,
                             track_number(points, &g_array_index(array, struct record_point, i)));
    report_page_list_end(&list);
    fputs(",\n", points->file);
}

static void put_tracks(const struct points *points)
{
    struct report_page_list list;
    guint i;

    fputs("\"tracks\":[", points->file);
    for (i = 0; i < points->tracks->len; i++) {
        fputs(i != 0 ? ",\n" : "", points->file);
        report_page_text(points->file, g_ptr_array_index(points->tracks, i));
    }
    fputs("],\n", points->file);
    report_page_list_begin(&list, points->file, "trackRows");
    for (i = 0; i < points->track_rows->len; i++)
        report_page_list_add(&list, g_array_index(points->track_rows, int, i));
    report_page_list_end(&list);
}

void report_page_points(FILE *file, struct report_page_rows *rows, struct record *record)
{
    struct points points = {
        .file = file,
        .record = record,
        .rows = rows,
        .track_of = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
        .tracks = g_ptr_array_new_with_free_func(g_free),
        .track_rows = g_array_new(FALSE, FALSE, sizeof(int)),
        .rank_at = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
    };

    find_ranks(&points);
    g_array_sort(record->points, by_time);
    fprintf(file, "\"points\":{\"all\":%" PRIu64 ",\"stride\":%" PRIu64 ",\n", record->seen,
            record->stride);
    put_columns(&points);
    put_arguments(&points);
    put_tracks(&points);
    fputs("},\n", file);
    g_hash_table_destroy(points.track_of);
    g_ptr_array_unref(points.tracks);
    g_array_unref(points.track_rows);
    g_hash_table_destroy(points.rank_at);
}
