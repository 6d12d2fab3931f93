/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The collective engine when all goes well: checklist items 122 and 38 (aries), and its calls. */
#include "ce_tree.h"

#include <math.h>
#include <string.h>

#define GARBAGE 0x5a5a5a5a00000000u

/* ---- a second opinion on what each command means, from its name -------------------------------
 */

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

/* What rank `id` brings: pairs of ranks have the same number. */
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

/* ---- item 122: a tree of two levels, all commands ---------------------------------------------
 */

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

/* ---- item 122: attributes are taken over by GNI_CeConfigure -----------------------------------
 */

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
    /* The same endpoint leads to another place afterwards; what was posted is on its way. */
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

/* ---- item 122: the result in memory that others name by offset --------------------------------
 */

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

/* ---- item 122: one id again and again, as Cray's example does; silent posts --------------------
 */

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

/* ---- order of combination ----------------------------------------------------------------------
 */

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

/* Numbers whose sum depends on the order; whoever comes last. */
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

/* ---- rounding and exceptions -------------------------------------------------------------------
 */

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

/* ---- events of the engine ----------------------------------------------------------------------
 */

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

/* ---- aries item 38: 32 children ----------------------------------------------------------------
 */

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

/* ---- arguments ---------------------------------------------------------------------------------
 */

static void arguments_main(struct rank *rank)
{
    gni_ep_handle_t child, same, parent, plain, unbound, foreign;
    struct domain other;
    struct tree tree;
    gni_ce_handle_t ce;
    uint32_t id;

    tree_prepare(rank, &tree, 1);
    assert_rc(GNI_CeCreate(NULL, &ce), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CeCreate(tree.domain.nic, NULL), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CeGetId(NULL, &id), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CeGetId(tree.ce, NULL), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CeDestroy(NULL), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CeCheckResult(NULL, 24), GNI_RC_INVALID_PARAM);

    child = tree_ep(&tree, 0, 0, 4, GNI_CE_CHILD_PE);
    same = tree_ep(&tree, 0, 0, 4, GNI_CE_CHILD_VCE);
    parent = tree_ep(&tree, 0, 1, 5, GNI_CE_CHILD_VCE);
    plain = domain_connect(rank, &tree.domain, 0);
    assert_ok(GNI_EpCreate(tree.domain.nic, NULL, &unbound));
    assert_rc(GNI_EpSetCeAttr(NULL, 0, 0, GNI_CE_CHILD_PE), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_EpSetCeAttr(plain, 0, 32, GNI_CE_CHILD_PE), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_EpSetCeAttr(plain, 0, UINT32_MAX, GNI_CE_CHILD_PE), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_EpSetCeAttr(plain, 0, 0, GNI_CE_CHILD_UNUSED), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_EpSetCeAttr(plain, 0, 0, (gni_ce_child_t)3), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_EpSetCeAttr(unbound, 0, 0, GNI_CE_CHILD_PE), GNI_RC_INVALID_PARAM);

    assert_rc(GNI_CeConfigure(NULL, &child, 1, NULL, NULL, 0), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CeConfigure(tree.ce, NULL, 1, NULL, NULL, 0), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CeConfigure(tree.ce, &child, 0, NULL, NULL, 0), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CeConfigure(tree.ce, ((gni_ep_handle_t[]){child, same}), 2, NULL, NULL, 0),
              GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CeConfigure(tree.ce, ((gni_ep_handle_t[]){child, plain}), 2, NULL, NULL, 0),
              GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CeConfigure(tree.ce, ((gni_ep_handle_t[]){child, NULL}), 2, NULL, NULL, 0),
              GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CeConfigure(tree.ce, &unbound, 1, NULL, NULL, 0), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CeConfigure(tree.ce, &child, 1, plain, NULL, 0), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CeConfigure(tree.ce, &child, 1, child, NULL, 0), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CeConfigure(tree.ce, &child, 1, parent, NULL, 0x800), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CeConfigure(tree.ce, &child, 1, parent, NULL, 0x20), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CeConfigure(tree.ce, &child, 1, parent, NULL,
                              GNI_CE_MODE_ROUND_UP | GNI_CE_MODE_ROUND_DOWN),
              GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CeConfigure(tree.ce, &child, 1, parent, NULL,
                              GNI_CE_MODE_CQE_ONCOMP | GNI_CE_MODE_CQE_ONERR),
              GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CeConfigure(tree.ce, &child, 1, parent, NULL,
                              GNI_CE_MODE_RC_ADAPT | GNI_CE_MODE_RC_MIN_HASH),
              GNI_RC_INVALID_PARAM);

    domain_open_as(&other, 77, MACHINE_PTAG_OTHER, MACHINE_COOKIE_OTHER, 0);
    assert_rc(GNI_CeConfigure(tree.ce, &child, 1, NULL, other.source, 0), GNI_RC_INVALID_PARAM);
    assert_ok(GNI_EpCreate(other.nic, other.source, &foreign));
    assert_ok(GNI_EpBind(foreign, other.address, 1));
    assert_ok(GNI_EpSetCeAttr(foreign, 0, 1, GNI_CE_CHILD_PE));
    assert_rc(GNI_CeConfigure(tree.ce, &foreign, 1, NULL, NULL, 0), GNI_RC_INVALID_PARAM);
    assert_ok(
        GNI_CeConfigure(tree.ce, &child, 1, parent, NULL,
                        GNI_CE_MODE_RC_NMIN_HASH | GNI_CE_MODE_CQE_ONCOMP | GNI_CE_MODE_ROUND_UP));
    assert_ok(GNI_CeConfigure(tree.ce, &child, 1, NULL, tree.events, GNI_CE_MODE_RC_MNON_HASH));
    /* The queue is in use, and free again with the engine. */
    assert_rc(GNI_CqDestroy(tree.events), GNI_RC_ERROR_RESOURCE);
    assert_ok(GNI_CeDestroy(tree.ce));
    assert_rc(GNI_CeDestroy(tree.ce), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CeGetId(tree.ce, &id), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CeConfigure(tree.ce, &child, 1, NULL, NULL, 0), GNI_RC_INVALID_PARAM);

    assert_ok(GNI_CqDestroy(tree.events));
    domain_close(&other);
    tree_close(&tree);
}

static void ugni_122_arguments(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = arguments_main});
}

static void posts_main(struct rank *rank)
{
    struct tree tree;
    gni_ep_handle_t leaf;

    tree_open(rank, &tree, 1, 0);
    tree_describe(&tree, 0, GNI_FMA_CE_AND, 0, 1, 1, 1);
    tree.descr.cq_mode = GNI_CQMODE_LOCAL_EVENT;
    assert_rc(GNI_PostFma(tree.leaf, &tree.descr), GNI_RC_INVALID_PARAM);
    tree.descr.cq_mode = GNI_CQMODE_GLOBAL_EVENT;
    tree.descr.ce_cmd = (gni_ce_cmd_type_t)6;
    assert_rc(GNI_PostFma(tree.leaf, &tree.descr), GNI_RC_INVALID_PARAM);
    tree.descr.ce_cmd = GNI_FMA_CE_OR;
    tree.descr.ce_mode = 1 << 5;
    assert_rc(GNI_PostFma(tree.leaf, &tree.descr), GNI_RC_INVALID_PARAM);
    tree.descr.ce_mode = 0;
    tree.descr.local_mem_hndl.qword1 ^= 0x100;
    assert_rc(GNI_PostFma(tree.leaf, &tree.descr), GNI_RC_INVALID_PARAM);
    tree.descr.local_mem_hndl = tree.handle;
    assert_rc(GNI_PostRdma(tree.leaf, &tree.descr), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_PostCqWrite(tree.leaf, &tree.descr), GNI_RC_INVALID_PARAM);
    /* Endpoints without attributes, or with those of an engine, do not join. */
    leaf = domain_connect(rank, &tree.domain, 0);
    assert_rc(GNI_PostFma(leaf, &tree.descr), GNI_RC_INVALID_PARAM);
    assert_ok(GNI_EpSetCeAttr(leaf, 0, 0, GNI_CE_CHILD_VCE));
    assert_rc(GNI_PostFma(leaf, &tree.descr), GNI_RC_INVALID_PARAM);
    /* Attributes go with the peer. */
    assert_ok(GNI_EpSetCeAttr(leaf, 0, 0, GNI_CE_CHILD_PE));
    assert_ok(GNI_EpUnbind(leaf));
    assert_ok(GNI_EpBind(leaf, tree.domain.address, 0));
    assert_rc(GNI_PostFma(leaf, &tree.descr), GNI_RC_INVALID_PARAM);
    assert_ok(GNI_EpSetCeAttr(leaf, 0, 0, GNI_CE_CHILD_PE));
    tree.descr.length = 99; /* nobody looks at it */
    assert_ok(GNI_PostFma(leaf, &tree.descr));
    complete(tree.domain.source, &tree.descr);
    assert_rc(tree_wait(&tree), GNI_RC_SUCCESS);
    tree_close(&tree);
}

static void ugni_122_posts(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = posts_main});
}

/* ---- channels are few --------------------------------------------------------------------------
 */

static void channels_main(struct rank *rank)
{
    gni_ce_handle_t ce[4], fifth;
    gni_dev_res_desc_t device;
    gni_job_res_desc_t job;
    struct domain domain, other;
    uint32_t id, seen = 0, i;

    domain_open(rank, &domain, 0);
    domain_open_as(&other, 9, MACHINE_PTAG_OTHER, MACHINE_COOKIE_OTHER, 0);
    for (i = 0; i < 4; i++) { /* of a NIC, not of a domain */
        assert_ok(GNI_CeCreate(i % 2 ? other.nic : domain.nic, &ce[i]));
        assert_ok(GNI_CeGetId(ce[i], &id));
        assert_in_range(id, 0, 3);
        seen |= 1u << id;
    }
    assert_int_equal(seen, 0xf);
    assert_rc(GNI_CeCreate(domain.nic, &fifth), GNI_RC_ERROR_RESOURCE);
    assert_ok(GNI_GetDevResInfo(0, GNI_DEV_RES_CE, &device));
    assert_int_equal(device.total, 4);
    assert_int_equal(device.held, 4);
    assert_int_equal(device.available, 0);
    assert_ok(GNI_GetJobResInfo(0, MACHINE_PTAG, GNI_JOB_RES_CE, &job));
    assert_int_equal(job.used, 2);
    assert_ok(GNI_CeDestroy(ce[2]));
    assert_ok(GNI_CeCreate(domain.nic, &fifth));
    domain_close(&other); /* with its two */
    assert_rc(GNI_CeGetId(ce[1], &id), GNI_RC_INVALID_PARAM);
    assert_ok(GNI_CeCreate(domain.nic, &ce[1]));
    assert_ok(GNI_CeCreate(domain.nic, &ce[3]));
    assert_rc(GNI_CeCreate(domain.nic, &ce[3]), GNI_RC_ERROR_RESOURCE);
    domain_close(&domain);
}

static void four_channels(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = channels_main});
}

/* Several trees at a time, one per channel, over the same ranks. */
static void four_trees_main(struct rank *rank)
{
    gni_ep_handle_t eps[3], leaf[4];
    struct tree tree;
    gni_ce_handle_t ce;
    uint32_t i, k, root;

    tree_prepare(rank, &tree, 1);
    if (rank->id == 0) {
        assert_ok(GNI_CeDestroy(tree.ce));
        for (i = 0; i < 4; i++) {
            assert_ok(GNI_CeCreate(tree.domain.nic, &ce));
            assert_ok(GNI_CeGetId(ce, &root));
            assert_int_equal(root, i);
            for (k = 0; k < 3; k++)
                eps[k] = tree_ep(&tree, k, 0, k, GNI_CE_CHILD_PE);
            assert_ok(GNI_CeConfigure(ce, eps, 3, NULL, NULL, 0));
        }
    }
    machine_barrier(rank);
    for (i = 0; i < 4; i++) {
        gni_post_descriptor_t descr;

        leaf[i] = tree_ep(&tree, 0, i, rank->id, GNI_CE_CHILD_PE);
        tree_describe(&tree, i, GNI_FMA_CE_IADD, 0, i, rank->id + i, 0);
        tree.descr.cq_mode = GNI_CQMODE_SILENT;
        descr = tree.descr;
        assert_ok(GNI_PostFma(leaf[i], &descr));
    }
    for (i = 4; i-- > 0;) {
        assert_rc(tree_wait(&tree), GNI_RC_SUCCESS);
        assert_int_equal(tree.result->result1, 3 + 3 * i);
        tree.result = (gni_ce_result_t *)(void *)((char *)tree.result - 64);
    }
    tree_close(&tree);
}

static void four_trees_at_a_time(void **state)
{
    machine_run(&(struct machine){.ranks = 3, .main = four_trees_main});
}

/* ---- limits of a job ---------------------------------------------------------------------------
 */

static void job_limit_main(struct rank *rank)
{
    gni_job_limits_t limits = {.mdd_limit = GNI_JOB_INVALID_LIMIT,
                               .a.mrt_limit = GNI_JOB_INVALID_LIMIT,
                               .b.gart_limit = GNI_JOB_INVALID_LIMIT,
                               .fma_limit = GNI_JOB_INVALID_LIMIT,
                               .bte_limit = GNI_JOB_INVALID_LIMIT,
                               .cq_limit = GNI_JOB_INVALID_LIMIT};
    gni_ce_handle_t first, second;
    struct domain domain;
    uint32_t id;

    limits.a.m.ce_limit = 1;
    limits.ntt_ctrl = GNI_JOB_CTRL_ALL_CE_MASK; /* of translation: says nothing of channels */
    assert_ok(GNI_ConfigureJob(0, MACHINE_JOB, MACHINE_PTAG, MACHINE_COOKIE, &limits));
    domain_open(rank, &domain, 0);
    assert_ok(GNI_CeCreate(domain.nic, &first));
    assert_rc(GNI_CeCreate(domain.nic, &second), GNI_RC_ERROR_RESOURCE);
    assert_ok(GNI_CeDestroy(first));
    assert_ok(GNI_CeCreate(domain.nic, &second));
    limits.a.m.ce_limit = 2;
    limits.ntt_ctrl = GNI_JOB_CTRL_CE0_MASK;
    assert_ok(GNI_ConfigureJob(0, MACHINE_JOB, MACHINE_PTAG, MACHINE_COOKIE, &limits));
    assert_ok(GNI_CeCreate(domain.nic, &first));
    assert_ok(GNI_CeGetId(first, &id)); /* the lowest one that is free */
    assert_int_equal(id, 1);
    domain_close(&domain);
}

static void limit_of_a_job(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .privileged = true, .main = job_limit_main});
}

/* ---- habits of programs ------------------------------------------------------------------------
 */

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

/* ---- times -------------------------------------------------------------------------------------
 */

static uint64_t latency; /* of rank 2, on the lower node */

static void latency_main(struct rank *rank)
{
    sim_time_t began;
    struct tree tree;

    tree_open(rank, &tree, 1, 0);
    tree_describe(&tree, 0, GNI_FMA_CE_AND, 0, 1, 1, 0);
    tree.descr.cq_mode = GNI_CQMODE_SILENT;
    if (rank->id == 1) /* the last one, of whose join all wait */
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
 * The leaf's post 80, through PCIe 150; up to its engine and to the root, down to the engine and
 * the leaf, each 40 to send, 5 phits (6 to memory), the way, 40 to receive, 50 in the engine;
 * memory 150
 * + 10, seen after 30, found by a look of 10. A way inside a router is 50, over two links 250.
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

/* 1968 ns is what the stages add up to with 7 ns for each packet; and a look of 10 finds it. */
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
        cmocka_unit_test(ugni_122_arguments),
        cmocka_unit_test(ugni_122_posts),
        cmocka_unit_test(four_channels),
        cmocka_unit_test(four_trees_at_a_time),
        cmocka_unit_test(limit_of_a_job),
        cmocka_unit_test(gasnet_radix_1_to_31),
        cmocka_unit_test(crays_example),
        cmocka_unit_test(engine_latency),
        cmocka_unit_test(latency_of_two_levels),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
