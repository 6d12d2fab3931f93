/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Triggered operations: sends and writes that wait until a counter reaches their threshold, each in
 * its turn.
 */
#include <rdma/fi_trigger.h>

#include "common.h"

#define COUNT 10u
#define BYTES 700u

static void client(struct side *side, struct memory *memory, struct fid_cntr *cntr,
                   struct window window)
{
    struct fi_triggered_context contexts[COUNT];
    struct iovec iov[COUNT];
    struct fi_rma_iov target[COUNT];
    unsigned i;

    memset(contexts, 0, sizeof(contexts));
    for (i = 0; i < COUNT; i++) { /* the last one first */
        unsigned which = COUNT - 1 - i;
        struct fi_msg_rma write = {.msg_iov = &iov[which],
                                   .desc = &memory->desc,
                                   .iov_count = 1,
                                   .addr = side->peer,
                                   .rma_iov = &target[which],
                                   .rma_iov_count = 1,
                                   .context = &contexts[which]};
        struct fi_msg send = {.msg_iov = &iov[which],
                              .desc = &memory->desc,
                              .iov_count = 1,
                              .addr = side->peer,
                              .context = &contexts[which]};

        step("waiting operation %u", which);
        iov[which] = (struct iovec){memory->bytes + which * BYTES, BYTES};
        target[which] = (struct fi_rma_iov){window.address + which * BYTES, BYTES, window.key};
        fill(iov[which].iov_base, BYTES, which);
        contexts[which].event_type = FI_TRIGGER_THRESHOLD;
        contexts[which].trigger.threshold.cntr = cntr;
        contexts[which].trigger.threshold.threshold = 2 * which + 2;
        if (which % 2 == 0)
            POST(side, fi_writemsg(side->ep, &write, FI_TRIGGER | FI_COMPLETION));
        else
            POST(side, fi_sendmsg(side->ep, &send, FI_TRIGGER | FI_COMPLETION));
    }
    nothing_comes(side, side->tx_cq);
    for (i = 0; i < COUNT; i++) {
        step("below the threshold of operation %u", i);
        CHECK(fi_cntr_add(cntr, 1));
        nothing_comes(side, side->tx_cq);
        step("at the threshold of operation %u", i);
        CHECK(fi_cntr_add(cntr, 1));
        take_of(side, side->tx_cq, &contexts[i]);
        side_sync(side);
    }
}

static void server(struct side *side, struct memory *memory, struct memory *in)
{
    unsigned i;

    for (i = 0; i < COUNT; i++) {
        step("operation %u", i);
        if (i % 2 == 1) {
            POST(side, fi_recv(side->ep, in->bytes, BYTES, in->desc, FI_ADDR_UNSPEC, in));
            EXPECT(take_of(side, side->rx_cq, in).len, BYTES);
            verify(in->bytes, BYTES, i);
        }
        side_sync(side);
        if (i % 2 == 0)
            verify(memory->bytes + i * BYTES, BYTES, i);
        verify_same(memory->bytes + (i + 1) * BYTES, BYTES, 0);
    }
}

int main(int argc, char **argv)
{
    struct side side;
    struct memory memory, in;
    struct window window;
    struct fid_cntr *cntr;

    side_begin(&side, argc, argv);
    side.hints->caps = FI_MSG | FI_RMA | FI_TRIGGER;
    side.hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
    side_start(&side);
    cntr = cntr_new(&side, FI_WAIT_NONE);
    memory = memory_new(&side, (COUNT + 1) * BYTES,
                        FI_SEND | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE);
    in = memory_new(&side, BYTES, FI_RECV);
    window = exchange_windows(&side, &memory);
    if (side.server)
        server(&side, &memory, &in);
    else
        client(&side, &memory, cntr, window);
    side_sync(&side);
    memory_free(&memory);
    memory_free(&in);
    close_fid(&side.ep->fid);
    side.ep = NULL;
    unwatch(&side, &cntr->fid);
    close_fid(&cntr->fid);
    return side_end(&side);
}
