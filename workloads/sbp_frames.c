/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rank 0 sends frames to rank 1 through SBP, without a library above it: frames that come before
 * the receiver has joined, a sender that has to wait because the receiver takes nothing, and frames
 * that the receiver keeps while others come.
 */
#include <sbp_messages.h>
#include "run/workload.h"
#include "support/pattern.h"

enum { KEPT_MAX = 32, BLOCKED_MS = 20 };

#define PS_PER_MS UINT64_C(1000000000)

static const struct workload_arg args[] = {
    {"frames", ARG_COUNT, "200", "1", "100000", NULL, "that are sent"},
    {"buffers", ARG_COUNT, "8", "2", "64", NULL, "of a rank in each direction"},
    {NULL},
};

struct link {
    struct rank *rank;
    uint32_t frames, buffers;
    unsigned long in, out; /* keys */
    uint32_t done; /* frames sent or received */
};

static int join(struct link *link)
{
    int in = (int)link->buffers, out = (int)link->buffers, size, own;
    unsigned long first, second;

    if (sbp_initialize(0, SBP_HEADER_SIZE + SBP_PAYLOAD_SIZE, &in, &out, &size, &own, &first,
                       &second, &link->in, &link->out) != 0)
        return rank_fail(link->rank, "SBP: there is no network");
    return 0;
}

/* Of all lengths, the shortest and the longest ones first. */
static uint32_t length_of(uint32_t number)
{
    return number % 2 == 0 ? SBP_PAYLOAD_SIZE - number / 2 % SBP_PAYLOAD_SIZE
                           : number / 2 % SBP_PAYLOAD_SIZE + 1;
}

static unsigned char *payload_of(unsigned long frame)
{
    return (unsigned char *)frame + SBP_HEADER_SIZE;
}

/* ---- the sender ------------------------------------------------------------------------------ */

static int send_frame(struct link *link, unsigned long frame)
{
    SbpHeader_t *header = (SbpHeader_t *)frame;
    uint32_t length = length_of(link->done);

    *header = (SbpHeader_t){.cookie = {.destn_node = 1, .len = SBP_HEADER_SIZE + (int)length}};
    wl_pattern_fill(payload_of(frame), length, link->done);
    if (returnfullbuffer(link->out, frame) == 0)
        return rank_fail(link->rank, "SBP does not send frame %u", link->done);
    link->done++;
    return 0;
}

/* Up to so many frames, until there has been no empty buffer for a while. */
static int send_frames(struct link *link, uint32_t end)
{
    while (link->done < end) {
        unsigned long frame = 0;

        rank_alarm(link->rank, BLOCKED_MS * PS_PER_MS);
        while (frame == 0 && !rank_alarm_rang(link->rank))
            frame = pickupemptybuffer(link->out);
        if (frame == 0)
            break;
        if (send_frame(link, frame) != 0)
            return -1;
    }
    rank_alarm(link->rank, 0);
    return 0;
}

/* The receiver takes nothing: as many frames leave as there are buffers for them. */
static int send_until_blocked(struct link *link, uint32_t buffers)
{
    uint32_t expected = buffers < link->frames ? buffers : link->frames;

    if (send_frames(link, link->frames) != 0)
        return -1;
    if (link->done != expected)
        return rank_fail(link->rank, "%u frames were sent where there are buffers for %u",
                         link->done, expected);
    return 0;
}

static int send_all(struct link *link)
{
    if (join(link) != 0 || send_until_blocked(link, link->buffers) != 0)
        return -1;
    rank_barrier(link->rank); /* the receiver joins */
    rank_barrier(link->rank);
    if (send_until_blocked(link, 2 * link->buffers) != 0)
        return -1;
    rank_barrier(link->rank);
    if (send_frames(link, link->frames) != 0)
        return -1;
    rank_barrier(link->rank);
    return link->done == link->frames
               ? 0
               : rank_fail(link->rank, "no buffer became empty after frame %u", link->done);
}

/* ---- the receiver ---------------------------------------------------------------------------- */

static int check(struct link *link, unsigned long frame, uint32_t number)
{
    const SbpHeader_t *header = (const SbpHeader_t *)frame;
    uint32_t length = length_of(number);

    if (header->cookie.origin != 0 || header->cookie.len != SBP_HEADER_SIZE + (int)length ||
        wl_pattern_differs(payload_of(frame), length, number) != 0)
        return rank_fail(link->rank, "frame %u is wrong", number);
    return 0;
}

static int give_back(struct link *link, unsigned long frame)
{
    return returnemptybuffer(link->in, frame) != 0 ? 0 : rank_fail(link->rank, "a frame is kept");
}

/* The first frames stay with the receiver until all others have come. */
static int receive_frames(struct link *link)
{
    uint32_t keeps = link->buffers / 2 < link->frames ? link->buffers / 2 : link->frames, i;
    unsigned long kept[KEPT_MAX] = {0};

    for (; link->done < link->frames; link->done++) {
        unsigned long frame;

        while ((frame = pickupfullbuffer(link->in)) == 0)
            ;
        if (check(link, frame, link->done) != 0)
            return -1;
        if (link->done < keeps)
            kept[link->done] = frame;
        else if (give_back(link, frame) != 0)
            return -1;
        rank_progress(link->rank);
    }
    for (i = 0; i < keeps; i++)
        if (check(link, kept[i], i) != 0 || give_back(link, kept[i]) != 0)
            return -1;
    return 0;
}

static int receive_all(struct link *link)
{
    rank_barrier(link->rank);
    if (join(link) != 0)
        return -1;
    rank_barrier(link->rank);
    rank_barrier(link->rank);
    if (receive_frames(link) != 0)
        return -1;
    rank_barrier(link->rank);
    rank_count(link->rank, "frames", link->done);
    return pickupfullbuffer(link->in) == 0 ? 0 : rank_fail(link->rank, "there is a frame more");
}

static int run(struct rank *rank)
{
    struct link link = {
        .rank = rank,
        .frames = (uint32_t)rank_arg_count(rank, "frames"),
        .buffers = (uint32_t)rank_arg_count(rank, "buffers"),
    };

    if (rank_id(rank) > 1)
        return 0;
    return (rank_id(rank) == 0 ? send_all(&link) : receive_all(&link)) == 0 ? 0 : 1;
}

static const struct workload sbp_frames = {
    .name = "sbp_frames",
    .meaning = "two ranks: frames of SBP in order, and a sender that waits for buffers",
    .metrics = "frames (count)",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(sbp_frames)
