/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Long messages to and fro between rank 0 and rank 1, as message libraries send them: the sender
 * announces the message by SMSG, the receiver fetches it by a BTE GET. Half a round trip is
 * recorded. The two software times are those of a library above uGNI: one for each announcement,
 * one for each message that was fetched.
 */
#include "common.h"

#define ANNOUNCEMENT_BYTES 8u
#define CREDITS 8u

static const struct workload_arg args[] = {
    {"bytes", ARG_BYTES, "64KiB", "4", "64MiB", NULL, "size of each message"},
    {"iterations", ARG_COUNT, "20", "1", "100000000", NULL, "round trips"},
    {"announce_software", ARG_TIME, "0", "0", "1ms", NULL,
     "time of software above uGNI, per announcement"},
    {"fetch_software", ARG_TIME, "0", "0", "1ms", NULL,
     "time of software above uGNI, per message fetched"},
    {NULL},
};

struct test {
    struct domain domain;
    struct rank *rank;
    gni_ep_handle_t endpoint; /* with the mailbox */
    uint32_t peer;
    size_t sent, received; /* offsets of the two buffers in the shared memory */
    uint64_t bytes, iterations, announce_software, fetch_software;
    uint64_t fetched; /* messages */
};

static int check(struct test *test, gni_return_t code, const char *call)
{
    if (code == GNI_RC_SUCCESS)
        return 0;
    return rank_fail(test->rank, "%s: %s", call, gni_err_str[code]);
}

static gni_smsg_attr_t mailbox(void)
{
    gni_smsg_attr_t attr = {
        .msg_type = GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT,
        .mbox_maxcredit = CREDITS,
        .msg_maxsize = ANNOUNCEMENT_BYTES,
    };

    GNI_SmsgBufferSizeNeeded(&attr, &attr.buff_size);
    return attr;
}

/* The mailbox lies at the start of the shared memory, then the two buffers. */
static int connect_peer(struct test *test)
{
    gni_smsg_attr_t mine = mailbox(), other = mine;

    test->sent = (mine.buff_size + 4095) / 4096 * 4096;
    test->received = test->sent + (test->bytes + 4095) / 4096 * 4096;
    if (domain_share(&test->domain, 2 * test->received - test->sent) != 0)
        return -1;
    test->endpoint = domain_endpoint(&test->domain, test->peer);
    if (test->endpoint == NULL)
        return -1;
    mine.msg_buffer = test->domain.memory;
    mine.mem_hndl = test->domain.handle;
    other.msg_buffer = (void *)(uintptr_t)test->domain.peers[test->peer].base;
    other.mem_hndl = test->domain.peers[test->peer].handle;
    return check(test, GNI_SmsgInit(test->endpoint, &mine, &other), "GNI_SmsgInit");
}

static int announce(struct test *test, uint64_t number)
{
    gni_return_t code;

    rank_compute(test->announce_software);
    do
        code = GNI_SmsgSend(test->endpoint, NULL, 0, &number, sizeof(number), 0);
    while (code == GNI_RC_NOT_DONE);
    return check(test, code, "GNI_SmsgSend");
}

static int await_announcement(struct test *test, uint64_t expected)
{
    uint64_t number;
    void *message;
    gni_return_t code;

    do
        code = GNI_SmsgGetNext(test->endpoint, &message);
    while (code == GNI_RC_NOT_DONE);
    if (check(test, code, "GNI_SmsgGetNext") != 0)
        return -1;
    number = *(const uint64_t *)message;
    if (check(test, GNI_SmsgRelease(test->endpoint), "GNI_SmsgRelease") != 0)
        return -1;
    if (number == expected)
        return 0;
    return rank_fail(test->rank, "message %llu was announced where %llu was due",
                     (unsigned long long)number, (unsigned long long)expected);
}

/* Also takes the completion of the own announcement from the queue, which came before. */
static int fetch(struct test *test)
{
    gni_post_descriptor_t get;
    int status;

    post_fill(&test->domain, &get, GNI_POST_RDMA_GET, test->peer, test->received, test->sent,
              test->bytes);
    status = domain_transfer(&test->domain, test->peer, &get);
    rank_compute(test->fetch_software);
    if (status == 0)
        test->fetched++;
    return status < 0 ? -1 : 0;
}

static int exchange(struct test *test)
{
    bool first = rank_id(test->rank) == 0;
    uint64_t i, begin;

    for (i = 0; i < test->iterations; i++) {
        begin = rank_now();
        if (first && announce(test, i) != 0)
            return -1;
        if (await_announcement(test, i) != 0 || fetch(test) != 0)
            return -1;
        if (!first && announce(test, i) != 0)
            return -1;
        if (first)
            rank_record_latency(test->rank, "latency", (rank_now() - begin) / 2);
        rank_progress(test->rank);
    }
    return 0;
}

static int verify(struct test *test)
{
    const uint8_t *received = test->domain.memory + test->received;

    if (test->fetched == 0 || pattern_check(received, test->bytes, test->peer, 0))
        return 0;
    return rank_fail(test->rank, "the %llu bytes that were fetched are not those that were sent",
                     (unsigned long long)test->bytes);
}

static int run(struct rank *rank)
{
    struct test test = {
        .rank = rank,
        .peer = 1 - rank_id(rank) % 2,
        .bytes = (rank_arg_count(rank, "bytes") + 3) / 4 * 4, /* the hardware's granularity */
        .iterations = rank_arg_count(rank, "iterations"),
        .announce_software = rank_arg_ps(rank, "announce_software"),
        .fetch_software = rank_arg_ps(rank, "fetch_software"),
    };
    bool plays = rank_id(rank) < 2;
    int status = domain_open(&test.domain, rank, 0, 64, 0);

    if (status == 0)
        status = plays ? connect_peer(&test) : domain_share(&test.domain, 8);
    if (status == 0) {
        if (plays)
            pattern_fill(test.domain.memory + test.sent, test.bytes, rank_id(rank), 0);
        rank_barrier(rank);
        if (plays)
            status = exchange(&test);
        rank_barrier(rank);
        if (status == 0 && plays)
            status = verify(&test);
    }
    domain_close(&test.domain);
    return status;
}

static const struct workload rendezvous_pingpong = {
    .name = "rendezvous_pingpong",
    .meaning = "long messages to and fro: announced by SMSG, fetched by a BTE GET",
    .metrics = "latency (ps), half a round trip",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(rendezvous_pingpong)
