/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One buffer takes many messages (FI_MULTI_RECV): each has an entry that says where it lies, and
 * the buffer comes back when less is free than FI_OPT_MIN_MULTI_RECV.
 */
#include "common.h"

#define COUNT 600u
#define BUFFERS 2u
#define BUFFER 65536u
#define LEAST 3000u

static size_t size_of(unsigned i)
{
    return i % 13 == 12 ? LEAST - i % 100 : i * 37 % 700;
}

static void post(struct side *side, struct memory *memory)
{
    struct iovec iov = {memory->bytes, BUFFER};
    struct fi_msg message = {.msg_iov = &iov,
                             .desc = &memory->desc,
                             .iov_count = 1,
                             .addr = FI_ADDR_UNSPEC,
                             .context = memory};

    memset(memory->bytes, 0, BUFFER);
    POST(side, fi_recvmsg(side->ep, &message, FI_MULTI_RECV | FI_COMPLETION));
}

static void server(struct side *side, struct memory *memory)
{
    uint8_t *next[BUFFERS];
    unsigned got = 0, released = 0, i;
    size_t least = LEAST;

    CHECK(fi_setopt(&side->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof(least)));
    for (i = 0; i < BUFFERS; i++) {
        post(side, &memory[i]);
        next[i] = memory[i].bytes;
    }
    side_sync(side);
    while (got < COUNT) {
        struct fi_cq_tagged_entry entry = take(side, side->rx_cq);
        unsigned at = (unsigned)((struct memory *)entry.op_context - memory);
        uint8_t *bytes = entry.buf;

        step("message %u", got);
        HOLDS(at < BUFFERS);
        if (entry.flags & FI_RECV &&
            (!(entry.flags & FI_MULTI_RECV) || entry.len > 0 || size_of(got) == 0)) {
            EXPECT(entry.len, size_of(got));
            /* One behind the other; providers may align. */
            HOLDS(entry.len == 0 || (bytes >= next[at] && bytes < next[at] + 64));
            HOLDS(entry.len == 0 || bytes + entry.len <= memory[at].bytes + BUFFER);
            verify(bytes, entry.len, got);
            if (entry.len > 0)
                next[at] = bytes + entry.len;
            got++;
        }
        if (entry.flags & FI_MULTI_RECV) { /* the buffer is ours again, and not too early */
            HOLDS(memory[at].bytes + BUFFER - next[at] < LEAST + 64);
            next[at] = memory[at].bytes;
            post(side, &memory[at]);
            released++;
        }
    }
    HOLDS(released >= 2);
}

int main(int argc, char **argv)
{
    struct side side;
    struct memory memory[BUFFERS];
    unsigned i;

    side_begin(&side, argc, argv);
    side.hints->caps = FI_MSG | FI_MULTI_RECV;
    side.hints->tx_attr->msg_order = side.hints->rx_attr->msg_order = FI_ORDER_SAS;
    side_start(&side);
    for (i = 0; i < BUFFERS; i++)
        memory[i] = memory_new(&side, BUFFER, FI_SEND | FI_RECV);
    if (side.server) {
        server(&side, memory);
    } else {
        side_sync(&side);
        for (i = 0; i < COUNT; i++) {
            fill(memory[0].bytes, size_of(i), i);
            POST(&side, fi_send(side.ep, memory[0].bytes, size_of(i), memory[0].desc, side.peer,
                                &memory[0]));
            take_of(&side, side.tx_cq, &memory[0]);
        }
    }
    side_sync(&side);
    close_fid(&side.ep->fid); /* the buffers still belong to it */
    side.ep = NULL;
    for (i = 0; i < BUFFERS; i++)
        memory_free(&memory[i]);
    return side_end(&side);
}
