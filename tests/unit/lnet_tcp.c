/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* socklnd over simulated TCP: connections, the choice between them, order, head-of-line blocking.
 */
#include "lnet_tcp.h"

#define out message_out
#define in message_in
static uint8_t more[MIB];

static void fill(uint8_t *memory, uint32_t length, uint32_t seed)
{
    uint32_t i;

    for (i = 0; i < length; i++)
        memory[i] = (uint8_t)(i * 31 + (i >> 8) * 17 + seed);
}

/* ---- data -------------------------------------------------------------------------------------
 */

static const uint32_t sizes[] = {0, 1, 8, 927, 928, 4096, 4097, 65536, 100001, MIB};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static void data_target(void *argument)
{
    struct lnet_handle_eq eq;
    struct lnet_event event;
    uint32_t i;

    (void)argument;
    assert_int_equal(LNetNIInit(LNET_PID_LUSTRE), 0);
    eq = eq_make();
    target_make(eq, PORTAL, 1, in, MIB, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE);
    target_make(eq, PORTAL, 2, out, MIB, LNET_MD_OP_GET | LNET_MD_MANAGE_REMOTE);
    for (i = 0; i < 2 * SIZES; i++) {
        expect(eq, i % 2 == 0 ? LNET_EVENT_PUT : LNET_EVENT_GET, 0, &event);
        assert_int_equal(event.mlength, sizes[i / 2]);
        assert_int_equal(event.initiator.nid, nid_of(0));
        assert_int_equal(event.sender, nid_of(0));
    }
    sleep_for(SIM_S);
    assert_int_equal(LNetNIFini(), 0);
}

static void data_source(void *argument)
{
    struct lnet_handle_eq eq;
    struct lnet_event event;
    uint32_t i, kinds;

    (void)argument;
    sleep_for(SIM_MS);
    assert_int_equal(LNetNIInit(LNET_PID_LUSTRE), 0);
    eq = eq_make();
    for (i = 0; i < SIZES; i++) {
        struct lnet_handle_md md;

        memset(in, 0, sizeof(in));
        put(eq, 1, PORTAL, 1, out, sizes[i], LNET_ACK_REQ);
        for (kinds = 0; kinds != (1u << LNET_EVENT_SEND | 1u << LNET_EVENT_ACK);) {
            assert_true(event_wait(eq, &event, 10000));
            assert_int_equal(event.status, 0);
            kinds |= 1u << event.type;
        }
        assert_memory_equal(in, out, sizes[i]);

        memset(more, 0, sizeof(more));
        md = source_make(eq, more, sizes[i], 2);
        assert_int_equal(LNetGet(LNET_NID_ANY, md, id_of(1), PORTAL, 2, 0, false), 0);
        for (kinds = 0; kinds != (1u << LNET_EVENT_SEND | 1u << LNET_EVENT_REPLY);) {
            assert_true(event_wait(eq, &event, 10000));
            assert_int_equal(event.status, 0);
            kinds |= 1u << event.type;
        }
        assert_memory_equal(more, out, sizes[i]);
    }
    assert_int_equal(LNetNIFini(), 0);
}

static void data_of_all_sizes(void **state)
{
    (void)state;
    cluster_begin();
    fill(out, MIB, 3);
    node_make(0, NULL, NULL);
    node_make(1, NULL, NULL);
    run_on(1, data_target, NULL, 0);
    run_on(0, data_source, NULL, 0);
    run_all();
    cluster_end();
}

/* The same with each version of the protocol, and where both ends differ. */
static void data_of_all_versions(void **state)
{
    static const char *const versions[] = {"1", "2", "3"};
    uint32_t a, b;

    (void)state;
    for (a = 0; a < 3; a++)
        for (b = 0; b < 3; b++) {
            cluster_begin();
            fill(out, MIB, a);
            node_make(0, "ksocklnd.protocol", versions[a]);
            node_make(1, "ksocklnd.protocol", versions[b]);
            run_on(1, data_target, NULL, 0);
            run_on(0, data_source, NULL, 0);
            run_all();
            cluster_end();
        }
}

static void data_with(const char *name, const char *value, const char *name2, const char *value2)
{
    cluster_begin();
    set_all(name, value);
    if (name2 != NULL)
        set_all(name2, value2);
    fill(out, MIB, 9);
    node_make(0, NULL, NULL);
    node_make(1, NULL, NULL);
    run_on(1, data_target, NULL, 0);
    run_on(0, data_source, NULL, 0);
    run_all();
    cluster_end();
}

static void data_with_options(void **state)
{
    (void)state;
    data_with("ksocklnd.zero_copy", "1", NULL, NULL);
    data_with("ksocklnd.zero_copy", "1", "ksocklnd.protocol", "2");
    data_with("ksocklnd.enable_csum", "1", "ksocklnd.protocol", "2");
    data_with("ksocklnd.typed_conns", "0", "ksocklnd.protocol", "2");
}

/* ---- item 73 ----------------------------------------------------------------------------------
 */

static void idle_target(void *argument)
{
    struct lnet_handle_eq eq;
    struct lnet_event event;
    uint32_t *messages = argument, i;

    assert_int_equal(LNetNIInit(LNET_PID_LUSTRE), 0);
    eq = eq_make();
    target_make(eq, PORTAL, 1, in, MIB, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE);
    for (i = 0; i < *messages; i++)
        expect(eq, LNET_EVENT_PUT, 0, &event);
    sleep_for(SIM_S);
    assert_int_equal(LNetNIFini(), 0);
}

static void choosing_source(void *argument)
{
    struct lnet_handle_eq eq;
    struct lnet_event event;
    uint64_t control, bulk;

    (void)argument;
    sleep_for(SIM_MS);
    assert_int_equal(LNetNIInit(LNET_PID_LUSTRE), 0);
    eq = eq_make();
    /* The first message goes with the first connection, whatever its size. */
    put(eq, 1, PORTAL, 1, out, 100000, LNET_NOACK_REQ);
    expect(eq, LNET_EVENT_SEND, 0, &event);
    sleep_for(10 * SIM_MS);
    assert_int_equal(conn_count(0, 1), 3);
    assert_int_equal(conn_of(0, 1, LNET_SOCK_CONTROL)->messages_sent, 1);
    assert_int_equal(conn_of(0, 1, LNET_SOCK_BULK_OUT)->messages_sent, 0);
    assert_true(conn_of(0, 1, LNET_SOCK_BULK_IN)->active);
    assert_int_equal(conn_of(1, 0, LNET_SOCK_BULK_IN)->messages_received, 0);

    control = conn_of(0, 1, LNET_SOCK_CONTROL)->messages_sent;
    bulk = conn_of(0, 1, LNET_SOCK_BULK_OUT)->messages_sent;
    put(eq, 1, PORTAL, 1, out, 927, LNET_NOACK_REQ);
    expect(eq, LNET_EVENT_SEND, 0, &event);
    assert_int_equal(conn_of(0, 1, LNET_SOCK_CONTROL)->messages_sent, control + 1);
    assert_int_equal(conn_of(0, 1, LNET_SOCK_BULK_OUT)->messages_sent, bulk);
    put(eq, 1, PORTAL, 1, out, 928, LNET_NOACK_REQ);
    expect(eq, LNET_EVENT_SEND, 0, &event);
    assert_int_equal(conn_of(0, 1, LNET_SOCK_CONTROL)->messages_sent, control + 1);
    assert_int_equal(conn_of(0, 1, LNET_SOCK_BULK_OUT)->messages_sent, bulk + 1);
    assert_int_equal(conn_of(0, 1, LNET_SOCK_BULK_IN)->messages_sent, 0);
    sleep_for(10 * SIM_MS);
    /* The target sees the initiator's bulk-out connection as its bulk-in one. */
    assert_int_equal(conn_of(1, 0, LNET_SOCK_BULK_IN)->messages_received, 1);
    assert_int_equal(conn_of(1, 0, LNET_SOCK_CONTROL)->messages_received, 2);
    assert_int_equal(LNetNIFini(), 0);
}

static void lnet_73_small_and_bulk_connections(void **state)
{
    uint32_t messages = 3;

    (void)state;
    cluster_begin();
    node_make(0, NULL, NULL);
    node_make(1, NULL, NULL);
    run_on(1, idle_target, &messages, 0);
    run_on(0, choosing_source, NULL, 0);
    run_all();
    cluster_end();
}

/* ---- item 98 ----------------------------------------------------------------------------------
 */

struct racer {
    uint32_t self, other;
    uint64_t bits;
};

static void racing(void *argument)
{
    const struct racer *racer = argument;
    struct lnet_handle_eq eq;
    struct lnet_event event;
    uint32_t kinds = 0;
    int type;

    assert_int_equal(LNetNIInit(LNET_PID_LUSTRE), 0);
    eq = eq_make();
    target_make(eq, PORTAL, 1, racer->self < racer->other ? in : more, MIB,
                LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE);
    sim_sleep_until(SIM_MS);
    put(eq, racer->other, PORTAL, 1, out, 8, LNET_NOACK_REQ);
    while (kinds != (1u << LNET_EVENT_SEND | 1u << LNET_EVENT_PUT)) {
        assert_true(event_wait(eq, &event, 100000));
        assert_int_equal(event.status, 0);
        kinds |= 1u << event.type;
    }
    sim_sleep_until(SECONDS(5));
    assert_int_equal(conn_count(racer->self, racer->other), 3);
    for (type = LNET_SOCK_CONTROL; type <= LNET_SOCK_BULK_OUT; type++) {
        struct lnet_sock_conn *conn = conn_of(racer->self, racer->other, type);

        assert_non_null(conn);
        assert_int_equal(conn->active, racer->self > racer->other);
    }
    assert_false(peer_of(racer->self, racer->other)->connecting);
    sim_sleep_until(SECONDS(6));
    assert_int_equal(LNetNIFini(), 0);
}

static void lnet_98_race_leaves_connections_of_higher_nid(void **state)
{
    static struct racer low = {2, 5, 0}, high = {5, 2, 0};
    int order;

    (void)state;
    for (order = 0; order < 2; order++) {
        cluster_begin();
        node_make(2, NULL, NULL);
        node_make(5, NULL, NULL);
        run_on(order == 0 ? 2 : 5, racing, order == 0 ? &low : &high, 0);
        run_on(order == 0 ? 5 : 2, racing, order == 0 ? &high : &low, 0);
        run_all();
        cluster_end();
    }
}

/* ---- item 78 ----------------------------------------------------------------------------------
 */

#define ORDERED 400

static void ordered_target(void *argument)
{
    struct lnet_handle_eq eq;
    struct lnet_event event;
    uint64_t next[2] = {0, 0};
    uint32_t i;

    (void)argument;
    assert_int_equal(LNetNIInit(LNET_PID_LUSTRE), 0);
    assert_int_equal(LNetEQAlloc(1024, LNET_EQ_HANDLER_NONE, &eq), 0);
    target_make(eq, PORTAL, 1, in, MIB, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE);
    for (i = 0; i < ORDERED; i++) {
        uint32_t bulk;

        expect(eq, LNET_EVENT_PUT, 0, &event);
        bulk = event.mlength >= 928;
        assert_int_equal(event.hdr_data, next[bulk]++);
    }
    sleep_for(SIM_S);
    assert_int_equal(LNetNIFini(), 0);
}

static void ordered_source(void *argument)
{
    struct lnet_handle_eq eq;
    struct lnet_event event;
    uint64_t next[2] = {0, 0};
    uint32_t i;

    (void)argument;
    sleep_for(SIM_MS);
    assert_int_equal(LNetNIInit(LNET_PID_LUSTRE), 0);
    assert_int_equal(LNetEQAlloc(1024, LNET_EQ_HANDLER_NONE, &eq), 0);
    put(eq, 1, PORTAL, 7, out, 0, LNET_NOACK_REQ); /* makes the connections; matches nothing */
    expect(eq, LNET_EVENT_SEND, 0, &event);
    sleep_for(10 * SIM_MS);
    for (i = 0; i < ORDERED; i++) {
        uint32_t bulk = i % 3 == 0, length = bulk ? 2000 + 997 * (i % 50) : i % 900;
        struct lnet_handle_md md = source_make(eq, out, length, 1);

        assert_int_equal(
            LNetPut(LNET_NID_ANY, md, LNET_NOACK_REQ, id_of(1), PORTAL, 1, 0, next[bulk]++), 0);
    }
    for (i = 0; i < ORDERED; i++)
        expect(eq, LNET_EVENT_SEND, 0, &event);
    sleep_for(SIM_S);
    assert_int_equal(LNetNIFini(), 0);
}

static void lnet_78_order_within_a_class(void **state)
{
    (void)state;
    cluster_begin();
    node_make(0, NULL, NULL);
    node_make(1, NULL, NULL);
    run_on(1, ordered_target, NULL, 0);
    run_on(0, ordered_source, NULL, 0);
    run_all();
    cluster_end();
}

/* ---- item 68 ----------------------------------------------------------------------------------
 */

static void lazy_target(void *argument)
{
    struct lnet_handle_eq eq;
    struct lnet_event event;

    (void)argument;
    assert_int_equal(LNetNIInit(LNET_PID_LUSTRE), 0);
    eq = eq_make();
    target_make(eq, PORTAL, 1, in, MIB, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE);
    assert_int_equal(LNetSetLazyPortal(PORTAL + 1), 0);
    expect(eq, LNET_EVENT_PUT, 0, &event); /* before the delayed one */
    assert_int_equal(event.hdr_data, 0);
    expect(eq, LNET_EVENT_PUT, 0, &event); /* of the bulk connection, which is not blocked */
    assert_int_equal(event.hdr_data, 3);
    assert_false(event_wait(eq, &event, 2000));
    target_make(eq, PORTAL + 1, 1, more, MIB, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE);
    expect(eq, LNET_EVENT_PUT, 0, &event);
    assert_int_equal(event.hdr_data, 1);
    expect(eq, LNET_EVENT_PUT, 0, &event); /* was behind it */
    assert_int_equal(event.hdr_data, 2);
    sleep_for(SIM_S);
    assert_int_equal(LNetNIFini(), 0);
}

static void lazy_source(void *argument)
{
    static const struct {
        uint32_t portal, length;
    } messages[] = {{PORTAL, 8}, {PORTAL + 1, 8}, {PORTAL, 8}, {PORTAL, 5000}};
    struct lnet_handle_eq eq;
    struct lnet_event event;
    uint32_t i;

    (void)argument;
    sleep_for(SIM_MS);
    assert_int_equal(LNetNIInit(LNET_PID_LUSTRE), 0);
    eq = eq_make();
    for (i = 0; i < 4; i++) {
        struct lnet_handle_md md = source_make(eq, out, messages[i].length, 1);

        assert_int_equal(
            LNetPut(LNET_NID_ANY, md, LNET_NOACK_REQ, id_of(1), messages[i].portal, 1, 0, i), 0);
        expect(eq, LNET_EVENT_SEND, 0, &event);
        sleep_for(10 * SIM_MS);
    }
    sleep_for(SECONDS(4));
    assert_int_equal(LNetNIFini(), 0);
}

static void lnet_68_delayed_put_blocks_its_connection(void **state)
{
    (void)state;
    cluster_begin();
    node_make(0, NULL, NULL);
    node_make(1, NULL, NULL);
    run_on(1, lazy_target, NULL, 0);
    run_on(0, lazy_source, NULL, 0);
    run_all();
    cluster_end();
}

/* ---- items 69 to 71, for socklnd
 * ------------------------------------------------------------------ */

static void empty_target(void *argument)
{
    assert_int_equal(LNetNIInit(LNET_PID_LUSTRE), 0);
    sim_sleep_until(*(sim_time_t *)argument);
    assert_int_equal(LNetNIFini(), 0);
}

static void unmatched_source(void *argument)
{
    struct lnet_handle_eq eq;
    struct lnet_event event;
    struct lnet_handle_md md;
    sim_time_t start;

    (void)argument;
    sleep_for(SIM_MS);
    assert_int_equal(LNetNIInit(LNET_PID_LUSTRE), 0);
    eq = eq_make();
    put(eq, 1, PORTAL, 1, out, 8, LNET_NOACK_REQ);
    expect(eq, LNET_EVENT_SEND, 0, &event);
    put(eq, 1, PORTAL, 1, out, 100000, LNET_NOACK_REQ);
    expect(eq, LNET_EVENT_SEND, 0, &event);
    md = source_make(eq, more, 100000, 2);
    start = sim_local_time();
    assert_int_equal(LNetGet(LNET_NID_ANY, md, id_of(1), PORTAL, 1, 0, false), 0);
    expect(eq, LNET_EVENT_SEND, 0, &event);
    expect(eq, LNET_EVENT_UNLINK, 0, &event);
    assert_in_range(sim_local_time() - start, SECONDS(50), SECONDS(75));
    assert_int_equal(LNetNIFini(), 0);
}

static void lnet_69_lnet_70_unmatched_put_and_get(void **state)
{
    static sim_time_t end = 100 * SIM_S;

    (void)state;
    cluster_begin();
    node_make(0, NULL, NULL);
    node_make(1, NULL, NULL);
    run_on(1, empty_target, &end, 0);
    run_on(0, unmatched_source, NULL, 0);
    run_all();
    cluster_end();
}

/* ---- keepalive --------------------------------------------------------------------------------
 */

static void keepalive_source(void *argument)
{
    struct lnet_handle_eq eq;
    struct lnet_event event;

    (void)argument;
    sleep_for(SIM_MS);
    assert_int_equal(LNetNIInit(LNET_PID_LUSTRE), 0);
    eq = eq_make();
    put(eq, 1, PORTAL, 1, out, 8, LNET_NOACK_REQ);
    expect(eq, LNET_EVENT_SEND, 0, &event);
    sim_sleep_until(SECONDS(25));
    assert_int_equal(conn_of(0, 1, LNET_SOCK_CONTROL)->messages_sent, 1);
    sim_sleep_until(SECONDS(35));
    /* The PUT, and a NOOP of one end, which the other one takes for a sign of life. */
    assert_int_equal(conn_of(0, 1, LNET_SOCK_CONTROL)->messages_sent +
                         conn_of(1, 0, LNET_SOCK_CONTROL)->messages_sent,
                     2);
    assert_int_equal(conn_count(0, 1), 3);
    sim_sleep_until(SECONDS(300));
    assert_int_equal(conn_count(0, 1), 3);
    assert_in_range(conn_of(0, 1, LNET_SOCK_CONTROL)->messages_sent +
                        conn_of(1, 0, LNET_SOCK_CONTROL)->messages_sent,
                    8, 11);
    assert_int_equal(LNetNIFini(), 0);
}

static void keepalive_after_30_seconds(void **state)
{
    static sim_time_t end = 310 * SIM_S;

    (void)state;
    cluster_begin();
    node_make(0, NULL, NULL);
    node_make(1, NULL, NULL);
    run_on(1, empty_target, &end, 0);
    run_on(0, keepalive_source, NULL, 0);
    run_all();
    cluster_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_of_all_sizes),
        cmocka_unit_test(data_of_all_versions),
        cmocka_unit_test(data_with_options),
        cmocka_unit_test(lnet_73_small_and_bulk_connections),
        cmocka_unit_test(lnet_98_race_leaves_connections_of_higher_nid),
        cmocka_unit_test(lnet_78_order_within_a_class),
        cmocka_unit_test(lnet_68_delayed_put_blocks_its_connection),
        cmocka_unit_test(lnet_69_lnet_70_unmatched_put_and_get),
        cmocka_unit_test(keepalive_after_30_seconds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
