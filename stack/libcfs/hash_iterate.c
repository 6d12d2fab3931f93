/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Iterations over the objects of a hash table. */
#include "kernel.h"

/* The table has its size until the end. */
static void enter(struct cfs_hash *hs)
{
    if (!cfs_hash_with_rehash(hs))
        return;
    cfs_hash_lock(hs, 1);
    hs->hs_iterators++;
    cfs_hash_unlock(hs, 1);
}

static void leave(struct cfs_hash *hs)
{
    if (!cfs_hash_with_rehash(hs))
        return;
    cfs_hash_lock(hs, 1);
    hs->hs_iterators--;
    cfs_hash_unlock(hs, 1);
    (void)cfs_hash_rehash(hs, 1);
}

/* ---- with the bucket's lock ------------------------------------------------------------------ */

/* Whether the callback ended the iteration. */
static bool iterate_bucket(struct cfs_hash *hs, struct cfs_hash_bd *bd, cfs_hash_for_each_cb_t call,
                           void *data, __u64 *count)
{
    struct hlist_node *node, *next;
    struct hlist_head *head;

    cfs_hash_bd_for_each_hlist(hs, bd, head)
    {
        hlist_for_each_safe(node, next, head)
        {
            ++*count;
            if (call(hs, bd, node, data) != 0)
                return true;
        }
    }
    return false;
}

/* call NULL: it only counts. */
static __u64 iterate(struct cfs_hash *hs, cfs_hash_for_each_cb_t call, void *data, int excl)
{
    __u64 count = 0, hog = CFS_HASH_LOOP_HOG;
    struct cfs_hash_bd bd;
    bool over = false;
    unsigned i;

    enter(hs);
    cfs_hash_lock(hs, 0);
    cfs_hash_for_each_bucket(hs, &bd, i)
    {
        cfs_hash_bd_lock(hs, &bd, excl);
        if (call == NULL)
            count += cfs_hash_bd_count_get(&bd);
        else
            over = iterate_bucket(hs, &bd, call, data, &count);
        cfs_hash_bd_unlock(hs, &bd, excl);
        if (over)
            break;
        if (call == NULL || count < hog)
            continue;
        hog = count + CFS_HASH_LOOP_HOG;
        cfs_hash_unlock(hs, 0);
        (void)cond_resched();
        cfs_hash_lock(hs, 0);
    }
    cfs_hash_unlock(hs, 0);
    leave(hs);
    return count;
}

void cfs_hash_for_each(struct cfs_hash *hs, cfs_hash_for_each_cb_t call, void *data)
{
    (void)iterate(hs, call, data, 0);
}

void cfs_hash_for_each_safe(struct cfs_hash *hs, cfs_hash_for_each_cb_t call, void *data)
{
    (void)iterate(hs, call, data, 1);
}

struct condition {
    cfs_hash_cond_opt_cb_t holds;
    void *data;
};

static int delete_if(struct cfs_hash *hs, struct cfs_hash_bd *bd, struct hlist_node *node,
                     void *data)
{
    const struct condition *condition = data;

    if (condition->holds(cfs_hash_object(hs, node), condition->data) != 0)
        cfs_hash_bd_del_locked(hs, bd, node);
    return 0;
}

void cfs_hash_cond_del(struct cfs_hash *hs, cfs_hash_cond_opt_cb_t call, void *data)
{
    struct condition condition = {call, data};

    (void)iterate(hs, delete_if, &condition, 1);
}

static int is_there(struct cfs_hash *hs, struct cfs_hash_bd *bd, struct hlist_node *node,
                    void *data)
{
    (void)hs, (void)bd, (void)node;
    *(int *)data = 0;
    return 1;
}

int cfs_hash_is_empty(struct cfs_hash *hs)
{
    int empty = 1;

    (void)iterate(hs, is_there, &empty, 0);
    return empty;
}

__u64 cfs_hash_size_get(struct cfs_hash *hs)
{
    return cfs_hash_with_counter(hs) ? (__u64)atomic_read(&hs->hs_count)
                                     : iterate(hs, NULL, NULL, 0);
}

void cfs_hash_hlist_for_each(struct cfs_hash *hs, unsigned index, cfs_hash_for_each_cb_t call,
                             void *data)
{
    struct hlist_node *node, *next;
    struct cfs_hash_bd bd;

    enter(hs);
    cfs_hash_lock(hs, 0);
    if (index < CFS_HASH_NHLIST(hs)) {
        cfs_hash_bd_index_set(hs, index, &bd);
        cfs_hash_bd_lock(hs, &bd, 0);
        hlist_for_each_safe(node, next, cfs_hash_bd_hhead(hs, &bd))
        {
            if (call(hs, &bd, node, data) != 0)
                break;
        }
        cfs_hash_bd_unlock(hs, &bd, 0);
    }
    cfs_hash_unlock(hs, 0);
    leave(hs);
}

void cfs_hash_for_each_key(struct cfs_hash *hs, const void *key, cfs_hash_for_each_cb_t call,
                           void *data)
{
    struct hlist_node *node, *next;
    struct cfs_hash_bd bd;

    cfs_hash_lock(hs, 0);
    cfs_hash_bd_get_and_lock(hs, key, &bd, 0);
    hlist_for_each_safe(node, next, cfs_hash_bd_hhead(hs, &bd))
    {
        if (cfs_hash_keycmp(hs, key, node) != 0 && call(hs, &bd, node, data) != 0)
            break;
    }
    cfs_hash_bd_unlock(hs, &bd, 0);
    cfs_hash_unlock(hs, 0);
}

/* ---- without a lock -------------------------------------------------------------------------- */

/*
 * An object that is not the bucket's last reference may leave it while the callback runs. If the
 * reference that the iteration has keeps it in the chain, the iteration goes on behind it; else a
 * change of the bucket ends the bucket's part of it.
 */
static bool iterate_unlocked(struct cfs_hash *hs, struct cfs_hash_bd *bd,
                             cfs_hash_for_each_cb_t call, void *data, int *count)
{
    bool stays = !cfs_hash_with_rehash_key(hs) && cfs_hash_with_no_itemref(hs) &&
                 hs->hs_ops->hs_put_locked != NULL;
    __u32 version = cfs_hash_bd_version_get(bd);
    struct hlist_node *node, *next;
    struct hlist_head *head;
    int rc;

    cfs_hash_bd_for_each_hlist(hs, bd, head)
    {
        for (node = head->first; node != NULL; node = next) {
            cfs_hash_get(hs, node);
            cfs_hash_bd_unlock(hs, bd, 0);
            cfs_hash_unlock(hs, 0);
            rc = call(hs, bd, node, data);
            if (!stays)
                cfs_hash_put(hs, node);
            if (++*count % CFS_HASH_LOOP_HOG == 0)
                (void)cond_resched();
            cfs_hash_lock(hs, 0);
            cfs_hash_bd_lock(hs, bd, 0);
            next = NULL;
            if (stays) {
                next = node->next;
                cfs_hash_put_locked(hs, node);
            } else if (version == cfs_hash_bd_version_get(bd))
                next = node->next;
            if (rc != 0)
                return true;
        }
    }
    return false;
}

/* How many objects it has seen. */
static int iterate_all_unlocked(struct cfs_hash *hs, cfs_hash_for_each_cb_t call, void *data,
                                unsigned start)
{
    unsigned i, buckets = CFS_HASH_NBKT(hs);
    struct cfs_hash_bd bd;
    bool over = false;
    int count = 0;

    cfs_hash_lock(hs, 0);
    for (i = 0; i < buckets && !over; i++) {
        bd.bd_bucket = hs->hs_buckets[(start + i) & (buckets - 1)];
        cfs_hash_bd_lock(hs, &bd, 0);
        over = iterate_unlocked(hs, &bd, call, data, &count);
        cfs_hash_bd_unlock(hs, &bd, 0);
    }
    cfs_hash_unlock(hs, 0);
    return count;
}

static bool has_references(const struct cfs_hash *hs)
{
    return hs->hs_ops->hs_get != NULL &&
           (hs->hs_ops->hs_put != NULL || hs->hs_ops->hs_put_locked != NULL);
}

int libcfs_hash_for_each_nolock(struct cfs_hash *hs, cfs_hash_for_each_cb_t call, void *data,
                                int start)
{
    if (cfs_hash_with_no_lock(hs) || cfs_hash_with_rehash_key(hs) ||
        !cfs_hash_with_no_itemref(hs) || !has_references(hs))
        return -EOPNOTSUPP;
    enter(hs);
    (void)iterate_all_unlocked(hs, call, data, (unsigned)start);
    leave(hs);
    return 0;
}

int cfs_hash_for_each_empty(struct cfs_hash *hs, cfs_hash_for_each_cb_t call, void *data)
{
    unsigned loops = 0;

    if (cfs_hash_with_no_lock(hs) || !has_references(hs))
        return -EOPNOTSUPP;
    enter(hs);
    while (iterate_all_unlocked(hs, call, data, 0) > 0)
        CDEBUG(D_INFO, "Try to empty hash: %s, loop: %u\n", hs->hs_name, loops++);
    leave(hs);
    return 0;
}
