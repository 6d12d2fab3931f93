/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * All ranks send their first message to many others at the same time: connections are made in
 * storms, and many of them are begun at both ends at once. Each message is answered; the time from
 * the first send to its answer is the time of connecting. Each further round opens new endpoints.
 */
#include "support/fi.h"

static const struct workload_arg args[] = {
    WL_FI_ARGS,
    {"peers", ARG_COUNT, "8", "1", "100000", NULL,
     "that each rank connects to, at most all others"},
    {"bytes", ARG_BYTES, "64", "0", "64KiB", NULL, "length of a message"},
    {"spread", ARG_TIME, "0", "0", "1000s", NULL, "ranks begin at random within this time"},
    {"rounds", ARG_COUNT, "1", "1", "1000000", NULL, "everything is closed and opened in between"},
    {NULL},
};

enum kind { QUESTION, ANSWER };

struct storm {
    struct wl_fi fi;
    size_t bytes;
    uint32_t peers;
    struct wl_fi_window in, questions, answers;
    uint64_t *asked; /* when, by peer's distance */
    uint64_t sending, answered, asked_of_us;
};

/* A message's word: its kind, its sender, and the distance from the rank that asks to the other. */
static uint64_t word(enum kind kind, uint32_t from, uint32_t distance)
{
    return (uint64_t)kind << 62 | (uint64_t)distance << 31 | from;
}

/* Both directions of a pair ask each other when distances come in pairs d and size-d. */
static uint32_t distance_of(const struct storm *s, uint32_t i)
{
    return i % 2 == 0 ? 1 + i / 2 : s->fi.size - 1 - i / 2;
}

static int send_to(struct storm *s, struct wl_fi_slot *slot, uint32_t to, uint64_t data)
{
    fi_addr_t address = wl_fi_address(&s->fi, to);

    if (address == FI_ADDR_NOTAVAIL) {
        s->fi.lost++;
        return 0;
    }
    wl_pattern_fill(slot->bytes, s->bytes, wl_fi_seed(s->fi.id, to, data));
    s->sending++;
    return wl_fi_post(&s->fi,
                      fi_senddata(s->fi.ep, slot->bytes, s->bytes, NULL, data, address, slot));
}

static int post_receive(struct storm *s, struct wl_fi_slot *slot)
{
    return wl_fi_post(&s->fi, fi_recv(s->fi.ep, slot->bytes, s->bytes, NULL, FI_ADDR_UNSPEC, slot));
}

static int take_message(struct storm *s, const struct wl_fi_event *event)
{
    struct wl_fi_slot *slot = event->entry.op_context;
    uint64_t data = event->entry.data;
    uint32_t from = (uint32_t)(data & 0x7fffffff), distance = (uint32_t)(data >> 31 & 0x7fffffff);

    if (from >= s->fi.size || distance == 0 || distance >= s->fi.size ||
        event->entry.len != s->bytes ||
        wl_pattern_differs(slot->bytes, s->bytes, wl_fi_seed(from, s->fi.id, data)))
        return rank_fail(s->fi.rank, "a message with word %#llx is wrong",
                         (unsigned long long)data);
    rank_progress(s->fi.rank);
    if (data >> 62 == ANSWER) {
        if (s->asked[distance] == 0)
            return rank_fail(s->fi.rank, "rank %u answers twice", from);
        rank_record_latency(s->fi.rank, "connect", rank_now() - s->asked[distance]);
        s->asked[distance] = 0;
        s->answered++;
        return 0;
    }
    s->asked_of_us++;
    if (s->answers.free == NULL)
        return rank_fail(s->fi.rank, "more ranks ask than may");
    return send_to(s, wl_fi_slot_alloc(&s->answers), from, word(ANSWER, s->fi.id, distance));
}

static int take(struct storm *s, const struct wl_fi_event *event)
{
    struct wl_fi_slot *slot = event->entry.op_context;
    int status = 0;

    if (!wl_fi_is_slot(&s->in, slot)) {
        s->sending--;
        return 0;
    }
    if (event->error == 0)
        status = take_message(s, event);
    return status == 0 ? post_receive(s, slot) : status;
}

static int run_storm(struct storm *s)
{
    struct wl_fi_event event;
    uint32_t i, distance;
    int status = 0;

    while (s->in.free != NULL && status == 0)
        status = post_receive(s, wl_fi_slot_alloc(&s->in));
    for (i = 0; i < s->peers && status == 0; i++) {
        distance = distance_of(s, i);
        s->asked[distance] = rank_now();
        status = send_to(s, wl_fi_slot_alloc(&s->questions), (s->fi.id + distance) % s->fi.size,
                         word(QUESTION, s->fi.id, distance));
        while (status == 0 && wl_fi_poll(&s->fi, &event))
            status = take(s, &event);
    }
    while (status == 0 && (s->answered < s->peers || s->asked_of_us < s->peers || s->sending > 0)) {
        if (!wl_fi_wait(&s->fi, &event))
            return 0;
        status = take(s, &event);
    }
    return status;
}

static int windows_open(struct storm *s)
{
    if (wl_fi_window_open(&s->fi, &s->in, 32, s->bytes) != 0 ||
        wl_fi_window_open(&s->fi, &s->questions, s->peers, s->bytes) != 0)
        return -1;
    return wl_fi_window_open(&s->fi, &s->answers, s->peers, s->bytes);
}

static int one_round(struct rank *rank)
{
    struct storm s = {.bytes = rank_arg_count(rank, "bytes")};
    uint64_t wanted = rank_arg_count(rank, "peers"), spread = rank_arg_ps(rank, "spread");
    int status;

    s.peers = (uint32_t)(wanted < rank_size(rank) ? wanted : rank_size(rank) - 1);
    status = wl_fi_open(&s.fi, rank, FI_MSG, 2 * s.peers + 64);
    s.asked = calloc(s.fi.size, sizeof(*s.asked));
    if (windows_open(&s) != 0)
        status = -1;
    if (status == 0 && wl_fi_exchange(&s.fi, NULL, 0) == NULL)
        status = -1;
    if (status == 0) {
        rank_compute(spread != 0 ? rank_random(rank) % spread : 0);
        run_storm(&s);
        status = wl_fi_finish(&s.fi, s.peers - s.answered);
    }
    wl_fi_close(&s.fi);
    wl_fi_window_close(&s.in);
    wl_fi_window_close(&s.questions);
    wl_fi_window_close(&s.answers);
    free(s.asked);
    return status;
}

static int run(struct rank *rank)
{
    uint64_t rounds = rank_arg_count(rank, "rounds");
    int status = 0;

    for (; rounds > 0 && status == 0; rounds--)
        status = one_round(rank);
    return status != 0;
}

static const struct workload fi_connect_storm = {
    .name = "fi_connect_storm",
    .meaning = "libfabric: all ranks connect to many others at once",
    .metrics = "connect (ps, first message to its answer)",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(fi_connect_storm)
