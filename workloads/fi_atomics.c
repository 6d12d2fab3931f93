/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Atomic operations on counters of all ranks: each operation adds to a counter of a random rank, by
 * fi_atomic, fi_fetch_atomic or a loop of fi_compare_atomic, and in the end the counters together
 * hold what was added, and each holds the sum that the ranks report.
 */
#include "support/fi.h"

static const struct workload_arg args[] = {
    WL_FI_ARGS,
    {"call", ARG_CHOICE, "mixed", NULL, NULL, "add|fetch|compare|mixed",
     "fi_atomic, fi_fetch_atomic, fi_compare_atomic until it succeeds, or all in turn"},
    {"operations", ARG_COUNT, "200", "1", "1000000000", NULL, "that each rank makes"},
    {"window", ARG_COUNT, "8", "1", "1024", NULL, "operations in flight"},
    {"counters", ARG_COUNT, "4", "1", "100000", NULL, "of each rank"},
    {"hot", ARG_BOOL, "false", NULL, NULL, NULL, "all counters are those of rank 0"},
    {NULL},
};

enum call { ADD, FETCH, COMPARE, MIXED };

struct operation {
    struct operation *next; /* free */
    enum call call;
    uint32_t target;
    uint64_t counter; /* at the target */
    uint64_t operand, compare, result;
    uint64_t began;
};

struct atomics {
    struct wl_fi fi;
    enum call call;
    uint64_t operations, window, counters;
    bool hot;
    struct wl_fi_memory memory; /* our counters */
    struct operation *all, *free;
    uint64_t *added; /* by rank and counter, as far as we know */
    uint64_t started, ended, repeats;
};

static int submit(struct atomics *a, struct operation *o)
{
    const struct wl_fi_remote *place = &a->memory.all[o->target];
    uint64_t address = place->address + o->counter * sizeof(uint64_t);
    fi_addr_t to = wl_fi_address(&a->fi, o->target);
    struct fid_ep *ep = a->fi.ep;

    switch (o->call) {
    case ADD:
        return wl_fi_post(&a->fi, fi_atomic(ep, &o->operand, 1, NULL, to, address, place->key,
                                            FI_UINT64, FI_SUM, o));
    case FETCH:
        return wl_fi_post(&a->fi, fi_fetch_atomic(ep, &o->operand, 1, NULL, &o->result, NULL, to,
                                                  address, place->key, FI_UINT64, FI_SUM, o));
    default:
        return wl_fi_post(&a->fi,
                          fi_compare_atomic(ep, &o->operand, 1, NULL, &o->compare, NULL, &o->result,
                                            NULL, to, address, place->key, FI_UINT64, FI_CSWAP, o));
    }
}

/* A small odd number, so that each counts. */
static uint64_t amount(struct atomics *a)
{
    return 2 * (rank_random(a->fi.rank) % 1000) + 1;
}

static int start(struct atomics *a)
{
    struct operation *o = a->free;

    a->free = o->next;
    o->call = a->call == MIXED ? (enum call)(a->started % 3) : a->call;
    o->target = a->hot ? 0 : (uint32_t)(rank_random(a->fi.rank) % a->fi.size);
    o->counter = rank_random(a->fi.rank) % a->counters;
    o->operand = amount(a);
    o->compare = 0; /* a first guess of the counter's value */
    if (o->call == COMPARE)
        o->operand += o->compare;
    a->started++;
    if (wl_fi_address(&a->fi, o->target) == FI_ADDR_NOTAVAIL) {
        a->fi.lost++;
        a->ended++;
        o->next = a->free;
        a->free = o;
        return 0;
    }
    o->began = rank_now();
    return submit(a, o);
}

/* 1: it ended; 0: it goes on, since the counter had another value than was thought. */
static int take(struct atomics *a, struct operation *o, int error)
{
    uint64_t added = o->operand;

    if (error == 0 && o->call == COMPARE) {
        added = o->operand - o->compare;
        if (o->result != o->compare) {
            o->compare = o->result;
            o->operand = o->result + added;
            a->repeats++;
            return submit(a, o) == 0 ? 0 : -1;
        }
    }
    if (error == 0) {
        a->added[o->target * a->counters + o->counter] += added;
        rank_record_latency(a->fi.rank, "latency", rank_now() - o->began);
    }
    o->next = a->free;
    a->free = o;
    a->ended++;
    rank_progress(a->fi.rank);
    return 1;
}

static int run_atomics(struct atomics *a)
{
    struct wl_fi_event event;
    int status = 0;

    while (a->ended < a->operations && status >= 0) {
        while (a->started < a->operations && a->free != NULL && status >= 0)
            status = start(a);
        if (a->ended == a->operations || status < 0)
            break;
        if (!wl_fi_wait(&a->fi, &event))
            return 0;
        status = take(a, event.entry.op_context, event.error);
    }
    return status < 0 ? -1 : 0;
}

/* Compares the counters with the sums that all ranks report. */
static int check(struct atomics *a)
{
    size_t bytes = a->fi.size * a->counters * sizeof(uint64_t);
    const uint64_t *totals = wl_fi_exchange(&a->fi, a->added, bytes);
    const uint64_t *mine = (const uint64_t *)a->memory.bytes;
    uint64_t i, sum;
    uint32_t rank;

    for (i = 0; totals != NULL && i < a->counters; i++) {
        sum = 0;
        for (rank = 0; rank < a->fi.size; rank++)
            sum += totals[(rank * a->fi.size + a->fi.id) * a->counters + i];
        if (sum != mine[i])
            return rank_fail(a->fi.rank, "counter %llu is %llu; added were %llu",
                             (unsigned long long)i, (unsigned long long)mine[i],
                             (unsigned long long)sum);
    }
    return totals != NULL ? 0 : -1;
}

static enum call call_arg(const struct rank *rank)
{
    static const char *const names[] = {"add", "fetch", "compare", "mixed"};
    enum call call = ADD;

    while (strcmp(names[call], rank_arg_choice(rank, "call")) != 0)
        call++;
    return call;
}

static void operations_new(struct atomics *a)
{
    uint64_t i;

    a->all = calloc(a->window, sizeof(*a->all));
    a->added = calloc(a->fi.size * a->counters, sizeof(*a->added));
    for (i = 0; i < a->window; i++) {
        a->all[i].next = a->free;
        a->free = &a->all[i];
    }
}

static int run(struct rank *rank)
{
    struct atomics a = {.call = call_arg(rank),
                        .operations = rank_arg_count(rank, "operations"),
                        .window = rank_arg_count(rank, "window"),
                        .counters = rank_arg_count(rank, "counters"),
                        .hot = rank_arg_bool(rank, "hot")};
    int status = wl_fi_open(&a.fi, rank, FI_MSG | FI_ATOMIC | FI_RMA, 2 * a.window);

    operations_new(&a);
    if (status == 0)
        status = wl_fi_memory_open(&a.fi, &a.memory, a.counters * sizeof(uint64_t));
    if (status == 0) {
        run_atomics(&a);
        rank_count(rank, "repeats", a.repeats);
        status = wl_fi_finish(&a.fi, a.operations - a.ended);
    }
    if (status == 0 && a.fi.clean)
        status = check(&a);
    if (status == 0 && wl_fi_exchange(&a.fi, NULL, 0) == NULL)
        status = -1;
    wl_fi_memory_close(&a.memory);
    wl_fi_close(&a.fi);
    free(a.all);
    free(a.added);
    return status != 0;
}

static const struct workload fi_atomics = {
    .name = "fi_atomics",
    .meaning = "libfabric: atomic operations on counters of random ranks",
    .metrics = "latency (ps)",
    .args = args,
    .main = run,
};
WORKLOAD(fi_atomics)
