/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Pairs of ranks: the first writes into or reads from the memory of the second, one operation after
 * the other (latency) or a window of them (bandwidth). Written bytes are verified at the end, and
 * with `call: writedata` when the data of each write arrives.
 */
#include "support/fi.h"

static const struct workload_arg args[] = {
    WL_FI_ARGS,
    {"call", ARG_CHOICE, "write", NULL, NULL, "write|writedata|inject|read",
     "fi_write, fi_writedata, fi_inject_write (64 bytes at most), or fi_read"},
    {"bytes", ARG_BYTES, "8", "1", "1GiB", NULL, "length of an operation"},
    {"window", ARG_COUNT, "1", "1", "1024", NULL, "operations in flight; 1: latency is measured"},
    {"iterations", ARG_COUNT, "1000", "1", "1000000000", NULL, "operations"},
    {"offset", ARG_BYTES, "0", "0", "4095", NULL, "from a page's beginning, at both ends"},
    {NULL},
};

enum call { WRITE, WRITEDATA, INJECT, READ };

struct rma {
    struct wl_fi fi;
    enum call call;
    uint32_t peer;
    size_t bytes, step; /* step: from one slot of the window to the next */
    uint64_t window, iterations, offset;
    struct wl_fi_memory memory; /* its own slots; those of the peer mirror them */
    struct fid_cntr *written; /* injected writes have no other completion */
    fi_addr_t to;
    uint64_t posted, ended, done, words; /* ended: done, or failed */
    struct slot {
        uint64_t number;
        struct slot *next; /* free */
    } * slots, *free, *free_last; /* the slot that is free for the longest time comes first */
};

static size_t place(const struct rma *r, const struct slot *slot)
{
    return r->offset + (size_t)(slot - r->slots) * r->step;
}

/* The target's memory as it is before the first operation, slot by slot. */
static void fill(struct rma *r, uint32_t owner)
{
    uint64_t i;

    for (i = 0; i < r->window; i++)
        wl_pattern_fill(r->memory.bytes + place(r, &r->slots[i]), r->bytes,
                        wl_fi_seed(owner, owner, i));
}

static int start(struct rma *r, struct slot *slot)
{
    const struct wl_fi_remote *target = &r->memory.all[r->peer];
    uint8_t *mine = r->memory.bytes + place(r, slot);
    uint64_t remote = target->address + place(r, slot);
    void *desc = fi_mr_desc(r->memory.mr);
    struct fid_ep *ep = r->fi.ep;

    slot->number = r->posted++;
    if (r->call == READ)
        memset(mine, 0, r->bytes);
    else
        wl_pattern_fill(mine, r->bytes, wl_fi_seed(r->fi.id, r->peer, slot->number));
    switch (r->call) {
    case WRITE:
        return wl_fi_post(&r->fi,
                          fi_write(ep, mine, r->bytes, desc, r->to, remote, target->key, slot));
    case WRITEDATA:
        return wl_fi_post(&r->fi, fi_writedata(ep, mine, r->bytes, desc, slot->number, r->to,
                                               remote, target->key, slot));
    case INJECT:
        return wl_fi_post(&r->fi, fi_inject_write(ep, mine, r->bytes, r->to, remote, target->key));
    default:
        return wl_fi_post(&r->fi,
                          fi_read(ep, mine, r->bytes, desc, r->to, remote, target->key, slot));
    }
}

static int post(struct rma *r, struct slot *slot)
{
    int status = start(r, slot);

    r->ended += status != 0;
    return status;
}

static int check(struct rma *r, const struct slot *slot)
{
    uint64_t which = (uint64_t)(slot - r->slots);

    r->done++;
    if (r->call == READ && wl_pattern_differs(r->memory.bytes + place(r, slot), r->bytes,
                                              wl_fi_seed(r->peer, r->peer, which)))
        return rank_fail(r->fi.rank, "read %llu brought other bytes",
                         (unsigned long long)slot->number);
    return 0;
}

static void give_back(struct rma *r, struct slot *slot)
{
    slot->next = NULL;
    if (r->free == NULL)
        r->free = slot;
    else
        r->free_last->next = slot;
    r->free_last = slot;
}

/* The slots are used in turn, so that the target knows which ones were written. */
static struct slot *take(struct rma *r)
{
    struct slot *slot = r->free;

    assert(slot != NULL);
    r->free = slot->next;
    return slot;
}

/* Only the counter reports the completion of injected writes. All of them are awaited. */
static int wait_injected(struct rma *r)
{
    uint64_t i;

    while (fi_cntr_read(r->written) < r->posted)
        if (fi_cntr_readerr(r->written) != 0 || wl_fi_timed_out(&r->fi))
            return 1;
    r->done = r->posted;
    r->fi.progress_count++;
    r->free = NULL;
    for (i = 0; i < r->window; i++)
        give_back(r, &r->slots[(r->posted + i) % r->window]);
    return 0;
}

/* Waits for an operation at least and gives its slot back. 1: the peer is gone. */
static int wait_one(struct rma *r)
{
    struct wl_fi_event event;

    if (r->call == INJECT)
        return wait_injected(r);
    if (!wl_fi_wait(&r->fi, &event))
        return 1;
    r->ended++;
    if (event.error != 0)
        return 1;
    give_back(r, event.entry.op_context);
    return check(r, event.entry.op_context);
}

static int one_after_the_other(struct rma *r)
{
    uint64_t began;
    int status = 0;

    while (r->posted < r->iterations && status == 0) {
        began = rank_now();
        status = post(r, take(r)) != 0;
        if (status == 0)
            status = wait_one(r);
        if (status == 0)
            rank_record_latency(r->fi.rank, "latency", rank_now() - began);
        rank_progress(r->fi.rank);
    }
    return status;
}

/* The first operation connects; it runs alone and is not measured. */
static int windows(struct rma *r)
{
    uint64_t began;
    int status = post(r, take(r)) != 0;

    if (status == 0)
        status = wait_one(r);
    began = rank_now();
    while (r->done < r->iterations && status == 0) {
        while (r->posted < r->iterations && r->free != NULL && status == 0)
            status = post(r, take(r)) != 0;
        if (status == 0)
            status = wait_one(r);
        rank_progress(r->fi.rank);
    }
    if (status == 0)
        rank_record_bandwidth(r->fi.rank, "bandwidth", (r->done - 1) * r->bytes,
                              rank_now() - began);
    return status;
}

/* The target of writes with a word: counts the words, each of which must be new. */
static int take_words(struct rma *r)
{
    bool *seen = calloc(r->iterations, sizeof(*seen));
    struct wl_fi_event event;
    int status = 0;

    while (r->words < r->iterations && status == 0) {
        if (!wl_fi_wait(&r->fi, &event) || event.error != 0) {
            status = 1;
        } else if (!(event.entry.flags & FI_REMOTE_CQ_DATA) || event.entry.data >= r->iterations ||
                   seen[event.entry.data]) {
            status =
                rank_fail(r->fi.rank, "word %llu is wrong", (unsigned long long)event.entry.data);
        } else {
            seen[event.entry.data] = true;
            r->words++;
        }
    }
    free(seen);
    return status;
}

/* After writes each slot holds what one of them brought, whole: the last one, when there is one
 * slot. */
static int check_memory(struct rma *r)
{
    uint64_t i, number;

    for (i = 0; i < r->window && i < r->iterations; i++) {
        const uint8_t *slot = r->memory.bytes + place(r, &r->slots[i]);

        for (number = r->iterations; number > 0; number--)
            if (!wl_pattern_differs(slot, r->bytes, wl_fi_seed(r->peer, r->fi.id, number - 1)))
                break;
        if (number == 0 || (r->window == 1 && number != r->iterations))
            return rank_fail(r->fi.rank, "slot %llu has wrong bytes", (unsigned long long)i);
    }
    return 0;
}

/* After an operation that failed: the others still use the memory. */
static void drain(struct rma *r)
{
    struct wl_fi_event event;

    for (; r->call != INJECT && r->ended < r->posted && wl_fi_wait(&r->fi, &event); r->ended++)
        if (event.error == 0)
            check(r, event.entry.op_context);
}

static int run_pair(struct rma *r)
{
    uint64_t i;
    int status;

    for (i = 0; i < r->window; i++)
        give_back(r, &r->slots[i]);
    if (!wl_fi_leads(&r->fi))
        return r->call == WRITEDATA ? take_words(r) : 0;
    status = r->window == 1 ? one_after_the_other(r) : windows(r);
    if (status != 0)
        drain(r);
    return status;
}

static int open_counter(struct rma *r)
{
    struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP};
    int status = fi_cntr_open(r->fi.domain, &attr, &r->written, NULL);

    if (status == 0)
        status = fi_endpoint(r->fi.domain, r->fi.info, &r->fi.ep, NULL);
    if (status == 0)
        status = fi_ep_bind(r->fi.ep, &r->fi.cq->fid, FI_TRANSMIT | FI_RECV);
    if (status == 0)
        status = fi_ep_bind(r->fi.ep, &r->written->fid, FI_WRITE);
    if (status == 0)
        status = fi_ep_bind(r->fi.ep, &r->fi.av->fid, 0);
    if (status == 0)
        status = fi_enable(r->fi.ep);
    return status != 0 ? wl_fi_failed(&r->fi, "an endpoint with a counter", status) : 0;
}

static int open_side(struct rma *r, struct rank *rank)
{
    struct fi_info *hints = fi_allocinfo();
    int status;

    if (hints == NULL)
        return rank_fail(rank, "no memory for fi_allocinfo()");
    hints->caps = FI_MSG | FI_RMA;
    hints->ep_attr->type =
        strcmp(rank_arg_choice(rank, "type"), "dgram") == 0 ? FI_EP_DGRAM : FI_EP_RDM;
    status = wl_fi_open_hints(&r->fi, rank, hints, 2 * r->window + 64);
    fi_freeinfo(hints);
    if (status == 0)
        status = open_counter(r);
    if (status == 0)
        status = wl_fi_exchange_names(&r->fi);
    r->slots = calloc(r->window, sizeof(*r->slots));
    r->step = (r->bytes + 63) & ~(size_t)63;
    if (status == 0)
        status = wl_fi_memory_open(&r->fi, &r->memory, r->offset + r->window * r->step);
    return status;
}

static enum call call_arg(const struct rank *rank)
{
    static const char *const names[] = {"write", "writedata", "inject", "read"};
    enum call call = WRITE;

    while (strcmp(names[call], rank_arg_choice(rank, "call")) != 0)
        call++;
    return call;
}

static int run(struct rank *rank)
{
    struct rma r = {.call = call_arg(rank),
                    .bytes = rank_arg_count(rank, "bytes"),
                    .window = rank_arg_count(rank, "window"),
                    .iterations = rank_arg_count(rank, "iterations"),
                    .offset = rank_arg_count(rank, "offset")};
    int status = open_side(&r, rank), result = 0;
    uint64_t missing = 0;

    r.peer = wl_fi_partner(&r.fi);
    if (status == 0) {
        fill(&r, r.fi.id);
        status = wl_fi_exchange(&r.fi, NULL, 0) == NULL ? -1 : 0;
    }
    if (status == 0 && r.peer != UINT32_MAX) {
        r.to = wl_fi_address(&r.fi, r.peer);
        if (r.to != FI_ADDR_NOTAVAIL)
            result = run_pair(&r);
        if (wl_fi_leads(&r.fi))
            missing = r.iterations - r.done;
        else if (r.call == WRITEDATA)
            missing = r.iterations - r.words;
    }
    if (status == 0)
        status = wl_fi_finish(&r.fi, missing);
    if (status == 0 && r.fi.clean && r.peer != UINT32_MAX && !wl_fi_leads(&r.fi) && r.call != READ)
        status = check_memory(&r);
    wl_fi_memory_close(&r.memory);
    if (r.fi.ep != NULL)
        fi_close(&r.fi.ep->fid);
    r.fi.ep = NULL;
    if (r.written != NULL)
        fi_close(&r.written->fid);
    wl_fi_close(&r.fi);
    free(r.slots);
    return status != 0 || result < 0;
}

static const struct workload fi_rma = {
    .name = "fi_rma",
    .meaning = "libfabric: pairs of ranks write into each other's memory, or read it",
    .metrics = "latency (ps, of an operation), bandwidth (B/s)",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(fi_rma)
