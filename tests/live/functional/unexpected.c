/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages that nobody has asked for yet, short and long, plain and tagged: they wait, and receives
 * that are posted later find them, in whatever order they ask.
 */
#include "common.h"

#define COUNT 1000u
#define LONG 70000u
#define LONGS 8u

static bool is_long(unsigned i)
{
    return i % (COUNT / LONGS) == 5;
}

static size_t size_of(unsigned i)
{
    return is_long(i) ? LONG : i % 300;
}

/* Tagged ones are asked for from the last to the first. */
static unsigned nth(unsigned i, bool tagged)
{
    return tagged ? COUNT - 1 - i : i;
}

static void client(struct side *side, struct memory *memory, bool tagged)
{
    uint8_t *at;
    unsigned i, longs = 0, completed = 0;
    struct fi_cq_tagged_entry entry;

    for (i = 0; i < COUNT; i++) {
        step("sending message %u", i);
        /* A place of its own for each long one: it is fetched later. */
        at = memory->bytes + (is_long(i) ? longs++ * LONG : LONGS * LONG + i * 300);
        fill(at, size_of(i), i);
        if (tagged)
            POST(side, fi_tsend(side->ep, at, size_of(i), memory->desc, side->peer, i, NULL));
        else
            POST(side, fi_send(side->ep, at, size_of(i), memory->desc, side->peer, NULL));
        if (fi_cq_read(side->tx_cq, &entry, 1) == 1)
            completed++;
    }
    side_sync(side);
    for (; completed < COUNT; completed++)
        take(side, side->tx_cq);
}

static void server(struct side *side, struct memory *memory, bool tagged)
{
    struct fi_cq_tagged_entry entry;
    unsigned i, which;

    side_sync(side);
    for (i = 0; i < COUNT; i++) {
        which = nth(i, tagged);
        step("receiving message %u", which);
        if (tagged)
            POST(side, fi_trecv(side->ep, memory->bytes, LONG, memory->desc, side->peer, which, 0,
                                memory));
        else
            POST(side, fi_recv(side->ep, memory->bytes, LONG, memory->desc, side->peer, memory));
        entry = take_of(side, side->rx_cq, memory);
        EXPECT(entry.len, size_of(which));
        HOLDS(!tagged || entry.tag == which);
        verify(memory->bytes, size_of(which), which);
    }
}

int main(int argc, char **argv)
{
    struct side side;
    struct memory memory;
    unsigned tagged;

    side_begin(&side, argc, argv);
    side.hints->caps = FI_MSG | FI_TAGGED;
    side.hints->tx_attr->msg_order = side.hints->rx_attr->msg_order = FI_ORDER_SAS;
    side_start(&side);
    memory = memory_new(&side, LONGS * LONG + COUNT * 300, FI_SEND | FI_RECV);
    for (tagged = 0; tagged < 2; tagged++) {
        if (side.server)
            server(&side, &memory, tagged);
        else
            client(&side, &memory, tagged);
        side_sync(&side);
    }
    memory_free(&memory);
    return side_end(&side);
}
