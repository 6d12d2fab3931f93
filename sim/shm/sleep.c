/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sleeping without lost wake-ups. Who dozes off writes so (doze), fences, looks a last time and
 * sleeps; who publishes looks at `doze` after it has written the record. One of the two sees the
 * other. The fence between the publisher's store and load would cost more than everything else that
 * it does, so the sleeper makes the processors of all publishers fence instead: membarrier(2),
 * "global expedited".
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

static void publish_doze(struct shm *shm, uint32_t doze)
{
    shm->doze = doze;
    atomic_store_explicit(&shm->head->doze, doze, memory_order_relaxed);
}

bool shm_sleep_flag_set(struct shm *shm)
{
    shm->bell_used = true; /* who dozed off before may not be rung for what is there now */
    if (shm_read_executed_all(shm) || atomic_load_explicit(&shm->attention, memory_order_relaxed) ||
        shm->dying)
        return false;
    shm_acknowledge(shm);
    publish_doze(shm, ((shm->doze | (DOZE_STEP - 1)) + 1) | DOZE_ASLEEP |
                          (shm_outstanding(shm) ? DOZE_OUTSTANDING : 0));
    shm->looks = 0;
    atomic_thread_fence(memory_order_seq_cst);
    if (!shm->head->fences)
        membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
    if (shm_rings_have(shm) || shm_read_executed_all(shm))
        return false;
    shm->bell_used = false;
    return true;
}

/* By the system call itself: whoever has the caller's lock is not to be cancelled here. */
static shm_cold void ring(int bell)
{
    const uint64_t one = 1;
    int before = errno;

    syscall(SYS_write, bell, &one, sizeof(one));
    errno = before;
}

static void silence(int bell)
{
    uint64_t count;

    syscall(SYS_read, bell, &count, sizeof(count));
}

/* The helper may have gone to sleep for good. */
static void rouse_helper(struct shm *shm)
{
    if (!shm->helper_untimed)
        return;
    shm->helper_untimed = false;
    ring(shm->helper_bell);
}

shm_cold void shm_sleep_flag_clear(struct shm *shm)
{
    if (shm->doze & DOZE_ASLEEP)
        publish_doze(shm, (shm->doze | (DOZE_STEP - 1)) + 1);
    rouse_helper(shm);
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
                            {.fd = shm->wake_bell, .events = POLLIN},
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
    silence(shm->doorbell);
    shm->bell_used = true;
    shm_count_poll(shm);
    /* The last one silences the bell of shm_wake, so that nobody misses it. */
    if (atomic_fetch_sub_explicit(&shm->sleepers, 1, memory_order_relaxed) == 1)
        silence(shm->wake_bell);
    rouse_helper(shm);
}

void shm_request_progress(struct shm *shm)
{
    shm->bell_used = true; /* the helper makes progress itself */
    rouse_helper(shm);
}

/* Also when nobody sleeps: the next one who does finds the bell rung. */
shm_cold void shm_wake(struct shm *shm)
{
    ring(shm->wake_bell);
}

/* ---- the helper ------------------------------------------------------------------------------ */

#define GRACE_NS 60000u
#define DEAF_RESTS 8u

enum rest { REST_SHORT, REST_FOR_SLEEPERS, REST_LONG };

/*
 * The bell has rung for a process that was said to look. Mostly it does, and was busy for a moment:
 * then it finds by itself what was published, and a helper would only take the processor and the
 * lock from it.
 */
static bool nobody_looks(struct shm *shm)
{
    const struct timespec grace = {.tv_nsec = GRACE_NS};
    uint64_t rounds = atomic_load_explicit(&shm->rounds, memory_order_relaxed);

    nanosleep(&grace, NULL);
    return atomic_load_explicit(&shm->rounds, memory_order_relaxed) == rounds ||
           atomic_load_explicit(&shm->sleepers, memory_order_relaxed) > 0;
}

/*
 * A millisecond (four in a crowd), or as long as nothing needs the helper; true: something does.
 * Who was woken for nothing is deaf for some rests.
 */
static bool rest(struct shm *shm, enum rest how, uint64_t wish_ns)
{
    bool deaf = shm->helper_deaf > 0;
    bool crowded = atomic_load_explicit(&shm->crowded, memory_order_relaxed);
    bool listen =
        how == REST_LONG || (how == REST_SHORT && !deaf &&
                             atomic_load_explicit(&shm->sleepers, memory_order_relaxed) == 0);
    bool socket = how != REST_FOR_SLEEPERS && !shm->lost &&
                  !atomic_load_explicit(&shm->attention, memory_order_relaxed);
    struct pollfd fds[3] = {{.fd = shm->helper_bell, .events = POLLIN},
                            {.fd = listen ? shm->doorbell : -1, .events = POLLIN},
                            {.fd = socket ? shm->socket : -1, .events = POLLIN}};
    uint64_t now = shm_now_ns(), nanoseconds = UINT64_MAX;
    struct timespec timeout;

    shm->helper_deaf -= deaf;
    if (how == REST_SHORT)
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
        silence(shm->helper_bell);
    if (fds[2].revents != 0)
        atomic_store_explicit(&shm->attention, true, memory_order_relaxed);
    if (fds[1].revents == 0)
        return false;
    silence(shm->doorbell);
    shm->helper_heard = true;
    if (how == REST_LONG || nobody_looks(shm))
        return true;
    shm->helper_deaf = DEAF_RESTS;
    return false;
}

/*
 * Three ways to rest. Somebody looks, or did a millisecond ago: a short one. Other threads sleep,
 * and the bell has not rung since they dozed off (who publishes rings once): they hear it
 * themselves. Else the helper makes progress, dozes off for the process and listens, unless there
 * are sleepers who do.
 */
static void *help(void *arg)
{
    struct shm *shm = arg;
    const struct shm_helper *helper = &shm->helper;
    uint64_t seen = UINT64_MAX, rounds, wish = UINT64_MAX;
    uint32_t sleepers;
    enum rest how;
    bool needed = false, fresh;

    for (;;) {
        rounds = atomic_load_explicit(&shm->rounds, memory_order_relaxed);
        if (atomic_load_explicit(&shm->stopping, memory_order_relaxed))
            return NULL;
        how = REST_SHORT;
        if (needed || rounds == seen) {
            helper->lock(helper->arg);
            shm->bell_used = shm->bell_used || shm->helper_heard;
            shm->helper_heard = false;
            sleepers = atomic_load_explicit(&shm->sleepers, memory_order_relaxed);
            fresh = !needed && (shm->doze & DOZE_ASLEEP) && !shm->bell_used && sleepers > 0;
            if (!fresh) {
                wish = helper->progress(helper->arg);
                fresh = shm_sleep_flag_set(shm);
            }
            if (fresh)
                how = sleepers > 0 ? REST_FOR_SLEEPERS : REST_LONG;
            shm->helper_untimed = how != REST_SHORT;
            rounds = atomic_load_explicit(&shm->rounds, memory_order_relaxed);
            helper->unlock(helper->arg);
        }
        seen = rounds;
        needed = rest(shm, how, wish);
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
    error = -pthread_create(&shm->helper_thread, &attr, help, shm);
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
    ring(shm->helper_bell);
    pthread_join(shm->helper_thread, NULL);
    shm->helper_runs = false;
    shm->helper_untimed = false;
}
