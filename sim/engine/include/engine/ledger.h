/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The ledger, the oracle of every run: each layer books what was handed to it and what it handed
 * on, per message, and at the end every book must balance: nothing lost, nothing twice, nothing
 * reordered where order is promised, nothing changed.
 *
 * A book (struct sim_ledger_book) belongs to one layer and kind of traffic ("aries.put", "smsg").
 * An entry is embedded in the message's own object, so booking allocates nothing. The life of an
 * entry:
 *
 *   open ──hand_in(digest)*──▶ deliver(bytes, digest)* ──▶ settle(outcome)
 *
 * Rules that are checked at once:
 * - Settled OK: delivered all its bytes exactly once, with the digest that was handed in. A message
 *   of no bytes: delivered by one sim_ledger_deliver of 0 bytes.
 * - Settled in error: delivered at most once; an error does not mean "not written". What is still
 *   on its way may be delivered later, until the entry's memory is used for another message.
 * - Abandoned: as in error; for messages of a node that died.
 * - Settled once.
 * At the end no entry is open. Each breach is one violation of the book, with a readable text.
 */
#ifndef JACQUARD_ENGINE_LEDGER_H
#define JACQUARD_ENGINE_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "engine/sim.h"

enum sim_ledger_outcome { SIM_LEDGER_OK, SIM_LEDGER_ERROR, SIM_LEDGER_ABANDONED };

struct sim_ledger_entry {
    /* The fields that a delivery uses come first. */
    struct sim_ledger_book *book; /* NULL: not open */
    enum sim_ledger_outcome outcome; /* valid when closed_in is set */
    uint32_t pieces; /* calls of sim_ledger_deliver */
    uint64_t bytes, delivered;
    uint64_t digest, delivered_digest; /* sums of sim_ledger_digest() of the pieces, in any order */

    struct sim_ledger_entry *previous, *next; /* open entries of the book */
    struct sim_ledger_book *closed_in; /* where it was settled, for what comes too late */
    uint64_t id; /* unique in the book, in order of opening */
    uint32_t source, target; /* nodes, for the report */
    sim_time_t opened;
};

struct sim_ledger_book {
    const char *name; /* static */
    /* Messages. delivered: completely. Those of sim_ledger_count are among them. */
    uint64_t opened, delivered, settled_ok, settled_error, abandoned;
    uint64_t counted_in, counted_out, counted_lost; /* sim_ledger_count, sim_ledger_count_lost */
    uint64_t bytes_in, bytes_out;
    uint64_t violations;
    struct sim_ledger_entry open; /* head of the circular list of open entries */
    struct sim_ledger_book *next; /* registration order */
};

/*
 * A stream promises order: sequence numbers are handed out on entry and must come out without a
 * gap, repetition or exchange. Embedded in the object that promises (an SMSG connection, say).
 */
struct sim_ledger_stream {
    struct sim_ledger_book *book;
    uint64_t sent, received;
    uint32_t source, target;
};

/* The book is the caller's memory and is cleared; it must live until sim_ledger_reset. */
void sim_ledger_book_register(struct sim_ledger_book *book, const char *name);

/*
 * Digest of a piece that lies `offset` bytes into its message. Digests of the pieces of a message
 * add up (modulo 2^64) to the same sum however the message is cut, as long as every cut lies at a
 * multiple of 8 bytes of the message's offset. A cut elsewhere gives a sum that only the very same
 * cuts repeat. The length of a piece, the place of every byte and zero bytes count. It guards
 * against a model's mistakes, not malice.
 */
uint64_t sim_ledger_digest(const void *bytes, uint64_t length, uint64_t offset);
/* The same without AVX2, as on a processor that lacks it: for tests. */
uint64_t sim_ledger_digest_narrow(const void *bytes, uint64_t length, uint64_t offset);

/* The entry must not be open; what its memory holds does not matter. */
void sim_ledger_open(struct sim_ledger_book *book, struct sim_ledger_entry *entry, uint32_t source,
                     uint32_t target, uint64_t bytes);
/* One piece of the message. */
static inline void sim_ledger_hand_in(struct sim_ledger_entry *entry, uint64_t digest)
{
    entry->digest += digest;
}
/* One piece; `digest` is that of what arrived, at the place in the message where it arrived. */
void sim_ledger_deliver(struct sim_ledger_entry *entry, uint64_t bytes, uint64_t digest);
/* The message's end; the entry is closed. */
void sim_ledger_settle(struct sim_ledger_entry *entry, enum sim_ledger_outcome outcome);

/*
 * For messages that have no delivery of their own (pure events): booked by counts alone. At the end
 * as many must have been delivered as were opened, less those that the layer reported as lost.
 */
static inline void sim_ledger_count(struct sim_ledger_book *book, uint64_t opened,
                                    uint64_t delivered)
{
    book->opened += opened;
    book->counted_in += opened;
    book->delivered += delivered;
    book->counted_out += delivered;
    book->settled_ok += delivered;
}
/* Lost, and the loss was reported to the program. */
static inline void sim_ledger_count_lost(struct sim_ledger_book *book, uint64_t lost)
{
    book->counted_lost += lost;
    book->settled_error += lost;
}

static inline uint64_t sim_ledger_stream_send(struct sim_ledger_stream *stream)
{
    return stream->sent++;
}
/* A sequence number that is not the next one is a violation; the stream goes on behind it. */
void sim_ledger_stream_receive(struct sim_ledger_stream *stream, uint64_t sequence);

/* Records a violation that a layer found itself. printf-like; the first 32 texts are kept. */
void sim_ledger_violation(struct sim_ledger_book *book, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Closes the books at the end of a run: open entries become violations. True when all balance. To
 * be called while the memory of open entries is still valid. Called again it repeats its verdict.
 */
bool sim_ledger_balance(void);
/* No violation so far, in any book; after sim_ledger_balance() its verdict. */
bool sim_ledger_balanced(void);
void sim_ledger_for_each_book(void (*visit)(const struct sim_ledger_book *, void *arg), void *arg);
void sim_ledger_for_each_violation(void (*visit)(const char *text, void *arg), void *arg);
void sim_ledger_reset(void); /* forget all books; called by sim_fini */

#endif
