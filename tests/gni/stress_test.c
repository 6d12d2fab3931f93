/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Little room, many peers, much at once, and things that go wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "ctx.h"
#include "domain.h"
#include "fixture.h"
#include "full.h"
#include "gnip.h"
#include "rdma/fi_ext_gni.h"

static const struct gni_how plain = {0};
#define US 1000000ull /* in ps */
#define MS 1000000000ull

/* ---- flow control ---------------------------------------------------------------------------- */

/* As many as are accepted until none is for 2 ms; reads completions meanwhile. */
static int send_until_full(struct gni_side *side, uint32_t peer, const void *bytes, size_t length,
                           uint64_t *accepted)
{
    struct rank *rank = side->rank;
    struct fi_cq_tagged_entry entry;
    ssize_t result;

    rank_alarm(rank, 2 * MS);
    while (!rank_alarm_rang(rank)) {
        result = fi_send(side->ep, bytes, length, NULL, side->peers[peer], side);
        EXPECT(result == 0 || result == -FI_EAGAIN);
        *accepted += result == 0;
        if (result == 0)
            rank_alarm(rank, 2 * MS);
        while (fi_cq_read(side->tx_cq, &entry, 1) == 1)
            ;
        EXPECT(*accepted < 100000);
    }
    return 0;
}

static int receive_all(struct gni_side *side, uint64_t count, size_t length)
{
    struct rank *rank = side->rank;
    uint64_t *bytes = malloc(length);
    struct fi_cq_tagged_entry entry;
    uint64_t i;

    for (i = 0; i < count; i++) {
        EXPECT_IS(fi_recv(side->ep, bytes, length, NULL, FI_ADDR_UNSPEC, bytes), 0);
        do
            TRY(gni_entry(side, side->rx_cq, &entry));
        while ((entry.flags & FI_RECV) == 0);
        EXPECT_IS(entry.len, length);
    }
    free(bytes);
    return 0;
}

/* Rank 1 posts nothing until rank 0 can send no more. */
static int flood_body(struct rank *rank)
{
    struct fi_cq_tagged_entry entry;
    struct gni_side side;
    uint64_t accepted = 0, all[2];
    uint8_t bytes[1000] = {0};

    TRY(gni_open(&side, rank, &plain));
    if (side.id == 0)
        TRY(send_until_full(&side, 1, bytes, sizeof(bytes), &accepted));
    rank_allgather(rank, &accepted, all, sizeof(accepted));
    EXPECT(all[0] >= 150 && all[0] < 20000);
    if (side.id == 1)
        TRY(receive_all(&side, all[0], sizeof(bytes)));
    else
        while (fi_tx_size_left(side.ep) < 500)
            fi_cq_read(side.tx_cq, &entry, 1);
    return gni_finish(&side);
}

static void gni_66_flood(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, flood_body);
}

/* Both flood each other, with short and long messages, and only then receive. */
static int both_body(struct rank *rank)
{
    enum { LONG = 20000 };
    struct fi_cq_tagged_entry entry;
    struct gni_side side;
    uint64_t counts[2] = {0}, all[2][2];
    uint8_t *bytes = calloc(1, LONG);
    uint32_t other = 1 - rank_id(rank);

    TRY(gni_open(&side, rank, &plain));
    TRY(send_until_full(&side, other, bytes, 64, &counts[0]));
    rank_allgather(rank, counts, all, sizeof(counts));
    TRY(receive_all(&side, all[other][0], 64));
    rank_barrier(rank);
    TRY(send_until_full(&side, other, bytes, LONG, &counts[1]));
    rank_allgather(rank, counts, all, sizeof(counts));
    EXPECT(all[other][1] > 10);
    TRY(receive_all(&side, all[other][1], LONG));
    while (fi_tx_size_left(side.ep) < 500) /* until all sends are complete */
        fi_cq_read(side.tx_cq, &entry, 1);
    free(bytes);
    return gni_finish(&side);
}

static void gni_67_gni_139_both_flood(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, both_body);
}

/* ---- little room ----------------------------------------------------------------------------- */

static const struct gnip_counts *counts(const struct gni_side *side)
{
    return &gnip_container(side->domain, struct gnip_domain, fid)->ctx->counts;
}

/*
 * Each rank sends this many words to each peer, in bursts to one peer and several at once. Every
 * N-th is long. The order is checked.
 */
struct bursts {
    uint32_t each, burst, at_once, every;
    size_t length; /* of the long ones */
};

static int burst_one(struct gni_side *side, const struct bursts *how, uint32_t sent, uint8_t *slot)
{
    uint32_t peers = side->size - 1, peer = (side->id + 1 + sent / how->burst % peers) % side->size;
    uint32_t number = sent / (how->burst * peers) * how->burst + sent % how->burst;

    memcpy(slot, &number, 4);
    return (int)fi_send(side->ep, slot, number % how->every == how->every - 1 ? how->length : 4,
                        NULL, side->peers[peer], slot);
}

static int bursts(struct gni_side *side, const struct bursts *how)
{
    struct rank *rank = side->rank;
    uint32_t total = how->each * (side->size - 1), sent = 0, received = 0, completed = 0, i;
    uint32_t *next = calloc(side->size, sizeof(*next));
    uint8_t *slots = calloc(how->at_once, how->length), *in = calloc(1, how->length);
    bool *busy = calloc(how->at_once, sizeof(*busy));
    struct fi_cq_tagged_entry entry;
    fi_addr_t source;
    ssize_t result;

    EXPECT_IS(fi_recv(side->ep, in, how->length, NULL, FI_ADDR_UNSPEC, in), 0);
    while (completed < total || received < total) {
        for (i = 0; i < how->at_once && sent < total; i++) {
            if (busy[i])
                continue;
            result = burst_one(side, how, sent, slots + i * how->length);
            EXPECT(result == 0 || result == -FI_EAGAIN);
            if (result != 0)
                break;
            busy[i] = true;
            sent++;
        }
        result = fi_cq_readfrom(side->rx_cq, &entry, 1, &source);
        if (result == -FI_EAGAIN)
            continue;
        EXPECT_IS(result, 1);
        if (entry.op_context != in) {
            busy[((uint8_t *)entry.op_context - slots) / how->length] = false;
            completed++;
            continue;
        }
        for (i = 0; i < side->size && side->peers[i] != source; i++)
            ;
        EXPECT(i < side->size);
        EXPECT_IS(*(uint32_t *)in, next[i]++);
        received++;
        EXPECT_IS(fi_recv(side->ep, in, how->length, NULL, FI_ADDR_UNSPEC, in), 0);
    }
    free(next);
    free(slots);
    free(in);
    free(busy);
    return 0;
}

/* 10,000 sends of each rank. */
static int few_descriptors_body(struct rank *rank)
{
    static const struct bursts how = {
        .each = 5000, .burst = 32, .at_once = 128, .every = 100, .length = 20000};
    struct gni_side side;

    TRY(gni_open(&side, rank, &(struct gni_how){.cq_size = 1024, .rx_size = 1024}));
    TRY(bursts(&side, &how));
    EXPECT(counts(&side)->txd_stalls > 0);
    EXPECT_IS(counts(&side)->rx_overruns, 0);
    return gni_finish(&side);
}

static void gni_138_few_descriptors(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 3, .env = "{GNIX_TX_CQ_SIZE: \"32\"}"},
            few_descriptors_body);
}

static int two_credits_body(struct rank *rank)
{
    const struct bursts how = {.each = (uint32_t)test_seeds(5000, 5000),
                               .burst = 4,
                               .at_once = 16,
                               .every = 20,
                               .length = 20000};
    struct gni_side side;

    TRY(gni_open(&side, rank, &plain));
    TRY(bursts(&side, &how));
    EXPECT(counts(&side)->credit_stalls > 0);
    return gni_finish(&side);
}

static void gni_140_two_credits(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 8, .env = "{GNIX_MBOX_MAX_CREDIT: \"2\"}"},
            two_credits_body);
}

static int send_and_complete(struct gni_side *side, uint64_t *words, uint64_t count)
{
    struct rank *rank = side->rank;
    struct fi_cq_tagged_entry entry;
    uint64_t i;

    for (i = 0; i < count; i++)
        EXPECT_IS(gni_again(side, fi_send(side->ep, &words[i], 8, NULL, side->peers[0], words)), 0);
    for (i = 0; i < count; i++)
        TRY(gni_entry(side, side->tx_cq, &entry));
    return 0;
}

/* Rank 0 is connected to all of them, and makes no progress until all have sent more than the 511
 * entries of the page that a queue of 16 takes. */
static int rx_overrun_body(struct rank *rank)
{
    enum { EACH = 12 };
    const struct gni_how how = {.rx_size = 2000, .manual = true};
    uint64_t words[EACH] = {0};
    struct gni_side side;

    TRY(gni_open(&side, rank, &how));
    TRY(side.id > 0 ? send_and_complete(&side, words, 1) : receive_all(&side, side.size - 1, 8));
    rank_barrier(rank);
    if (side.id > 0)
        TRY(send_and_complete(&side, words, EACH));
    rank_barrier(rank);
    if (side.id == 0) {
        TRY(receive_all(&side, EACH * (uint64_t)(side.size - 1), 8));
        TRY(gni_silence(&side, side.rx_cq, 100));
        EXPECT(counts(&side)->rx_overruns > 0);
    }
    return gni_finish(&side);
}

static void gni_141_rx_overrun(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 65, .per_node = 4, .env = "{GNIX_RX_CQ_SIZE: \"16\"}"},
            rx_overrun_body);
}

/* ---- failures -------------------------------------------------------------------------------- */

/* All operations fail so often before they succeed. */
static int injected(struct rank *rank, int32_t count)
{
    enum { BYTES = 50000 };
    struct fi_gni_ops_domain *ops;
    struct gni_memory memory;
    struct fi_cq_tagged_entry entry;
    struct fi_cq_err_entry error;
    struct gni_side side;
    uint8_t *bytes = malloc(BYTES);

    TRY(gni_open(&side, rank, &plain));
    TRY(gni_memory_open(&side, &memory, BYTES, FI_REMOTE_READ | FI_REMOTE_WRITE | FI_READ));
    EXPECT_IS(fi_open_ops(&side.domain->fid, FI_GNI_DOMAIN_OPS_1, 0, (void **)&ops, NULL), 0);
    EXPECT_IS(ops->set_val(&side.domain->fid, GNI_ERR_INJECT_COUNT, &count), 0);
    gni_fill(bytes, BYTES, 6);
    if (side.id == 0) {
        EXPECT_IS(gni_again(&side, fi_write(side.ep, bytes, BYTES, NULL, side.peers[1],
                                            memory.all[1].address, memory.all[1].key, bytes)),
                  0);
        if (count < 5)
            TRY(gni_entry(&side, side.tx_cq, &entry));
        else
            TRY(gni_error(&side, side.tx_cq, &error));
        EXPECT_IS(gni_again(&side, fi_send(side.ep, bytes, BYTES, NULL, side.peers[1], bytes)), 0);
        if (count < 5)
            TRY(gni_entry(&side, side.tx_cq, &entry));
        else
            TRY(gni_error(&side, side.tx_cq, &error));
    } else {
        memset(bytes, 0, BYTES);
        EXPECT_IS(fi_recv(side.ep, bytes, BYTES, NULL, FI_ADDR_UNSPEC, bytes), 0);
        if (count < 5) {
            TRY(gni_entry(&side, side.rx_cq, &entry));
            EXPECT(gni_filled(bytes, BYTES, 6));
        } else {
            TRY(gni_error(&side, side.rx_cq, &error));
            EXPECT(error.err == FI_EIO && error.op_context == bytes);
        }
        TRY(gni_silence(&side, side.rx_cq, 1000));
    }
    rank_barrier(rank);
    if (side.id == 1)
        EXPECT(gni_filled(memory.bytes, BYTES, 6) == (count < 5));
    TRY(gni_memory_close(&side, &memory));
    free(bytes);
    return gni_close(&side);
}

static int injected_four(struct rank *rank)
{
    return injected(rank, 4);
}

static int injected_three_at_random(struct rank *rank)
{
    return injected(rank, -3);
}

static int injected_five(struct rank *rank)
{
    return injected(rank, 5);
}

static void gni_142_aries_59_injected(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, injected_four);
    gni_run(&(struct gni_machine){.ranks = 2}, injected_three_at_random);
}

static void gni_142_aries_59_injected_for_good(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, injected_five);
}

/* Beyond the peer's registered memory: no error that an attempt more could mend. */
static int unrecoverable_body(struct rank *rank)
{
    struct fi_cq_err_entry error;
    struct gni_memory memory;
    struct gni_side side;
    uint64_t word = 1;
    int i;

    TRY(gni_open(&side, rank, &plain));
    TRY(gni_memory_open(&side, &memory, 4096, FI_REMOTE_WRITE | FI_REMOTE_READ));
    for (i = 0; side.id == 0 && i < 2; i++) {
        uint64_t place = memory.all[1].address + (1 << 20), key = memory.all[1].key;

        EXPECT_IS(
            gni_again(&side,
                      i == 0 ? fi_write(side.ep, &word, 8, NULL, side.peers[1], place, key, &word)
                             : fi_read(side.ep, &word, 8, NULL, side.peers[1], place, key, &word)),
            0);
        TRY(gni_error(&side, side.tx_cq, &error));
        EXPECT(error.err == FI_EIO && error.op_context == &word);
    }
    rank_barrier(rank);
    TRY(gni_memory_close(&side, &memory));
    return gni_finish(&side);
}

static void aries_59_unrecoverable_at_once(void **state)
{
    (void)state;
    gni_run(
        &(struct gni_machine){.ranks = 2, .yaml = "expect: [{metric: aries.errors, equals: 2}]\n"},
        unrecoverable_body);
}

/* Node 2 dies at 1 ms; ranks 0 and 1 go on with each other. */
static int crash_body(struct rank *rank)
{
    enum { BYTES = 100000 };
    struct fi_cq_tagged_entry entry;
    struct fi_cq_err_entry error = {0};
    uint64_t failed = 0, succeeded = 0, i, word;
    uint8_t *bytes = calloc(1, BYTES);
    struct gni_side side;
    ssize_t result;

    TRY(gni_open(&side, rank, &plain));
    if (side.id == 2) {
        EXPECT_IS(fi_recv(side.ep, bytes, BYTES, NULL, FI_ADDR_UNSPEC, bytes), 0);
        for (;;)
            gni_pause(rank, MS);
    }
    gni_pause(rank, 900 * US + 50 * US * side.id);
    for (i = 0; i < 20; i++) {
        EXPECT_IS(gni_again(&side, fi_send(side.ep, bytes, i % 2 == 0 ? 64 : BYTES, NULL,
                                           side.peers[2], bytes)),
                  0);
        gni_pause(rank, 20 * US);
    }
    while (failed + succeeded < 20) {
        result = fi_cq_read(side.tx_cq, &entry, 1);
        if (result == -FI_EAVAIL) {
            EXPECT_IS(fi_cq_readerr(side.tx_cq, &error, 0), 1);
            EXPECT(error.op_context == bytes);
            EXPECT(error.err == FI_EIO || error.err == FI_EHOSTDOWN || error.err == FI_ENOTCONN ||
                   error.err == FI_ETIMEDOUT);
            failed++;
        }
        succeeded += result == 1;
    }
    EXPECT(failed > 0);
    word = side.id;
    EXPECT_IS(gni_again(&side, fi_inject(side.ep, &word, 8, side.peers[1 - side.id])), 0);
    EXPECT_IS(fi_recv(side.ep, &word, 8, NULL, FI_ADDR_UNSPEC, &word), 0);
    TRY(gni_entry(&side, side.rx_cq, &entry));
    EXPECT_IS(word, 1 - side.id);
    free(bytes);
    return gni_finish(&side);
}

static void gni_144_gni_146_crash(void **state)
{
    uint64_t seed;

    (void)state;
    for (seed = 1; seed <= (uint64_t)test_seeds(5, 5); seed++)
        gni_run(
            &(struct gni_machine){.ranks = 3,
                                  .seed = seed,
                                  .killed = true,
                                  .yaml = "faults: [{at: node, node: 2, do: crash, time: 1ms}]\n"},
            crash_body);
}

/* Each event queue gets one event for each connection to the dead node. */
static struct fid_eq *watcher_eq;

static int bind_eq(struct gni_side *side)
{
    struct fi_eq_attr attr = {.wait_obj = FI_WAIT_NONE};

    return side->id == 0 ? fi_eq_open(side->fabric, &attr, &watcher_eq, NULL) : 0;
}

static int watched_body(struct rank *rank)
{
    struct gni_how how = plain;
    struct fi_cq_tagged_entry entry;
    struct fi_eq_err_entry report = {0};
    struct fi_cq_err_entry error = {0};
    uint32_t kind, name[12], i;
    uint64_t word = 0;
    struct gni_side side;
    char room[64];

    how.before_ep = bind_eq;
    how.not_enabled = true;
    TRY(gni_open(&side, rank, &how));
    if (side.id == 0)
        EXPECT_IS(fi_ep_bind(side.ep, &watcher_eq->fid, 0), 0);
    EXPECT_IS(fi_enable(side.ep), 0);
    TRY(gni_exchange(&side, side.ep, side.peers));
    if (side.id != 0) {
        EXPECT_IS(fi_recv(side.ep, &word, 8, NULL, FI_ADDR_UNSPEC, &word), 0);
        TRY(gni_entry(&side, side.rx_cq, &entry));
        while (side.id == 2)
            gni_pause(rank, MS);
        return gni_finish(&side);
    }
    for (i = 1; i < 3; i++) {
        EXPECT_IS(gni_again(&side, fi_send(side.ep, &word, 8, NULL, side.peers[i], &side)), 0);
        TRY(gni_entry(&side, side.tx_cq, &entry));
    }
    gni_pause(rank, 2000 * MS);
    EXPECT_IS(fi_eq_read(watcher_eq, &kind, room, sizeof(room), 0), -FI_EAGAIN);
    EXPECT_IS(gni_again(&side, fi_send(side.ep, &word, 8, NULL, side.peers[2], &word)), 0);
    TRY(gni_error(&side, side.tx_cq, &error));
    EXPECT_IS(error.err, FI_EIO);
    EXPECT_IS(fi_eq_read(watcher_eq, &kind, room, sizeof(room), 0), -FI_EAVAIL);
    report.err_data = name;
    report.err_data_size = sizeof(name);
    EXPECT_IS(fi_eq_readerr(watcher_eq, &report, 0), sizeof(report));
    EXPECT_IS(report.err, FI_EHOSTDOWN);
    EXPECT(report.fid == &side.ep->fid && report.err_data_size == sizeof(name));
    EXPECT_IS(fi_eq_read(watcher_eq, &kind, room, sizeof(room), 0), -FI_EAGAIN);
    /* and once more, of a connection that cannot be made: left there when the endpoint closes */
    EXPECT_IS(gni_again(&side, fi_send(side.ep, &word, 8, NULL, side.peers[2], &word)), 0);
    TRY(gni_error(&side, side.tx_cq, &error));
    EXPECT_IS(error.err, FI_EHOSTDOWN);
    EXPECT_IS(fi_eq_read(watcher_eq, &kind, room, sizeof(room), 0), -FI_EAVAIL);
    EXPECT_IS(fi_close(&side.ep->fid), 0);
    EXPECT_IS(fi_eq_read(watcher_eq, &kind, room, sizeof(room), 0), -FI_EAGAIN);
    EXPECT_IS(fi_close(&watcher_eq->fid), 0);
    EXPECT_IS(gni_endpoint(&side, &side.ep), 0);
    return gni_finish(&side);
}

static void gni_144_lost_node_is_an_event(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 3,
                                  .killed = true,
                                  .yaml = "faults: [{at: node, node: 2, do: crash, time: 1s}]\n"},
            watched_body);
}

/* ---- many ------------------------------------------------------------------------------------ */

static int neighbours_body(struct rank *rank)
{
    struct fi_cq_tagged_entry entry;
    struct gni_side side;
    uint64_t word = rank_id(rank), in = 0;
    int i, received = 0;

    TRY(gni_open(&side, rank, &plain));
    EXPECT_IS(fi_trecv(side.ep, &in, 8, NULL, FI_ADDR_UNSPEC, 1, 0, &in), 0);
    EXPECT_IS(gni_again(&side, fi_tsend(side.ep, &word, 8, NULL,
                                        side.peers[(side.id + 1) % side.size], 1, &word)),
              0);
    for (i = 0; i < 2; i++) {
        TRY(gni_entry(&side, side.tx_cq, &entry));
        received += entry.op_context == &in;
    }
    EXPECT(received == 1 && in == (side.id + side.size - 1) % side.size);
    return gni_finish(&side);
}

static void gni_154_many_processes(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 512}, neighbours_body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_66_flood),
        cmocka_unit_test(gni_67_gni_139_both_flood),
        cmocka_unit_test(gni_138_few_descriptors),
        cmocka_unit_test(gni_140_two_credits),
        cmocka_unit_test(gni_141_rx_overrun),
        cmocka_unit_test(gni_142_aries_59_injected),
        cmocka_unit_test(gni_142_aries_59_injected_for_good),
        cmocka_unit_test(aries_59_unrecoverable_at_once),
        cmocka_unit_test(gni_144_gni_146_crash),
        cmocka_unit_test(gni_144_lost_node_is_an_event),
        cmocka_unit_test(gni_154_many_processes),
    };

    return cmocka_run_group_tests_name("stress", tests, NULL, NULL);
}
