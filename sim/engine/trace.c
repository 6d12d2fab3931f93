/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The trace's writer. How the picture is laid out:
 *
 *   root (uuid 0) ─┬─ faults ──── node 3
 *                  ├─ node 12 ─┬─ clients 3 (API)
 *                  │           ├─ BTE 1, BTE 1 #2 …   lanes: slices that overlap
 *                  │           └─ CQ 0 depth          a counter has a track for each name
 *                  └─ router 7 ── port 31
 *
 * Tracks get their uuids in the order of their first use, and names theirs: the file depends on the
 * order of trace points only. The end of a slice is written when the next point of its lane comes,
 * so that time never goes back within a lane, although a slice's end is known at its beginning.
 */
#define _GNU_SOURCE /* asprintf */
#include "engine/outside.h"
#include "engine/trace.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perfetto_trace.pb-c.h"
#include "trace_annotate.h"
#include "trace_internal.h"

#define SEQUENCE 1 /* of the only writer; those of several have their process ids */
#define NAME_BYTES 256 /* of a track; longer ones are cut */
#define PROCESS_BYTES 64 /* the same of a process */

typedef Perfetto__Protos__TracePacket packet_t;
typedef Perfetto__Protos__TrackDescriptor descriptor_t;
typedef Perfetto__Protos__TrackEvent event_t;

struct track {
    uint64_t parent;
    char name[NAME_BYTES]; /* without the lane */
    int32_t rank; /* among its siblings */
    struct sim_trace_lanes lanes;
};

struct name {
    const char *text;
    bool written; /* the file has it */
};

bool sim_trace_on;

static struct {
    bool open;
    struct sim_trace_file file;
    uint32_t pid; /* 0: the only process */
    char process[PROCESS_BYTES];
    sim_time_t origin;
    uint64_t points;
    uint64_t uuids; /* handed out */
    struct sim_trace_map groups; /* (group, number) → uuid */
    struct sim_trace_map
        track_of; /* (track, node), (index, counter's name) → place in tracks + 1 */
    struct sim_trace_map iids; /* name's address → iid; a cache before `names` */
    struct sim_trace_map rank_name_of; /* node, index → place in rank_names + 1 */
    struct track **tracks;
    struct name *names; /* names[iid - 1] */
    char **rank_names;
    struct network {
        uint32_t first; /* router */
        char *name;
    } * networks;
    size_t track_count, name_count, rank_name_count, network_count;
} writer;

/* ---- packets --------------------------------------------------------------------------------- */

/* A packet of a trace is field 1 of the message Trace: the file is the concatenation. */
static void put_packet(packet_t *packet)
{
    size_t bytes, head = 1;
    uint8_t *at;

    packet->has_trusted_packet_sequence_id = 1;
    packet->trusted_packet_sequence_id = writer.pid != 0 ? writer.pid : SEQUENCE;
    bytes = perfetto__protos__trace_packet__get_packed_size(packet);
    assert(bytes > 0);
    at = sim_trace_file_reserve(&writer.file, bytes + 11);
    at[0] = 1 << 3 | 2;
    head += sim_trace_put_varint(at + 1, bytes);
    writer.file.used += head + perfetto__protos__trace_packet__pack(packet, at + head);
}

static void put_descriptor(descriptor_t *descriptor)
{
    packet_t packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;

    packet.track_descriptor = descriptor;
    put_packet(&packet);
}

/* The first packet: forgets what an earlier writer of this sequence interned, and interns "value".
 */
static void put_start(void)
{
    static char value_name[] = "value";
    packet_t packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
    descriptor_t root = PERFETTO__PROTOS__TRACK_DESCRIPTOR__INIT;
    Perfetto__Protos__InternedData interned = PERFETTO__PROTOS__INTERNED_DATA__INIT;
    Perfetto__Protos__DebugAnnotationName value = PERFETTO__PROTOS__DEBUG_ANNOTATION_NAME__INIT;
    Perfetto__Protos__DebugAnnotationName *values[] = {&value};

    value.has_iid = 1;
    value.iid = SIM_TRACE_VALUE_IID;
    value.name = value_name;
    interned.n_debug_annotation_names = 1;
    interned.debug_annotation_names = values;
    root.has_uuid = 1;
    root.uuid = 0;
    root.has_process_ordering = 1;
    root.process_ordering =
        PERFETTO__PROTOS__TRACK_DESCRIPTOR__PROCESS_ORDERING__PROCESS_ORDERING_EXPLICIT;
    packet.track_descriptor = &root;
    packet.interned_data = &interned;
    packet.has_sequence_flags = 1;
    packet.sequence_flags =
        PERFETTO__PROTOS__TRACE_PACKET__SEQUENCE_FLAGS__SEQ_INCREMENTAL_STATE_CLEARED;
    put_packet(&packet);
}

static void put_event(event_t *event, sim_time_t time, Perfetto__Protos__InternedData *interned)
{
    packet_t packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;

    packet.has_timestamp = 1;
    packet.timestamp = time > writer.origin ? (time - writer.origin) / SIM_NS : 0;
    packet.track_event = event;
    packet.interned_data = interned;
    packet.has_sequence_flags = 1;
    packet.sequence_flags =
        PERFETTO__PROTOS__TRACE_PACKET__SEQUENCE_FLAGS__SEQ_NEEDS_INCREMENTAL_STATE;
    put_packet(&packet);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* The same text has the same number even where the compiler keeps it twice. */
static uint64_t intern(const char *text)
{
    uint64_t *iid = sim_trace_map_at(&writer.iids, (uint64_t)(uintptr_t)text, 0);
    size_t i = 0;

    assert(text[0] != '\0');
    if (*iid != 0)
        return *iid;
    while (i < writer.name_count && strcmp(writer.names[i].text, text) != 0)
        i++;
    if (i == writer.name_count) {
        writer.names = sim_trace_grow(writer.names, writer.name_count, sizeof *writer.names);
        writer.names[writer.name_count++].text = text;
    }
    *iid = i + 1;
    return *iid;
}

/* Writes an event that has a name, and the names themselves where they are the first. */
static void put_named_event(event_t *event, sim_time_t time, const char *text,
                            struct sim_trace_annotations *arguments)
{
    Perfetto__Protos__InternedData interned = PERFETTO__PROTOS__INTERNED_DATA__INIT;
    Perfetto__Protos__EventName entry = PERFETTO__PROTOS__EVENT_NAME__INIT;
    Perfetto__Protos__EventName *entries[] = {&entry};
    uint64_t iid = intern(text);
    struct name *name = &writer.names[iid - 1];

    event->has_name_iid = 1;
    event->name_iid = iid;
    if (!name->written) {
        entry.has_iid = 1;
        entry.iid = iid;
        entry.name = (char *)name->text;
        interned.n_event_names = 1;
        interned.event_names = entries;
    }
    interned.n_debug_annotation_names = arguments->name_count;
    interned.debug_annotation_names = arguments->names;
    put_event(event, time, name->written && arguments->name_count == 0 ? NULL : &interned);
    name->written = true;
}

/* ---- tracks ---------------------------------------------------------------------------------- */

/* "router 3", or of a network with a name "ethernet router 3". */
static void name_line_of_network(char *text, size_t size, const char *kind, uint32_t number)
{
    size_t i = writer.network_count;

    while (i > 0 && writer.networks[i - 1].first > number)
        i--;
    if (i == 0)
        snprintf(text, size, "%s %" PRIu32 "%s", kind, number, writer.process);
    else
        snprintf(text, size, "%.60s %s %" PRIu32 "%s", writer.networks[i - 1].name, kind,
                 number - writer.networks[i - 1].first, writer.process);
}

static uint64_t group_uuid(const struct sim_trace_group *group, uint32_t number)
{
    uint64_t *uuid = sim_trace_map_at(&writer.groups, group->order, number);
    Perfetto__Protos__ProcessDescriptor process = PERFETTO__PROTOS__PROCESS_DESCRIPTOR__INIT;
    descriptor_t descriptor = PERFETTO__PROTOS__TRACK_DESCRIPTOR__INIT;
    char name[96 + PROCESS_BYTES];

    if (*uuid != 0)
        return *uuid;
    *uuid = ++writer.uuids;
    if (group == &sim_trace_faults)
        snprintf(name, sizeof name, "%s%s", group->name, writer.process);
    else if (group->of_networks)
        name_line_of_network(name, sizeof name, group->name, number);
    else
        snprintf(name, sizeof name, "%s %" PRIu32 "%s", group->name, number, writer.process);
    /* The UI gathers tracks by process; 0 is no process. Several processes have one node each. */
    process.has_pid = 1;
    process.pid =
        (int32_t)(group->order << 28 | ((writer.pid != 0 ? writer.pid - 1 : number) & 0xfffffff)) +
        1;
    process.process_name = name;
    descriptor.has_uuid = 1;
    descriptor.uuid = *uuid;
    descriptor.name = name;
    descriptor.process = &process;
    descriptor.has_child_ordering = 1;
    descriptor.child_ordering = PERFETTO__PROTOS__TRACK_DESCRIPTOR__CHILD_TRACKS_ORDERING__EXPLICIT;
    descriptor.has_sibling_order_rank = 1;
    descriptor.sibling_order_rank = process.pid;
    put_descriptor(&descriptor);
    return descriptor.uuid;
}

static uint64_t describe_track(const struct track *track, uint32_t lane, bool counter)
{
    descriptor_t descriptor = PERFETTO__PROTOS__TRACK_DESCRIPTOR__INIT;
    Perfetto__Protos__CounterDescriptor value = PERFETTO__PROTOS__COUNTER_DESCRIPTOR__INIT;
    char name[NAME_BYTES + 16];

    if (lane == 0)
        snprintf(name, sizeof name, "%s", track->name);
    else
        snprintf(name, sizeof name, "%s #%" PRIu32, track->name, lane + 1);
    descriptor.has_uuid = 1;
    descriptor.uuid = ++writer.uuids;
    descriptor.has_parent_uuid = 1;
    descriptor.parent_uuid = track->parent;
    descriptor.name = name;
    descriptor.counter = counter ? &value : NULL;
    descriptor.has_sibling_order_rank = 1;
    descriptor.sibling_order_rank = track->rank + (int32_t)(lane < 255 ? lane : 255);
    put_descriptor(&descriptor);
    return descriptor.uuid;
}

static void name_track(struct track *track, const struct sim_trace_point *point)
{
    uint64_t *place;
    int length;

    if (point->track == SIM_TRACK_RANK) {
        place = sim_trace_map_at(&writer.rank_name_of, point->node, point->index);
        if (*place != 0)
            length = snprintf(track->name, NAME_BYTES, "%s (API)", writer.rank_names[*place - 1]);
        else
            length = snprintf(track->name, NAME_BYTES, "rank %" PRIu32 " (API)", point->index);
    } else if (point->track == SIM_TRACK_FAULT && point->node == UINT32_MAX) {
        length = snprintf(track->name, NAME_BYTES, "fabric");
    } else if (point->track == SIM_TRACK_FAULT) {
        length = snprintf(track->name, NAME_BYTES, "node %" PRIu32, point->node);
    } else if (point->index != 0 || sim_trace_kinds[point->track]->numbered) {
        length = snprintf(track->name, NAME_BYTES, "%s %" PRIu32,
                          sim_trace_kinds[point->track]->name, point->index);
    } else {
        length = snprintf(track->name, NAME_BYTES, "%s", sim_trace_kinds[point->track]->name);
    }
    if (point->kind == SIM_TRACE_COUNTER && length < NAME_BYTES)
        snprintf(track->name + length, NAME_BYTES - (size_t)length, " %s", point->name);
}

/* By kind, then by number, then lanes and counters behind: tracks of a node always stand in the
 * same order. */
static int32_t track_rank(const struct sim_trace_point *point)
{
    uint32_t number = point->track == SIM_TRACK_FAULT ? point->node : point->index;

    return (int32_t)(point->track << 25 | (number < 0xffff ? number : 0xffff) << 9 |
                     (uint32_t)(point->kind == SIM_TRACE_COUNTER) << 8);
}

static struct track *find_track(const struct sim_trace_point *point)
{
    uint64_t name = point->kind == SIM_TRACE_COUNTER ? intern(point->name) : 0;
    uint32_t index = point->track == SIM_TRACK_FAULT ? 0 : point->index;
    uint64_t *place = sim_trace_map_at(&writer.track_of, (uint64_t)point->track << 32 | point->node,
                                       name << 32 | index);
    const struct sim_trace_group *group;
    struct track *track;

    if (sim_likely(*place != 0))
        return writer.tracks[*place - 1];
    group = sim_trace_kinds[point->track]->group;
    track = calloc(1, sizeof *track);
    if (track == NULL)
        abort();
    track->parent = group_uuid(group, group == &sim_trace_faults ? 0 : point->node);
    track->rank = track_rank(point);
    name_track(track, point);
    writer.tracks = sim_trace_grow(writer.tracks, writer.track_count, sizeof(struct track *));
    writer.tracks[writer.track_count++] = track;
    *place = writer.track_count;
    return track;
}

/* ---- points ---------------------------------------------------------------------------------- */

static void end_slice(struct sim_trace_lane *lane)
{
    event_t event = PERFETTO__PROTOS__TRACK_EVENT__INIT;

    event.has_type = 1;
    event.type = PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_END;
    event.has_track_uuid = 1;
    event.track_uuid = lane->uuid;
    put_event(&event, lane->end, NULL);
    lane->last = lane->end;
    lane->open = false;
}

/* An instant stands inside a slice that is going on, in the first lane that is not past it already.
 */
static uint32_t instant_lane(struct sim_trace_lanes *lanes, sim_time_t time)
{
    uint32_t i;

    for (i = 0; i < lanes->count; i++)
        if (lanes->lane[i].last <= time)
            return i;
    return sim_trace_lanes_find(lanes, time);
}

static void write_event(struct track *track, const struct sim_trace_point *point,
                        const struct sim_trace_argument *arguments, size_t number)
{
    bool slice = point->kind == SIM_TRACE_SLICE;
    uint32_t index = slice ? sim_trace_lanes_find(&track->lanes, point->time)
                           : instant_lane(&track->lanes, point->time);
    struct sim_trace_lane *lane = &track->lanes.lane[index];
    event_t event = PERFETTO__PROTOS__TRACK_EVENT__INIT;
    struct sim_trace_annotations annotations;
    uint64_t flow = point->flow;

    if (lane->uuid == 0)
        lane->uuid = describe_track(track, index, false);
    if (lane->open && lane->end <= point->time)
        end_slice(lane);
    sim_trace_annotate(&annotations, arguments, number);
    event.n_debug_annotations = annotations.count;
    event.has_type = 1;
    event.type = slice ? PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN
                       : PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_INSTANT;
    event.has_track_uuid = 1;
    event.track_uuid = lane->uuid;
    event.n_flow_ids = flow != 0;
    event.flow_ids = &flow;
    event.debug_annotations = annotations.annotations;
    put_named_event(&event, point->time, point->name, &annotations);
    lane->last = point->time;
    if (slice) {
        lane->open = true;
        lane->end =
            point->duration < SIM_NEVER - point->time ? point->time + point->duration : SIM_NEVER;
    }
    sim_trace_lanes_update(&track->lanes, index);
}

static void write_counter(struct track *track, const struct sim_trace_point *point)
{
    struct sim_trace_lane *lane;
    event_t event = PERFETTO__PROTOS__TRACK_EVENT__INIT;

    sim_trace_lanes_find(&track->lanes, SIM_NEVER); /* a counter has one lane */
    lane = &track->lanes.lane[0];
    if (lane->uuid == 0)
        lane->uuid = describe_track(track, 0, true);
    event.has_type = 1;
    event.type = PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_COUNTER;
    event.has_track_uuid = 1;
    event.track_uuid = lane->uuid;
    event.has_counter_value = 1;
    event.counter_value = (int64_t)point->value;
    put_event(&event, point->time, NULL);
}

void sim_trace_write_arguments(const struct sim_trace_point *point, bool has_value,
                               const struct sim_trace_argument *arguments, size_t number)
{
    struct sim_trace_argument all[SIM_TRACE_ARGUMENTS_MAX];
    struct track *track;

    if (!sim_trace_on)
        return;
    sim_outside_begin();
    assert(sim_trace_kinds[point->track] != NULL); /* sim_trace_track_register */
    number = sim_trace_arguments(point, sim_trace_kinds[point->track], has_value, arguments, number,
                                 all);
    sim_trace_sink_point(point, all, number);
    if (writer.open) {
        track = find_track(point);
        if (point->kind == SIM_TRACE_COUNTER)
            write_counter(track, point);
        else
            write_event(track, point, all, number);
        writer.points++;
    }
    sim_outside_end();
}

void sim_trace_write(const struct sim_trace_point *point)
{
    if (sim_trace_on && !sim_trace_call_takes(point))
        sim_trace_write_arguments(point, true, NULL, 0);
}

uint64_t sim_trace_points_written(void)
{
    return writer.points;
}

/* ---- open and close -------------------------------------------------------------------------- */

static void set_error(char **error, const char *what, const char *path, const char *why)
{
    if (error != NULL && asprintf(error, "%s %s: %s", what, path, why) < 0)
        abort();
}

bool sim_trace_open(const char *path, char **error)
{
    return sim_trace_open_process(path, &(struct sim_trace_process){.pid = 0}, error);
}

bool sim_trace_open_process(const char *path, const struct sim_trace_process *process, char **error)
{
    if (writer.open) {
        set_error(error, "cannot write a trace to", path, "another trace is open");
        return false;
    }
    memset(&writer, 0, sizeof writer);
    if (!sim_trace_file_open(&writer.file, path)) {
        set_error(error, "cannot write", path, strerror(errno));
        return false;
    }
    writer.pid = process->pid;
    writer.origin = process->origin;
    writer.uuids = (uint64_t)process->pid << 32;
    if (process->pid != 0)
        snprintf(writer.process, sizeof writer.process, ", %.40s %" PRIu32, process->name,
                 process->pid);
    writer.open = sim_trace_on = true;
    put_start();
    return true;
}

void sim_trace_set_rank_name(uint32_t node, uint32_t index, const char *name)
{
    uint64_t *place;

    if (!writer.open)
        return;
    place = sim_trace_map_at(&writer.rank_name_of, node, index);
    if (*place == 0) {
        writer.rank_names =
            sim_trace_grow(writer.rank_names, writer.rank_name_count, sizeof *writer.rank_names);
        *place = ++writer.rank_name_count;
    }
    free(writer.rank_names[*place - 1]);
    writer.rank_names[*place - 1] = strdup(name);
    if (writer.rank_names[*place - 1] == NULL)
        abort();
}

void sim_trace_set_network_name(uint32_t first, const char *name)
{
    struct network *network;

    if (!writer.open)
        return;
    assert(writer.network_count == 0 || writer.networks[writer.network_count - 1].first < first);
    writer.networks =
        sim_trace_grow(writer.networks, writer.network_count, sizeof *writer.networks);
    network = &writer.networks[writer.network_count++];
    network->first = first;
    network->name = strdup(name);
    if (network->name == NULL)
        abort();
}

static void end_slices(sim_time_t until)
{
    struct sim_trace_lane *lane;
    size_t i;
    uint32_t at;

    for (i = 0; i < writer.track_count; i++)
        for (at = 0; at < writer.tracks[i]->lanes.count; at++) {
            lane = &writer.tracks[i]->lanes.lane[at];
            if (lane->open && lane->end <= until)
                end_slice(lane);
        }
}

static void free_tables(void)
{
    size_t i;

    for (i = 0; i < writer.track_count; i++) {
        sim_trace_lanes_free(&writer.tracks[i]->lanes);
        free(writer.tracks[i]);
    }
    for (i = 0; i < writer.rank_name_count; i++)
        free(writer.rank_names[i]);
    for (i = 0; i < writer.network_count; i++)
        free(writer.networks[i].name);
    free(writer.tracks);
    free(writer.names);
    free(writer.rank_names);
    free(writer.networks);
    writer.tracks = NULL;
    writer.names = NULL;
    writer.rank_names = NULL;
    writer.networks = NULL;
    writer.track_count = writer.name_count = writer.rank_name_count = writer.network_count = 0;
    sim_trace_map_free(&writer.groups);
    sim_trace_map_free(&writer.track_of);
    sim_trace_map_free(&writer.iids);
    sim_trace_map_free(&writer.rank_name_of);
    sim_trace_annotations_reset();
}

void sim_trace_flush(sim_time_t now)
{
    if (!writer.open)
        return;
    end_slices(now);
    sim_trace_file_flush(&writer.file);
}

void sim_trace_forget(void)
{
    if (!sim_trace_on)
        return;
    sim_trace_on = false;
    sim_trace_sink_end();
    if (!writer.open)
        return;
    writer.open = false;
    free_tables();
    sim_trace_file_forget(&writer.file);
}

bool sim_trace_close(char **error)
{
    char *path;
    int failure;

    if (!sim_trace_on)
        return true;
    sim_trace_calls_end();
    sim_trace_calls_free();
    sim_trace_sink_end();
    sim_trace_on = false;
    if (!writer.open)
        return true;
    end_slices(SIM_NEVER);
    writer.open = false;
    free_tables();
    path = strdup(writer.file.path);
    failure = sim_trace_file_close(&writer.file);
    if (failure != 0)
        set_error(error, "cannot write", path != NULL ? path : "the trace", strerror(failure));
    free(path);
    return failure == 0;
}
