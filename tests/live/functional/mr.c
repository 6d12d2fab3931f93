/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory registration: keys are unique, many regions work at the same time, access that was not
 * granted or lies outside is refused with an error entry, and a region that was closed is gone. A
 * buffer that was unmapped and mapped again at the same place is the new one.
 */
#include <sys/mman.h>

#include "common.h"

#define REGIONS 64u
#define BYTES 4096u
#define BIG ((size_t)256 << 10)

/* Complete when it is there. */
static void put(struct side *side, struct memory *from, size_t size, struct window to)
{
    struct iovec iov = {from->bytes, size};
    struct fi_rma_iov target = {to.address, size, to.key};
    struct fi_msg_rma message = {.msg_iov = &iov,
                                 .desc = &from->desc,
                                 .iov_count = 1,
                                 .addr = side->peer,
                                 .rma_iov = &target,
                                 .rma_iov_count = 1,
                                 .context = from};

    POST(side, fi_writemsg(side->ep, &message, FI_COMPLETION | FI_DELIVERY_COMPLETE));
}

static void get(struct side *side, struct memory *to, size_t size, struct window from)
{
    POST(side,
         fi_read(side->ep, to->bytes, size, to->desc, side->peer, from.address, from.key, to));
}

/* What the server knows. */
static void send_or_receive(struct side *side, void *bytes, size_t size)
{
    if (side->server)
        side_send(side, bytes, size);
    else
        HOLDS(side_receive(side, bytes, size) == size);
}

static void refused(struct side *side, const char *what)
{
    struct fi_cq_err_entry error;

    step("%s", what);
    error = take_error(side, side->tx_cq);
    HOLDS(error.err > 0 && error.err != FI_ECANCELED);
}

/* The server's regions: each is written and read by its own key. */
static void many(struct side *side, struct memory *local)
{
    struct memory region[REGIONS];
    struct window window[REGIONS];
    unsigned i, j;

    step("many regions");
    if (side->server)
        for (i = 0; i < REGIONS; i++) {
            region[i] = memory_new(side, BYTES, FI_REMOTE_READ | FI_REMOTE_WRITE);
            window[i] = memory_window(side, &region[i]);
            for (j = 0; j < i; j++)
                HOLDS(window[j].key != window[i].key || window[j].address != window[i].address);
        }
    send_or_receive(side, window, sizeof(window));
    for (i = 0; i < REGIONS && !side->server; i++) {
        fill(local->bytes, BYTES, i);
        put(side, local, BYTES, window[i]);
        take_of(side, side->tx_cq, local);
    }
    for (i = 0; i < REGIONS && !side->server; i++) {
        memset(local->bytes, 0, BYTES);
        get(side, local, BYTES, window[i]);
        take_of(side, side->tx_cq, local);
        verify(local->bytes, BYTES, i);
    }
    side_sync(side);
    if (side->server)
        for (i = 0; i < REGIONS; i++) {
            verify(region[i].bytes, BYTES, i);
            memory_free(&region[i]);
        }
    side_sync(side);
}

/* Two registrations of the same buffer; the one ends, the other goes on. */
static void twice(struct side *side, struct memory *local)
{
    struct memory region = {.size = 0}, again;
    struct window window[2];

    step("one buffer, two registrations");
    if (side->server) {
        region = memory_new(side, BYTES, FI_REMOTE_READ | FI_REMOTE_WRITE);
        again = region;
        CHECK(fi_mr_reg(side->domain, region.bytes, BYTES, FI_REMOTE_READ | FI_REMOTE_WRITE, 0,
                        0x7777, 0, &again.mr, NULL));
        window[0] = memory_window(side, &region);
        window[1] = memory_window(side, &again);
    }
    send_or_receive(side, window, sizeof(window));
    if (!side->server) {
        fill(local->bytes, BYTES, 1);
        put(side, local, BYTES, window[0]);
        take_of(side, side->tx_cq, local);
    }
    side_sync(side);
    if (side->server) {
        verify(region.bytes, BYTES, 1);
        close_fid(&region.mr->fid);
        region.mr = again.mr;
    }
    side_sync(side);
    if (!side->server) {
        fill(local->bytes, BYTES, 2);
        put(side, local, BYTES, window[1]);
        take_of(side, side->tx_cq, local);
    }
    side_sync(side);
    if (side->server) {
        verify(region.bytes, BYTES, 2);
        memory_free(&region);
    }
    side_sync(side);
}

/* Each refusal is an error entry at the initiator; the target's bytes stay. */
static void refusals(struct side *side, struct memory *local)
{
    struct memory open = {.size = 0}, readable = {.size = 0}, gone;
    struct window window[3], wrong;

    if (side->server) {
        open = memory_new(side, 16 * BYTES, FI_REMOTE_READ | FI_REMOTE_WRITE);
        readable = memory_new(side, BYTES, FI_REMOTE_READ);
        gone = memory_new(side, BYTES, FI_REMOTE_READ | FI_REMOTE_WRITE);
        window[0] = memory_window(side, &open);
        window[1] = memory_window(side, &readable);
        window[2] = memory_window(side, &gone);
        CHECK(fi_close(&gone.mr->fid));
    }
    send_or_receive(side, window, sizeof(window));
    if (!side->server) {
        fill(local->bytes, BYTES, 3);
        put(side, local, 64, window[1]);
        refused(side, "writing what may be read only");
        put(side, local, 64, window[2]);
        refused(side, "writing a region that was closed");
        wrong = window[0];
        wrong.address += (size_t)1 << 30;
        put(side, local, 64, wrong);
        refused(side, "writing far behind the region");
        get(side, local, 64, wrong);
        refused(side, "reading far behind the region");
        wrong = window[0];
        wrong.key = ~wrong.key;
        get(side, local, 64, wrong);
        refused(side, "reading with a key that nobody has");
        step("after the refusals");
        get(side, local, BYTES, window[1]);
        take_of(side, side->tx_cq, local);
        verify_same(local->bytes, BYTES, 0);
        fill(local->bytes, BYTES, 4);
        put(side, local, BYTES, window[0]);
        take_of(side, side->tx_cq, local);
    }
    side_sync(side);
    if (side->server) {
        verify(open.bytes, BYTES, 4);
        verify_same(open.bytes + BYTES, 15 * BYTES, 0);
        verify_same(readable.bytes, BYTES, 0);
        memory_free(&open);
        memory_free(&readable);
        munmap(gone.bytes, 2 * BYTES);
    }
    side_sync(side);
}

/* Local memory without registration, or with one per round: never what lay there before. */
static void mapped_again(struct side *side)
{
    uint8_t *place = NULL;
    struct memory memory;
    unsigned round;

    for (round = 0; round < 20; round++) {
        step("mapped for the %uth time", round);
        memory = memory_new(side, BIG, FI_SEND | FI_RECV);
        if (memory.mr == NULL && place != NULL && memory.bytes != place) {
            munmap(memory.bytes, BIG + 4096);
            memory.bytes = mmap(place, BIG + 4096, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
            HOLDS(memory.bytes == place);
        }
        place = memory.bytes;
        if (side->server) {
            POST(side, fi_recv(side->ep, memory.bytes, BIG, memory.desc, FI_ADDR_UNSPEC, &memory));
            EXPECT(take_of(side, side->rx_cq, &memory).len, BIG - round);
            verify(memory.bytes, BIG - round, round);
        } else {
            fill(memory.bytes, BIG - round, round);
            POST(side,
                 fi_send(side->ep, memory.bytes, BIG - round, memory.desc, side->peer, &memory));
            take_of(side, side->tx_cq, &memory);
        }
        memory_free(&memory);
        side_sync(side);
    }
}

int main(int argc, char **argv)
{
    struct side side;
    struct memory local;

    side_begin(&side, argc, argv);
    side.hints->caps = FI_MSG | FI_RMA;
    side_start(&side);
    local = memory_new(&side, BIG, FI_READ | FI_WRITE | FI_SEND | FI_RECV);
    many(&side, &local);
    twice(&side, &local);
    mapped_again(&side);
    if (side.strict)
        refusals(&side, &local);
    memory_free(&local);
    return side_end(&side);
}
