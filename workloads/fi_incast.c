/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * All ranks send to rank 0 over libfabric, which posts its receives late: messages wait at it, or
 * at their senders, until it does. Each must come once, whole, and in the order of its sender.
 */
#include "support/fi.h"

static const struct workload_arg args[] = {
    WL_FI_ARGS,
    {"bytes", ARG_BYTES, "256", "0", "64MiB", NULL, "length of a message"},
    {"messages", ARG_COUNT, "100", "1", "1000000", NULL, "of each sender"},
    {"window", ARG_COUNT, "32", "1", "1024", NULL, "sends in flight, and receives posted"},
    {"late", ARG_TIME, "100us", "0", "1000s", NULL, "before the first poll of rank 0"},
    {NULL},
};

#define NUMBER_BITS 40 /* of the word that comes with a message; the rest is the sender */

struct incast {
    struct wl_fi fi;
    size_t bytes;
    uint64_t messages, total; /* of a sender; that this rank sends or gets */
    struct wl_fi_window window;
    uint64_t *words; /* rank 0: what the receives got, in the order in which they were posted */
    uint64_t begun, ended;
};

static int post_receive(struct incast *c, struct wl_fi_slot *slot)
{
    slot->number = c->begun++;
    return wl_fi_post(&c->fi, fi_recv(c->fi.ep, slot->bytes, c->bytes, NULL, FI_ADDR_UNSPEC, slot));
}

static int take(struct incast *c, const struct wl_fi_event *event)
{
    const struct wl_fi_slot *slot = event->entry.op_context;
    uint32_t from = (uint32_t)(event->entry.data >> NUMBER_BITS);
    uint64_t number = event->entry.data & ((1ull << NUMBER_BITS) - 1);

    if (from == 0 || from >= c->fi.size || event->entry.len != c->bytes ||
        wl_pattern_differs(slot->bytes, c->bytes, wl_fi_seed(from, 0, number)))
        return rank_fail(c->fi.rank, "message %llu of rank %u is wrong", (unsigned long long)number,
                         from);
    c->words[slot->number] = event->entry.data;
    c->ended++;
    rank_progress(c->fi.rank);
    return 0;
}

static int receive_all(struct incast *c)
{
    struct wl_fi_event event;
    int status = 0;

    while (c->begun < c->total && c->window.free != NULL && status == 0)
        status = post_receive(c, wl_fi_slot_alloc(&c->window));
    while (status == 0 && c->ended < c->total) {
        if (!wl_fi_wait(&c->fi, &event))
            return 0;
        if (event.error == 0)
            status = take(c, &event);
        if (status == 0 && c->begun < c->total)
            status = post_receive(c, event.entry.op_context);
    }
    return status;
}

/* Receives match messages in the order of their posting, and a sender's come in its order. */
static int check_order(struct incast *c)
{
    uint64_t *next = calloc(c->fi.size, sizeof(*next)), i;
    int status = 0;

    for (i = 0; i < c->total && status == 0; i++) {
        uint32_t from = (uint32_t)(c->words[i] >> NUMBER_BITS);

        if ((c->words[i] & ((1ull << NUMBER_BITS) - 1)) != next[from]++)
            status = rank_fail(c->fi.rank, "message %llu of rank %u is out of order",
                               (unsigned long long)(next[from] - 1), from);
    }
    free(next);
    return status;
}

static int send_all(struct incast *c)
{
    fi_addr_t to = wl_fi_address(&c->fi, 0);
    struct wl_fi_event event;
    struct wl_fi_slot *slot;
    int status = 0;

    while (to != FI_ADDR_NOTAVAIL && c->ended < c->total && status == 0) {
        while (c->begun < c->total && c->window.free != NULL && status == 0) {
            slot = wl_fi_slot_alloc(&c->window);
            slot->number = (uint64_t)c->fi.id << NUMBER_BITS | c->begun;
            wl_pattern_fill(slot->bytes, c->bytes, wl_fi_seed(c->fi.id, 0, c->begun++));
            status = wl_fi_post(
                &c->fi, fi_senddata(c->fi.ep, slot->bytes, c->bytes, NULL, slot->number, to, slot));
        }
        if (status != 0 || !wl_fi_wait(&c->fi, &event))
            return status;
        wl_fi_slot_free(&c->window, event.entry.op_context);
        c->ended++;
        rank_progress(c->fi.rank);
    }
    return status;
}

static int run(struct rank *rank)
{
    struct incast c = {.bytes = rank_arg_count(rank, "bytes"),
                       .messages = rank_arg_count(rank, "messages")};
    uint64_t window = rank_arg_count(rank, "window"), began = rank_now();
    int status = wl_fi_open(&c.fi, rank, FI_MSG, 2 * window), result = 0;

    if (wl_fi_window_open(&c.fi, &c.window, window, c.bytes) != 0)
        status = -1;
    c.total = c.messages * (c.fi.id == 0 ? c.fi.size - 1 : 1);
    c.words = wl_fi_buffer((c.fi.id == 0 ? c.total : 1) * sizeof(*c.words));
    if (status == 0 && c.fi.id == 0) {
        rank_compute(rank_arg_ps(rank, "late"));
        result = receive_all(&c);
        rank_record_rate(rank, "rate", c.ended, rank_now() - began);
    } else if (status == 0) {
        send_all(&c);
    }
    if (status == 0)
        status = wl_fi_finish(&c.fi, c.total - c.ended);
    if (status == 0 && c.fi.clean && c.fi.id == 0)
        status = check_order(&c);
    wl_fi_close(&c.fi);
    wl_fi_window_close(&c.window);
    free(c.words);
    return status != 0 || result < 0;
}

static const struct workload fi_incast = {
    .name = "fi_incast",
    .meaning = "libfabric: all ranks send to rank 0, which receives late",
    .metrics = "rate (messages per second)",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(fi_incast)
