/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A stream over datagrams that may be lost, doubled and reordered: numbers, cumulative
 * confirmations, a window, and repetition after a time that doubles until something is confirmed.
 *
 * Datagram: u32 number (0: only a confirmation), u32 the next number expected, part of the stream.
 */
#include <assert.h>
#include "internal.h"

#define HEAD 8u
#define WINDOW 32u
#define PART_BYTES 8192u
static_assert((WINDOW & (WINDOW - 1)) == 0, "places go on in turn when numbers begin again at 0");
#define REPEAT_FIRST (SECOND / 5)
#define REPEAT_MAX (5 * SECOND)

struct lossy {
    struct pmi2_chunk *sent[WINDOW]; /* not confirmed: numbers [confirmed, next) */
    struct pmi2_chunk
        *early[WINDOW]; /* came before those in front of them: by number modulo WINDOW */
    uint32_t confirmed, next, expected;
    uint32_t to_send; /* the first number that is to go out (again) */
    uint32_t once; /* numbers below it have gone out before */
    uint64_t repeat_at, interval, since; /* since: the oldest one waits */
    bool confirm;
    char confirmation[HEAD];
};

struct lossy *pmi2_lossy_new(void)
{
    struct lossy *lossy = calloc(1, sizeof(*lossy));

    if (lossy == NULL)
        return NULL;
    lossy->confirmed = lossy->next = lossy->expected = lossy->to_send = lossy->once = 1;
    lossy->interval = REPEAT_FIRST;
    return lossy;
}

void pmi2_lossy_free(struct lossy *lossy)
{
    uint32_t i;

    if (lossy == NULL)
        return;
    for (i = 0; i < WINDOW; i++) {
        pmi2_chunk_drop(lossy->sent[i]);
        pmi2_chunk_drop(lossy->early[i]);
    }
    free(lossy);
}

/* Cuts new datagrams from the stream, as far as the window allows. */
static void fill(struct pmi2_tree *tree)
{
    struct lossy *lossy = tree->lossy;
    struct pmi2_outbox *out = &tree->link.out;

    while (out->bytes > 0 && lossy->next - lossy->confirmed < WINDOW) {
        size_t size = out->bytes < PART_BYTES ? out->bytes : PART_BYTES, have = 0;
        struct pmi2_chunk *part = pmi2_chunk_new(HEAD + size);

        if (part == NULL)
            return; /* with the next call */
        while (have < size) {
            const struct pmi2_piece *piece = out->first;
            size_t more = piece->end - piece->start;

            if (more > size - have)
                more = size - have;
            memcpy(part->bytes + HEAD + have, piece->chunk->bytes + piece->start, more);
            pmi2_outbox_take(out, more);
            have += more;
        }
        part->length = HEAD + size;
        assert(lossy->sent[lossy->next % WINDOW] == NULL);
        pmi2_store_u32(part->bytes, lossy->next);
        if (lossy->confirmed == lossy->next) {
            lossy->since = tree->link.server->now;
            lossy->repeat_at = lossy->since + lossy->interval;
        }
        lossy->sent[lossy->next++ % WINDOW] = part;
    }
}

bool pmi2_lossy_ready(const struct pmi2_tree *tree)
{
    const struct lossy *lossy = tree->lossy;

    return lossy == NULL || lossy->confirm || lossy->to_send != lossy->next ||
           (tree->link.out.bytes > 0 && lossy->next - lossy->confirmed < WINDOW);
}

int pmi2_lossy_output(struct pmi2_tree *tree, struct iovec *pieces, int maximum)
{
    struct lossy *lossy = tree->lossy;
    uint32_t number;
    int count = 0;

    fill(tree);
    assert(lossy->next - lossy->confirmed <= WINDOW);
    assert(lossy->to_send - lossy->confirmed <= lossy->next - lossy->confirmed);
    for (number = lossy->to_send; number != lossy->next && count < maximum; number++) {
        struct pmi2_chunk *part = lossy->sent[number % WINDOW];

        pmi2_store_u32(part->bytes + 4, lossy->expected);
        pieces[count++] = (struct iovec){part->bytes, part->length};
    }
    if (count == 0 && lossy->confirm && maximum > 0) {
        pmi2_store_u32(lossy->confirmation, 0);
        pmi2_store_u32(lossy->confirmation + 4, lossy->expected);
        pieces[count++] = (struct iovec){lossy->confirmation, HEAD};
    }
    return count;
}

void pmi2_lossy_sent(struct pmi2_tree *tree, size_t bytes)
{
    struct lossy *lossy = tree->lossy;

    while (bytes > 0 && lossy->to_send != lossy->next) {
        const struct pmi2_chunk *part = lossy->sent[lossy->to_send % WINDOW];

        if (bytes < part->length)
            return;
        bytes -= part->length;
        if (lossy->to_send < lossy->once)
            tree->link.server->counters.repeats++;
        lossy->to_send++;
        if (lossy->once < lossy->to_send)
            lossy->once = lossy->to_send;
        lossy->confirm = false;
    }
    if (bytes >= HEAD)
        lossy->confirm = false;
}

static void confirmed(struct pmi2_tree *tree, uint32_t upto)
{
    struct lossy *lossy = tree->lossy;

    if (upto - lossy->confirmed > lossy->next - lossy->confirmed)
        return; /* old, or of nothing that was sent */
    if (upto == lossy->confirmed)
        return;
    while (lossy->confirmed != upto) {
        pmi2_chunk_drop(lossy->sent[lossy->confirmed % WINDOW]);
        lossy->sent[lossy->confirmed++ % WINDOW] = NULL;
    }
    if (lossy->to_send < lossy->confirmed)
        lossy->to_send = lossy->confirmed;
    lossy->interval = REPEAT_FIRST;
    lossy->since = tree->link.server->now;
    lossy->repeat_at = lossy->since + lossy->interval;
}

void pmi2_lossy_input(struct pmi2_tree *tree, const void *bytes, size_t length)
{
    struct lossy *lossy = tree->lossy;
    uint32_t number, ahead;

    if (length < HEAD || length > HEAD + PART_BYTES)
        return; /* no server sends that */
    tree->last_received = tree->link.server->now;
    confirmed(tree, pmi2_load_u32((const char *)bytes + 4));
    number = pmi2_load_u32(bytes);
    if (number != 0) {
        ahead = number - lossy->expected;
        lossy->confirm = true;
        if (ahead < WINDOW && lossy->early[number % WINDOW] == NULL) {
            struct pmi2_chunk *part = pmi2_chunk_new(length - HEAD);

            if (part != NULL) { /* else as if it had been lost */
                part->length = length - HEAD;
                memcpy(part->bytes, (const char *)bytes + HEAD, part->length);
                lossy->early[number % WINDOW] = part;
            }
        }
    }
    while (lossy->early[lossy->expected % WINDOW] != NULL && !tree->link.closing) {
        struct pmi2_chunk *part = lossy->early[lossy->expected % WINDOW];

        lossy->early[lossy->expected++ % WINDOW] = NULL;
        pmi2_tree_stream(tree, part->bytes, part->length);
        pmi2_chunk_drop(part);
    }
    if (!tree->link.closing && pmi2_lossy_ready(tree))
        pmi2_action_due(tree->link.server, &tree->link.action, PMI2_ACTION_OUTPUT);
}

bool pmi2_lossy_time(struct pmi2_tree *tree)
{
    struct lossy *lossy = tree->lossy;
    uint64_t now = tree->link.server->now;

    if (lossy->confirmed == lossy->next)
        return true;
    if (now - lossy->since >= tree->link.server->limits.tree_seconds * SECOND)
        return false;
    if (now < lossy->repeat_at)
        return true;
    lossy->to_send = lossy->confirmed;
    lossy->interval = lossy->interval * 2 < REPEAT_MAX ? lossy->interval * 2 : REPEAT_MAX;
    lossy->repeat_at = now + lossy->interval;
    pmi2_action_due(tree->link.server, &tree->link.action, PMI2_ACTION_OUTPUT);
    return true;
}

uint64_t pmi2_lossy_deadline(const struct pmi2_tree *tree)
{
    const struct lossy *lossy = tree->lossy;
    uint64_t lost = lossy->since + tree->link.server->limits.tree_seconds * SECOND;

    if (lossy->confirmed == lossy->next || tree->link.closing)
        return UINT64_MAX;
    return lossy->repeat_at < lost ? lossy->repeat_at : lost;
}
