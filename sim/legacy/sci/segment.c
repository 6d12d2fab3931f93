/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Segments: local ones, connections to remote ones, maps. */
#include <assert.h>

#include "devices.h"

enum { SIZE_UNIT = 8, SEGMENT_BYTES_MAX = 1 << 28, ALIGNMENT = 64 };
enum { MAP_FLAGS = SCI_FLAG_READONLY_MAP | SCI_FLAG_IO_MAP_IOSPACE };

static struct sci_memory *memory_new(uint32_t endpoint, size_t size)
{
    struct sci_memory *memory = g_new0(struct sci_memory, 1);
    size_t bytes = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;

    memory->refs = 1;
    memory->endpoint = endpoint;
    memory->size = size;
    memory->bytes = g_aligned_alloc0(1, bytes, ALIGNMENT);
    return memory;
}

void sci_memory_unref(struct sci_memory *memory)
{
    assert(memory->refs > 0);
    if (--memory->refs != 0)
        return;
    g_aligned_free(memory->bytes);
    g_free(memory);
}

/* Of a segment's card; NULL: none is prepared. */
static struct sci_local_segment *segment_find(const struct sci_card *card, unsigned id)
{
    struct sci_local_segment *segment;

    for (segment = card->segments; segment != NULL && segment->id != id; segment = segment->on_card)
        ;
    return segment;
}

/* ---- local segments -------------------------------------------------------------------------- */

static bool id_is_used(const struct sci_process *process, unsigned id)
{
    const struct sci_desc *desc;
    const struct sci_local_segment *segment;

    for (desc = process->descs; desc != NULL; desc = desc->next)
        for (segment = desc->segments; segment != NULL; segment = segment->next)
            if (segment->id == id)
                return true;
    return false;
}

/* SCI_FLAG_AUTO_ID: above what programs choose. */
static unsigned unused_id(const struct sci_process *process, struct sci_card *card)
{
    enum { FIRST = 1 << 30 };
    unsigned id;

    do
        id = FIRST + card->next_id++;
    while (id_is_used(process, id) || segment_find(card, id) != NULL);
    return id;
}

unsigned SCIGetLocalSegmentId(sci_local_segment_t segment)
{
    return segment != NULL ? segment->id : 0;
}

void SCICreateSegment(sci_desc_t desc, sci_local_segment_t *segment, unsigned id, size_t size,
                      sci_cb_local_segment_t callback, void *arg, unsigned flags,
                      sci_error_t *error)
{
    struct sci_local_segment *made;
    struct sci_card *card = sci_card_find(0, error);

    if (card == NULL ||
        !sci_flags_ok(flags, SCI_FLAG_USE_CALLBACK | SCI_FLAG_AUTO_ID | SCI_FLAG_DMA_GLOBAL, error))
        return;
    if ((flags & SCI_FLAG_AUTO_ID) != 0 && desc != NULL)
        id = unused_id(desc->process, card);
    if (sci_fails(error, desc == NULL || segment == NULL      ? SCI_ERR_ILLEGAL_PARAMETER
                         : size == 0 || size % SIZE_UNIT != 0 ? SCI_ERR_SIZE_ALIGNMENT
                         : size > SEGMENT_BYTES_MAX           ? SCI_ERR_NOSPC
                         : id_is_used(desc->process, id) || segment_find(card, id) != NULL
                             ? SCI_ERR_SEGMENTID_USED
                             : SCI_ERR_OK))
        return;
    made = g_new0(struct sci_local_segment, 1);
    made->desc = desc;
    made->id = id;
    made->memory = memory_new(card->endpoint, size);
    made->callback = (flags & SCI_FLAG_USE_CALLBACK) != 0 ? callback : NULL;
    made->arg = arg;
    made->next = desc->segments;
    desc->segments = made;
    desc->objects++;
    *segment = made;
}

void SCIPrepareSegment(sci_local_segment_t segment, unsigned adapter, unsigned flags,
                       sci_error_t *error)
{
    struct sci_card *card = sci_card_find(adapter, error);

    if (card == NULL ||
        !sci_flags_ok(flags, SCI_FLAG_DMA_SOURCE_ONLY | SCI_FLAG_DMA_GLOBAL, error) ||
        sci_fails(error, segment == NULL                           ? SCI_ERR_ILLEGAL_PARAMETER
                         : segment->card != NULL                   ? SCI_ERR_ILLEGAL_OPERATION
                         : segment_find(card, segment->id) != NULL ? SCI_ERR_SEGMENTID_USED
                                                                   : SCI_ERR_OK))
        return;
    segment->card = card;
    segment->memory->endpoint = card->endpoint;
    segment->on_card = card->segments;
    card->segments = segment;
}

static void set_available(sci_local_segment_t segment, unsigned adapter, bool available,
                          unsigned flags, sci_error_t *error)
{
    const struct sci_card *card = sci_card_find(adapter, error);

    if (card == NULL || !sci_flags_ok(flags, 0, error) ||
        sci_fails(error, segment == NULL                   ? SCI_ERR_ILLEGAL_PARAMETER
                         : segment->card != card           ? SCI_ERR_SEGMENT_NOT_PREPARED
                         : segment->available == available ? SCI_ERR_ILLEGAL_OPERATION
                                                           : SCI_ERR_OK))
        return;
    sim_settle();
    segment->available = available;
}

void SCISetSegmentAvailable(sci_local_segment_t segment, unsigned adapter, unsigned flags,
                            sci_error_t *error)
{
    set_available(segment, adapter, true, flags, error);
}

void SCISetSegmentUnavailable(sci_local_segment_t segment, unsigned adapter, unsigned flags,
                              sci_error_t *error)
{
    set_available(segment, adapter, false, flags, error);
}

static void segment_free(struct sci_local_segment *segment)
{
    struct sci_local_segment **place;

    for (place = &segment->desc->segments; *place != segment; place = &(*place)->next)
        ;
    *place = segment->next;
    if (segment->card != NULL) {
        for (place = &segment->card->segments; *place != segment; place = &(*place)->on_card)
            ;
        *place = segment->on_card;
    }
    segment->desc->objects--;
    segment->memory->revoked = true;
    sci_memory_unref(segment->memory);
    sci_events_free(&segment->events);
    g_free(segment);
}

void SCIRemoveSegment(sci_local_segment_t segment, unsigned flags, sci_error_t *error)
{
    if (!sci_flags_ok(flags, 0, error) ||
        sci_fails(error, segment == NULL ? SCI_ERR_ILLEGAL_PARAMETER : SCI_ERR_OK))
        return;
    sim_settle();
    if (!sci_fails(error,
                   segment->maps != 0 || segment->connections != 0 ? SCI_ERR_BUSY : SCI_ERR_OK))
        segment_free(segment);
}

/* ---- remote segments ------------------------------------------------------------------------- */

static bool is_refused(struct sci_local_segment *segment, const struct sci_card *from)
{
    return !segment->available ||
           (segment->callback != NULL &&
            segment->callback(segment->arg, segment, SCI_CB_CONNECT, sci_node_of(from), 0,
                              SCI_ERR_OK) == SCI_CALLBACK_CANCEL);
}

/* The end of the connection's time: whether it is made. */
static sci_error_t try_connect(struct sci_card *card, struct sci_card *to, unsigned id,
                               struct sci_local_segment **found)
{
    sci_error_t access = sci_access(card, to);

    if (access != SCI_ERR_OK)
        return access;
    *found = segment_find(to, id);
    if (*found == NULL)
        return SCI_ERR_NO_SUCH_SEGMENT;
    return is_refused(*found, card) ? SCI_ERR_CONNECTION_REFUSED : SCI_ERR_OK;
}

void SCIConnectSegment(sci_desc_t desc, sci_remote_segment_t *segment, unsigned node, unsigned id,
                       unsigned adapter, sci_cb_remote_segment_t callback, void *arg,
                       unsigned timeout, unsigned flags, sci_error_t *error)
{
    struct sci_card *card = sci_card_find(adapter, error), *to;
    struct sci_local_segment *found = NULL;
    struct sci_remote_segment *made;

    if (card == NULL || !sci_flags_ok(flags, SCI_FLAG_USE_CALLBACK, error) ||
        sci_fails(error, desc == NULL || segment == NULL ? SCI_ERR_ILLEGAL_PARAMETER : SCI_ERR_OK))
        return;
    to = sci_card_of_node(card, node);
    if (sci_fails(error, to == NULL ? SCI_ERR_ILLEGAL_NODEID : SCI_ERR_OK))
        return;
    if (!sci_connecting(card, timeout, error) ||
        sci_fails(error, try_connect(card, to, id, &found)))
        return;
    made = g_new0(struct sci_remote_segment, 1);
    made->desc = desc;
    made->card = card;
    made->segment = found;
    made->memory = found->memory;
    made->memory->refs++;
    made->id = id;
    made->callback = (flags & SCI_FLAG_USE_CALLBACK) != 0 ? callback : NULL;
    made->arg = arg;
    made->next = desc->remotes;
    desc->remotes = made;
    desc->objects++;
    found->connections++;
    if (found->callback == NULL)
        sci_event(&found->events, SCI_CB_CONNECT, card, SCI_ERR_OK);
    *segment = made;
}

static void remote_free(struct sci_remote_segment *remote)
{
    struct sci_remote_segment **place;
    struct sci_local_segment *segment = remote->segment;

    for (place = &remote->desc->remotes; *place != remote; place = &(*place)->next)
        ;
    *place = remote->next;
    remote->desc->objects--;
    sci_memory_unref(remote->memory);
    if (segment != NULL) {
        assert(segment->connections > 0);
        segment->connections--;
        if (segment->callback != NULL)
            segment->callback(segment->arg, segment, SCI_CB_DISCONNECT, sci_node_of(remote->card),
                              0, SCI_ERR_OK);
        else
            sci_event(&segment->events, SCI_CB_DISCONNECT, remote->card, SCI_ERR_OK);
    }
    sci_events_free(&remote->events);
    g_free(remote);
}

void SCIDisconnectSegment(sci_remote_segment_t segment, unsigned flags, sci_error_t *error)
{
    if (!sci_flags_ok(flags, 0, error) ||
        sci_fails(error, segment == NULL      ? SCI_ERR_ILLEGAL_PARAMETER
                         : segment->maps != 0 ? SCI_ERR_BUSY
                                              : SCI_ERR_OK))
        return;
    sim_settle();
    remote_free(segment);
}

size_t SCIGetRemoteSegmentSize(sci_remote_segment_t segment)
{
    return segment != NULL ? segment->memory->size : 0;
}

unsigned SCIGetRemoteSegmentId(sci_remote_segment_t segment)
{
    return segment != NULL ? segment->id : 0;
}

/* ---- maps ------------------------------------------------------------------------------------ */

static sci_error_t check_extent(size_t offset, size_t size, size_t whole)
{
    return offset % SIZE_UNIT != 0                   ? SCI_ERR_OFFSET_ALIGNMENT
           : size == 0 || size % SIZE_UNIT != 0      ? SCI_ERR_SIZE_ALIGNMENT
           : offset > whole || size > whole - offset ? SCI_ERR_OUT_OF_RANGE
                                                     : SCI_ERR_OK;
}

static struct sci_sequence *sequence_new(struct sci_map *map)
{
    struct sci_sequence *sequence = g_new0(struct sci_sequence, 1);
    struct sci_card *card = sci_map_card(map);

    sim_random_init(&sequence->random, card->random_seed, "sequence", card->sequences++);
    sequence->refs = 1;
    sequence->map = map;
    sequence->waiters = g_ptr_array_new();
    g_queue_init(&sequence->in_flight);
    return sequence;
}

static struct sci_map *map_new(struct sci_desc *desc, size_t offset, size_t size)
{
    struct sci_map *map = g_new0(struct sci_map, 1);

    map->desc = desc;
    map->offset = offset;
    map->size = size;
    map->next = desc->maps;
    desc->maps = map;
    return map;
}

void *SCIMapLocalSegment(sci_local_segment_t segment, sci_map_t *map, size_t offset, size_t size,
                         void *hint, unsigned flags, sci_error_t *error)
{
    (void)hint;
    if (!sci_flags_ok(flags, MAP_FLAGS, error) ||
        sci_fails(error, segment == NULL || map == NULL ? SCI_ERR_ILLEGAL_PARAMETER : SCI_ERR_OK) ||
        sci_fails(error, check_extent(offset, size, segment->memory->size)))
        return NULL;
    *map = map_new(segment->desc, offset, size);
    (*map)->local = segment;
    segment->maps++;
    return segment->memory->bytes + offset;
}

volatile void *SCIMapRemoteSegment(sci_remote_segment_t segment, sci_map_t *map, size_t offset,
                                   size_t size, void *hint, unsigned flags, sci_error_t *error)
{
    (void)hint;
    if (!sci_flags_ok(flags, MAP_FLAGS, error) ||
        sci_fails(error, segment == NULL || map == NULL ? SCI_ERR_ILLEGAL_PARAMETER : SCI_ERR_OK) ||
        sci_fails(error, check_extent(offset, size, segment->memory->size)))
        return NULL;
    *map = map_new(segment->desc, offset, size);
    (*map)->remote = segment;
    (*map)->sequence = sequence_new(*map);
    segment->maps++;
    return segment->memory->bytes + offset;
}

static void map_free(struct sci_map *map)
{
    struct sci_map **place;

    for (place = &map->desc->maps; *place != map; place = &(*place)->next)
        ;
    *place = map->next;
    if (map->local != NULL) {
        map->local->maps--;
    } else {
        sci_flush(map->remote->card, map->sequence);
        map->sequence->map = NULL;
        sci_sequence_unref(map->sequence);
        map->remote->maps--;
    }
    g_free(map);
}

void SCIUnmapSegment(sci_map_t map, unsigned flags, sci_error_t *error)
{
    if (!sci_flags_ok(flags, 0, error) ||
        sci_fails(error, map == NULL ? SCI_ERR_ILLEGAL_PARAMETER
                         : map->sequence != NULL && map->sequence->created ? SCI_ERR_BUSY
                                                                           : SCI_ERR_OK))
        return;
    sim_settle();
    map_free(map);
}

void SCICreateMapSequence(sci_map_t map, sci_sequence_t *sequence, unsigned flags,
                          sci_error_t *error)
{
    if (!sci_flags_ok(flags, SCI_FLAG_FAST_BARRIER, error) ||
        sci_fails(error, map == NULL || map->remote == NULL || sequence == NULL
                             ? SCI_ERR_ILLEGAL_PARAMETER
                         : map->sequence->created ? SCI_ERR_ILLEGAL_OPERATION
                                                  : SCI_ERR_OK))
        return;
    map->sequence->created = true;
    *sequence = map->sequence;
}

void SCIRemoveSequence(sci_sequence_t sequence, unsigned flags, sci_error_t *error)
{
    if (!sci_flags_ok(flags, 0, error) ||
        sci_fails(error,
                  sequence == NULL || !sequence->created ? SCI_ERR_ILLEGAL_PARAMETER : SCI_ERR_OK))
        return;
    sim_settle();
    sci_flush(sci_map_card(sequence->map), sequence);
    sequence->created = false;
}

/* ---- the end of a process -------------------------------------------------------------------- */

void sci_segments_release(struct sci_desc *desc)
{
    while (desc->maps != NULL)
        map_free(desc->maps);
    while (desc->remotes != NULL)
        remote_free(desc->remotes);
    while (desc->segments != NULL) {
        sci_segment_lost(desc->segments);
        segment_free(desc->segments);
    }
}
