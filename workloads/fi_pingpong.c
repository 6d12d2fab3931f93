/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Pairs of ranks send one message to and fro over libfabric. Latency is half of the round trip. */
#include "support/fi.h"

static const struct workload_arg args[] = {
    WL_FI_ARGS,
    {"call", ARG_CHOICE, "tagged", NULL, NULL, "tagged|msg|senddata|inject",
     "fi_tsend, fi_send, fi_senddata, or fi_inject (64 bytes at most)"},
    {"bytes", ARG_BYTES, "8", "0", "1GiB", NULL, "length of a message"},
    {"iterations", ARG_COUNT, "1000", "1", "1000000000", NULL, "round trips"},
    {"software", ARG_TIME, "0", "0", "1ms", NULL,
     "time of the software above libfabric, for each message"},
    {NULL},
};

enum call { TAGGED, MSG, SENDDATA, INJECT };

struct pingpong {
    struct wl_fi fi;
    uint32_t peer;
    fi_addr_t to;
    enum call call;
    size_t bytes;
    uint64_t software;
    uint8_t *in, *out;
    bool received, sending; /* of this round */
    uint64_t rounds; /* messages that came and were right */
};

static int send_number(struct pingpong *p, uint64_t number)
{
    struct fid_ep *ep = p->fi.ep;

    wl_pattern_fill(p->out, p->bytes, wl_fi_seed(p->fi.id, p->peer, number));
    p->sending = p->call != INJECT;
    switch (p->call) {
    case TAGGED:
        return wl_fi_post(&p->fi, fi_tsend(ep, p->out, p->bytes, NULL, p->to, number, &p->sending));
    case MSG:
        return wl_fi_post(&p->fi, fi_send(ep, p->out, p->bytes, NULL, p->to, &p->sending));
    case SENDDATA:
        return wl_fi_post(&p->fi,
                          fi_senddata(ep, p->out, p->bytes, NULL, number, p->to, &p->sending));
    default:
        return wl_fi_post(&p->fi, fi_inject(ep, p->out, p->bytes, p->to));
    }
}

static int post_receive(struct pingpong *p, uint64_t number)
{
    struct fid_ep *ep = p->fi.ep;

    p->received = false;
    if (p->call == TAGGED)
        return wl_fi_post(&p->fi,
                          fi_trecv(ep, p->in, p->bytes, NULL, p->to, number, 0, &p->received));
    return wl_fi_post(&p->fi, fi_recv(ep, p->in, p->bytes, NULL, p->to, &p->received));
}

static int check(struct pingpong *p, const struct wl_fi_event *event, uint64_t number)
{
    if (event->entry.len != p->bytes ||
        wl_pattern_differs(p->in, p->bytes, wl_fi_seed(p->peer, p->fi.id, number)) ||
        (p->call == SENDDATA && event->entry.data != number))
        return rank_fail(p->fi.rank, "message %llu of rank %u is wrong", (unsigned long long)number,
                         p->peer);
    if (p->software != 0)
        rank_compute(p->software);
    p->rounds++;
    return 0;
}

/* One event. 1: the peer is gone. */
static int next_event(struct pingpong *p, uint64_t number)
{
    struct wl_fi_event event;

    if (!wl_fi_wait(&p->fi, &event) || event.error != 0)
        return 1;
    if (event.entry.op_context == &p->sending) {
        p->sending = false;
        return 0;
    }
    p->received = true;
    return check(p, &event, number);
}

static int wait_received(struct pingpong *p, uint64_t number)
{
    int status = 0;

    while (!p->received && status == 0)
        status = next_event(p, number);
    return status;
}

static int wait_sent(struct pingpong *p, uint64_t number)
{
    int status = 0;

    while (p->sending && status == 0)
        status = next_event(p, number);
    return status;
}

static int lead(struct pingpong *p, uint64_t iterations)
{
    uint64_t i, began;
    int status = 0;

    for (i = 1; i <= iterations && status == 0; i++) {
        status = post_receive(p, i) != 0;
        began = rank_now();
        if (status == 0)
            status = send_number(p, i) != 0;
        if (status == 0)
            status = wait_received(p, i);
        if (status == 0) {
            rank_record_latency(p->fi.rank, "latency", (rank_now() - began) / 2);
            status = wait_sent(p, i);
        }
        rank_progress(p->fi.rank);
    }
    return status;
}

static int follow(struct pingpong *p, uint64_t iterations)
{
    uint64_t i;
    int status = post_receive(p, 1) != 0;

    for (i = 1; i <= iterations && status == 0; i++) {
        status = wait_received(p, i);
        if (status == 0)
            status = send_number(p, i) != 0;
        if (status == 0)
            status = wait_sent(p, i);
        if (status == 0 && i < iterations)
            status = post_receive(p, i + 1) != 0;
    }
    return status;
}

static enum call call_arg(const struct rank *rank)
{
    static const char *const names[] = {"tagged", "msg", "senddata", "inject"};
    enum call call = TAGGED;

    while (strcmp(names[call], rank_arg_choice(rank, "call")) != 0)
        call++;
    return call;
}

static int run(struct rank *rank)
{
    struct pingpong p = {.call = call_arg(rank),
                         .bytes = rank_arg_count(rank, "bytes"),
                         .software = rank_arg_ps(rank, "software")};
    uint64_t iterations = rank_arg_count(rank, "iterations"), missing = 0;
    int status = wl_fi_open(&p.fi, rank, p.call == TAGGED ? FI_TAGGED : FI_MSG, 64);

    p.in = wl_fi_buffer(p.bytes + 1);
    p.out = wl_fi_buffer(p.bytes + 1);
    p.peer = wl_fi_partner(&p.fi);
    if (status == 0 && p.peer != UINT32_MAX) {
        p.to = wl_fi_address(&p.fi, p.peer);
        if (p.to != FI_ADDR_NOTAVAIL)
            status = wl_fi_leads(&p.fi) ? lead(&p, iterations) : follow(&p, iterations);
        missing = iterations - p.rounds;
    }
    if (status >= 0 && wl_fi_finish(&p.fi, missing) != 0)
        status = -1;
    wl_fi_close(&p.fi);
    free(p.in);
    free(p.out);
    return status < 0;
}

static const struct workload fi_pingpong = {
    .name = "fi_pingpong",
    .meaning = "libfabric: pairs of ranks send one message to and fro",
    .metrics = "latency (ps, one way)",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(fi_pingpong)
