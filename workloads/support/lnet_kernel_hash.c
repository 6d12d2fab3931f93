/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "lnet_kernel_hash.h"

#include <errno.h>
#include <libcfs/libcfs.h>
#include <libcfs/libcfs_hash.h>
#include <linux/slab.h>

#define EXPECT(condition)    \
    do {                     \
        if (!(condition))    \
            return __LINE__; \
    } while (0)

struct object {
    struct hlist_node node;
    __u64 key;
    atomic_t references;
};

static struct object *object_of(struct hlist_node *node)
{
    return hlist_entry(node, struct object, node);
}

static unsigned object_hash(struct cfs_hash *hs, const void *key, unsigned mask)
{
    (void)hs;
    return cfs_hash_u64_hash(*(const __u64 *)key, mask);
}

static void *object_key(struct hlist_node *node)
{
    return &object_of(node)->key;
}

static int object_keycmp(const void *key, struct hlist_node *node)
{
    return *(const __u64 *)key == object_of(node)->key;
}

static void *object_object(struct hlist_node *node)
{
    return object_of(node);
}

static void object_get(struct cfs_hash *hs, struct hlist_node *node)
{
    (void)hs;
    atomic_inc(&object_of(node)->references);
}

static void object_put(struct cfs_hash *hs, struct hlist_node *node)
{
    (void)hs;
    atomic_dec(&object_of(node)->references);
}

static struct cfs_hash_ops object_ops = {
    .hs_hash = object_hash,
    .hs_key = object_key,
    .hs_keycmp = object_keycmp,
    .hs_object = object_object,
    .hs_get = object_get,
    .hs_put = object_put,
    .hs_put_locked = object_put,
};

/* Those whose number is a multiple of `step` are in the table, and no others. */
static bool has_each(struct cfs_hash *hs, struct object *objects, int count, int step)
{
    struct object *found;
    int i;

    for (i = 0; i < count; i++) {
        found = cfs_hash_lookup(hs, &objects[i].key);
        if (found != (i % step == 0 ? &objects[i] : NULL))
            return false;
        if (found == NULL)
            continue;
        cfs_hash_put(hs, &found->node);
        if (atomic_read(&found->references) != 1)
            return false;
    }
    return cfs_hash_size_get(hs) == (__u64)((count + step - 1) / step);
}

int wl_kernel_hash(int count)
{
    struct object *objects = kcalloc((size_t)count, sizeof(*objects), GFP_KERNEL),
                  twin = {.key = 0};
    struct cfs_hash *hs = cfs_hash_create(
        "objects", 3, 16, 3, 0, CFS_HASH_MIN_THETA, CFS_HASH_MAX_THETA, &object_ops,
        CFS_HASH_DEFAULT | CFS_HASH_SHRINK | CFS_HASH_ADD_TAIL | CFS_HASH_ASSERT_EMPTY);
    int i;

    EXPECT(objects != NULL && hs != NULL);
    for (i = 0; i < count; i++) {
        objects[i].key = (__u64)i * UINT64_C(0x9e3779b97f4a7c15);
        INIT_HLIST_NODE(&objects[i].node);
        cfs_hash_add(hs, &objects[i].key, &objects[i].node);
    }
    EXPECT(has_each(hs, objects, count, 1));
    INIT_HLIST_NODE(&twin.node);
    EXPECT(cfs_hash_add_unique(hs, &twin.key, &twin.node) == -EALREADY);
    for (i = count - 1; i >= 0; i--) /* the last ones of their chains first */
        if (i % 7 != 0)
            EXPECT(cfs_hash_del_key(hs, &objects[i].key) == &objects[i]);
    EXPECT(has_each(hs, objects, count, 7));
    for (i = 0; i < count; i++)
        if (i % 7 != 0)
            cfs_hash_add(hs, &objects[i].key, &objects[i].node);
    EXPECT(has_each(hs, objects, count, 1));
    for (i = 0; i < count; i++)
        EXPECT(cfs_hash_del(hs, &objects[i].key, &objects[i].node) == &objects[i]);
    EXPECT(cfs_hash_is_empty(hs));
    cfs_hash_putref(hs);
    kfree(objects);
    return 0;
}
