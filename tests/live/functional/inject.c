/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sends whose buffer may be used again at once: the inject calls, which give no entry, and
 * FI_INJECT.
 */
#include "common.h"

#define COUNT 200u
#define MOST 512u

enum how { PLAIN, DATA, TAGGED, TAGGED_DATA, MESSAGE, TAGGED_MESSAGE, HOWS };

static void send_one(struct side *side, enum how how, uint8_t *bytes, size_t size, unsigned i)
{
    struct iovec iov = {bytes, size};
    struct fi_msg message = {
        .msg_iov = &iov, .iov_count = 1, .addr = side->peer, .context = side, .data = i};
    struct fi_msg_tagged tagged = {
        .msg_iov = &iov, .iov_count = 1, .addr = side->peer, .tag = i, .context = side};

    fill(bytes, size, i);
    switch (how) {
    case PLAIN:
        POST(side, fi_inject(side->ep, bytes, size, side->peer));
        break;
    case DATA:
        POST(side, fi_injectdata(side->ep, bytes, size, i, side->peer));
        break;
    case TAGGED:
        POST(side, fi_tinject(side->ep, bytes, size, side->peer, i));
        break;
    case TAGGED_DATA:
        POST(side, fi_tinjectdata(side->ep, bytes, size, i, side->peer, i));
        break;
    case MESSAGE:
        POST(side, fi_sendmsg(side->ep, &message, FI_INJECT | FI_COMPLETION));
        break;
    default:
        POST(side, fi_tsendmsg(side->ep, &tagged, FI_INJECT | FI_COMPLETION));
    }
    memset(bytes, 0xff, MOST);
    if (how >= MESSAGE)
        take_of(side, side->tx_cq, side);
}

static void take_one(struct side *side, enum how how, struct memory *memory, size_t size,
                     unsigned i)
{
    struct fi_cq_tagged_entry entry = take_of(side, side->rx_cq, memory);

    EXPECT(entry.len, size);
    verify(memory->bytes, size, i);
    HOLDS(!(entry.flags & FI_REMOTE_CQ_DATA) == (how != DATA && how != TAGGED_DATA));
    HOLDS(!(entry.flags & FI_REMOTE_CQ_DATA) || entry.data == i);
}

static bool is_tagged(unsigned how)
{
    return how == TAGGED || how == TAGGED_DATA || how == TAGGED_MESSAGE;
}

int main(int argc, char **argv)
{
    struct side side;
    struct memory memory[COUNT];
    uint8_t bytes[MOST];
    size_t most, bad = 0;
    unsigned how, i;

    side_begin(&side, argc, argv);
    side.hints->caps = FI_MSG | FI_TAGGED;
    side.hints->tx_attr->msg_order = side.hints->rx_attr->msg_order = FI_ORDER_SAS;
    side_start(&side);
    most = side.info->tx_attr->inject_size;
    if (most == 0)
        skip(&side, "%s injects nothing", side.provider);
    bad = most + 1;
    most = most > MOST ? MOST : most;
    for (i = 0; i < COUNT; i++)
        memory[i] = memory_new(&side, MOST, FI_RECV);
    for (how = 0; how < HOWS; how++) {
        step("way %u", how);
        if (side.server) {
            for (i = 0; i < COUNT; i++) {
                if (is_tagged(how))
                    POST(&side, fi_trecv(side.ep, memory[i].bytes, MOST, memory[i].desc,
                                         FI_ADDR_UNSPEC, i, 0, &memory[i]));
                else
                    POST(&side, fi_recv(side.ep, memory[i].bytes, MOST, memory[i].desc,
                                        FI_ADDR_UNSPEC, &memory[i]));
            }
            side_sync(&side);
            for (i = 0; i < COUNT; i++)
                take_one(&side, how, &memory[i], i % (most + 1), i);
        } else {
            side_sync(&side);
            for (i = 0; i < COUNT; i++)
                send_one(&side, how, bytes, i % (most + 1), i);
            nothing_comes(&side, side.tx_cq);
        }
        side_sync(&side);
    }
    step("too long");
    if (!side.server && side.strict && bad <= MOST)
        HOLDS(fi_inject(side.ep, bytes, bad, side.peer) < 0);
    for (i = 0; i < COUNT; i++)
        memory_free(&memory[i]);
    return side_end(&side);
}
