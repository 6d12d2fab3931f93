/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Triggered operations. The first of each pair of ranks posts sends that wait for thresholds of a
 * counter, in mixed order, several for each threshold. Then it counts up: below a threshold nothing
 * may be sent; at it, by fi_cntr_add or fi_cntr_set, its sends leave, and no others. At last it
 * posts some whose threshold has been reached. The other rank verifies contents and order: by
 * threshold, and in the order of posting where thresholds are equal.
 */
#include "support/fi.h"
#include <inttypes.h>
#include <rdma/fi_trigger.h>

static const struct workload_arg args[] = {
    WL_FI_ARGS,
    {"bytes", ARG_BYTES, "512", "8", "1MiB", NULL, "of a message"},
    {"thresholds", ARG_COUNT, "8", "1", "1000", NULL, "of the counter"},
    {"each", ARG_COUNT, "3", "1", "100", NULL, "operations for each threshold"},
    {"rounds", ARG_COUNT, "4", "1", "1000", NULL, "with a counter of their own"},
    {"quiet", ARG_TIME, "20us", "0", "1s", NULL, "time in which nothing may be sent"},
    {NULL},
};

#define STEP 3u /* between two thresholds */

struct triggered {
    struct wl_fi fi;
    uint32_t peer;
    fi_addr_t to;
    uint64_t bytes, thresholds, each, all; /* all: of a round, with those that are late */
    uint64_t quiet;
    uint64_t base; /* number of the round's first message */
    struct fi_triggered_context *contexts; /* in the order of sending */
    uint8_t *memory;
};

static uint8_t *buffer_of(const struct triggered *t, uint64_t order)
{
    return t->memory + order * t->bytes;
}

static int post(struct triggered *t, struct fid_cntr *cntr, uint64_t order, size_t threshold)
{
    struct fi_triggered_context *context = &t->contexts[order];
    struct iovec iov = {buffer_of(t, order), t->bytes};
    struct fi_msg msg = {.msg_iov = &iov, .iov_count = 1, .addr = t->to, .context = context};
    int status;

    wl_pattern_fill(iov.iov_base, t->bytes, wl_fi_seed(t->fi.id, t->peer, t->base + order));
    context->event_type = FI_TRIGGER_THRESHOLD;
    context->trigger.threshold.cntr = cntr;
    context->trigger.threshold.threshold = threshold;
    status = wl_fi_post(&t->fi, fi_sendmsg(t->fi.ep, &msg, FI_TRIGGER | FI_COMPLETION));
    return status != 0 ? wl_fi_failed(&t->fi, "posting a triggered send", status) : 0;
}

/* Later thresholds first, for every other one; those of one threshold in the order of sending. */
static int post_all(struct triggered *t, struct fid_cntr *cntr)
{
    uint64_t turn, i;
    int status = 0;

    for (turn = 0; turn < 2; turn++)
        for (i = t->thresholds; i-- > 0;)
            for (uint64_t k = 0; i % 2 != turn && k < t->each && status == 0; k++)
                status = post(t, cntr, i * t->each + k, (i + 1) * STEP);
    return status;
}

static int nothing_is_sent(struct triggered *t, uint64_t value)
{
    struct wl_fi_event event;
    uint64_t end = rank_now() + t->quiet;

    do {
        if (wl_fi_poll(&t->fi, &event))
            return rank_fail(t->fi.rank, "an operation was triggered by the value %llu",
                             (unsigned long long)value);
        rank_compute(t->quiet / 8);
    } while (rank_now() < end);
    return 0;
}

/* The operations from `first` on have left, and none besides them. */
static int wait_for(struct triggered *t, uint64_t first)
{
    uint64_t done;

    for (done = 0; done < t->each; done++) {
        struct wl_fi_event event;
        const struct fi_triggered_context *context;

        if (!wl_fi_wait(&t->fi, &event))
            return rank_fail(t->fi.rank, "operation %" PRIu64 " was not triggered", first + done);
        context = event.entry.op_context;
        if (event.error != 0 || context < &t->contexts[first] ||
            context >= &t->contexts[first + t->each])
            return rank_fail(t->fi.rank, "operation %td was triggered instead of %llu to %llu",
                             context - t->contexts, (unsigned long long)first,
                             (unsigned long long)(first + t->each - 1));
    }
    return 0;
}

static int count_up(struct triggered *t, struct fid_cntr *cntr)
{
    uint64_t i, k;
    int status = 0;

    for (i = 0; i < t->thresholds && status == 0; i++) {
        uint64_t threshold = (i + 1) * STEP;

        fi_cntr_add(cntr, STEP - 1);
        status = nothing_is_sent(t, threshold - 1);
        if (status != 0)
            break;
        if (i % 2 == 0)
            fi_cntr_add(cntr, 1);
        else
            fi_cntr_set(cntr, threshold);
        status = wait_for(t, i * t->each);
        rank_progress(t->fi.rank);
    }
    for (k = 0; k < t->each && status == 0; k++) /* the counter has this value already */
        status = post(t, cntr, t->thresholds * t->each + k, t->thresholds * STEP);
    return status == 0 ? wait_for(t, t->thresholds * t->each) : status;
}

static int lead(struct triggered *t)
{
    struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP, .wait_obj = FI_WAIT_NONE};
    struct fid_cntr *cntr;
    int status = fi_cntr_open(t->fi.domain, &attr, &cntr, NULL);

    if (status != 0)
        return wl_fi_failed(&t->fi, "fi_cntr_open", status);
    status = post_all(t, cntr);
    if (status == 0)
        status = count_up(t, cntr);
    fi_close(&cntr->fid);
    return status;
}

static int follow(struct triggered *t)
{
    uint64_t order;

    for (order = 0; order < t->all; order++) {
        struct wl_fi_event event;
        uint8_t *in = buffer_of(t, order);
        int status;

        memset(in, 0, t->bytes);
        status = wl_fi_post(&t->fi, fi_recv(t->fi.ep, in, t->bytes, NULL, FI_ADDR_UNSPEC, in));
        if (status != 0)
            return wl_fi_failed(&t->fi, "fi_recv", status);
        if (!wl_fi_wait(&t->fi, &event) || event.error != 0)
            return rank_fail(t->fi.rank, "message %llu does not arrive", (unsigned long long)order);
        if (wl_pattern_differs(in, t->bytes, wl_fi_seed(t->peer, t->fi.id, t->base + order)))
            return rank_fail(t->fi.rank, "message %llu is wrong, or out of order",
                             (unsigned long long)order);
        rank_count(t->fi.rank, "received", 1);
    }
    return 0;
}

static int run_rounds(struct triggered *t, uint64_t rounds)
{
    uint64_t round;
    int status = 0;

    for (round = 0; round < rounds && status == 0; round++) {
        t->base = round * t->all;
        status = wl_fi_leads(&t->fi) ? lead(t) : follow(t);
    }
    return status;
}

static int run(struct rank *rank)
{
    struct triggered t = {.bytes = rank_arg_count(rank, "bytes"),
                          .thresholds = rank_arg_count(rank, "thresholds"),
                          .each = rank_arg_count(rank, "each"),
                          .quiet = rank_arg_ps(rank, "quiet")};
    int status = wl_fi_open(&t.fi, rank, FI_MSG, 64);

    t.all = (t.thresholds + 1) * t.each;
    t.peer = wl_fi_partner(&t.fi);
    t.memory = wl_fi_buffer(t.all * t.bytes);
    t.contexts = calloc(t.all, sizeof(*t.contexts));
    if (status == 0 && (t.peer == UINT32_MAX || t.memory == NULL || t.contexts == NULL))
        status = rank_fail(rank, "needs an even number of ranks, and memory");
    if (status == 0) {
        t.to = wl_fi_address(&t.fi, t.peer);
        status = run_rounds(&t, rank_arg_count(rank, "rounds"));
    }
    if (status == 0)
        status = wl_fi_finish(&t.fi, 0);
    wl_fi_close(&t.fi);
    free(t.memory);
    free(t.contexts);
    return status != 0;
}

static const struct workload fi_triggered = {
    .name = "fi_triggered",
    .meaning = "libfabric: sends that wait for a counter, in mixed order, verified",
    .metrics = "received (messages)",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(fi_triggered)
