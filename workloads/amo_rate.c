/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * All ranks add to one counter in the memory of rank 0, or each to the counter of its partner, and
 * check the sum in the end. One atomic at a time per rank (`window: 1`) gives the latency; a window
 * gives the rate of the unit.
 */
#include "support/gni.h"

static const struct workload_arg args[] = {
    {"iterations", ARG_COUNT, "1000", "1", "100000000", NULL, "atomics per rank"},
    {"fetch", ARG_BOOL, "true", NULL, NULL, NULL, "return the old value"},
    {"cached", ARG_BOOL, "false", NULL, NULL, NULL, "use the cache of the atomic unit"},
    {"counters", ARG_CHOICE, "one", NULL, NULL, "one|pairs",
     "one: in the memory of rank 0; pairs: in that of the partner, half of the ranks away"},
    {"window", ARG_COUNT, "1", "1", "1024", NULL, "atomics in flight per rank"},
    {"software", ARG_TIME, "0", "0", "1ms", NULL, "time of software above uGNI, per atomic"},
    {NULL},
};

static gni_fma_cmd_type_t command(struct rank *rank)
{
    bool cached = rank_arg_bool(rank, "cached");

    if (rank_arg_bool(rank, "fetch"))
        return cached ? GNI_FMA_ATOMIC2_FIADD_C : GNI_FMA_ATOMIC2_FIADD;
    return cached ? GNI_FMA_ATOMIC2_IADD_C : GNI_FMA_ATOMIC2_IADD;
}

struct test {
    struct wl_domain domain;
    struct wl_region mine;
    struct wl_region counter;
    uint32_t owner; /* rank whose counter it is */
    bool pairs;
    gni_fma_cmd_type_t command;
    uint64_t window, iterations, software;
};

static int post(struct test *test, struct wl_operation *operation, size_t slot)
{
    memset(operation, 0, sizeof(*operation));
    operation->ep = wl_domain_ep(&test->domain, test->owner);
    operation->desc.type = GNI_POST_AMO;
    operation->desc.amo_cmd = test->command;
    operation->desc.first_operand = 1;
    operation->desc.local_addr = test->mine.address + 8 + 8 * slot;
    operation->desc.local_mem_hndl = test->mine.handle;
    operation->desc.remote_addr = test->counter.address;
    operation->desc.remote_mem_hndl = test->counter.handle;
    operation->desc.length = 8;
    return wl_operation_post(&test->domain, operation);
}

/* Returns how many were done for certain, -1 on failure. */
static int64_t add(struct rank *rank, struct test *test)
{
    struct wl_operation *operations = calloc(test->window, sizeof(*operations)), *operation;
    uint64_t posted = 0, done = 0, first = rank_now(), begin = first;
    int64_t good = 0;
    int status = 0;

    while (done < test->iterations && status == 0) {
        operation = &operations[posted];
        if (posted >= test->window || posted == test->iterations) {
            operation = wl_operation_wait(&test->domain);
            if (operation == NULL)
                break;
            done++;
            good += !operation->failed;
            if (test->window == 1)
                rank_record_latency(rank, "latency", rank_now() - begin);
            rank_progress(rank);
        }
        if (posted < test->iterations) {
            begin = rank_now();
            rank_compute(test->software);
            status = post(test, operation, (size_t)(operation - operations));
            posted++;
        }
    }
    if (done == test->iterations)
        rank_record_rate(rank, "rate", done, rank_now() - first);
    free(operations);
    return done == test->iterations ? good : -1;
}

/* An error does not mean "not done", so with errors the counter may be ahead of the sum. */
static int verify(struct rank *rank, const struct test *test, int64_t mine)
{
    struct tally {
        int64_t good;
        uint64_t errors;
    } report = {mine, test->domain.errors};
    const struct tally *all = rank_exchange(rank, &report, sizeof(report));
    int64_t sum = 0, value;
    uint64_t errors = 0;
    uint32_t i;

    for (i = 0; i < rank_size(rank); i++)
        if (!test->pairs || i == test->owner) { /* partners add to each other's counter */
            sum += all[i].good;
            errors += all[i].errors;
        }
    if (!test->pairs && rank_id(rank) != test->owner)
        return 0;
    memcpy(&value, (void *)(uintptr_t)test->mine.address, sizeof(value));
    if (errors == 0 ? value != sum : value < sum)
        return rank_fail(rank, "the counter is %lld, %lld atomics were done", (long long)value,
                         (long long)sum);
    return 0;
}

static int run(struct rank *rank)
{
    struct test test = {
        .command = command(rank),
        .window = rank_arg_count(rank, "window"),
        .iterations = rank_arg_count(rank, "iterations"),
        .software = rank_arg_ps(rank, "software"),
    };
    const struct wl_region *regions = NULL;
    void *memory = NULL;
    int64_t good;
    int status = wl_domain_open(&test.domain, rank, 1024, GNI_CDM_MODE_CACHED_AMO_ENABLED);

    if (status == 0)
        memory = wl_region_alloc(&test.domain, 8 + 8 * test.window, 0, &test.mine);
    if (memory != NULL)
        regions = rank_exchange(rank, &test.mine, sizeof(test.mine));
    if (regions == NULL)
        status = -1;
    else {
        test.pairs = strcmp(rank_arg_choice(rank, "counters"), "pairs") == 0;
        test.owner = test.pairs ? wl_pair_of(&test.domain) : 0;
        if (test.owner == UINT32_MAX) /* the odd one out */
            test.owner = rank_id(rank);
        test.counter = regions[test.owner];
        good = add(rank, &test);
        status = good < 0 ? -1 : verify(rank, &test, good);
    }
    rank_barrier(rank);
    if (memory != NULL)
        wl_region_free(&test.domain, memory, &test.mine);
    wl_domain_close(&test.domain);
    return status;
}

static const struct workload amo_rate = {
    .name = "amo_rate",
    .meaning = "all ranks add atomically to one counter, or to their partner's; sums verified",
    .metrics = "latency (ps), with window 1; rate (1/s), per rank",
    .args = args,
    .main = run,
};
WORKLOAD(amo_rate)
