/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The kernel's locks that sleep, its semaphores, and its spinning locks of readers and writers. */
#ifndef JACQUARD_LIBCFS_KERNEL_LOCK_H
#define JACQUARD_LIBCFS_KERNEL_LOCK_H

#include "libcfs/kernel/task.h"

/* ---- mutexes --------------------------------------------------------------------------------- */

struct mutex {
    struct task_struct *owner; /* NULL: nobody */
    wait_queue_head_t wait;
};
#define __MUTEX_INITIALIZER(name)                          \
    {                                                      \
        .wait = __WAIT_QUEUE_HEAD_INITIALIZER((name).wait) \
    }
#define DEFINE_MUTEX(name) struct mutex name = __MUTEX_INITIALIZER(name)
static inline void mutex_init(struct mutex *lock)
{
    lock->owner = NULL;
    init_waitqueue_head(&lock->wait);
}
static inline void mutex_destroy(struct mutex *lock)
{
    (void)lock;
}
static inline bool mutex_is_locked(const struct mutex *lock)
{
    return __atomic_load_n(&lock->owner, __ATOMIC_RELAXED) != NULL;
}
static inline int mutex_trylock(struct mutex *lock)
{
    struct task_struct *nobody = NULL;

    return __atomic_compare_exchange_n(&lock->owner, &nobody, current, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}
static inline void mutex_lock(struct mutex *lock)
{
    if (!mutex_trylock(lock))
        wait_event_exclusive(lock->wait, mutex_trylock(lock));
}
static inline int mutex_lock_interruptible(struct mutex *lock)
{
    mutex_lock(lock);
    return 0;
}
#define mutex_lock_killable(lock) mutex_lock_interruptible(lock)
#define mutex_lock_nested(lock, subclass) mutex_lock(lock)
static inline void mutex_unlock(struct mutex *lock)
{
    __atomic_store_n(&lock->owner, NULL, __ATOMIC_SEQ_CST);
    wake_up(&lock->wait);
}

/* ---- semaphores ------------------------------------------------------------------------------ */

struct semaphore {
    int count;
    wait_queue_head_t wait;
};
#define DEFINE_SEMAPHORE(name) \
    struct semaphore name = {.count = 1, .wait = __WAIT_QUEUE_HEAD_INITIALIZER((name).wait)}
static inline void sema_init(struct semaphore *sem, int value)
{
    sem->count = value;
    init_waitqueue_head(&sem->wait);
}
static inline bool libcfs_sem_try(struct semaphore *sem)
{
    int count = __atomic_load_n(&sem->count, __ATOMIC_SEQ_CST);

    while (count > 0)
        if (__atomic_compare_exchange_n(&sem->count, &count, count - 1, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST))
            return true;
    return false;
}
static inline void down(struct semaphore *sem)
{
    if (!libcfs_sem_try(sem))
        wait_event_exclusive(sem->wait, libcfs_sem_try(sem));
}
static inline int down_interruptible(struct semaphore *sem)
{
    down(sem);
    return 0;
}
static inline int down_trylock(struct semaphore *sem)
{
    return !libcfs_sem_try(sem); /* 0: it is lowered */
}
static inline int down_timeout(struct semaphore *sem, long timeout)
{
    return wait_event_timeout(sem->wait, libcfs_sem_try(sem), timeout) > 0 ? 0 : -ETIME;
}
static inline void up(struct semaphore *sem)
{
    __atomic_fetch_add(&sem->count, 1, __ATOMIC_SEQ_CST);
    wake_up(&sem->wait);
}

/* ---- readers and writers --------------------------------------------------------------------- */

/* A writer that waits keeps new readers out. */
struct rw_semaphore {
    spinlock_t lock; /* of what follows */
    int holders; /* readers; -1: a writer */
    int writers; /* that wait */
    wait_queue_head_t wait;
};
#define __RWSEM_INITIALIZER(name)                          \
    {                                                      \
        .wait = __WAIT_QUEUE_HEAD_INITIALIZER((name).wait) \
    }
#define DECLARE_RWSEM(name) struct rw_semaphore name = __RWSEM_INITIALIZER(name)
static inline void init_rwsem(struct rw_semaphore *sem)
{
    spin_lock_init(&sem->lock);
    sem->holders = 0;
    sem->writers = 0;
    init_waitqueue_head(&sem->wait);
}
static inline int down_read_trylock(struct rw_semaphore *sem)
{
    bool mine;

    spin_lock(&sem->lock);
    mine = sem->holders >= 0 && sem->writers == 0;
    sem->holders += mine;
    spin_unlock(&sem->lock);
    return mine;
}
/* waiting: the caller is counted in `writers` */
static inline bool libcfs_rwsem_try_write(struct rw_semaphore *sem, int waiting)
{
    bool mine;

    spin_lock(&sem->lock);
    mine = sem->holders == 0;
    if (mine) {
        sem->holders = -1;
        sem->writers -= waiting;
    }
    spin_unlock(&sem->lock);
    return mine;
}
static inline int down_write_trylock(struct rw_semaphore *sem)
{
    return libcfs_rwsem_try_write(sem, 0);
}
static inline void down_read(struct rw_semaphore *sem)
{
    wait_event(sem->wait, down_read_trylock(sem));
}
static inline void down_write(struct rw_semaphore *sem)
{
    spin_lock(&sem->lock);
    sem->writers++;
    spin_unlock(&sem->lock);
    wait_event(sem->wait, libcfs_rwsem_try_write(sem, 1));
}
static inline void libcfs_rwsem_release(struct rw_semaphore *sem, int change)
{
    bool freed;

    spin_lock(&sem->lock);
    sem->holders += change;
    freed = sem->holders == 0 || change == 2;
    spin_unlock(&sem->lock);
    if (freed)
        wake_up_all(&sem->wait);
}
static inline void up_read(struct rw_semaphore *sem)
{
    libcfs_rwsem_release(sem, -1);
}
static inline void up_write(struct rw_semaphore *sem)
{
    libcfs_rwsem_release(sem, 1);
}
/* The writer goes on as a reader. */
static inline void downgrade_write(struct rw_semaphore *sem)
{
    libcfs_rwsem_release(sem, 2);
}

/* They spin. */
typedef struct {
    int holders; /* readers; -1: a writer */
} rwlock_t;
#define __RW_LOCK_UNLOCKED(name) \
    {                            \
        .holders = 0             \
    }
#define DEFINE_RWLOCK(name) rwlock_t name = __RW_LOCK_UNLOCKED(name)
static inline void rwlock_init(rwlock_t *lock)
{
    lock->holders = 0;
}
static inline bool libcfs_rwlock_try(rwlock_t *lock, bool write)
{
    int holders = __atomic_load_n(&lock->holders, __ATOMIC_RELAXED);

    return (write ? holders == 0 : holders >= 0) &&
           __atomic_compare_exchange_n(&lock->holders, &holders, write ? -1 : holders + 1, false,
                                       __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}
static inline void libcfs_rwlock_spin(rwlock_t *lock, bool write)
{
    unsigned tries = 0;

    while (!libcfs_rwlock_try(lock, write)) {
        __builtin_ia32_pause();
        if (++tries % 256 == 0 && libcfs_spin_relax != NULL)
            libcfs_spin_relax();
    }
}
static inline void read_lock(rwlock_t *lock)
{
    libcfs_rwlock_spin(lock, false);
}
static inline void write_lock(rwlock_t *lock)
{
    libcfs_rwlock_spin(lock, true);
}
static inline void read_unlock(rwlock_t *lock)
{
    __atomic_fetch_sub(&lock->holders, 1, __ATOMIC_RELEASE);
}
static inline void write_unlock(rwlock_t *lock)
{
    __atomic_store_n(&lock->holders, 0, __ATOMIC_RELEASE);
}
#define read_lock_bh read_lock
#define read_unlock_bh read_unlock
#define write_lock_bh write_lock
#define write_unlock_bh write_unlock
#define read_lock_irqsave(lock, flags) ((flags) = 0, read_lock(lock))
#define read_unlock_irqrestore(lock, flags) ((void)(flags), read_unlock(lock))
#define write_lock_irqsave(lock, flags) ((flags) = 0, write_lock(lock))
#define write_unlock_irqrestore(lock, flags) ((void)(flags), write_unlock(lock))

#define read_lock_irq read_lock
#define read_unlock_irq read_unlock
#define write_lock_irq write_lock
#define write_unlock_irq write_unlock
#define read_trylock(lock) libcfs_rwlock_try(lock, false)
#define write_trylock(lock) libcfs_rwlock_try(lock, true)

/* ---- kinds of spin locks --------------------------------------------------------------------- */

typedef spinlock_t raw_spinlock_t;
#define __SPIN_LOCK_UNLOCKED(name) ((spinlock_t){0})
#define __RAW_SPIN_LOCK_UNLOCKED(name) ((raw_spinlock_t){0})
#define DEFINE_RAW_SPINLOCK(name) raw_spinlock_t name = {0}
#define raw_spin_lock_init spin_lock_init
#define raw_spin_lock spin_lock
#define raw_spin_unlock spin_unlock
#define raw_spin_trylock spin_trylock
#define raw_spin_lock_irq spin_lock
#define raw_spin_unlock_irq spin_unlock
#define raw_spin_lock_irqsave spin_lock_irqsave
#define raw_spin_unlock_irqrestore spin_unlock_irqrestore
#define spin_trylock_irq(lock) spin_trylock(lock)
#define spin_trylock_irqsave(lock, flags) ((flags) = 0, spin_trylock(lock))
#define spin_lock_irqsave_nested(lock, flags, subclass) spin_lock_irqsave(lock, flags)
#define spin_lock_bh_nested(lock, subclass) spin_lock(lock)
#define spin_can_lock(lock) (!spin_is_locked(lock))

#define down_killable(sem) down_interruptible(sem)
#define mutex_lock_interruptible_nested(lock, subclass) mutex_lock_interruptible(lock)
#define mutex_lock_io(lock) mutex_lock(lock)
#define down_read_nested(sem, subclass) down_read(sem)
#define down_write_nested(sem, subclass) down_write(sem)
static inline int down_read_killable(struct rw_semaphore *sem)
{
    down_read(sem);
    return 0;
}
static inline int down_write_killable(struct rw_semaphore *sem)
{
    down_write(sem);
    return 0;
}
static inline int rwsem_is_locked(struct rw_semaphore *sem)
{
    return __atomic_load_n(&sem->holders, __ATOMIC_RELAXED) != 0;
}

/* ---- sequence locks -------------------------------------------------------------------------- */

/* A reader reads, and once more if a writer was there meanwhile. */
typedef struct seqcount {
    unsigned sequence; /* odd: a writer is there */
} seqcount_t;
#define SEQCNT_ZERO(name) \
    {                     \
        0                 \
    }
static inline void seqcount_init(seqcount_t *count)
{
    count->sequence = 0;
}
static inline unsigned raw_seqcount_begin(const seqcount_t *count)
{
    return __atomic_load_n(&count->sequence, __ATOMIC_ACQUIRE) & ~1u;
}
static inline unsigned read_seqcount_begin(const seqcount_t *count)
{
    unsigned sequence, tries = 0;

    while (((sequence = __atomic_load_n(&count->sequence, __ATOMIC_ACQUIRE)) & 1) != 0) {
        __builtin_ia32_pause();
        if (++tries % 256 == 0 && libcfs_spin_relax != NULL)
            libcfs_spin_relax();
    }
    return sequence;
}
/* 1: a writer was there. */
static inline int read_seqcount_retry(const seqcount_t *count, unsigned start)
{
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return __atomic_load_n(&count->sequence, __ATOMIC_RELAXED) != start;
}
static inline void write_seqcount_begin(seqcount_t *count)
{
    __atomic_store_n(&count->sequence, count->sequence + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
static inline void write_seqcount_end(seqcount_t *count)
{
    __atomic_store_n(&count->sequence, count->sequence + 1, __ATOMIC_RELEASE);
}
#define raw_write_seqcount_begin(count) write_seqcount_begin(count)
#define raw_write_seqcount_end(count) write_seqcount_end(count)

typedef struct {
    seqcount_t seqcount;
    spinlock_t lock; /* of the writers */
} seqlock_t;
#define __SEQLOCK_UNLOCKED(name) \
    {                            \
        {0},                     \
        {                        \
            0                    \
        }                        \
    }
#define DEFINE_SEQLOCK(name) seqlock_t name = __SEQLOCK_UNLOCKED(name)
static inline void seqlock_init(seqlock_t *lock)
{
    seqcount_init(&lock->seqcount);
    spin_lock_init(&lock->lock);
}
static inline unsigned read_seqbegin(const seqlock_t *lock)
{
    return read_seqcount_begin(&lock->seqcount);
}
static inline int read_seqretry(const seqlock_t *lock, unsigned start)
{
    return read_seqcount_retry(&lock->seqcount, start);
}
static inline void write_seqlock(seqlock_t *lock)
{
    spin_lock(&lock->lock);
    write_seqcount_begin(&lock->seqcount);
}
static inline void write_sequnlock(seqlock_t *lock)
{
    write_seqcount_end(&lock->seqcount);
    spin_unlock(&lock->lock);
}
#define write_seqlock_bh write_seqlock
#define write_sequnlock_bh write_sequnlock
#define write_seqlock_irq write_seqlock
#define write_sequnlock_irq write_sequnlock
#define write_seqlock_irqsave(lock, flags) ((flags) = 0, write_seqlock(lock))
#define write_sequnlock_irqrestore(lock, flags) ((void)(flags), write_sequnlock(lock))
/* Readers that keep writers out. */
static inline void read_seqlock_excl(seqlock_t *lock)
{
    spin_lock(&lock->lock);
}
static inline void read_sequnlock_excl(seqlock_t *lock)
{
    spin_unlock(&lock->lock);
}

#endif
