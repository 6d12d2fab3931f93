/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The link protocol (LCB): micropackets of 9 phits with a check sum and a number. The receiver
 * tosses everything behind a bad one until it comes again; the sender goes back to it after a round
 * trip and sends again what was on the way. Seven bad ones in a row initialise the link again, with
 * what it carries held for 20 us; when that has to be done twice running, the link is dead.
 * Sources: gpcd ar_slb_lcb; the costs are assumed (docs/internals/network.md, "Link errors").
 */
#include <math.h>
#include <stdlib.h>
#include "internal.h"

#define MICROPACKET_UNITS 9
#define BAD_MAX 7 /* bad ones in a row before the link is initialised again */

/* A round trip, and again what was sent meanwhile. */
static sim_time_t replay_time(const struct net_speed *speed, sim_time_t flight)
{
    sim_time_t round = 2 * flight, micropacket = net_serialise(speed, MICROPACKET_UNITS);
    uint64_t sent = (round + micropacket - 1) / micropacket;

    return round + sent * micropacket;
}

static double bad_chance(const struct net_lcb *lcb, uint32_t units)
{
    return 1 - pow(1 - lcb->rate, (double)units / MICROPACKET_UNITS);
}

sim_time_t net_lcb_draw_replays(struct net *net, uint32_t link, const struct net_speed *speed,
                                sim_time_t flight, uint32_t units, bool *link_fails)
{
    struct net_lcb *lcb = &net->lcb[link];
    uint32_t bad = 1;
    sim_time_t extra = 0;

    if (lcb->rate == 0)
        return 0;
    if (!sim_random_chance(&lcb->random, bad_chance(lcb, units))) {
        lcb->retried = false;
        return 0;
    }
    do {
        lcb->replays++;
        net->counters.replays++;
        extra += replay_time(speed, flight);
        if (bad++ < BAD_MAX)
            continue;
        if (lcb->retried) {
            *link_fails = true;
            return extra;
        }
        lcb->retried = true;
        lcb->reinits++;
        extra += NET_LCB_REINIT;
        bad = 1;
    } while (sim_random_chance(&lcb->random, lcb->rate));
    lcb->retried = false;
    return extra;
}

sim_time_t net_lcb_mean_replay_time(const struct net *net, uint32_t link,
                                    const struct net_speed *speed, sim_time_t flight,
                                    uint32_t units)
{
    const struct net_lcb *lcb = &net->lcb[link];
    double rate = lcb->rate < 0.99 ? lcb->rate : 0.99, each;

    if (rate == 0)
        return 0;
    each = (double)replay_time(speed, flight) / (1 - rate) +
           pow(rate, BAD_MAX - 1) * (double)NET_LCB_REINIT;
    return (sim_time_t)(rate * units / MICROPACKET_UNITS * each);
}

static void set_rate(struct net *net, uint32_t link, double rate)
{
    struct net_lcb *lcb = &net->lcb[link];

    lcb->rate = rate;
    lcb->retried = false;
}

bool net_link_set_error_rate(struct net *net, uint32_t router_a, uint32_t router_b, uint32_t which,
                             double rate)
{
    uint32_t link, reverse, i;

    if (!(rate >= 0 && rate <= 1) ||
        !net->topology->find(net, router_a, router_b, which, &link, &reverse))
        return false;
    if (net->lcb == NULL) {
        net->lcb = calloc(net->link_count, sizeof(*net->lcb));
        if (net->lcb == NULL)
            abort();
        for (i = 0; i < net->link_count; i++)
            sim_random_init(&net->lcb[i].random, net->seed, "net.lcb", i);
    }
    set_rate(net, link, rate);
    set_rate(net, reverse, rate);
    return true;
}
