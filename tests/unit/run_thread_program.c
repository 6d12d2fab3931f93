/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A workload whose ranks have threads, for run_thread.c: what run/workload.h says about them. */
#include <gni_pub.h>
#include <string.h>
#include "run/workload.h"

#define US 1000000ull
#define THREADS 5

static const struct workload_arg args[] = {
    {"behaviour", ARG_CHOICE, "join", NULL, NULL,
     "join|wait|outlive|cancel|interrupt|killed|alarm|root|user", "what is shown"},
    {NULL},
};

struct shared {
    struct rank *rank;
    uint32_t turn; /* number of threads that wait */
    uint64_t at[THREADS];
    gni_nic_handle_t nic;
    gni_cq_handle_t queue;
    gni_err_handle_t errors;
    gni_return_t result;
};

struct worker {
    struct shared *shared;
    uint32_t index;
};

static int open_nic(struct shared *shared, uint32_t modes)
{
    gni_cdm_handle_t cdm;
    uint32_t address;

    if (GNI_CdmCreate(rank_id(shared->rank), rank_ptag(shared->rank), rank_cookie(shared->rank),
                      modes, &cdm) == GNI_RC_SUCCESS &&
        GNI_CdmAttach(cdm, 0, &address, &shared->nic) == GNI_RC_SUCCESS &&
        GNI_CqCreate(shared->nic, 8, 0, GNI_CQ_BLOCKING, NULL, NULL, &shared->queue) ==
            GNI_RC_SUCCESS)
        return 0;
    return rank_fail(shared->rank, "no queue");
}

/* ---- they run side by side, and are joined --------------------------------------------------- */

static int compute(struct rank *rank, void *arg)
{
    struct worker *worker = arg;

    rank_compute((worker->index + 1) * 10 * US);
    worker->shared->at[worker->index] = rank_now();
    return (int)worker->index + 3;
}

static int join(struct shared *shared)
{
    struct worker workers[THREADS];
    struct rank_thread *threads[THREADS];
    uint64_t began = rank_now();
    uint32_t i;

    for (i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){shared, i};
        threads[i] = rank_thread_start(shared->rank, compute, &workers[i]);
    }
    for (i = THREADS; i-- > 0;)
        if (threads[i] == NULL || rank_thread_join(shared->rank, threads[i]) != (int)i + 3)
            return rank_fail(shared->rank, "thread %u", i);
    for (i = 0; i < THREADS; i++)
        if (shared->at[i] - began != (i + 1) * 10 * US)
            return rank_fail(shared->rank, "thread %u was not on a CPU of its own", i);
    return 0;
}

/* ---- they wait for each other ---------------------------------------------------------------- */

static bool my_turn(const void *arg)
{
    const struct worker *worker = arg;

    return worker->shared->turn == worker->index;
}

static int take_turns(struct rank *rank, void *arg)
{
    struct worker *worker = arg;

    if (!rank_wait(rank, my_turn, worker, UINT64_MAX))
        return -1;
    rank_compute(US);
    worker->shared->turn++;
    rank_notify(rank);
    return 0;
}

static bool never(const void *arg)
{
    return arg == NULL;
}

static int wait(struct shared *shared)
{
    struct worker workers[THREADS];
    struct rank_thread *threads[THREADS];
    uint64_t began = rank_now();
    uint32_t i;

    if (rank_wait(shared->rank, never, shared, 30 * US) || rank_now() - began != 30 * US)
        return rank_fail(shared->rank, "a wait that had to end after 30 us");
    for (i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){shared, THREADS - 1 - i};
        threads[i] = rank_thread_start(shared->rank, take_turns, &workers[i]);
    }
    for (i = 0; i < THREADS; i++)
        if (rank_thread_join(shared->rank, threads[i]) != 0)
            return rank_fail(shared->rank, "thread %u", i);
    return shared->turn == THREADS ? 0 : rank_fail(shared->rank, "turn %u", shared->turn);
}

/* ---- they end, one way or the other ---------------------------------------------------------- */

static int block(struct rank *rank, void *arg)
{
    struct shared *shared = arg;
    gni_cq_entry_t event;

    shared->result = GNI_CqWaitEvent(shared->queue, UINT64_MAX, &event);
    return 9;
}

static int wait_for_errors(struct rank *rank, void *arg)
{
    struct shared *shared = arg;
    gni_error_event_t event;
    uint32_t count;

    shared->result = GNI_WaitErrorEvents(shared->errors, &event, 1, 0, &count);
    return 9;
}

static int cancel(struct shared *shared)
{
    struct rank_thread *thread;

    if (open_nic(shared, 0) != 0 ||
        GNI_SubscribeErrors(shared->nic, 0, 0, 0, &shared->errors) != GNI_RC_SUCCESS)
        return -1;
    thread = rank_thread_start(shared->rank, wait_for_errors, shared);
    rank_wait(shared->rank, never, shared, US);
    if (GNI_ReleaseErrors(shared->errors) != GNI_RC_NOT_DONE)
        return rank_fail(shared->rank, "nobody waits for error events");
    rank_thread_cancel(shared->rank, thread);
    if (rank_thread_join(shared->rank, thread) != RANK_THREAD_CANCELLED)
        return rank_fail(shared->rank, "a cancelled thread that was not cancelled");
    if (GNI_ReleaseErrors(shared->errors) != GNI_RC_SUCCESS)
        return rank_fail(shared->rank, "a cancelled thread still waits");
    thread = rank_thread_start(shared->rank, block, shared);
    rank_wait(shared->rank, never, shared, US);
    rank_thread_cancel(shared->rank, thread);
    rank_thread_cancel(shared->rank, thread); /* no effect */
    if (GNI_CqDestroy(shared->queue) != GNI_RC_SUCCESS)
        return rank_fail(shared->rank, "the queue of a cancelled thread");
    return 0;
}

static int interrupt_first(struct rank *rank, void *arg)
{
    rank_wait(rank, never, arg, 5 * US);
    rank_thread_interrupt(rank, NULL);
    return 0;
}

static int interrupt(struct shared *shared)
{
    struct rank_thread *thread;
    gni_cq_entry_t event;

    if (open_nic(shared, 0) != 0)
        return -1;
    thread = rank_thread_start(shared->rank, block, shared);
    rank_wait(shared->rank, never, shared, US);
    rank_thread_interrupt(shared->rank, thread);
    if (rank_thread_join(shared->rank, thread) != 9 || shared->result != GNI_RC_NOT_DONE)
        return rank_fail(shared->rank, "a wait that a signal did not end");
    thread = rank_thread_start(shared->rank, interrupt_first, shared);
    if (GNI_CqWaitEvent(shared->queue, UINT64_MAX, &event) != GNI_RC_NOT_DONE)
        return rank_fail(shared->rank, "a wait of the first thread that a signal did not end");
    return rank_thread_join(shared->rank, thread);
}

/* Killed by the error policy, in a call of a second thread. */
static int fail_silently(struct rank *rank, void *arg)
{
    struct shared *shared = arg;
    static uint64_t words[512];
    gni_post_descriptor_t desc = {.type = GNI_POST_FMA_PUT, .length = 8};
    gni_ep_handle_t ep;

    if (GNI_MemRegister(shared->nic, (uintptr_t)words, sizeof(words), NULL, 0, UINT32_MAX,
                        &desc.remote_mem_hndl) != GNI_RC_SUCCESS ||
        GNI_EpCreate(shared->nic, shared->queue, &ep) != GNI_RC_SUCCESS ||
        GNI_EpBind(ep, 0, 0) != GNI_RC_SUCCESS)
        return -1;
    desc.local_addr = (uintptr_t)words;
    desc.remote_addr = (uintptr_t)words + (1u << 20); /* beyond */
    GNI_PostFma(ep, &desc);
    rank_wait(rank, never, shared, UINT64_MAX);
    return 0;
}

static int run(struct rank *rank)
{
    static struct shared memory[2];
    struct shared *shared = &memory[rank_id(rank) % 2];
    const char *behaviour = rank_arg_choice(rank, "behaviour");
    uint64_t began;

    *shared = (struct shared){.rank = rank};
    rank_count(rank, "started", 1);
    if (strcmp(behaviour, "join") == 0)
        return join(shared) != 0;
    if (strcmp(behaviour, "wait") == 0)
        return wait(shared) != 0;
    if (strcmp(behaviour, "cancel") == 0)
        return cancel(shared) != 0;
    if (strcmp(behaviour, "interrupt") == 0)
        return interrupt(shared) != 0;
    if (strcmp(behaviour, "outlive") == 0) /* main returns: its threads are gone */
        return open_nic(shared, 0) != 0 || rank_thread_start(rank, block, shared) == NULL;
    if (strcmp(behaviour, "killed") == 0) {
        if (open_nic(shared, 0) != 0 || rank_thread_start(rank, fail_silently, shared) == NULL)
            return 1;
        rank_wait(rank, never, shared, UINT64_MAX);
        return 0;
    }
    if (strcmp(behaviour, "root") == 0) /* may the process do what only root may? */
        return GNI_SetBIConfig(0, 50, 0, GNI_BI_FLAG_APPLY_NOW) != GNI_RC_SUCCESS;
    if (strcmp(behaviour, "user") == 0)
        return GNI_SetBIConfig(0, 50, 0, GNI_BI_FLAG_APPLY_NOW) != GNI_RC_PERMISSION_ERROR;
    began = rank_now(); /* an alarm ends a wait of any thread */
    rank_alarm(rank, 7 * US);
    while (!rank_alarm_rang(rank) && rank_now() - began < 20 * US)
        rank_wait(rank, never, shared, US);
    return rank_now() - began < 9 * US ? 0 : 1;
}

static const struct workload program = {
    .name = "threads",
    .meaning = "ranks with threads",
    .metrics = "started (count)",
    .args = args,
    .main = run,
};
WORKLOAD(program)
