/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The trace's reader: walks the wire format by hand, so that it needs no memory for packets, shares
 * nothing with the writer that it checks, and has one place where lengths are believed
 * (next_field).
 */
#define _GNU_SOURCE /* asprintf */
#include "engine/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace_internal.h"

/* ---- wire ------------------------------------------------------------------------------------ */

enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

struct cursor {
    const uint8_t *at, *end;
    bool malformed;
};

struct field {
    uint64_t number;
    enum wire wire;
    uint64_t value; /* of numbers */
    struct cursor bytes; /* of WIRE_BYTES */
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
    cursor->malformed = true;
    return false;
}

static bool next_fixed(struct cursor *cursor, unsigned bytes, uint64_t *value)
{
    unsigned i;

    if ((size_t)(cursor->end - cursor->at) < bytes) {
        cursor->malformed = true;
        return false;
    }
    *value = 0;
    for (i = 0; i < bytes; i++)
        *value |= (uint64_t)cursor->at[i] << (8 * i);
    cursor->at += bytes;
    return true;
}

/* False at the end, or where the bytes are no message (`malformed`). */
static bool next_field(struct cursor *cursor, struct field *field)
{
    uint64_t tag, length;

    if (cursor->at == cursor->end || !next_varint(cursor, &tag))
        return false;
    field->number = tag >> 3;
    field->wire = (enum wire)(tag & 7);
    field->value = 0;
    field->bytes = (struct cursor){0};
    if (field->number == 0 || field->number > 0x1fffffff) {
        cursor->malformed = true;
        return false;
    }
    switch (field->wire) {
    case WIRE_VARINT:
        return next_varint(cursor, &field->value);
    case WIRE_FIXED64:
        return next_fixed(cursor, 8, &field->value);
    case WIRE_FIXED32:
        return next_fixed(cursor, 4, &field->value);
    case WIRE_BYTES:
        if (!next_varint(cursor, &length) || length > (uint64_t)(cursor->end - cursor->at))
            break;
        field->bytes = (struct cursor){.at = cursor->at, .end = cursor->at + length};
        cursor->at += length;
        return true;
    default: /* groups, which Perfetto does not use */
        break;
    }
    cursor->malformed = true;
    return false;
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
    struct sim_trace_map track_of; /* uuid → place in tracks + 1 */
    struct sim_trace_map names; /* sequence, iid → 1 */
    struct sim_trace_map flows; /* id → events */
    struct sim_trace_map defaults; /* sequence, 0 → default track; sequence, 1 → default clock */
    struct seen_track *tracks;
    size_t track_count;
    bool timed; /* summary->first is valid */
};

/* A packet, its parts not yet looked into. */
struct packet {
    uint64_t timestamp, clock, sequence;
    bool has_timestamp, has_clock;
    struct cursor event, descriptor, interned, defaults; /* .at NULL: none */
};

static struct seen_track *track_at(struct reader *reader, uint64_t uuid)
{
    uint64_t *place = sim_trace_map_at(&reader->track_of, uuid, 0);

    if (*place == 0) {
        reader->tracks =
            sim_trace_grow(reader->tracks, reader->track_count, sizeof *reader->tracks);
        *place = ++reader->track_count;
        reader->tracks[*place - 1].described = uuid == 0;
    }
    return &reader->tracks[*place - 1];
}

static bool read_descriptor(struct reader *reader, struct cursor bytes)
{
    struct field field;
    struct seen_track *track;
    uint64_t uuid = 0, parent = 0;

    while (next_field(&bytes, &field)) {
        if (field.number == 1 && field.wire == WIRE_VARINT)
            uuid = field.value;
        else if (field.number == 5 && field.wire == WIRE_VARINT)
            parent = field.value;
    }
    if (bytes.malformed)
        return false;
    track_at(reader, parent);
    track = track_at(reader, uuid);
    if (!track->described)
        reader->summary->tracks++;
    track->described = true;
    track->parent = parent;
    return true;
}

static bool read_interned(struct reader *reader, struct cursor bytes, uint64_t sequence)
{
    struct field field, part;
    uint64_t iid;

    while (next_field(&bytes, &field)) {
        if (field.number != 2 || field.wire != WIRE_BYTES)
            continue;
        iid = 0;
        while (next_field(&field.bytes, &part))
            if (part.number == 1 && part.wire == WIRE_VARINT)
                iid = part.value;
        if (field.bytes.malformed)
            return false;
        *sim_trace_map_at(&reader->names, sequence, iid) = 1;
    }
    return !bytes.malformed;
}

/* TracePacketDefaults: the track and the clock of what comes on this sequence. */
static bool read_defaults(struct reader *reader, struct cursor bytes, uint64_t sequence)
{
    struct field field, part;

    while (next_field(&bytes, &field)) {
        if (field.number == 58 && field.wire == WIRE_VARINT)
            *sim_trace_map_at(&reader->defaults, sequence, 1) = field.value;
        if (field.number != 11 || field.wire != WIRE_BYTES)
            continue;
        while (next_field(&field.bytes, &part))
            if (part.number == 11 && part.wire == WIRE_VARINT)
                *sim_trace_map_at(&reader->defaults, sequence, 0) = part.value;
        if (field.bytes.malformed)
            return false;
    }
    return !bytes.malformed;
}

/* ---- events ---------------------------------------------------------------------------------- */

static void count_flow(struct reader *reader, uint64_t id)
{
    uint64_t *events = sim_trace_map_at(&reader->flows, id, 0);

    if (*events == 0) {
        reader->summary->flows++;
        reader->summary->single_ended_flows++;
    } else if (*events == 1) {
        reader->summary->single_ended_flows--;
    }
    ++*events;
}

/* Flow ids: fixed64 fields today, varints once; one by one or packed. */
static bool read_flow(struct reader *reader, struct field *field, bool varint)
{
    uint64_t id;

    if (field->wire != WIRE_BYTES) {
        count_flow(reader, field->value);
        return true;
    }
    while (field->bytes.at < field->bytes.end) {
        if (!(varint ? next_varint(&field->bytes, &id) : next_fixed(&field->bytes, 8, &id)))
            return false;
        count_flow(reader, id);
    }
    return true;
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
static bool is_plain_time(struct reader *reader, const struct packet *packet)
{
    uint64_t clock = packet->has_clock ? packet->clock
                                       : *sim_trace_map_at(&reader->defaults, packet->sequence, 1);

    return packet->has_timestamp && clock < 64;
}

static bool read_event(struct reader *reader, const struct packet *packet)
{
    struct cursor bytes = packet->event;
    struct field field;
    struct seen_track *track;
    uint64_t uuid = *sim_trace_map_at(&reader->defaults, packet->sequence, 0), type = 0, iid = 0;

    while (next_field(&bytes, &field)) {
        if (field.number == 47 || field.number == 48) {
            if (!read_flow(reader, &field, false))
                return false;
        } else if (field.number == 36 || field.number == 42) {
            if (!read_flow(reader, &field, true))
                return false;
        } else if (field.wire == WIRE_VARINT) {
            if (field.number == 9)
                type = field.value;
            else if (field.number == 10)
                iid = field.value;
            else if (field.number == 11)
                uuid = field.value;
        }
    }
    if (bytes.malformed)
        return false;
    track = track_at(reader, uuid);
    count_type(reader, track, type);
    if (is_plain_time(reader, packet))
        count_time(reader, track, packet->timestamp);
    if (iid != 0 && *sim_trace_map_at(&reader->names, packet->sequence, iid) == 0)
        reader->summary->unknown_names++;
    track->events++;
    return true;
}

/* ---- packets --------------------------------------------------------------------------------- */

static void keep_number(struct packet *packet, const struct field *field)
{
    switch (field->number) {
    case 8:
        packet->timestamp = field->value;
        packet->has_timestamp = true;
        break;
    case 10:
        packet->sequence = field->value;
        break;
    case 58:
        packet->clock = field->value;
        packet->has_clock = true;
        break;
    default:
        break;
    }
}

static void keep_message(struct packet *packet, const struct field *field)
{
    switch (field->number) {
    case 11:
        packet->event = field->bytes;
        break;
    case 12:
        packet->interned = field->bytes;
        break;
    case 59:
        packet->defaults = field->bytes;
        break;
    case 60:
        packet->descriptor = field->bytes;
        break;
    default:
        break;
    }
}

/* NULL, or what of the packet is malformed. */
static const char *read_packet(struct reader *reader, struct cursor bytes)
{
    struct packet packet = {0};
    struct field field;

    while (next_field(&bytes, &field)) {
        if (field.wire == WIRE_VARINT)
            keep_number(&packet, &field);
        else if (field.wire == WIRE_BYTES)
            keep_message(&packet, &field);
    }
    if (bytes.malformed)
        return "packet";
    if (packet.interned.at != NULL && !read_interned(reader, packet.interned, packet.sequence))
        return "interned data";
    if (packet.defaults.at != NULL && !read_defaults(reader, packet.defaults, packet.sequence))
        return "packet defaults";
    if (packet.descriptor.at != NULL && !read_descriptor(reader, packet.descriptor))
        return "track descriptor";
    if (packet.event.at != NULL && !read_event(reader, &packet))
        return "track event";
    return NULL;
}

static void count_open_ends(struct reader *reader)
{
    struct trace_summary *summary = reader->summary;
    const struct seen_track *track;
    size_t i;

    for (i = 0; i < reader->track_count; i++) {
        track = &reader->tracks[i];
        summary->unbalanced_slices += track->depth;
        if (!track->described)
            summary->unknown_tracks += track->events;
        else if (!track_at(reader, track->parent)->described)
            summary->unknown_tracks++;
    }
}

static void free_reader(struct reader *reader)
{
    sim_trace_map_free(&reader->track_of);
    sim_trace_map_free(&reader->names);
    sim_trace_map_free(&reader->flows);
    sim_trace_map_free(&reader->defaults);
    free(reader->tracks);
}

bool trace_read_bytes(const uint8_t *bytes, size_t length, struct trace_summary *summary,
                      char **error)
{
    struct reader reader = {.summary = summary};
    struct cursor cursor = {.at = bytes, .end = bytes + length};
    const uint8_t *start = bytes;
    const char *wrong = NULL;
    struct field field;

    memset(summary, 0, sizeof *summary);
    while (wrong == NULL && next_field(&cursor, &field)) {
        if (field.number == 1 && field.wire == WIRE_BYTES) {
            summary->packets++;
            wrong = read_packet(&reader, field.bytes);
        }
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
