/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Every rank sends messages to random peers and receives what comes, both at once. Sender, number
 * and content of each are verified. The number of messages to receive is known from the start,
 * because each rank draws its peers once in advance: there are no other messages and no barriers
 * during the traffic.
 *
 * With `peers` each rank has only so many partners, at the same distances from each rank: what
 * large jobs need, in which a mailbox for each other rank would take too much memory.
 */
#include "support/gni.h"

static const struct workload_arg args[] = {
    {"bytes", ARG_BYTES, "8", "8", "65535", NULL,
     "length of a message; from 16 on its latency is measured"},
    {"messages", ARG_COUNT, "1000", "1", "1000000000", NULL, "messages of each rank"},
    {"peers", ARG_COUNT, "0", "0", "65536", NULL, "partners of each rank, even; 0: all others"},
    {"credits", ARG_COUNT, "16", "1", "4096", NULL, "messages in flight per pair"},
    {"software", ARG_TIME, "0", "0", "1ms", NULL,
     "time of software above uGNI, per message and side"},
    {"give_up", ARG_TIME, "20s", "1ms", NULL, NULL, "without any news for so long"},
    {NULL},
};

#define COMPLETIONS_DUE 32 /* completions are polled when so many sends are in flight */

struct head {
    uint64_t mark, sent_at; /* short messages end behind the mark */
};

struct partner {
    uint32_t rank, sent, received;
};

struct test {
    struct wl_domain domain;
    uint64_t messages, software;
    uint64_t sent, received, expected;
    uint64_t start, random; /* of the choice of peers */
    uint32_t bytes, count; /* count: of partners */
    struct partner *partners;
    uint32_t *index; /* of a partner, by rank, from 1 */
    uint8_t *pattern;
};

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1dull;
}

static uint32_t draw(struct test *test)
{
    return (uint32_t)((next_random(&test->random) >> 32) * test->count >> 32);
}

/* A number that identifies sender, receiver and message. */
static uint64_t mark_of(uint32_t from, uint32_t to, uint32_t number)
{
    return (uint64_t)number << 32 | ((from + 1) * 0x9e3779b1u ^ to * 0x85ebca6bu ^ number);
}

/* ---- partners -------------------------------------------------------------------------------- */

/*
 * The same distances everywhere, each with its opposite: of our k-th partner we are number
 * count - 1 - k.
 */
static int choose_partners(struct test *test, uint32_t wanted)
{
    uint32_t size = test->domain.size, half = (size - 1) / 2, distance, left, k = 0;
    uint64_t mine = rank_random(test->domain.rank) | 1, common;
    const uint64_t *all = rank_exchange(test->domain.rank, &mine, sizeof(mine));

    test->start = test->random = mine;
    test->count = wanted == 0 || wanted >= size - 1 ? size - 1 : (wanted + 1) / 2 * 2;
    test->partners = calloc(test->count, sizeof(*test->partners));
    test->index = calloc(size, sizeof(*test->index));
    if (all == NULL || test->partners == NULL || test->index == NULL)
        return rank_fail(test->domain.rank, "no memory for %u partners", test->count);
    common = all[0];
    left = test->count / 2;
    for (distance = 1; distance < size; distance++) {
        bool taken = test->count == size - 1;

        if (!taken && distance <= half) {
            taken = next_random(&common) % (half + 1 - distance) < left;
            left -= taken;
        } else if (!taken) { /* the opposite of one that was taken? */
            taken = test->index[(test->domain.id + size - distance) % size] != 0;
        }
        if (taken) {
            test->partners[k++].rank = (test->domain.id + distance) % size;
            test->index[test->partners[k - 1].rank] = k;
        }
    }
    return 0;
}

/* Draws the peers as the run will, and exchanges the numbers of messages with the partners. */
static int expect(struct test *test)
{
    uint32_t *mine = calloc(test->count, sizeof(*mine)), k;
    const uint32_t *all;
    uint64_t i;

    if (mine == NULL)
        return rank_fail(test->domain.rank, "no memory");
    for (i = 0; i < test->messages; i++)
        mine[draw(test)]++;
    test->random = test->start;
    all = rank_exchange(test->domain.rank, mine, test->count * sizeof(*mine));
    free(mine);
    if (all == NULL)
        return -1;
    for (k = 0; k < test->count; k++)
        test->expected += all[(size_t)test->partners[k].rank * test->count + test->count - 1 - k];
    return 0;
}

static int connect_all(struct test *test)
{
    uint32_t k;

    for (k = 0; k < test->count; k++)
        if (wl_message_connect(&test->domain, test->partners[k].rank, k, test->count - 1 - k) != 0)
            return -1;
    return 0;
}

/* ---- traffic --------------------------------------------------------------------------------- */

static int send_one(struct test *test, struct partner *to)
{
    struct head head = {.mark = mark_of(test->domain.id, to->rank, to->sent)};

    if (test->bytes < sizeof(head))
        return wl_message_try(&test->domain, to->rank, &head.mark, test->bytes);
    head.sent_at = rank_now();
    memcpy(test->pattern, &head, sizeof(head));
    return wl_message_try(&test->domain, to->rank, test->pattern, test->bytes);
}

static int check(struct test *test, uint32_t from, const uint8_t *message)
{
    struct partner *partner = &test->partners[test->index[from] - 1];
    struct head head;

    memcpy(&head.mark, message, sizeof(head.mark));
    if (head.mark != mark_of(from, test->domain.id, partner->received))
        return rank_fail(test->domain.rank, "message %u of rank %u begins with %#llx",
                         partner->received, from, (unsigned long long)head.mark);
    partner->received++;
    test->received++;
    if (test->bytes < sizeof(head))
        return 0;
    memcpy(&head, message, sizeof(head));
    rank_record_latency(test->domain.rank, "latency", rank_now() - head.sent_at);
    if (memcmp(message + sizeof(head), test->pattern + sizeof(head), test->bytes - sizeof(head)))
        return rank_fail(test->domain.rank, "message %u of rank %u is wrong", partner->received,
                         from);
    return 0;
}

/* Sends and receives until all is done. */
static int traffic(struct test *test)
{
    struct wl_domain *domain = &test->domain;
    struct partner *to = &test->partners[draw(test)];
    int accepted = 0, status = 0;
    const uint8_t *message;
    uint32_t from;

    while ((test->sent < test->messages || test->received < test->expected) && status == 0) {
        if (test->sent < test->messages)
            accepted = send_one(test, to);
        else
            accepted = 0;
        if (accepted < 0)
            return -1;
        if (accepted) {
            rank_compute(test->software);
            to->sent++;
            test->sent++;
            to = &test->partners[draw(test)];
        }
        message = wl_message_poll(domain, &from);
        if (message != NULL) {
            rank_compute(test->software);
            status = check(test, from, message);
            wl_message_release(domain, from);
            rank_progress(domain->rank);
        }
        if (domain->in_flight >= COMPLETIONS_DUE || (!accepted && message == NULL))
            wl_message_poll_completions(domain);
        if (!accepted && message == NULL && wl_domain_timed_out(domain))
            break;
    }
    wl_message_flush(domain);
    return status;
}

static int run(struct rank *rank)
{
    struct test test = {
        .bytes = (uint32_t)rank_arg_count(rank, "bytes"),
        .messages = rank_arg_count(rank, "messages"),
        .software = rank_arg_ps(rank, "software"),
    };
    uint16_t credits = (uint16_t)rank_arg_count(rank, "credits");
    uint64_t wanted = rank_arg_count(rank, "peers"), began;
    uint64_t most = wanted == 0 || wanted > rank_size(rank) ? rank_size(rank) : wanted;
    /* Each message and each return of credits is an event. */
    int status = wl_domain_open(&test.domain, rank, (uint32_t)(2 * (most + 1) * credits), 0);

    wl_domain_set_timeout(&test.domain, rank_arg_ps(rank, "give_up"));
    test.pattern = malloc(test.bytes);
    wl_pattern_fill(test.pattern, test.bytes, 1);
    if (status == 0)
        status = choose_partners(&test, (uint32_t)wanted);
    if (status == 0)
        status = wl_mailboxes_open(&test.domain, test.count, credits, test.bytes, 1);
    if (status == 0)
        status = expect(&test);
    if (status == 0)
        status = connect_all(&test);
    if (status == 0) {
        began = rank_now();
        status = traffic(&test);
        rank_record_rate(rank, "rate", test.received, rank_now() - began);
    }
    if (wl_domain_finish(&test.domain, test.expected - test.received) != 0)
        status = -1;
    wl_mailboxes_close(&test.domain);
    wl_domain_close(&test.domain);
    free(test.partners);
    free(test.index);
    free(test.pattern);
    return status != 0;
}

static const struct workload smsg_random = {
    .name = "smsg_random",
    .meaning = "every rank sends messages to random peers and receives theirs",
    .metrics = "rate (1/s, received per rank), latency (ps, one way)",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(smsg_random)
