/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libcfs's hash tables: chains of nodes that are part of the users' objects, in buckets that have a
 * lock each. A table may count references of its objects, and grow and shrink: it does so in the
 * call that makes it too full or too empty, except during an iteration, whose end does it then.
 */
#ifndef JACQUARD_LIBCFS_HASH_H
#define JACQUARD_LIBCFS_HASH_H

#include "libcfs/libcfs.h"

#define CFS_GOLDEN_RATIO_PRIME_32 0x9e370001UL
#define CFS_GOLDEN_RATIO_PRIME_64 0x9e37fffffffc0001ULL
#define CFS_HASH_DEBUG_NONE 0
#define CFS_HASH_DEBUG_1 1
#define CFS_HASH_DEBUG_2 2
#define CFS_HASH_DEBUG_LEVEL CFS_HASH_DEBUG_NONE
#define CFS_HASH_NAME_LEN 16
#define CFS_HASH_BIGNAME_LEN 64
#define CFS_HASH_BKT_BITS 3
#define CFS_HASH_BITS_MAX 30
#define CFS_HASH_BITS_MIN CFS_HASH_BKT_BITS
#define CFS_HASH_LOOP_HOG 1024 /* objects after which an iteration lets others run */

enum cfs_hash_tag {
    CFS_HASH_NO_LOCK = 1 << 0, /* the user locks */
    CFS_HASH_NO_BKTLOCK = 1 << 1, /* one spin lock for the table */
    CFS_HASH_RW_BKTLOCK = 1 << 2,
    CFS_HASH_SPIN_BKTLOCK = 1 << 3,
    CFS_HASH_ADD_TAIL = 1 << 4, /* to the end of the chain */
    CFS_HASH_NO_ITEMREF = 1 << 5, /* the table has no reference of its objects */
    CFS_HASH_BIGNAME = 1 << 6,
    CFS_HASH_COUNTER = 1 << 7, /* the whole number of objects is known */
    CFS_HASH_REHASH_KEY = 1 << 8, /* keys change (cfs_hash_rehash_key()) */
    CFS_HASH_REHASH = 1 << 9, /* it grows */
    CFS_HASH_SHRINK = 1 << 10, /* and shrinks */
    CFS_HASH_ASSERT_EMPTY = 1 << 11, /* at its end */
    CFS_HASH_DEPTH = 1 << 12, /* the longest chain of each bucket is known */
    CFS_HASH_NBLK_CHANGE = 1 << 13,
};
#define CFS_HASH_DEFAULT (CFS_HASH_RW_BKTLOCK | CFS_HASH_COUNTER | CFS_HASH_REHASH)

typedef struct cfs_hash cfs_hash_t;
typedef union cfs_hash_lock {
    rwlock_t rw;
    spinlock_t spin;
} cfs_hash_lock_t;

/* Chains, and the user's own bytes behind them. */
typedef struct cfs_hash_bucket {
    union cfs_hash_lock hsb_lock;
    __u32 hsb_count, hsb_version; /* objects; changes */
    unsigned hsb_index;
    int hsb_depmax;
    long hsb_head[];
} cfs_hash_bucket_t;
/* A chain: its bucket, and which one of it. */
typedef struct cfs_hash_bd {
    struct cfs_hash_bucket *bd_bucket;
    unsigned bd_offset;
} cfs_hash_bd_t;

typedef struct cfs_hash_ops {
    unsigned (*hs_hash)(struct cfs_hash *hs, const void *key, unsigned mask);
    void *(*hs_key)(struct hlist_node *hnode);
    void (*hs_keycpy)(struct hlist_node *hnode, void *key);
    int (*hs_keycmp)(const void *key, struct hlist_node *hnode); /* 1: they are equal */
    void *(*hs_object)(struct hlist_node *hnode);
    void (*hs_get)(struct cfs_hash *hs, struct hlist_node *hnode); /* with the bucket's lock */
    void (*hs_put)(struct cfs_hash *hs, struct hlist_node *hnode);
    void (*hs_put_locked)(struct cfs_hash *hs, struct hlist_node *hnode);
    void (*hs_exit)(struct cfs_hash *hs, struct hlist_node *hnode); /* the table ends with it */
} cfs_hash_ops_t;
typedef struct cfs_hash_lock_ops {
    void (*hs_lock)(union cfs_hash_lock *lock, int exclusive);
    void (*hs_unlock)(union cfs_hash_lock *lock, int exclusive);
    void (*hs_bkt_lock)(union cfs_hash_lock *lock, int exclusive);
    void (*hs_bkt_unlock)(union cfs_hash_lock *lock, int exclusive);
} cfs_hash_lock_ops_t;
typedef struct cfs_hash_hlist_ops {
    struct hlist_head *(*hop_hhead)(struct cfs_hash *hs, struct cfs_hash_bd *bd);
    int (*hop_hhead_size)(struct cfs_hash *hs);
    int (*hop_hnode_add)(struct cfs_hash *hs, struct cfs_hash_bd *bd, struct hlist_node *hnode);
    int (*hop_hnode_del)(struct cfs_hash *hs, struct cfs_hash_bd *bd, struct hlist_node *hnode);
} cfs_hash_hlist_ops_t;

struct cfs_hash {
    union cfs_hash_lock hs_lock; /* of the buckets' table; NO_BKTLOCK: of everything */
    struct cfs_hash_ops *hs_ops;
    const struct cfs_hash_lock_ops *hs_lops;
    const struct cfs_hash_hlist_ops *hs_hops;
    struct cfs_hash_bucket **hs_buckets;
    atomic_t hs_count;
    __u16 hs_flags, hs_extra_bytes;
    __u8 hs_iterating, hs_exiting;
    __u8 hs_cur_bits, hs_min_bits, hs_max_bits, hs_rehash_bits, hs_bkt_bits;
    __u16 hs_min_theta, hs_max_theta;
    __u32 hs_rehash_count, hs_iterators;
    atomic_t hs_refcount;
    struct cfs_hash_bucket **hs_rehash_buckets; /* NULL: see above */
    char hs_name[];
};
#define CFS_HASH_NBKT(hs) (1U << ((hs)->hs_cur_bits - (hs)->hs_bkt_bits))
#define CFS_HASH_RH_NBKT(hs) (1U << ((hs)->hs_rehash_bits - (hs)->hs_bkt_bits))
#define CFS_HASH_BKT_NHLIST(hs) (1U << (hs)->hs_bkt_bits)
#define CFS_HASH_NHLIST(hs) (1U << (hs)->hs_cur_bits)
#define CFS_HASH_RH_NHLIST(hs) (1U << (hs)->hs_rehash_bits)

#define LIBCFS_HASH_WITH(name, tag)                             \
    static inline int cfs_hash_with_##name(struct cfs_hash *hs) \
    {                                                           \
        return (hs->hs_flags & (tag)) != 0;                     \
    }                                                           \
    struct cfs_hash
LIBCFS_HASH_WITH(no_lock, CFS_HASH_NO_LOCK);
LIBCFS_HASH_WITH(no_bktlock, CFS_HASH_NO_BKTLOCK);
LIBCFS_HASH_WITH(rw_bktlock, CFS_HASH_RW_BKTLOCK);
LIBCFS_HASH_WITH(spin_bktlock, CFS_HASH_SPIN_BKTLOCK);
LIBCFS_HASH_WITH(add_tail, CFS_HASH_ADD_TAIL);
LIBCFS_HASH_WITH(no_itemref, CFS_HASH_NO_ITEMREF);
LIBCFS_HASH_WITH(bigname, CFS_HASH_BIGNAME);
LIBCFS_HASH_WITH(counter, CFS_HASH_COUNTER);
LIBCFS_HASH_WITH(rehash, CFS_HASH_REHASH);
LIBCFS_HASH_WITH(rehash_key, CFS_HASH_REHASH_KEY);
LIBCFS_HASH_WITH(shrink, CFS_HASH_SHRINK);
LIBCFS_HASH_WITH(assert_empty, CFS_HASH_ASSERT_EMPTY);
LIBCFS_HASH_WITH(depth, CFS_HASH_DEPTH);
LIBCFS_HASH_WITH(nblk_change, CFS_HASH_NBLK_CHANGE);
static inline int cfs_hash_is_exiting(struct cfs_hash *hs)
{
    return hs->hs_exiting;
}
static inline int cfs_hash_is_rehashing(struct cfs_hash *hs)
{
    return hs->hs_rehash_bits != 0;
}
static inline int cfs_hash_is_iterating(struct cfs_hash *hs)
{
    return hs->hs_iterating || hs->hs_iterators != 0;
}
static inline int cfs_hash_bkt_size(struct cfs_hash *hs)
{
    return (int)offsetof(struct cfs_hash_bucket, hsb_head) +
           hs->hs_hops->hop_hhead_size(hs) * (int)CFS_HASH_BKT_NHLIST(hs) + hs->hs_extra_bytes;
}

/* ---- the user's functions -------------------------------------------------------------------- */

#define CFS_HOP(hs, op) (hs)->hs_ops->hs_##op
static inline unsigned cfs_hash_id(struct cfs_hash *hs, const void *key, unsigned mask)
{
    return CFS_HOP(hs, hash)(hs, key, mask);
}
static inline void *cfs_hash_key(struct cfs_hash *hs, struct hlist_node *hnode)
{
    return CFS_HOP(hs, key)(hnode);
}
static inline void cfs_hash_keycpy(struct cfs_hash *hs, struct hlist_node *hnode, void *key)
{
    if (CFS_HOP(hs, keycpy) != NULL)
        CFS_HOP(hs, keycpy)(hnode, key);
}
static inline int cfs_hash_keycmp(struct cfs_hash *hs, const void *key, struct hlist_node *hnode)
{
    return CFS_HOP(hs, keycmp)(key, hnode);
}
static inline void *cfs_hash_object(struct cfs_hash *hs, struct hlist_node *hnode)
{
    return CFS_HOP(hs, object)(hnode);
}
static inline void cfs_hash_get(struct cfs_hash *hs, struct hlist_node *hnode)
{
    CFS_HOP(hs, get)(hs, hnode);
}
static inline void cfs_hash_put_locked(struct cfs_hash *hs, struct hlist_node *hnode)
{
    LASSERT(CFS_HOP(hs, put_locked) != NULL);
    CFS_HOP(hs, put_locked)(hs, hnode);
}
static inline void cfs_hash_put(struct cfs_hash *hs, struct hlist_node *hnode)
{
    LASSERT(CFS_HOP(hs, put) != NULL);
    CFS_HOP(hs, put)(hs, hnode);
}
static inline void cfs_hash_exit(struct cfs_hash *hs, struct hlist_node *hnode)
{
    if (CFS_HOP(hs, exit) != NULL)
        CFS_HOP(hs, exit)(hs, hnode);
}

/* ---- locks ----------------------------------------------------------------------------------- */

static inline void cfs_hash_lock(struct cfs_hash *hs, int excl)
{
    hs->hs_lops->hs_lock(&hs->hs_lock, excl);
}
static inline void cfs_hash_unlock(struct cfs_hash *hs, int excl)
{
    hs->hs_lops->hs_unlock(&hs->hs_lock, excl);
}
static inline int cfs_hash_dec_and_lock(struct cfs_hash *hs, atomic_t *condition)
{
    LASSERT(cfs_hash_with_no_bktlock(hs));
    return atomic_dec_and_lock(condition, &hs->hs_lock.spin);
}
static inline void cfs_hash_bd_lock(struct cfs_hash *hs, struct cfs_hash_bd *bd, int excl)
{
    hs->hs_lops->hs_bkt_lock(&bd->bd_bucket->hsb_lock, excl);
}
static inline void cfs_hash_bd_unlock(struct cfs_hash *hs, struct cfs_hash_bd *bd, int excl)
{
    hs->hs_lops->hs_bkt_unlock(&bd->bd_bucket->hsb_lock, excl);
}
static inline int cfs_hash_bd_dec_and_lock(struct cfs_hash *hs, struct cfs_hash_bd *bd,
                                           atomic_t *condition)
{
    LASSERT(cfs_hash_with_spin_bktlock(hs));
    return atomic_dec_and_lock(condition, &bd->bd_bucket->hsb_lock.spin);
}

/* ---- one chain: for tables that are not rehashed, with the bucket's lock --------------------- */

#pragma GCC visibility push(default)
void cfs_hash_bd_get(struct cfs_hash *hs, const void *key, struct cfs_hash_bd *bd);
void cfs_hash_bd_add_locked(struct cfs_hash *hs, struct cfs_hash_bd *bd, struct hlist_node *hnode);
void cfs_hash_bd_del_locked(struct cfs_hash *hs, struct cfs_hash_bd *bd, struct hlist_node *hnode);
void cfs_hash_bd_move_locked(struct cfs_hash *hs, struct cfs_hash_bd *from, struct cfs_hash_bd *to,
                             struct hlist_node *hnode);
/* With a reference of the object, and without one. */
struct hlist_node *cfs_hash_bd_lookup_locked(struct cfs_hash *hs, struct cfs_hash_bd *bd,
                                             const void *key);
struct hlist_node *cfs_hash_bd_peek_locked(struct cfs_hash *hs, struct cfs_hash_bd *bd,
                                           const void *key);
/* Returns the entry with that key, with a reference; if there is none, adds `hnode`. */
struct hlist_node *cfs_hash_bd_findadd_locked(struct cfs_hash *hs, struct cfs_hash_bd *bd,
                                              const void *key, struct hlist_node *hnode, int noref);
struct hlist_node *cfs_hash_bd_finddel_locked(struct cfs_hash *hs, struct cfs_hash_bd *bd,
                                              const void *key, struct hlist_node *hnode);
/* For tables that are rehashed: two descriptors, of which the second is empty here. */
void cfs_hash_dual_bd_get(struct cfs_hash *hs, const void *key, struct cfs_hash_bd *bds);
void cfs_hash_dual_bd_lock(struct cfs_hash *hs, struct cfs_hash_bd *bds, int excl);
void cfs_hash_dual_bd_unlock(struct cfs_hash *hs, struct cfs_hash_bd *bds, int excl);
#define cfs_hash_dual_bd_lookup_locked cfs_hash_bd_lookup_locked
#define cfs_hash_dual_bd_findadd_locked cfs_hash_bd_findadd_locked
#define cfs_hash_dual_bd_finddel_locked cfs_hash_bd_finddel_locked

/* ---- the table ------------------------------------------------------------------------------- */

/* NULL: no memory. */
struct cfs_hash *cfs_hash_create(const char *name, unsigned cur_bits, unsigned max_bits,
                                 unsigned bkt_bits, unsigned extra_bytes, unsigned min_theta,
                                 unsigned max_theta, struct cfs_hash_ops *ops, unsigned flags);
struct cfs_hash *cfs_hash_getref(struct cfs_hash *hs);
void cfs_hash_putref(struct cfs_hash *hs); /* the last one ends the table */
void cfs_hash_add(struct cfs_hash *hs, const void *key, struct hlist_node *hnode);
/* 0; -EALREADY: there is one with the key. */
int cfs_hash_add_unique(struct cfs_hash *hs, const void *key, struct hlist_node *hnode);
/* The object that was there, with a reference, or that of `hnode`. */
void *cfs_hash_findadd_unique(struct cfs_hash *hs, const void *key, struct hlist_node *hnode);
/* The object, whose reference of the table is gone; NULL: there was none. */
void *cfs_hash_del(struct cfs_hash *hs, const void *key, struct hlist_node *hnode);
void *cfs_hash_del_key(struct cfs_hash *hs, const void *key);
void *cfs_hash_lookup(struct cfs_hash *hs, const void *key); /* with a reference */

/* Not 0: the iteration ends. */
typedef int (*cfs_hash_for_each_cb_t)(struct cfs_hash *hs, struct cfs_hash_bd *bd,
                                      struct hlist_node *node, void *data);
typedef int (*cfs_hash_cond_opt_cb_t)(void *object, void *data);
/* With the bucket's lock; _safe: the callback may remove the object by cfs_hash_bd_del_locked(). */
void cfs_hash_for_each(struct cfs_hash *hs, cfs_hash_for_each_cb_t call, void *data);
void cfs_hash_for_each_safe(struct cfs_hash *hs, cfs_hash_for_each_cb_t call, void *data);
void cfs_hash_cond_del(struct cfs_hash *hs, cfs_hash_cond_opt_cb_t call, void *data);
/* Without a lock, with a reference. 0, or -EOPNOTSUPP for this kind of table. `start`: the bucket
 * to begin with, in some releases. */
int libcfs_hash_for_each_nolock(struct cfs_hash *hs, cfs_hash_for_each_cb_t call, void *data,
                                int start);
#define LIBCFS_HASH_SECOND(first, second, ...) second
#define cfs_hash_for_each_nolock(hs, call, data, ...) \
    libcfs_hash_for_each_nolock(hs, call, data, LIBCFS_HASH_SECOND(0, ##__VA_ARGS__, 0))
/* Again and again, until there is no object: the callback removes them. */
int cfs_hash_for_each_empty(struct cfs_hash *hs, cfs_hash_for_each_cb_t call, void *data);
void cfs_hash_for_each_key(struct cfs_hash *hs, const void *key, cfs_hash_for_each_cb_t call,
                           void *data);
void cfs_hash_hlist_for_each(struct cfs_hash *hs, unsigned index, cfs_hash_for_each_cb_t call,
                             void *data);
int cfs_hash_is_empty(struct cfs_hash *hs);
__u64 cfs_hash_size_get(struct cfs_hash *hs);

/* Grows or shrinks the table by a bit if it is time; 0, or why not. */
int cfs_hash_rehash(struct cfs_hash *hs, int do_rehash);
void cfs_hash_rehash_key(struct cfs_hash *hs, const void *old_key, void *new_key,
                         struct hlist_node *hnode);
#pragma GCC visibility pop
static inline void cfs_hash_rehash_cancel(struct cfs_hash *hs)
{
    (void)hs; /* nothing is under way */
}
#define cfs_hash_rehash_cancel_locked(hs) cfs_hash_rehash_cancel(hs)

static inline void cfs_hash_bd_get_and_lock(struct cfs_hash *hs, const void *key,
                                            struct cfs_hash_bd *bd, int excl)
{
    cfs_hash_bd_get(hs, key, bd);
    cfs_hash_bd_lock(hs, bd, excl);
}
static inline void cfs_hash_dual_bd_get_and_lock(struct cfs_hash *hs, const void *key,
                                                 struct cfs_hash_bd *bds, int excl)
{
    cfs_hash_dual_bd_get(hs, key, bds);
    cfs_hash_dual_bd_lock(hs, bds, excl);
}
static inline unsigned cfs_hash_bd_index_get(struct cfs_hash *hs, struct cfs_hash_bd *bd)
{
    return bd->bd_offset | bd->bd_bucket->hsb_index << hs->hs_bkt_bits;
}
static inline void cfs_hash_bd_index_set(struct cfs_hash *hs, unsigned index,
                                         struct cfs_hash_bd *bd)
{
    bd->bd_bucket = hs->hs_buckets[index >> hs->hs_bkt_bits];
    bd->bd_offset = index & (CFS_HASH_BKT_NHLIST(hs) - 1U);
}
static inline void *cfs_hash_bd_extra_get(struct cfs_hash *hs, struct cfs_hash_bd *bd)
{
    return (char *)bd->bd_bucket + cfs_hash_bkt_size(hs) - hs->hs_extra_bytes;
}
static inline __u32 cfs_hash_bd_version_get(struct cfs_hash_bd *bd)
{
    return bd->bd_bucket->hsb_version;
}
static inline __u32 cfs_hash_bd_count_get(struct cfs_hash_bd *bd)
{
    return bd->bd_bucket->hsb_count;
}
static inline int cfs_hash_bd_depmax_get(struct cfs_hash_bd *bd)
{
    return bd->bd_bucket->hsb_depmax;
}
static inline int cfs_hash_bd_compare(struct cfs_hash_bd *a, struct cfs_hash_bd *b)
{
    if (a->bd_bucket->hsb_index != b->bd_bucket->hsb_index)
        return (int)a->bd_bucket->hsb_index - (int)b->bd_bucket->hsb_index;
    return (int)a->bd_offset - (int)b->bd_offset;
}
static inline struct hlist_head *cfs_hash_bd_hhead(struct cfs_hash *hs, struct cfs_hash_bd *bd)
{
    return hs->hs_hops->hop_hhead(hs, bd);
}
#define cfs_hash_for_each_bd(bds, n, i) for (i = 0; i < (n) && (bds)[i].bd_bucket != NULL; i++)
#define cfs_hash_for_each_bucket(hs, bd, pos)                                                    \
    for (pos = 0;                                                                                \
         (unsigned)pos < CFS_HASH_NBKT(hs) && ((bd)->bd_bucket = (hs)->hs_buckets[pos]) != NULL; \
         pos++)
#define cfs_hash_bd_for_each_hlist(hs, bd, hlist)                                                  \
    for ((bd)->bd_offset = 0;                                                                      \
         (bd)->bd_offset < CFS_HASH_BKT_NHLIST(hs) && (hlist = cfs_hash_bd_hhead(hs, bd)) != NULL; \
         (bd)->bd_offset++)

/* ---- how full it is: the average length of a chain, in 1/1024 -------------------------------- */

#define CFS_HASH_THETA_BITS 10
#define CFS_HASH_MIN_THETA (1U << (CFS_HASH_THETA_BITS - 1))
#define CFS_HASH_MAX_THETA (1U << (CFS_HASH_THETA_BITS + 1))
static inline int __cfs_hash_theta_int(int theta)
{
    return theta >> CFS_HASH_THETA_BITS;
}
static inline int __cfs_hash_theta_frac(int theta) /* in 1/1000 */
{
    return ((theta * 1000) >> CFS_HASH_THETA_BITS) - __cfs_hash_theta_int(theta) * 1000;
}
static inline int __cfs_hash_theta(struct cfs_hash *hs)
{
    return (int)(((__u64)atomic_read(&hs->hs_count) << CFS_HASH_THETA_BITS) >> hs->hs_cur_bits);
}
static inline void __cfs_hash_set_theta(struct cfs_hash *hs, int least, int most)
{
    LASSERT(least < most);
    hs->hs_min_theta = (__u16)least;
    hs->hs_max_theta = (__u16)most;
}

/* ---- functions of keys ----------------------------------------------------------------------- */

static inline unsigned cfs_hash_djb2_hash(const void *key, size_t size, unsigned mask)
{
    unsigned hash = 5381;
    size_t i;

    LASSERT(key != NULL);
    for (i = 0; i < size; i++)
        hash = hash * 33 + (unsigned)((const char *)key)[i];
    return hash & mask;
}
static inline unsigned cfs_hash_u32_hash(const __u32 key, unsigned mask)
{
    return (unsigned)(key * CFS_GOLDEN_RATIO_PRIME_32) & mask;
}
static inline unsigned cfs_hash_u64_hash(const __u64 key, unsigned mask)
{
    return (unsigned)(key * CFS_GOLDEN_RATIO_PRIME_64) & mask;
}
static inline unsigned long cfs_hash_long(unsigned long value, unsigned bits)
{
    return (value * 0x61c8864680b583ebUL) >> (64 - bits);
}

#endif
