/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Several one-sided transfers at once, and atomic operations: chains of which an element fails,
 * streams of one engine, fences, and the results of atomic operations. Each rank works with the
 * memory of the next one.
 */
#include "support/edges.h"

static const struct workload_arg args[] = {
    {"rounds", ARG_COUNT, "2", "1", "1000000", NULL, "of all tests"},
    {NULL},
};

/* ---- several transfers at once --------------------------------------------------------------- */

#ifndef WITHOUT_COMPLETION_CHANNELS /* release 0x5c of uGNI has no chains either */
/* An error of any element is the error of the chain. */
static int run_chain(struct wl_edges *test)
{
    const struct wl_region *gone = &test->all[test->next * WL_PLACES + WL_GONE];
    const struct wl_region *good = &test->all[test->next * WL_PLACES + WL_WRITABLE];
    gni_ct_put_post_descriptor_t second = {.ep_hndl = wl_domain_ep(&test->domain, test->next),
                                           .length = 8,
                                           .remote_addr = gone->address,
                                           .remote_mem_hndl = gone->handle,
                                           .local_addr = test->own.address},
                                 third = second;
    gni_post_descriptor_t desc, *ended;
    gni_cq_entry_t event;
    char said[64];
    gni_return_t rc;

    third.remote_addr = good->address;
    third.remote_mem_hndl = good->handle;
    second.next_descr = &third;
    wl_edges_prepare(test, &desc, GNI_POST_FMA_PUT, WL_WRITABLE, 8, 8);
    desc.next_descr = &second;
    rc = GNI_CtPostFma(second.ep_hndl, &desc);
    if (rc != GNI_RC_SUCCESS)
        return rank_fail(test->domain.rank, "cannot post a chain: %s", wl_rc_name(rc));
    rc = wl_edges_collect(test, &ended, &event, said);
    if (ended != &desc || rc != GNI_RC_TRANSACTION_ERROR || strstr(said, "AT_MDD_INV") == NULL)
        return rank_fail(test->domain.rank, "a chain whose second element fails ends with %s",
                         said);
    return 0;
}
#endif

/* One engine carries out descriptors in the order in which they were posted. */
static int run_stream(struct wl_edges *test)
{
    gni_post_descriptor_t desc[6], *ended;
    gni_cq_entry_t event;
    char said[64];
    unsigned i;

    for (i = 0; i < 6; i++) {
        wl_edges_prepare(test, &desc[i], GNI_POST_RDMA_PUT, WL_QUIET, 0,
                         i % 2 == 0 ? WL_LONG / 2 : WL_LONG / 4);
        if (wl_edges_post(test, &desc[i]) != GNI_RC_SUCCESS)
            return rank_fail(test->domain.rank, "cannot post a PUT");
    }
    for (i = 0; i < 6; i++)
        if (wl_edges_collect(test, &ended, &event, said) != GNI_RC_SUCCESS || ended != &desc[i])
            return rank_fail(test->domain.rank, "PUT %u of a stream ended at another place (%s)", i,
                             said);
    return 0;
}

/* ---- fences ---------------------------------------------------------------------------------- */

/* A short PUT to this rank itself takes less time than the end of a long one, but it is fenced. */
static int run_fence(struct wl_edges *test)
{
    gni_post_descriptor_t before, fenced, *ended;
    gni_cq_entry_t event;
    char said[64];

    wl_edges_prepare(test, &before, GNI_POST_RDMA_PUT, WL_QUIET, 0, WL_LONG);
    wl_edges_prepare(test, &fenced, GNI_POST_RDMA_PUT, WL_WRITABLE, 0, 8);
    fenced.rdma_mode = GNI_RDMAMODE_FENCE;
    fenced.remote_addr = test->mine[WL_WRITABLE].address;
    fenced.remote_mem_hndl = test->mine[WL_WRITABLE].handle;
    if (wl_edges_post(test, &before) != GNI_RC_SUCCESS ||
        GNI_PostRdma(wl_domain_ep(&test->domain, test->domain.id), &fenced) != GNI_RC_SUCCESS)
        return rank_fail(test->domain.rank, "cannot post a fenced PUT");
    if (wl_edges_collect(test, &ended, &event, said) != GNI_RC_SUCCESS || ended != &before ||
        wl_edges_collect(test, &ended, &event, said) != GNI_RC_SUCCESS || ended != &fenced)
        return rank_fail(test->domain.rank, "a fenced PUT ended before an earlier one (%s)", said);
    return 0;
}

/* ---- atomic operations ----------------------------------------------------------------------- */

struct atomic {
    const char *what;
    gni_fma_cmd_type_t command;
    uint32_t length;
    uint64_t memory, first, second, after;
};

#define MINUS(n) (~(uint64_t)(n) + 1)
static const struct atomic atomics[] = {
    {"ADD", GNI_FMA_ATOMIC_FADD, 8, UINT64_MAX, 2, 0, 1},
    {"AND", GNI_FMA_ATOMIC_FAND, 8, 0xff00ff00ff00ff00, 0x0ff00ff00ff00ff0, 0, 0x0f000f000f000f00},
    {"OR", GNI_FMA_ATOMIC_FOR, 8, 0xff00ff00ff00ff00, 0x0ff00ff00ff00ff0, 0, 0xfff0fff0fff0fff0},
    {"XOR", GNI_FMA_ATOMIC_FXOR, 8, 0xff00ff00ff00ff00, 0x0ff00ff00ff00ff0, 0, 0xf0f0f0f0f0f0f0f0},
    {"AND, XOR", GNI_FMA_ATOMIC_FAX, 8, 0x1234, 0xff00, 0x0077, 0x1277},
    {"SWAP", GNI_FMA_ATOMIC2_FSWAP, 8, 5, 9, 0, 9},
    {"CSWAP of equal values", GNI_FMA_ATOMIC_CSWAP, 8, 5, 5, 9, 9},
    {"CSWAP of different values", GNI_FMA_ATOMIC_CSWAP, 8, 5, 6, 9, 5},
    {"IMIN", GNI_FMA_ATOMIC2_FIMIN, 8, MINUS(3), 7, 0, MINUS(3)},
    {"IMIN of a smaller value", GNI_FMA_ATOMIC2_FIMIN, 8, 3, MINUS(7), 0, MINUS(7)},
    {"IMAX", GNI_FMA_ATOMIC2_FIMAX, 8, MINUS(3), 7, 0, 7},
    {"IMAX of a smaller value", GNI_FMA_ATOMIC2_FIMAX, 8, 3, MINUS(7), 0, 3},
    {"IADD of 4 bytes", GNI_FMA_ATOMIC2_FIADD_S, 4, 0x1ffffffff, 1, 0, 0x100000000},
    {"IMIN of 4 bytes", GNI_FMA_ATOMIC2_FIMIN_S, 4, 0xaaaaaaaa00000005, 0xfffffffe, 0,
     0xaaaaaaaafffffffe},
    {"FPADD", GNI_FMA_ATOMIC2_FFPADD, 8, 0x3ff8000000000000, 0x4002000000000000, 0,
     0x400e000000000000},
};

static int transfer_word(struct wl_edges *test, gni_post_type_t type, uint64_t *word)
{
    gni_post_descriptor_t desc;
    int status;

    memcpy(test->local, word, sizeof(*word));
    wl_edges_prepare(test, &desc, type, WL_WRITABLE, 64, sizeof(*word));
    status = wl_edges_run(test, &desc, "PUT or GET of a word", "OKAY");
    memcpy(word, test->local, sizeof(*word));
    return status;
}

static int run_atomics(struct wl_edges *test)
{
    gni_post_descriptor_t desc;
    uint64_t word, fetched;
    int status = 0;
    size_t i;

    for (i = 0; i < sizeof(atomics) / sizeof(atomics[0]) && status == 0; i++) {
        const struct atomic *atomic = &atomics[i];

        word = atomic->memory;
        status = transfer_word(test, GNI_POST_FMA_PUT, &word);
        wl_edges_prepare(test, &desc, GNI_POST_AMO, WL_WRITABLE, 64, atomic->length);
        desc.amo_cmd = atomic->command;
        desc.first_operand = atomic->first;
        desc.second_operand = atomic->second;
        if (status == 0)
            status = wl_edges_run(test, &desc, atomic->what, "OKAY");
        fetched = 0;
        memcpy(&fetched, test->local, atomic->length);
        if (status == 0 && memcmp(&fetched, &atomic->memory, atomic->length) != 0)
            status = rank_fail(test->domain.rank, "%s fetched %#llx", atomic->what,
                               (unsigned long long)fetched);
        if (status == 0)
            status = transfer_word(test, GNI_POST_FMA_GET, &word);
        if (status == 0 && word != atomic->after)
            status =
                rank_fail(test->domain.rank, "%s left %#llx in memory, not %#llx", atomic->what,
                          (unsigned long long)word, (unsigned long long)atomic->after);
    }
    return status;
}

/* An addition to several words at once. */
static int run_elements(struct wl_edges *test)
{
    static const uint64_t before[4] = {1, 20, UINT64_MAX, 4}, after[4] = {8, 27, 6, 11};
    gni_post_descriptor_t desc;
    int status;

    memcpy(test->local, before, sizeof(before));
    wl_edges_prepare(test, &desc, GNI_POST_FMA_PUT, WL_WRITABLE, 128, sizeof(before));
    status = wl_edges_run(test, &desc, "PUT of four words", "OKAY");
    wl_edges_prepare(test, &desc, GNI_POST_AMO, WL_WRITABLE, 128, sizeof(before));
    desc.amo_cmd = GNI_FMA_ATOMIC_ADD;
    desc.first_operand = 7;
    if (status == 0)
        status = wl_edges_run(test, &desc, "addition to four words", "OKAY");
    wl_edges_prepare(test, &desc, GNI_POST_FMA_GET, WL_WRITABLE, 128, sizeof(before));
    if (status == 0)
        status = wl_edges_run(test, &desc, "GET of four words", "OKAY");
    if (status == 0 && memcmp(test->local, after, sizeof(after)) != 0)
        status = rank_fail(test->domain.rank, "an addition to four words is wrong");
    return status;
}

static int check_nothing(struct wl_edges *test)
{
    (void)test;
    return 0;
}

/* ---- all ------------------------------------------------------------------------------------- */

static int run(struct rank *rank)
{
    static int (*const tests[])(struct wl_edges *) = {
#ifndef WITHOUT_COMPLETION_CHANNELS
        run_chain,
#endif
        run_stream, run_fence, run_atomics, run_elements};

    return wl_edges_main(rank, tests, sizeof(tests) / sizeof(tests[0]), check_nothing);
}

static const struct workload put_get_streams = {
    .name = "put_get_streams",
    .meaning = "chains, streams, fences and atomic operations, whose results are known",
    .metrics = "none",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(put_get_streams)
