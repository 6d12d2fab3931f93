/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Hash tables: their chains, locks and sizes. hash_iterate.c goes through them. */
#include "kernel.h"

/* ---- chains ---------------------------------------------------------------------------------- */

/* One chain of a bucket; hsb_head points to an array of them. */
struct chain {
    struct hlist_head head;
    struct hlist_node *tail; /* NULL: it is empty */
    unsigned depth;
};

static struct chain *chain_of(struct cfs_hash_bd *bd)
{
    return (struct chain *)(void *)bd->bd_bucket->hsb_head + bd->bd_offset;
}

static struct hlist_head *chain_head(struct cfs_hash *hs, struct cfs_hash_bd *bd)
{
    (void)hs;
    return &chain_of(bd)->head;
}

static int chain_size(struct cfs_hash *hs)
{
    (void)hs;
    return sizeof(struct chain);
}

static int chain_add(struct cfs_hash *hs, struct cfs_hash_bd *bd, struct hlist_node *node)
{
    struct chain *chain = chain_of(bd);

    if (cfs_hash_with_add_tail(hs) && chain->tail != NULL) {
        node->next = NULL;
        node->pprev = &chain->tail->next;
        chain->tail->next = node;
    } else
        hlist_add_head(node, &chain->head);
    if (node->next == NULL)
        chain->tail = node;
    return (int)++chain->depth;
}

static int chain_del(struct cfs_hash *hs, struct cfs_hash_bd *bd, struct hlist_node *node)
{
    struct chain *chain = chain_of(bd);

    (void)hs;
    if (chain->tail == node)
        chain->tail = node->pprev == &chain->head.first
                          ? NULL
                          : container_of(node->pprev, struct hlist_node, next);
    hlist_del_init(node);
    return (int)--chain->depth;
}

static const struct cfs_hash_hlist_ops chain_ops = {chain_head, chain_size, chain_add, chain_del};

/* ---- locks ----------------------------------------------------------------------------------- */

static void no_lock(union cfs_hash_lock *lock, int exclusive)
{
    (void)lock, (void)exclusive;
}
static void lock_spin(union cfs_hash_lock *lock, int exclusive)
{
    (void)exclusive;
    spin_lock(&lock->spin);
}
static void unlock_spin(union cfs_hash_lock *lock, int exclusive)
{
    (void)exclusive;
    spin_unlock(&lock->spin);
}
static void lock_rw(union cfs_hash_lock *lock, int exclusive)
{
    if (exclusive)
        write_lock(&lock->rw);
    else
        read_lock(&lock->rw);
}
static void unlock_rw(union cfs_hash_lock *lock, int exclusive)
{
    if (exclusive)
        write_unlock(&lock->rw);
    else
        read_unlock(&lock->rw);
}

static const struct cfs_hash_lock_ops unlocked = {no_lock, no_lock, no_lock, no_lock};
static const struct cfs_hash_lock_ops one_lock = {lock_spin, unlock_spin, no_lock, no_lock};
static const struct cfs_hash_lock_ops spin_fixed = {no_lock, no_lock, lock_spin, unlock_spin};
static const struct cfs_hash_lock_ops rw_fixed = {no_lock, no_lock, lock_rw, unlock_rw};
static const struct cfs_hash_lock_ops spin_rehashed = {lock_rw, unlock_rw, lock_spin, unlock_spin};
static const struct cfs_hash_lock_ops rw_rehashed = {lock_rw, unlock_rw, lock_rw, unlock_rw};

static const struct cfs_hash_lock_ops *lock_ops(struct cfs_hash *hs)
{
    if (cfs_hash_with_no_lock(hs))
        return &unlocked;
    if (cfs_hash_with_no_bktlock(hs))
        return &one_lock;
    if (cfs_hash_with_rehash(hs))
        return cfs_hash_with_rw_bktlock(hs) ? &rw_rehashed : &spin_rehashed;
    LASSERT(cfs_hash_with_rw_bktlock(hs) || cfs_hash_with_spin_bktlock(hs));
    return cfs_hash_with_rw_bktlock(hs) ? &rw_fixed : &spin_fixed;
}

/* ---- a chain of a key ------------------------------------------------------------------------ */

static void bd_of(struct cfs_hash *hs, struct cfs_hash_bucket **buckets, unsigned bits,
                  const void *key, struct cfs_hash_bd *bd)
{
    unsigned index = cfs_hash_id(hs, key, (1U << bits) - 1), bucket_bits = bits - hs->hs_bkt_bits;

    bd->bd_bucket = buckets[index & ((1U << bucket_bits) - 1)];
    bd->bd_offset = index >> bucket_bits;
}

void cfs_hash_bd_get(struct cfs_hash *hs, const void *key, struct cfs_hash_bd *bd)
{
    bd_of(hs, hs->hs_buckets, hs->hs_cur_bits, key, bd);
}

void cfs_hash_dual_bd_get(struct cfs_hash *hs, const void *key, struct cfs_hash_bd *bds)
{
    cfs_hash_bd_get(hs, key, &bds[0]);
    bds[1].bd_bucket = NULL;
}

void cfs_hash_dual_bd_lock(struct cfs_hash *hs, struct cfs_hash_bd *bds, int excl)
{
    cfs_hash_bd_lock(hs, &bds[0], excl);
}

void cfs_hash_dual_bd_unlock(struct cfs_hash *hs, struct cfs_hash_bd *bds, int excl)
{
    cfs_hash_bd_unlock(hs, &bds[0], excl);
}

static void insert(struct cfs_hash *hs, struct cfs_hash_bd *bd, struct hlist_node *node)
{
    int depth = hs->hs_hops->hop_hnode_add(hs, bd, node);

    if (cfs_hash_with_depth(hs) && depth > bd->bd_bucket->hsb_depmax)
        bd->bd_bucket->hsb_depmax = depth;
    bd->bd_bucket->hsb_count++;
    bd->bd_bucket->hsb_version++;
}

static void extract(struct cfs_hash *hs, struct cfs_hash_bd *bd, struct hlist_node *node)
{
    LASSERT(bd->bd_bucket->hsb_count > 0);
    (void)hs->hs_hops->hop_hnode_del(hs, bd, node);
    bd->bd_bucket->hsb_count--;
    bd->bd_bucket->hsb_version++;
}

void cfs_hash_bd_add_locked(struct cfs_hash *hs, struct cfs_hash_bd *bd, struct hlist_node *node)
{
    insert(hs, bd, node);
    if (cfs_hash_with_counter(hs))
        atomic_inc(&hs->hs_count);
    if (!cfs_hash_with_no_itemref(hs))
        cfs_hash_get(hs, node);
}

void cfs_hash_bd_del_locked(struct cfs_hash *hs, struct cfs_hash_bd *bd, struct hlist_node *node)
{
    extract(hs, bd, node);
    if (cfs_hash_with_counter(hs)) {
        LASSERT(atomic_read(&hs->hs_count) > 0);
        atomic_dec(&hs->hs_count);
    }
    if (!cfs_hash_with_no_itemref(hs))
        cfs_hash_put_locked(hs, node);
}

void cfs_hash_bd_move_locked(struct cfs_hash *hs, struct cfs_hash_bd *from, struct cfs_hash_bd *to,
                             struct hlist_node *node)
{
    if (cfs_hash_bd_compare(from, to) == 0)
        return;
    extract(hs, from, node);
    insert(hs, to, node);
}

static struct hlist_node *find(struct cfs_hash *hs, struct cfs_hash_bd *bd, const void *key,
                               const struct hlist_node *wanted)
{
    struct hlist_node *node;

    hlist_for_each(node, cfs_hash_bd_hhead(hs, bd))
    {
        if ((wanted == NULL || node == wanted) &&
            (wanted != NULL || cfs_hash_keycmp(hs, key, node) != 0))
            return node;
    }
    return NULL;
}

struct hlist_node *cfs_hash_bd_peek_locked(struct cfs_hash *hs, struct cfs_hash_bd *bd,
                                           const void *key)
{
    return find(hs, bd, key, NULL);
}

struct hlist_node *cfs_hash_bd_lookup_locked(struct cfs_hash *hs, struct cfs_hash_bd *bd,
                                             const void *key)
{
    struct hlist_node *node = find(hs, bd, key, NULL);

    if (node != NULL)
        cfs_hash_get(hs, node);
    return node;
}

struct hlist_node *cfs_hash_bd_findadd_locked(struct cfs_hash *hs, struct cfs_hash_bd *bd,
                                              const void *key, struct hlist_node *hnode, int noref)
{
    struct hlist_node *node = find(hs, bd, key, NULL);

    if (node == NULL) {
        cfs_hash_bd_add_locked(hs, bd, hnode);
        return hnode;
    }
    if (!noref)
        cfs_hash_get(hs, node);
    return node;
}

struct hlist_node *cfs_hash_bd_finddel_locked(struct cfs_hash *hs, struct cfs_hash_bd *bd,
                                              const void *key, struct hlist_node *hnode)
{
    struct hlist_node *node = find(hs, bd, key, hnode);

    if (node != NULL)
        cfs_hash_bd_del_locked(hs, bd, node);
    return node;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static void buckets_free(struct cfs_hash_bucket **buckets, unsigned from, unsigned to)
{
    for (; from < to; from++)
        free(buckets[from]);
}

/* A table with the first buckets of the old one, and new ones behind them. NULL: no memory. */
static struct cfs_hash_bucket **buckets_make(struct cfs_hash *hs, unsigned old, unsigned count)
{
    struct cfs_hash_bucket **buckets = calloc(count, sizeof(struct cfs_hash_bucket *));
    unsigned i;

    for (i = 0; buckets != NULL && i < count; i++) {
        buckets[i] = i < old ? hs->hs_buckets[i] : calloc(1, (size_t)cfs_hash_bkt_size(hs));
        if (buckets[i] == NULL) {
            buckets_free(buckets, old, i);
            free(buckets);
            return NULL;
        }
        if (i >= old)
            buckets[i]->hsb_index = i;
    }
    return buckets;
}

/* The bits that it should have; 0: those that it has; or why it cannot be. */
static int bits_wanted(struct cfs_hash *hs)
{
    if (!cfs_hash_with_rehash(hs))
        return -EOPNOTSUPP;
    if (cfs_hash_is_exiting(hs))
        return -ESRCH;
    if (cfs_hash_is_rehashing(hs))
        return -EALREADY;
    if (cfs_hash_is_iterating(hs))
        return -EAGAIN;
    if (hs->hs_cur_bits < hs->hs_max_bits && __cfs_hash_theta(hs) > hs->hs_max_theta)
        return hs->hs_cur_bits + 1;
    if (cfs_hash_with_shrink(hs) && hs->hs_cur_bits > hs->hs_min_bits &&
        __cfs_hash_theta(hs) < hs->hs_min_theta)
        return hs->hs_cur_bits - 1;
    return 0;
}

static void move_bucket(struct cfs_hash *hs, struct cfs_hash_bd *from)
{
    struct hlist_node *node, *next;
    struct hlist_head *head;
    struct cfs_hash_bd to;

    cfs_hash_bd_for_each_hlist(hs, from, head)
    {
        hlist_for_each_safe(node, next, head)
        {
            bd_of(hs, hs->hs_rehash_buckets, hs->hs_rehash_bits, cfs_hash_key(hs, node), &to);
            cfs_hash_bd_move_locked(hs, from, &to, node);
        }
    }
}

/* With the lock of the table, exclusively: nobody else is at a bucket. */
static int rehash_locked(struct cfs_hash *hs, unsigned bits)
{
    struct cfs_hash_bucket **old = hs->hs_buckets;
    unsigned old_count = CFS_HASH_NBKT(hs), count = 1U << (bits - hs->hs_bkt_bits), i;
    struct cfs_hash_bd bd;

    hs->hs_rehash_bits = (__u8)bits;
    hs->hs_rehash_buckets = buckets_make(hs, old_count < count ? old_count : count, count);
    if (hs->hs_rehash_buckets == NULL) {
        hs->hs_rehash_bits = 0;
        return -ENOMEM;
    }
    cfs_hash_for_each_bucket(hs, &bd, i) move_bucket(hs, &bd);
    hs->hs_buckets = hs->hs_rehash_buckets;
    hs->hs_cur_bits = (__u8)bits;
    hs->hs_rehash_buckets = NULL;
    hs->hs_rehash_bits = 0;
    hs->hs_rehash_count++;
    buckets_free(old, count, old_count);
    free(old);
    return 0;
}

int cfs_hash_rehash(struct cfs_hash *hs, int do_rehash)
{
    int bits, rc;

    (void)do_rehash;
    if (!cfs_hash_with_rehash(hs))
        return -EOPNOTSUPP;
    cfs_hash_lock(hs, 1);
    bits = bits_wanted(hs);
    rc = bits > 0 ? rehash_locked(hs, (unsigned)bits) : bits;
    cfs_hash_unlock(hs, 1);
    return rc;
}

/* ---- the table ------------------------------------------------------------------------------- */

struct cfs_hash *cfs_hash_create(const char *name, unsigned cur_bits, unsigned max_bits,
                                 unsigned bkt_bits, unsigned extra_bytes, unsigned min_theta,
                                 unsigned max_theta, struct cfs_hash_ops *ops, unsigned flags)
{
    size_t room = (flags & CFS_HASH_BIGNAME) != 0 ? CFS_HASH_BIGNAME_LEN : CFS_HASH_NAME_LEN;
    struct cfs_hash *hs;

    LASSERT(name != NULL && ops != NULL && ops->hs_key != NULL && ops->hs_hash != NULL &&
            ops->hs_object != NULL && ops->hs_keycmp != NULL && ops->hs_get != NULL);
    LASSERT(ops->hs_put != NULL || ops->hs_put_locked != NULL);
    LASSERT(cur_bits > 0 && cur_bits >= bkt_bits && max_bits >= cur_bits && max_bits < 31);
    LASSERT(ergo((flags & CFS_HASH_REHASH) == 0, cur_bits == max_bits));
    LASSERT(ergo((flags & CFS_HASH_REHASH) != 0, (flags & CFS_HASH_NO_LOCK) == 0));
    LASSERT(ergo((flags & CFS_HASH_REHASH_KEY) != 0, ops->hs_keycpy != NULL));
    if ((flags & CFS_HASH_REHASH) != 0)
        flags |= CFS_HASH_COUNTER;
    hs = calloc(1, sizeof(*hs) + room);
    if (hs == NULL)
        return NULL;
    snprintf(hs->hs_name, room, "%s", name);
    hs->hs_flags = (__u16)flags;
    hs->hs_ops = ops;
    hs->hs_hops = &chain_ops;
    hs->hs_lops = lock_ops(hs);
    hs->hs_cur_bits = hs->hs_min_bits = (__u8)cur_bits;
    hs->hs_max_bits = (__u8)max_bits;
    hs->hs_bkt_bits = (__u8)bkt_bits;
    hs->hs_extra_bytes = (__u16)extra_bytes;
    __cfs_hash_set_theta(hs, (int)min_theta, (int)max_theta);
    atomic_set(&hs->hs_refcount, 1);
    hs->hs_buckets = buckets_make(hs, 0, CFS_HASH_NBKT(hs));
    if (hs->hs_buckets != NULL)
        return hs;
    free(hs);
    return NULL;
}

static void bucket_empty(struct cfs_hash *hs, struct cfs_hash_bd *bd)
{
    struct hlist_node *node, *next;
    struct hlist_head *head;

    cfs_hash_bd_for_each_hlist(hs, bd, head)
    {
        hlist_for_each_safe(node, next, head)
        {
            LASSERTF(!cfs_hash_with_assert_empty(hs), "hash %s bucket %u(%u) is not empty\n",
                     hs->hs_name, bd->bd_bucket->hsb_index, bd->bd_bucket->hsb_count);
            cfs_hash_bd_del_locked(hs, bd, node);
            cfs_hash_exit(hs, node);
        }
    }
}

struct cfs_hash *cfs_hash_getref(struct cfs_hash *hs)
{
    return atomic_inc_not_zero(&hs->hs_refcount) ? hs : NULL;
}

void cfs_hash_putref(struct cfs_hash *hs)
{
    struct cfs_hash_bd bd;
    unsigned i;

    if (!atomic_dec_and_test(&hs->hs_refcount))
        return;
    hs->hs_exiting = 1;
    cfs_hash_for_each_bucket(hs, &bd, i)
    {
        cfs_hash_bd_lock(hs, &bd, 1);
        bucket_empty(hs, &bd);
        LASSERT(bd.bd_bucket->hsb_count == 0);
        cfs_hash_bd_unlock(hs, &bd, 1);
    }
    LASSERT(atomic_read(&hs->hs_count) == 0);
    buckets_free(hs->hs_buckets, 0, CFS_HASH_NBKT(hs));
    free(hs->hs_buckets);
    free(hs);
}

/* ---- objects --------------------------------------------------------------------------------- */

static void begin(struct cfs_hash *hs, const void *key, struct cfs_hash_bd *bd, int excl)
{
    cfs_hash_lock(hs, 0);
    cfs_hash_bd_get_and_lock(hs, key, bd, excl);
}

static void end(struct cfs_hash *hs, struct cfs_hash_bd *bd, int excl)
{
    bool rehash;

    cfs_hash_bd_unlock(hs, bd, excl);
    rehash = excl && bits_wanted(hs) > 0;
    cfs_hash_unlock(hs, 0);
    if (rehash)
        (void)cfs_hash_rehash(hs, 1);
}

void cfs_hash_add(struct cfs_hash *hs, const void *key, struct hlist_node *hnode)
{
    struct cfs_hash_bd bd;

    LASSERT(hlist_unhashed(hnode));
    begin(hs, key, &bd, 1);
    cfs_hash_bd_add_locked(hs, &bd, hnode);
    end(hs, &bd, 1);
}

static struct hlist_node *find_or_add(struct cfs_hash *hs, const void *key,
                                      struct hlist_node *hnode, int noref)
{
    struct hlist_node *found;
    struct cfs_hash_bd bd;

    LASSERTF(hlist_unhashed(hnode), "hnode = %p\n", (void *)hnode);
    begin(hs, key, &bd, 1);
    found = cfs_hash_bd_findadd_locked(hs, &bd, key, hnode, noref);
    end(hs, &bd, 1);
    return found;
}

int cfs_hash_add_unique(struct cfs_hash *hs, const void *key, struct hlist_node *hnode)
{
    return find_or_add(hs, key, hnode, 1) != hnode ? -EALREADY : 0;
}

void *cfs_hash_findadd_unique(struct cfs_hash *hs, const void *key, struct hlist_node *hnode)
{
    return cfs_hash_object(hs, find_or_add(hs, key, hnode, 0));
}

void *cfs_hash_del(struct cfs_hash *hs, const void *key, struct hlist_node *hnode)
{
    struct cfs_hash_bd bd;
    void *object = NULL;

    begin(hs, key, &bd, 1);
    if (hnode == NULL)
        hnode = find(hs, &bd, key, NULL);
    else
        LASSERT(!hlist_unhashed(hnode));
    if (hnode != NULL) {
        object = cfs_hash_object(hs, hnode);
        cfs_hash_bd_del_locked(hs, &bd, hnode);
    }
    end(hs, &bd, 1);
    return object;
}

void *cfs_hash_del_key(struct cfs_hash *hs, const void *key)
{
    return cfs_hash_del(hs, key, NULL);
}

void *cfs_hash_lookup(struct cfs_hash *hs, const void *key)
{
    struct hlist_node *node;
    struct cfs_hash_bd bd;
    void *object = NULL;

    begin(hs, key, &bd, 0);
    node = cfs_hash_bd_lookup_locked(hs, &bd, key);
    if (node != NULL)
        object = cfs_hash_object(hs, node);
    end(hs, &bd, 0);
    return object;
}

void cfs_hash_rehash_key(struct cfs_hash *hs, const void *old_key, void *new_key,
                         struct hlist_node *hnode)
{
    struct cfs_hash_bd from, to;
    bool one, turned;

    LASSERT(!hlist_unhashed(hnode));
    cfs_hash_lock(hs, 0);
    cfs_hash_bd_get(hs, old_key, &from);
    cfs_hash_bd_get(hs, new_key, &to);
    one = from.bd_bucket == to.bd_bucket;
    turned = from.bd_bucket->hsb_index > to.bd_bucket->hsb_index; /* an order of the locks */
    cfs_hash_bd_lock(hs, turned ? &to : &from, 1);
    if (!one)
        cfs_hash_bd_lock(hs, turned ? &from : &to, 1);
    cfs_hash_bd_move_locked(hs, &from, &to, hnode);
    cfs_hash_keycpy(hs, hnode, new_key);
    if (!one)
        cfs_hash_bd_unlock(hs, &to, 1);
    cfs_hash_bd_unlock(hs, &from, 1);
    cfs_hash_unlock(hs, 0);
}
