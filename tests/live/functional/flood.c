/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A sender that does not wait, and a receiver that is slow: it sleeps, has few buffers posted, and
 * a small queue. Nothing is lost, everything comes in order. Then both flood each other.
 */
#include <unistd.h>

#include "common.h"

#define COUNT 6000u
#define BYTES 1024u
#define BUFFERS 16u
#define WINDOW 64u

static size_t size_of(unsigned i)
{
    return i % 101 == 100 ? BYTES : 8 + i % 64;
}

struct flood {
    struct side *side;
    struct memory in[BUFFERS], out[WINDOW];
    unsigned sent, completed, posted, received;
};

static void post(struct flood *f)
{
    struct memory *memory = &f->in[f->posted % BUFFERS];

    POST(f->side, fi_recv(f->side->ep, memory->bytes, BYTES, memory->desc, FI_ADDR_UNSPEC, memory));
    f->posted++;
}

static bool receive_one(struct flood *f)
{
    struct fi_cq_tagged_entry entry;
    ssize_t got = fi_cq_read(f->side->rx_cq, &entry, 1);
    struct memory *memory = &f->in[f->received % BUFFERS];

    if (got == -FI_EAGAIN)
        return false;
    check_at(__FILE__, __LINE__, "fi_cq_read", got);
    HOLDS(entry.op_context == memory);
    EXPECT(entry.len, size_of(f->received));
    verify(memory->bytes, entry.len, f->received);
    f->received++;
    if (f->posted < COUNT)
        post(f);
    return true;
}

static bool send_one(struct flood *f)
{
    struct memory *memory = &f->out[f->sent % WINDOW];
    struct fi_cq_tagged_entry entry;
    ssize_t status = fi_cq_read(f->side->tx_cq, &entry, 1);

    if (status == 1)
        f->completed++;
    else if (status != -FI_EAGAIN)
        check_at(__FILE__, __LINE__, "fi_cq_read", status);
    if (f->sent == COUNT || f->sent - f->completed == WINDOW)
        return status == 1;
    fill(memory->bytes, size_of(f->sent), f->sent);
    status =
        fi_send(f->side->ep, memory->bytes, size_of(f->sent), memory->desc, f->side->peer, memory);
    if (status == -FI_EAGAIN)
        return false;
    check_at(__FILE__, __LINE__, "fi_send", status);
    f->sent++;
    return true;
}

static void flood(struct flood *f, bool sends, bool receives)
{
    f->sent = f->completed = sends ? 0 : COUNT;
    f->posted = f->received = receives ? 0 : COUNT;
    while (receives && f->posted < BUFFERS)
        post(f);
    side_sync(f->side);
    if (receives && !sends)
        usleep(300000); /* a slow receiver is what is tested: the sender runs out of room */
    while (f->completed < COUNT || f->received < COUNT) {
        bool moved = sends && send_one(f);

        step("%u sent, %u of them complete, %u received", f->sent, f->completed, f->received);
        if (receives && receive_one(f)) {
            moved = true;
            if (f->received % 500 == 0 && !sends)
                usleep(10000); /* and again, in the middle */
        }
        if (!moved)
            drive(f->side);
    }
    side_sync(f->side);
    nothing_comes(f->side, f->side->rx_cq);
}

int main(int argc, char **argv)
{
    struct side side;
    struct flood f = {.side = &side};
    unsigned i;

    side_begin(&side, argc, argv);
    side.hints->tx_attr->msg_order = side.hints->rx_attr->msg_order = FI_ORDER_SAS;
    side.cq_attr.size = 2 * WINDOW;
    side_start(&side);
    for (i = 0; i < BUFFERS; i++)
        f.in[i] = memory_new(&side, BYTES, FI_RECV);
    for (i = 0; i < WINDOW; i++)
        f.out[i] = memory_new(&side, BYTES, FI_SEND);
    flood(&f, !side.server, side.server);
    flood(&f, side.server, !side.server);
    flood(&f, true, true);
    for (i = 0; i < BUFFERS; i++)
        memory_free(&f.in[i]);
    for (i = 0; i < WINDOW; i++)
        memory_free(&f.out[i]);
    return side_end(&side);
}
