/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "nic/tracks.h"

#include <string.h>
#include "nic/cq_entry.h"
#include "nic/status.h"

static size_t show_number(const char *name, const struct sim_trace_point *point,
                          struct sim_trace_argument *arguments)
{
    *arguments = (struct sim_trace_argument){.name = name, .number = point->value};
    return 1;
}

static size_t show_status(unsigned status, struct sim_trace_argument *arguments)
{
    *arguments = (struct sim_trace_argument){
        .name = "status",
        .text = status < ARIES_STATUS_COUNT ? aries_status_name(status) : "unknown"};
    return 1;
}

static size_t show_bytes(const struct sim_trace_point *point, struct sim_trace_argument *arguments)
{
    return show_number("bytes", point, arguments);
}

/* Bytes, but "hold" has the tag of a job. */
static size_t show_send(const struct sim_trace_point *point, struct sim_trace_argument *arguments)
{
    return show_number(strcmp(point->name, "hold") == 0 ? "ptag" : "bytes", point, arguments);
}

static size_t show_receive(const struct sim_trace_point *point,
                           struct sim_trace_argument *arguments)
{
    return strcmp(point->name, "complete") == 0 ? show_status((unsigned)point->value, arguments)
                                                : show_bytes(point, arguments);
}

static size_t show_session(const struct sim_trace_point *point,
                           struct sim_trace_argument *arguments)
{
    return show_number("session", point, arguments);
}

/* The value has the upper 16 bits of the entry; 0: an event was lost for which there is none. */
static size_t show_event(const struct sim_trace_point *point, struct sim_trace_argument *arguments)
{
    static const char *const sources[] = {
        [ARIES_CQ_SOURCE_NONE] = "none",       [ARIES_CQ_SOURCE_BTE] = "completion of BTE",
        [ARIES_CQ_SOURCE_SSID] = "completion", [ARIES_CQ_SOURCE_RMT] = "remote event",
        [ARIES_CQ_SOURCE_DLA] = "DLA",
    };
    gni_cq_entry_t entry = point->value << 48;
    unsigned source = aries_cq_entry_source(entry), status = aries_cq_entry_status(entry);
    size_t used = 1;

    *arguments = (struct sim_trace_argument){
        .name = "kind",
        .text = source < sizeof sources / sizeof *sources ? sources[source] : "unknown"};
    if (source == ARIES_CQ_SOURCE_RMT && aries_cq_entry_info(entry) == ARIES_CQ_RMT_CQWRITE)
        arguments->text = "CQ write";
    if (status != 0)
        used += show_status(status, arguments + 1);
    return used;
}

void aries_tracks_register(void)
{
    static const struct sim_trace_track kinds[] = {
        [ARIES_TRACK_FMA] = {"FMA", &sim_trace_nodes, false, show_send},
        [ARIES_TRACK_BTE] = {"BTE", &sim_trace_nodes, true, show_send},
        [ARIES_TRACK_RX] = {"RX", &sim_trace_nodes, false, show_receive},
        [ARIES_TRACK_CQ] = {"CQ", &sim_trace_nodes, true, show_event},
        [ARIES_TRACK_SMSG] = {"SMSG", &sim_trace_nodes, false, show_bytes},
        [ARIES_TRACK_DATAGRAM] = {"datagram", &sim_trace_nodes, false, show_session},
    };
    uint32_t track;

    for (track = ARIES_TRACK_FMA; track <= ARIES_TRACK_DATAGRAM; track++)
        sim_trace_track_register(track, &kinds[track]);
}
