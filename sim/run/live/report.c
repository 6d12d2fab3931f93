/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the processes of a live fabric did, by node: the sums of the counters in their segments when
 * they ended. Of a killed process, the counters of its last moments may be missing. */
#include <inttypes.h>
#include <string.h>

#include "aries/watch.h"
#include "live/live_fabric.h"

struct node_report {
    uint32_t processes;
    uint64_t transactions, bytes, errors, overruns;
};

struct live_fabric_report {
    uint32_t count, processes;
    struct node_report *nodes;
};

struct live_fabric_report *live_fabric_report_new(uint32_t nodes)
{
    struct live_fabric_report *report = g_new0(struct live_fabric_report, 1);

    report->count = nodes;
    report->nodes = g_new0(struct node_report, nodes);
    return report;
}

/* The counters of a member. NULL: it has no room for them, because it only watches the fabric
 * (jacquard top), or there is no memory to map them. */
static const char *counters_of(struct shm_server *server, const struct shm_member *member)
{
    size_t bytes;
    const char *segment = shm_server_segment(server, member->slot, &bytes);

    if (segment == NULL || bytes < ARIES_WATCH_AT + sizeof(struct aries_watch))
        return NULL;
    return segment + ARIES_WATCH_AT;
}

void live_fabric_report_joined(struct live_fabric_report *report, struct shm_server *server,
                               const struct shm_member *member)
{
    if (member->node >= report->count || counters_of(server, member) == NULL)
        return;
    report->processes++;
    report->nodes[member->node].processes++;
}

void live_fabric_report_left(struct live_fabric_report *report, struct shm_server *server,
                             const struct shm_member *member)
{
    struct node_report *node;
    struct aries_watch watch;
    const char *counters = member->node < report->count ? counters_of(server, member) : NULL;

    if (counters == NULL)
        return;
    memcpy(&watch, counters, sizeof(watch)); /* it may have been killed just now */
    if (watch.magic != ARIES_WATCH_MAGIC)
        return;
    node = &report->nodes[member->node];
    node->transactions += watch.transactions;
    node->bytes += watch.bytes;
    node->errors += watch.errors;
    node->overruns += watch.overruns;
}

static void row(GString *text, const char *name, const struct node_report *node)
{
    char bytes[32];

    scenario_format_count(bytes, sizeof(bytes), (double)node->bytes);
    g_string_append_printf(text, "  %-9s %9u %12" PRIu64 " %12s %8" PRIu64 " %8" PRIu64 "\n", name,
                           node->processes, node->transactions, bytes, node->errors,
                           node->overruns);
}

GString *live_fabric_report_text(const struct live_fabric_report *report)
{
    GString *text = g_string_new(NULL);
    uint32_t i, used = 0;

    for (i = 0; i < report->count; i++)
        used += report->nodes[i].processes > 0;
    g_string_append_printf(text, "fabric: %u processes on %u of %u nodes\n", report->processes,
                           used, report->count);
    if (used > 0)
        g_string_append_printf(text, "  %-9s %9s %12s %12s %8s %8s\n", "node", "processes",
                               "transactions", "bytes", "errors", "overruns");
    for (i = 0; i < report->count; i++) {
        char *name = g_strdup_printf("nid%05u", i);

        if (report->nodes[i].processes > 0)
            row(text, name, &report->nodes[i]);
        g_free(name);
    }
    return text;
}

void live_fabric_report_free(struct live_fabric_report *report)
{
    g_free(report->nodes);
    g_free(report);
}
