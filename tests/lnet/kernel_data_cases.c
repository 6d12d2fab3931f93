/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The cases of kernel_cases.h that are about data: lists, atomics, memory, numbers. */
#include "kernel_cases.h"

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#define EXPECT(condition)    \
    do {                     \
        if (!(condition))    \
            return __LINE__; \
    } while (0)

struct node {
    struct list_head link;
    struct hlist_node chain;
    int value;
};

static int digits(struct list_head *list)
{
    struct node *node;
    int all = 0;

    list_for_each_entry (node, list, link)
        all = all * 10 + node->value;
    return all;
}

int lnet_99_lists_and_chains(void)
{
    struct node nodes[6], *node, *next;
    struct hlist_head chains[2] = {HLIST_HEAD_INIT, HLIST_HEAD_INIT};
    LIST_HEAD(list);
    LIST_HEAD(other);
    int i, sum = 0;

    for (i = 0; i < 5; i++) {
        nodes[i].value = i + 1;
        list_add_tail(&nodes[i].link, &list);
    }
    nodes[5].value = 6;
    EXPECT(digits(&list) == 12345 && list_is_last(&nodes[4].link, &list));
    EXPECT(list_is_first(&nodes[0].link, &list));
    list_swap(&nodes[0].link, &nodes[1].link);
    list_swap(&nodes[2].link, &nodes[4].link);
    EXPECT(digits(&list) == 21543);
    list_rotate_left(&list);
    EXPECT(digits(&list) == 15432);
    list_replace_init(&nodes[4].link, &nodes[5].link);
    EXPECT(digits(&list) == 16432 && list_empty_careful(&nodes[4].link));
    list_cut_position(&other, &list, &nodes[5].link);
    EXPECT(digits(&other) == 16 && digits(&list) == 432);
    list_splice_tail(&other, &list);
    EXPECT(digits(&list) == 43216);
    list_for_each_entry_safe_reverse(node, next, &list, link) sum = sum * 10 + node->value;
    EXPECT(sum == 61234);
    node = &nodes[2];
    sum = 0;
    list_for_each_entry_continue(node, &list, link) sum = sum * 10 + node->value;
    EXPECT(sum == 216 && list_prev_entry(&nodes[1], link) == &nodes[2]);
    for (i = 0; i < 4; i++) {
        INIT_HLIST_NODE(&nodes[i].chain);
        hlist_add_head(&nodes[i].chain, &chains[i % 2]);
    }
    hlist_del_init(&nodes[2].chain);
    EXPECT(hlist_unhashed(&nodes[2].chain) && !hlist_empty(&chains[0]));
    sum = 0;
    hlist_for_each_entry(node, &chains[1], chain) sum = sum * 10 + node->value;
    EXPECT(sum == 42);
    return 0;
}

struct object {
    struct kref kref;
    refcount_t users;
    int *released;
};

static void release(struct kref *kref)
{
    struct object *object = container_of(kref, struct object, kref);

    ++*object->released;
    kfree(object);
}

int lnet_99_atomics_and_references(void)
{
    struct object *object = kzalloc(sizeof(*object), GFP_KERNEL);
    atomic_t a = ATOMIC_INIT(1);
    atomic64_t b = ATOMIC64_INIT(1);
    DEFINE_SPINLOCK(lock);
    DECLARE_BITMAP(bits, 100) = {0};
    int released = 0;

    object->released = &released;
    kref_init(&object->kref);
    kref_get(&object->kref);
    EXPECT(kref_read(&object->kref) == 2 && kref_put(&object->kref, release) == 0);
    refcount_set(&object->users, 1);
    refcount_inc(&object->users);
    EXPECT(!refcount_dec_and_test(&object->users) && refcount_dec_and_test(&object->users));
    EXPECT(!refcount_inc_not_zero(&object->users));
    EXPECT(kref_put(&object->kref, release) == 1 && released == 1);
    EXPECT(atomic_inc_not_zero(&a) && atomic_xchg(&a, 1) == 2 && atomic_add_unless(&a, 4, 2));
    EXPECT(atomic_fetch_add(2, &a) == 5 && atomic_dec_if_positive(&a) == 6);
    atomic_set(&a, 2);
    EXPECT(!atomic_dec_and_lock(&a, &lock) && atomic_dec_and_lock(&a, &lock));
    EXPECT(spin_is_locked(&lock));
    spin_unlock(&lock);
    atomic64_add(1ll << 40, &b);
    EXPECT(atomic64_inc_return(&b) == (1ll << 40) + 2 && atomic64_xchg(&b, 1) > 1);
    EXPECT(atomic64_dec_and_test(&b) && atomic64_cmpxchg(&b, 0, 5) == 0 && atomic64_read(&b) == 5);
    EXPECT(!test_and_set_bit(70, bits) && test_bit(70, bits) && test_and_clear_bit(70, bits));
    set_bit(3, bits);
    EXPECT(bits[0] == BIT(3) && __ffs(bits[0]) == 3 && fls(8) == 4);
    return 0;
}

int lnet_99_memory_texts_and_numbers(void)
{
    struct kmem_cache *cache = KMEM_CACHE(node, SLAB_HWCACHE_ALIGN);
    struct node *node = kmem_cache_zalloc(cache, GFP_NOFS);
    char *text = kstrdup("storage", GFP_KERNEL), *part = kstrndup(text, 3, GFP_KERNEL);
    int *numbers = kcalloc(4, sizeof(*numbers), GFP_KERNEL);
    char *pages = vmalloc(3 * PAGE_SIZE), small[4];
    unsigned long long big = 1000;

    EXPECT(node->value == 0 && strcmp(text, "storage") == 0 && strcmp(part, "sto") == 0);
    EXPECT(numbers[3] == 0 && kmalloc_array(SIZE_MAX / 2, 4, GFP_KERNEL) == NULL);
    memset(pages, 1, 3 * PAGE_SIZE);
    EXPECT(scnprintf(small, sizeof(small), "%s", text) == 3 && strcmp(small, "sto") == 0);
    EXPECT(strscpy(small, "ab", sizeof(small)) == 2 && strscpy(small, text, 4) == -E2BIG);
    EXPECT(min(3, 4) == 3 && max(3, 4) == 4 && clamp(9, 1, 5) == 5 && roundup(10, 4) == 12);
    EXPECT(round_up(10, 8) == 16 && ALIGN(17ul, 16) == 32 && IS_ALIGNED(32, 16));
    EXPECT(ilog2(4097) == 12 && roundup_pow_of_two(5) == 8 && is_power_of_2(64));
    EXPECT(do_div(big, 7) == 6 && big == 142 && upper_32_bits(1ull << 33) == 2);
    EXPECT(jiffies_to_msecs(msecs_to_jiffies(50)) == 50 && usecs_to_jiffies(1001) == 2);
    kmem_cache_free(cache, node);
    kmem_cache_destroy(cache);
    kfree(text);
    kfree(part);
    kfree(numbers);
    vfree(pages);
    return 0;
}
