/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* "domain ops 2": reductions in the collective engine, statistics of the NIC, handles of GNI. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "fixture.h"
#include "gni_pub.h"
#include "rdma/fi_ext_gni.h"

#define NAME 48

struct names {
    uint8_t bytes[NAME];
};

/*
 * The tree: rank 0 has the upper channel, rank 1 the lower one. Children of the upper one: 0 the
 * process of rank 0, 1 the lower channel. Of the lower one: 0 the process of rank 1, 1 that of
 * rank 2.
 */
struct tree {
    struct gni_side side;
    struct fi_gni_ops_dom2 *ops;
    struct names names[3]; /* of the ranks' first endpoints */
    struct fid_ep *leaf, *edges[3];
    uint32_t channel, channels[3];
};

/* An endpoint whose peer is that rank. */
static int open_edge(struct tree *tree, uint32_t peer, struct fid_ep **ep)
{
    struct rank *rank = tree->side.rank;
    struct fi_info *info = fi_dupinfo(tree->side.info);

    free(info->dest_addr);
    info->dest_addr = malloc(NAME);
    info->dest_addrlen = NAME;
    memcpy(info->dest_addr, &tree->names[peer], NAME);
    EXPECT_IS(fi_endpoint(tree->side.domain, info, ep, NULL), 0);
    fi_freeinfo(info);
    EXPECT_IS(fi_ep_bind(*ep, &tree->side.av->fid, 0), 0);
    EXPECT_IS(fi_ep_bind(*ep, &tree->side.tx_cq->fid, FI_TRANSMIT | FI_RECV), 0);
    EXPECT_IS(fi_enable(*ep), 0);
    return 0;
}

static int attach(struct tree *tree, uint32_t peer, uint32_t ce_id, uint32_t child_id, int type,
                  struct fid_ep **ep)
{
    struct rank *rank = tree->side.rank;

    TRY(open_edge(tree, peer, ep));
    EXPECT_IS(tree->ops->ce_attach(&(*ep)->fid, ce_id, child_id, type), 0);
    return 0;
}

static int configure(struct tree *tree)
{
    struct rank *rank = tree->side.rank;
    struct fid *dom = &tree->side.domain->fid;
    const uint32_t modes = GNI_CE_MODE_ROUND_NEAR;

    if (tree->side.id == 0) {
        TRY(attach(tree, 0, 0, 0, GNI_CE_CHILD_PE, &tree->edges[0]));
        TRY(attach(tree, 1, tree->channels[1], 1, GNI_CE_CHILD_VCE, &tree->edges[1]));
        EXPECT_IS(tree->ops->ce_configure(dom, tree->channel, tree->edges, 2, NULL, modes), 0);
    } else if (tree->side.id == 1) {
        TRY(attach(tree, 1, 0, 0, GNI_CE_CHILD_PE, &tree->edges[0]));
        TRY(attach(tree, 2, 0, 1, GNI_CE_CHILD_PE, &tree->edges[1]));
        TRY(attach(tree, 0, tree->channels[0], 1, GNI_CE_CHILD_VCE, &tree->edges[2]));
        EXPECT_IS(
            tree->ops->ce_configure(dom, tree->channel, tree->edges, 2, tree->edges[2], modes), 0);
    }
    return 0;
}

static int open_tree(struct tree *tree, struct rank *rank)
{
    const struct gni_how how = {0};
    size_t bytes = NAME;
    struct names mine;
    uint32_t i;

    TRY(gni_open(&tree->side, rank, &how));
    EXPECT_IS(
        fi_open_ops(&tree->side.domain->fid, FI_GNI_DOMAIN_OPS_2, 0, (void **)&tree->ops, NULL), 0);
    EXPECT_IS(fi_getname(&tree->side.ep->fid, &mine, &bytes), 0);
    rank_allgather(rank, &mine, tree->names, sizeof(mine));
    if (tree->side.id < 2)
        EXPECT_IS(tree->ops->ce_open(&tree->side.domain->fid, tree->side.ep, &tree->channel), 0);
    rank_allgather(rank, &tree->channel, tree->channels, sizeof(tree->channel));
    TRY(configure(tree));
    /* where the operands go */
    i = tree->side.id == 0 ? 0 : 1;
    TRY(attach(tree, i, tree->channels[i], tree->side.id == 2 ? 1 : 0, GNI_CE_CHILD_PE,
               &tree->leaf));
    rank_barrier(rank);
    return 0;
}

static int close_tree(struct tree *tree)
{
    struct rank *rank = tree->side.rank;
    int i;

    rank_barrier(rank);
    EXPECT_IS(fi_close(&tree->leaf->fid), 0);
    for (i = 0; i < 3; i++)
        if (tree->edges[i] != NULL)
            EXPECT_IS(fi_close(&tree->edges[i]->fid), 0);
    if (tree->side.id == 0) {
        EXPECT_IS(tree->ops->ce_close(&tree->side.domain->fid, tree->channel), 0);
        EXPECT_IS(tree->ops->ce_close(&tree->side.domain->fid, tree->channel), -FI_EINVAL);
    } /* rank 1 leaves that to fi_close of the domain */
    return gni_close(&tree->side);
}

/* All ranks join, and all get the result. */
static int reduce(struct tree *tree, const struct gni_ce_op *op, int expected,
                  gni_ce_result_t *result)
{
    struct rank *rank = tree->side.rank;
    struct fi_cq_tagged_entry entry;
    int status;

    EXPECT_IS(tree->ops->ce_check(&tree->side.domain->fid, result, result), -FI_ENOENT);
    EXPECT_IS(tree->ops->ce_post(tree->leaf, op, result), 0);
    EXPECT_IS(tree->ops->ce_post(tree->leaf, op, result), -FI_EAGAIN);
    TRY(gni_entry(&tree->side, tree->side.tx_cq, &entry));
    EXPECT(entry.op_context == result && (entry.flags & FI_ATOMIC) != 0);
    do
        status = tree->ops->ce_check(&tree->side.domain->fid, result, result);
    while (status == -FI_EAGAIN);
    EXPECT_IS(status, expected);
    return 0;
}

/* Numbers in IEEE's format. */
#define SINGLE_HALF 0x3f000000u
#define SINGLE_MINUS_3_25 0xc0500000u
#define SINGLE_1_5 0x3fc00000u
#define SINGLE_MINUS_1_25 0xbfa00000u
#define HALF 0x3fe0000000000000ull
#define MINUS_3_25 0xc00a000000000000ull
#define PLUS_1_5 0x3ff8000000000000ull
#define MINUS_1_25 0xbff4000000000000ull
#define MINUS_5 0xfffffffbu

#define COMMANDS 26u

/* The second operand of a minimum or maximum is an index: the least or the greatest one with that
 * value results. */
static int all_commands(struct tree *tree)
{
    static const struct {
        gni_ce_cmd_type_t command;
        uint32_t mode;
        uint64_t first[3], second[3], result1, result2;
    } cases[] = {
        {GNI_FMA_CE_AND, 0, {0xff, 0x3c, 0x7e}, {0}, 0x3c, 0},
        {GNI_FMA_CE_AND_S, 0, {0xff, 0x3c, 0x7e}, {0}, 0x3c, 0},
        {GNI_FMA_CE_OR, GNI_CEMODE_TWO_OP, {1, 2, 4}, {8, 16, 32}, 7, 56},
        {GNI_FMA_CE_OR_S, GNI_CEMODE_TWO_OP, {1, 2, 4}, {8, 16, 32}, 7, 56},
        {GNI_FMA_CE_XOR, 0, {1, 3, 7}, {0}, 5, 0},
        {GNI_FMA_CE_XOR_S, 0, {1, 3, 7}, {0}, 5, 0},
        {GNI_FMA_CE_IADD, GNI_CEMODE_TWO_OP, {1, 2, 3}, {10, 20, 1ull << 60}, 6, 30 + (1ull << 60)},
        {GNI_FMA_CE_IADD_S, 0, {0xffffffff, 1, 1}, {0}, 1, 0},
        {GNI_FMA_CE_IMIN_LIDX, 0, {7, 5, 5}, {0, 1, 2}, 5, 1},
        {GNI_FMA_CE_IMIN_LIDX_S, 0, {7, MINUS_5, MINUS_5}, {0, 1, 2}, MINUS_5, 1},
        {GNI_FMA_CE_IMIN_GIDX, 0, {7, 5, 5}, {0, 1, 2}, 5, 2},
        {GNI_FMA_CE_IMIN_GIDX_S, 0, {7, MINUS_5, MINUS_5}, {0, 1, 2}, MINUS_5, 2},
        {GNI_FMA_CE_IMAX_LIDX, 0, {7, 7, (uint64_t)-5}, {0, 1, 2}, 7, 0},
        {GNI_FMA_CE_IMAX_LIDX_S, 0, {7, 7, MINUS_5}, {0, 1, 2}, 7, 0},
        {GNI_FMA_CE_IMAX_GIDX, 0, {7, 7, (uint64_t)-5}, {0, 1, 2}, 7, 1},
        {GNI_FMA_CE_IMAX_GIDX_S, 0, {7, 7, MINUS_5}, {0, 1, 2}, 7, 1},
        {GNI_FMA_CE_FPADD, 0, {HALF, MINUS_3_25, PLUS_1_5}, {0}, MINUS_1_25, 0},
        {GNI_FMA_CE_FPADD_S,
         0,
         {SINGLE_HALF, SINGLE_MINUS_3_25, SINGLE_1_5},
         {0},
         SINGLE_MINUS_1_25,
         0},
        {GNI_FMA_CE_FPMIN_LIDX, 0, {HALF, MINUS_3_25, MINUS_3_25}, {0, 1, 2}, MINUS_3_25, 1},
        {GNI_FMA_CE_FPMIN_LIDX_S,
         0,
         {SINGLE_HALF, SINGLE_MINUS_3_25, SINGLE_MINUS_3_25},
         {0, 1, 2},
         SINGLE_MINUS_3_25,
         1},
        {GNI_FMA_CE_FPMIN_GIDX, 0, {HALF, MINUS_3_25, MINUS_3_25}, {0, 1, 2}, MINUS_3_25, 2},
        {GNI_FMA_CE_FPMIN_GIDX_S,
         0,
         {SINGLE_HALF, SINGLE_MINUS_3_25, SINGLE_MINUS_3_25},
         {0, 1, 2},
         SINGLE_MINUS_3_25,
         2},
        {GNI_FMA_CE_FPMAX_LIDX, 0, {HALF, HALF, MINUS_3_25}, {0, 1, 2}, HALF, 0},
        {GNI_FMA_CE_FPMAX_LIDX_S,
         0,
         {SINGLE_HALF, SINGLE_HALF, SINGLE_MINUS_3_25},
         {0, 1, 2},
         SINGLE_HALF,
         0},
        {GNI_FMA_CE_FPMAX_GIDX, 0, {HALF, HALF, MINUS_3_25}, {0, 1, 2}, HALF, 1},
        {GNI_FMA_CE_FPMAX_GIDX_S,
         0,
         {SINGLE_HALF, SINGLE_HALF, SINGLE_MINUS_3_25},
         {0, 1, 2},
         SINGLE_HALF,
         1},
    };
    _Static_assert(sizeof(cases) / sizeof(cases[0]) == COMMANDS, "a case for each command");
    struct rank *rank = tree->side.rank;
    gni_ce_result_t result;
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct gni_ce_op op = {
            .command = cases[i].command,
            .mode = cases[i].mode,
            .reduction = 100 + i,
            .operand = {cases[i].first[tree->side.id], cases[i].second[tree->side.id]},
        };

        TRY(reduce(tree, &op, 0, &result));
        EXPECT_IS(GNI_CE_RES_GET_RED_ID(&result), 100 + i);
        EXPECT_IS(result.result1, cases[i].result1);
        if (cases[i].mode != 0 || cases[i].second[2] != 0)
            EXPECT_IS(result.result2, cases[i].result2);
    }
    return 0;
}

static int reals(struct tree *tree)
{
    struct rank *rank = tree->side.rank;
    const double values[3] = {0.5, -3.25, 1e300};
    struct gni_ce_op op = {.command = GNI_FMA_CE_FPADD, .reduction = 7};
    gni_ce_result_t result;
    double sum;

    memcpy(&op.operand[0], &values[tree->side.id < 2 ? tree->side.id : 1], sizeof(double));
    TRY(reduce(tree, &op, 0, &result));
    memcpy(&sum, &result.result1, sizeof(sum));
    EXPECT(sum == 0.5 - 3.25 - 3.25);
    /* an exception that one of them brings along reaches all */
    op.mode = tree->side.id == 2 ? GNI_CEMODE_FPE_OFLOW : 0;
    TRY(reduce(tree, &op, -FI_EIO, &result));
    EXPECT_IS(GNI_CE_RES_STATUS_OK(&result), 1);
    EXPECT((GNI_CE_RES_GET_FPE(&result) & GNI_CE_FPE_OFLOW) != 0);
    return 0;
}

static int tree_body(struct rank *rank)
{
    struct tree *tree = calloc(1, sizeof(*tree));

    TRY(open_tree(tree, rank));
    TRY(all_commands(tree));
    TRY(reals(tree));
    TRY(close_tree(tree));
    free(tree);
    return 0;
}

static void gni_156_reductions(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 3}, tree_body);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static int errors_body(struct rank *rank)
{
    const struct gni_how how = {0};
    struct gni_ce_op op = {.command = GNI_FMA_CE_IADD};
    struct fi_gni_ops_dom2 *ops;
    struct gni_side side;
    struct fid *dom;
    uint32_t ids[5];
    int i;

    TRY(gni_open(&side, rank, &how));
    dom = &side.domain->fid;
    EXPECT_IS(fi_open_ops(dom, FI_GNI_DOMAIN_OPS_2, 0, (void **)&ops, NULL), 0);
    EXPECT_IS(ops->ce_open(dom, NULL, &ids[0]), -FI_EINVAL);
    EXPECT_IS(ops->ce_open(&side.fabric->fid, side.ep, &ids[0]), -FI_EINVAL);
    EXPECT_IS(ops->ce_attach(&side.ep->fid, 0, 0, GNI_CE_CHILD_PE), -FI_ENOTCONN);
    EXPECT_IS(ops->ce_attach(&side.ep->fid, 0, 32, GNI_CE_CHILD_PE), -FI_EINVAL);
    EXPECT_IS(ops->ce_attach(&side.ep->fid, 0, 0, GNI_CE_CHILD_UNUSED), -FI_EINVAL);
    EXPECT_IS(ops->ce_post(side.ep, &op, NULL), -FI_EINVAL);
    EXPECT_IS(ops->ce_configure(dom, 0, &side.ep, 1, NULL, 0), -FI_EINVAL);
    EXPECT_IS(ops->ce_close(dom, 0), -FI_EINVAL);
    for (i = 0; i < 5; i++)
        if (ops->ce_open(dom, side.ep, &ids[i]) != 0)
            break;
    EXPECT(i > 0 && i < 5); /* the NIC has a few */
    EXPECT_IS(ops->ce_open(dom, side.ep, &ids[i]), -FI_EAGAIN);
    while (i-- > 0)
        EXPECT_IS(ops->ce_close(dom, ids[i]), 0);
    return gni_close(&side);
}

static void gni_156_errors(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, errors_body);
}

/* ---- statistics and handles ------------------------------------------------------------------ */

static int statistics_body(struct rank *rank)
{
    const struct gni_how how = {0};
    struct fi_gni_ops_dom2 *ops;
    struct fi_cq_tagged_entry entry;
    struct gni_side side;
    struct gni_nic *nic = NULL;
    struct gni_cdm *cdm = NULL;
    struct gni_memory memory;
    uint32_t value, i, launched = 0;
    uint64_t word = 1;
    struct fid *dom;

    TRY(gni_open(&side, rank, &how));
    dom = &side.domain->fid;
    EXPECT_IS(fi_open_ops(dom, FI_GNI_DOMAIN_OPS_2, 0, (void **)&ops, NULL), 0);
    TRY(gni_memory_open(&side, &memory, 64, FI_REMOTE_WRITE));
    EXPECT_IS(fi_write(side.ep, &word, sizeof(word), NULL, side.peers[0], memory.all[0].address,
                       memory.all[0].key, NULL),
              0);
    TRY(gni_entry(&side, side.tx_cq, &entry));
    TRY(gni_memory_close(&side, &memory));
    for (i = 0; ops->nic_stat(dom, i, GNI_STAT_FMA_LAUNCH_COUNT, &value) == 0; i++) {
        launched += value;
        EXPECT_IS(ops->raw(dom, i, &nic, &cdm), 0);
        EXPECT(nic != NULL && cdm != NULL);
        EXPECT_IS(GNI_GetNicStat(nic, GNI_STAT_FMA_LAUNCH_COUNT, &value), GNI_RC_SUCCESS);
        EXPECT_IS(ops->nic_stat_reset(dom, i, GNI_STAT_FMA_LAUNCH_COUNT), 0);
        EXPECT_IS(ops->nic_stat(dom, i, GNI_STAT_FMA_LAUNCH_COUNT, &value), 0);
        EXPECT_IS(value, 0);
    }
    EXPECT(i >= 1 && launched >= 1);
    EXPECT_IS(ops->nic_stat(dom, 0, GNI_NUM_STATS, &value), -FI_EINVAL);
    EXPECT_IS(ops->nic_stat(dom, 0, -1, &value), -FI_EINVAL);
    EXPECT_IS(ops->nic_stat(dom, 0, 0, NULL), -FI_EINVAL);
    EXPECT_IS(ops->nic_stat(dom, i, 0, &value), -FI_EINVAL);
    EXPECT_IS(ops->raw(dom, i, &nic, &cdm), -FI_EINVAL);
    return gni_close(&side);
}

static void gni_156_statistics(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, statistics_body);
}

/* More endpoints than NICs: numbers stay with their NICs, and each is shared by as many. */
#define SHARERS 256u

static int numbers_body(struct rank *rank)
{
    const struct gni_how how = {0};
    struct gni_nic *nics[SHARERS], *now = NULL;
    struct fid_ep *eps[SHARERS] = {NULL};
    struct fi_gni_ops_dom2 *ops;
    struct gni_cdm *cdm;
    uint32_t count = 0, opened, i;
    struct gni_side side;
    struct fid *dom;

    TRY(gni_open(&side, rank, &how));
    dom = &side.domain->fid;
    EXPECT_IS(fi_open_ops(dom, FI_GNI_DOMAIN_OPS_2, 0, (void **)&ops, NULL), 0);
    for (opened = 0; opened < SHARERS; opened++) {
        EXPECT_IS(gni_endpoint(&side, &eps[opened]), 0);
        for (i = 0; i < count; i++) {
            EXPECT_IS(ops->raw(dom, i, &now, &cdm), 0);
            EXPECT(now == nics[i]);
        }
        if (ops->raw(dom, count, &nics[count], &cdm) == 0)
            count++;
        else if (opened > 2 * count)
            break;
    }
    EXPECT(count > 1 && opened < SHARERS);
    for (i = 0; i <= opened; i++)
        EXPECT_IS(fi_close(&eps[i]->fid), 0);
    return gni_close(&side);
}

static void gni_156_numbers_of_nics_stay(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, numbers_body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_156_reductions),
        cmocka_unit_test(gni_156_errors),
        cmocka_unit_test(gni_156_statistics),
        cmocka_unit_test(gni_156_numbers_of_nics_stay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
