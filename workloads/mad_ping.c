/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Pairs of ranks send messages of one block to and fro through Madeleine, as mad_ping does. */
#include <stdlib.h>
#include <string.h>

#include <madeleine.h>
#include "run/workload.h"
#include "support/pattern.h"

static const struct workload_arg args[] = {
    {"bytes", ARG_BYTES, "4", "1", "1GiB", NULL, "length of the block"},
    {"iterations", ARG_COUNT, "100", "1", "1000000000", NULL, "round trips"},
    {"send", ARG_CHOICE, "cheaper", NULL, NULL, "safer|later|cheaper", "mode of sending"},
    {"receive", ARG_CHOICE, "cheaper", NULL, NULL, "express|cheaper", "mode of receiving"},
    {NULL},
};

struct ping {
    struct rank *rank;
    p_mad_channel_t channel;
    mad_send_mode_t send;
    mad_receive_mode_t receive;
    int peer;
    size_t bytes;
    unsigned char *block;
    bool failed;
};

static void on_failure(const mad_failure_t *failure, void *arg)
{
    struct ping *ping = arg;

    ping->failed = true;
    rank_fail(ping->rank, "Madeleine: %s (%d)", failure->text, failure->code);
}

static void send(struct ping *ping, uint64_t number)
{
    p_mad_connection_t out = mad_begin_packing(ping->channel, ping->peer);

    if (out == NULL)
        return;
    wl_pattern_fill(ping->block, ping->bytes, number);
    mad_pack(out, ping->block, ping->bytes, ping->send, ping->receive);
    mad_end_packing(out);
}

static void receive(struct ping *ping, uint64_t number)
{
    p_mad_connection_t in = mad_begin_unpacking(ping->channel);

    if (in == NULL)
        return;
    mad_unpack(in, ping->block, ping->bytes, ping->send, ping->receive);
    mad_end_unpacking(in);
    if (!ping->failed && wl_pattern_differs(ping->block, ping->bytes, number)) {
        ping->failed = true;
        rank_fail(ping->rank, "message %llu is wrong", (unsigned long long)number);
    }
}

/* The last round trip's time counts, too, as nothing is warmed up in the original. */
static void exchange(struct ping *ping, bool leads, uint64_t iterations)
{
    uint64_t i, began;

    for (i = 0; i < iterations && !ping->failed; i++) {
        began = rank_now();
        if (leads)
            send(ping, 2 * i);
        receive(ping, leads ? 2 * i + 1 : 2 * i);
        if (!leads)
            send(ping, 2 * i + 1);
        if (!leads || ping->failed)
            continue;
        rank_record_latency(ping->rank, "latency", (rank_now() - began) / 2);
        rank_record_bandwidth(ping->rank, "bandwidth", 2 * ping->bytes, rank_now() - began);
        rank_progress(ping->rank);
    }
}

static mad_send_mode_t send_mode(const struct rank *rank)
{
    const char *name = rank_arg_choice(rank, "send");

    return strcmp(name, "safer") == 0   ? mad_send_SAFER
           : strcmp(name, "later") == 0 ? mad_send_LATER
                                        : mad_send_CHEAPER;
}

static int run(struct rank *rank)
{
    struct ping ping = {
        .rank = rank,
        .send = send_mode(rank),
        .receive = strcmp(rank_arg_choice(rank, "receive"), "express") == 0 ? mad_receive_EXPRESS
                                                                            : mad_receive_CHEAPER,
        .bytes = rank_arg_count(rank, "bytes"),
    };
    uint32_t half = rank_size(rank) / 2, own = rank_id(rank);
    p_mad_madeleine_t session;

    mad_set_failure_handler(on_failure, &ping);
    session = mad_init(NULL, NULL, NULL, NULL);
    ping.channel = session != NULL ? mad_open_channel(session, 0) : NULL;
    ping.block = malloc(ping.bytes);
    if (ping.channel == NULL || ping.block == NULL)
        return 1;
    if (own < 2 * half) {
        ping.peer = (int)(own < half ? own + half : own - half);
        exchange(&ping, own < half, rank_arg_count(rank, "iterations"));
    }
    mad_exit(session);
    free(ping.block);
    return ping.failed;
}

static const struct workload mad_ping = {
    .name = "mad_ping",
    .meaning = "pairs of ranks send messages to and fro through Madeleine",
    .metrics = "latency (ps, half of the round trip), bandwidth (B/s)",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(mad_ping)
