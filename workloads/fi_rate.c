/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Short tagged messages between random peers over libfabric: in each round every rank sends one, to
 * a rank at a distance that is random but the same for all ranks in a round, so that each also
 * receives one. A window of rounds is in flight.
 */
#include "support/fi.h"

static const struct workload_arg args[] = {
    WL_FI_ARGS,
    {"bytes", ARG_BYTES, "8", "8", "16KiB", NULL, "length of a message"},
    {"messages", ARG_COUNT, "1000", "1", "1000000000", NULL, "that each rank sends"},
    {"window", ARG_COUNT, "16", "1", "1024", NULL, "messages in flight in each direction"},
    {"pattern", ARG_CHOICE, "random", NULL, NULL, "random|neighbour", "senders and receivers"},
    {NULL},
};

struct rate {
    struct wl_fi fi;
    size_t bytes;
    uint64_t messages, window;
    bool random;
    struct wl_fi_window out, in;
    uint64_t posted, received, started, sent;
};

/* How far behind the receiver stands: 1 … size-1, the same for all in a round. */
static uint32_t distance(const struct rate *r, uint64_t round)
{
    uint64_t x = (round + 1) * 0x9e3779b97f4a7c15ull;

    if (!r->random || r->fi.size == 2)
        return 1;
    x ^= x >> 31;
    x *= 0x94d049bb133111ebull;
    return 1 + (uint32_t)((x >> 32) * (r->fi.size - 1) >> 32);
}

static int post_receive(struct rate *r, struct wl_fi_slot *slot)
{
    fi_addr_t address;

    slot->number = r->posted++;
    slot->peer = (r->fi.id + r->fi.size - distance(r, slot->number)) % r->fi.size;
    address = wl_fi_address(&r->fi, slot->peer);
    if (address == FI_ADDR_NOTAVAIL) /* gone: nothing will come */
        return 0;
    return wl_fi_post(
        &r->fi, fi_trecv(r->fi.ep, slot->bytes, r->bytes, NULL, address, slot->number, 0, slot));
}

static int send_next(struct rate *r)
{
    uint64_t number = r->started++;
    uint32_t to = (r->fi.id + distance(r, number)) % r->fi.size;
    fi_addr_t address = wl_fi_address(&r->fi, to);
    struct wl_fi_slot *slot;

    if (address == FI_ADDR_NOTAVAIL) {
        r->fi.lost++;
        r->sent++;
        return 0;
    }
    slot = wl_fi_slot_alloc(&r->out);
    wl_pattern_fill(slot->bytes, r->bytes, wl_fi_seed(r->fi.id, to, number));
    return wl_fi_post(&r->fi,
                      fi_tsend(r->fi.ep, slot->bytes, r->bytes, NULL, address, number, slot));
}

static int take_message(struct rate *r, const struct wl_fi_event *event)
{
    const struct wl_fi_slot *slot = event->entry.op_context;

    if (event->entry.len != r->bytes || event->entry.tag != slot->number ||
        wl_pattern_differs(slot->bytes, r->bytes, wl_fi_seed(slot->peer, r->fi.id, slot->number)))
        return rank_fail(r->fi.rank, "message %llu of rank %u is wrong",
                         (unsigned long long)slot->number, slot->peer);
    r->received++;
    return 0;
}

/* A failed operation has ended, too, and its buffer is free. */
static int take(struct rate *r, const struct wl_fi_event *event)
{
    struct wl_fi_slot *slot = event->entry.op_context;

    if (wl_fi_is_slot(&r->in, slot)) {
        if (event->error == 0 && take_message(r, event) != 0)
            return -1;
        return r->posted < r->messages ? post_receive(r, slot) : 0;
    }
    wl_fi_slot_free(&r->out, slot);
    r->sent++;
    rank_progress(r->fi.rank);
    return 0;
}

static void run_rate(struct rate *r)
{
    struct wl_fi_event event;
    int status = 0;

    while (r->posted < r->messages && r->in.free != NULL && status == 0)
        status = post_receive(r, wl_fi_slot_alloc(&r->in));
    while (status == 0 && (r->sent < r->messages || r->received < r->messages)) {
        while (status == 0 && r->started < r->messages && r->out.free != NULL)
            status = send_next(r);
        if (status != 0 || (r->sent == r->messages && r->received == r->messages) ||
            !wl_fi_wait(&r->fi, &event))
            break;
        status = take(r, &event);
    }
}

static int run(struct rank *rank)
{
    struct rate r = {.bytes = rank_arg_count(rank, "bytes"),
                     .messages = rank_arg_count(rank, "messages"),
                     .window = rank_arg_count(rank, "window"),
                     .random = strcmp(rank_arg_choice(rank, "pattern"), "random") == 0};
    int status = wl_fi_open(&r.fi, rank, FI_TAGGED | FI_DIRECTED_RECV, 2 * r.window);
    uint64_t began;

    if (wl_fi_window_open(&r.fi, &r.out, r.window, r.bytes) != 0 ||
        wl_fi_window_open(&r.fi, &r.in, r.window, r.bytes) != 0)
        status = -1;
    if (status == 0 && wl_fi_exchange(&r.fi, NULL, 0) == NULL)
        status = -1;
    if (status == 0) {
        began = rank_now();
        run_rate(&r);
        rank_record_rate(rank, "rate", r.received, rank_now() - began);
        status = wl_fi_finish(&r.fi, r.messages - r.received);
    }
    wl_fi_close(&r.fi);
    wl_fi_window_close(&r.out);
    wl_fi_window_close(&r.in);
    return status != 0;
}

static const struct workload fi_rate = {
    .name = "fi_rate",
    .meaning = "libfabric: short messages between random peers",
    .metrics = "rate (messages per second and rank)",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(fi_rate)
