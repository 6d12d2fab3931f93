/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What libfabric promises about messages besides moving bytes, between pairs of ranks: messages
 * that do not fit, words beside messages, delivery-complete sends, the order in which receives
 * match, and multi-receive buffers; and the events that a program writes itself. Each completion
 * must be the right one, at the right time.
 */
#include <rdma/fi_eq.h>
#include "support/fi_pair.h"

static const struct workload_arg args[] = {
    WL_FI_ARGS,
    {"rounds", ARG_COUNT, "2", "1", "1000000", NULL, "of all tests"},
    {NULL},
};

#define MULTI 65536u /* of a multi-receive buffer */
#define LEAST 4096u /* bytes that are left of it when it is released */

/* Two events in any order; the last one is that of `second`, if they come as they should. */
static int both(struct wl_pair *test, const void *first, const void *second, const char *what)
{
    struct wl_fi_event event, kept = {.error = -1};
    unsigned i;

    for (i = 0; i < 2; i++) {
        if (!wl_fi_wait(&test->fi, &event))
            return rank_fail(test->fi.rank, "%s: no completion", what);
        if (event.entry.op_context == second)
            kept = event;
        else if (event.entry.op_context != first || event.error != 0)
            return rank_fail(test->fi.rank, "%s: another completion, error %d", what, event.error);
    }
    test->event = kept;
    return kept.error >= 0 ? 0 : wl_pair_fail(test, what);
}

/* ---- messages -------------------------------------------------------------------------------- */

static int receive(struct wl_pair *test, uint8_t *at, size_t bytes, uint64_t tag, uint64_t ignore)
{
    memset(at, 0, bytes);
    return wl_fi_post(&test->fi,
                      fi_trecv(test->fi.ep, at, bytes, NULL, FI_ADDR_UNSPEC, tag, ignore, at));
}

static int send(struct wl_pair *test, size_t bytes, uint64_t tag)
{
    wl_pattern_fill(test->out, bytes, wl_pair_seed(test, true, bytes));
    return wl_fi_post(&test->fi,
                      fi_tsend(test->fi.ep, test->out, bytes, NULL, test->to, tag, test->out));
}

/* A message that is too long for its receive: its beginning arrives, and the rest is reported. */
static int run_truncation(struct wl_pair *test)
{
    static const size_t sent[] = {100, 101, 1000, 50001, WL_PAIR_LONG},
                        room[] = {50, 100, 999, 50000, 1003};
    int status = 0;
    size_t i;

    for (i = 0; i < sizeof(sent) / sizeof(sent[0]) && status == 0; i++) {
        status = receive(test, test->in, room[i], 7, 0);
        if (status == 0)
            status = send(test, sent[i], 7);
        if (status == 0)
            status = both(test, test->out, test->in, "a message that is too long");
        if (status == 0 &&
            (test->event.error != FI_ETRUNC || test->event.excess != sent[i] - room[i] ||
             wl_pattern_differs(test->in, room[i], wl_pair_seed(test, false, sent[i]))))
            status = wl_pair_fail(test, "a message that is too long");
        test->fi.errors = 0; /* this one was expected */
    }
    return status;
}

/* All lengths around those at which the way of a message changes. */
static int run_lengths(struct wl_pair *test)
{
    static const size_t around[] = {8, 64, 960, 1024, 16384, 65536, WL_PAIR_LONG};
    size_t i, bytes;
    int status = 0;

    for (i = 0; i < sizeof(around) / sizeof(around[0]); i++) {
        for (bytes = around[i] - 5; bytes <= around[i] + 5 && status == 0; bytes++) {
            status = receive(test, test->in, WL_PAIR_LONG + 64, bytes, 0);
            if (status == 0)
                status = send(test, bytes, bytes);
            if (status == 0)
                status = both(test, test->out, test->in, "a message");
            if (status == 0 &&
                (test->event.error != 0 || test->event.entry.len != bytes ||
                 test->event.entry.tag != bytes || test->in[bytes] != 0 ||
                 wl_pattern_differs(test->in, bytes, wl_pair_seed(test, false, bytes))))
                status = wl_pair_fail(test, "a message");
        }
    }
    return status;
}

static int run_words(struct wl_pair *test)
{
    static const size_t lengths[] = {0, 8, 600, 70000};
    int status = 0;
    size_t i;

    for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]) && status == 0; i++) {
        status = receive(test, test->in, WL_PAIR_LONG, 9, 0);
        if (status == 0)
            status =
                wl_fi_post(&test->fi, fi_tsenddata(test->fi.ep, test->out, lengths[i], NULL,
                                                   0x1234567890abcdef - i, test->to, 9, test->out));
        if (status == 0)
            status = both(test, test->out, test->in, "a message with a word");
        if (status == 0 && (!(test->event.entry.flags & FI_REMOTE_CQ_DATA) ||
                            test->event.entry.data != 0x1234567890abcdef - i))
            status = wl_pair_fail(test, "a message with a word");
    }
    return status;
}

/* ---- delivery -------------------------------------------------------------------------------- */

/* A delivery-complete send may not end before its receive was posted, which is late. */
static int run_delivery(struct wl_pair *test)
{
    static const size_t lengths[] = {8, 900, 30000, WL_PAIR_LONG};
    struct times {
        uint64_t received, ended;
    } mine;
    const struct times *all;
    int status = 0;
    size_t i;

    for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]) && status == 0; i++) {
        struct iovec iov = {test->out, lengths[i]};
        struct fi_msg_tagged message = {
            .msg_iov = &iov, .iov_count = 1, .addr = test->to, .tag = 11, .context = test->out};

        wl_pattern_fill(test->out, lengths[i], wl_pair_seed(test, true, i));
        status = wl_fi_post(
            &test->fi, fi_tsendmsg(test->fi.ep, &message, FI_DELIVERY_COMPLETE | FI_COMPLETION));
        if (test->fi.id < test->peer) /* the other one receives late */
            rank_compute(50000000);
        mine.received = rank_now();
        if (status == 0)
            status = receive(test, test->in, lengths[i], 11, 0);
        if (status == 0)
            status = both(test, test->in, test->out, "a delivery-complete send");
        mine.ended = rank_now();
        if (status == 0 && (test->event.error != 0 ||
                            wl_pattern_differs(test->in, lengths[i], wl_pair_seed(test, false, i))))
            status = wl_pair_fail(test, "a delivery-complete send");
        all = wl_fi_exchange(&test->fi, &mine, sizeof(mine));
        if (status == 0 && (all == NULL || mine.ended < all[test->peer].received))
            status = wl_pair_fail(test, "a delivery-complete send ended before it was received");
    }
    return status;
}

/* The same, with only the send to wait for. */
static int run_delivery_first(struct wl_pair *test)
{
    bool leads = wl_fi_leads(&test->fi);
    struct iovec iov = {test->out, 64};
    struct fi_msg_tagged message = {
        .msg_iov = &iov, .iov_count = 1, .addr = test->to, .tag = 12, .context = test->out};
    uint64_t mine = UINT64_MAX;
    const uint64_t *all;
    int status = 0;

    if (leads) {
        status = wl_fi_post(
            &test->fi, fi_tsendmsg(test->fi.ep, &message, FI_DELIVERY_COMPLETE | FI_COMPLETION));
        if (status == 0)
            status = wl_pair_next(test, test->out, "a delivery-complete send");
        mine = rank_now();
    } else {
        rank_compute(50000000);
        mine = rank_now();
        status = receive(test, test->in, 64, 12, 0);
        if (status == 0)
            status = wl_pair_next(test, test->in, "a receive");
    }
    all = wl_fi_exchange(&test->fi, &mine, sizeof(mine));
    if (status == 0 && leads && (all == NULL || mine < all[test->peer]))
        status = wl_pair_fail(test, "a delivery-complete send ended before it was received");
    return status;
}

/* ---- matching -------------------------------------------------------------------------------- */

/* Receives match in the order in which they were posted, messages in that in which they came. */
static int run_matching(struct wl_pair *test)
{
    uint8_t *masked = test->in, *exact = test->in + WL_PAIR_PAGE,
            *other = test->in + 2 * WL_PAIR_PAGE;
    int status = receive(test, masked, 8, 0x100000020, 0xf);

    if (status == 0)
        status = receive(test, exact, 8, 0x100000021, 0);
    if (status == 0)
        status = receive(test, other, 8, 0x200000021, 0xf);
    if (status == 0)
        status = wl_pair_meet(test);
    if (status == 0)
        status = send(test, 8, 0x100000021);
    if (status == 0)
        status = both(test, test->out, masked, "the receive with a mask was posted first");
    if (status == 0)
        status = send(test, 8, 0x100000021);
    if (status == 0)
        status = both(test, test->out, exact, "the receive without a mask is next");
    if (status == 0)
        status = send(test, 8, 0x20000002f);
    if (status == 0)
        status = both(test, test->out, other, "the high part of the tag differs");
    return status;
}

/* Messages that came before their receives. */
static int run_unexpected(struct wl_pair *test)
{
    static const uint64_t tags[] = {0x300000001, 0x400000002, 0x300000003, 0x300000001};
    uint8_t *at[4];
    int status = 0;
    unsigned i;

    for (i = 0; i < 4 && status == 0; i++) {
        status = send(test, 8 + i, tags[i]);
        if (status == 0)
            status = wl_pair_next(test, test->out, "a send");
    }
    if (status == 0)
        status = wl_pair_meet(test);
    for (i = 0; i < 4; i++)
        at[i] = test->in + i * WL_PAIR_PAGE;
    /* the second, the first, the third, and the last one */
    if (status == 0)
        status = receive(test, at[0], 64, 0x400000000, 0xff);
    if (status == 0)
        status = wl_pair_next(test, at[0], "the message of another class");
    if (status == 0 && test->event.entry.len != 9)
        status = wl_pair_fail(test, "the message of another class");
    for (i = 1; i < 4 && status == 0; i++) {
        status = receive(test, at[i], 64, 0x300000000, 0xff);
        if (status == 0)
            status = wl_pair_next(test, at[i], "the oldest message");
        if (status == 0 && test->event.entry.len != (i == 1 ? 8u : 8u + i))
            status = wl_pair_fail(test, "the oldest message");
    }
    return status;
}

/* Three ranks: a directed receive does not take a message of another sender. */
static int run_directed(struct wl_pair *test)
{
    uint32_t size = test->fi.size, from = (test->fi.id + 1) % size,
             other = (test->fi.id + 2) % size;
    uint32_t to[2] = {(test->fi.id + size - 2) % size, (test->fi.id + size - 1) % size}, i;
    uint8_t *directed = test->in, *any = test->in + WL_PAIR_PAGE;
    int status;

    if (size < 3)
        return 0;
    memset(test->in, 0, 2 * WL_PAIR_PAGE);
    status = wl_fi_post(&test->fi, fi_trecv(test->fi.ep, directed, 4, NULL,
                                            wl_fi_address(&test->fi, from), 13, 0, directed));
    if (status == 0)
        status = receive(test, any, 4, 13, 0);
    if (status == 0)
        status = wl_pair_meet(test);
    memcpy(test->out, &test->fi.id, sizeof(test->fi.id));
    for (i = 0; i < 2 && status == 0; i++) {
        status = wl_fi_post(
            &test->fi, fi_tinject(test->fi.ep, test->out, 4, wl_fi_address(&test->fi, to[i]), 13));
        if (status == 0)
            status = wl_pair_meet(test); /* the message that is not meant comes first */
    }
    if (status == 0)
        status = both(test, any, directed, "a directed receive");
    if (status == 0 &&
        (memcmp(directed, &from, sizeof(from)) != 0 || memcmp(any, &other, sizeof(other)) != 0))
        status = wl_pair_fail(test, "a directed receive took a message of another sender");
    return status;
}

/* ---- multi-receive buffers ------------------------------------------------------------------- */

static size_t multi_length(uint64_t number)
{
    return 16 + (number * 2654435761u >> 7) % 3000;
}

struct multi {
    uint64_t used, received;
    bool sent, released;
};

/* Takes an event of the buffer, or of the send. */
static int take_multi(struct wl_pair *test, struct multi *multi)
{
    const struct fi_cq_tagged_entry *entry = &test->event.entry;

    if (!wl_fi_wait(&test->fi, &test->event))
        return rank_fail(test->fi.rank, "a multi-receive buffer: no completion");
    if (test->event.error != 0)
        return wl_pair_fail(test, "a multi-receive buffer");
    if (entry->op_context == test->out) {
        multi->sent = true;
        return 0;
    }
    if (multi->released)
        return wl_pair_fail(test, "a multi-receive buffer that was released");
    multi->released = (entry->flags & FI_MULTI_RECV) != 0;
    if (!(entry->flags & FI_RECV))
        return 0;
    if (entry->buf != test->in + multi->used || entry->len != multi_length(multi->received) ||
        wl_pattern_differs(entry->buf, entry->len, wl_pair_seed(test, false, multi->received)))
        return wl_pair_fail(test, "a message in a multi-receive buffer");
    multi->used += entry->len;
    multi->received++;
    return 0;
}

/* Messages lie behind each other, until less than LEAST bytes are left. */
static int run_multi(struct wl_pair *test)
{
    struct iovec iov = {test->in, MULTI};
    struct fi_msg message = {
        .msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = test->in};
    struct multi multi = {0};
    uint64_t number = 0, total = 0;
    size_t least = LEAST;
    int status =
        fi_setopt(&test->fi.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof(least));

    if (status == 0)
        status = wl_fi_post(&test->fi, fi_recvmsg(test->fi.ep, &message, FI_MULTI_RECV));
    if (status == 0)
        status = wl_pair_meet(test);
    while (status == 0 && MULTI - total >= LEAST) {
        multi.sent = false;
        wl_pattern_fill(test->out, multi_length(number), wl_pair_seed(test, true, number));
        status = wl_fi_post(&test->fi, fi_send(test->fi.ep, test->out, multi_length(number), NULL,
                                               test->to, test->out));
        total += multi_length(number++);
        while (status == 0 && (!multi.sent || multi.received < number))
            status = take_multi(test, &multi);
    }
    while (status == 0 && !multi.released)
        status = take_multi(test, &multi);
    return status;
}

/* ---- events of the program ------------------------------------------------------------------- */

#define EVENT 1000000u /* the first number of an event */

/* Writes events until the queue takes no more. How many, or -1. */
static int write_events(struct wl_pair *test, struct fid_eq *eq)
{
    uint32_t word = 0;
    ssize_t rc;

    do {
        word++;
        rc = fi_eq_write(eq, EVENT + word, &word, sizeof(word), 0);
    } while (rc == (ssize_t)sizeof(word));
    return rc == -FI_EAGAIN ? (int)(word - 1)
                            : rank_fail(test->fi.rank, "fi_eq_write: %s", fi_strerror((int)-rc));
}

/* Each event is there twice for a reader that looks at it first, and no event comes behind the last
 * one. */
static int read_events(struct wl_pair *test, struct fid_eq *eq, int count)
{
    uint32_t number, word, wanted;
    ssize_t rc;
    int peek;

    for (wanted = 1; wanted <= (uint32_t)count; wanted++) {
        for (peek = 1; peek >= 0; peek--) {
            rc = fi_eq_read(eq, &number, &word, sizeof(word), peek ? FI_PEEK : 0);
            if (rc != (ssize_t)sizeof(word) || number != EVENT + wanted || word != wanted)
                return rank_fail(test->fi.rank, "event %u of %d: %zd, number %u, word %u", wanted,
                                 count, rc, number, word);
        }
    }
    rc = fi_eq_read(eq, &number, &word, sizeof(word), 0);
    return rc == -FI_EAGAIN ? 0 : rank_fail(test->fi.rank, "behind the last event: %zd", rc);
}

/* A queue holds as many unread events each time that it is full. */
static int run_events(struct wl_pair *test)
{
    struct fi_eq_attr attr = {.wait_obj = FI_WAIT_NONE, .flags = FI_WRITE};
    int first = 0, count = 0, status = 0, i;
    struct fid_eq *eq;

    if (fi_eq_open(test->fi.fabric, &attr, &eq, NULL) != 0)
        return rank_fail(test->fi.rank, "no event queue");
    for (i = 0; i < 3 && status == 0; i++) {
        count = write_events(test, eq);
        if (i == 0)
            first = count;
        if (count < 1 || count != first)
            status = rank_fail(test->fi.rank, "%d events fill a queue that held %d", count, first);
        else
            status = read_events(test, eq, count);
    }
    return fi_close(&eq->fid) == 0 ? status : rank_fail(test->fi.rank, "a queue stays open");
}

/* ---- all ------------------------------------------------------------------------------------- */

static int open_all(struct wl_pair *test, struct rank *rank)
{
    struct fi_info *hints = fi_allocinfo();
    int status;

    if (hints == NULL)
        return rank_fail(rank, "no memory for fi_allocinfo()");
    hints->caps = FI_MSG | FI_TAGGED | FI_DIRECTED_RECV | FI_MULTI_RECV;
    hints->ep_attr->type = FI_EP_RDM;
    status = wl_fi_open_hints(&test->fi, rank, hints, 1024);
    fi_freeinfo(hints);
    if (status == 0)
        status = wl_fi_endpoint(&test->fi, test->fi.cq, &test->fi.ep);
    return status == 0 ? wl_fi_exchange_names(&test->fi) : status;
}

static int run(struct rank *rank)
{
    static wl_pair_test *const tests[] = {
        run_lengths,  run_truncation, run_words,    run_delivery, run_delivery_first,
        run_matching, run_unexpected, run_directed, run_multi,    run_events,
    };

    return wl_pair_run(rank, open_all, tests, sizeof(tests) / sizeof(tests[0]));
}

static const struct workload fi_edges = {
    .name = "fi_edges",
    .meaning =
        "libfabric: messages that do not fit, late receives, masks, shared buffers, verified",
    .metrics = "none",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(fi_edges)
