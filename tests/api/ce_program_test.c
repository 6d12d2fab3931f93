/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The collective engine as programs use it, and its times. */
#include "ce_tree.h"

#include <math.h>
#include <string.h>

/* ---- habits of programs ---------------------------------------------------------------------- */

/*
 * GASNet: an engine per process, any radix from 1 to 31 besides the process itself, a barrier that
 * may be anonymous or carries a value, results polled with length 0 only when the post has ended.
 */
static void gasnet_main(struct rank *rank)
{
    uint32_t radix = *(const uint32_t *)rank->machine->argument, phase;
    struct tree tree;

    tree_open(rank, &tree, radix, GNI_CE_MODE_CQE_ONERR | GNI_CE_MODE_ROUND_NEAR);
    for (phase = 0; phase < 4; phase++) {
        uint64_t value = 0x1234 + phase, flag = rank->id % 3 == 0;
        bool done = false;

        tree_describe(&tree, phase & 1, GNI_FMA_CE_IMIN_LIDX, 0, phase, flag << 32 | value, value);
        tree_post(&tree);
        do {
            gni_post_descriptor_t *collected;
            gni_cq_entry_t event;

            if (!done && GNI_CqGetEvent(tree.domain.source, &event) == GNI_RC_SUCCESS) {
                assert_ok(GNI_GetCompleted(tree.domain.source, event, &collected));
                done = true;
            }
        } while (!done || GNI_CeCheckResult(tree.result, 0) == GNI_RC_NOT_DONE);
        assert_rc(GNI_CeCheckResult(tree.result, 0), GNI_RC_SUCCESS);
        assert_int_equal(tree.result->result1,
                         rank->machine->ranks > 1 ? value : flag << 32 | value);
    }
    tree_close(&tree);
}

static void gasnet_radix_1_to_31(void **state)
{
    uint32_t radix;

    for (radix = 1; radix <= 31; radix += radix < 5 ? 1 : 13)
        machine_run(&(struct machine){.ranks = 34, .argument = &radix, .main = gasnet_main});
}

/*
 * Cray's example: a thread of each leader waits for failures of its engine and is cancelled at the
 * end; source queues are waited on; the upper halves of short operands are what lay behind a float.
 */
static void watch_engine(void *argument)
{
    struct tree *tree = argument;
    gni_cq_entry_t event;

    GNI_CqWaitEvent(tree->events, (uint64_t)-1, &event);
    fail_msg("there was no failure");
}

static void cray_main(struct rank *rank)
{
    gni_post_descriptor_t *collected;
    struct sim_fiber *watcher = NULL;
    gni_cq_handle_t blocking;
    gni_cq_entry_t event;
    struct tree tree;
    float sum;

    tree_open(rank, &tree, 1, GNI_CE_MODE_CQE_ONERR | GNI_CE_MODE_ROUND_ZERO);
    if (tree.leads) {
        watcher = sim_fiber_start(watch_engine, &tree, "ce_err_handler", sim_clock_read());
        aries_process_bind(rank->process, watcher);
    }
    assert_ok(GNI_CqCreate(tree.domain.nic, 10, 0, GNI_CQ_BLOCKING, NULL, NULL, &blocking));
    assert_ok(GNI_EpCreate(tree.domain.nic, blocking, &tree.leaf));
    assert_ok(GNI_EpBind(tree.leaf, machine_address(rank->machine, rank->node), tree.node));
    assert_ok(GNI_EpSetCeAttr(tree.leaf,
                              (uint32_t)rank->machine->shared[tree.node * tree.locals][0],
                              tree.local, GNI_CE_CHILD_PE));
    machine_barrier(rank);
    tree_describe(&tree, 0, GNI_FMA_CE_FPADD_S, GNI_CEMODE_TWO_OP, 1234, 0xabcdef0140000000u,
                  0x7fffffff3f800000u); /* 2 and 1 */
    tree_post(&tree);
    assert_ok(GNI_CqWaitEvent(blocking, 1000, &event));
    assert_ok(GNI_GetCompleted(blocking, event, &collected));
    assert_rc(tree_wait(&tree), GNI_RC_SUCCESS);
    assert_int_equal(gni_ce_res_get_red_id(tree.result), 1234);
    memcpy(&sum, &tree.result->result1, sizeof sum);
    assert_true(sum == 2 * (float)rank->machine->ranks);
    memcpy(&sum, &tree.result->result2, sizeof sum);
    assert_true(sum == (float)rank->machine->ranks);
    machine_barrier(rank);
    if (watcher != NULL)
        sim_fiber_kill(watcher);
    assert_ok(GNI_EpDestroy(tree.leaf));
    assert_ok(GNI_CqDestroy(blocking));
    if (tree.leads) {
        assert_ok(GNI_CeDestroy(tree.ce));
        assert_ok(GNI_CqDestroy(tree.events));
    }
    tree_close(&tree);
}

static void crays_example(void **state)
{
    machine_run(&(struct machine){.ranks = 12, .ranks_per_node = 3, .main = cray_main});
}

/* ---- times ----------------------------------------------------------------------------------- */

static uint64_t latency; /* of rank 2, on the lower node */

static void latency_main(struct rank *rank)
{
    sim_time_t began;
    struct tree tree;

    tree_open(rank, &tree, 1, 0);
    tree_describe(&tree, 0, GNI_FMA_CE_AND, 0, 1, 1, 0);
    tree.descr.cq_mode = GNI_CQMODE_SILENT;
    if (rank->id == 1) /* the last rank to join: all others wait for it */
        sim_spend(20 * SIM_US);
    sim_settle();
    began = sim_local_time();
    tree_post(&tree);
    assert_rc(tree_wait(&tree), GNI_RC_SUCCESS);
    if (rank->id == 1)
        latency = sim_local_time() - began;
    tree_close(&tree);
}

/* Two nodes 2 links apart, and leaves with their engine. */
static void place_two_apart(struct machine *machine)
{
    uint32_t node;

    for (node = 0; net_minimal_hops(machine->net, 0, node) != 2; node++)
        ;
    machine->node[0] = 0;
    machine->node[1] = node;
}

/*
 * Times in ns: post by the leaf 80; PCIe 150; four steps (leaf to engine, engine to root, root to
 * engine, engine to leaf), each with 40 to send, 5 phits (6 to memory), the network, 40 to receive
 * and 50 in the engine; memory 150 + 10; visible after 30; one check of memory 10. The network
 * takes 50 inside a router and 250 over two links.
 */
static void engine_latency(void **state)
{
    struct machine machine = {.ranks = 2, .main = latency_main, .preset = "theta"};
    const char *hops[] = {"aries.link.green.hop_ns", "aries.link.blue.hop_ns"};

    machine.place = place_two_apart;
    machine.param[0] = hops[0];
    machine.param[1] = hops[1];
    machine.value[0] = machine.value[1] = 100;
    machine_run(&machine);
    /* 80 + 150 + 4 (40 + 40 + 50) + 3 · 7.14 + 8.57 + 2 (50 + 250) + 150 + 10 + 30 + 10 */
    assert_in_range(latency, 1578 * SIM_NS, 1595 * SIM_NS);
}

/* Rank 0 joins the engine of rank 1, that the engine of rank 2: two links everywhere. */
static void remote_leaf_main(struct rank *rank)
{
    gni_ep_handle_t child, parent;
    sim_time_t began;
    struct tree tree;

    tree_prepare(rank, &tree, 1);
    if (rank->id == 1) {
        child = tree_ep(&tree, 0, 0, 3, GNI_CE_CHILD_PE);
        parent = tree_ep(&tree, 2, 0, 5, GNI_CE_CHILD_VCE);
        assert_ok(GNI_CeConfigure(tree.ce, &child, 1, parent, NULL, 0));
    } else if (rank->id == 2) {
        child = tree_ep(&tree, 1, 0, 5, GNI_CE_CHILD_VCE);
        assert_ok(GNI_CeConfigure(tree.ce, &child, 1, NULL, NULL, 0));
    }
    machine_barrier(rank);
    if (rank->id == 0) {
        tree.leaf = tree_ep(&tree, 1, 0, 3, GNI_CE_CHILD_PE);
        tree_describe(&tree, 0, GNI_FMA_CE_AND, 0, 1, 1, 0);
        tree.descr.cq_mode = GNI_CQMODE_SILENT;
        sim_settle();
        began = sim_local_time();
        tree_post(&tree);
        assert_rc(tree_wait(&tree), GNI_RC_SUCCESS);
        latency = sim_local_time() - began;
    }
    tree_close(&tree);
}

static void place_two_apart_each(struct machine *machine)
{
    uint32_t node;

    place_two_apart(machine);
    for (node = machine->node[1] + 1; net_minimal_hops(machine->net, machine->node[1], node) != 2;
         node++)
        ;
    machine->node[2] = node;
}

/* The stages add up to 1968 ns with 7 ns for each packet, and one check of memory takes 10 ns. */
static void latency_of_two_levels(void **state)
{
    machine_run(&(struct machine){.ranks = 3,
                                  .preset = "theta",
                                  .place = place_two_apart_each,
                                  .param = {"aries.link.green.hop_ns", "aries.link.blue.hop_ns"},
                                  .value = {100, 100},
                                  .main = remote_leaf_main});
    assert_in_range(latency, 1978 * SIM_NS, 1982 * SIM_NS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gasnet_radix_1_to_31),
        cmocka_unit_test(crays_example),
        cmocka_unit_test(engine_latency),
        cmocka_unit_test(latency_of_two_levels),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
