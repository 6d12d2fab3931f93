/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A workload of one's own, built as a shared object and named in a scenario by `program:`
 * (docs/guide.md).
 *
 * The ranks form a ring. In every round each one PUTs a greeting into its right neighbour's memory,
 * waits for the greeting of its left neighbour, and records how long its PUT took to complete.
 *
 * All ranks of a run live in one process: a workload keeps its state on its stack or on the heap,
 * never in global variables.
 */
#include <stdlib.h>
#include <gni_pub.h>
#include <run/workload.h>

/* The data that a neighbour needs to write here. */
struct place {
    uint32_t nic;
    uint64_t address;
    gni_mem_handle_t memory;
};

struct hello {
    struct rank *rank;
    gni_cdm_handle_t cdm;
    gni_nic_handle_t nic;
    gni_cq_handle_t completions;
    gni_ep_handle_t right_endpoint;
    struct place here, right;
    uint64_t inbox; /* registered: the left neighbour writes it */
};

static int check(struct hello *hello, gni_return_t status, const char *what)
{
    if (status == GNI_RC_SUCCESS)
        return 0;
    return rank_fail(hello->rank, "%s: %s", what, gni_err_str[status]);
}

static uint64_t greeting(uint32_t from, uint64_t round)
{
    return (uint64_t)from << 32 | (round + 1);
}

static int open_nic(struct hello *hello)
{
    const struct rank *rank = hello->rank;

    /* ERR_NO_KILL: a network error is reported to us instead of ending the process. */
    if (check(hello,
              GNI_CdmCreate(rank_id(rank), rank_ptag(rank), rank_cookie(rank),
                            GNI_CDM_MODE_ERR_NO_KILL, &hello->cdm),
              "GNI_CdmCreate") != 0)
        return -1;
    if (check(hello, GNI_CdmAttach(hello->cdm, 0, &hello->here.nic, &hello->nic),
              "GNI_CdmAttach") != 0)
        return -1;
    if (check(hello,
              GNI_CqCreate(hello->nic, 16, 0, GNI_CQ_NOBLOCK, NULL, NULL, &hello->completions),
              "GNI_CqCreate") != 0)
        return -1;
    hello->here.address = (uint64_t)(uintptr_t)&hello->inbox;
    return check(hello,
                 GNI_MemRegister(hello->nic, hello->here.address, sizeof(hello->inbox), NULL,
                                 GNI_MEM_READWRITE, (uint32_t)-1, &hello->here.memory),
                 "GNI_MemRegister");
}

static int connect_right(struct hello *hello, struct place *places)
{
    uint32_t right = (rank_id(hello->rank) + 1) % rank_size(hello->rank);

    rank_allgather(hello->rank, &hello->here, places, sizeof(*places));
    hello->right = places[right];
    if (check(hello, GNI_EpCreate(hello->nic, hello->completions, &hello->right_endpoint),
              "GNI_EpCreate") != 0)
        return -1;
    return check(hello, GNI_EpBind(hello->right_endpoint, hello->right.nic, right), "GNI_EpBind");
}

/* Posts one PUT and waits for its completion, which may report an error of the network. */
static gni_return_t put_once(struct hello *hello, gni_post_descriptor_t *put)
{
    gni_post_descriptor_t *completed;
    gni_cq_entry_t entry;
    gni_return_t status = GNI_PostFma(hello->right_endpoint, put);

    if (status != GNI_RC_SUCCESS)
        return status;
    do
        status = GNI_CqGetEvent(hello->completions, &entry);
    while (status == GNI_RC_NOT_DONE);
    /* Also after an error the descriptor has to be collected. */
    if (status == GNI_RC_SUCCESS || status == GNI_RC_TRANSACTION_ERROR) {
        gni_return_t collected = GNI_GetCompleted(hello->completions, entry, &completed);
        if (status == GNI_RC_SUCCESS)
            status = collected;
    }
    return status;
}

static int greet(struct hello *hello, uint64_t round)
{
    uint64_t mine = greeting(rank_id(hello->rank), round), begin = rank_now();
    gni_post_descriptor_t put = {
        .type = GNI_POST_FMA_PUT,
        .cq_mode = GNI_CQMODE_GLOBAL_EVENT,
        .dlvr_mode = GNI_DLVMODE_PERFORMANCE,
        .local_addr = (uint64_t)(uintptr_t)&mine,
        .remote_addr = hello->right.address,
        .remote_mem_hndl = hello->right.memory,
        .length = sizeof(mine),
    };
    uint64_t attempt, attempts = rank_arg_count(hello->rank, "attempts");
    gni_return_t status;

    /* An error does not say that nothing was written, but writing the same again does no harm. */
    for (attempt = 0; attempt < attempts; attempt++) {
        status = put_once(hello, &put);
        if (status != GNI_RC_TRANSACTION_ERROR)
            break;
        rank_count(hello->rank, "repeated", 1);
    }
    if (check(hello, status, "PUT") != 0)
        return -1;
    rank_record_latency(hello->rank, "put", rank_now() - begin);
    return 0;
}

static int hello_main(struct rank *rank)
{
    struct hello hello = {.rank = rank};
    uint32_t size = rank_size(rank), left = (rank_id(rank) + size - 1) % size;
    uint64_t round, rounds = rank_arg_count(rank, "rounds");
    struct place *places = malloc(size * sizeof(*places)); /* fiber stacks are small */
    bool failed;

    failed = places == NULL || open_nic(&hello) != 0 || connect_right(&hello, places) != 0;
    for (round = 0; round < rounds && !failed; round++) {
        failed = greet(&hello, round) != 0;
        rank_spin_until(&hello.inbox, greeting(left, round));
        rank_barrier(rank); /* nobody greets again before all have read */
        rank_progress(rank);
    }
    if (hello.cdm != NULL)
        GNI_CdmDestroy(hello.cdm); /* with all objects that were created from it */
    free(places);
    return failed;
}

static const struct workload_arg arguments[] = {
    {.name = "rounds",
     .type = ARG_COUNT,
     .fallback = "100",
     .minimum = "1",
     .meaning = "greetings per rank"},
    {.name = "attempts",
     .type = ARG_COUNT,
     .fallback = "16",
     .minimum = "1",
     .meaning = "times that a PUT is posted before giving up"},
    {.name = NULL},
};

static const struct workload hello_workload = {
    .name = "hello",
    .meaning = "every rank puts a greeting into its right neighbour's memory",
    .metrics = "put (ps), repeated",
    .args = arguments,
    .ranks_min = 2,
    .main = hello_main,
};

WORKLOAD(hello_workload)
