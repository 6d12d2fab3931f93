/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The trace of a process (JACQUARD_TRACE), in time of the fabric. The front writes the same events
 * as in simulation; this file adds those of the NIC. A record has the same flow number on both
 * sides, so the concatenated traces of all processes are one trace with arrows between the
 * processes.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "backend.h"

#include <errno.h>
#include <glib.h>
#include <unistd.h>

static const char *rank(void)
{
    static const char *const names[] = {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "ALPS_APP_PE"};
    const char *value = NULL;
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(names) && value == NULL; i++)
        value = getenv(names[i]);
    return value != NULL ? value : "none";
}

/* %p: the process id, which is appended if it is missing, so that each process has its own file;
 * %n: the node; %r: the rank. */
static char *file_name(const char *pattern)
{
    GString *name = g_string_new(NULL);
    bool unique = false;
    const char *at;

    for (at = pattern; *at != '\0'; at++) {
        if (at[0] == '%' && at[1] == 'p')
            g_string_append_printf(name, "%d", getpid());
        else if (at[0] == '%' && at[1] == 'n')
            g_string_append_printf(name, "%u", aries_live.hw->node);
        else if (at[0] == '%' && at[1] == 'r')
            g_string_append(name, rank());
        else {
            g_string_append_c(name, *at);
            continue;
        }
        unique |= at[1] == 'p';
        at++;
    }
    if (!unique)
        g_string_append_printf(name, ".%d", getpid());
    return g_string_free(name, FALSE);
}

void aries_live_trace_begin(void)
{
    const char *pattern = getenv("JACQUARD_TRACE");
    const struct sim_trace_process process = {
        .pid = (uint32_t)getpid(),
        .name = program_invocation_short_name,
        .origin = shm_facts(aries_live.shm)->began_ns * SIM_NS,
    };
    char *path, *why = NULL;

    if (pattern == NULL || pattern[0] == '\0' || sim_trace_on)
        return;
    path = file_name(pattern);
    if (sim_trace_open_process(path, &process, &why))
        sim_trace_set_rank_name(aries_live.hw->node, aries_live.process->trace_index,
                                program_invocation_short_name);
    else
        aries_live_print_error(why);
    free(why);
    g_free(path);
}

void aries_live_trace_end(void)
{
    char *why = NULL;

    if (!sim_trace_close(&why))
        aries_live_print_error(why);
    free(why);
}

void aries_live_trace_forked(void)
{
    sim_trace_forget();
}

void aries_live_trace_transaction(const struct aries_live_end *end)
{
    uint32_t node = aries_live.hw->node;
    sim_time_t now = sim_now();

    sim_trace(SIM_TRACE_SLICE, end->unit == ARIES_UNIT_BTE ? ARIES_TRACK_BTE : ARIES_TRACK_FMA,
              node, 0, end->name, end->began, now - end->began, end->flow, end->bytes);
    sim_trace(SIM_TRACE_INSTANT, ARIES_TRACK_RX, node, 0, "complete", now, 0, end->flow,
              end->status);
}

sim_cold void aries_live_trace_arrival(const struct aries_live_link *link,
                                       const struct shm_record *record)
{
    static const char *const names[] = {
        [ARIES_LIVE_PUT] = "land",        [ARIES_LIVE_LANDED] = "land",
        [ARIES_LIVE_GET] = "read",        [ARIES_LIVE_AMO] = "atomic",
        [ARIES_LIVE_CQWRITE] = "cqwrite", [ARIES_LIVE_DATAGRAM] = "datagram",
    };
    struct aries_live_request request;

    if (record->kind >= G_N_ELEMENTS(names) || record->count < sizeof(request))
        return;
    memcpy(&request, record->bytes, sizeof(request));
    sim_trace(SIM_TRACE_INSTANT, ARIES_TRACK_RX, aries_live.hw->node, 0, names[record->kind],
              sim_now(), 0, link->flow_from + request.number, request.length);
}
