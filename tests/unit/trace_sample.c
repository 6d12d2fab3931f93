/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * trace_sample FILE        writes a sample trace
 * trace_sample --read FILE prints what our reader makes of a trace, for trace_check.py to compare
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace_read.h"
#include "trace_sample.h"

static int print_summary(const char *path)
{
    struct trace_summary summary;
    char *error;

    if (!trace_read(path, &summary, &error)) {
        fprintf(stderr, "%s\n", error);
        free(error);
        return 1;
    }
    printf("{\"packets\": %" PRIu64 ", \"tracks\": %" PRIu64 ", \"slices\": %" PRIu64
           ", \"instants\": %" PRIu64 ", \"counters\": %" PRIu64 ", \"flows\": %" PRIu64
           ", \"unknown_tracks\": %" PRIu64 ", \"unknown_names\": %" PRIu64
           ", \"unbalanced_slices\": %" PRIu64 ", \"single_ended_flows\": %" PRIu64
           ", \"out_of_order\": %" PRIu64 ", \"first\": %" PRIu64 ", \"last\": %" PRIu64 "}\n",
           summary.packets, summary.tracks, summary.slices, summary.instants, summary.counters,
           summary.flows, summary.unknown_tracks, summary.unknown_names, summary.unbalanced_slices,
           summary.single_ended_flows, summary.out_of_order, (uint64_t)(summary.first / SIM_NS),
           (uint64_t)(summary.last / SIM_NS));
    return 0;
}

int main(int argc, char **argv)
{
    char *error;

    if (argc == 3 && strcmp(argv[1], "--read") == 0)
        return print_summary(argv[2]);
    if (argc != 2)
        return 2;
    if (!sim_trace_open(argv[1], &error)) {
        fprintf(stderr, "%s\n", error);
        free(error);
        return 1;
    }
    sample_tracks_register();
    sim_trace_set_rank_name(0, 0, "clients 0");
    sample_points();
    if (!sim_trace_close(&error)) {
        fprintf(stderr, "%s\n", error);
        free(error);
        return 1;
    }
    return 0;
}
