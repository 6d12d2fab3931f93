/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reads, writes and atomics on the memory of others. */
#include "rma_frame.h"

#define CANARY 0xa5

/* ---- alignments ------------------------------------------------------------------------------ */

static int surroundings(const uint8_t *bytes, size_t at, size_t length, size_t size)
{
    size_t i;

    for (i = at < 64 ? 0 : at - 64; i < size && i < at + length + 64; i++)
        if ((i < at || i >= at + length) && bytes[i] != CANARY)
            return 0;
    return 1;
}

static int transfer(struct gni_side *side, struct gni_memory *memory, bool write, uint8_t *local,
                    size_t remote, size_t length)
{
    struct rank *rank = side->rank;
    uint64_t place = memory->all[1].address + remote, key = memory->all[1].key;
    void *desc = fi_mr_desc(memory->mr);
    fi_addr_t peer = side->peers[1];

    if (write)
        EXPECT_IS(gni_again(side, fi_write(side->ep, local, length, desc, peer, place, key, local)),
                  0);
    else
        EXPECT_IS(gni_again(side, fi_read(side->ep, local, length, desc, peer, place, key, local)),
                  0);
    return entry_of(side, local, FI_RMA | (write ? FI_WRITE : FI_READ));
}

/* One length at all alignments of both sides: written to rank 1 between canaries, read back
 * elsewhere; then all that is around it at rank 1. */
static int there_and_back(struct gni_side *side, struct gni_memory *memory, size_t length)
{
    struct rank *rank = side->rank;
    size_t all = (length + 64 + 8 + 64) & ~(size_t)3, local, remote;
    uint8_t *out = memory->bytes, *in = memory->bytes + memory->size / 2;

    for (local = 0; local < 8; local++) {
        for (remote = 0; remote < 8; remote++) {
            memset(out, CANARY, all);
            TRY(transfer(side, memory, true, out, 0, all));
            gni_fill(out + 64 + local, length, length + local);
            TRY(transfer(side, memory, true, out + 64 + local, 64 + remote, length));
            memset(in, CANARY, all);
            TRY(transfer(side, memory, false, in + 64 + local, 64 + remote, length));
            EXPECT(gni_filled(in + 64 + local, length, length + local));
            EXPECT(surroundings(in, 64 + local, length, all));
            TRY(transfer(side, memory, false, in, 0, all));
            EXPECT(gni_filled(in + 64 + remote, length, length + local));
            EXPECT(surroundings(in, 64 + remote, length, all));
        }
    }
    return 0;
}

static int alignments_body(struct rank *rank)
{
    static const size_t lengths[] = {8189, 8191, 8192, 8193, 16387, 1 << 20};
    struct gni_memory memory;
    struct gni_side side;
    size_t length;

    TRY(gni_open(&side, rank, &plain));
    TRY(gni_memory_open(&side, &memory, 3 << 20, ALL_ACCESS));
    memset(memory.bytes, CANARY, memory.size);
    rank_barrier(rank);
    if (side.id == 0) {
        for (length = 1; length <= 130; length++)
            TRY(there_and_back(&side, &memory, length));
        for (length = 0; length < sizeof(lengths) / sizeof(lengths[0]); length++)
            TRY(there_and_back(&side, &memory, lengths[length]));
    }
    rank_barrier(rank);
    if (side.id == 1)
        EXPECT(surroundings(memory.bytes, 64, (1 << 20) + 7, memory.size));
    return gni_finish_with(&side, &memory);
}

static void gni_93_alignments(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, alignments_body);
}

/* A buffer without a descriptor. */
static int no_descriptor_body(struct rank *rank)
{
    enum { BYTES = 30000 };
    uint8_t *bytes = malloc(BYTES), *expected = malloc(BYTES);
    struct gni_memory memory;
    struct gni_side side;

    TRY(gni_open(&side, rank, &plain));
    TRY(gni_memory_open(&side, &memory, BYTES, ALL_ACCESS));
    if (side.id == 0) {
        gni_fill(bytes, BYTES, 3);
        EXPECT_IS(gni_again(&side, fi_write(side.ep, bytes, BYTES, NULL, side.peers[1],
                                            memory.all[1].address, memory.all[1].key, bytes)),
                  0);
        TRY(entry_of(&side, bytes, FI_RMA | FI_WRITE));
        memset(bytes, 0, BYTES);
        EXPECT_IS(gni_again(&side, fi_read(side.ep, bytes + 1, BYTES - 3, NULL, side.peers[1],
                                           memory.all[1].address + 1, memory.all[1].key, bytes)),
                  0);
        TRY(entry_of(&side, bytes, FI_RMA | FI_READ));
        gni_fill(expected, BYTES, 3);
        EXPECT(bytes[0] == 0 && bytes[BYTES - 2] == 0 && bytes[BYTES - 1] == 0);
        EXPECT(memcmp(bytes + 1, expected + 1, BYTES - 3) == 0);
    }
    rank_barrier(rank);
    if (side.id == 1)
        EXPECT(gni_filled(memory.bytes, BYTES, 3));
    free(bytes);
    free(expected);
    return gni_finish_with(&side, &memory);
}

/* A descriptor that does not let the network write is no reason to refuse a read: the provider
 * registers the buffer as if there were none. */
static int read_only_body(struct rank *rank)
{
    enum { BYTES = 30000 };
    static const size_t lengths[] = {8, 200, BYTES};
    struct gni_memory memory, local;
    struct gni_side side;
    size_t i;

    TRY(gni_open(&side, rank, &plain));
    TRY(gni_memory_open(&side, &memory, BYTES, ALL_ACCESS));
    TRY(gni_memory_open(&side, &local, BYTES, FI_REMOTE_READ));
    gni_fill(memory.bytes, BYTES, 3 + side.id);
    rank_barrier(rank);
    for (i = 0; i < 3 && side.id == 0; i++) {
        memset(local.bytes, 0, BYTES);
        EXPECT_IS(gni_again(&side, fi_read(side.ep, local.bytes, lengths[i], fi_mr_desc(local.mr),
                                           side.peers[1], memory.all[1].address, memory.all[1].key,
                                           local.bytes)),
                  0);
        TRY(entry_of(&side, local.bytes, FI_RMA | FI_READ));
        EXPECT(gni_filled(local.bytes, lengths[i], 4));
    }
    rank_barrier(rank);
    TRY(gni_memory_close(&side, &local));
    return gni_finish_with(&side, &memory);
}

static void gni_93_read_only_descriptor(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, read_only_body);
}

static void gni_93_no_descriptor(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, no_descriptor_body);
}

/* ---- data, counters, inject ------------------------------------------------------------------ */

static int write_data(struct rank *rank, uint64_t caps)
{
    struct gni_how how = {.caps = caps, .counters = true};
    struct fi_cq_tagged_entry entry;
    struct gni_memory memory;
    struct gni_side side;
    fi_addr_t source;
    uint64_t word = 77;

    TRY(gni_open(&side, rank, &how));
    TRY(gni_memory_open(&side, &memory, 4096, ALL_ACCESS));
    if (side.id == 0) {
        EXPECT_IS(gni_again(&side, fi_writedata(side.ep, &word, 8, NULL, 0x1234, side.peers[1],
                                                memory.all[1].address, memory.all[1].key, &word)),
                  0);
        TRY(entry_of(&side, &word, FI_RMA | FI_WRITE));
        TRY(gni_count(&side, side.cntr[WRITES], 1));
    } else {
        TRY(gni_entry_from(&side, side.rx_cq, &entry, &source));
        EXPECT_IS(entry.flags, FI_RMA | FI_REMOTE_CQ_DATA | FI_REMOTE_WRITE);
        EXPECT(entry.data == 0x1234 && entry.op_context == NULL && entry.len == 0);
        EXPECT_IS(*(uint64_t *)memory.bytes, 77);
        if ((caps & FI_SOURCE) != 0)
            EXPECT_IS(source, side.peers[0]);
        if ((caps & FI_RMA_EVENT) != 0)
            TRY(gni_count(&side, side.cntr[REMOTE_WRITES], 1));
    }
    return gni_finish_with(&side, &memory);
}

static int write_data_plain(struct rank *rank)
{
    return write_data(rank, FI_MSG | FI_RMA | FI_SOURCE);
}

static int write_data_event(struct rank *rank)
{
    return write_data(rank, FI_MSG | FI_RMA | FI_RMA_EVENT);
}

static void gni_94_write_data(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, write_data_plain);
    gni_run(&(struct gni_machine){.ranks = 2}, write_data_event);
}

static int inject_write_body(struct rank *rank)
{
    struct gni_memory memory;
    struct gni_side side;
    uint8_t bytes[65];

    TRY(gni_open(&side, rank, &(struct gni_how){.counters = true}));
    TRY(gni_memory_open(&side, &memory, 4096, ALL_ACCESS));
    if (side.id == 0) {
        gni_fill(bytes, 64, 5);
        EXPECT_IS(fi_inject_write(side.ep, bytes, 65, side.peers[1], memory.all[1].address,
                                  memory.all[1].key),
                  -FI_EINVAL);
        EXPECT_IS(gni_again(&side, fi_inject_write(side.ep, bytes, 64, side.peers[1],
                                                   memory.all[1].address, memory.all[1].key)),
                  0);
        memset(bytes, 0, sizeof(bytes));
        TRY(gni_count(&side, side.cntr[WRITES], 1));
        TRY(gni_silence(&side, side.tx_cq, 50));
    }
    rank_barrier(rank);
    if (side.id == 1)
        EXPECT(gni_filled(memory.bytes, 64, 5));
    return gni_finish_with(&side, &memory);
}

static void gni_95_inject_write(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, inject_write_body);
}

/* ---- FI_MORE, FI_FENCE ----------------------------------------------------------------------- */

static int write_flags(struct gni_side *side, void *bytes, size_t length, uint32_t peer,
                       const struct gni_memory *memory, uint64_t offset, uint64_t flags)
{
    struct iovec iov = {bytes, length};
    struct fi_rma_iov remote = {memory->all[peer].address + offset, length, memory->all[peer].key};
    struct fi_msg_rma message = {.msg_iov = &iov,
                                 .iov_count = 1,
                                 .addr = side->peers[peer],
                                 .rma_iov = &remote,
                                 .rma_iov_count = 1,
                                 .context = bytes};

    return gni_again(side, fi_writemsg(side->ep, &message, flags));
}

static int more_body(struct rank *rank)
{
    enum { COUNT = 32 };
    struct fi_cq_tagged_entry entry;
    uint64_t words[2 * COUNT];
    struct gni_memory memory;
    struct gni_side side;
    uint32_t i;

    TRY(gni_open(&side, rank, &plain));
    TRY(gni_memory_open(&side, &memory, 4096, ALL_ACCESS));
    if (side.id == 0) {
        for (i = 0; i < 2 * COUNT; i++) {
            words[i] = 1000 + i;
            EXPECT_IS(write_flags(&side, &words[i], 8, 1 + i % 2, &memory, i / 2 * 8,
                                  i < 2 * COUNT - 2 ? FI_MORE | FI_COMPLETION : FI_COMPLETION),
                      0);
        }
        for (i = 0; i < 2 * COUNT; i++)
            TRY(gni_entry(&side, side.tx_cq, &entry));
    }
    rank_barrier(rank);
    for (i = 0; side.id > 0 && i < COUNT; i++)
        EXPECT_IS(((uint64_t *)memory.bytes)[i], 1000 + 2 * i + side.id - 1);
    return gni_finish_with(&side, &memory);
}

static void gni_96_more(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 3}, more_body);
}

/* When the fenced write shows, all before it are there. */
static int fence_body(struct rank *rank)
{
    enum { COUNT = 100, BYTES = 20000 };
    struct fi_cq_tagged_entry entry;
    uint8_t *bytes = malloc(BYTES);
    uint64_t flag = 1;
    struct gni_memory memory;
    struct gni_side side;
    uint32_t i;

    TRY(gni_open(&side, rank, &plain));
    TRY(gni_memory_open(&side, &memory, COUNT * BYTES + 8, ALL_ACCESS));
    gni_fill(bytes, BYTES, 8);
    if (side.id == 0) {
        for (i = 0; i < COUNT; i++)
            EXPECT_IS(write_flags(&side, bytes, BYTES, 1, &memory, i * BYTES, FI_COMPLETION), 0);
        EXPECT_IS(write_flags(&side, &flag, 8, 1, &memory, COUNT * BYTES, FI_FENCE | FI_COMPLETION),
                  0);
        for (i = 0; i <= COUNT; i++)
            TRY(gni_entry(&side, side.tx_cq, &entry));
        EXPECT(entry.op_context == &flag);
    } else {
        rank_spin_until((uint64_t *)(memory.bytes + COUNT * BYTES), 1);
        for (i = 0; i < COUNT; i++)
            EXPECT(gni_filled(memory.bytes + i * BYTES, BYTES, 8));
    }
    free(bytes);
    return gni_finish_with(&side, &memory);
}

static void gni_97_fence(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, fence_body);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static int limits_body(struct rank *rank)
{
    struct gni_memory memory;
    struct gni_side side;
    uint64_t words[2] = {0};
    struct iovec iov[2] = {{&words[0], 8}, {&words[1], 8}};
    void *desc[2] = {NULL, NULL};
    struct fi_rma_iov remote[2] = {{0}};
    struct fi_msg_rma message = {.msg_iov = iov, .iov_count = 1, .rma_iov = remote};

    TRY(gni_open(&side, rank, &plain));
    TRY(gni_memory_open(&side, &memory, 4096, ALL_ACCESS));
    remote[0] = remote[1] = (struct fi_rma_iov){memory.all[0].address, 8, memory.all[0].key};
    message.addr = side.peers[0];
    EXPECT_IS(fi_writev(side.ep, iov, desc, 2, side.peers[0], remote[0].addr, remote[0].key, NULL),
              -FI_EINVAL);
    EXPECT_IS(fi_readv(side.ep, iov, desc, 2, side.peers[0], remote[0].addr, remote[0].key, NULL),
              -FI_EINVAL);
    message.rma_iov_count = 2;
    EXPECT_IS(fi_writemsg(side.ep, &message, 0), -FI_EINVAL);
    EXPECT_IS(fi_readmsg(side.ep, &message, 0), -FI_EINVAL);
    EXPECT_IS(fi_write(side.ep, words, 1ull << 32, NULL, side.peers[0], remote[0].addr,
                       remote[0].key, NULL),
              -FI_EINVAL);
    return gni_finish_with(&side, &memory);
}

static void gni_98_limits(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, limits_body);
}

/* A wrong key, a page that is not registered, memory that may only be read. */
#define KEY_MDH 37 /* where a key has the number of its registration */

static int wrong_place_body(struct rank *rank)
{
    struct fi_cq_err_entry error;
    struct gni_memory memory, readable;
    struct gni_side side;
    uint64_t word = 1;

    TRY(gni_open(&side, rank, &plain));
    TRY(gni_memory_open(&side, &memory, 4096, ALL_ACCESS));
    TRY(gni_memory_open(&side, &readable, 4096, FI_REMOTE_READ));
    if (side.id == 0) {
        EXPECT_IS(
            gni_again(&side, fi_write(side.ep, &word, 8, NULL, side.peers[1],
                                      memory.all[1].address + (1 << 20), memory.all[1].key, &word)),
            0);
        TRY(gni_error(&side, side.tx_cq, &error));
        EXPECT(error.err == FI_EIO && error.op_context == &word);
        EXPECT_IS(error.flags, FI_RMA | FI_WRITE);
        EXPECT_IS(gni_again(&side, fi_read(side.ep, &word, 8, NULL, side.peers[1],
                                           memory.all[1].address + 8192, memory.all[1].key, &word)),
                  0);
        TRY(gni_error(&side, side.tx_cq, &error));
        EXPECT(error.err == FI_EIO);
        EXPECT_IS(gni_again(&side, fi_write(side.ep, &word, 8, NULL, side.peers[1],
                                            readable.all[1].address, readable.all[1].key, &word)),
                  0);
        TRY(gni_error(&side, side.tx_cq, &error));
        EXPECT(error.err == FI_EIO);
        /* The key of a registration that there is not. */
        EXPECT_IS(
            gni_again(&side, fi_write(side.ep, &word, 8, NULL, side.peers[1], memory.all[1].address,
                                      memory.all[1].key + (1000ull << KEY_MDH), &word)),
            0);
        TRY(gni_error(&side, side.tx_cq, &error));
        EXPECT(error.err == FI_EIO && error.op_context == &word);
        word = 7;
        EXPECT_IS(gni_again(&side, fi_read(side.ep, &word, 8, NULL, side.peers[1],
                                           readable.all[1].address, readable.all[1].key, &word)),
                  0);
        TRY(entry_of(&side, &word, FI_RMA | FI_READ));
        EXPECT_IS(word, 0);
    }
    rank_barrier(rank);
    EXPECT_IS(*(uint64_t *)readable.bytes, 0);
    EXPECT_IS(*(uint64_t *)memory.bytes, 0);
    TRY(gni_memory_close(&side, &readable));
    return gni_finish_with(&side, &memory);
}

static void gni_99_gni_132_wrong_place(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, wrong_place_body);
}

/* Rank 2 may not be written; refused for it and not for rank 1. */
static int not_allowed_body(struct rank *rank)
{
    struct gni_how how = {.caps = rank_id(rank) == 2
                                      ? FI_MSG | FI_RMA | FI_READ | FI_WRITE | FI_REMOTE_READ
                                      : FI_MSG | FI_RMA};
    struct fi_cq_err_entry error;
    struct gni_memory memory;
    struct gni_side side;
    uint64_t word = 5;
    int i;

    TRY(gni_open(&side, rank, &how));
    TRY(gni_memory_open(&side, &memory, 4096, ALL_ACCESS));
    for (i = 0; side.id == 0 && i < 3; i++) {
        EXPECT_IS(gni_again(&side, fi_write(side.ep, &word, 8, NULL, side.peers[2],
                                            memory.all[2].address, memory.all[2].key, &i)),
                  0);
        TRY(gni_error(&side, side.tx_cq, &error));
        EXPECT_IS(error.err, FI_EOPNOTSUPP);
        EXPECT_IS(gni_again(&side, fi_write(side.ep, &word, 8, NULL, side.peers[1],
                                            memory.all[1].address, memory.all[1].key, &word)),
                  0);
        TRY(entry_of(&side, &word, FI_RMA | FI_WRITE));
    }
    rank_barrier(rank);
    EXPECT_IS(*(uint64_t *)memory.bytes, side.id == 1 ? 5 : 0);
    return gni_finish_with(&side, &memory);
}

static void gni_100_not_allowed(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 3}, not_allowed_body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_93_alignments),
        cmocka_unit_test(gni_93_no_descriptor),
        cmocka_unit_test(gni_93_read_only_descriptor),
        cmocka_unit_test(gni_94_write_data),
        cmocka_unit_test(gni_95_inject_write),
        cmocka_unit_test(gni_96_more),
        cmocka_unit_test(gni_97_fence),
        cmocka_unit_test(gni_98_limits),
        cmocka_unit_test(gni_99_gni_132_wrong_place),
        cmocka_unit_test(gni_100_not_allowed),
    };

    return cmocka_run_group_tests_name("rma", tests, NULL, NULL);
}
