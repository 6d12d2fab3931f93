/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The results of the collective engine: checklist items 122 and 38 (aries). */
#include "ce_tree.h"

#include <math.h>
#include <string.h>

#define GARBAGE 0x5a5a5a5a00000000u

/* ---- a second opinion on what each command means, from its name ------------------------------ */

#define NAMED(name)              \
    {                            \
        GNI_FMA_CE_##name, #name \
    }

static const struct named {
    gni_ce_cmd_type_t command;
    const char *name;
} commands[] = {
    NAMED(AND_S),        NAMED(AND),        NAMED(OR_S),         NAMED(OR),
    NAMED(XOR_S),        NAMED(XOR),        NAMED(IMIN_LIDX_S),  NAMED(IMIN_LIDX),
    NAMED(IMAX_LIDX_S),  NAMED(IMAX_LIDX),  NAMED(IADD_S),       NAMED(IADD),
    NAMED(FPMIN_LIDX_S), NAMED(FPMIN_LIDX), NAMED(FPMAX_LIDX_S), NAMED(FPMAX_LIDX),
    NAMED(FPADD_S),      NAMED(FPADD),      NAMED(IMIN_GIDX_S),  NAMED(IMIN_GIDX),
    NAMED(IMAX_GIDX_S),  NAMED(IMAX_GIDX),  NAMED(FPMIN_GIDX_S), NAMED(FPMIN_GIDX),
    NAMED(FPMAX_GIDX_S), NAMED(FPMAX_GIDX),
};
#define COMMANDS (sizeof commands / sizeof commands[0])

static bool has(const struct named *command, const char *word)
{
    return strstr(command->name, word) != NULL;
}

static bool is_short(const struct named *command)
{
    return has(command, "_S");
}

static uint64_t real_operand(const struct named *command, double wide)
{
    float narrow = (float)wide;
    uint64_t bits = 0;

    memcpy(&bits, is_short(command) ? (void *)&narrow : (void *)&wide, is_short(command) ? 4 : 8);
    return bits;
}

/* A small number as an operand of the command. */
static uint64_t operand(const struct named *command, int number)
{
    if (strncmp(command->name, "FP", 2) == 0)
        return real_operand(command, number + 0.5);
    return is_short(command) ? (uint32_t)number : (uint64_t)(int64_t)number;
}

/* The number that rank `id` contributes: two neighbouring ranks contribute the same. */
static int number_of(uint32_t id)
{
    return (int)(id / 2 * 5 % 7) - 3;
}

static int second_of(uint32_t id)
{
    return 100 + (int)id;
}

static uint64_t reduced(const struct named *command, uint32_t ranks, int (*of)(uint32_t))
{
    uint64_t result = operand(command, of(0)), next;
    double sum = of(0) + 0.5;
    uint32_t id;

    for (id = 1; id < ranks; id++) {
        next = operand(command, of(id));
        sum += of(id) + 0.5;
        result = has(command, "AND")   ? result & next
                 : has(command, "XOR") ? result ^ next
                 : has(command, "OR")  ? result | next
                                       : result + next;
    }
    if (has(command, "FPADD"))
        return real_operand(command, sum); /* exact */
    return is_short(command) ? (uint32_t)result : result;
}

static uint32_t winner(const struct named *command, uint32_t ranks)
{
    uint32_t best = 0, id;

    for (id = 1; id < ranks; id++) {
        int order = number_of(id) - number_of(best);

        if (has(command, "MAX") ? order > 0 : order < 0)
            best = id;
        else if (order == 0 && has(command, "GIDX"))
            best = id;
    }
    return best;
}

/* ---- item 122: a tree of two levels, all commands -------------------------------------------- */

static void check_command(struct tree *tree, const struct named *command, uint32_t mode)
{
    uint32_t ranks = tree->rank->machine->ranks, id = tree->rank->id, best;
    bool index = has(command, "IDX");
    uint64_t red_id = 0x800000000000u | (uint64_t)command->command << 8 | mode;
    uint64_t high = is_short(command) ? GARBAGE : 0;
    uint64_t second = index ? id : operand(command, second_of(id));

    tree_describe(tree, 0, command->command, mode, red_id, high | operand(command, number_of(id)),
                  high | second);
    assert_rc(GNI_CeCheckResult(tree->result, 0), GNI_RC_NOT_DONE);
    machine_barrier(tree->rank);
    tree_post(tree);
    complete(tree->domain.source, &tree->descr);
    assert_rc(tree_wait(tree), GNI_RC_SUCCESS);
    assert_true(GNI_CE_RES_STATUS_OK(tree->result));
    assert_int_equal(GNI_CE_RES_GET_STATUS(tree->result), 0);
    assert_int_equal(GNI_CE_RES_GET_FPE(tree->result), 0);
    assert_int_equal(GNI_CE_RES_GET_RED_ID(tree->result), red_id);
    if (index) {
        best = winner(command, ranks);
        assert_int_equal(tree->result->result1, operand(command, number_of(best)));
        assert_int_equal(tree->result->result2, best);
    } else {
        assert_int_equal(tree->result->result1, reduced(command, ranks, number_of));
        assert_int_equal(tree->result->result2,
                         mode & GNI_CEMODE_TWO_OP ? reduced(command, ranks, second_of) : 0);
    }
    machine_barrier(tree->rank);
}

static void all_commands_main(struct rank *rank)
{
    struct tree tree;
    size_t i;

    tree_open(rank, &tree, 2, GNI_CE_MODE_CQE_ONERR | GNI_CE_MODE_ROUND_ZERO); /* no route */
    for (i = 0; i < COMMANDS; i++) {
        check_command(&tree, &commands[i], GNI_CEMODE_TWO_OP);
        check_command(&tree, &commands[i], 0);
    }
    tree_close(&tree);
}

static void ugni_122_all_commands_in_a_tree(void **state)
{
    machine_run(&(struct machine){.ranks = 6, .ranks_per_node = 2, .main = all_commands_main});
}

/* Four levels, and several children of each. */
static void ugni_122_all_commands_in_a_deep_tree(void **state)
{
    machine_run(&(struct machine){.ranks = 30, .ranks_per_node = 2, .main = all_commands_main});
}

/* ---- item 122: attributes are taken over by GNI_CeConfigure ---------------------------------- */

static void reattributed_main(struct rank *rank)
{
    gni_ep_handle_t child, other;
    struct tree tree;

    tree_prepare(rank, &tree, 1);
    if (rank->id == 0) {
        child = tree_ep(&tree, 0, 0, 7, GNI_CE_CHILD_PE);
        other = tree_ep(&tree, 1, 0, 8, GNI_CE_CHILD_PE);
        assert_ok(GNI_CeConfigure(tree.ce, (gni_ep_handle_t[]){child, other}, 2, NULL, NULL, 0));
        /* Now it stands for something else, and then for nothing. */
        assert_ok(GNI_EpSetCeAttr(child, 3, 30, GNI_CE_CHILD_VCE));
        assert_ok(GNI_EpDestroy(other));
    }
    machine_barrier(rank);
    tree.leaf = tree_ep(&tree, 0, 0, 7 + rank->id, GNI_CE_CHILD_PE);
    assert_rc(tree_reduce(&tree, GNI_FMA_CE_IADD, 0, 1, 20 + rank->id, 0), GNI_RC_SUCCESS);
    assert_int_equal(tree.result->result1, 41);
    /*
     * Then the same endpoint is moved to another place in the tree, while the posted join is in
     * flight.
     */
    machine_barrier(rank);
    tree_describe(&tree, 1, GNI_FMA_CE_OR, 0, 2, 1u << rank->id, 0);
    tree_post(&tree);
    assert_ok(GNI_EpSetCeAttr(tree.leaf, 2, 0, GNI_CE_CHILD_PE));
    complete(tree.domain.source, &tree.descr);
    assert_rc(tree_wait(&tree), GNI_RC_SUCCESS);
    assert_int_equal(tree.result->result1, 3);
    tree_close(&tree);
}

static void ugni_122_attributes_change_after_configure(void **state)
{
    machine_run(&(struct machine){.ranks = 2, .main = reattributed_main});
}

/* ---- item 122: the result in memory that others name by offset ------------------------------- */

static void vmdh_result_main(struct rank *rank)
{
    static uint8_t pages[2][8192] __attribute__((aligned(4096)));
    struct tree tree;
    gni_mem_handle_t handle;

    tree_open(rank, &tree, 1, 0);
    memset(pages[rank->id], 0, sizeof pages[rank->id]);
    assert_ok(GNI_SetMddResources(tree.domain.nic, 8));
    assert_ok(GNI_MemRegister(tree.domain.nic, (uintptr_t)pages[rank->id], sizeof pages[rank->id],
                              NULL, GNI_MEM_READWRITE | GNI_MEM_USE_VMDH, 3, &handle));
    machine_barrier(rank);
    tree_describe(&tree, 0, GNI_FMA_CE_IADD, 0, 1, 20 + rank->id, 0);
    tree.result = (gni_ce_result_t *)(void *)(pages[rank->id] + 4096 + 64);
    tree.descr.local_addr = (uintptr_t)tree.result;
    tree.descr.local_mem_hndl = handle;
    tree_post(&tree);
    complete(tree.domain.source, &tree.descr);
    assert_rc(tree_wait(&tree), GNI_RC_SUCCESS);
    assert_int_equal(tree.result->result1, 41);
    tree_close(&tree);
}

static void ugni_39_ugni_122_result_by_address(void **state)
{
    machine_run(&(struct machine){.ranks = 2, .main = vmdh_result_main});
}

/* ---- item 122: one id again and again, as Cray's example does; silent posts ------------------ */

static void repeated_main(struct rank *rank)
{
    gni_cq_entry_t event;
    struct tree tree;
    uint32_t i;

    tree_open(rank, &tree, 2, GNI_CE_MODE_ROUND_NEAR);
    for (i = 0; i < 50; i++) { /* no barrier: a slow rank holds all others back */
        tree_describe(&tree, i % 2, GNI_FMA_CE_IADD, GNI_CEMODE_TWO_OP, 1234, i, rank->id);
        if (i % 3 == 0)
            tree.descr.cq_mode = GNI_CQMODE_SILENT;
        if (i % 7 == rank->id)
            sim_spend(3 * SIM_US);
        tree_post(&tree);
        if (tree.descr.cq_mode != GNI_CQMODE_SILENT)
            complete(tree.domain.source, &tree.descr);
        assert_rc(tree_wait(&tree), GNI_RC_SUCCESS);
        assert_int_equal(GNI_CE_RES_GET_RED_ID(tree.result), 1234);
        assert_int_equal(tree.result->result1, i * rank->machine->ranks);
        assert_int_equal(tree.result->result2,
                         rank->machine->ranks * (rank->machine->ranks - 1) / 2);
    }
    machine_barrier(rank);
    assert_rc(GNI_CqGetEvent(tree.domain.source, &event), GNI_RC_NOT_DONE);
    tree_close(&tree);
}

static void ugni_122_ids_repeat(void **state)
{
    machine_run(&(struct machine){.ranks = 7, .main = repeated_main});
}

/* ---- order of combination -------------------------------------------------------------------- */

static double real_of(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint64_t bits_of(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/*
 * Numbers whose sum depends on the order of addition, with each rank in turn as the last to join.
 */
static void order_main(struct rank *rank)
{
    static const double numbers[] = {1e16, 1, -1e16, 1};
    struct tree tree;
    uint32_t late;

    tree_open(rank, &tree, 1, GNI_CE_MODE_ROUND_NEAR);
    for (late = 0; late < 4; late++) {
        if (rank->id == late)
            sim_spend(10 * SIM_US);
        assert_rc(tree_reduce(&tree, GNI_FMA_CE_FPADD, 0, late, bits_of(numbers[rank->id]), 0),
                  GNI_RC_TRANSACTION_ERROR); /* inexact */
        assert_int_equal(GNI_CE_RES_GET_FPE(tree.result), GNI_CE_FPE_PRECISION);
        assert_true(GNI_CE_RES_STATUS_OK(tree.result));
        assert_true(real_of(tree.result->result1) == ((1e16 + 1) + -1e16) + 1);
        machine_barrier(rank);
    }
    tree_close(&tree);
}

static void children_are_combined_by_id(void **state)
{
    machine_run(&(struct machine){.ranks = 4, .ranks_per_node = 4, .main = order_main});
}

/* ---- rounding and exceptions ----------------------------------------------------------------- */

static void rounding_main(struct rank *rank)
{
    static const uint32_t modes[] = {GNI_CE_MODE_ROUND_NEAR, GNI_CE_MODE_ROUND_UP,
                                     GNI_CE_MODE_ROUND_DOWN, GNI_CE_MODE_ROUND_ZERO, 0};
    static const int ulps[] = {0, 1, 0, 0, 0};
    struct tree tree;
    uint32_t i;

    tree_prepare(rank, &tree, 1);
    for (i = 0; i < 5; i++) {
        tree_configure(&tree, modes[i] | GNI_CE_MODE_RC_MIN_HASH);
        machine_barrier(rank);
        assert_rc(tree_reduce(&tree, GNI_FMA_CE_FPADD, GNI_CEMODE_TWO_OP, i,
                              bits_of(rank->id == 0 ? 1 : ldexp(1, -53)), bits_of(0)),
                  GNI_RC_TRANSACTION_ERROR);
        assert_int_equal(tree.result->result1, bits_of(1) + (uint64_t)ulps[i]);
        assert_int_equal(GNI_CE_RES_GET_FPE(tree.result), GNI_CE_FPE_PRECISION);
        machine_barrier(rank);
    }
    tree_close(&tree);
}

static void ugni_122_rounding_modes(void **state)
{
    machine_run(&(struct machine){.ranks = 2, .main = rounding_main});
}

static void injected_main(struct rank *rank)
{
    static const uint32_t modes[] = {GNI_CEMODE_FPE_OP_INVAL, GNI_CEMODE_FPE_OFLOW,
                                     GNI_CEMODE_FPE_UFLOW, GNI_CEMODE_FPE_PRECISION};
    static const uint64_t seen[] = {GNI_CE_FPE_OP_INVAL, GNI_CE_FPE_OFLOW, GNI_CE_FPE_UFLOW,
                                    GNI_CE_FPE_PRECISION};
    struct tree tree;
    uint32_t i;

    tree_open(rank, &tree, 1, 0);
    for (i = 0; i < 4; i++) {
        assert_rc(tree_reduce(&tree, GNI_FMA_CE_FPADD, rank->id == 3 ? modes[i] : 0, i,
                              bits_of(rank->id), 0),
                  GNI_RC_TRANSACTION_ERROR);
        assert_int_equal(GNI_CE_RES_GET_FPE(tree.result), seen[i]);
        assert_int_equal(GNI_CE_RES_GET_STATUS(tree.result), 0);
        assert_true(real_of(tree.result->result1) == 6);
        machine_barrier(rank);
    }
    /* Several meet on the way. */
    assert_rc(tree_reduce(&tree, GNI_FMA_CE_FPADD, rank->id == 3 ? modes[0] : modes[2], i,
                          bits_of(rank->id), 0),
              GNI_RC_TRANSACTION_ERROR);
    assert_int_equal(GNI_CE_RES_GET_FPE(tree.result), GNI_CE_FPE_OP_INVAL | GNI_CE_FPE_UFLOW);
    tree_close(&tree);
}

static void ugni_122_exceptions_accumulate(void **state)
{
    machine_run(&(struct machine){.ranks = 4, .main = injected_main});
}

/* ---- events of the engine -------------------------------------------------------------------- */

static void events_main(struct rank *rank)
{
    gni_cq_entry_t event;
    struct tree tree;
    uint32_t i;

    tree_open(rank, &tree, 1, rank->id == 0 ? GNI_CE_MODE_CQE_ONCOMP : GNI_CE_MODE_CQE_ONERR);
    for (i = 1; i <= 3; i++) {
        assert_rc(tree_reduce(&tree, GNI_FMA_CE_AND, 0, 0x300000000u + i, 1, 0), GNI_RC_SUCCESS);
        if (rank->id == 0) {
            assert_ok(GNI_CqWaitEvent(tree.events, UINT64_MAX, &event));
            assert_int_equal(GNI_CQ_GET_STATUS(event), 0);
            assert_int_equal(GNI_CQ_GET_CE_ID(event), tree.ce_id);
            assert_int_equal(GNI_CQ_GET_REDUCTN_ID(event), 0x300000000u + i);
            assert_int_equal(GNI_CQ_GET_TRANS_TYPE(event), 0);
        }
    }
    machine_barrier(rank);
    assert_rc(GNI_CqGetEvent(tree.events, &event), GNI_RC_NOT_DONE);
    tree_close(&tree);
}

static void engine_events(void **state)
{
    machine_run(&(struct machine){.ranks = 3, .main = events_main});
}

/* ---- aries item 38: 32 children -------------------------------------------------------------- */

static void many_children_main(struct rank *rank)
{
    gni_ep_handle_t eps[33];
    struct tree tree;
    uint32_t i;

    tree_prepare(rank, &tree, 1);
    if (rank->id == 0) {
        for (i = 0; i < 32; i++)
            eps[i] = tree_ep(&tree, i, 0, 31 - i, GNI_CE_CHILD_PE);
        eps[32] = domain_connect(rank, &tree.domain, 0);
        assert_rc(GNI_EpSetCeAttr(eps[32], 0, 32, GNI_CE_CHILD_PE), GNI_RC_INVALID_PARAM);
        assert_ok(GNI_EpSetCeAttr(eps[32], 0, 31, GNI_CE_CHILD_PE));
        assert_rc(GNI_CeConfigure(tree.ce, eps, 33, NULL, tree.events, 0), GNI_RC_INVALID_PARAM);
        assert_ok(GNI_CeConfigure(tree.ce, eps, 32, NULL, tree.events, 0));
    }
    machine_barrier(rank);
    assert_ok(GNI_EpSetCeAttr(tree.leaf, 0, 31 - rank->id, GNI_CE_CHILD_PE));
    assert_rc(tree_reduce(&tree, GNI_FMA_CE_IMAX_GIDX, 0, 9, rank->id % 8, rank->id),
              GNI_RC_SUCCESS);
    assert_int_equal(tree.result->result1, 7);
    assert_int_equal(tree.result->result2, 31);
    tree_close(&tree);
}

static void aries_38_thirty_two_children(void **state)
{
    machine_run(&(struct machine){.ranks = 32, .ranks_per_node = 32, .main = many_children_main});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ugni_122_all_commands_in_a_tree),
        cmocka_unit_test(ugni_122_all_commands_in_a_deep_tree),
        cmocka_unit_test(ugni_122_attributes_change_after_configure),
        cmocka_unit_test(ugni_39_ugni_122_result_by_address),
        cmocka_unit_test(ugni_122_ids_repeat),
        cmocka_unit_test(children_are_combined_by_id),
        cmocka_unit_test(ugni_122_rounding_modes),
        cmocka_unit_test(ugni_122_exceptions_accumulate),
        cmocka_unit_test(engine_events),
        cmocka_unit_test(aries_38_thirty_two_children),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
