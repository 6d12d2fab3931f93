/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Trees of pointers by their number, with 64 places in each node. A tree grows at its root and is
 * not made lower until it is empty. Readers are counted as those of RCU; a node that has left its
 * tree is freed in a moment without any.
 */
#include "kernel.h"

enum { BITS = 6, PLACES = 1 << BITS, MARKS = 3 };

struct libcfs_radix_node {
    void *place[PLACES]; /* entries if shift is 0, else nodes */
    uint64_t marked[MARKS]; /* places with a mark, or nodes with one below */
    unsigned shift, used;
    struct libcfs_radix_node *next; /* of those that are not in a tree any more */
};
typedef struct libcfs_radix_node node_t;

static node_t *retired; /* changed atomically */

/* A reader that begins later cannot find what has left its tree. So the list is emptied first, and
 * then readers are looked for. */
static void retire(node_t *first, node_t *last)
{
    node_t *next;

    do {
        next = __atomic_load_n(&retired, __ATOMIC_RELAXED);
        last->next = next;
    } while (!__atomic_compare_exchange_n(&retired, &next, first, false, __ATOMIC_SEQ_CST,
                                          __ATOMIC_RELAXED));
    first = __atomic_exchange_n(&retired, NULL, __ATOMIC_SEQ_CST);
    if (first == NULL)
        return;
    if (libcfs_rcu_readers() != 0) { /* one of the next removals frees them */
        for (last = first; last->next != NULL;)
            last = last->next;
        do {
            next = __atomic_load_n(&retired, __ATOMIC_RELAXED);
            last->next = next;
        } while (!__atomic_compare_exchange_n(&retired, &next, first, false, __ATOMIC_SEQ_CST,
                                              __ATOMIC_RELAXED));
        return;
    }
    for (; first != NULL; first = next) {
        next = first->next;
        free(first);
    }
}

static node_t *root_of(const struct libcfs_radix *tree)
{
    return __atomic_load_n(&tree->root, __ATOMIC_ACQUIRE);
}

static bool reaches(const node_t *root, unsigned long index)
{
    return root->shift + BITS >= 64 || index >> (root->shift + BITS) == 0;
}

static unsigned place_of(const node_t *node, unsigned long index)
{
    return (index >> node->shift) & (PLACES - 1);
}

/* The node with the place of an entry; NULL: there is none. */
static node_t *leaf_of(const struct libcfs_radix *tree, unsigned long index)
{
    node_t *node = root_of(tree);

    if (node == NULL || !reaches(node, index))
        return NULL;
    while (node != NULL && node->shift > 0)
        node = __atomic_load_n(&node->place[place_of(node, index)], __ATOMIC_ACQUIRE);
    return node;
}

void *libcfs_radix_load(const struct libcfs_radix *tree, unsigned long index)
{
    node_t *leaf;
    void *entry;

    libcfs_rcu_read_lock();
    leaf = leaf_of(tree, index);
    entry = leaf == NULL ? NULL
                         : __atomic_load_n(&leaf->place[place_of(leaf, index)], __ATOMIC_ACQUIRE);
    libcfs_rcu_read_unlock();
    return entry;
}

/* The caller keeps the entry there. */
void **libcfs_radix_slot(const struct libcfs_radix *tree, unsigned long index)
{
    node_t *leaf = leaf_of(tree, index);
    void **place = leaf == NULL ? NULL : &leaf->place[place_of(leaf, index)];

    return place != NULL && *place != NULL ? place : NULL;
}

/* ---- changes --------------------------------------------------------------------------------- */

static node_t *node_make(unsigned shift)
{
    node_t *node = calloc(1, sizeof(*node));

    if (node != NULL)
        node->shift = shift;
    return node;
}

/* Nodes above the root, until it reaches the index. */
static bool grow(struct libcfs_radix *tree, unsigned long index)
{
    node_t *root = tree->root, *above;
    unsigned mark;

    if (root == NULL) {
        unsigned shift = 0;

        while (shift + BITS < 64 && index >> (shift + BITS) != 0)
            shift += BITS;
        root = node_make(shift);
        __atomic_store_n(&tree->root, root, __ATOMIC_RELEASE);
        return root != NULL;
    }
    while (!reaches(root, index)) {
        above = node_make(root->shift + BITS);
        if (above == NULL)
            return false;
        above->place[0] = root;
        above->used = 1;
        for (mark = 0; mark < MARKS; mark++)
            above->marked[mark] = root->marked[mark] != 0;
        root = above;
        __atomic_store_n(&tree->root, root, __ATOMIC_RELEASE);
    }
    return true;
}

/* Nodes from the root to the leaf of an index; their number, 0: there is no such leaf. */
enum { LEVELS_MAX = 64 / BITS + 1 };
static unsigned path_of(const struct libcfs_radix *tree, unsigned long index,
                        node_t *path[LEVELS_MAX])
{
    node_t *node = tree->root;
    unsigned levels = 0;

    if (node == NULL || !reaches(node, index))
        return 0;
    for (;; node = node->place[place_of(node, index)]) {
        if (node == NULL)
            return 0;
        assert(levels < LEVELS_MAX);
        path[levels++] = node;
        if (node->shift == 0)
            return levels;
    }
}

static void mark_off(node_t *const path[], unsigned levels, unsigned long index, unsigned mark)
{
    while (levels-- > 0) {
        path[levels]->marked[mark] &= ~(1ull << place_of(path[levels], index));
        if (path[levels]->marked[mark] != 0)
            return;
    }
}

static void put(node_t *node, unsigned long index, void *what)
{
    void **place = &node->place[place_of(node, index)];

    node->used += (what != NULL) - (*place != NULL);
    __atomic_store_n(place, what, __ATOMIC_RELEASE);
}

/* Frees the nodes at the end of the path that have become empty. */
static void prune(struct libcfs_radix *tree, node_t *const path[], unsigned levels,
                  unsigned long index)
{
    node_t *first = NULL, *last = NULL;

    while (levels-- > 0 && path[levels]->used == 0) {
        if (levels > 0)
            put(path[levels - 1], index, NULL);
        else
            __atomic_store_n(&tree->root, NULL, __ATOMIC_RELEASE);
        path[levels]->next = first;
        first = path[levels];
        last = last != NULL ? last : first;
    }
    if (first != NULL)
        retire(first, last);
}

static void *erase(struct libcfs_radix *tree, unsigned long index)
{
    node_t *path[LEVELS_MAX];
    unsigned levels = path_of(tree, index, path), mark;
    void *old;

    if (levels == 0)
        return NULL;
    old = path[levels - 1]->place[place_of(path[levels - 1], index)];
    if (old == NULL)
        return NULL;
    for (mark = 0; mark < MARKS; mark++)
        mark_off(path, levels, index, mark);
    put(path[levels - 1], index, NULL);
    prune(tree, path, levels, index);
    return old;
}

/* Frees what was made for an entry whose leaf could not be made. */
static int no_memory(struct libcfs_radix *tree, unsigned long index)
{
    node_t *path[LEVELS_MAX], *node = tree->root;
    unsigned levels = 0;

    while (node != NULL && levels < LEVELS_MAX) {
        path[levels++] = node;
        node = node->shift == 0 ? NULL : node->place[place_of(node, index)];
    }
    prune(tree, path, levels, index);
    return -ENOMEM;
}

int libcfs_radix_store(struct libcfs_radix *tree, unsigned long index, void *entry, void **old)
{
    node_t *node, *below;
    void *before;

    if (entry == NULL) {
        before = erase(tree, index);
        if (old != NULL)
            *old = before;
        return 0;
    }
    if (!grow(tree, index))
        return tree->root == NULL ? -ENOMEM : no_memory(tree, index);
    for (node = tree->root; node->shift > 0; node = below) {
        below = node->place[place_of(node, index)];
        if (below != NULL)
            continue;
        below = node_make(node->shift - BITS);
        if (below == NULL)
            return no_memory(tree, index);
        put(node, index, below);
    }
    if (old != NULL)
        *old = node->place[place_of(node, index)];
    put(node, index, entry);
    return 0;
}

static void free_below(node_t *node, node_t **first, node_t **last)
{
    unsigned i;

    for (i = 0; node->shift > 0 && i < PLACES; i++)
        if (node->place[i] != NULL)
            free_below(node->place[i], first, last);
    node->next = *first;
    *first = node;
    *last = *last != NULL ? *last : node;
}

void libcfs_radix_clear(struct libcfs_radix *tree)
{
    node_t *root = tree->root, *first = NULL, *last = NULL;

    if (root == NULL)
        return;
    __atomic_store_n(&tree->root, NULL, __ATOMIC_RELEASE);
    free_below(root, &first, &last);
    retire(first, last);
}

/* ---- search ---------------------------------------------------------------------------------- */

/* The first index behind those of the node's place; 0: there is none. */
static unsigned long behind(const node_t *node, unsigned long index)
{
    return ((index >> node->shift) + 1) << node->shift;
}

static void *find_below(const node_t *node, unsigned long *index, unsigned long last, int mark)
{
    for (;;) {
        unsigned i = place_of(node, *index);
        void *what = __atomic_load_n(&node->place[i], __ATOMIC_ACQUIRE);

        if (what != NULL && (mark < 0 || (node->marked[mark] >> i & 1) != 0)) {
            if (node->shift > 0)
                what = find_below(what, index, last, mark);
            if (what != NULL || *index > last)
                return what;
            if (node->shift > 0) { /* the index is at the next place, or 0 behind the last one */
                if (*index == 0 || place_of(node, *index) == 0)
                    return NULL;
                continue;
            }
        }
        *index = behind(node, *index);
        if (*index == 0 || *index > last || place_of(node, *index) == 0)
            return NULL;
    }
}

void *libcfs_radix_find(const struct libcfs_radix *tree, unsigned long *index, unsigned long last,
                        int mark)
{
    unsigned long at = *index;
    void *entry = NULL;
    node_t *root;

    libcfs_rcu_read_lock();
    root = root_of(tree);
    if (root != NULL && reaches(root, at) && at <= last)
        entry = find_below(root, &at, last, mark);
    libcfs_rcu_read_unlock();
    if (entry != NULL)
        *index = at;
    return entry;
}

bool libcfs_radix_gap(const struct libcfs_radix *tree, unsigned long first, unsigned long last,
                      unsigned long *index)
{
    node_t *leaf;

    for (; first <= last; first++) {
        leaf = leaf_of(tree, first);
        if (leaf != NULL && leaf->used == PLACES && (first | (PLACES - 1)) < last) {
            first |= PLACES - 1; /* none of this leaf */
            continue;
        }
        if (leaf == NULL || leaf->place[place_of(leaf, first)] == NULL) {
            *index = first;
            return true;
        }
        if (first == ~0UL)
            break;
    }
    return false;
}

long libcfs_radix_add(struct libcfs_radix *tree, void *entry, unsigned long first,
                      unsigned long last)
{
    unsigned long index;
    int rc;

    if (!libcfs_radix_gap(tree, first, last, &index))
        return -ENOSPC;
    rc = libcfs_radix_store(tree, index, entry, NULL);
    return rc != 0 ? rc : (long)index;
}

unsigned libcfs_radix_gang(const struct libcfs_radix *tree, void **results, unsigned long first,
                           unsigned count, int mark)
{
    unsigned found = 0;

    while (found < count &&
           (results[found] = libcfs_radix_find(tree, &first, ~0UL, mark)) != NULL) {
        found++;
        if (++first == 0)
            break;
    }
    return found;
}

/* ---- marks ----------------------------------------------------------------------------------- */

bool libcfs_radix_marked(const struct libcfs_radix *tree, unsigned long index, int mark)
{
    node_t *leaf;
    bool marked;

    libcfs_rcu_read_lock();
    leaf = leaf_of(tree, index);
    marked = leaf != NULL && (leaf->marked[mark] >> place_of(leaf, index) & 1) != 0;
    libcfs_rcu_read_unlock();
    return marked;
}

bool libcfs_radix_any_marked(const struct libcfs_radix *tree, int mark)
{
    node_t *root;
    bool marked;

    libcfs_rcu_read_lock();
    root = root_of(tree);
    marked = root != NULL && root->marked[mark] != 0;
    libcfs_rcu_read_unlock();
    return marked;
}

void *libcfs_radix_mark(struct libcfs_radix *tree, unsigned long index, int mark, bool on)
{
    node_t *path[LEVELS_MAX];
    unsigned levels = path_of(tree, index, path), i;
    void *entry;

    assert(mark >= 0 && mark < MARKS);
    if (levels == 0)
        return NULL;
    entry = path[levels - 1]->place[place_of(path[levels - 1], index)];
    if (entry == NULL)
        return NULL;
    if (!on)
        mark_off(path, levels, index, (unsigned)mark);
    for (i = 0; on && i < levels; i++)
        path[i]->marked[mark] |= 1ull << place_of(path[i], index);
    return entry;
}
