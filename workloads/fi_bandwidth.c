/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Pairs of ranks stream windows of messages over libfabric, one way or both at a time. A receiver
 * sends an empty message when it has posted a window; the sender waits for it. Bandwidth is that of
 * a window, from its first send to the word for the next one.
 */
#include "support/fi.h"

static const struct workload_arg args[] = {
    WL_FI_ARGS,
    {"bytes", ARG_BYTES, "64KiB", "1", "1GiB", NULL, "length of a message"},
    {"window", ARG_COUNT, "64", "1", "1024", NULL, "messages in flight"},
    {"iterations", ARG_COUNT, "20", "1", "1000000000", NULL, "windows"},
    {"both_ways", ARG_BOOL, "false", NULL, NULL, NULL, "both ranks of a pair send"},
    {NULL},
};

#define WORD (1ull << 63) /* tag of the word for a window; other tags number the messages */

struct stream {
    struct wl_fi fi;
    uint32_t peer;
    fi_addr_t to;
    size_t bytes;
    uint64_t window, rounds;
    bool sends, receives;
    uint8_t *out, *in; /* in: a buffer for each message of a window */
    uint64_t sending, words_sending; /* messages and words, not completed */
    uint64_t words; /* that came */
    bool may_send; /* the receiver is ready for a window */
    uint64_t received;
    uint64_t began;
};

static int post_message(struct stream *s, uint64_t number)
{
    uint8_t *buffer = s->in + number % s->window * s->bytes;

    memset(buffer, 0, s->bytes);
    return wl_fi_post(&s->fi, fi_trecv(s->fi.ep, buffer, s->bytes, NULL, s->to, number, 0, buffer));
}

static int post_word(struct stream *s)
{
    return wl_fi_post(&s->fi,
                      fi_trecv(s->fi.ep, NULL, 0, NULL, s->to, WORD | s->words, 0, &s->words));
}

static int send_word(struct stream *s)
{
    assert(s->window > 0);
    s->words_sending++;
    return wl_fi_post(&s->fi, fi_tsend(s->fi.ep, NULL, 0, NULL, s->to,
                                       WORD | s->received / s->window, &s->words_sending));
}

static int send_window(struct stream *s, uint64_t round)
{
    uint64_t i;
    int status = 0;

    s->may_send = false;
    wl_pattern_fill(s->out, s->bytes, wl_fi_seed(s->fi.id, s->peer, round));
    s->began = rank_now();
    for (i = 0; i < s->window && status == 0; i++) {
        s->sending++;
        status = wl_fi_post(
            &s->fi, fi_tsend(s->fi.ep, s->out, s->bytes, NULL, s->to, round * s->window + i, s));
    }
    return status;
}

/* The receiver is ready: for the first time, or since it has the window before. */
static int take_word(struct stream *s)
{
    if (s->words > 0)
        rank_record_bandwidth(s->fi.rank, "bandwidth", s->window * s->bytes, rank_now() - s->began);
    s->words++;
    rank_progress(s->fi.rank);
    if (s->words > s->rounds)
        return 0;
    s->may_send = true;
    return post_word(s);
}

static int take_message(struct stream *s, const struct wl_fi_event *event)
{
    uint64_t round = s->received / s->window;

    if (event->entry.len != s->bytes || wl_pattern_differs(event->entry.op_context, s->bytes,
                                                           wl_fi_seed(s->peer, s->fi.id, round))) {
        rank_fail(s->fi.rank, "message %llu of rank %u is wrong",
                  (unsigned long long)event->entry.tag, s->peer);
        return -1;
    }
    s->received++;
    if (round + 1 < s->rounds && post_message(s, event->entry.tag + s->window) != 0)
        return -1;
    return s->received % s->window == 0 ? send_word(s) : 0;
}

static bool is_over(const struct stream *s)
{
    return (!s->sends || s->words > s->rounds) &&
           (!s->receives || s->received == s->rounds * s->window) && s->sending == 0 &&
           s->words_sending == 0;
}

/* What cannot be posted is found missing at the end. */
static int run_stream(struct stream *s)
{
    struct wl_fi_event event;
    uint64_t i;
    int status = s->sends ? post_word(s) : 0;

    for (i = 0; s->receives && i < s->window && status == 0; i++)
        status = post_message(s, i);
    if (s->receives && status == 0)
        status = send_word(s);
    while (status == 0 && !is_over(s)) {
        if (!wl_fi_wait(&s->fi, &event) || event.error != 0)
            return -1;
        if (event.entry.op_context == &s->words)
            status = take_word(s);
        else if (event.entry.op_context == s)
            s->sending--;
        else if (event.entry.op_context == &s->words_sending)
            s->words_sending--;
        else
            status = take_message(s, &event);
        /* All messages of a window are sent from one buffer. After a lost packet the word for the
         * next window may come before the last of them completes. */
        if (status == 0 && s->may_send && s->sending == 0)
            status = send_window(s, s->words - 1);
    }
    return status;
}

static uint64_t missing(const struct stream *s)
{
    uint64_t total = s->rounds * s->window;

    return (s->receives ? total - s->received : 0) + (s->sends ? s->rounds + 1 - s->words : 0);
}

static int run(struct rank *rank)
{
    struct stream s = {.bytes = rank_arg_count(rank, "bytes"),
                       .window = rank_arg_count(rank, "window"),
                       .rounds = rank_arg_count(rank, "iterations")};
    int status = wl_fi_open(&s.fi, rank, FI_TAGGED, s.window + 8);
    uint64_t lacks = 0;

    s.out = wl_fi_buffer(s.bytes);
    s.in = wl_fi_buffer(s.bytes * s.window);
    s.peer = wl_fi_partner(&s.fi);
    s.sends = wl_fi_leads(&s.fi) || rank_arg_bool(rank, "both_ways");
    s.receives = !wl_fi_leads(&s.fi) || rank_arg_bool(rank, "both_ways");
    if (status == 0 && s.peer != UINT32_MAX) {
        s.to = wl_fi_address(&s.fi, s.peer);
        if (s.to != FI_ADDR_NOTAVAIL)
            run_stream(&s);
        lacks = missing(&s);
    }
    if (status == 0)
        status = wl_fi_finish(&s.fi, lacks);
    wl_fi_close(&s.fi);
    free(s.out);
    free(s.in);
    return status != 0;
}

static const struct workload fi_bandwidth = {
    .name = "fi_bandwidth",
    .meaning = "libfabric: pairs of ranks stream windows of messages",
    .metrics = "bandwidth (B/s, of a window)",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(fi_bandwidth)
