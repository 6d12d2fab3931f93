/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * References of pages beyond the first one, in a table by the page's address. A page that has one
 * reference is not in it. It is one table of all processes of a simulation: callbacks that run
 * outside of them put pages, too, and an address is the same page for all.
 */
#include "kernel.h"

#include <sys/mman.h>

struct entry {
    uintptr_t page; /* 0: none */
    size_t more; /* references beyond the first one; at least 1 */
};

static struct {
    spinlock_t lock;
    struct entry *entries;
    size_t size, used; /* size: 0 or a power of two */
} table;

static size_t place_of(uintptr_t page)
{
    return (size_t)(page >> PAGE_SHIFT) * 0x9e3779b97f4a7c15u >> 20 & (table.size - 1);
}

/* The entry of the page, or the free one where it would be. */
static struct entry *find(uintptr_t page)
{
    size_t at = place_of(page);

    while (table.entries[at].page != 0 && table.entries[at].page != page)
        at = (at + 1) & (table.size - 1);
    return &table.entries[at];
}

static void grow(void)
{
    struct entry *old = table.entries;
    size_t size = table.size, i;

    table.size = size > 0 ? 2 * size : PAGE_SIZE / sizeof(*old);
    table.entries = mmap(NULL, table.size * sizeof(*old), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (table.entries == MAP_FAILED)
        port_panic("libcfs: there is no memory for references of pages");
    for (i = 0; i < size; i++)
        if (old[i].page != 0)
            *find(old[i].page) = old[i];
    if (old != NULL)
        munmap(old, size * sizeof(*old));
}

/* Entries behind the removed one move up, so that find() still reaches them. */
static void drop(struct entry *entry)
{
    size_t hole = (size_t)(entry - table.entries), at = hole, mask = table.size - 1;

    while (table.entries[at = (at + 1) & mask].page != 0)
        if (((at - place_of(table.entries[at].page)) & mask) >= ((at - hole) & mask)) {
            table.entries[hole] = table.entries[at];
            hole = at;
        }
    table.entries[hole].page = 0;
    table.used--;
}

void libcfs_page_get(struct page *page)
{
    struct entry *entry;

    spin_lock(&table.lock);
    if (4 * (table.used + 1) > 3 * table.size)
        grow();
    entry = find((uintptr_t)page);
    if (entry->page == 0) {
        *entry = (struct entry){(uintptr_t)page, 0};
        table.used++;
    }
    entry->more++;
    spin_unlock(&table.lock);
}

void libcfs_page_put(struct page *page)
{
    struct entry *entry = NULL;

    spin_lock(&table.lock);
    if (table.size > 0)
        entry = find((uintptr_t)page);
    if (entry != NULL && entry->page == 0)
        entry = NULL;
    if (entry != NULL && --entry->more == 0)
        drop(entry);
    spin_unlock(&table.lock);
    if (entry == NULL)
        free(page);
}

int libcfs_page_count(const struct page *page)
{
    int count = 1;

    spin_lock(&table.lock);
    if (table.size > 0 && find((uintptr_t)page)->page != 0)
        count += (int)find((uintptr_t)page)->more;
    spin_unlock(&table.lock);
    return count;
}

long libcfs_user_pages(uintptr_t start, unsigned long count, struct page **pages)
{
    uintptr_t page = start & PAGE_MASK;
    unsigned char resident;
    unsigned long i;

    for (i = 0; i < count; i++, page += PAGE_SIZE) {
        /* NOLINTNEXTLINE(performance-no-int-to-ptr): the address is a number for the caller */
        if (mincore((void *)page, PAGE_SIZE, &resident) != 0)
            return i > 0 ? (long)i : -EFAULT;
        if (pages == NULL)
            continue;
        pages[i] = virt_to_page(page);
        libcfs_page_get(pages[i]);
    }
    return (long)count;
}
