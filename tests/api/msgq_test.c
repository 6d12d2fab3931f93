/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared message queues: several instances on each node, one connection between two nodes. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define HUGE_PAGE (2u << 20)
#define MESSAGE 40 /* bytes of most messages */

/* ---- an instance ----------------------------------------------------------------------------- */

struct received {
    uint32_t from, pe, number;
    uint8_t tag;
};

struct instance {
    struct rank *rank;
    struct domain domain;
    gni_msgq_attr_t attrs;
    gni_msgq_handle_t queue;
    gni_ep_handle_t eps[MACHINE_RANKS]; /* by rank; NULL: on this node */
    uint32_t next[MACHINE_RANKS]; /* number of the next message to and … */
    uint32_t expected[MACHINE_RANKS]; /* … from each rank */
    uint32_t total, stop_after; /* received; 0: the callback never says stop */
    uint32_t completions;
    bool slow; /* its callback takes time */
    struct received last;
};

/* As they pass between the leaders of the nodes: [to][from]. */
static gni_msgq_ep_attr_t exchanged[8][8];

static uint32_t node_count(const struct machine *machine)
{
    return (machine->ranks + machine->ranks_per_node - 1) / machine->ranks_per_node;
}

/* The machine's argument when its launcher gives the nodes virtual addresses, in reverse order. */
static char translated;

static uint32_t pe_of(const struct rank *rank, uint32_t peer)
{
    uint32_t node = rank->machine->rank[peer].node;

    return rank->machine->argument == &translated ? node_count(rank->machine) - 1 - node
                                                  : machine_address(rank->machine, node);
}

static bool is_leader(const struct rank *rank)
{
    return rank->id % rank->machine->ranks_per_node == 0;
}

static void fill(uint8_t *message, uint32_t from, uint32_t to, uint32_t number, uint32_t bytes)
{
    uint32_t i;

    for (i = 0; i < bytes; i++)
        message[i] = (uint8_t)(from * 31 + to * 17 + number * 7 + i);
    memcpy(message, &number, sizeof number);
}

static int receive(uint32_t snd_id, uint32_t snd_pe, void *msg, uint8_t msg_tag, void *cb_data)
{
    struct instance *me = cb_data;
    uint8_t wanted[MESSAGE];

    assert_true((uintptr_t)msg % 8 == 0);
    assert_true(snd_id < me->rank->machine->ranks);
    assert_int_equal(snd_pe, pe_of(me->rank, snd_id));
    fill(wanted, snd_id, me->rank->id, me->expected[snd_id], MESSAGE);
    assert_memory_equal(msg, wanted, MESSAGE);
    assert_int_equal(msg_tag, (uint8_t)me->expected[snd_id]);
    me->last = (struct received){snd_id, snd_pe, me->expected[snd_id], msg_tag};
    me->expected[snd_id]++;
    me->total++;
    if (me->slow) { /* others take messages for this instance meanwhile */
        sim_spend(700 * SIM_NS);
        sim_settle();
    }
    return me->stop_after == 0 || me->total % me->stop_after != 0;
}

static gni_msgq_attr_t usual_attrs(const struct rank *rank)
{
    return (gni_msgq_attr_t){.max_msg_sz = GNI_MSGQ_MSG_SZ_MAX,
                             .smsg_q_sz = 8,
                             .rcv_pool_sz = 64,
                             .num_msgq_eps = 8,
                             .nloc_insts = rank->machine->ranks_per_node,
                             .rcv_cq_sz = 512};
}

static void open_domain(struct instance *me, struct rank *rank)
{
    memset(me, 0, sizeof *me);
    me->rank = rank;
    me->attrs = usual_attrs(rank);
    domain_open(rank, &me->domain, GNI_CDM_MODE_ERR_NO_KILL);
}

static gni_return_t init(struct instance *me)
{
    return GNI_MsgqInit(me->domain.nic, receive, me, me->domain.source, &me->attrs, &me->queue);
}

static void create_endpoints(struct instance *me)
{
    uint32_t peer;

    for (peer = 0; peer < me->rank->machine->ranks; peer++) {
        if (me->rank->machine->rank[peer].node == me->rank->node)
            continue;
        assert_ok(GNI_EpCreate(me->domain.nic, me->domain.source, &me->eps[peer]));
        assert_ok(GNI_EpBind(me->eps[peer], pe_of(me->rank, peer), peer));
    }
}

/* The leaders of all nodes connect them with each other. */
static void connect_nodes(struct instance *me)
{
    struct machine *machine = me->rank->machine;
    uint32_t here = me->rank->node, node, size;

    for (node = 0; is_leader(me->rank) && node < node_count(machine); node++) {
        if (node == here)
            continue;
        assert_ok(GNI_MsgqGetConnAttrs(me->queue, pe_of(me->rank, node * machine->ranks_per_node),
                                       &exchanged[node][here], &size));
        assert_int_equal(size, 16 + 32 * machine->ranks_per_node);
    }
    machine_barrier(me->rank);
    for (node = 0; is_leader(me->rank) && node < node_count(machine); node++)
        if (node != here)
            assert_ok(GNI_MsgqConnect(me->queue, pe_of(me->rank, node * machine->ranks_per_node),
                                      &exchanged[here][node]));
    machine_barrier(me->rank);
}

static void start(struct instance *me, struct rank *rank)
{
    open_domain(me, rank);
    assert_ok(init(me));
    create_endpoints(me);
    machine_barrier(rank);
    connect_nodes(me);
}

static gni_return_t try_send(struct instance *me, uint32_t to)
{
    uint8_t message[MESSAGE];
    uint32_t number = me->next[to];
    gni_return_t rc;

    fill(message, me->rank->id, to, number, MESSAGE);
    rc = GNI_MsgqSend(me->queue, me->eps[to], message, 16, message + 16, MESSAGE - 16, number,
                      (uint8_t)number);
    memset(message, 0xee, sizeof message); /* both parts were copied */
    me->next[to] += rc == GNI_RC_SUCCESS;
    return rc;
}

static void collect(struct instance *me)
{
    gni_cq_entry_t entry;
    gni_return_t rc;

    while ((rc = GNI_CqGetEvent(me->domain.source, &entry)) == GNI_RC_SUCCESS) {
        assert_int_equal(GNI_CQ_GET_TYPE(entry), GNI_CQ_EVENT_TYPE_MSGQ);
        me->completions++;
    }
    assert_rc(rc, GNI_RC_NOT_DONE);
}

static uint32_t sent(const struct instance *me)
{
    uint32_t peer, total = 0;

    for (peer = 0; peer < MACHINE_RANKS; peer++)
        total += me->next[peer];
    return total;
}

/* Until all that was sent has its event, and so many messages have come. */
static void settle(struct instance *me, uint32_t messages)
{
    while (me->completions < sent(me) || me->total < messages) {
        gni_return_t rc = GNI_MsgqProgress(me->queue, 0);

        assert_true(rc == GNI_RC_SUCCESS || rc == GNI_RC_NOT_DONE);
        collect(me);
    }
}

static void stop(struct instance *me)
{
    struct machine *machine = me->rank->machine;
    uint32_t node;

    machine_barrier(me->rank);
    for (node = 0; is_leader(me->rank) && node < node_count(machine); node++)
        if (node != me->rank->node)
            assert_ok(
                GNI_MsgqConnRelease(me->queue, pe_of(me->rank, node * machine->ranks_per_node)));
    machine_barrier(me->rank);
    assert_ok(GNI_MsgqIdle(me->queue));
    assert_ok(GNI_MsgqRelease(me->queue));
    assert_rc(GNI_MsgqRelease(me->queue), GNI_RC_INVALID_PARAM);
    domain_close(&me->domain);
}

/* ---- traffic --------------------------------------------------------------------------------- */

#define ROUNDS 20

static char slow_callbacks; /* the machine's argument: some have such */

/* Everybody sends to everybody on other nodes. */
static void all_to_all_main(struct rank *rank)
{
    uint32_t remote = rank->machine->ranks - rank->machine->ranks_per_node, round, peer;
    struct instance me;

    start(&me, rank);
    me.slow = rank->machine->argument == &slow_callbacks && rank->id % 3 == 0;
    for (round = 0; round < ROUNDS; round++) {
        for (peer = 0; peer < rank->machine->ranks; peer++) {
            gni_return_t rc = GNI_RC_NOT_DONE;

            while (me.eps[peer] != NULL && rc == GNI_RC_NOT_DONE) {
                rc = try_send(&me, peer);
                GNI_MsgqProgress(me.queue, 0);
                collect(&me);
            }
            if (me.eps[peer] != NULL)
                assert_rc(rc, GNI_RC_SUCCESS);
        }
    }
    settle(&me, ROUNDS * remote);
    assert_int_equal(me.total, ROUNDS * remote);
    stop(&me);
}

static void ugni_120_all_to_all(void **state)
{
    machine_run(&(struct machine){.ranks = 12, .ranks_per_node = 4, .main = all_to_all_main});
}

static void ugni_120_order_with_slow_callbacks(void **state)
{
    uint32_t seed;

    for (seed = 1; seed <= 5; seed++)
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
    machine_run(&(struct machine){.ranks = 64, .ranks_per_node = 32, .main = all_to_all_main});
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
    machine_simulated(); /* elsewhere who comes first is not the test's choice */
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

/* A node connected to itself: what is sent comes back, to any of its instances. */
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

/* ---- sending --------------------------------------------------------------------------------- */

static int take_any(uint32_t snd_id, uint32_t snd_pe, void *msg, uint8_t msg_tag, void *cb_data)
{
    struct instance *me = cb_data;

    me->total++;
    me->last.from = snd_id;
    me->last.tag = msg_tag;
    memcpy(&me->last.number, msg, sizeof me->last.number);
    return 1;
}

static void send_checks_main(struct rank *rank)
{
    uint8_t message[GNI_MSGQ_MSG_SZ_MAX + 1] = {7, 1, 2};
    uint32_t other = !rank->id, size;
    gni_ep_handle_t ep, mute;
    gni_post_descriptor_t *descr;
    gni_cq_entry_t entry;
    struct instance me;

    open_domain(&me, rank);
    me.attrs.max_msg_sz = 100;
    assert_ok(GNI_MsgqInit(me.domain.nic, take_any, &me, me.domain.source, &me.attrs, &me.queue));
    create_endpoints(&me);
    connect_nodes(&me);
    assert_rc(GNI_MsgqSend(me.queue, NULL, NULL, 0, message, 8, 0, 0), GNI_RC_INVALID_PARAM);
    assert_ok(GNI_EpCreate(me.domain.nic, me.domain.source, &ep));
    assert_rc(GNI_MsgqSend(me.queue, ep, NULL, 0, message, 8, 0, 0), GNI_RC_INVALID_PARAM);
    assert_ok(GNI_EpBind(ep, pe_of(rank, other), 99)); /* no such instance there */
    assert_rc(GNI_MsgqSend(me.queue, ep, NULL, 0, message, 8, 0, 0), GNI_RC_NO_MATCH);
    assert_ok(GNI_EpCreate(me.domain.nic, NULL, &mute));
    assert_ok(GNI_EpBind(mute, pe_of(rank, other), other));
    assert_rc(GNI_MsgqSend(me.queue, mute, NULL, 0, message, 8, 0, 0), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_MsgqSend(me.queue, me.eps[other], NULL, 1, message, 8, 0, 0),
              GNI_RC_INVALID_PARAM);
    assert_rc(GNI_MsgqSend(me.queue, me.eps[other], message, 8, NULL, 1, 0, 0),
              GNI_RC_INVALID_PARAM);
    for (size = 101; size <= sizeof message; size++)
        assert_rc(GNI_MsgqSend(me.queue, me.eps[other], message, 50, message, size - 50, 0, 0),
                  GNI_RC_SIZE_ERROR);
    assert_rc(GNI_MsgqSend(me.queue, me.eps[other], message, UINT32_MAX, message, 2, 0, 0),
              GNI_RC_SIZE_ERROR);
    /* The longest, in each way to cut it; and nothing at all. */
    for (size = 0; size <= 100; size += 50) {
        me.total = 0;
        assert_ok(GNI_MsgqSend(me.queue, me.eps[other], size != 0 ? message : NULL, size,
                               size != 100 ? message : NULL, 100 - size, 0xfeed0000 + size,
                               (uint8_t)(255 - size)));
        entry = good_event(me.domain.source);
        assert_int_equal(GNI_CQ_GET_TYPE(entry), GNI_CQ_EVENT_TYPE_MSGQ);
        assert_int_equal(GNI_CQ_GET_MSG_ID(entry), 0xfeed0000 + size);
        assert_rc(GNI_GetCompleted(me.domain.source, entry, &descr), GNI_RC_DESCRIPTOR_ERROR);
        assert_null(descr);
        while (me.total == 0)
            assert_ok(GNI_MsgqProgress(me.queue, 0));
        assert_int_equal(me.last.from, other);
        assert_int_equal(me.last.tag, 255 - size);
        assert_int_equal(me.last.number, 0x020107);
        machine_barrier(rank);
    }
    assert_ok(GNI_MsgqSend(me.queue, me.eps[other], NULL, 0, NULL, 0, 1, 1));
    good_event(me.domain.source);
    while (me.total == 1)
        assert_ok(GNI_MsgqProgress(me.queue, 0));
    stop(&me);
}

static void ugni_120_send_checks(void **state)
{
    machine_run(&(struct machine){.main = send_checks_main});
}

/* As many sends as there are credits, and no more before the peer takes the messages. */
static void credits_main(struct rank *rank)
{
    const uint32_t credits = *(const uint32_t *)rank->machine->argument;
    uint32_t i, stalls;
    struct instance me;

    open_domain(&me, rank);
    me.attrs.smsg_q_sz = credits;
    assert_ok(init(&me));
    create_endpoints(&me);
    connect_nodes(&me);
    if (rank->id == 0) {
        for (i = 0; i < credits; i++)
            assert_ok(try_send(&me, 1));
        while (me.completions < credits)
            collect(&me);
        assert_rc(try_send(&me, 1), GNI_RC_NOT_DONE);
        sim_spend(SIM_MS); /* for good, not for a while */
        assert_rc(try_send(&me, 1), GNI_RC_NOT_DONE);
        assert_ok(GNI_GetNicStat(me.domain.nic, GNI_STAT_SMSG_MBOX_CREDITS_STALL, &stalls));
        assert_int_equal(stalls, 2);
        machine_barrier(rank);
        while (try_send(&me, 1) == GNI_RC_NOT_DONE)
            ;
        settle(&me, 0);
    } else {
        machine_barrier(rank);
        while (me.total < credits)
            GNI_MsgqProgress(me.queue, 0);
        settle(&me, credits + 1);
    }
    stop(&me);
}

static void ugni_120_credits(void **state)
{
    static uint32_t counts[] = {1, 2, 64};
    uint32_t i;

    for (i = 0; i < 3; i++)
        machine_run(&(struct machine){.main = credits_main, .argument = &counts[i]});
}

/* Events that nobody collects: sends wait for room in the queue, no event is lost. */
static void queue_full_main(struct rank *rank)
{
    gni_cq_handle_t small;
    struct instance me;
    uint32_t i;

    open_domain(&me, rank);
    assert_ok(GNI_CqCreate(me.domain.nic, 4, 0, GNI_CQ_NOBLOCK, NULL, NULL, &small));
    me.domain.source = small;
    me.attrs.smsg_q_sz = 2; /* each message is answered by a count of credits */
    assert_ok(init(&me));
    create_endpoints(&me);
    connect_nodes(&me);
    if (rank->id == 0) {
        for (i = 0; i < 4; i++)
            while (try_send(&me, 1) == GNI_RC_NOT_DONE)
                ;
        sim_spend(SIM_MS);
        assert_rc(try_send(&me, 1), GNI_RC_NOT_DONE);
        collect(&me);
        assert_int_equal(me.completions, 4);
        machine_barrier(rank); /* a */
        /* What the other sends now fills its queue: it cannot return credits. */
        while (me.total < 4)
            GNI_MsgqProgress(me.queue, 0);
        machine_barrier(rank); /* b */
        assert_ok(try_send(&me, 1));
        sim_spend(SIM_MS);
        machine_barrier(rank); /* c */
        settle(&me, 4);
    } else {
        while (me.total < 4)
            GNI_MsgqProgress(me.queue, 0);
        machine_barrier(rank); /* a */
        for (i = 0; i < 4; i++)
            while (try_send(&me, 0) == GNI_RC_NOT_DONE)
                ;
        machine_barrier(rank); /* b */
        machine_barrier(rank); /* c */
        sim_spend(SIM_MS);
        assert_rc(GNI_MsgqProgress(me.queue, 0), GNI_RC_ERROR_RESOURCE);
        assert_int_equal(me.total, 5); /* the message was handed over all the same */
        collect(&me);
        assert_ok(GNI_MsgqProgress(me.queue, 0));
    }
    settle(&me, 0);
    stop(&me);
}

static void ugni_120_send_queue_full(void **state)
{
    machine_run(
        &(struct machine){.main = queue_full_main, .param = {"aries.nic.cq_exact"}, .value = {1}});
}

static void release_main(struct rank *rank)
{
    struct instance me;

    machine_simulated(); /* a message is under way for some time */
    start(&me, rank);
    if (rank->id == 0) {
        assert_ok(try_send(&me, 1));
        assert_rc(GNI_MsgqIdle(me.queue), GNI_RC_NOT_DONE);
        assert_rc(GNI_MsgqRelease(me.queue), GNI_RC_NOT_DONE);
        assert_rc(GNI_MsgqConnRelease(me.queue, pe_of(rank, 1)), GNI_RC_NOT_DONE);
        assert_rc(GNI_EpUnbind(me.eps[1]), GNI_RC_NOT_DONE);
        settle(&me, 0);
        assert_ok(GNI_EpUnbind(me.eps[1]));
    } else {
        settle(&me, 1);
    }
    stop(&me);
}

static void ugni_120_release_waits_for_sends(void **state)
{
    machine_run(&(struct machine){.main = release_main});
}

/* ---- receiving ------------------------------------------------------------------------------- */

/* The callback says stop after every second message. */
static void contract_main(struct rank *rank)
{
    struct instance me;
    uint32_t i;

    start(&me, rank);
    if (rank->id == 0) {
        for (i = 0; i < 5; i++)
            assert_ok(try_send(&me, 1));
        settle(&me, 0);
        machine_barrier(rank);
    } else {
        machine_barrier(rank);
        me.stop_after = 2;
        assert_rc(GNI_MsgqProgress(me.queue, 0), GNI_RC_NOT_DONE);
        assert_int_equal(me.total, 2);
        assert_rc(GNI_MsgqProgress(me.queue, 0), GNI_RC_NOT_DONE);
        assert_int_equal(me.total, 4);
        assert_ok(GNI_MsgqProgress(me.queue, 0));
        assert_int_equal(me.total, 5);
        assert_int_equal(me.last.from, 0);
        assert_int_equal(me.last.number, 4);
        assert_ok(GNI_MsgqProgress(me.queue, 0)); /* nothing */
        assert_ok(GNI_MsgqProgress(me.queue, -1)); /* the same, as Cray's programs say it */
        assert_rc(GNI_MsgqProgress(me.queue, 1), GNI_RC_INVALID_PARAM); /* may not block */
        assert_int_equal(me.total, 5);
    }
    stop(&me);
}

static void ugni_120_callback_contract(void **state)
{
    machine_run(&(struct machine){.main = contract_main});
}

static int answer(uint32_t snd_id, uint32_t snd_pe, void *msg, uint8_t msg_tag, void *cb_data)
{
    struct instance *me = cb_data;
    int more = receive(snd_id, snd_pe, msg, msg_tag, cb_data);

    assert_ok(try_send(me, snd_id)); /* other calls are allowed in here */
    assert_ok(GNI_MsgqProgress(me->queue, 0));
    return more;
}

static void answer_main(struct rank *rank)
{
    struct instance me;
    uint32_t i;

    open_domain(&me, rank);
    assert_ok(GNI_MsgqInit(me.domain.nic, rank->id == 0 ? receive : answer, &me, me.domain.source,
                           &me.attrs, &me.queue));
    create_endpoints(&me);
    connect_nodes(&me);
    for (i = 1; i <= 50; i++) {
        if (rank->id == 0)
            assert_ok(try_send(&me, 1));
        settle(&me, i);
    }
    stop(&me);
}

static void ugni_120_answers_from_the_callback(void **state)
{
    machine_run(&(struct machine){.main = answer_main});
}

/* Blocks for so many ms for each message. */
static void blocking_main(struct rank *rank)
{
    sim_time_t began;
    struct instance me;
    uint32_t i;

    machine_simulated();
    open_domain(&me, rank);
    me.attrs.modes = GNI_MSGQ_MODE_BLOCKING;
    assert_ok(init(&me));
    create_endpoints(&me);
    connect_nodes(&me);
    sim_settle();
    began = sim_now();
    if (rank->id == 0) {
        for (i = 0; i < 4; i++) {
            sim_spend(15 * SIM_MS);
            assert_ok(try_send(&me, 1));
        }
        settle(&me, 0);
    } else {
        assert_ok(GNI_MsgqProgress(me.queue, 0)); /* does not wait */
        assert_ok(GNI_MsgqProgress(me.queue, -1));
        sim_settle();
        assert_true(sim_now() - began < SIM_MS);
        assert_ok(GNI_MsgqProgress(me.queue, 10));
        assert_int_equal(me.total, 0);
        sim_settle();
        assert_true(sim_now() - began >= 10 * SIM_MS && sim_now() - began < 11 * SIM_MS);
        assert_ok(GNI_MsgqProgress(me.queue, 20)); /* all four, and 20 ms of silence */
        assert_int_equal(me.total, 4);
        sim_settle();
        assert_true(sim_now() - began >= 80 * SIM_MS && sim_now() - began < 81 * SIM_MS);
        assert_ok(GNI_MsgqProgress(me.queue, 1));
    }
    stop(&me);
}

static void ugni_120_blocking(void **state)
{
    machine_run(&(struct machine){.main = blocking_main});
}

/* Instance 2 (of ranks 2 and 3 on node 1) reads what is for 3, as far as 3's pool goes. */
static void pool_main(struct rank *rank)
{
    struct instance me;
    uint32_t i;

    machine_simulated(); /* processes have a mailbox each: none reads what is another's */
    open_domain(&me, rank);
    me.attrs.rcv_pool_sz = 2;
    assert_ok(init(&me));
    create_endpoints(&me);
    machine_barrier(rank);
    connect_nodes(&me);
    if (rank->id == 0) {
        for (i = 0; i < 3; i++)
            assert_ok(try_send(&me, 3));
        assert_ok(try_send(&me, 2));
        settle(&me, 0);
    }
    machine_barrier(rank);
    if (rank->id == 2) {
        assert_rc(GNI_MsgqProgress(me.queue, 0), GNI_RC_NOT_DONE); /* there is more, behind */
        assert_int_equal(me.total, 0);
    }
    machine_barrier(rank);
    if (rank->id == 3)
        settle(&me, 3);
    if (rank->id == 2)
        settle(&me, 1);
    stop(&me);
}

static void ugni_120_pools(void **state)
{
    machine_run(&(struct machine){.ranks = 4, .ranks_per_node = 2, .main = pool_main});
}

/* The same in blocking mode: who waits is woken by who takes a message for it. */
static void pool_blocking_main(struct rank *rank)
{
    struct instance me;
    uint32_t i;

    open_domain(&me, rank);
    me.attrs.rcv_pool_sz = 1;
    me.attrs.modes = GNI_MSGQ_MODE_BLOCKING;
    assert_ok(init(&me));
    create_endpoints(&me);
    machine_barrier(rank);
    connect_nodes(&me);
    for (i = 0; i < 200 && rank->id == 0; i++)
        while (try_send(&me, 2 + i % 2) == GNI_RC_NOT_DONE)
            collect(&me);
    while (rank->id >= 2 && me.total < 100) {
        gni_return_t rc = GNI_MsgqProgress(me.queue, 1);

        assert_true(rc == GNI_RC_SUCCESS || rc == GNI_RC_NOT_DONE);
    }
    settle(&me, 0);
    stop(&me);
}

static void ugni_120_pools_when_blocking(void **state)
{
    machine_run(&(struct machine){.ranks = 4, .ranks_per_node = 2, .main = pool_blocking_main});
}

/* Something else writes into the private queue: its registration is in the attributes. */
static void foreign_main(struct rank *rank)
{
    gni_post_descriptor_t descr = {.type = GNI_POST_CQWRITE, .cq_mode = GNI_CQMODE_GLOBAL_EVENT};
    struct instance me;

    start(&me, rank);
    if (rank->id == 0) {
        descr.remote_mem_hndl = exchanged[0][1].insts[0].mdh;
        descr.cqwrite_value = 0x1234;
        assert_ok(GNI_PostCqWrite(me.eps[1], &descr));
        complete(me.domain.source, &descr);
        assert_ok(try_send(&me, 1));
        settle(&me, 0);
        machine_barrier(rank);
    } else {
        machine_barrier(rank);
        assert_rc(GNI_MsgqProgress(me.queue, 0), GNI_RC_INVALID_STATE);
        settle(&me, 1); /* it was taken out */
    }
    stop(&me);
}

static void ugni_120_unexpected_event(void **state)
{
    machine_run(&(struct machine){.main = foreign_main});
}

/* Two entries are too few for all the events: every message comes all the same. */
static void overrun_main(struct rank *rank)
{
    struct instance me;
    uint32_t i;

    open_domain(&me, rank);
    me.attrs.rcv_cq_sz = 2;
    me.attrs.smsg_q_sz = 64;
    assert_ok(init(&me));
    create_endpoints(&me);
    machine_barrier(rank);
    connect_nodes(&me);
    for (i = 0; i < 60; i++)
        assert_ok(try_send(&me, (rank->id + rank->machine->ranks_per_node) % 4));
    sim_spend(SIM_MS);
    settle(&me, 60);
    for (i = 0; i < 60; i++)
        while (try_send(&me, (rank->id + rank->machine->ranks_per_node) % 4) == GNI_RC_NOT_DONE)
            GNI_MsgqProgress(me.queue, 0);
    settle(&me, 120);
    stop(&me);
}

static void ugni_120_overrun(void **state)
{
    machine_run(&(struct machine){.ranks = 4,
                                  .ranks_per_node = 1,
                                  .param = {"aries.nic.cq_exact"},
                                  .value = {1},
                                  .main = overrun_main});
}

/* ---- in the order of Cray's sample ----------------------------------------------------------- */

#define TRANSFERS 10

static void sample_send(struct instance *me, uint32_t to)
{
    gni_cq_entry_t entry;
    gni_return_t rc;

    if (me->eps[to] == NULL)
        return;
    do {
        rc = try_send(me, to);
    } while (rc == GNI_RC_NOT_DONE);
    assert_rc(rc, GNI_RC_SUCCESS);
    entry = good_event(me->domain.source);
    assert_int_equal(GNI_CQ_GET_MSG_ID(entry), me->next[to] - 1);
}

static void sample_receive(struct instance *me, uint32_t timeout)
{
    gni_return_t rc;

    do {
        rc = GNI_MsgqProgress(me->queue, timeout);
    } while (rc == GNI_RC_NOT_DONE);
    assert_rc(rc, GNI_RC_SUCCESS);
}

/* Attributes go in datagrams; everybody sends around the ring; nobody repeats a release. */
static void sample_main(struct rank *rank)
{
    const uint32_t timeout = *(const uint32_t *)rank->machine->argument;
    uint32_t ranks = rank->machine->ranks, per_node = rank->machine->ranks_per_node, i, size, n;
    uint32_t next = rank->id + 1 < ranks ? rank->id + 1 : 0;
    uint32_t previous = (rank->id > 0 ? rank->id : ranks) - 1;
    gni_msgq_ep_attr_t mine, theirs;
    gni_post_state_t state;
    uint32_t address, id;
    struct instance me;

    open_domain(&me, rank);
    me.attrs.modes = timeout != UINT32_MAX ? GNI_MSGQ_MODE_BLOCKING : 0;
    me.attrs.smsg_q_sz = 2 * ranks;
    me.attrs.rcv_pool_sz = 1;
    me.attrs.num_msgq_eps = ranks - 1;
    me.attrs.rcv_cq_sz = ranks - 1;
    create_endpoints(&me);
    machine_barrier(rank);
    assert_ok(init(&me));
    machine_barrier(rank);
    for (i = 0; is_leader(rank) && i < ranks; i += per_node) {
        uint32_t sent_bytes, part;

        if (me.eps[i] == NULL)
            continue;
        assert_ok(GNI_MsgqGetConnAttrs(me.queue, pe_of(rank, i), &mine, &size));
        for (sent_bytes = 0; sent_bytes < size; sent_bytes += part) {
            part =
                size - sent_bytes < GNI_DATAGRAM_MAXSIZE ? size - sent_bytes : GNI_DATAGRAM_MAXSIZE;
            assert_ok(GNI_EpPostData(me.eps[i], (char *)&mine + sent_bytes, (uint16_t)part,
                                     (char *)&theirs + sent_bytes, (uint16_t)part));
            assert_ok(GNI_EpPostDataWait(me.eps[i], -1, &state, &address, &id));
            assert_int_equal(state, GNI_POST_COMPLETED);
            assert_int_equal(id, i);
        }
        assert_ok(GNI_MsgqConnect(me.queue, pe_of(rank, i), &theirs));
    }
    machine_barrier(rank);
    for (n = 0; n < TRANSFERS; n++) {
        machine_barrier(rank);
        sample_send(&me, next);
        if (me.eps[previous] != NULL)
            sample_receive(&me, timeout);
    }
    machine_barrier(rank);
    for (i = 0; i < ranks; i++)
        if (me.expected[i] != TRANSFERS) {
            sim_spend(SIM_MS);
            sample_receive(&me, timeout);
        }
    if (me.eps[previous] != NULL)
        assert_int_equal(me.total, TRANSFERS);
    machine_barrier(rank);
    for (i = 0; is_leader(rank) && i < ranks; i += per_node)
        if (me.eps[i] != NULL)
            assert_ok(GNI_MsgqConnRelease(me.queue, pe_of(rank, i)));
    machine_barrier(rank);
    assert_ok(GNI_MsgqRelease(me.queue));
    for (i = 0; i < ranks; i++)
        if (me.eps[i] != NULL) {
            assert_ok(GNI_EpUnbind(me.eps[i]));
            assert_ok(GNI_EpDestroy(me.eps[i]));
        }
    assert_ok(GNI_CqDestroy(me.domain.source));
    domain_close(&me.domain);
}

static void ugni_136_message_queue_sample(void **state)
{
    static uint32_t timeouts[] = {UINT32_MAX, 3, 30};
    uint32_t i;

    for (i = 0; i < 3; i++) {
        machine_run(&(struct machine){
            .ranks = 9, .ranks_per_node = 3, .main = sample_main, .argument = &timeouts[i]});
        machine_run(&(struct machine){.ranks = 5, .main = sample_main, .argument = &timeouts[i]});
    }
}

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

/* After so many retries the message is lost for good, and with it the connection. */
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

/* A node dies: who sends there learns of it in bounded time, others go on. */
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
    if (rank->id % 3 != 0) { /* the others go with what they have */
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
        /* Room for what the attributes promise. */
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
        cmocka_unit_test(ugni_120_send_checks),
        cmocka_unit_test(ugni_120_credits),
        cmocka_unit_test(ugni_120_send_queue_full),
        cmocka_unit_test(ugni_120_release_waits_for_sends),
        cmocka_unit_test(ugni_120_callback_contract),
        cmocka_unit_test(ugni_120_answers_from_the_callback),
        cmocka_unit_test(ugni_120_blocking),
        cmocka_unit_test(ugni_120_pools),
        cmocka_unit_test(ugni_120_pools_when_blocking),
        cmocka_unit_test(ugni_120_unexpected_event),
        cmocka_unit_test(ugni_120_overrun),
        cmocka_unit_test(ugni_136_message_queue_sample),
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
