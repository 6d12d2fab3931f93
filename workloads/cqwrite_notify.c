/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Pairs of ranks ring each other's bell: a CQ write carries 48 bits into the peer's completion
 * queue and touches no memory. Latency is half of the round trip.
 */
#include "common.h"

static const struct workload_arg args[] = {
    {"iterations", ARG_COUNT, "1000", "1", "1000000000", NULL, "round trips"},
    {"blocking", ARG_BOOL, "false", NULL, NULL, NULL,
     "wait by interrupt (GNI_CqWaitEvent) instead of polling"},
    {"give_up", ARG_TIME, "20s", "1ms", NULL, NULL, "without any news for so long"},
    {NULL},
};

struct bell {
    struct domain domain;
    struct region mine;
    const struct region *regions; /* by rank */
    uint32_t peer;
    bool blocking;
    uint64_t give_up_ms;
};

/* Again while the peer's queue was full: it tells us, not the peer. */
static int ring(struct bell *bell, uint64_t number)
{
    struct operation operation = {.ep = wl_domain_ep(&bell->domain, bell->peer)};
    uint32_t tries;

    operation.desc.type = GNI_POST_CQWRITE;
    operation.desc.cqwrite_value = number;
    operation.desc.remote_mem_hndl = bell->regions[bell->peer].handle;
    for (tries = 0; tries < 8; tries++) {
        if (operation.ep == NULL || wl_operation_post(&bell->domain, &operation) != 0)
            return -1;
        if (wl_operation_wait(&bell->domain) == NULL) /* it is in use until it has ended */
            return 1;
        if (!operation.overran)
            return operation.failed;
    }
    return 1;
}

/* 0: heard; 1: nobody rang for too long; -1: failed. A write that was repeated may ring twice. */
static int hear(struct bell *bell, uint64_t number)
{
    gni_cq_entry_t event = 0;
    gni_return_t rc;

    for (;;) {
        rc = bell->blocking ? GNI_CqWaitEvent(bell->domain.rx, bell->give_up_ms, &event)
                            : GNI_CqGetEvent(bell->domain.rx, &event);
        if (rc == GNI_RC_TIMEOUT || (rc == GNI_RC_NOT_DONE && wl_domain_timed_out(&bell->domain)))
            return 1;
        if (rc == GNI_RC_NOT_DONE)
            continue;
        if (rc != GNI_RC_SUCCESS && rc != GNI_RC_ERROR_RESOURCE)
            return rank_fail(bell->domain.rank, "no event: %s", wl_rc_name(rc));
        bell->domain.heard++;
        if (GNI_CQ_GET_DATA(event) == number)
            return 0;
        if (GNI_CQ_GET_DATA(event) > number)
            return rank_fail(bell->domain.rank, "heard %llu instead of %llu",
                             (unsigned long long)GNI_CQ_GET_DATA(event),
                             (unsigned long long)number);
    }
}

/* Numbers differ from round to round in all 48 bits. */
static uint64_t number_of(uint64_t round)
{
    return (round << 24 | (round & 0xffffff)) & 0xffffffffffffull;
}

static uint64_t play(struct bell *bell, uint64_t iterations)
{
    uint64_t i, began;
    int leads = wl_pair_leads(&bell->domain), status = 0;

    for (i = 1; i <= iterations && status == 0; i++) {
        began = rank_now();
        if (leads)
            status = ring(bell, number_of(i));
        if (status == 0)
            status = hear(bell, number_of(i));
        if (status == 0 && leads)
            rank_record_latency(bell->domain.rank, "latency", (rank_now() - began) / 2);
        if (status == 0 && !leads)
            status = ring(bell, number_of(i));
        rank_progress(bell->domain.rank);
    }
    return status == 0 ? 0 : iterations + 2 - i;
}

static int run(struct rank *rank)
{
    struct bell bell = {
        .blocking = rank_arg_bool(rank, "blocking"),
        .give_up_ms = rank_arg_ps(rank, "give_up") / 1000000000,
    };
    uint64_t missing = 0;
    void *memory = NULL;
    int status = wl_domain_open(&bell.domain, rank, 64, 0);

    wl_domain_set_timeout(&bell.domain, rank_arg_ps(rank, "give_up"));
    bell.peer = wl_pair_of(&bell.domain);
    if (status == 0) {
        memory = wl_region_alloc(&bell.domain, 4096, 1, &bell.mine);
        bell.regions = rank_exchange(rank, &bell.mine, sizeof(bell.mine));
        status = memory != NULL && bell.regions != NULL ? 0 : -1;
    }
    if (status == 0 && bell.peer != UINT32_MAX)
        missing = play(&bell, rank_arg_count(rank, "iterations"));
    if (wl_domain_finish(&bell.domain, missing) != 0)
        status = -1;
    wl_region_free(&bell.domain, memory, &bell.mine);
    wl_domain_close(&bell.domain);
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
