/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What libfabric promises about reads and writes besides moving bytes, between pairs of ranks: the
 * ends and the permissions of memory regions, descriptors, regions that are closed, words that
 * follow the bytes of a write, fences, and errors in counters.
 */
#include "support/fi_pair.h"

static const struct workload_arg args[] = {
    WL_FI_ARGS,
    {"rounds", ARG_COUNT, "2", "1", "1000000", NULL, "of all tests"},
    {NULL},
};

/* ---- memory ---------------------------------------------------------------------------------- */

struct region {
    uint64_t address, writable, readable, closed; /* keys */
};

static struct fid_mr *region_open(struct wl_pair *test, uint8_t *at, uint64_t access, uint64_t *key)
{
    struct fid_mr *mr = NULL;

    if (fi_mr_reg(test->fi.domain, at, WL_PAIR_PAGE, access, 0, 0, 0, &mr, NULL) != 0)
        return NULL;
    *key = fi_mr_key(mr);
    return mr;
}

static int write(struct wl_pair *test, uint64_t address, size_t bytes, uint64_t key, int error,
                 const char *what)
{
    uint64_t done, errors;
    int status;

    rank_now(); /* keeps the engine from taking these reads for a loop that waits */
    done = fi_cntr_read(test->written);
    errors = fi_cntr_readerr(test->written);
    status = wl_fi_post(&test->fi, fi_write(test->fi.ep, test->out, bytes, NULL, test->to, address,
                                            key, test->out));

    if (status == 0)
        status = wl_pair_next(test, test->out, what);
    if (status == 0 && test->event.error != error)
        return wl_pair_fail(test, what);
    if (status == 0 && (fi_cntr_read(test->written) != done + (error == 0) ||
                        fi_cntr_readerr(test->written) != errors + (error != 0)))
        return rank_fail(test->fi.rank, "%s: the counter is wrong", what);
    test->fi.errors = 0; /* those were expected */
    return status;
}

/* The ends and the permissions of regions. The page behind them stays zero. */
static int run_memory(struct wl_pair *test)
{
    uint64_t both_directions = FI_REMOTE_WRITE | FI_REMOTE_READ;
    struct region mine = {.address = (uintptr_t)test->in};
    struct fid_mr *writable, *readable, *closed;
    const struct region *all, *theirs;
    int status = 0;

    memset(test->in, 0, 5 * WL_PAIR_PAGE);
    memset(test->out, 0x77, 2 * WL_PAIR_PAGE);
    writable = region_open(test, test->in, both_directions, &mine.writable);
    readable = region_open(test, test->in + 2 * WL_PAIR_PAGE, FI_REMOTE_READ, &mine.readable);
    closed = region_open(test, test->in + 4 * WL_PAIR_PAGE, both_directions, &mine.closed);
    if (writable == NULL || readable == NULL || closed == NULL)
        return rank_fail(test->fi.rank, "cannot register memory");
    fi_close(&closed->fid);
    all = wl_fi_exchange(&test->fi, &mine, sizeof(mine));
    if (all == NULL)
        return -1;
    theirs = &all[test->peer];
    status = write(test, theirs->address, WL_PAIR_PAGE, theirs->writable, 0, "a write of a region");
    if (status == 0)
        status = write(test, theirs->address + WL_PAIR_PAGE - 1, 1, theirs->writable, 0,
                       "a write of the last byte");
    if (status == 0)
        status = write(test, theirs->address + WL_PAIR_PAGE - 1, 2, theirs->writable, FI_EIO,
                       "a write one byte beyond");
    if (status == 0)
        status = write(test, theirs->address + 2 * WL_PAIR_PAGE, 8, theirs->readable, FI_EIO,
                       "a write of a region for reading");
    if (status == 0)
        status = write(test, theirs->address + 4 * WL_PAIR_PAGE, 8, theirs->closed, FI_EIO,
                       "a write of a closed region");
    if (wl_pair_meet(test) != 0)
        status = -1;
    if (status == 0 && (test->in[WL_PAIR_PAGE - 1] != 0x77 || test->in[WL_PAIR_PAGE] != 0 ||
                        test->in[2 * WL_PAIR_PAGE] != 0 || test->in[4 * WL_PAIR_PAGE] != 0))
        status = wl_pair_fail(test, "bytes outside of a region were written");
    fi_close(&writable->fid);
    fi_close(&readable->fid);
    return status;
}

/*
 * A local descriptor that ends one byte before the bytes: it does not serve them, so the provider
 * must find another registration. The region ends with its page, so that rounding hides nothing.
 */
static int run_descriptor(struct wl_pair *test)
{
    uint64_t key[2] = {(uintptr_t)test->in, 0};
    struct fid_mr *target = NULL, *local = NULL;
    const uint64_t *all = NULL;
    unsigned i;
    int status =
        fi_mr_reg(test->fi.domain, test->in, WL_PAIR_LONG, FI_REMOTE_WRITE, 0, 0, 0, &target, NULL);

    if (status == 0)
        status = fi_mr_reg(test->fi.domain, test->out, 4 * WL_PAIR_PAGE, FI_WRITE, 0, 0, 0, &local,
                           NULL);
    if (status != 0)
        return wl_fi_failed(&test->fi, "registering memory", status);
    memset(test->in, 0, WL_PAIR_LONG);
    wl_pattern_fill(test->out, 8 * WL_PAIR_PAGE, wl_pair_seed(test, true, 7));
    key[1] = fi_mr_key(target);
    all = wl_fi_exchange(&test->fi, key, sizeof(key));
    for (i = 0; i < 2 && status == 0 && all != NULL; i++) {
        uint8_t *from = test->out + i; /* 1: one byte beyond */

        status =
            wl_fi_post(&test->fi, fi_write(test->fi.ep, from, 4 * WL_PAIR_PAGE, fi_mr_desc(local),
                                           test->to, all[2 * test->peer] + i * 8 * WL_PAIR_PAGE,
                                           all[2 * test->peer + 1], from));
        if (status == 0)
            status = wl_pair_next(test, from, "a write with a descriptor");
        if (status == 0 && test->event.error != 0)
            status = wl_pair_fail(test, "a write with a descriptor");
    }
    if (wl_pair_meet(test) != 0)
        status = -1;
    if (status == 0) {
        wl_pattern_fill(test->out, 8 * WL_PAIR_PAGE, wl_pair_seed(test, false, 7));
        if (memcmp(test->in, test->out, 4 * WL_PAIR_PAGE) != 0 ||
            memcmp(test->in + 8 * WL_PAIR_PAGE, test->out + 1, 4 * WL_PAIR_PAGE) != 0)
            status = wl_pair_fail(test, "a write with a descriptor is wrong");
    }
    fi_close(&local->fid);
    fi_close(&target->fid);
    return all != NULL ? status : -1;
}

struct word_write {
    size_t offset, bytes;
};

/* Several at once: short ones must not bring the words of long ones with them. */
static const struct word_write word_writes[] = {
    {0, 1}, {64, 64}, {4096, 100000}, {128, 8}, {110000, 5000}, {120000, 70000}, {192, 8}};
#define WRITES (sizeof(word_writes) / sizeof(word_writes[0]))

/* An event: of one of our writes, or the word of one of the peer's, whose bytes must be there. */
static int take_word(struct wl_pair *test, unsigned *sent, unsigned *came)
{
    const struct fi_cq_tagged_entry *entry = &test->event.entry;
    const struct word_write *write;

    if (!wl_fi_wait(&test->fi, &test->event) || test->event.error != 0)
        return wl_pair_fail(test, "a write with a word");
    if (entry->op_context == test->out) {
        ++*sent;
        return 0;
    }
    if (!(entry->flags & FI_REMOTE_CQ_DATA) || entry->data != 100 + *came || *came == WRITES)
        return wl_pair_fail(test, "the word of a write");
    write = &word_writes[(*came)++];
    if (wl_pattern_differs(test->in + write->offset, write->bytes,
                           wl_pair_seed(test, false, entry->data)))
        return wl_pair_fail(test, "the word of a write came before its bytes");
    return 0;
}

/* The word of a write comes when all of its bytes are there. */
static int run_write_words(struct wl_pair *test)
{
    uint64_t key[2] = {(uintptr_t)test->in, 0};
    unsigned i, sent = 0, came = 0;
    const uint64_t *all;
    struct fid_mr *mr = NULL;
    int status =
        fi_mr_reg(test->fi.domain, test->in, WL_PAIR_LONG, FI_REMOTE_WRITE, 0, 0, 0, &mr, NULL);

    if (status != 0)
        return wl_fi_failed(&test->fi, "registering memory", status);
    memset(test->in, 0, WL_PAIR_LONG);
    key[1] = fi_mr_key(mr);
    all = wl_fi_exchange(&test->fi, key, sizeof(key));
    for (i = 0; i < WRITES && status == 0 && all != NULL; i++) {
        const struct word_write *write = &word_writes[i];
        uint8_t *from = test->out + write->offset;

        wl_pattern_fill(from, write->bytes, wl_pair_seed(test, true, 100 + i));
        status = wl_fi_post(&test->fi, fi_writedata(test->fi.ep, from, write->bytes, NULL, 100 + i,
                                                    test->to, all[2 * test->peer] + write->offset,
                                                    all[2 * test->peer + 1], test->out));
    }
    while (status == 0 && all != NULL && (sent < WRITES || came < WRITES))
        status = take_word(test, &sent, &came);
    if (wl_pair_meet(test) != 0)
        status = -1;
    fi_close(&mr->fid);
    return all != NULL ? status : -1;
}

/* A fenced write does not overtake a longer one. */
static int run_fence(struct wl_pair *test)
{
    uint64_t key[2] = {(uintptr_t)test->in, 0};
    const uint64_t *all;
    struct fid_mr *mr = NULL;
    int status = fi_mr_reg(test->fi.domain, test->in, WL_PAIR_LONG + WL_PAIR_PAGE, FI_REMOTE_WRITE,
                           0, 0, 0, &mr, NULL);
    struct iovec iov = {test->out + WL_PAIR_LONG, 8};
    struct fi_rma_iov place = {.len = 8};
    struct fi_msg_rma message = {.msg_iov = &iov,
                                 .iov_count = 1,
                                 .addr = test->to,
                                 .rma_iov = &place,
                                 .rma_iov_count = 1,
                                 .context = test->in};

    if (status != 0)
        return wl_fi_failed(&test->fi, "registering memory", status);
    key[1] = fi_mr_key(mr);
    all = wl_fi_exchange(&test->fi, key, sizeof(key));
    if (all == NULL)
        return -1;
    place.addr = all[2 * test->peer] + WL_PAIR_LONG;
    place.key = all[2 * test->peer + 1];
    status = wl_fi_post(&test->fi, fi_write(test->fi.ep, test->out, WL_PAIR_LONG, NULL, test->to,
                                            all[2 * test->peer], place.key, test->out));
    if (status == 0)
        status =
            wl_fi_post(&test->fi, fi_writemsg(test->fi.ep, &message, FI_FENCE | FI_COMPLETION));
    if (status == 0)
        status = wl_pair_next(test, test->out, "the write before a fence");
    if (status == 0)
        status = wl_pair_next(test, test->in, "a fenced write");
    if (wl_pair_meet(test) != 0)
        status = -1;
    fi_close(&mr->fid);
    return status;
}

/* ---- all ------------------------------------------------------------------------------------- */

static int open_all(struct wl_pair *test, struct rank *rank)
{
    struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP};
    struct fi_info *hints = fi_allocinfo();
    int status;

    if (hints == NULL)
        return rank_fail(rank, "no memory for fi_allocinfo()");
    hints->caps = FI_MSG | FI_RMA;
    hints->ep_attr->type = FI_EP_RDM;
    status = wl_fi_open_hints(&test->fi, rank, hints, 1024);
    fi_freeinfo(hints);
    if (status == 0)
        status = fi_cntr_open(test->fi.domain, &attr, &test->written, NULL);
    if (status == 0)
        status = fi_endpoint(test->fi.domain, test->fi.info, &test->fi.ep, NULL);
    if (status == 0)
        status = fi_ep_bind(test->fi.ep, &test->fi.cq->fid, FI_TRANSMIT | FI_RECV);
    if (status == 0)
        status = fi_ep_bind(test->fi.ep, &test->written->fid, FI_WRITE);
    if (status == 0)
        status = fi_ep_bind(test->fi.ep, &test->fi.av->fid, 0);
    if (status == 0)
        status = fi_enable(test->fi.ep);
    return status != 0 ? wl_fi_failed(&test->fi, "an endpoint", status)
                       : wl_fi_exchange_names(&test->fi);
}

static int run(struct rank *rank)
{
    static wl_pair_test *const tests[] = {run_memory, run_descriptor, run_write_words, run_fence};

    return wl_pair_run(rank, open_all, tests, sizeof(tests) / sizeof(tests[0]));
}

static const struct workload fi_rma_edges = {
    .name = "fi_rma_edges",
    .meaning =
        "libfabric: ends, permissions and lives of memory regions, fences, counters, verified",
    .metrics = "none",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(fi_rma_edges)
