/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * F2 cannot deadlock: the graph of which channel (link, VC) a packet may hold while it waits for
 * which other has no cycle. It is built from all paths that routing can come to: every pair of
 * routers, every candidate of every decision, whatever the load; every fixed path by its hash.
 */
#include "net_packet.h"

#define PATHS_MAX 4096
#define NOWHERE UINT32_MAX

struct graph {
    struct net *net;
    uint32_t channels; /* tile * VCS + vc */
    uint64_t *edges; /* bit matrix */
    uint64_t edge_count;
    uint8_t *color; /* depth-first search */
    struct packet *seen; /* states already expanded: open addressing */
    uint32_t seen_size, seen_count;
    uint32_t hops_max, vc_max;
    uint64_t paths;
};

static void graph_init(struct graph *graph, struct net *net)
{
    size_t words;

    memset(graph, 0, sizeof(*graph));
    graph->net = net;
    graph->channels = net_routers(net) * TILES * VCS;
    words = ((size_t)graph->channels * graph->channels + 63) / 64;
    graph->edges = calloc(words, sizeof(uint64_t));
    graph->color = calloc(graph->channels, 1);
    graph->seen_size = 1u << 20;
    graph->seen = calloc(graph->seen_size, sizeof(*graph->seen));
    assert_non_null(graph->edges);
    assert_non_null(graph->color);
    assert_non_null(graph->seen);
}

static void graph_fini(struct graph *graph)
{
    free(graph->edges);
    free(graph->color);
    free(graph->seen);
}

static void add_edge(struct graph *graph, uint32_t from, uint32_t to)
{
    size_t bit = (size_t)from * graph->channels + to;

    if (from == NOWHERE)
        return;
    graph->edge_count += !(graph->edges[bit / 64] >> (bit % 64) & 1);
    graph->edges[bit / 64] |= 1ull << (bit % 64);
}

/*
 * Returns false if this state has been expanded before. A state is everything that routing reads.
 */
static bool is_new(struct graph *graph, const struct packet *packet)
{
    uint64_t key = sim_mix((uint64_t)packet->tile << 32 | (uint64_t)packet->target << 16 |
                           packet->goal << 8 | packet->goal_port);
    uint32_t at;

    key =
        sim_mix(key ^ ((uint64_t)packet->source << 32 | (uint64_t)packet->out_vc << 24 |
                       (uint64_t)packet->rank << 16 | (uint64_t)packet->flags << 8 | packet->hops));
    for (at = (uint32_t)key & (graph->seen_size - 1);; at = (at + 1) & (graph->seen_size - 1)) {
        struct packet *other = &graph->seen[at];

        if (other->units == 0) {
            assert_true(++graph->seen_count < graph->seen_size / 4 * 3);
            *other = *packet;
            return true;
        }
        if (other->tile == packet->tile && other->source == packet->source &&
            other->target == packet->target && other->goal == packet->goal &&
            other->goal_port == packet->goal_port && other->out_vc == packet->out_vc &&
            other->rank == packet->rank && other->flags == packet->flags &&
            other->hops == packet->hops)
            return false;
    }
}

static unsigned color_of(uint32_t tile)
{
    return dragonfly_port_color(tile % TILES);
}

static void expand(struct graph *graph, const struct packet *packet, uint32_t channel);

/* One step, to the input of the next router. */
static void follow_path(struct graph *graph, const struct packet *before, const struct packet *step,
                        uint32_t channel)
{
    uint32_t tile = packet_router(before) * TILES + step->out_port, next;
    struct packet after = *step;

    graph->paths++;
    /* checklist 26: the class's four VCs, never a lower one, at most ten links */
    assert_int_equal(step->out_vc / RESPONSE_VC, before->vc / RESPONSE_VC);
    assert_true(step->out_vc >= before->out_vc);
    if (packet_router(before) == before->target) {
        assert_true(tile_is_ptile(tile));
        return;
    }
    assert_false(tile_is_ptile(tile));
    assert_true(net_packets->tiles[tile].peer != UINT32_MAX);
    next = tile * VCS + step->out_vc;
    add_edge(graph, channel, next);
    after.tile = tile;
    after.vc = step->out_vc;
    after.rank = (color_of(tile) + 1) & 3;
    after.hops++;
    assert_true(after.hops <= NET_PATH_MAX);
    if (after.hops > graph->hops_max)
        graph->hops_max = after.hops;
    if (after.vc % LEVELS > graph->vc_max)
        graph->vc_max = after.vc % LEVELS;
    expand(graph, &after, next);
}

static void expand(struct graph *graph, const struct packet *packet, uint32_t channel)
{
    struct packet *paths;
    uint32_t count, i;

    if (!(packet->flags & PACKET_SOURCE_ROUTED) && !is_new(graph, packet))
        return;
    paths = malloc(PATHS_MAX * sizeof(*paths));
    assert_non_null(paths);
    count = net_packet_route_all(packet, paths, PATHS_MAX);
    assert_in_range(count, 1, PATHS_MAX - 1);
    for (i = 0; i < count; i++)
        follow_path(graph, packet, &paths[i], channel);
    free(paths);
}

/* The hardware's injection VC: checklist 26 and the table of section 3.3. */
static void assert_injection(const struct packet *packet, const struct net_transfer *transfer)
{
    const struct dragonfly *fly = net_packets->fly;
    bool own =
        fly->positions[transfer->source / 4].group == fly->positions[transfer->target / 4].group;
    unsigned level = packet->out_vc % LEVELS;
    bool minimal = !net_mode_adaptive(transfer->route) && !(packet->flags & PACKET_NON_MINIMAL);

    if (minimal)
        assert_true(level <= 2u + own); /* lower where green follows black */
    else
        assert_int_equal(level, own ? 1 : 0);
}

static void add_flow(struct graph *graph, uint32_t source, uint32_t target, enum net_route route,
                     enum net_class class, uint64_t hash)
{
    struct net_transfer transfer = {.source = source * 4,
                                    .target = target * 4,
                                    .units = 14,
                                    .last_units = 14,
                                    .packets = 1,
                                    .class = class,
                                    .route = (uint8_t)route,
                                    .hash = hash};
    struct packet packet = {.transfer = &transfer, .units = 14};

    packet.source = (uint16_t)source;
    packet.target = (uint16_t)target;
    packet.vc = class == NET_RESPONSE ? RESPONSE_VC : 0;
    packet.goal_port = NO_PORT;
    packet.to = (uint8_t)((route & 3) << 2);
    packet.tile = source * TILES + PORTS;
    if (!net_packet_route_begin(&packet))
        return;
    /* all processor tiles lead to the same channels */
    packet.flags &= (uint8_t) ~(3u << PACKET_PTILE_SHIFT);
    if (!graph->net->impaired)
        assert_injection(&packet, &transfer);
    if (packet.flags & PACKET_DECIDES_PER_HOP)
        packet.goal = packet.goal_port = 0; /* drawn: all of them are tried */
    expand(graph, &packet, NOWHERE);
}

static void add_all(struct graph *graph, uint32_t hashes)
{
    uint32_t routers = net_routers(graph->net), s, t, class, k;

    for (s = 0; s < routers; s++)
        for (t = 0; t < routers; t++)
            for (class = 0; class < 2 && s != t; class ++) {
                add_flow(graph, s, t, NET_ROUTE_ADAPTIVE_0, class, 0);
                add_flow(graph, s, t, NET_ROUTE_IN_ORDER, class, 0);
                for (k = 0; k < hashes; k++) {
                    add_flow(graph, s, t, NET_ROUTE_MIN_HASHED, class, k);
                    add_flow(graph, s, t, NET_ROUTE_NON_MIN_HASHED, class, k);
                }
            }
}

static bool has_edge(const struct graph *graph, uint32_t from, uint32_t to)
{
    size_t bit = (size_t)from * graph->channels + to;

    return graph->edges[bit / 64] >> (bit % 64) & 1;
}

/* True: a cycle can be reached from here. */
static bool search(struct graph *graph, uint32_t channel)
{
    uint32_t next;

    graph->color[channel] = 1;
    for (next = 0; next < graph->channels; next++) {
        if (next % 64 == 0) { /* most words are empty */
            size_t bit = (size_t)channel * graph->channels + next;

            if (bit % 64 == 0 && next + 64 <= graph->channels && graph->edges[bit / 64] == 0) {
                next += 63;
                continue;
            }
        }
        if (!has_edge(graph, channel, next))
            continue;
        if (graph->color[next] == 1 || (graph->color[next] == 0 && search(graph, next)))
            return true;
    }
    graph->color[channel] = 2;
    return false;
}

static bool has_cycle(struct graph *graph)
{
    uint32_t channel;

    memset(graph->color, 0, graph->channels);
    for (channel = 0; channel < graph->channels; channel++)
        if (graph->color[channel] == 0 && search(graph, channel))
            return true;
    return false;
}

static void check(struct net_config config, uint32_t hashes, uint64_t edges_least)
{
    struct net *net = test_begin(&config);
    struct graph graph;

    graph_init(&graph, net);
    add_all(&graph, hashes);
    assert_true(graph.edge_count >= edges_least);
    assert_false(has_cycle(&graph));
    /* and the test detects a cycle */
    add_edge(&graph, 0 * VCS, 1 * VCS);
    add_edge(&graph, 1 * VCS, 0 * VCS);
    assert_true(has_cycle(&graph));
    graph_fini(&graph);
    test_end(net);
}

static struct net_config shape(uint32_t groups, uint32_t chassis, uint32_t slots, uint32_t cables)
{
    struct net_config config = packet_preset(NULL);

    config.dragonfly.groups = groups;
    config.dragonfly.chassis = chassis;
    config.dragonfly.slots = slots;
    config.dragonfly.cables = cables;
    return config;
}

static void aries_26_no_cycle_of_channels_in_a_group(void **state)
{
    (void)state;
    check(shape(1, 3, 4, 0), 64, 1000);
    check(shape(1, 2, 2, 0), 64, 30);
    check(shape(1, 1, 6, 0), 64, 100);
}

static void aries_26_no_cycle_of_channels_in_two_groups(void **state)
{
    (void)state;
    check(shape(2, 2, 4, 2), 64, 1000);
    check(shape(2, 3, 2, 3), 64, 1000);
}

static void aries_26_no_cycle_of_channels_in_more_groups(void **state)
{
    (void)state;
    check(shape(3, 2, 3, 1), 64, 1000);
    check(shape(4, 2, 2, 1), 32, 1000);
}

/*
 * Fixed paths lead around dead links and routers, by every detour; adaptive ones begin like them.
 */
static void no_cycle_of_channels_around_dead_links(void **state)
{
    struct net_config config = shape(3, 2, 3, 2);
    struct net *net = test_begin(&config);
    struct graph graph;
    uint32_t s, t, k;

    (void)state;
    assert_true(net_link_set_alive(net, 0, 1, 0, false));
    assert_true(net_link_set_alive(net, 1, 4, 0, false));
    assert_true(net_link_set_alive(net, 1, 4, 1, false));
    assert_true(net_link_set_alive(net, 1, 4, 2, false));
    assert_true(net_link_set_alive(net, 7, 8, 0, false));
    assert_true(net_router_set_alive(net, 14, false));
    graph_init(&graph, net);
    for (s = 0; s < net_routers(net); s++)
        for (t = 0; t < net_routers(net); t++)
            for (k = 0; k < 64 && s != t; k++) {
                add_flow(&graph, s, t, NET_ROUTE_MIN_HASHED, NET_REQUEST, k);
                add_flow(&graph, s, t, NET_ROUTE_NON_MIN_HASHED, NET_REQUEST, k);
            }
    assert_true(graph.edge_count > 500);
    assert_false(has_cycle(&graph));
    graph_fini(&graph);
    test_end(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aries_26_no_cycle_of_channels_in_a_group),
        cmocka_unit_test(aries_26_no_cycle_of_channels_in_two_groups),
        cmocka_unit_test(aries_26_no_cycle_of_channels_in_more_groups),
        cmocka_unit_test(no_cycle_of_channels_around_dead_links),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
