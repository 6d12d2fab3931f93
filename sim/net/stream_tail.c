/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The delay of the last packets of an adaptive stream on an idle network, at F0 and F1. A NIC
 * injects up to three times the rate of one link, so packets wait at the ports of the minimal paths
 * or take non-minimal ones. The message is complete when the last of them arrives. F2 simulates
 * this packet by packet. See docs/internals/network.md, "The tail of a stream".
 */
#include <assert.h>
#include "internal.h"

/* If the ports of the minimal paths carry this share of the injected rate, and a packet that would
 * wait takes a non-minimal path instead, no tail builds up. */
#define SUFFICIENT_SHARE 0.97

/* A tail shorter than this fraction of the stream is ignored: the fidelities agree without it, and
 * the closed form then holds for long streams of every pair. */
#define NEGLIGIBLE (1.0 / 60)

static double least(double a, double b)
{
    return a < b ? a : b;
}

static double most(double a, double b)
{
    return a > b ? a : b;
}

struct stream {
    double units; /* of a packet */
    double work; /* units before the last packet */
    double packets;
    double time; /* from the first packet to the last, ps */
    double interval; /* between packets, ps */
};

/*
 * The tail at the first ports. A packet that finds a longer queue there than the bias tolerates
 * takes a non-minimal path, which takes longer. One packet per `period` has to, so the last such
 * packet was sent up to one period before the end.
 */
static double near_tail(const struct net_stream_paths *paths, const struct stream *stream)
{
    double alone = stream->units * 1e6 / paths->port_rate; /* at one of the ports */
    double behind = most(stream->work * 1e6 / paths->rate - stream->time, 0);
    double clash = paths->ports > 1 ? most(alone - stream->interval, 0) : 0;
    double share = stream->interval * paths->rate / (stream->units * 1e6); /* of the feed */
    double waiting, detour_threshold, period, excess;

    if (paths->detour_threshold_units ==
        NET_NO_DETOUR) /* each of two paths takes half; half of the backlog of one is visible */
        return most(least(behind / 4, (double)paths->far_wait / 2), clash);
    /* the last packet that stays finds so many packets there, one of them on the link */
    waiting = (uint32_t)(paths->detour_threshold_units / stream->units) + 1;
    detour_threshold = waiting * alone;
    detour_threshold -= least((double)paths->transit, waiting * stream->interval * paths->ports);
    detour_threshold = most(detour_threshold, (double)paths->far_detour_threshold);
    excess = (double)paths->detour - detour_threshold;
    if (excess > 0 && share > SUFFICIENT_SHARE)
        return clash;
    if (behind <= detour_threshold)
        return most(behind, clash);
    if (excess <= 0)
        return detour_threshold;
    period = stream->interval / (1 - share);
    return most(clash, period < excess ? (double)paths->detour - period / 2
                                       : detour_threshold + excess * excess / (2 * period));
}

/* The tail behind the first ports. Packets that have passed these wait where the paths narrow,
 * until the missing credits hold back further ones at the source. */
static double far_tail(const struct net_stream_paths *paths, const struct stream *stream)
{
    double time = stream->packets * stream->interval;
    double arrival_interval = most(stream->interval, stream->units * 1e6 / paths->rate);
    double work = (time / arrival_interval - 1) * stream->units * 1e6 / paths->far_rate;

    if (paths->far_rate >= paths->rate || work <= time)
        return 0;
    return least((double)paths->far_wait, work - time);
}

sim_time_t net_stream_tail_of(const struct net *net, const struct net_transfer *transfer,
                              sim_time_t feed)
{
    struct stream stream = {
        .units = transfer->last_units,
        .work = (double)transfer->stream_packets * transfer->last_units + transfer->units -
                transfer->last_units,
        .packets = (double)transfer->stream_packets + transfer->packets,
        .time = (double)(transfer->stream_elapsed_ps + feed + transfer->ready_span),
        .interval = (double)transfer->packet_interval_ps,
    };
    double slowest = net->speed[COLOR_BLUE][LANES].units_per_us;
    struct net_stream_paths paths;
    double tail;

    if (stream.units * 1e6 / slowest <= stream.interval)
        return 0;
    if (net->topology->stream_paths == NULL || !net->topology->stream_paths(net, transfer, &paths))
        return 0;
    stream.time = most(stream.time - stream.interval, 0);
    tail = most(near_tail(&paths, &stream), far_tail(&paths, &stream));
    return tail < stream.time * NEGLIGIBLE ? 0 : (sim_time_t)tail;
}
