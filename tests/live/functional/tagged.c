/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Tagged messages of all sizes: sent in one order, received in another, with masks, from one source
 * and from any, by each call of the interface.
 */
#include "common.h"

#define COUNT 24u
#define TAG(i) (0xabcd000000000000ull | (uint64_t)(i) << 16 | 0x77)
#define LARGEST ((size_t)1 << 20)

static size_t size_of(unsigned i)
{
    static const size_t sizes[] = {0, 1, 8, 100, 4096, 16384, 16385, 65536, LARGEST};

    return sizes[i % ARRAY_SIZE(sizes)];
}

static void send_all(struct side *side, struct memory *memory, unsigned round)
{
    struct iovec iov;
    struct fi_msg_tagged message;
    unsigned i;

    for (i = 0; i < COUNT; i++) {
        step("round %u, sending message %u of %zu bytes", round, i, size_of(i));
        fill(memory[i].bytes, size_of(i), round * COUNT + i);
        iov = (struct iovec){memory[i].bytes, size_of(i)};
        message = (struct fi_msg_tagged){.msg_iov = &iov,
                                         .desc = &memory[i].desc,
                                         .iov_count = 1,
                                         .addr = side->peer,
                                         .tag = TAG(i),
                                         .context = &memory[i],
                                         .data = i};
        if (i % 4 == 0)
            POST(side, fi_tsend(side->ep, iov.iov_base, iov.iov_len, memory[i].desc, side->peer,
                                TAG(i), &memory[i]));
        else if (i % 4 == 1)
            POST(side,
                 fi_tsendv(side->ep, &iov, &memory[i].desc, 1, side->peer, TAG(i), &memory[i]));
        else if (i % 4 == 2)
            POST(side, fi_tsendmsg(side->ep, &message, FI_COMPLETION | FI_REMOTE_CQ_DATA));
        else
            POST(side, fi_tsenddata(side->ep, iov.iov_base, iov.iov_len, memory[i].desc, i,
                                    side->peer, TAG(i), &memory[i]));
    }
    if (round % 3 == 1)
        side_sync(side);
    for (i = 0; i < COUNT; i++)
        HOLDS(take(side, side->tx_cq).flags & FI_SEND);
}

/* A receive for message i, or for one of those whose tags differ in `ignore` only. */
static void post(struct side *side, struct memory *memory, unsigned i, uint64_t ignore,
                 unsigned how)
{
    struct iovec iov = {memory[i].bytes, LARGEST};
    struct fi_msg_tagged message = {.msg_iov = &iov,
                                    .desc = &memory[i].desc,
                                    .iov_count = 1,
                                    .addr = side->peer,
                                    .tag = TAG(i),
                                    .ignore = ignore,
                                    .context = &memory[i]};

    memset(memory[i].bytes, 0xee, LARGEST + 1);
    if (how == 0)
        POST(side, fi_trecv(side->ep, iov.iov_base, iov.iov_len, memory[i].desc, FI_ADDR_UNSPEC,
                            TAG(i), ignore, &memory[i]));
    else if (how == 1)
        POST(side, fi_trecvv(side->ep, &iov, &memory[i].desc, 1, FI_ADDR_UNSPEC, TAG(i), ignore,
                             &memory[i]));
    else
        POST(side, fi_trecvmsg(side->ep, &message, FI_COMPLETION));
}

static void take_one(struct side *side, struct memory *memory, unsigned round, bool exact)
{
    struct fi_cq_tagged_entry entry = take(side, side->rx_cq);
    unsigned posted = (unsigned)((struct memory *)entry.op_context - memory);
    unsigned i = (unsigned)(entry.tag >> 16 & 0xff);

    HOLDS(posted < COUNT && i < COUNT && (posted == i || !exact));
    HOLDS((entry.flags & (FI_RECV | FI_TAGGED)) == (FI_RECV | FI_TAGGED));
    HOLDS(entry.tag == TAG(i) && entry.len == size_of(i));
    HOLDS(!!(entry.flags & FI_REMOTE_CQ_DATA) == (i % 4 >= 2));
    HOLDS(i % 4 < 2 || entry.data == i);
    verify(memory[posted].bytes, size_of(i), round * COUNT + i);
    verify_same(memory[posted].bytes + size_of(i), 1, 0xee);
}

static void receive_all(struct side *side, struct memory *memory, unsigned round)
{
    unsigned i;

    if (round % 3 == 1) /* all of them are there, or on their way, before the first receive */
        side_sync(side);
    for (i = 0; i < COUNT; i++) {
        step("round %u, posting receive %u", round, i);
        if (round < 3) /* the last tag first, exactly that one */
            post(side, memory, COUNT - 1 - i, 0, i % 3);
        else /* any: in the order in which they were sent */
            post(side, memory, i, 0xff0000, i % 3);
    }
    if (round % 3 == 0) /* all receives wait before the first message comes */
        side_sync(side);
    for (i = 0; i < COUNT; i++) {
        step("round %u, taking message %u", round, i);
        take_one(side, memory, round, true);
    }
}

int main(int argc, char **argv)
{
    struct side side;
    struct memory memory[COUNT];
    unsigned i, round;

    side_begin(&side, argc, argv);
    side.hints->caps = FI_TAGGED | FI_DIRECTED_RECV;
    side.hints->tx_attr->msg_order = side.hints->rx_attr->msg_order = FI_ORDER_SAS;
    side_start(&side);
    for (i = 0; i < COUNT; i++)
        memory[i] = memory_new(&side, LARGEST + 1, FI_SEND | FI_RECV);
    for (round = 0; round < 6; round++) {
        if ((round % 2 == 0) == side.server) {
            if (round % 3 == 0)
                side_sync(&side);
            send_all(&side, memory, round);
        } else {
            receive_all(&side, memory, round);
        }
        side_sync(&side);
    }
    for (i = 0; i < COUNT; i++)
        memory_free(&memory[i]);
    return side_end(&side);
}
