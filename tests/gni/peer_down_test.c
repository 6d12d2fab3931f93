/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A peer's node dies while operations wait for the peer and no transaction is in flight that would
 * fail: the NIC has delivered everything that was sent. Each operation ends with an error
 * nevertheless, within the time in which a transaction of its own would have failed.
 */
#include "fault_frame.h"

#define DIES (100 * MS)
/* A message fails after ten retries of the NIC, of 4 s each, and three probes are 12 s. */
#define LIMIT (60000 * MS)
#define LONG_BYTES (64u << 10)
#define MANY 300

static const struct {
    bool connected; /* before the peer stops to make progress */
    uint32_t before, bytes_before; /* sends, while the peer is there and does nothing */
    uint32_t after, bytes_after; /* sends after it has died */
    uint64_t flags;
} cases[] = {
    {true, 1, LONG_BYTES, 0, 0, 0}, /* the RTS has arrived; the FIN never comes */
    {true, 1, LONG_BYTES, 2, 8, 0},
    {true, 1, 8, 0, 0, FI_DELIVERY_COMPLETE}, /* the ACK never comes */
    {true, MANY, 8, 0, 0, 0}, /* they exceed the receive window */
    {true, MANY, 8, 1, LONG_BYTES, 0},
    {false, 1, 8, 0, 0, 0}, /* the connection request has arrived, and has no answer */
    {false, 2, LONG_BYTES, 3, 8, 0},
};
enum { CASES = sizeof(cases) / sizeof(cases[0]) };

static int now; /* the case that runs */
static uint32_t ended, failed;

static int submit(struct gni_side *side, uint32_t count, uint32_t bytes, uint8_t *from)
{
    struct fi_msg message = {.addr = side->peers[1], .context = from};
    struct iovec place = {from, bytes};
    struct rank *rank = side->rank;

    message.msg_iov = &place;
    message.iov_count = 1;
    for (uint32_t i = 0; i < count; i++)
        EXPECT_IS(fi_sendmsg(side->ep, &message, FI_COMPLETION | cases[now].flags), 0);
    return 0;
}

/* Reads what has ended. */
static int collect(struct gni_side *side, const uint8_t *context)
{
    struct fi_cq_err_entry error = {0};
    struct rank *rank = side->rank;
    struct fi_cq_tagged_entry entry;
    ssize_t result = fi_cq_read(side->tx_cq, &entry, 1);

    ended += result == 1;
    if (result != -FI_EAVAIL)
        return 0;
    EXPECT_IS(fi_cq_readerr(side->tx_cq, &error, 0), 1);
    EXPECT(error.op_context == context);
    EXPECT(error.err == FI_EIO || error.err == FI_EHOSTDOWN);
    EXPECT(rank_now() > DIES);
    failed++;
    return 0;
}

/* The peer: answers the first message, then does something else until its node dies. */
static int peer(struct gni_side *side)
{
    struct rank *rank = side->rank;
    struct fi_cq_tagged_entry entry;
    uint64_t word;

    if (cases[now].connected) {
        EXPECT_IS(fi_recv(side->ep, &word, 8, NULL, FI_ADDR_UNSPEC, &word), 0);
        TRY(gni_entry(side, side->rx_cq, &entry));
    }
    for (;;)
        gni_pause(rank, MS);
}

static int survivor(struct gni_side *side, uint8_t *bytes)
{
    uint32_t all = cases[now].before + cases[now].after;
    struct rank *rank = side->rank;
    struct fi_cq_tagged_entry entry;

    if (cases[now].connected) {
        EXPECT_IS(gni_again(side, fi_send(side->ep, bytes, 8, NULL, side->peers[1], side)), 0);
        TRY(gni_entry(side, side->tx_cq, &entry));
    }
    TRY(submit(side, cases[now].before, cases[now].bytes_before, bytes));
    while (rank_now() < DIES + MS)
        TRY(collect(side, bytes));
    EXPECT(ended < cases[now].before && failed == 0);
    TRY(submit(side, cases[now].after, cases[now].bytes_after, bytes));
    while (ended + failed < all)
        TRY(collect(side, bytes));
    EXPECT(rank_now() < DIES + LIMIT);
    return 0;
}

static int body_with(struct rank *rank, bool sender_is_automatic)
{
    struct gni_how how = {.caps = FI_MSG | FI_RMA, .tx_size = 2 * MANY, .cq_size = 2 * MANY};
    uint8_t *bytes = calloc(1, LONG_BYTES);
    struct gni_side side;

    ended = failed = 0;
    how.manual = rank_id(rank) == 1 || !sender_is_automatic;
    TRY(gni_open(&side, rank, &how));
    TRY(side.id == 1 ? peer(&side) : survivor(&side, bytes));
    free(bytes);
    return gni_finish(&side);
}

static int manual_body(struct rank *rank)
{
    return body_with(rank, false);
}

static int automatic_body(struct rank *rank)
{
    return body_with(rank, true);
}

static void run_all(int (*body)(struct rank *rank))
{
    for (now = 0; now < CASES; now++) {
        gni_run(
            &(struct gni_machine){.ranks = 2,
                                  .killed = true,
                                  .yaml =
                                      "faults: [{at: node, node: 1, do: crash, time: 100ms}]\n"},
            body);
        assert_true(failed > 0);
        assert_int_equal(ended + failed, cases[now].before + cases[now].after);
    }
}

static void gni_144_waits_for_a_dead_peer_manual(void **state)
{
    (void)state;
    run_all(manual_body);
}

static void gni_144_waits_for_a_dead_peer_automatic(void **state)
{
    (void)state;
    run_all(automatic_body);
}

/* ---- a peer that is alive -------------------------------------------------------------------- */

/* It computes for 100 s without a call of libfabric; the operations wait, and then succeed. */
static int busy_body(struct rank *rank)
{
    enum { SENDS_LEFT = 40 };
    struct gni_how how = {.manual = true, .cq_size = 2 * MANY, .tx_size = 2 * MANY};
    uint8_t *bytes = calloc(SENDS_LEFT + 1, LONG_BYTES);
    struct fi_cq_tagged_entry entry;
    struct gni_side side;

    TRY(gni_open(&side, rank, &how));
    for (int i = 0; i < SENDS_LEFT && side.id == 0; i++)
        EXPECT_IS(fi_send(side.ep, bytes, i % 2 == 0 ? 64 : LONG_BYTES, NULL, side.peers[1], bytes),
                  0);
    for (int i = 0; i < SENDS_LEFT && side.id == 1; i++)
        EXPECT_IS(fi_recv(side.ep, bytes + (size_t)i * LONG_BYTES, LONG_BYTES, NULL, side.peers[0],
                          bytes),
                  0);
    if (side.id == 1)
        gni_pause(rank, 100000 * MS);
    for (int i = 0; i < SENDS_LEFT; i++)
        TRY(gni_entry(&side, side.tx_cq, &entry));
    EXPECT(rank_now() > 100000 * MS);
    EXPECT(side.id == 1 ||
           gnip_container(side.domain, struct gnip_domain, fid)->ctx->counts.conn_req > 1);
    free(bytes);
    return gni_finish(&side);
}

static void gni_144_a_busy_peer_is_not_dead(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, busy_body);
}

/* The same behind a connection, over which words of the mailbox are read meanwhile. */
static int busy_later_body(struct rank *rank)
{
    struct gni_how how = {.manual = true, .cq_size = 2 * MANY, .tx_size = 2 * MANY};
    uint64_t words[MANY + 1];
    struct fi_cq_tagged_entry entry;
    struct gni_side side;

    TRY(gni_open(&side, rank, &how));
    for (uint64_t i = 0; i <= MANY; i++) {
        if (side.id == 0)
            EXPECT_IS(gni_again(&side, fi_send(side.ep, words, 8, NULL, side.peers[1], words)), 0);
        else
            EXPECT_IS(fi_recv(side.ep, &words[i], 8, NULL, side.peers[0], words), 0);
        if (i != 0)
            continue;
        TRY(gni_entry(&side, side.tx_cq, &entry));
        if (side.id == 1)
            gni_pause(rank, 10000 * MS);
    }
    for (int i = 0; i < MANY; i++)
        TRY(gni_entry(&side, side.tx_cq, &entry));
    EXPECT(side.id == 1 ||
           gnip_container(side.domain, struct gnip_domain, fid)->ctx->counts.probes > 5);
    return gni_finish(&side);
}

static void gni_144_probes_succeed(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, busy_later_body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_144_waits_for_a_dead_peer_manual),
        cmocka_unit_test(gni_144_waits_for_a_dead_peer_automatic),
        cmocka_unit_test(gni_144_a_busy_peer_is_not_dead),
        cmocka_unit_test(gni_144_probes_succeed),
    };

    return cmocka_run_group_tests_name("a dead peer", tests, NULL, NULL);
}
