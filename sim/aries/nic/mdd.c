/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Tables of memory descriptors; see mdd.h. */
#include "nic/mdd.h"

#include <assert.h>
#include <glib.h>

#define PAGE_ENTRIES 64u

_Static_assert(PAGE_ENTRIES * sizeof(((struct aries_mdd_table *)0)->pages) / sizeof(void *) == 4096,
               "pages for all numbers of memory descriptors, which have 12 bits");
_Static_assert(PAGE_ENTRIES == 64, "a bit of aries_mdd_page.used each");

struct aries_mdd_page {
    uint64_t used; /* bit per entry */
    struct aries_mr *entries[PAGE_ENTRIES];
};

struct aries_mdd_table *aries_mdd_table_new(uint32_t size)
{
    struct aries_mdd_table *table = g_new0(struct aries_mdd_table, 1);

    table->size = size;
    return table;
}

void aries_mdd_table_free(struct aries_mdd_table *table)
{
    unsigned page;

    for (page = 0; page < PAGE_ENTRIES; page++)
        g_free(table->pages[page]);
    g_free(table);
}

/* The first free entry from `start` on, wrapping around. The table is not full. */
static uint32_t find_free(const struct aries_mdd_table *table, uint32_t start)
{
    uint32_t index = start < table->size ? start : 0;

    for (;;) {
        const struct aries_mdd_page *page = table->pages[index / PAGE_ENTRIES];
        uint64_t free = ~(page != NULL ? page->used : 0) >> index % PAGE_ENTRIES;

        if (free != 0) {
            index += (uint32_t)__builtin_ctzll(free);
            if (index < table->size)
                return index;
        }
        index = (index / PAGE_ENTRIES + 1) * PAGE_ENTRIES;
        if (index >= table->size)
            index = 0;
    }
}

uint32_t aries_mdd_insert(struct aries_mdd_table *table, uint32_t index, struct aries_mr *mr)
{
    struct aries_mdd_page **page;

    if (index == ARIES_MDD_ANY) {
        if (table->used >= table->size)
            return ARIES_MDD_ANY;
        /*
         * Entries are used in turn, so that a handle that outlives its registration does not soon
         * name another one.
         */
        index = find_free(table, table->search_from);
        assert(aries_mdd_at(table, index) == NULL);
        table->search_from = index + 1;
    } else if (index >= table->size || aries_mdd_at(table, index) != NULL) {
        return ARIES_MDD_ANY;
    }
    page = &table->pages[index / PAGE_ENTRIES];
    if (*page == NULL)
        *page = g_new0(struct aries_mdd_page, 1);
    assert(!((*page)->used >> index % PAGE_ENTRIES & 1));
    (*page)->entries[index % PAGE_ENTRIES] = mr;
    (*page)->used |= UINT64_C(1) << index % PAGE_ENTRIES;
    table->used++;
    return index;
}

void aries_mdd_remove(struct aries_mdd_table *table, uint32_t index)
{
    struct aries_mdd_page **page = &table->pages[index / PAGE_ENTRIES];

    assert(index < table->size && table->used > 0);
    assert(*page != NULL && ((*page)->used >> index % PAGE_ENTRIES & 1));
    (*page)->entries[index % PAGE_ENTRIES] = NULL;
    (*page)->used &= ~(UINT64_C(1) << index % PAGE_ENTRIES);
    table->used--;
    if ((*page)->used == 0) {
        g_free(*page);
        *page = NULL;
    }
}

struct aries_mr *aries_mdd_at(const struct aries_mdd_table *table, uint32_t index)
{
    const struct aries_mdd_page *page;

    if (index >= table->size)
        return NULL;
    page = table->pages[index / PAGE_ENTRIES];
    return page != NULL ? page->entries[index % PAGE_ENTRIES] : NULL;
}
