/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* In each round every rank sends a block to every other one over libfabric, and gets one. */
#include "support/fi.h"

static const struct workload_arg args[] = {
    WL_FI_ARGS,
    {"bytes", ARG_BYTES, "1KiB", "0", "64MiB", NULL, "length of a block"},
    {"rounds", ARG_COUNT, "5", "1", "1000000", NULL, "exchanges"},
    {"window", ARG_COUNT, "32", "1", "1024", NULL, "sends in flight"},
    {NULL},
};

struct alltoall {
    struct wl_fi fi;
    size_t bytes;
    uint64_t rounds, window;
    uint8_t *in, *out; /* a block for each rank */
    uint64_t sending, receiving, received;
};

static uint8_t *block(const struct alltoall *a, uint8_t *blocks, uint32_t rank)
{
    return blocks + rank * (a->bytes + 1); /* addresses differ, also of empty ones */
}

static int post_receives(struct alltoall *a, uint64_t round)
{
    uint32_t i, from;
    int status = 0;

    for (i = 1; i < a->fi.size && status == 0; i++) {
        from = (a->fi.id + a->fi.size - i) % a->fi.size;
        if (wl_fi_address(&a->fi, from) == FI_ADDR_NOTAVAIL)
            continue;
        a->receiving++;
        status = wl_fi_post(&a->fi, fi_trecv(a->fi.ep, block(a, a->in, from), a->bytes, NULL,
                                             wl_fi_address(&a->fi, from), round << 20 | from, 0,
                                             block(a, a->in, from)));
    }
    return status;
}

static int take(struct alltoall *a, const struct wl_fi_event *event, uint64_t round)
{
    uint8_t *at = event->entry.op_context;
    uint32_t from;

    if (at >= a->out && at < block(a, a->out, a->fi.size)) {
        a->sending--;
        return 0;
    }
    a->receiving--;
    if (event->error != 0)
        return 0;
    from = (uint32_t)((size_t)(at - a->in) / (a->bytes + 1));
    if (event->entry.tag != (round << 20 | from) || event->entry.len != a->bytes ||
        wl_pattern_differs(at, a->bytes, wl_fi_seed(from, a->fi.id, round)))
        return rank_fail(a->fi.rank, "the block of rank %u in round %llu is wrong", from,
                         (unsigned long long)round);
    a->received++;
    rank_progress(a->fi.rank);
    return 0;
}

/* False: the timeout has expired, or something is wrong. */
static bool wait_until(struct alltoall *a, uint64_t round, uint64_t sending, uint64_t receiving)
{
    struct wl_fi_event event;

    while (a->sending > sending || a->receiving > receiving)
        if (!wl_fi_wait(&a->fi, &event) || take(a, &event, round) != 0)
            return false;
    return true;
}

static int exchange(struct alltoall *a, uint64_t round)
{
    uint64_t began = rank_now();
    uint32_t i, to;
    int status = post_receives(a, round);

    for (i = 1; i < a->fi.size && status == 0; i++) {
        to = (a->fi.id + i) % a->fi.size;
        if (wl_fi_address(&a->fi, to) == FI_ADDR_NOTAVAIL) {
            a->fi.lost++;
            continue;
        }
        if (!wait_until(a, round, a->window - 1, UINT64_MAX))
            return -1;
        wl_pattern_fill(block(a, a->out, to), a->bytes, wl_fi_seed(a->fi.id, to, round));
        a->sending++;
        status = wl_fi_post(&a->fi, fi_tsend(a->fi.ep, block(a, a->out, to), a->bytes, NULL,
                                             wl_fi_address(&a->fi, to), round << 20 | a->fi.id,
                                             block(a, a->out, to)));
    }
    if (status != 0 || !wait_until(a, round, 0, 0))
        return -1;
    rank_record_latency(a->fi.rank, "exchange", rank_now() - began);
    return 0;
}

static int run(struct rank *rank)
{
    struct alltoall a = {.bytes = rank_arg_count(rank, "bytes"),
                         .rounds = rank_arg_count(rank, "rounds"),
                         .window = rank_arg_count(rank, "window")};
    int status = wl_fi_open(&a.fi, rank, FI_TAGGED | FI_DIRECTED_RECV, a.window + rank_size(rank));
    uint64_t round;

    a.in = wl_fi_buffer(a.fi.size * (a.bytes + 1));
    a.out = wl_fi_buffer(a.fi.size * (a.bytes + 1));
    if (status == 0) {
        for (round = 0; round < a.rounds && exchange(&a, round) == 0; round++)
            ;
        status = wl_fi_finish(&a.fi, a.rounds * (a.fi.size - 1) - a.received);
    }
    wl_fi_close(&a.fi);
    free(a.in);
    free(a.out);
    return status != 0;
}

static const struct workload fi_alltoall = {
    .name = "fi_alltoall",
    .meaning = "libfabric: every rank exchanges a block with every other one",
    .metrics = "exchange (ps)",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(fi_alltoall)
