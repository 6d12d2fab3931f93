/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What programs that were written for libfabric's own gni provider rely on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include "fixture.h"
#include "rdma/fi_ext_gni.h"

static const struct gni_how plain = {0};
static const struct gni_how counted = {.counters = true};

/* ---- closing --------------------------------------------------------------------------------- */

/* As libfabric's own provider: everything can be closed in any order; the endpoint still works. */
static int early_close_body(struct rank *rank)
{
    struct gni_side side;
    struct gni_memory memory;
    fi_addr_t self;
    uint64_t in = 0, out = 7, i;

    TRY(gni_open(&side, rank, &counted));
    TRY(gni_memory_open(&side, &memory, 4096, FI_SEND | FI_RECV));
    self = side.peers[rank_id(rank)];
    EXPECT_IS(fi_close(&side.fabric->fid), 0);
    EXPECT_IS(fi_close(&side.fabric->fid), -FI_EINVAL);
    EXPECT_IS(fi_close(&side.domain->fid), 0);
    EXPECT_IS(fi_close(&side.domain->fid), -FI_EINVAL);
    EXPECT_IS(fi_close(&side.av->fid), 0);
    EXPECT_IS(fi_close(&side.av->fid), -FI_EINVAL);
    for (i = 0; i < 6; i++)
        if (i != RECEIVES)
            EXPECT_IS(fi_close(&side.cntr[i]->fid), 0);
    EXPECT_IS(fi_close(&side.cntr[SENDS]->fid), -FI_EINVAL);
    EXPECT_IS(fi_recv(side.ep, &in, sizeof(in), NULL, FI_ADDR_UNSPEC, &in), 0);
    EXPECT_IS(gni_again(&side, fi_inject(side.ep, &out, sizeof(out), self)), 0);
    TRY(gni_count(&side, side.cntr[RECEIVES], 1));
    EXPECT_IS(in, 7);
    EXPECT_IS(fi_cq_read(side.rx_cq, &(struct fi_cq_tagged_entry){0}, 1), 1);
    EXPECT_IS(fi_close(&side.cntr[RECEIVES]->fid), 0);
    EXPECT_IS(fi_close(&side.tx_cq->fid), 0);
    EXPECT_IS(fi_close(&side.tx_cq->fid), -FI_EINVAL);
    EXPECT_IS(fi_close(&side.ep->fid), 0);
    EXPECT_IS(fi_close(&memory.mr->fid), 0); /* the last user of the domain and the fabric */
    free(memory.bytes);
    free(memory.all);
    free(side.peers);
    fi_freeinfo(side.hints);
    fi_freeinfo(side.info);
    return 0;
}

static void gni_27_closed_in_any_order(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, early_close_body);
}

static int early_stx_body(struct rank *rank)
{
    struct gni_side side;
    struct fid_stx *stx;
    struct fid_ep *ep;

    TRY(gni_open(&side, rank, &plain));
    EXPECT_IS(fi_stx_context(side.domain, NULL, &stx, NULL), 0);
    side.info->ep_attr->tx_ctx_cnt = FI_SHARED_CONTEXT;
    EXPECT_IS(fi_endpoint(side.domain, side.info, &ep, NULL), 0);
    EXPECT_IS(fi_ep_bind(ep, &stx->fid, 0), 0);
    EXPECT_IS(fi_close(&stx->fid), 0);
    EXPECT_IS(fi_close(&stx->fid), -FI_EINVAL);
    EXPECT_IS(fi_close(&ep->fid), 0);
    return gni_close(&side);
}

static void gni_121_shared_context_closed_first(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, early_stx_body);
}

/* ---- all of them -------------------------------------------------------------------------------
 */

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_27_closed_in_any_order),
        cmocka_unit_test(gni_121_shared_context_closed_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
