/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Short messages under faults (checklist item 117), damaged mailboxes, statistics and delivery
 * modes. */
#include "smsg_pair.h"

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

static void shuffle(struct machine *machine)
{
    add_fault(SIM_FAULT_DELAY, 0, 0, 0.4);
}

static void shuffle_and_lose(struct machine *machine)
{
    add_fault(SIM_FAULT_DROP, 0, 0, 0.002);
    add_fault(SIM_FAULT_DROP, 1, 0, 0.002);
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

/* ---- damage, statistics, delivery modes ------------------------------------------------------ */

static void damage_main(struct rank *rank)
{
    struct link link;
    void *message;

    link_open(rank, &link, &mbox);
    assert_rc(GNI_SmsgGetNext(link.ep, &message), GNI_RC_NOT_DONE);
    memset(link.memory, 0xa5, link.bytes); /* by the program itself */
    assert_rc(GNI_SmsgGetNext(link.ep, &message), GNI_RC_INVALID_STATE);
    assert_rc(GNI_SmsgGetNext(link.ep, &message), GNI_RC_INVALID_STATE);
    link_close(rank, &link);
}

static void ugni_114_damaged_mailbox(void **state)
{
    machine_run(&(struct machine){.main = damage_main});
}

/* A bit that changes on the way: the ledger says so, the reader does not believe the message. */
static void flip_main(struct rank *rank)
{
    uint64_t word = 1;
    gni_return_t rc;
    struct link link;
    void *message;

    link_open(rank, &link, &mbox);
    aries_mutate(rank->machine->fabric, ARIES_MUTATE_FLIP, 1);
    machine_barrier(rank);
    if (rank->id == 0) {
        send_message(&link, &word, 8, 0);
        good_event(link.domain.source);
    } else {
        while ((rc = GNI_SmsgGetNext(link.ep, &message)) == GNI_RC_NOT_DONE)
            ;
        assert_rc(rc, GNI_RC_INVALID_STATE);
        assert_false(ledger_balanced());
    }
    link_close(rank, &link);
}

static void ugni_111_changed_message_is_noticed(void **state)
{
    machine_run(&(struct machine){.main = flip_main, .unbalanced = true});
}

static void stall_main(struct rank *rank)
{
    struct link link;
    uint32_t stalls;

    link_open(rank, &link, &mbox);
    machine_barrier(rank);
    if (rank->id == 0) {
        assert_int_equal(fill(&link, 8), 8);
        assert_ok(GNI_GetNicStat(link.domain.nic, GNI_STAT_SMSG_MBOX_CREDITS_STALL, &stalls));
        assert_int_equal(stalls, 1);
        assert_rc(GNI_SmsgSend(link.ep, NULL, 0, NULL, 0, 0), GNI_RC_NOT_DONE);
        assert_ok(GNI_GetNicStat(link.domain.nic, GNI_STAT_SMSG_MBOX_CREDITS_STALL, &stalls));
        assert_int_equal(stalls, 2);
        assert_ok(GNI_ResetNicStat(link.domain.nic, GNI_STAT_SMSG_MBOX_CREDITS_STALL));
        assert_ok(GNI_GetNicStat(link.domain.nic, GNI_STAT_SMSG_MBOX_CREDITS_STALL, &stalls));
        assert_int_equal(stalls, 0);
    }
    machine_barrier(rank);
    drain(link.domain.source);
    link_close(rank, &link);
}

static void ugni_129_credit_stalls_are_counted(void **state)
{
    machine_run(&(struct machine){.main = stall_main});
}

static void modes_main(struct rank *rank)
{
    static const uint16_t good[] = {GNI_DLVMODE_PERFORMANCE, GNI_DLVMODE_IN_ORDER,
                                    GNI_DLVMODE_MIN_HASH,    GNI_DLVMODE_NMIN_HASH,
                                    GNI_DLVMODE_ADAPTIVE1,   GNI_DLVMODE_ADAPTIVE3};
    struct link link;
    uint32_t i;

    link_open(rank, &link, &mbox);
    assert_rc(GNI_SmsgSetDeliveryMode(link.domain.nic, 0x8000), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_SmsgSetDeliveryMode(NULL, 0), GNI_RC_INVALID_PARAM);
    machine_barrier(rank);
    for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        if (rank->id == 0) {
            assert_ok(GNI_SmsgSetDeliveryMode(link.domain.nic, good[i]));
            send_message(&link, &i, 4, i);
            sent(&link, i);
        } else {
            assert_int_equal(*(uint32_t *)get_message(&link), i);
            assert_ok(GNI_SmsgRelease(link.ep));
        }
    }
    link_close(rank, &link);
}

static void ugni_111_delivery_modes(void **state)
{
    machine_run(&(struct machine){.main = modes_main});
}

/* SMSG and posts read a mode in one place. */
static void routes_main(struct rank *rank)
{
    static const struct {
        uint16_t mode;
        enum net_route route;
    } routes[] = {
        {GNI_DLVMODE_PERFORMANCE, NET_ROUTE_ADAPTIVE_0},
        {GNI_DLVMODE_NO_HASH, NET_ROUTE_ADAPTIVE_0},
        {GNI_DLVMODE_NO_RADAPT, NET_ROUTE_ADAPTIVE_0},
        {GNI_DLVMODE_ORDERED_TAIL, NET_ROUTE_ADAPTIVE_0},
        {GNI_DLVMODE_NO_ADAPT, NET_ROUTE_MIN_HASHED},
        {GNI_DLVMODE_IN_ORDER, NET_ROUTE_IN_ORDER},
        {GNI_DLVMODE_NO_HASH | GNI_DLVMODE_NO_ADAPT | GNI_DLVMODE_NO_RADAPT, NET_ROUTE_IN_ORDER},
        {GNI_DLVMODE_MIN_HASH, NET_ROUTE_MIN_HASHED},
        {GNI_DLVMODE_NMIN_HASH, NET_ROUTE_NON_MIN_HASHED},
        {GNI_DLVMODE_ADAPTIVE1, NET_ROUTE_ADAPTIVE_1},
        {GNI_DLVMODE_ADAPTIVE2 | GNI_DLVMODE_NO_HASH, NET_ROUTE_ADAPTIVE_2},
        {GNI_DLVMODE_ADAPTIVE3 | GNI_DLVMODE_ORDERED_TAIL, NET_ROUTE_ADAPTIVE_3},
    };
    struct domain domain;
    unsigned i;

    domain_open(rank, &domain, 0);
    for (i = 0; i < sizeof routes / sizeof routes[0]; i++) {
        assert_ok(GNI_SmsgSetDeliveryMode(domain.nic, routes[i].mode));
        assert_int_equal(domain.nic->smsg_route, routes[i].route);
    }
    for (i = 0x200; i <= 0x8000; i <<= 1)
        assert_rc(GNI_SmsgSetDeliveryMode(domain.nic, (uint16_t)i), GNI_RC_INVALID_PARAM);
    domain_close(&domain);
}

static void ugni_76_ugni_111_routes_of_delivery_modes(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = routes_main});
}

/* libfabric's mailboxes: messages of 16 KiB whose own header comes on top of that. */
static void beyond_main(struct rank *rank)
{
    static uint8_t header[32], data[16384];
    const struct shape shape = {
        .type = GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT, .credits = 64, .bytes = 16384};
    struct link link;
    uint32_t bytes, i;
    uint8_t tag;

    link_open(rank, &link, &shape);
    machine_barrier(rank);
    for (bytes = 16384 - 33; bytes < 16384; bytes++) {
        if (rank->id == 0) {
            gni_return_t rc;

            memset(header, (int)bytes, sizeof header);
            memset(data, (int)bytes + 1, sizeof data);
            while ((rc = GNI_SmsgSendWTag(link.ep, header, sizeof header, data, bytes, bytes, 5)) ==
                   GNI_RC_NOT_DONE) {
                gni_cq_entry_t event;

                GNI_CqGetEvent(link.domain.source, &event);
            }
            assert_ok(rc);
        } else {
            uint8_t *message;
            gni_return_t rc;

            do {
                tag = GNI_SMSG_ANY_TAG;
                rc = GNI_SmsgGetNextWTag(link.ep, (void **)&message, &tag);
            } while (rc == GNI_RC_NOT_DONE);
            assert_ok(rc);
            assert_int_equal(tag, 5);
            for (i = 0; i < 32 + bytes; i++)
                if (message[i] != (uint8_t)(bytes + (i >= 32)))
                    fail_msg("byte %u of a message of 32 + %u", i, bytes);
            assert_ok(GNI_SmsgRelease(link.ep));
        }
    }
    machine_barrier(rank);
    drain(link.domain.source);
    link_close(rank, &link);
}

static void ugni_111_header_beyond_the_largest_message(void **state)
{
    machine_run(&(struct machine){.main = beyond_main});
}

/* Mailboxes in an MDD block: by address with handles as registered, by offset with rebuilt ones. */
static void vmdh_link_main(struct rank *rank)
{
    struct shape shape = mbox;
    struct link link;
    uint32_t i;

    shape.vmdh = true;
    shape.offset = 4096 + 64;
    shape.no_init = true;
    link_open(rank, &link, &shape);
    if (rank->id == 1) { /* a handle made of a key */
        struct aries_mem_handle fields;

        aries_mem_handle_decode(&link.theirs.mem_hndl, &fields);
        fields.address = 0;
        link.theirs.mem_hndl = aries_mem_handle_encode(&fields);
        link.theirs.msg_buffer = NULL;
    }
    assert_ok(GNI_SmsgInit(link.ep, &link.mine, &link.theirs));
    machine_barrier(rank);
    for (i = 0; i < 100; i++) {
        if (i % 2 == rank->id) {
            send_message(&link, &i, sizeof i, i);
            sent(&link, i);
        } else {
            good_event(link.domain.target);
            assert_int_equal(*(uint32_t *)get_message(&link), i);
            assert_ok(GNI_SmsgRelease(link.ep));
        }
    }
    link_close(rank, &link);
}

static void ugni_39_ugni_111_mailboxes_in_the_block(void **state)
{
    machine_run(&(struct machine){.main = vmdh_link_main});
}

/* A message over an idle machine, the sum of stages of docs/model.md: 690 ns on one blade, 5 less
 * for green.
 */
static void latency_main(struct rank *rank)
{
    sim_time_t begin = 0;
    uint64_t word = 0;
    struct link link;

    machine_simulated();
    link_open(rank, &link, &mbox);
    machine_barrier(rank);
    if (rank->id == 0) {
        sim_sleep_until(sim_local_time() + 10 * SIM_US);
        rank->machine->shared[0][8] = sim_local_time();
        send_message(&link, &word, 8, 0);
        sent(&link, 0);
    } else {
        good_event(link.domain.target);
        get_message(&link);
        begin = rank->machine->shared[0][8];
        assert_int_equal(sim_local_time() - begin, 690 * SIM_NS);
        assert_ok(GNI_SmsgRelease(link.ep));
    }
    link_close(rank, &link);
}

static void aries_41_smsg_latency(void **state)
{
    machine_run(&(struct machine){.main = latency_main});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ugni_117_lost_requests_are_hidden),
        cmocka_unit_test(ugni_117_lost_responses_do_not_double),
        cmocka_unit_test(ugni_117_retries_end),
        cmocka_unit_test(ugni_111_order_under_reordering),
        cmocka_unit_test(ugni_113_short_messages_touch_half_a_page),
        cmocka_unit_test(ugni_117_order_under_losses),
        cmocka_unit_test(ugni_114_damaged_mailbox),
        cmocka_unit_test(ugni_111_changed_message_is_noticed),
        cmocka_unit_test(ugni_129_credit_stalls_are_counted),
        cmocka_unit_test(ugni_111_delivery_modes),
        cmocka_unit_test(ugni_76_ugni_111_routes_of_delivery_modes),
        cmocka_unit_test(ugni_111_header_beyond_the_largest_message),
        cmocka_unit_test(ugni_39_ugni_111_mailboxes_in_the_block),
        cmocka_unit_test(aries_41_smsg_latency),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
