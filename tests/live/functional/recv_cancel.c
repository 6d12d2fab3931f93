/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fi_cancel of receives: those that wait end with FI_ECANCELED, exactly once, and messages go to
 * the others. What was matched already is not cancelled.
 */
#include "common.h"

#define COUNT 16u
#define BYTES 500u

static void post(struct side *side, struct memory *memory, unsigned i, bool tagged)
{
    if (tagged)
        POST(side, fi_trecv(side->ep, memory[i].bytes, BYTES, memory[i].desc, FI_ADDR_UNSPEC, i, 0,
                            &memory[i]));
    else
        POST(side,
             fi_recv(side->ep, memory[i].bytes, BYTES, memory[i].desc, FI_ADDR_UNSPEC, &memory[i]));
}

static void cancel(struct side *side, struct memory *memory)
{
    struct fi_cq_err_entry error;

    CHECK(fi_cancel(&side->ep->fid, memory));
    error = take_error(side, side->rx_cq);
    EXPECT(error.err, FI_ECANCELED);
    HOLDS(error.op_context == memory);
    HOLDS(error.flags & FI_RECV);
}

/* Every other one is cancelled. */
static void server(struct side *side, struct memory *memory, bool tagged)
{
    struct fi_cq_tagged_entry entry;
    unsigned i;

    for (i = 0; i < COUNT; i++)
        post(side, memory, i, tagged);
    for (i = 0; i < COUNT; i += 2) {
        step("cancelling receive %u", i);
        cancel(side, &memory[i]);
    }
    side_sync(side);
    for (i = 1; i < COUNT; i += 2) {
        step("receiving message %u", i);
        entry = take_of(side, side->rx_cq, &memory[i]);
        EXPECT(entry.len, BYTES - i);
        verify(memory[i].bytes, BYTES - i, i);
    }
    step("cancelling what is complete");
    fi_cancel(&side->ep->fid, &memory[1]);
    nothing_comes(side, side->rx_cq);
}

int main(int argc, char **argv)
{
    struct side side;
    struct memory memory[COUNT];
    unsigned i, tagged;

    side_begin(&side, argc, argv);
    side.hints->caps = FI_MSG | FI_TAGGED;
    side.hints->tx_attr->msg_order = side.hints->rx_attr->msg_order = FI_ORDER_SAS;
    side_start(&side);
    for (i = 0; i < COUNT; i++)
        memory[i] = memory_new(&side, BYTES, FI_SEND | FI_RECV);
    for (tagged = 0; tagged < 2; tagged++) {
        if (side.server) {
            server(&side, memory, tagged);
        } else {
            side_sync(&side);
            for (i = 1; i < COUNT; i += 2) {
                fill(memory[i].bytes, BYTES - i, i);
                if (tagged)
                    POST(&side, fi_tsend(side.ep, memory[i].bytes, BYTES - i, memory[i].desc,
                                         side.peer, i, NULL));
                else
                    POST(&side, fi_send(side.ep, memory[i].bytes, BYTES - i, memory[i].desc,
                                        side.peer, NULL));
                take(&side, side.tx_cq);
            }
        }
        side_sync(&side);
    }
    for (i = 0; i < COUNT; i++)
        memory_free(&memory[i]);
    return side_end(&side);
}
