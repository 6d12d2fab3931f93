/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SMSG: damaged messages, statistics, delivery modes and mailboxes in an MDD block. */
#include "smsg_frame.h"

#include <stdlib.h>
#include <string.h>

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

/* Changes a bit of the word in the mailbox, as if it had changed on its way. */
static void flip_word(const struct link *link, uint64_t word)
{
    size_t at;

    for (at = 0; at + sizeof(word) <= link->bytes; at++)
        if (memcmp(link->memory + at, &word, sizeof(word)) == 0)
            link->memory[at] ^= 1;
}

/* A bit that changes on the way: the ledger says so, the reader does not believe the message. */
static void flip_main(struct rank *rank)
{
    uint64_t word = 0x1122334455667788;
    gni_return_t rc;
    struct link link;
    void *message;

    link_open(rank, &link, &mbox);
    machine_barrier(rank);
    if (rank->id == 0) {
        send_message(&link, &word, 8, 0);
        good_event(link.domain.source);
        machine_barrier(rank);
    } else {
        machine_barrier(rank); /* the message is in the mailbox */
        flip_word(&link, word);
        rc = GNI_SmsgGetNext(link.ep, &message);
        assert_rc(rc, GNI_RC_INVALID_STATE);
        assert_false(sim_ledger_balanced());
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

/* Mailboxes as libfabric makes them: messages of 16 KiB with a header of their own besides. */
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
