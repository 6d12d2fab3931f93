/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared message queues: traffic, initialisation and connections. */
#include "full.h"
#include "msgq_frame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* ---- traffic --------------------------------------------------------------------------------- */

static void ugni_120_all_to_all(void **state)
{
    machine_run(&(struct machine){.ranks = 12, .ranks_per_node = 4, .main = all_to_all_main});
}

static void ugni_120_order_with_slow_callbacks(void **state)
{
    uint32_t seed;

    for (seed = 1; seed <= (uint32_t)test_seeds(5, 5); seed++)
        machine_run(&(struct machine){.ranks = 12,
                                      .ranks_per_node = 4,
                                      .seed = seed,
                                      .main = all_to_all_main,
                                      .argument = &slow_callbacks});
}

/* Everything as before, under virtual addresses: of the calls, of the connection, and of the
 * sender that a callback sees. */
static void translated_main(struct rank *rank)
{
    uint32_t count = node_count(rank->machine), base = UINT32_MAX, node;
    gni_ntt_entry_t table[8] = {{0}};
    gni_ntt_descriptor_t ntt = {.group_size = count, .granularity = 1, .u.table_v2 = table};

    for (node = 0; node < count; node++)
        table[count - 1 - node].blck_addr = machine_address(rank->machine, node);
    if (is_leader(rank))
        assert_ok(GNI_ConfigureNTTandJob(0, MACHINE_JOB, MACHINE_PTAG, MACHINE_COOKIE, NULL, &ntt,
                                         &base));
    machine_barrier(rank);
    all_to_all_main(rank);
}

static void ugni_120_ugni_130_addresses_are_translated(void **state)
{
    machine_simulated(); /* there a table belongs to the node; elsewhere to the process */
    machine_run(&(struct machine){.ranks = 8,
                                  .ranks_per_node = 2,
                                  .privileged = true,
                                  .main = translated_main,
                                  .argument = &translated});
}

static void ugni_120_one_instance_per_node(void **state)
{
    machine_run(&(struct machine){.ranks = 4, .main = all_to_all_main});
}

static void ugni_120_many_instances(void **state)
{
    uint32_t per_node = (uint32_t)test_seeds(32, 32);

    machine_run(&(struct machine){
        .ranks = 2 * per_node, .ranks_per_node = per_node, .main = all_to_all_main});
}

static void ugni_120_same_seed_same_run(void **state)
{
    struct machine first = {.ranks = 8, .ranks_per_node = 4, .main = all_to_all_main};
    struct machine second = first;

    machine_run(&first);
    machine_run(&second);
    assert_int_equal(first.digest, second.digest);
}

/* 48 instances on one node, one on the other: as many as earlier versions of uGNI allow. */
static void gather_main(struct rank *rank)
{
    struct instance me;
    uint32_t i;

    open_domain(&me, rank);
    me.attrs.nloc_insts = rank->node == 0 ? 48 : 1;
    assert_ok(init(&me));
    create_endpoints(&me);
    machine_barrier(rank);
    if (rank->id == 0 || rank->id == 48) {
        uint32_t node = rank->node, other = rank->id == 0 ? 48 : 0, size;

        assert_ok(
            GNI_MsgqGetConnAttrs(me.queue, pe_of(rank, other), &exchanged[!node][node], &size));
        assert_int_equal(size, 16 + 32 * me.attrs.nloc_insts);
        assert_int_equal(exchanged[!node][node].num_insts, me.attrs.nloc_insts);
    }
    machine_barrier(rank);
    if (rank->id == 0 || rank->id == 48)
        assert_ok(GNI_MsgqConnect(me.queue, pe_of(rank, rank->id == 0 ? 48 : 0),
                                  &exchanged[rank->node][!rank->node]));
    machine_barrier(rank);
    for (i = 0; i < 48 && rank->id == 48; i++)
        while (try_send(&me, i) == GNI_RC_NOT_DONE)
            collect(&me);
    while (rank->id != 48 && try_send(&me, 48) == GNI_RC_NOT_DONE)
        GNI_MsgqProgress(me.queue, 0);
    settle(&me, rank->id == 48 ? 48 : 1);
    machine_barrier(rank);
    assert_ok(GNI_MsgqRelease(me.queue));
    domain_close(&me.domain);
}

static void place_gather(struct machine *machine)
{
    uint32_t i;

    for (i = 0; i < machine->ranks; i++)
        machine->node[i] = i / 48;
}

static void ugni_120_forty_eight_instances(void **state)
{
    machine_run(&(struct machine){.ranks = 49, .place = place_gather, .main = gather_main});
}

/* ---- initialisation -------------------------------------------------------------------------- */

static void bad_attrs(struct instance *me)
{
    const gni_msgq_attr_t good = me->attrs;
    const gni_msgq_attr_t bad[] = {
        {0, 8, 8, 8, 1, 0, 8},
        {GNI_MSGQ_MSG_SZ_MAX + 1, 8, 8, 8, 1, 0, 8},
        {64, 0, 8, 8, 1, 0, 8},
        {64, 3, 8, 8, 1, 0, 8},
        {64, 8, 0, 8, 1, 0, 8},
        {64, 8, 8, 0, 1, 0, 8},
        {64, 8, 8, 8, 0, 0, 8},
        {64, 8, 8, 8, GNI_MSGQ_NODE_INSTS_MAX + 1, 0, 8},
        {64, 8, 8, 8, 1, 2, 8},
        {64, 8, 8, 8, 1, 0, 0},
        {64, 8, UINT32_MAX, 8, 1, 0, 8}, /* more than a region can hold */
        {64, UINT32_MAX - 1, 8, 8, 1, 0, 8},
        {64, 8, 8, UINT32_MAX, 1, 0, 8},
    };
    uint32_t size, i;

    for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        me->attrs = bad[i];
        assert_rc(init(me), GNI_RC_INVALID_PARAM);
        assert_rc(GNI_MsgqSize(&me->attrs, &size), GNI_RC_INVALID_PARAM);
    }
    me->attrs = good;
}

static void init_checks_main(struct rank *rank)
{
    struct instance me;
    gni_nic_handle_t nic;
    gni_cq_handle_t cq;

    open_domain(&me, rank);
    nic = me.domain.nic;
    cq = me.domain.source;
    bad_attrs(&me);
    assert_rc(GNI_MsgqInit(NULL, receive, &me, cq, &me.attrs, &me.queue), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_MsgqInit(nic, NULL, &me, cq, &me.attrs, &me.queue), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_MsgqInit(nic, receive, &me, NULL, &me.attrs, &me.queue), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_MsgqInit(nic, receive, &me, cq, NULL, &me.queue), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_MsgqInit(nic, receive, &me, cq, &me.attrs, NULL), GNI_RC_INVALID_PARAM);
    domain_register(&me.domain, &me, sizeof me, me.domain.target, 0);
    assert_rc(GNI_MsgqInit(nic, receive, &me, me.domain.target, &me.attrs, &me.queue),
              GNI_RC_INVALID_PARAM); /* it is a destination queue */
    assert_null(me.queue);
    /* Each handle is checked by each call. */
    assert_rc(GNI_MsgqRelease(NULL), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_MsgqIdle(NULL), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_MsgqProgress(NULL, 0), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_MsgqConnRelease(NULL, 0), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_MsgqConnect(NULL, 0, &exchanged[0][0]), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_MsgqGetConnAttrs(NULL, 0, &exchanged[0][0], NULL), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_MsgqSend(NULL, NULL, NULL, 0, NULL, 0, 0, 0), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_MsgqSize(NULL, NULL), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_MsgqSize(&me.attrs, NULL), GNI_RC_INVALID_PARAM);
    assert_ok(init(&me));
    assert_rc(init(&me), GNI_RC_INVALID_STATE); /* twice through one NIC handle */
    assert_ok(GNI_MsgqRelease(me.queue));
    assert_ok(init(&me)); /* a new queue */
    domain_close(&me.domain); /* with it */
}

static void ugni_120_init_checks(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = init_checks_main});
}

static void no_huge_pages_main(struct rank *rank)
{
    struct instance me;

    open_domain(&me, rank);
    assert_rc(init(&me), GNI_RC_PERMISSION_ERROR);
    domain_close(&me.domain);
}

static void ugni_120_needs_huge_pages(void **state)
{
    machine_run(&(struct machine){
        .ranks = 1, .param = {"aries.node.huge_pages"}, .value = {0}, .main = no_huge_pages_main});
}

/* Address space that the process may still get: none. */
static void no_memory_main(struct rank *rank)
{
    struct rlimit before, tight;
    struct instance me;
    unsigned long pages;
    gni_return_t rc;
    FILE *statm;

    open_domain(&me, rank);
    me.attrs.rcv_pool_sz = 5000000; /* about 800 MB */
    statm = fopen("/proc/self/statm", "r");
    assert_non_null(statm);
    assert_int_equal(fscanf(statm, "%lu", &pages), 1);
    fclose(statm);
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    tight = before;
    tight.rlim_cur = (rlim_t)pages * 4096 + (200ul << 20);
    assert_int_equal(setrlimit(RLIMIT_AS, &tight), 0);
    rc = init(&me);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_rc(rc, GNI_RC_ERROR_NOMEM);
    domain_close(&me.domain);
}

static void ugni_120_no_memory(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = no_memory_main});
}

/* Rank 2 has other ideas, so that the third of them is missing for the two others. */
static void different_main(struct rank *rank)
{
    struct instance me;

    open_domain(&me, rank);
    if (rank->id == 2) {
        sim_spend(SIM_MS);
        me.attrs.smsg_q_sz = 2;
    }
    assert_rc(init(&me), GNI_RC_INVALID_STATE);
    machine_barrier(rank);
    /* Nobody is left in the first one: it was as if it had never been. */
    me.attrs.smsg_q_sz = 2;
    assert_ok(init(&me));
    machine_barrier(rank);
    assert_ok(GNI_MsgqRelease(me.queue));
    machine_barrier(rank);
    domain_close(&me.domain);
}

static void ugni_120_attributes_must_agree(void **state)
{
    machine_simulated(); /* between processes the test cannot choose which one comes first */
    machine_run(&(struct machine){.ranks = 3, .ranks_per_node = 3, .main = different_main});
}

/* A fourth instance comes to a queue for three, and one that comes when they leave. */
static void too_many_main(struct rank *rank)
{
    struct instance me;

    open_domain(&me, rank);
    me.attrs.nloc_insts = 3;
    if (rank->id < 3)
        assert_ok(init(&me));
    machine_barrier(rank);
    if (rank->id == 3)
        assert_rc(init(&me), GNI_RC_INVALID_STATE);
    machine_barrier(rank);
    if (rank->id == 0)
        assert_ok(GNI_MsgqRelease(me.queue));
    machine_barrier(rank);
    if (rank->id == 3)
        assert_rc(init(&me), GNI_RC_INVALID_STATE);
    /* Teardown has started. */
    if (rank->id == 1) {
        assert_rc(GNI_MsgqGetConnAttrs(me.queue, 1, &exchanged[0][0], NULL),
                  GNI_RC_PERMISSION_ERROR);
        exchanged[0][0] = (gni_msgq_ep_attr_t){.pe_addr = 1,
                                               .max_msg_sz = me.attrs.max_msg_sz,
                                               .smsg_q_sz = me.attrs.smsg_q_sz,
                                               .num_insts = 1};
        exchanged[0][0].insts[0].mdh_off = 65;
        assert_rc(GNI_MsgqConnect(me.queue, 1, &exchanged[0][0]), GNI_RC_PERMISSION_ERROR);
    }
    machine_barrier(rank);
    if (rank->id == 1)
        domain_close(&me.domain); /* a process that just goes */
    if (rank->id == 2)
        assert_ok(GNI_MsgqRelease(me.queue));
    machine_barrier(rank);
    me.attrs.nloc_insts = 1;
    if (rank->id == 3)
        assert_ok(init(&me));
    if (rank->id != 1)
        domain_close(&me.domain);
}

static void ugni_120_joining_and_leaving(void **state)
{
    machine_run(&(struct machine){.ranks = 4, .ranks_per_node = 4, .main = too_many_main});
}

/* ---- connections ----------------------------------------------------------------------------- */

static void connection_checks_main(struct rank *rank)
{
    gni_msgq_ep_attr_t mine, wrong, *theirs = &exchanged[rank->node][!rank->node];
    uint32_t other = pe_of(rank, !rank->id), size = 0;
    struct instance me;

    open_domain(&me, rank);
    me.attrs.num_msgq_eps = 1;
    assert_ok(init(&me));
    create_endpoints(&me);
    assert_rc(try_send(&me, !rank->id), GNI_RC_NO_MATCH);
    assert_rc(GNI_MsgqConnRelease(me.queue, other), GNI_RC_NO_MATCH);
    assert_rc(GNI_MsgqGetConnAttrs(me.queue, 0x3ffff, &mine, &size), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_MsgqGetConnAttrs(me.queue, other, NULL, &size), GNI_RC_INVALID_PARAM);
    memset(&mine, 0xcc, sizeof mine);
    assert_ok(GNI_MsgqGetConnAttrs(me.queue, other, &mine, &size));
    assert_int_equal(size, 48);
    assert_true(size <= GNI_DATAGRAM_MAXSIZE);
    assert_int_equal(((uint8_t *)&mine)[size], 0xcc); /* no more than it says is written */
    assert_int_equal(mine.pe_addr, me.domain.address);
    assert_int_equal(mine.max_msg_sz, me.attrs.max_msg_sz);
    assert_int_equal(mine.smsg_q_sz, me.attrs.smsg_q_sz);
    assert_int_equal(mine.num_insts, 1);
    assert_int_equal(mine.insts[0].id, rank->id);
    exchanged[!rank->node][rank->node] = mine;
    machine_barrier(rank);
    assert_rc(GNI_MsgqGetConnAttrs(me.queue, other, &mine, NULL), GNI_RC_INVALID_STATE);
    assert_rc(GNI_MsgqGetConnAttrs(me.queue, pe_of(rank, 2), &mine, NULL), GNI_RC_ERROR_RESOURCE);
    assert_rc(try_send(&me, !rank->id), GNI_RC_INVALID_STATE); /* assigned, not connected */
    assert_rc(GNI_MsgqConnect(me.queue, other, NULL), GNI_RC_INVALID_PARAM);
    wrong = *theirs;
    wrong.pe_addr = pe_of(rank, 2);
    assert_rc(GNI_MsgqConnect(me.queue, other, &wrong), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_MsgqConnect(me.queue, wrong.pe_addr, &wrong), GNI_RC_NO_MATCH);
    wrong = *theirs;
    wrong.max_msg_sz--;
    assert_rc(GNI_MsgqConnect(me.queue, other, &wrong), GNI_RC_INVALID_PARAM);
    wrong = *theirs;
    wrong.smsg_q_sz = 2;
    assert_rc(GNI_MsgqConnect(me.queue, other, &wrong), GNI_RC_INVALID_PARAM);
    wrong = *theirs;
    wrong.num_insts = 0;
    assert_rc(GNI_MsgqConnect(me.queue, other, &wrong), GNI_RC_INVALID_PARAM);
    wrong.num_insts = GNI_MSGQ_NODE_INSTS_MAX + 1;
    assert_rc(GNI_MsgqConnect(me.queue, other, &wrong), GNI_RC_INVALID_PARAM);
    wrong = *theirs;
    wrong.insts[0].mdh.qword1 ^= 1; /* its checksum is wrong now */
    assert_rc(GNI_MsgqConnect(me.queue, other, &wrong), GNI_RC_INVALID_PARAM);
    assert_ok(GNI_MsgqConnect(me.queue, other, theirs));
    assert_rc(GNI_MsgqConnect(me.queue, other, theirs), GNI_RC_INVALID_STATE);
    machine_barrier(rank);
    assert_ok(try_send(&me, !rank->id));
    settle(&me, 1);
    machine_barrier(rank);
    assert_ok(GNI_MsgqConnRelease(me.queue, other));
    assert_ok(
        GNI_MsgqGetConnAttrs(me.queue, pe_of(rank, 2), &mine, NULL)); /* it was the only one */
    machine_barrier(rank);
    assert_ok(GNI_MsgqRelease(me.queue));
    domain_close(&me.domain);
}

static void third_node_main(struct rank *rank)
{
    uint32_t i;

    if (rank->id < 2) {
        connection_checks_main(rank);
        return;
    }
    for (i = 0; i < 4; i++)
        machine_barrier(rank);
}

static void ugni_120_connection_checks(void **state)
{
    machine_run(&(struct machine){.ranks = 3, .main = third_node_main});
}

/* Released and assigned again: nothing of the old connection is left. */
static void reconnect_main(struct rank *rank)
{
    uint32_t other = !rank->id, round, i;
    struct instance me;

    open_domain(&me, rank);
    assert_ok(init(&me));
    create_endpoints(&me);
    machine_barrier(rank);
    for (round = 0; round < 5; round++) {
        connect_nodes(&me);
        for (i = 0; i < 5 + round; i++)
            while (try_send(&me, other) == GNI_RC_NOT_DONE)
                GNI_MsgqProgress(me.queue, 0);
        settle(&me, sent(&me));
        machine_barrier(rank);
        assert_ok(GNI_MsgqConnRelease(me.queue, pe_of(rank, other)));
        assert_rc(GNI_MsgqConnRelease(me.queue, pe_of(rank, other)), GNI_RC_NO_MATCH);
        assert_rc(try_send(&me, other), GNI_RC_NO_MATCH);
        machine_barrier(rank);
    }
    assert_ok(GNI_MsgqRelease(me.queue));
    domain_close(&me.domain);
}

static void ugni_120_reconnect(void **state)
{
    machine_run(&(struct machine){.main = reconnect_main});
}

/* A node is connected to itself: messages come back, to any of its instances. */
static void loop_main(struct rank *rank)
{
    gni_msgq_ep_attr_t attrs;
    struct instance me;
    uint32_t peer = !rank->id, i;

    open_domain(&me, rank);
    assert_ok(init(&me));
    me.eps[peer] = domain_connect(rank, &me.domain, peer);
    if (rank->id == 0) {
        assert_ok(GNI_MsgqGetConnAttrs(me.queue, me.domain.address, &attrs, NULL));
        assert_ok(GNI_MsgqConnect(me.queue, me.domain.address, &attrs));
    }
    machine_barrier(rank);
    for (i = 0; i < 100; i++)
        while (try_send(&me, peer) == GNI_RC_NOT_DONE) {
            GNI_MsgqProgress(me.queue, 0);
            collect(&me);
        }
    settle(&me, 100);
    machine_barrier(rank);
    assert_ok(GNI_MsgqRelease(me.queue));
    domain_close(&me.domain);
}

static void ugni_120_within_a_node(void **state)
{
    machine_run(&(struct machine){.ranks_per_node = 2, .main = loop_main});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ugni_120_all_to_all),
        cmocka_unit_test(ugni_120_order_with_slow_callbacks),
        cmocka_unit_test(ugni_120_ugni_130_addresses_are_translated),
        cmocka_unit_test(ugni_120_one_instance_per_node),
        cmocka_unit_test(ugni_120_many_instances),
        cmocka_unit_test(ugni_120_same_seed_same_run),
        cmocka_unit_test(ugni_120_forty_eight_instances),
        cmocka_unit_test(ugni_120_init_checks),
        cmocka_unit_test(ugni_120_needs_huge_pages),
        cmocka_unit_test(ugni_120_no_memory),
        cmocka_unit_test(ugni_120_attributes_must_agree),
        cmocka_unit_test(ugni_120_joining_and_leaving),
        cmocka_unit_test(ugni_120_connection_checks),
        cmocka_unit_test(ugni_120_reconnect),
        cmocka_unit_test(ugni_120_within_a_node),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
