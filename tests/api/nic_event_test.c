/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Events, seeds and timers of the NIC: items 35 to 37, 49 and 61 of the checklist aries. */
#include "nic_frame.h"

#include <stdlib.h>
#include <string.h>

/* ---- items 35, 36 ---------------------------------------------------------------------------- */

#define SLOTS 8
#define SLOT_BYTES 8192u
#define ROUNDS 12

/* All bytes of the slot have the value of this round? */
static bool arrived(const uint8_t *slot, uint32_t bytes, uint8_t value)
{
    uint32_t i;

    for (i = 0; i < bytes; i++)
        if (slot[i] != value)
            return false;
    return true;
}

static uint32_t slot_bytes(uint32_t slot)
{
    static const uint32_t bytes[SLOTS] = {8, 64, 100, 1024, 1500, 4096, 8000, SLOT_BYTES};

    return bytes[slot];
}

static void put_slot(struct side *side, gni_ep_handle_t ep, gni_post_descriptor_t *descr,
                     uint32_t slot, uint8_t value)
{
    uint8_t *source = side->memory + slot * SLOT_BYTES;

    memset(source, value, slot_bytes(slot));
    *descr = side_describe(side, slot % 2 ? GNI_POST_RDMA_PUT : GNI_POST_FMA_PUT, slot * SLOT_BYTES,
                           slot * SLOT_BYTES, slot_bytes(slot));
    descr->cq_mode |= GNI_CQMODE_REMOTE_EVENT;
    descr->post_id = slot;
    assert_ok(post(ep, descr));
}

static void putter(struct side *side, uint32_t pair)
{
    gni_post_descriptor_t descr[SLOTS], *collected;
    gni_ep_handle_t ep[SLOTS];
    uint32_t slot, round;

    for (slot = 0; slot < SLOTS; slot++) {
        ep[slot] = domain_connect(side->rank, &side->domain, side->rank->id ^ 1);
        assert_ok(GNI_EpSetEventData(ep[slot], slot, slot));
    }
    for (round = 1; round <= ROUNDS; round++) {
        for (slot = 0; slot < SLOTS; slot++)
            put_slot(side, ep[slot], &descr[slot], slot, (uint8_t)(round + pair));
        for (slot = 0; slot < SLOTS; slot++) {
            assert_ok(
                GNI_GetCompleted(side->domain.source, good_event(side->domain.source), &collected));
            /* The target is the same process for the test: its memory has the bytes by now. */
            assert_true(arrived((uint8_t *)(uintptr_t)collected->remote_addr,
                                (uint32_t)collected->length, (uint8_t)(round + pair)));
        }
        machine_barrier(side->rank);
    }
}

static void order_main(struct rank *rank)
{
    uint32_t pair = rank->id / 2 * 16, round, i;
    struct side side;

    open_as(rank, &side, 0);
    if (rank->id % 2 == 0) {
        putter(&side, pair);
    } else {
        for (round = 1; round <= ROUNDS; round++) {
            for (i = 0; i < SLOTS; i++) {
                gni_cq_entry_t event = good_event(side.domain.target);
                uint32_t slot = (uint32_t)GNI_CQ_GET_REM_INST_ID(event);

                assert_true(slot < SLOTS);
                assert_true(arrived(side.memory + slot * SLOT_BYTES, slot_bytes(slot),
                                    (uint8_t)(round + pair)));
            }
            machine_barrier(rank);
        }
    }
    side_close(&side);
}

/* Senders on four blades of a chassis, all receivers on one: the network is loaded. */
static void place_incast(struct machine *machine)
{
    uint32_t i;

    for (i = 0; i < machine->ranks; i++)
        machine->node[i] = i % 2 ? i / 2 % 4 : 4 + 4 * (i / 2) % 48;
}

static void aries_35_aries_36_events_follow_their_data(void **state)
{
    machine_run(&(struct machine){.ranks = 16, .main = order_main, .place = place_incast});
    machine_run(&(struct machine){.ranks = 16,
                                  .main = order_main,
                                  .place = place_incast,
                                  .configure = configure_closed_form});
}

/* ---- item 37 --------------------------------------------------------------------------------- */

#define EVENTS 6

/* The sender's completion is good and has REM_OVERRUN: the data was written. */
static void overrun_main(struct rank *rank)
{
    gni_post_descriptor_t descr;
    gni_mem_handle_t handle;
    gni_cq_entry_t event;
    struct side side;
    gni_cq_handle_t cq;
    uint32_t i;

    open_as(rank, &side, 0);
    assert_ok(GNI_CqCreate(side.domain.nic, EVENTS - 2, 0, GNI_CQ_NOBLOCK, NULL, NULL, &cq));
    handle = domain_register(&side.domain, side.memory, 4096, cq, GNI_MEM_READWRITE);
    publish(rank, handle, side.memory);
    side.peer_handle = published_handle(rank, rank->id ^ 1);
    for (i = 0; i < EVENTS && rank->id == 0; i++) {
        side.memory[i] = (uint8_t)(i + 1);
        descr = side_describe(&side, GNI_POST_FMA_PUT, i, i, 1);
        descr.cq_mode |= GNI_CQMODE_REMOTE_EVENT;
        assert_ok(post(side.ep, &descr));
        event = complete(side.domain.source, &descr);
        assert_int_equal(GNI_CQ_REM_OVERRUN(event), i >= EVENTS - 2);
    }
    machine_barrier(rank);
    if (rank->id == 1) {
        for (i = 0; i < EVENTS; i++)
            assert_int_equal(side.memory[i], i + 1);
        for (i = 0; i < EVENTS - 3; i++)
            good_event(cq);
        assert_rc(GNI_CqGetEvent(cq, &event), GNI_RC_ERROR_RESOURCE);
        assert_true(GNI_CQ_OVERRUN(event));
        /* The lost event does not come back. */
        assert_rc(GNI_CqGetEvent(cq, &event), GNI_RC_NOT_DONE);
    }
    side_close(&side);
}

static void aries_37_overrun_loses_events(void **state)
{
    machine_run(&(struct machine){
        .main = overrun_main,
        .param = {"aries.nic.cq_exact"},
        .value = {1},
    });
}

/* ---- item 49 --------------------------------------------------------------------------------- */

struct outcome {
    struct aries_counters aries;
    struct net_counters net;
    uint64_t digest;
};

/* Everybody writes to everybody: adaptive paths depend on the load and on random numbers. */
static void everybody_main(struct rank *rank)
{
    uint32_t ranks = rank->machine->ranks, round, i, done;
    gni_post_descriptor_t descr[MACHINE_RANKS], *collected;
    struct side side;
    gni_ep_handle_t ep[MACHINE_RANKS];

    open_as(rank, &side, 0);
    for (i = 0; i < ranks; i++)
        ep[i] = domain_connect(rank, &side.domain, i);
    for (round = 0; round < 3; round++) {
        for (i = 0; i < ranks; i++) {
            descr[i] =
                describe_put(i % 2 ? GNI_POST_RDMA_PUT : GNI_POST_FMA_PUT, side.memory, side.handle,
                             published_address(rank, i), published_handle(rank, i), 6000);
            assert_ok(post(ep[i], &descr[i]));
        }
        for (done = 0; done < ranks; done++)
            assert_ok(
                GNI_GetCompleted(side.domain.source, good_event(side.domain.source), &collected));
    }
    machine_barrier(rank);
    if (rank->id == 0) {
        struct outcome *outcome = rank->machine->argument;

        outcome->aries = counters_of(rank);
        net_get_counters(rank->machine->net, &outcome->net);
    }
    side_close(&side);
}

static void place_scattered(struct machine *machine)
{
    uint32_t i;

    for (i = 0; i < machine->ranks; i++)
        machine->node[i] = i * 37 % net_endpoints(machine->net);
}

static struct outcome everybody(uint64_t seed)
{
    struct outcome outcome;
    struct machine machine = {
        .ranks = 24,
        .seed = seed,
        .preset = "mini2",
        .main = everybody_main,
        .place = place_scattered,
        .argument = &outcome,
    };

    machine_run(&machine);
    outcome.digest = machine.digest;
    return outcome;
}

static void aries_49_seeds(void **state)
{
    struct outcome first = everybody(5), again = everybody(5), other = everybody(6);

    assert_int_equal(first.digest, again.digest);
    assert_memory_equal(&first.aries, &again.aries, sizeof first.aries);
    assert_memory_equal(&first.net, &again.net, sizeof first.net);

    /* Another seed: other paths and times, the same packets and events. */
    assert_int_not_equal(first.digest, other.digest);
    assert_int_not_equal(first.net.hops, other.net.hops);
    assert_int_equal(first.net.units, other.net.units);
    assert_int_equal(first.aries.request_packets, other.aries.request_packets);
    assert_int_equal(first.aries.response_packets, other.aries.response_packets);
    assert_int_equal(first.aries.payload_bytes, other.aries.payload_bytes);
    assert_int_equal(first.aries.transactions, other.aries.transactions);
    assert_int_equal(first.aries.events, other.aries.events);
    /* item 62, under load */
    assert_int_equal(first.aries.request_packets, first.aries.response_packets);
}

/* ---- item 61 --------------------------------------------------------------------------------- */

/* Every timer that the table has; the model has one for packets and one for reads of the host. */
static void aries_61_timers_are_short(void **state)
{
    size_t count, found = 0, i;
    const struct aries_param *table = aries_param_table(&count);

    for (i = 0; i < count; i++)
        if (strstr(table[i].name, "timeout") != NULL) {
            assert_string_equal(table[i].unit, "ms");
            assert_true(table[i].maximum <= 15000);
            assert_true(table[i].value[0] <= 15000 && table[i].value[1] <= 15000 &&
                        table[i].value[2] <= 15000);
            found++;
        }
    assert_int_equal(found, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aries_35_aries_36_events_follow_their_data),
        cmocka_unit_test(aries_37_overrun_loses_events),
        cmocka_unit_test(aries_49_seeds),
        cmocka_unit_test(aries_61_timers_are_short),
    };

    return cmocka_run_group_tests_name("nic_event", tests, NULL, NULL);
}
