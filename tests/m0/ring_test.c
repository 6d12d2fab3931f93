/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The ring of event slots between two real processes, in memory that they share: the kernel's side
 * puts events, the process's side takes them and adds slots meanwhile.
 */
#include <linux/futex.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
/* after those that it needs */
#include <cmocka.h>

#include "full.h"
#include "net/lnet/linux_kernel/klnet_pvt.h"
/* The consumer's side is static in the compilation unit of the layer. */
#include "net/lnet/lnet_main.c"

enum { SLOTS = 64, PAGE = 4096, POLLS = 200 };

struct shared {
    struct nlx_core_transfer_mc ctm;
    uint32_t for_event, for_slot; /* 1: the consumer, the producer sleeps */
    char pages[] __attribute__((aligned(PAGE))); /* a slot in each */
};

static struct nlx_core_buffer_event *slot(struct shared *shared, unsigned i)
{
    return (struct nlx_core_buffer_event *)(shared->pages + (size_t)PAGE * i);
}

static struct nlx_core_kmem_loc loc_of(void *address)
{
    struct nlx_core_kmem_loc loc;
    uintptr_t offset = (uintptr_t)address % PAGE;

    nlx_kcore_kmem_loc_set(&loc, virt_to_page((char *)address - offset), (uint32_t)offset);
    return loc;
}

/* An event whose fields all follow from its number. */
static void fill(struct nlx_core_buffer_event *event, uint64_t number)
{
    event->cbe_buffer_id = number;
    event->cbe_time = number * 3;
    event->cbe_status = (int32_t)(number & 0xffff);
    event->cbe_length = number ^ 0x5555;
    event->cbe_offset = ~number;
    event->cbe_unlinked = (number & 1) != 0;
}

static bool is_event(const struct nlx_core_buffer_event *event, uint64_t number)
{
    struct nlx_core_buffer_event wanted = {.cbe_buffer_id = 0};

    fill(&wanted, number);
    return event->cbe_buffer_id == wanted.cbe_buffer_id && event->cbe_time == wanted.cbe_time &&
           event->cbe_status == wanted.cbe_status && event->cbe_length == wanted.cbe_length &&
           event->cbe_offset == wanted.cbe_offset && event->cbe_unlinked == wanted.cbe_unlinked;
}

/*
 * A process that has nothing to do polls a few times and then sleeps until the other one has done
 * something. sched_yield() instead would let every other process of a busy machine run first, at
 * each of the many times that a small ring is full or empty.
 */
static void futex_sleep(uint32_t *sleeps)
{
    /* The other process may have died; the caller finds out. */
    const struct timespec second = {.tv_sec = 1};

    syscall(SYS_futex, sleeps, FUTEX_WAIT, 1, &second, NULL, 0);
    __atomic_store_n(sleeps, 0, __ATOMIC_RELAXED);
}

/* Called after the ring has changed. The fence belongs to the sleeping and not to the ring. */
static void wake(uint32_t *sleeps)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(sleeps, __ATOMIC_RELAXED) != 0) {
        __atomic_store_n(sleeps, 0, __ATOMIC_RELAXED);
        syscall(SYS_futex, sleeps, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
}

static void publish_sleep(uint32_t *sleeps)
{
    __atomic_store_n(sleeps, 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static bool is_full(struct nlx_core_bev_cqueue *q)
{
    return (uint64_t)m0_atomic64_get(&q->cbcq_count) + 1 >=
           __atomic_load_n(&q->cbcq_nr, __ATOMIC_ACQUIRE);
}

static void wait_for_slot(struct shared *shared)
{
    struct nlx_core_bev_cqueue *q = &shared->ctm.ctm_bevq;
    int polls;

    for (polls = 0; is_full(q); polls++) {
        if (polls < POLLS)
            continue;
        publish_sleep(&shared->for_slot);
        if (is_full(q))
            futex_sleep(&shared->for_slot);
    }
}

/* NULL: the producer has ended, and has left no event. */
static struct nlx_core_buffer_event *next_event(struct shared *shared, pid_t producer)
{
    struct nlx_core_bev_cqueue *q = &shared->ctm.ctm_bevq;
    struct nlx_core_buffer_event *event;
    int polls;

    for (polls = 0; (event = bev_cqueue_get(q)) == NULL; polls++) {
        if (polls < POLLS)
            continue;
        publish_sleep(&shared->for_event);
        if ((event = bev_cqueue_get(q)) != NULL)
            break;
        futex_sleep(&shared->for_event);
        if (waitpid(producer, NULL, WNOHANG) == producer)
            return bev_cqueue_get(q);
    }
    return event;
}

/* The kernel never has more events than slots were promised: cbcq_nr - 1. */
static void produce(struct nlx_kcore_transfer_mc *ktm, struct shared *shared, uint64_t count)
{
    struct nlx_core_buffer_event event = {.cbe_buffer_id = 0};
    uint64_t i;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (i = 0; i < count; i++) {
        wait_for_slot(shared);
        fill(&event, i);
        if (!nlx_kcore_bevq_put(ktm, &event))
            _exit(1);
        wake(&shared->for_event);
    }
    _exit(0);
}

static void m0_135_m0_136_two_processes(void **state)
{
    const uint64_t count = (uint64_t)test_full(1000000, 10000000);
    size_t size = sizeof(struct shared) + (size_t)SLOTS * PAGE;
    struct shared *shared =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    static struct nlx_kcore_buffer_event kernels[SLOTS];
    struct nlx_core_bev_cqueue *q = &shared->ctm.ctm_bevq;
    struct nlx_kcore_domain kd = {.kd_map = NULL};
    struct nlx_kcore_transfer_mc ktm = {.ktm_kd = &kd};
    struct nlx_core_buffer_event *event;
    /* While the ring is small, each event is a switch of processes. */
    uint64_t taken = 0, before_growth = (uint64_t)test_full(3000, 30000);
    unsigned i, slots = 2;
    pid_t child;

    (void)state;
    assert_ptr_not_equal(shared, MAP_FAILED);
    INIT_LIST_HEAD(&ktm.ktm_drv_bevs);
    spin_lock_init(&ktm.ktm_bevq_lock);
    ktm.ktm_ctm_loc = loc_of(&shared->ctm);
    for (i = 0; i < SLOTS; i++) {
        kernels[i].kbe_loc = loc_of(slot(shared, i));
        nlx_kcore_bev_bless(&ktm, &kernels[i], slot(shared, i));
    }
    bev_cqueue_init(q, slot(shared, 0), slot(shared, 1));
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        produce(&ktm, shared, count);
    while (taken < count) {
        event = next_event(shared, child);
        if (event == NULL)
            break; /* the other process has failed */
        if (!is_event(event, taken))
            fail_msg("event %" PRIu64 " is another one", taken);
        taken++;
        if (slots < SLOTS && taken % before_growth == 0) {
            bev_cqueue_add(q, slot(shared, slots++));
            assert_int_equal(bev_cqueue_size(q), slots);
        }
        wake(&shared->for_slot);
    }
    assert_int_equal(taken, count);
    assert_int_equal(slots, SLOTS);
    assert_true(bev_cqueue_is_empty(q));
    waitpid(child, NULL, 0);
    bev_cqueue_fini(q);
    munmap(shared, size);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(m0_135_m0_136_two_processes)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
