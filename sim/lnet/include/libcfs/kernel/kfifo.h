/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Rings of elements of one type (linux/kfifo.h). One thread may put while another one gets. */
#ifndef JACQUARD_LIBCFS_KERNEL_KFIFO_H
#define JACQUARD_LIBCFS_KERNEL_KFIFO_H

#include "libcfs/libcfs.h"

struct __kfifo {
    unsigned in, out; /* elements so far */
    unsigned mask; /* size - 1; the size is a power of two */
    unsigned esize;
    void *data; /* NULL: not initialised */
};
#define LIBCFS_KFIFO(element, size) \
    {                               \
        union {                     \
            struct __kfifo kfifo;   \
            element *type;          \
        };                          \
        element buf[size];          \
    }
#define STRUCT_KFIFO(element, size) struct LIBCFS_KFIFO(element, size)
#define STRUCT_KFIFO_PTR(element) struct LIBCFS_KFIFO(element, 0)
struct kfifo LIBCFS_KFIFO(unsigned char, 0);
#define DECLARE_KFIFO(fifo, element, size) STRUCT_KFIFO(element, size) fifo
#define DECLARE_KFIFO_PTR(fifo, element) STRUCT_KFIFO_PTR(element) fifo
#define DEFINE_KFIFO(fifo, element, size)  \
    DECLARE_KFIFO(fifo, element, size) = { \
        {.kfifo = {.mask = (size)-1, .esize = sizeof(element), .data = (fifo).buf}}, {0}}
#define INIT_KFIFO(fifo)                                                                    \
    ((void)((fifo).kfifo = (struct __kfifo){                                                \
                .mask = sizeof((fifo).buf) == 0 ? 0 : (unsigned)ARRAY_SIZE((fifo).buf) - 1, \
                .esize = sizeof(*(fifo).type),                                              \
                .data = sizeof((fifo).buf) == 0 ? NULL : (void *)(fifo).buf}))

#define libcfs_kfifo_unused(ring) \
    ((ring)->mask + 1 - ((ring)->in - __atomic_load_n(&(ring)->out, __ATOMIC_ACQUIRE)))
#define libcfs_kfifo_used(ring) (__atomic_load_n(&(ring)->in, __ATOMIC_ACQUIRE) - (ring)->out)
/* Elements from `at` on, which go on at the beginning of the ring. */
static inline void libcfs_kfifo_copy(const struct __kfifo *ring, unsigned at, void *memory,
                                     unsigned count, bool in)
{
    unsigned offset = at & ring->mask, first = ring->mask + 1 - offset;
    char *place = (char *)ring->data + (size_t)offset * ring->esize;
    char *second = (char *)memory + (size_t)(count < first ? count : first) * ring->esize;

    first = count < first ? count : first;
    if (in) {
        memcpy(place, memory, (size_t)first * ring->esize);
        memcpy(ring->data, second, (size_t)(count - first) * ring->esize);
    } else {
        memcpy(memory, place, (size_t)first * ring->esize);
        memcpy(second, ring->data, (size_t)(count - first) * ring->esize);
    }
}
static inline unsigned libcfs_kfifo_in(struct __kfifo *ring, const void *from, unsigned count)
{
    unsigned unused = libcfs_kfifo_unused(ring);

    count = count < unused ? count : unused;
    if (count > 0)
        libcfs_kfifo_copy(ring, ring->in, (void *)from, count, true);
    __atomic_store_n(&ring->in, ring->in + count, __ATOMIC_RELEASE);
    return count;
}
static inline unsigned libcfs_kfifo_out(struct __kfifo *ring, void *to, unsigned count, bool keep)
{
    unsigned used = libcfs_kfifo_used(ring);

    count = count < used ? count : used;
    if (count > 0)
        libcfs_kfifo_copy(ring, ring->out, to, count, false);
    if (!keep)
        __atomic_store_n(&ring->out, ring->out + count, __ATOMIC_RELEASE);
    return count;
}
static inline int libcfs_kfifo_setup(struct __kfifo *ring, void *data, unsigned size,
                                     unsigned element)
{
    *ring = (struct __kfifo){.mask = size - 1, .esize = element, .data = size < 2 ? NULL : data};
    if (size < 2)
        ring->mask = 0;
    return size < 2 ? -EINVAL : data == NULL ? -ENOMEM : 0;
}

/* Room for at least so many elements. 0, -EINVAL or -ENOMEM. */
#define kfifo_alloc(fifo, size, flags)                                                      \
    ({                                                                                      \
        unsigned kfifo_size__ = (unsigned)roundup_pow_of_two(size);                         \
        libcfs_kfifo_setup(                                                                 \
            &(fifo)->kfifo,                                                                 \
            kfifo_size__ < 2 ? NULL : kmalloc(kfifo_size__ * sizeof(*(fifo)->type), flags), \
            kfifo_size__, sizeof(*(fifo)->type));                                           \
    })
/* Of bytes of memory: as many elements as a power of two has. */
#define kfifo_init(fifo, memory, bytes)                                                       \
    libcfs_kfifo_setup(&(fifo)->kfifo, memory,                                                \
                       (bytes) < 2 * sizeof(*(fifo)->type)                                    \
                           ? 0                                                                \
                           : (unsigned)rounddown_pow_of_two((bytes) / sizeof(*(fifo)->type)), \
                       sizeof(*(fifo)->type))
#define kfifo_free(fifo) (kfree((fifo)->kfifo.data), (void)((fifo)->kfifo = (struct __kfifo){0}))
#define kfifo_initialized(fifo) ((fifo)->kfifo.mask != 0)
#define kfifo_esize(fifo) ((fifo)->kfifo.esize)
#define kfifo_size(fifo) ((fifo)->kfifo.mask + 1)
#define kfifo_len(fifo) libcfs_kfifo_used(&(fifo)->kfifo)
#define kfifo_avail(fifo) libcfs_kfifo_unused(&(fifo)->kfifo)
#define kfifo_is_empty(fifo) (kfifo_len(fifo) == 0)
#define kfifo_is_full(fifo) (kfifo_len(fifo) > (fifo)->kfifo.mask)
#define kfifo_reset(fifo) ((void)((fifo)->kfifo.in = (fifo)->kfifo.out = 0))
#define kfifo_reset_out(fifo) ((void)((fifo)->kfifo.out = (fifo)->kfifo.in))
#define kfifo_skip(fifo) ((void)((fifo)->kfifo.out++))
/* How many elements: of kfifo_put(), kfifo_get() and kfifo_peek() 1 or 0. */
#define kfifo_put(fifo, value)                              \
    ({                                                      \
        __typeof__(*(fifo)->type) kfifo_value__ = (value);  \
        libcfs_kfifo_in(&(fifo)->kfifo, &kfifo_value__, 1); \
    })
#define kfifo_get(fifo, place)                                     \
    ({                                                             \
        __typeof__((fifo)->type) kfifo_place__ = (place);          \
        libcfs_kfifo_out(&(fifo)->kfifo, kfifo_place__, 1, false); \
    })
#define kfifo_peek(fifo, place)                                   \
    ({                                                            \
        __typeof__((fifo)->type) kfifo_place__ = (place);         \
        libcfs_kfifo_out(&(fifo)->kfifo, kfifo_place__, 1, true); \
    })
#define kfifo_in(fifo, from, count) libcfs_kfifo_in(&(fifo)->kfifo, from, count)
#define kfifo_out(fifo, to, count) libcfs_kfifo_out(&(fifo)->kfifo, to, count, false)
#define kfifo_out_peek(fifo, to, count) libcfs_kfifo_out(&(fifo)->kfifo, to, count, true)
#define LIBCFS_KFIFO_LOCKED(lock, call)    \
    ({                                     \
        spinlock_t *kfifo_lock__ = (lock); \
        unsigned kfifo_count__;            \
        spin_lock(kfifo_lock__);           \
        kfifo_count__ = (call);            \
        spin_unlock(kfifo_lock__);         \
        kfifo_count__;                     \
    })
#define kfifo_in_spinlocked(fifo, from, count, lock) \
    LIBCFS_KFIFO_LOCKED(lock, kfifo_in(fifo, from, count))
#define kfifo_out_spinlocked(fifo, to, count, lock) \
    LIBCFS_KFIFO_LOCKED(lock, kfifo_out(fifo, to, count))
#define kfifo_in_locked(fifo, from, count, lock) kfifo_in_spinlocked(fifo, from, count, lock)
#define kfifo_out_locked(fifo, to, count, lock) kfifo_out_spinlocked(fifo, to, count, lock)

#endif
