/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Texts of `networks`, `ip2nets` and `routes` as Lustre's manual and real systems have them. */
#include "world.h"

#include "engine/finding.h"

/* A node that has an Ethernet and an InfiniBand port. */
static const struct lnet_interface ports[] = {
    {.name = "eth0", .lnd_type = SOCKLND, .address = 0xc0a80005},
    {.name = "eth1", .lnd_type = SOCKLND, .address = 0x0a000005},
    {.name = "ib0", .lnd_type = O2IBLND, .address = 0x0a010005},
};

/* Its networks and routes by these settings, as "tcp(eth0),o2ib; o2ib1 -1 10.0.0.1@tcp:0; ". */
static const char *meaning(const char *name, const char *value, const char *more_name,
                           const char *more_value)
{
    static char text[4096];
    const struct lnet_setting settings[] = {{name, value}, {more_name, more_value}};
    struct lnet_node_config config = {
        .name = "n",
        .number = 3,
        .interfaces = ports,
        .interface_count = 3,
        .settings = settings,
        .setting_count = more_name != NULL ? 2 : 1,
    };
    struct sim_options options = {.seed = 1};
    struct lnet_config_net *nets;
    struct lnet_config_route *routes;
    char *error = NULL;
    struct lnet_node *node;
    uint32_t count, i, j;

    sim_init(&options);
    lnet_sim_register_drivers();
    node = lnet_node_create(&config, &error);
    if (node == NULL) {
        snprintf(text, sizeof(text), "error: %s", error);
        free(error);
        sim_fini();
        return text;
    }
    text[0] = '\0';
    assert_int_equal(lnet_config_networks(node, &nets, &count, &error), 0);
    for (i = 0; i < count; i++) {
        sprintf(text + strlen(text), "%s%s", i > 0 ? "," : "", libcfs_net2str(nets[i].id));
        for (j = 0; j < nets[i].interface_count; j++)
            sprintf(text + strlen(text), "%s%s", j > 0 ? "," : "(", nets[i].interfaces[j]);
        strcat(text, nets[i].interface_count > 0 ? ")" : "");
    }
    strcat(text, "; ");
    assert_int_equal(lnet_config_routes(node, &routes, &count, &error), 0);
    for (i = 0; i < count; i++)
        sprintf(text + strlen(text), "%s %d %s:%u; ", libcfs_net2str(routes[i].net),
                (int)routes[i].hops, libcfs_nid2str(routes[i].gateway), routes[i].priority);
    free(nets);
    free(routes);
    lnet_node_destroy(node);
    sim_fini();
    return text;
}

static char warned[512];
static void add_warning(const struct sim_finding *finding, void *argument)
{
    (void)argument;
    if (strcmp(finding->rule->name, "lnet.setting-ignored") == 0) {
        assert_int_equal(finding->node, 3);
        snprintf(warned + strlen(warned), sizeof(warned) - strlen(warned), "%s|", finding->text);
    }
}

/* ---- routes ---------------------------------------------------------------------------------- */

/* One text for all machines: on each of them LNet starts with the routes that it can use. */
#define FOR_ALL "tcp 10.1.0.[1-2]@o2ib; o2ib 10.0.0.[3-4]@tcp; gni 7@gni9; tcp3 10.0.0.3@tcp"
TEST_IN(routes_for_all_machines, .settings = {{"networks", "tcp(eth0)"}, {"routes", FOR_ALL}})
{
    struct lnet_ioctl_config_data config = {.cfg_hdr.ioc_len = sizeof(config)};
    const char *const gateways[] = {"10.0.0.3@tcp", "10.0.0.4@tcp", "10.0.0.3@tcp"};
    unsigned i;

    for (i = 0; i < 3; i++) {
        config.cfg_count = i;
        assert_int_equal(LNetCtl(IOC_LIBCFS_GET_ROUTE, &config), 0);
        assert_int_equal(config.cfg_net, libcfs_str2net(i < 2 ? "o2ib" : "tcp3"));
        assert_int_equal(config.cfg_nid, libcfs_str2nid(gateways[i]));
    }
    config.cfg_count = 3;
    assert_int_equal(LNetCtl(IOC_LIBCFS_GET_ROUTE, &config), -ENOENT);
}

/* What may be a mistake is said; a route to a network of the node itself is none. */
static void skipped_routes_are_warnings(void **state)
{
    const struct lnet_setting settings[] = {
        {"networks", "tcp(eth1)"},
        {"routes", "tcp 10.1.0.1@o2ib; o2ib 10.0.0.3@tcp7; gni 10.0.0.3@tcp"}};
    struct lnet_node_config config = {.name = "n",
                                      .number = 3,
                                      .interfaces = ports,
                                      .interface_count = 3,
                                      .settings = settings,
                                      .setting_count = 2};
    struct sim_options options = {.seed = 1};
    char *error = NULL;
    struct lnet_node *node;

    (void)state;
    sim_init(&options);
    lnet_sim_register_drivers();
    lnet_sim_register_findings();
    node = lnet_node_create(&config, &error);
    assert_non_null(node);
    warned[0] = '\0';
    sim_finding_for_each(add_warning, NULL);
    assert_string_equal(warned, "routes: o2ib by 10.0.0.3@tcp7 is skipped: the node has no "
                                "interface on the network of the gateway|");
    lnet_node_destroy(node);
    sim_fini();
}

static void comments_and_separators(void **state)
{
    (void)state;
    assert_string_equal(
        meaning("routes",
                "# the storage network\n o2ib 10.0.0.1@tcp # by one\r\n"
                "\tgni 2 10.0.0.2@tcp:4 10.0.0.3@tcp;# end; ",
                NULL, NULL),
        "tcp; o2ib -1 10.0.0.1@tcp:0; gni 2 10.0.0.2@tcp:4; gni 2 10.0.0.3@tcp:0; ");
    assert_string_equal(meaning("routes", "o2ib 10.0.0.1@tcp\rgni 10.0.0.2@tcp", NULL, NULL),
                        "tcp; o2ib -1 10.0.0.1@tcp:0; gni -1 10.0.0.2@tcp:0; ");
    assert_string_equal(meaning("ip2nets",
                                "# all machines\ntcp(eth1) 10.0.0.*; # ethernet; \r"
                                "#o2ib 10.1.0.*\n tcp1(eth0) 192.168.[0-3].* # more",
                                NULL, NULL),
                        "tcp(eth1),tcp1(eth0); ");
    assert_string_equal(meaning("routes", "o2ib # 10.0.0.1@tcp", NULL, NULL),
                        "error: routes: \"o2ib \": it needs a network and a gateway");
}

static void lists_in_routes(void **state)
{
    static const struct {
        const char *routes, *means;
    } cases[] = {
        {"[o2ib0,gni1] 10.0.0.1@tcp", "tcp; o2ib -1 10.0.0.1@tcp:0; gni1 -1 10.0.0.1@tcp:0; "},
        {"gni 10.0.0.1@[tcp,o2ib]", "tcp; gni -1 10.0.0.1@tcp:0; gni -1 10.0.0.1@o2ib:0; "},
        {"gni 10.0.0.[1,3-4,7]@tcp:2", "tcp; gni -1 10.0.0.1@tcp:2; gni -1 10.0.0.3@tcp:2; "
                                       "gni -1 10.0.0.4@tcp:2; gni -1 10.0.0.7@tcp:2; "},
        {"o2ib[1-5/2] 10.0.0.1@tcp",
         "tcp; o2ib1 -1 10.0.0.1@tcp:0; o2ib3 -1 10.0.0.1@tcp:0; o2ib5 -1 10.0.0.1@tcp:0; "},
        {"[o2ib,gni][1-2] 10.0.0.1@tcp",
         "tcp; o2ib1 -1 10.0.0.1@tcp:0; o2ib2 -1 10.0.0.1@tcp:0; gni1 -1 10.0.0.1@tcp:0; "
         "gni2 -1 10.0.0.1@tcp:0; "},
    };
    static const char *const bad[] = {"o2ib[1-4/2] 10.0.0.1@tcp", "o2ib[] 10.0.0.1@tcp",
                                      "o2ib[1,] 10.0.0.1@tcp",    "o2ib[1 10.0.0.1@tcp",
                                      "o2ib[2-1] 10.0.0.1@tcp",   "o2ib[1-2/0] 10.0.0.1@tcp",
                                      "o2ib[1-2x] 10.0.0.1@tcp",  "o2ib[0-9999] 10.0.0.1@tcp"};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(meaning("routes", cases[i].routes, NULL, NULL), cases[i].means);
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_memory_equal(meaning("routes", bad[i], NULL, NULL), "error: routes: ", 15);
}

/* ---- ip2nets --------------------------------------------------------------------------------- */

static void rules_of_ip2nets(void **state)
{
    static const struct {
        const char *rules, *means;
    } cases[] = {
        /* The manual's: tcp0 is tcp, so the first rule counts. */
        {"tcp0(eth0) 192.168.0.[2,4,5]; tcp 192.168.0.*; o2ib 132.6.[1-3].[2-8/2]", "tcp(eth0); "},
        {"tcp(eth0),o2ib(ib0) 192.168.0.*", "tcp(eth0),o2ib(ib0); "},
        {"o2ib 10.1.*.*; tcp(eth0),o2ib0(ib0) 192.168.0.*; tcp(eth1) 10.0.0.*", "o2ib,tcp(eth1); "},
        {"elan 132.6.*.*; tcp 9.9.9.9 10.0.0.5", "tcp; "}, /* unknown, and of other machines */
        {"tcp(eth0,eth1) *.*.*.*", "tcp(eth0,eth1); "},
        {"tcp 10.0.0.300", "error: ip2nets: \"10.0.0.300\" is no pattern of addresses"},
        {"tcp 10.0.0.5 nonsense", "error: ip2nets: \"nonsense\" is no pattern of addresses"},
        {"tcp,elan 10.0.0.5", "error: ip2nets: \"tcp,elan\": not a network"},
        {"tcp(eth0 10.0.0.5", "error: ip2nets: \"tcp(eth0\": not a network"},
        {"tcp 10.0.0.6; ;tcp", "error: ip2nets: no rule matches an address of the node"},
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(meaning("ip2nets", cases[i].rules, NULL, NULL), cases[i].means);
}

/* ---- networks -------------------------------------------------------------------------------- */

static void texts_of_networks(void **state)
{
    static const struct {
        const char *networks, *means;
    } cases[] = {
        {"tcp(eth0), o2ib(ib0)", "tcp(eth0),o2ib(ib0); "},
        {"tcp o2ib", "tcp; "}, /* the manual's for a router; the kernel skips the second word */
        {"tcp(eth0) o2ib(ib0)", "tcp(eth0); "},
        {" tcp1 (eth0 , eth1) [0,1] , lo,\to2ib [0]", "tcp1(eth0,eth1),o2ib; "},
        {"tcp(eth0),tcp0(eth1)", "tcp(eth0,eth1); "},
        {"tcp(eth0", "error: networks: brackets do not match: \"tcp(eth0\""},
        {"tcp)", "error: networks: brackets do not match: \"tcp)\""},
        {"tcp(eth0)(eth1)", "error: networks: \"(eth1)\" does not belong there"},
        {"tcp:eth0", "error: networks: \":eth0\" does not belong there"},
        {"tcpx", "error: networks: \"tcpx\" is not a network"},
        {"tcp,,o2ib", "error: networks: \"\" is not a network"},
        {"tcp()", "tcp; "},
        {"tcp, ", "tcp; "},
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(meaning("networks", cases[i].networks, NULL, NULL), cases[i].means);
}

TEST_IN(skipped_words_are_a_warning, .nodes = 4,
        .own = {{{"accept", "all"}},
                {{"accept", "all"}},
                {{"accept", "all"}},
                {{"networks", "tcp o2ib"}}})
{
    warned[0] = '\0';
    sim_finding_for_each(add_warning, NULL);
    assert_string_equal(warned,
                        "networks: words behind tcp are skipped: commas separate networks|");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(routes_for_all_machines),
        cmocka_unit_test(skipped_routes_are_warnings),
        cmocka_unit_test(comments_and_separators),
        cmocka_unit_test(lists_in_routes),
        cmocka_unit_test(rules_of_ip2nets),
        cmocka_unit_test(texts_of_networks),
        cmocka_unit_test(skipped_words_are_a_warning),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
