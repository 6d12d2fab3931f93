/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the target of RMA learns: remote CQ data, and counters of reads and writes of others
 * (FI_RMA_EVENT).
 */
#include "common.h"

#define COUNT 50u
#define SLOT 20000u

static size_t size_of(unsigned i)
{
    return i % 5 == 0 ? SLOT : i * 11;
}

static void client(struct side *side, struct memory *memory, struct window window)
{
    unsigned i;
    uint64_t at;

    for (i = 1; i <= COUNT; i++) {
        step("operation %u", i);
        at = window.address + i % 8 * SLOT;
        fill(memory->bytes, size_of(i), i);
        if (i % 3 == 0 && size_of(i) <= side->info->tx_attr->inject_size) {
            POST(side, fi_inject_writedata(side->ep, memory->bytes, size_of(i), i, side->peer, at,
                                           window.key));
        } else {
            POST(side, fi_writedata(side->ep, memory->bytes, size_of(i), memory->desc, i,
                                    side->peer, at, window.key, memory));
            take_of(side, side->tx_cq, memory);
        }
        side_sync(side);
        /* Without data: only counted. */
        POST(side, fi_read(side->ep, memory->bytes, size_of(i), memory->desc, side->peer, at,
                           window.key, memory));
        take_of(side, side->tx_cq, memory);
        verify(memory->bytes, size_of(i), i);
    }
    for (i = 0; i < COUNT; i++) {
        POST(side, fi_write(side->ep, memory->bytes, 8, memory->desc, side->peer, window.address,
                            window.key, memory));
        take_of(side, side->tx_cq, memory);
    }
}

static void server(struct side *side, struct memory *memory, struct fid_cntr *writes,
                   struct fid_cntr *reads)
{
    struct fi_cq_tagged_entry entry;
    unsigned i;

    for (i = 1; i <= COUNT; i++) {
        step("operation %u", i);
        entry = take(side, side->rx_cq);
        HOLDS((entry.flags & (FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA)) ==
              (FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA));
        HOLDS(entry.data == i);
        verify(memory->bytes + i % 8 * SLOT, size_of(i), i);
        count_to(side, writes, i);
        side_sync(side);
        count_to(side, reads, i);
    }
    step("writes without data");
    count_to(side, writes, 2 * COUNT);
    nothing_comes(side, side->rx_cq);
}

int main(int argc, char **argv)
{
    struct side side;
    struct memory memory;
    struct window window;
    struct fid_cntr *writes, *reads;

    side_begin(&side, argc, argv);
    side.hints->caps = FI_MSG | FI_RMA | FI_RMA_EVENT;
    side_open(&side);
    if (side.info->domain_attr->cq_data_size < 4)
        skip(&side, "no remote CQ data");
    side.tx_cq = cq_new(&side);
    side.rx_cq = cq_new(&side);
    writes = cntr_new(&side, FI_WAIT_NONE);
    reads = cntr_new(&side, FI_WAIT_NONE);
    side.av = av_new(&side);
    side.ep = endpoint_new(&side, side.info, side.tx_cq, side.rx_cq);
    CHECK(fi_ep_bind(side.ep, &writes->fid, FI_REMOTE_WRITE));
    CHECK(fi_ep_bind(side.ep, &reads->fid, FI_REMOTE_READ));
    CHECK(fi_enable(side.ep));
    side_meet(&side);
    memory = memory_new(&side, 8 * SLOT, FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE);
    window = exchange_windows(&side, &memory);
    side_sync(&side);
    if (side.server)
        server(&side, &memory, writes, reads);
    else
        client(&side, &memory, window);
    side_sync(&side);
    memory_free(&memory);
    close_fid(&side.ep->fid);
    side.ep = NULL;
    unwatch(&side, &writes->fid);
    unwatch(&side, &reads->fid);
    close_fid(&writes->fid);
    close_fid(&reads->fid);
    return side_end(&side);
}
