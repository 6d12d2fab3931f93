/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Containers of the kernel: trees, numbers, rings, lists without locks, objects of processors. */
#include "kernel_cases.h"

#include <linux/idr.h>
#include <linux/kernel.h>
#include <linux/kfifo.h>
#include <linux/kthread.h>
#include <linux/llist.h>
#include <linux/percpu-refcount.h>
#include <linux/percpu.h>
#include <linux/percpu_counter.h>
#include <linux/radix-tree.h>
#include <linux/rbtree.h>
#include <linux/scatterlist.h>
#include <linux/dma-mapping.h>
#include <linux/xarray.h>

#define EXPECT(condition)    \
    do {                     \
        if (!(condition))    \
            return __LINE__; \
    } while (0)

/* ---- red-black trees ------------------------------------------------------------------------- */

struct item {
    struct rb_node node;
    unsigned key;
    bool in;
};

static bool item_insert(struct rb_root *root, struct item *item)
{
    struct rb_node **link = &root->rb_node, *parent = NULL;

    while (*link != NULL) {
        struct item *other = rb_entry(*link, struct item, node);

        parent = *link;
        if (item->key == other->key)
            return false;
        link = item->key < other->key ? &parent->rb_left : &parent->rb_right;
    }
    rb_link_node(&item->node, parent, link);
    rb_insert_color(&item->node, root);
    return true;
}

/* The black nodes of each path below; -1: the colours, the order or the parents are wrong. */
static int black_height(const struct rb_node *node, const struct rb_node *parent)
{
    int left, right;
    bool black;

    if (node == NULL)
        return 0;
    black = (node->__rb_parent_color & 1) != 0;
    if (rb_parent(node) != parent)
        return -1;
    if (!black && ((node->rb_left != NULL && !(node->rb_left->__rb_parent_color & 1)) ||
                   (node->rb_right != NULL && !(node->rb_right->__rb_parent_color & 1))))
        return -1;
    left = black_height(node->rb_left, node);
    right = black_height(node->rb_right, node);
    return left < 0 || left != right ? -1 : left + black;
}

int lnet_99_trees_stay_balanced(void)
{
    enum { ITEMS = 300, STEPS = 4000 };
    static struct item items[ITEMS];
    struct rb_root root = RB_ROOT;
    struct item *item, *next;
    struct rb_node *node;
    unsigned i, step, count = 0, seen, random = 1;

    memset(items, 0, sizeof(items));
    for (i = 0; i < ITEMS; i++)
        items[i].key = i * 7 % ITEMS;
    for (step = 0; step < STEPS; step++) {
        random = random * 1664525u + 1013904223u;
        item = &items[(random >> 8) % ITEMS];
        if (item->in)
            rb_erase(&item->node, &root);
        else
            EXPECT(item_insert(&root, item));
        item->in = !item->in;
        count += item->in ? 1u : -1u;
        if (step % 16 == 0)
            EXPECT(black_height(root.rb_node, NULL) >= 0);
    }
    for (node = rb_first(&root), seen = 0; node != NULL; node = rb_next(node), seen++)
        EXPECT(rb_prev(node) == NULL || rb_entry(rb_prev(node), struct item, node)->key <
                                            rb_entry(node, struct item, node)->key);
    EXPECT(seen == count && count > 50);
    for (node = rb_last(&root); node != NULL; node = rb_prev(node))
        seen--;
    EXPECT(seen == 0);
    item = rb_entry(root.rb_node, struct item, node);
    for (i = 0; items[i].in; i++)
        continue;
    items[i].key = item->key;
    rb_replace_node(&item->node, &items[i].node, &root);
    EXPECT(root.rb_node == &items[i].node && black_height(root.rb_node, NULL) > 0);
    rbtree_postorder_for_each_entry_safe(item, next, &root, node)
    {
        EXPECT(item->node.rb_left == NULL || !rb_entry(item->node.rb_left, struct item, node)->in);
        item->in = false; /* children come before */
        seen++;
    }
    EXPECT(seen == count);
    RB_CLEAR_NODE(&items[0].node);
    EXPECT(RB_EMPTY_NODE(&items[0].node) && rb_next(&items[0].node) == NULL);
    return 0;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static int sum_ids(int id, void *entry, void *data)
{
    *(int *)data += id;
    return entry == NULL ? -1 : 0;
}

int lnet_99_numbers_stand_for_pointers(void)
{
    DEFINE_IDR(idr);
    DEFINE_IDA(ida);
    int objects[200], i, id, sum = 0;
    void *entry;

    for (i = 0; i < 200; i++)
        EXPECT(idr_alloc(&idr, &objects[i], 5, 0, GFP_KERNEL) == i + 5);
    EXPECT(idr_find(&idr, 4) == NULL && idr_find(&idr, 5) == &objects[0] &&
           idr_find(&idr, 204) == &objects[199] && idr_find(&idr, 100000) == NULL);
    EXPECT(idr_alloc(&idr, objects, 5, 100, GFP_KERNEL) == -ENOSPC);
    EXPECT(idr_remove(&idr, 77) == &objects[72] && idr_remove(&idr, 77) == NULL);
    EXPECT(idr_alloc(&idr, &objects[1], 5, 100, GFP_KERNEL) == 77);
    EXPECT(idr_replace(&idr, &objects[2], 77) == &objects[1] && idr_find(&idr, 77) == &objects[2]);
    EXPECT(PTR_ERR(idr_replace(&idr, objects, 4)) == -ENOENT);
    EXPECT(idr_for_each(&idr, sum_ids, &sum) == 0 && sum == (5 + 204) * 100);
    idr_for_each_entry(&idr, entry, id) idr_remove(&idr, (unsigned long)id);
    EXPECT(idr_is_empty(&idr));
    for (i = 0; i < 6; i++) { /* 3 to 6 in a circle */
        id = idr_alloc_cyclic(&idr, objects, 3, 7, GFP_KERNEL);
        EXPECT(idr_remove(&idr, (unsigned long)id) == objects);
    }
    EXPECT(id == 4);
    EXPECT(idr_alloc(&idr, objects, 1 << 30, 0, GFP_KERNEL) == 1 << 30);
    idr_destroy(&idr);
    EXPECT(idr_is_empty(&idr));

    EXPECT(ida_simple_get(&ida, 0, 0, GFP_KERNEL) == 0 && ida_alloc(&ida, GFP_KERNEL) == 1);
    ida_free(&ida, 0);
    EXPECT(ida_alloc_max(&ida, 1, GFP_KERNEL) == 0);
    EXPECT(ida_alloc_max(&ida, 1, GFP_KERNEL) == -ENOSPC && ida_simple_get(&ida, 9, 11, 0) == 9);
    ida_destroy(&ida);
    EXPECT(ida_is_empty(&ida));
    return 0;
}

int lnet_99_arrays_without_bounds(void)
{
    static const unsigned long places[] = {0, 1, 63, 64, 4095, 4096, 1ul << 40, ~0ul};
    DEFINE_XARRAY_ALLOC(xa);
    RADIX_TREE(tree, GFP_KERNEL);
    struct radix_tree_iter iter;
    unsigned long index;
    unsigned i, n;
    void *entry, *found[8], **slot;
    u32 id = 0;

    for (i = 0; i < ARRAY_SIZE(places); i++)
        EXPECT(xa_store(&xa, places[i], xa_mk_value(i), GFP_KERNEL) == NULL);
    EXPECT(xa_load(&xa, 62) == NULL && xa_to_value(xa_load(&xa, 1ul << 40)) == 6);
    EXPECT(xa_insert(&xa, 63, &n, GFP_KERNEL) == -EBUSY);
    EXPECT(xa_cmpxchg(&xa, 63, NULL, &n, GFP_KERNEL) == xa_mk_value(2));
    i = 0;
    xa_for_each(&xa, index, entry)
    {
        EXPECT(index == places[i] && xa_to_value(entry) == i);
        i++;
    }
    EXPECT(i == ARRAY_SIZE(places));
    xa_set_mark(&xa, 4095, XA_MARK_1);
    xa_set_mark(&xa, 1ul << 40, XA_MARK_1);
    xa_set_mark(&xa, 5, XA_MARK_1); /* there is none */
    n = 0;
    xa_for_each_marked(&xa, index, entry, XA_MARK_1) n += (unsigned)xa_to_value(entry);
    EXPECT(n == 4 + 6 && xa_marked(&xa, XA_MARK_1) && !xa_marked(&xa, XA_MARK_0));
    EXPECT(xa_erase(&xa, 1ul << 40) == xa_mk_value(6));
    xa_clear_mark(&xa, 4095, XA_MARK_1);
    EXPECT(!xa_marked(&xa, XA_MARK_1) && !xa_get_mark(&xa, 4095, XA_MARK_1));
    EXPECT(xa_alloc(&xa, &id, &n, XA_LIMIT(63, 66), GFP_KERNEL) == 0 && id == 65);
    EXPECT(xa_alloc(&xa, &id, &n, XA_LIMIT(63, 65), GFP_KERNEL) == -EBUSY);
    index = 65;
    EXPECT(xa_find_after(&xa, &index, 4095, XA_PRESENT) == xa_mk_value(4) && index == 4095);
    xa_destroy(&xa);
    EXPECT(xa_empty(&xa));

    for (i = 0; i < 8; i++)
        EXPECT(radix_tree_insert(&tree, i * 1000, (void *)&places[i % 8]) == 0);
    EXPECT(radix_tree_insert(&tree, 3000, found) == -EEXIST);
    EXPECT(radix_tree_gang_lookup(&tree, found, 1500, 3) == 3 && found[0] == &places[2]);
    (void)radix_tree_tag_set(&tree, 7000, 2);
    EXPECT(radix_tree_gang_lookup_tag(&tree, found, 0, 8, 2) == 1 && found[0] == &places[7]);
    n = 0;
    radix_tree_for_each_slot(slot, &tree, &iter, 2000)
    {
        n += (unsigned)(iter.index / 1000);
        EXPECT(radix_tree_deref_slot(slot) == &places[iter.index / 1000]);
    }
    EXPECT(n == 2 + 3 + 4 + 5 + 6 + 7);
    for (i = 0; i < 8; i++)
        EXPECT(radix_tree_delete(&tree, i * 1000) == &places[i]);
    EXPECT(radix_tree_empty(&tree) && radix_tree_delete(&tree, 0) == NULL);
    return 0;
}

/* ---- rings, and lists without locks ---------------------------------------------------------- */

int lnet_99_rings_of_elements(void)
{
    struct pair {
        int a, b;
    } pair = {0, 0}, pairs[4];
    DEFINE_KFIFO(numbers, int, 8);
    DECLARE_KFIFO_PTR(pointers, struct pair);
    struct kfifo bytes;
    char text[16] = "";
    int i, value = 0, round;

    for (round = 0; round < 3; round++) {
        for (i = 0; i < 8; i++)
            EXPECT(kfifo_put(&numbers, i) == 1);
        EXPECT(kfifo_put(&numbers, 9) == 0 && kfifo_is_full(&numbers) &&
               kfifo_avail(&numbers) == 0);
        EXPECT(kfifo_peek(&numbers, &value) == 1 && value == 0 && kfifo_len(&numbers) == 8);
        for (i = 0; i < 5; i++)
            EXPECT(kfifo_get(&numbers, &value) == 1 && value == i);
        for (i = 0; i < 2; i++)
            EXPECT(kfifo_put(&numbers, 20 + i) == 1); /* over the end */
        for (i = 5; i < 8; i++)
            EXPECT(kfifo_get(&numbers, &value) == 1 && value == i);
        EXPECT(kfifo_get(&numbers, &value) && value == 20);
        EXPECT(kfifo_get(&numbers, &value) && value == 21 && kfifo_is_empty(&numbers));
    }
    EXPECT(kfifo_get(&numbers, &value) == 0);
    EXPECT(kfifo_alloc(&pointers, 3, GFP_KERNEL) == 0 && kfifo_size(&pointers) == 4);
    for (pair.a = 0; pair.a < 4; pair.a++)
        EXPECT(kfifo_put(&pointers, pair) == 1);
    EXPECT(kfifo_out(&pointers, pairs, 9) == 4 && pairs[3].a == 3);
    kfifo_free(&pointers);
    EXPECT(kfifo_alloc(&bytes, 1, GFP_KERNEL) == -EINVAL);
    EXPECT(kfifo_alloc(&bytes, 16, GFP_KERNEL) == 0);
    EXPECT(kfifo_in(&bytes, "abcdefghij", 10) == 10 && kfifo_out(&bytes, text, 8) == 8);
    EXPECT(kfifo_in(&bytes, "klmnopqrstuvw", 13) == 13 && kfifo_len(&bytes) == 15);
    EXPECT(kfifo_out(&bytes, text, 15) == 15 && memcmp(text, "ijklmnopqrstuvw", 15) == 0);
    kfifo_free(&bytes);
    return 0;
}

struct element {
    struct llist_node link;
    int number;
};

int lnet_99_lists_without_locks(void)
{
    struct element elements[5], *element, *next;
    struct llist_node *all;
    LLIST_HEAD(list);
    int i;

    for (i = 0; i < 5; i++) {
        elements[i].number = i;
        EXPECT(llist_add(&elements[i].link, &list) == (i == 0));
    }
    EXPECT(llist_del_first(&list) == &elements[4].link);
    all = llist_del_all(&list);
    EXPECT(llist_empty(&list) && llist_del_first(&list) == NULL);
    i = 3;
    llist_for_each_entry(element, all, link) EXPECT(element->number == i--);
    all = llist_reverse_order(all);
    i = 0;
    llist_for_each_entry_safe(element, next, all, link)
    {
        element->link.next = NULL;
        EXPECT(element->number == i++);
    }
    EXPECT(i == 4);
    return 0;
}

/* ---- objects of processors ------------------------------------------------------------------- */

static DEFINE_PER_CPU(long, calls);
struct statistics {
    u64 sent;
    unsigned lost;
};
static DEFINE_PER_CPU(struct statistics, statistics);

static void count_release(struct percpu_ref *ref)
{
    ref->dying = 2;
}

int lnet_99_objects_of_each_processor(void)
{
    struct statistics *own = alloc_percpu(struct statistics), *other;
    struct percpu_counter counter;
    struct percpu_ref ref;
    u64 sum = 0;
    int cpu;

    EXPECT(own != NULL);
    this_cpu_write(calls, 0);
    for (cpu = 0; cpu < 10; cpu++) {
        this_cpu_inc(calls);
        this_cpu_add(statistics.sent, 100);
        this_cpu_ptr(own)->sent += 3;
    }
    get_cpu_var(statistics).lost++;
    put_cpu_var(statistics);
    for_each_possible_cpu(cpu)
    {
        other = per_cpu_ptr(own, cpu);
        sum += other->sent + per_cpu(statistics, cpu).sent + (u64)per_cpu(calls, cpu);
        EXPECT(other == per_cpu_ptr(own, cpu) && (cpu == 0 || other != own));
        other->lost = (unsigned)cpu + 1;
    }
    EXPECT(sum % 1000 == 40 && this_cpu_read(calls) == 10);
    for_each_possible_cpu(cpu) EXPECT(per_cpu_ptr(own, cpu)->lost == (unsigned)cpu + 1);
    free_percpu(own);

    EXPECT(percpu_counter_init(&counter, 5, GFP_KERNEL) == 0);
    percpu_counter_add(&counter, -7);
    EXPECT(percpu_counter_sum(&counter) == -2 && percpu_counter_read_positive(&counter) == 0);
    percpu_counter_destroy(&counter);

    EXPECT(percpu_ref_init(&ref, count_release, 0, GFP_KERNEL) == 0 &&
           percpu_ref_tryget_live(&ref));
    percpu_ref_kill(&ref);
    EXPECT(ref.dying == 1 && !percpu_ref_tryget_live(&ref) && percpu_ref_tryget(&ref));
    percpu_ref_put(&ref);
    EXPECT(ref.dying == 1);
    percpu_ref_put(&ref);
    EXPECT(ref.dying == 2 && percpu_ref_is_zero(&ref) && !percpu_ref_tryget(&ref));
    percpu_ref_exit(&ref);
    return 0;
}

/* ---- lists of pieces ------------------------------------------------------------------------- */

int lnet_99_lists_of_pieces(void)
{
    struct scatterlist first[3], second[2], *sg;
    struct sg_table table;
    struct page *pages[4];
    char text[64];
    int i, bytes = 0;

    for (i = 0; i < 4; i++)
        EXPECT((pages[i] = alloc_page(GFP_KERNEL)) != NULL);
    sg_init_table(first, 3);
    sg_init_table(second, 2);
    EXPECT(sg_nents(first) == 3);
    sg_set_page(&first[0], pages[0], 10, 100);
    sg_set_page(&first[1], pages[1], 20, 4000);
    sg_chain(first, 3, second);
    sg_set_page(&second[0], pages[2], 30, 0);
    sg_set_buf(&second[1], (char *)page_address(pages[3]) + 7, 4);
    EXPECT(sg_nents(first) == 4 && sg_next(&first[1]) == second && sg_next(&second[1]) == NULL);
    EXPECT(second[1].offset == 7 && sg_page(&second[1]) == pages[3]);
    EXPECT(sg_nents_for_len(first, 31) == 3 && sg_nents_for_len(first, 65) == -EINVAL);
    for (i = 0; i < 64; i++)
        text[i] = (char)i;
    EXPECT(sg_copy_from_buffer(first, 4, text, sizeof(text)) == 64);
    EXPECT(((char *)page_address(pages[1]))[4000] == 10 && *(char *)sg_virt(&second[1]) == 60);
    memset(text, 0, sizeof(text));
    EXPECT(sg_pcopy_to_buffer(first, 4, text, 20, 25) == 20 && text[0] == 25 && text[19] == 44);
    EXPECT(dma_map_sg(NULL, first, 4, DMA_TO_DEVICE) == 4);
    for_each_sg(first, sg, 4, i)
    {
        bytes += (int)sg_dma_len(sg);
        EXPECT(sg_dma_address(sg) == sg_phys(sg));
    }
    EXPECT(bytes == 64);
    dma_unmap_sg(NULL, first, 4, DMA_TO_DEVICE);
    EXPECT(sg_alloc_table_from_pages(&table, pages, 4, 8, 3 * PAGE_SIZE, GFP_KERNEL) == 0);
    for (bytes = 0, sg = table.sgl; sg != NULL; sg = sg_next(sg))
        bytes += (int)sg->length;
    EXPECT(bytes == 3 * PAGE_SIZE && table.sgl->offset == 8);
    sg_free_table(&table);
    for (i = 0; i < 4; i++)
        __free_page(pages[i]);
    return 0;
}
