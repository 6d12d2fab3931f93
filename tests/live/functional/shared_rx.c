/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Endpoints that share a receive context (fi_srx_context): whatever comes to one of them takes the
 * next buffer of all.
 */
#include "common.h"

#define ENDPOINTS 3u
#define ROUNDS 12u
#define BYTES 3000u

int main(int argc, char **argv)
{
    struct side side;
    struct fid_ep *srx, *ep[ENDPOINTS];
    fi_addr_t peer[ENDPOINTS];
    struct memory out, in;
    unsigned i, round;

    side_begin(&side, argc, argv);
    side.hints->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
    side_info(&side);
    if (side.info->domain_attr->max_ep_srx_ctx == 0)
        skip(&side, "%s has no shared receive contexts", side.provider);
    side_open(&side);
    side.av = av_new(&side);
    side.tx_cq = cq_new(&side);
    side.rx_cq = cq_new(&side);
    CHECK(fi_srx_context(side.domain, side.info->rx_attr, &srx, NULL));
    for (i = 0; i < ENDPOINTS; i++) {
        step("opening endpoint %u", i);
        ep[i] = endpoint_new(&side, side.info, side.tx_cq, side.rx_cq);
        CHECK(fi_ep_bind(ep[i], &srx->fid, 0));
        CHECK(fi_enable(ep[i]));
        peer[i] = exchange_names(&side, ep[i], side.av);
    }
    out = memory_new(&side, BYTES, FI_SEND);
    in = memory_new(&side, BYTES, FI_RECV);
    for (round = 0; round < ROUNDS; round++) {
        i = round % ENDPOINTS;
        step("round %u, endpoint %u", round, i);
        if (side.server) {
            fill(out.bytes, BYTES - round, round);
            POST(&side, fi_send(ep[i], out.bytes, BYTES - round, out.desc, peer[i], &out));
            take_of(&side, side.tx_cq, &out);
        } else {
            POST(&side, fi_recv(srx, in.bytes, BYTES, in.desc, FI_ADDR_UNSPEC, &in));
            HOLDS(take_of(&side, side.rx_cq, &in).len == BYTES - round);
            verify(in.bytes, BYTES - round, round);
        }
        side_sync(&side);
    }
    for (i = 0; i < ENDPOINTS; i++)
        close_fid(&ep[i]->fid);
    close_fid(&srx->fid);
    memory_free(&out);
    memory_free(&in);
    return side_end(&side);
}
