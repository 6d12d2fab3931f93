/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * All ranks send messages to rank 0 as fast as their credits allow. Latency is from the first try
 * to send until rank 0 has the message, so it includes the wait for a credit.
 */
#include "support/gni.h"

static const struct workload_arg args[] = {
    {"bytes", ARG_BYTES, "64", "16", "65535", NULL, "length of a message"},
    {"messages", ARG_COUNT, "1000", "1", "1000000000", NULL, "messages of each sender"},
    {"credits", ARG_COUNT, "16", "1", "4096", NULL, "messages in flight per sender"},
    {"software", ARG_TIME, "0", "0", "1ms", NULL,
     "time of software above uGNI, per message and side"},
    {"give_up", ARG_TIME, "20s", "1ms", NULL, NULL, "without any news for so long"},
    {NULL},
};

struct incast {
    struct wl_domain domain;
    uint32_t bytes;
    uint64_t messages, software, missing;
    uint8_t *pattern; /* of a message, behind its head */
};

struct head {
    uint64_t number, sent_at;
};

static int send_all(struct incast *test)
{
    struct head head;

    for (head.number = 1; head.number <= test->messages; head.number++) {
        rank_compute(test->software);
        head.sent_at = rank_now();
        memcpy(test->pattern, &head, sizeof(head));
        if (wl_message_send(&test->domain, 0, test->pattern, test->bytes) != 0)
            return -1;
    }
    wl_message_flush(&test->domain);
    return 0;
}

static int check(struct incast *test, uint64_t *numbers, uint32_t from, const uint8_t *message)
{
    struct rank *rank = test->domain.rank;
    struct head head;

    memcpy(&head, message, sizeof(head));
    rank_record_latency(rank, "latency", rank_now() - head.sent_at);
    if (head.number != ++numbers[from])
        return rank_fail(rank, "message %llu of rank %u came where %llu was due",
                         (unsigned long long)head.number, from, (unsigned long long)numbers[from]);
    if (memcmp(message + sizeof(head), test->pattern + sizeof(head), test->bytes - sizeof(head)))
        return rank_fail(rank, "message %llu of rank %u is wrong", (unsigned long long)head.number,
                         from);
    rank_progress(rank);
    return 0;
}

static int receive_all(struct incast *test)
{
    uint64_t *numbers = calloc(test->domain.size, sizeof(*numbers)), began = rank_now(), i;
    uint64_t expected = (test->domain.size - 1) * test->messages;
    uint8_t *message;
    uint32_t from;
    int status = 0;

    for (i = 0; i < expected && status == 0; i++) {
        message = wl_message_wait(&test->domain, &from);
        if (message == NULL)
            break;
        rank_compute(test->software);
        status = check(test, numbers, from, message);
        wl_message_release(&test->domain, from);
    }
    rank_record_rate(test->domain.rank, "rate", i, rank_now() - began);
    test->missing = expected - i;
    free(numbers);
    return status;
}

static int run(struct rank *rank)
{
    struct incast test = {
        .bytes = (uint32_t)rank_arg_count(rank, "bytes"),
        .messages = rank_arg_count(rank, "messages"),
        .software = rank_arg_ps(rank, "software"),
    };
    uint32_t me = rank_id(rank);
    int status = wl_domain_open(&test.domain, rank, 1024, 0);

    wl_domain_set_timeout(&test.domain, rank_arg_ps(rank, "give_up"));
    test.pattern = malloc(test.bytes);
    wl_pattern_fill(test.pattern, test.bytes, 1);
    if (status == 0) /* rank 0 has a mailbox for each, the others one */
        status = wl_mailboxes_open(&test.domain, me == 0 ? rank_size(rank) : 1,
                                   (uint16_t)rank_arg_count(rank, "credits"), test.bytes, 1);
    if (status == 0 && me != 0)
        status = wl_message_connect(&test.domain, 0, 0, me);
    if (status == 0)
        status = me == 0 ? receive_all(&test) : send_all(&test);
    if (wl_domain_finish(&test.domain, test.missing) != 0)
        status = -1;
    wl_mailboxes_close(&test.domain);
    wl_domain_close(&test.domain);
    free(test.pattern);
    return status != 0;
}

static const struct workload incast_smsg = {
    .name = "incast_smsg",
    .meaning = "all ranks send messages to rank 0",
    .metrics = "latency (ps, one way with the wait for a credit), rate (1/s, at rank 0)",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(incast_smsg)
