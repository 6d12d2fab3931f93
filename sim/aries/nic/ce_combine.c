/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "nic/ce_combine.h"

#include <fenv.h>
#include <string.h>

/*
 * The command word: bit 0 selects 64 bits, bit 5 that the greatest index wins, bits 4 to 1 the
 * operation.
 */
enum operation {
    AND = 0x00,
    OR = 0x02,
    XOR = 0x04,
    IMIN = 0x10,
    IMAX = 0x12,
    IADD = 0x14,
    FPMIN = 0x18,
    FPMAX = 0x1a,
    FPADD = 0x1c
};
#define OPERATION(command) ((command)&0x1eu)
#define GREATEST_INDEX 0x20u
/* The exceptions of gni_pub.h in a ce_mode lie one bit higher than in a result. */
#define INJECTED(mode) ((mode) >> 1 & 0xfu)

static bool has_index(uint32_t command)
{
    uint32_t operation = OPERATION(command);

    return operation == IMIN || operation == IMAX || operation == FPMIN || operation == FPMAX;
}

bool aries_ce_command_valid(uint32_t command)
{
    switch (command & ~1u) {
    case AND:
    case OR:
    case XOR:
    case IMIN:
    case IMAX:
    case IADD:
    case FPMIN:
    case FPMAX:
    case FPADD:
    case IMIN | GREATEST_INDEX:
    case IMAX | GREATEST_INDEX:
    case FPMIN | GREATEST_INDEX:
    case FPMAX | GREATEST_INDEX:
        return true;
    default:
        return false;
    }
}

bool aries_ce_two_operands(uint32_t command, uint32_t mode)
{
    return (mode & GNI_CEMODE_TWO_OP) != 0 || has_index(command);
}

struct aries_ce_value aries_ce_value_of(uint32_t command, uint32_t mode, uint64_t first,
                                        uint64_t second)
{
    uint64_t mask = aries_ce_command_short(command) ? UINT32_MAX : UINT64_MAX;

    return (struct aries_ce_value){
        .operand = {first & mask, aries_ce_two_operands(command, mode) ? second & mask : 0},
        .exceptions = INJECTED(mode),
    };
}

/* ---- floating point, by its bits ------------------------------------------------------------- */

struct format {
    uint64_t exponent, fraction, quiet;
};

static const struct format single = {0x7f800000, 0x007fffff, 0x00400000};
static const struct format wide = {0x7ff0000000000000, 0x000fffffffffffff, 0x0008000000000000};

static const struct format *format_of(uint32_t command)
{
    return aries_ce_command_short(command) ? &single : &wide;
}

static bool is_nan(const struct format *format, uint64_t bits)
{
    return (bits & format->exponent) == format->exponent && (bits & format->fraction) != 0;
}

static uint32_t signals(const struct format *format, uint64_t bits)
{
    return is_nan(format, bits) && (bits & format->quiet) == 0 ? GNI_CE_FPE_OP_INVAL : 0;
}

static double real(uint32_t command, uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    double value;
    float narrow;

    if (aries_ce_command_short(command)) {
        memcpy(&narrow, &low, sizeof(narrow));
        return narrow;
    }
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* ---- sums ------------------------------------------------------------------------------------ */

static int fenv_rounding(uint32_t rounding)
{
    switch (rounding) {
    case GNI_CE_MODE_ROUND_UP:
        return FE_UPWARD;
    case GNI_CE_MODE_ROUND_DOWN:
        return FE_DOWNWARD;
    case GNI_CE_MODE_ROUND_ZERO:
        return FE_TOWARDZERO;
    default:
        return FE_TONEAREST;
    }
}

static uint32_t exceptions_of(int raised)
{
    uint32_t exceptions = 0;

    exceptions |= raised & FE_INVALID ? GNI_CE_FPE_OP_INVAL : 0;
    exceptions |= raised & FE_OVERFLOW ? GNI_CE_FPE_OFLOW : 0;
    exceptions |= raised & FE_UNDERFLOW ? GNI_CE_FPE_UFLOW : 0;
    exceptions |= raised & FE_INEXACT ? GNI_CE_FPE_PRECISION : 0;
    return exceptions;
}

/*
 * Adds two numbers that are given by their bits. The volatile operands keep the addition between
 * the calls that set the rounding mode and read the flags.
 */
#define ADD(name, number_type, bits_type)                                             \
    static uint64_t name(uint64_t a, uint64_t b)                                      \
    {                                                                                 \
        bits_type bits[2] = {(bits_type)a, (bits_type)b};                             \
        volatile number_type x, y, sum;                                               \
        number_type number[2];                                                        \
                                                                                      \
        _Static_assert(sizeof(number_type) == sizeof(bits_type), "bits of a number"); \
        memcpy(number, bits, sizeof(number));                                         \
        x = number[0];                                                                \
        y = number[1];                                                                \
        sum = x + y;                                                                  \
        number[0] = sum;                                                              \
        memcpy(bits, number, sizeof(bits));                                           \
        return bits[0];                                                               \
    }
ADD(add_single, float, uint32_t)
ADD(add_wide, double, uint64_t)

static uint64_t add_real(uint32_t command, uint32_t rounding, uint64_t a, uint64_t b,
                         uint32_t *exceptions)
{
    const struct format *format = format_of(command);
    uint64_t sum;
    fenv_t saved;

    *exceptions |= signals(format, a) | signals(format, b);
    /* Processors differ in the NaN that they return; this code does not depend on them. */
    if (is_nan(format, a))
        return a | format->quiet;
    if (is_nan(format, b))
        return b | format->quiet;
    feholdexcept(&saved);
    fesetround(fenv_rounding(rounding));
    sum = aries_ce_command_short(command) ? add_single(a, b) : add_wide(a, b);
    *exceptions |= exceptions_of(fetestexcept(FE_ALL_EXCEPT));
    fesetenv(&saved);
    return is_nan(format, sum) ? format->exponent | format->quiet : sum;
}

/* ---- minimum and maximum --------------------------------------------------------------------- */

static int order(bool less, bool greater)
{
    return greater - less;
}

/* Returns a number below 0 if a comes before b. */
static int compare_integers(uint32_t command, uint64_t a, uint64_t b)
{
    int64_t x = aries_ce_command_short(command) ? (int32_t)a : (int64_t)a;
    int64_t y = aries_ce_command_short(command) ? (int32_t)b : (int64_t)b;

    return order(x<y, x> y);
}

static int compare_reals(uint32_t command, uint64_t a, uint64_t b)
{
    double x = real(command, a), y = real(command, b);

    return order(x<y, x> y);
}

/* Whether b replaces a. */
static bool wins(uint32_t command, const struct aries_ce_value *a, const struct aries_ce_value *b)
{
    const struct format *format = format_of(command);
    uint32_t operation = OPERATION(command);
    bool reals = operation == FPMIN || operation == FPMAX;
    int order = 0;

    if (reals && is_nan(format, a->operand[0]) != is_nan(format, b->operand[0]))
        return is_nan(format, a->operand[0]);
    if (!reals)
        order = compare_integers(command, a->operand[0], b->operand[0]);
    else if (!is_nan(format, a->operand[0]))
        order = compare_reals(command, a->operand[0], b->operand[0]);
    if (order != 0)
        return operation == IMIN || operation == FPMIN ? order > 0 : order < 0;
    if (command & GREATEST_INDEX)
        return b->operand[1] > a->operand[1];
    return b->operand[1] < a->operand[1];
}

static void choose(uint32_t command, struct aries_ce_value *into, const struct aries_ce_value *next)
{
    const struct format *format = format_of(command);
    uint32_t operation = OPERATION(command);

    if (operation == FPMIN || operation == FPMAX)
        into->exceptions |= signals(format, into->operand[0]) | signals(format, next->operand[0]);
    if (!wins(command, into, next))
        return;
    into->operand[0] = next->operand[0];
    into->operand[1] = next->operand[1];
}

/* ---- everything ------------------------------------------------------------------------------ */

static uint64_t apply(uint32_t command, uint32_t rounding, uint64_t a, uint64_t b,
                      uint32_t *exceptions)
{
    switch (OPERATION(command)) {
    case AND:
        return a & b;
    case OR:
        return a | b;
    case XOR:
        return a ^ b;
    case IADD:
        return aries_ce_command_short(command) ? (uint32_t)(a + b) : a + b;
    case FPADD:
        return add_real(command, rounding, a, b, exceptions);
    default:
        return a;
    }
}

void aries_ce_combine(uint32_t command, uint32_t mode, uint32_t rounding,
                      struct aries_ce_value *into, const struct aries_ce_value *next)
{
    into->exceptions |= next->exceptions;
    if (has_index(command)) {
        choose(command, into, next);
        return;
    }
    into->operand[0] =
        apply(command, rounding, into->operand[0], next->operand[0], &into->exceptions);
    if (mode & GNI_CEMODE_TWO_OP)
        into->operand[1] =
            apply(command, rounding, into->operand[1], next->operand[1], &into->exceptions);
}
