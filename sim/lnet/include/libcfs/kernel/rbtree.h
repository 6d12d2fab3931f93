/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Red-black trees as linux/rbtree.h has them: the user looks for the place of a node. */
#ifndef JACQUARD_LIBCFS_KERNEL_RBTREE_H
#define JACQUARD_LIBCFS_KERNEL_RBTREE_H

#include "libcfs/libcfs.h"

struct rb_node {
    unsigned long __rb_parent_color; /* bit 0: black; its own address: in no tree */
    struct rb_node *rb_right, *rb_left;
} __attribute__((aligned(sizeof(long))));
struct rb_root {
    struct rb_node *rb_node;
};
/* A tree that knows its first node. */
struct rb_root_cached {
    struct rb_root rb_root;
    struct rb_node *rb_leftmost;
};
#define RB_ROOT      \
    (struct rb_root) \
    {                \
        NULL         \
    }
#define RB_ROOT_CACHED      \
    (struct rb_root_cached) \
    {                       \
        {NULL}, NULL        \
    }
#define RB_EMPTY_ROOT(root) (READ_ONCE((root)->rb_node) == NULL)
#define RB_EMPTY_NODE(node) ((node)->__rb_parent_color == (unsigned long)(node))
#define RB_CLEAR_NODE(node) ((void)((node)->__rb_parent_color = (unsigned long)(node)))
#define rb_entry(ptr, type, member) container_of(ptr, type, member)
#define rb_entry_safe(ptr, type, member)                            \
    ({                                                              \
        __typeof__(ptr) rb_ptr__ = (ptr);                           \
        rb_ptr__ != NULL ? rb_entry(rb_ptr__, type, member) : NULL; \
    })
#define rb_parent(node) libcfs_rb_parent(node)
static inline struct rb_node *libcfs_rb_parent(const struct rb_node *node)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): the colour is in the lowest bit */
    return (struct rb_node *)(node->__rb_parent_color & ~3UL);
}

#pragma GCC visibility push(default)
void libcfs_rb_insert(struct rb_node *node, struct rb_root *root);
void libcfs_rb_erase(struct rb_node *node, struct rb_root *root);
/* The node in the place of another one. */
void libcfs_rb_replace(struct rb_node *victim, struct rb_node *node, struct rb_root *root);
struct rb_node *libcfs_rb_end(const struct rb_root *root, bool last);
/* The neighbour of a node in the order; NULL: none. */
struct rb_node *libcfs_rb_step(const struct rb_node *node, bool back);
struct rb_node *libcfs_rb_deepest(const struct rb_node *node); /* the first one, children first */
struct rb_node *libcfs_rb_next_postorder(const struct rb_node *node);
#pragma GCC visibility pop

/* Puts the node at *link, below `parent`; then rb_insert_color() balances the tree. */
static inline void rb_link_node(struct rb_node *node, struct rb_node *parent, struct rb_node **link)
{
    node->__rb_parent_color = (unsigned long)parent;
    node->rb_left = node->rb_right = NULL;
    *link = node;
}
#define rb_link_node_rcu(node, parent, link) rb_link_node(node, parent, link)
#define rb_insert_color(node, root) libcfs_rb_insert(node, root)
#define rb_erase(node, root) libcfs_rb_erase(node, root)
#define rb_replace_node(victim, node, root) libcfs_rb_replace(victim, node, root)
#define rb_first(root) libcfs_rb_end(root, false)
#define rb_last(root) libcfs_rb_end(root, true)
#define rb_next(node) libcfs_rb_step(node, false)
#define rb_prev(node) libcfs_rb_step(node, true)
#define rb_first_cached(root) ((root)->rb_leftmost)
static inline void rb_insert_color_cached(struct rb_node *node, struct rb_root_cached *root,
                                          bool leftmost)
{
    if (leftmost)
        root->rb_leftmost = node;
    libcfs_rb_insert(node, &root->rb_root);
}
static inline void rb_erase_cached(struct rb_node *node, struct rb_root_cached *root)
{
    if (root->rb_leftmost == node)
        root->rb_leftmost = rb_next(node);
    libcfs_rb_erase(node, &root->rb_root);
}
#define rb_first_postorder(root) libcfs_rb_deepest((root)->rb_node)
#define rb_next_postorder(node) libcfs_rb_next_postorder(node)
/* Children before parents, so that each may be freed. */
#define rbtree_postorder_for_each_entry_safe(pos, n, root, field)                         \
    for (pos = rb_entry_safe(rb_first_postorder(root), __typeof__(*pos), field);          \
         pos != NULL &&                                                                   \
         (n = rb_entry_safe(rb_next_postorder(&pos->field), __typeof__(*pos), field), 1); \
         pos = n)

#endif
