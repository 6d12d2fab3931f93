/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The dragonfly as a topology: presets, coordinates, distances, rates of paths. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "dragonfly.h"

/*
 * Sources in docs/network.md. "profile" is what aries.profile defaults to on that system.
 * The node counts include the slots that service nodes occupy on the real machines.
 */
static const struct net_preset presets[] = {
    {"edison", "NERSC Edison, Cray XC30, 5760 nodes", "xc30_snb", 15, 6, 16, 6},
    {"theta9", "ALCF Theta at first, Cray XC40, 3456 nodes", "xc40_knl", 9, 6, 16, 12},
    {"theta12", "ALCF Theta extended, Cray XC40, 4608 nodes", "xc40_knl", 12, 6, 16, 12},
    {"theta", "the same as theta12", "xc40_knl", 12, 6, 16, 12},
    {"cori", "NERSC Cori, Cray XC40, 13056 nodes", "xc40_hsw", 34, 6, 16, 6},
    {"daint30", "CSCS Piz Daint, Cray XC30, 5376 nodes", "xc30_snb", 14, 6, 16, 6},
    {"daint50", "CSCS Piz Daint, Cray XC50 and XC40, 7680 nodes", "xc40_hsw", 20, 6, 16, 6},
    {"shaheen2", "KAUST Shaheen II, Cray XC40, 6912 nodes", "xc40_hsw", 18, 6, 16, 6},
    {"darter", "NICS Darter, Cray XC30, 768 nodes", "xc30_snb", 2, 6, 16, 12},
    {"xc-2-groups", "two full groups, 768 nodes", "xc40_hsw", 2, 6, 16, 12},
    {"group", "one group, 384 nodes", "xc40_hsw", 1, 6, 16, 0},
    {"chassis", "one chassis, 64 nodes", "xc40_hsw", 1, 1, 16, 0},
    {"blade", "one Aries, 4 nodes", "xc40_hsw", 1, 1, 1, 0},
    {"mini2", "two groups of 2 chassis of 4 blades, 64 nodes", "xc40_hsw", 2, 2, 4, 2},
};

const struct net_preset *net_presets(size_t *count)
{
    *count = sizeof(presets) / sizeof(presets[0]);
    return presets;
}

/* ---- shortest paths ------------------------------------------------------------------------- */

static void add_leg(struct net_path *path, uint32_t leg)
{
    if (leg & LEG_GREEN)
        path->color[path->links++] = COLOR_GREEN;
    if (leg & LEG_BLACK)
        path->color[path->links++] = COLOR_BLACK;
}

static uint32_t local_leg(const struct dragonfly_position *from,
                          const struct dragonfly_position *to)
{
    return (from->slot != to->slot ? LEG_GREEN : 0) |
           (from->chassis != to->chassis ? LEG_BLACK : 0);
}

static void shortest(const struct net *net, uint32_t source, uint32_t target, struct net_path *path)
{
    const struct dragonfly *fly = net->dragonfly;
    uint32_t s = source / NODES_PER_ROUTER, t = target / NODES_PER_ROUTER;
    const struct dragonfly_position *from = &fly->positions[s], *to = &fly->positions[t];
    uint32_t source_leg = 0, target_leg = 0;
    uint64_t set[PAIR_WORDS_MAX];

    path->transit = fly->router_transit;
    path->links = 0;
    path->parts = 1;
    path->minimal = true;
    if (from->group == to->group) {
        add_leg(path, local_leg(from, to));
        return;
    }
    net_dragonfly_best_gateways(fly, s, t, set, &source_leg, &target_leg);
    add_leg(path, source_leg);
    path->color[path->links++] = COLOR_BLUE;
    add_leg(path, target_leg);
}

/* ---- rates ----------------------------------------------------------------------------------- */

static double rate_of(const struct net *net, uint32_t link)
{
    if (!net_link_alive(net, link))
        return 0;
    return net_link_speed(net, link, dragonfly_port_color(link % PORTS))->units_per_us;
}

static bool connected(const struct dragonfly *fly, uint32_t router, uint32_t port)
{
    const struct dragonfly_position *at = &fly->positions[router];

    if (port < PORT_BLACK)
        return port + 1 < fly->slots;
    if (port < PORT_BLUE)
        return (port - PORT_BLACK) / BLACK_LINKS + 1 < fly->chassis;
    return fly->blue[at->local * BLUE_PORTS + port - PORT_BLUE] != NO_LINK;
}

/* The rate of the live ports of a router, in either direction: a link is alive in both directions
 * or in neither. */
static double ports_rate(const struct net *net, uint32_t router, uint32_t port, uint32_t end,
                         uint32_t *ports)
{
    double sum = 0;

    for (; port < end && *ports < NET_WIDE; port++)
        if (connected(net->dragonfly, router, port) && net_link_alive(net, router * PORTS + port)) {
            sum += rate_of(net, router * PORTS + port);
            (*ports)++;
        }
    return sum;
}

/* The rate of all blue ports of a group, through which every stream between groups passes. */
static double group_rate(const struct net *net, uint32_t group, uint32_t *ports)
{
    const struct dragonfly *fly = net->dragonfly;
    uint32_t local;
    double sum = 0;

    for (local = 0; local < fly->per_group && *ports < NET_WIDE; local++)
        sum += ports_rate(net, group * fly->per_group + local, PORT_BLUE, PORTS, ports);
    return sum;
}

static double black_rate(const struct net *net, uint32_t router, uint32_t chassis, uint32_t peer)
{
    double sum = 0;
    uint32_t i;

    for (i = 0; i < BLACK_LINKS; i++)
        sum += rate_of(net, router * PORTS + dragonfly_black_port(chassis, peer, i));
    return sum;
}

/* The rate of all minimal paths between two routers of a group together. */
static double minimal_rate(const struct net *net, uint32_t s, uint32_t t)
{
    const struct dragonfly *fly = net->dragonfly;
    const struct dragonfly_position *from = &fly->positions[s], *to = &fly->positions[t];
    uint32_t base = from->group * fly->per_group;
    uint32_t green_first = base + from->chassis * fly->slots + to->slot;
    uint32_t black_first = base + to->chassis * fly->slots + from->slot;
    uint32_t green = dragonfly_green_port(from->slot, to->slot);

    if (from->chassis == to->chassis)
        return rate_of(net, s * PORTS + green);
    if (from->slot == to->slot)
        return black_rate(net, s, from->chassis, to->chassis);
    return fmin(rate_of(net, s * PORTS + green),
                black_rate(net, green_first, from->chassis, to->chassis)) +
           fmin(black_rate(net, s, from->chassis, to->chassis),
                rate_of(net, black_first * PORTS + green));
}

/* The rate of one path: that of in-order traffic, which also stands for the hashed modes. */
static double fixed_rate(const struct net *net, uint32_t source, uint32_t target)
{
    struct net_path path;
    double rate = INFINITY;
    uint32_t i;

    if (!net->impaired && net->lanes == NULL) { /* all shortest paths have the same colours */
        shortest(net, source, target, &path);
        for (i = 0; i < path.links; i++)
            rate =
                fmin(rate, net->speed[path.color[i]][net->full_lanes[path.color[i]]].units_per_us);
        return rate;
    }
    if (!net_dragonfly_fixed_path(net, &path, source / NODES_PER_ROUTER, target / NODES_PER_ROUTER,
                                  dragonfly_pair_choice(source, target)))
        return 0;
    for (i = 0; i < path.links; i++)
        rate = fmin(rate, rate_of(net, path.link[i]));
    return rate;
}

/* The bottleneck that all paths share: the ports of the source, of the target, or the blue ports of
 * a group. Returns its number of ports. */
static uint32_t narrowest(const struct net *net, uint32_t s, uint32_t t, double *rate)
{
    const struct dragonfly *fly = net->dragonfly;
    bool global = fly->positions[s].group != fly->positions[t].group;
    uint32_t width = NET_WIDE, i;

    *rate = INFINITY;
    for (i = 0; i < (global ? 4u : 2u); i++) {
        uint32_t ports = 0;
        double sum = i < 2 ? ports_rate(net, i == 0 ? s : t, 0, global ? PORTS : PORT_BLUE, &ports)
                           : group_rate(net, fly->positions[i == 2 ? s : t].group, &ports);

        if (ports < NET_WIDE && sum < *rate) {
            *rate = sum;
            width = ports;
        }
    }
    return width;
}

uint32_t net_dragonfly_width(const struct net *net, uint32_t s, uint32_t t)
{
    const struct dragonfly *fly = net->dragonfly;
    double rate;

    if (sim_likely(!net->impaired && fly->local_ports >= NET_WIDE))
        return NET_WIDE;
    return narrowest(net, s, t, &rate);
}

static double path_rate(const struct net *net, uint32_t source, uint32_t target,
                        enum net_route route)
{
    const struct dragonfly *fly = net->dragonfly;
    uint32_t s = source / NODES_PER_ROUTER, t = target / NODES_PER_ROUTER;
    double rate;

    if (net->router_dead[s] || net->router_dead[t])
        return 0;
    if (s == t)
        return INFINITY;
    if (!net_mode_adaptive(route))
        return fixed_rate(net, source, target);
    if (net->impaired && fixed_rate(net, source, target) == 0)
        return 0;
    if (fly->positions[s].group == fly->positions[t].group &&
        fly->only_minimal[route - NET_ROUTE_ADAPTIVE_0]) {
        rate = minimal_rate(net, s, t);
        return rate > 0 ? rate : fixed_rate(net, source, target);
    }
    if (!net->impaired && fly->local_ports >= NET_WIDE)
        return INFINITY;
    narrowest(net, s, t, &rate);
    return rate;
}

/* ---- names of links and endpoints ------------------------------------------------------------ */

static bool find_link(const struct net *net, uint32_t a, uint32_t b, uint32_t which, uint32_t *link,
                      uint32_t *reverse)
{
    uint32_t port, peer, peer_port, number;

    if (a >= net->routers || b >= net->routers)
        return false;
    for (port = 0; port < PORTS; port++)
        if (net_dragonfly_peer(net->dragonfly, a, port, &peer, &peer_port, &number) && peer == b &&
            number == which) {
            *link = a * PORTS + port;
            *reverse = b * PORTS + peer_port;
            return true;
        }
    return false;
}

static bool describe(const struct net *net, uint32_t link, struct net_link_info *info)
{
    const struct dragonfly *fly = net->dragonfly;
    uint32_t port = link % PORTS, peer_port;

    info->router = link / PORTS;
    if (!net_dragonfly_peer(fly, info->router, port, &info->peer, &peer_port, &info->which))
        return false;
    info->tile = net_dragonfly_tile(fly, info->router, port);
    info->peer_tile = net_dragonfly_tile(fly, info->peer, peer_port);
    info->color = port < PORT_BLACK  ? NET_LINK_GREEN
                  : port < PORT_BLUE ? NET_LINK_BLACK
                                     : NET_LINK_BLUE;
    return true;
}

bool net_coordinates(const struct net *net, uint32_t endpoint, struct net_coordinates *out)
{
    const struct dragonfly_position *at;

    if (net->ports != PORTS || endpoint >= net->endpoints)
        return false;
    at = &net->dragonfly->positions[endpoint / NODES_PER_ROUTER];
    *out = (struct net_coordinates){at->group, at->chassis, at->slot, endpoint % NODES_PER_ROUTER};
    return true;
}

uint32_t net_endpoint_at(const struct net *net, const struct net_coordinates *at)
{
    const struct dragonfly *fly;

    if (net->ports != PORTS)
        return UINT32_MAX;
    fly = net->dragonfly;
    if (at->group >= fly->groups || at->chassis >= fly->chassis || at->slot >= fly->slots ||
        at->node >= NODES_PER_ROUTER)
        return UINT32_MAX;
    return ((at->group * fly->chassis + at->chassis) * fly->slots + at->slot) * NODES_PER_ROUTER +
           at->node;
}

/* ---- building -------------------------------------------------------------------------------- */

static void destroy(struct net *net)
{
    struct dragonfly *fly = net->dragonfly;

    free(fly->gateways);
    free(fly->blue);
    free(fly->reach);
    free(fly->positions);
    free(fly->random);
    free(fly->redraw_backoffs);
    free(fly);
}

static const struct net_topology topology = {
    .route = net_dragonfly_route,
    .shortest = shortest,
    .path_rate = path_rate,
    .stream_paths = net_dragonfly_stream_paths,
    .find = find_link,
    .describe = describe,
    .destroy = destroy,
};

static bool apply_preset(struct net_dragonfly_config *config, char **error)
{
    size_t i;

    for (i = 0; i < sizeof(presets) / sizeof(presets[0]); i++)
        if (strcmp(presets[i].name, config->preset) == 0) {
            config->groups = presets[i].groups;
            config->chassis = presets[i].chassis;
            config->slots = presets[i].slots;
            config->cables = presets[i].cables;
            return true;
        }
    return net_fail(error, "there is no preset \"%s\"", config->preset);
}

static bool check_class(const struct net_link_class *class, const char *name, char **error)
{
    if (!(class->rate_mps >= 1 && class->rate_mps <= 1e6))
        return net_fail(error, "%s links: rate %g is not within 1 to 1000000 phits per microsecond",
                        name, class->rate_mps);
    if (class->lanes < 1 || class->lanes > LANES)
        return net_fail(error, "%s links: %u lanes; a link has 1 to %d", name, class->lanes, LANES);
    if (class->hop > SIM_MS)
        return net_fail(error, "%s links: a hop of more than 1 ms", name);
    return true;
}

static bool check(const struct net_dragonfly_config *config, char **error)
{
    uint32_t cables, i;

    if (config->groups < 1 || config->groups > GROUPS_MAX)
        return net_fail(error, "%u groups; a dragonfly has 1 to %d", config->groups, GROUPS_MAX);
    if (config->chassis < 1 || config->chassis > CHASSIS_MAX)
        return net_fail(error, "%u chassis per group; there can be 1 to %d", config->chassis,
                        CHASSIS_MAX);
    if (config->slots < 1 || config->slots > SLOTS_MAX)
        return net_fail(error, "%u slots per chassis; there can be 1 to %d", config->slots,
                        SLOTS_MAX);
    if (config->groups > 1) {
        /* five connectors per Aries, two of them (of neighbours) to a cable: 240 in a full group */
        cables = config->chassis * (config->slots * BLUE_PORTS / 2 / 2);
        if (config->cables < 1)
            return net_fail(error, "%u groups need at least 1 optical cable per pair of groups",
                            config->groups);
        if (config->cables > cables / (config->groups - 1))
            return net_fail(
                error,
                "%u optical cables per pair of groups; %u groups with %u cables each allow %u",
                config->cables, config->groups, cables, cables / (config->groups - 1));
    }
    if (!check_class(&config->green, "green", error) ||
        !check_class(&config->black, "black", error) || !check_class(&config->blue, "blue", error))
        return false;
    if (config->router_transit > SIM_MS)
        return net_fail(error, "a router transit of more than 1 ms");
    if (config->vc_units < 1)
        return net_fail(error, "a virtual channel must hold at least 1 phit");
    for (i = 0; i < 4; i++) {
        const struct net_route_bias *bias = &config->bias[i];

        /* register widths of the hardware */
        if (bias->min_shift > 2 || bias->non_shift > 2 || bias->min_add > 63 || bias->non_add > 63)
            return net_fail(error, "bias of ADAPTIVE_%u: shifts are 0 to 2, addends 0 to 63", i);
    }
    return true;
}

/*
 * The configuration gives the bias at the source. The bias of ADAPTIVE_1 grows with every hop: at a
 * green, black and blue tile the addend is 2, 4 and 8 times as large and the shift 1, 1 and 2
 * larger (0+2 becomes 1+4, 1+8, 2+16).
 */
static void fill_bias(struct dragonfly *fly, const struct net_route_bias *bias)
{
    static const uint32_t shift_by[4] = {0, 1, 1, 2}, add_by[4] = {0, 1, 2, 3};
    uint32_t mode, position;

    for (mode = 0; mode < 4; mode++) {
        uint32_t cost_max = (15u << bias[mode].min_shift) + bias[mode].min_add;

        fly->only_minimal[mode] = cost_max <= bias[mode].non_add;
        fly->takes_idle[mode] =
            bias[mode].min_add <= bias[mode].non_add && fly->local_ports >= NET_WIDE;
        for (position = 0; position < 4; position++) {
            struct net_route_bias *here = &fly->bias[mode][position];

            *here = bias[mode];
            if (mode != 1)
                continue;
            here->non_shift += shift_by[position];
            here->non_add <<= add_by[position];
            if (here->non_shift > 2)
                here->non_shift = 2;
            if (here->non_add > 63)
                here->non_add = 63;
        }
    }
}

bool net_dragonfly_init(struct net *net, const struct net_config *all, char **error)
{
    struct net_dragonfly_config config = all->dragonfly;
    struct dragonfly *fly;
    uint32_t i;

    if (config.preset != NULL && !apply_preset(&config, error))
        return false;
    if (!check(&config, error))
        return false;
    fly = calloc(1, sizeof(*fly));
    if (fly == NULL)
        return net_fail(error, "out of memory");
    net->topology = &topology;
    net->dragonfly = fly;
    fly->groups = config.groups;
    fly->chassis = config.chassis;
    fly->slots = config.slots;
    fly->cables = config.groups > 1 ? config.cables : 0;
    fly->per_group = config.chassis * config.slots;
    fly->local_ports = config.slots - 1 + BLACK_LINKS * (config.chassis - 1);
    fly->router_transit = config.router_transit;
    net->groups = config.groups;
    net->routers = config.groups * fly->per_group;
    net->endpoints = net->routers * NODES_PER_ROUTER;
    net->ports = PORTS;
    net->per_router = NODES_PER_ROUTER;
    if (net->routers == 0)
        return net_fail(error, "a dragonfly has at least one router");
    fly->positions = calloc(net->routers, sizeof(*fly->positions));
    fly->random = calloc(net->routers, sizeof(*fly->random));
    fly->redraw_backoffs = calloc(net->routers, sizeof(*fly->redraw_backoffs));
    if (fly->positions == NULL || fly->random == NULL || fly->redraw_backoffs == NULL ||
        !net_dragonfly_wire(fly) || !net_links_alloc(net, net->routers * PORTS))
        return net_fail(error, "out of memory");
    for (i = 0; i < net->routers; i++) {
        uint32_t local = i % fly->per_group;

        fly->positions[i] = (struct dragonfly_position){
            (uint8_t)(i / fly->per_group), (uint8_t)local, (uint8_t)(local / fly->slots),
            (uint8_t)(local % fly->slots)};
        sim_random_init(&fly->random[i], all->seed, "net.route", i);
    }
    net_speed_init(net, COLOR_GREEN, &config.green, config.vc_units, NET_TOLERATED_BACKLOG_UNITS);
    net_speed_init(net, COLOR_BLACK, &config.black, config.vc_units, NET_TOLERATED_BACKLOG_UNITS);
    net_speed_init(net, COLOR_BLUE, &config.blue, config.vc_units, NET_TOLERATED_BACKLOG_UNITS);
    net_dragonfly_sort_gateway_classes(fly, config.green.hop, config.black.hop);
    fill_bias(fly, config.bias);
    net_dragonfly_buffers(net, &config);
    return true;
}
