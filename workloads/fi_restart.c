/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Pairs of ranks exchange messages until the network fails them. Then the first of each pair closes
 * everything and opens it again, as a process that is started again does: another incarnation with
 * the same addresses. What was sent to the earlier one, and comes late, must not touch the
 * connections of the present one. Every byte that is sent after the restart is verified.
 */
#include "support/fi.h"

static const struct workload_arg args[] = {
    WL_FI_ARGS,
    {"bytes", ARG_BYTES, "64KiB", "8", "16MiB", NULL, "of a message"},
    {"messages", ARG_COUNT, "100", "1", "1000000", NULL,
     "after the restart, in each direction, one after the other"},
    {"pause", ARG_TIME, "0", "0", "1s", NULL, "before each of them"},
    {NULL},
};

#define MOST 100000u /* messages before the failure */
#define SHORT 200u /* bytes: no rendezvous */

struct restart {
    struct wl_fi fi;
    uint32_t peer;
    fi_addr_t to;
    uint64_t bytes, pause;
    uint8_t *in, *out;
};

static uint64_t seed_of(const struct restart *r, bool ours, uint64_t number)
{
    return ours ? wl_fi_seed(r->fi.id, r->peer, number) : wl_fi_seed(r->peer, r->fi.id, number);
}

/*
 * Sends a message and receives one; neither is in flight afterwards. 0, or the error of the one
 * that failed first; -1: the run failed.
 */
static int exchange(struct restart *r, uint64_t number)
{
    bool sent = false, received = false;
    struct wl_fi_event event;
    int status, error = 0;

    wl_pattern_fill(r->out, r->bytes, seed_of(r, true, number));
    memset(r->in, 0, r->bytes);
    status = wl_fi_post(&r->fi, fi_recv(r->fi.ep, r->in, r->bytes, NULL, FI_ADDR_UNSPEC, r->in));
    if (status == 0)
        status = wl_fi_post(&r->fi, fi_send(r->fi.ep, r->out, r->bytes, NULL, r->to, r->out));
    if (status != 0)
        return wl_fi_failed(&r->fi, "posting", status);
    while (!sent || !received) {
        if (!wl_fi_wait(&r->fi, &event))
            return rank_fail(r->fi.rank, "message %llu: %s", (unsigned long long)number,
                             sent ? "nothing is received" : "it is not sent");
        if (event.error != 0 && error == 0) {
            error = event.error;
            fi_cancel(&r->fi.ep->fid, r->in);
        }
        sent |= event.entry.op_context == r->out;
        received |= event.entry.op_context == r->in;
    }
    if (error != 0)
        return error;
    if (wl_pattern_differs(r->in, r->bytes, seed_of(r, false, number)))
        return rank_fail(r->fi.rank, "message %llu is wrong", (unsigned long long)number);
    rank_progress(r->fi.rank);
    return 0;
}

/* Until a message fails. The loss of a short one breaks the connection. */
static int run_before(struct restart *r)
{
    uint64_t number = 0, bytes = r->bytes;
    int status;

    r->bytes = bytes < SHORT ? bytes : SHORT;
    do
        status = exchange(r, number++);
    while (status == 0 && number < MOST);
    r->bytes = bytes;
    if (status == 0)
        return rank_fail(r->fi.rank, "none of %u messages failed", MOST);
    rank_count(r->fi.rank, "before", number - 1);
    r->fi.errors = 0; /* that was expected */
    return status < 0 ? -1 : 0;
}

/* The first of each pair ends and begins again; the other one keeps what it has. */
static int restart(struct restart *r)
{
    struct wl_fi *fi = &r->fi;
    uint8_t name[FI_NAME_MAX] = {0};
    size_t bytes = sizeof(name);
    struct rank *rank = fi->rank;
    const uint8_t *all;
    int status = 0;

    if (wl_fi_leads(fi)) {
        memcpy(name, fi->names + fi->id * fi->name_bytes, fi->name_bytes);
        wl_fi_close(fi);
        status = wl_fi_open_alone(fi, rank, FI_MSG, 64);
    }
    if (status == 0 && fi_getname(&fi->ep->fid, name, &bytes) != 0)
        status = rank_fail(rank, "an endpoint has no name");
    all = status == 0 ? wl_fi_exchange(fi, name, sizeof(name)) : NULL;
    if (all == NULL)
        return -1;
    if (!wl_fi_leads(fi))
        fi_av_remove(fi->av, &r->to, 1, 0);
    if (fi_av_insert(fi->av, all + r->peer * sizeof(name), 1, &r->to, 0, NULL) != 1)
        return rank_fail(rank, "the name of rank %u cannot be inserted", r->peer);
    return 0;
}

static int run_after(struct restart *r, uint64_t messages)
{
    uint64_t number;
    int status = 0;

    for (number = 0; number < messages && status == 0; number++) {
        rank_compute(r->pause);
        status = exchange(r, 1000000 + number);
    }
    if (status > 0)
        return rank_fail(r->fi.rank, "message %llu after the restart: %s",
                         (unsigned long long)number, fi_strerror(status));
    rank_count(r->fi.rank, "after", number);
    return status;
}

static int run(struct rank *rank)
{
    struct restart r = {.bytes = rank_arg_count(rank, "bytes"),
                        .pause = rank_arg_ps(rank, "pause")};
    int status = wl_fi_open(&r.fi, rank, FI_MSG, 64);

    r.peer = wl_fi_partner(&r.fi);
    r.in = wl_fi_buffer(r.bytes);
    r.out = wl_fi_buffer(r.bytes);
    if (status == 0 && (r.peer == UINT32_MAX || r.in == NULL || r.out == NULL))
        status = rank_fail(rank, "needs an even number of ranks, and memory");
    if (status == 0)
        r.to = wl_fi_address(&r.fi, r.peer);
    if (status == 0)
        status = run_before(&r);
    if (status == 0)
        status = restart(&r);
    if (status == 0)
        status = run_after(&r, rank_arg_count(rank, "messages"));
    if (status == 0)
        status = wl_fi_finish(&r.fi, 0);
    wl_fi_close(&r.fi);
    free(r.in);
    free(r.out);
    return status != 0;
}

static const struct workload fi_restart = {
    .name = "fi_restart",
    .meaning = "libfabric: after an error one of two opens everything again, verified",
    .metrics = "before, after (messages)",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(fi_restart)
