/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* run/workload.h on a real machine. Out-of-band communication uses PMI, which every Cray system
 * has. */
#include <gni_pub.h>
#include <pmi.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runner.h"

void *hw_allocate(size_t bytes)
{
    void *memory = calloc(1, bytes != 0 ? bytes : 1);

    if (memory == NULL) {
        fprintf(stderr, "no memory for %zu bytes\n", bytes);
        PMI_Abort(1, "no memory");
        abort(); /* the declaration of PMI_Abort() does not say that it never returns */
    }
    return memory;
}

/* ---- life ------------------------------------------------------------------------------------ */

/* Takes the first of several credentials, as most programs do. */
static bool credential(const char *name, uint32_t *value)
{
    const char *text = getenv(name);

    if (text == NULL) {
        fprintf(stderr, "%s is not set: the job has no credentials for the network\n", name);
        return false;
    }
    *value = (uint32_t)strtoul(text, NULL, 10);
    return true;
}

static void on_interrupt(int signal)
{
    (void)signal; /* only interrupts the call in which the thread blocks */
}

bool hw_rank_open(struct rank *rank, const struct workload *workload)
{
    struct sigaction action = {.sa_handler = on_interrupt};
    uint32_t ptag, i;
    int spawned, id, size;

    if (PMI_Init(&spawned) != PMI_SUCCESS || PMI_Get_rank(&id) != PMI_SUCCESS ||
        PMI_Get_size(&size) != PMI_SUCCESS) {
        fprintf(stderr, "PMI does not answer: start it by the machine's launcher (aprun, srun)\n");
        return false;
    }
    rank->workload = workload;
    rank->id = (uint32_t)id;
    rank->size = (uint32_t)size;
    if (!credential("PMI_GNI_PTAG", &ptag) || !credential("PMI_GNI_COOKIE", &rank->cookie))
        return false;
    rank->ptag = (uint8_t)ptag;
    rank->nodes = hw_allocate(sizeof(int) * rank->size);
    for (i = 0; i < rank->size; i++)
        if (PMI_Get_nid((int)i, &rank->nodes[i]) != PMI_SUCCESS)
            rank->nodes[i] = (int)i;
    for (i = 0; i < rank->id; i++)
        rank->on_node += rank->nodes[i] == rank->nodes[rank->id];
    rank->random = 0x9e3779b97f4a7c15ull * (rank->id + 1);
    rank->metrics = hw_allocate(sizeof(struct metric) * METRICS_MAX);
    sigaction(SIGUSR1, &action, NULL);
    return true;
}

void hw_rank_close(struct rank *rank)
{
    free(rank->metrics);
    free(rank->nodes);
    PMI_Finalize();
}

/* ---- who am I -------------------------------------------------------------------------------- */

uint32_t rank_id(const struct rank *rank)
{
    return rank->id;
}

uint32_t rank_size(const struct rank *rank)
{
    return rank->size;
}

uint32_t rank_node(const struct rank *rank)
{
    return (uint32_t)rank->nodes[rank->id];
}

uint32_t rank_node_of(const struct rank *rank, uint32_t other)
{
    return (uint32_t)rank->nodes[other];
}

uint32_t rank_on_node(const struct rank *rank)
{
    return rank->on_node;
}

uint8_t rank_ptag(const struct rank *rank)
{
    return rank->ptag;
}

uint32_t rank_cookie(const struct rank *rank)
{
    return rank->cookie;
}

/* ---- arguments ------------------------------------------------------------------------------- */

const struct workload *rank_workload(const struct rank *rank)
{
    return rank->workload;
}

const struct value *rank_values(const struct rank *rank)
{
    return rank->values;
}

/* ---- out of band ----------------------------------------------------------------------------- */

void rank_barrier(struct rank *rank)
{
    (void)rank;
    if (PMI_Barrier() != PMI_SUCCESS)
        PMI_Abort(1, "PMI_Barrier failed");
}

/* The order of PMI_Allgather() is undefined: each part carries its rank. */
void rank_allgather(struct rank *rank, const void *mine, void *all, size_t bytes)
{
    size_t each = sizeof(uint32_t) + bytes;
    char *out = hw_allocate(each), *in = hw_allocate(each * rank->size);
    uint32_t i, from;

    memcpy(out, &rank->id, sizeof(rank->id));
    memcpy(out + sizeof(rank->id), mine, bytes);
    if (PMI_Allgather(out, in, (int)each) != PMI_SUCCESS)
        PMI_Abort(1, "PMI_Allgather failed");
    for (i = 0; i < rank->size; i++) {
        memcpy(&from, in + i * each, sizeof(from));
        if (from >= rank->size)
            PMI_Abort(1, "PMI_Allgather brought nonsense");
        memcpy((char *)all + from * bytes, in + i * each + sizeof(from), bytes);
    }
    free(in);
    free(out);
}

/* Not freed: run/workload.h promises that it stays valid. */
const void *rank_exchange(struct rank *rank, const void *mine, size_t bytes)
{
    void *all = hw_allocate(bytes * rank->size);

    rank_allgather(rank, mine, all, bytes);
    return all;
}

/* ---- clocks ---------------------------------------------------------------------------------- */

uint64_t rank_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000000ull + (uint64_t)now.tv_nsec * 1000ull;
}

uint64_t rank_stamp(void)
{
    return rank_now();
}

bool rank_delivered_bytes(const struct rank *rank, uint64_t *bytes)
{
    (void)rank;
    *bytes = 0;
    return false;
}

bool rank_has_faults(const struct rank *rank)
{
    (void)rank;
    return true;
}

void rank_compute(uint64_t ps)
{
    uint64_t end = rank_now() + ps;

    while (ps != 0 && rank_now() < end)
        ;
}

void rank_spin_until(const volatile uint64_t *word, uint64_t value)
{
    while (*word != value)
        ;
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
}

bool rank_spin_until_alarm(struct rank *rank, const volatile uint64_t *word, uint64_t value)
{
    while (*word != value && !rank_alarm_rang(rank))
        ;
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return *word == value;
}

/* splitmix64 */
uint64_t rank_random(struct rank *rank)
{
    uint64_t x = rank->random += 0x9e3779b97f4a7c15ull;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

void rank_alarm(struct rank *rank, uint64_t ps)
{
    rank->alarm = ps != 0 ? rank_now() + ps : 0;
}

bool rank_alarm_rang(const struct rank *rank)
{
    return rank->alarm != 0 && rank_now() >= rank->alarm;
}

/* ---- threads --------------------------------------------------------------------------------- */

struct rank_thread {
    struct rank *rank;
    int (*main)(struct rank *rank, void *arg);
    void *arg;
    pthread_t id;
};

static pthread_t first_thread;

static void *thread_main(void *arg)
{
    struct rank_thread *thread = arg;

    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    return (void *)(intptr_t)thread->main(thread->rank, thread->arg);
}

struct rank_thread *rank_thread_start(struct rank *rank, int (*main)(struct rank *rank, void *arg),
                                      void *arg)
{
    struct rank_thread *thread = hw_allocate(sizeof(*thread));

    first_thread = pthread_self();
    *thread = (struct rank_thread){.rank = rank, .main = main, .arg = arg};
    if (pthread_create(&thread->id, NULL, thread_main, thread) == 0)
        return thread;
    free(thread);
    return NULL;
}

int rank_thread_join(struct rank *rank, struct rank_thread *thread)
{
    void *result = NULL;

    (void)rank;
    pthread_join(thread->id, &result);
    free(thread);
    return result == PTHREAD_CANCELED ? RANK_THREAD_CANCELLED : (int)(intptr_t)result;
}

void rank_thread_interrupt(struct rank *rank, struct rank_thread *thread)
{
    (void)rank;
    pthread_kill(thread != NULL ? thread->id : first_thread, SIGUSR1);
}

void rank_thread_cancel(struct rank *rank, struct rank_thread *thread)
{
    (void)rank;
    pthread_cancel(thread->id);
}

/* Polls: nothing signals a change. */
bool rank_wait(struct rank *rank, bool (*ready)(const void *arg), const void *arg, uint64_t ps)
{
    uint64_t begin = rank_now();

    (void)rank;
    while (!ready(arg)) {
        if (rank_now() - begin >= ps)
            return false;
        sched_yield();
    }
    return true;
}

void rank_queues_only_begin(void)
{
}

void rank_queues_only_end(void)
{
}

void rank_same_poll_begin(void)
{
}

void rank_same_poll_end(void)
{
}

void rank_notify(struct rank *rank)
{
    (void)rank;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

int rank_poll(struct rank *rank, struct pollfd *fds, uint32_t count, uint64_t ps)
{
    const uint64_t ms = 1000000000ull;
    int timeout = ps / ms > INT32_MAX - 1 ? -1 : (int)((ps + ms - 1) / ms);
    int ready = poll(fds, count, timeout);

    (void)rank;
    return ready < 0 ? 0 : ready;
}

/* ---- results --------------------------------------------------------------------------------- */

static struct metric *find_metric(struct rank *rank, const char *name, enum hw_metric_kind kind)
{
    static struct metric lost; /* of a metric too many: reported, but not counted */
    size_t i;

    for (i = 0; i < METRICS_MAX; i++) {
        struct metric *metric = &rank->metrics[i];

        if (metric->name[0] == '\0') {
            snprintf(metric->name, sizeof(metric->name), "%s", name);
            metric->kind = kind;
        }
        if (strcmp(metric->name, name) == 0)
            return metric;
    }
    rank_fail(rank, "more than %d metrics", METRICS_MAX);
    return &lost;
}

static uint64_t per_second(uint64_t amount, uint64_t ps)
{
    double rate = (double)amount * 1e12 / (double)(ps != 0 ? ps : 1);

    return rate < 9e18 ? (uint64_t)rate : 9000000000000000000ull;
}

void rank_record_latency(struct rank *rank, const char *metric, uint64_t ps)
{
    hw_metric_add(find_metric(rank, metric, HW_METRIC_LATENCY), ps);
}

void rank_record_bandwidth(struct rank *rank, const char *metric, uint64_t bytes, uint64_t ps)
{
    hw_metric_add(find_metric(rank, metric, HW_METRIC_BANDWIDTH), per_second(bytes, ps));
}

void rank_record_rate(struct rank *rank, const char *metric, uint64_t operations, uint64_t ps)
{
    hw_metric_add(find_metric(rank, metric, HW_METRIC_RATE), per_second(operations, ps));
}

void rank_count(struct rank *rank, const char *metric, uint64_t add)
{
    hw_metric_add(find_metric(rank, metric, HW_METRIC_COUNTER), add);
}

void rank_progress(struct rank *rank)
{
    (void)rank;
}

int rank_fail(struct rank *rank, const char *format, ...)
{
    va_list arguments;

    if (rank->failures++ < 32) {
        fprintf(stderr, "rank %u: ", rank->id);
        va_start(arguments, format);
        vfprintf(stderr, format, arguments);
        va_end(arguments);
        fputc('\n', stderr);
    }
    return -1;
}
