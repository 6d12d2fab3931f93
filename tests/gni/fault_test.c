/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What must hold when connections come and go, windows wrap around, regions are large, and the
 * network is gone for a while. */
#include "fault_frame.h"
#include "full.h"

#define LONG_MESSAGE 40000u

static const struct gnip_counts *counts(const struct gni_side *side)
{
    return &gnip_container(side->domain, struct gnip_domain, fid)->ctx->counts;
}

/* ---- ids of connections ---------------------------------------------------------------------- */

#define CONNECTIONS 10000u
#define RECENT 255u /* generations of a slot */

/* Not one of the last ones. */
static int fresh(struct rank *rank, uint32_t *recent, uint32_t number, uint32_t id)
{
    uint32_t i;

    EXPECT(id != 0 && id < 1u << 24);
    for (i = 0; i < RECENT; i++)
        EXPECT(recent[i] != id);
    recent[number % RECENT] = id;
    return 0;
}

static struct gnip_vc *newest(const struct gnip_ep *ep)
{
    return gnip_container(ep->vcs.prev, struct gnip_vc, ep_link);
}

/* An endpoint that lives for one message. */
static int connect_once(struct gni_side *side, uint32_t number, uint32_t *recent)
{
    struct rank *rank = side->rank;
    struct fi_cq_tagged_entry entry;
    struct fid_ep *ep;

    TRY(gni_endpoint(side, &ep));
    EXPECT_IS(gni_again(side, fi_send(ep, &number, 4, NULL, side->peers[1], side)), 0);
    TRY(gni_entry(side, side->tx_cq, &entry));
    TRY(fresh(rank, recent, number, newest(gnip_ep_of(ep))->id));
    EXPECT(gnip_ep_of(ep)->nic->vc_slot_count < 200);
    EXPECT_IS(fi_close(&ep->fid), 0);
    return 0;
}

static int connections_body(struct rank *rank)
{
    uint32_t recent[RECENT] = {0}, i, word;
    struct fi_cq_tagged_entry entry;
    struct gni_side side;
    struct gnip_ep *ep;

    TRY(gni_open(&side, rank, &plain));
    ep = gnip_ep_of(side.ep);
    for (i = 0; i < CONNECTIONS; i++) {
        if (side.id == 0) {
            TRY(connect_once(&side, i, recent));
            continue;
        }
        EXPECT_IS(fi_recv(side.ep, &word, 4, NULL, FI_ADDR_UNSPEC, &word), 0);
        TRY(gni_entry(&side, side.rx_cq, &entry));
        EXPECT_IS(word, i);
        TRY(fresh(rank, recent, i, newest(ep)->id));
        EXPECT(ep->nic->vc_slot_count < 200 && ep->vc_count < 200);
    }
    EXPECT_IS(counts(&side)->mailboxes_lost, 0);
    return gni_finish(&side);
}

static void gni_57_ids_of_connections(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2, .env = "{GNIX_MAX_NICS: \"1\"}"}, connections_body);
}

/* ---- what a queue drives --------------------------------------------------------------------- */

#define LONG (64u << 10)

/* Rank 1 has two endpoints of two NICs and one queue; a further queue has nothing. */
static int queues_body(struct rank *rank)
{
    struct gni_how how = {.manual = true};
    struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_TAGGED};
    uint8_t *bytes[2] = {calloc(1, LONG), calloc(1, LONG)};
    struct fi_cq_tagged_entry entry;
    fi_addr_t addresses[2];
    struct fid_ep *second;
    struct fid_cq *nothing;
    struct gni_side side;
    int i;

    TRY(gni_open(&side, rank, &how));
    TRY(gni_endpoint(&side, &second));
    EXPECT(gnip_ep_of(side.ep)->nic != gnip_ep_of(second)->nic);
    TRY(gni_exchange(&side, second, addresses));
    EXPECT_IS(fi_cq_open(side.domain, &attr, &nothing, NULL), 0);
    if (side.id == 0) {
        EXPECT_IS(fi_send(side.ep, bytes[0], LONG, NULL, side.peers[1], bytes[0]), 0);
        EXPECT_IS(fi_send(side.ep, bytes[1], LONG, NULL, addresses[1], bytes[1]), 0);
        for (i = 0; i < 2; i++)
            TRY(gni_entry(&side, side.tx_cq, &entry));
    } else {
        EXPECT_IS(fi_recv(side.ep, bytes[0], LONG, NULL, FI_ADDR_UNSPEC, bytes[0]), 0);
        EXPECT_IS(fi_recv(second, bytes[1], LONG, NULL, FI_ADDR_UNSPEC, bytes[1]), 0);
        TRY(gni_silence(&side, nothing, 5000));
        /* no connection request has come */
        EXPECT_IS(counts(&side)->transitions[0][GNIP_VC_NONE], 0);
        for (i = 0; i < 2; i++)
            TRY(gni_entry(&side, side.tx_cq, &entry));
        EXPECT_IS(counts(&side)->conn_resp, 2);
    }
    rank_barrier(rank);
    EXPECT_IS(fi_close(&second->fid), 0);
    EXPECT_IS(fi_close(&nothing->fid), 0);
    free(bytes[0]);
    free(bytes[1]);
    return gni_finish(&side);
}

static void gni_116_what_a_queue_drives(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2, .env = "{GNIX_MAX_NICS: \"4\"}"}, queues_body);
}

/* ---- a large region -------------------------------------------------------------------------- */

#define GIB (1ull << 30)

static int read_at(struct gni_side *side, const struct gni_place *place, uint64_t offset,
                   uint8_t *bytes, size_t length)
{
    struct rank *rank = side->rank;

    EXPECT_IS(gni_again(side, fi_read(side->ep, bytes, length, NULL, side->peers[1],
                                      place->address + offset, place->key, bytes)),
              0);
    return 0;
}

static int large_body(struct rank *rank)
{
    /* pages that are not used are not there; behind the region lies one that is not registered */
    uint8_t *memory = mmap(NULL, GIB + 4096, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    struct gni_place mine, all[2];
    struct fi_cq_tagged_entry entry;
    struct fi_cq_err_entry error;
    struct gni_side side;
    struct fid_mr *mr;
    uint8_t bytes[64];
    uint32_t i;

    TRY(gni_open(&side, rank, &plain));
    EXPECT(memory != MAP_FAILED);
    EXPECT_IS(fi_mr_reg(side.domain, memory, GIB, FI_REMOTE_READ, 0, 0, 0, &mr, NULL), 0);
    memory[0] = 17;
    memory[GIB - 1] = 18;
    mine = (struct gni_place){(uintptr_t)memory, fi_mr_key(mr)};
    rank_allgather(rank, &mine, all, sizeof(mine));
    for (i = 0; side.id == 0 && i < 3; i++) {
        TRY(read_at(&side, &all[1], 0, bytes, 1));
        TRY(gni_entry(&side, side.tx_cq, &entry));
        EXPECT_IS(bytes[0], 17);
        TRY(read_at(&side, &all[1], GIB - 1, bytes, 1));
        TRY(gni_entry(&side, side.tx_cq, &entry));
        EXPECT_IS(bytes[0], 18);
        memset(bytes, 0x55, sizeof(bytes));
        TRY(read_at(&side, &all[1], i == 0 ? GIB : GIB - 8, bytes, i == 0 ? 1 : 8 + i));
        TRY(gni_error(&side, side.tx_cq, &error));
        EXPECT(error.op_context == bytes);
        EXPECT_IS(error.err, FI_EIO);
    }
    rank_barrier(rank);
    EXPECT_IS(fi_close(&mr->fid), 0);
    munmap(memory, GIB + 4096);
    return gni_finish(&side);
}

static void gni_135_a_gigabyte(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, large_body);
}

/* ---- the network is gone for a while --------------------------------------------------------- */

#define GONE (20 * MS)
#define BACK (400000 * MS) /* transactions are repeated, each time for seconds */

enum { EAGER, RENDEZVOUS, WRITE, READ, ADD, KINDS };

static int begin(struct gni_side *side, struct gni_memory *memory, int kind, uint8_t *bytes)
{
    const struct gni_place *place = &memory->all[1];
    fi_addr_t to = side->peers[1];
    struct rank *rank = side->rank;

    switch (kind) {
    case EAGER:
        EXPECT_IS(gni_again(side, fi_tsend(side->ep, bytes, 100, NULL, to, EAGER, bytes)), 0);
        break;
    case RENDEZVOUS:
        EXPECT_IS(gni_again(side, fi_tsend(side->ep, bytes, LONG, NULL, to, RENDEZVOUS, bytes)), 0);
        break;
    case WRITE:
        EXPECT_IS(gni_again(side, fi_write(side->ep, bytes, LONG, NULL, to, place->address,
                                           place->key, bytes)),
                  0);
        break;
    case READ:
        EXPECT_IS(gni_again(side, fi_read(side->ep, bytes, LONG, NULL, to, place->address,
                                          place->key, bytes)),
                  0);
        break;
    default:
        EXPECT_IS(gni_again(side, fi_atomic(side->ep, bytes, 1, NULL, to, place->address,
                                            place->key, FI_UINT64, FI_SUM, bytes)),
                  0);
    }
    return 0;
}

/* One completion of either sort; *failed: how many were errors. */
static int end(struct gni_side *side, uint32_t *failed)
{
    struct fi_cq_err_entry error = {0};
    struct rank *rank = side->rank;
    struct fi_cq_tagged_entry entry;
    ssize_t result;

    while ((result = fi_cq_read(side->tx_cq, &entry, 1)) == -FI_EAGAIN)
        ;
    if (result != -FI_EAVAIL) {
        EXPECT_IS(result, 1);
        return 0;
    }
    EXPECT_IS(fi_cq_readerr(side->tx_cq, &error, 0), 1);
    EXPECT(error.err == FI_EIO || error.err == FI_ENOTCONN);
    ++*failed;
    return 0;
}

static int use_it_gone(struct gni_side *side, struct gni_memory *memory, uint8_t *bytes)
{
    struct rank *rank = side->rank;
    uint32_t failed = 0, round;
    int kind;

    for (round = 0; round < 2; round++) {
        for (kind = 0; kind < KINDS; kind++)
            TRY(begin(side, memory, kind, bytes));
        for (kind = 0; kind < KINDS; kind++)
            TRY(end(side, &failed));
    }
    EXPECT_IS(failed, 2 * KINDS);
    return 0;
}

static int gone_body(struct rank *rank)
{
    uint8_t *bytes = calloc(1, LONG), *in = calloc(2, LONG);
    struct gni_memory memory;
    struct gni_side side;
    uint32_t failed = 0;
    int kind;

    TRY(gni_open(&side, rank, &plain));
    TRY(gni_memory_open(&side, &memory, LONG, FI_REMOTE_READ | FI_REMOTE_WRITE));
    for (kind = EAGER; side.id == 1 && kind <= RENDEZVOUS; kind++)
        EXPECT_IS(
            fi_trecv(side.ep, in + kind * LONG, LONG, NULL, FI_ADDR_UNSPEC, (uint64_t)kind, 0, in),
            0);
    if (side.id == 0) {
        TRY(begin(&side, &memory, READ, bytes));
        TRY(end(&side, &failed));
        EXPECT_IS(failed, 0);
        EXPECT(rank_now() < GONE);
        gni_pause(rank, GONE + rank_random(rank) % MS - rank_now());
        TRY(use_it_gone(&side, &memory, bytes));
        EXPECT(rank_now() < BACK);
        failed = 0;
        gni_pause(rank, BACK + MS - rank_now());
        for (kind = 0; kind < KINDS; kind++) {
            TRY(begin(&side, &memory, kind, bytes));
            TRY(end(&side, &failed));
        }
        EXPECT_IS(failed, 0);
    } else {
        /* the receives are still posted: the sender was lost, not they */
        for (kind = EAGER; kind <= RENDEZVOUS; kind++)
            TRY(end(&side, &failed));
        EXPECT_IS(failed, 0);
    }
    rank_barrier(rank);
    TRY(gni_memory_close(&side, &memory));
    free(bytes);
    free(in);
    return gni_close(&side);
}

static void gni_143_gone_for_a_while(void **state)
{
    uint64_t seed;

    (void)state;
    for (seed = 1; seed <= (uint64_t)test_seeds(5, 5); seed++)
        gni_run(&(struct gni_machine){.ranks = 2,
                                      .seed = seed,
                                      .yaml = "faults: [{at: aries.packet, do: drop, from: 20ms, "
                                              "until: 400s}]\n"},
                gone_body);
}

/* ---- answers that are lost ------------------------------------------------------------------- */

/* Of writes and of the notices behind them: one of them, after so many. All arrive once. */
#define WORDS 150u

static int words_body(struct rank *rank)
{
    struct gni_how how = {.manual = true};
    struct gni_memory memory;
    struct fi_cq_tagged_entry entry;
    uint32_t begun = 0, ended = 0;
    bool seen[WORDS] = {false};
    struct gni_side side;
    uint8_t bytes[100];
    ssize_t result;

    TRY(gni_open(&side, rank, &how));
    TRY(gni_memory_open(&side, &memory, 4096, FI_REMOTE_WRITE));
    rank_alarm(rank, 100000 * MS);
    while (ended < WORDS) {
        while (side.id == 0 && begun < WORDS && begun < ended + 8) {
            EXPECT_IS(gni_again(&side, fi_writedata(side.ep, bytes, sizeof(bytes), NULL, begun,
                                                    side.peers[1], memory.all[1].address,
                                                    memory.all[1].key, NULL)),
                      0);
            begun++;
        }
        EXPECT(!rank_alarm_rang(rank));
        result = fi_cq_read(side.tx_cq, &entry, 1);
        if (result == -FI_EAGAIN)
            continue;
        EXPECT_IS(result, 1);
        ended++;
        if (side.id == 0)
            continue;
        EXPECT((entry.flags & FI_REMOTE_CQ_DATA) != 0 && entry.data < WORDS && !seen[entry.data]);
        seen[entry.data] = true;
    }
    rank_alarm(rank, 0);
    rank_barrier(rank);
    TRY(gni_memory_close(&side, &memory));
    return gni_close(&side);
}

static void gni_94_lost_answers(void **state)
{
    struct gni_machine machine = {.ranks = 2};
    char yaml[128];
    int skip;

    (void)state;
    machine.yaml = yaml;
    for (skip = 0; skip < 300; skip += 300 / (int)test_seeds(300, 300)) {
        snprintf(yaml, sizeof(yaml),
                 "faults: [{at: aries.packet, do: drop, kind: response, skip: %d, count: 1}]\n",
                 skip);
        gni_run(&machine, words_body);
    }
}

/* ---- a transition that there is not ------------------------------------------------------------
 */

/* The connection stays what it was, and fails; the next operation makes a new one. */
static int illegal_body(struct rank *rank)
{
    struct fi_cq_tagged_entry entry;
    struct gni_side side;
    struct gnip_ep *ep;
    struct gnip_vc *vc;
    uint32_t word = 7, i;

    TRY(gni_open(&side, rank, &plain));
    ep = gnip_ep_of(side.ep);
    for (i = 0; i < 2; i++) {
        if (side.id == 1) {
            EXPECT_IS(fi_recv(side.ep, &word, 4, NULL, FI_ADDR_UNSPEC, &word), 0);
            TRY(gni_entry(&side, side.rx_cq, &entry));
            rank_barrier(rank);
            continue;
        }
        EXPECT_IS(gni_again(&side, fi_send(side.ep, &word, 4, NULL, side.peers[1], &word)), 0);
        TRY(gni_entry(&side, side.tx_cq, &entry));
        rank_barrier(rank);
        if (i == 1)
            continue;
        gnip_lock(&ep->lock);
        vc = newest(ep);
        EXPECT_IS(vc->state, GNIP_VC_CONNECTED);
        EXPECT(!gnip_vc_move(vc, GNIP_VC_NONE));
        EXPECT_IS(vc->state, GNIP_VC_CONNECTED);
        gnip_unlock(&ep->lock);
        EXPECT_IS(counts(&side)->illegal_transitions, 1);
        TRY(gni_silence(&side, side.tx_cq, 1000));
        EXPECT(counts(&side)->transitions[GNIP_VC_CONNECTED][GNIP_VC_ERROR] == 1);
    }
    return gni_finish(&side);
}

static void illegal_transition_fails_the_connection(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, illegal_body);
}

/* ---- a receiver that closes at once ------------------------------------------------------------
 */

/*
 * The receiver's answer to a message may arrive before the network reports the message's end; by
 * then the receiver may have closed.
 */
#define DELIVERED 6u

static int delivered_body(struct rank *rank)
{
    struct gni_how how = {.tx_op_flags = FI_DELIVERY_COMPLETE};
    uint8_t *bytes = calloc(DELIVERED, LONG_MESSAGE);
    struct fi_cq_tagged_entry entry;
    struct gni_side side;
    uint32_t i;

    TRY(gni_open(&side, rank, &how));
    for (i = 0; i < DELIVERED && side.id == 1; i++)
        EXPECT_IS(
            fi_recv(side.ep, bytes + i * LONG_MESSAGE, LONG_MESSAGE, NULL, FI_ADDR_UNSPEC, bytes),
            0);
    rank_barrier(rank);
    for (i = 0; i < DELIVERED && side.id == 0; i++)
        EXPECT_IS(gni_again(&side, fi_send(side.ep, bytes, i % 3 == 2 ? LONG_MESSAGE : 8, NULL,
                                           side.peers[1], bytes)),
                  0);
    for (i = 0; i < DELIVERED; i++)
        TRY(gni_entry(&side, side.tx_cq, &entry));
    if (side.id == 1) {
        EXPECT_IS(fi_close(&side.ep->fid), 0);
        side.ep = NULL;
    }
    TRY(gni_finish(&side));
    free(bytes);
    return 0;
}

static void gni_69_delivered_before_the_end(void **state)
{
    struct gni_machine machine = {.ranks = 2};
    char yaml[128];
    int skip;

    (void)state;
    machine.yaml = yaml;
    for (skip = 0; skip < 60; skip += 60 / (int)test_seeds(60, 60)) {
        snprintf(yaml, sizeof(yaml),
                 "faults: [{at: aries.packet, do: drop, kind: response, skip: %d, count: 1}]\n",
                 skip);
        gni_run(&machine, delivered_body);
    }
}

/* ---- a doorbell that does not ring ------------------------------------------------------------
 */

/* a helper without doorbells does not poll any more after this time */
#define ASLEEP (60 * 1000 * MS)
#define LARGE (256u << 10)

static int no_doorbell_body(struct rank *rank)
{
    uint8_t *bytes = malloc(LARGE);
    struct fi_cq_tagged_entry entry;
    gni_mem_handle_t doorbell;
    struct gni_side side;
    struct gnip_vc *vc;
    uint32_t number = 0;

    TRY(gni_open(&side, rank, &plain));
    EXPECT_IS(fi_recv(side.ep, &number, 4, NULL, FI_ADDR_UNSPEC, &number), 0);
    EXPECT_IS(gni_again(&side, fi_inject(side.ep, &side.id, 4, side.peers[1 - side.id])), 0);
    TRY(gni_entry(&side, side.rx_cq, &entry));
    if (side.id == 1) { /* its helper alone has to find the message */
        EXPECT_IS(fi_recv(side.ep, bytes, LARGE, NULL, FI_ADDR_UNSPEC, bytes), 0);
        rank_compute(2 * ASLEEP);
        EXPECT_IS(fi_cq_read(side.rx_cq, &entry, 1), 1);
        EXPECT_IS(entry.len, LARGE);
        EXPECT(gni_filled(bytes, LARGE, 7));
    } else {
        rank_compute(ASLEEP);
        gni_fill(bytes, LARGE, 7);
        vc = newest(gnip_ep_of(side.ep));
        doorbell = vc->peer_doorbell;
        memset(&vc->peer_doorbell, 0, sizeof(vc->peer_doorbell));
        EXPECT_IS(fi_send(side.ep, bytes, LARGE, NULL, side.peers[1], bytes), 0);
        rank_compute(MS / 2);
        vc->peer_doorbell = doorbell;
        EXPECT_IS(fi_cq_read(side.tx_cq, &entry, 1), -FI_EAGAIN);
        rank_compute(10 * MS);
        EXPECT_IS(fi_cq_read(side.tx_cq, &entry, 1), 1);
        EXPECT(entry.op_context == bytes);
    }
    TRY(gni_finish(&side));
    free(bytes);
    return 0;
}

/* A message that came without one is announced again, while the peer's program does other things.
 */
static void gni_111_rings_again(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, no_doorbell_body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_57_ids_of_connections),
        cmocka_unit_test(gni_116_what_a_queue_drives),
        cmocka_unit_test(gni_135_a_gigabyte),
        cmocka_unit_test(gni_143_gone_for_a_while),
        cmocka_unit_test(gni_94_lost_answers),
        cmocka_unit_test(gni_69_delivered_before_the_end),
        cmocka_unit_test(illegal_transition_fails_the_connection),
        cmocka_unit_test(gni_111_rings_again),
    };

    return cmocka_run_group_tests_name("faults", tests, NULL, NULL);
}
