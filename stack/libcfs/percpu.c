/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Objects of processors other than the first one: a block for each first object of a process. */
#include "kernel.h"

struct others {
    struct hlist_node on_bucket;
    const void *first;
    size_t bytes;
    char block[] __attribute__((aligned(64)));
};

static struct hlist_head *bucket_of(struct libcfs_kernel *kernel, const void *first)
{
    return &kernel->percpu[((uintptr_t)first * 0x9e3779b97f4a7c15u) >> 60];
}
_Static_assert(LIBCFS_PERCPU_BUCKETS == 1 << (64 - 60), "four bits of a hash");

static struct others *others_find(struct libcfs_kernel *kernel, const void *first)
{
    struct others *others;

    hlist_for_each_entry(others, bucket_of(kernel, first),
                         on_bucket) if (others->first == first) return others;
    return NULL;
}

static size_t stride_of(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

static size_t room_of(size_t bytes)
{
    return stride_of(sizeof(struct others)) + stride_of(bytes) * (port_processors() - 1);
}

/* pre: processor > 0. A member of an object is asked for with its own address and size. */
void *libcfs_percpu_other(void *first, size_t bytes, unsigned processor)
{
    struct libcfs_kernel *kernel = libcfs_kernel();
    struct others *others, *made = NULL;

    if (processor >= port_processors())
        port_panic("libcfs: an object of a processor that does not exist");
    for (;;) {
        spin_lock(&kernel->lock);
        others = others_find(kernel, first);
        if (others == NULL && made != NULL) {
            hlist_add_head(&made->on_bucket, bucket_of(kernel, first));
            others = made;
            made = NULL;
        }
        spin_unlock(&kernel->lock);
        if (others != NULL)
            break;
        made = port_pages_alloc(room_of(bytes), 0);
        if (made == NULL)
            port_panic("libcfs: there is no memory for objects of processors");
        made->first = first;
        made->bytes = bytes;
    }
    if (made != NULL)
        port_pages_free(made, room_of(bytes));
    return others->block + stride_of(others->bytes) * (processor - 1);
}

void *libcfs_percpu_alloc(size_t bytes, size_t alignment)
{
    void *first = aligned_alloc(alignment < 64 ? 64 : alignment, stride_of(bytes > 0 ? bytes : 1));

    if (first != NULL)
        memset(first, 0, bytes);
    return first;
}

void libcfs_percpu_free(void *first)
{
    struct libcfs_kernel *kernel = libcfs_kernel();
    struct others *others;

    if (first == NULL)
        return;
    spin_lock(&kernel->lock);
    others = others_find(kernel, first);
    if (others != NULL)
        hlist_del(&others->on_bucket);
    spin_unlock(&kernel->lock);
    if (others != NULL)
        port_pages_free(others, room_of(others->bytes));
    free(first);
}

/* In a simulation no fiber sleeps in between, as no thread of the kernel does. */
static spinlock_t section;
static __thread unsigned depth;

void libcfs_percpu_enter(void)
{
    if (depth++ == 0)
        spin_lock(&section);
}

void libcfs_percpu_leave(void)
{
    assert(depth > 0);
    if (--depth == 0)
        spin_unlock(&section);
}
