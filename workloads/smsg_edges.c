/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The limits of SMSG connections. Ranks work in pairs, both directions at once: exactly as many
 * messages as there are credits are accepted, all credits come back, messages of full length and
 * of any length arrive whole and in order, with header, data and tag as they were sent. Then the
 * connection is made anew.
 */
#include "support/gni.h"

static const struct workload_arg args[] = {
    {"bytes", ARG_BYTES, "1KiB", "16", "65535", NULL, "of the longest message"},
    {"credits", ARG_COUNT, "16", "1", "4096", NULL, "messages in flight per direction"},
    {"messages", ARG_COUNT, "300", "1", "1000000000", NULL, "of random length, per round"},
    {"rounds", ARG_COUNT, "2", "1", "1000000", NULL, "of all tests; each with a new connection"},
    {"give_up", ARG_TIME, "20s", "1ms", NULL, NULL, "without any news for so long"},
    {NULL},
};

struct test {
    struct wl_domain domain;
    uint32_t peer, bytes, credits;
    uint64_t messages, sent, received, in_flight;
    uint8_t *buffer;
};

/* ---- messages -------------------------------------------------------------------------------- */

/* Length, tag and content of a message depend on its number. */
struct shape {
    uint32_t header, data;
    uint8_t tag;
    uint64_t seed;
};

enum lengths { SHORT, FULL, ANY };

static uint64_t mixed(uint64_t number)
{
    number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9ull;
    number = (number ^ number >> 27) * 0x94d049bb133111ebull;
    return number ^ number >> 31;
}

static struct shape shape_of(const struct test *test, uint32_t from, uint64_t number,
                             enum lengths lengths)
{
    uint64_t seed = mixed((uint64_t)from << 40 ^ (number + 1)), draw = mixed(seed);
    uint32_t length = lengths == SHORT ? 8 : test->bytes;

    if (lengths == ANY)
        length = (uint32_t)(draw % 4 != 0 ? draw / 4 % 65 : draw / 4 % (test->bytes + 1ull));
    length = length > test->bytes ? test->bytes : length;
    return (struct shape){
        .header = (uint32_t)(draw >> 40) % (length + 1),
        .data = length - (uint32_t)(draw >> 40) % (length + 1),
        .tag = (uint8_t)(draw >> 56) % 254,
        .seed = seed,
    };
}

/* GNI_RC_SUCCESS, GNI_RC_NOT_DONE, or an error. */
static gni_return_t send(struct test *test, enum lengths lengths)
{
    struct shape shape = shape_of(test, test->domain.id, test->sent, lengths);
    uint8_t *data = test->buffer + shape.header;
    gni_return_t rc;

    wl_pattern_fill(test->buffer, shape.header + shape.data, shape.seed);
    rc = GNI_SmsgSendWTag(
        wl_domain_ep(&test->domain, test->peer), shape.header != 0 ? test->buffer : NULL,
        shape.header, shape.data != 0 ? data : NULL, shape.data, (uint32_t)test->sent, shape.tag);
    if (rc == GNI_RC_SUCCESS) {
        test->sent++;
        test->in_flight++;
    }
    return rc;
}

/* Takes at most one completion. */
static int complete(struct test *test)
{
    gni_cq_entry_t event = 0;
    gni_return_t rc = GNI_CqGetEvent(test->domain.tx, &event);

    if (rc == GNI_RC_NOT_DONE)
        return 0;
    test->in_flight--;
    test->domain.progress_count++;
    return rc == GNI_RC_SUCCESS
               ? 0
               : rank_fail(test->domain.rank, "a message ended with %s", wl_rc_name(rc));
}

static int complete_all(struct test *test)
{
    int status = 0;

    while (status == 0 && test->in_flight > 0) {
        status = complete(test);
        if (wl_domain_timed_out(&test->domain))
            return rank_fail(test->domain.rank, "%llu messages did not end",
                             (unsigned long long)test->in_flight);
    }
    return status;
}

/* The queue of arrivals has an entry for each message and for each return of credits. */
static void drain_events(struct test *test)
{
    gni_cq_entry_t event;

    while (GNI_CqGetEvent(test->domain.rx, &event) != GNI_RC_NOT_DONE)
        ;
}

/* 1: a message was received; 0: there is none; -1: it is wrong. */
static int receive(struct test *test, enum lengths lengths)
{
    gni_ep_handle_t ep = wl_domain_ep(&test->domain, test->peer);
    struct shape shape = shape_of(test, test->peer, test->received, lengths);
    uint8_t tag = (uint8_t)(shape.tag + 1), again = GNI_SMSG_ANY_TAG;
    void *message = NULL;
    gni_return_t rc = GNI_SmsgGetNextWTag(ep, &message, &tag);

    if (rc == GNI_RC_NOT_DONE)
        return 0;
    if (rc != GNI_RC_NO_MATCH || tag != shape.tag)
        return rank_fail(test->domain.rank,
                         "message %llu: another tag than its own: %s, tag %u, not %u",
                         (unsigned long long)test->received, wl_rc_name(rc), tag, shape.tag);
    rc = GNI_SmsgGetNextWTag(ep, &message, &again);
    if (rc != GNI_RC_SUCCESS || again != shape.tag ||
        wl_pattern_differs(message, shape.header + shape.data, shape.seed))
        return rank_fail(test->domain.rank, "message %llu of %u and %u bytes is wrong (%s)",
                         (unsigned long long)test->received, shape.header, shape.data,
                         wl_rc_name(rc));
    rc = GNI_SmsgRelease(ep);
    if (rc != GNI_RC_SUCCESS)
        return rank_fail(test->domain.rank, "cannot release a message: %s", wl_rc_name(rc));
    test->received++;
    test->domain.progress_count++;
    rank_progress(test->domain.rank);
    return 1;
}

static int receive_until(struct test *test, uint64_t number, enum lengths lengths)
{
    int got = 0;

    while (got >= 0 && test->received < number) {
        got = receive(test, lengths);
        drain_events(test);
        if (got == 0 && wl_domain_timed_out(&test->domain))
            return rank_fail(test->domain.rank, "%llu of %llu messages arrived",
                             (unsigned long long)test->received, (unsigned long long)number);
    }
    return got < 0 ? -1 : 0;
}

/* ---- credits --------------------------------------------------------------------------------- */

/* Sends until there is no credit or no room. The peer does not receive meanwhile. */
static int fill(struct test *test, enum lengths lengths, uint64_t *count)
{
    gni_return_t rc = GNI_RC_SUCCESS;

    unsigned again = 2;

    *count = 0;
    while (again > 0 && *count <= test->credits) {
        rc = send(test, lengths);
        *count += rc == GNI_RC_SUCCESS;
        if (rc == GNI_RC_SUCCESS)
            continue;
        if (rc != GNI_RC_NOT_DONE)
            break;
        again--;
        rank_compute(50000000); /* credits may come with messages of the peer */
    }
    if (rc != GNI_RC_SUCCESS && rc != GNI_RC_NOT_DONE)
        return rank_fail(test->domain.rank, "cannot send: %s", wl_rc_name(rc));
    return complete_all(test);
}

/* Whether short messages use up the credits before they fill the mailbox. */
static bool all_fit(const struct test *test)
{
    return 32ull * test->credits <= 300 + 8ull * test->credits + 4ull * test->bytes;
}

/* Twice, because the second time all credits must be back. */
static int run_credits(struct test *test, enum lengths lengths)
{
    uint64_t count = 0, first = 0;
    const uint64_t *all;
    int status = 0, i;

    for (i = 0; i < 2; i++) {
        if (status == 0)
            status = fill(test, lengths, &count);
        if (status == 0 && lengths == SHORT && count != test->credits && all_fit(test))
            status = rank_fail(test->domain.rank, "%llu messages were accepted with %u credits",
                               (unsigned long long)count, test->credits);
        /* The next message of the peer returns the credits of the last messages. */
        if (status == 0 && lengths == FULL && count < (i == 0 ? 4 : first / 2) &&
            count < test->credits)
            status = rank_fail(test->domain.rank, "only %llu messages of full length were accepted",
                               (unsigned long long)count);
        first = count;
        rank_count(test->domain.rank, lengths == SHORT ? "short" : "full", count);
        all = rank_exchange(test->domain.rank, &test->sent, sizeof(test->sent));
        if (all == NULL)
            return -1;
        if (status == 0)
            status = receive_until(test, all[test->peer], lengths);
        rank_barrier(test->domain.rank);
        rank_compute(100000000); /* until the last return of credits has arrived */
    }
    return status;
}

/* Three quarters of a full mailbox are released: messages of full length take their place. */
static int run_refill(struct test *test)
{
    uint64_t count = 0, part;
    const uint64_t *all;
    int status = fill(test, FULL, &count);

    all = rank_exchange(test->domain.rank, &test->sent, sizeof(test->sent));
    if (all == NULL)
        return -1;
    part = (all[test->peer] - test->received) * 3 / 4;
    if (status == 0)
        status = receive_until(test, test->received + part, FULL);
    rank_barrier(test->domain.rank);
    rank_compute(100000000); /* until the return of credits has arrived */
    if (status == 0)
        status = fill(test, FULL, &count);
    rank_count(test->domain.rank, "refilled", count);
    all = rank_exchange(test->domain.rank, &test->sent, sizeof(test->sent));
    if (status == 0)
        status = all != NULL ? receive_until(test, all[test->peer], FULL) : -1;
    rank_barrier(test->domain.rank);
    rank_compute(100000000);
    return status;
}

/*
 * The peer releases some messages between two short ones of its own, and too few to report them
 * otherwise: the second one returns their credits, though this rank has read neither of them.
 */
static int run_unread(struct test *test)
{
    bool leads = test->domain.id < test->peer;
    uint64_t some = test->credits / 2 - 1, count = 0, i;
    const uint64_t *all;
    int status = 0;

    if (test->credits < 8 || !all_fit(test))
        return 0;
    if (leads)
        status = fill(test, SHORT, &count);
    rank_barrier(test->domain.rank);
    if (!leads && send(test, SHORT) != GNI_RC_SUCCESS)
        status = rank_fail(test->domain.rank, "no credit for the first message");
    if (!leads && status == 0)
        status = receive_until(test, test->received + some, SHORT);
    if (!leads && status == 0 && send(test, SHORT) != GNI_RC_SUCCESS)
        status = rank_fail(test->domain.rank, "no credit for the second message");
    if (!leads && status == 0)
        status = complete_all(test);
    rank_barrier(test->domain.rank);
    rank_compute(100000000); /* both have arrived */
    for (i = 0; leads && i < some && status == 0; i++)
        if (send(test, SHORT) != GNI_RC_SUCCESS)
            status = rank_fail(test->domain.rank, "of %llu credits in unread messages %llu came",
                               (unsigned long long)some, (unsigned long long)i);
    if (status == 0)
        status = complete_all(test);
    all = rank_exchange(test->domain.rank, &test->sent, sizeof(test->sent));
    if (status == 0)
        status = all != NULL ? receive_until(test, all[test->peer], SHORT) : -1;
    rank_barrier(test->domain.rank);
    rank_compute(100000000);
    return status;
}

/* ---- random messages ------------------------------------------------------------------------- */

static int run_random(struct test *test)
{
    uint64_t to = test->sent + test->messages, from = test->received + test->messages;
    gni_return_t rc = GNI_RC_SUCCESS;
    int status = 0, got = 0;

    while (status == 0 && (test->sent < to || test->received < from)) {
        rc = test->sent < to ? send(test, ANY) : GNI_RC_NOT_DONE;
        if (rc != GNI_RC_SUCCESS && rc != GNI_RC_NOT_DONE)
            return rank_fail(test->domain.rank, "cannot send: %s", wl_rc_name(rc));
        got = test->received < from ? receive(test, ANY) : 0;
        status = got < 0 ? -1 : complete(test);
        drain_events(test);
        if (rc == GNI_RC_NOT_DONE && got == 0 && wl_domain_timed_out(&test->domain))
            return rank_fail(test->domain.rank, "%llu of %llu messages were sent, %llu received",
                             (unsigned long long)test->sent, (unsigned long long)to,
                             (unsigned long long)test->received);
    }
    return status == 0 ? complete_all(test) : status;
}

static int run_too_long(struct test *test)
{
    gni_return_t rc = GNI_SmsgSend(wl_domain_ep(&test->domain, test->peer), NULL, 0, test->buffer,
                                   test->bytes + 1, 0);

    if (rc != GNI_RC_ERROR_RESOURCE)
        return rank_fail(test->domain.rank, "a message of %u bytes: %s", test->bytes + 1,
                         wl_rc_name(rc));
    return 0;
}

/* ---- connections ----------------------------------------------------------------------------- */

static int connect(struct test *test)
{
    if (wl_mailboxes_open(&test->domain, test->domain.size, (uint16_t)test->credits, test->bytes,
                          1) != 0)
        return -1;
    return wl_message_connect(&test->domain, test->peer, test->peer, test->domain.id);
}

/* No message is in flight. */
static int disconnect(struct test *test)
{
    gni_ep_handle_t ep = wl_domain_ep(&test->domain, test->peer);
    gni_return_t rc = GNI_EpUnbind(ep);

    if (rc == GNI_RC_SUCCESS)
        rc = GNI_EpBind(ep, test->domain.addresses[test->peer], test->peer);
    if (rc == GNI_RC_SUCCESS)
        rc = GNI_EpSetEventData(ep, test->peer, test->domain.id);
    test->domain.peers[test->peer].connected = 0;
    rank_barrier(test->domain.rank);
    wl_mailboxes_close(&test->domain);
    return rc == GNI_RC_SUCCESS ? 0
                                : rank_fail(test->domain.rank, "cannot unbind: %s", wl_rc_name(rc));
}

static int run_all(struct test *test)
{
    int status = run_credits(test, SHORT);

    if (status == 0)
        status = run_credits(test, FULL);
    if (status == 0)
        status = run_refill(test);
    if (status == 0)
        status = run_unread(test);
    if (status == 0)
        status = run_random(test);
    rank_barrier(test->domain.rank);
    rank_compute(100000000);
    if (status == 0)
        status = run_credits(test, SHORT);
    return status == 0 ? run_too_long(test) : status;
}

static int run(struct rank *rank)
{
    struct test test = {
        .bytes = (uint32_t)rank_arg_count(rank, "bytes"),
        .credits = (uint32_t)rank_arg_count(rank, "credits"),
        .messages = rank_arg_count(rank, "messages"),
    };
    uint64_t rounds = rank_arg_count(rank, "rounds"), round;
    int status = wl_domain_open(&test.domain, rank, 4 * (test.credits + 64), 0);

    wl_domain_set_timeout(&test.domain, rank_arg_ps(rank, "give_up"));
    test.peer = wl_pair_of(&test.domain);
    test.buffer = malloc(test.bytes + 1);
    if (status == 0 && test.peer == UINT32_MAX)
        status = rank_fail(rank, "needs an even number of ranks");
    for (round = 0; round < rounds && status == 0; round++) {
        status = connect(&test);
        rank_barrier(rank);
        if (status == 0)
            status = run_all(&test);
        rank_barrier(rank);
        if (status == 0)
            status = disconnect(&test);
        test.sent = test.received = 0;
    }
    rank_barrier(rank);
    wl_mailboxes_close(&test.domain);
    wl_domain_close(&test.domain);
    free(test.buffer);
    return status != 0;
}

static const struct workload smsg_edges = {
    .name = "smsg_edges",
    .meaning = "pairs of ranks use the last credit and the last byte of their mailboxes, verified",
    .metrics = "short, full, refilled (messages that were accepted before the mailboxes were full)",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(smsg_edges)
