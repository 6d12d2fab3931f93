/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Counters instead of queues: sends, receives, writes and reads are counted when they are complete;
 * they are set, added to, waited for, and count errors by themselves.
 */
#include "common.h"

#define COUNT 60u
#define BYTES 5000u

struct counters {
    struct fid_cntr *tx, *rx;
};

static void bind_and_enable(struct side *side, struct counters *c)
{
    CHECK(fi_endpoint(side->domain, side->info, &side->ep, NULL));
    CHECK(fi_ep_bind(side->ep, &side->av->fid, 0));
    /* With queues that tell errors only. */
    CHECK(fi_ep_bind(side->ep, &side->tx_cq->fid, FI_TRANSMIT | FI_SELECTIVE_COMPLETION));
    CHECK(fi_ep_bind(side->ep, &side->rx_cq->fid, FI_RECV | FI_SELECTIVE_COMPLETION));
    CHECK(fi_ep_bind(side->ep, &c->tx->fid, FI_SEND | FI_WRITE | FI_READ));
    CHECK(fi_ep_bind(side->ep, &c->rx->fid, FI_RECV));
    CHECK(fi_enable(side->ep));
}

static void arithmetic(struct side *side)
{
    struct fid_cntr *cntr = cntr_new(side, FI_WAIT_UNSPEC);

    step("counting by hand");
    EXPECT(fi_cntr_read(cntr), 0);
    CHECK(fi_cntr_add(cntr, 5));
    EXPECT(fi_cntr_read(cntr), 5);
    EXPECT(fi_cntr_readerr(cntr), 0);
    CHECK(fi_cntr_set(cntr, 1000));
    CHECK(fi_cntr_add(cntr, 1));
    EXPECT(fi_cntr_read(cntr), 1001);
    EXPECT(fi_cntr_wait(cntr, 1000, -1), 0);
    EXPECT(fi_cntr_wait(cntr, 1002, 5), -FI_ETIMEDOUT);
    CHECK(fi_cntr_adderr(cntr, 2));
    EXPECT(fi_cntr_readerr(cntr), 2);
    if (side->strict) /* others count errors from the call on */
        EXPECT(fi_cntr_wait(cntr, 1002, 5), -FI_EAVAIL);
    CHECK(fi_cntr_seterr(cntr, 0));
    EXPECT(fi_cntr_readerr(cntr), 0);
    CHECK(fi_cntr_set(cntr, 0));
    EXPECT(fi_cntr_read(cntr), 0);
    unwatch(side, &cntr->fid);
    close_fid(&cntr->fid);
}

static void transfers(struct side *side, struct counters *c, struct memory *memory)
{
    struct window window = exchange_windows(side, memory);
    unsigned i;

    step("messages");
    for (i = 0; i < COUNT; i++) {
        fill(memory->bytes, BYTES, i);
        if (side->server) {
            memset(memory->bytes, 0, BYTES);
            POST(side, fi_recv(side->ep, memory->bytes, BYTES, memory->desc, FI_ADDR_UNSPEC, NULL));
            EXPECT(fi_cntr_wait(c->rx, i + 1, 20000), 0);
            verify(memory->bytes, BYTES - i, i);
        } else {
            POST(side, fi_send(side->ep, memory->bytes, BYTES - i, memory->desc, side->peer, NULL));
            EXPECT(fi_cntr_wait(c->tx, i + 1, 20000), 0);
        }
    }
    side_sync(side);
    EXPECT(fi_cntr_read(side->server ? c->rx : c->tx), COUNT);
    EXPECT(fi_cntr_read(side->server ? c->tx : c->rx), 0);
    step("writes and reads");
    if (!side->server) {
        for (i = 0; i < COUNT; i++)
            POST(side, fi_write(side->ep, memory->bytes, 8 + i, memory->desc, side->peer,
                                window.address + 64 * i, window.key, NULL));
        EXPECT(fi_cntr_wait(c->tx, 2 * COUNT, 20000), 0);
        for (i = 0; i < COUNT; i++)
            POST(side, fi_read(side->ep, memory->bytes + 64 * i, 8 + i % 56, memory->desc,
                               side->peer, window.address + 64 * i, window.key, NULL));
        EXPECT(fi_cntr_wait(c->tx, 3 * COUNT, 20000), 0);
        EXPECT(fi_cntr_readerr(c->tx), 0);
        nothing_comes(side, side->tx_cq);
    }
    side_sync(side);
}

int main(int argc, char **argv)
{
    struct side side;
    struct counters c;
    struct memory memory;

    side_begin(&side, argc, argv);
    side.hints->caps = FI_MSG | FI_RMA;
    side_open(&side);
    side.tx_cq = cq_new(&side);
    side.rx_cq = cq_new(&side);
    c.tx = cntr_new(&side, FI_WAIT_UNSPEC);
    c.rx = cntr_new(&side, FI_WAIT_UNSPEC);
    side.av = av_new(&side);
    bind_and_enable(&side, &c);
    side_meet(&side);
    arithmetic(&side);
    memory = memory_new(&side, 2 * BYTES,
                        FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE);
    side_sync(&side);
    transfers(&side, &c, &memory);
    memory_free(&memory);
    close_fid(&side.ep->fid);
    side.ep = NULL;
    unwatch(&side, &c.tx->fid);
    unwatch(&side, &c.rx->fid);
    close_fid(&c.tx->fid);
    close_fid(&c.rx->fid);
    return side_end(&side);
}
