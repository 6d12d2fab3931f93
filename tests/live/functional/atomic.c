/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Every atomic operation of every type that the provider says it has (fi_query_atomic): plain,
 * fetching and comparing, as vectors as long as it takes, in every call of the interface. What lies
 * there afterwards, and what was fetched, is computed here once more.
 */
#include <complex.h>
#include <rdma/fi_atomic.h>
#include <stdio.h>

#include "common.h"

#define LONGEST 8u
#define ELEMENT 32u /* bytes of the largest type */

typedef float complex float_complex;
typedef double complex double_complex;
typedef long double long_double;
typedef long double complex long_double_complex;

union values {
    uint8_t bytes[LONGEST * ELEMENT];
    long double align;
};

/* One operation on one type: what is there, operand, what is compared with; returns the new value.
 */
#define LOGICAL(type, there, operand)          \
    case FI_LOR:                               \
        *there = (type)(*there || *operand);   \
        break;                                 \
    case FI_LAND:                              \
        *there = (type)(*there && *operand);   \
        break;                                 \
    case FI_LXOR:                              \
        *there = (type)(!*there != !*operand); \
        break

#define ARITHMETIC(type, there, operand)                 \
    case FI_SUM:                                         \
        *there = (type)(*there + *operand);              \
        break;                                           \
    case FI_PROD:                                        \
        *there = (type)(*there * *operand);              \
        break;                                           \
    case FI_ATOMIC_READ:                                 \
        break;                                           \
    case FI_ATOMIC_WRITE:                                \
        *there = *operand;                               \
        break;                                           \
    case FI_CSWAP:                                       \
        *there = *compare == *there ? *operand : *there; \
        break;                                           \
    case FI_CSWAP_NE:                                    \
        *there = *compare != *there ? *operand : *there; \
        break

#define ORDERED(type, there, operand)                    \
    case FI_MIN:                                         \
        *there = *operand < *there ? *operand : *there;  \
        break;                                           \
    case FI_MAX:                                         \
        *there = *operand > *there ? *operand : *there;  \
        break;                                           \
    case FI_CSWAP_LE:                                    \
        *there = *compare <= *there ? *operand : *there; \
        break;                                           \
    case FI_CSWAP_LT:                                    \
        *there = *compare < *there ? *operand : *there;  \
        break;                                           \
    case FI_CSWAP_GE:                                    \
        *there = *compare >= *there ? *operand : *there; \
        break;                                           \
    case FI_CSWAP_GT:                                    \
        *there = *compare > *there ? *operand : *there;  \
        break

#define BITS(type, there, operand)          \
    case FI_BOR:                            \
        *there = (type)(*there | *operand); \
        break;                              \
    case FI_BAND:                           \
        *there = (type)(*there & *operand); \
        break;                              \
    case FI_BXOR:                           \
        *there = (type)(*there ^ *operand); \
        break

/* Only those bits that the compare value has: of all types, whatever they mean. */
static void masked_swap(uint8_t *there, const uint8_t *operand, const uint8_t *compare, size_t size)
{
    size_t i;

    for (i = 0; i < size; i++)
        there[i] = (uint8_t)((operand[i] & compare[i]) | (there[i] & ~compare[i]));
}

#define INTEGER(type)                                                                              \
    static void apply_##type(enum fi_op op, type *there, const type *operand, const type *compare) \
    {                                                                                              \
        switch ((int)op) {                                                                         \
            ARITHMETIC(type, there, operand);                                                      \
            ORDERED(type, there, operand);                                                         \
            BITS(type, there, operand);                                                            \
            LOGICAL(type, there, operand);                                                         \
        default:                                                                                   \
            fail("operation %d is unknown", (int)op);                                              \
        }                                                                                          \
    }                                                                                              \
    static void set_##type(type *to, int value)                                                    \
    {                                                                                              \
        *to = (type)value;                                                                         \
    }
#define REAL(type)                                                                                 \
    static void apply_##type(enum fi_op op, type *there, const type *operand, const type *compare) \
    {                                                                                              \
        switch ((int)op) {                                                                         \
            ARITHMETIC(type, there, operand);                                                      \
            ORDERED(type, there, operand);                                                         \
            LOGICAL(type, there, operand);                                                         \
        default:                                                                                   \
            fail("operation %d is unknown", (int)op);                                              \
        }                                                                                          \
    }                                                                                              \
    static void set_##type(type *to, int value)                                                    \
    {                                                                                              \
        *to = (type)value / 4;                                                                     \
    }
#define COMPLEX(type)                                                                              \
    static void apply_##type(enum fi_op op, type *there, const type *operand, const type *compare) \
    {                                                                                              \
        switch ((int)op) {                                                                         \
            ARITHMETIC(type, there, operand);                                                      \
            LOGICAL(type, there, operand);                                                         \
        default:                                                                                   \
            fail("operation %d is unknown", (int)op);                                              \
        }                                                                                          \
    }                                                                                              \
    static void set_##type(type *to, int value)                                                    \
    {                                                                                              \
        *to = (type)value + (type)(value - 2) * (type)I;                                           \
    }

INTEGER(int8_t)
INTEGER(uint8_t)
INTEGER(int16_t)
INTEGER(uint16_t)
INTEGER(int32_t)
INTEGER(uint32_t)
INTEGER(int64_t)
INTEGER(uint64_t)
REAL(float)
REAL(double)
REAL(long_double)
COMPLEX(float_complex)
COMPLEX(double_complex)
COMPLEX(long_double_complex)

typedef void (*apply_function)(enum fi_op op, void *there, const void *operand,
                               const void *compare);
typedef void (*set_function)(void *to, int value);

#define TYPE(name, type)                                                         \
    {                                                                            \
        name, #type, sizeof(type), (apply_function)(void (*)(void))apply_##type, \
            (set_function)(void (*)(void))set_##type                             \
    }
static const struct {
    enum fi_datatype type;
    const char *name;
    size_t size;
    apply_function apply;
    set_function set;
} types[] = {
    TYPE(FI_INT8, int8_t),
    TYPE(FI_UINT8, uint8_t),
    TYPE(FI_INT16, int16_t),
    TYPE(FI_UINT16, uint16_t),
    TYPE(FI_INT32, int32_t),
    TYPE(FI_UINT32, uint32_t),
    TYPE(FI_INT64, int64_t),
    TYPE(FI_UINT64, uint64_t),
    TYPE(FI_FLOAT, float),
    TYPE(FI_DOUBLE, double),
    TYPE(FI_FLOAT_COMPLEX, float_complex),
    TYPE(FI_DOUBLE_COMPLEX, double_complex),
    TYPE(FI_LONG_DOUBLE, long_double),
    TYPE(FI_LONG_DOUBLE_COMPLEX, long_double_complex),
};

static const char *const names[] = {"min",         "max",          "sum",   "product", "lor",
                                    "land",        "bor",          "band",  "lxor",    "bxor",
                                    "atomic read", "atomic write", "cswap", "cswap ne"};

enum kind { PLAIN, FETCHING, COMPARING, KINDS };
static const uint64_t kind_flags[KINDS] = {0, FI_FETCH_ATOMIC, FI_COMPARE_ATOMIC};

struct amo {
    struct side *side;
    struct memory *operand, *compare, *result;
    struct window window;
    enum fi_op op;
    unsigned type, variant;
    size_t count;
    char what[100];
    uint64_t plain; /* so many were posted */
};

static void post(struct amo *amo, enum kind kind)
{
    struct side *side = amo->side;
    enum fi_datatype type = types[amo->type].type;
    struct fi_ioc in = {amo->operand->bytes, amo->count}, out = {amo->result->bytes, amo->count},
                  with = {amo->compare->bytes, amo->count};
    struct fi_rma_ioc target = {amo->window.address, amo->count, amo->window.key};
    struct fi_msg_atomic message = {.msg_iov = &in,
                                    .desc = &amo->operand->desc,
                                    .iov_count = 1,
                                    .addr = side->peer,
                                    .rma_iov = &target,
                                    .rma_iov_count = 1,
                                    .datatype = type,
                                    .op = amo->op,
                                    .context = amo};
    void *to = amo->result->desc, *compare = amo->compare->desc;
    bool inject =
        amo->variant == 2 && amo->count * types[amo->type].size <= side->info->tx_attr->inject_size;

    if (kind == PLAIN)
        amo->plain++;
    if (kind == PLAIN && inject) {
        POST(side, fi_inject_atomic(side->ep, in.addr, amo->count, side->peer, target.addr,
                                    target.key, type, amo->op));
        /* The next round sets the target anew. */
        count_to(side, side->writes, amo->plain);
        return;
    }
    if (kind == PLAIN && amo->variant == 1)
        POST(side, fi_atomicmsg(side->ep, &message, FI_COMPLETION));
    else if (kind == PLAIN)
        POST(side, fi_atomic(side->ep, in.addr, amo->count, amo->operand->desc, side->peer,
                             target.addr, target.key, type, amo->op, amo));
    else if (kind == FETCHING && amo->variant == 1)
        POST(side, fi_fetch_atomicmsg(side->ep, &message, &out, &to, 1, FI_COMPLETION));
    else if (kind == FETCHING)
        POST(side, fi_fetch_atomic(side->ep, in.addr, amo->count, amo->operand->desc, out.addr, to,
                                   side->peer, target.addr, target.key, type, amo->op, amo));
    else if (amo->variant == 1)
        POST(side, fi_compare_atomicmsg(side->ep, &message, &with, &compare, 1, &out, &to, 1,
                                        FI_COMPLETION));
    else
        POST(side, fi_compare_atomic(side->ep, in.addr, amo->count, amo->operand->desc, with.addr,
                                     compare, out.addr, to, side->peer, target.addr, target.key,
                                     type, amo->op, amo));
    HOLDS(take_of(side, side->tx_cq, amo).flags & FI_ATOMIC);
}

/* Values whose comparisons come out each way. */
static void set(struct amo *amo, void *to, unsigned of)
{
    static const int values[3][LONGEST] = {
        {5, 9, 0, 3, 12, 7, 1, 100}, {9, 5, 3, 0, 12, 6, 2, 27}, {5, 1, 0, 7, 11, 7, 3, 99}};
    unsigned i;

    for (i = 0; i < amo->count; i++)
        types[amo->type].set((uint8_t *)to + i * types[amo->type].size,
                             values[of][(i + amo->variant) % LONGEST]);
}

static void compute(struct amo *amo, union values *there)
{
    size_t size = types[amo->type].size, i;

    for (i = 0; i < amo->count; i++) {
        uint8_t *at = there->bytes + i * size, *operand = amo->operand->bytes + i * size,
                *compare = amo->compare->bytes + i * size;

        if (amo->op == FI_MSWAP)
            masked_swap(at, operand, compare, size);
        else
            types[amo->type].apply(amo->op, at, operand, compare);
    }
}

/* Bytes of a long double that mean nothing are not compared. */
static bool same(struct amo *amo, const void *a, const void *b)
{
    size_t size = types[amo->type].size, i;
    const uint8_t *left = a, *right = b;

    for (i = 0; i < amo->count * size; i++)
        if (left[i] != right[i] && !((types[amo->type].type == FI_LONG_DOUBLE ||
                                      types[amo->type].type == FI_LONG_DOUBLE_COMPLEX) &&
                                     i % 16 >= 10))
            return false;
    return true;
}

/* The server sets what lies there and says what it is afterwards. */
static void client(struct amo *amo, enum kind kind)
{
    struct side *side = amo->side;
    union values before, after;
    size_t bytes = amo->count * types[amo->type].size;

    memset(&before, 0, sizeof(before));
    set(amo, before.bytes, 0);
    set(amo, amo->operand->bytes, 1);
    set(amo, amo->compare->bytes, 2);
    memset(amo->result->bytes, 0xee, sizeof(union values));
    side_send(side, &before, sizeof(before));
    side_sync(side);
    post(amo, kind);
    if (kind != PLAIN) {
        HOLDS(same(amo, amo->result->bytes, &before));
        verify_same(amo->result->bytes + bytes, sizeof(before) - bytes, 0xee);
    }
    after = before;
    compute(amo, &after);
    side_send(side, &after, sizeof(after));
    side_sync(side);
}

static void server(struct amo *amo, struct memory *target)
{
    union values after;
    uint64_t found, expected;

    side_receive(amo->side, target->bytes, sizeof(after));
    side_sync(amo->side);
    side_receive(amo->side, &after, sizeof(after));
    while (!same(amo, target->bytes, &after)) { /* injected, it may still be under way */
        memcpy(&found, target->bytes, sizeof(found));
        memcpy(&expected, after.bytes, sizeof(expected));
        step("%s: %#llx, expected %#llx", amo->what, (unsigned long long)found,
             (unsigned long long)expected);
        drive(amo->side);
    }
    HOLDS(memcmp(target->bytes + amo->count * types[amo->type].size,
                 after.bytes + amo->count * types[amo->type].size,
                 sizeof(after) - amo->count * types[amo->type].size) == 0);
    side_sync(amo->side);
}

/* Those two must agree about what there is. */
static size_t offered(struct side *side, enum fi_datatype type, enum fi_op op, enum kind kind)
{
    struct fi_atomic_attr attr = {.count = 0};
    size_t count = 0;
    int valid = kind == PLAIN      ? fi_atomicvalid(side->ep, type, op, &count)
                : kind == FETCHING ? fi_fetch_atomicvalid(side->ep, type, op, &count)
                                   : fi_compare_atomicvalid(side->ep, type, op, &count);

    if (valid != 0)
        return 0;
    EXPECT(fi_query_atomic(side->domain, type, op, &attr, kind_flags[kind]), 0);
    EXPECT(attr.count, count);
    HOLDS(count > 0);
    return count > LONGEST ? LONGEST : count;
}

int main(int argc, char **argv)
{
    struct side side;
    struct memory target, local[3];
    struct amo amo = {&side, &local[0], &local[1], &local[2]};
    unsigned kind, done = 0, i, op;

    side_begin(&side, argc, argv);
    side.hints->caps = FI_MSG | FI_ATOMIC;
    side_open(&side);
    side.writes = cntr_new(&side, FI_WAIT_NONE);
    side_start(&side);
    target = memory_new(&side, sizeof(union values),
                        FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE);
    for (i = 0; i < ARRAY_SIZE(local); i++)
        local[i] = memory_new(&side, sizeof(union values), FI_READ | FI_WRITE);
    amo.window = exchange_windows(&side, &target);
    for (kind = 0; kind < KINDS; kind++)
        for (amo.type = 0; amo.type < ARRAY_SIZE(types); amo.type++)
            for (op = 0; op <= FI_MSWAP; op++) {
                amo.op = (enum fi_op)op;
                amo.count = offered(&side, types[amo.type].type, amo.op, kind);
                if (amo.count == 0 || (kind == PLAIN && amo.op == FI_ATOMIC_READ))
                    continue;
                for (amo.variant = 0; amo.variant < 3; amo.variant++) {
                    snprintf(amo.what, sizeof(amo.what), "%s %s of %s, %zu at once, way %u",
                             kind == PLAIN      ? "plain"
                             : kind == FETCHING ? "fetching"
                                                : "comparing",
                             op < ARRAY_SIZE(names) ? names[op] : "another swap",
                             types[amo.type].name, amo.count, amo.variant);
                    step("%s", amo.what);
                    if (side.server)
                        server(&amo, &target);
                    else
                        client(&amo, kind);
                    done++;
                }
            }
    step("all of them");
    HOLDS(done > 0);
    memory_free(&target);
    for (i = 0; i < ARRAY_SIZE(local); i++)
        memory_free(&local[i]);
    return side_end(&side);
}
