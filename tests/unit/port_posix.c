/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The stacks' port on POSIX. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "port/machine.h"
#include "port/port.h"

struct seen {
    struct port_thread *self;
    void *room;
    sigset_t blocked;
    volatile int flag;
    uint64_t turns;
};

static void note_thread(void *argument)
{
    struct seen *seen = argument;

    seen->self = port_thread_self();
    seen->room = port_thread_room();
    pthread_sigmask(SIG_SETMASK, NULL, &seen->blocked);
}

static void threads_are_known_and_block_signals(void **state)
{
    struct seen seen = {.self = NULL};
    struct port_thread *first = port_thread_self();
    struct port_thread *thread = port_thread_start("a thread with a long name", note_thread, &seen);
    sigset_t mine;

    assert_non_null(thread);
    port_thread_join(thread);
    assert_ptr_equal(seen.self, thread);
    assert_ptr_not_equal(seen.self, first);
    assert_ptr_equal(port_thread_self(), first);
    assert_ptr_not_equal(seen.room, port_thread_room());
    assert_true(sigismember(&seen.blocked, SIGTERM));
    pthread_sigmask(SIG_SETMASK, NULL, &mine);
    assert_false(sigismember(&mine, SIGTERM));
}

static void *note_native_thread(void *argument)
{
    note_thread(argument);
    return NULL;
}

/* The records of threads that ended are used again by later threads. */
static void records_are_used_again(void **state)
{
    struct port_thread *found[100];
    struct seen seen;
    pthread_t native;
    int i, j, different = 0;

    for (i = 0; i < 100; i++) {
        if (i % 2 == 0) {
            assert_int_equal(pthread_create(&native, NULL, note_native_thread, &seen), 0);
            pthread_join(native, NULL);
        } else {
            port_thread_join(port_thread_start("x", note_thread, &seen));
        }
        found[i] = seen.self;
        for (j = 0; j < i && found[j] != found[i]; j++)
            ;
        different += j == i;
    }
    /* The system may keep a thread's number for a moment after it was joined. */
    assert_in_range(different, 1, 10);
    port_thread_wake(found[0]); /* another thread may have the number now */
}

static void wait_for_flag(void *argument)
{
    struct seen *seen = argument;
    struct port_timer timer;

    port_timer_start(&timer, UINT64_MAX);
    while (!__atomic_load_n(&seen->flag, __ATOMIC_ACQUIRE)) {
        port_idle(&timer, false);
        seen->turns++;
    }
    port_timer_stop(&timer);
}

/* The change and the check before the wait race with each other, 2000 times without a sleep. */
static void no_wake_up_is_lost(void **state)
{
    int i;

    for (i = 0; i < 2000; i++) {
        struct seen seen = {.flag = 0};
        struct port_thread *thread = port_thread_start("waiter", wait_for_flag, &seen);

        __atomic_store_n(&seen.flag, 1, __ATOMIC_RELEASE);
        port_thread_wake(thread);
        port_thread_join(thread);
    }
}

/* Whether the other thread of this process is in this state, according to the kernel. */
static bool others_sleep(void)
{
    DIR *folder = opendir("/proc/self/task");
    const struct dirent *entry;
    bool sleep = true, any = false;
    char path[64], text[256];
    const char *state;
    FILE *file;

    assert_non_null(folder);
    while ((entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.' || atoi(entry->d_name) == getpid())
            continue;
        snprintf(path, sizeof(path), "/proc/self/task/%.20s/stat", entry->d_name);
        file = fopen(path, "r");
        if (file == NULL)
            continue;
        state = fgets(text, sizeof(text), file) != NULL ? strrchr(text, ')') : NULL;
        any = true;
        sleep = sleep && state != NULL && state[2] == 'S';
        fclose(file);
    }
    closedir(folder);
    return any && sleep;
}

static void a_thread_that_waits_sleeps(void **state)
{
    struct seen seen = {.flag = 0};
    struct port_thread *thread = port_thread_start("waiter", wait_for_flag, &seen);

    while (!others_sleep())
        sched_yield();
    __atomic_store_n(&seen.flag, 1, __ATOMIC_RELEASE);
    port_thread_wake(thread);
    port_thread_join(thread);
    assert_in_range(seen.turns, 0, 100); /* it did not spin */
}

static void take_all(void *argument)
{
    struct port_semaphore *semaphore = argument;
    int i;

    for (i = 0; i < 20000; i++)
        assert_true(port_semaphore_wait(semaphore, UINT64_MAX));
}

/* Each post lets one wait end, whoever comes first. */
static void semaphores_count(void **state)
{
    struct port_semaphore semaphore;
    struct port_thread *threads[2];
    uint64_t began = port_now();
    int i;

    (void)state;
    port_semaphore_init(&semaphore);
    assert_false(port_semaphore_wait(&semaphore, 0));
    assert_false(port_semaphore_wait(&semaphore, 1000000));
    assert_true(port_now() - began >= 1000000);
    threads[0] = port_thread_start("taker", take_all, &semaphore);
    threads[1] = port_thread_start("taker", take_all, &semaphore);
    for (i = 0; i < 40001; i++)
        port_semaphore_post(&semaphore);
    port_thread_join(threads[0]);
    port_thread_join(threads[1]);
    assert_true(port_semaphore_wait(&semaphore, UINT64_MAX));
    assert_false(port_semaphore_wait(&semaphore, 0));
    port_semaphore_destroy(&semaphore);
}

static void timers_ring_once_their_time_is_over(void **state)
{
    struct port_timer timer;
    uint64_t began, turns;

    port_timer_start(&timer, UINT64_C(1000000000000));
    for (turns = 0; turns < 100; turns++)
        port_idle(&timer, true); /* a poller polls: it does not sleep for all that time */
    assert_false(port_timer_rang(&timer));
    port_timer_stop(&timer);
    began = port_now();
    port_timer_start(&timer, 3000000);
    while (!port_timer_rang(&timer))
        port_idle(&timer, true);
    assert_true(port_now() - began >= 3000000);
    port_timer_stop(&timer);
    began = port_now();
    port_timer_start(&timer, 2000000);
    while (!port_timer_rang(&timer))
        port_idle(&timer, false);
    assert_true(port_now() - began >= 2000000);
    port_timer_start(&timer, 0);
    assert_true(port_timer_rang(&timer));
    port_timer_start(&timer, UINT64_MAX - 1);
    assert_false(port_timer_rang(&timer));
}

static void pages_are_zeroed(void **state)
{
    size_t bytes = 4 << 20, i;
    char *pages = port_pages_alloc(bytes, 2 << 20);

    assert_non_null(pages);
    for (i = 0; i < bytes; i += 4096) {
        assert_int_equal(pages[i], 0);
        pages[i] = 1;
    }
    port_pages_free(pages, bytes);
    pages = port_pages_alloc(1ull << 40, 0); /* costs address space only */
    assert_non_null(pages);
    port_pages_free(pages, 1ull << 40);
    port_pages_free(NULL, 1);
}

static bool readable(int descriptor)
{
    struct pollfd polled = {.fd = descriptor, .events = POLLIN};

    return poll(&polled, 1, 0) == 1;
}

static void events_are_readable_until_cleared(void **state)
{
    int event = port_event_open();

    assert_true(event >= 0);
    assert_false(readable(event));
    port_event_set(event);
    port_event_set(event);
    assert_true(readable(event));
    port_event_clear(event);
    assert_false(readable(event));
    port_event_clear(event); /* does not block */
    port_event_close(event);
    assert_int_equal(write(event, "", 1), -1);
}

static void numbers_are_random(void **state)
{
    uint64_t first = port_random();

    assert_true(first != port_random() || first != port_random());
}

static void a_host_without_aries_is_not_found(void **state)
{
    uint32_t address;

    assert_int_equal(port_resolve("127.0.0.1", UINT32_MAX, &address), -ENODATA);
    assert_int_equal(port_resolve("no such host", UINT32_MAX, &address), -ENODATA);
}

static int resolve_known(const char *host, uint32_t instance, uint32_t *nic_address)
{
    if (strcmp(host, "known") == 0) {
        *nic_address = 100 + instance;
        return 0;
    }
    return strcmp(host, "unknown") == 0 ? -ENODEV : -ENOSYS;
}

static const char *reported;

static void report(const void *id, uint32_t nic_address, uint32_t instance, const char *state)
{
    assert_ptr_equal(id, &reported);
    assert_int_equal(nic_address, 7);
    assert_int_equal(instance, 8);
    reported = state;
}

/* The operations of another library go first; what it leaves to the operating system goes there. */
static void a_machine_replaces_operations(void **state)
{
    const struct port_machine machine = {.resolve = resolve_known, .connection = report};
    const struct port_machine empty = {.resolve = NULL};
    uint32_t address = 0;

    port_connection(&reported, 7, 8, "nobody looks");
    assert_null(reported);
    port_machine_set(&machine);
    assert_int_equal(port_resolve("known", 3, &address), 0);
    assert_int_equal(address, 103);
    assert_int_equal(port_resolve("unknown", 3, &address), -ENODEV);
    assert_int_equal(port_resolve("127.0.0.1", 3, &address), -ENODATA);
    port_connection(&reported, 7, 8, "CONNECTED");
    assert_string_equal(reported, "CONNECTED");
    port_machine_set(&empty);
    assert_int_equal(port_resolve("known", 3, &address), -ENODATA);
    port_connection(&reported, 7, 8, "nobody looks");
    assert_string_equal(reported, "CONNECTED");
    port_machine_set(NULL);
    assert_int_equal(port_resolve("known", 3, &address), -ENODATA);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_are_known_and_block_signals),
        cmocka_unit_test(records_are_used_again),
        cmocka_unit_test(no_wake_up_is_lost),
        cmocka_unit_test(a_thread_that_waits_sleeps),
        cmocka_unit_test(semaphores_count),
        cmocka_unit_test(timers_ring_once_their_time_is_over),
        cmocka_unit_test(pages_are_zeroed),
        cmocka_unit_test(events_are_readable_until_cleared),
        cmocka_unit_test(numbers_are_random),
        cmocka_unit_test(a_host_without_aries_is_not_found),
        cmocka_unit_test(a_machine_replaces_operations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
