/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Many threads of one process, one connection, our own server behind it: no reply may be lost,
 * doubled or exchanged. Also built with thread checking.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "live.h"
#include "pmi2.h"

enum { THREADS = 8, CALLS = 10000 };

static void *serve(void *live)
{
    struct live *one = live;

    live_serve(&one, 1);
    return NULL;
}

static void one_call(int thread, int i, int *bad)
{
    char key[32], value[32], expected[32];
    int length = 0, found = 0;

    snprintf(key, sizeof(key), "t%d-%d", thread, i % 7);
    snprintf(expected, sizeof(expected), "v;%d;%d", thread, i % 7);
    switch (i % 4) {
    case 0:
        *bad += PMI2_Info_PutNodeAttr(key, expected) != 0;
        break;
    case 1:
        snprintf(key, sizeof(key), "t%d-%d", thread, (i - 1) % 7);
        snprintf(expected, sizeof(expected), "v;%d;%d", thread, (i - 1) % 7);
        *bad += PMI2_Info_GetNodeAttr(key, value, sizeof(value), &found, i % 8 == 1) != 0 ||
                !found || strcmp(value, expected) != 0;
        break;
    case 2:
        snprintf(key, sizeof(key), "start-%d", thread);
        snprintf(expected, sizeof(expected), "s-%d", thread);
        *bad += PMI2_KVS_Get(NULL, 0, key, value, sizeof(value), &length) != 0 ||
                strcmp(value, expected) != 0;
        break;
    default:
        *bad += PMI2_KVS_Get(NULL, 0, "nowhere", value, sizeof(value), &length) != PMI2_ERR_OTHER;
        break;
    }
}

static void *calls(void *number)
{
    static int bad[THREADS];
    int thread = (int)(intptr_t)number, i;

    for (i = 0; i < CALLS; i++)
        one_call(thread, i, &bad[thread]);
    return &bad[thread];
}

static void pmi2_114_threads(void **state)
{
    struct live *live = live_new("1.0", 1, 1);
    pthread_t server, threads[THREADS];
    int spawned, size, rank, appnum, i;
    char text[32];
    void *bad;

    assert_int_equal(pthread_create(&server, NULL, serve, live), 0);
    snprintf(text, sizeof(text), "%d", live_fd(live, 0));
    setenv("PMI_FD", text, 1);
    assert_int_equal(PMI2_Init(&spawned, &size, &rank, &appnum), 0);
    for (i = 0; i < THREADS; i++) {
        char key[32], value[32];

        snprintf(key, sizeof(key), "start-%d", i);
        snprintf(value, sizeof(value), "s-%d", i);
        assert_int_equal(PMI2_KVS_Put(key, value), 0);
    }
    assert_int_equal(PMI2_KVS_Fence(), 0);
    for (i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, calls, (void *)(intptr_t)i), 0);
    for (i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &bad);
        assert_int_equal(*(int *)bad, 0);
    }
    assert_int_equal(PMI2_Finalize(), 0);
    pthread_join(server, NULL);
    live_free(live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pmi2_114_threads)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
