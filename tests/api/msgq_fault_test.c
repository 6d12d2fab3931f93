/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared message queues under faults, and calls in any order. */
#include "msgq_frame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* ---- faults ---------------------------------------------------------------------------------- */

static void add_fault(enum sim_fault_action action, uint32_t kind, uint64_t count,
                      double probability)
{
    struct sim_fault_rule rule = packet_rule(action, kind);

    rule.count_max = count;
    rule.probability = probability;
    packet_rule_add(&rule);
}

static void lose_some(struct machine *machine)
{
    add_fault(SIM_FAULT_DROP, 0, 0, 0.01);
    add_fault(SIM_FAULT_DROP, 1, 0, 0.01);
}

static void ugni_120_losses_are_hidden(void **state)
{
    machine_run(&(struct machine){
        .ranks = 8, .ranks_per_node = 2, .prepare = lose_some, .main = all_to_all_main});
}

static void poison_some(struct machine *machine)
{
    add_fault(SIM_FAULT_CORRUPT, 0, 0, 0.01);
}

static void ugni_120_poison_is_hidden(void **state)
{
    machine_run(&(struct machine){
        .ranks = 8, .ranks_per_node = 2, .prepare = poison_some, .main = all_to_all_main});
}

/* After the last retry the message is lost, and its connection is broken. */
static void broken_main(struct rank *rank)
{
    gni_cq_entry_t entry;
    gni_return_t rc;
    struct instance me;
    uint32_t value;

    start(&me, rank);
    assert_ok(GNI_SmsgSetMaxRetrans(me.domain.nic, 2));
    machine_barrier(rank);
    if (rank->id == 0) {
        add_fault(SIM_FAULT_DROP, 0, 0, 1);
        assert_ok(try_send(&me, 2));
        entry = next_event(me.domain.source, &rc);
        assert_rc(rc, GNI_RC_TRANSACTION_ERROR);
        assert_int_equal(GNI_CQ_GET_TYPE(entry), GNI_CQ_EVENT_TYPE_MSGQ);
        assert_int_equal(GNI_CQ_GET_MSG_ID(entry), 0);
        assert_true(GNI_CQ_GET_STATUS(entry) != 0);
        assert_ok(GNI_CqErrorRecoverable(entry, &value));
        assert_int_equal(value, 1);
        assert_ok(GNI_GetNicStat(me.domain.nic, GNI_STAT_SMSG_RETRANS_COUNT, &value));
        assert_int_equal(value, 2);
        assert_rc(try_send(&me, 2), GNI_RC_INVALID_STATE);
    }
    machine_barrier(rank);
    if (rank->id == 1)
        assert_rc(try_send(&me, 2), GNI_RC_INVALID_STATE); /* shared by the node */
    stop(&me);
}

static void ugni_120_retries_end(void **state)
{
    machine_run(&(struct machine){.ranks = 4, .ranks_per_node = 2, .main = broken_main});
}

/* The peer's registration is gone: an error that no repetition helps. */
static void gone_main(struct rank *rank)
{
    gni_cq_entry_t entry;
    gni_return_t rc;
    struct instance me;

    start(&me, rank);
    if (rank->id == 1)
        domain_close(&me.domain);
    machine_barrier(rank);
    if (rank->id == 1) {
        machine_barrier(rank); /* it is still there */
        return;
    }
    assert_ok(try_send(&me, 1));
    entry = next_event(me.domain.source, &rc);
    machine_barrier(rank);
    assert_rc(rc, GNI_RC_TRANSACTION_ERROR);
    assert_int_equal(GNI_CQ_GET_STATUS(entry), A_STATUS_AT_MDD_INV);
    assert_int_equal(GNI_CQ_GET_TYPE(entry), GNI_CQ_EVENT_TYPE_MSGQ);
    assert_rc(try_send(&me, 1), GNI_RC_INVALID_STATE);
    assert_ok(GNI_MsgqConnRelease(me.queue, pe_of(rank, 1)));
    assert_ok(GNI_MsgqRelease(me.queue));
    domain_close(&me.domain);
}

static void ugni_120_peer_is_gone(void **state)
{
    machine_run(&(struct machine){.main = gone_main});
}

/* A node dies: senders get an error in bounded time, and other nodes continue. */
static void dead_main(struct rank *rank)
{
    gni_return_t rc = GNI_RC_SUCCESS;
    struct instance me;

    start(&me, rank);
    assert_ok(GNI_SmsgSetMaxRetrans(me.domain.nic, 1));
    machine_barrier(rank);
    if (rank->id == 0)
        aries_node_crash(rank->machine->fabric, rank->machine->rank[2].node);
    if (rank->id == 2)
        for (;;)
            GNI_MsgqProgress(me.queue, 0);
    sim_spend(SIM_US);
    assert_ok(try_send(&me, 2));
    next_event(me.domain.source, &rc);
    assert_rc(rc, GNI_RC_TRANSACTION_ERROR);
    assert_ok(try_send(&me, !rank->id));
    good_event(me.domain.source);
    while (me.total < 1)
        assert_ok(GNI_MsgqProgress(me.queue, 0));
}

static void ugni_120_ugni_92_dead_node(void **state)
{
    machine_run(&(struct machine){.ranks = 3, .unbalanced = true, .main = dead_main});
}

/* A domain is destroyed with sends in flight, a stalled peer and a waiting one. */
static void destroyed_main(struct rank *rank)
{
    struct instance me;
    uint32_t i;

    start(&me, rank);
    if (rank->id == 0) {
        for (i = 0; i < 8; i++)
            assert_ok(try_send(&me, 2));
        domain_close(&me.domain);
        return;
    }
    if (rank->id == 1) /* no credit until the receiver has taken some */
        sim_spend(10 * SIM_US);
    if (rank->id == 1)
        while (try_send(&me, 3) == GNI_RC_NOT_DONE)
            collect(&me);
    if (rank->id == 2)
        settle(&me, 8);
    if (rank->id == 3)
        settle(&me, 1);
    settle(&me, 0);
    machine_barrier(rank);
    domain_close(&me.domain);
}

static void ugni_120_ugni_16_destroyed_with_the_domain(void **state)
{
    machine_run(&(struct machine){.ranks = 4, .ranks_per_node = 2, .main = destroyed_main});
}

/* ---- anything in any order ------------------------------------------------------------------- */

static int check_content(uint32_t snd_id, uint32_t snd_pe, void *msg, uint8_t msg_tag,
                         void *cb_data)
{
    struct instance *me = cb_data;
    uint8_t wanted[MESSAGE];
    uint32_t number;

    memcpy(&number, msg, sizeof number);
    fill(wanted, snd_id, me->rank->id, number, MESSAGE);
    assert_memory_equal(msg, wanted, MESSAGE);
    assert_int_equal(snd_pe, pe_of(me->rank, snd_id));
    me->total++;
    return number % 5 != 0;
}

static void allowed(gni_return_t rc, uint32_t codes)
{
    if (!(codes & 1u << rc))
        fail_msg("%s", gni_err_str[rc]);
}

#define OK (1u << GNI_RC_SUCCESS)
#define CODE(name) (1u << GNI_RC_##name)

/* Connections are released and made again while messages are on their way, by anybody. */
static void random_step(struct instance *me, uint32_t random)
{
    struct machine *machine = me->rank->machine;
    uint32_t here = me->rank->node, peer = random / 16 % machine->ranks;
    uint32_t node = machine->rank[peer].node, pe = pe_of(me->rank, peer);
    gni_msgq_ep_attr_t attrs;
    gni_cq_entry_t entry;

    switch (random % 16) {
    case 0:
        if (random / 4096 % 8 == 0)
            allowed(GNI_MsgqConnRelease(me->queue, pe), OK | CODE(NO_MATCH) | CODE(NOT_DONE));
        break;
    case 1:
        if (GNI_MsgqGetConnAttrs(me->queue, pe, &attrs, NULL) == GNI_RC_SUCCESS)
            exchanged[node][here] = attrs;
        break;
    case 2:
        allowed(GNI_MsgqConnect(me->queue, pe, &exchanged[here][node]),
                OK | CODE(NO_MATCH) | CODE(INVALID_STATE) | CODE(INVALID_PARAM) |
                    CODE(PERMISSION_ERROR));
        break;
    case 3:
        allowed(GNI_MsgqProgress(me->queue, random / 16 % 2),
                OK | CODE(NOT_DONE) | CODE(ERROR_RESOURCE));
        break;
    case 4:
        allowed(GNI_MsgqIdle(me->queue), OK | CODE(NOT_DONE));
        break;
    case 5:
        sim_spend(random / 16 % 5000 * SIM_NS);
        break;
    case 6:
    case 7:
        while (GNI_CqGetEvent(me->domain.source, &entry) != GNI_RC_NOT_DONE)
            me->completions++;
        break;
    default:
        if (me->eps[peer] != NULL)
            allowed(try_send(me, peer), OK | CODE(NOT_DONE) | CODE(NO_MATCH) | CODE(INVALID_STATE));
        if (random % 16 > 11)
            allowed(GNI_MsgqProgress(me->queue, 0), OK | CODE(NOT_DONE) | CODE(ERROR_RESOURCE));
    }
}

static void random_main(struct rank *rank)
{
    uint64_t random = rank->machine->seed * 1000 + rank->id;
    struct instance me;
    gni_return_t rc;
    uint32_t i;

    open_domain(&me, rank);
    me.attrs.smsg_q_sz = 4;
    me.attrs.rcv_pool_sz = 2;
    me.attrs.modes = GNI_MSGQ_MODE_BLOCKING;
    assert_ok(
        GNI_MsgqInit(me.domain.nic, check_content, &me, me.domain.source, &me.attrs, &me.queue));
    assert_ok(GNI_SmsgSetMaxRetrans(me.domain.nic, 1));
    create_endpoints(&me);
    machine_barrier(rank);
    for (i = 0; i < 1500; i++) {
        random = random * 6364136223846793005ull + 1442695040888963407ull;
        random_step(&me, (uint32_t)(random >> 33));
    }
    if (rank->id % 3 != 0) { /* the other ranks end without releasing their objects */
        while ((rc = GNI_MsgqRelease(me.queue)) == GNI_RC_NOT_DONE)
            ;
        assert_rc(rc, GNI_RC_SUCCESS);
    }
    domain_close(&me.domain);
    rank->machine->shared[rank->id][0] = me.total;
}

static void run_random(void (*prepare)(struct machine *machine))
{
    uint64_t seed, total = 0, rank;

    for (seed = 1; seed <= 12; seed++) {
        struct machine machine = {
            .ranks = 6, .ranks_per_node = 2, .seed = seed, .prepare = prepare, .main = random_main};

        memset(exchanged, 0, sizeof exchanged);
        machine_run(&machine);
        for (rank = 0; rank < 6; rank++)
            total += machine.shared[rank][0];
    }
    assert_true(total > 500); /* they did talk */
}

static void ugni_120_calls_in_any_order(void **state)
{
    run_random(NULL);
}

static void ugni_120_calls_in_any_order_under_losses(void **state)
{
    run_random(lose_some);
}

/* ---- size ------------------------------------------------------------------------------------ */

static void ugni_121_size(void **state)
{
    gni_msgq_attr_t attrs = {64, 8, 16, 16, 4, 0, 64};
    uint32_t size, before = 0, i;

    for (i = 0; i < 12; i++) {
        assert_ok(GNI_MsgqSize(&attrs, &size));
        assert_true(size > 0);
        assert_int_equal(size % HUGE_PAGE, 0);
        assert_true(size >= before);
        /* The size has room for everything that the attributes ask for. */
        assert_true(size >= attrs.num_msgq_eps * attrs.smsg_q_sz * attrs.max_msg_sz);
        assert_true(size >= attrs.nloc_insts * attrs.rcv_pool_sz * attrs.max_msg_sz);
        before = size;
        attrs.num_msgq_eps *= 2;
    }
    assert_true(size > HUGE_PAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ugni_120_losses_are_hidden),
        cmocka_unit_test(ugni_120_poison_is_hidden),
        cmocka_unit_test(ugni_120_retries_end),
        cmocka_unit_test(ugni_120_peer_is_gone),
        cmocka_unit_test(ugni_120_ugni_92_dead_node),
        cmocka_unit_test(ugni_120_ugni_16_destroyed_with_the_domain),
        cmocka_unit_test(ugni_120_calls_in_any_order),
        cmocka_unit_test(ugni_120_calls_in_any_order_under_losses),
        cmocka_unit_test(ugni_121_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
