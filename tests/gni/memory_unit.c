/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the port of ordinary processes reports of memory that was unmapped or mapped anew, by each
 * of the calls; and that the calls themselves work as before.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>
#include <cmocka.h>
#include "port/port.h"

#define BYTES ((size_t)1 << 20)

static uint64_t place;

/* Whether one of the changes since the last call overlaps this range. */
static bool reported(const volatile void *memory, size_t bytes)
{
    uint64_t begin = (uint64_t)(uintptr_t)memory, address, length;
    bool found = false;
    int rc;

    while ((rc = port_memory_changed(&place, &address, &length)) > 0)
        found |= address < begin + bytes && begin < address + length;
    assert_int_equal(rc, 0);
    return found;
}

static void *map(void *where, int flags)
{
    void *got =
        mmap(where, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

    assert_true(got != MAP_FAILED);
    return got;
}

static int begin(void **state)
{
    uint64_t address, bytes;

    (void)state;
    if (port_memory_changed(&place, &address, &bytes) != -1)
        return -1; /* changes are not noted so far */
    return port_memory_watch();
}

static void gni_134_calls_that_change_memory(void **state)
{
    char *memory = map(NULL, 0), *other, *old_break;

    (void)state;
    reported(memory, BYTES);
    memory[0] = 1;
    assert_false(reported(memory, BYTES)); /* nothing of that changes it */
    assert_int_equal(munmap(memory, BYTES), 0);
    assert_true(reported(memory, BYTES));
    memory = map(memory, MAP_FIXED);
    assert_true(reported(memory, BYTES));
    memory[0] = 1;
    assert_int_equal(madvise(memory, BYTES, MADV_WILLNEED), 0);
    assert_false(reported(memory, BYTES));
    assert_int_equal(madvise(memory, BYTES, MADV_DONTNEED), 0);
    assert_true(reported(memory, BYTES));
    assert_int_equal(memory[0], 0);
    memory[0] = 7;
    other = mremap(memory, BYTES, 2 * BYTES, MREMAP_MAYMOVE);
    assert_true(other != MAP_FAILED && other[0] == 7);
    assert_true(reported(memory, BYTES));
    assert_int_equal(munmap(other, 2 * BYTES), 0);
    assert_int_equal(munmap((void *)1, BYTES), -1);
    assert_int_equal(errno, EINVAL);
    old_break = sbrk((intptr_t)BYTES);
    assert_true(old_break != (void *)-1 && (char *)sbrk(0) == old_break + BYTES);
    reported(old_break, BYTES);
    assert_true(sbrk(-(intptr_t)BYTES) != (void *)-1);
    assert_true((char *)sbrk(0) == old_break);
    assert_true(reported(old_break, BYTES));
}

#ifndef __SANITIZE_ADDRESS__ /* whose malloc() gives nothing back to the system */
/* The library's own calls, of which programs know nothing. */
static void gni_134_memory_of_malloc(void **state)
{
    void *volatile memory = malloc(64 * BYTES); /* a mapping of its own */

    (void)state;
    reported(memory, BYTES);
    memset(memory, 1, 64 * BYTES);
    free(memory);
    assert_true(reported(memory, 64 * BYTES));
}
#endif

static void gni_134_shared_segments(void **state)
{
    int segment = shmget(IPC_PRIVATE, BYTES, IPC_CREAT | 0600);
    char *memory;

    (void)state;
    assert_true(segment >= 0);
    memory = shmat(segment, NULL, 0);
    shmctl(segment, IPC_RMID, NULL);
    assert_true(memory != (void *)-1);
    memory[BYTES - 1] = 1;
    reported(memory, BYTES);
    assert_int_equal(shmdt(memory), 0);
    assert_true(reported(memory, BYTES));
}

/* More changes than anybody keeps: then everything may have changed. */
static void gni_134_too_many_changes(void **state)
{
    char *memory = map(NULL, 0), *page = map(NULL, 0);
    unsigned i;

    (void)state;
    reported(memory, BYTES);
    for (i = 0; i < 10000; i++)
        assert_int_equal(madvise(page, 4096, MADV_DONTNEED), 0);
    assert_true(reported(memory, BYTES));
    assert_false(reported(memory, BYTES));
    munmap(memory, BYTES);
    munmap(page, BYTES);
}

#define THREADS 4
#define TIMES 2000

static void *map_and_unmap(void *argument)
{
    void **last = argument;
    int i;

    for (i = 0; i < TIMES; i++) {
        *last = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        munmap(*last, BYTES);
    }
    return NULL;
}

/* Readers and writers at once; the last change of each thread is not missed. */
static void gni_134_changes_of_threads(void **state)
{
    pthread_t threads[THREADS];
    uint64_t address, bytes, seen;
    void *last[THREADS];
    int i;

    (void)state;
    for (i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, map_and_unmap, &last[i]);
    for (i = 0; i < 1000; i++)
        while (port_memory_changed(&place, &address, &bytes) > 0)
            ;
    seen = place;
    for (i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        map_and_unmap(&last[i]);
        place = seen;
        assert_true(reported(last[i], BYTES));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_134_calls_that_change_memory),
#ifndef __SANITIZE_ADDRESS__
        cmocka_unit_test(gni_134_memory_of_malloc),
#endif
        cmocka_unit_test(gni_134_shared_segments),
        cmocka_unit_test(gni_134_too_many_changes),
        cmocka_unit_test(gni_134_changes_of_threads),
    };

    return cmocka_run_group_tests_name("memory that changes", tests, begin, NULL);
}
