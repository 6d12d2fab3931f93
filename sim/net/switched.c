/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Switched networks: one switch, or a fat tree of two levels, in which one link joins every leaf to
 * every spine. Units are bytes. A transfer takes one path, by cut-through. Fixed modes choose the
 * spine by hash (ECMP), adaptive modes choose the least loaded live uplink.
 *
 * Indices of links: endpoint e has link 2e to its switch and 2e + 1 from it. After these, leaf l
 * and spine p have 2 (l * spines + p) up and the next one down. Switches: leaves first, then
 * spines.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "internal.h"

struct switched {
    uint32_t leaves, spines;
};

static uint32_t up_link(const struct net *net, uint32_t leaf, uint32_t spine)
{
    return 2 * (net->endpoints + leaf * net->switched->spines + spine);
}

static void add(struct net_path *path, uint32_t link, unsigned color)
{
    assert(path->links < NET_PATH_MAX);
    path->color[path->links] = (uint8_t)color;
    path->link[path->links++] = link;
}

static bool spine_alive(const struct net *net, uint32_t from, uint32_t to, uint32_t spine)
{
    return net_link_alive(net, up_link(net, from, spine)) &&
           net_link_alive(net, up_link(net, to, spine) + 1);
}

/* Chooses the spine of a transfer. UINT32_MAX: no path is alive. */
static uint32_t choose_spine(const struct net *net, const struct net_transfer *transfer,
                             uint32_t from, uint32_t to)
{
    uint32_t spines = net->switched->spines, first, best = UINT32_MAX, i;
    bool adaptive = net_mode_adaptive(transfer->route);
    sim_time_t best_busy = SIM_NEVER;
    uint64_t hash = transfer->route == NET_ROUTE_IN_ORDER ? 0 : transfer->hash;

    assert(spines > 0); /* transfers within the only leaf do not get here */
    hash = sim_mix(hash * 0x9e3779b97f4a7c15ull +
                   ((uint64_t)transfer->source << 32 | transfer->target));
    first = (uint32_t)(hash % spines);
    for (i = 0; i < spines; i++) {
        uint32_t spine = (first + i) % spines;
        sim_time_t busy = net->busy_until[up_link(net, from, spine)];

        if (!spine_alive(net, from, to, spine))
            continue;
        if (!adaptive || busy <= sim_now())
            return spine;
        if (busy < best_busy) {
            best_busy = busy;
            best = spine;
        }
    }
    return best;
}

static bool route(struct net *net, const struct net_transfer *transfer, struct net_path *path)
{
    uint32_t from = transfer->source / net->per_router, to = transfer->target / net->per_router,
             spine;

    path->transit = 0;
    path->links = 0;
    path->parts = 1;
    path->width = 1;
    path->minimal = true;
    if (!net_link_alive(net, 2 * transfer->source) ||
        !net_link_alive(net, 2 * transfer->target + 1))
        return false;
    add(path, 2 * transfer->source, COLOR_TO_SWITCH);
    if (from != to) {
        spine = choose_spine(net, transfer, from, to);
        if (spine == UINT32_MAX)
            return false;
        add(path, up_link(net, from, spine), COLOR_TO_SWITCH);
        add(path, up_link(net, to, spine) + 1, COLOR_TO_SWITCH);
    }
    add(path, 2 * transfer->target + 1, COLOR_TO_HOST);
    return true;
}

static void shortest(const struct net *net, uint32_t source, uint32_t target, struct net_path *path)
{
    path->transit = 0;
    path->links = 0;
    path->parts = 1;
    path->minimal = true;
    add(path, 2 * source, COLOR_TO_SWITCH);
    if (source / net->per_router != target / net->per_router) {
        add(path, 0, COLOR_TO_SWITCH); /* by any spine */
        add(path, 0, COLOR_TO_SWITCH);
    }
    add(path, 2 * target + 1, COLOR_TO_HOST);
}

/* All links have the same rate and differ only in live lanes. A host has one link. */
static double path_rate(const struct net *net, uint32_t source, uint32_t target,
                        enum net_route mode)
{
    uint32_t from = source / net->per_router, to = target / net->per_router, spine;
    double out = net_link_speed(net, 2 * source, COLOR_TO_SWITCH)->units_per_us;
    double in = net_link_speed(net, 2 * target + 1, COLOR_TO_HOST)->units_per_us;
    double rate = out < in ? out : in, best = 0;

    if (!net_link_alive(net, 2 * source) || !net_link_alive(net, 2 * target + 1))
        return 0;
    if (from == to)
        return rate;
    for (spine = 0; spine < net->switched->spines; spine++) {
        double up = net_link_speed(net, up_link(net, from, spine), COLOR_TO_SWITCH)->units_per_us;
        double down =
            net_link_speed(net, up_link(net, to, spine) + 1, COLOR_TO_SWITCH)->units_per_us;
        double both = up < down ? up : down;

        if (!spine_alive(net, from, to, spine))
            continue;
        if (net_mode_adaptive(mode))
            best += both;
        else if (both > best)
            best = both;
    }
    return rate < best ? rate : best;
}

static bool find_link(const struct net *net, uint32_t a, uint32_t b, uint32_t which, uint32_t *link,
                      uint32_t *reverse)
{
    uint32_t low = a < b ? a : b, high = a < b ? b : a, up;
    const struct switched *tree = net->switched;

    if (which != 0 || low == high || low >= tree->leaves)
        return false;
    if (high < net->routers) {
        if (high < tree->leaves)
            return false;
        up = up_link(net, low, high - tree->leaves);
        *link = a == low ? up : up + 1;
        *reverse = a == low ? up + 1 : up;
        return true;
    }
    high -= net->routers;
    if (high >= net->endpoints || high / net->per_router != low)
        return false;
    *link = a == low ? 2 * high + 1 : 2 * high;
    *reverse = a == low ? 2 * high : 2 * high + 1;
    return true;
}

static bool describe(const struct net *net, uint32_t link, struct net_link_info *info)
{
    uint32_t number = link / 2, low, high, swap;
    const struct switched *tree = net->switched;

    if (number < net->endpoints) {
        low = net->routers + number;
        high = number / net->per_router;
    } else {
        number -= net->endpoints;
        low = number / tree->spines;
        high = tree->leaves + number % tree->spines;
    }
    if (link % 2 == 1) {
        swap = low;
        low = high;
        high = swap;
    }
    info->router = low;
    info->peer = high;
    info->which = 0;
    info->color = NET_LINK_SWITCH;
    return true;
}

static void destroy(struct net *net)
{
    free(net->switched);
}

static const struct net_topology topology = {
    .route = route,
    .shortest = shortest,
    .path_rate = path_rate,
    .find = find_link,
    .describe = describe,
    .destroy = destroy,
};

static bool check(const struct net_switched_config *config, bool tree, char **error)
{
    if (config->nodes < 1 || config->nodes > 1u << 20)
        return net_fail(error, "%u nodes; a switched network has 1 to %u", config->nodes, 1u << 20);
    if (!(config->rate_Bpus >= 1 && config->rate_Bpus <= 1e6))
        return net_fail(error, "rate %g is not within 1 to 1000000 bytes per microsecond",
                        config->rate_Bpus);
    if (config->link_latency > SIM_S || config->switch_latency > SIM_S)
        return net_fail(error, "a link or switch latency of more than 1 s");
    if (!tree)
        return true;
    if (config->radix < 2 || config->radix > 4096 || config->radix % 2 != 0)
        return net_fail(error,
                        "radix %u; switches of a fat tree have an even number of ports, 2 to 4096",
                        config->radix);
    if ((uint64_t)config->nodes > (uint64_t)config->radix * config->radix / 2)
        return net_fail(error, "%u nodes; a fat tree of two levels and radix %u has room for %u",
                        config->nodes, config->radix, config->radix * config->radix / 2);
    return true;
}

bool net_switched_init(struct net *net, const struct net_config *all, char **error)
{
    const struct net_switched_config *config = &all->switched;
    bool tree = config->kind != NULL && strcmp(config->kind, "fat-tree") == 0;
    struct net_link_class class;

    if (config->kind == NULL || (!tree && strcmp(config->kind, "single-switch") != 0))
        return net_fail(error, "kind \"%s\"; there are single-switch and fat-tree",
                        config->kind ? config->kind : "");
    if (!check(config, tree, error))
        return false;
    net->switched = calloc(1, sizeof(*net->switched));
    if (net->switched == NULL)
        return net_fail(error, "out of memory");
    net->topology = &topology;
    net->endpoints = config->nodes;
    net->groups = 1;
    net->host_links = 2;
    net->per_router = tree ? config->radix / 2 : config->nodes;
    net->switched->leaves = (config->nodes + net->per_router - 1) / net->per_router;
    net->switched->spines = tree ? config->radix / 2 : 0;
    net->routers = net->switched->leaves + net->switched->spines;
    if (!net_links_alloc(net, 2 * (net->endpoints + net->switched->leaves * net->switched->spines)))
        return net_fail(error, "out of memory");
    class = (struct net_link_class){config->rate_Bpus,
                                    config->link_latency + config->switch_latency, LANES};
    net_speed_init(net, COLOR_TO_SWITCH, &class, 1, 0);
    class.hop = config->link_latency;
    net_speed_init(net, COLOR_TO_HOST, &class, 1, 0);
    return true;
}
