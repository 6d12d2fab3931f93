/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>

#include "ranks.h"

enum { PAIRS_MAX = 1024, CODES = 65 };

static struct {
    pthread_mutex_t lock;
    pthread_barrier_t barrier;
    char keys[PAIRS_MAX][MAD_KEY_MAX], values[PAIRS_MAX][MAD_VALUE_MAX + 1];
    int count, size;
    const char *adapters;
    void (*body)(p_mad_madeleine_t, int rank);
    int failures[CODES];
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER};

void ranks_barrier(void)
{
    pthread_barrier_wait(&shared.barrier);
}

static int put(struct mad_boot *boot, const char *key, const char *value)
{
    pthread_mutex_lock(&shared.lock);
    CHECK(shared.count < PAIRS_MAX && strlen(key) <= 63 && strlen(value) <= 1023);
    snprintf(shared.keys[shared.count], MAD_KEY_MAX, "%s", key);
    snprintf(shared.values[shared.count++], MAD_VALUE_MAX, "%s", value);
    pthread_mutex_unlock(&shared.lock);
    return MAD_OK;
}

static int fence(struct mad_boot *boot)
{
    ranks_barrier();
    return MAD_OK;
}

static int get(struct mad_boot *boot, int rank, const char *key, char *value, size_t size)
{
    value[0] = '\0';
    pthread_mutex_lock(&shared.lock);
    for (int i = 0; i < shared.count; i++)
        if (strcmp(shared.keys[i], key) == 0)
            snprintf(value, size, "%s", shared.values[i]);
    pthread_mutex_unlock(&shared.lock);
    return MAD_OK;
}

static void close_boot(struct mad_boot *boot)
{
    free(boot);
}

static void on_failure(const mad_failure_t *failure, void *arg)
{
    __atomic_fetch_add(&shared.failures[failure->code], 1, __ATOMIC_SEQ_CST);
}

int ranks_failures(int code)
{
    return __atomic_load_n(&shared.failures[code], __ATOMIC_SEQ_CST);
}

int ranks_all_failures(void)
{
    int count = 0;

    for (int code = 0; code < CODES; code++)
        count += ranks_failures(code);
    return count;
}

static void *run_rank(void *argument)
{
    static const struct mad_boot_ops ops = {put, fence, get, close_boot};
    struct mad_session_options options = {.drivers = mad_drivers};
    struct mad_boot *boot = calloc(1, sizeof(*boot));
    p_mad_adapter_set_t set = NULL;
    p_mad_madeleine_t session;

    CHECK(boot != NULL);
    *boot = (struct mad_boot){
        .ops = &ops, .size = shared.size, .rank = (int)(intptr_t)argument, .job = "threads"};
    if (shared.adapters != NULL)
        options.adapters = set = mad_adapter_set_parse(shared.adapters, mad_drivers);
    session = mad_session_start(boot, &options);
    CHECK(session != NULL);
    shared.body(session, (int)(intptr_t)argument);
    mad_session_end(session);
    mad_adapter_set_free(set);
    return NULL;
}

void ranks_run(int size, const char *adapters, void (*body)(p_mad_madeleine_t, int rank))
{
    pthread_t threads[RANKS_MAX];
    int i;

    CHECK(size <= RANKS_MAX);
    mad_set_failure_handler(on_failure, NULL);
    shared.size = size;
    shared.count = 0;
    shared.adapters = adapters;
    shared.body = body;
    memset(shared.failures, 0, sizeof(shared.failures));
    CHECK(pthread_barrier_init(&shared.barrier, NULL, (unsigned)size) == 0);
    for (i = 0; i < size; i++)
        CHECK(pthread_create(&threads[i], NULL, run_rank, (void *)(intptr_t)i) == 0);
    for (i = 0; i < size; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&shared.barrier);
}

static int descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int count = 0;

    CHECK(folder != NULL);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

void ranks_run_clean(int size, const char *adapters, void (*body)(p_mad_madeleine_t, int rank))
{
    int before = descriptors();

    ranks_run(size, adapters, body);
    CHECK(ranks_all_failures() == 0);
    CHECK(descriptors() == before);
}

void ranks_send(p_mad_channel_t channel, int to, int number)
{
    p_mad_connection_t out = mad_begin_packing(channel, to);

    CHECK(out != NULL);
    mad_pack(out, &number, sizeof(number), S, E);
    mad_end_packing(out);
}

int ranks_receive(p_mad_channel_t channel, int *from)
{
    p_mad_connection_t in = mad_begin_unpacking(channel);
    int number = -1;

    CHECK(in != NULL);
    if (from != NULL)
        *from = in->remote_host_id;
    mad_unpack(in, &number, sizeof(number), S, E);
    mad_end_unpacking(in);
    return number;
}
