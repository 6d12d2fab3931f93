/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Pointers by their number: the kernel's radix trees, idr, ida and xarray, over one tree. Readers
 * need no lock. An xarray locks itself when it changes, the others are their user's to lock.
 */
#ifndef JACQUARD_LIBCFS_KERNEL_RADIX_H
#define JACQUARD_LIBCFS_KERNEL_RADIX_H

#include "libcfs/libcfs.h"

struct libcfs_radix {
    struct libcfs_radix_node *root;
};
#pragma GCC visibility push(default)
void *libcfs_radix_load(const struct libcfs_radix *tree, unsigned long index);
void **libcfs_radix_slot(const struct libcfs_radix *tree, unsigned long index);
/* entry NULL: removes. *old (NULL: not asked for) is what was there. 0 or -ENOMEM. A new entry has
 * no mark; one in the place of another one has its marks. */
int libcfs_radix_store(struct libcfs_radix *tree, unsigned long index, void *entry, void **old);
/* The first entry from *index to `last` that has the mark (-1: any); *index is its place. */
void *libcfs_radix_find(const struct libcfs_radix *tree, unsigned long *index, unsigned long last,
                        int mark);
/* The first free place from `first` to `last`; false: there is none. */
bool libcfs_radix_gap(const struct libcfs_radix *tree, unsigned long first, unsigned long last,
                      unsigned long *index);
bool libcfs_radix_marked(const struct libcfs_radix *tree, unsigned long index, int mark);
bool libcfs_radix_any_marked(const struct libcfs_radix *tree, int mark);
/* The entry at that place, which then has the mark or not; NULL: there is none. */
void *libcfs_radix_mark(struct libcfs_radix *tree, unsigned long index, int mark, bool on);
void libcfs_radix_clear(struct libcfs_radix *tree); /* removes all */
/* Stores at the first free place from `first` to `last`, which is returned, or -ENOMEM, -ENOSPC. */
long libcfs_radix_add(struct libcfs_radix *tree, void *entry, unsigned long first,
                      unsigned long last);
unsigned libcfs_radix_gang(const struct libcfs_radix *tree, void **results, unsigned long first,
                           unsigned count, int mark);
#pragma GCC visibility pop

/* ---- linux/radix-tree.h ---------------------------------------------------------------------- */

#define RADIX_TREE_MAX_TAGS 3
struct radix_tree_root {
    struct libcfs_radix tree;
};
struct radix_tree_iter {
    unsigned long index;
};
#define RADIX_TREE_INIT(flags) \
    {                          \
        {                      \
            NULL               \
        }                      \
    }
#define RADIX_TREE(name, flags) struct radix_tree_root name = RADIX_TREE_INIT(flags)
#define INIT_RADIX_TREE(tree_, flags) ((void)(flags), (void)((tree_)->tree.root = NULL))
#define radix_tree_empty(tree_) ((tree_)->tree.root == NULL)
#define radix_tree_lookup(root, index) libcfs_radix_load(&(root)->tree, index)
#define radix_tree_lookup_slot(root, index) libcfs_radix_slot(&(root)->tree, index)
#define radix_tree_deref_slot(slot) READ_ONCE(*(slot))
#define radix_tree_replace_slot(root, slot, entry) ((void)(root), WRITE_ONCE(*(slot), entry))
#define radix_tree_exceptional_entry(entry) (((unsigned long)(entry)&2) != 0)
#define radix_tree_preload(flags) ((void)(flags), 0)
#define radix_tree_maybe_preload(flags) ((void)(flags), 0)
#define radix_tree_preload_end() barrier()
/* 0, -EEXIST or -ENOMEM. */
static inline int radix_tree_insert(struct radix_tree_root *root, unsigned long index, void *entry)
{
    if (libcfs_radix_load(&root->tree, index) != NULL)
        return -EEXIST;
    return libcfs_radix_store(&root->tree, index, entry, NULL);
}
static inline void *radix_tree_delete(struct radix_tree_root *root, unsigned long index)
{
    void *old = NULL;

    (void)libcfs_radix_store(&root->tree, index, NULL, &old);
    return old;
}
static inline void *radix_tree_delete_item(struct radix_tree_root *root, unsigned long index,
                                           void *entry)
{
    void *there = libcfs_radix_load(&root->tree, index);

    return entry != NULL && there != entry ? NULL : radix_tree_delete(root, index);
}
#define radix_tree_tag_set(root, index, tag) \
    libcfs_radix_mark(&(root)->tree, index, (int)(tag), true)
#define radix_tree_tag_clear(root, index, tag) \
    libcfs_radix_mark(&(root)->tree, index, (int)(tag), false)
#define radix_tree_tag_get(root, index, tag) \
    ((int)libcfs_radix_marked(&(root)->tree, index, (int)(tag)))
#define radix_tree_tagged(root, tag) ((int)libcfs_radix_any_marked(&(root)->tree, (int)(tag)))
#define radix_tree_gang_lookup(root, results, first, count) \
    libcfs_radix_gang(&(root)->tree, results, first, count, -1)
#define radix_tree_gang_lookup_tag(root, results, first, count, tag) \
    libcfs_radix_gang(&(root)->tree, results, first, count, (int)(tag))
static inline void **libcfs_radix_slot_from(const struct libcfs_radix *tree, unsigned long *index,
                                            bool next, int tag)
{
    if ((next && ++*index == 0) || libcfs_radix_find(tree, index, ~0UL, tag) == NULL)
        return NULL;
    return libcfs_radix_slot(tree, *index);
}
#define LIBCFS_RADIX_FOR_EACH(slot, root, iter, start, tag)                         \
    for ((iter)->index = (start),                                                   \
        (slot) = libcfs_radix_slot_from(&(root)->tree, &(iter)->index, false, tag); \
         (slot) != NULL;                                                            \
         (slot) = libcfs_radix_slot_from(&(root)->tree, &(iter)->index, true, tag))
#define radix_tree_for_each_slot(slot, root, iter, start) \
    LIBCFS_RADIX_FOR_EACH(slot, root, iter, start, -1)
#define radix_tree_for_each_tagged(slot, root, iter, start, tag) \
    LIBCFS_RADIX_FOR_EACH(slot, root, iter, start, tag)

/* ---- linux/idr.h ----------------------------------------------------------------------------- */

struct idr {
    struct libcfs_radix tree;
    unsigned next; /* of idr_alloc_cyclic() */
};
#define IDR_INIT(name) \
    {                  \
        {NULL}, 0      \
    }
#define DEFINE_IDR(name) struct idr name = IDR_INIT(name)
#define idr_init(idr) ((void)(*(idr) = (struct idr)IDR_INIT()))
#define idr_destroy(idr) libcfs_radix_clear(&(idr)->tree)
#define idr_is_empty(idr) ((idr)->tree.root == NULL)
#define idr_preload(flags) ((void)(flags))
#define idr_preload_end() barrier()
#define idr_find(idr, id) libcfs_radix_load(&(idr)->tree, (unsigned long)(id))
#define idr_get_cursor(idr) READ_ONCE((idr)->next)
#define idr_set_cursor(idr, value) WRITE_ONCE((idr)->next, value)
/* The last number that a range has: `end` is behind it, 0 or less stands for the largest int. */
#define LIBCFS_IDR_LAST(end) ((end) > 0 ? (unsigned long)(end)-1 : (unsigned long)INT_MAX)
/* The least free number from `start` on, below `end`; -ENOSPC, -ENOMEM or -EINVAL. */
static inline int idr_alloc(struct idr *idr, void *entry, int start, int end, gfp_t flags)
{
    (void)flags;
    if (start < 0 || entry == NULL)
        return -EINVAL;
    return (int)libcfs_radix_add(&idr->tree, entry, (unsigned long)start, LIBCFS_IDR_LAST(end));
}
static inline int idr_alloc_cyclic(struct idr *idr, void *entry, int start, int end, gfp_t flags)
{
    int id = idr_alloc(idr, entry, (int)idr->next > start ? (int)idr->next : start, end, flags);

    if (id == -ENOSPC && (int)idr->next > start)
        id = idr_alloc(idr, entry, start, end, flags);
    if (id >= 0)
        idr->next = (unsigned)id + 1;
    return id;
}
static inline void *idr_remove(struct idr *idr, unsigned long id)
{
    void *old = NULL;

    (void)libcfs_radix_store(&idr->tree, id, NULL, &old);
    return old;
}
/* What was there; an error (IS_ERR()) if nothing was. */
static inline void *idr_replace(struct idr *idr, void *entry, unsigned long id)
{
    void *old = libcfs_radix_load(&idr->tree, id);

    if (old == NULL)
        return ERR_PTR(-ENOENT);
    (void)libcfs_radix_store(&idr->tree, id, entry, NULL);
    return old;
}
static inline void *idr_get_next(struct idr *idr, int *id)
{
    unsigned long index = (unsigned long)*id;
    void *entry = *id < 0 ? NULL : libcfs_radix_find(&idr->tree, &index, INT_MAX, -1);

    if (entry != NULL)
        *id = (int)index;
    return entry;
}
/* Ends with the first result that is not 0, and returns it. */
static inline int idr_for_each(struct idr *idr, int (*run)(int id, void *entry, void *data),
                               void *data)
{
    int id = 0, rc;
    void *entry;

    for (; (entry = idr_get_next(idr, &id)) != NULL; id++) {
        rc = run(id, entry, data);
        if (rc != 0 || id == INT_MAX)
            return rc;
    }
    return 0;
}
#define idr_for_each_entry(idr, entry, id) \
    for ((id) = 0; ((entry) = idr_get_next(idr, &(id))) != NULL; ++(id))
#define idr_for_each_entry_continue(idr, entry, id) \
    for (; ((entry) = idr_get_next(idr, &(id))) != NULL; ++(id))

/* Numbers only; it locks itself. */
struct ida {
    spinlock_t lock;
    struct libcfs_radix tree;
};
#define IDA_INIT(name) \
    {                  \
        {0},           \
        {              \
            NULL       \
        }              \
    }
#define DEFINE_IDA(name) struct ida name = IDA_INIT(name)
#define ida_init(ida) ((void)(*(ida) = (struct ida)IDA_INIT()))
#define ida_is_empty(ida) ((ida)->tree.root == NULL)
static inline int ida_alloc_range(struct ida *ida, unsigned first, unsigned last, gfp_t flags)
{
    long id;

    (void)flags;
    if ((int)first < 0)
        return -ENOSPC;
    spin_lock(&ida->lock);
    id = libcfs_radix_add(&ida->tree, ida, first, (int)last < 0 ? INT_MAX : last);
    spin_unlock(&ida->lock);
    return (int)id;
}
static inline void ida_free(struct ida *ida, unsigned id)
{
    void *old = NULL;

    spin_lock(&ida->lock);
    (void)libcfs_radix_store(&ida->tree, id, NULL, &old);
    spin_unlock(&ida->lock);
    if (old == NULL)
        CWARN("ida_free: %u was not allocated\n", id);
}
static inline void ida_destroy(struct ida *ida)
{
    spin_lock(&ida->lock);
    libcfs_radix_clear(&ida->tree);
    spin_unlock(&ida->lock);
}
#define ida_alloc(ida, flags) ida_alloc_range(ida, 0, ~0u, flags)
#define ida_alloc_min(ida, least, flags) ida_alloc_range(ida, least, ~0u, flags)
#define ida_alloc_max(ida, most, flags) ida_alloc_range(ida, 0, most, flags)
#define ida_simple_get(ida, start, end, flags) \
    ida_alloc_range(ida, start, (unsigned)(end) == 0 ? ~0u : (unsigned)(end)-1, flags)
#define ida_simple_remove(ida, id) ida_free(ida, id)

/* ---- linux/xarray.h -------------------------------------------------------------------------- */

#define XA_FLAGS_LOCK_IRQ 1u
#define XA_FLAGS_LOCK_BH 2u
#define XA_FLAGS_ALLOC 4u
#define XA_FLAGS_ALLOC1 8u /* numbers begin with 1 */
typedef unsigned xa_mark_t;
#define XA_MARK_0 0u
#define XA_MARK_1 1u
#define XA_MARK_2 2u
#define XA_PRESENT 8u
struct xarray {
    spinlock_t xa_lock;
    unsigned xa_flags;
    struct libcfs_radix tree;
};
struct xa_limit {
    u32 max, min;
};
#define XA_LIMIT(least, most)         \
    (struct xa_limit)                 \
    {                                 \
        .max = (most), .min = (least) \
    }
#define xa_limit_32b XA_LIMIT(0, UINT_MAX)
#define xa_limit_31b XA_LIMIT(0, INT_MAX)
#define xa_limit_16b XA_LIMIT(0, USHRT_MAX)
#define XARRAY_INIT(name, flags) \
    {                            \
        {0}, (flags),            \
        {                        \
            NULL                 \
        }                        \
    }
#define DEFINE_XARRAY_FLAGS(name, flags) struct xarray name = XARRAY_INIT(name, flags)
#define DEFINE_XARRAY(name) DEFINE_XARRAY_FLAGS(name, 0)
#define DEFINE_XARRAY_ALLOC(name) DEFINE_XARRAY_FLAGS(name, XA_FLAGS_ALLOC)
#define DEFINE_XARRAY_ALLOC1(name) DEFINE_XARRAY_FLAGS(name, XA_FLAGS_ALLOC | XA_FLAGS_ALLOC1)
#define xa_init_flags(xa, flags) ((void)(*(xa) = (struct xarray)XARRAY_INIT(, flags)))
#define xa_init(xa) xa_init_flags(xa, 0)
#define xa_empty(xa) ((xa)->tree.root == NULL)
#define xa_lock(xa) spin_lock(&(xa)->xa_lock)
#define xa_unlock(xa) spin_unlock(&(xa)->xa_lock)
#define xa_lock_bh(xa) xa_lock(xa)
#define xa_unlock_bh(xa) xa_unlock(xa)
#define xa_lock_irqsave(xa, flags) spin_lock_irqsave(&(xa)->xa_lock, flags)
#define xa_unlock_irqrestore(xa, flags) spin_unlock_irqrestore(&(xa)->xa_lock, flags)
#define xa_load(xa, index) libcfs_radix_load(&(xa)->tree, index)
/* A number in a pointer. */
#define xa_mk_value(number) ((void *)(((unsigned long)(number) << 1) | 1))
#define xa_to_value(entry) ((unsigned long)(entry) >> 1)
#define xa_is_value(entry) (((unsigned long)(entry)&1) != 0)
#define xa_is_err(entry) IS_ERR(entry)
#define xa_err(entry) (IS_ERR(entry) ? (int)PTR_ERR(entry) : 0)

/* What was there, or an error (xa_is_err()). */
static inline void *__xa_store(struct xarray *xa, unsigned long index, void *entry, gfp_t flags)
{
    void *old = NULL;
    int rc = libcfs_radix_store(&xa->tree, index, entry, &old);

    (void)flags;
    return rc != 0 ? ERR_PTR(rc) : old;
}
static inline void *__xa_cmpxchg(struct xarray *xa, unsigned long index, void *old, void *entry,
                                 gfp_t flags)
{
    void *there = libcfs_radix_load(&xa->tree, index);

    return there == old ? __xa_store(xa, index, entry, flags) : there;
}
static inline int __xa_insert(struct xarray *xa, unsigned long index, void *entry, gfp_t flags)
{
    void *there = libcfs_radix_load(&xa->tree, index);

    return there != NULL ? -EBUSY : xa_err(__xa_store(xa, index, entry, flags));
}
static inline int __xa_alloc(struct xarray *xa, u32 *id, void *entry, struct xa_limit limit,
                             gfp_t flags)
{
    u32 least = (xa->xa_flags & XA_FLAGS_ALLOC1) != 0 && limit.min == 0 ? 1 : limit.min;
    long rc = libcfs_radix_add(&xa->tree, entry, least, limit.max);

    (void)flags;
    if (rc >= 0)
        *id = (u32)rc;
    return rc == -ENOSPC ? -EBUSY : rc < 0 ? (int)rc : 0;
}
#define LIBCFS_XA_LOCKED(xa, call)    \
    ({                                \
        __typeof__(call) xa_result__; \
        xa_lock(xa);                  \
        xa_result__ = (call);         \
        xa_unlock(xa);                \
        xa_result__;                  \
    })
#define __xa_erase(xa, index) __xa_store(xa, index, NULL, 0)
#define xa_store(xa, index, entry, flags) LIBCFS_XA_LOCKED(xa, __xa_store(xa, index, entry, flags))
#define xa_erase(xa, index) LIBCFS_XA_LOCKED(xa, __xa_erase(xa, index))
#define xa_cmpxchg(xa, index, old, entry, flags) \
    LIBCFS_XA_LOCKED(xa, __xa_cmpxchg(xa, index, old, entry, flags))
#define xa_insert(xa, index, entry, flags) \
    LIBCFS_XA_LOCKED(xa, __xa_insert(xa, index, entry, flags))
#define xa_alloc(xa, id, entry, limit, flags) \
    LIBCFS_XA_LOCKED(xa, __xa_alloc(xa, id, entry, limit, flags))
#define xa_store_irq xa_store
#define xa_erase_irq xa_erase
#define xa_store_bh xa_store
#define xa_erase_bh xa_erase
#define xa_set_mark(xa, index, mark) \
    ((void)LIBCFS_XA_LOCKED(xa, libcfs_radix_mark(&(xa)->tree, index, (int)(mark), true)))
#define xa_clear_mark(xa, index, mark) \
    ((void)LIBCFS_XA_LOCKED(xa, libcfs_radix_mark(&(xa)->tree, index, (int)(mark), false)))
#define xa_get_mark(xa, index, mark) libcfs_radix_marked(&(xa)->tree, index, (int)(mark))
#define xa_marked(xa, mark) libcfs_radix_any_marked(&(xa)->tree, (int)(mark))
static inline void *xa_find(struct xarray *xa, unsigned long *index, unsigned long last,
                            xa_mark_t filter)
{
    return libcfs_radix_find(&xa->tree, index, last, filter == XA_PRESENT ? -1 : (int)filter);
}
static inline void *xa_find_after(struct xarray *xa, unsigned long *index, unsigned long last,
                                  xa_mark_t filter)
{
    unsigned long next = *index + 1;
    void *entry = next == 0 ? NULL : xa_find(xa, &next, last, filter);

    if (entry != NULL)
        *index = next;
    return entry;
}
#define xa_for_each_marked(xa, index, entry, filter)                                       \
    for ((index) = 0, (entry) = xa_find(xa, &(index), ULONG_MAX, filter); (entry) != NULL; \
         (entry) = xa_find_after(xa, &(index), ULONG_MAX, filter))
#define xa_for_each(xa, index, entry) xa_for_each_marked(xa, index, entry, XA_PRESENT)
static inline void xa_destroy(struct xarray *xa)
{
    xa_lock(xa);
    libcfs_radix_clear(&xa->tree);
    xa_unlock(xa);
}

#endif
