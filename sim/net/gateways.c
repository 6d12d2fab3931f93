/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Finds the blue links by which a path from one group to another takes the fewest links, or one
 * link more. */
#include <assert.h>
#include <string.h>
#include "dragonfly.h"

/*
 * Sorts the combinations of a leg to the gateway (none, green, black, both) and a leg from the far
 * gateway by (links, time, whether the first link is blue: its rate differs). Equal combinations
 * form one class. A shortest path uses the first class that has a gateway.
 */
void net_dragonfly_sort_gateway_classes(struct dragonfly *fly, sim_time_t green, sim_time_t black)
{
    const sim_time_t times[4] = {0, green, black, green + black};
    const uint32_t hops[4] = {0, 1, 1, 2};
    bool done[16] = {false};
    uint32_t left = 16, links = 0;

    assert(fly->gateway_class_count == 0);
    while (left > 0) {
        struct gateway_class *class = &fly->gateway_classes[fly->gateway_class_count++];
        uint32_t best_hops = UINT32_MAX, i;
        sim_time_t best = SIM_NEVER;
        bool here = false;

        for (i = 0; i < 16; i++) {
            uint32_t h = hops[i / 4] + hops[i % 4];
            sim_time_t time = times[i / 4] + times[i % 4];

            if (!done[i] && (h < best_hops || (h == best_hops && time < best))) {
                best_hops = h;
                best = time;
                here = i / 4 == LEG_HERE; /* lower indices win among equals */
            }
        }
        if (fly->gateway_class_count == 1 || best_hops != links)
            fly->first_class_with_links[best_hops] = (uint8_t)(fly->gateway_class_count - 1);
        links = best_hops;
        class->time = best;
        for (i = 0; i < 16; i++)
            if (!done[i] && hops[i / 4] + hops[i % 4] == best_hops &&
                times[i / 4] + times[i % 4] == best && (i / 4 == LEG_HERE) == here) {
                class->leg[class->count].source = (uint8_t)(i / 4);
                class->leg[class->count++].target = (uint8_t)(i % 4);
                done[i] = true;
                left--;
            }
    }
}

/* [leg]: the set of blue links that this leg leads to, or from. */
struct legs {
    uint64_t set[4];
};

static inline struct legs legs_of(const struct reach *reach, uint64_t valid)
{
    return (struct legs){{
        [LEG_HERE] = reach->here,
        [LEG_GREEN] = reach->green,
        [LEG_BLACK] = reach->black,
        [LEG_BOTH] = valid & ~(reach->here | reach->green | reach->black),
    }};
}

/* The first class with the number of links that a shortest path needs. For group pairs with at most
 * 64 links. */
static inline uint32_t first_class(const struct dragonfly *fly, const struct legs *out,
                                   const struct legs *in)
{
    uint64_t s0 = out->set[LEG_HERE], s1 = out->set[LEG_GREEN] | out->set[LEG_BLACK];
    uint64_t t0 = in->set[LEG_HERE], t1 = in->set[LEG_GREEN] | in->set[LEG_BLACK];
    uint64_t s2 = out->set[LEG_BOTH], t2 = in->set[LEG_BOTH];

    if (((s0 & t0) | (s0 & t1) | (s1 & t0)) != 0)
        return fly->first_class_with_links[(s0 & t0) != 0 ? 0 : 1];
    if (((s1 & t1) | (s0 & t2) | (s2 & t0)) != 0)
        return fly->first_class_with_links[2];
    return fly->first_class_with_links[((s1 & t2) | (s2 & t1)) != 0 ? 3 : 4];
}

static inline uint64_t members(const struct gateway_class *class, const struct legs *out,
                               const struct legs *in)
{
    uint64_t set = 0;
    uint32_t k;

    for (k = 0; k < class->count; k++)
        set |= out->set[class->leg[k].source] & in->set[class->leg[k].target];
    return set;
}

struct reaches {
    const struct reach *out, *in;
};

static inline struct reaches reaches_of(const struct dragonfly *fly, uint32_t s, uint32_t t)
{
    const struct dragonfly_position *from = &fly->positions[s], *to = &fly->positions[t];

    return (struct reaches){dragonfly_reach(fly, from, to->group),
                            dragonfly_reach(fly, to, from->group)};
}

/* Adds to the set the blue links that the legs of the class reach; returns their number. */
static inline uint32_t add_class(const struct dragonfly *fly, const struct reaches *reaches,
                                 const struct gateway_class *class, uint64_t *set)
{
    uint32_t words = fly->pair_words, count = 0, w;

    for (w = 0; w < words; w++) {
        uint64_t valid = w + 1 == words ? fly->last_word : UINT64_MAX, found;
        struct legs out = legs_of(&reaches->out[w], valid), in = legs_of(&reaches->in[w], valid);

        found = members(class, &out, &in);
        set[w] |= found;
        if (found != 0)
            count += dragonfly_count_bits(found);
    }
    return count;
}

static inline uint32_t class_links(const struct gateway_class *class)
{
    static const uint32_t links[4] = {0, 1, 1, 2};

    return links[class->leg[0].source] + links[class->leg[0].target];
}

/* Finds the class of the shortest paths, their blue links and the number of these. */
static inline uint32_t best_class(const struct dragonfly *fly, const struct reaches *reaches,
                                  uint64_t *set, uint32_t *count)
{
    uint32_t i = 0;

    if (sim_likely(fly->pair_words == 1)) {
        struct legs out = legs_of(reaches->out, fly->last_word);
        struct legs in = legs_of(reaches->in, fly->last_word);

        i = first_class(fly, &out, &in);
        while ((set[0] = members(&fly->gateway_classes[i], &out, &in)) == 0)
            i++;
        assert(i < fly->gateway_class_count); /* every two groups are linked */
        *count = dragonfly_count_bits(set[0]);
        return i;
    }
    memset(set, 0, fly->pair_words * sizeof(*set));
    for (*count = 0; i < fly->gateway_class_count; i++) {
        *count = add_class(fly, reaches, &fly->gateway_classes[i], set);
        if (*count > 0)
            break;
    }
    return i;
}

uint32_t net_dragonfly_best_gateways(const struct dragonfly *fly, uint32_t source_router,
                                     uint32_t target_router, uint64_t *set, uint32_t *source_leg,
                                     uint32_t *target_leg)
{
    struct reaches reaches = reaches_of(fly, source_router, target_router);
    uint32_t count, i = best_class(fly, &reaches, set, &count);

    if (count > 0) {
        *source_leg = fly->gateway_classes[i].leg[0].source;
        *target_leg = fly->gateway_classes[i].leg[0].target;
    }
    return count;
}

/*
 * Removes the gateways of the target's chassis. The shortest paths already use them, and one green
 * link leads on from each, so that other gateways share less. Returns the number that remains; if
 * there are no others, the set stays as it is.
 */
static uint32_t remove_target_chassis(uint64_t *set, const struct reach *in, uint32_t words,
                                      uint32_t count)
{
    uint32_t left = 0, w;

    for (w = 0; w < words; w++)
        left += dragonfly_count_bits(set[w] & ~in[w].green);
    if (left == 0)
        return count;
    for (w = 0; w < words; w++)
        set[w] &= ~in[w].green;
    return left;
}

/*
 * Adds the second-best blue links, those of the classes behind class `i` that take at most one link
 * more, or if there are none the least number more. Returns how many. *farther: how many links more
 * than one they take; *longer: additional time of the longest of them.
 */
static inline uint32_t add_next(const struct dragonfly *fly, const struct reaches *reaches,
                                uint32_t i, uint64_t *set, uint32_t *farther, sim_time_t *longer)
{
    const struct gateway_class *best = &fly->gateway_classes[i];
    uint32_t shortest = class_links(best), links = shortest + 1, count = 0;

    *longer = 0;
    while (++i < fly->gateway_class_count) {
        const struct gateway_class *class = &fly->gateway_classes[i];
        uint32_t found;

        if (class_links(class) > links && count > 0)
            break;
        links = class_links(class) > links ? class_links(class) : links;
        found = add_class(fly, reaches, class, set);
        count += found;
        if (found > 0)
            *longer = class->time > best->time + *longer ? class->time - best->time : *longer;
    }
    *farther = links - shortest - 1;
    return count;
}

uint32_t net_dragonfly_near_gateways(const struct dragonfly *fly, uint32_t source_router,
                                     uint32_t target_router, uint64_t *set, uint32_t *farther)
{
    struct reaches reaches = reaches_of(fly, source_router, target_router);
    uint32_t best, i = best_class(fly, &reaches, set, &best), count, target;
    uint64_t near[PAIR_WORDS_MAX] = {0};
    sim_time_t longer;

    *farther = 0;
    if (best == 0)
        return 0;
    count = add_next(fly, &reaches, i, near, farther, &longer);
    if (count == 0)
        return best;
    target = fly->gateway_classes[i].leg[0].target;
    if (target == LEG_BOTH ||
        (target == LEG_GREEN && fly->gateway_classes[i].leg[0].source != LEG_HERE))
        count = remove_target_chassis(near, reaches.in, fly->pair_words, count);
    memcpy(set, near, fly->pair_words * sizeof(*set));
    return count;
}

uint32_t net_dragonfly_path_kinds(const struct dragonfly *fly, uint32_t s, uint32_t t,
                                  struct dragonfly_path_kind *paths, uint32_t *farther,
                                  sim_time_t *longer)
{
    struct reaches reaches = reaches_of(fly, s, t);
    uint64_t set[PAIR_WORDS_MAX];
    uint32_t found, count = 0, i = best_class(fly, &reaches, set, &found), k;
    const struct gateway_class *best = &fly->gateway_classes[i];

    *farther = 0;
    *longer = SIM_NEVER;
    if (found == 0)
        return 0;
    for (k = 0; k < best->count; k++) {
        struct gateway_class one = {.count = 1, .leg = {best->leg[k]}};
        uint32_t links = add_class(fly, &reaches, &one, set);

        if (links > 0)
            paths[count++] =
                (struct dragonfly_path_kind){best->leg[k].source, best->leg[k].target, links};
    }
    if (add_next(fly, &reaches, i, set, farther, longer) == 0)
        *longer = SIM_NEVER;
    return count;
}
