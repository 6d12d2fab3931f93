/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Wiring of the dragonfly against published counts and link dumps; needs no simulation. */
#include "net_test.h"

struct end { /* one directed link */
    struct net_link_info info;
};

struct ends {
    struct end *end;
    uint32_t count, capacity;
};

static void collect(const struct net_link_info *info, void *arg)
{
    struct ends *ends = arg;

    if (ends->count == ends->capacity) {
        ends->capacity = ends->capacity ? 2 * ends->capacity : 1024;
        ends->end = realloc(ends->end, ends->capacity * sizeof(*ends->end));
        assert_non_null(ends->end);
    }
    ends->end[ends->count++].info = *info;
}

static struct ends ends_of(const struct net *net)
{
    struct ends ends = {0};

    net_for_each_link(net, collect, &ends);
    return ends;
}

static void assert_link_ends(const char *preset, uint32_t groups, uint32_t routers, uint32_t green,
                             uint32_t black, uint32_t blue)
{
    struct net_config config = test_preset(preset);
    struct net *net = test_net(&config);
    struct ends ends = ends_of(net);
    uint32_t count[4] = {0}, i;

    for (i = 0; i < ends.count; i++) {
        assert_true(ends.end[i].info.alive);
        count[ends.end[i].info.color]++;
    }
    assert_int_equal(net_groups(net), groups);
    assert_int_equal(net_routers(net), routers);
    assert_int_equal(net_endpoints(net), routers * 4);
    assert_int_equal(count[NET_LINK_GREEN], green);
    assert_int_equal(count[NET_LINK_BLACK], black);
    assert_int_equal(count[NET_LINK_BLUE], blue);
    assert_int_equal(count[NET_LINK_SWITCH], 0);
    free(ends.end);
    net_destroy(net);
}

static void aries_1_edison_link_counts(void **state)
{
    (void)state;
    assert_link_ends("edison", 15, 1440, 21600, 21600, 5040);
}

static void aries_2_theta_link_counts(void **state)
{
    (void)state;
    assert_link_ends("theta9", 9, 864, 12960, 12960, 3456);
}

static void small_presets(void **state)
{
    (void)state;
    assert_link_ends("blade", 1, 1, 0, 0, 0);
    assert_link_ends("chassis", 1, 16, 240, 0, 0);
    assert_link_ends("group", 1, 96, 1440, 1440, 0);
    assert_link_ends("mini2", 2, 16, 48, 48, 16);
    assert_link_ends("darter", 2, 192, 2880, 2880, 96);
    assert_link_ends("xc-2-groups", 2, 192, 2880, 2880, 96);
    assert_link_ends("theta", 12, 1152, 17280, 17280, 12 * 11 * 48);
}

/* Multiplicities by group, chassis and slot of both ends, and that both ends agree on everything.
 */
static void check_structure(const char *preset, uint32_t links_per_pair, bool same_row)
{
    struct net_config config = test_preset(preset);
    struct net *net = test_net(&config);
    struct ends ends = ends_of(net);
    uint32_t routers = net_routers(net), groups = net_groups(net), i, j;
    uint32_t *pair = calloc((size_t)groups * groups, sizeof(*pair));
    uint8_t *blue = calloc(routers, 1), *tiles = calloc((size_t)routers * 60, 1);
    uint8_t *in_group = calloc((size_t)routers * 96, 1);

    assert_true(pair && blue && tiles && in_group);
    for (i = 0; i < ends.count; i++) {
        const struct net_link_info *info = &ends.end[i].info;
        struct net_coordinates a, b;

        assert_true(net_coordinates(net, info->router * 4, &a));
        assert_true(net_coordinates(net, info->peer * 4, &b));
        assert_true(info->tile / 10 < 5 && info->tile % 10 < 8); /* row 5 is for processors */
        assert_int_equal(tiles[info->router * 60 + info->tile]++, 0);
        if (info->color == NET_LINK_GREEN)
            assert_true(a.group == b.group && a.chassis == b.chassis && a.slot != b.slot);
        if (info->color == NET_LINK_BLACK)
            assert_true(a.group == b.group && a.chassis != b.chassis && a.slot == b.slot);
        if (info->color == NET_LINK_BLUE) {
            assert_true(a.group != b.group);
            if (same_row)
                assert_int_equal(a.chassis, b.chassis);
            pair[a.group * groups + b.group]++;
            assert_true(++blue[info->router] <= 10);
        } else {
            in_group[info->router * 96 + b.chassis * 16 + b.slot]++;
        }
    }
    for (i = 0; i < routers; i++)
        for (j = 0; j < 96; j++) {
            uint32_t chassis = i / 16 % 6, slot = i % 16;
            uint32_t expected = j / 16 == chassis && j % 16 != slot   ? 1
                                : j / 16 != chassis && j % 16 == slot ? 3
                                                                      : 0;

            assert_int_equal(in_group[i * 96 + j], expected);
        }
    for (i = 0; i < groups; i++)
        for (j = 0; j < groups; j++)
            assert_int_equal(pair[i * groups + j], i == j ? 0 : links_per_pair);
    free(pair);
    free(blue);
    free(tiles);
    free(in_group);
    free(ends.end);
    net_destroy(net);
}

static void aries_3_aries_4_aries_6_structure(void **state)
{
    (void)state;
    check_structure("edison", 24, true);
    check_structure("cori", 24, true);
    check_structure("theta9", 48, true);
    check_structure("theta12", 48, true);
    check_structure("daint50", 24, true);
    check_structure("darter", 48, true);
}

static int by_name(const void *a, const void *b)
{
    const struct net_link_info *x = &((const struct end *)a)->info,
                               *y = &((const struct end *)b)->info;

    if (x->router != y->router)
        return x->router < y->router ? -1 : 1;
    if (x->peer != y->peer)
        return x->peer < y->peer ? -1 : 1;
    return x->which < y->which ? -1 : x->which > y->which;
}

/* Each directed link has its reverse, with the same name and the tiles exchanged. */
static void check_symmetry(const struct net_config *config)
{
    struct net *net = test_net(config);
    struct ends ends = ends_of(net);
    uint32_t i;

    if (ends.count > 0)
        qsort(ends.end, ends.count, sizeof(*ends.end), by_name);
    for (i = 0; i < ends.count; i++) {
        const struct net_link_info *info = &ends.end[i].info;
        struct end key = {
            .info = {.router = info->peer, .peer = info->router, .which = info->which}};
        const struct end *reverse = bsearch(&key, ends.end, ends.count, sizeof(key), by_name);

        assert_non_null(reverse);
        assert_int_equal(reverse->info.tile, info->peer_tile);
        assert_int_equal(reverse->info.peer_tile, info->tile);
        assert_int_equal(reverse->info.color, info->color);
        if (i > 0)
            assert_true(by_name(&ends.end[i - 1], &ends.end[i]) < 0); /* names are unique */
    }
    free(ends.end);
    net_destroy(net);
}

static void links_have_two_ends(void **state)
{
    static const uint32_t odd[][4] = {
        {3, 6, 16, 1}, {5, 6, 16, 7}, {3, 4, 5, 5}, {2, 6, 16, 240}, {241, 6, 16, 1}};
    struct net_config config;
    size_t count, i;
    const struct net_preset *presets = net_presets(&count);

    (void)state;
    for (i = 0; i < count; i++) {
        config = test_preset(presets[i].name);
        check_symmetry(&config);
    }
    for (i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        config = test_preset(NULL);
        config.dragonfly.groups = odd[i][0];
        config.dragonfly.chassis = odd[i][1];
        config.dragonfly.slots = odd[i][2];
        config.dragonfly.cables = odd[i][3];
        check_symmetry(&config);
    }
}

struct wanted {
    uint32_t router, tile, peer, peer_tile;
    uint32_t found;
};

static void find_link(const struct net_link_info *info, void *arg)
{
    struct wanted *wanted = arg;

    if (info->router == wanted->router && info->tile == wanted->tile) {
        wanted->peer = info->peer;
        wanted->peer_tile = info->peer_tile;
        wanted->found++;
    }
}

/* group, chassis, slot, tile of both ends */
static void assert_joined(const struct net *net, const uint32_t from[4], const uint32_t to[4])
{
    struct wanted wanted = {.router = (from[0] * 6 + from[1]) * 16 + from[2], .tile = from[3]};

    net_for_each_link(net, find_link, &wanted);
    assert_int_equal(wanted.found, 1);
    assert_int_equal(wanted.peer, (to[0] * 6 + to[1]) * 16 + to[2]);
    assert_int_equal(wanted.peer_tile, to[3]);
}

static void aries_5_tiles_follow_the_dumps(void **state)
{
    /* The first three are the checklist's; the others are read from the published dumps' tables. */
    static const uint32_t links[][2][4] = {
        {{0, 0, 0, 23}, {0, 0, 1, 20}},   {{0, 0, 0, 37}, {0, 1, 0, 45}},
        {{0, 0, 0, 1}, {1, 0, 0, 1}},     {{0, 0, 15, 27}, {0, 0, 14, 24}},
        {{7, 4, 9, 36}, {7, 4, 0, 33}},   {{3, 2, 12, 17}, {3, 2, 14, 26}},
        {{2, 4, 3, 7}, {2, 0, 3, 24}},    {{2, 4, 12, 11}, {2, 0, 12, 23}},
        {{5, 5, 8, 33}, {5, 2, 8, 43}},   {{1, 3, 5, 26}, {1, 1, 5, 16}},
        {{0, 1, 15, 42}, {0, 0, 15, 41}}, {{14, 5, 7, 36}, {14, 3, 7, 36}},
    };
    struct net_config config = test_preset("edison");
    struct net *net = test_net(&config);
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
        assert_joined(net, links[i][0], links[i][1]);
        assert_joined(net, links[i][1], links[i][0]);
    }
    net_destroy(net);
}

/* Every blue link by the rule as published: connector c = i * k + j of row r, both ends with the
 * same j. */
static void check_blue_rule(const char *preset, uint32_t groups, uint32_t cables)
{
    static const uint32_t tile[2][2][2] = {{{1, 2}, {12, 3}}, {{5, 6}, {4, 15}}};
    struct net_config config = test_preset(preset);
    struct net *net = test_net(&config);
    struct ends ends = ends_of(net);
    uint32_t *far = malloc((size_t)net_routers(net) * 60 * sizeof(*far)), k = cables / 3, g, p, r,
             j, n, i;
    uint32_t checked = 0, blue = 0;

    assert_non_null(far);
    for (i = 0; i < ends.count; i++)
        if (ends.end[i].info.color == NET_LINK_BLUE) {
            const struct net_link_info *info = &ends.end[i].info;

            far[info->router * 60 + info->tile] = info->peer * 60 + info->peer_tile;
            blue++;
        }
    for (g = 0; g < groups; g++)
        for (p = 0; p < groups; p++)
            for (r = 0; r < 6 && g != p; r++)
                for (j = 0; j < k; j++)
                    for (n = 0; n < 2; n++) {
                        uint32_t c = (p < g ? p : p - 1) * k + j, d = (g < p ? g : g - 1) * k + j;
                        uint32_t here =
                            (g * 96 + r * 16 + c % 16) * 60 + tile[c % 16 >= 8][c / 16][n];
                        uint32_t there =
                            (p * 96 + r * 16 + d % 16) * 60 + tile[d % 16 >= 8][d / 16][n];

                        assert_int_equal(far[here], there);
                        checked++;
                    }
    assert_int_equal(checked, blue);
    free(far);
    free(ends.end);
    net_destroy(net);
}

static void aries_5_blue_rule(void **state)
{
    (void)state;
    check_blue_rule("theta9", 9, 12);
    check_blue_rule("edison", 15, 6);
}

static void check_histogram(const char *preset, const uint32_t expected[6], double mean)
{
    struct net_config config = test_preset(preset);
    struct net *net = test_net(&config);
    uint32_t histogram[16] = {0}, routers = net_routers(net), s, t;
    double sum = 0;

    for (s = 0; s < 96; s++)
        for (t = 0; t < routers; t++)
            histogram[net_minimal_hops(net, s * 4, t * 4)]++;
    for (t = 0; t < 6; t++) {
        assert_int_equal(histogram[t], expected[t]);
        sum += (double)histogram[t] * t;
    }
    assert_true(sum / (96.0 * routers) - mean < 5e-5 && mean - sum / (96.0 * routers) < 5e-5);
    net_destroy(net);
}

static void aries_7_hop_histograms(void **state)
{
    (void)state;
    check_histogram("theta9", (const uint32_t[]){96, 2112, 13344, 32832, 34560, 0}, 3.2014);
    check_histogram("edison", (const uint32_t[]){96, 2088, 12912, 40824, 82320, 0}, 3.4698);
}

static void assert_refused(const struct net_config *config, const char *why)
{
    char *error = NULL;
    struct net *net = net_create(config, &error);

    assert_null(net);
    assert_non_null(error);
    if (strstr(error, why) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", error, why);
    free(error);
}

static void aries_8_refusals(void **state)
{
    struct net_config config = test_preset(NULL);
    uint32_t groups;

    (void)state;
    config.dragonfly.chassis = 6;
    config.dragonfly.slots = 16;
    config.dragonfly.groups = 242;
    config.dragonfly.cables = 1;
    assert_refused(&config, "242 groups");
    for (groups = 2; groups <= 241; groups += groups < 20 ? 1 : 13) {
        struct net *net;

        config.dragonfly.groups = groups;
        config.dragonfly.cables = 240 / (groups - 1) + 1;
        assert_refused(&config, "optical cables");
        config.dragonfly.cables--;
        net = test_net(&config);
        assert_int_equal(net_groups(net), groups);
        net_destroy(net);
    }
    config.dragonfly.groups = 0;
    assert_refused(&config, "0 groups");
    config.dragonfly.groups = 2;
    config.dragonfly.cables = 0;
    assert_refused(&config, "at least 1 optical cable");
}

static void refusals_name_what_is_wrong(void **state)
{
    struct net_config config = test_preset("no-such");

    (void)state;
    assert_refused(&config, "no-such");
    config = test_preset(NULL);
    config.dragonfly.chassis = 7;
    assert_refused(&config, "7 chassis");
    config = test_preset(NULL);
    config.dragonfly.slots = 17;
    assert_refused(&config, "17 slots");
    config = test_preset("mini2");
    config.dragonfly.green.rate_mps = 0;
    assert_refused(&config, "green links: rate");
    config = test_preset("mini2");
    config.dragonfly.black.lanes = 4;
    assert_refused(&config, "black links: 4 lanes");
    config = test_preset("mini2");
    config.dragonfly.blue.hop = SIM_S;
    assert_refused(&config, "blue links: a hop");
    config = test_preset("mini2");
    config.dragonfly.router_transit = SIM_S;
    assert_refused(&config, "router transit");
    config = test_preset("mini2");
    config.dragonfly.vc_units = 0;
    assert_refused(&config, "virtual channel");
    config = test_preset("mini2");
    config.dragonfly.bias[2].non_add = 64;
    assert_refused(&config, "ADAPTIVE_2");
    config = test_preset("mini2");
    config.fidelity = NET_F2;
    config.topology = NET_SWITCHED;
    assert_refused(&config, "F2");
}

static void aries_9_coordinates_round_trip(void **state)
{
    size_t count, i;
    const struct net_preset *presets = net_presets(&count);

    (void)state;
    for (i = 0; i < count; i++) {
        struct net_config config = test_preset(presets[i].name);
        struct net *net = test_net(&config);
        uint32_t endpoint, expected = presets[i].groups * presets[i].chassis * presets[i].slots * 4;
        struct net_coordinates at;

        assert_int_equal(net_endpoints(net), expected);
        for (endpoint = 0; endpoint < expected; endpoint++) {
            assert_true(net_coordinates(net, endpoint, &at));
            assert_true(at.group < presets[i].groups && at.chassis < presets[i].chassis);
            assert_true(at.slot < presets[i].slots && at.node < 4);
            assert_int_equal(net_endpoint_at(net, &at), endpoint);
            assert_int_equal(net_group_of(net, endpoint), at.group);
            assert_int_equal(net_router_of(net, endpoint), endpoint / 4);
        }
        assert_false(net_coordinates(net, expected, &at));
        at = (struct net_coordinates){0, 0, 0, 4};
        assert_int_equal(net_endpoint_at(net, &at), UINT32_MAX);
        net_destroy(net);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aries_1_edison_link_counts),
        cmocka_unit_test(aries_2_theta_link_counts),
        cmocka_unit_test(small_presets),
        cmocka_unit_test(aries_3_aries_4_aries_6_structure),
        cmocka_unit_test(links_have_two_ends),
        cmocka_unit_test(aries_5_tiles_follow_the_dumps),
        cmocka_unit_test(aries_5_blue_rule),
        cmocka_unit_test(aries_7_hop_histograms),
        cmocka_unit_test(aries_8_refusals),
        cmocka_unit_test(refusals_name_what_is_wrong),
        cmocka_unit_test(aries_9_coordinates_round_trip),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
