/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "engine/ledger.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

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
