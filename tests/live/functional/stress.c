/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A mixture, by chance but the same on both sides: tagged messages of all sizes, writes, reads and
 * counted atomics, many under way at the same time, in both directions. At the end every byte and
 * every count is right.
 */
#include <rdma/fi_atomic.h>

#include "common.h"

#define OPERATIONS 3000u
#define SLOTS 24u
#define LARGEST 120000u

struct slot {
    struct memory memory;
    uint64_t seed;
    size_t size;
    enum kind { FREE, SENDING, RECEIVING, WRITING, READING, ADDING } kind;
};

struct world {
    struct side *side;
    struct slot out[SLOTS], in[SLOTS];
    struct memory target; /* SLOTS places, then a counter */
    struct window window;
    unsigned received, expected, busy;
    uint64_t adds;
};

static uint64_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return *state >> 33;
}

static size_t any_size(uint64_t number)
{
    switch (number % 8) {
    case 0:
        return 1 + number / 8 % LARGEST;
    case 1:
        return 16000 + number / 8 % 1000;
    case 2:
        return 1 + number / 8 % 8;
    default:
        return 1 + number / 8 % 2000;
    }
}

/* Message i of the other side has this size and seed. */
static size_t message_size(bool of_server, unsigned i)
{
    uint64_t state = i * 2654435761u + of_server;

    next(&state);
    return any_size(next(&state));
}

static void post_receive(struct world *w, struct slot *slot, unsigned i)
{
    struct side *side = w->side;

    slot->kind = RECEIVING;
    slot->seed = i * 2 + !side->server;
    slot->size = message_size(!side->server, i);
    memset(slot->memory.bytes, 0, slot->size);
    POST(side, fi_trecv(side->ep, slot->memory.bytes, LARGEST, slot->memory.desc, side->peer, i, 0,
                        slot));
}

static void poll_receive(struct world *w)
{
    struct fi_cq_tagged_entry entry;
    ssize_t got = fi_cq_read(w->side->rx_cq, &entry, 1);
    struct slot *slot;

    if (got == -FI_EAGAIN)
        return;
    check_at(__FILE__, __LINE__, "fi_cq_read", got);
    slot = entry.op_context;
    HOLDS(slot->kind == RECEIVING);
    EXPECT(entry.len, slot->size);
    verify(slot->memory.bytes, slot->size, slot->seed);
    slot->kind = FREE;
    w->received++;
    if (w->expected < OPERATIONS)
        post_receive(w, slot, w->expected++);
}

static void poll_send(struct world *w)
{
    struct fi_cq_tagged_entry entry;
    ssize_t got = fi_cq_read(w->side->tx_cq, &entry, 1);
    struct slot *slot;

    if (got == -FI_EAGAIN)
        return;
    check_at(__FILE__, __LINE__, "fi_cq_read", got);
    slot = entry.op_context;
    HOLDS(slot->kind != FREE);
    if (slot->kind == READING)
        verify(slot->memory.bytes, slot->size, slot->seed);
    if (slot->kind == WRITING) { /* what was written is read back, by the same slot */
        unsigned place = (unsigned)(slot - w->out);

        slot->kind = READING;
        memset(slot->memory.bytes, 0, slot->size);
        POST(w->side,
             fi_read(w->side->ep, slot->memory.bytes, slot->size, slot->memory.desc, w->side->peer,
                     w->window.address + (uint64_t)place * LARGEST, w->window.key, slot));
        return;
    }
    slot->kind = FREE;
    w->busy--;
}

static void turn(struct world *w)
{
    poll_send(w);
    poll_receive(w);
    drive(w->side);
}

#define BEGIN(w, call)                               \
    do {                                             \
        ssize_t begin_;                              \
                                                     \
        while ((begin_ = (call)) == -FI_EAGAIN)      \
            turn(w);                                 \
        check_at(__FILE__, __LINE__, #call, begin_); \
    } while (0)

static struct slot *free_slot(struct world *w, unsigned *place)
{
    for (;;) {
        for (*place = 0; *place < SLOTS; ++*place)
            if (w->out[*place].kind == FREE) {
                w->busy++;
                return &w->out[*place];
            }
        turn(w);
    }
}

static void begin(struct world *w, unsigned i, uint64_t *state)
{
    struct side *side = w->side;
    unsigned place;
    struct slot *slot = free_slot(w, &place);

    slot->kind = SENDING;
    slot->size = message_size(side->server, i);
    slot->seed = i * 2 + side->server;
    fill(slot->memory.bytes, slot->size, slot->seed);
    BEGIN(w, fi_tsend(side->ep, slot->memory.bytes, slot->size, slot->memory.desc, side->peer, i,
                      slot));
    if (next(state) % 3 == 0) {
        slot = free_slot(w, &place);
        slot->kind = WRITING;
        slot->size = any_size(next(state));
        slot->seed = next(state);
        fill(slot->memory.bytes, slot->size, slot->seed);
        BEGIN(w, fi_write(side->ep, slot->memory.bytes, slot->size, slot->memory.desc, side->peer,
                          w->window.address + (uint64_t)place * LARGEST, w->window.key, slot));
    }
    if (next(state) % 5 == 0) {
        slot = free_slot(w, &place);
        slot->kind = ADDING;
        *(uint64_t *)slot->memory.bytes = 1;
        BEGIN(w, fi_atomic(side->ep, slot->memory.bytes, 1, slot->memory.desc, side->peer,
                           w->window.address + (uint64_t)SLOTS * LARGEST, w->window.key, FI_UINT64,
                           FI_SUM, slot));
        w->adds++;
    }
}

int main(int argc, char **argv)
{
    static struct world w;
    struct side side;
    uint64_t state, theirs;
    unsigned i;

    side_begin(&side, argc, argv);
    w.side = &side;
    state = side.server ? 11 : 22;
    side.hints->caps = FI_TAGGED | FI_RMA | FI_ATOMIC | FI_DIRECTED_RECV;
    side.hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
    side_start(&side);
    w.target = memory_new(&side, (size_t)SLOTS * LARGEST + 8,
                          FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE);
    w.window = exchange_windows(&side, &w.target);
    for (i = 0; i < SLOTS; i++) {
        w.out[i].memory = memory_new(&side, LARGEST, FI_SEND | FI_READ | FI_WRITE);
        w.in[i].memory = memory_new(&side, LARGEST, FI_RECV);
        post_receive(&w, &w.in[i], w.expected++);
    }
    side_sync(&side);
    for (i = 0; i < OPERATIONS; i++) {
        step("operation %u, %u messages received", i, w.received);
        begin(&w, i, &state);
    }
    while (w.received < OPERATIONS || w.busy > 0) {
        step("all begun, %u messages received, %u under way", w.received, w.busy);
        turn(&w);
    }
    side_exchange(&side, &w.adds, &theirs, sizeof(theirs));
    step("counting");
    HOLDS(*(volatile uint64_t *)(w.target.bytes + (size_t)SLOTS * LARGEST) == theirs);
    side_sync(&side);
    for (i = 0; i < SLOTS; i++) {
        memory_free(&w.out[i].memory);
        memory_free(&w.in[i].memory);
    }
    memory_free(&w.target);
    return side_end(&side);
}
