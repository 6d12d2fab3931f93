/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Every rank reads or writes words of 8 bytes at random places of the memory of all nodes, without
 * aggregation: Arkouda's gather and scatter over Chapel. Words of the own node are a matter of the
 * CPU; the others are FMA operations, many in flight.
 */
#include "support/gni.h"

static const struct workload_arg args[] = {
    {"operation", ARG_CHOICE, "get", NULL, NULL, "get|put", "gather or scatter"},
    {"words", ARG_COUNT, "500", "1", NULL, NULL, "of each rank"},
    {"window", ARG_COUNT, "64", "1", "1024", NULL, "operations in flight per rank"},
    {"software", ARG_TIME, "0", "0", "1ms", NULL, "time above uGNI for each word of another node"},
    {"landing", ARG_TIME, "0", "0", "1ms", NULL, "besides, of a word that a GET has brought"},
    {"local", ARG_TIME, "0", "0", "1ms", NULL, "time for each word of the own node"},
    {NULL},
};

#define MEMORY 65536 /* bytes of each rank that others use */

struct test {
    struct wl_domain domain;
    struct wl_region mine;
    const struct wl_region *regions; /* by rank */
    gni_post_type_t type;
    uint64_t words, window, software, local;
};

static int post(struct test *test, struct wl_operation *operation, size_t slot, uint32_t peer)
{
    memset(operation, 0, sizeof(*operation));
    operation->ep = wl_domain_ep(&test->domain, peer);
    operation->desc.type = test->type;
    operation->desc.local_addr = test->mine.address + MEMORY + 8 * slot;
    operation->desc.local_mem_hndl = test->mine.handle;
    operation->desc.remote_addr =
        test->regions[peer].address + rank_random(test->domain.rank) % (MEMORY / 8) * 8;
    operation->desc.remote_mem_hndl = test->regions[peer].handle;
    operation->desc.length = 8;
    return wl_operation_post(&test->domain, operation);
}

static int move(struct test *test)
{
    struct rank *rank = test->domain.rank;
    struct wl_operation *operations = calloc(test->window, sizeof(*operations)), *operation;
    uint64_t word, posted = 0, done = 0, began;
    int status = 0;

    if (operations == NULL)
        return -1;
    rank_barrier(rank);
    began = rank_stamp();
    for (word = 0; word < test->words && status == 0; word++) {
        uint32_t peer = (uint32_t)(rank_random(rank) % test->domain.size);

        if (rank_node_of(rank, peer) == rank_node(rank)) {
            rank_compute(test->local);
            continue;
        }
        rank_compute(test->software);
        operation = &operations[posted];
        if (posted >= test->window) {
            operation = wl_operation_wait(&test->domain);
            if (operation == NULL)
                break;
            done++;
        }
        status = post(test, operation, (size_t)(operation - operations), peer);
        posted++;
        rank_progress(rank);
    }
    while (status == 0 && done < posted && wl_operation_wait(&test->domain) != NULL)
        done++;
    rank_record_rate(rank, "rate", test->words, rank_stamp() - began);
    free(operations);
    return status != 0 || done < posted ? -1 : 0;
}

static int run(struct rank *rank)
{
    struct test test = {
        .type = strcmp(rank_arg_choice(rank, "operation"), "get") == 0 ? GNI_POST_FMA_GET
                                                                       : GNI_POST_FMA_PUT,
        .words = rank_arg_count(rank, "words"),
        .window = rank_arg_count(rank, "window"),
        .software = rank_arg_ps(rank, "software"),
        .local = rank_arg_ps(rank, "local"),
    };
    void *memory = NULL;
    int status = wl_domain_open(&test.domain, rank, (uint32_t)test.window, 0);

    if (wl_operation_is_get(test.type))
        test.software += rank_arg_ps(rank, "landing");
    if (status == 0)
        memory = wl_region_alloc(&test.domain, MEMORY + 8 * test.window, 0, &test.mine);
    if (memory != NULL)
        test.regions = rank_exchange(rank, &test.mine, sizeof(test.mine));
    status = test.regions != NULL ? move(&test) : -1;
    if (wl_domain_finish(&test.domain, 0) != 0)
        status = -1;
    wl_region_free(&test.domain, memory, &test.mine);
    wl_domain_close(&test.domain);
    return status != 0;
}

static const struct workload fine_grain = {
    .name = "fine_grain",
    .meaning = "all ranks read or write single words all over the memory of the job",
    .metrics = "rate (1/s): words, per rank",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(fine_grain)
