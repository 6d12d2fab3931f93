/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Several threads use one endpoint and its queues at the same time (FI_THREAD_SAFE): each has tags
 * of its own; whoever reads an entry hands it to the thread whose it is. Nothing gets lost or mixed
 * up.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "common.h"

#define THREADS 4u
#define ROUNDS 150u
#define LARGEST 30000u

struct worker {
    struct side *side;
    unsigned number;
    struct memory out, in;
    atomic_uint sent, received; /* entries that somebody has read for it */
    struct window window;
};

static size_t size_of(unsigned number, unsigned round)
{
    return round % 16 == 15 ? LARGEST : 8 + (number * 31 + round * 7) % 600;
}

/* Any thread reads for all. */
static void read_queue(struct fid_cq *cq, bool tx)
{
    struct fi_cq_tagged_entry entries[4];
    ssize_t got = fi_cq_read(cq, entries, 4), i;

    if (got == -FI_EAGAIN) {
        sched_yield();
        return;
    }
    check_at(__FILE__, __LINE__, "fi_cq_read", got);
    for (i = 0; i < got; i++) {
        struct worker *worker = entries[i].op_context;

        atomic_fetch_add(tx ? &worker->sent : &worker->received, 1);
    }
}

static void until(struct side *side, atomic_uint *what, unsigned value)
{
    while (atomic_load(what) < value) {
        read_queue(side->tx_cq, true);
        read_queue(side->rx_cq, false);
    }
    HOLDS(atomic_load(what) == value);
}

#define AGAIN(side, call)                            \
    do {                                             \
        ssize_t again_;                              \
                                                     \
        while ((again_ = (call)) == -FI_EAGAIN) {    \
            read_queue((side)->tx_cq, true);         \
            read_queue((side)->rx_cq, false);        \
        }                                            \
        check_at(__FILE__, __LINE__, #call, again_); \
    } while (0)

static void *work(void *arg)
{
    struct worker *w = arg;
    struct side *side = w->side;
    unsigned round, sends = 0;
    size_t size;

    for (round = 0; round < ROUNDS; round++) {
        uint64_t tag = (uint64_t)w->number << 32 | round;

        size = size_of(w->number, round);
        AGAIN(side, fi_trecv(side->ep, w->in.bytes, LARGEST, w->in.desc, side->peer, tag, 0, w));
        fill(w->out.bytes, size, tag * 3 + side->server);
        AGAIN(side, fi_tsend(side->ep, w->out.bytes, size, w->out.desc, side->peer, tag, w));
        until(side, &w->sent, ++sends);
        until(side, &w->received, round + 1);
        verify(w->in.bytes, size, tag * 3 + !side->server);
        if (round % 5 == 0) { /* and something into the other side's memory, and back */
            AGAIN(side,
                  fi_write(side->ep, w->out.bytes, size, w->out.desc, side->peer,
                           w->window.address + (uint64_t)w->number * LARGEST, w->window.key, w));
            until(side, &w->sent, ++sends);
            AGAIN(side,
                  fi_read(side->ep, w->in.bytes, size, w->in.desc, side->peer,
                          w->window.address + (uint64_t)w->number * LARGEST, w->window.key, w));
            until(side, &w->sent, ++sends);
            if (round % 16 != 15)
                verify(w->in.bytes, size, tag * 3 + side->server);
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    struct side side;
    struct worker workers[THREADS];
    struct memory target;
    struct window window;
    pthread_t threads[THREADS];
    unsigned i;

    side_begin(&side, argc, argv);
    side.hints->caps = FI_TAGGED | FI_RMA;
    side.hints->domain_attr->threading = FI_THREAD_SAFE;
    side.hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
    side_start(&side);
    target = memory_new(&side, (size_t)THREADS * LARGEST, FI_REMOTE_READ | FI_REMOTE_WRITE);
    window = exchange_windows(&side, &target);
    for (i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.side = &side, .number = i, .window = window};
        workers[i].out = memory_new(&side, LARGEST, FI_SEND | FI_WRITE);
        workers[i].in = memory_new(&side, LARGEST, FI_RECV | FI_READ);
    }
    side_sync(&side);
    step("threads at work");
    for (i = 0; i < THREADS; i++)
        HOLDS(pthread_create(&threads[i], NULL, work, &workers[i]) == 0);
    for (i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    side_sync(&side);
    for (i = 0; i < THREADS; i++) {
        memory_free(&workers[i].out);
        memory_free(&workers[i].in);
    }
    memory_free(&target);
    return side_end(&side);
}
