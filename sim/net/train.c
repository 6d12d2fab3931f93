/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Packet trains at F1: an adaptive transfer of more packets than take one path. Each of its parts
 * chooses a path and reserves the links for the time when it leaves, but all do so when the first
 * one leaves. So a train costs one event. See docs/internals/network.md, "Trains".
 */
#include <assert.h>
#include "multipath.h"

/* A part of a train: packets begin to end - 1. */
struct part {
    uint32_t begin, end;
};

/* Makes the transfer that part, and returns its feed. */
static sim_time_t take_part(struct net *net, struct net_transfer *transfer,
                            const struct net_transfer *train, const struct part *part,
                            sim_time_t feed)
{
    uint64_t units = train->units;
    sim_time_t elapsed;

    net->send_delay = feed * part->begin / train->packets;
    elapsed = train->stream_elapsed_ps + net->send_delay;
    transfer->packets = part->end - part->begin;
    transfer->units =
        (uint32_t)(units * part->end / train->packets - units * part->begin / train->packets);
    transfer->streamed = train->streamed || part->begin > 0;
    transfer->stream_packets = train->stream_packets + part->begin;
    transfer->stream_elapsed_ps = elapsed < UINT32_MAX ? (uint32_t)elapsed : UINT32_MAX;
    /* The stream ends with the last part, or with the one before if just one packet follows it. */
    transfer->packet_interval_ps = train->packets - part->end <= 1 ? train->packet_interval_ps : 0;
    return feed * part->end / train->packets - net->send_delay;
}

static void restore(struct net *net, struct net_transfer *transfer,
                    const struct net_transfer *train)
{
    net->send_delay = 0;
    transfer->packets = train->packets;
    transfer->units = train->units;
    transfer->streamed = train->streamed;
    transfer->stream_packets = train->stream_packets;
    transfer->stream_elapsed_ps = train->stream_elapsed_ps;
    transfer->packet_interval_ps = train->packet_interval_ps;
}

bool net_train_reserve(struct net *net, struct net_transfer *transfer, sim_time_t feed,
                       sim_time_t *arrival)
{
    const struct net_transfer train = *transfer;
    uint32_t most = (train.packets + NET_MULTIPATH_PATHS_MAX - 1) / NET_MULTIPATH_PATHS_MAX;
    struct net_multipath *multipath = net_multipath_new(net);
    struct part part;
    struct net_path path;
    bool reachable = true;

    assert(net_is_train(net, transfer));
    if (most < NET_PATH_PACKETS)
        most = NET_PATH_PACKETS;
    *arrival = 0;
    for (part.begin = 0; part.begin < train.packets && reachable; part.begin = part.end) {
        sim_time_t part_feed, tail;

        part.end = train.packets - part.begin > most ? part.begin + most : train.packets;
        part_feed = take_part(net, transfer, &train, &part, feed);
        reachable = net->topology->route(net, transfer, &path);
        if (!reachable)
            break;
        tail = net_chunk_reserve(net, transfer, &path, part_feed);
        if (tail > *arrival)
            *arrival = tail;
        net_count(net, transfer, &path);
        net_multipath_append(multipath, &transfer->flight, net->send_delay);
    }
    restore(net, transfer, &train);
    net_multipath_give(transfer, multipath);
    if (!reachable)
        net_multipath_free(net, transfer);
    return reachable;
}
