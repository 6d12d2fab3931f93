/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sleeping without lost wake-ups. A process that goes to sleep sets its sleep flag, executes a
 * fence, polls a last time and sleeps. A producer reads the sleep flag after it has written the
 * record. So one of the two sees the other. A fence between the producer's store and load would
 * cost more than the rest of shm_publish. So the sleeping process makes the processors of all
 * producers execute the fence instead: membarrier(2), "global expedited".
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "internal.h"

static int membarrier(int command)
{
    return (int)syscall(SYS_membarrier, command, 0, 0);
}

void shm_fences_begin(struct shm *shm)
{
    int commands = membarrier(MEMBARRIER_CMD_QUERY);

    shm->fences = commands < 0 || !(commands & MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) ||
                  membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) != 0;
    shm->head->fences = commands < 0 || !(commands & MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}

static void publish_sleep_flag(struct shm *shm, uint32_t sleep_flag)
{
    shm->sleep_flag = sleep_flag;
    atomic_store_explicit(&shm->head->sleep_flag, sleep_flag, memory_order_relaxed);
}

bool shm_sleep_flag_set(struct shm *shm)
{
    shm->doorbell_used =
        true; /* threads that sleep already may not be rung for what is there now */
    if (shm_read_executed_all(shm) || atomic_load_explicit(&shm->attention, memory_order_relaxed) ||
        shm->ends_pending)
        return false;
    shm_acknowledge(shm);
    publish_sleep_flag(shm, ((shm->sleep_flag | (SLEEP_FLAG_STEP - 1)) + 1) | SLEEP_FLAG_ASLEEP |
                                (shm_outstanding(shm) ? SLEEP_FLAG_OUTSTANDING : 0));
    shm->empty_polls = 0;
    atomic_thread_fence(memory_order_seq_cst);
    if (!shm->head->fences)
        membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
    if (shm_rings_have(shm) || shm_read_executed_all(shm))
        return false;
    shm->doorbell_used = false;
    return true;
}

/* Uses the system call itself, because write() is a cancellation point and a thread that holds the
 * caller's lock must not be cancelled here. */
static shm_cold void ring(int event)
{
    const uint64_t one = 1;
    int before = errno;

    syscall(SYS_write, event, &one, sizeof(one));
    errno = before;
}

static void drain(int event)
{
    uint64_t count;

    syscall(SYS_read, event, &count, sizeof(count));
}

/* The helper may be sleeping without a timeout. */
static void wake_helper(struct shm *shm)
{
    if (!shm->helper_untimed)
        return;
    shm->helper_untimed = false;
    ring(shm->helper_event);
}

shm_cold void shm_sleep_flag_clear(struct shm *shm)
{
    if (shm->sleep_flag & SLEEP_FLAG_ASLEEP)
        publish_sleep_flag(shm, (shm->sleep_flag | (SLEEP_FLAG_STEP - 1)) + 1);
    wake_helper(shm);
}

bool shm_sleep_begin(struct shm *shm)
{
    if (!shm_sleep_flag_set(shm))
        return false;
    atomic_fetch_add_explicit(&shm->sleepers, 1, memory_order_relaxed);
    shm_count_poll(shm);
    return true;
}

bool shm_sleep(struct shm *shm, uint64_t deadline_ns)
{
    struct pollfd fds[3] = {{.fd = shm->doorbell, .events = POLLIN},
                            {.fd = shm->wake_event, .events = POLLIN},
                            {.fd = shm->lost ? -1 : shm->socket, .events = POLLIN}};
    struct timespec timeout;
    uint64_t now;
    int ready;

    if (deadline_ns != UINT64_MAX) {
        now = shm_now_ns();
        if (now >= deadline_ns)
            return true;
        timeout.tv_sec = (time_t)((deadline_ns - now) / 1000000000u);
        timeout.tv_nsec = (long)((deadline_ns - now) % 1000000000u);
    }
    ready = ppoll(fds, 3, deadline_ns == UINT64_MAX ? NULL : &timeout, NULL);
    if (ready > 0 && fds[2].revents != 0)
        atomic_store_explicit(&shm->attention, true, memory_order_relaxed);
    return ready >= 0 || errno != EINTR;
}

void shm_sleep_end(struct shm *shm)
{
    drain(shm->doorbell);
    shm->doorbell_used = true;
    shm_count_poll(shm);
    /* The last thread drains the event of shm_wake, so that no thread misses it. */
    if (atomic_fetch_sub_explicit(&shm->sleepers, 1, memory_order_relaxed) == 1)
        drain(shm->wake_event);
    wake_helper(shm);
}

void shm_request_progress(struct shm *shm)
{
    shm->doorbell_used = true; /* the helper makes progress itself */
    wake_helper(shm);
}

/* If no thread sleeps now, the next one that does finds the event set. */
shm_cold void shm_wake(struct shm *shm)
{
    ring(shm->wake_event);
}

/* ---- the helper ------------------------------------------------------------------------------ */

#define GRACE_NS 60000u
#define IGNORED_PERIODS 8u

enum helper_wait { WAIT_SHORT, WAIT_FOR_SLEEPERS, WAIT_LONG };

/* The doorbell has rung although the process says that it polls. Usually it does poll, and was busy
 * for a moment: then it finds the record itself, and the helper would only take the processor and
 * the lock from it. */
static bool nobody_polls(struct shm *shm)
{
    const struct timespec grace = {.tv_nsec = GRACE_NS};
    uint64_t rounds = atomic_load_explicit(&shm->rounds, memory_order_relaxed);

    nanosleep(&grace, NULL);
    return atomic_load_explicit(&shm->rounds, memory_order_relaxed) == rounds ||
           atomic_load_explicit(&shm->sleepers, memory_order_relaxed) > 0;
}

/* Waits for a millisecond (four if processes wait for processors), or as long as nothing needs the
 * helper. True: the helper is needed. A helper that was woken for nothing ignores the doorbell for
 * some periods. */
static bool helper_wait(struct shm *shm, enum helper_wait how, uint64_t wish_ns)
{
    bool ignore = shm->helper_ignores > 0;
    bool crowded = atomic_load_explicit(&shm->crowded, memory_order_relaxed);
    bool listen =
        how == WAIT_LONG || (how == WAIT_SHORT && !ignore &&
                             atomic_load_explicit(&shm->sleepers, memory_order_relaxed) == 0);
    bool socket = how != WAIT_FOR_SLEEPERS && !shm->lost &&
                  !atomic_load_explicit(&shm->attention, memory_order_relaxed);
    struct pollfd fds[3] = {{.fd = shm->helper_event, .events = POLLIN},
                            {.fd = listen ? shm->doorbell : -1, .events = POLLIN},
                            {.fd = socket ? shm->socket : -1, .events = POLLIN}};
    uint64_t now = shm_now_ns(), nanoseconds = UINT64_MAX;
    struct timespec timeout;

    shm->helper_ignores -= ignore;
    if (how == WAIT_SHORT)
        nanoseconds = (crowded ? SHM_CROWDED_POLL_US : SHM_POLL_US) * 1000u;
    if (wish_ns != UINT64_MAX && wish_ns <= now)
        nanoseconds = 0;
    else if (wish_ns != UINT64_MAX && wish_ns - now < nanoseconds)
        nanoseconds = wish_ns - now;
    timeout.tv_sec = (time_t)(nanoseconds / 1000000000u);
    timeout.tv_nsec = (long)(nanoseconds % 1000000000u);
    if (ppoll(fds, 3, nanoseconds == UINT64_MAX ? NULL : &timeout, NULL) <= 0)
        return wish_ns != UINT64_MAX && shm_now_ns() >= wish_ns;
    if (fds[0].revents != 0)
        drain(shm->helper_event);
    if (fds[2].revents != 0)
        atomic_store_explicit(&shm->attention, true, memory_order_relaxed);
    if (fds[1].revents == 0)
        return false;
    drain(shm->doorbell);
    shm->helper_drained = true;
    if (how == WAIT_LONG || nobody_polls(shm))
        return true;
    shm->helper_ignores = IGNORED_PERIODS;
    return false;
}

/*
 * The helper waits in one of three ways. If a thread polls, or did so within the last millisecond,
 * it waits for a short time. If other threads sleep, and the doorbell has not rung since they began
 * to, they wait for the doorbell themselves (a producer rings it once), and the helper does not.
 * Otherwise the helper makes progress, sets the sleep flag and waits for the doorbell, unless there
 * are sleeping threads, which do that.
 */
static void *helper_main(void *arg)
{
    struct shm *shm = arg;
    const struct shm_helper *helper = &shm->helper;
    uint64_t seen = UINT64_MAX, rounds, wish = UINT64_MAX;
    uint32_t sleepers;
    enum helper_wait how;
    bool needed = false, fresh;

    for (;;) {
        rounds = atomic_load_explicit(&shm->rounds, memory_order_relaxed);
        if (atomic_load_explicit(&shm->stopping, memory_order_relaxed))
            return NULL;
        how = WAIT_SHORT;
        if (needed || rounds == seen) {
            helper->lock(helper->arg);
            shm->doorbell_used = shm->doorbell_used || shm->helper_drained;
            shm->helper_drained = false;
            sleepers = atomic_load_explicit(&shm->sleepers, memory_order_relaxed);
            fresh = !needed && (shm->sleep_flag & SLEEP_FLAG_ASLEEP) && !shm->doorbell_used &&
                    sleepers > 0;
            if (!fresh) {
                wish = helper->progress(helper->arg);
                fresh = shm_sleep_flag_set(shm);
            }
            if (fresh)
                how = sleepers > 0 ? WAIT_FOR_SLEEPERS : WAIT_LONG;
            shm->helper_untimed = how != WAIT_SHORT;
            rounds = atomic_load_explicit(&shm->rounds, memory_order_relaxed);
            helper->unlock(helper->arg);
        }
        seen = rounds;
        needed = helper_wait(shm, how, wish);
    }
}

int shm_helper_start(struct shm *shm, const struct shm_helper *helper)
{
    pthread_attr_t attr;
    sigset_t all, before;
    int error;

    if (shm->helper_runs)
        return -EALREADY;
    shm->helper = *helper;
    atomic_store(&shm->stopping, false);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 256u << 10);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    shm->helper_runs = true;
    error = -pthread_create(&shm->helper_thread, &attr, helper_main, shm);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    if (error != 0)
        shm->helper_runs = false;
    else
        pthread_setname_np(shm->helper_thread, "jacquard-live");
    return error;
}

void shm_helper_stop(struct shm *shm)
{
    if (!shm->helper_runs)
        return;
    atomic_store(&shm->stopping, true);
    ring(shm->helper_event);
    pthread_join(shm->helper_thread, NULL);
    shm->helper_runs = false;
    shm->helper_untimed = false;
}
