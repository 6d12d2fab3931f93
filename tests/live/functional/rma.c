/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Writes and reads of all lengths and alignments by each call of the interface. Not a byte outside
 * of what was named changes. The server's processor has no part in it.
 */
#include "common.h"

#define WINDOW ((size_t)2 << 20)
#define EMPTY 0x5a

static const size_t sizes[] = {1,    2,     3,     4,     8,     9,      31,      63,        64,
                               65,   255,   1000,  1024,  4095,  4096,   5000,    8191,      8192,
                               8193, 16384, 20001, 65536, 65537, 262144, 1000003, (1u << 20)};

enum how { PLAIN, VECTOR, MESSAGE, HOWS };

struct transfer {
    struct side *side;
    struct memory *local;
    struct window window;
    size_t size, at, offset; /* of it: here, there */
};

static void write_one(struct transfer *t, enum how how)
{
    struct side *side = t->side;
    uint8_t *from = t->local->bytes + t->at;
    struct iovec iov = {from, t->size};
    struct fi_rma_iov target = {t->window.address + t->offset, t->size, t->window.key};
    struct fi_msg_rma message = {.msg_iov = &iov,
                                 .desc = &t->local->desc,
                                 .iov_count = 1,
                                 .addr = side->peer,
                                 .rma_iov = &target,
                                 .rma_iov_count = 1,
                                 .context = t};

    if (how == PLAIN)
        POST(side, fi_write(side->ep, from, t->size, t->local->desc, side->peer, target.addr,
                            target.key, t));
    else if (how == VECTOR)
        POST(side,
             fi_writev(side->ep, &iov, &t->local->desc, 1, side->peer, target.addr, target.key, t));
    else
        POST(side, fi_writemsg(side->ep, &message, FI_COMPLETION | FI_DELIVERY_COMPLETE));
    HOLDS(take_of(side, side->tx_cq, t).flags & FI_WRITE);
}

static void read_one(struct transfer *t, enum how how)
{
    struct side *side = t->side;
    uint8_t *to = t->local->bytes + t->at;
    struct iovec iov = {to, t->size};
    struct fi_rma_iov target = {t->window.address + t->offset, t->size, t->window.key};
    struct fi_msg_rma message = {.msg_iov = &iov,
                                 .desc = &t->local->desc,
                                 .iov_count = 1,
                                 .addr = side->peer,
                                 .rma_iov = &target,
                                 .rma_iov_count = 1,
                                 .context = t};

    if (how == PLAIN)
        POST(side, fi_read(side->ep, to, t->size, t->local->desc, side->peer, target.addr,
                           target.key, t));
    else if (how == VECTOR)
        POST(side,
             fi_readv(side->ep, &iov, &t->local->desc, 1, side->peer, target.addr, target.key, t));
    else
        POST(side, fi_readmsg(side->ep, &message, FI_COMPLETION));
    HOLDS(take_of(side, side->tx_cq, t).flags & FI_READ);
}

/* Writes, has the server look, and reads back to another place. */
static void client(struct side *side, struct memory *local, struct window window)
{
    struct transfer t = {side, local, window, 0, 0, 0};
    unsigned round = 0, how;
    size_t i, shape[2];

    for (how = 0; how < HOWS; how++) {
        for (i = 0; i < ARRAY_SIZE(sizes); i++, round++) {
            t.size = sizes[i];
            t.at = 64 + round % 7;
            t.offset = 128 + round * 5 % 11;
            step("writing %zu bytes, way %u, %zu to %zu", t.size, how, t.at, t.offset);
            fill(local->bytes + t.at, t.size, round);
            side_sync(side);
            write_one(&t, how);
            shape[0] = t.size;
            shape[1] = t.offset;
            side_send(side, shape, sizeof(shape));
            side_sync(side);
            step("reading %zu bytes, way %u, %zu to %zu", t.size, how, t.offset, t.at + 3);
            t.at += 3;
            memset(local->bytes, EMPTY, WINDOW);
            read_one(&t, how);
            verify(local->bytes + t.at, t.size, round);
            verify_same(local->bytes, t.at, EMPTY);
            verify_same(local->bytes + t.at + t.size, 4096, EMPTY);
            side_sync(side);
        }
    }
}

static void server(struct side *side, struct memory *window)
{
    unsigned round;
    size_t shape[2];
    uint8_t *expected = malloc(WINDOW);
    volatile uint8_t *place;

    for (round = 0; round < HOWS * ARRAY_SIZE(sizes); round++) {
        memset(window->bytes, EMPTY, WINDOW);
        side_sync(side);
        side_receive(side, shape, sizeof(shape));
        step("a write of %zu bytes at %zu", shape[0], shape[1]);
        /* Its completion may come before the last byte, where delivery was not asked for. */
        fill(expected, shape[0], round);
        place = window->bytes + shape[1];
        while (place[0] != expected[0] || place[shape[0] - 1] != expected[shape[0] - 1])
            drive(side);
        verify(window->bytes + shape[1], shape[0], round);
        verify_same(window->bytes, shape[1], EMPTY);
        verify_same(window->bytes + shape[1] + shape[0], 4096, EMPTY);
        side_sync(side);
        side_sync(side);
    }
    free(expected);
}

/* Buffers that may be used again at once. */
static void inject(struct side *side, struct memory *memory, struct window window)
{
    size_t largest = side->info->tx_attr->inject_size, i, count;
    uint8_t bytes[256];

    step("fi_inject_write");
    largest = largest > sizeof(bytes) ? sizeof(bytes) : largest;
    count = WINDOW / sizeof(bytes) / 64;
    if (side->server) {
        memset(memory->bytes, EMPTY, WINDOW);
        side_sync(side);
        for (i = 0; i < count; i++) {
            size_t size = largest - i % 3;
            volatile uint8_t *place = memory->bytes + i * sizeof(bytes);

            fill(bytes, size, i);
            while (place[0] != bytes[0] || place[size - 1] != bytes[size - 1])
                drive(side);
            side_sync(side);
            verify((const void *)place, size, i);
            verify_same((const uint8_t *)place + size, sizeof(bytes) - size, EMPTY);
        }
        return;
    }
    side_sync(side);
    for (i = 0; i < count; i++) {
        fill(bytes, largest - i % 3, i);
        POST(side, fi_inject_write(side->ep, bytes, largest - i % 3, side->peer,
                                   window.address + i * sizeof(bytes), window.key));
        memset(bytes, 0xff, sizeof(bytes));
        side_sync(side);
    }
    nothing_comes(side, side->tx_cq);
}

int main(int argc, char **argv)
{
    struct side side;
    struct memory memory;
    struct window window;

    side_begin(&side, argc, argv);
    side.hints->caps = FI_MSG | FI_RMA;
    side_start(&side);
    memory = memory_new(&side, WINDOW, FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE);
    window = exchange_windows(&side, &memory);
    if (side.server) {
        server(&side, &memory);
    } else {
        client(&side, &memory, window);
    }
    side_sync(&side);
    inject(&side, &memory, window);
    side_sync(&side);
    memory_free(&memory);
    return side_end(&side);
}
