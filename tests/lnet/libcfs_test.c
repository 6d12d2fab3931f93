/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What libcfs has for each node: handlers of ioctls, parameters, counters, assertions that stop
 * only their node. */
#include "world.h"

#include <libcfs/libcfs_debug.h>
#include <libcfs/libcfs_ioctl.h>
#include <lnet/lib-lnet.h>
#include <lnet/lnetst.h>

static char memory[8192], data[8192];

/* ---- ioctls ---------------------------------------------------------------------------------- */

static unsigned asked[2];

static int answers_pings(unsigned int cmd, struct libcfs_ioctl_hdr *hdr)
{
    struct libcfs_ioctl_data *ioc = container_of(hdr, struct libcfs_ioctl_data, ioc_hdr);

    asked[0]++;
    if (cmd != IOC_LIBCFS_LNETST || ioc->ioc_u32[0] != LSTIO_SESSION_INFO)
        return -EINVAL;
    ((struct lstio_session_info_args *)ioc->ioc_pbuf1)->lstio_ses_nmlen = 7;
    return 0;
}
static int answers_tests(unsigned int cmd, struct libcfs_ioctl_hdr *hdr)
{
    (void)hdr;
    asked[1]++;
    return cmd == IOC_LIBCFS_LNETST ? -ESRCH : -EINVAL;
}
static DECLARE_IOCTL_HANDLER(pings, answers_pings);
static DECLARE_IOCTL_HANDLER(tests, answers_tests);

TEST(lnet_99_handlers_of_ioctls)
{
    struct lstio_session_info_args arguments = {.lstio_ses_nmlen = 0};
    struct libcfs_ioctl_data ioc;
    char mark[] = "a mark";

    on(A);
    assert_int_equal(libcfs_deregister_ioctl(&pings), -ENOENT);
    assert_int_equal(libcfs_register_ioctl(&pings), 0);
    assert_int_equal(libcfs_register_ioctl(&pings), -EBUSY);
    assert_int_equal(libcfs_register_ioctl(&tests), 0);
    on(B);
    assert_int_equal(libcfs_register_ioctl(&tests), 0); /* each node has its own */
    assert_int_equal(libcfs_deregister_ioctl(&tests), 0);

    LIBCFS_IOC_INIT(ioc);
    ioc.ioc_u32[0] = LSTIO_SESSION_INFO;
    ioc.ioc_pbuf1 = &arguments;
    ioc.ioc_plen1 = sizeof(arguments);
    assert_int_equal(libcfs_ioctl(IOC_LIBCFS_LNETST, &ioc.ioc_hdr), -EINVAL);
    on(A);
    assert_int_equal(libcfs_ioctl(IOC_LIBCFS_LNETST, &ioc.ioc_hdr), 0);
    assert_int_equal(arguments.lstio_ses_nmlen, 7);
    ioc.ioc_u32[0] = LSTIO_GROUP_ADD;
    assert_int_equal(libcfs_ioctl(IOC_LIBCFS_LNETST, &ioc.ioc_hdr), -ESRCH);
    assert_int_equal(asked[0], 2);
    assert_int_equal(asked[1], 1);
    LIBCFS_IOC_INIT(ioc);
    ioc.ioc_count = 1;
    assert_int_equal(libcfs_ioctl(IOC_LIBCFS_GET_NI, &ioc.ioc_hdr), 0); /* LNet's own */
    assert_int_equal(ioc.ioc_nid, tcp(A));
    assert_int_equal(asked[1], 2);

    ioc.ioc_hdr.ioc_version = 5;
    assert_int_equal(libcfs_ioctl(IOC_LIBCFS_GET_NI, &ioc.ioc_hdr), -EINVAL);
    LIBCFS_IOC_INIT_V2(ioc, ioc_hdr);
    assert_int_equal(ioc.ioc_hdr.ioc_version, LIBCFS_IOCTL_VERSION2);
    ioc.ioc_hdr.ioc_len = 4;
    assert_int_equal(libcfs_ioctl(IOC_LIBCFS_GET_NI, &ioc.ioc_hdr), -EINVAL);
    LIBCFS_IOC_INIT(ioc);
    assert_int_equal(libcfs_ioctl(IOC_LIBCFS_MARK_DEBUG, &ioc.ioc_hdr), -EINVAL);
    ioc.ioc_inlbuf1 = mark;
    ioc.ioc_inllen1 = sizeof(mark);
    assert_int_equal(libcfs_ioctl(IOC_LIBCFS_MARK_DEBUG, &ioc.ioc_hdr), 0);
    assert_int_equal(libcfs_ioctl(IOC_LIBCFS_CLEAR_DEBUG, &ioc.ioc_hdr), 0);
    assert_int_equal(libcfs_deregister_ioctl(&pings), 0);
    assert_int_equal(libcfs_ioctl(IOC_LIBCFS_DISCOVER, &ioc.ioc_hdr), -EINVAL);
    assert_int_equal(asked[0], 3);
}

/* ---- parameters, counters -------------------------------------------------------------------- */

TEST_IN(lnet_99_parameters_of_libcfs_on_a_node, .nodes = 2,
        .own = {{{"libcfs.libcfs_debug", "net trace"},
                 {"libcfs.libcfs_subsystem_debug", "lnet"},
                 {"libcfs.cfs_fail_loc", "0x505"}}})
{
    struct lnet_setting wrong = {"libcfs.libcfs_debug", "nonsense"};
    struct lnet_node_config config = {.name = "n", .settings = &wrong, .setting_count = 1};
    char *error = NULL;

    on(A);
    assert_int_equal(libcfs_debug, D_NET | D_TRACE);
    assert_int_equal(libcfs_subsystem_debug, S_LNET);
    assert_int_equal(libcfs_node()->fail_loc, 0x505);
    assert_true(cfs_cdebug_show(D_NET, S_LNET) && !cfs_cdebug_show(D_NET, S_LND));
    assert_true(cfs_cdebug_show(D_ERROR, S_LND));
    libcfs_debug = 0;
    on(B);
    assert_true((libcfs_debug & (D_ERROR | D_HA | D_NETERROR)) == (D_ERROR | D_HA | D_NETERROR));
    assert_int_equal(libcfs_node()->fail_loc, 0);
    assert_null(lnet_node_create(&config, &error));
    assert_string_equal(error, "libcfs.libcfs_debug: nonsense: there is no such parameter, or it "
                               "has no such value");
    free(error);
}

static struct lnet_counters_common in_callback;
static void counts(struct lnet_event *event)
{
    if (event->type == LNET_EVENT_PUT)
        lnet_counters_get_common(&in_callback);
}

TEST(lnet_99_counters_of_a_node_are_read_and_reset)
{
    struct lnet_handle_eq eq;
    struct lnet_handle_md md;
    struct lnet_md described = md_of(memory, 1000, 9, LNET_MD_OP_PUT);
    struct lnet_counters all;

    on(B);
    assert_int_equal(LNetEQAlloc(0, counts, &eq), 0);
    described.eq_handle = eq;
    md = attach(entry(7, 0), described);
    (void)md;
    on(A);
    put(B, 7, data, 100);
    pass(SIM_MS);
    lnet_counters_get(&all);
    assert_int_equal(all.lct_common.lcc_send_count, 1);
    assert_int_equal(all.lct_common.lcc_send_length, 100);
    lnet_counters_reset();
    lnet_counters_get(&all);
    assert_int_equal(all.lct_common.lcc_send_count, 0);
    put(B, 7, data, 50);
    pass(SIM_MS);
    lnet_counters_get(&all);
    assert_int_equal(all.lct_common.lcc_send_count, 1);
    assert_int_equal(all.lct_common.lcc_send_length, 50);
    /* Of node B, though the test is on A, and without the message whose event it is. */
    assert_int_equal(in_callback.lcc_recv_count, 1);
    assert_int_equal(in_callback.lcc_send_count, 0);
    assert_int_equal(counters(A).lct_common.lcc_send_count, 2); /* those of the run go on */
}

/* ---- assertions ------------------------------------------------------------------------------ */

static unsigned entered, left;
static void asserts(struct lnet_event *event)
{
    entered++;
    LASSERTF(event->type == LNET_EVENT_ACK, "type %d\n", event->type);
    left++;
}

static void post_asserting(uint64_t bits)
{
    struct lnet_md described = md_of(memory, 1000, 9, LNET_MD_OP_PUT);

    assert_int_equal(LNetEQAlloc(0, asserts, &described.eq_handle), 0);
    (void)attach(entry(bits, 0), described);
}

TEST_IN(lnet_99_an_assertion_in_a_callback_stops_its_node, .nodes = 3, .unbalanced = true)
{
    entered = left = 0;
    on(B);
    post_asserting(7);
    on(C);
    post(7, memory, 1000, 9, LNET_MD_OP_PUT);
    on(A);
    put(B, 7, data, 100);
    pass(SIM_MS);
    assert_int_equal(entered, 1);
    assert_int_equal(left, 0);
    assert_non_null(panic_of(B));
    assert_non_null(strstr(panic_of(B), "libcfs_test.c:"));
    assert_non_null(strstr(panic_of(B), "asserts(): ASSERTION( event->type == LNET_EVENT_ACK ) "
                                        "failed: type 2"));
    assert_true(lnet_node_panic_of_program(lnet_of(B)));
    assert_null(panic_of(A));
    put(B, 7, data, 100); /* nobody takes it */
    put(C, 7, data, 100);
    pass(SIM_MS);
    assert_int_equal(entered, 1);
    assert_int_equal(count_of(C, LNET_EVENT_PUT), 1);
}

static int fiber_node(void)
{
    return sim_fiber_self() != NULL && strcmp(sim_fiber_name(sim_fiber_self()), "other") == 0 ? B
                                                                                              : -1;
}

static bool returned;
static void unlinks(void *arg)
{
    struct lnet_md described = {
        .start = memory, .length = 1000, .threshold = 9, .options = LNET_MD_OP_PUT};
    struct lnet_handle_md md;

    (void)arg;
    assert_int_equal(LNetEQAlloc(0, asserts, &described.eq_handle), 0);
    md = attach(entry(9, 0), described);
    LNetMDUnlink(md); /* its event comes from within */
    returned = true;
}

TEST_IN(lnet_99_an_assertion_in_a_callback_that_a_call_makes, .nodes = 2, .unbalanced = true)
{
    entered = left = 0;
    returned = false;
    on(A);
    world_fiber_node = fiber_node;
    sim_fiber_start(unlinks, NULL, "other", sim_now());
    pass(SIM_MS);
    world_fiber_node = NULL;
    assert_int_equal(entered, 1);
    assert_true(left == 0 && !returned);
    assert_non_null(panic_of(B));
    assert_non_null(strstr(panic_of(B), "failed: type 6"));
    post(8, memory, 1000, 9, LNET_MD_OP_PUT);
    put(A, 8, data, 10);
    pass(SIM_MS);
    assert_int_equal(count_of(A, LNET_EVENT_PUT), 1);
}

int main(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(lnet_99_handlers_of_ioctls),
        cmocka_unit_test(lnet_99_parameters_of_libcfs_on_a_node),
        cmocka_unit_test(lnet_99_counters_of_a_node_are_read_and_reset),
        cmocka_unit_test(lnet_99_an_assertion_in_a_callback_stops_its_node),
        cmocka_unit_test(lnet_99_an_assertion_in_a_callback_that_a_call_makes),
    };

    return cmocka_run_group_tests(all, NULL, NULL);
}
