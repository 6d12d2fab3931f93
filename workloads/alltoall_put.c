/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Every rank puts its block into the memory of every other rank, round after round, a window of
 * posts in flight. A round ends when every rank has received every block; then the bytes are
 * verified.
 */
#include "support/gni.h"

static const struct workload_arg args[] = {
    {"bytes", ARG_BYTES, "4KiB", "1", "16MiB", NULL, "size of each block"},
    {"rounds", ARG_COUNT, "10", "1", "1000000", NULL, "exchanges"},
    {"unit", ARG_CHOICE, "auto", NULL, NULL, "auto|fma|bte",
     "unit of the NIC; auto: BTE from 4 KiB"},
    {"window", ARG_COUNT, "64", "1", "4096", NULL, "posts in flight per rank"},
    {"software", ARG_TIME, "0", "0", "1ms", NULL, "time of software above uGNI, per transfer"},
    {"give_up", ARG_TIME, "20s", "1ms", NULL, NULL, "without any news for so long"},
    {NULL},
};

struct report { /* at the end of a round; zeros: that rank is gone */
    uint64_t round, lost;
};

struct alltoall {
    struct wl_domain domain;
    gni_post_type_t type;
    uint64_t bytes, rounds, window, software;
    uint8_t *in, *out; /* a block from each rank; the block for all ranks */
    struct wl_region in_region, out_region;
    const struct wl_region *targets; /* by rank */
    struct wl_operation *operations;
    struct report *report;
};

static uint64_t seed_of(const struct alltoall *test, uint32_t rank, uint64_t round)
{
    return rank * test->rounds + round;
}

static int post(struct alltoall *test, struct wl_operation *operation, uint32_t peer)
{
    memset(operation, 0, sizeof(*operation));
    operation->ep = wl_domain_ep(&test->domain, peer);
    operation->desc.type = test->type;
    operation->desc.local_addr = test->out_region.address;
    operation->desc.local_mem_hndl = test->out_region.handle;
    operation->desc.remote_addr = test->targets[peer].address + test->domain.id * test->bytes;
    operation->desc.remote_mem_hndl = test->targets[peer].handle;
    operation->desc.length = test->bytes;
    rank_compute(test->software);
    return operation->ep != NULL ? wl_operation_post(&test->domain, operation) : -1;
}

/* Sends to all other ranks, beginning with the next one, so that not all send to rank 0 at once. */
static int send_blocks(struct alltoall *test)
{
    uint64_t others = test->domain.size - 1, posted = 0, done = 0;
    struct wl_operation *operation;

    while (done < others) {
        if (posted < test->window && posted < others) {
            operation = &test->operations[posted];
        } else {
            operation = wl_operation_wait(&test->domain);
            if (operation == NULL)
                return rank_fail(test->domain.rank, "a PUT did not end");
            done++;
        }
        if (posted < others) {
            posted++;
            if (post(test, operation, (uint32_t)((test->domain.id + posted) % test->domain.size)))
                return -1;
        }
    }
    return 0;
}

/* Blocks of ranks that died, or that had to give up a transfer, may not be there. */
static int verify(struct alltoall *test, uint64_t round)
{
    uint32_t i;

    for (i = 0; i < test->domain.size; i++) {
        if (i == test->domain.id || test->report[i].round != round || test->report[i].lost != 0)
            continue;
        if (wl_pattern_differs(test->in + i * test->bytes, test->bytes, seed_of(test, i, round)))
            return rank_fail(test->domain.rank, "round %llu: the block of rank %u is wrong",
                             (unsigned long long)round, i);
    }
    return 0;
}

static int exchange(struct alltoall *test, uint64_t round)
{
    struct rank *rank = test->domain.rank;
    struct report report = {.round = round};
    uint64_t began, sent = (test->domain.size - 1) * test->bytes;

    wl_pattern_fill(test->out, test->bytes, seed_of(test, test->domain.id, round));
    rank_barrier(rank);
    began = rank_now();
    if (send_blocks(test) != 0)
        return -1;
    rank_record_latency(rank, "latency", rank_now() - began);
    rank_record_bandwidth(rank, "bandwidth", sent, rank_now() - began);
    rank_progress(rank);
    report.lost = test->domain.lost;
    rank_allgather(rank, &report, test->report, sizeof(report));
    return verify(test, round);
}

static int set_up(struct alltoall *test)
{
    uint32_t size = test->domain.size;

    test->report = calloc(size, sizeof(*test->report));
    test->operations = calloc(test->window, sizeof(*test->operations));
    test->out = wl_region_alloc(&test->domain, test->bytes, 0, &test->out_region);
    test->in = wl_region_alloc(&test->domain, size * test->bytes, 0, &test->in_region);
    test->targets = rank_exchange(test->domain.rank, &test->in_region, sizeof(test->in_region));
    return test->report != NULL && test->operations != NULL && test->out != NULL &&
                   test->in != NULL && test->targets != NULL
               ? 0
               : -1;
}

static gni_post_type_t type_of(struct rank *rank, uint64_t bytes)
{
    const char *unit = rank_arg_choice(rank, "unit");

    if (strcmp(unit, "auto") == 0)
        return bytes >= 4096 ? GNI_POST_RDMA_PUT : GNI_POST_FMA_PUT;
    return strcmp(unit, "bte") == 0 ? GNI_POST_RDMA_PUT : GNI_POST_FMA_PUT;
}

static int run(struct rank *rank)
{
    struct alltoall test = {
        .bytes = rank_arg_count(rank, "bytes"),
        .rounds = rank_arg_count(rank, "rounds"),
        .window = rank_arg_count(rank, "window"),
        .software = rank_arg_ps(rank, "software"),
    };
    int status = wl_domain_open(&test.domain, rank, (uint32_t)test.window, 0);
    uint64_t round;

    test.type = type_of(rank, test.bytes);
    wl_domain_set_timeout(&test.domain, rank_arg_ps(rank, "give_up"));
    if (status == 0)
        status = set_up(&test);
    for (round = 1; round <= test.rounds && status == 0; round++)
        status = exchange(&test, round);
    rank_barrier(rank); /* before it, other ranks may still write into our memory */
    wl_region_free(&test.domain, test.in, &test.in_region);
    wl_region_free(&test.domain, test.out, &test.out_region);
    wl_domain_close(&test.domain);
    free(test.operations);
    free(test.report);
    return status != 0;
}

static const struct workload alltoall_put = {
    .name = "alltoall_put",
    .meaning = "every rank puts a block into the memory of every other rank",
    .metrics = "latency (ps, of a round), bandwidth (B/s, per rank and round)",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(alltoall_put)
