/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The cases of libcfs_cases.h that are about hash tables. */
#include "libcfs_cases.h"

#include <linux/hash.h>
#include <linux/hashtable.h>
#include <linux/kthread.h>
#include <linux/slab.h>
#include <libcfs/libcfs_hash.h>

#define EXPECT(condition)    \
    do {                     \
        if (!(condition))    \
            return __LINE__; \
    } while (0)

struct item {
    struct hlist_node node;
    __u64 key;
    atomic_t references;
};

static unsigned item_hash(struct cfs_hash *hs, const void *key, unsigned mask)
{
    (void)hs;
    return cfs_hash_u64_hash(*(const __u64 *)key, mask);
}
static struct item *item_of(struct hlist_node *node)
{
    return hlist_entry(node, struct item, node);
}
static void *item_key(struct hlist_node *node)
{
    return &item_of(node)->key;
}
static void item_keycpy(struct hlist_node *node, void *key)
{
    item_of(node)->key = *(__u64 *)key;
}
static int item_keycmp(const void *key, struct hlist_node *node)
{
    return *(const __u64 *)key == item_of(node)->key;
}
static void *item_object(struct hlist_node *node)
{
    return item_of(node);
}
static void item_get(struct cfs_hash *hs, struct hlist_node *node)
{
    (void)hs;
    atomic_inc(&item_of(node)->references);
}
static void item_put(struct cfs_hash *hs, struct hlist_node *node)
{
    (void)hs;
    atomic_dec(&item_of(node)->references);
}

static struct cfs_hash_ops item_ops = {
    .hs_hash = item_hash,
    .hs_key = item_key,
    .hs_keycpy = item_keycpy,
    .hs_keycmp = item_keycmp,
    .hs_object = item_object,
    .hs_get = item_get,
    .hs_put = item_put,
    .hs_put_locked = item_put,
};

enum { ITEMS = 3000 };
static void items_begin(struct item *items, int count)
{
    int i;

    for (i = 0; i < count; i++) {
        items[i] = (struct item){.key = 1000 + (__u64)i};
        INIT_HLIST_NODE(&items[i].node);
    }
}

static struct cfs_hash *table(unsigned bits, unsigned most, unsigned flags)
{
    return cfs_hash_create("items", bits, most, CFS_HASH_BKT_BITS, sizeof(int), CFS_HASH_MIN_THETA,
                           CFS_HASH_MAX_THETA, &item_ops, flags);
}

int lnet_99_a_hash_table_grows_and_shrinks(void)
{
    struct item *items = kcalloc(ITEMS, sizeof(*items), GFP_KERNEL), *found;
    struct item twin = {.key = 1007};
    struct cfs_hash *hs = table(4, 10, CFS_HASH_DEFAULT | CFS_HASH_SHRINK | CFS_HASH_ASSERT_EMPTY);
    __u64 key, new_key;
    int i;

    EXPECT(items != NULL && hs != NULL && cfs_hash_is_empty(hs) && hs->hs_cur_bits == 4);
    items_begin(items, ITEMS);
    INIT_HLIST_NODE(&twin.node);
    for (i = 0; i < ITEMS; i++)
        cfs_hash_add(hs, &items[i].key, &items[i].node);
    /* Chains of two on the average: 2^10 of them is the most that it may have. */
    EXPECT(cfs_hash_size_get(hs) == ITEMS && hs->hs_cur_bits == 10 && hs->hs_rehash_count == 6);
    EXPECT(cfs_hash_add_unique(hs, &twin.key, &twin.node) == -EALREADY);
    EXPECT(hlist_unhashed(&twin.node) && atomic_read(&items[7].references) == 1);
    EXPECT(cfs_hash_findadd_unique(hs, &twin.key, &twin.node) == &items[7]);
    EXPECT(atomic_read(&items[7].references) == 2);
    for (i = 0; i < ITEMS; i++) {
        key = 1000 + (__u64)i;
        found = cfs_hash_lookup(hs, &key);
        EXPECT(found == &items[i]);
        cfs_hash_put(hs, &found->node);
    }
    key = 5;
    EXPECT(cfs_hash_lookup(hs, &key) == NULL && cfs_hash_del_key(hs, &key) == NULL);

    key = 1007;
    new_key = 7;
    cfs_hash_rehash_key(hs, &key, &new_key, &items[7].node);
    EXPECT(items[7].key == 7 && cfs_hash_lookup(hs, &key) == NULL);
    EXPECT(cfs_hash_lookup(hs, &new_key) == &items[7] && atomic_read(&items[7].references) == 3);

    for (i = 0; i < ITEMS; i++)
        EXPECT((i % 2 == 0 ? cfs_hash_del(hs, &items[i].key, &items[i].node)
                           : cfs_hash_del_key(hs, &items[i].key)) == &items[i]);
    EXPECT(atomic_read(&items[8].references) == 0 && atomic_read(&items[7].references) == 2);
    EXPECT(cfs_hash_size_get(hs) == 0 && hs->hs_cur_bits == 4);
    EXPECT(cfs_hash_getref(hs) == hs);
    cfs_hash_putref(hs);
    cfs_hash_putref(hs);
    kfree(items);
    return 0;
}

static int sum(struct cfs_hash *hs, struct cfs_hash_bd *bd, struct hlist_node *node, void *data)
{
    LASSERT(cfs_hash_bd_count_get(bd) > 0 && cfs_hash_is_iterating(hs));
    *(__u64 *)data += item_of(node)->key;
    return 0;
}
static int first(struct cfs_hash *hs, struct cfs_hash_bd *bd, struct hlist_node *node, void *data)
{
    (void)hs, (void)bd, (void)node;
    return ++*(int *)data;
}
static int remove_even(struct cfs_hash *hs, struct cfs_hash_bd *bd, struct hlist_node *node,
                       void *data)
{
    (void)data;
    if (item_of(node)->key % 2 == 0)
        cfs_hash_bd_del_locked(hs, bd, node);
    return 0;
}
static int is_small(void *object, void *data)
{
    return ((struct item *)object)->key < *(__u64 *)data;
}
static int remove_it(struct cfs_hash *hs, struct cfs_hash_bd *bd, struct hlist_node *node,
                     void *data)
{
    (void)bd;
    ++*(int *)data;
    (void)cfs_hash_del(hs, &item_of(node)->key, node);
    return 0;
}

int lnet_99_iterations_of_a_hash_table(void)
{
    struct item *items = kcalloc(ITEMS, sizeof(*items), GFP_KERNEL);
    struct cfs_hash *hs = table(5, 12, CFS_HASH_DEFAULT);
    __u64 all = 0, limit = 1011, key = 1013;
    int i, count = 0;

    EXPECT(items != NULL && hs != NULL);
    items_begin(items, ITEMS);
    for (i = 0; i < 100; i++)
        cfs_hash_add(hs, &items[i].key, &items[i].node);
    cfs_hash_for_each(hs, sum, &all);
    EXPECT(all == 100 * 1000 + 99 * 100 / 2);
    cfs_hash_for_each(hs, first, &count);
    EXPECT(count == 1);
    cfs_hash_for_each_safe(hs, remove_even, NULL);
    EXPECT(cfs_hash_size_get(hs) == 50 && atomic_read(&items[0].references) == 0);
    cfs_hash_cond_del(hs, is_small, &limit); /* 1001, 1003, ... 1009 */
    EXPECT(cfs_hash_size_get(hs) == 45 && !cfs_hash_is_empty(hs));
    all = 0;
    cfs_hash_for_each_key(hs, &key, first, &count);
    EXPECT(count == 2);
    for (i = 0; i < (int)CFS_HASH_NHLIST(hs); i++)
        cfs_hash_hlist_for_each(hs, (unsigned)i, sum, &all);
    EXPECT(all == 45 * 1000 + 45 * 55); /* 1011 ... 1099 */
    EXPECT(cfs_hash_for_each_nolock(hs, sum, &all) == -EOPNOTSUPP); /* it has references */
    count = 0;
    EXPECT(cfs_hash_for_each_empty(hs, remove_it, &count) == 0 && count == 45);
    EXPECT(cfs_hash_is_empty(hs) && atomic_read(&items[99].references) == 0);

    /* It does not grow during an iteration, and makes up for it afterwards. */
    cfs_hash_add(hs, &items[0].key, &items[0].node);
    hs->hs_iterators++;
    for (i = 1; i < ITEMS; i++)
        cfs_hash_add(hs, &items[i].key, &items[i].node);
    EXPECT(cfs_hash_rehash(hs, 1) == -EAGAIN && hs->hs_cur_bits == 6);
    hs->hs_iterators--;
    for (i = 0; i < 8; i++)
        cfs_hash_for_each(hs, first, &count);
    EXPECT(hs->hs_cur_bits == 11 && cfs_hash_rehash(hs, 1) == 0);
    EXPECT(cfs_hash_for_each_empty(hs, remove_it, &count) == 0 && cfs_hash_is_empty(hs));
    cfs_hash_putref(hs);
    kfree(items);
    return 0;
}

static int ends; /* of hs_exit */
static void item_exit(struct cfs_hash *hs, struct hlist_node *node)
{
    (void)hs, (void)node;
    ends++;
}

int lnet_99_chains_of_a_hash_table_without_references(void)
{
    static const unsigned kinds[] = {CFS_HASH_NO_BKTLOCK, CFS_HASH_SPIN_BKTLOCK,
                                     CFS_HASH_RW_BKTLOCK, CFS_HASH_NO_LOCK};
    struct cfs_hash_ops ops = item_ops;
    struct item items[20];
    struct cfs_hash *hs;
    struct cfs_hash_bd bd;
    __u64 all;
    size_t k;
    int i;

    ops.hs_exit = item_exit;
    for (k = 0; k < ARRAY_SIZE(kinds); k++) {
        items_begin(items, 20);
        ends = 0;
        hs = cfs_hash_create("chains", 3, 3, 3, sizeof(long), CFS_HASH_MIN_THETA,
                             CFS_HASH_MAX_THETA, &ops,
                             kinds[k] | CFS_HASH_ADD_TAIL | CFS_HASH_NO_ITEMREF | CFS_HASH_DEPTH);
        EXPECT(hs != NULL && cfs_hash_rehash(hs, 1) == -EOPNOTSUPP);
        for (i = 0; i < 20; i++)
            EXPECT(cfs_hash_add_unique(hs, &items[i].key, &items[i].node) == 0);
        EXPECT(cfs_hash_size_get(hs) == 20 && atomic_read(&items[3].references) == 0);
        cfs_hash_bd_get_and_lock(hs, &items[4].key, &bd, 1);
        EXPECT(cfs_hash_bd_count_get(&bd) == 20 && cfs_hash_bd_version_get(&bd) == 20);
        EXPECT(cfs_hash_bd_depmax_get(&bd) >= 3 && cfs_hash_bd_index_get(hs, &bd) < 8);
        *(long *)cfs_hash_bd_extra_get(hs, &bd) = 77;
        EXPECT(cfs_hash_bd_peek_locked(hs, &bd, &items[4].key) == &items[4].node);
        EXPECT(cfs_hash_bd_finddel_locked(hs, &bd, &items[4].key, NULL) == &items[4].node);
        EXPECT(cfs_hash_bd_lookup_locked(hs, &bd, &items[4].key) == NULL);
        cfs_hash_bd_add_locked(hs, &bd, &items[4].node); /* now the last of its chain */
        EXPECT(items[4].node.next == NULL);
        cfs_hash_bd_unlock(hs, &bd, 1);
        EXPECT(*(long *)cfs_hash_bd_extra_get(hs, &bd) == 77);
        all = 0;
        if (kinds[k] == CFS_HASH_NO_LOCK)
            EXPECT(cfs_hash_for_each_nolock(hs, first, &i, 0) == -EOPNOTSUPP);
        else {
            i = 0;
            EXPECT(cfs_hash_for_each_nolock(hs, first, &i, 0) == 0 && i == 1);
        }
        EXPECT(all == 0 && ends == 0);
        cfs_hash_putref(hs); /* it need not be empty */
        EXPECT(ends == 20 && hlist_unhashed(&items[0].node));
    }
    EXPECT(hash_32(1, 8) == 0x61 && hash_64(1, 8) == 0x61 && hash_long(1UL, 16) == 0x61c8);
    {
        DEFINE_HASHTABLE(fixed, 4);
        struct item *item;

        items_begin(items, 20);
        for (i = 0; i < 20; i++)
            hash_add(fixed, &items[i].node, items[i].key);
        all = 0;
        hash_for_each_possible(fixed, item, node, items[6].key) all += item == &items[6];
        EXPECT(all == 1 && !hash_empty(fixed));
        hash_for_each(fixed, i, item, node) all += item->key;
        EXPECT(all == 1 + 20 * 1000 + 190);
    }
    return 0;
}

struct user {
    struct cfs_hash *hs;
    struct item items[500];
    atomic_t *ended;
    int wrong;
};

static int uses(void *data)
{
    struct user *user = data;
    int i, round;

    for (round = 0; round < 4; round++) {
        for (i = 0; i < 500; i++)
            cfs_hash_add(user->hs, &user->items[i].key, &user->items[i].node);
        for (i = 0; i < 500; i++) {
            struct item *item = cfs_hash_lookup(user->hs, &user->items[i].key);

            user->wrong += item != &user->items[i];
            if (item != NULL)
                cfs_hash_put(user->hs, &item->node);
            if (i % 100 == 0)
                msleep(1);
        }
        for (i = 0; i < 500; i++)
            user->wrong += cfs_hash_del_key(user->hs, &user->items[i].key) != &user->items[i];
    }
    atomic_inc(user->ended);
    return 0;
}

int lnet_99_a_hash_table_of_several_threads(void)
{
    struct cfs_hash *hs = table(3, 12, CFS_HASH_DEFAULT | CFS_HASH_SHRINK);
    struct user *users = kcalloc(4, sizeof(*users), GFP_KERNEL);
    atomic_t ended = ATOMIC_INIT(0);
    int i, k, seen = 0;

    EXPECT(hs != NULL && users != NULL);
    for (k = 0; k < 4; k++) {
        users[k].hs = hs;
        users[k].ended = &ended;
        for (i = 0; i < 500; i++) {
            users[k].items[i].key = (__u64)k << 32 | (__u64)i;
            INIT_HLIST_NODE(&users[k].items[i].node);
        }
        EXPECT(!IS_ERR(kthread_run(uses, &users[k], "user_%d", k)));
    }
    while (atomic_read(&ended) < 4) {
        cfs_hash_for_each(hs, first, &seen);
        msleep(1);
    }
    for (k = 0; k < 4; k++)
        EXPECT(users[k].wrong == 0);
    EXPECT(cfs_hash_is_empty(hs) && hs->hs_rehash_count > 0);
    cfs_hash_putref(hs);
    kfree(users);
    return 0;
}
