/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Long messages to and fro, as message libraries send them: the sender announces the message by
 * SMSG, the receiver fetches it by a BTE GET. Latency is half of the round trip. The two software
 * times are those of a library above uGNI: one for each announcement, one for each message fetched.
 */
#include "support/gni.h"

#define CREDITS 8

static const struct workload_arg args[] = {
    {"bytes", ARG_BYTES, "64KiB", "4", "64MiB", NULL, "length of a message"},
    {"iterations", ARG_COUNT, "20", "1", "1000000000", NULL, "round trips"},
    {"announce_software", ARG_TIME, "0", "0", "1ms", NULL,
     "time of software above uGNI, per announcement"},
    {"fetch_software", ARG_TIME, "0", "0", "1ms", NULL,
     "time of software above uGNI, per message fetched"},
    {"give_up", ARG_TIME, "20s", "1ms", NULL, NULL, "without any news for so long"},
    {NULL},
};

struct test {
    struct wl_domain domain;
    uint32_t peer;
    uint64_t bytes, iterations, announce_software, fetch_software;
    uint8_t *sent, *received;
    struct wl_region sent_region, received_region;
    const struct wl_region *sources; /* where each rank's messages lie */
    uint64_t fetched, missing;
};

static int announce(struct test *test, uint64_t number)
{
    return wl_message_send(&test->domain, test->peer, &number, sizeof(number));
}

/* 1: the peer is gone. */
static int await_announcement(struct test *test, uint64_t number)
{
    const uint64_t *message;
    uint32_t from;
    uint64_t received_number;

    message = wl_message_wait(&test->domain, &from);
    if (message == NULL)
        return 1;
    rank_compute(test->announce_software);
    received_number = *message;
    wl_message_release(&test->domain, from);
    if (from == test->peer && received_number == number)
        return 0;
    return rank_fail(test->domain.rank, "message %llu was announced where %llu was due",
                     (unsigned long long)received_number, (unsigned long long)number);
}

static int fetch(struct test *test)
{
    struct wl_operation get = {.ep = wl_domain_ep(&test->domain, test->peer)};

    get.desc.type = GNI_POST_RDMA_GET;
    get.desc.dlvr_mode = GNI_DLVMODE_PERFORMANCE;
    get.desc.local_addr = test->received_region.address;
    get.desc.local_mem_hndl = test->received_region.handle;
    get.desc.remote_addr = test->sources[test->peer].address;
    get.desc.remote_mem_hndl = test->sources[test->peer].handle;
    get.desc.length = test->bytes;
    if (wl_operation_run(&test->domain, &get) != 0)
        return -1;
    rank_compute(test->fetch_software);
    test->fetched += !get.failed;
    return 0;
}

static int receive(struct test *test, uint64_t number)
{
    int status = await_announcement(test, number);

    return status != 0 ? status : fetch(test);
}

static int lead(struct test *test)
{
    uint64_t i, began;
    int status;

    for (i = 0; i < test->iterations; i++) {
        began = rank_now();
        status = announce(test, i);
        if (status == 0)
            status = receive(test, i);
        if (status != 0)
            return status;
        rank_record_latency(test->domain.rank, "latency", (rank_now() - began) / 2);
        rank_progress(test->domain.rank);
    }
    return 0;
}

static int follow(struct test *test)
{
    uint64_t i;
    int status = 0;

    for (i = 0; i < test->iterations && status == 0; i++) {
        status = receive(test, i);
        if (status == 0)
            status = announce(test, i);
    }
    return status;
}

static int exchange(struct test *test)
{
    struct rank *rank = test->domain.rank;
    int status;

    test->peer = wl_pair_of(&test->domain);
    if (test->peer == UINT32_MAX)
        return 0;
    if (wl_message_connect(&test->domain, test->peer, 0, 0) != 0)
        return -1;
    status = wl_pair_leads(&test->domain) ? lead(test) : follow(test);
    wl_message_flush(&test->domain);
    test->missing = test->iterations - test->fetched;
    if (status == 0 && test->fetched != 0 &&
        wl_pattern_differs(test->received, test->bytes, test->peer))
        return rank_fail(rank, "the bytes that were fetched are not those that were sent");
    return status;
}

static int run(struct rank *rank)
{
    struct test test = {
        .bytes = (rank_arg_count(rank, "bytes") + 3) / 4 * 4, /* the hardware's granularity */
        .iterations = rank_arg_count(rank, "iterations"),
        .announce_software = rank_arg_ps(rank, "announce_software"),
        .fetch_software = rank_arg_ps(rank, "fetch_software"),
    };
    int status = wl_domain_open(&test.domain, rank, 64, 0);

    wl_domain_set_timeout(&test.domain, rank_arg_ps(rank, "give_up"));
    if (status == 0)
        status = wl_mailboxes_open(&test.domain, 1, CREDITS, sizeof(uint64_t), 1);
    if (status == 0) {
        test.sent = wl_region_alloc(&test.domain, test.bytes, 0, &test.sent_region);
        test.received = wl_region_alloc(&test.domain, test.bytes, 0, &test.received_region);
        if (test.sent != NULL)
            wl_pattern_fill(test.sent, test.bytes, rank_id(rank));
        test.sources = rank_exchange(rank, &test.sent_region, sizeof(test.sent_region));
    }
    if (test.sent == NULL || test.received == NULL || test.sources == NULL)
        status = -1;
    if (status == 0)
        status = exchange(&test);
    if (wl_domain_finish(&test.domain, test.missing) != 0)
        status = -1;
    wl_mailboxes_close(&test.domain);
    wl_region_free(&test.domain, test.sent, &test.sent_region);
    wl_region_free(&test.domain, test.received, &test.received_region);
    wl_domain_close(&test.domain);
    return status < 0;
}

static const struct workload rendezvous_pingpong = {
    .name = "rendezvous_pingpong",
    .meaning =
        "pairs of ranks send long messages to and fro: announced by SMSG, fetched by a BTE GET",
    .metrics = "latency (ps, one way)",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(rendezvous_pingpong)
