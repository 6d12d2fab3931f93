/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Writes with remote CQ data in windows, as bandwidth programs do them: the target only counts
 * entries, answers each window with one short message, and each side waits on one queue at a time.
 * Every entry comes, however many there are. A provider that says FI_RX_CQ_DATA uses up a receive
 * for each; so a provider that does not must not say so, or the receives pile up.
 */
#include "common.h"

#define WINDOW 64u
#define ROUNDS 1010u
#define BYTES_MAX 8192u

static const size_t sizes[] = {64, 256, BYTES_MAX};

struct flow {
    struct side *side;
    struct memory memory, answer;
    struct window window;
    unsigned sent, sent_seen, received, received_seen;
};

/* Entries of one queue until there were as many as that; nothing else is driven. */
static void reach(struct flow *f, struct fid_cq *cq, unsigned *seen, unsigned wanted)
{
    struct fi_cq_tagged_entry entry;
    unsigned idle = 0;

    while (*seen != wanted) {
        ssize_t got = fi_cq_read(cq, &entry, 1);

        if (got == 1)
            ++*seen;
        else if (got != -FI_EAGAIN)
            check_at(__FILE__, __LINE__, "fi_cq_read", got);
        else if (++idle % 4096 == 0)
            drive(f->side); /* has the other side ended? */
    }
}

static void post_answer(struct flow *f)
{
    POST(f->side, fi_recv(f->side->ep, f->answer.bytes, f->answer.size, f->answer.desc,
                          FI_ADDR_UNSPEC, NULL));
}

static void write_one(struct flow *f, unsigned slot, size_t size)
{
    struct side *side = f->side;
    uint64_t at = slot * size;

    if (size <= side->info->tx_attr->inject_size) {
        POST(side, fi_inject_writedata(side->ep, f->memory.bytes + at, size, slot, side->peer,
                                       f->window.address + at, f->window.key));
        return;
    }
    POST(side, fi_writedata(side->ep, f->memory.bytes + at, size, f->memory.desc, slot, side->peer,
                            f->window.address + at, f->window.key, NULL));
    f->sent++;
}

static void end_window(struct flow *f)
{
    struct side *side = f->side;

    if (side->server) {
        reach(f, side->rx_cq, &f->received_seen, f->received);
        POST(side, fi_send(side->ep, f->answer.bytes, 4, f->answer.desc, side->peer, NULL));
        f->sent++;
        reach(f, side->tx_cq, &f->sent_seen, f->sent);
    } else {
        reach(f, side->tx_cq, &f->sent_seen, f->sent);
        f->received++;
        reach(f, side->rx_cq, &f->received_seen, f->received);
        post_answer(f);
    }
}

static void flow(struct flow *f, size_t size)
{
    unsigned i, slot = 0;

    for (i = 0; i < ROUNDS; i++) {
        step("%zu bytes, write %u", size, i);
        if (!f->side->server) {
            write_one(f, slot, size);
        } else {
            if (f->side->info->rx_attr->mode & FI_RX_CQ_DATA)
                POST(f->side, fi_recv(f->side->ep, NULL, 0, NULL, FI_ADDR_UNSPEC, NULL));
            f->received++;
        }
        if (++slot == WINDOW) {
            end_window(f);
            slot = 0;
        }
    }
    end_window(f);
}

int main(int argc, char **argv)
{
    struct side side;
    struct flow f = {.side = &side};
    unsigned i;

    side_begin(&side, argc, argv);
    side.hints->caps = FI_MSG | FI_RMA;
    side.hints->mode = FI_CONTEXT | FI_RX_CQ_DATA;
    side_start(&side);
    f.memory = memory_new(&side, (size_t)WINDOW * BYTES_MAX, FI_WRITE | FI_REMOTE_WRITE);
    f.answer = memory_new(&side, 64, FI_SEND | FI_RECV);
    f.window = exchange_windows(&side, &f.memory);
    if (!side.server) {
        fill(f.memory.bytes, f.memory.size, 3);
        post_answer(&f);
    }
    side_sync(&side);
    for (i = 0; i < ARRAY_SIZE(sizes); i++)
        flow(&f, sizes[i]);
    step("checking");
    if (side.server)
        verify(f.memory.bytes, WINDOW * sizes[0] / 2, 3);
    side_sync(&side);
    memory_free(&f.memory);
    memory_free(&f.answer);
    return side_end(&side);
}
