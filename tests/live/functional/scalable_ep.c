/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A scalable endpoint: one address, several transmit and receive contexts with a queue each. Every
 * transmit context sends to every receive context, tagged and plain.
 */
#include "common.h"

#define CONTEXTS 4u
#define BITS 3
#define BYTES 20000u

struct contexts {
    struct fid_ep *sep, *tx[CONTEXTS], *rx[CONTEXTS];
    struct fid_cq *tx_cq[CONTEXTS], *rx_cq[CONTEXTS];
};

static void open_contexts(struct side *side, struct contexts *c)
{
    unsigned i;

    CHECK(fi_scalable_ep(side->domain, side->info, &c->sep, NULL));
    CHECK(fi_scalable_ep_bind(c->sep, &side->av->fid, 0));
    for (i = 0; i < CONTEXTS; i++) {
        step("opening context %u", i);
        c->tx_cq[i] = cq_new(side);
        c->rx_cq[i] = cq_new(side);
        CHECK(fi_tx_context(c->sep, (int)i, NULL, &c->tx[i], NULL));
        CHECK(fi_ep_bind(c->tx[i], &c->tx_cq[i]->fid, FI_TRANSMIT));
        CHECK(fi_rx_context(c->sep, (int)i, NULL, &c->rx[i], NULL));
        CHECK(fi_ep_bind(c->rx[i], &c->rx_cq[i]->fid, FI_RECV));
        CHECK(fi_enable(c->tx[i]));
        CHECK(fi_enable(c->rx[i]));
    }
    CHECK(fi_enable(c->sep));
}

static void close_contexts(struct side *side, struct contexts *c)
{
    unsigned i;

    for (i = 0; i < CONTEXTS; i++) {
        close_fid(&c->tx[i]->fid);
        close_fid(&c->rx[i]->fid);
    }
    close_fid(&c->sep->fid);
    for (i = 0; i < CONTEXTS; i++) {
        unwatch(side, &c->tx_cq[i]->fid);
        unwatch(side, &c->rx_cq[i]->fid);
        close_fid(&c->tx_cq[i]->fid);
        close_fid(&c->rx_cq[i]->fid);
    }
}

int main(int argc, char **argv)
{
    struct side side;
    struct contexts c;
    struct memory out, in;
    struct fi_cq_tagged_entry entry;
    fi_addr_t to;
    unsigned from, at, other, round = 0;

    side_begin(&side, argc, argv);
    side.hints->caps = FI_MSG | FI_TAGGED | FI_NAMED_RX_CTX;
    side.hints->ep_attr->tx_ctx_cnt = side.hints->ep_attr->rx_ctx_cnt = CONTEXTS;
    side_info(&side);
    if (side.info->domain_attr->max_ep_tx_ctx < CONTEXTS ||
        side.info->domain_attr->max_ep_rx_ctx < CONTEXTS)
        skip(&side, "%s has no scalable endpoints", side.provider);
    side.av_attr.rx_ctx_bits = BITS;
    side_open(&side);
    side.av = av_new(&side);
    open_contexts(&side, &c);
    side.peer = exchange_names(&side, c.sep, side.av);
    out = memory_new(&side, BYTES, FI_SEND);
    in = memory_new(&side, BYTES, FI_RECV);
    for (from = 0; from < CONTEXTS; from++)
        for (at = 0; at < CONTEXTS; at++, round++) {
            bool tagged = (from + at) % 2 == 1;
            size_t size = round % 3 == 2 ? BYTES : 10 + round;

            step("context %u to context %u", from, at);
            if (side.server) {
                if (tagged)
                    POST(&side, fi_trecv(c.rx[at], in.bytes, BYTES, in.desc, FI_ADDR_UNSPEC, round,
                                         0, &in));
                else
                    POST(&side, fi_recv(c.rx[at], in.bytes, BYTES, in.desc, FI_ADDR_UNSPEC, &in));
                entry = take_of(&side, c.rx_cq[at], &in);
                EXPECT(entry.len, size);
                HOLDS(!tagged || entry.tag == round);
                verify(in.bytes, size, round);
                for (other = 0; other < CONTEXTS; other++) /* nobody else has it */
                    EXPECT(fi_cq_read(c.rx_cq[other], &entry, 1), -FI_EAGAIN);
            } else {
                to = fi_rx_addr(side.peer, (int)at, BITS);
                fill(out.bytes, size, round);
                if (tagged)
                    POST(&side, fi_tsend(c.tx[from], out.bytes, size, out.desc, to, round, &out));
                else
                    POST(&side, fi_send(c.tx[from], out.bytes, size, out.desc, to, &out));
                take_of(&side, c.tx_cq[from], &out);
            }
            side_sync(&side);
        }
    memory_free(&out);
    memory_free(&in);
    close_contexts(&side, &c);
    return side_end(&side);
}
