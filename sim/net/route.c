/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Paths on the dragonfly. They are built on the fly from coordinates and the gateway table.
 * Functions that extend a path append to it and leave it as it was when they return false, which
 * happens only on an impaired network.
 *
 * A `choice` is 64 random or hashed bits that pick among equals: bits 0–15 and 16–31 for the two
 * legs inside groups, the upper half for the gateway or the root.
 */
#include <assert.h>
#include "dragonfly.h"

#define NOWHERE UINT32_MAX

struct context {
    const struct net *net;
    const struct dragonfly *fly;
    sim_time_t now;
    bool adaptive; /* prefer the less busy of parallel links; otherwise the first live one */
    bool green_first; /* one order inside groups: what the virtual channels of F2 have room for */
};

static inline uint32_t pick(uint64_t choice, uint32_t count)
{
    return (uint32_t)(((choice >> 32) * count) >> 32);
}

static inline bool add(const struct context *in, struct net_path *path, uint32_t link,
                       unsigned color)
{
    if (!net_link_alive(in->net, link))
        return false;
    assert(path->links < NET_PATH_MAX);
    path->color[path->links] = (uint8_t)color;
    path->link[path->links++] = link;
    return true;
}

static inline bool add_black(const struct context *in, struct net_path *path, uint32_t router,
                             uint32_t chassis, uint32_t peer, uint32_t choice)
{
    uint32_t base = router * PORTS + dragonfly_black_port(chassis, peer, 0), best = NOWHERE, i;
    uint32_t which = ((choice >> 8 & 0xff) * BLACK_LINKS) >> 8;
    sim_time_t best_busy = SIM_NEVER;

    for (i = 0; i < BLACK_LINKS; i++) {
        uint32_t link = base + which;
        sim_time_t busy = in->net->links[link].busy;

        which = which + 1 == BLACK_LINKS ? 0 : which + 1;
        if (!net_link_alive(in->net, link))
            continue;
        if (!in->adaptive || busy <= in->now)
            return add(in, path, link, COLOR_BLACK);
        if (busy < best_busy) {
            best_busy = busy;
            best = link;
        }
    }
    return best != NOWHERE && add(in, path, best, COLOR_BLACK);
}

/* Two links, green first or black first; both corners are minimal. */
static bool add_corner(const struct context *in, struct net_path *path, uint32_t base,
                       const struct place *from, const struct place *to, bool black_first,
                       uint32_t choice)
{
    uint32_t slots = in->fly->slots, before = path->links, corner;

    if (black_first) {
        corner = base + to->chassis * slots + from->slot;
        if (add_black(in, path, base + from->local, from->chassis, to->chassis, choice) &&
            add(in, path, corner * PORTS + dragonfly_green_port(from->slot, to->slot), COLOR_GREEN))
            return true;
    } else {
        corner = base + from->chassis * slots + to->slot;
        if (add(in, path, (base + from->local) * PORTS + dragonfly_green_port(from->slot, to->slot),
                COLOR_GREEN) &&
            add_black(in, path, corner, from->chassis, to->chassis, choice))
            return true;
    }
    path->links = before;
    return false;
}

/* When the busier of the two links of a corner is free. */
static sim_time_t busier(const struct context *in, const struct net_path *path, uint32_t at)
{
    sim_time_t first = in->net->links[path->link[at]].busy;
    sim_time_t second = in->net->links[path->link[at + 1]].busy;

    return first > second ? first : second;
}

/* From one router of a group to another, 0 to 2 links, not by way of local router `avoid`. */
static bool add_leg(const struct context *in, struct net_path *path, uint32_t base, uint32_t a,
                    uint32_t b, uint32_t choice, uint32_t avoid)
{
    const struct place *from = &in->fly->places[base + a], *to = &in->fly->places[base + b];
    uint32_t at = path->links;
    struct net_path other;
    bool black_first;

    if (a == b)
        return true;
    if (from->chassis == to->chassis)
        return add(in, path, (base + a) * PORTS + dragonfly_green_port(from->slot, to->slot),
                   COLOR_GREEN);
    if (from->slot == to->slot)
        return add_black(in, path, base + a, from->chassis, to->chassis, choice);
    black_first = (choice & 1) && !in->green_first;
    if (avoid == from->chassis * in->fly->slots + to->slot)
        black_first = true;
    else if (avoid == to->chassis * in->fly->slots + from->slot)
        black_first = false;
    if (!add_corner(in, path, base, from, to, black_first, choice))
        return add_corner(in, path, base, from, to, !black_first, choice);
    if (!in->adaptive || busier(in, path, at) <= in->now || avoid != NOWHERE)
        return true;
    other = *path;
    other.links = at;
    if (add_corner(in, &other, base, from, to, !black_first, choice) &&
        busier(in, &other, at) < busier(in, path, at))
        *path = other;
    return true;
}

/* A leg that may go round by a third router when no short one is alive: by two links if possible.
 */
static bool add_leg_somehow(const struct context *in, struct net_path *path, uint32_t base,
                            uint32_t a, uint32_t b, uint32_t choice)
{
    const struct place *from = &in->fly->places[base + a], *to = &in->fly->places[base + b];
    uint32_t before = path->links, count = in->fly->per_group, round, i;

    if (add_leg(in, path, base, a, b, choice, NOWHERE))
        return true;
    for (round = 0; round < 2; round++)
        for (i = 0; i < count; i++) {
            uint32_t root = (choice + i) % count;
            const struct place *by = &in->fly->places[base + root];
            bool near = (by->chassis == from->chassis && by->chassis == to->chassis) ||
                        (by->slot == from->slot && by->slot == to->slot);

            if (root != a && root != b && near == (round == 0) &&
                add_leg(in, path, base, a, root, choice, NOWHERE) &&
                add_leg(in, path, base, root, b, choice, NOWHERE))
                return true;
            path->links = before;
        }
    return false;
}

typedef bool leg_function(const struct context *in, struct net_path *path, uint32_t base,
                          uint32_t a, uint32_t b, uint32_t choice);

static bool add_short_leg(const struct context *in, struct net_path *path, uint32_t base,
                          uint32_t a, uint32_t b, uint32_t choice)
{
    return add_leg(in, path, base, a, b, choice, NOWHERE);
}

/* From router s to router t of another group by the given one of the two groups' links. */
static inline bool add_global(const struct context *in, struct net_path *path, uint32_t s,
                              uint32_t t, uint32_t link, uint64_t choice, leg_function *leg)
{
    const struct dragonfly *fly = in->fly;
    const struct place *from = &fly->places[s], *to = &fly->places[t];
    const struct gateway *near =
        &fly->gateways[dragonfly_peer_index(from->group, to->group) * fly->pair_links + link];
    const struct gateway *far =
        &fly->gateways[dragonfly_peer_index(to->group, from->group) * fly->pair_links + link];
    uint32_t base = from->group * fly->per_group, before = path->links;

    if (leg(in, path, base, from->local, near->local, (uint32_t)choice) &&
        add(in, path, (base + near->local) * PORTS + near->port, COLOR_BLUE) &&
        leg(in, path, to->group * fly->per_group, far->local, to->local, (uint32_t)choice >> 16))
        return true;
    path->links = before;
    return false;
}

/* The next live entry: first the other shortest ones, then those that take more links in a group.
 */
static bool add_next_gateway(const struct context *in, struct net_path *path, uint32_t s,
                             uint32_t t, const uint64_t *set, uint32_t tried, uint64_t choice,
                             leg_function *leg)
{
    uint32_t count = in->fly->pair_links, i, round;

    for (round = 0; round < 2; round++)
        for (i = 1; i <= count; i++) {
            uint32_t link = (tried + i) % count;
            bool is_best = set[link / 64] >> (link % 64) & 1;

            if (is_best == (round == 0) && add_global(in, path, s, t, link, choice, leg))
                return true;
        }
    return false;
}

/* A path with the least links, and of these one with the least time. */
static inline bool add_shortest(const struct context *in, struct net_path *path, uint32_t s,
                                uint32_t t, uint64_t choice)
{
    const struct dragonfly *fly = in->fly;
    const struct place *from = &fly->places[s], *to = &fly->places[t];
    uint64_t set[PAIR_WORDS_MAX];
    uint32_t count, link, source_leg, target_leg;

    if (from->group == to->group)
        return add_leg(in, path, from->group * fly->per_group, from->local, to->local,
                       (uint32_t)choice, NOWHERE);
    count = dragonfly_best_gateways(fly, s, t, set, &source_leg, &target_leg);
    link = dragonfly_nth_bit(set, pick(choice, count));
    return add_global(in, path, s, t, link, choice, add_short_leg) ||
           add_next_gateway(in, path, s, t, set, link, choice, add_short_leg);
}

/* By a root: a third router in the group, or a third group; with two groups a third router in the
 * source's. */
static bool add_non_minimal(const struct context *in, struct net_path *path, uint32_t s, uint32_t t,
                            uint64_t choice)
{
    const struct dragonfly *fly = in->fly;
    const struct place *from = &fly->places[s], *to = &fly->places[t];
    uint32_t base = from->group * fly->per_group, before = path->links;
    uint32_t first, count, tries, i;

    if (from->group == to->group || fly->groups == 2) {
        count = fly->per_group;
        first = pick(choice, count);
        tries = in->net->impaired && !in->adaptive
                    ? count
                    : 3; /* two of three may be the ends themselves */
        for (i = 0; i < tries; i++) {
            uint32_t root = (first + i) % count;

            if (root == from->local || (from->group == to->group && root == to->local))
                continue;
            if (from->group == to->group
                    ? add_leg(in, path, base, from->local, root, (uint32_t)choice, to->local) &&
                          add_leg(in, path, base, root, to->local, (uint32_t)choice >> 16,
                                  from->local)
                    : add_leg(in, path, base, from->local, root, (uint32_t)choice, NOWHERE) &&
                          add_shortest(in, path, base + root, t, choice * 0x9e3779b97f4a7c15ull)) {
                const struct place *by = &fly->places[base + root];

                path->root =
                    (uint8_t)(before + (by->slot != from->slot) + (by->chassis != from->chassis));
                return true;
            }
            path->links = before;
        }
        return false;
    }
    count = (fly->groups - 2) * fly->pair_links;
    if (count == 0)
        return false;
    first = pick(choice, count);
    tries = in->net->impaired && !in->adaptive ? count : 1;
    for (i = 0; i < tries; i++) {
        uint32_t number = (first + i) % count, link = number % fly->pair_links,
                 group = number / fly->pair_links;
        const struct gateway *far;
        uint32_t root;

        group += group >= (from->group < to->group ? from->group : to->group);
        group += group >= (from->group < to->group ? to->group : from->group);
        far = &fly->gateways[dragonfly_peer_index(group, from->group) * fly->pair_links + link];
        root = group * fly->per_group + far->local;
        if (add_global(in, path, s, root, link, choice, add_short_leg)) {
            path->root = (uint8_t)path->links;
            if (add_shortest(in, path, root, t, choice * 0x9e3779b97f4a7c15ull))
                return true;
        }
        path->links = before;
    }
    return false;
}

/* Whatever is alive, when neither a minimal nor a drawn non-minimal path is; in a fixed order. */
static bool add_somehow(const struct context *in, struct net_path *path, uint32_t s, uint32_t t,
                        uint64_t choice)
{
    const struct place *from = &in->fly->places[s], *to = &in->fly->places[t];
    struct context fixed = *in;
    uint64_t none[PAIR_WORDS_MAX] = {0};

    path->minimal = false;
    fixed.adaptive = false;
    if (from->group == to->group)
        return add_leg_somehow(in, path, from->group * in->fly->per_group, from->local, to->local,
                               (uint32_t)choice);
    return add_next_gateway(in, path, s, t, none, 0, choice, add_leg_somehow) ||
           add_non_minimal(&fixed, path, s, t, choice);
}

static void begin(const struct dragonfly *fly, struct net_path *path, uint32_t width)
{
    path->transit = fly->router_transit;
    path->links = 0;
    path->parts = 1;
    path->width = width;
    path->minimal = true;
    path->root = 0;
}

bool dragonfly_fixed_path(const struct net *net, struct net_path *path, uint32_t source,
                          uint32_t target, uint64_t choice)
{
    struct context in = {.net = net, .fly = net->dragonfly, .now = sim_now()};

    begin(in.fly, path, 1);
    return add_shortest(&in, path, source, target, choice) ||
           add_somehow(&in, path, source, target, choice);
}

/* ---- adaptive -------------------------------------------------------------------------------- */

/* Backlog of the at-th link of a path, in fifteenths of a virtual channel. */
static inline double backlog(const struct context *in, const struct net_path *path, uint32_t at)
{
    uint32_t link = path->link[at];
    sim_time_t wait = net_link_backlog(&in->net->links[link], in->now);

    return wait == 0 ? 0
                     : (double)wait * net_link_speed(in->net, link, path->color[at])->load_per_ps;
}

/*
 * The congestion value of a port, 4 bits, saturating: what waits for the port itself, in fifteenths
 * of what a virtual channel holds, plus what waits at the worst place downstream on the path:
 * nothing, 2, 4 or 8 from 64, 256 and 512 phits (of 576) on.
 */
static inline uint32_t port_load(const struct context *in, const struct net_path *path, uint32_t at)
{
    double near = backlog(in, path, at), far = 0;
    uint32_t load = near < 15 ? (uint32_t)near : 15, i;

    for (i = at + 1; i < path->links; i++) {
        double here = backlog(in, path, i);

        if (here > far)
            far = here;
        if (far >= 512 * 15.0 / 576)
            break; /* it cannot get worse */
    }
    if (far >= 64 * 15.0 / 576)
        load += far >= 512 * 15.0 / 576 ? 8 : far >= 256 * 15.0 / 576 ? 4 : 2;
    return load < 15 ? load : 15;
}

static uint32_t cost(const struct context *in, const struct net_path *path, uint32_t at,
                     uint32_t shift, uint32_t addend)
{
    return (port_load(in, path, at) << shift) + addend;
}

/*
 * Another minimal candidate: a random one of the links that the group pair has, so up to five links
 * in all. A packet that is under way to a gateway changes to those only that are within two links
 * of its source.
 */
static bool add_other_gateway(const struct context *in, struct net_path *path, uint32_t router,
                              uint32_t t, uint32_t at, uint64_t choice)
{
    const struct dragonfly *fly = in->fly;
    const struct place *from = &fly->places[router], *to = &fly->places[t];
    uint32_t peer = dragonfly_peer_index(from->group, to->group), count = 0, w;
    const struct reach *reach =
        &fly->reach[(peer * fly->per_group + from->local) * fly->pair_words];
    uint64_t set[PAIR_WORDS_MAX];

    if (at == 0)
        return add_global(in, path, router, t, pick(choice, fly->pair_links), choice,
                          add_short_leg);
    for (w = 0; w < fly->pair_words; w++) {
        set[w] = reach[w].here | (at == 1 ? reach[w].green | reach[w].black : 0);
        count += dragonfly_count_bits(set[w]);
    }
    return count > 0 && add_global(in, path, router, t, dragonfly_nth_bit(set, pick(choice, count)),
                                   choice, add_short_leg);
}

/* More waits somewhere on the path than packets that spread let by: see NET_SPREAD_UNITS. */
static bool waits(const struct context *in, const struct net_path *path, uint32_t at)
{
    uint32_t i;

    for (i = at; i < path->links; i++)
        if (net_link_backlog(&in->net->links[path->link[i]], in->now) >
            net_link_speed(in->net, path->link[i], path->color[i])->spread)
            return true;
    return false;
}

/* A decision at the at-th router of a minimal path: the candidates that are the best so far. */
struct decision {
    const struct net_route_bias *bias;
    struct sim_random *random;
    uint32_t router, target, at;
    bool between_groups;
    uint64_t gateway; /* choice of the next one */
    struct net_path *minimal, non_minimal;
    uint32_t cost_min, cost_non;
};

/* One more minimal candidate and two non-minimal ones. */
static void draw(const struct context *in, struct decision *d)
{
    const struct net_route_bias *bias = d->bias;
    struct net_path candidate = *d->minimal; /* its first `at` links */
    uint32_t i, this;

    candidate.links = d->at;
    d->gateway += 0x9e3779b97f4a7c15ull; /* spreads later draws evenly */
    if (d->between_groups &&
        add_other_gateway(in, &candidate, d->router, d->target, d->at, d->gateway)) {
        this = cost(in, &candidate, d->at, bias->min_shift, bias->min_add);
        if (this < d->cost_min) {
            d->cost_min = this;
            *d->minimal = candidate;
        }
    }
    for (i = 0; i < 2 && d->cost_min > bias->non_add; i++) {
        candidate.links = d->at;
        if (!add_non_minimal(in, &candidate, d->router, d->target, sim_random_next(d->random)))
            continue;
        this = cost(in, &candidate, d->at, bias->non_shift, bias->non_add);
        if (this < d->cost_non) {
            d->cost_non = this;
            d->non_minimal = candidate;
        }
    }
}

/*
 * The decision at the at-th router of a minimal path whose next port is loaded. Every packet draws
 * its own candidates: a chunk whose candidates all wait draws again, at most as often as a quarter
 * of its packets. Where that is in vain, as it is when the machine is full, the next decisions do
 * not try: one, two, four, up to 64 of them. True when the path now is a non-minimal one.
 */
static bool divert(const struct context *in, struct net_path *path, uint32_t s, uint32_t t,
                   uint32_t at, const struct net_route_bias *bias, uint32_t packets,
                   struct sim_random *random)
{
    struct decision d = {
        .bias = bias,
        .random = random,
        .router = s,
        .target = t,
        .at = at,
        .minimal = path,
        .cost_min = cost(in, path, at, bias->min_shift, bias->min_add),
        .cost_non = UINT32_MAX,
    };
    uint32_t port, which, rounds;
    struct crowd *crowd;

    if (at > 0)
        dragonfly_peer(in->fly, path->link[at - 1] / PORTS, path->link[at - 1] % PORTS, &d.router,
                       &port, &which);
    d.between_groups = in->fly->places[d.router].group != in->fly->places[t].group;
    if (d.between_groups)
        d.gateway = sim_random_next(random);
    draw(in, &d);
    crowd = &in->fly->crowds[d.router];
    for (rounds = packets / 4; rounds > 1; rounds--) {
        if (!waits(in, d.cost_min <= d.cost_non ? path : &d.non_minimal, at)) {
            crowd->level >>= 1;
            break;
        }
        if (crowd->skip > 0) {
            crowd->skip--;
            break;
        }
        draw(in, &d);
        if (rounds == 2 && waits(in, d.cost_min <= d.cost_non ? path : &d.non_minimal, at)) {
            crowd->skip = crowd->level;
            crowd->level = crowd->level < 32 ? crowd->level * 2 + 1 : 63;
        }
    }
    if (d.cost_min <= d.cost_non)
        return false;
    *path = d.non_minimal;
    return true;
}

/* Nothing waits anywhere on the path, so no decision on it can be for another one, unless minimal
 * is penalised. */
static inline bool idle(const struct context *in, const struct net_path *path)
{
    uint32_t i;

    for (i = 0; i < path->links; i++)
        if (in->net->links[path->link[i]].busy > in->now)
            return false;
    return true;
}

static sim_time_t hops(const struct net *net, const struct net_path *path)
{
    sim_time_t sum = 0;
    uint32_t i;

    for (i = 0; i < path->links; i++)
        sum += net->speed[path->color[i]][LANES].hop;
    return sum;
}

/*
 * A class that never leaves the minimal paths has one, two or three of them inside a group, fewer
 * than a NIC fills. Packets take turns on these: the transfer is divided.
 */
static bool divide(const struct context *in, struct net_path *path, const struct place *from,
                   const struct place *to, uint32_t choice)
{
    uint32_t base = from->group * in->fly->per_group, router = base + from->local, i;

    begin(in->fly, path, 1);
    path->parts = 0;
    if (from->chassis == to->chassis)
        path->parts +=
            add(in, path, router * PORTS + dragonfly_green_port(from->slot, to->slot), COLOR_GREEN);
    else if (from->slot == to->slot)
        for (i = 0; i < BLACK_LINKS; i++)
            path->parts +=
                add(in, path, router * PORTS + dragonfly_black_port(from->chassis, to->chassis, i),
                    COLOR_BLACK);
    else
        for (i = 0; i < 2; i++)
            path->parts += add_corner(in, path, base, from, to, i, choice);
    return path->parts > 0;
}

/*
 * Decisions are taken at the source and at every router of the source group that a minimal path
 * comes to, until it leaves the group. After the root there is no decision, only the less busy of
 * parallel links.
 */
static bool adaptive_path(struct net *net, const struct net_transfer *transfer,
                          struct net_path *path, uint32_t s, uint32_t t)
{
    struct context in = {.net = net, .fly = net->dragonfly, .now = sim_now(), .adaptive = true};
    struct sim_random *random = &in.fly->random[s];
    uint32_t class = transfer->route - NET_ROUTE_ADAPTIVE_0, at;
    uint64_t choice = sim_random_next(random);

    if (in.fly->places[s].group == in.fly->places[t].group && transfer->packets > 1 &&
        in.fly->only_minimal[class] &&
        divide(&in, path, &in.fly->places[s], &in.fly->places[t], (uint32_t)choice))
        return true;
    begin(in.fly, path, dragonfly_width(net, s, t));
    if (!add_shortest(&in, path, s, t, choice)) {
        if (!add_non_minimal(&in, path, s, t, sim_random_next(random)) &&
            !add_somehow(&in, path, s, t, choice))
            return false;
        path->minimal = false;
        path->propagation = hops(net, path);
        return true;
    }
    path->propagation = hops(net, path);
    if (in.fly->bias[class][0].min_add <= in.fly->bias[class][0].non_add && idle(&in, path))
        return true;
    if (sim_unlikely(path->width == 1)) /* all ways lead through one port: none is sooner there */
        return true;
    for (at = 0; at < path->links && (at == 0 || path->color[at - 1] != COLOR_BLUE); at++) {
        const struct net_route_bias *bias =
            &in.fly->bias[class][at == 0 ? 0 : 1 + path->color[at - 1]];

        /* nothing can be cheaper than no load, unless minimal is penalised */
        if ((port_load(&in, path, at) > 0 || bias->min_add > bias->non_add) &&
            divert(&in, path, s, t, at, bias, transfer->packets, random)) {
            path->minimal = false;
            break;
        }
    }
    return true;
}

bool dragonfly_route(struct net *net, const struct net_transfer *transfer, struct net_path *path)
{
    uint32_t s = transfer->source / NODES_PER_ROUTER, t = transfer->target / NODES_PER_ROUTER;
    uint64_t choice = sim_mix(transfer->hash * 0x9e3779b97f4a7c15ull + transfer->target);
    bool adaptive = net_mode_adaptive(transfer->route);

    if (sim_unlikely(net->impaired) && (net->router_dead[s] || net->router_dead[t]))
        return false;
    if (s == t) {
        begin(net->dragonfly, path, adaptive ? NET_WIDE : 1);
        path->propagation = 0;
        return true;
    }
    if (sim_likely(adaptive))
        return adaptive_path(net, transfer, path, s, t);
    if (transfer->route == NET_ROUTE_NON_MIN_HASHED) {
        struct context in = {.net = net,
                             .fly = net->dragonfly,
                             .now = sim_now(),
                             .green_first = net->fidelity == NET_F2};

        begin(in.fly, path, 1);
        if (add_non_minimal(&in, path, s, t, choice)) {
            path->minimal = false;
            return true;
        }
    }
    if (transfer->route == NET_ROUTE_IN_ORDER)
        choice = dragonfly_pair_choice(transfer->source, transfer->target);
    return dragonfly_fixed_path(net, path, s, t, choice);
}
