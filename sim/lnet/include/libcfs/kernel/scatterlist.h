/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Lists of pieces of pages (linux/scatterlist.h, linux/dma-mapping.h). Devices see addresses as the
 * program does, so mapping a list sets the pieces' addresses and has no other effect.
 */
#ifndef JACQUARD_LIBCFS_KERNEL_SCATTERLIST_H
#define JACQUARD_LIBCFS_KERNEL_SCATTERLIST_H

#include "libcfs/libcfs.h"

typedef u64 dma_addr_t;
struct device;
struct scatterlist {
    unsigned long page_link; /* a page, or (bit 0) the list where it goes on; bit 1: the last one */
    unsigned offset, length;
    dma_addr_t dma_address;
    unsigned dma_length;
};
struct sg_table {
    struct scatterlist *sgl;
    unsigned nents, orig_nents;
};
#define SG_CHAIN 1UL
#define SG_END 2UL
#define SG_MAX_SINGLE_ALLOC (PAGE_SIZE / sizeof(struct scatterlist))
#define sg_is_chain(sg) (((sg)->page_link & SG_CHAIN) != 0)
#define sg_is_last(sg) (((sg)->page_link & SG_END) != 0)
#define sg_chain_ptr(sg) ((struct scatterlist *)((sg)->page_link & ~(SG_CHAIN | SG_END)))
#define sg_page(sg) ((struct page *)((sg)->page_link & ~(SG_CHAIN | SG_END)))
#define sg_dma_address(sg) ((sg)->dma_address)
#define sg_dma_len(sg) ((sg)->dma_length)
static inline void *sg_virt(const struct scatterlist *sg)
{
    return (char *)page_address(sg_page(sg)) + sg->offset;
}
#define sg_phys(sg) ((dma_addr_t)(uintptr_t)sg_virt(sg))
#define sg_mark_end(sg) ((void)((sg)->page_link = ((sg)->page_link | SG_END) & ~SG_CHAIN))
#define sg_unmark_end(sg) ((void)((sg)->page_link &= ~SG_END))
static inline void sg_assign_page(struct scatterlist *sg, struct page *page)
{
    sg->page_link = (sg->page_link & SG_END) | (unsigned long)page;
}
static inline void sg_set_page(struct scatterlist *sg, struct page *page, unsigned length,
                               unsigned offset)
{
    sg_assign_page(sg, page);
    sg->length = length;
    sg->offset = offset;
}
static inline void sg_set_buf(struct scatterlist *sg, const void *memory, unsigned length)
{
    sg_set_page(sg, virt_to_page(memory), length, (unsigned)((uintptr_t)memory & ~PAGE_MASK));
}
static inline void sg_init_table(struct scatterlist *sg, unsigned count)
{
    memset(sg, 0, count * sizeof(*sg));
    sg_mark_end(&sg[count - 1]);
}
#define sg_init_marker(sg, count) sg_mark_end(&(sg)[(count)-1])
static inline void sg_init_one(struct scatterlist *sg, const void *memory, unsigned length)
{
    sg_init_table(sg, 1);
    sg_set_buf(sg, memory, length);
}
/* NULL: it is the last one. */
static inline struct scatterlist *sg_next(struct scatterlist *sg)
{
    if (sg_is_last(sg))
        return NULL;
    sg++;
    return sg_is_chain(sg) ? sg_chain_ptr(sg) : sg;
}
/* The last of `count` places of a list refers to the next list. */
static inline void sg_chain(struct scatterlist *list, unsigned count, struct scatterlist *next)
{
    list[count - 1] = (struct scatterlist){0};
    list[count - 1].page_link = ((unsigned long)next | SG_CHAIN) & ~SG_END;
}
#define for_each_sg(list, sg, count, i) \
    for ((i) = 0, (sg) = (list); (i) < (count); (i)++, (sg) = sg_next(sg))
#define for_each_sgtable_sg(table, sg, i) for_each_sg((table)->sgl, sg, (table)->orig_nents, i)
static inline int sg_nents(struct scatterlist *sg)
{
    int count;

    for (count = 0; sg != NULL; sg = sg_next(sg))
        count++;
    return count;
}
/* How many hold `length` bytes; -EINVAL: they do not. */
static inline int sg_nents_for_len(struct scatterlist *sg, u64 length)
{
    u64 total = 0;
    int count = 0;

    if (length == 0)
        return 0;
    for (; sg != NULL; sg = sg_next(sg)) {
        count++;
        total += sg->length;
        if (total >= length)
            return count;
    }
    return -EINVAL;
}
static inline struct scatterlist *sg_last(struct scatterlist *sg, unsigned count)
{
    while (count-- > 1)
        sg = sg_next(sg);
    return sg;
}
static inline int sg_alloc_table(struct sg_table *table, unsigned count, gfp_t flags)
{
    (void)flags;
    memset(table, 0, sizeof(*table));
    if (count == 0)
        return -EINVAL;
    table->sgl = (struct scatterlist *)malloc(count * sizeof(*table->sgl));
    if (table->sgl == NULL)
        return -ENOMEM;
    sg_init_table(table->sgl, count);
    table->nents = table->orig_nents = count;
    return 0;
}
static inline void sg_free_table(struct sg_table *table)
{
    free(table->sgl);
    memset(table, 0, sizeof(*table));
}
/* Pages that follow one another in memory become one piece. */
static inline int sg_alloc_table_from_pages(struct sg_table *table, struct page **pages,
                                            unsigned count, unsigned long offset,
                                            unsigned long bytes, gfp_t flags)
{
    unsigned i, pieces = count > 0;
    struct scatterlist *sg;
    int rc;

    for (i = 1; i < count; i++)
        pieces += (char *)pages[i] != (char *)pages[i - 1] + PAGE_SIZE;
    rc = sg_alloc_table(table, pieces, flags);
    if (rc != 0)
        return rc;
    for (i = 0, sg = table->sgl; i < count; sg++) {
        unsigned first = i++;
        unsigned long room;

        while (i < count && (char *)pages[i] == (char *)pages[i - 1] + PAGE_SIZE)
            i++;
        room = (i - first) * PAGE_SIZE - offset;
        room = room < bytes ? room : bytes;
        sg_set_page(sg, pages[first], (unsigned)room, (unsigned)offset);
        bytes -= room;
        offset = 0;
    }
    return 0;
}
/* Bytes between memory and a list, from `skip` on; how many. */
static inline size_t libcfs_sg_copy(struct scatterlist *sg, unsigned count, void *memory,
                                    size_t bytes, size_t skip, bool to_list)
{
    size_t done = 0, n;
    char *place;

    for (; sg != NULL && count > 0 && done < bytes; sg = sg_next(sg), count--) {
        if (skip >= sg->length) {
            skip -= sg->length;
            continue;
        }
        n = sg->length - skip < bytes - done ? sg->length - skip : bytes - done;
        place = (char *)sg_virt(sg) + skip;
        if (to_list)
            memcpy(place, (char *)memory + done, n);
        else
            memcpy((char *)memory + done, place, n);
        done += n;
        skip = 0;
    }
    return done;
}
#define sg_copy_from_buffer(list, count, memory, bytes) \
    libcfs_sg_copy(list, count, (void *)(memory), bytes, 0, true)
#define sg_copy_to_buffer(list, count, memory, bytes) \
    libcfs_sg_copy(list, count, memory, bytes, 0, false)
#define sg_pcopy_from_buffer(list, count, memory, bytes, skip) \
    libcfs_sg_copy(list, count, (void *)(memory), bytes, skip, true)
#define sg_pcopy_to_buffer(list, count, memory, bytes, skip) \
    libcfs_sg_copy(list, count, memory, bytes, skip, false)

/* ---- linux/dma-mapping.h --------------------------------------------------------------------- */

enum dma_data_direction { DMA_BIDIRECTIONAL, DMA_TO_DEVICE, DMA_FROM_DEVICE, DMA_NONE };
#define DMA_MAPPING_ERROR (~(dma_addr_t)0)
#define DMA_BIT_MASK(n) ((n) == 64 ? ~0ULL : (1ULL << (n)) - 1)
/* How many pieces are mapped. */
static inline int libcfs_dma_map(struct scatterlist *list, int count)
{
    struct scatterlist *sg;
    int i;

    for_each_sg(list, sg, count, i)
    {
        sg->dma_address = sg_phys(sg);
        sg->dma_length = sg->length;
    }
    return count;
}
#define dma_map_sg(device, list, count, direction) \
    ((void)(device), (void)(direction), libcfs_dma_map(list, count))
#define dma_unmap_sg(device, list, count, direction) \
    ((void)(device), (void)(list), (void)(count), (void)(direction))
#define dma_map_single(device, memory, bytes, direction) \
    ((void)(device), (void)(bytes), (void)(direction), (dma_addr_t)(uintptr_t)(memory))
#define dma_unmap_single(device, address, bytes, direction) \
    ((void)(device), (void)(address), (void)(bytes), (void)(direction))
#define dma_map_page(device, page, offset, bytes, direction) \
    dma_map_single(device, (char *)page_address(page) + (offset), bytes, direction)
#define dma_unmap_page(device, address, bytes, direction) \
    dma_unmap_single(device, address, bytes, direction)
#define dma_mapping_error(device, address) ((void)(device), (address) == DMA_MAPPING_ERROR)
#define dma_sync_single_for_cpu(device, address, bytes, direction) \
    dma_unmap_single(device, address, bytes, direction)
#define dma_sync_single_for_device(device, address, bytes, direction) \
    dma_unmap_single(device, address, bytes, direction)
#define dma_sync_sg_for_cpu(device, list, count, direction) \
    dma_unmap_sg(device, list, count, direction)
#define dma_sync_sg_for_device(device, list, count, direction) \
    dma_unmap_sg(device, list, count, direction)
#define dma_set_mask_and_coherent(device, mask) ((void)(device), (void)(mask), 0)
static inline void *libcfs_dma_alloc(size_t bytes, dma_addr_t *address)
{
    void *memory = aligned_alloc(PAGE_SIZE, (bytes + PAGE_SIZE - 1) & PAGE_MASK);

    if (memory != NULL)
        memset(memory, 0, bytes);
    *address = (dma_addr_t)(uintptr_t)memory;
    return memory;
}
#define dma_alloc_coherent(device, bytes, address, flags) \
    ((void)(device), (void)(flags), libcfs_dma_alloc(bytes, address))
#define dma_zalloc_coherent(device, bytes, address, flags) \
    dma_alloc_coherent(device, bytes, address, flags)
#define dma_free_coherent(device, bytes, memory, address) \
    ((void)(device), (void)(bytes), (void)(address), free(memory))

#endif
