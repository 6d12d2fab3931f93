/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Atomics: all types and operations, and many at the same time. */
#include "rma_frame.h"

/* ---- atomics --------------------------------------------------------------------------------- */

static const enum fi_datatype types[] = {FI_INT32,  FI_UINT32, FI_INT64,
                                         FI_UINT64, FI_FLOAT,  FI_DOUBLE};

/* Columns as in types. */
static const struct {
    enum fi_op op;
    const char *fits;
} plain_ops[] = {
    {FI_MIN, "y-y-yy"},  {FI_MAX, "y-y-yy"},          {FI_SUM, "yyyyy-"},  {FI_BOR, "yyyy--"},
    {FI_BAND, "yyyy--"}, {FI_BXOR, "yyyy--"},         {FI_PROD, "------"}, {FI_LOR, "------"},
    {FI_LXOR, "------"}, {FI_ATOMIC_WRITE, "yyyyyy"}, {FI_LAND, "------"},
};

union operand {
    int32_t i4;
    uint32_t u4;
    int64_t i8;
    uint64_t u8;
    float f4;
    double f8;
};

#define COMBINE(field)                                                            \
    do {                                                                          \
        switch (op) {                                                             \
        case FI_MIN:                                                              \
            memory.field = memory.field < with.field ? memory.field : with.field; \
            break;                                                                \
        case FI_MAX:                                                              \
            memory.field = memory.field > with.field ? memory.field : with.field; \
            break;                                                                \
        case FI_SUM:                                                              \
            memory.field = memory.field + with.field;                             \
            break;                                                                \
        case FI_ATOMIC_WRITE:                                                     \
            memory.field = with.field;                                            \
            break;                                                                \
        default:                                                                  \
            break;                                                                \
        }                                                                         \
    } while (0)

static union operand bits(union operand memory, union operand with, enum fi_op op)
{
    switch (op) {
    case FI_BOR:
        memory.u8 |= with.u8;
        break;
    case FI_BAND:
        memory.u8 &= with.u8;
        break;
    case FI_BXOR:
        memory.u8 ^= with.u8;
        break;
    default:
        break;
    }
    return memory;
}

static union operand combine(union operand memory, union operand with, enum fi_op op,
                             enum fi_datatype type)
{
    switch (type) {
    case FI_INT32:
        COMBINE(i4);
        break;
    case FI_UINT32:
        COMBINE(u4);
        break;
    case FI_INT64:
        COMBINE(i8);
        break;
    case FI_UINT64:
        COMBINE(u8);
        break;
    case FI_FLOAT:
        COMBINE(f4);
        break;
    default:
        COMBINE(f8);
        break;
    }
    return bits(memory, with, op);
}

static size_t width(enum fi_datatype type)
{
    return type == FI_INT32 || type == FI_UINT32 || type == FI_FLOAT ? 4 : 8;
}

static union operand number(enum fi_datatype type, int value)
{
    union operand operand = {.u8 = 0};

    switch (type) {
    case FI_FLOAT:
        operand.f4 = (float)value;
        break;
    case FI_DOUBLE:
        operand.f8 = value;
        break;
    case FI_INT32:
    case FI_UINT32:
        operand.i4 = value;
        break;
    default:
        operand.i8 = value;
        break;
    }
    return operand;
}

static int one_atomic(struct gni_side *side, struct gni_memory *memory, enum fi_op op,
                      enum fi_datatype type, int fits)
{
    struct rank *rank = side->rank;
    union operand before = number(type, 12), with = number(type, 7), result = {.u8 = 0}, after;
    uint64_t key = memory->all[0].key, place = memory->all[0].address;
    size_t count = 0;

    EXPECT_IS(fi_atomicvalid(side->ep, type, op, &count), fits ? 0 : -FI_EOPNOTSUPP);
    if (!fits) {
        EXPECT_IS(fi_atomic(side->ep, &with, 1, NULL, side->peers[0], place, key, type, op, NULL),
                  -FI_EOPNOTSUPP);
        return 0;
    }
    EXPECT_IS(count, 1);
    memset(memory->bytes, 0, 16);
    memcpy(memory->bytes, &before, width(type));
    EXPECT_IS(gni_again(side, fi_atomic(side->ep, &with, 1, NULL, side->peers[0], place, key, type,
                                        op, &with)),
              0);
    TRY(entry_of(side, &with, FI_ATOMIC | FI_WRITE));
    after = combine(before, with, op, type);
    EXPECT(memcmp(memory->bytes, &after, width(type)) == 0);
    EXPECT_IS(*(uint64_t *)(memory->bytes + 8), 0);
    EXPECT_IS(fi_fetch_atomicvalid(side->ep, type, op, &count), 0);
    EXPECT_IS(gni_again(side, fi_fetch_atomic(side->ep, &with, 1, NULL, &result, NULL,
                                              side->peers[0], place, key, type, op, &result)),
              0);
    TRY(entry_of(side, &result, FI_ATOMIC | FI_READ));
    EXPECT(memcmp(&result, &after, width(type)) == 0);
    after = combine(after, with, op, type);
    EXPECT(memcmp(memory->bytes, &after, width(type)) == 0);
    return 0;
}

static int swaps(struct gni_side *side, struct gni_memory *memory, enum fi_datatype type)
{
    struct rank *rank = side->rank;
    union operand before = number(type, 12), with = number(type, 7), result = {.u8 = 0};
    union operand compare = number(type, 12), expected = {.u8 = 0}, read = {.u8 = 0};
    uint64_t key = memory->all[0].key, place = memory->all[0].address;
    size_t count = 0;

    memcpy(memory->bytes, &before, width(type));
    EXPECT_IS(fi_compare_atomicvalid(side->ep, type, FI_CSWAP, &count), 0);
    EXPECT_IS(
        gni_again(side, fi_compare_atomic(side->ep, &with, 1, NULL, &compare, NULL, &result, NULL,
                                          side->peers[0], place, key, type, FI_CSWAP, &result)),
        0);
    TRY(entry_of(side, &result, FI_ATOMIC | FI_READ));
    EXPECT(memcmp(&result, &before, width(type)) == 0);
    EXPECT(memcmp(memory->bytes, &with, width(type)) == 0);
    /* MSWAP: the bits of the mask come from the operand */
    memcpy(memory->bytes, &before, width(type));
    compare.u8 = 0x0ff0ff0f0f0ff0f0ull;
    expected.u8 = (with.u8 & compare.u8) | (before.u8 & ~compare.u8);
    EXPECT_IS(
        gni_again(side, fi_compare_atomic(side->ep, &with, 1, NULL, &compare, NULL, &result, NULL,
                                          side->peers[0], place, key, type, FI_MSWAP, &result)),
        0);
    TRY(entry_of(side, &result, FI_ATOMIC | FI_READ));
    EXPECT(memcmp(&result, &before, width(type)) == 0);
    EXPECT(memcmp(memory->bytes, &expected, width(type)) == 0);
    EXPECT_IS(fi_compare_atomicvalid(side->ep, type, FI_CSWAP_LT, &count), -FI_EOPNOTSUPP);
    EXPECT_IS(fi_atomicvalid(side->ep, type, FI_ATOMIC_READ, &count), -FI_EOPNOTSUPP);
    EXPECT_IS(gni_again(side, fi_fetch_atomic(side->ep, NULL, 1, NULL, &read, NULL, side->peers[0],
                                              place, key, type, FI_ATOMIC_READ, &read)),
              0);
    TRY(entry_of(side, &read, FI_ATOMIC | FI_READ));
    EXPECT(memcmp(&read, &expected, width(type)) == 0);
    return 0;
}

static int table_body(struct rank *rank)
{
    struct gni_memory memory;
    struct gni_side side;
    uint64_t word = 1;
    size_t i, j;

    TRY(gni_open(&side, rank, &plain));
    TRY(gni_memory_open(&side, &memory, 4096, ALL_ACCESS));
    for (i = 0; i < sizeof(plain_ops) / sizeof(plain_ops[0]); i++)
        for (j = 0; j < 6; j++)
            TRY(one_atomic(&side, &memory, plain_ops[i].op, types[j], plain_ops[i].fits[j] == 'y'));
    for (j = 0; j < 6; j++)
        TRY(swaps(&side, &memory, types[j]));
    EXPECT_IS(fi_atomic(side.ep, &word, 1, NULL, side.peers[0], memory.all[0].address + 2,
                        memory.all[0].key, FI_UINT32, FI_SUM, NULL),
              -FI_EINVAL);
    EXPECT(fi_atomic(side.ep, &word, 2, NULL, side.peers[0], memory.all[0].address,
                     memory.all[0].key, FI_UINT32, FI_SUM, NULL) < 0);
    EXPECT_IS(fi_atomic(side.ep, &word, 1, NULL, side.peers[0], memory.all[0].address,
                        memory.all[0].key, FI_UINT8, FI_SUM, NULL),
              -FI_EOPNOTSUPP);
    return gni_finish_with(&side, &memory);
}

static void gni_101_gni_104_table(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, table_body);
}

/* All add to a word of rank 0, and count in a critical section that a compare-and-swap guards. */
static int concurrent_body(struct rank *rank)
{
    enum { TIMES = 50 };
    uint64_t one = 1, zero = 0, me = rank_id(rank) + 1, old, counted, i;
    struct gni_memory memory;
    struct gni_side side;
    uint64_t *words, key, place;

    TRY(gni_open(&side, rank, &plain));
    TRY(gni_memory_open(&side, &memory, 4096, ALL_ACCESS));
    words = (uint64_t *)memory.bytes;
    key = memory.all[0].key;
    place = memory.all[0].address;
    rank_barrier(rank);
    for (i = 0; i < TIMES; i++) {
        EXPECT_IS(gni_again(&side, fi_atomic(side.ep, &one, 1, NULL, side.peers[0], place, key,
                                             FI_UINT64, FI_SUM, &one)),
                  0);
        TRY(entry_of(&side, &one, FI_ATOMIC | FI_WRITE));
    }
    for (i = 0; i < 5; i++) {
        do {
            EXPECT_IS(gni_again(&side, fi_compare_atomic(side.ep, &me, 1, NULL, &zero, NULL, &old,
                                                         NULL, side.peers[0], place + 8, key,
                                                         FI_UINT64, FI_CSWAP, &old)),
                      0);
            TRY(entry_of(&side, &old, FI_ATOMIC | FI_READ));
        } while (old != 0);
        EXPECT_IS(gni_again(&side, fi_read(side.ep, &counted, 8, NULL, side.peers[0], place + 16,
                                           key, &counted)),
                  0);
        TRY(entry_of(&side, &counted, FI_RMA | FI_READ));
        counted++;
        EXPECT_IS(gni_again(&side, fi_write(side.ep, &counted, 8, NULL, side.peers[0], place + 16,
                                            key, &counted)),
                  0);
        TRY(entry_of(&side, &counted, FI_RMA | FI_WRITE));
        EXPECT_IS(gni_again(&side, fi_atomic(side.ep, &zero, 1, NULL, side.peers[0], place + 8, key,
                                             FI_UINT64, FI_ATOMIC_WRITE, &zero)),
                  0);
        TRY(entry_of(&side, &zero, FI_ATOMIC | FI_WRITE));
    }
    rank_barrier(rank);
    if (side.id == 0)
        EXPECT(words[0] == (uint64_t)TIMES * side.size && words[1] == 0 &&
               words[2] == 5 * side.size);
    return gni_finish_with(&side, &memory);
}

static void gni_102_concurrent(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 8}, concurrent_body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_101_gni_104_table),
        cmocka_unit_test(gni_102_concurrent),
    };

    return cmocka_run_group_tests_name("rma", tests, NULL, NULL);
}
