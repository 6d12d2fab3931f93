/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * FI_DELIVERY_COMPLETE: a send completes when the message has been received. The receiver closes
 * its endpoint as soon as it has its messages, without a word to the sender: each of them is a
 * success all the same, with more messages than a mailbox has places for answers.
 */
#include "common.h"

#define COUNT 200u
#define BYTES 64u
#define LONG 40000u /* every fiftieth */

static size_t size_of(unsigned i)
{
    return i % 50 == 49 ? LONG : 1 + i % BYTES;
}

static void send_all(struct side *side, struct memory *memory)
{
    unsigned i;

    fill(memory->bytes, LONG, 5);
    side_sync(side); /* all receives are there */
    for (i = 0; i < COUNT; i++) {
        struct iovec part = {memory->bytes, size_of(i)};
        struct fi_msg message = {.msg_iov = &part,
                                 .desc = &memory->desc,
                                 .iov_count = 1,
                                 .addr = side->peer,
                                 .context = memory};

        step("sending %u", i);
        POST(side, fi_sendmsg(side->ep, &message, FI_DELIVERY_COMPLETE | FI_COMPLETION));
    }
    for (i = 0; i < COUNT; i++) {
        step("%u were received", i);
        take_of(side, side->tx_cq, memory);
    }
}

static void receive_all(struct side *side, struct memory *memory)
{
    unsigned i;

    for (i = 0; i < COUNT; i++)
        POST(side, fi_recv(side->ep, memory->bytes, LONG, memory->desc, FI_ADDR_UNSPEC, memory));
    side_sync(side);
    for (i = 0; i < COUNT; i++) {
        step("receiving %u", i);
        take_of(side, side->rx_cq, memory);
    }
    step("closing at once");
    close_fid(&side->ep->fid);
    side->ep = NULL;
}

int main(int argc, char **argv)
{
    struct side side;
    struct memory memory;

    side_begin(&side, argc, argv);
    side_start(&side);
    memory = memory_new(&side, LONG, FI_SEND | FI_RECV);
    if (side.server)
        receive_all(&side, &memory);
    else
        send_all(&side, &memory);
    memory_free(&memory);
    return side_end(&side);
}
