/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Red-black trees. A red node has black children, and each path from the root to an empty place has
 * as many black nodes as any other one.
 */
#include "kernel.h"

enum { RED = 0, BLACK = 1 };

static bool is_red(const struct rb_node *node)
{
    return node != NULL && (node->__rb_parent_color & BLACK) == RED;
}

static void set_colour(struct rb_node *node, unsigned long colour)
{
    node->__rb_parent_color = (node->__rb_parent_color & ~(unsigned long)BLACK) | colour;
}

static void set_parent(struct rb_node *node, struct rb_node *parent)
{
    node->__rb_parent_color = (unsigned long)parent | (node->__rb_parent_color & BLACK);
}

/* What refers to the child `old` of `parent` (NULL: it is the root). */
static struct rb_node **link_to(struct rb_root *root, struct rb_node *parent,
                                const struct rb_node *old)
{
    if (parent == NULL)
        return &root->rb_node;
    return parent->rb_left == old ? &parent->rb_left : &parent->rb_right;
}

/* The node goes down on one side, and its child on the other side takes its place. */
static void rotate(struct rb_root *root, struct rb_node *node, bool left)
{
    struct rb_node *child = left ? node->rb_right : node->rb_left;
    struct rb_node *inner = left ? child->rb_left : child->rb_right;

    *link_to(root, rb_parent(node), node) = child;
    set_parent(child, rb_parent(node));
    if (left) {
        node->rb_right = inner;
        child->rb_left = node;
    } else {
        node->rb_left = inner;
        child->rb_right = node;
    }
    if (inner != NULL)
        set_parent(inner, node);
    set_parent(node, child);
}

void libcfs_rb_insert(struct rb_node *node, struct rb_root *root)
{
    struct rb_node *parent, *above, *uncle;
    bool left;

    set_colour(node, RED);
    while (is_red(parent = rb_parent(node))) {
        above = rb_parent(parent); /* a red node is never the root */
        left = parent == above->rb_left;
        uncle = left ? above->rb_right : above->rb_left;
        if (is_red(uncle)) {
            set_colour(parent, BLACK);
            set_colour(uncle, BLACK);
            set_colour(above, RED);
            node = above;
            continue;
        }
        if (node == (left ? parent->rb_right : parent->rb_left)) {
            rotate(root, parent, left);
            parent = node;
        }
        set_colour(parent, BLACK);
        set_colour(above, RED);
        rotate(root, above, !left);
        break;
    }
    set_colour(root->rb_node, BLACK);
}

/* The paths through `node`, a child of `parent`, lack a black node. */
static void balance(struct rb_root *root, struct rb_node *node, struct rb_node *parent)
{
    while (parent != NULL && !is_red(node)) {
        bool left = node == parent->rb_left;
        struct rb_node *sibling = left ? parent->rb_right : parent->rb_left, *near, *far;

        assert(sibling != NULL);
        if (is_red(sibling)) {
            set_colour(sibling, BLACK);
            set_colour(parent, RED);
            rotate(root, parent, left);
            sibling = left ? parent->rb_right : parent->rb_left;
        }
        near = left ? sibling->rb_left : sibling->rb_right;
        far = left ? sibling->rb_right : sibling->rb_left;
        if (!is_red(near) && !is_red(far)) {
            set_colour(sibling, RED);
            node = parent;
            parent = rb_parent(node);
            continue;
        }
        if (!is_red(far)) {
            set_colour(near, BLACK);
            set_colour(sibling, RED);
            rotate(root, sibling, !left);
            far = sibling;
            sibling = near;
        }
        set_colour(sibling, is_red(parent) ? RED : BLACK);
        set_colour(parent, BLACK);
        set_colour(far, BLACK);
        rotate(root, parent, left);
        return;
    }
    if (node != NULL)
        set_colour(node, BLACK);
}

void libcfs_rb_erase(struct rb_node *node, struct rb_root *root)
{
    struct rb_node *child, *parent = rb_parent(node), *next;
    bool black = !is_red(node);

    if (node->rb_left == NULL || node->rb_right == NULL) {
        child = node->rb_left != NULL ? node->rb_left : node->rb_right;
        *link_to(root, parent, node) = child;
        if (child != NULL)
            set_parent(child, parent);
    } else { /* the next node takes its place */
        for (next = node->rb_right; next->rb_left != NULL;)
            next = next->rb_left;
        child = next->rb_right;
        black = !is_red(next);
        parent = rb_parent(next);
        if (parent == node) {
            parent = next;
        } else {
            parent->rb_left = child;
            if (child != NULL)
                set_parent(child, parent);
            next->rb_right = node->rb_right;
            set_parent(next->rb_right, next);
        }
        next->rb_left = node->rb_left;
        set_parent(next->rb_left, next);
        *link_to(root, rb_parent(node), node) = next;
        next->__rb_parent_color = node->__rb_parent_color;
    }
    if (black)
        balance(root, child, parent);
}

void libcfs_rb_replace(struct rb_node *victim, struct rb_node *node, struct rb_root *root)
{
    *link_to(root, rb_parent(victim), victim) = node;
    if (victim->rb_left != NULL)
        set_parent(victim->rb_left, node);
    if (victim->rb_right != NULL)
        set_parent(victim->rb_right, node);
    *node = *victim;
}

static struct rb_node *farthest(struct rb_node *node, bool right)
{
    struct rb_node *next;

    while ((next = right ? node->rb_right : node->rb_left) != NULL)
        node = next;
    return node;
}

struct rb_node *libcfs_rb_end(const struct rb_root *root, bool last)
{
    return root->rb_node != NULL ? farthest(root->rb_node, last) : NULL;
}

struct rb_node *libcfs_rb_step(const struct rb_node *node, bool back)
{
    struct rb_node *below, *parent;

    if (RB_EMPTY_NODE(node))
        return NULL;
    below = back ? node->rb_left : node->rb_right;
    if (below != NULL)
        return farthest(below, back);
    while ((parent = rb_parent(node)) != NULL &&
           node == (back ? parent->rb_left : parent->rb_right))
        node = parent;
    return parent;
}

struct rb_node *libcfs_rb_deepest(const struct rb_node *node)
{
    const struct rb_node *next;

    for (next = node; next != NULL; next = node->rb_left != NULL ? node->rb_left : node->rb_right)
        node = next;
    return (struct rb_node *)node;
}

struct rb_node *libcfs_rb_next_postorder(const struct rb_node *node)
{
    struct rb_node *parent = node != NULL ? rb_parent(node) : NULL;

    if (parent != NULL && node == parent->rb_left && parent->rb_right != NULL)
        return libcfs_rb_deepest(parent->rb_right);
    return parent;
}
