/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Files of lnetctl of several releases: which settings of a node they mean. */
#include "world.h"

#include <unistd.h>
#include "engine/finding.h"
#include "lnet/export.h"

static const struct lnet_interface ports[] = {
    {.name = "eth0", .lnd_type = SOCKLND, .address = 0xc0a80005}, /* 192.168.0.5 */
    {.name = "eth1", .lnd_type = SOCKLND, .address = 0x0a000005}, /* 10.0.0.5 */
    {.name = "ib0", .lnd_type = O2IBLND, .address = 0x0a010005}, /* 10.1.0.5 */
};

/* The settings of a file on that host, as "name=value|"; or its error. */
static const char *read_on(const char *file, bool live)
{
    static char text[8192];
    struct lnet_export_host host = {
        .tcp_only = live, .interfaces = ports, .interface_count = live ? 2 : 3};
    char path[] = "/tmp/lnet_export_XXXXXX", *error = NULL, *part;
    struct lnet_settings config = {0};
    int out = mkstemp(path);
    uint32_t i;

    assert_true(out >= 0);
    assert_int_equal(write(out, file, strlen(file)), strlen(file));
    close(out);
    text[0] = '\0';
    if (!lnet_export_read(&config, path, &host, &error))
        strcpy(text, error + strlen(path));
    free(error);
    for (i = 0; text[0] != ':' && i < config.count; i++) {
        part = strstr(config.settings[i].value, path); /* of a warning: not the name */
        strcat(strcat(text, config.settings[i].name), "=");
        strcat(strcat(text, part != NULL ? part + strlen(path) : config.settings[i].value), "|");
    }
    lnet_settings_free(&config);
    unlink(path);
    return text;
}
#define READ(file) read_on(file, false)

/* Lustre 2.7 to 2.9: the network itself has NID, interfaces and tunables. */
static void networks_without_nis(void **state)
{
    static const char file[] = "net:\n"
                               "    - net: lo\n"
                               "      nid: 0@lo\n"
                               "      status: up\n"
                               "    - net: tcp1\n"
                               "      nid: 10.0.0.5@tcp1\n"
                               "      status: up\n"
                               "      interfaces:\n"
                               "          0: eth1\n"
                               "      tunables:\n"
                               "          peer_timeout: 90\n"
                               "          peer_credits: 12\n"
                               "          peer_buffer_credits: 0\n"
                               "          credits: 128\n";

    (void)state;
    assert_string_equal(READ(file),
                        "ksocklnd.peer_timeout=90|ksocklnd.peer_credits=12|"
                        "ksocklnd.peer_buffer_credits=0|ksocklnd.credits=128|networks=tcp1(eth1)|");
    assert_non_null(strstr(read_on(file, true), "|networks=tcp1(10.0.0.5)|"));
    assert_non_null(strstr(read_on("net:\n  - net: tcp\n    nid: 10.0.0.5@o2ib\n", true),
                           ":2: \"10.0.0.5@o2ib\" is no NID of tcp"));
}

/* Lustre 2.10 and 2.11: tunables beside the NIs. */
static void tunables_of_all_nis(void **state)
{
    (void)state;
    assert_string_equal(READ("net:\n"
                             "    - net type: o2ib\n"
                             "      local NI(s):\n"
                             "        - interfaces:\n"
                             "              0: ib0[0,1]\n"
                             "      tunables:\n"
                             "          peer_credits: 16\n"
                             "      lnd tunables:\n"
                             "          peercredits_hiw: 8\n"
                             "          map_on_demand: 0\n"
                             "          concurrent_sends: 24\n"
                             "          fmr_pool_size: 512\n"),
                        "ko2iblnd.peer_credits=16|ko2iblnd.peer_credits_hiw=8|"
                        "ko2iblnd.concurrent_sends=24|networks=o2ib(ib0[0,1])|");
}

static void interfaces_become_nis(void **state)
{
    (void)state;
    assert_string_equal(READ("net:\n"
                             "  - net type: tcp\n"
                             "    local NI(s):\n"
                             "      - interfaces: {0: eth0, 1: eth1}\n"
                             "      - interfaces: {0: ens3}\n"),
                        "networks=tcp(eth0),tcp(eth1),tcp|");
}

static void defaults_and_empty_sections(void **state)
{
    (void)state;
    assert_string_equal(READ("net:\n"
                             "  - net type: tcp\n"
                             "    tunables: {peer_timeout: -1, peer_credits: -1, credits: 64}\n"
                             "    local NI(s):\n"
                             "route:\n"
                             "peer: ~\n"
                             "buffers:\n"
                             "global: {retry_count: -1, numa_range: 3}\n"),
                        "ksocklnd.credits=64|lnet_numa_range=3|");
    assert_string_equal(
        READ("route:\n"
             "  - {net: o2ib, gateway: 10.0.0.1@tcp, hop: 4294967295, priority: 0}\n"
             "  - {net: gni, gateway: 10.0.0.1@tcp, hop: 2, priority: 3}\n"),
        "routes=o2ib 10.0.0.1@tcp; gni 2 10.0.0.1@tcp:3|");
    assert_string_equal(READ("global: {retry_count: -2}\n"),
                        ":1: \"-2\": a number is needed, or -1 for the default");
    assert_string_equal(READ("global: {retry_count: 99999999999}\n"),
                        ":1: \"99999999999\": a number is needed, or -1 for the default");
}

static void sections_of_other_releases(void **state)
{
    (void)state;
    assert_string_equal(READ("discovery: 1\n"
                             "numa:\n"
                             "    range: 2\n"
                             "max_interfaces:\n"
                             "    max_interfaces: 300\n"
                             "health:\n"
                             "    sensitivity: 9\n"
                             "global: {retry_count: 1}\n"),
                        "lnet_peer_discovery_disabled=0|lnet_numa_range=2|lnet_interfaces_max=300|"
                        "lnet.warning=:6: \"health\" is skipped: lnetctl has no such section|"
                        "lnet_retry_count=1|");
}

static void several_documents(void **state)
{
    (void)state;
    assert_string_equal(READ("---\nnet:\n  - net type: tcp\n...\n---\nnet:\n"
                             "  - net type: o2ib\n---\nglobal: {retry_count: 1}\n"),
                        "lnet_retry_count=1|networks=tcp,o2ib|");
    assert_string_equal(READ("global: {retry_count: 1}\n---\nroute: [\n"),
                        ":4: did not find expected node content");
    assert_string_equal(READ("# nothing\n"), ": the file is empty");
}

/* The manual's example, and what becomes of it on this host. */
static void networks_by_address(void **state)
{
    static const char choice[] = "ip2nets:\n"
                                 "  - net-spec: tcp1\n"
                                 "    interfaces: {0: eth0, 1: eth1}\n"
                                 "    ip-range: {0: 192.168.0.*, 1: '10.0.[0-3].[1-9/2]'}\n"
                                 "  - net-spec: tcp2\n"
                                 "    interfaces: {0: eth0, 1: eth1}\n"
                                 "    ip-range: {0: 192.168.0.*}\n"
                                 "  - net-spec: o2ib\n"
                                 "    ip-range: {0: 10.9.*.*, 1: 10.1.*.*}\n"
                                 "    tunables: {credits: 512}\n"
                                 "  - net-spec: o2ib3\n"
                                 "    ip-range: {0: 10.2.*.*}\n"
                                 "    tunables: {credits: 99}\n"
                                 "  - net-spec: tcp4\n"
                                 "    interfaces: {0: eth9}\n"
                                 "  - net-spec: tcp3\n"
                                 "  - net-spec: tcp3\n"
                                 "    interfaces: {0: eth0}\n";

    (void)state;
    assert_string_equal(READ(choice), "ko2iblnd.credits=512|networks=tcp1(eth0),tcp1(eth1),"
                                      "o2ib(ib0),tcp3(eth0)|");
    assert_string_equal(read_on("ip2nets:\n  - {net-spec: tcp, ip-range: {0: 10.0.0.*}}\n", true),
                        "networks=tcp(eth1)|");
    assert_string_equal(READ("ip2nets:\n  - {net-spec: tcp, ip-range: {0: 1.*.*.*}}\n"),
                        ": ip2nets: no rule matches an address of the node");
    assert_string_equal(READ("ip2nets:\n  - {net-spec: tcp, ip-range: {0: here}}\n"),
                        ":2: \"ip-range\": a pattern of addresses is needed");
    assert_string_equal(READ("ip2nets:\n  - {ip-range: {0: 10.0.0.*}}\n"),
                        ":2: \"net-spec\" names no network");
}

/* ---- texts of parameters --------------------------------------------------------------------- */

static const char *options(const char *text)
{
    static char result[4096];
    struct lnet_settings config = {0};
    char *error = NULL;
    uint32_t i;

    result[0] = '\0';
    if (!lnet_options_read(&config, text, &error))
        snprintf(result, sizeof(result), "error: %s", error);
    free(error);
    for (i = 0; result[0] != 'e' && i < config.count; i++)
        sprintf(result + strlen(result), "%s=%s|", config.settings[i].name,
                config.settings[i].value);
    lnet_settings_free(&config);
    return result;
}

static void texts_of_parameters(void **state)
{
    static const struct {
        const char *text, *means;
    } cases[] = {
        {"networks=tcp(eth0, eth1) accept_port=9988\n ksocklnd.credits=64",
         "networks=tcp(eth0, eth1)|accept_port=9988|ksocklnd.credits=64|"},
        {"routes='tcp1 10.0.0.1@tcp' \"ip2nets=tcp *.*.*.*\"",
         "routes=tcp1 10.0.0.1@tcp|ip2nets=tcp *.*.*.*|"},
        /* Files of modprobe, as in the manual. */
        {"# LNet\noptions lnet networks=\"tcp0(eth0)\" routes=\"gni 7@tcp\"\n"
         "options ksocklnd credits=64 # behind\n"
         "options  lnet_selftest brw_inject_errors=1\n"
         "alias lustre llite a=b\nsoftdep x post: y\n install lnet /bin/true x=y\naccept=all\n",
         "lnet.networks=tcp0(eth0)|lnet.routes=gni 7@tcp|ksocklnd.credits=64|"
         "lnet_selftest.brw_inject_errors=1|accept=all|"},
        {"options lnet 'ip2nets=\"tcp0 192.168.0.*; gni 1.2.3.4\"' 'routes=\"tcp [2,10]@gni\"'",
         "lnet.ip2nets=tcp0 192.168.0.*; gni 1.2.3.4|lnet.routes=tcp [2,10]@gni|"},
        {"options lnet ip2nets=\"tcp 10.0.*.*; \\\n o2ib 10.1.*.*\" \\\r\n accept=none\r\n",
         "lnet.ip2nets=tcp 10.0.*.*;  o2ib 10.1.*.*|lnet.accept=none|"},
        {"options ko2iblnd-opa credits=7\noptions", "ko2iblnd_opa.credits=7|"},
        {"", ""},
        {"networks", "error: \"networks\": name=value is needed"},
        {"=tcp", "error: \"=tcp\": name=value is needed"},
        {"options lnet networks", "error: \"networks\": name=value is needed"},
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(options(cases[i].text), cases[i].means);
}

static void known_parameters(void **state)
{
    static const char *const known[] = {
        "networks",         "lnet.config_on_load", "use_tcp_bonding",        "lnet_retry_count",
        "ksocklnd.credits", "ksocklnd.nscheds",    "ko2iblnd.fmr_pool_size", "ptlrpc.whatever"};
    static const char *const unknown[] = {"network",       "lnet.alive_router_check_interval",
                                          "ksocklnd.cred", "ko2iblnd.edits",
                                          "lnet.",         "networks ip2nets"};
    size_t i;

    (void)state;
    lnet_sim_register_drivers();
    for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        assert_true(lnet_param_known(known[i]));
    for (i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
        assert_false(lnet_param_known(unknown[i]));
}

/* ---- peers ----------------------------------------------------------------------------------- */

static void peers_of_a_file(void **state)
{
    (void)state;
    assert_string_equal(READ("peer:\n"
                             "    - primary nid: 10.0.0.2@tcp\n"
                             "      Multi-Rail: True\n"
                             "      peer ni:\n"
                             "        - nid: 10.0.0.2@tcp\n"
                             "          state: NA\n"
                             "        - nid: 10.1.0.2@o2ib\n"
                             "    - primary nid: 10.0.0.3@tcp\n"
                             "      Multi-Rail: False\n"),
                        "lnet.peer=multi-rail 10.0.0.2@tcp 10.0.0.2@tcp 10.1.0.2@o2ib|"
                        "lnet.peer=single 10.0.0.3@tcp|");
    assert_string_equal(READ("peer:\n  - primary nid: nobody\n"), ":2: a peer needs NIDs");
    assert_string_equal(READ("peer:\n  - Multi-Rail: True\n"),
                        ":2: a peer needs a \"primary nid\"");
}

#define PEERS                                                                                    \
    {"networks", "tcp(eth0),o2ib(ib0)"}, {"lnet.peer", "multi-rail 10.0.0.2@tcp 10.1.0.2@o2ib"}, \
    {                                                                                            \
        "lnet.peer", "single 10.0.0.3@tcp"                                                       \
    }

/* Without discovery a node knows the NIDs of such a peer, and uses them by turns. */
TEST_IN(configured_peers_are_multi_rail, .settings = {PEERS})
{
    char memory[8] = "";
    unsigned i;

    assert_int_equal(LNetGetPeerDiscoveryStatus(), 0);
    assert_int_equal(LNetPrimaryNID(o2ib(B)), tcp(B));
    assert_true(peer_of(A, o2ib(B))->peer == peer_of(A, tcp(B))->peer);
    assert_true(peer_of(A, tcp(B))->peer->multi_rail);
    assert_false(peer_of(A, tcp(C))->peer->multi_rail);
    on(B);
    post(1, memory, 8, LNET_MD_THRESH_INF, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE);
    on(A);
    for (i = 0; i < 8; i++) {
        put(B, 1, memory, 8);
        pass(SIM_MS);
    }
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 8);
    assert_int_equal(peer_of(A, tcp(B))->sent.put + peer_of(A, o2ib(B))->sent.put, 8);
    assert_true(peer_of(A, tcp(B))->sent.put > 0 && peer_of(A, o2ib(B))->sent.put > 0);
    /* An own NID is no peer. */
    on(B);
    assert_int_equal(LNetPrimaryNID(o2ib(B)), o2ib(B));
}

/* Discovery does not change what was configured. */
TEST_IN(discovery_leaves_configured_peers,
        .settings = {{"networks", "tcp(eth0),o2ib(ib0)"}, {"lnet_peer_discovery_disabled", "0"}},
        .own = {{{"lnet.peer", "single 10.0.0.2@tcp"}}})
{
    char memory[8] = "";

    on(B);
    post(1, memory, 8, LNET_MD_THRESH_INF, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE);
    on(A);
    put(B, 1, memory, 8);
    pass(SIM_S);
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 1);
    assert_int_equal(LNetPrimaryNID(tcp(B)), tcp(B));
    assert_false(peer_of(A, tcp(B))->peer->multi_rail);
    assert_true(list_empty(&peer_of(A, tcp(B))->peer->nis) == 0);
    assert_true(peer_of(A, o2ib(B)) == NULL ||
                peer_of(A, o2ib(B))->peer != peer_of(A, tcp(B))->peer);
}

static void add_warning(const struct sim_finding *finding, void *texts)
{
    if (strcmp(finding->rule->name, "lnet.setting-ignored") == 0)
        strcat(strcat(texts, finding->text), "|");
}

TEST_IN(warnings_of_files_and_peers,
        .own = {{{"lnet.warning", "the file says so"},
                 {"router_sensitivity_percentage", "50"},
                 {"lnet.config_on_load", "1"},
                 {"lnet.peer", "multi-rail 10.0.0.8@tcp 10.0.0.9@tcp"},
                 {"lnet.peer", "multi-rail 10.0.0.9@tcp 10.0.0.7@tcp"}}})
{
    char texts[512] = "";

    sim_finding_for_each(add_warning, texts);
    assert_string_equal(texts, "the file says so|"
                               "router_sensitivity_percentage: there is no such parameter|peer: "
                               "\"multi-rail 10.0.0.9@tcp 10.0.0.7@tcp\": "
                               "error 17: a NID belongs to another peer|");
    assert_int_equal(LNetPrimaryNID(libcfs_str2nid("10.0.0.9@tcp")),
                     libcfs_str2nid("10.0.0.8@tcp"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(networks_without_nis),
        cmocka_unit_test(tunables_of_all_nis),
        cmocka_unit_test(interfaces_become_nis),
        cmocka_unit_test(defaults_and_empty_sections),
        cmocka_unit_test(sections_of_other_releases),
        cmocka_unit_test(several_documents),
        cmocka_unit_test(networks_by_address),
        cmocka_unit_test(texts_of_parameters),
        cmocka_unit_test(known_parameters),
        cmocka_unit_test(peers_of_a_file),
        cmocka_unit_test(configured_peers_are_multi_rail),
        cmocka_unit_test(discovery_leaves_configured_peers),
        cmocka_unit_test(warnings_of_files_and_peers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
