/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* All ranks put into the memory of rank 0, each at a place of its own, a window of posts in flight.
 */
#include "support/gni.h"

static const struct workload_arg args[] = {
    {"bytes", ARG_BYTES, "64KiB", "1", "64MiB", NULL, "size of each transfer"},
    {"iterations", ARG_COUNT, "64", "1", "100000000", NULL, "transfers of each sender"},
    {"unit", ARG_CHOICE, "bte", NULL, NULL, "fma|bte", "unit of the NIC"},
    {"window", ARG_COUNT, "8", "1", "4096", NULL, "posts in flight per sender"},
    {"software", ARG_TIME, "0", "0", "1ms", NULL, "time of software above uGNI, per transfer"},
    {"give_up", ARG_TIME, "20s", "1ms", NULL, NULL, "without any news for so long"},
    {NULL},
};

struct incast {
    struct wl_domain domain;
    gni_post_type_t type;
    uint64_t bytes, iterations, window, software;
    uint8_t *memory; /* rank 0: a place for each rank; others: what they send */
    struct wl_region mine, target;
};

static int post(struct incast *test, struct wl_operation *operation)
{
    memset(operation, 0, sizeof(*operation));
    operation->ep = wl_domain_ep(&test->domain, 0);
    if (operation->ep == NULL)
        return -1;
    operation->desc.type = test->type;
    operation->desc.local_addr = test->mine.address;
    operation->desc.local_mem_hndl = test->mine.handle;
    operation->desc.remote_addr = test->target.address + test->domain.id * test->bytes;
    operation->desc.remote_mem_hndl = test->target.handle;
    operation->desc.length = test->bytes;
    rank_compute(test->software);
    return wl_operation_post(&test->domain, operation);
}

static int send_all(struct incast *test)
{
    struct wl_operation *operations = calloc(test->window, sizeof(*operations)), *operation;
    uint64_t posted = 0, done = 0, began = rank_now();
    int status = 0;

    while (done < test->iterations && status == 0) {
        if (posted < test->window && posted < test->iterations) {
            operation = &operations[posted];
        } else {
            operation = wl_operation_wait(&test->domain);
            if (operation == NULL)
                break;
            done++;
            rank_progress(test->domain.rank);
        }
        if (posted < test->iterations) {
            status = post(test, operation);
            posted++;
        }
    }
    if (done == test->iterations)
        rank_record_bandwidth(test->domain.rank, "bandwidth", done * test->bytes,
                              rank_now() - began);
    free(operations);
    if (status == 0 && done < test->iterations)
        return rank_fail(test->domain.rank, "%llu PUTs did not end",
                         (unsigned long long)(posted - done));
    return status;
}

/* At rank 0: how many places do not hold what their rank sent? */
static uint64_t wrong_places(struct incast *test)
{
    uint64_t wrong = 0;
    uint32_t i;

    for (i = 1; i < test->domain.size; i++)
        wrong += wl_pattern_differs(test->memory + i * test->bytes, test->bytes, i) != 0;
    return wrong;
}

static int measure(struct incast *test)
{
    struct rank *rank = test->domain.rank;
    bool target = test->domain.id == 0;
    uint64_t began, ended, wrong = 0;
    struct wl_totals totals;
    int status = 0;

    if (!target)
        wl_pattern_fill(test->memory, test->bytes, test->domain.id);
    rank_barrier(rank);
    began = rank_now();
    if (!target)
        status = send_all(test);
    rank_barrier(rank);
    ended = rank_now();
    if (wl_domain_totals(&test->domain, &totals) != 0)
        return -1;
    if (target) {
        rank_record_bandwidth(rank, "total_bandwidth",
                              (test->domain.size - 1) * test->iterations * test->bytes,
                              ended - began);
        wrong = wrong_places(test);
    }
    return wl_domain_finish(&test->domain, wrong) != 0 ? -1 : status;
}

static int run(struct rank *rank)
{
    struct incast test = {
        .bytes = rank_arg_count(rank, "bytes"),
        .iterations = rank_arg_count(rank, "iterations"),
        .window = rank_arg_count(rank, "window"),
        .software = rank_arg_ps(rank, "software"),
        .type = strcmp(rank_arg_choice(rank, "unit"), "bte") == 0 ? GNI_POST_RDMA_PUT
                                                                  : GNI_POST_FMA_PUT,
    };
    int status = wl_domain_open(&test.domain, rank, (uint32_t)test.window, 0);
    const struct wl_region *regions = NULL;

    wl_domain_set_timeout(&test.domain, rank_arg_ps(rank, "give_up"));
    if (status == 0) {
        test.memory = wl_region_alloc(
            &test.domain, (rank_id(rank) == 0 ? rank_size(rank) : 1) * test.bytes, 0, &test.mine);
        regions = rank_exchange(rank, &test.mine, sizeof(test.mine));
    }
    if (test.memory == NULL || regions == NULL)
        status = -1;
    if (status == 0) {
        test.target = regions[0];
        status = measure(&test);
    }
    wl_region_free(&test.domain, test.memory, &test.mine);
    wl_domain_close(&test.domain);
    return status != 0;
}

static const struct workload incast_put = {
    .name = "incast_put",
    .meaning = "all ranks put into the memory of rank 0",
    .metrics = "bandwidth (B/s, per sender), total_bandwidth (B/s, at rank 0)",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(incast_put)
