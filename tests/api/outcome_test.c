/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The effect of each kind of fault at the source of a PUT: every row of the table of outcomes in
 * docs/model.md, at the level of uGNI. (Bit errors on links: with the packets of F2.)
 */
#include "fixture.h"

#include <string.h>
#include "net/net.h"

#define BYTES (1u << 20)
#define OLD 0x22
#define NEW 0x11
#define EARLIEST (2700 * SIM_MS)
#define LATEST (5400 * SIM_MS)

static uint8_t memory[2][BYTES] __attribute__((aligned(4096)));

/* Nodes 0 and 4: routers 0 and 1, which one link joins. */
static void place(struct machine *machine)
{
    machine->node[0] = 0;
    machine->node[1] = 4;
}

static void open_side(struct rank *rank, struct side *side)
{
    memset(memory[rank->id], rank->id == 0 ? NEW : OLD, BYTES);
    side_open(rank, side, memory[rank->id], BYTES, GNI_CDM_MODE_ERR_NO_KILL);
}

static gni_post_descriptor_t put(const struct side *side, gni_post_type_t type, uint64_t bytes,
                                 uint16_t dlvr_mode)
{
    gni_post_descriptor_t descr = side_describe(side, type, 0, 0, bytes);

    descr.dlvr_mode = dlvr_mode;
    return descr;
}

/* Status of the completion, and how long it took. */
static unsigned outcome(const struct side *side, gni_post_descriptor_t *descr, sim_time_t began,
                        sim_time_t *after)
{
    gni_post_descriptor_t *collected;
    gni_return_t result;
    gni_cq_entry_t event = next_event(side->domain.source, &result);

    *after = sim_local_time() - began;
    assert_rc(GNI_GetCompleted(side->domain.source, event, &collected), result);
    assert_ptr_equal(collected, descr);
    assert_int_equal(result == GNI_RC_SUCCESS, GNI_CQ_GET_STATUS(event) == 0);
    return (unsigned)GNI_CQ_GET_STATUS(event);
}

static unsigned timed(const struct side *side, gni_post_descriptor_t *descr, sim_time_t *after)
{
    sim_time_t began = sim_clock_read();

    assert_ok(post(side->ep, descr));
    return outcome(side, descr, began, after);
}

static uint64_t written(void)
{
    uint64_t count = 0;
    uint32_t i;

    for (i = 0; i < BYTES; i++)
        count += memory[1][i] == NEW;
    return count;
}

/* A fault at a time, from outside of the ranks. */
struct timed_fault {
    struct sim_event event;
    struct rank *rank;
    void (*inject_fault)(struct rank *rank);
};

static void inject_now(struct sim_event *event)
{
    struct timed_fault *fault = sim_container_of(event, struct timed_fault, event);

    fault->inject_fault(fault->rank);
}

static void inject_after(struct rank *rank, void (*inject_fault)(struct rank *rank),
                         sim_time_t after)
{
    static struct timed_fault fault;

    fault = (struct timed_fault){{inject_now}, rank, inject_fault};
    sim_settle();
    sim_event_schedule(&fault.event, sim_now() + after);
}

static void run(void (*main)(struct rank *rank))
{
    machine_run(&(struct machine){.main = main, .place = place});
}

#define SOURCE_ONLY(rank, side)            \
    do {                                   \
        if ((rank)->id != 0) {             \
            machine_barrier(rank);         \
            domain_close(&(side)->domain); \
            return;                        \
        }                                  \
    } while (0)

static void finish(struct side *side)
{
    machine_barrier(side->rank);
    domain_close(&side->domain);
}

/* ---- lanes ----------------------------------------------------------------------------------- */

/* Success; that link at 2/3, then 1/3 of its rate. */
static void lanes_main(struct rank *rank)
{
    sim_time_t full, two, one;
    gni_post_descriptor_t descr;
    struct side side;

    open_side(rank, &side);
    SOURCE_ONLY(rank, &side);
    descr = put(&side, GNI_POST_RDMA_PUT, BYTES, GNI_DLVMODE_IN_ORDER);
    assert_int_equal(timed(&side, &descr, &full), 0);
    assert_true(net_link_set_lanes(rank->machine->net, 0, 1, 0, 2));
    assert_int_equal(timed(&side, &descr, &two), 0);
    assert_true(net_link_set_lanes(rank->machine->net, 0, 1, 0, 1));
    assert_int_equal(timed(&side, &descr, &one), 0);
    assert_in_range(two * 100 / full, 147, 153);
    assert_in_range(one * 100 / full, 294, 306);
    assert_true(net_link_set_lanes(rank->machine->net, 0, 1, 0, 3));
    finish(&side);
}

static void aries_19_lane_loss(void **state)
{
    run(lanes_main);
}

/* ---- links and routers ----------------------------------------------------------------------- */

static void link_down(struct rank *rank)
{
    assert_true(net_link_set_alive(rank->machine->net, 0, 1, 0, false));
}

#define BURST 64

/*
 * Packets on the link are lost: each transaction concerned ends with ORB_TIMEOUT, the others
 * succeed. (A transaction that loses ten packets or more, as a chunk of F1 does, ends with
 * ENDPOINT_UNREACHABLE.)
 */
static void burst_over_dying_link(struct rank *rank, const struct side *side, uint16_t mode)
{
    gni_post_descriptor_t descr[BURST], *collected;
    gni_return_t result;
    unsigned i, lost = 0;

    for (i = 0; i < BURST; i++) {
        descr[i] = put(side, GNI_POST_FMA_PUT, 512, mode);
        descr[i].remote_addr += 512 * i;
        assert_ok(post(side->ep, &descr[i]));
        if (i == BURST / 2)
            inject_after(rank, link_down, 300 * SIM_NS);
    }
    for (i = 0; i < BURST; i++) {
        gni_cq_entry_t event = next_event(side->domain.source, &result);

        assert_rc(GNI_GetCompleted(side->domain.source, event, &collected), result);
        lost += result != GNI_RC_SUCCESS;
        if (result != GNI_RC_SUCCESS)
            assert_int_equal(GNI_CQ_GET_STATUS(event), A_STATUS_ORB_TIMEOUT);
    }
    assert_in_range(lost, 1, BURST / 2);
    assert_true(net_link_set_alive(rank->machine->net, 0, 1, 0, true));
    memset(memory[1], OLD, BYTES);
}

/* Part of a long one is written; later traffic is fine. */
static void link_main(struct rank *rank)
{
    uint16_t mode = *(const uint16_t *)rank->machine->argument;
    gni_post_descriptor_t descr, small;
    struct net_counters before, after_it;
    sim_time_t after;
    struct side side;
    unsigned i, status;

    open_side(rank, &side);
    SOURCE_ONLY(rank, &side);
    burst_over_dying_link(rank, &side, mode);
    descr = put(&side, GNI_POST_RDMA_PUT, BYTES, mode);
    inject_after(rank, link_down, 50 * SIM_US);
    status = timed(&side, &descr, &after);
    assert_true(status == A_STATUS_ORB_TIMEOUT || status == A_STATUS_ENDPOINT_UNREACHABLE);
    assert_in_range(after, EARLIEST, LATEST);
    assert_in_range(written(), 1, BYTES - 1);
    net_get_counters(rank->machine->net, &before);
    small = put(&side, GNI_POST_FMA_PUT, 64, mode);
    for (i = 0; i < 100; i++) {
        assert_int_equal(timed(&side, &small, &after), 0);
        assert_true(after < 10 * SIM_US);
    }
    assert_int_equal(timed(&side, &descr, &after), 0);
    assert_int_equal(written(), BYTES);
    net_get_counters(rank->machine->net, &after_it);
    assert_int_equal(after_it.dropped, before.dropped);
    finish(&side);
}

static void aries_28_link_down(void **state)
{
    static uint16_t modes[] = {GNI_DLVMODE_PERFORMANCE, GNI_DLVMODE_IN_ORDER};
    unsigned i;

    for (i = 0; i < 2; i++)
        machine_run(&(struct machine){.main = link_main, .place = place, .argument = &modes[i]});
}

static void router_down(struct rank *rank)
{
    assert_true(net_router_set_alive(rank->machine->net, 1, false));
}

/* The router of the target: nothing reaches it any more. */
static void router_main(struct rank *rank)
{
    gni_post_descriptor_t descr;
    sim_time_t after;
    struct side side;

    open_side(rank, &side);
    SOURCE_ONLY(rank, &side);
    descr = put(&side, GNI_POST_RDMA_PUT, BYTES, 0);
    inject_after(rank, router_down, 50 * SIM_US);
    assert_int_equal(timed(&side, &descr, &after), A_STATUS_ENDPOINT_UNREACHABLE);
    assert_in_range(after, EARLIEST, LATEST);
    assert_true(net_router_set_alive(rank->machine->net, 1, true));
    assert_int_equal(timed(&side, &descr, &after), 0);
    assert_int_equal(written(), BYTES);
    finish(&side);
}

static void aries_51_router_down(void **state)
{
    run(router_main);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void node_down(struct rank *rank)
{
    aries_node_crash(rank->machine->fabric, rank->machine->node[1]);
}

/* 9 packets outstanding, and 10. */
static void node_main(struct rank *rank)
{
    gni_post_descriptor_t few, many;
    sim_time_t after;
    struct side side;

    open_side(rank, &side);
    if (rank->id == 1) {
        machine_barrier(rank); /* never left */
        return;
    }
    sim_sleep_until(sim_clock_read() + SIM_MS);
    node_down(rank);
    few = put(&side, GNI_POST_FMA_PUT, 9 * 64, 0);
    many = put(&side, GNI_POST_FMA_PUT, 10 * 64, 0);
    assert_int_equal(timed(&side, &few, &after), A_STATUS_ORB_TIMEOUT);
    assert_in_range(after, EARLIEST, LATEST);
    assert_int_equal(timed(&side, &many, &after), A_STATUS_ENDPOINT_UNREACHABLE);
    assert_in_range(after, EARLIEST, LATEST);
    domain_close(&side.domain);
}

static void aries_51_node_down(void **state)
{
    machine_run(&(struct machine){.main = node_main, .place = place, .unbalanced = true});
}

/* Shorter than the timer: success, later. Longer: lost. */
static void hang_main(struct rank *rank)
{
    struct aries_fabric *fabric = rank->machine->fabric;
    uint32_t node = rank->machine->node[1];
    gni_post_descriptor_t descr;
    sim_time_t after;
    struct side side;

    open_side(rank, &side);
    SOURCE_ONLY(rank, &side);
    descr = put(&side, GNI_POST_RDMA_PUT, BYTES, 0);
    aries_nic_hang(fabric, node, 2500 * SIM_MS);
    assert_int_equal(timed(&side, &descr, &after), 0);
    assert_in_range(after, 2500 * SIM_MS, 2501 * SIM_MS);
    assert_int_equal(written(), BYTES);
    descr = put(&side, GNI_POST_FMA_PUT, 64, 0);
    aries_nic_hang(fabric, node, 6 * SIM_S);
    assert_int_equal(timed(&side, &descr, &after), A_STATUS_ORB_TIMEOUT);
    assert_in_range(after, EARLIEST, LATEST);
    sim_sleep_until(sim_clock_read() + 3 * SIM_S);
    assert_int_equal(timed(&side, &descr, &after), 0);
    finish(&side);
}

static void aries_50_nic_hang(void **state)
{
    run(hang_main);
}

/* A host that does not answer: writes wait, reads fail after 1.5 ms. */
static void stall_main(struct rank *rank)
{
    struct aries_fabric *fabric = rank->machine->fabric;
    uint32_t node = rank->machine->node[1];
    gni_post_descriptor_t descr;
    sim_time_t after;
    struct side side;

    open_side(rank, &side);
    SOURCE_ONLY(rank, &side);
    descr = put(&side, GNI_POST_FMA_PUT, 64, 0);
    aries_pcie_stall(fabric, node, 10 * SIM_MS);
    assert_int_equal(timed(&side, &descr, &after), 0);
    assert_in_range(after, 10 * SIM_MS, 11 * SIM_MS);
    descr = put(&side, GNI_POST_FMA_GET, 64, 0);
    aries_pcie_stall(fabric, node, SIM_MS);
    assert_int_equal(timed(&side, &descr, &after), 0);
    aries_pcie_stall(fabric, node, 10 * SIM_MS);
    assert_int_equal(timed(&side, &descr, &after), A_STATUS_PI_TIMEOUT);
    finish(&side);
}

static void aries_50_pcie_stall(void **state)
{
    run(stall_main);
}

/* ---- the whole machine ----------------------------------------------------------------------- */

static void pause_main(struct rank *rank)
{
    struct aries_fabric *fabric = rank->machine->fabric;
    gni_post_descriptor_t descr;
    sim_time_t plain, after;
    struct side side;

    open_side(rank, &side);
    SOURCE_ONLY(rank, &side);
    descr = put(&side, GNI_POST_RDMA_PUT, BYTES, 0);
    assert_int_equal(timed(&side, &descr, &plain), 0);
    sim_settle();
    aries_quiesce(fabric, 30 * SIM_S); /* longer than every timer */
    assert_int_equal(timed(&side, &descr, &after), 0);
    assert_in_range(after, 30 * SIM_S, 30 * SIM_S + SIM_MS);
    sim_settle();
    aries_throttle(fabric, 25, SIM_S);
    assert_int_equal(timed(&side, &descr, &after), 0);
    assert_in_range(after, 2 * plain, 5 * plain);
    finish(&side);
}

static void aries_57_quiesce_and_throttle(void **state)
{
    run(pause_main);
}

/* ---- packets --------------------------------------------------------------------------------- */

/* An error does not mean "not written". */
static void response_main(struct rank *rank)
{
    gni_post_descriptor_t descr;
    gni_cq_entry_t event;
    sim_time_t after;
    struct side side;

    open_side(rank, &side);
    SOURCE_ONLY(rank, &side);
    descr = put(&side, GNI_POST_FMA_PUT, 64, 0);
    descr.cq_mode |= GNI_CQMODE_REMOTE_EVENT;
    packet_fault(SIM_FAULT_DROP, NET_RESPONSE, 0);
    assert_int_equal(timed(&side, &descr, &after), A_STATUS_ORB_TIMEOUT);
    assert_int_equal(written(), 64);
    assert_rc(GNI_CqGetEvent(side.domain.target, &event), GNI_RC_NOT_DONE); /* not ours */
    /* Nor does a poisoned response; a poisoned request is refused. */
    memset(memory[1], OLD, BYTES);
    packet_fault(SIM_FAULT_CORRUPT, NET_RESPONSE, 0);
    assert_int_equal(timed(&side, &descr, &after), A_STATUS_DATA_ERR);
    assert_int_equal(written(), 64);
    memset(memory[1], OLD, BYTES);
    packet_fault(SIM_FAULT_CORRUPT, NET_REQUEST, 0);
    assert_int_equal(timed(&side, &descr, &after), A_STATUS_DATA_ERR);
    assert_int_equal(written(), 0);
    packet_fault(SIM_FAULT_DROP, NET_REQUEST, 0);
    assert_int_equal(timed(&side, &descr, &after), A_STATUS_ORB_TIMEOUT);
    assert_int_equal(written(), 0);
    finish(&side);
}

static void aries_58_an_error_does_not_mean_not_written(void **state)
{
    run(response_main);
}

/* Every status that ugni programs meet can be injected, at either end. */
static void status_main(struct rank *rank)
{
    static const struct {
        unsigned status;
        uint32_t recoverable;
    } rows[] = {
        {A_STATUS_AT_MDD_INV, 0},
        {A_STATUS_AT_PROTECTION_ERR, 0},
        {A_STATUS_AT_BOUNDS_ERR, 0},
        {A_STATUS_AT_MDD_WR_PERMISSION_ERR, 0},
        {A_STATUS_AT_PF_INV, 0},
        {A_STATUS_SSID_TIMEOUT, 1},
        {A_STATUS_ORB_TIMEOUT, 1},
        {A_STATUS_DATA_ERR, 1},
        {A_STATUS_RMT_SEQTBL_UNAVAILABLE, 1},
        {A_STATUS_RMT_DESC_UNAVAILABLE, 1},
        {A_STATUS_DLA_OVERFLOW, 1},
    };
    gni_post_descriptor_t descr, *collected;
    gni_return_t result;
    gni_cq_entry_t event;
    uint32_t recoverable;
    struct side side;
    unsigned i, kind;

    open_side(rank, &side);
    SOURCE_ONLY(rank, &side);
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (kind = NET_REQUEST; kind <= NET_RESPONSE; kind++) {
            descr = put(&side, GNI_POST_FMA_PUT, 64, 0);
            memset(memory[1], OLD, BYTES);
            packet_fault(SIM_FAULT_FAIL, kind, rows[i].status);
            assert_ok(post(side.ep, &descr));
            event = next_event(side.domain.source, &result);
            assert_rc(result, GNI_RC_TRANSACTION_ERROR);
            assert_int_equal(GNI_CQ_GET_STATUS(event), rows[i].status);
            assert_ok(GNI_CqErrorRecoverable(event, &recoverable));
            assert_int_equal(recoverable, rows[i].recoverable);
            assert_rc(GNI_GetCompleted(side.domain.source, event, &collected),
                      GNI_RC_TRANSACTION_ERROR);
            assert_int_equal(written(), kind == NET_REQUEST ? 0 : 64);
            assert_ok(post(side.ep, &descr)); /* once only */
            complete(side.domain.source, &descr);
        }
    finish(&side);
}

static void ugni_87_statuses_can_be_injected(void **state)
{
    run(status_main);
}

/* ---- memory descriptors ---------------------------------------------------------------------- */

/* At the target, then at the source; repaired by registering anew. */
static void descriptor_main(struct rank *rank)
{
    struct aries_fabric *fabric = rank->machine->fabric;
    gni_post_descriptor_t descr;
    gni_mem_handle_t other;
    sim_time_t after;
    struct side side;

    open_side(rank, &side);
    other = domain_register(&side.domain, memory[rank->id], 4096, side.domain.target, 0);
    publish(rank, other, memory[rank->id]);
    if (rank->id == 1) {
        machine_barrier(rank);
        assert_ok(GNI_MemDeregister(side.domain.nic, &side.handle));
        side.handle = domain_register(&side.domain, memory[1], BYTES, side.domain.target, 0);
        publish(rank, side.handle, memory[1]);
        finish(&side);
        return;
    }
    aries_mdd_corrupt(fabric, rank->machine->node[1], 0);
    descr = put(&side, GNI_POST_FMA_PUT, 64, 0);
    assert_int_equal(timed(&side, &descr, &after), A_STATUS_AT_MDD_UNCORRECTABLE);
    assert_int_equal(written(), 0);
    assert_true(after < 10 * SIM_US);
    descr.type = GNI_POST_RDMA_PUT;
    assert_int_equal(timed(&side, &descr, &after), A_STATUS_AT_MDD_UNCORRECTABLE);
    descr.type = GNI_POST_CQWRITE;
    assert_int_equal(timed(&side, &descr, &after), A_STATUS_AT_MDD_UNCORRECTABLE);
    descr = put(&side, GNI_POST_FMA_GET, 64, 0);
    assert_int_equal(timed(&side, &descr, &after), A_STATUS_AT_MDD_UNCORRECTABLE);
    descr = put(&side, GNI_POST_FMA_PUT, 64, 0); /* its other registration is sound */
    descr.remote_mem_hndl = published_handle(rank, 1);
    assert_int_equal(timed(&side, &descr, &after), 0);
    machine_barrier(rank);
    publish(rank, side.handle, memory[0]);
    descr.remote_mem_hndl = published_handle(rank, 1);
    assert_int_equal(timed(&side, &descr, &after), 0);
    /* Local: a put by the CPU does not need it, the engine's does. */
    aries_mdd_corrupt(fabric, rank->machine->node[0], ARIES_EVERY);
    assert_int_equal(timed(&side, &descr, &after), 0);
    descr.type = GNI_POST_RDMA_PUT;
    assert_int_equal(timed(&side, &descr, &after), A_STATUS_AT_MDD_UNCORRECTABLE);
    finish(&side);
}

static void aries_53_corrupt_memory_descriptor(void **state)
{
    run(descriptor_main);
}

/* ---- queues ---------------------------------------------------------------------------------- */

/* One queue of the node, by its number: 0 is the source queue, 1 the other. */
static void queue_main(struct rank *rank)
{
    struct aries_fabric *fabric = rank->machine->fabric;
    gni_cq_entry_t event;
    struct side side;

    open_side(rank, &side);
    SOURCE_ONLY(rank, &side);
    aries_cq_force_overrun_of(fabric, 0, 1);
    assert_rc(GNI_CqGetEvent(side.domain.source, &event), GNI_RC_NOT_DONE);
    assert_rc(GNI_CqGetEvent(side.domain.target, &event), GNI_RC_ERROR_RESOURCE);
    assert_int_equal(GNI_CQ_OVERRUN(event), 1);
    assert_rc(GNI_CqGetEvent(side.domain.target, &event), GNI_RC_NOT_DONE);
    aries_cq_force_overrun(fabric, 0);
    assert_rc(GNI_CqGetEvent(side.domain.source, &event), GNI_RC_ERROR_RESOURCE);
    assert_rc(GNI_CqGetEvent(side.domain.target, &event), GNI_RC_ERROR_RESOURCE);
    finish(&side);
}

static void ugni_50_overrun_of_one_queue(void **state)
{
    run(queue_main);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aries_19_lane_loss),
        cmocka_unit_test(aries_28_link_down),
        cmocka_unit_test(aries_51_router_down),
        cmocka_unit_test(aries_51_node_down),
        cmocka_unit_test(aries_50_nic_hang),
        cmocka_unit_test(aries_50_pcie_stall),
        cmocka_unit_test(aries_57_quiesce_and_throttle),
        cmocka_unit_test(aries_58_an_error_does_not_mean_not_written),
        cmocka_unit_test(ugni_87_statuses_can_be_injected),
        cmocka_unit_test(aries_53_corrupt_memory_descriptor),
        cmocka_unit_test(ugni_50_overrun_of_one_queue),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
