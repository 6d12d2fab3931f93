/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages through a virtual channel over two networks. The first half of the ranks and the gateway
 * are in one, the gateway and the others in the other; the gateway is rank
 * size / 2 (with 2 ranks: rank 0). All pairs of ranks exchange messages, whose content the receiver
 * verifies.
 */
#include <stdlib.h>
#include <string.h>

#include <madeleine.h>
#include "run/workload.h"
#include "support/pattern.h"

static const struct workload_arg args[] = {
    {"messages", ARG_COUNT, "5", "1", "1000000", NULL, "to each peer"},
    {"bytes", ARG_BYTES, "100KiB", "1", "64MiB", NULL, "of the second block of a message"},
    {"pairs", ARG_CHOICE, "all", NULL, NULL, "all|ends",
     "who sends: all ranks to all others, or rank 0 to the last one"},
    {"lossy", ARG_BOOL, "false", NULL, NULL, NULL,
     "ranks may die: their messages are counted as missing, and are no failure"},
    {NULL},
};

struct head {
    uint32_t from, number;
};

struct forward {
    struct rank *rank;
    p_mad_madeleine_t session;
    p_mad_channel_t channel;
    uint32_t id, size, messages;
    size_t bytes;
    bool ends, lossy, broken;
    uint32_t *got; /* by rank */
    unsigned char *block;
    uint64_t missing, failures;
};

static void on_failure(const mad_failure_t *failure, void *arg)
{
    struct forward *forward = arg;

    forward->failures++;
    if (forward->lossy)
        return;
    forward->broken = true;
    rank_fail(forward->rank, "Madeleine: %s (%d, peer %d)", failure->text, failure->code,
              failure->peer);
}

static uint64_t seed_of(uint32_t from, uint32_t to, uint32_t number)
{
    return (uint64_t)from << 40 | (uint64_t)to << 20 | number;
}

static void send_one(struct forward *forward, uint32_t to, uint32_t number)
{
    struct head head = {.from = forward->id, .number = number};
    p_mad_connection_t out = mad_begin_packing(forward->channel, (int)to);

    if (out == NULL)
        return;
    wl_pattern_fill(forward->block, forward->bytes, seed_of(forward->id, to, number));
    mad_pack(out, &head, sizeof(head), mad_send_SAFER, mad_receive_EXPRESS);
    mad_pack(out, forward->block, forward->bytes, mad_send_CHEAPER, mad_receive_CHEAPER);
    mad_end_packing(out);
}

static void receive_one(struct forward *forward, p_mad_connection_t in)
{
    uint32_t from = (uint32_t)in->remote_host_id;
    struct head head = {0};

    mad_unpack(in, &head, sizeof(head), mad_send_SAFER, mad_receive_EXPRESS);
    mad_unpack(in, forward->block, forward->bytes, mad_send_CHEAPER, mad_receive_CHEAPER);
    mad_end_unpacking(in);
    if (mad_connection_error(in) != MAD_OK)
        return; /* reported */
    if (head.from != from || head.number != forward->got[from] ||
        wl_pattern_differs(forward->block, forward->bytes,
                           seed_of(from, forward->id, head.number))) {
        forward->broken = true;
        rank_fail(forward->rank, "message %u of rank %u is wrong", forward->got[from], from);
    }
    forward->got[from]++;
    rank_progress(forward->rank);
}

/* Until the peer's messages are here, or do not come any more; others come meanwhile. */
static void receive_all(struct forward *forward, uint32_t from)
{
    while (forward->got[from] < forward->messages && !forward->broken) {
        p_mad_connection_t in = forward->lossy ? mad_message_ready(forward->channel)
                                               : mad_begin_unpacking(forward->channel);

        if (in != NULL)
            receive_one(forward, in);
        else if (mad_connection_error(forward->channel->input_connection[from]) != MAD_OK)
            break;
    }
    forward->missing += forward->messages - forward->got[from];
}

static void meet(struct forward *forward, uint32_t peer)
{
    uint32_t i;

    if (forward->id > peer)
        receive_all(forward, peer);
    for (i = 0; i < forward->messages && !(forward->ends && forward->id != 0); i++)
        send_one(forward, peer, i);
    if (forward->id < peer && !forward->ends)
        receive_all(forward, peer);
}

static void exchange(struct forward *forward)
{
    uint64_t began = rank_now();
    uint32_t round;

    if (forward->ends) {
        if (forward->id == 0 || forward->id == forward->size - 1)
            meet(forward, forward->size - 1 - forward->id);
    } else {
        for (round = 0; round < forward->size && !forward->broken; round++) {
            uint32_t peer = (round + forward->size - forward->id) % forward->size;

            if (peer != forward->id)
                meet(forward, peer);
        }
    }
    rank_record_latency(forward->rank, "time", rank_now() - began);
    if (forward->ends && forward->id == forward->size - 1)
        rank_record_bandwidth(forward->rank, "bandwidth", forward->messages * forward->bytes,
                              rank_now() - began);
}

/* The ranks from `first` to `last`. */
static p_mad_channel_t open_part(const struct forward *forward, const char *name, int adapter,
                                 uint32_t first, uint32_t last)
{
    ntbx_host_id_t *ranks = malloc(forward->size * sizeof(*ranks));
    p_mad_channel_t channel;
    uint32_t i;

    for (i = first; i <= last; i++)
        ranks[i - first] = (ntbx_host_id_t)i;
    channel = mad_open_channel_of(forward->session, name, adapter, (int)(last - first) + 1, ranks);
    free(ranks);
    return channel;
}

static bool open_all(struct forward *forward)
{
    uint32_t gateway = forward->size > 2 ? forward->size / 2 : 0;
    p_mad_channel_t parts[2];

    forward->session = mad_init(NULL, NULL, NULL, NULL);
    if (forward->session == NULL)
        return false;
    parts[0] = open_part(forward, "one", 0, 0, gateway);
    parts[1] = open_part(forward, "two", forward->session->nb_adapter > 1 ? 1 : 0, gateway,
                         forward->size - 1);
    if (parts[0] == NULL || parts[1] == NULL)
        return false;
    forward->channel = mad_open_virtual_channel(forward->session, "both", 2, parts);
    forward->got = calloc(forward->size, sizeof(*forward->got));
    forward->block = malloc(forward->bytes);
    return forward->channel != NULL && forward->got != NULL && forward->block != NULL;
}

static int run(struct rank *rank)
{
    struct forward forward = {
        .rank = rank,
        .id = rank_id(rank),
        .size = rank_size(rank),
        .messages = (uint32_t)rank_arg_count(rank, "messages"),
        .bytes = rank_arg_count(rank, "bytes"),
        .ends = strcmp(rank_arg_choice(rank, "pairs"), "ends") == 0,
        .lossy = rank_arg_bool(rank, "lossy"),
    };

    mad_set_failure_handler(on_failure, &forward);
    if (!open_all(&forward))
        return rank_fail(rank, "the session does not start");
    exchange(&forward);
    rank_count(rank, "missing", forward.missing);
    rank_count(rank, "failures", forward.failures);
    mad_exit(forward.session);
    free(forward.got);
    free(forward.block);
    return forward.broken;
}

static const struct workload mad_forward = {
    .name = "mad_forward",
    .meaning = "messages through a gateway between two networks, by a virtual channel of Madeleine",
    .metrics = "time (ps), bandwidth (B/s, of the ends), missing (messages), failures (reported by "
               "Madeleine)",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(mad_forward)
