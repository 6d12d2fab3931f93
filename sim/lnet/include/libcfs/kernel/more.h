/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Rarer names of lockdep, barriers, work queues, slabs and mempools; kernel objects and sysfs. */
#ifndef JACQUARD_LIBCFS_KERNEL_MORE_H
#define JACQUARD_LIBCFS_KERNEL_MORE_H

#include "libcfs/libcfs.h"

/* ---- lockdep and barriers -------------------------------------------------------------------- */

struct lockdep_map {
    const char *name;
};
#define STATIC_LOCKDEP_MAP_INIT(map_name, key) \
    {                                          \
        .name = (map_name)                     \
    }
#define lockdep_init_map(map, map_name, key, subclass) \
    ((void)(key), (void)(subclass), (void)((map)->name = (map_name)))
#define lockdep_is_held(lock) ((void)(lock), 1)
#define lock_map_acquire(map) ((void)(map))
#define lock_map_acquire_read(map) ((void)(map))
#define lock_map_release(map) ((void)(map))
#define lock_acquire(map, subclass, trylock, read, check, nest, ip) ((void)(map))
#define lock_release(map, nested, ip) ((void)(map))
#define rcu_read_lock_held() 1
#define rcu_read_lock_bh_held() 1
#define set_mb(place, value) smp_store_mb(place, value)
#define smp_acquire__after_ctrl_dep() smp_rmb()
/* Until the condition, in which VAL is the value, holds; others run meanwhile. */
#define smp_cond_load_acquire(pointer, condition)                              \
    ({                                                                         \
        __typeof__(*(pointer)) VAL;                                            \
        while (VAL = __atomic_load_n(pointer, __ATOMIC_ACQUIRE), !(condition)) \
            cpu_relax();                                                       \
        VAL;                                                                   \
    })
#define smp_cond_load_relaxed(pointer, condition) smp_cond_load_acquire(pointer, condition)
static inline bool refcount_dec_and_lock_irqsave(refcount_t *r, spinlock_t *lock,
                                                 unsigned long *flags)
{
    *flags = 0;
    return refcount_dec_and_lock(r, lock);
}

/* ---- linux/workqueue.h ----------------------------------------------------------------------- */

#define create_freezable_workqueue(name) create_singlethread_workqueue(name)
#define mod_delayed_work_on(cpu, queue, work, delay) \
    ((void)(cpu), mod_delayed_work(queue, work, delay))
#define WORK_BUSY_PENDING 1u
#define WORK_BUSY_RUNNING 2u
#pragma GCC visibility push(default)
unsigned libcfs_work_busy(struct work_struct *work);
void libcfs_workqueue_limit(struct workqueue_struct *queue, unsigned limit);
#pragma GCC visibility pop
#define work_busy(work) libcfs_work_busy(work)
#define workqueue_set_max_active(queue, limit) libcfs_workqueue_limit(queue, (unsigned)(limit))
/* Runs the function once for each processor, and waits. 0 or -ENOMEM. */
static inline int schedule_on_each_cpu(work_func_t run)
{
    unsigned i, count = libcfs_processors();
    struct work_struct *works = (struct work_struct *)calloc(count, sizeof(*works));

    if (works == NULL)
        return -ENOMEM;
    for (i = 0; i < count; i++) {
        INIT_WORK(&works[i], run);
        (void)schedule_work(&works[i]);
    }
    for (i = 0; i < count; i++)
        (void)flush_work(&works[i]);
    free(works);
    return 0;
}
/* A work that begins when all readers of now have ended. */
struct rcu_work {
    struct work_struct work;
    struct rcu_head rcu;
    struct workqueue_struct *wq;
};
static inline void libcfs_rcu_work_due(struct rcu_head *head)
{
    struct rcu_work *work = container_of(head, struct rcu_work, rcu);

    (void)queue_work(work->wq, &work->work);
}
#define INIT_RCU_WORK(rwork, run) INIT_WORK(&(rwork)->work, run)
#define to_rcu_work(work_) container_of(work_, struct rcu_work, work)
static inline bool queue_rcu_work(struct workqueue_struct *queue, struct rcu_work *rwork)
{
    if (work_pending(&rwork->work))
        return false;
    rwork->wq = queue;
    call_rcu(&rwork->rcu, libcfs_rcu_work_due);
    return true;
}
static inline bool flush_rcu_work(struct rcu_work *rwork)
{
    rcu_barrier();
    return flush_work(&rwork->work);
}

/* ---- linux/slab.h, linux/mempool.h ----------------------------------------------------------- */

#define kmem_cache_create_usercopy(name, bytes, alignment, flags, from, count, construct) \
    ((void)(from), (void)(count), kmem_cache_create(name, bytes, alignment, flags, construct))
static inline void kmem_cache_free_bulk(struct kmem_cache *cache, size_t count, void **objects)
{
    while (count-- > 0)
        kmem_cache_free(cache, objects[count]);
}
/* `count`, or 0: there is no memory for all. */
static inline int kmem_cache_alloc_bulk(struct kmem_cache *cache, gfp_t flags, size_t count,
                                        void **objects)
{
    size_t i;

    for (i = 0; i < count; i++) {
        objects[i] = kmem_cache_alloc(cache, flags);
        if (objects[i] == NULL) {
            kmem_cache_free_bulk(cache, i, objects);
            return 0;
        }
    }
    return (int)count;
}
#pragma GCC visibility push(default)
int libcfs_mempool_begin(mempool_t *pool, int count, mempool_alloc_t *make, mempool_free_t *end,
                         void *data);
void libcfs_mempool_end(mempool_t *pool);
int libcfs_mempool_resize(mempool_t *pool, int count);
void *libcfs_mempool_page(gfp_t flags, void *order);
void libcfs_mempool_page_free(void *page, void *order);
#pragma GCC visibility pop
#define mempool_init(pool, count, make, end, data) \
    libcfs_mempool_begin(pool, count, make, end, data)
#define mempool_exit(pool) libcfs_mempool_end(pool)
/* 0 or -ENOMEM. */
#define mempool_resize(pool, count) libcfs_mempool_resize(pool, count)
#define mempool_create_page_pool(count, order)                                  \
    libcfs_mempool_create(count, libcfs_mempool_page, libcfs_mempool_page_free, \
                          (void *)(uintptr_t)(order))
#define mempool_alloc_pages libcfs_mempool_page
#define mempool_free_pages libcfs_mempool_page_free

/* ---- linux/sysfs.h, linux/kobject.h ---------------------------------------------------------- */

struct kobject;
struct kset;
struct attribute {
    const char *name;
    umode_t mode;
};
struct attribute_group {
    const char *name; /* of a folder; NULL: that of the object */
    struct attribute **attrs;
};
struct sysfs_ops {
    ssize_t (*show)(struct kobject *object, struct attribute *attribute, char *page);
    ssize_t (*store)(struct kobject *object, struct attribute *attribute, const char *text,
                     size_t bytes);
};
struct kobj_type {
    void (*release)(struct kobject *object);
    const struct sysfs_ops *sysfs_ops;
    struct attribute **default_attrs;
};
struct kobject {
    const char *name; /* malloc'd */
    struct kobject *parent;
    struct kset *kset;
    const struct kobj_type *ktype;
    struct kref kref;
    struct libcfs_entry *folder; /* NULL: it is not in sysfs */
};
struct kset {
    struct kobject kobj;
};
struct kobj_attribute {
    struct attribute attr;
    ssize_t (*show)(struct kobject *object, struct kobj_attribute *attribute, char *page);
    ssize_t (*store)(struct kobject *object, struct kobj_attribute *attribute, const char *text,
                     size_t bytes);
};
#define __ATTR(attribute, attribute_mode, show_, store_)                                           \
    {                                                                                              \
        .attr = {.name = #attribute, .mode = (attribute_mode)}, .show = (show_), .store = (store_) \
    }
#define __ATTR_RO(attribute) __ATTR(attribute, 0444, attribute##_show, NULL)
#define __ATTR_WO(attribute) __ATTR(attribute, 0200, NULL, attribute##_store)
#define __ATTR_RW(attribute) __ATTR(attribute, 0644, attribute##_show, attribute##_store)
#define __ATTR_NULL             \
    {                           \
        .attr = {.name = NULL } \
    }
#pragma GCC visibility push(default)
extern const struct sysfs_ops libcfs_kobj_sysfs_ops;
int libcfs_kobject_add(struct kobject *object, struct kobject *parent, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void libcfs_kobject_del(struct kobject *object);
void libcfs_kobject_put(struct kobject *object);
int libcfs_kobject_name(struct kobject *object, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
struct kobject *libcfs_kobject_create(const char *name, struct kobject *parent);
int libcfs_sysfs_file(struct kobject *object, const char *group, struct attribute *attribute);
void libcfs_sysfs_remove(struct kobject *object, const char *group, const char *name);
int libcfs_sysfs_group(struct kobject *object, const struct attribute_group *group);
void libcfs_sysfs_group_remove(struct kobject *object, const struct attribute_group *group);
#pragma GCC visibility pop
#define kobj_sysfs_ops libcfs_kobj_sysfs_ops
#define kernel_kobj ((struct kobject *)NULL) /* /sys/kernel */
#define kobject_name(object) ((object)->name)
#define kobject_set_name(object, ...) libcfs_kobject_name(object, __VA_ARGS__)
#define kobject_init(object, type) (kref_init(&(object)->kref), (void)((object)->ktype = (type)))
#define kobject_add(object, parent, ...) libcfs_kobject_add(object, parent, __VA_ARGS__)
#define kobject_init_and_add(object, type, parent, ...) \
    (kobject_init(object, type), libcfs_kobject_add(object, parent, __VA_ARGS__))
#define kobject_del(object) libcfs_kobject_del(object)
#define kobject_put(object) libcfs_kobject_put(object)
#define kobject_create_and_add(name, parent) libcfs_kobject_create(name, parent)
static inline struct kobject *kobject_get(struct kobject *object)
{
    if (object != NULL)
        kref_get(&object->kref);
    return object;
}
#define kobject_uevent(object, action) ((void)(object), 0)
#define kobject_uevent_env(object, action, environment) ((void)(object), (void)(environment), 0)
#define sysfs_create_file(object, attribute) \
    libcfs_sysfs_file(object, NULL, (struct attribute *)(void *)(attribute))
#define sysfs_remove_file(object, attribute) libcfs_sysfs_remove(object, NULL, (attribute)->name)
#define sysfs_create_group(object, group) libcfs_sysfs_group(object, group)
#define sysfs_remove_group(object, group) libcfs_sysfs_group_remove(object, group)
/* Equal but for a line feed at the end. */
static inline bool sysfs_streq(const char *a, const char *b)
{
    size_t i = 0;

    while (a[i] != '\0' && a[i] == b[i])
        i++;
    return (a[i] == b[i]) || (a[i] == '\n' && a[i + 1] == '\0' && b[i] == '\0') ||
           (b[i] == '\n' && b[i + 1] == '\0' && a[i] == '\0');
}
#define sysfs_emit(page, ...) scnprintf(page, PAGE_SIZE, __VA_ARGS__)

#endif
