/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The blocks (start, nodes, size): `size` ranks on each of `nodes` nodes, from node `start` on. */
#include "pmi2/mapping.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct block {
    uint32_t start, nodes, size;
};

/* ---- writing ----------------------------------------------------------------------------------*/

/*
 * The smallest number of ranks whose nodes, repeated, are those of all: the repetition may end
 * anywhere. (The failure function of Knuth, Morris and Pratt.) `borders` has room for one per rank.
 */
static uint32_t period(const uint32_t *node_of, uint32_t ranks, uint32_t *borders)
{
    uint32_t i, border = 0;

    borders[0] = 0;
    for (i = 1; i < ranks; i++) {
        while (border != 0 && node_of[i] != node_of[border])
            border = borders[border - 1];
        if (node_of[i] == node_of[border])
            border++;
        borders[i] = border;
    }
    return ranks - border;
}

/* The ranks from `first` on that are on the same node. */
static uint32_t chunk(const uint32_t *node_of, uint32_t first, uint32_t ranks)
{
    uint32_t end = first + 1;

    while (end < ranks && node_of[end] == node_of[first])
        end++;
    return end - first;
}

/*
 * The block that begins at rank *at, as long as it can be; *at moves behind it. `cut`: the last
 * chunk may be written with more ranks than there are, as reading stops at the last rank.
 */
static struct block longest_block(const uint32_t *node_of, uint32_t ranks, bool cut, uint32_t *at)
{
    struct block block = {node_of[*at], 1, chunk(node_of, *at, ranks)};
    uint32_t size;

    for (*at += block.size; *at < ranks; *at += size) {
        size = chunk(node_of, *at, ranks);
        if (node_of[*at] != block.start + block.nodes ||
            !(size == block.size || (cut && size < block.size && *at + size == ranks)))
            break;
        block.nodes++;
    }
    return block;
}

/* A reader repeats from the first block with start 0; so that must be the first of all. */
static bool repeats(const uint32_t *node_of, uint32_t ranks)
{
    uint32_t at = 0;
    bool first = true;

    while (at < ranks) {
        bool zero = longest_block(node_of, ranks, false, &at).start == 0;

        if (zero)
            return first;
        first = false;
    }
    return true;
}

size_t pmi2_mapping_write(const uint32_t *node_of, uint32_t ranks, char *text, size_t size)
{
    uint32_t *borders = ranks != 0 ? malloc(ranks * sizeof(*borders)) : NULL;
    uint32_t at = 0, prefix = borders != NULL ? period(node_of, ranks, borders) : 0;
    struct block block;
    size_t length;

    free(borders);
    if (prefix != 0 && prefix < ranks && !repeats(node_of, prefix))
        prefix = ranks;
    length = (size_t)snprintf(text, size, "(vector");
    while (at < prefix && length < size) {
        block = longest_block(node_of, prefix, prefix == ranks, &at);
        length += (size_t)snprintf(text + length, size - length, ",(%u,%u,%u)", block.start,
                                   block.nodes, block.size);
    }
    if (prefix != 0 && length + 1 < size) {
        memcpy(text + length, ")", 2);
        return length + 1;
    }
    if (size != 0)
        text[0] = '\0';
    return 0;
}

/* ---- reading ----------------------------------------------------------------------------------*/

static const char *blanks(const char *at)
{
    return at + strspn(at, " \t");
}

static bool token(const char **at, const char *text)
{
    const char *from = blanks(*at);

    if (strncmp(from, text, strlen(text)) != 0)
        return false;
    *at = from + strlen(text);
    return true;
}

static bool number(const char **at, uint32_t *value)
{
    const char *from = blanks(*at);
    uint64_t sum = 0;

    if (*from < '0' || *from > '9')
        return false;
    for (; *from >= '0' && *from <= '9'; from++) {
        sum = 10 * sum + (uint64_t)(*from - '0');
        if (sum > UINT32_MAX)
            return false;
    }
    *value = (uint32_t)sum;
    *at = from;
    return true;
}

/* The next block. False: it is none, or its nodes have no numbers. */
static bool next_block(const char **at, struct block *block)
{
    return token(at, ",") && token(at, "(") && number(at, &block->start) && token(at, ",") &&
           number(at, &block->nodes) && token(at, ",") && number(at, &block->size) &&
           token(at, ")") && block->nodes <= UINT32_MAX - block->start;
}

/* Is it a mapping? *first: its blocks; *again: those that are repeated. */
static bool check(const char *text, const char **first, const char **again)
{
    const char *at = text, *here;
    struct block block;

    if (!token(&at, "(") || !token(&at, "vector"))
        return false;
    *first = at;
    *again = NULL;
    while (here = at, !token(&at, ")")) {
        if (!next_block(&at, &block))
            return false;
        if (block.start == 0 && *again == NULL)
            *again = here;
    }
    if (*again == NULL)
        *again = *first;
    return *blanks(at) == '\0';
}

/* One pass over the blocks; the ranks placed then. */
static uint32_t pass(const char *at, uint32_t rank, uint32_t ranks, uint32_t *node_of)
{
    struct block block;
    uint32_t node, i;

    while (rank < ranks && next_block(&at, &block))
        for (node = 0; block.size != 0 && node < block.nodes && rank < ranks; node++)
            for (i = 0; i < block.size && rank < ranks; i++)
                node_of[rank++] = block.start + node;
    return rank;
}

bool pmi2_mapping_read(const char *text, uint32_t ranks, uint32_t *node_of)
{
    const char *first, *again;
    uint32_t rank, placed;

    if (!check(text, &first, &again))
        return false;
    rank = pass(first, 0, ranks, node_of);
    while (rank < ranks) {
        placed = pass(again, rank, ranks, node_of);
        if (placed == rank)
            return false;
        rank = placed;
    }
    return true;
}
