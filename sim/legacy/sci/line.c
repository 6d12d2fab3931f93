/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Lines, the transactions of SCI, from the card of the sender to the memory of the receiver:
 *
 *   stored ──full, barrier, hold──▶ link ──▶ decided ──base──▶ visible
 *                                    ▲          │ lost: again, some times
 *                                    └──────────┴──▶ given up: the sequence has failed
 */
#include <assert.h>
#include <string.h>

#include "devices.h"

enum { WORDS = SCI_LINE_BYTES / 4, REORDERED = 32 /* lines that may overtake each other */ };

/* The stores of a line. Two lines that arrive in the other order exchange their contents. */
struct content {
    struct sci_memory *memory;
    size_t offset; /* in the segment, of the line */
    uint32_t words[WORDS];
    uint16_t stored; /* a bit for each word */
    sim_time_t left; /* the card's buffer; SIM_NEVER: it is there */
};

struct sci_line {
    struct sim_timer timer; /* its next step */
    struct sci_card *card;
    struct sci_sequence *sequence;
    uint64_t epoch;
    unsigned tries;
    struct content content;
    GList link; /* in the sequence's lines */
};

static struct sci_line *line_of(struct sim_event *event)
{
    return sim_container_of(event, struct sci_line, timer.event);
}

struct sci_card *sci_map_card(const struct sci_map *map)
{
    return map->remote->card;
}

/* ---- on the link ----------------------------------------------------------------------------- */

/*
 * The line is done. Memory has changed with each line, but a processor that spins on it sees the
 * lines between two barriers when the last of them is there: the formulas of the model say so.
 */
static void line_free(struct sci_line *line)
{
    struct sci_sequence *sequence = line->sequence;
    struct sci_card *target = &line->card->devices->cards[line->content.memory->endpoint];
    const struct sci_line *first;

    g_queue_unlink(&sequence->in_flight, &line->link);
    first = g_queue_peek_head(&sequence->in_flight);
    if (first == NULL || first->epoch != line->epoch)
        sci_card_arrival(target);
    sci_memory_unref(line->content.memory);
    g_free(line);
    sci_sequence_unref(sequence);
}

static void write_words(const struct content *content)
{
    volatile uint32_t *target;
    unsigned i;

    assert(content->offset + SCI_LINE_BYTES <= content->memory->size + SCI_LINE_BYTES - 1);
    target = (volatile uint32_t *)(void *)(content->memory->bytes + content->offset);
    for (i = 0; i < WORDS; i++)
        if (content->stored >> i & 1)
            target[i] = content->words[i];
}

/* One of the lines that may be seen now. All of them left after the same barrier. */
static struct sci_line *choose(struct sci_line *line)
{
    sim_time_t base = legacy_service(line->card->devices->network, SCI_BASE_US, 1);
    struct sci_line *candidates[REORDERED];
    uint32_t count = 0;
    GList *each;

    for (each = line->sequence->in_flight.head; each != NULL && count < REORDERED;
         each = each->next) {
        struct sci_line *other = each->data;

        if (other->epoch == line->epoch && other->content.left <= sim_now() - base)
            candidates[count++] = other;
    }
    return count != 0 ? candidates[sim_random_below(&line->sequence->random, count)] : line;
}

static void become_visible(struct sim_event *event)
{
    struct sci_line *line = line_of(event), *other = choose(line);
    struct sci_devices *devices = line->card->devices;
    struct content content = other->content;

    other->content = line->content;
    line->content = content;
    if (!content.memory->revoked)
        write_words(&content);
    sim_ledger_count(&devices->book, 0, 1);
    line_free(line);
}

static void decided(struct sci_line *line, sim_time_t at)
{
    struct sci_sequence *sequence = line->sequence;

    assert(sequence->undecided > 0);
    sequence->settled_at = MAX(sequence->settled_at, at);
    if (--sequence->undecided == 0)
        sci_wake(sequence->waiters);
}

static void give_up(struct sci_line *line, bool unreachable)
{
    struct sci_sequence *sequence = line->sequence;

    sequence->failed = true;
    if (!sequence->down && unreachable)
        sequence->down_since = sim_now();
    sequence->down = unreachable;
    sim_ledger_count_lost(&line->card->devices->book, 1);
    decided(line, sim_now());
    line_free(line);
}

static void decide(struct sim_event *event)
{
    struct sci_line *line = line_of(event);
    struct legacy_network *network = line->card->devices->network;
    struct legacy_packet packet = {.source = line->card->endpoint,
                                   .target = line->content.memory->endpoint,
                                   .bytes = SCI_LINE_BYTES,
                                   .what = "line"};
    enum legacy_outcome outcome = legacy_transmit(network, &packet);

    if (outcome == LEGACY_LOST && ++line->tries < SCI_TRIES_MAX) {
        sim_timer_arm(&line->timer, sim_now() + legacy_service(network, SCI_RETRY_US, 1));
        return;
    }
    if (outcome != LEGACY_DELIVERED) {
        give_up(line, outcome == LEGACY_UNREACHABLE);
        return;
    }
    line->sequence->down = false;
    decided(line, sim_now() + packet.delay);
    line->timer.event.fire = become_visible;
    sim_timer_arm(&line->timer, sim_now() + packet.delay + legacy_service(network, SCI_BASE_US, 1));
}

/* Lines that leave one after the other are one service, which is rounded as a whole. */
static sim_time_t occupy_link(struct sci_card *card)
{
    struct legacy_network *network = card->devices->network;

    if (card->link.free_at <= sim_now()) {
        card->batch = 0;
        card->batch_began = sim_now();
    }
    card->batch++;
    return legacy_occupy(&card->link, sim_now(),
                         card->batch_began +
                             legacy_service(network, SCI_LINE_US, (double)card->batch) -
                             MAX(card->link.free_at, sim_now()));
}

/* ---- in the card ----------------------------------------------------------------------------- */

static void leave(struct sci_line *line)
{
    struct sci_card *card = line->card;
    uint32_t i;

    for (i = 0; i < card->buffer_count && card->buffers[i] != line; i++)
        ;
    assert(i < card->buffer_count);
    memmove(&card->buffers[i], &card->buffers[i + 1],
            (--card->buffer_count - i) * sizeof(card->buffers[0]));
    line->content.left = sim_now();
    line->timer.event.fire = decide;
    sim_timer_arm(&line->timer, occupy_link(card));
}

static void held_long_enough(struct sim_event *event)
{
    leave(line_of(event));
}

static struct sci_line *line_new(struct sci_card *card, struct sci_map *map, size_t offset)
{
    struct sci_line *line = g_new0(struct sci_line, 1);
    struct sci_sequence *sequence = map->sequence;

    if (card->buffer_count == SCI_BUFFERS)
        leave(card->buffers[0]);
    card->buffers[card->buffer_count++] = line;
    line->card = card;
    line->sequence = sequence;
    line->epoch = sequence->epoch; /* a barrier makes it leave */
    line->content.memory = map->remote->memory;
    line->content.offset = offset;
    line->content.left = SIM_NEVER;
    line->link.data = line;
    map->remote->memory->refs++;
    sequence->refs++;
    sequence->undecided++;
    sequence->stored++;
    g_queue_push_tail_link(&sequence->in_flight, &line->link);
    sim_ledger_count(&card->devices->book, 1, 0);
    line->timer.event.fire = held_long_enough;
    sim_timer_arm(&line->timer, sim_now() + legacy_service(card->devices->network, SCI_HOLD_US, 1));
    return line;
}

static struct sci_line *line_find(struct sci_card *card, struct sci_map *map, size_t offset)
{
    uint32_t i;

    for (i = 0; i < card->buffer_count; i++)
        if (card->buffers[i]->sequence == map->sequence &&
            card->buffers[i]->content.offset == offset)
            return card->buffers[i];
    return line_new(card, map, offset);
}

void sci_store(struct sci_map *map, size_t offset, const void *words, size_t size)
{
    struct sci_card *card = sci_map_card(map);
    size_t at = map->offset + offset, end = at + size;
    const unsigned char *from = words;

    assert(at % 4 == 0 && size % 4 == 0 && offset + size <= map->size);
    for (; at < end; at += 4, from += 4) {
        struct sci_line *line = line_find(card, map, at / SCI_LINE_BYTES * SCI_LINE_BYTES);
        unsigned word = (unsigned)(at % SCI_LINE_BYTES / 4);

        memcpy(&line->content.words[word], from, 4);
        line->content.stored = (uint16_t)(line->content.stored | 1u << word);
        if (word == WORDS - 1)
            leave(line);
    }
}

void sci_flush(struct sci_card *card, const struct sci_sequence *sequence)
{
    uint32_t i = 0;

    while (i < card->buffer_count)
        if (sequence == NULL || card->buffers[i]->sequence == sequence)
            leave(card->buffers[i]);
        else
            i++;
}

void sci_sequence_unref(struct sci_sequence *sequence)
{
    if (--sequence->refs != 0)
        return;
    g_ptr_array_unref(sequence->waiters);
    g_free(sequence);
}

/* ---- SISCI ----------------------------------------------------------------------------------- */

void sisci_store32(sci_map_t map, size_t offset, uint32_t value)
{
    assert(map != NULL && map->remote != NULL && offset % 4 == 0 && offset + 4 <= map->size);
    sim_settle();
    sci_store(map, offset, &value, sizeof(value));
}

static void copy(const void *source, sci_map_t map, size_t offset, size_t size, sci_error_t *error)
{
    struct sci_card *card;

    if (sci_fails(error, map == NULL || map->remote == NULL || source == NULL
                             ? SCI_ERR_ILLEGAL_PARAMETER
                         : offset % 4 != 0 ? SCI_ERR_OFFSET_ALIGNMENT
                         : size % 4 != 0   ? SCI_ERR_SIZE_ALIGNMENT
                         : offset > map->size || size > map->size - offset ? SCI_ERR_OUT_OF_RANGE
                                                                           : SCI_ERR_OK))
        return;
    sim_settle();
    card = sci_map_card(map);
    sci_store(map, offset, source, size);
    if (card->link.free_at > sim_now())
        sim_sleep_until(card->link.free_at);
}

void SCIMemCopy(const void *source, sci_map_t map, size_t offset, size_t size, unsigned flags,
                sci_error_t *error)
{
    if (sci_flags_ok(flags, SCI_FLAG_BLOCK_READ | SCI_FLAG_ERROR_CHECK, error))
        copy(source, map, offset, size, error);
    if (*error == SCI_ERR_OK && (flags & SCI_FLAG_ERROR_CHECK) != 0) {
        SCIStoreBarrier(map->sequence, 0, error);
        if (map->sequence->failed)
            *error = SCI_ERR_TRANSFER_FAILED;
    }
}

void SCIMemCpy(sci_sequence_t sequence, const void *source, sci_map_t map, size_t offset,
               size_t size, unsigned flags, sci_error_t *error)
{
    if (sequence == NULL || map == NULL || map->sequence != sequence)
        *error = SCI_ERR_ILLEGAL_PARAMETER;
    else
        SCIMemCopy(source, map, offset, size, flags, error);
}

void SCITransferBlock(sci_map_t source, size_t source_offset, sci_map_t target,
                      size_t target_offset, size_t size, unsigned flags, sci_error_t *error)
{
    if (source == NULL || source->local == NULL)
        *error = SCI_ERR_ILLEGAL_PARAMETER;
    else if (source_offset > source->size || size > source->size - source_offset)
        *error = SCI_ERR_OUT_OF_RANGE;
    else
        SCIMemCopy(source->local->memory->bytes + source->offset + source_offset, target,
                   target_offset, size, flags, error);
}

void(SCIStoreBarrier)(sci_sequence_t sequence, unsigned flags, sci_error_t *error)
{
    static const struct sim_wait wait = {.text = "SCIStoreBarrier"};
    struct legacy_network *network;
    struct sci_card *card;

    if (!sci_flags_ok(flags, 0, error) ||
        sci_fails(error, sequence == NULL || sequence->map == NULL ? SCI_ERR_ILLEGAL_PARAMETER
                                                                   : SCI_ERR_OK))
        return;
    sim_settle();
    if (sequence->stored == 0) { /* another thread may wait for the same lines */
        if (sequence->settled_at > sim_now())
            sim_sleep_until(sequence->settled_at);
        return;
    }
    card = sci_map_card(sequence->map);
    network = card->devices->network;
    sci_flush(card, sequence);
    while (sequence->undecided != 0)
        sci_wait(sequence->waiters, SIM_NEVER, &wait);
    sequence->stored = 0;
    sequence->epoch++;
    sim_sleep_until(MAX(sequence->settled_at, sim_now()) +
                    legacy_service(network, SCI_BARRIER_US, 1));
}

void SCIFlush(sci_sequence_t sequence, unsigned flags)
{
    (void)flags;
    if (sequence == NULL || sequence->map == NULL)
        return;
    sim_settle();
    sci_flush(sci_map_card(sequence->map), sequence);
}

void SCIFlushReadBuffers(sci_sequence_t sequence)
{
    (void)sequence;
}

static sci_sequence_status_t status_of(struct sci_sequence *sequence)
{
    struct legacy_network *network = sci_map_card(sequence->map)->devices->network;

    if (!sequence->failed)
        return SCI_SEQ_OK;
    return sequence->down &&
                   sim_now() - sequence->down_since >= legacy_service(network, SCI_DEAD_US, 1)
               ? SCI_SEQ_NOT_RETRIABLE
               : SCI_SEQ_RETRIABLE;
}

sci_sequence_status_t SCICheckSequence(sci_sequence_t sequence, unsigned flags, sci_error_t *error)
{
    if (!sci_flags_ok(flags, SCI_FLAG_NO_FLUSH | SCI_FLAG_NO_STORE_BARRIER, error) ||
        sci_fails(error, sequence == NULL || sequence->map == NULL ? SCI_ERR_ILLEGAL_PARAMETER
                                                                   : SCI_ERR_OK))
        return SCI_SEQ_NOT_RETRIABLE;
    if ((flags & SCI_FLAG_NO_STORE_BARRIER) == 0)
        SCIStoreBarrier(sequence, 0, error);
    else if ((flags & SCI_FLAG_NO_FLUSH) == 0)
        SCIFlush(sequence, 0);
    sim_settle();
    if (!sequence->failed && (sequence->undecided != 0 || sequence->settled_at > sim_now()))
        return SCI_SEQ_PENDING;
    return status_of(sequence);
}

sci_sequence_status_t SCIStartSequence(sci_sequence_t sequence, unsigned flags, sci_error_t *error)
{
    sci_sequence_status_t status;

    if (!sci_flags_ok(flags, 0, error) ||
        sci_fails(error, sequence == NULL || sequence->map == NULL ? SCI_ERR_ILLEGAL_PARAMETER
                                                                   : SCI_ERR_OK))
        return SCI_SEQ_NOT_RETRIABLE;
    sim_settle();
    status = status_of(sequence);
    sequence->failed = false;
    return status == SCI_SEQ_NOT_RETRIABLE ? status : SCI_SEQ_OK;
}
