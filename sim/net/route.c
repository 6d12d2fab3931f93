/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Routing on the dragonfly: the fixed modes, and the search for any live path around failures. */
#include "path_builder.h"

static bool add_minimal_leg(const struct context *in, struct path_builder *builder, uint32_t base,
                            uint32_t a, uint32_t b, uint32_t choice, uint32_t avoid)
{
    return add_leg(in, builder, base, a, b, choice, avoid);
}

/* Adds a minimal leg, or if all of these are dead a leg over a third router: one of two links if
 * possible. */
static bool add_any_leg(const struct context *in, struct path_builder *builder, uint32_t base,
                        uint32_t a, uint32_t b, uint32_t choice, uint32_t avoid)
{
    const struct dragonfly_position *from = &in->fly->positions[base + a],
                                    *to = &in->fly->positions[base + b];
    uint32_t before = builder->links, count = in->fly->per_group, round, i;

    if (add_minimal_leg(in, builder, base, a, b, choice, avoid))
        return true;
    for (round = 0; round < 2; round++)
        for (i = 0; i < count; i++) {
            uint32_t root = (choice + i) % count;
            const struct dragonfly_position *by = &in->fly->positions[base + root];
            bool near = (by->chassis == from->chassis && by->chassis == to->chassis) ||
                        (by->slot == from->slot && by->slot == to->slot);

            if (root != a && root != b && near == (round == 0) &&
                add_minimal_leg(in, builder, base, a, root, choice, avoid) &&
                add_minimal_leg(in, builder, base, root, b, choice, avoid))
                return true;
            path_builder_truncate(in, builder, before);
        }
    return false;
}

/* Adds a non-minimal path. If links are dead, tries all roots. */
static bool add_non_minimal(const struct context *in, struct path_builder *builder, uint32_t s,
                            uint32_t t, uint64_t choice)
{
    const struct dragonfly *fly = in->fly;
    const struct dragonfly_position *from = &fly->positions[s], *to = &fly->positions[t];
    uint32_t first, count, tries, i;

    if (root_is_in_group(fly, from, to)) /* two of three draws may hit the ends of the path */
        return add_by_router(in, builder, s, t, choice, in->down != NULL ? fly->per_group : 3,
                             add_minimal_leg);
    count = (fly->groups - 2) * fly->pair_links;
    if (count == 0)
        return false;
    first = pick(choice, count);
    tries = in->down != NULL ? count : 1;
    for (i = 0; i < tries; i++) {
        uint32_t number = (first + i) % count;
        uint32_t group = nth_third_group(number / fly->pair_links, from->group, to->group);

        if (add_by_group(in, builder, s, t, group, number % fly->pair_links, choice,
                         add_minimal_leg))
            return true;
    }
    return false;
}

/* Adds any live path; tries all of them in a fixed order. */
static bool add_any_path(const struct context *in, struct path_builder *builder, uint32_t s,
                         uint32_t t, uint64_t choice)
{
    const struct dragonfly_position *from = &in->fly->positions[s], *to = &in->fly->positions[t];
    struct context fixed = *in;
    uint64_t none[PAIR_WORDS_MAX] = {0};

    fixed.adaptive = false;
    if (from->group == to->group)
        return add_any_leg(in, builder, from->group * in->fly->per_group, from->local, to->local,
                           (uint32_t)choice, NO_INDEX);
    return add_next_gateway(in, builder, s, t, none, 0, choice, add_any_leg) ||
           add_non_minimal(&fixed, builder, s, t, choice);
}

void net_dragonfly_begin(const struct dragonfly *fly, struct net_path *path, uint32_t width)
{
    path->transit = fly->router_transit;
    path->links = 0;
    path->parts = 1;
    path->width = width;
    path->minimal = true;
}

bool net_dragonfly_any_path(const struct net *net, struct net_path *path, uint32_t source,
                            uint32_t target, uint64_t choice, bool adaptive)
{
    struct context in = context_of(net, adaptive);
    struct path_builder builder;

    path_builder_init(&builder);
    if (!add_any_path(&in, &builder, source, target, choice))
        return false;
    path->minimal = false;
    path_builder_finish(&in, &builder, path);
    return true;
}

bool net_dragonfly_fixed_path(const struct net *net, struct net_path *path, uint32_t source,
                              uint32_t target, uint64_t choice)
{
    struct context in = context_of(net, false);
    struct path_builder builder;

    net_dragonfly_begin(in.fly, path, 1);
    path_builder_init(&builder);
    if (!add_shortest(&in, &builder, source, target, choice, add_minimal_leg))
        return net_dragonfly_any_path(net, path, source, target, choice, false);
    path_builder_finish(&in, &builder, path);
    return true;
}

bool net_dragonfly_route(struct net *net, const struct net_transfer *transfer,
                         struct net_path *path)
{
    uint32_t s = transfer->source / NODES_PER_ROUTER, t = transfer->target / NODES_PER_ROUTER;
    uint64_t choice = sim_mix(transfer->hash * 0x9e3779b97f4a7c15ull + transfer->target);
    bool adaptive = net_mode_adaptive(transfer->route);

    if (sim_unlikely(net->impaired) && (net->router_dead[s] || net->router_dead[t]))
        return false;
    if (s == t) {
        net_dragonfly_begin(net->dragonfly, path, adaptive ? NET_WIDE : 1);
        path->propagation = 0;
        return true;
    }
    if (sim_likely(adaptive))
        return net_dragonfly_adaptive_path(net, transfer, path, s, t);
    if (transfer->route == NET_ROUTE_NON_MIN_HASHED) {
        struct context in = context_of(net, false);
        struct path_builder builder;

        in.green_first = net->fidelity == NET_F2;
        net_dragonfly_begin(in.fly, path, 1);
        path_builder_init(&builder);
        if (add_non_minimal(&in, &builder, s, t, choice)) {
            path->minimal = false;
            path_builder_finish(&in, &builder, path);
            return true;
        }
    }
    if (transfer->route == NET_ROUTE_IN_ORDER)
        choice = dragonfly_pair_choice(transfer->source, transfer->target);
    return net_dragonfly_fixed_path(net, path, s, t, choice);
}
