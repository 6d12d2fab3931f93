/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* An instance of a shared message queue that counts the messages which it sends and receives. */
#include "msgq_frame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

gni_msgq_ep_attr_t exchanged[8][8];

uint32_t node_count(const struct machine *machine)
{
    return (machine->ranks + machine->ranks_per_node - 1) / machine->ranks_per_node;
}

char translated;

uint32_t pe_of(const struct rank *rank, uint32_t peer)
{
    uint32_t node = rank->machine->rank[peer].node;

    return rank->machine->argument == &translated ? node_count(rank->machine) - 1 - node
                                                  : machine_address(rank->machine, node);
}

bool is_leader(const struct rank *rank)
{
    return rank->id % rank->machine->ranks_per_node == 0;
}

void fill(uint8_t *message, uint32_t from, uint32_t to, uint32_t number, uint32_t bytes)
{
    uint32_t i;

    for (i = 0; i < bytes; i++)
        message[i] = (uint8_t)(from * 31 + to * 17 + number * 7 + i);
    memcpy(message, &number, sizeof number);
}

int receive(uint32_t snd_id, uint32_t snd_pe, void *msg, uint8_t msg_tag, void *cb_data)
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

gni_msgq_attr_t usual_attrs(const struct rank *rank)
{
    return (gni_msgq_attr_t){.max_msg_sz = GNI_MSGQ_MSG_SZ_MAX,
                             .smsg_q_sz = 8,
                             .rcv_pool_sz = 64,
                             .num_msgq_eps = 8,
                             .nloc_insts = rank->machine->ranks_per_node,
                             .rcv_cq_sz = 512};
}

void open_domain(struct instance *me, struct rank *rank)
{
    memset(me, 0, sizeof *me);
    me->rank = rank;
    me->attrs = usual_attrs(rank);
    domain_open(rank, &me->domain, GNI_CDM_MODE_ERR_NO_KILL);
}

gni_return_t init(struct instance *me)
{
    return GNI_MsgqInit(me->domain.nic, receive, me, me->domain.source, &me->attrs, &me->queue);
}

void create_endpoints(struct instance *me)
{
    uint32_t peer;

    for (peer = 0; peer < me->rank->machine->ranks; peer++) {
        if (me->rank->machine->rank[peer].node == me->rank->node)
            continue;
        assert_ok(GNI_EpCreate(me->domain.nic, me->domain.source, &me->eps[peer]));
        assert_ok(GNI_EpBind(me->eps[peer], pe_of(me->rank, peer), peer));
    }
}

void connect_nodes(struct instance *me)
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

void start(struct instance *me, struct rank *rank)
{
    open_domain(me, rank);
    assert_ok(init(me));
    create_endpoints(me);
    machine_barrier(rank);
    connect_nodes(me);
}

gni_return_t try_send(struct instance *me, uint32_t to)
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

void collect(struct instance *me)
{
    gni_cq_entry_t entry;
    gni_return_t rc;

    while ((rc = GNI_CqGetEvent(me->domain.source, &entry)) == GNI_RC_SUCCESS) {
        assert_int_equal(GNI_CQ_GET_TYPE(entry), GNI_CQ_EVENT_TYPE_MSGQ);
        me->completions++;
    }
    assert_rc(rc, GNI_RC_NOT_DONE);
}

uint32_t sent(const struct instance *me)
{
    uint32_t peer, total = 0;

    for (peer = 0; peer < MACHINE_RANKS; peer++)
        total += me->next[peer];
    return total;
}

void settle(struct instance *me, uint32_t messages)
{
    while (me->completions < sent(me) || me->total < messages) {
        gni_return_t rc = GNI_MsgqProgress(me->queue, 0);

        /* ERROR_RESOURCE: counts to return fill the private queue until slow peers have them. */
        assert_true(rc == GNI_RC_SUCCESS || rc == GNI_RC_NOT_DONE || rc == GNI_RC_ERROR_RESOURCE);
        collect(me);
    }
}

void stop(struct instance *me)
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

char slow_callbacks; /* the machine's argument: some have such */

void all_to_all_main(struct rank *rank)
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
