/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Pairs of ranks send rounds of messages over the sub-channels of a multiplexed channel of
 * Madeleine, or over a plain channel to compare. The receiver may leave a message of the first
 * sub-channel half read while it reads those of the others.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <madeleine.h>
#include "run/workload.h"
#include "support/pattern.h"

enum { HEAD = 8, SUBS_MAX = 16, RAILS_MAX = 8 };

static const struct workload_arg args[] = {
    {"strategy", ARG_CHOICE, "default", NULL, NULL, "plain|default|aggregate",
     "of the multiplexed channel; plain: there is none"},
    {"subs", ARG_COUNT, "1", "1", "16", NULL, "sub-channels; one if it is plain"},
    {"rails", ARG_COUNT, "1", "1", "8", NULL, "adapters, from the first one on, that carry it"},
    {"messages", ARG_COUNT, "64", "1", "1000000", NULL, "of a round, in turn on the sub-channels"},
    {"bytes", ARG_BYTES, "8", "8", "1GiB", NULL,
     "of a message; more than 8 are several blocks, the first one of 8"},
    {"blocks", ARG_COUNT, "1", "1", "64", NULL, "behind the first one, of about equal lengths"},
    {"rounds", ARG_COUNT, "10", "1", "1000000", NULL, "each is answered by one message"},
    {"half_read", ARG_BOOL, "false", NULL, NULL, NULL,
     "a message of the first sub-channel is half read while those of the others are read: those of "
     "the first must have room at the receiver (32 KiB)"},
    {"lossy", ARG_BOOL, "false", NULL, NULL, NULL,
     "ranks may die: their messages are counted as missing, and are no failure"},
    {NULL},
};

struct mux {
    struct rank *rank;
    p_mad_madeleine_t session;
    p_mad_channel_t subs[SUBS_MAX];
    uint32_t sub_count, messages, blocks;
    int peer;
    size_t bytes;
    unsigned char *block;
    bool half_read, lossy, broken;
    uint64_t missing, failures;
};

static void on_failure(const mad_failure_t *failure, void *arg)
{
    struct mux *mux = arg;

    mux->failures++;
    mux->broken = true;
    if (!mux->lossy)
        rank_fail(mux->rank, "Madeleine: %s (%d, peer %d)", failure->text, failure->code,
                  failure->peer);
}

/* ---- messages -------------------------------------------------------------------------------- */

/* The blocks behind the first one. */
static void move_rest(const struct mux *mux, p_mad_connection_t connection, size_t bytes, bool out)
{
    for (uint32_t i = 0; i < mux->blocks; i++) {
        size_t from = HEAD + (bytes - HEAD) * i / mux->blocks;
        size_t length = HEAD + (bytes - HEAD) * (i + 1) / mux->blocks - from;

        if (out)
            mad_pack(connection, mux->block + from, length, mad_send_CHEAPER, mad_receive_CHEAPER);
        else
            mad_unpack(connection, mux->block + from, length, mad_send_CHEAPER,
                       mad_receive_CHEAPER);
    }
}

static void send_one(struct mux *mux, p_mad_channel_t channel, uint64_t number, size_t bytes)
{
    p_mad_connection_t out = mad_begin_packing(channel, mux->peer);

    if (out == NULL)
        return;
    wl_pattern_fill(mux->block, bytes, number);
    mad_pack(out, mux->block, HEAD, mad_send_CHEAPER, mad_receive_EXPRESS);
    move_rest(mux, out, bytes, true);
    mad_end_packing(out);
}

static p_mad_connection_t begin_one(struct mux *mux, p_mad_channel_t channel)
{
    p_mad_connection_t in = mad_begin_unpacking(channel);

    if (in != NULL)
        mad_unpack(in, mux->block, HEAD, mad_send_CHEAPER, mad_receive_EXPRESS);
    return in;
}

static void end_one(struct mux *mux, p_mad_connection_t in, const unsigned char *head,
                    uint64_t number, size_t bytes)
{
    move_rest(mux, in, bytes, false);
    mad_end_unpacking(in);
    memcpy(mux->block, head, HEAD);
    if (mux->broken || wl_pattern_differs(mux->block, bytes, number) == 0)
        return;
    mux->broken = true;
    rank_fail(mux->rank, "message %llu is wrong", (unsigned long long)number);
}

static void receive_one(struct mux *mux, p_mad_channel_t channel, uint64_t number, size_t bytes)
{
    p_mad_connection_t in = begin_one(mux, channel);
    unsigned char head[HEAD];

    if (in == NULL)
        return;
    memcpy(head, mux->block, HEAD);
    end_one(mux, in, head, number, bytes);
    if (!mux->broken)
        rank_progress(mux->rank);
}

/* In the order of sending. */
static uint32_t receive_in_turn(struct mux *mux, uint64_t first)
{
    uint32_t got = 0;

    for (; got < mux->messages && !mux->broken; got++)
        receive_one(mux, mux->subs[got % mux->sub_count], first + got, mux->bytes);
    return got - mux->broken;
}

/* Those of the other sub-channels while one of the first is half read. */
static uint32_t receive_half_read(struct mux *mux, uint64_t first)
{
    p_mad_connection_t in = begin_one(mux, mux->subs[0]);
    unsigned char head[HEAD];
    uint32_t got = 0;

    memcpy(head, mux->block, HEAD);
    for (uint32_t sub = mux->sub_count - 1; sub > 0; sub--)
        for (uint32_t i = sub; i < mux->messages && !mux->broken; i += mux->sub_count, got++)
            receive_one(mux, mux->subs[sub], first + i, mux->bytes);
    if (in != NULL && !mux->broken)
        got++;
    if (in != NULL)
        end_one(mux, in, head, first, mux->bytes);
    for (uint32_t i = mux->sub_count; i < mux->messages && !mux->broken; i += mux->sub_count, got++)
        receive_one(mux, mux->subs[0], first + i, mux->bytes);
    return got;
}

static void play(struct mux *mux, bool leads, uint64_t rounds)
{
    for (uint64_t round = 0; round < rounds && !mux->broken; round++) {
        uint64_t first = round * mux->messages, began = rank_now(), took;

        if (!leads) {
            mux->missing +=
                mux->messages - (mux->half_read ? receive_half_read : receive_in_turn)(mux, first);
            send_one(mux, mux->subs[0], ~round, HEAD);
            mad_flush(mux->subs[0]);
            continue;
        }
        for (uint32_t i = 0; i < mux->messages && !mux->broken; i++)
            send_one(mux, mux->subs[i % mux->sub_count], first + i, mux->bytes);
        receive_one(mux, mux->subs[0], ~round, HEAD);
        took = rank_now() - began;
        if (mux->broken || took == 0)
            continue;
        rank_record_latency(mux->rank, "round", took);
        rank_record_bandwidth(mux->rank, "bandwidth", mux->messages * mux->bytes, took);
        rank_record_bandwidth(mux->rank, "rate", mux->messages, took);
    }
}

/* ---- the session ----------------------------------------------------------------------------- */

static bool open_all(struct mux *mux, uint32_t rails, const char *strategy)
{
    p_mad_channel_t parts[RAILS_MAX] = {NULL};
    char names[SUBS_MAX][16];
    const char *list[SUBS_MAX];
    int kind = strcmp(strategy, "aggregate") == 0 ? mad_strategy_aggregate : mad_strategy_default;

    mux->session = mad_init(NULL, NULL, NULL, NULL);
    if (mux->session == NULL || (int)rails > mux->session->nb_adapter)
        return false;
    for (uint32_t i = 0; i < rails; i++) {
        parts[i] = mad_open_channel(mux->session, (int)i);
        if (parts[i] == NULL)
            return false;
    }
    mux->subs[0] = parts[0];
    if (strcmp(strategy, "plain") == 0) {
        mux->sub_count = 1;
        return true;
    }
    for (uint32_t i = 0; i + 1 < mux->sub_count; i++) {
        snprintf(names[i], sizeof(names[i]), "sub%u", i + 1);
        list[i] = names[i];
    }
    mux->subs[0] = mad_open_multiplexed_channel(mux->session, "mux", (int)rails, parts,
                                                (int)mux->sub_count - 1, list, kind);
    for (uint32_t i = 1; i < mux->sub_count && mux->subs[0] != NULL; i++)
        mux->subs[i] = mad_get_sub_channel(mux->subs[0], i);
    return mux->subs[0] != NULL;
}

static int run(struct rank *rank)
{
    struct mux mux = {
        .rank = rank,
        .sub_count = (uint32_t)rank_arg_count(rank, "subs"),
        .messages = (uint32_t)rank_arg_count(rank, "messages"),
        .blocks = (uint32_t)rank_arg_count(rank, "blocks"),
        .bytes = rank_arg_count(rank, "bytes"),
        .half_read = rank_arg_bool(rank, "half_read"),
        .lossy = rank_arg_bool(rank, "lossy"),
    };
    uint32_t half = rank_size(rank) / 2, own = rank_id(rank);

    mad_set_failure_handler(on_failure, &mux);
    if (!open_all(&mux, (uint32_t)rank_arg_count(rank, "rails"), rank_arg_choice(rank, "strategy")))
        return rank_fail(rank, "the session does not start");
    /* Transfers of a buffer cost by its place in a page. */
    mux.block = aligned_alloc(4096, (mux.bytes / 4096 + 1) * 4096);
    if (own < 2 * half && mux.block != NULL) {
        mux.peer = (int)(own < half ? own + half : own - half);
        play(&mux, own < half, rank_arg_count(rank, "rounds"));
    }
    rank_count(rank, "missing", mux.missing);
    rank_count(rank, "failures", mux.failures);
    mad_exit(mux.session);
    free(mux.block);
    return mux.broken && !mux.lossy;
}

static const struct workload mad_mux = {
    .name = "mad_mux",
    .meaning =
        "rounds of messages over sub-channels and rails of a multiplexed channel of Madeleine",
    .metrics = "round (ps), rate (messages/s), bandwidth (B/s), missing (messages), failures "
               "(reported by Madeleine)",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(mad_mux)
