/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Queue pairs over a simulated switch: connecting, order, what is lost and sent again, writes of
 * memory. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "engine/fault.h"
#include "lnd/o2ib/verbs.h"
#include "net/net.h"

#define NODES 4u
#define MESSAGES 64u
#define BYTES (300u << 10) /* of a write: five chunks */

static struct net *net;
static struct lnet_hca *hca[NODES];

/* One end of a connection, as its owner sees it. */
struct end {
    struct lnet_qp *qp;
    int connected; /* 1: not yet */
    char answer[16];
    uint32_t received[MESSAGES], received_count;
    int completions[MESSAGES];
    struct lnet_work *completed[MESSAGES];
    uint32_t completed_count;
    int disconnected; /* 1: not yet */
    sim_time_t ended;
};

static struct end passive;
static bool rejects, speaks_first;
static uint32_t first_word = 7;
static struct lnet_work first_work;
static uint32_t requests;

static void on_connected(void *owner, int status, const void *private_data, uint32_t bytes)
{
    struct end *end = owner;

    end->connected = status;
    end->ended = sim_now();
    if (bytes != 0)
        memcpy(end->answer, private_data, bytes);
}

static void on_received(void *owner, const void *message, uint32_t bytes)
{
    struct end *end = owner;

    assert_int_equal(bytes, 4);
    assert_int_equal(end->connected, 0); /* nothing comes to an end that is not connected */
    assert_true(end->received_count < MESSAGES);
    memcpy(&end->received[end->received_count++], message, 4);
}

static void on_completed(void *owner, struct lnet_work *work, int status)
{
    struct end *end = owner;

    assert_true(end->completed_count < MESSAGES);
    end->completed[end->completed_count] = work;
    end->completions[end->completed_count++] = status;
}

static void on_disconnected(void *owner, int status)
{
    struct end *end = owner;

    end->disconnected = status;
    end->ended = sim_now();
}

static const struct lnet_qp_handler handler = {on_connected, on_received, on_completed,
                                               on_disconnected};

static void on_requested(void *owner, const struct lnet_cm_request *request)
{
    (void)owner;
    requests++;
    assert_int_equal(request->bytes, 6);
    assert_memory_equal(request->private_data, "hello", 6);
    if (rejects)
        lnet_cm_reject(request, "no", 3);
    else
        passive.qp = lnet_cm_accept(request, "welcome", 8, &handler, &passive);
    if (speaks_first) {
        first_work = (struct lnet_work){.kind = LNET_WORK_SEND, .message = &first_word, .bytes = 4};
        lnet_qp_post(passive.qp, &first_work);
    }
}

static const struct lnet_hca_parameters parameters = {
    .latency = 900 * SIM_NS,
    .ack_timeout = 10 * SIM_MS,
    .retry_count = 3,
    .cm_timeout = 100 * SIM_MS,
    .cm_retries = 4,
};

static int set_up(void **state)
{
    struct net_config config;
    char *error = NULL;
    uint32_t i;

    (void)state;
    sim_init(&(struct sim_options){.seed = 1});
    net_config_default(&config);
    config.topology = NET_SWITCHED;
    config.switched =
        (struct net_switched_config){"single-switch", NODES, 0, 6442, 200 * SIM_NS, 100 * SIM_NS};
    net = net_create(&config, &error);
    assert_non_null(net);
    for (i = 0; i < NODES; i++) {
        hca[i] = lnet_hca_create(net, i, 0x0a000001 + i, &parameters, on_requested, NULL);
        assert_non_null(hca[i]);
    }
    memset(&passive, 0, sizeof(passive));
    passive.disconnected = 1;
    rejects = speaks_first = false;
    requests = 0;
    return 0;
}

static int tear_down(void **state)
{
    uint32_t i;

    (void)state;
    for (i = 0; i < NODES; i++)
        if (hca[i] != NULL)
            lnet_hca_destroy(hca[i]);
    sim_run();
    lnet_verbs_end();
    net_destroy(net);
    sim_fini();
    return 0;
}

static void begin(struct end *end, uint32_t from, uint32_t to)
{
    memset(end, 0, sizeof(*end));
    end->connected = end->disconnected = 1;
    end->qp = lnet_qp_connect(hca[from], to, "hello", 6, &handler, end);
}

static void add_fault(enum sim_fault_action action, uint64_t skip, uint64_t count,
                      double probability)
{
    struct sim_fault_rule rule = {.action = action,
                                  .until = SIM_NEVER,
                                  .probability = probability,
                                  .skip = skip,
                                  .count_max = count,
                                  .source = SIM_FAULT_ANY,
                                  .target = SIM_FAULT_ANY,
                                  .between = {SIM_FAULT_ANY, SIM_FAULT_ANY},
                                  .kind = SIM_FAULT_ANY,
                                  .delay = 50 * SIM_US};
    struct sim_fault_point *point = sim_fault_point_find("net.packet");

    assert_non_null(point);
    sim_fault_rule_add(point, &rule);
}

/* ---- connecting ------------------------------------------------------------------------------ */

static void both_ends_get_the_private_data(void **state)
{
    struct end end;
    uint32_t endpoint = 9;

    (void)state;
    assert_true(lnet_hca_resolve(hca[0], 0x0a000003, &endpoint));
    assert_int_equal(endpoint, 2);
    assert_false(lnet_hca_resolve(hca[0], 0x0a0000ff, &endpoint));
    assert_null(lnet_hca_create(net, 1, 0x0a000063, &parameters, on_requested,
                                NULL)); /* the endpoint is taken */
    begin(&end, 0, 2);
    sim_run();
    assert_int_equal(end.connected, 0);
    assert_string_equal(end.answer, "welcome");
    assert_int_equal(requests, 1);
    assert_non_null(passive.qp);
}

static void a_rejection_comes_with_its_reason(void **state)
{
    struct end end;

    (void)state;
    rejects = true;
    begin(&end, 0, 2);
    sim_run();
    assert_int_equal(end.connected, -ECONNREFUSED);
    assert_string_equal(end.answer, "no");
    lnet_qp_destroy(end.qp);
}

static void a_lost_request_and_a_lost_reply_are_repeated(void **state)
{
    struct end end;

    (void)state;
    add_fault(SIM_FAULT_DROP, 0, 1, 1.0); /* the request */
    add_fault(SIM_FAULT_DROP, 1, 1, 1.0); /* the reply to the second one */
    begin(&end, 0, 2);
    sim_run();
    assert_int_equal(end.connected, 0);
    assert_int_equal(requests, 1); /* the third request found the connection */
    assert_true(end.ended > 2 * parameters.cm_timeout && end.ended < 3 * parameters.cm_timeout);
}

/* The passive side may speak first. When its reply is lost, what follows must not reach the active
 * side, which knows of no connection; the reply comes again with the first repetition. */
static void what_follows_a_lost_reply_waits_for_the_next_one(void **state)
{
    struct end end;

    (void)state;
    speaks_first = true;
    add_fault(SIM_FAULT_DROP, 1, 1, 1.0); /* the reply */
    begin(&end, 0, 2);
    sim_run();
    assert_int_equal(end.connected, 0);
    assert_true(end.ended > parameters.ack_timeout && end.ended < 2 * parameters.ack_timeout);
    assert_int_equal(end.received_count, 1);
    assert_int_equal(end.received[0], 7);
    assert_int_equal(passive.completed_count, 1);
    assert_int_equal(passive.completions[0], 0);
    assert_int_equal(passive.disconnected, 1);
    assert_int_equal(requests, 1);
}

static void nobody_answers(void **state)
{
    struct end end;

    (void)state;
    lnet_hca_destroy(hca[2]);
    hca[2] = NULL;
    begin(&end, 0, 2);
    sim_run();
    assert_int_equal(end.connected, -ETIMEDOUT);
    assert_true(end.ended == (parameters.cm_retries + 1) * parameters.cm_timeout);
    lnet_qp_destroy(end.qp);
}

/* ---- works ----------------------------------------------------------------------------------- */

static void post_numbers(struct end *end, struct lnet_work *works, uint32_t *numbers)
{
    uint32_t i;

    for (i = 0; i < MESSAGES; i++) {
        numbers[i] = i;
        works[i] = (struct lnet_work){.kind = LNET_WORK_SEND, .message = &numbers[i], .bytes = 4};
        lnet_qp_post(end->qp, &works[i]);
    }
}

static void expect_numbers(const struct end *end, const struct lnet_work *works)
{
    uint32_t i;

    assert_int_equal(passive.received_count, MESSAGES);
    assert_int_equal(end->completed_count, MESSAGES);
    for (i = 0; i < MESSAGES; i++) {
        assert_int_equal(passive.received[i], i);
        assert_int_equal(end->completions[i], 0);
        assert_ptr_equal(end->completed[i], &works[i]);
    }
}

/* Works that are posted before the connection stands wait for it. */
static void messages_arrive_once_and_in_order(void **state)
{
    struct lnet_work works[MESSAGES];
    uint32_t numbers[MESSAGES];
    struct end end;

    (void)state;
    begin(&end, 0, 2);
    post_numbers(&end, works, numbers);
    sim_run();
    expect_numbers(&end, works);
}

static void losses_delays_and_duplicates_change_nothing(void **state)
{
    struct lnet_work works[MESSAGES];
    uint32_t numbers[MESSAGES];
    struct end end;
    enum sim_fault_action action;

    (void)state;
    begin(&end, 0, 2);
    sim_run();
    for (action = SIM_FAULT_DROP; action <= SIM_FAULT_CORRUPT; action++)
        add_fault(action, 0, 12, 0.2);
    post_numbers(&end, works, numbers);
    sim_run();
    expect_numbers(&end, works);
}

static void a_dead_path_fails_the_queue_pair(void **state)
{
    struct lnet_work works[MESSAGES];
    uint32_t numbers[MESSAGES], i;
    struct end end;
    sim_time_t began;

    (void)state;
    begin(&end, 0, 2);
    sim_run();
    began = sim_now();
    add_fault(SIM_FAULT_DROP, 0, 0, 1.0);
    post_numbers(&end, works, numbers);
    sim_run();
    assert_int_equal(passive.received_count, 0);
    assert_int_equal(end.completed_count, MESSAGES);
    for (i = 0; i < MESSAGES; i++)
        assert_int_equal(end.completions[i], -ETIMEDOUT);
    assert_int_equal(end.disconnected, -ETIMEDOUT);
    /* The first attempt and `retry_count` repetitions. */
    assert_true(end.ended - began >= (parameters.retry_count + 1) * parameters.ack_timeout);
    assert_true(end.ended - began < (parameters.retry_count + 2) * parameters.ack_timeout);
    lnet_qp_destroy(end.qp);
}

static void destroying_one_end_reaches_the_other(void **state)
{
    struct end end;

    (void)state;
    begin(&end, 0, 2);
    sim_run();
    lnet_qp_destroy(end.qp);
    sim_run();
    assert_int_equal(passive.disconnected, -ECONNRESET);
    lnet_qp_destroy(passive.qp);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static uint8_t source_bytes[BYTES], target_bytes[BYTES];

static void write_once(struct end *end, uint32_t key, uint32_t offset, uint32_t length)
{
    static const struct kvec from = {source_bytes, BYTES};
    static const struct lnet_fragments fragments = {1, BYTES, &from};
    static struct lnet_work work;

    work = (struct lnet_work){.kind = LNET_WORK_WRITE,
                              .source = &fragments,
                              .source_offset = 7,
                              .bytes = length,
                              .key = key,
                              .target_offset = offset};
    lnet_qp_post(end->qp, &work);
    sim_run();
}

static void a_write_reaches_exactly_the_registered_bytes(void **state)
{
    struct kvec pieces[2] = {{target_bytes, 1000}, {target_bytes + 4096, BYTES - 4096}};
    struct lnet_fragments memory = {2, BYTES - 4096 + 1000, pieces};
    uint32_t length = memory.length - 10, key, i;
    struct end end;

    (void)state;
    for (i = 0; i < BYTES; i++)
        source_bytes[i] = (uint8_t)(i * 31 + i / 251);
    memset(target_bytes, 0xee, BYTES);
    begin(&end, 0, 2);
    key = lnet_hca_register(hca[2], &memory, 10, length);
    assert_int_not_equal(key, 0);
    add_fault(SIM_FAULT_DROP, 2, 2,
              1.0); /* chunks in the middle, after the connection's two messages */
    write_once(&end, key, 0, length - 7);
    assert_int_equal(end.completed_count, 1);
    assert_int_equal(end.completions[0], 0);
    for (i = 0; i < 10; i++)
        assert_int_equal(target_bytes[i], 0xee);
    assert_memory_equal(target_bytes + 10, source_bytes + 7, 990);
    for (i = 1000; i < 4096; i++)
        assert_int_equal(target_bytes[i], 0xee);
    assert_memory_equal(target_bytes + 4096, source_bytes + 7 + 990, length - 7 - 990);
    for (i = BYTES - 7; i < BYTES; i++)
        assert_int_equal(target_bytes[i], 0xee);
    lnet_hca_release(hca[2], key);
}

static void refused_write(uint32_t excess, bool released)
{
    struct kvec piece = {target_bytes, 4096};
    struct lnet_fragments memory = {1, 4096, &piece};
    struct end end;
    uint32_t key;

    memset(target_bytes, 0xee, BYTES);
    begin(&end, 0, 2);
    key = lnet_hca_register(hca[2], &memory, 0, 100);
    if (released)
        lnet_hca_release(hca[2], key);
    write_once(&end, key, 1, 99 + excess);
    assert_int_equal(end.completed_count, 1);
    assert_int_equal(end.completions[0], -EFAULT);
    assert_int_equal(end.disconnected, -EFAULT);
    assert_int_equal(target_bytes[0], 0xee);
    assert_int_equal(target_bytes[1], 0xee);
    lnet_qp_destroy(end.qp);
    lnet_qp_destroy(passive.qp);
}

static void a_write_beyond_the_end_or_after_the_release_is_refused(void **state)
{
    (void)state;
    refused_write(1, false);
    refused_write(0, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(both_ends_get_the_private_data),
        TEST(a_rejection_comes_with_its_reason),
        TEST(a_lost_request_and_a_lost_reply_are_repeated),
        TEST(what_follows_a_lost_reply_waits_for_the_next_one),
        TEST(nobody_answers),
        TEST(messages_arrive_once_and_in_order),
        TEST(losses_delays_and_duplicates_change_nothing),
        TEST(a_dead_path_fails_the_queue_pair),
        TEST(destroying_one_end_reaches_the_other),
        TEST(a_write_reaches_exactly_the_registered_bytes),
        TEST(a_write_beyond_the_end_or_after_the_release_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
