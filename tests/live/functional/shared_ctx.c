/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Endpoints that share a transmit context (fi_stx_context): each sends to its own peer, and
 * completions are those of the endpoint's queue.
 */
#include "common.h"

#define ENDPOINTS 4u
#define ROUNDS 20u
#define BYTES 3000u

int main(int argc, char **argv)
{
    struct side side;
    struct fid_stx *stx;
    struct fid_ep *ep[ENDPOINTS];
    struct fid_cq *cq[ENDPOINTS];
    fi_addr_t peer[ENDPOINTS];
    struct memory out, in;
    unsigned i, round;

    side_begin(&side, argc, argv);
    side.hints->ep_attr->tx_ctx_cnt = FI_SHARED_CONTEXT;
    side_info(&side);
    if (side.info->domain_attr->max_ep_stx_ctx == 0)
        skip(&side, "%s has no shared transmit contexts", side.provider);
    side_open(&side);
    side.av = av_new(&side);
    CHECK(fi_stx_context(side.domain, side.info->tx_attr, &stx, NULL));
    for (i = 0; i < ENDPOINTS; i++) {
        step("opening endpoint %u", i);
        cq[i] = cq_new(&side);
        ep[i] = endpoint_new(&side, side.info, cq[i], cq[i]);
        CHECK(fi_ep_bind(ep[i], &stx->fid, 0));
        CHECK(fi_enable(ep[i]));
        peer[i] = exchange_names(&side, ep[i], side.av);
    }
    out = memory_new(&side, BYTES, FI_SEND);
    in = memory_new(&side, BYTES, FI_RECV);
    for (round = 0; round < ROUNDS; round++) {
        for (i = 0; i < ENDPOINTS; i++) {
            step("round %u, endpoint %u", round, i);
            if (side.server == (round % 2 == 0)) {
                fill(out.bytes, BYTES - round, round * ENDPOINTS + i);
                POST(&side, fi_send(ep[i], out.bytes, BYTES - round, out.desc, peer[i], &out));
                HOLDS(take_of(&side, cq[i], &out).flags & FI_SEND);
            } else {
                POST(&side, fi_recv(ep[i], in.bytes, BYTES, in.desc, FI_ADDR_UNSPEC, &in));
                HOLDS(take_of(&side, cq[i], &in).len == BYTES - round);
                verify(in.bytes, BYTES - round, round * ENDPOINTS + i);
            }
        }
    }
    step("closing");
    side_sync(&side);
    for (i = 0; i < ENDPOINTS; i++)
        close_fid(&ep[i]->fid);
    for (i = 0; i < ENDPOINTS; i++) {
        unwatch(&side, &cq[i]->fid);
        close_fid(&cq[i]->fid);
    }
    close_fid(&stx->fid);
    memory_free(&out);
    memory_free(&in);
    return side_end(&side);
}
