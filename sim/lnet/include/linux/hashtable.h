/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The kernel's hash tables of fixed size: arrays of chains. */
#ifndef JACQUARD_LINUX_HASHTABLE_H
#define JACQUARD_LINUX_HASHTABLE_H

#include <linux/hash.h>

#define DECLARE_HASHTABLE(name, bits) struct hlist_head name[1 << (bits)]
#define DEFINE_HASHTABLE(name, bits) DECLARE_HASHTABLE(name, bits) = {{NULL}}
#define HASH_SIZE(name) ARRAY_SIZE(name)
#define HASH_BITS(name) ((unsigned)__builtin_ctzl(HASH_SIZE(name)))
#define hash_min(value, bits) \
    (sizeof(value) <= 4 ? hash_32((u32)(value), bits) : hash_64(value, bits))
static inline void libcfs_hash_init(struct hlist_head *table, size_t count)
{
    while (count-- > 0)
        table[count].first = NULL;
}
#define hash_init(table) libcfs_hash_init(table, HASH_SIZE(table))
#define hash_add(table, node, key) hlist_add_head(node, &(table)[hash_min(key, HASH_BITS(table))])
#define hash_hashed(node) (!hlist_unhashed(node))
static inline bool libcfs_hash_empty(const struct hlist_head *table, size_t count)
{
    while (count-- > 0)
        if (!hlist_empty(&table[count]))
            return false;
    return true;
}
#define hash_empty(table) libcfs_hash_empty(table, HASH_SIZE(table))
#define hash_del(node) hlist_del_init(node)
#define hash_for_each(table, bucket, object, member)                                      \
    for ((bucket) = 0, object = NULL; object == NULL && (bucket) < (int)HASH_SIZE(table); \
         (bucket)++)                                                                      \
    hlist_for_each_entry(object, &(table)[bucket], member)
#define hash_for_each_safe(table, bucket, next, object, member)                           \
    for ((bucket) = 0, object = NULL; object == NULL && (bucket) < (int)HASH_SIZE(table); \
         (bucket)++)                                                                      \
    hlist_for_each_entry_safe(object, next, &(table)[bucket], member)
#define hash_for_each_possible(table, object, member, key) \
    hlist_for_each_entry(object, &(table)[hash_min(key, HASH_BITS(table))], member)
#define hash_for_each_possible_safe(table, object, next, member, key) \
    hlist_for_each_entry_safe(object, next, &(table)[hash_min(key, HASH_BITS(table))], member)

#endif
