/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Dissemination barriers over libfabric: in step k of ceil(log2 n) each rank sends an empty tagged
 * message to the one 2^k behind it. Nobody may leave a barrier before all have entered it.
 */
#include "support/fi.h"

static const struct workload_arg args[] = {
    WL_FI_ARGS,
    {"rounds", ARG_COUNT, "10", "1", "100000000", NULL, "barriers"},
    {"compute", ARG_TIME, "1us", "0", "1s", NULL, "mean time before a rank enters"},
    {NULL},
};

struct barrier {
    struct wl_fi fi;
    uint64_t round;
    uint64_t seen; /* bit of each step whose message has come, in this round and in the next */
    uint64_t ahead;
    uint64_t sending;
    uint64_t passed;
};

static uint32_t steps_of(uint32_t size)
{
    uint32_t steps = 0;

    while (1ull << steps < size)
        steps++;
    return steps;
}

static uint64_t tag_of(uint64_t round, uint32_t step)
{
    return round << 8 | step;
}

static uint32_t behind(const struct barrier *b, uint32_t step)
{
    return (uint32_t)((b->fi.id + (1ull << step)) % b->fi.size);
}

static uint32_t before(const struct barrier *b, uint32_t step)
{
    return (uint32_t)((b->fi.id + b->fi.size - (1ull << step) % b->fi.size) % b->fi.size);
}

/* Of a round's step; the context is its tag, plus one. */
static int post(struct barrier *b, uint64_t round, uint32_t step)
{
    fi_addr_t from = wl_fi_address(&b->fi, before(b, step));
    uint64_t tag = tag_of(round, step);

    if (from == FI_ADDR_NOTAVAIL)
        return 0;
    return wl_fi_post(
        &b->fi, fi_trecv(b->fi.ep, NULL, 0, NULL, from, tag, 0, (void *)(uintptr_t)(tag + 1)));
}

static int take(struct barrier *b, const struct wl_fi_event *event)
{
    uint64_t tag = (uintptr_t)event->entry.op_context - 1;

    if (event->entry.op_context == NULL) {
        b->sending--;
        return event->error;
    }
    if (event->error != 0)
        return event->error;
    if (tag >> 8 == b->round)
        b->seen |= 1ull << (tag & 255);
    else
        b->ahead |= 1ull << (tag & 255);
    return 0;
}

static int step(struct barrier *b, uint32_t number)
{
    fi_addr_t to = wl_fi_address(&b->fi, behind(b, number));
    struct wl_fi_event event;
    int status;

    if (to == FI_ADDR_NOTAVAIL) {
        b->fi.lost++;
        return 1;
    }
    b->sending++;
    status =
        wl_fi_post(&b->fi, fi_tsend(b->fi.ep, NULL, 0, NULL, to, tag_of(b->round, number), NULL));
    while (status == 0 && !(b->seen >> number & 1)) {
        if (!wl_fi_wait(&b->fi, &event))
            return 1;
        status = take(b, &event);
    }
    return status;
}

/* Receives of the next round are posted before anybody can have sent them. */
static int enter(struct barrier *b, uint32_t steps, bool last)
{
    uint64_t began = rank_now();
    uint32_t i;
    int status = 0;

    for (i = 0; i < steps && status == 0; i++) {
        if (!last)
            status = post(b, b->round + 1, i);
        if (status == 0)
            status = step(b, i);
    }
    if (status != 0)
        return status;
    rank_record_latency(b->fi.rank, "barrier", rank_now() - began);
    b->passed++;
    b->round++;
    b->seen = b->ahead;
    b->ahead = 0;
    return 0;
}

static int drain(struct barrier *b)
{
    struct wl_fi_event event;

    while (b->sending > 0)
        if (!wl_fi_wait(&b->fi, &event) || take(b, &event) != 0)
            return 1;
    return 0;
}

static int run(struct rank *rank)
{
    struct barrier b = {.round = 0};
    uint64_t rounds = rank_arg_count(rank, "rounds"), compute = rank_arg_ps(rank, "compute");
    uint64_t entered = 0, left;
    const uint64_t *all = NULL;
    uint32_t steps = steps_of(rank_size(rank)), i;
    int status = wl_fi_open(&b.fi, rank, FI_TAGGED | FI_DIRECTED_RECV, 4 * steps + 8), result = 0;

    for (i = 0; i < steps && status == 0; i++)
        status = post(&b, 0, i);
    while (b.round < rounds && status == 0 && result == 0) {
        rank_compute(compute != 0 ? rank_random(rank) % (2 * compute) : 0);
        entered = rank_now();
        result = enter(&b, steps, b.round + 1 == rounds);
        rank_progress(rank);
    }
    left = rank_now();
    if (result == 0)
        drain(&b);
    if (status == 0)
        status = wl_fi_finish(&b.fi, rounds - b.passed);
    if (status == 0 && b.fi.clean) /* the last one of all */
        all = wl_fi_exchange(&b.fi, &entered, sizeof(entered));
    for (i = 0; all != NULL && i < b.fi.size; i++)
        if (all[i] > left)
            status = rank_fail(rank, "left the barrier before rank %u had entered it", i);
    wl_fi_close(&b.fi);
    return status != 0;
}

static const struct workload fi_barrier = {
    .name = "fi_barrier",
    .meaning = "libfabric: dissemination barriers",
    .metrics = "barrier (ps)",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(fi_barrier)
