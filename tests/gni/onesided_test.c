/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* One-sided operations: chains, events at the target, failures, and what libfabric has no name for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fixture.h"
#include "rdma/fi_ext_gni.h"

#define ALL_ACCESS (FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)

static int entries(struct gni_side *side, uint32_t count, uint64_t flags)
{
    struct rank *rank = side->rank;
    struct fi_cq_tagged_entry entry;

    for (; count > 0; count--) {
        TRY(gni_entry(side, side->tx_cq, &entry));
        EXPECT_IS(entry.flags, flags);
    }
    return 0;
}

static int set_option(struct gni_side *side, dom_ops_val_t which, int32_t value)
{
    struct rank *rank = side->rank;
    struct fi_gni_ops_domain *ops;

    EXPECT_IS(fi_open_ops(&side->domain->fid, FI_GNI_DOMAIN_OPS_1, 0, (void **)&ops, NULL), 0);
    EXPECT_IS(ops->set_val(&side->domain->fid, which, &value), 0);
    return 0;
}

/* ---- FI_MORE ----------------------------------------------------------------------------------
 */

static int transfer(struct gni_side *side, struct gni_memory *memory, bool reads, uint64_t local,
                    size_t length, uint32_t peer, uint64_t remote, uint64_t flags)
{
    struct iovec iov = {memory->bytes + local, length};
    struct fi_rma_iov place = {memory->all[peer].address + remote, length, memory->all[peer].key};
    void *desc = fi_mr_desc(memory->mr);
    struct fi_msg_rma message = {.msg_iov = &iov,
                                 .desc = &desc,
                                 .iov_count = 1,
                                 .addr = side->peers[peer],
                                 .rma_iov = &place,
                                 .rma_iov_count = 1,
                                 .context = iov.iov_base};

    if (reads)
        return gni_again(side, fi_readmsg(side->ep, &message, flags));
    return gni_again(side, fi_writemsg(side->ep, &message, flags));
}

/* Reads and writes of several lengths mixed: chains of one kind end where the other begins. */
static int mixed_chain_body(struct rank *rank)
{
    enum { COUNT = 200, SIZE = 512 * 1024 };
    struct fi_cq_tagged_entry entry;
    struct gni_memory memory;
    struct gni_side side;
    uint32_t i;

    TRY(gni_open(&side, rank, &(struct gni_how){0}));
    TRY(gni_memory_open(&side, &memory, 3 * SIZE, ALL_ACCESS));
    if (side.id == 1)
        gni_fill(memory.bytes + SIZE, SIZE, 9);
    else
        gni_fill(memory.bytes, SIZE, 4);
    rank_barrier(rank);
    for (i = 0; side.id == 0 && i < COUNT; i++) {
        bool reads = i / 7 % 2 == 1;
        size_t length = i % 11 == 0 ? 9000 : 4 * (i % 300) + (reads ? 4 : 3);
        uint64_t flags = FI_COMPLETION | (i < COUNT - 1 ? FI_MORE : 0);

        if (reads && i % 5 == 0)
            length++; /* not what a chain may contain */
        EXPECT_IS(transfer(&side, &memory, reads, (reads ? SIZE : 0) + i * 2000, length, 1,
                           (reads ? SIZE : 0) + i * 2000, flags),
                  0);
    }
    for (i = 0; side.id == 0 && i < COUNT; i++)
        TRY(gni_entry(&side, side.tx_cq, &entry));
    rank_barrier(rank);
    for (i = 0; i < COUNT; i++) {
        bool reads = i / 7 % 2 == 1;
        size_t length = i % 11 == 0 ? 9000 : 4 * (i % 300) + (reads ? 4 : 3);
        static uint8_t expected[3 * SIZE];

        if (reads != (side.id == 0))
            continue;
        gni_fill(expected, SIZE, reads ? 9 : 4);
        EXPECT(memcmp(memory.bytes + (reads ? SIZE : 0) + i * 2000, expected + i * 2000,
                      length < 2000 ? length : 2000) == 0);
    }
    return gni_finish_with(&side, &memory);
}

static void gni_96_mixed_chain(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, mixed_chain_body);
}

/* Nothing follows although FI_MORE said so: it goes all the same. */
static int lonely_chain_body(struct rank *rank)
{
    struct gni_memory memory;
    struct gni_side side;

    TRY(gni_open(&side, rank, &(struct gni_how){0}));
    TRY(gni_memory_open(&side, &memory, 4096, ALL_ACCESS));
    if (side.id == 0) {
        memory.bytes[0] = 7;
        EXPECT_IS(transfer(&side, &memory, false, 0, 1, 1, 100, FI_MORE | FI_COMPLETION), 0);
        EXPECT_IS(transfer(&side, &memory, false, 0, 1, 1, 101, FI_MORE | FI_COMPLETION), 0);
        TRY(entries(&side, 2, FI_RMA | FI_WRITE));
        /* a fence waits for what was held back, too */
        EXPECT_IS(transfer(&side, &memory, false, 0, 1, 1, 102, FI_MORE | FI_COMPLETION), 0);
        EXPECT_IS(transfer(&side, &memory, false, 0, 1, 1, 103, FI_FENCE | FI_COMPLETION), 0);
        TRY(entries(&side, 2, FI_RMA | FI_WRITE));
    }
    rank_barrier(rank);
    if (side.id == 1)
        EXPECT(memory.bytes[100] == 7 && memory.bytes[101] == 7 && memory.bytes[102] == 7 &&
               memory.bytes[103] == 7);
    return gni_finish_with(&side, &memory);
}

static void gni_96_gni_97_lonely_chain(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, lonely_chain_body);
}

/* ---- events at the target ---------------------------------------------------------------------
 */

/* The target does not read its queue: the writer is held up, nothing is lost. */
static int flood_body(struct rank *rank)
{
    enum { COUNT = 30000 };
    struct gni_how how = {.two_cqs = true, .cq_size = 16};
    struct fi_cq_tagged_entry entry;
    struct gni_memory memory;
    struct gni_side side;
    uint64_t word = 1, posted = 0, completed = 0;
    ssize_t result;

    TRY(gni_open(&side, rank, &how));
    TRY(gni_memory_open(&side, &memory, 4096, ALL_ACCESS));
    if (side.id == 0) {
        rank_alarm(rank, UINT64_C(20000000000)); /* 20 ms */
        while (posted < COUNT && !rank_alarm_rang(rank)) {
            result = fi_writedata(side.ep, &word, 8, NULL, posted, side.peers[1],
                                  memory.all[1].address, memory.all[1].key, NULL);
            EXPECT(result == 0 || result == -FI_EAGAIN);
            posted += result == 0;
            completed += fi_cq_read(side.tx_cq, &entry, 1) == 1;
        }
        EXPECT(posted < COUNT); /* 16 384 entries and a window */
    }
    rank_barrier(rank);
    if (side.id == 0) {
        for (; completed < posted; completed++)
            TRY(gni_entry(&side, side.tx_cq, &entry));
        EXPECT_IS(gni_again(&side, fi_writedata(side.ep, &word, 8, NULL, UINT32_MAX, side.peers[1],
                                                memory.all[1].address, memory.all[1].key, NULL)),
                  0);
        TRY(gni_entry(&side, side.tx_cq, &entry));
    } else {
        for (posted = 0;; posted++) {
            TRY(gni_entry(&side, side.rx_cq, &entry));
            if (entry.data == UINT32_MAX)
                break;
            EXPECT_IS(entry.data, posted);
        }
        EXPECT(posted > 1024);
    }
    return gni_finish_with(&side, &memory);
}

static void gni_66_gni_94_flood(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, flood_body);
}

/* Writes of no bytes, with and without data; counters of the peer's operations. */
static int events_body(struct rank *rank)
{
    struct gni_how how = {.caps = FI_MSG | FI_RMA | FI_ATOMIC | FI_RMA_EVENT, .counters = true};
    struct fi_cq_tagged_entry entry;
    struct gni_memory memory;
    struct gni_side side;
    uint64_t word = 3, old = 0;

    TRY(gni_open(&side, rank, &how));
    TRY(gni_memory_open(&side, &memory, 4096, ALL_ACCESS));
    if (side.id == 0) {
        uint64_t place = memory.all[1].address, key = memory.all[1].key;
        struct fi_msg_rma empty = {.addr = side.peers[1], .data = 77, .context = &word};

        EXPECT_IS(gni_again(&side,
                            fi_writemsg(side.ep, &empty, FI_REMOTE_CQ_DATA | FI_DELIVERY_COMPLETE)),
                  0);
        EXPECT_IS(
            gni_again(&side, fi_write(side.ep, NULL, 0, NULL, side.peers[1], place, key, &word)),
            0);
        EXPECT_IS(
            gni_again(&side, fi_inject_writedata(side.ep, &word, 8, 78, side.peers[1], place, key)),
            0);
        TRY(entries(&side, 2, FI_RMA | FI_WRITE));
        TRY(gni_count(&side, side.cntr[WRITES], 3));
        EXPECT_IS(
            gni_again(&side, fi_read(side.ep, &old, 8, NULL, side.peers[1], place, key, NULL)), 0);
        TRY(entries(&side, 1, FI_RMA | FI_READ));
        EXPECT_IS(old, 3);
        EXPECT_IS(gni_again(&side, fi_atomic(side.ep, &word, 1, NULL, side.peers[1], place, key,
                                             FI_UINT64, FI_SUM, NULL)),
                  0);
        TRY(entries(&side, 1, FI_ATOMIC | FI_WRITE));
        EXPECT_IS(gni_again(&side, fi_inject_atomic(side.ep, &word, 1, side.peers[1], place, key,
                                                    FI_UINT64, FI_SUM)),
                  0);
        TRY(gni_count(&side, side.cntr[WRITES], 5));
        EXPECT_IS(
            gni_again(&side, fi_fetch_atomic(side.ep, NULL, 1, NULL, &old, NULL, side.peers[1],
                                             place, key, FI_UINT64, FI_ATOMIC_READ, NULL)),
            0);
        TRY(entries(&side, 1, FI_ATOMIC | FI_READ));
        EXPECT_IS(old, 9);
        TRY(gni_count(&side, side.cntr[READS], 2));
        TRY(gni_silence(&side, side.tx_cq, 20));
    } else {
        TRY(gni_entry(&side, side.rx_cq, &entry));
        EXPECT(entry.data == 77 && entry.flags == (FI_RMA | FI_REMOTE_CQ_DATA | FI_REMOTE_WRITE));
        TRY(gni_entry(&side, side.rx_cq, &entry));
        EXPECT_IS(entry.data, 78);
        TRY(gni_count(&side, side.cntr[REMOTE_WRITES], 5));
        TRY(gni_count(&side, side.cntr[REMOTE_READS], 2));
        TRY(gni_silence(&side, side.rx_cq, 20));
    }
    return gni_finish_with(&side, &memory);
}

static void gni_94_gni_95_events(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, events_body);
}

/* ---- failures ---------------------------------------------------------------------------------
 */

static int atomic_fails_body(struct rank *rank)
{
    struct fi_cq_err_entry error;
    struct gni_memory memory;
    struct gni_side side;
    uint64_t word = 1, old = 0;

    TRY(gni_open(&side, rank, &(struct gni_how){.counters = true}));
    TRY(gni_memory_open(&side, &memory, 4096, ALL_ACCESS));
    TRY(set_option(&side, GNI_ERR_INJECT_COUNT, 1));
    if (side.id == 0) {
        EXPECT_IS(gni_again(&side,
                            fi_atomic(side.ep, &word, 1, NULL, side.peers[1], memory.all[1].address,
                                      memory.all[1].key, FI_UINT64, FI_SUM, &word)),
                  0);
        TRY(gni_error(&side, side.tx_cq, &error));
        EXPECT(error.err == FI_EIO && error.op_context == &word);
        EXPECT_IS(error.flags, FI_ATOMIC | FI_WRITE);
        EXPECT_IS(fi_cntr_readerr(side.cntr[WRITES]), 1);
        EXPECT_IS(gni_again(&side, fi_fetch_atomic(side.ep, &word, 1, NULL, &old, NULL,
                                                   side.peers[1], memory.all[1].address + 8,
                                                   memory.all[1].key, FI_UINT64, FI_SUM, &old)),
                  0);
        TRY(gni_error(&side, side.tx_cq, &error));
        EXPECT(error.err == FI_EIO && error.op_context == &old);
        EXPECT_IS(fi_cntr_readerr(side.cntr[READS]), 1);
    }
    rank_barrier(rank);
    if (side.id == 1) /* at most once */
        EXPECT(*(uint64_t *)memory.bytes <= 1 && *(uint64_t *)(memory.bytes + 8) <= 1);
    return gni_finish_with(&side, &memory);
}

static void gni_103_atomic_fails(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, atomic_fails_body);
}

/* All kinds of transfers, each failing some times at random, one more than is tried at most. */
static int all_fail_body(struct rank *rank)
{
    static const size_t lengths[] = {1, 8, 59, 61, 130, 8191, 8192, 20001};
    struct gni_memory memory;
    struct gni_side side;
    uint32_t i, at;

    TRY(gni_open(&side, rank, &(struct gni_how){0}));
    TRY(gni_memory_open(&side, &memory, 1 << 20, ALL_ACCESS));
    TRY(set_option(&side, GNI_ERR_INJECT_COUNT, -5));
    gni_fill(memory.bytes, 1 << 18, side.id + 1);
    rank_barrier(rank);
    for (i = 0; side.id == 0 && i < 8; i++) {
        for (at = 0; at < 4; at++) {
            uint64_t place = (i * 4 + at) * 0x8000;

            EXPECT_IS(
                transfer(&side, &memory, true, 0x80000 + at, lengths[i], 1, at * 3, FI_COMPLETION),
                0);
            TRY(entries(&side, 1, FI_RMA | FI_READ));
            memset(memory.bytes + 0x80000 - 8, 0, 8);
            EXPECT_IS(transfer(&side, &memory, false, 0x80000 + at, lengths[i], 1,
                               0x40000 + place % 0x40000, FI_COMPLETION | (at == 1 ? FI_MORE : 0)),
                      0);
            TRY(entries(&side, 1, FI_RMA | FI_WRITE));
            EXPECT_IS(transfer(&side, &memory, true, 0xa0000, lengths[i], 1,
                               0x40000 + place % 0x40000, FI_COMPLETION),
                      0);
            TRY(entries(&side, 1, FI_RMA | FI_READ));
            EXPECT(memcmp(memory.bytes + 0xa0000, memory.bytes + 0x80000 + at, lengths[i]) == 0);
        }
    }
    return gni_finish_with(&side, &memory);
}

static void gni_142_all_fail_sometimes(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, all_fail_body);
}

/* A datagram endpoint does not try again. */
static int datagram_body(struct rank *rank)
{
    struct fi_cq_err_entry error;
    struct gni_memory memory;
    struct gni_side side;
    uint64_t word = 1;

    TRY(gni_open(&side, rank, &(struct gni_how){.type = FI_EP_DGRAM}));
    TRY(gni_memory_open(&side, &memory, 4096, ALL_ACCESS));
    if (side.id == 0) {
        EXPECT_IS(transfer(&side, &memory, false, 0, 100, 1, 0, FI_COMPLETION), 0);
        TRY(entries(&side, 1, FI_RMA | FI_WRITE));
        TRY(set_option(&side, GNI_ERR_INJECT_COUNT, 1));
        EXPECT_IS(gni_again(&side, fi_write(side.ep, &word, 8, NULL, side.peers[1],
                                            memory.all[1].address, memory.all[1].key, &word)),
                  0);
        TRY(gni_error(&side, side.tx_cq, &error));
        EXPECT(error.err == FI_EIO && error.op_context == &word);
    }
    return gni_finish_with(&side, &memory);
}

static void gni_142_datagrams_once(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, datagram_body);
}

/* Without helpers, chains, remote events and atomics make progress when a queue is read. */
static int manual_body(struct rank *rank)
{
    enum { COUNT = 300 };
    struct gni_how how = {.manual = true,
                          .caps = FI_MSG | FI_RMA | FI_ATOMIC | FI_RMA_EVENT,
                          .threading = FI_THREAD_DOMAIN};
    struct fi_cq_tagged_entry entry;
    struct gni_memory memory;
    struct gni_side side;
    uint64_t one = 1, i, own = 0, theirs = 0, numbers[COUNT];
    uint32_t peer;

    TRY(gni_open(&side, rank, &how));
    TRY(gni_memory_open(&side, &memory, 4096, ALL_ACCESS));
    peer = (side.id + 1) % side.size;
    for (i = 0; i < COUNT; i++) {
        numbers[i] = i;
        EXPECT_IS(
            gni_again(&side, fi_writedata(side.ep, &numbers[i], 8, NULL, i, side.peers[peer],
                                          memory.all[peer].address, memory.all[peer].key, &side)),
            0);
        EXPECT_IS(gni_again(&side, fi_atomic(side.ep, &one, 1, NULL, side.peers[peer],
                                             memory.all[peer].address + 8, memory.all[peer].key,
                                             FI_UINT64, FI_SUM, &side)),
                  0);
    }
    while (own < 2 * COUNT || theirs < COUNT) {
        TRY(gni_entry(&side, side.tx_cq, &entry));
        if (entry.op_context == &side) {
            own++;
        } else {
            EXPECT_IS(entry.data, theirs); /* in order */
            theirs++;
        }
    }
    rank_barrier(rank);
    EXPECT_IS(*(uint64_t *)(memory.bytes + 8), COUNT);
    return gni_finish_with(&side, &memory);
}

static void gni_117_gni_94_manual(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 4}, manual_body);
}

/* The target's node dies: every operation ends, once. */
static int crash_body(struct rank *rank)
{
    enum { COUNT = 60 };
    struct gni_how how = {.caps = FI_MSG | FI_RMA | FI_ATOMIC | FI_RMA_EVENT};
    struct fi_cq_tagged_entry entry;
    struct fi_cq_err_entry error = {0};
    uint64_t posted = 0, ended = 0, failed = 0, word = 1;
    struct gni_memory memory;
    struct gni_side side;
    ssize_t result;

    TRY(gni_open(&side, rank, &how));
    TRY(gni_memory_open(&side, &memory, 1 << 20, ALL_ACCESS));
    if (side.id == 1) {
        for (;;)
            gni_pause(rank, UINT64_C(1000000000));
    }
    while (ended < COUNT) {
        uint64_t place = memory.all[1].address, key = memory.all[1].key;

        result = -FI_EAGAIN;
        if (posted < COUNT) {
            gni_pause(rank, UINT64_C(20000000)); /* 20 us */
            switch (posted % 4) {
            case 0:
                result = fi_writedata(side.ep, memory.bytes, 100000, fi_mr_desc(memory.mr), 5,
                                      side.peers[1], place, key, NULL);
                break;
            case 1:
                result = fi_read(side.ep, memory.bytes + 1, 30001, fi_mr_desc(memory.mr),
                                 side.peers[1], place + 3, key, NULL);
                break;
            case 2:
                result = transfer(&side, &memory, false, 0, 100, 1, 0, FI_MORE | FI_COMPLETION);
                break;
            default:
                result = fi_fetch_atomic(side.ep, &word, 1, NULL, memory.bytes, NULL, side.peers[1],
                                         place, key, FI_UINT64, FI_SUM, NULL);
            }
            EXPECT(result == 0 || result == -FI_EAGAIN);
            posted += result == 0;
        }
        result = fi_cq_read(side.tx_cq, &entry, 1);
        if (result == -FI_EAVAIL) {
            EXPECT_IS(fi_cq_readerr(side.tx_cq, &error, 0), 1);
            EXPECT(error.err == FI_EIO || error.err == FI_EHOSTDOWN || error.err == FI_ENOTCONN ||
                   error.err == FI_ETIMEDOUT);
            failed++;
        }
        ended += result == 1 || result == -FI_EAVAIL;
    }
    EXPECT(failed > 0 && failed < COUNT);
    TRY(gni_silence(&side, side.tx_cq, 1000));
    TRY(gni_memory_close(&side, &memory));
    return gni_close(&side);
}

static void gni_144_crash(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2,
                                  .killed = true,
                                  .yaml = "faults: [{at: node, node: 1, do: crash, time: 1ms}]\n"},
            crash_body);
}

/* ---- what libfabric has no name for -----------------------------------------------------------
 */

static int native_body(struct rank *rank)
{
    uint64_t words[2] = {0xff00, 0x00f1}, old = 0, *there, place, key;
    uint64_t narrow[2] = {0xffffffff0000ffffull, 0x10};
    struct fi_gni_ops_ep *ops;
    struct fi_atomic_attr attr;
    struct gni_memory memory;
    struct gni_side side;

    TRY(gni_open(&side, rank, &(struct gni_how){0}));
    TRY(gni_memory_open(&side, &memory, 4096, ALL_ACCESS));
    EXPECT_IS(fi_open_ops(&side.ep->fid, FI_GNI_EP_OPS_1, 0, (void **)&ops, NULL), 0);
    there = (uint64_t *)memory.bytes;
    place = memory.all[0].address;
    key = memory.all[0].key;
    there[0] = 0x1234;
    EXPECT_IS(gni_again(&side, ops->native_amo(side.ep, words, 1, NULL, NULL, NULL, side.peers[0],
                                               place, key, FI_UINT64, GNIX_NAMO_AX, NULL)),
              0);
    TRY(entries(&side, 1, FI_ATOMIC | FI_WRITE));
    EXPECT_IS(there[0], (0x1234 & 0xff00) ^ 0x00f1);
    EXPECT_IS(gni_again(&side, ops->native_amo(side.ep, words, 1, NULL, &old, NULL, side.peers[0],
                                               place, key, FI_UINT64, GNIX_NAMO_FAX, NULL)),
              0);
    TRY(entries(&side, 1, FI_ATOMIC | FI_READ));
    EXPECT_IS(old, (0x1234 & 0xff00) ^ 0x00f1);
    there[1] = 0x1111222233334444ull;
    old = 0;
    EXPECT_IS(gni_again(&side, ops->native_amo(side.ep, narrow, 1, NULL, &old, NULL, side.peers[0],
                                               place + 8, key, FI_UINT32, GNIX_NAMO_FAX_S, NULL)),
              0);
    TRY(entries(&side, 1, FI_ATOMIC | FI_READ));
    EXPECT_IS(old, 0x33334444);
    EXPECT(ops->native_amo(side.ep, words, 1, NULL, NULL, NULL, side.peers[0], place, key,
                           FI_UINT32, GNIX_NAMO_AX, NULL) == -FI_EINVAL);
    EXPECT(ops->native_amo(side.ep, words, 1, NULL, NULL, NULL, side.peers[0], place, key,
                           FI_UINT64, 0x24, NULL) == -FI_EINVAL);
    EXPECT_IS(fi_query_atomic(side.domain, FI_UINT32, FI_SUM, &attr, 0), 0);
    EXPECT(attr.count == 1 && attr.size == 4);
    EXPECT_IS(fi_query_atomic(side.domain, FI_DOUBLE, FI_SUM, &attr, 0), -FI_EOPNOTSUPP);
    EXPECT_IS(fi_query_atomic(side.domain, FI_DOUBLE, FI_CSWAP, &attr, FI_COMPARE_ATOMIC), 0);
    EXPECT_IS(fi_query_atomic(side.domain, FI_INT64, FI_ATOMIC_READ, &attr, FI_FETCH_ATOMIC), 0);
    EXPECT(fi_query_atomic(side.domain, FI_INT64, FI_SUM, &attr, FI_TAGGED) < 0);
    return gni_finish_with(&side, &memory);
}

static void gni_101_native(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, native_body);
}

/* ---- keys of the application's choice ---------------------------------------------------------
 */

static int offsets_body(struct rank *rank)
{
    struct gni_how how = {.mr_mode = FI_MR_MMU_NOTIFY};
    uint8_t *bytes = aligned_alloc(4096, 8192);
    uint64_t word = 0x77, back = 0;
    struct gni_side side;
    struct fid_mr *mr;

    memset(bytes, 0, 8192);
    TRY(gni_open(&side, rank, &how));
    EXPECT_IS(fi_mr_reg(side.domain, bytes, 8192, ALL_ACCESS, 0, 5, 0, &mr, NULL), 0);
    EXPECT_IS(fi_mr_key(mr), 5);
    rank_barrier(rank);
    if (side.id == 0) {
        EXPECT_IS(gni_again(&side, fi_write(side.ep, &word, 8, NULL, side.peers[1], 4096, 5, NULL)),
                  0);
        TRY(entries(&side, 1, FI_RMA | FI_WRITE));
        EXPECT_IS(gni_again(&side, fi_read(side.ep, bytes + 16, 8, fi_mr_desc(mr), side.peers[1],
                                           4096, 5, NULL)),
                  0);
        TRY(entries(&side, 1, FI_RMA | FI_READ));
        memcpy(&back, bytes + 16, 8);
        EXPECT_IS(back, 0x77);
    }
    rank_barrier(rank);
    if (side.id == 1)
        EXPECT_IS(*(uint64_t *)(bytes + 4096), 0x77);
    EXPECT_IS(fi_close(&mr->fid), 0);
    free(bytes);
    return gni_close(&side);
}

static void gni_136_offsets(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, offsets_body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_96_mixed_chain),     cmocka_unit_test(gni_96_gni_97_lonely_chain),
        cmocka_unit_test(gni_66_gni_94_flood),    cmocka_unit_test(gni_94_gni_95_events),
        cmocka_unit_test(gni_103_atomic_fails),   cmocka_unit_test(gni_142_all_fail_sometimes),
        cmocka_unit_test(gni_142_datagrams_once), cmocka_unit_test(gni_117_gni_94_manual),
        cmocka_unit_test(gni_144_crash),          cmocka_unit_test(gni_101_native),
        cmocka_unit_test(gni_136_offsets),
    };

    return cmocka_run_group_tests_name("one-sided", tests, NULL, NULL);
}
