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

void live_fences_begin(struct live *live)
{
    int commands = membarrier(MEMBARRIER_CMD_QUERY);

    live->fences = commands < 0 || !(commands & MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) ||
                   membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) != 0;
    live->head->fences = commands < 0 || !(commands & MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}

static void publish_doze(struct live *live, uint32_t doze)
{
    live->doze = doze;
    atomic_store_explicit(&live->head->doze, doze, memory_order_relaxed);
}

bool live_doze(struct live *live)
{
    live->bell_used = true; /* who dozed off before may not be rung for what is there now */
    if (live_hear_all(live) || atomic_load_explicit(&live->attention, memory_order_relaxed) ||
        live->dying)
        return false;
    live_acknowledge(live);
    publish_doze(live, ((live->doze | (DOZE_STEP - 1)) + 1) | DOZE_ASLEEP |
                           (live_outstanding(live) ? DOZE_OUTSTANDING : 0));
    live->looks = 0;
    atomic_thread_fence(memory_order_seq_cst);
    if (!live->head->fences)
        membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
    if (live_rings_have(live) || live_hear_all(live))
        return false;
    live->bell_used = false;
    return true;
}

/* By the system call itself: whoever has the caller's lock is not to be cancelled here. */
static live_cold void ring(int bell)
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
static void rouse_helper(struct live *live)
{
    if (!live->helper_untimed)
        return;
    live->helper_untimed = false;
    ring(live->helper_bell);
}

live_cold void live_awake(struct live *live)
{
    if (live->doze & DOZE_ASLEEP)
        publish_doze(live, (live->doze | (DOZE_STEP - 1)) + 1);
    rouse_helper(live);
}

bool live_sleep_begin(struct live *live)
{
    if (!live_doze(live))
        return false;
    atomic_fetch_add_explicit(&live->sleepers, 1, memory_order_relaxed);
    live_round(live);
    return true;
}

bool live_sleep(struct live *live, uint64_t deadline_ns)
{
    struct pollfd fds[3] = {{.fd = live->doorbell, .events = POLLIN},
                            {.fd = live->wake_bell, .events = POLLIN},
                            {.fd = live->lost ? -1 : live->socket, .events = POLLIN}};
    struct timespec timeout;
    uint64_t now;
    int ready;

    if (deadline_ns != UINT64_MAX) {
        now = live_now_ns();
        if (now >= deadline_ns)
            return true;
        timeout.tv_sec = (time_t)((deadline_ns - now) / 1000000000u);
        timeout.tv_nsec = (long)((deadline_ns - now) % 1000000000u);
    }
    ready = ppoll(fds, 3, deadline_ns == UINT64_MAX ? NULL : &timeout, NULL);
    if (ready > 0 && fds[2].revents != 0)
        atomic_store_explicit(&live->attention, true, memory_order_relaxed);
    return ready >= 0 || errno != EINTR;
}

void live_sleep_end(struct live *live)
{
    silence(live->doorbell);
    live->bell_used = true;
    live_round(live);
    /* The last one silences the bell of live_wake, so that nobody misses it. */
    if (atomic_fetch_sub_explicit(&live->sleepers, 1, memory_order_relaxed) == 1)
        silence(live->wake_bell);
    rouse_helper(live);
}

void live_look_soon(struct live *live)
{
    live->bell_used = true; /* the helper makes progress itself */
    rouse_helper(live);
}

/* Also when nobody sleeps: the next one who does finds the bell rung. */
live_cold void live_wake(struct live *live)
{
    ring(live->wake_bell);
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
static bool nobody_looks(struct live *live)
{
    const struct timespec grace = {.tv_nsec = GRACE_NS};
    uint64_t rounds = atomic_load_explicit(&live->rounds, memory_order_relaxed);

    nanosleep(&grace, NULL);
    return atomic_load_explicit(&live->rounds, memory_order_relaxed) == rounds ||
           atomic_load_explicit(&live->sleepers, memory_order_relaxed) > 0;
}

/*
 * A millisecond (four in a crowd), or as long as nothing needs the helper; true: something does.
 * Who was woken for nothing is deaf for some rests.
 */
static bool rest(struct live *live, enum rest how, uint64_t wish_ns)
{
    bool deaf = live->helper_deaf > 0;
    bool crowded = atomic_load_explicit(&live->crowded, memory_order_relaxed);
    bool listen =
        how == REST_LONG || (how == REST_SHORT && !deaf &&
                             atomic_load_explicit(&live->sleepers, memory_order_relaxed) == 0);
    bool socket = how != REST_FOR_SLEEPERS && !live->lost &&
                  !atomic_load_explicit(&live->attention, memory_order_relaxed);
    struct pollfd fds[3] = {{.fd = live->helper_bell, .events = POLLIN},
                            {.fd = listen ? live->doorbell : -1, .events = POLLIN},
                            {.fd = socket ? live->socket : -1, .events = POLLIN}};
    uint64_t now = live_now_ns(), nanoseconds = UINT64_MAX;
    struct timespec timeout;

    live->helper_deaf -= deaf;
    if (how == REST_SHORT)
        nanoseconds = (crowded ? LIVE_CROWDED_LOOK_US : LIVE_LOOK_US) * 1000u;
    if (wish_ns != UINT64_MAX && wish_ns <= now)
        nanoseconds = 0;
    else if (wish_ns != UINT64_MAX && wish_ns - now < nanoseconds)
        nanoseconds = wish_ns - now;
    timeout.tv_sec = (time_t)(nanoseconds / 1000000000u);
    timeout.tv_nsec = (long)(nanoseconds % 1000000000u);
    if (ppoll(fds, 3, nanoseconds == UINT64_MAX ? NULL : &timeout, NULL) <= 0)
        return wish_ns != UINT64_MAX && live_now_ns() >= wish_ns;
    if (fds[0].revents != 0)
        silence(live->helper_bell);
    if (fds[2].revents != 0)
        atomic_store_explicit(&live->attention, true, memory_order_relaxed);
    if (fds[1].revents == 0)
        return false;
    silence(live->doorbell);
    live->helper_heard = true;
    if (how == REST_LONG || nobody_looks(live))
        return true;
    live->helper_deaf = DEAF_RESTS;
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
    struct live *live = arg;
    const struct live_helper *helper = &live->helper;
    uint64_t seen = UINT64_MAX, rounds, wish = UINT64_MAX;
    uint32_t sleepers;
    enum rest how;
    bool needed = false, fresh;

    for (;;) {
        rounds = atomic_load_explicit(&live->rounds, memory_order_relaxed);
        if (atomic_load_explicit(&live->stopping, memory_order_relaxed))
            return NULL;
        how = REST_SHORT;
        if (needed || rounds == seen) {
            helper->lock(helper->arg);
            live->bell_used = live->bell_used || live->helper_heard;
            live->helper_heard = false;
            sleepers = atomic_load_explicit(&live->sleepers, memory_order_relaxed);
            fresh = !needed && (live->doze & DOZE_ASLEEP) && !live->bell_used && sleepers > 0;
            if (!fresh) {
                wish = helper->progress(helper->arg);
                fresh = live_doze(live);
            }
            if (fresh)
                how = sleepers > 0 ? REST_FOR_SLEEPERS : REST_LONG;
            live->helper_untimed = how != REST_SHORT;
            rounds = atomic_load_explicit(&live->rounds, memory_order_relaxed);
            helper->unlock(helper->arg);
        }
        seen = rounds;
        needed = rest(live, how, wish);
    }
}

int live_helper_start(struct live *live, const struct live_helper *helper)
{
    pthread_attr_t attr;
    sigset_t all, before;
    int error;

    if (live->helper_runs)
        return -EALREADY;
    live->helper = *helper;
    atomic_store(&live->stopping, false);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 256u << 10);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    live->helper_runs = true;
    error = -pthread_create(&live->helper_thread, &attr, help, live);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    if (error != 0)
        live->helper_runs = false;
    else
        pthread_setname_np(live->helper_thread, "jacquard-live");
    return error;
}

void live_helper_stop(struct live *live)
{
    if (!live->helper_runs)
        return;
    atomic_store(&live->stopping, true);
    ring(live->helper_bell);
    pthread_join(live->helper_thread, NULL);
    live->helper_runs = false;
    live->helper_untimed = false;
}
