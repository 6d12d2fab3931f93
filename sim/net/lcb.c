/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The link protocol (LCB): go-back-N retransmission of micropackets, which have 9 phits, a checksum
 * and a sequence number. After a corrupted micropacket the receiver discards everything until that
 * micropacket arrives again. The sender learns of the error after a round trip and retransmits from
 * there. After seven errors in a row the sender reinitialises the link, which holds its traffic for
 * 20 us. When that is necessary twice in succession, the link fails. Sources: gpcd ar_slb_lcb; the
 * costs are assumed (docs/internals/network.md, "Link errors").
 */
#include <assert.h>
#include <stdlib.h>
#include "engine/real.h"
#include "internal.h"

#define MICROPACKET_UNITS 9
#define ERRORS_MAX 7 /* in a row, before the link is reinitialised */

/* The cost of one error: a round trip, and the retransmission of what was sent during it. */
static sim_time_t replay_time(const struct net_speed *speed, sim_time_t flight)
{
    sim_time_t round = 2 * flight, micropacket = net_serialise(speed, MICROPACKET_UNITS);
    uint64_t sent = (round + micropacket - 1) / micropacket;

    return round + sent * micropacket;
}

static double error_chance(const struct net_lcb *lcb, uint32_t units)
{
    return 1 - sim_power(1 - lcb->rate, (double)units / MICROPACKET_UNITS);
}

sim_time_t net_lcb_draw_replays(struct net *net, uint32_t link, const struct net_speed *speed,
                                sim_time_t flight, uint32_t units, bool *link_fails)
{
    struct net_lcb *lcb = &net->lcb[link];
    uint32_t errors = 1;
    sim_time_t extra = 0;

    assert(link < net->link_count && lcb->rate >= 0 && lcb->rate <= 1);
    if (lcb->rate == 0)
        return 0;
    if (!sim_random_chance(&lcb->random, error_chance(lcb, units))) {
        lcb->retried = false;
        return 0;
    }
    do {
        lcb->replays++;
        net->counters.replays++;
        extra += replay_time(speed, flight);
        if (errors++ < ERRORS_MAX)
            continue;
        if (lcb->retried) {
            *link_fails = true;
            return extra;
        }
        lcb->retried = true;
        lcb->reinits++;
        extra += NET_LCB_REINIT;
        errors = 1;
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
           sim_power(rate, ERRORS_MAX - 1) * (double)NET_LCB_REINIT;
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
