/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Nobody sleeps over a record, an acknowledgement, or a wake-up. What is lost hangs, and the
 * watchdog ends it. */
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>
#include "carrier.h"

#define TURNS 4000u
#define THREADS 4u

enum { DATA = 1, STOP = 2 };

struct process {
    struct shm *shm;
    pthread_mutex_t lock;
    uint64_t got; /* records taken, by whoever took them */
    uint64_t answers; /* of those: to be answered by the main thread */
    bool stop, answer_at_once;
    uint64_t random;
};

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void lock(void *arg)
{
    pthread_mutex_lock(&((struct process *)arg)->lock);
}

static void unlock(void *arg)
{
    pthread_mutex_unlock(&((struct process *)arg)->lock);
}

static void send(struct process *process, struct shm_peer *peer, uint32_t kind)
{
    while (shm_reserve(peer, SHM_REQUEST, 0) == NULL)
        sched_yield();
    shm_publish(peer, SHM_REQUEST, kind, 0);
}

static uint64_t progress(void *arg)
{
    struct process *process = arg;
    struct shm_record record;
    bool any = false;

    while (shm_next(process->shm, &record)) {
        any = true;
        if (record.kind == STOP)
            process->stop = true;
        else
            process->got++;
        if (record.kind != STOP && process->answer_at_once)
            send(process, record.from, DATA);
        shm_release(process->shm);
    }
    if (any)
        shm_wake(process->shm);
    return UINT64_MAX;
}

/* The helper may take a record before this function returns. */
static void begin_to_answer(struct process *process, bool helped, bool answer_at_once)
{
    struct shm_helper helper = {lock, unlock, progress, process};

    memset(process, 0, sizeof(*process));
    process->answer_at_once = answer_at_once;
    pthread_mutex_init(&process->lock, NULL);
    process->shm = join_fabric();
    process->random = (uint64_t)getpid() * 77777 + 1;
    if (helped)
        must(shm_helper_start(process->shm, &helper) == 0);
}

static void begin(struct process *process, bool helped)
{
    begin_to_answer(process, helped, false);
}

static void end(struct process *process)
{
    shm_helper_stop(process->shm);
    shm_leave(process->shm);
}

/* With the lock held. */
static void sleep_once(struct process *process, uint64_t deadline)
{
    if (!shm_sleep_begin(process->shm))
        return;
    unlock(process);
    shm_sleep(process->shm, deadline);
    lock(process);
    shm_sleep_end(process->shm);
}

/* In all manners that a program may wait: looks, sleeps, computes first, sleeps for a short time.
 */
static void wait_for(struct process *process, uint64_t count)
{
    uint64_t manner = random_next(&process->random) % 8;

    if (manner == 0)
        pause_us((unsigned)(random_next(&process->random) % 100));
    lock(process);
    while (process->got < count && !process->stop) {
        progress(process);
        if (process->got >= count || process->stop)
            break;
        if (manner < 3) {
            unlock(process);
            sched_yield();
            lock(process);
        } else if (manner == 3) {
            sleep_once(process, now_ns() + random_next(&process->random) % 50000);
        } else {
            sleep_once(process, UINT64_MAX);
        }
    }
    unlock(process);
}

/*
 * Children are forked before there is a helper: a sanitizer's allocator may be locked by another
 * thread at that moment, and stays so in the child.
 */

/* ---- two who wait for each other ------------------------------------------------------------- */

static int answer(void *arg)
{
    static struct process process;
    struct shm_peer *parent;
    uint64_t n;

    begin(&process, *(bool *)arg);
    lock(&process);
    parent = peer_of_pid(process.shm, getppid());
    unlock(&process);
    for (n = 1; !process.stop; n++) {
        wait_for(&process, n);
        if (process.stop)
            break;
        lock(&process);
        send(&process, parent, DATA);
        unlock(&process);
    }
    end(&process);
    return 0;
}

static void take_turns(bool helped)
{
    static struct process process;
    struct shm_peer *peer;
    uint64_t n;
    pid_t child;

    fresh_fabric();
    child = run(answer, &helped);
    begin(&process, helped);
    lock(&process);
    peer = peer_of_pid(process.shm, child);
    unlock(&process);
    for (n = 1; n <= TURNS; n++) {
        lock(&process);
        send(&process, peer, DATA);
        unlock(&process);
        wait_for(&process, n);
    }
    assert_int_equal(process.got, TURNS);
    lock(&process);
    send(&process, peer, STOP);
    unlock(&process);
    ended_well(child);
    end(&process);
    fabric_is_over();
}

static void no_wake_up_is_lost(void **state)
{
    take_turns(false);
}

static void no_wake_up_is_lost_with_helpers(void **state)
{
    take_turns(true);
}

/* ---- a process that computes ----------------------------------------------------------------- */

static int compute(void *arg)
{
    static struct process process;
    volatile const uint64_t *got = &process.got;
    uint64_t n;

    begin_to_answer(&process, true, true);
    lock(&process);
    peer_of_pid(process.shm, getppid());
    unlock(&process);
    while (!process.stop) {
        /* Looks some times, so that nobody rings for it, and then never again. */
        for (n = 0; n < 40; n++) {
            lock(&process);
            progress(&process);
            unlock(&process);
        }
        n = *got;
        while (*got == n && !*(volatile bool *)&process.stop)
            __builtin_ia32_pause(); /* who yields may starve others for long */
    }
    end(&process);
    return 0;
}

static void records_are_executed_while_the_target_computes(void **state)
{
    static struct process process;
    struct shm_peer *peer;
    uint64_t n;
    pid_t child;

    fresh_fabric();
    child = run(compute, NULL);
    begin(&process, true);
    lock(&process);
    peer = peer_of_pid(process.shm, child);
    unlock(&process);
    for (n = 1; n <= 300; n++) {
        if (n % 3 == 0)
            pause_us((unsigned)(random_next(&process.random) % 3000));
        lock(&process);
        send(&process, peer, DATA);
        unlock(&process);
        wait_for(&process, n);
    }
    lock(&process);
    send(&process, peer, STOP);
    unlock(&process);
    ended_well(child);
    end(&process);
    fabric_is_over();
}

/* ---- acknowledgements ------------------------------------------------------------------------ */

static void who_waits_for_an_acknowledgement_is_woken(void **state)
{
    static struct process process;
    struct shm_peer *peer;
    bool helped = true;
    uint64_t n;
    pid_t child;

    fresh_fabric();
    child = run(compute, &helped);
    begin(&process, false);
    lock(&process);
    peer = peer_of_pid(process.shm, child);
    for (n = 1; n <= 500; n++) {
        if (n % 4 == 0)
            pause_us((unsigned)(random_next(&process.random) % 200));
        send(&process, peer, DATA);
        while (shm_executed(peer, SHM_REQUEST) != shm_sent(peer, SHM_REQUEST)) {
            progress(&process);
            if (shm_executed(peer, SHM_REQUEST) != shm_sent(peer, SHM_REQUEST))
                sleep_once(&process, UINT64_MAX);
        }
    }
    send(&process, peer, STOP);
    unlock(&process);
    ended_well(child);
    end(&process);
    fabric_is_over();
}

/* ---- dozing off in vain ---------------------------------------------------------------------- */

/*
 * A thread sleeps, and its bell has rung. Another one that wants to sleep, too, and finds something
 * there has changed what producers look at: they may ring no more for the first one. Then the
 * helper must not rely on it.
 */
static void a_failed_sleep_leaves_nobody_asleep(void **state)
{
    static struct process process;
    struct shm_helper helper = {lock, unlock, progress, &process};
    uint64_t until = now_ns() + 5000000000u;

    fresh_fabric();
    begin(&process, false);
    lock(&process);
    assert_true(shm_sleep_begin(process.shm));
    send(&process, shm_self(process.shm), DATA);
    assert_false(shm_sleep_begin(process.shm));
    unlock(&process);
    assert_int_equal(shm_helper_start(process.shm, &helper), 0);
    while (*(volatile uint64_t *)&process.got == 0 && now_ns() < until)
        pause_us(1000);
    assert_int_equal(process.got, 1);
    lock(&process);
    shm_sleep_end(process.shm);
    unlock(&process);
    end(&process);
    fabric_is_over();
}

/* ---- a wake while nobody sleeps
 * ------------------------------------------------------------------ */

static void a_wake_is_kept_for_the_next_sleep(void **state)
{
    struct process process;

    fresh_fabric();
    begin(&process, false);
    shm_wake(process.shm);
    lock(&process);
    assert_true(shm_sleep_begin(process.shm));
    unlock(&process);
    assert_true(shm_sleep(process.shm, UINT64_MAX)); /* else the watchdog ends the test */
    lock(&process);
    shm_sleep_end(process.shm);
    unlock(&process);
    end(&process);
    fabric_is_over();
}

/* ---- threads --------------------------------------------------------------------------------- */

static uint64_t turn;

/* Each waits for its own turn, all sleep in the same membership, records come in between. */
static void *one_thread(void *arg)
{
    struct process *process = ((void **)arg)[0];
    uint64_t mine = (uintptr_t)((void **)arg)[1];

    lock(process);
    while (turn < TURNS) {
        if (turn % THREADS == mine) {
            turn++;
            shm_wake(process->shm);
            continue;
        }
        progress(process);
        if (turn < TURNS && turn % THREADS != mine)
            sleep_once(process, UINT64_MAX);
    }
    unlock(process);
    return NULL;
}

static int disturb(void *arg)
{
    static struct process process;
    struct shm_peer *parent;

    begin(&process, false);
    parent = peer_of_pid(process.shm, getppid());
    while (!parent->gone) {
        if (shm_reserve(parent, SHM_REQUEST, 0) != NULL)
            shm_publish(parent, SHM_REQUEST, DATA, 0);
        progress(&process);
        pause_us(50);
    }
    end(&process);
    return 0;
}

static void sleeping_threads_wake_each_other(void **state)
{
    static struct process process;
    void *args[THREADS][2];
    pthread_t threads[THREADS];
    uintptr_t i;
    pid_t child;

    fresh_fabric();
    child = run(disturb, NULL);
    begin(&process, true);
    turn = 0;
    for (i = 0; i < THREADS; i++) {
        args[i][0] = &process;
        args[i][1] = (void *)i;
        assert_int_equal(pthread_create(&threads[i], NULL, one_thread, args[i]), 0);
    }
    for (i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(turn, TURNS);
    end(&process);
    ended_well(child);
    fabric_is_over();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_wake_up_is_lost),
        cmocka_unit_test(no_wake_up_is_lost_with_helpers),
        cmocka_unit_test(records_are_executed_while_the_target_computes),
        cmocka_unit_test(who_waits_for_an_acknowledgement_is_woken),
        cmocka_unit_test(a_failed_sleep_leaves_nobody_asleep),
        cmocka_unit_test(a_wake_is_kept_for_the_next_sleep),
        cmocka_unit_test(sleeping_threads_wake_each_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
