/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The words of branded objects. */
#include "lib/bob.h"
#include "lib/tlist.h"

static uint64_t *word(const struct m0_bob_type *bt, const void *bob)
{
    M0_PRE(bt->bt_magix != 0);
    return (uint64_t *)(void *)((char *)bob + bt->bt_magix_offset);
}

void m0_bob_type_tlist_init(struct m0_bob_type *bt, const struct m0_tl_descr *td)
{
    M0_PRE(td->td_link_magic != 0);
    bt->bt_name = td->td_name;
    bt->bt_magix_offset = (int)td->td_link_magic_offset;
    bt->bt_magix = td->td_link_magic;
}

void m0_bob_init(const struct m0_bob_type *bt, void *bob)
{
    *word(bt, bob) = bt->bt_magix;
}

void m0_bob_fini(const struct m0_bob_type *bt, void *bob)
{
    M0_PRE(m0_bob_check(bt, bob));
    *word(bt, bob) = 0;
}

bool m0_bob_check(const struct m0_bob_type *bt, const void *bob)
{
    return *word(bt, bob) == bt->bt_magix && (bt->bt_check == NULL || bt->bt_check(bob));
}
