/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Pairs of ranks notify each other: a CQ write carries 48 bits into the peer's completion queue and
 * writes no memory. Latency is half of the round trip.
 */
#include "support/gni.h"

static const struct workload_arg args[] = {
    {"iterations", ARG_COUNT, "1000", "1", "1000000000", NULL, "round trips"},
    {"blocking", ARG_BOOL, "false", NULL, NULL, NULL,
     "wait by interrupt (GNI_CqWaitEvent) instead of polling"},
    {"give_up", ARG_TIME, "20s", "1ms", NULL, NULL, "without any news for so long"},
    {NULL},
};

struct notifier {
    struct wl_domain domain;
    struct wl_region mine;
    const struct wl_region *regions; /* by rank */
    uint32_t peer;
    bool blocking;
    uint64_t give_up_ms;
};

/* Repeats the write while the peer's queue is full: the error event is at the writer. */
static int post_cqwrite(struct notifier *notifier, uint64_t number)
{
    struct wl_operation operation = {.ep = wl_domain_ep(&notifier->domain, notifier->peer)};
    uint32_t tries;

    operation.desc.type = GNI_POST_CQWRITE;
    operation.desc.cqwrite_value = number;
    operation.desc.remote_mem_hndl = notifier->regions[notifier->peer].handle;
    for (tries = 0; tries < 8; tries++) {
        if (operation.ep == NULL || wl_operation_post(&notifier->domain, &operation) != 0)
            return -1;
        if (wl_operation_wait(&notifier->domain) == NULL) /* it is in use until it has ended */
            return 1;
        if (!operation.overran)
            return operation.failed;
    }
    return 1;
}

/* 0: received; 1: timeout; -1: failed. A repeated write may arrive twice. */
static int wait_for_event(struct notifier *notifier, uint64_t number)
{
    gni_cq_entry_t event = 0;
    gni_return_t rc;

    for (;;) {
        rc = notifier->blocking ? GNI_CqWaitEvent(notifier->domain.rx, notifier->give_up_ms, &event)
                                : GNI_CqGetEvent(notifier->domain.rx, &event);
        if (rc == GNI_RC_TIMEOUT ||
            (rc == GNI_RC_NOT_DONE && wl_domain_timed_out(&notifier->domain)))
            return 1;
        if (rc == GNI_RC_NOT_DONE)
            continue;
        if (rc != GNI_RC_SUCCESS && rc != GNI_RC_ERROR_RESOURCE)
            return rank_fail(notifier->domain.rank, "no event: %s", wl_rc_name(rc));
        notifier->domain.progress_count++;
        if (GNI_CQ_GET_DATA(event) == number)
            return 0;
        if (GNI_CQ_GET_DATA(event) > number)
            return rank_fail(notifier->domain.rank, "heard %llu instead of %llu",
                             (unsigned long long)GNI_CQ_GET_DATA(event),
                             (unsigned long long)number);
    }
}

/* Numbers differ from round to round in all 48 bits. */
static uint64_t number_of(uint64_t round)
{
    return (round << 24 | (round & 0xffffff)) & 0xffffffffffffull;
}

static uint64_t play(struct notifier *notifier, uint64_t iterations)
{
    uint64_t i, began;
    int leads = wl_pair_leads(&notifier->domain), status = 0;

    for (i = 1; i <= iterations && status == 0; i++) {
        began = rank_now();
        if (leads)
            status = post_cqwrite(notifier, number_of(i));
        if (status == 0)
            status = wait_for_event(notifier, number_of(i));
        if (status == 0 && leads)
            rank_record_latency(notifier->domain.rank, "latency", (rank_now() - began) / 2);
        if (status == 0 && !leads)
            status = post_cqwrite(notifier, number_of(i));
        rank_progress(notifier->domain.rank);
    }
    return status == 0 ? 0 : iterations + 2 - i;
}

static int run(struct rank *rank)
{
    struct notifier notifier = {
        .blocking = rank_arg_bool(rank, "blocking"),
        .give_up_ms = rank_arg_ps(rank, "give_up") / 1000000000,
    };
    uint64_t missing = 0;
    void *memory = NULL;
    int status = wl_domain_open(&notifier.domain, rank, 64, 0);

    wl_domain_set_timeout(&notifier.domain, rank_arg_ps(rank, "give_up"));
    notifier.peer = wl_pair_of(&notifier.domain);
    if (status == 0) {
        memory = wl_region_alloc(&notifier.domain, 4096, 1, &notifier.mine);
        notifier.regions = rank_exchange(rank, &notifier.mine, sizeof(notifier.mine));
        status = memory != NULL && notifier.regions != NULL ? 0 : -1;
    }
    if (status == 0 && notifier.peer != UINT32_MAX)
        missing = play(&notifier, rank_arg_count(rank, "iterations"));
    if (wl_domain_finish(&notifier.domain, missing) != 0)
        status = -1;
    wl_region_free(&notifier.domain, memory, &notifier.mine);
    wl_domain_close(&notifier.domain);
    return status != 0;
}

static const struct workload cqwrite_notify = {
    .name = "cqwrite_notify",
    .meaning = "pairs of ranks notify each other by CQ writes",
    .metrics = "latency (ps, one way)",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(cqwrite_notify)
