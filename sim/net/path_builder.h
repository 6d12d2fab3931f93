/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Builds paths on the dragonfly, link by link, from coordinates and the table of gateways. The add_
 * functions append links to the builder. They return false if links of the path are dead, and then
 * leave the builder unchanged. On a network without dead links they return false only when the path
 * exceeds its load bound; the caller then discards the builder's content.
 *
 * A leg is the part of a path inside one group. A root is the intermediate router of a non-minimal
 * path. A `choice` is 64 random or hashed bits that choose between equal possibilities: bits 0–15
 * and 16–31 for the two legs, the upper half for the gateway or the root.
 */
#ifndef JACQUARD_NET_PATH_BUILDER_H
#define JACQUARD_NET_PATH_BUILDER_H

#include <assert.h>
#include <string.h>
#include "dragonfly.h"

/* Forced inlining lets the compiler remove the code for dead links where the caller passes
 * constants for a network without them. */
#define ALWAYS_INLINE inline __attribute__((always_inline))
#define NO_INDEX UINT32_MAX
#define NEXT_CHOICE                                                              \
    0x9e3779b97f4a7c15ull /* choice * NEXT_CHOICE is another, independent choice \
                           */

struct context {
    const struct net *net;
    const struct dragonfly *fly;
    const sim_time_t *busy_until; /* net's */
    const uint8_t *down; /* net's; NULL: all links are alive */
    sim_time_t now;
    bool adaptive; /* prefer the least busy of parallel links, instead of the first live one */
    bool green_first; /* legs go green, then black: F2 has virtual channels for one order only */
};

/*
 * A path under construction. It fills one cache line, because under load many paths are built for
 * each one that is used. In adaptive modes it also holds the load of its links. A decision is taken
 * at a router of the path; only links behind that router count.
 */
struct path_builder {
    uint32_t link[NET_PATH_MAX];
    uint8_t color[NET_PATH_MAX];
    uint8_t links, root; /* root: number of links before it; 0: there is none */
    uint8_t decision_at; /* number of links before the router of the decision */
    uint8_t first_load; /* load of the first link behind that router, 0 to 15 */
    uint8_t far_level; /* level of the most loaded of the further links, 0 to 3 */
    uint8_t load_bound; /* at this load another path is as cheap: stop building */
    bool idle; /* no link has a backlog */
    bool queued; /* more waits on one than packets that spread let by: see
                    NET_TOLERATED_BACKLOG_UNITS */
};

_Static_assert(sizeof(struct path_builder) <= 64, "a path under construction is a cache line");

static inline struct context context_of(const struct net *net, bool adaptive)
{
    return (struct context){
        .net = net,
        .fly = net->dragonfly,
        .busy_until = net->busy_until,
        .down = net->impaired ? net->down : NULL,
        .now = sim_now() + net->send_delay,
        .adaptive = adaptive,
    };
}

static inline uint32_t pick(uint64_t choice, uint32_t count)
{
    return (uint32_t)(((choice >> 32) * count) >> 32);
}

static inline bool link_is_alive(const struct context *in, uint32_t link)
{
    return sim_likely(in->down == NULL) || in->down[link] == 0;
}

static inline sim_time_t link_wait(const struct context *in, uint32_t link)
{
    sim_time_t busy = in->busy_until[link];

    return busy > in->now ? busy - in->now : 0;
}

#define NO_LOAD_BOUND NET_LOADS

/* The speed of a link of this colour with all its lanes. */
static inline const struct net_speed *full_speed(const struct net *net, unsigned color)
{
    return &net->speed[color][net->full_lanes[color]];
}

/* Starts a decision behind the first `at` links: links that are added from now on count. */
static inline void path_builder_begin_decision(struct path_builder *builder, uint32_t at)
{
    builder->links = builder->decision_at = (uint8_t)at;
    builder->first_load = builder->far_level = 0;
    builder->idle = true;
    builder->queued = false;
}

static inline void path_builder_init(struct path_builder *builder)
{
    builder->root = 0;
    builder->load_bound = NO_LOAD_BOUND;
    path_builder_begin_decision(builder, 0);
}

/*
 * The congestion value of a port, 4 bits, saturating. It is the backlog of the port itself, in
 * fifteenths of the capacity of a virtual channel, plus a value for the most loaded link downstream
 * on the path: 2, 4 or 8 from 64, 256 and 512 phits (of 576) on. A backlog of up to one chunk (see
 * NET_TOLERATED_BACKLOG_UNITS) does not count: it is there whenever the port is in use. A longer
 * one counts in full, so a path has no load exactly if it is not queued: a lone stream avoids the
 * ports where its own chunks wait.
 */
static inline uint32_t path_builder_load(const struct path_builder *builder)
{
    uint32_t load = builder->first_load + (1u << builder->far_level & ~1u);

    return load < 15 ? load : 15;
}

/* Whether the path cannot be chosen any more, whatever its further links. With dead links it is
 * finished all the same, because the result decides what is tried next. */
static inline bool path_builder_over_bound(const struct context *in,
                                           const struct path_builder *builder)
{
    return path_builder_load(builder) >= builder->load_bound && in->down == NULL;
}

/* The level (0 to 3) that a link further down the path contributes to the load of the first port.
 */
static inline uint32_t far_level_of(const struct net_speed *speed, sim_time_t wait)
{
    return (wait >= speed->far_backlog[0]) + (wait >= speed->far_backlog[1]) +
           (wait >= speed->far_backlog[2]);
}

static ALWAYS_INLINE void path_builder_add_backlog(const struct context *in,
                                                   struct path_builder *builder, uint32_t at,
                                                   uint32_t link, unsigned color, sim_time_t wait)
{
    const struct net_speed *speed = net_link_speed(in->net, link, color);

    builder->idle = false;
    builder->queued |= wait > speed->tolerated_backlog;
    if (at == builder->decision_at) {
        double load = (double)(int64_t)wait * speed->load_per_ps;

        if (wait <= speed->tolerated_backlog)
            load = 0;
        builder->first_load = load < 15 ? (uint8_t)load : 15;
    } else {
        uint32_t far = far_level_of(speed, wait);

        builder->far_level = far > builder->far_level ? (uint8_t)far : builder->far_level;
    }
}

/* Starts a decision behind the first `at` links and counts the links that are already there. */
static inline void path_builder_recount(const struct context *in, struct path_builder *builder,
                                        uint32_t at)
{
    uint32_t links = builder->links, i;

    path_builder_begin_decision(builder, at);
    builder->links = (uint8_t)links;
    for (i = at; i < links; i++) {
        sim_time_t wait = link_wait(in, builder->link[i]);

        if (wait > 0)
            path_builder_add_backlog(in, builder, i, builder->link[i], builder->color[i], wait);
    }
}

/* Removes all but the first `links` links, so that the caller can try another continuation. Without
 * dead links the caller has no other one, and nothing is done. */
static inline void path_builder_truncate(const struct context *in, struct path_builder *builder,
                                         uint32_t links)
{
    if (in->down == NULL)
        return;
    builder->links = (uint8_t)links;
    if (in->adaptive)
        path_builder_recount(in, builder, builder->decision_at);
}

static ALWAYS_INLINE void append_link(const struct context *in, struct path_builder *builder,
                                      uint32_t link, unsigned color, sim_time_t wait)
{
    uint32_t at = builder->links++;

    assert(at < NET_PATH_MAX);
    builder->color[at] = (uint8_t)color;
    builder->link[at] = link;
    if (wait > 0)
        path_builder_add_backlog(in, builder, at, link, color, wait);
}

static ALWAYS_INLINE bool add_link(const struct context *in, struct path_builder *builder,
                                   uint32_t link, unsigned color)
{
    if (!link_is_alive(in, link))
        return false;
    append_link(in, builder, link, color, in->adaptive ? link_wait(in, link) : 0);
    return true;
}

struct link_choice {
    uint32_t link;
    sim_time_t wait;
};

/* Finds one of the parallel black links from `base` on; the choice determines the first candidate.
 */
static ALWAYS_INLINE bool find_black_link(const struct context *in, struct link_choice *hop,
                                          uint32_t base, uint32_t choice)
{
    uint32_t which = ((choice >> 8 & 0xff) * BLACK_LINKS) >> 8, i;
    sim_time_t least = SIM_NEVER;

    if (sim_likely(in->adaptive && in->down == NULL)) {
        uint32_t second = which == 2 ? 0 : which + 1, third = BLACK_LINKS - which - second;
        sim_time_t wait = link_wait(in, base + which);
        sim_time_t wait_second = link_wait(in, base + second);
        sim_time_t wait_third = link_wait(in, base + third);

        which = wait_second < wait ? second : which;
        wait = wait_second < wait ? wait_second : wait;
        hop->link = base + (wait_third < wait ? third : which);
        hop->wait = wait_third < wait ? wait_third : wait;
        return true;
    }
    hop->link = NO_INDEX;
    for (i = 0; i < BLACK_LINKS; i++) {
        uint32_t link = base + which;

        which = which + 1 == BLACK_LINKS ? 0 : which + 1;
        if (!link_is_alive(in, link))
            continue;
        if (!in->adaptive) {
            *hop = (struct link_choice){link, 0};
            return true;
        }
        if (link_wait(in, link) < least) {
            least = link_wait(in, link);
            hop->link = link;
        }
    }
    hop->wait = least;
    return hop->link != NO_INDEX;
}

/* A two-link leg over a corner router, green first or black first; both orders are minimal. */
struct corner {
    struct link_choice green, black;
    bool black_first;
};

/* Between routers that are `slot_distance` slots apart; the ports lead to the slot and to the
 * chassis. */
static ALWAYS_INLINE bool find_corner(const struct context *in, struct corner *corner,
                                      uint32_t source, uint32_t target, uint32_t slot_distance,
                                      uint32_t green, uint32_t black, bool black_first,
                                      uint32_t choice)
{
    uint32_t green_router = black_first ? target - slot_distance : source;
    uint32_t black_router = black_first ? source : source + slot_distance;

    corner->black_first = black_first;
    corner->green.link = green_router * PORTS + green;
    if (!link_is_alive(in, corner->green.link))
        return false;
    corner->green.wait = in->adaptive ? link_wait(in, corner->green.link) : 0;
    return find_black_link(in, &corner->black, black_router * PORTS + black, choice);
}

/* What waits for the corner_wait of its two links. */
static ALWAYS_INLINE sim_time_t corner_wait(const struct corner *corner)
{
    return corner->green.wait > corner->black.wait ? corner->green.wait : corner->black.wait;
}

static ALWAYS_INLINE void append_corner(const struct context *in, struct path_builder *builder,
                                        const struct corner *corner)
{
    bool black_first = corner->black_first;
    const struct link_choice *first = black_first ? &corner->black : &corner->green;
    const struct link_choice *second = black_first ? &corner->green : &corner->black;

    append_link(in, builder, first->link, black_first ? COLOR_BLACK : COLOR_GREEN, first->wait);
    append_link(in, builder, second->link, black_first ? COLOR_GREEN : COLOR_BLACK, second->wait);
}

/* Adds the leg between two routers of a group, 0 to 2 links, that does not pass through local
 * router `avoid`. */
static ALWAYS_INLINE bool add_leg(const struct context *in, struct path_builder *builder,
                                  uint32_t base, uint32_t a, uint32_t b, uint32_t choice,
                                  uint32_t avoid)
{
    const struct dragonfly_position *from = &in->fly->positions[base + a],
                                    *to = &in->fly->positions[base + b];
    uint32_t green = dragonfly_green_port(from->slot, to->slot);
    uint32_t black = dragonfly_black_port(from->chassis, to->chassis, 0);
    uint32_t slot_distance = (uint32_t)to->slot - from->slot;
    struct corner corner, other;
    bool black_first;

    if (a == b)
        return true;
    if (from->chassis == to->chassis)
        return add_link(in, builder, (base + a) * PORTS + green, COLOR_GREEN);
    if (from->slot == to->slot) {
        if (!find_black_link(in, &corner.black, (base + a) * PORTS + black, choice))
            return false;
        append_link(in, builder, corner.black.link, COLOR_BLACK, corner.black.wait);
        return true;
    }
    black_first = (choice & 1) && !in->green_first;
    if (avoid == a + slot_distance)
        black_first = true;
    else if (avoid == b - slot_distance)
        black_first = false;
    if (!find_corner(in, &corner, base + a, base + b, slot_distance, green, black, black_first,
                     choice)) {
        if (!find_corner(in, &corner, base + a, base + b, slot_distance, green, black, !black_first,
                         choice))
            return false;
    } else if (in->adaptive && avoid == NO_INDEX && corner_wait(&corner) > 0 &&
               find_corner(in, &other, base + a, base + b, slot_distance, green, black,
                           !black_first, choice) &&
               corner_wait(&other) < corner_wait(&corner)) {
        corner = other;
    }
    append_corner(in, builder, &corner);
    return true;
}

typedef bool leg_function(const struct context *in, struct path_builder *builder, uint32_t base,
                          uint32_t a, uint32_t b, uint32_t choice, uint32_t avoid);

/*
 * Adds the path from router s to router t of another group over the given link between the two
 * groups. Also false when the path exceeds load_bound.
 */
static inline bool add_global(const struct context *in, struct path_builder *builder, uint32_t s,
                              uint32_t t, uint32_t link, uint64_t choice, leg_function *leg)
{
    const struct dragonfly *fly = in->fly;
    const struct dragonfly_position *from = &fly->positions[s], *to = &fly->positions[t];
    const struct gateway *near = dragonfly_gateway(fly, from->group, to->group, link);
    const struct gateway *far = dragonfly_gateway(fly, to->group, from->group, link);
    uint32_t base = from->group * fly->per_group, before = builder->links;
    uint32_t blue = (base + near->local) * PORTS + near->port;

    if (leg(in, builder, base, from->local, near->local, (uint32_t)choice, NO_INDEX) &&
        add_link(in, builder, blue, COLOR_BLUE) && !path_builder_over_bound(in, builder) &&
        leg(in, builder, to->group * fly->per_group, far->local, to->local, (uint32_t)choice >> 16,
            NO_INDEX))
        return true;
    path_builder_truncate(in, builder, before);
    return false;
}

/* Adds a path over another live link of the group pair: first those of the other shortest paths,
 * then those that need more links inside a group. */
static inline bool add_next_gateway(const struct context *in, struct path_builder *builder,
                                    uint32_t s, uint32_t t, const uint64_t *set, uint32_t tried,
                                    uint64_t choice, leg_function *leg)
{
    uint32_t count = in->fly->pair_links, i, round;

    for (round = 0; round < 2; round++)
        for (i = 1; i <= count; i++) {
            uint32_t link = (tried + i) % count;
            bool is_best = set[link / 64] >> (link % 64) & 1;

            if (is_best == (round == 0) && add_global(in, builder, s, t, link, choice, leg))
                return true;
        }
    return false;
}

/* Adds a path with the fewest links, and among those one with the least latency. */
static inline bool add_shortest(const struct context *in, struct path_builder *builder, uint32_t s,
                                uint32_t t, uint64_t choice, leg_function *leg)
{
    const struct dragonfly *fly = in->fly;
    const struct dragonfly_position *from = &fly->positions[s], *to = &fly->positions[t];
    uint64_t set[PAIR_WORDS_MAX];
    uint32_t count, link, source_leg, target_leg;

    if (from->group == to->group)
        return leg(in, builder, from->group * fly->per_group, from->local, to->local,
                   (uint32_t)choice, NO_INDEX);
    count = net_dragonfly_best_gateways(fly, s, t, set, &source_leg, &target_leg);
    link = dragonfly_nth_bit(set, pick(choice, count));
    if (add_global(in, builder, s, t, link, choice, leg))
        return true;
    return in->down != NULL && add_next_gateway(in, builder, s, t, set, link, choice, leg);
}

/*
 * Adds a non-minimal path over a root in the source's group. This is for paths inside one group and
 * for machines of two groups. `choice` determines the first router to try.
 */
static inline bool add_by_router(const struct context *in, struct path_builder *builder, uint32_t s,
                                 uint32_t t, uint64_t choice, uint32_t tries, leg_function *leg)
{
    const struct dragonfly *fly = in->fly;
    const struct dragonfly_position *from = &fly->positions[s], *to = &fly->positions[t];
    uint64_t onward = choice * NEXT_CHOICE;
    uint32_t base = from->group * fly->per_group, before = builder->links;
    uint32_t count = fly->per_group, first = pick(choice, count), i;

    for (i = 0; i < tries; i++) {
        uint32_t root = (first + i) % count;

        if (root == from->local || (from->group == to->group && root == to->local))
            continue;
        if (from->group == to->group
                ? leg(in, builder, base, from->local, root, (uint32_t)choice, to->local) &&
                      leg(in, builder, base, root, to->local, (uint32_t)choice >> 16, from->local)
                : leg(in, builder, base, from->local, root, (uint32_t)choice, NO_INDEX) &&
                      add_shortest(in, builder, base + root, t, onward, leg)) {
            const struct dragonfly_position *by = &fly->positions[base + root];

            builder->root =
                (uint8_t)(before + (by->slot != from->slot) + (by->chassis != from->chassis));
            return true;
        }
        if (in->down == NULL)
            return false;
        path_builder_truncate(in, builder, before);
    }
    return false;
}

/* Adds a non-minimal path over a third group, entered by the given one of its links with the
 * source's group. */
static inline bool add_by_group(const struct context *in, struct path_builder *builder, uint32_t s,
                                uint32_t t, uint32_t group, uint32_t link, uint64_t choice,
                                leg_function *leg)
{
    const struct dragonfly *fly = in->fly;
    uint32_t source = fly->positions[s].group, before = builder->links;
    uint32_t root = group * fly->per_group + dragonfly_gateway(fly, group, source, link)->local;

    if (!add_global(in, builder, s, root, link, choice, leg))
        return false;
    builder->root = builder->links;
    if (add_shortest(in, builder, root, t, choice * NEXT_CHOICE, leg))
        return true;
    path_builder_truncate(in, builder, before);
    return false;
}

static inline bool root_is_in_group(const struct dragonfly *fly,
                                    const struct dragonfly_position *from,
                                    const struct dragonfly_position *to)
{
    return from->group == to->group || fly->groups == 2;
}

/* The n-th group, from 0, that is neither a nor b. */
static inline uint32_t nth_third_group(uint32_t number, uint32_t a, uint32_t b)
{
    uint32_t low = a < b ? a : b, high = a < b ? b : a;

    assert(a != b);
    number += number >= low;
    return number + (number >= high);
}

/* Copies the finished path. Prefetches the state of its links for their reservation. */
static inline void path_builder_finish(const struct context *in, const struct path_builder *builder,
                                       struct net_path *path)
{
    uint32_t i;

    for (i = 0; i < builder->links; i++)
        __builtin_prefetch(&in->net->traffic[builder->link[i]], 1);
    assert(builder->links <= NET_PATH_MAX && builder->root <= builder->links);
    memcpy(path->link, builder->link, sizeof(path->link));
    memcpy(path->color, builder->color, sizeof(path->color));
    path->links = builder->links;
    path->root = builder->root;
}

#endif
