/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reductions in the collective engines of gni's NICs: the server's channel is above the client's,
 * and each process is a leaf of its own one.
 */
#include "common.h"
#include "gni_pub.h"
#include "rdma/fi_ext_gni.h"

#define REDUCTIONS 200u

static struct side side;
static struct fi_gni_ops_dom2 *ops;
static uint8_t names[2][64]; /* of the endpoints: the own one, the other's */
static size_t name_bytes;

/* An endpoint that stands for an edge to the other side, or to this one. */
static struct fid_ep *edge(bool to_other, uint32_t channel, uint32_t child, int type)
{
    struct fi_info *info = fi_dupinfo(side.info);
    struct fid_ep *ep;

    free(info->dest_addr);
    info->dest_addrlen = name_bytes;
    info->dest_addr = malloc(name_bytes);
    memcpy(info->dest_addr, names[to_other], name_bytes);
    ep = endpoint_new(&side, info, side.tx_cq, side.tx_cq);
    fi_freeinfo(info);
    CHECK(fi_enable(ep));
    CHECK(ops->ce_attach(&ep->fid, channel, child, type));
    return ep;
}

int main(int argc, char **argv)
{
    struct gni_ce_op op = {.command = GNI_FMA_CE_IADD, .mode = GNI_CEMODE_TWO_OP};
    struct fid_ep *self, *other, *leaf;
    uint32_t own, theirs;
    gni_ce_result_t result;
    int status;

    side_begin(&side, argc, argv);
    side_start(&side);
    if (fi_open_ops(&side.domain->fid, FI_GNI_DOMAIN_OPS_2, 0, (void **)&ops, NULL) != 0)
        skip(&side, "no collective engine");
    name_bytes = sizeof(names[0]);
    CHECK(fi_getname(&side.ep->fid, names[0], &name_bytes));
    side_exchange(&side, names[0], names[1], sizeof(names[0]));
    CHECK(ops->ce_open(&side.domain->fid, side.ep, &own));
    side_exchange(&side, &own, &theirs, sizeof(own));

    self = edge(false, 0, 0, GNI_CE_CHILD_PE);
    other = edge(true, theirs, 1, GNI_CE_CHILD_VCE);
    if (side.server)
        CHECK(ops->ce_configure(&side.domain->fid, own, (struct fid_ep *[]){self, other}, 2, NULL,
                                GNI_CE_MODE_ROUND_NEAR));
    else
        CHECK(ops->ce_configure(&side.domain->fid, own, &self, 1, other, GNI_CE_MODE_ROUND_NEAR));
    leaf = edge(false, own, 0, GNI_CE_CHILD_PE);
    side_sync(&side);
    for (op.reduction = 0; op.reduction < REDUCTIONS; op.reduction++) {
        step("reduction %lu", (unsigned long)op.reduction);
        op.operand[0] = op.reduction * (side.server ? 1 : 1000);
        op.operand[1] = side.server;
        CHECK(ops->ce_post(leaf, &op, &op));
        take_of(&side, side.tx_cq, &op);
        do
            status = ops->ce_check(&side.domain->fid, &op, &result);
        while (status == -FI_EAGAIN);
        CHECK(status);
        HOLDS(result.result1 == op.reduction * 1001 && result.result2 == 1);
    }
    side_sync(&side);
    close_fid(&leaf->fid);
    close_fid(&other->fid);
    close_fid(&self->fid);
    CHECK(ops->ce_close(&side.domain->fid, own));
    return side_end(&side);
}
