/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Waiting without turning round: fi_cq_sread, a descriptor for poll(2) with fi_trywait, a wait set,
 * fi_cntr_wait; with messages that come while this side sleeps, and with timeouts.
 */
#include <poll.h>
#include <unistd.h>

#include "common.h"

#define ROUNDS 60u
#define BYTES 256u
#define LONG 100000u
#define TIMEOUT_MS 20000 /* ms */

enum how { SREAD, DESCRIPTOR, WAIT_SET, HOWS };

static size_t size_of(unsigned round)
{
    return round % 10 == 9 ? LONG : BYTES;
}

/* What wakes this side may be the provider's own affair: then it looks and sleeps again. */
static void sleep_on(struct side *side, struct fid_cq *cq)
{
    struct fid *fids[] = {&cq->fid};
    struct pollfd readable = {.events = POLLIN};
    int status = fi_trywait(side->fabric, fids, 1);

    if (status == -FI_EAGAIN)
        return;
    EXPECT(status, 0);
    CHECK(fi_control(&cq->fid, FI_GETWAIT, &readable.fd));
    HOLDS(poll(&readable, 1, TIMEOUT_MS) == 1);
}

static void await(struct side *side, struct fid_cq *cq, struct fid_wait *set, enum how how,
                  const void *context)
{
    struct fi_cq_tagged_entry entry;
    ssize_t got;

    if (how == SREAD) {
        while ((got = fi_cq_sread(cq, &entry, 1, NULL, TIMEOUT_MS)) == -FI_EAGAIN)
            drive(side);
    } else {
        while ((got = fi_cq_read(cq, &entry, 1)) == -FI_EAGAIN) {
            if (how == DESCRIPTOR) {
                sleep_on(side, cq);
            } else {
                int status = fi_wait(set, TIMEOUT_MS);

                if (status != -FI_EAGAIN)
                    EXPECT(status, 0);
            }
        }
    }
    expect_at(__FILE__, __LINE__, "reading the queue", got, 1);
    HOLDS(entry.op_context == context);
}

static void ping_pong(struct side *side, struct fid_wait *set, enum how how)
{
    struct memory memory = memory_new(side, LONG, FI_SEND | FI_RECV);
    unsigned round;

    for (round = 0; round < ROUNDS; round++) {
        step("way %u, round %u", how, round);
        if (side->server == (round % 2 == 0)) {
            if (round % 4 < 2)
                usleep(2000); /* tested: the other side sleeps by then, else it polls still */
            fill(memory.bytes, size_of(round), round);
            POST(side,
                 fi_send(side->ep, memory.bytes, size_of(round), memory.desc, side->peer, &memory));
            await(side, side->tx_cq, set, how, &memory);
        } else {
            POST(side, fi_recv(side->ep, memory.bytes, LONG, memory.desc, FI_ADDR_UNSPEC, &memory));
            await(side, side->rx_cq, set, how, &memory);
            verify(memory.bytes, size_of(round), round);
        }
    }
    memory_free(&memory);
}

/* Nothing comes: each way of waiting ends, not much too early. */
static void timeouts(struct side *side, struct fid_wait *set, enum how how)
{
    struct fi_cq_tagged_entry entry;
    double begin = now_seconds();

    side_sync(side);
    step("timeout of way %u", how);
    /* What was not read empty would end a wait at once. */
    EXPECT(fi_cq_read(side->tx_cq, &entry, 1), -FI_EAGAIN);
    EXPECT(fi_cq_read(side->rx_cq, &entry, 1), -FI_EAGAIN);
    if (how == SREAD)
        EXPECT(fi_cq_sread(side->rx_cq, &entry, 1, NULL, 30), -FI_EAGAIN);
    else if (how == WAIT_SET) {
        /* It may tell once more of what has been read since. */
        if (fi_wait(set, 30) == 0)
            begin = now_seconds();
        EXPECT(fi_wait(set, 30), -FI_ETIMEDOUT);
    }
    HOLDS(how == DESCRIPTOR || !side->strict || now_seconds() - begin > 0.025);
    side_sync(side);
}

static void run(struct side *side, enum how how)
{
    struct fi_wait_attr attr = {.wait_obj = FI_WAIT_UNSPEC};
    struct fid_wait *set = NULL;
    int status;

    step("opening way %u", how);
    side->cq_attr.wait_obj = how == SREAD        ? FI_WAIT_UNSPEC
                             : how == DESCRIPTOR ? FI_WAIT_FD
                                                 : FI_WAIT_SET;
    if (how == WAIT_SET) {
        CHECK(fi_wait_open(side->fabric, &attr, &set));
        side->cq_attr.wait_set = set;
    }
    side_endpoint(side);
    side_meet(side);
    ping_pong(side, set, how);
    timeouts(side, set, how);
    status = fi_close(&side->ep->fid);
    EXPECT(status, 0);
    side->watched_count = 0;
    close_fid(side->pep != NULL ? &side->pep->fid : NULL);
    close_fid(&side->tx_cq->fid);
    close_fid(&side->rx_cq->fid);
    close_fid(side->av != NULL ? &side->av->fid : NULL);
    close_fid(set != NULL ? &set->fid : NULL);
    side->ep = NULL;
    side->pep = NULL;
    side->tx_cq = side->rx_cq = NULL;
    side->av = NULL;
}

int main(int argc, char **argv)
{
    struct side side;
    unsigned how;

    side_begin(&side, argc, argv);
    side_open(&side);
    for (how = 0; how < HOWS; how++)
        run(&side, how);
    return side_end(&side);
}
