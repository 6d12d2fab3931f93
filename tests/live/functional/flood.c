/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A sender that does not wait, and a receiver that is slow: it sleeps, has few buffers posted, and
 * a small queue. Nothing is lost, and the messages take the buffers in the order in which these
 * were posted. Their completions may come in any order: no order of completions is asked for. Then
 * both flood each other.
 */
#include <limits.h>
#include <unistd.h>

#include "common.h"

#define COUNT 6000u
#define BYTES 1024u
#define BUFFERS 16u
#define WINDOW 64u
#define TAKEN UINT_MAX /* no message: the buffer is not posted */

static size_t size_of(unsigned i)
{
    return i % 101 == 100 ? BYTES : 8 + i % 64;
}

struct flood {
    struct side *side;
    struct memory in[BUFFERS], out[WINDOW];
    unsigned message[BUFFERS]; /* that in[i] is posted for */
    struct memory *idle[WINDOW]; /* those of out[] that no send uses */
    unsigned idle_count;
    unsigned sent, completed, posted, received;
};

static void post(struct flood *f, unsigned buffer)
{
    struct memory *memory = &f->in[buffer];

    f->message[buffer] = f->posted;
    POST(f->side, fi_recv(f->side->ep, memory->bytes, BYTES, memory->desc, FI_ADDR_UNSPEC, memory));
    f->posted++;
}

static bool receive_one(struct flood *f)
{
    struct fi_cq_tagged_entry entry;
    ssize_t got = fi_cq_read(f->side->rx_cq, &entry, 1);
    struct memory *memory;
    unsigned buffer;

    if (got == -FI_EAGAIN)
        return false;
    check_at(__FILE__, __LINE__, "fi_cq_read", got);
    memory = entry.op_context;
    HOLDS(memory >= f->in && memory < f->in + BUFFERS);
    buffer = (unsigned)(memory - f->in);
    HOLDS(f->message[buffer] != TAKEN);
    EXPECT(entry.len, size_of(f->message[buffer]));
    verify(memory->bytes, entry.len, f->message[buffer]);
    f->message[buffer] = TAKEN;
    f->received++;
    if (f->posted < COUNT)
        post(f, buffer);
    return true;
}

static bool send_one(struct flood *f)
{
    struct memory *memory;
    struct fi_cq_tagged_entry entry;
    ssize_t status = fi_cq_read(f->side->tx_cq, &entry, 1);
    bool completed = status == 1;

    if (completed) {
        HOLDS(f->idle_count < WINDOW);
        f->idle[f->idle_count++] = entry.op_context;
        f->completed++;
    } else if (status != -FI_EAGAIN) {
        check_at(__FILE__, __LINE__, "fi_cq_read", status);
    }
    if (f->sent == COUNT || f->idle_count == 0)
        return completed;
    memory = f->idle[f->idle_count - 1];
    fill(memory->bytes, size_of(f->sent), f->sent);
    status =
        fi_send(f->side->ep, memory->bytes, size_of(f->sent), memory->desc, f->side->peer, memory);
    if (status == -FI_EAGAIN)
        return completed;
    check_at(__FILE__, __LINE__, "fi_send", status);
    f->idle_count--;
    f->sent++;
    return true;
}

static void flood(struct flood *f, bool sends, bool receives)
{
    f->sent = f->completed = sends ? 0 : COUNT;
    f->posted = f->received = receives ? 0 : COUNT;
    while (receives && f->posted < BUFFERS)
        post(f, f->posted);
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
    for (i = 0; i < WINDOW; i++) {
        f.out[i] = memory_new(&side, BYTES, FI_SEND);
        f.idle[f.idle_count++] = &f.out[i];
    }
    flood(&f, !side.server, side.server);
    flood(&f, side.server, !side.server);
    flood(&f, true, true);
    for (i = 0; i < BUFFERS; i++)
        memory_free(&f.in[i]);
    for (i = 0; i < WINDOW; i++)
        memory_free(&f.out[i]);
    return side_end(&side);
}
