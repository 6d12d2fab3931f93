/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The reader shares nothing with the writer that it checks. It finds the packets by their lengths,
 * so that it can say where a trace is malformed; protobuf-c unpacks each of them
 * (packet_parts.proto).
 */
#define _GNU_SOURCE /* asprintf */
#include "trace_read.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "packet_parts.pb-c.h"

/* ---- packets of a file ----------------------------------------------------------------------- */

#define PACKET_TAG 0x0a /* field 1 of the message Trace, of bytes */

struct cursor {
    const uint8_t *at, *end;
    bool malformed;
};

static bool next_varint(struct cursor *cursor, uint64_t *value)
{
    unsigned shift;

    *value = 0;
    for (shift = 0; shift < 70 && cursor->at < cursor->end; shift += 7) {
        *value |= shift < 64 ? (uint64_t)(*cursor->at & 0x7f) << shift : 0;
        if (*cursor->at++ < 0x80)
            return true;
    }
    return false;
}

/* False at the end, or where the bytes are no packet (`malformed`). */
static bool next_packet(struct cursor *cursor, ProtobufCBinaryData *packet)
{
    uint64_t tag, length;

    if (cursor->at == cursor->end)
        return false;
    if (!next_varint(cursor, &tag) || tag != PACKET_TAG || !next_varint(cursor, &length) ||
        length > (uint64_t)(cursor->end - cursor->at)) {
        cursor->malformed = true;
        return false;
    }
    *packet = (ProtobufCBinaryData){.data = (uint8_t *)cursor->at, .len = (size_t)length};
    cursor->at += length;
    return true;
}

/* ---- maps: two words to one ------------------------------------------------------------------ */

struct slot {
    uint64_t a, b, value;
};

static guint slot_hash(gconstpointer key)
{
    const struct slot *slot = key;
    guint64 mixed = slot->a * 0x9e3779b97f4a7c15u ^ slot->b * 0xd6e8feb86659fd93u;

    return (guint)(mixed >> 32);
}

static gboolean slot_equal(gconstpointer left, gconstpointer right)
{
    const struct slot *one = left, *other = right;

    return one->a == other->a && one->b == other->b;
}

static GHashTable *map_new(void)
{
    return g_hash_table_new_full(slot_hash, slot_equal, g_free, NULL);
}

/* The value's place, 0 when the key is new. */
static uint64_t *map_at(GHashTable *map, uint64_t a, uint64_t b)
{
    const struct slot key = {.a = a, .b = b};
    struct slot *slot = g_hash_table_lookup(map, &key);

    if (slot == NULL) {
        slot = g_memdup2(&key, sizeof key);
        g_hash_table_add(map, slot);
    }
    return &slot->value;
}

/* ---- what is known so far -------------------------------------------------------------------- */

struct seen_track {
    uint64_t parent;
    uint64_t events;
    uint64_t last; /* ns */
    uint64_t depth;
    bool described;
};

struct reader {
    struct trace_summary *summary;
    GHashTable *track_of; /* uuid → place in tracks + 1 */
    GHashTable *names; /* sequence, iid → 1 */
    GHashTable *flows; /* id → events */
    GHashTable *defaults; /* sequence, 0 → default track; sequence, 1 → default clock */
    GArray *tracks; /* struct seen_track */
    bool timed; /* summary->first is valid */
};

/* Valid until the next call. */
static struct seen_track *track_at(struct reader *reader, uint64_t uuid)
{
    uint64_t *place = map_at(reader->track_of, uuid, 0);
    const struct seen_track unseen = {.described = uuid == 0};

    if (*place == 0) {
        g_array_append_val(reader->tracks, unseen);
        *place = reader->tracks->len;
    }
    return &g_array_index(reader->tracks, struct seen_track, *place - 1);
}

static bool read_descriptor(struct reader *reader, const ProtobufCBinaryData *bytes)
{
    TraceRead__Descriptor *descriptor =
        trace_read__descriptor__unpack(NULL, bytes->len, bytes->data);
    struct seen_track *track;

    if (descriptor == NULL)
        return false;
    track_at(reader, descriptor->parent);
    track = track_at(reader, descriptor->uuid);
    if (!track->described)
        reader->summary->tracks++;
    track->described = true;
    track->parent = descriptor->parent;
    trace_read__descriptor__free_unpacked(descriptor, NULL);
    return true;
}

static bool read_interned(struct reader *reader, const ProtobufCBinaryData *bytes,
                          uint64_t sequence)
{
    TraceRead__Interned *interned = trace_read__interned__unpack(NULL, bytes->len, bytes->data);
    size_t i;

    if (interned == NULL)
        return false;
    for (i = 0; i < interned->n_event_names; i++)
        *map_at(reader->names, sequence, interned->event_names[i]->iid) = 1;
    trace_read__interned__free_unpacked(interned, NULL);
    return true;
}

/* TracePacketDefaults: the track and the clock of what comes on this sequence. */
static bool read_defaults(struct reader *reader, const ProtobufCBinaryData *bytes,
                          uint64_t sequence)
{
    TraceRead__Defaults *defaults = trace_read__defaults__unpack(NULL, bytes->len, bytes->data);

    if (defaults == NULL)
        return false;
    if (defaults->has_clock)
        *map_at(reader->defaults, sequence, 1) = defaults->clock;
    if (defaults->event != NULL && defaults->event->has_track)
        *map_at(reader->defaults, sequence, 0) = defaults->event->track;
    trace_read__defaults__free_unpacked(defaults, NULL);
    return true;
}

/* ---- events ---------------------------------------------------------------------------------- */

static void count_flows(struct reader *reader, size_t count, const uint64_t *ids)
{
    size_t i;

    for (i = 0; i < count; i++) {
        uint64_t *events = map_at(reader->flows, ids[i], 0);

        if (*events == 0) {
            reader->summary->flows++;
            reader->summary->single_ended_flows++;
        } else if (*events == 1) {
            reader->summary->single_ended_flows--;
        }
        ++*events;
    }
}

static sim_time_t to_time(uint64_t ns)
{
    return ns > SIM_NEVER / SIM_NS ? SIM_NEVER : ns * SIM_NS;
}

static void count_time(struct reader *reader, struct seen_track *track, uint64_t ns)
{
    struct trace_summary *summary = reader->summary;
    sim_time_t time = to_time(ns);

    if (track->events > 0 && ns < track->last)
        summary->out_of_order++;
    track->last = ns;
    if (!reader->timed || time < summary->first)
        summary->first = time;
    if (!reader->timed || time > summary->last)
        summary->last = time;
    reader->timed = true;
}

static void count_type(struct reader *reader, struct seen_track *track, uint64_t type)
{
    switch (type) {
    case 1:
        reader->summary->slices++;
        track->depth++;
        break;
    case 2:
        if (track->depth > 0)
            track->depth--;
        else
            reader->summary->unbalanced_slices++;
        break;
    case 3:
        reader->summary->instants++;
        break;
    case 4:
        reader->summary->counters++;
        break;
    default: /* the type is in a field that we do not know */
        break;
    }
}

/* Clocks from 64 on are the trace's own and may count from event to event: no time that we could
 * compare. */
static bool is_plain_time(struct reader *reader, const TraceRead__Packet *packet)
{
    uint64_t clock =
        packet->has_clock ? packet->clock : *map_at(reader->defaults, packet->sequence, 1);

    return packet->has_timestamp && clock < 64;
}

static bool read_event(struct reader *reader, const TraceRead__Packet *packet)
{
    TraceRead__Event *event =
        trace_read__event__unpack(NULL, packet->event.len, packet->event.data);
    struct seen_track *track;

    if (event == NULL)
        return false;
    count_flows(reader, event->n_flows, event->flows);
    count_flows(reader, event->n_terminating_flows, event->terminating_flows);
    count_flows(reader, event->n_old_flows, event->old_flows);
    count_flows(reader, event->n_old_terminating_flows, event->old_terminating_flows);
    track = track_at(reader, event->has_track ? event->track
                                              : *map_at(reader->defaults, packet->sequence, 0));
    count_type(reader, track, event->type);
    if (is_plain_time(reader, packet))
        count_time(reader, track, packet->timestamp);
    if (event->name_iid != 0 && *map_at(reader->names, packet->sequence, event->name_iid) == 0)
        reader->summary->unknown_names++;
    track->events++;
    trace_read__event__free_unpacked(event, NULL);
    return true;
}

/* ---- packets --------------------------------------------------------------------------------- */

/* NULL, or what of the packet is malformed. */
static const char *read_packet(struct reader *reader, const ProtobufCBinaryData *bytes)
{
    TraceRead__Packet *packet = trace_read__packet__unpack(NULL, bytes->len, bytes->data);
    const char *wrong = NULL;

    if (packet == NULL)
        return "packet";
    if (packet->has_interned && !read_interned(reader, &packet->interned, packet->sequence))
        wrong = "interned data";
    else if (packet->has_defaults && !read_defaults(reader, &packet->defaults, packet->sequence))
        wrong = "packet defaults";
    else if (packet->has_descriptor && !read_descriptor(reader, &packet->descriptor))
        wrong = "track descriptor";
    else if (packet->has_event && !read_event(reader, packet))
        wrong = "track event";
    trace_read__packet__free_unpacked(packet, NULL);
    return wrong;
}

static void count_open_ends(struct reader *reader)
{
    struct trace_summary *summary = reader->summary;
    struct seen_track track;
    guint i;

    for (i = 0; i < reader->tracks->len; i++) {
        track = g_array_index(reader->tracks, struct seen_track, i);
        summary->unbalanced_slices += track.depth;
        if (!track.described)
            summary->unknown_tracks += track.events;
        else if (!track_at(reader, track.parent)->described)
            summary->unknown_tracks++;
    }
}

static void free_reader(struct reader *reader)
{
    g_hash_table_destroy(reader->track_of);
    g_hash_table_destroy(reader->names);
    g_hash_table_destroy(reader->flows);
    g_hash_table_destroy(reader->defaults);
    g_array_free(reader->tracks, TRUE);
}

bool trace_read_bytes(const uint8_t *bytes, size_t length, struct trace_summary *summary,
                      char **error)
{
    struct reader reader = {.summary = summary,
                            .track_of = map_new(),
                            .names = map_new(),
                            .flows = map_new(),
                            .defaults = map_new(),
                            .tracks = g_array_new(FALSE, TRUE, sizeof(struct seen_track))};
    struct cursor cursor = {.at = bytes, .end = bytes + length};
    const uint8_t *start = bytes;
    const char *wrong = NULL;
    ProtobufCBinaryData packet;

    memset(summary, 0, sizeof *summary);
    while (wrong == NULL && next_packet(&cursor, &packet)) {
        summary->packets++;
        wrong = read_packet(&reader, &packet);
        if (wrong == NULL)
            start = cursor.at;
    }
    if (wrong == NULL && cursor.malformed)
        wrong = "packet, or one that is cut off";
    else if (wrong == NULL && summary->packets == 0)
        wrong = "trace: there is no packet in it";
    count_open_ends(&reader);
    free_reader(&reader);
    if (wrong != NULL && error != NULL &&
        asprintf(error, "byte %zu, packet %" PRIu64 ": malformed %s", (size_t)(start - bytes),
                 summary->packets, wrong) < 0)
        abort();
    return wrong == NULL;
}

/* ---- file ------------------------------------------------------------------------------------ */

/* The whole file, malloc'd; NULL: errno. */
static uint8_t *read_file(const char *path, size_t *length)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), failure;
    size_t capacity = (size_t)1 << 20;
    uint8_t *bytes, *grown;
    ssize_t got;

    if (fd < 0)
        return NULL;
    bytes = malloc(capacity);
    if (bytes == NULL)
        abort();
    *length = 0;
    while ((got = read(fd, bytes + *length, capacity - *length)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            break;
        *length += (size_t)got;
        if (*length < capacity)
            continue;
        capacity *= 2;
        grown = realloc(bytes, capacity);
        if (grown == NULL)
            abort();
        bytes = grown;
    }
    failure = errno;
    close(fd);
    if (got < 0) {
        free(bytes);
        bytes = NULL;
    }
    errno = failure;
    return bytes;
}

bool trace_read(const char *path, struct trace_summary *summary, char **error)
{
    char *wrong = NULL;
    size_t length;
    uint8_t *bytes = read_file(path, &length);
    bool ok;

    if (bytes == NULL) {
        memset(summary, 0, sizeof *summary);
        if (error != NULL && asprintf(error, "cannot read %s: %s", path, strerror(errno)) < 0)
            abort();
        return false;
    }
    ok = trace_read_bytes(bytes, length, summary, &wrong);
    free(bytes);
    if (!ok && error != NULL && asprintf(error, "%s: %s", path, wrong) < 0)
        abort();
    free(wrong);
    return ok;
}
