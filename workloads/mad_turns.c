/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Many ranks send to one that is slower than they are, so that messages of all of them wait all the
 * time. Madeleine serves waiting ranks in turn: until one of them has sent its last message, no
 * rank may be served more than a few messages ahead of another.
 */
#include <stdlib.h>

#include <madeleine.h>
#include "run/workload.h"
#include "support/pattern.h"

static const struct workload_arg args[] = {
    {"messages", ARG_COUNT, "20", "1", "1000000", NULL, "of each sender"},
    {"bytes", ARG_BYTES, "100", "1", "1MiB", NULL, "of a message"},
    {"pace", ARG_TIME, "1ms", "0", "1s", NULL, "of the receiver for each message"},
    {"ahead", ARG_COUNT, "2", "1", "1000000", NULL, "messages that a rank may be ahead of another"},
    {NULL},
};

struct turns {
    struct rank *rank;
    p_mad_channel_t channel;
    uint32_t id, size, messages;
    size_t bytes;
    unsigned char *block;
    uint32_t *got; /* by rank */
    bool broken;
};

static void on_failure(const mad_failure_t *failure, void *arg)
{
    struct turns *turns = arg;

    turns->broken = true;
    rank_fail(turns->rank, "Madeleine: %s (%d, peer %d)", failure->text, failure->code,
              failure->peer);
}

static uint64_t seed_of(uint32_t from, uint32_t number)
{
    return (uint64_t)from << 32 | number;
}

static void send_all(struct turns *turns)
{
    for (uint32_t i = 0; i < turns->messages && !turns->broken; i++) {
        p_mad_connection_t out = mad_begin_packing(turns->channel, 0);

        if (out == NULL)
            return;
        wl_pattern_fill(turns->block, turns->bytes, seed_of(turns->id, i));
        mad_pack(out, turns->block, turns->bytes, mad_send_SAFER, mad_receive_EXPRESS);
        mad_end_packing(out);
    }
}

static void receive_one(struct turns *turns)
{
    p_mad_connection_t in = mad_begin_unpacking(turns->channel);
    uint32_t from;

    if (in == NULL) {
        turns->broken = true;
        return;
    }
    from = (uint32_t)in->remote_host_id;
    mad_unpack(in, turns->block, turns->bytes, mad_send_SAFER, mad_receive_EXPRESS);
    mad_end_unpacking(in);
    if (wl_pattern_differs(turns->block, turns->bytes, seed_of(from, turns->got[from])) != 0) {
        turns->broken = true;
        rank_fail(turns->rank, "message %u of rank %u is wrong", turns->got[from], from);
    }
    turns->got[from]++;
    rank_progress(turns->rank);
}

/* How many messages the rank that was served most is ahead of the one that was served least. */
static uint32_t lead(const struct turns *turns)
{
    uint32_t least = UINT32_MAX, most = 0;

    for (uint32_t i = 1; i < turns->size; i++) {
        least = turns->got[i] < least ? turns->got[i] : least;
        most = turns->got[i] > most ? turns->got[i] : most;
    }
    return most - least;
}

static void receive_all(struct turns *turns, uint64_t pace)
{
    uint64_t left = (uint64_t)turns->messages * (turns->size - 1);
    uint32_t most = 0;

    rank_compute(10 * pace); /* messages of all ranks wait then */
    for (; left > 0 && !turns->broken; left--) {
        receive_one(turns);
        most = lead(turns) > most ? lead(turns) : most;
        rank_compute(pace);
    }
    if (!turns->broken && most > rank_arg_count(turns->rank, "ahead"))
        turns->broken =
            rank_fail(turns->rank,
                      "a rank was served %u messages ahead of another one, which waited",
                      most) != 0;
    rank_count(turns->rank, "ahead", most);
}

static int run(struct rank *rank)
{
    struct turns turns = {
        .rank = rank,
        .id = rank_id(rank),
        .size = rank_size(rank),
        .messages = (uint32_t)rank_arg_count(rank, "messages"),
        .bytes = rank_arg_count(rank, "bytes"),
    };
    p_mad_madeleine_t session;

    mad_set_failure_handler(on_failure, &turns);
    session = mad_init(NULL, NULL, NULL, NULL);
    turns.channel = session != NULL ? mad_open_channel(session, 0) : NULL;
    turns.block = malloc(turns.bytes);
    turns.got = calloc(turns.size, sizeof(*turns.got));
    if (turns.channel == NULL || turns.block == NULL || turns.got == NULL)
        return rank_fail(rank, "the session does not start");
    if (turns.id == 0)
        receive_all(&turns, rank_arg_ps(rank, "pace"));
    else
        send_all(&turns);
    mad_exit(session);
    free(turns.block);
    free(turns.got);
    return turns.broken;
}

static const struct workload mad_turns = {
    .name = "mad_turns",
    .meaning = "many ranks send to a slow one through Madeleine, which serves them in turn",
    .metrics = "ahead (messages that a rank was served ahead of another)",
    .args = args,
    .ranks_min = 3,
    .main = run,
};
WORKLOAD(mad_turns)
