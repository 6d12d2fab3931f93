/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the last packets of an adaptive stream cost on an idle network, at F0 and F1: a NIC feeds up
 * to three times what one link carries, so packets wait at the ports of the minimal paths, or make
 * detours, and the message is complete when the last of these is there. F2 has that by itself. See
 * docs/internals/network.md, "The tail of a stream".
 */
#include "internal.h"

/* Ports that carry that much of what the NIC feeds are enough when a detour is worth the wait. */
#define ENOUGH 0.97

/* A tail below such a part of the stream is left out: the levels agree without, and the closed form
 * holds for long streams on every pair. */
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
    double time; /* from the first packet to the last */
    double pace;
};

/*
 * At the first ports: who finds more waiting there than the bias tolerates makes a detour, which
 * takes longer. One packet in `period` has to, so the last one did up to that long before the end.
 */
static double near_tail(const struct net_spread *spread, const struct stream *stream)
{
    double alone = stream->units * 1e6 / spread->port_rate; /* at one of the ports */
    double behind = most(stream->work * 1e6 / spread->rate - stream->time, 0);
    double clash = spread->ports > 1 ? most(alone - stream->pace, 0) : 0;
    double share = stream->pace * spread->rate / (stream->units * 1e6); /* of the feed */
    double waiting, detour_threshold, period, excess;

    if (spread->detour_threshold_units ==
        NET_ENDLESS) /* half of it takes each way, half of one's is seen */
        return most(least(behind / 4, (double)spread->far_wait / 2), clash);
    /* the last one that stays finds so many there, one of them on the link */
    waiting = (uint32_t)(spread->detour_threshold_units / stream->units) + 1;
    detour_threshold = waiting * alone;
    detour_threshold -= least((double)spread->transit, waiting * stream->pace * spread->ports);
    detour_threshold = most(detour_threshold, (double)spread->far_detour_threshold);
    excess = (double)spread->detour - detour_threshold;
    if (excess > 0 && share > ENOUGH)
        return clash;
    if (behind <= detour_threshold)
        return most(behind, clash);
    if (excess <= 0)
        return detour_threshold;
    period = stream->pace / (1 - share);
    return most(clash, period < excess ? (double)spread->detour - period / 2
                                       : detour_threshold + excess * excess / (2 * period));
}

/* Behind them: what comes through these, and no more, waits where the paths narrow, until credits
 * tell of it. */
static double far_tail(const struct net_spread *spread, const struct stream *stream)
{
    double time = stream->packets * stream->pace;
    double come = most(stream->pace, stream->units * 1e6 / spread->rate);
    double work = (time / come - 1) * stream->units * 1e6 / spread->far_rate;

    if (spread->far_rate >= spread->rate || work <= time)
        return 0;
    return least((double)spread->far_wait, work - time);
}

sim_time_t net_tail(const struct net *net, const struct net_transfer *transfer, sim_time_t feed)
{
    struct stream stream = {
        .units = transfer->last_units,
        .work =
            (double)transfer->ahead * transfer->last_units + transfer->units - transfer->last_units,
        .packets = (double)transfer->ahead + transfer->packets,
        .time = (double)(transfer->since + feed + transfer->lead),
        .pace = (double)transfer->pace,
    };
    double slowest = net->speed[COLOR_BLUE][LANES].units_per_us;
    struct net_spread spread;
    double tail;

    if (stream.packets <= 1 || stream.pace <= 0 || stream.units * 1e6 / slowest <= stream.pace)
        return 0;
    if (net->topology->spread == NULL || !net->topology->spread(net, transfer, &spread))
        return 0;
    stream.time = most(stream.time - stream.pace, 0);
    tail = most(near_tail(&spread, &stream), far_tail(&spread, &stream));
    return tail < stream.time * NEGLIGIBLE ? 0 : (sim_time_t)tail;
}
