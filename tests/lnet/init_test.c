/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Initialisation, identities, text forms, and what consumers expect of the headers. */
#include "world.h"

#include <malloc.h>
#include "wire.h"
#include "lnet/lnet.h"
#include "lnet/nidstr.h"
#include "lnet/types.h"
#include "lustre/lustre_idl.h"
#include "lustre/lustre_ver.h"
#include "lustre_config.h"
#include "lustre_ver.h"

/* Section 1.2 and 2: what a consumer asserts when it is compiled. */
#ifndef LNET_PID_LUSTRE
#error "LNET_PID_LUSTRE must be a macro"
#endif
#if LUSTRE_VERSION_CODE != OBD_OCD_VERSION(2, 12, 9, 0)
#error "the release is 2.12.9"
#endif
#if defined(PACKAGE) || defined(VERSION)
#error "the configuration header must not define these"
#endif
_Static_assert(LNET_PID_LUSTRE == 12345, "");
_Static_assert(LNET_EVENT_GET == 1 && LNET_EVENT_PUT == 2 && LNET_EVENT_REPLY == 3 &&
                   LNET_EVENT_ACK == 4 && LNET_EVENT_SEND == 5 && LNET_EVENT_UNLINK == 6,
               "");
_Static_assert(LNET_MAX_IOV == 256 && LNET_MAX_PAYLOAD == 1048576 && LNET_NIDSTR_SIZE == 32, "");
_Static_assert(LNET_RESERVED_PORTAL == 0 && LNET_WIRE_HANDLE_COOKIE_NONE == -1, "");
_Static_assert(LNET_ACK_REQ == 0 && LNET_NOACK_REQ == 1 && LNET_INS_LOCAL == 2, "");
_Static_assert(sizeof(struct lnet_process_id) == 16 && sizeof(struct lnet_process_id_packed) == 12,
               "");
_Static_assert(sizeof(struct lnet_md) == 48 && sizeof(lnet_kiov_t) == 16, "");
_Static_assert(sizeof(struct lnet_event) == 168 && offsetof(struct lnet_event, md) == 88 &&
                   offsetof(struct lnet_event, status) == 148 &&
                   offsetof(struct lnet_event, sequence) == 160,
               "");
_Static_assert(sizeof(struct lnet_hdr) == 72, "");
_Static_assert(sizeof(struct lnet_fault_attr) == 96 && sizeof(struct lnet_fault_stat) == 104, "");
_Static_assert(offsetof(lnet_kiov_t, kiov_len) == 8 && offsetof(lnet_kiov_t, kiov_offset) == 12,
               "");

/* The names that Motr makes itself for this release must not be in the headers. */
typedef struct lnet_eq lnet_eq_t;
typedef struct lnet_event lnet_event_t;
typedef struct lnet_handle_eq lnet_handle_eq_t;
typedef struct lnet_handle_md lnet_handle_md_t;
typedef struct lnet_handle_me lnet_handle_me_t;
typedef struct lnet_libhandle lnet_libhandle_t;
typedef struct lnet_libmd lnet_libmd_t;
typedef struct lnet_md lnet_md_t;
typedef struct lnet_me lnet_me_t;
typedef struct lnet_msg lnet_msg_t;
typedef struct lnet_process_id lnet_process_id_t;
typedef enum lnet_event_kind lnet_event_kind_t;
static inline bool LNetHandleIsInvalid(lnet_handle_md_t handle)
{
    return handle.cookie == (__u64)LNET_WIRE_HANDLE_COOKIE_NONE;
}

TEST_IN(lnet_1_references, .not_started = true)
{
    assert_int_equal(LNetNIInit(LNET_PID_LUSTRE), 0);
    assert_int_equal(LNetNIInit(LNET_PID_LUSTRE), 1);
    assert_int_equal(LNetNIInit(777), 2);
    assert_int_equal(LNetNIFini(), 0);
    assert_int_equal(LNetNIFini(), 0);
    assert_true(lnet_node_running(lnet_of(A)));
    assert_int_equal(LNetNIFini(), 0);
    assert_false(lnet_node_running(lnet_of(A)));
    assert_int_equal(LNetNIInit(LNET_PID_LUSTRE), 0);
}

TEST_IN(lnet_2_any_pid, .not_started = true)
{
    assert_int_equal(LNetNIInit(LNET_PID_ANY), -ENETDOWN);
    assert_int_equal(LNetNIInit(LNET_PID_LUSTRE), 0);
}

TEST_IN(lnet_3_ids_in_order, .settings = {{"networks", "tcp(eth0,eth1),o2ib(ib0),gni"}})
{
    const lnet_nid_t nids[] = {LNET_NID_LO_0, tcp(A),
                               LNET_MKNID(LNET_MKNET(SOCKLND, 0), 0x0a020001), o2ib(A), gni(A)};
    struct lnet_process_id id;
    unsigned i;

    for (i = 0; i < 5; i++) {
        assert_int_equal(LNetGetId(i, &id), 0);
        assert_int_equal(id.nid, nids[i]);
        assert_int_equal(id.pid, 12345);
    }
    assert_int_equal(LNetGetId(5, &id), -ENOENT);
}

TEST_IN(lnet_4_distances, .nodes = 3, .settings = {{"networks", "tcp(eth0)"}},
        .own = {{{"routes", "o2ib 10.0.0.3@tcp"}}})
{
    lnet_nid_t source = 0;
    __u32 order = 99;

    assert_int_equal(LNetDist(LNET_NID_LO_0, &source, &order), 0);
    assert_int_equal(order, 0);
    assert_int_equal(LNetDist(tcp(A), &source, &order), 0);
    assert_int_equal(order, 1);
    assert_int_equal(LNetDist(tcp(B), &source, &order), 1);
    assert_int_equal(source, tcp(A));
    assert_int_equal(order, 3); /* 2 + lo */
    source = 0;
    assert_int_equal(LNetDist(o2ib(B), &source, &order), 2);
    assert_int_equal(source, tcp(A));
    source = 7;
    assert_int_equal(LNetDist(gni(B), &source, &order), -EHOSTUNREACH);
    assert_int_equal(source, 7);
    assert_int_equal(LNetDist(tcp(B), NULL, NULL), 1);
}

static void lnet_5_round_trip(void **state)
{
    static const char *const nids[] = {
        "10.0.0.1@tcp", "10.0.0.1@tcp3", "10.0.0.1@o2ib", "255.255.255.254@o2ib1",
        "7@gni",        "1.2.3.4@gip",   "9@ptlf",        "0@lo"};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(nids) / sizeof(nids[0]); i++) {
        lnet_nid_t nid = libcfs_str2nid(nids[i]);

        assert_true(nid != LNET_NID_ANY);
        assert_string_equal(libcfs_nid2str(nid), nids[i]);
        assert_int_equal(libcfs_str2nid(libcfs_nid2str(nid)), nid);
    }
    assert_int_equal(libcfs_str2nid("10.0.0.2@tcp"), 0x000200000a000002ull);
    assert_int_equal(LNET_NID_LO_0, 0x0009000000000000ull);
}

static void lnet_6_bad_nids(void **state)
{
    static const char *const bad[] = {
        "10.0.0.256@tcp", "10.0.0.1@foo",  "10.0.0.1@tcpx", "1.2.3@tcp",
        "0@lo1",          "10.0.0.1 @tcp", "x@gni",         ""};
    size_t i;
    lnet_nid_t nid;

    (void)state;
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(libcfs_str2nid(bad[i]), LNET_NID_ANY);
    assert_int_equal(libcfs_str2nid("10.0.0.1"), libcfs_str2nid("10.0.0.1@tcp"));
    assert_int_equal(libcfs_str2nid("0x10@gni"), libcfs_str2nid("16@gni"));
    assert_int_equal(libcfs_str2nid("anything@lo"), LNET_NID_LO_0);
    assert_int_equal(libcfs_str2net("lo1"), 0xffffffff);
    assert_int_equal(libcfs_str2anynid(&nid, "*"), 1);
    assert_int_equal(nid, LNET_NID_ANY);
    assert_int_equal(libcfs_str2anynid(&nid, "1.2.3@tcp"), 0);
    assert_int_equal(libcfs_str2lnd("o2ib"), O2IBLND);
    assert_int_equal(libcfs_str2lnd("elan"), -ENXIO);
    assert_null(libcfs_lnd2modname(1));
    assert_string_equal(libcfs_lnd2modname(SOCKLND), "ksocklnd");
}

static void lnet_7_nid_texts(void **state)
{
    (void)state;
    assert_string_equal(libcfs_nid2str(LNET_NID_ANY), "<?>");
    assert_string_equal(libcfs_nid2str(LNET_MKNID(LNET_MKNET(3, 2), 0xab)), "ab@<3:2>");
    assert_string_equal(libcfs_net2str(LNET_MKNET(3, 2)), "<3:2>");
    assert_string_equal(libcfs_net2str(libcfs_str2net("o2ib0")), "o2ib");
    assert_string_equal(libcfs_net2str(LNET_MKNET(O2IBLND, 4)), "o2ib4");
    assert_string_equal(libcfs_lnd2str(77), "?77?");
}

static void lnet_8_id_texts(void **state)
{
    lnet_nid_t nid = libcfs_str2nid("10.0.0.1@tcp");

    (void)state;
    assert_string_equal(libcfs_id2str((struct lnet_process_id){nid, 12345}), "12345-10.0.0.1@tcp");
    assert_string_equal(libcfs_id2str((struct lnet_process_id){nid, LNET_PID_USERFLAG | 99}),
                        "U99-10.0.0.1@tcp");
    assert_string_equal(libcfs_id2str((struct lnet_process_id){nid, LNET_PID_ANY}),
                        "LNET_PID_ANY-10.0.0.1@tcp");
}

static int compare(const void *a, const void *b)
{
    char *const *x = a, *const *y = b;

    return (*x > *y) - (*x < *y);
}

static void lnet_9_buffers(void **state)
{
    char *buffer[LNET_NIDSTR_COUNT];
    size_t i;

    (void)state;
    buffer[0] = libcfs_nid2str(libcfs_str2nid("1.2.3.4@tcp"));
    for (i = 1; i < LNET_NIDSTR_COUNT; i++)
        buffer[i] = libcfs_nid2str(LNET_MKNID(LNET_MKNET(GNILND, 0), i));
    assert_string_equal(buffer[0], "1.2.3.4@tcp");
    qsort(buffer, LNET_NIDSTR_COUNT, sizeof(buffer[0]), compare);
    for (i = 1; i < LNET_NIDSTR_COUNT; i++)
        assert_ptr_not_equal(buffer[i - 1], buffer[i]);
}

static void nid_lists(void **state)
{
    char text[] = "10.0.[0,2].[1-9/2]@tcp *@gni [3-5]@gni1", out[128], low[32], high[32];
    char bad[] = "10.0.0.1@tcp *";
    LIST_HEAD(list);

    (void)state;
    assert_int_equal(cfs_parse_nidlist(text, (int)strlen(text), &list), 1);
    assert_true(cfs_match_nid(libcfs_str2nid("10.0.2.3@tcp"), &list));
    assert_false(cfs_match_nid(libcfs_str2nid("10.0.2.4@tcp"), &list));
    assert_false(cfs_match_nid(libcfs_str2nid("10.0.1.3@tcp"), &list));
    assert_false(cfs_match_nid(libcfs_str2nid("10.0.2.3@tcp1"), &list));
    assert_true(cfs_match_nid(libcfs_str2nid("77@gni"), &list));
    assert_true(cfs_match_nid(libcfs_str2nid("4@gni1"), &list));
    assert_false(cfs_match_nid(libcfs_str2nid("6@gni1"), &list));
    assert_int_equal(cfs_print_nidlist(out, sizeof(out), &list), 39);
    assert_string_equal(out, "10.0.[0,2].[1-9/2]@tcp *@gni [3-5]@gni1");
    cfs_free_nidlist(&list);
    assert_int_equal(cfs_parse_nidlist(bad, (int)strlen(bad), &list), 0);
    strcpy(text, "10.0.0.[3-8]@tcp");
    assert_int_equal(cfs_parse_nidlist(text, (int)strlen(text), &list), 1);
    assert_int_equal(cfs_nidrange_find_min_max(&list, low, high, sizeof(low)), 0);
    assert_string_equal(low, "10.0.0.3@tcp");
    assert_string_equal(high, "10.0.0.8@tcp");
    cfs_free_nidlist(&list);
}

/* Settings that cannot work are refused before anything starts, and the text names them. */
static void impossible_settings(void **state)
{
    static const struct {
        struct lnet_setting setting[2];
        const char *says;
    } cases[] = {
        {{{"networks", "tcp(eth0),tcp(eth0)"}}, "two interfaces have the NID 10.0.0.1@tcp"},
        {{{"networks", "foo"}}, "not a network"},
        {{{"networks", "tcp(eth0"}}, "brackets"},
        {{{"networks", "tcp(eth9)"}}, "no interface eth9"},
        {{{"networks", "ptlf"}}, "no driver"},
        {{{"routes", "o2ib 0 10.0.0.3@tcp"}}, "hops are 1 to 255"},
        {{{"routes", "o2ib 256 10.0.0.3@tcp"}}, "hops are 1 to 255"},
        {{{"routes", "o2ib 10.0.0.3@o2ib"}}, "the gateway is on the network"},
        {{{"routes", "o2ib nonsense"}}, "not a gateway"},
        {{{"ksocklnd.credits", "0"}}, "ksocklnd.credits"},
        {{{"lnet_transaction_timeout", "ten"}}, "lnet_transaction_timeout"},
        {{{"networks", "tcp"}, {"ip2nets", "tcp 10.0.0.*"}}, "only one of the two"},
    };
    struct lnet_interface eth0 = {.name = "eth0", .lnd_type = SOCKLND, .address = 0x0a000001};
    struct sim_options options = {.seed = 1};
    size_t i;

    (void)state;
    sim_init(&options);
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct lnet_node_config config = {
            .name = "n",
            .interfaces = &eth0,
            .interface_count = 1,
            .settings = cases[i].setting,
            .setting_count = cases[i].setting[1].name != NULL ? 2 : 1,
        };
        char *error = NULL;

        assert_null(lnet_node_create(&config, &error));
        assert_non_null(error);
        if (strstr(error, cases[i].says) == NULL)
            fail_msg("\"%s\" does not say \"%s\"", error, cases[i].says);
        free(error);
    }
    sim_fini();
}

TEST_IN(ip2nets,
        .settings = {{"ip2nets", "tcp(eth0) 10.0.0.[1-7]; tcp(eth1) 10.*.*.*; gni 9.9.9.9"}})
{
    struct lnet_process_id id;

    assert_int_equal(LNetGetId(1, &id), 0);
    assert_int_equal(id.nid, tcp(A));
}

TEST(handles)
{
    struct lnet_handle_md handle;
    char text[32];

    LNetInvalidateMDHandle(&handle);
    assert_true(LNetMDHandleIsInvalid(handle));
    assert_true(LNetHandleIsInvalid(handle));
    handle.cookie = 0x1234;
    assert_int_equal(LNetSnprintHandle(text, sizeof(text), handle), 6);
    assert_string_equal(text, "0x1234");
    assert_int_equal(LNetSetAsync(anybody, 1), 0);
    assert_true(LNetIsPeerLocal(tcp(A)));
    assert_false(LNetIsPeerLocal(tcp(B)));
    assert_int_equal(LNetPrimaryNID(tcp(B)), tcp(B));
    assert_int_equal(LNetGetPeerDiscoveryStatus(), 0);
}

/* Thousands of nodes fit into a process: LNet of an idle one, ping target and an NI included, takes
 * at most 8 KiB. */
static void idle_nodes_are_small(void **state)
{
    enum { NODES = 500 };
    static struct lnet_node *nodes[NODES];
    struct lnet_interface eth0 = {.name = "eth0", .lnd_type = SOCKLND};
    struct lnet_setting setting = {"networks", "tcp(eth0)"};
    struct lnet_node_config config = {.name = "idle",
                                      .interfaces = &eth0,
                                      .interface_count = 1,
                                      .settings = &setting,
                                      .setting_count = 1};
    struct sim_options options = {.seed = 1};
    size_t before, after;
    char *error = NULL;
    unsigned i;

    (void)state;
    sim_init(&options);
    wire_open();
    before = mallinfo2().uordblks;
    for (i = 0; i < NODES; i++) {
        eth0.address = 0x0a000001 + i;
        config.number = i;
        nodes[i] = lnet_node_create(&config, &error);
        assert_non_null(nodes[i]);
        assert_int_equal(lnet_node_start(nodes[i], LNET_PID_LUSTRE), 0);
    }
    after = mallinfo2().uordblks;
    print_message("an idle node takes %zu bytes\n", (after - before) / NODES);
#if !defined(__SANITIZE_ADDRESS__)
    assert_true(after - before > NODES * sizeof(struct lnet_instance));
    assert_true(after - before <= NODES * 8192ul);
#endif
    for (i = 0; i < NODES; i++)
        lnet_node_destroy(nodes[i]);
    wire_close();
    sim_fini();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lnet_1_references),
        cmocka_unit_test(lnet_2_any_pid),
        cmocka_unit_test(lnet_3_ids_in_order),
        cmocka_unit_test(lnet_4_distances),
        cmocka_unit_test(lnet_5_round_trip),
        cmocka_unit_test(lnet_6_bad_nids),
        cmocka_unit_test(lnet_7_nid_texts),
        cmocka_unit_test(lnet_8_id_texts),
        cmocka_unit_test(lnet_9_buffers),
        cmocka_unit_test(nid_lists),
        cmocka_unit_test(impossible_settings),
        cmocka_unit_test(ip2nets),
        cmocka_unit_test(handles),
        cmocka_unit_test(idle_nodes_are_small),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
