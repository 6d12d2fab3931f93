/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A poll set (fi_poll_open) tells which of several queues and counters have something.
 */
#include "common.h"

#define ROUNDS 40u
#define MEMBERS 3u

/* Until that member is named; others must not be, unless they may. */
static void wait_for(struct side *side, struct fid_poll *poll, void *wanted, const void *maybe)
{
    void *contexts[MEMBERS + 1];
    int count, i;
    bool found = false;

    while (!found) {
        count = fi_poll(poll, contexts, MEMBERS + 1);
        check_at(__FILE__, __LINE__, "fi_poll", count);
        HOLDS(count <= (int)MEMBERS);
        for (i = 0; i < count; i++) {
            HOLDS(contexts[i] == wanted || contexts[i] == maybe);
            found = found || contexts[i] == wanted;
        }
        drive(side);
    }
}

int main(int argc, char **argv)
{
    struct side side;
    struct fi_cq_attr attr;
    struct fi_poll_attr poll_attr = {.flags = 0};
    struct fid_poll *poll;
    struct memory out, in;
    void *contexts[MEMBERS + 1];
    unsigned round;
    int status;

    side_begin(&side, argc, argv);
    side_open(&side);
    attr = side.cq_attr;
    /* Their contexts are what the set tells. */
    CHECK(fi_cq_open(side.domain, &attr, &side.tx_cq, &side.tx_cq));
    CHECK(fi_cq_open(side.domain, &attr, &side.rx_cq, &side.rx_cq));
    side.av = av_new(&side);
    side.ep = endpoint_new(&side, side.info, side.tx_cq, side.rx_cq);
    CHECK(fi_enable(side.ep));
    status = fi_poll_open(side.domain, &poll_attr, &poll);
    if (status == -FI_ENOSYS)
        skip(&side, "%s has no poll sets", side.provider);
    CHECK(status);
    CHECK(fi_poll_add(poll, &side.tx_cq->fid, 0));
    CHECK(fi_poll_add(poll, &side.rx_cq->fid, 0));
    side_meet(&side);
    out = memory_new(&side, 64, FI_SEND);
    in = memory_new(&side, 64, FI_RECV);
    side_sync(&side);
    EXPECT(fi_poll(poll, contexts, MEMBERS), 0);
    for (round = 0; round < ROUNDS; round++) {
        step("round %u", round);
        if (side.server == (round % 2 == 0)) {
            side_sync(&side);
            fill(out.bytes, 64, round);
            POST(&side, fi_send(side.ep, out.bytes, 64, out.desc, side.peer, NULL));
            wait_for(&side, poll, &side.tx_cq, NULL);
            take(&side, side.tx_cq);
        } else {
            POST(&side, fi_recv(side.ep, in.bytes, 64, in.desc, FI_ADDR_UNSPEC, NULL));
            side_sync(&side);
            wait_for(&side, poll, &side.rx_cq, NULL);
            take(&side, side.rx_cq);
            verify(in.bytes, 64, round);
        }
        side_sync(&side);
        EXPECT(fi_poll(poll, contexts, MEMBERS), 0);
    }
    step("without the transmit queue");
    CHECK(fi_poll_del(poll, &side.tx_cq->fid, 0));
    if (side.server)
        POST(&side, fi_recv(side.ep, in.bytes, 64, in.desc, FI_ADDR_UNSPEC, NULL));
    side_sync(&side);
    if (side.server) {
        wait_for(&side, poll, &side.rx_cq, NULL);
        take(&side, side.rx_cq);
    } else {
        POST(&side, fi_send(side.ep, out.bytes, 64, out.desc, side.peer, NULL));
        take(&side, side.tx_cq);
    }
    EXPECT(fi_poll(poll, contexts, MEMBERS), 0);
    CHECK(fi_poll_del(poll, &side.rx_cq->fid, 0));
    close_fid(&poll->fid);
    memory_free(&out);
    memory_free(&in);
    return side_end(&side);
}
