/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Pairs of ranks open an endpoint, connect, exchange messages in both directions, and close it;
 * again and again in the same domain. What is left of a closed connection must not reach the next
 * one. Every byte and the number of messages are verified.
 */
#include "support/fi.h"

static const struct workload_arg args[] = {
    WL_FI_ARGS,
    {"rounds", ARG_COUNT, "40", "1", "1000000", NULL,
     "endpoints of each rank, one after the other"},
    {"messages", ARG_COUNT, "12", "1", "1000", NULL, "of each round and direction"},
    {"bytes", ARG_BYTES, "700", "8", "1MiB", NULL, "of the longest message"},
    {"spread", ARG_COUNT, "1", "1", "1000", NULL,
     "rounds have `messages` times 1 … this number in turn"},
    {"late", ARG_TIME, "0", "0", "1s", NULL, "the first of each pair begins to receive so late"},
    {NULL},
};

struct reopen {
    struct wl_fi fi; /* its endpoint stays open, and carries nothing */
    struct fid_ep *ep; /* of this round */
    fi_addr_t to;
    uint32_t peer;
    uint64_t messages, bytes, round;
    uint64_t least, spread, late;
    uint8_t *in, *out;
};

static uint64_t length_of(const struct reopen *r, uint64_t number)
{
    return 8 + (number * 37 + r->round * 11) % (r->bytes - 7);
}

static uint64_t seed_of(const struct reopen *r, uint32_t from, uint32_t to, uint64_t number)
{
    return wl_fi_seed(from, to, r->round * r->least * r->spread + number);
}

/* The endpoint of this round, and the address of the peer's. */
static int open_round(struct reopen *r)
{
    uint8_t name[FI_NAME_MAX] = {0};
    size_t bytes = sizeof(name);
    const uint8_t *all;
    int status = wl_fi_endpoint(&r->fi, r->fi.cq, &r->ep);

    if (status == 0 && fi_getname(&r->ep->fid, name, &bytes) != 0)
        status = rank_fail(r->fi.rank, "an endpoint has no name");
    all = wl_fi_exchange(&r->fi, name, sizeof(name));
    if (status != 0 || all == NULL)
        return -1;
    if (fi_av_insert(r->fi.av, all + r->peer * sizeof(name), 1, &r->to, 0, NULL) != 1)
        return rank_fail(r->fi.rank, "the name of rank %u cannot be inserted", r->peer);
    return 0;
}

static int post(struct reopen *r)
{
    uint64_t i;
    int status = 0;

    memset(r->in, 0, r->messages * r->bytes);
    for (i = 0; i < r->messages && status == 0; i++)
        status = wl_fi_post(&r->fi, fi_recv(r->ep, r->in + i * r->bytes, r->bytes, NULL,
                                            FI_ADDR_UNSPEC, r->in + i * r->bytes));
    for (i = 0; i < r->messages && status == 0; i++) {
        uint8_t *out = r->out + i * r->bytes;

        wl_pattern_fill(out, length_of(r, i), seed_of(r, r->fi.id, r->peer, i));
        status = wl_fi_post(&r->fi, fi_send(r->ep, out, length_of(r, i), NULL, r->to, out));
    }
    return status;
}

static int take_all(struct reopen *r)
{
    uint64_t sent = 0, received = 0;
    struct wl_fi_event event;

    if (r->late != 0 && wl_fi_leads(&r->fi))
        rank_compute(r->late);
    while (sent < r->messages || received < r->messages) {
        const uint8_t *at;

        if (!wl_fi_wait(&r->fi, &event) || event.error != 0)
            return rank_fail(r->fi.rank,
                             "round %llu: %llu messages were sent, %llu received, error %d",
                             (unsigned long long)r->round, (unsigned long long)sent,
                             (unsigned long long)received, event.error);
        at = event.entry.op_context;
        if (at >= r->out && at < r->out + r->messages * r->bytes) {
            sent++;
            continue;
        }
        if (at != r->in + received * r->bytes || event.entry.len != length_of(r, received) ||
            wl_pattern_differs(at, event.entry.len, seed_of(r, r->peer, r->fi.id, received)))
            return rank_fail(r->fi.rank, "round %llu: message %llu is wrong",
                             (unsigned long long)r->round, (unsigned long long)received);
        received++;
    }
    rank_progress(r->fi.rank);
    return 0;
}

static int run_round(struct reopen *r)
{
    uint64_t over = 1;
    int status = open_round(r);

    r->messages = r->least * (1 + r->round % r->spread);
    if (status == 0)
        status = post(r);
    if (status == 0)
        status = take_all(r);
    if (wl_fi_exchange(&r->fi, &over, sizeof(over)) == NULL)
        status = -1;
    if (r->ep != NULL)
        fi_close(&r->ep->fid);
    r->ep = NULL;
    if (status == 0)
        fi_av_remove(r->fi.av, &r->to, 1, 0);
    return status;
}

static int run(struct rank *rank)
{
    struct reopen r = {.least = rank_arg_count(rank, "messages"),
                       .bytes = rank_arg_count(rank, "bytes"),
                       .spread = rank_arg_count(rank, "spread"),
                       .late = rank_arg_ps(rank, "late")};
    uint64_t rounds = rank_arg_count(rank, "rounds"), most = r.least * r.spread;
    int status = wl_fi_open(&r.fi, rank, FI_MSG, 2 * most + 16);

    r.peer = wl_fi_partner(&r.fi);
    r.in = wl_fi_buffer(most * r.bytes);
    r.out = wl_fi_buffer(most * r.bytes);
    if (status == 0 && (r.peer == UINT32_MAX || r.in == NULL || r.out == NULL))
        status = rank_fail(rank, "needs an even number of ranks, and memory");
    for (; r.round < rounds && status == 0; r.round++)
        status = run_round(&r);
    if (status == 0)
        status = wl_fi_finish(&r.fi, 0);
    wl_fi_close(&r.fi);
    free(r.in);
    free(r.out);
    return status != 0;
}

static const struct workload fi_reopen = {
    .name = "fi_reopen",
    .meaning = "libfabric: pairs of ranks open and close endpoints again and again, verified",
    .metrics = "none",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(fi_reopen)
