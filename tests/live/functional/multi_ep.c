/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Many endpoints in one process that share queues and an address vector: messages go
 * from each to each, and closing one leaves the others alone.
 */
#include "common.h"

#define ENDPOINTS 8u
#define BYTES 9000u

int main(int argc, char **argv)
{
    struct side side;
    struct fid_ep *ep[ENDPOINTS];
    fi_addr_t peer[ENDPOINTS];
    struct memory out, in;
    struct fi_cq_tagged_entry entry;
    unsigned i, j, round, left;

    side_begin(&side, argc, argv);
    side.hints->caps = FI_TAGGED;
    side_open(&side);
    side.tx_cq = cq_new(&side);
    side.rx_cq = cq_new(&side);
    side.av = av_new(&side);
    for (i = 0; i < ENDPOINTS; i++) {
        step("opening endpoint %u", i);
        ep[i] = endpoint_new(&side, side.info, side.tx_cq, side.rx_cq);
        CHECK(fi_enable(ep[i]));
        peer[i] = exchange_names(&side, ep[i], side.av);
    }
    out = memory_new(&side, BYTES, FI_SEND);
    in = memory_new(&side, BYTES, FI_RECV);
    for (left = ENDPOINTS, round = 0; left > 0; left--) {
        for (i = 0; i < left; i++)
            for (j = 0; j < left; j++, round++) {
                size_t size = round % 9 == 8 ? BYTES : 16 + round % 100;

                step("endpoint %u to endpoint %u, %u are left", i, j, left);
                if (side.server) {
                    POST(&side,
                         fi_trecv(ep[j], in.bytes, BYTES, in.desc, FI_ADDR_UNSPEC, round, 0, &in));
                    entry = take_of(&side, side.rx_cq, &in);
                    EXPECT(entry.len, size);
                    EXPECT(entry.tag, round);
                    verify(in.bytes, size, round);
                } else {
                    fill(out.bytes, size, round);
                    POST(&side, fi_tsend(ep[i], out.bytes, size, out.desc, peer[j], round, &out));
                    take_of(&side, side.tx_cq, &out);
                }
            }
        side_sync(&side);
        step("closing endpoint %u", left - 1);
        close_fid(&ep[left - 1]->fid);
        side_sync(&side);
    }
    memory_free(&out);
    memory_free(&in);
    return side_end(&side);
}
