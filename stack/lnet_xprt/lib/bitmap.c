/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sets of numbers; bits from b_nr on are always 0. */
#include "lib/bitmap.h"
#include "lib/errno.h"
#include "lib/memory.h"

int m0_bitmap_init(struct m0_bitmap *map, size_t nr)
{
    map->b_nr = nr;
    /* An empty set of nothing has memory, too. */
    M0_ALLOC_ARR(map->b_words, M0_BITMAP_WORDS(nr) + (nr == 0));
    return map->b_words == NULL ? -ENOMEM : 0;
}

void m0_bitmap_fini(struct m0_bitmap *map)
{
    m0_free0(&map->b_words);
    map->b_nr = 0;
}

bool m0_bitmap_get(const struct m0_bitmap *map, size_t index)
{
    M0_PRE(index < map->b_nr && map->b_words != NULL);
    return (map->b_words[index / 64] >> index % 64 & 1) != 0;
}

void m0_bitmap_set(struct m0_bitmap *map, size_t index, bool value)
{
    uint64_t bit = 1ull << index % 64;

    M0_PRE(index < map->b_nr && map->b_words != NULL);
    if (value)
        map->b_words[index / 64] |= bit;
    else
        map->b_words[index / 64] &= ~bit;
}

void m0_bitmap_reset(struct m0_bitmap *map)
{
    memset(map->b_words, 0, M0_BITMAP_WORDS(map->b_nr) * sizeof(map->b_words[0]));
}

void m0_bitmap_copy(struct m0_bitmap *to, const struct m0_bitmap *from)
{
    M0_PRE(to->b_nr >= from->b_nr);
    m0_bitmap_reset(to);
    memcpy(to->b_words, from->b_words, M0_BITMAP_WORDS(from->b_nr) * sizeof(from->b_words[0]));
}

/* The smallest number whose bit differs from that of `but`, a word of equal bits. */
static int find(const struct m0_bitmap *map, uint64_t but)
{
    size_t word, words = M0_BITMAP_WORDS(map->b_nr), index;

    for (word = 0; word < words && map->b_words[word] == but; word++) {
    }
    if (word == words)
        return -1;
    index = word * 64 + (size_t)__builtin_ctzll(map->b_words[word] ^ but);
    return index < map->b_nr ? (int)index : -1;
}

int m0_bitmap_ffz(const struct m0_bitmap *map)
{
    return find(map, ~0ull);
}

int m0_bitmap_ffs(const struct m0_bitmap *map)
{
    return find(map, 0);
}

size_t m0_bitmap_set_nr(const struct m0_bitmap *map)
{
    size_t word, count = 0;

    for (word = 0; word < M0_BITMAP_WORDS(map->b_nr); word++)
        count += (size_t)__builtin_popcountll(map->b_words[word]);
    return count;
}
