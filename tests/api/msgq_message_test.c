/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared message queues: sending and receiving messages. */
#include "msgq_frame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

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

/* The program collects no events: sends wait for room in the queue, and no event is lost. */
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
        /* The messages of the other instance fill its queue, so it cannot return credits. */
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

/* Blocks up to a time limit for each message. */
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

/*
 * Instance 2 (ranks 2 and 3 are on node 1) reads the messages for 3 as long as 3's pool has room.
 */
static void pool_main(struct rank *rank)
{
    struct instance me;
    uint32_t i;

    /* Each process has a mailbox of its own: none reads the messages of another. */
    machine_simulated();
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

/* The same in blocking mode: an instance that receives a message for another one wakes it. */
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

/*
 * Attributes are exchanged by datagrams; each rank sends around the ring; no rank repeats a
 * release.
 */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
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
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
