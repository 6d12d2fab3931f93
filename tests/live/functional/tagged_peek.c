/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * FI_PEEK, FI_CLAIM and FI_DISCARD: what is there can be looked at before it is received, kept for
 * whoever looked, or thrown away.
 */
#include "common.h"

#define COUNT 12u
#define TAG 0x900dull
#define NO_TAG 0xbadull
#define LARGEST 100000u

static size_t size_of(unsigned i)
{
    return i % 3 == 2 ? LARGEST - i : 10 + i * 7;
}

static ssize_t call(struct side *side, struct memory *memory, uint64_t tag, uint64_t flags)
{
    struct iovec iov = {memory->bytes, LARGEST};
    struct fi_msg_tagged message = {.msg_iov = &iov,
                                    .desc = &memory->desc,
                                    .iov_count = 1,
                                    .addr = side->peer,
                                    .tag = tag,
                                    .context = memory};

    if (flags & (FI_PEEK | FI_DISCARD))
        message.iov_count = 0;
    return fi_trecvmsg(side->ep, &message, flags | FI_COMPLETION);
}

/* Is there such a message? It may still be under way. */
static bool peek(struct side *side, struct memory *memory, uint64_t tag, uint64_t flags,
                 struct fi_cq_tagged_entry *entry)
{
    struct fi_cq_err_entry error = {.err_data_size = 0};
    ssize_t got;

    POST(side, call(side, memory, tag, FI_PEEK | flags));
    while ((got = fi_cq_read(side->rx_cq, entry, 1)) == -FI_EAGAIN)
        drive(side);
    if (got == 1) {
        HOLDS(entry->op_context == memory && entry->tag == tag);
        return true;
    }
    EXPECT(got, -FI_EAVAIL);
    EXPECT(fi_cq_readerr(side->rx_cq, &error, 0), 1);
    EXPECT(error.err, FI_ENOMSG);
    HOLDS(error.op_context == memory);
    return false;
}

static void found(struct side *side, struct memory *memory, unsigned i, uint64_t flags)
{
    struct fi_cq_tagged_entry entry;

    while (!peek(side, memory, TAG + i, flags, &entry))
        drive(side);
    /* ofi_rxm says nothing of the length of what it throws away. */
    HOLDS(entry.len == size_of(i) || ((flags & FI_DISCARD) && entry.len == 0));
    HOLDS(entry.flags & FI_TAGGED);
}

static void received(struct side *side, struct memory *memory, unsigned i)
{
    struct fi_cq_tagged_entry entry = take_of(side, side->rx_cq, memory);

    EXPECT(entry.len, size_of(i));
    verify(memory->bytes, size_of(i), i);
    HOLDS(entry.tag == TAG + i);
}

static void server(struct side *side, struct memory *memory)
{
    struct fi_cq_tagged_entry entry;
    unsigned i;

    step("looking for what was never sent");
    HOLDS(!peek(side, memory, NO_TAG, 0, &entry));
    side_sync(side); /* now they are sent */
    for (i = COUNT; i-- > 0;) {
        memset(memory->bytes, 0, LARGEST);
        switch (i % 4) {
        case 0:
            step("message %u: looked at twice, then received", i);
            found(side, memory, i, 0);
            found(side, memory, i, 0);
            POST(side, fi_trecv(side->ep, memory->bytes, LARGEST, memory->desc, side->peer, TAG + i,
                                0, memory));
            received(side, memory, i);
            break;
        case 1:
            step("message %u: claimed, and received by its owner", i);
            found(side, memory, i, FI_CLAIM);
            HOLDS(!peek(side, memory, TAG + i, 0, &entry));
            POST(side, call(side, memory, TAG + i, FI_CLAIM));
            received(side, memory, i);
            break;
        case 2:
            step("message %u: thrown away", i);
            found(side, memory, i, FI_DISCARD);
            break;
        default:
            step("message %u: claimed, then thrown away", i);
            found(side, memory, i, FI_CLAIM);
            POST(side, call(side, memory, TAG + i, FI_CLAIM | FI_DISCARD));
            take_of(side, side->rx_cq, memory);
        }
        HOLDS(!peek(side, memory, TAG + i, 0, &entry));
    }
}

int main(int argc, char **argv)
{
    struct side side;
    struct memory memory[COUNT];
    unsigned i;

    side_begin(&side, argc, argv);
    side.hints->caps = FI_TAGGED;
    side_start(&side);
    for (i = 0; i < COUNT; i++)
        memory[i] = memory_new(&side, LARGEST, FI_SEND | FI_RECV);
    if (side.server) {
        server(&side, &memory[0]);
    } else {
        side_sync(&side);
        for (i = 0; i < COUNT; i++) {
            fill(memory[i].bytes, size_of(i), i);
            POST(&side, fi_tsend(side.ep, memory[i].bytes, size_of(i), memory[i].desc, side.peer,
                                 TAG + i, &memory[i]));
        }
        for (i = 0; i < COUNT; i++) /* those that are thrown away as well */
            take(&side, side.tx_cq);
    }
    side_sync(&side);
    for (i = 0; i < COUNT; i++)
        memory_free(&memory[i]);
    return side_end(&side);
}
