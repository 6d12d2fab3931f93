/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "engine/ledger.h"

#include <assert.h>
#include <endian.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define TEXTS_MAX 32
#define TEXT_BYTES 256

static struct {
    struct sim_ledger_book *first, *last;
    uint64_t violations;
    unsigned texts;
    char text[TEXTS_MAX][TEXT_BYTES];
    bool closed;
} ledger;

/* Takes what belongs to no registered book, so that not even a layer's worst mistake goes unseen.
 */
static struct sim_ledger_book stray;

/* ---- digest ---------------------------------------------------------------------------------- */

/*
 * The message is seen as 8-byte words of two halves. Word i contributes (low + a_i) * (high + b_i),
 * where the sums are taken modulo 2^32 and the product is not (the NH hash), and a_i, b_i are two
 * arithmetic progressions of odd step: one multiplication for 8 bytes, of a kind that processors
 * have for several words at a time, and no state from word to word, so pieces may be summed in any
 * order. A word of which a piece has only some bytes gets a_i and b_i of its own for each (first
 * byte, count), so that "ab" is not "ab\0".
 */
#define A_STEP 0x9e3779b1u
#define A_FIRST 0x72be579bu
#define B_STEP 0x85ebca77u
#define B_FIRST 0xb3f025b5u
#define PARTIAL 0x27d4eb2fu

static inline uint64_t product(uint64_t word, uint32_t a, uint32_t b)
{
    return (uint64_t)((uint32_t)word + a) * ((uint32_t)(word >> 32) + b);
}

static inline uint64_t load(const uint8_t *bytes)
{
    uint64_t word;

    memcpy(&word, bytes, sizeof word);
    return le64toh(word);
}

/* `count` bytes that start `first` bytes into word i; first + count <= 8 */
static uint64_t digest_partial(const uint8_t *bytes, unsigned first, unsigned count, uint64_t i)
{
    uint32_t a = A_FIRST + (uint32_t)i * A_STEP, b = B_FIRST + (uint32_t)i * B_STEP;
    uint32_t part = (first << 3 | count) * PARTIAL;
    uint8_t word[8] = {0};

    memcpy(word + first, bytes, count);
    return product(load(word), a ^ part, b + part);
}

/* Words whose first has these keys. */
static inline uint64_t digest_few(const uint8_t *at, uint64_t words, uint32_t a, uint32_t b)
{
    uint64_t sum = 0;

    for (; words > 0; words--, at += 8, a += A_STEP, b += B_STEP)
        sum += product(load(at), a, b);
    return sum;
}

/* Whole words from word i on. */
#ifdef __SSE2__
static inline __m128i product_of_two(const uint8_t *at, __m128i keys)
{
    __m128i sums = _mm_add_epi32(_mm_loadu_si128((const __m128i *)at), keys);

    return _mm_mul_epu32(sums, _mm_srli_epi64(sums, 32));
}

static uint64_t digest_words(const uint8_t *at, uint64_t words, uint64_t i)
{
    uint32_t a = A_FIRST + (uint32_t)i * A_STEP, b = B_FIRST + (uint32_t)i * B_STEP;
    __m128i keys = _mm_set_epi32((int)(b + B_STEP), (int)(a + A_STEP), (int)b, (int)a);
    const __m128i step =
        _mm_set_epi32((int)(2 * B_STEP), (int)(2 * A_STEP), (int)(2 * B_STEP), (int)(2 * A_STEP));
    __m128i sum = _mm_setzero_si128(), other = sum;

    for (; words >= 4; words -= 4, at += 32) {
        sum = _mm_add_epi64(sum, product_of_two(at, keys));
        keys = _mm_add_epi32(keys, step);
        other = _mm_add_epi64(other, product_of_two(at + 16, keys));
        keys = _mm_add_epi32(keys, step);
    }
    sum = _mm_add_epi64(sum, other);
    a = (uint32_t)_mm_cvtsi128_si32(keys);
    b = (uint32_t)((uint64_t)_mm_cvtsi128_si64(keys) >> 32);
    sum = _mm_add_epi64(sum, _mm_srli_si128(sum, 8));
    return (uint64_t)_mm_cvtsi128_si64(sum) + digest_few(at, words, a, b);
}
#else
static uint64_t digest_words(const uint8_t *at, uint64_t words, uint64_t i)
{
    return digest_few(at, words, A_FIRST + (uint32_t)i * A_STEP, B_FIRST + (uint32_t)i * B_STEP);
}
#endif

uint64_t sim_ledger_digest(const void *bytes, uint64_t length, uint64_t offset)
{
    const uint8_t *at = bytes;
    uint64_t i = offset / 8, sum = 0;
    unsigned first = offset % 8, count;

    if (sim_unlikely(first != 0) && length > 0) {
        count = length < 8 - first ? (unsigned)length : 8 - first;
        sum = digest_partial(at, first, count, i);
        at += count;
        length -= count;
        i++;
    }
    sum += digest_words(at, length / 8, i);
    if (length % 8 != 0)
        sum += digest_partial(at + (length & ~UINT64_C(7)), 0, length % 8, i + length / 8);
    return sum;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* "1.2us": exact, in the largest unit of which the time has one. The buffer holds 48 bytes. */
static const char *time_text(sim_time_t time, char *buffer, size_t size)
{
    static const struct {
        uint64_t ps;
        const char *name;
    } units[] = {{SIM_S, "s"}, {SIM_MS, "ms"}, {SIM_US, "us"}, {SIM_NS, "ns"}, {SIM_PS, "ps"}};
    unsigned i = 0;
    size_t length;

    while (units[i].ps > time && units[i].ps > SIM_PS)
        i++;
    snprintf(buffer, size, "%" PRIu64 ".%012" PRIu64, time / units[i].ps,
             (uint64_t)(time % units[i].ps * (SIM_S / units[i].ps)));
    length = strlen(buffer);
    while (buffer[length - 1] == '0')
        length--;
    if (buffer[length - 1] == '.')
        length--;
    snprintf(buffer + length, size - length, "%s", units[i].name);
    return buffer;
}

static bool count_violation(struct sim_ledger_book *book)
{
    if (book == &stray && stray.name == NULL)
        sim_ledger_book_register(&stray, "stray");
    book->violations++;
    ledger.violations++;
    return ledger.texts < TEXTS_MAX;
}

void sim_ledger_violation(struct sim_ledger_book *book, const char *format, ...)
{
    va_list args;

    if (!count_violation(book))
        return;
    assert(ledger.texts < TEXTS_MAX);
    va_start(args, format);
    vsnprintf(ledger.text[ledger.texts++], TEXT_BYTES, format, args);
    va_end(args);
}

static void entry_violation(struct sim_ledger_book *book, const struct sim_ledger_entry *entry,
                            const char *format, ...) __attribute__((format(printf, 3, 4)));

static void entry_violation(struct sim_ledger_book *book, const struct sim_ledger_entry *entry,
                            const char *format, ...)
{
    char opened[48], now[48], what[128];
    va_list args;

    if (ledger.texts == TEXTS_MAX) {
        count_violation(book);
        return;
    }
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    sim_ledger_violation(book,
                         "message %" PRIu64 " of %s, node %" PRIu32 " → node %" PRIu32 ", %" PRIu64
                         " bytes: handed in at %s, %s (found at %s)",
                         entry->id, book->name, entry->source, entry->target, entry->bytes,
                         time_text(entry->opened, opened, sizeof opened), what,
                         time_text(sim_core.now, now, sizeof now));
}

/* ---- entries --------------------------------------------------------------------------------- */

void sim_ledger_book_register(struct sim_ledger_book *book, const char *name)
{
    assert(name != NULL &&
           book != ledger.last); /* registering twice would make the list a circle */
    memset(book, 0, sizeof *book);
    book->name = name;
    book->open.next = book->open.previous = &book->open;
    if (ledger.last != NULL)
        ledger.last->next = book;
    else
        ledger.first = book;
    ledger.last = book;
}

void sim_ledger_open(struct sim_ledger_book *book, struct sim_ledger_entry *entry, uint32_t source,
                     uint32_t target, uint64_t bytes)
{
    struct sim_ledger_entry *head = &book->open;

    assert(book->name != NULL && head->previous->next == head); /* the book is registered */
    *entry = (struct sim_ledger_entry){
        .previous = head->previous,
        .next = head,
        .book = book,
        .id = book->opened++,
        .bytes = bytes,
        .source = source,
        .target = target,
        .opened = sim_core.now,
    };
    head->previous->next = entry;
    head->previous = entry;
    book->bytes_in += bytes;
}

/* The book that an entry is or was in. */
static struct sim_ledger_book *book_of(const struct sim_ledger_entry *entry)
{
    if (entry->book != NULL)
        return entry->book;
    return entry->closed_in != NULL ? entry->closed_in : &stray;
}

void sim_ledger_deliver(struct sim_ledger_entry *entry, uint64_t bytes, uint64_t digest)
{
    struct sim_ledger_book *book = book_of(entry);

    if (sim_unlikely(entry->book == NULL) &&
        (entry->closed_in == NULL || entry->outcome == SIM_LEDGER_OK)) {
        entry_violation(book, entry, "%" PRIu64 " bytes delivered after it was settled", bytes);
        return;
    }
    entry->delivered += bytes;
    entry->delivered_digest += digest;
    entry->pieces++;
    book->bytes_out += bytes;
    if (entry->delivered == entry->bytes && (bytes > 0 || entry->pieces == 1))
        book->delivered++;
    if (sim_unlikely(entry->delivered > entry->bytes || (entry->bytes == 0 && entry->pieces > 1)))
        entry_violation(book, entry,
                        "delivered more than once: %" PRIu64 " bytes, %" PRIu32 " pieces",
                        entry->delivered, entry->pieces);
}

static void close_entry(struct sim_ledger_entry *entry, enum sim_ledger_outcome outcome)
{
    assert(entry->book != NULL && entry->previous->next == entry && entry->next->previous == entry);
    entry->previous->next = entry->next;
    entry->next->previous = entry->previous;
    entry->previous = entry->next = NULL;
    entry->closed_in = entry->book;
    entry->outcome = outcome;
    entry->book = NULL;
}

void sim_ledger_settle(struct sim_ledger_entry *entry, enum sim_ledger_outcome outcome)
{
    struct sim_ledger_book *book = entry->book;

    if (sim_unlikely(book == NULL)) {
        entry_violation(book_of(entry), entry, "settled twice");
        return;
    }
    close_entry(entry, outcome);
    switch (outcome) {
    case SIM_LEDGER_OK:
        book->settled_ok++;
        if (sim_unlikely(entry->delivered < entry->bytes || entry->pieces == 0))
            entry_violation(book, entry, "settled OK with only %" PRIu64 " bytes delivered",
                            entry->delivered);
        else if (sim_unlikely(entry->delivered_digest != entry->digest) &&
                 entry->delivered == entry->bytes)
            entry_violation(book, entry, "delivered other bytes than were handed in");
        break;
    case SIM_LEDGER_ERROR:
        book->settled_error++;
        break;
    case SIM_LEDGER_ABANDONED:
        book->abandoned++;
        break;
    }
}

void sim_ledger_stream_receive(struct sim_ledger_stream *stream, uint64_t sequence)
{
    char now[48];

    if (sim_likely(sequence == stream->received)) {
        stream->received++;
        return;
    }
    sim_ledger_violation(stream->book,
                         "stream of %s, node %" PRIu32 " → node %" PRIu32 ": message %" PRIu64
                         " came out of order at %s, %s message %" PRIu64,
                         stream->book->name, stream->source, stream->target, sequence,
                         time_text(sim_core.now, now, sizeof now),
                         sequence < stream->received ? "again or late; expected" : "instead of",
                         stream->received);
    if (sequence > stream->received)
        stream->received = sequence + 1;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void balance_book(struct sim_ledger_book *book)
{
    struct sim_ledger_entry *entry;
    uint64_t counted = book->counted_out + book->counted_lost;

    while ((entry = book->open.next) != &book->open) {
        close_entry(entry, SIM_LEDGER_ABANDONED);
        entry_violation(book, entry, "never settled");
    }
    if (counted != book->counted_in)
        sim_ledger_violation(book,
                             "%s: %" PRIu64 " events handed in, but %" PRIu64
                             " delivered and %" PRIu64 " reported lost",
                             book->name, book->counted_in, book->counted_out, book->counted_lost);
}

bool sim_ledger_balance(void)
{
    struct sim_ledger_book *book;

    for (book = ledger.first; book != NULL && !ledger.closed; book = book->next)
        balance_book(book);
    ledger.closed = true;
    return ledger.violations == 0;
}

bool sim_ledger_balanced(void)
{
    return ledger.violations == 0;
}

void sim_ledger_for_each_book(void (*visit)(const struct sim_ledger_book *, void *arg), void *arg)
{
    const struct sim_ledger_book *book;

    for (book = ledger.first; book != NULL; book = book->next)
        visit(book, arg);
}

void sim_ledger_for_each_violation(void (*visit)(const char *text, void *arg), void *arg)
{
    unsigned i;

    for (i = 0; i < ledger.texts; i++)
        visit(ledger.text[i], arg);
}

void sim_ledger_reset(void)
{
    memset(&ledger, 0, sizeof ledger);
    memset(&stray, 0, sizeof stray);
}
