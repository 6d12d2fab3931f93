/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Paths on the dragonfly that are chosen by load, at F1. */
#include "path_builder.h"

static __attribute__((noinline, cold)) bool leg_past_dead(const struct context *in,
                                                          struct trail *trail, uint32_t base,
                                                          uint32_t a, uint32_t b, uint32_t choice,
                                                          uint32_t avoid)
{
    return add_leg(in, trail, base, a, b, choice, avoid);
}

static bool leg(const struct context *in, struct trail *trail, uint32_t base, uint32_t a,
                uint32_t b, uint32_t choice, uint32_t avoid)
{
    struct context healthy = *in;

    if (sim_unlikely(in->down != NULL))
        return leg_past_dead(in, trail, base, a, b, choice, avoid);
    healthy.down = NULL; /* as constants, see ALWAYS_INLINE */
    healthy.adaptive = true;
    healthy.green_first = false;
    return add_leg(&healthy, trail, base, a, b, choice, avoid);
}

/* A decision at a router of a minimal path: the candidates that are the best so far. */
struct decision {
    const struct net_route_bias *bias;
    struct sim_random *random;
    uint32_t router, target;
    const struct place *from, *to;
    bool between_groups;
    uint64_t gateway; /* choice of the next one */
    struct trail *minimal, non_minimal;
    uint32_t cost_min, cost_non;
    struct trail candidate; /* its first links are always the same */
};

/*
 * Another minimal candidate: a random one of the links that the group pair has, so up to five links
 * in all. A packet that is under way to a gateway changes to those only that are within two links
 * of its source.
 */
static uint32_t other_gateway(const struct dragonfly *fly, const struct decision *d)
{
    const struct reach *reach = dragonfly_reach(fly, d->from, d->to->group);
    uint32_t count = 0, w;
    uint64_t set[PAIR_WORDS_MAX];

    if (d->candidate.at == 0)
        return pick(d->gateway, fly->pair_links);
    for (w = 0; w < fly->pair_words; w++) {
        set[w] = reach[w].here;
        if (d->candidate.at == 1)
            set[w] |= reach[w].green | reach[w].black;
        count += dragonfly_count_bits(set[w]);
    }
    return count > 0 ? dragonfly_nth_bit(set, pick(d->gateway, count)) : NOWHERE;
}

/*
 * The load from which on (load << shift) + addend is not below a cost: what a candidate must not
 * have.
 */
static inline uint8_t load_limit(uint32_t below, uint32_t shift, uint32_t addend)
{
    uint32_t limit = below > addend ? (below - addend + (1u << shift) - 1) >> shift : 0;

    return limit < NO_LIMIT ? (uint8_t)limit : NO_LIMIT;
}

/*
 * Whether that is so for every way from here out of the group over one of its blue links, by the
 * least that such a way can cost. Nearly all candidates end here when the machine is full, so that
 * little is looked at for them: the blue link and own ports.
 */
static inline bool futile(const struct context *in, uint32_t limit, const struct place *from,
                          uint32_t group, uint32_t link)
{
    const struct gateway *gateway = dragonfly_gateway(in->fly, from->group, group, link);
    uint32_t base = from->group * in->fly->per_group;
    const struct place *to = &in->fly->places[base + gateway->local];
    const struct net_speed *speed = full_speed(in->net, COLOR_BLUE);
    const sim_time_t *busy = &in->busy[(base + from->local) * PORTS];
    sim_time_t wait = wait_for(in, (base + gateway->local) * PORTS + gateway->port), good;
    uint32_t far, black;

    if (limit == NO_LIMIT || in->down != NULL || in->net->lanes != NULL)
        return false;
    if (gateway->local == from->local)
        return wait >= speed->near[limit];
    far = 1u << far_level(speed, wait) & ~1u;
    if (far >= limit)
        return true;
    good = in->now + full_speed(in->net, COLOR_GREEN)->near[limit - far];
    if (from->slot != to->slot && busy[dragonfly_green_port(from->slot, to->slot)] < good)
        return false;
    if (from->chassis == to->chassis)
        return true;
    good = in->now + full_speed(in->net, COLOR_BLACK)->near[limit - far];
    black = dragonfly_black_port(from->chassis, to->chassis, 0);
    return busy[black] >= good && busy[black + 1] >= good && busy[black + 2] >= good;
}

/* One more minimal candidate that is cheaper. */
static bool draw_minimal(const struct context *in, struct decision *d)
{
    struct trail *candidate = &d->candidate;
    uint32_t link = other_gateway(in->fly, d);

    if (link == NOWHERE || futile(in, candidate->limit, d->from, d->to->group, link))
        return false;
    trail_decide(candidate, candidate->at);
    return add_global(in, candidate, d->router, d->target, link, d->gateway, leg) &&
           trail_load(candidate) < candidate->limit;
}

static bool add_non_minimal(const struct context *in, struct trail *trail, uint32_t s, uint32_t t,
                            uint64_t choice)
{
    const struct dragonfly *fly = in->fly;
    const struct place *from = &fly->places[s], *to = &fly->places[t];
    uint32_t number, group, link;

    if (by_router(fly, from, to)) /* two of three may be the ends themselves */
        return add_by_router(in, trail, s, t, choice, 3, leg);
    number = pick(choice, (fly->groups - 2) * fly->pair_links);
    link = number % fly->pair_links;
    group = third_group(number / fly->pair_links, from->group, to->group);
    return !futile(in, trail->limit, from, group, link) &&
           add_by_group(in, trail, s, t, group, link, choice, leg);
}

/* One more minimal candidate and two non-minimal ones. */
static void draw(const struct context *in, struct decision *d)
{
    const struct net_route_bias *bias = d->bias;
    struct trail *candidate = &d->candidate;
    uint32_t i;

    d->gateway += 0x9e3779b97f4a7c15ull; /* spreads later draws evenly */
    candidate->limit = load_limit(d->cost_min, bias->min_shift, bias->min_add);
    if (d->between_groups && candidate->limit > 0 && draw_minimal(in, d)) {
        d->cost_min = (trail_load(candidate) << bias->min_shift) + bias->min_add;
        *d->minimal = *candidate;
    }
    for (i = 0; i < 2 && d->cost_min > bias->non_add; i++) {
        uint64_t choice = sim_random_next(d->random);

        /* one that is not below the minimal ones is not taken: these only become cheaper */
        candidate->limit = load_limit(d->cost_non < d->cost_min ? d->cost_non : d->cost_min,
                                      bias->non_shift, bias->non_add);
        trail_decide(candidate, candidate->at);
        if (candidate->limit > 0 && add_non_minimal(in, candidate, d->router, d->target, choice) &&
            trail_load(candidate) < candidate->limit) {
            d->cost_non = (trail_load(candidate) << bias->non_shift) + bias->non_add;
            d->non_minimal = *candidate;
        }
    }
}

static inline bool best_waits(const struct decision *d)
{
    return d->cost_min <= d->cost_non ? d->minimal->waits : d->non_minimal.waits;
}

/*
 * The decision at a router of a minimal path whose next port is loaded. Every packet draws its own
 * candidates: a chunk whose candidates all wait draws again, at most as often as a quarter of its
 * packets. Where that is in vain, as it is when the machine is full, the next decisions do not try:
 * one, two, four, up to 64 of them. True when the trail now is a non-minimal one.
 */
static bool divert(const struct context *in, struct trail *trail, uint32_t s, uint32_t t,
                   const struct net_route_bias *bias, uint32_t packets, struct sim_random *random)
{
    uint32_t port, which, rounds, at = trail->at;
    struct decision d;
    struct crowd *crowd;

    d.bias = bias;
    d.random = random;
    d.router = s;
    d.target = t;
    d.minimal = trail;
    d.cost_min = (trail_load(trail) << bias->min_shift) + bias->min_add;
    d.cost_non = UINT32_MAX;
    d.candidate = *trail;
    if (at > 0)
        net_dragonfly_peer(in->fly, trail->link[at - 1] / PORTS, trail->link[at - 1] % PORTS,
                           &d.router, &port, &which);
    d.from = &in->fly->places[d.router];
    d.to = &in->fly->places[t];
    d.between_groups = d.from->group != d.to->group;
    d.gateway = d.between_groups ? sim_random_next(random) : 0;
    draw(in, &d);
    crowd = &in->fly->crowds[d.router];
    for (rounds = packets / 4; rounds > 1; rounds--) {
        if (!best_waits(&d)) {
            crowd->level >>= 1;
            break;
        }
        if (crowd->skip > 0) {
            crowd->skip--;
            break;
        }
        draw(in, &d);
        if (rounds == 2 && best_waits(&d)) {
            crowd->skip = crowd->level;
            crowd->level = crowd->level < 32 ? crowd->level * 2 + 1 : 63;
        }
    }
    if (d.cost_min <= d.cost_non)
        return false;
    *trail = d.non_minimal;
    return true;
}

static sim_time_t hops(const struct net *net, const uint8_t *color, uint32_t links)
{
    sim_time_t sum = 0;
    uint32_t i;

    for (i = 0; i < links; i++)
        sum += net->speed[color[i]][LANES].hop;
    return sum;
}

/*
 * A class that never leaves the minimal paths has one, two or three of them inside a group, fewer
 * than a NIC fills. Packets take turns on these: the transfer is divided.
 */
static uint32_t divide(const struct context *in, struct trail *trail, const struct place *from,
                       const struct place *to, uint32_t choice)
{
    uint32_t base = from->group * in->fly->per_group, source = base + from->local, parts = 0, i;
    uint32_t green = dragonfly_green_port(from->slot, to->slot);
    uint32_t black = dragonfly_black_port(from->chassis, to->chassis, 0);
    struct corner corner;

    if (from->chassis == to->chassis)
        return add(in, trail, source * PORTS + green, COLOR_GREEN);
    if (from->slot == to->slot) {
        for (i = 0; i < BLACK_LINKS; i++)
            parts += add(in, trail, source * PORTS + black + i, COLOR_BLACK);
        return parts;
    }
    for (i = 0; i < 2; i++)
        if (find_corner(in, &corner, source, base + to->local, (uint32_t)to->slot - from->slot,
                        green, black, i, choice)) {
            append_corner(in, trail, &corner);
            parts++;
        }
    return parts;
}

/*
 * Decisions are taken at the source and at every router of the source group that a minimal path
 * comes to, until it leaves the group. After the root there is no decision, only the less busy of
 * parallel links.
 */
bool net_dragonfly_adaptive_path(struct net *net, const struct net_transfer *transfer,
                                 struct net_path *path, uint32_t source, uint32_t target)
{
    struct context in = context_of(net, true);
    const struct place *from = &in.fly->places[source], *to = &in.fly->places[target];
    struct sim_random *random = &in.fly->random[source];
    uint32_t class = transfer->route - NET_ROUTE_ADAPTIVE_0, at;
    const struct net_route_bias *bias = in.fly->bias[class];
    uint64_t choice = sim_random_next(random);
    struct trail trail;

    trail_begin(&trail);
    if (from->group == to->group && transfer->packets > 1 && in.fly->only_minimal[class]) {
        net_dragonfly_begin(in.fly, path, 1);
        path->parts = divide(&in, &trail, from, to, (uint32_t)choice);
        if (path->parts > 0) {
            trail_finish(&in, &trail, path);
            return true;
        }
    }
    net_dragonfly_begin(in.fly, path, net_dragonfly_width(net, source, target));
    if (!add_shortest(&in, &trail, source, target, choice, leg)) {
        path->minimal = false;
        if (add_non_minimal(&in, &trail, source, target, sim_random_next(random)))
            trail_finish(&in, &trail, path);
        else if (!net_dragonfly_any_path(net, path, source, target, choice, true))
            return false;
        path->propagation = hops(net, path->color, path->links);
        return true;
    }
    path->propagation = hops(net, trail.color, trail.links);
    /* Nothing waits anywhere, so no decision can be for another path, unless minimal is penalised.
     * And where all paths lead through one port, none is sooner there. */
    for (at = 0; at < trail.links && path->width != 1 &&
                 !(at == 0 && trail.idle && bias[0].min_add <= bias[0].non_add) &&
                 (at == 0 || trail.color[at - 1] != COLOR_BLUE);
         at++) {
        const struct net_route_bias *here = &bias[at == 0 ? 0 : 1 + trail.color[at - 1]];

        if (at > 0)
            trail_survey(&in, &trail, at);
        /* nothing can be cheaper than no load, unless minimal is penalised */
        if ((trail_load(&trail) > 0 || here->min_add > here->non_add) &&
            divert(&in, &trail, source, target, here, transfer->packets, random)) {
            path->minimal = false;
            break;
        }
    }
    trail_finish(&in, &trail, path);
    return true;
}
