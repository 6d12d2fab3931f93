/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A set of numbers below b_nr. Its memory belongs to it; callers bring their own lock. */
#ifndef M0_LIB_BITMAP_H
#define M0_LIB_BITMAP_H

#include "lib/types.h"

struct m0_bitmap {
    size_t b_nr;
    uint64_t *b_words;
};
#define M0_BITMAP_WORDS(bits) (((bits) + 63) >> 6)

int m0_bitmap_init(struct m0_bitmap *map, size_t nr); /* empty; 0 or -ENOMEM */
void m0_bitmap_fini(struct m0_bitmap *map);
bool m0_bitmap_get(const struct m0_bitmap *map, size_t index); /* pre: index < b_nr */
void m0_bitmap_set(struct m0_bitmap *map, size_t index, bool value);
void m0_bitmap_reset(struct m0_bitmap *map); /* empty */
/* pre: destination's b_nr >= source's; the rest is cleared. */
void m0_bitmap_copy(struct m0_bitmap *to, const struct m0_bitmap *from);
/* The smallest number that is not (is) in the set; -1: none. */
int m0_bitmap_ffz(const struct m0_bitmap *map);
int m0_bitmap_ffs(const struct m0_bitmap *map);
size_t m0_bitmap_set_nr(const struct m0_bitmap *map); /* how many are in the set */

#endif
