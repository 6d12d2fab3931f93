/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Adaptive routing at F1: paths on the dragonfly that are chosen by load. */
#include "path_builder.h"

static __attribute__((noinline, cold)) bool
add_leg_around_failures(const struct context *in, struct path_builder *builder, uint32_t base,
                        uint32_t a, uint32_t b, uint32_t choice, uint32_t avoid)
{
    return add_leg(in, builder, base, a, b, choice, avoid);
}

static bool add_adaptive_leg(const struct context *in, struct path_builder *builder, uint32_t base,
                             uint32_t a, uint32_t b, uint32_t choice, uint32_t avoid)
{
    struct context healthy = *in;

    if (sim_unlikely(in->down != NULL))
        return add_leg_around_failures(in, builder, base, a, b, choice, avoid);
    healthy.down = NULL; /* constants, see ALWAYS_INLINE */
    healthy.adaptive = true;
    healthy.green_first = false;
    return add_leg(&healthy, builder, base, a, b, choice, avoid);
}

/*
 * A detour must be cheaper than the best minimal path by more than this, of 15. Ports are loaded
 * chunk by chunk here (192 phits are a load of 5), packet by packet in hardware. A minimal path
 * that is merely in use would lose against one of several detours that is idle at the moment, and a
 * detour loads two blue links instead of one: the network would fill with detours at loads that
 * minimal paths carry. Fitted to F2 (docs/network-experiments.md). Inside a group any advantage
 * counts.
 */
#define DETOUR_MARGIN 7

/* A decision at a router of a minimal path, with the best candidates so far. */
struct decision {
    const struct net_route_bias *bias;
    struct sim_random *random;
    uint32_t router, target;
    const struct dragonfly_position *from, *to;
    bool between_groups;
    uint64_t gateway; /* choice of the next minimal candidate's gateway */
    struct path_builder *minimal, non_minimal;
    uint32_t cost_min, cost_non;
    struct path_builder candidate; /* the next one; its links before the decision stay the same */
};

static inline uint32_t detour_margin(const struct decision *d)
{
    return d->between_groups ? DETOUR_MARGIN : 0;
}

/*
 * Draws the gateway of another minimal candidate: a random one of the links of the group pair, so
 * the path has up to five links. A packet that has left its source router changes only to gateways
 * within two links of the source.
 */
static uint32_t other_gateway(const struct dragonfly *fly, const struct decision *d)
{
    const struct reach *reach = dragonfly_reach(fly, d->from, d->to->group);
    uint32_t count = 0, w;
    uint64_t set[PAIR_WORDS_MAX];

    if (d->candidate.decision_at == 0)
        return pick(d->gateway, fly->pair_links);
    for (w = 0; w < fly->pair_words; w++) {
        set[w] = reach[w].here;
        if (d->candidate.decision_at == 1)
            set[w] |= reach[w].green | reach[w].black;
        count += dragonfly_count_bits(set[w]);
    }
    return count > 0 ? dragonfly_nth_bit(set, pick(d->gateway, count)) : NO_INDEX;
}

/*
 * The smallest load for which (load << shift) + addend is not below a cost. A candidate with this
 * load is not cheaper.
 */
static inline uint8_t load_bound_below(uint32_t below, uint32_t shift, uint32_t addend)
{
    uint32_t limit = below > addend ? (below - addend + (1u << shift) - 1) >> shift : 0;

    return limit < NO_LOAD_BOUND ? (uint8_t)limit : NO_LOAD_BOUND;
}

/*
 * Whether every path out of the group over this blue link reaches the bound, judged by the blue
 * link and the first port only. When the machine is congested this rejects nearly all candidates,
 * at little cost.
 */
static inline bool exceeds_bound(const struct context *in, uint32_t limit,
                                 const struct dragonfly_position *from, uint32_t group,
                                 uint32_t link)
{
    const struct gateway *gateway = dragonfly_gateway(in->fly, from->group, group, link);
    uint32_t base = from->group * in->fly->per_group;
    const struct dragonfly_position *to = &in->fly->positions[base + gateway->local];
    const struct net_speed *speed = full_speed(in->net, COLOR_BLUE);
    const sim_time_t *busy = &in->busy_until[(base + from->local) * PORTS];
    sim_time_t wait = link_wait(in, (base + gateway->local) * PORTS + gateway->port), good;
    uint32_t far, black;

    if (limit == NO_LOAD_BOUND || in->down != NULL || in->net->lanes != NULL)
        return false;
    if (gateway->local == from->local)
        return wait >= speed->near_backlog[limit];
    far = 1u << far_level_of(speed, wait) & ~1u;
    if (far >= limit)
        return true;
    good = in->now + full_speed(in->net, COLOR_GREEN)->near_backlog[limit - far];
    if (from->slot != to->slot && busy[dragonfly_green_port(from->slot, to->slot)] < good)
        return false;
    if (from->chassis == to->chassis)
        return true;
    good = in->now + full_speed(in->net, COLOR_BLACK)->near_backlog[limit - far];
    black = dragonfly_black_port(from->chassis, to->chassis, 0);
    return busy[black] >= good && busy[black + 1] >= good && busy[black + 2] >= good;
}

/* Draws one more minimal candidate. True: it is cheaper than the best one. */
static bool draw_minimal_candidate(const struct context *in, struct decision *d)
{
    struct path_builder *candidate = &d->candidate;
    uint32_t link = other_gateway(in->fly, d);

    if (link == NO_INDEX || exceeds_bound(in, candidate->load_bound, d->from, d->to->group, link))
        return false;
    path_builder_begin_decision(candidate, candidate->decision_at);
    candidate->root = 0; /* it may have held a non-minimal path */
    return add_global(in, candidate, d->router, d->target, link, d->gateway, add_adaptive_leg) &&
           path_builder_load(candidate) < candidate->load_bound;
}

static bool add_non_minimal(const struct context *in, struct path_builder *builder, uint32_t s,
                            uint32_t t, uint64_t choice)
{
    const struct dragonfly *fly = in->fly;
    const struct dragonfly_position *from = &fly->positions[s], *to = &fly->positions[t];
    uint32_t number, group, link;

    if (root_is_in_group(fly, from, to)) /* two of three draws may hit the ends of the path */
        return add_by_router(in, builder, s, t, choice, 3, add_adaptive_leg);
    number = pick(choice, (fly->groups - 2) * fly->pair_links);
    link = number % fly->pair_links;
    group = nth_third_group(number / fly->pair_links, from->group, to->group);
    return !exceeds_bound(in, builder->load_bound, from, group, link) &&
           add_by_group(in, builder, s, t, group, link, choice, add_adaptive_leg);
}

/* Draws one more minimal candidate and two non-minimal ones. */
static void draw_candidates(const struct context *in, struct decision *d)
{
    const struct net_route_bias *bias = d->bias;
    struct path_builder *candidate = &d->candidate;
    uint32_t i;

    d->gateway += 0x9e3779b97f4a7c15ull; /* distributes successive draws evenly */
    candidate->load_bound = load_bound_below(d->cost_min, bias->min_shift, bias->min_add);
    if (d->between_groups && candidate->load_bound > 0 && draw_minimal_candidate(in, d)) {
        d->cost_min = (path_builder_load(candidate) << bias->min_shift) + bias->min_add;
        *d->minimal = *candidate;
    }
    for (i = 0; i < 2 && d->cost_min > bias->non_add + detour_margin(d); i++) {
        uint64_t choice = sim_random_next(d->random);

        /* It must also be cheaper than the best minimal one, which later draws only make cheaper.
         */
        candidate->load_bound = load_bound_below(
            d->cost_non < d->cost_min ? d->cost_non : d->cost_min, bias->non_shift, bias->non_add);
        path_builder_begin_decision(candidate, candidate->decision_at);
        if (candidate->load_bound > 0 &&
            add_non_minimal(in, candidate, d->router, d->target, choice) &&
            path_builder_load(candidate) < candidate->load_bound) {
            d->cost_non = (path_builder_load(candidate) << bias->non_shift) + bias->non_add;
            d->non_minimal = *candidate;
        }
    }
}

static inline bool best_is_queued(const struct decision *d)
{
    return d->cost_min <= d->cost_non ? d->minimal->queued : d->non_minimal.queued;
}

/*
 * Takes the decision at a router of a minimal path whose next port is loaded. Each packet of a
 * chunk draws its own candidates, so a chunk whose candidates are all queued draws again, up to
 * once per four packets. If that does not help, because the machine is congested, the next
 * decisions at this router do not draw again: exponential back-off, up to 63 decisions. Returns
 * true if the builder now holds a non-minimal path.
 */
static bool leave_minimal_path(const struct context *in, struct path_builder *builder, uint32_t s,
                               uint32_t t, const struct net_route_bias *bias, uint32_t packets,
                               struct sim_random *random)
{
    uint32_t port, which, rounds, at = builder->decision_at;
    struct decision d;
    struct redraw_backoff *backoff;

    d.bias = bias;
    d.random = random;
    d.router = s;
    d.target = t;
    d.minimal = builder;
    d.cost_min = (path_builder_load(builder) << bias->min_shift) + bias->min_add;
    d.cost_non = UINT32_MAX;
    d.candidate = *builder;
    if (at > 0)
        net_dragonfly_peer(in->fly, builder->link[at - 1] / PORTS, builder->link[at - 1] % PORTS,
                           &d.router, &port, &which);
    d.from = &in->fly->positions[d.router];
    d.to = &in->fly->positions[t];
    d.between_groups = d.from->group != d.to->group;
    d.gateway = d.between_groups ? sim_random_next(random) : 0;
    draw_candidates(in, &d);
    backoff = &in->fly->redraw_backoffs[d.router];
    for (rounds = packets / 4; rounds > 1; rounds--) {
        if (!best_is_queued(&d)) {
            backoff->level >>= 1;
            break;
        }
        if (backoff->skip > 0) {
            backoff->skip--;
            break;
        }
        draw_candidates(in, &d);
        if (rounds == 2 && best_is_queued(&d)) {
            backoff->skip = backoff->level;
            backoff->level = backoff->level < 32 ? backoff->level * 2 + 1 : 63;
        }
    }
    if (d.cost_non == UINT32_MAX || d.cost_min <= d.cost_non + detour_margin(&d))
        return false;
    *builder = d.non_minimal;
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
 * An adaptive class that never leaves the minimal paths has one, two or three of them inside a
 * group, which carry less than a NIC injects. Its packets alternate between these paths, so the
 * transfer is divided over them. Returns the number of parts.
 */
static uint32_t split_over_minimal_paths(const struct context *in, struct path_builder *builder,
                                         const struct dragonfly_position *from,
                                         const struct dragonfly_position *to, uint32_t choice)
{
    uint32_t base = from->group * in->fly->per_group, source = base + from->local, parts = 0, i;
    uint32_t green = dragonfly_green_port(from->slot, to->slot);
    uint32_t black = dragonfly_black_port(from->chassis, to->chassis, 0);
    struct corner corner;

    if (from->chassis == to->chassis)
        return add_link(in, builder, source * PORTS + green, COLOR_GREEN);
    if (from->slot == to->slot) {
        for (i = 0; i < BLACK_LINKS; i++)
            parts += add_link(in, builder, source * PORTS + black + i, COLOR_BLACK);
        return parts;
    }
    for (i = 0; i < 2; i++)
        if (find_corner(in, &corner, source, base + to->local, (uint32_t)to->slot - from->slot,
                        green, black, i, choice)) {
            append_corner(in, builder, &corner);
            parts++;
        }
    return parts;
}

/*
 * A minimal path takes a decision at the source and at each router of the source group that it
 * visits, until it leaves the group. Behind the root of a non-minimal path there are no decisions,
 * only the choice of the least busy of parallel links.
 */
static inline bool choose_path(struct net *net, const struct net_transfer *transfer,
                               struct net_path *path, uint32_t source, uint32_t target,
                               uint64_t choice)
{
    struct context in = context_of(net, true);
    const struct dragonfly_position *from = &in.fly->positions[source],
                                    *to = &in.fly->positions[target];
    struct sim_random *random = &in.fly->random[source];
    uint32_t class = transfer->route - NET_ROUTE_ADAPTIVE_0, at;
    const struct net_route_bias *bias = in.fly->bias[class];
    struct path_builder builder;

    assert(class < 4);
    if (from->group == to->group && transfer->packets > 1 && in.fly->only_minimal[class]) {
        path_builder_init(&builder);
        net_dragonfly_begin(in.fly, path, 1);
        path->parts = split_over_minimal_paths(&in, &builder, from, to, (uint32_t)choice);
        if (path->parts > 0) {
            path_builder_finish(&in, &builder, path);
            return true;
        }
    }
    path_builder_init(&builder);
    net_dragonfly_begin(in.fly, path, net_dragonfly_width(net, source, target));
    if (!add_shortest(&in, &builder, source, target, choice, add_adaptive_leg)) {
        path->minimal = false;
        if (add_non_minimal(&in, &builder, source, target, sim_random_next(random)))
            path_builder_finish(&in, &builder, path);
        else if (!net_dragonfly_any_path(net, path, source, target, choice, true))
            return false;
        path->propagation = hops(net, path->color, path->links);
        return true;
    }
    path->propagation = hops(net, builder.color, builder.links);
    /* There are no decisions if the path is idle, unless the bias penalises minimal paths: no other
     * path can be cheaper. Nor are there any if all paths lead through one port. */
    for (at = 0; at < builder.links && path->width != 1 &&
                 !(at == 0 && builder.idle && bias[0].min_add <= bias[0].non_add) &&
                 (at == 0 || builder.color[at - 1] != COLOR_BLUE);
         at++) {
        const struct net_route_bias *here = &bias[at == 0 ? 0 : 1 + builder.color[at - 1]];

        if (at > 0)
            path_builder_recount(&in, &builder, at);
        /* no path is cheaper than one without load, unless minimal paths are penalised */
        if ((path_builder_load(&builder) > 0 || here->min_add > here->non_add) &&
            leave_minimal_path(&in, &builder, source, target, here, transfer->packets, random)) {
            path->minimal = false;
            break;
        }
    }
    path_builder_finish(&in, &builder, path);
    return true;
}

bool net_dragonfly_adaptive_path(struct net *net, const struct net_transfer *transfer,
                                 struct net_path *path, uint32_t source, uint32_t target)
{
    return choose_path(net, transfer, path, source, target,
                       sim_random_next(&net->dragonfly->random[source]));
}
