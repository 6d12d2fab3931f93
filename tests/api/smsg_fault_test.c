/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SMSG under faults, and connections that are made anew: checklist items 111, 113, 117 and 118. */
#include "smsg_frame.h"

#include <stdlib.h>
#include <string.h>

/* ---- item 117 and other faults --------------------------------------------------------------- */

static void add_fault(enum sim_fault_action action, uint32_t kind, uint64_t count,
                      double probability)
{
    struct sim_fault_rule rule = packet_rule(action, kind);

    rule.count_max = count;
    rule.probability = probability;
    rule.delay = 3 * SIM_US;
    packet_rule_add(&rule);
}

static void lose_three(struct machine *machine)
{
    add_fault(SIM_FAULT_DROP, 0, 3, 1);
}

static void lose_responses(struct machine *machine)
{
    add_fault(SIM_FAULT_DROP, 1, 3, 1);
}

static void lose_all(struct machine *machine)
{
    add_fault(SIM_FAULT_DROP, 0, 0, 1);
}

static void retransmit_main(struct rank *rank)
{
    struct aries_counters counters;
    struct link link;
    uint32_t i;

    link_open(rank, &link, &safe);
    machine_barrier(rank);
    for (i = 0; i < 20; i++) {
        if (rank->id == 0) {
            send_message(&link, &i, sizeof(i), i);
            sent(&link, i); /* as if nothing had happened */
        } else {
            assert_int_equal(*(uint32_t *)get_message(&link), i); /* once, whatever was lost */
            assert_ok(GNI_SmsgRelease(link.ep));
        }
    }
    aries_get_counters(rank->machine->fabric, &counters);
    assert_true(counters.errors >= 3);
    machine_barrier(rank);
    drain(link.domain.target);
    link_close(rank, &link);
}

static void ugni_117_lost_requests_are_hidden(void **state)
{
    machine_run(&(struct machine){.main = retransmit_main, .prepare = lose_three});
}

static void ugni_117_lost_responses_do_not_double(void **state)
{
    machine_run(&(struct machine){.main = retransmit_main, .prepare = lose_responses});
}

static void exhausted_main(struct rank *rank)
{
    struct shape shape = rank->machine->argument != NULL ? mbox : safe;
    gni_cq_entry_t event;
    uint32_t recoverable;
    gni_return_t rc;
    struct link link;

    link_open(rank, &link, &shape);
    assert_ok(GNI_SmsgSetMaxRetrans(link.domain.nic, 2));
    assert_rc(GNI_SmsgSetMaxRetrans(NULL, 2), GNI_RC_INVALID_PARAM);
    machine_barrier(rank);
    if (rank->id == 0) {
        assert_ok(GNI_SmsgSend(link.ep, NULL, 0, NULL, 0, 0x87654321));
        assert_rc(GNI_EpUnbind(link.ep), GNI_RC_NOT_DONE);
        event = next_event(link.domain.source, &rc);
        assert_rc(rc, GNI_RC_TRANSACTION_ERROR);
        assert_int_equal(GNI_CQ_GET_TYPE(event), GNI_CQ_EVENT_TYPE_SMSG);
        assert_int_equal(GNI_CQ_GET_MSG_ID(event), 0x87654321);
        assert_ok(GNI_CqErrorRecoverable(event, &recoverable));
        assert_int_equal(recoverable, 1);
        assert_rc(GNI_SmsgSend(link.ep, NULL, 0, NULL, 0, 1), GNI_RC_INVALID_STATE);
        assert_ok(GNI_EpUnbind(link.ep));
        /* One attempt, or the first and two more, each over after the hardware's timeout. */
        assert_true(rank->machine->argument != NULL ? sim_local_time() < 6 * SIM_S
                                                    : sim_local_time() > 8 * SIM_S);
    }
    link_close(rank, &link);
}

static void ugni_117_retries_end(void **state)
{
    machine_run(&(struct machine){.main = exhausted_main, .prepare = lose_all});
    machine_run(&(struct machine){.main = exhausted_main, .prepare = lose_all, .argument = state});
}

/* Rank 1 releases half of what the mailbox holds, and no attempt to return the credits arrives. */
static void return_lost_main(struct rank *rank)
{
    const uint32_t count = safe.credits / 2;
    gni_cq_entry_t event;
    struct link link;
    gni_return_t rc;
    void *message;
    uint32_t i;

    link_open(rank, &link, &safe);
    assert_ok(GNI_SmsgSetMaxRetrans(link.domain.nic, 2));
    machine_barrier(rank);
    for (i = 0; rank->id == 0 && i < count; i++) {
        send_message(&link, &i, sizeof(i), i);
        sent(&link, i);
    }
    machine_barrier(rank);
    if (rank->id == 1) {
        drain(link.domain.target);
        add_fault(SIM_FAULT_DROP, 0, 0, 1);
        for (i = 0; i < count; i++) {
            get_message(&link);
            assert_ok(GNI_SmsgRelease(link.ep));
        }
        do {
            GNI_CqGetEvent(link.domain.source, &event);
            rc = GNI_CqGetEvent(link.domain.target, &event);
        } while (rc == GNI_RC_NOT_DONE);
        assert_rc(rc, GNI_RC_ERROR_RESOURCE);
        assert_rc(GNI_SmsgGetNext(link.ep, &message), GNI_RC_INVALID_STATE);
        assert_true(sim_local_time() > 8 * SIM_S); /* three attempts */
    }
    link_close(rank, &link);
}

static void ugni_117_lost_returns_of_credits_end_the_connection(void **state)
{
    machine_run(&(struct machine){.main = return_lost_main});
}

static void shuffle(struct machine *machine)
{
    add_fault(SIM_FAULT_DELAY, 0, 0, 0.4);
}

static void shuffle_and_lose(struct machine *machine)
{
    add_fault(SIM_FAULT_DROP, 0, 0, 0.0004);
    add_fault(SIM_FAULT_DROP, 1, 0, 0.0004);
    shuffle(machine);
}

#define LONGEST 5000u

/* Long rings: one side starts over at the start, the other one near the end. */
static const struct shape long_rings = {
    .type = GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT, .credits = 16, .bytes = LONGEST};

static uint32_t torture_length(const struct shape *shape, uint32_t number, uint32_t side)
{
    uint32_t length = (number * 37 + side) % 257;

    return shape->bytes != LONGEST || number % 5 != 0 ? length : number * 997 % (LONGEST + 1);
}

/* Both directions at once, messages of all lengths, so that rings wrap everywhere. */
static void torture(struct rank *rank, const struct shape *shape)
{
    const uint32_t total = 3000;
    uint32_t out = 0, in = 0, length, i, wrong = 0;
    uint64_t data[LONGEST / 8 + 1];
    gni_cq_entry_t event;
    struct link link;
    uint8_t *message;
    gni_return_t rc;

    link_open(rank, &link, shape);
    machine_barrier(rank);
    while (in < total || out < total) {
        length = torture_length(shape, out, rank->id);
        for (i = 0; i < (length + 7) / 8; i++)
            data[i] = out * 0x9e3779b97f4a7c15ull + i;
        rc = out < total ? GNI_SmsgSend(link.ep, data, length, NULL, 0, out) : GNI_RC_NOT_DONE;
        out += rc == GNI_RC_SUCCESS;
        assert_true(rc == GNI_RC_SUCCESS || rc == GNI_RC_NOT_DONE);
        rc = GNI_CqGetEvent(link.domain.source, &event);
        assert_true(rc == GNI_RC_SUCCESS || rc == GNI_RC_NOT_DONE);
        if (GNI_SmsgGetNext(link.ep, (void **)&message) == GNI_RC_SUCCESS) {
            length = torture_length(shape, in, link.peer);
            for (i = 0; i < (length + 7) / 8; i++)
                data[i] = in * 0x9e3779b97f4a7c15ull + i;
            wrong += memcmp(message, data, length) != 0;
            assert_ok(GNI_SmsgRelease(link.ep));
            in++;
        }
        GNI_CqGetEvent(link.domain.target, &event);
    }
    assert_int_equal(wrong, 0);
    while (GNI_EpIdle(link.ep) == GNI_RC_NOT_DONE)
        GNI_CqGetEvent(link.domain.source, &event);
    link_close(rank, &link);
}

static void torture_main(struct rank *rank)
{
    torture(rank, &safe);
}

static void torture_long_main(struct rank *rank)
{
    torture(rank, &long_rings);
}

static void torture_half_page_main(struct rank *rank)
{
    struct shape shape = long_rings;

    shape.offset = 2048;
    torture(rank, &shape);
}

static void ugni_111_order_under_reordering(void **state)
{
    machine_run(&(struct machine){.main = torture_main});
    machine_run(&(struct machine){.main = torture_main, .prepare = shuffle});
    machine_run(&(struct machine){.main = torture_long_main});
    machine_run(&(struct machine){.main = torture_long_main, .prepare = shuffle});
    machine_run(&(struct machine){.main = torture_half_page_main, .prepare = shuffle});
}

static void ugni_117_order_under_losses(void **state)
{
    machine_run(&(struct machine){.main = torture_main, .prepare = shuffle_and_lose});
    machine_run(&(struct machine){.main = torture_long_main, .prepare = shuffle_and_lose});
}

/* Of two neighbours one page is used, as long as nothing waits in them. */
static void home_main(struct rank *rank)
{
    struct shape shape = long_rings;
    uint64_t word = 1, *message;
    uint32_t round, at;
    struct link link;

    shape.offset = rank->machine->prepare != NULL ? 2048 : 0;
    link_open(rank, &link, &shape);
    for (round = 0; round < 100; round++) {
        machine_barrier(rank);
        if (rank->id == round % 2) {
            send_message(&link, &word, 8, round);
            sent(&link, round);
            continue;
        }
        message = get_message(&link);
        at = (uint32_t)((uint8_t *)message - link.memory) - shape.offset;
        assert_int_equal(*message, 1);
        if (shape.offset == 0)
            assert_in_range(at, link.mine.buff_size - 1024 - 64, link.mine.buff_size - 8);
        else
            assert_in_range(at, 0, 1024);
        assert_ok(GNI_SmsgRelease(link.ep));
    }
    link_close(rank, &link);
}

static void no_faults(struct machine *machine)
{
    (void)machine;
}

static void ugni_113_short_messages_touch_half_a_page(void **state)
{
    machine_run(&(struct machine){.main = home_main});
    machine_run(&(struct machine){.main = home_main, .prepare = no_faults});
}

/* ---- item 118 -------------------------------------------------------------------------------- */

static void rebind_main(struct rank *rank)
{
    gni_cq_entry_t event;
    uint64_t word = 5;
    struct link link;
    uint32_t round;

    link_open(rank, &link, &safe);
    for (round = 0; round < 5; round++) {
        machine_barrier(rank);
        if (rank->id == 0) {
            assert_ok(GNI_EpSetEventData(link.ep, 77, 1000 + round));
            send_message(&link, &word, 8, round);
            sent(&link, round);
        } else {
            event = good_event(link.domain.target);
            assert_int_equal(GNI_CQ_GET_REM_INST_ID(event), 1000 + round);
            assert_int_equal(*(uint64_t *)get_message(&link), 5);
            if (round % 2 == 0) /* or it is unbound with a message unread */
                assert_ok(GNI_SmsgRelease(link.ep));
        }
        machine_barrier(rank);
        assert_ok(GNI_EpUnbind(link.ep));
        memset(link.memory, 0, link.bytes);
        machine_barrier(rank);
        assert_ok(GNI_EpBind(link.ep,
                             machine_address(rank->machine, rank->machine->rank[link.peer].node),
                             link.peer));
        assert_rc(GNI_SmsgSend(link.ep, NULL, 0, NULL, 0, 0), GNI_RC_INVALID_PARAM);
        assert_ok(GNI_SmsgInit(link.ep, &link.mine, &link.theirs));
    }
    link_close(rank, &link);
}

static void ugni_118_rebind(void **state)
{
    machine_run(&(struct machine){.main = rebind_main});
}

static void loop_main(struct rank *rank)
{
    uint32_t sent_count = 0, received = 0, wrong = 0;
    gni_cq_entry_t event;
    struct link link;
    uint32_t *message;

    link_open(rank, &link, &mbox); /* one mailbox, local and remote */
    while (received < 100000) {
        while (sent_count < 100000 &&
               GNI_SmsgSend(link.ep, &sent_count, 4, NULL, 0, 0) == GNI_RC_SUCCESS)
            sent_count++;
        while (GNI_CqGetEvent(link.domain.source, &event) == GNI_RC_SUCCESS)
            ;
        while (GNI_SmsgGetNext(link.ep, (void **)&message) == GNI_RC_SUCCESS) {
            wrong += *message != received++;
            assert_ok(GNI_SmsgRelease(link.ep));
        }
        drain(link.domain.target);
    }
    assert_int_equal(wrong, 0);
    assert_int_equal(sent_count, 100000);
    drain(link.domain.source);
    link_close(rank, &link);
}

static void ugni_118_connected_to_itself(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = loop_main});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ugni_117_lost_requests_are_hidden),
        cmocka_unit_test(ugni_117_lost_responses_do_not_double),
        cmocka_unit_test(ugni_117_retries_end),
        cmocka_unit_test(ugni_117_lost_returns_of_credits_end_the_connection),
        cmocka_unit_test(ugni_111_order_under_reordering),
        cmocka_unit_test(ugni_113_short_messages_touch_half_a_page),
        cmocka_unit_test(ugni_117_order_under_losses),
        cmocka_unit_test(ugni_118_rebind),
        cmocka_unit_test(ugni_118_connected_to_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
