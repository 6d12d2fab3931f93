/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Every rank sends messages to ranks chosen at random and receives what comes, both at once. Each
 * sender's messages must arrive complete and in order. How many there will be is told beforehand:
 * each rank draws its targets twice.
 */
#include "common.h"

static const struct workload_arg args[] = {
    {"bytes", ARG_BYTES, "16", "16", "65535", NULL, "length of a message"},
    {"messages", ARG_COUNT, "1000", "1", "1000000000", NULL, "messages of each rank"},
    {"credits", ARG_COUNT, "8", "1", "4096", NULL, "messages in flight per pair"},
    {"software", ARG_TIME, "0", "0", "1ms", NULL,
     "time of software above uGNI, per message and side"},
    {"give_up", ARG_TIME, "60s", "1ms", NULL, NULL, "without any news for so long"},
    {NULL},
};

struct head {
    uint64_t number, sent_at; /* number: of those from this sender to this receiver */
};

struct test {
    struct domain domain;
    uint64_t draw; /* state of the generator of targets */
    uint32_t bytes;
    uint64_t messages, software, expected;
    uint64_t *sent, *received; /* by peer */
    uint8_t *pattern;
};

/* The next target: anybody else. */
static uint32_t next_target(struct test *test)
{
    uint32_t target;

    test->draw ^= test->draw << 13;
    test->draw ^= test->draw >> 7;
    test->draw ^= test->draw << 17;
    target = (uint32_t)(test->draw >> 16) % (test->domain.size - 1);
    return target + (target >= test->domain.id);
}

/* Tells everybody how many messages to expect from us, and adds up what they tell. */
static int announce(struct test *test)
{
    uint32_t size = test->domain.size, peer;
    uint32_t *mine = calloc(size, sizeof(*mine));
    const uint32_t *all;
    uint64_t first = test->draw, i;

    for (i = 0; i < test->messages; i++)
        mine[next_target(test)]++;
    test->draw = first;
    all = rank_exchange(test->domain.rank, mine, size * sizeof(*mine));
    for (peer = 0; peer < size && all != NULL; peer++)
        test->expected += all[(size_t)peer * size + test->domain.id];
    free(mine);
    return all != NULL ? 0 : -1;
}

static int check(struct test *test, uint32_t from, const uint8_t *message)
{
    struct rank *rank = test->domain.rank;
    struct head head;

    memcpy(&head, message, sizeof(head));
    rank_record_latency(rank, "latency", rank_now() - head.sent_at);
    if (head.number != ++test->received[from])
        return rank_fail(rank, "message %llu of rank %u came where %llu was due",
                         (unsigned long long)head.number, from,
                         (unsigned long long)test->received[from]);
    if (memcmp(message + sizeof(head), test->pattern + sizeof(head), test->bytes - sizeof(head)))
        return rank_fail(rank, "message %llu of rank %u is wrong", (unsigned long long)head.number,
                         from);
    rank_progress(rank);
    return 0;
}

/* 1: sent; 0: no credit now; -1: failed. */
static int send_one(struct test *test, uint32_t target)
{
    struct head head = {.number = test->sent[target] + 1, .sent_at = rank_now()};
    int accepted;

    memcpy(test->pattern, &head, sizeof(head));
    accepted = message_try(&test->domain, target, test->pattern, test->bytes);
    if (accepted > 0) {
        test->sent[target]++;
        rank_compute(test->software);
    }
    return accepted;
}

static int traffic(struct test *test)
{
    uint32_t target = next_target(test), from;
    uint64_t out = 0, in = 0, began = rank_now();
    const uint8_t *message;
    int accepted, status = 0;

    while (status == 0 && (out < test->messages || in < test->expected)) {
        accepted = out < test->messages ? send_one(test, target) : 0;
        if (accepted > 0 && ++out < test->messages)
            target = next_target(test);
        message_completions(&test->domain);
        message = message_poll(&test->domain, &from);
        if (message != NULL) {
            rank_compute(test->software);
            status = check(test, from, message);
            message_release(&test->domain, from);
            in++;
        } else if (accepted < 0 || (accepted == 0 && domain_gave_up(&test->domain))) {
            break;
        }
    }
    message_flush(&test->domain);
    rank_record_rate(test->domain.rank, "rate", in, rank_now() - began);
    test->expected -= in; /* what is missing */
    return status;
}

static int run(struct rank *rank)
{
    struct test test = {
        .bytes = (uint32_t)rank_arg_count(rank, "bytes"),
        .messages = rank_arg_count(rank, "messages"),
        .software = rank_arg_ps(rank, "software"),
        .draw = rank_random(rank) | 1,
    };
    uint32_t size = rank_size(rank);
    int status = domain_open(&test.domain, rank, 1024, 0);

    domain_patience(&test.domain, rank_arg_ps(rank, "give_up"));
    test.sent = calloc(size, sizeof(*test.sent));
    test.received = calloc(size, sizeof(*test.received));
    test.pattern = malloc(test.bytes);
    pattern_fill(test.pattern, test.bytes, 1);
    if (status == 0)
        status = messages_open(&test.domain, size, (uint16_t)rank_arg_count(rank, "credits"),
                               test.bytes, 1);
    if (status == 0)
        status = announce(&test);
    if (status == 0)
        status = traffic(&test);
    if (domain_finish(&test.domain, test.expected) != 0)
        status = -1;
    messages_close(&test.domain);
    domain_close(&test.domain);
    free(test.sent);
    free(test.received);
    free(test.pattern);
    return status != 0;
}

static const struct workload smsg_random = {
    .name = "smsg_random",
    .meaning = "every rank sends messages to ranks chosen at random",
    .metrics = "latency (ps, one way), rate (1/s, received per rank)",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(smsg_random)
