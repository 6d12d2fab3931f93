/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "nic/amo.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum operation { NONE, ADD, AND, OR, XOR, AX, SWAP, CSWAP, IMIN, IMAX, FPMIN, FPMAX, FPADD };

/* Commands of the first generation: the low four bits select the operation. */
static enum operation first_generation(uint32_t command)
{
    static const uint8_t operations[16] = {
        [8] = ADD, [9] = AND, [10] = OR, [11] = XOR, [12] = AX, [13] = CSWAP};

    if ((command & ~0x11fu) != 0 || (command & 0xf) < 8)
        return NONE;
    /* This generation has no compare-swap without fetch. */
    if ((command & 0xf) == 13 && (command & 0x100) != 0)
        return NONE;
    return operations[command & 0xf];
}

/* Commands of the second generation: the low five bits without bit 0, which selects 64 bits. */
static enum operation second_generation(uint32_t command)
{
    static const uint8_t operations[16] = {
        [0x0] = AND,  [0x1] = OR,   [0x2] = XOR, [0x3] = SWAP,  [0x4] = AX,    [0x5] = CSWAP,
        [0x8] = IMIN, [0x9] = IMAX, [0xa] = ADD, [0xc] = FPMIN, [0xd] = FPMAX, [0xe] = FPADD,
    };
    bool wide = (command & 1) != 0;

    if ((command & ~0x37fu) != 0 || wide == ((command & 0x200) != 0))
        return NONE;
    return operations[(command & 0x1f) >> 1];
}

static enum operation operation_of(uint32_t command)
{
    return aries_amo_second_generation(command) ? second_generation(command)
                                                : first_generation(command);
}

bool aries_amo_valid(uint32_t command)
{
    return operation_of(command) != NONE;
}

bool aries_amo_two_operands(uint32_t command)
{
    enum operation operation = operation_of(command);

    return operation == AX || operation == CSWAP;
}

uint64_t aries_amo_length(uint32_t command, uint64_t length)
{
    uint64_t width = aries_amo_width(command);
    bool single = width == 4 || operation_of(command) == AX;

    return single && length > width && length % width == 0 ? width : length;
}

/* The C library's fmin() may return either zero of -0 and +0, and either NaN of two. */
static double lesser(double t, double a)
{
    return isnan(t) ? a : isnan(a) ? t : a < t ? a : t;
}

static double greater(double t, double a)
{
    return isnan(t) ? a : isnan(a) ? t : a > t ? a : t;
}

static uint64_t float_apply(enum operation operation, uint64_t old, uint64_t first)
{
    uint32_t old_bits = (uint32_t)old, first_bits = (uint32_t)first, result_bits;
    float t, a, result;

    memcpy(&t, &old_bits, sizeof(t));
    memcpy(&a, &first_bits, sizeof(a));
    result = operation == FPMIN   ? (float)lesser(t, a)
             : operation == FPMAX ? (float)greater(t, a)
                                  : t + a;
    memcpy(&result_bits, &result, sizeof(result));
    return result_bits;
}

static uint64_t double_apply(enum operation operation, uint64_t old, uint64_t first)
{
    double t, a, result;

    memcpy(&t, &old, sizeof(t));
    memcpy(&a, &first, sizeof(a));
    result = operation == FPMIN ? lesser(t, a) : operation == FPMAX ? greater(t, a) : t + a;
    memcpy(&old, &result, sizeof(result));
    return old;
}

uint64_t aries_amo_apply(uint32_t command, uint64_t old, uint64_t first, uint64_t second)
{
    enum operation operation = operation_of(command);
    bool narrow = aries_amo_width(command) == 4;
    uint64_t mask = narrow ? UINT32_MAX : UINT64_MAX;
    int64_t t, a;

    old &= mask;
    first &= mask;
    second &= mask;
    t = narrow ? (int32_t)old : (int64_t)old;
    a = narrow ? (int32_t)first : (int64_t)first;
    assert(operation != NONE);
    switch (operation) {
    case ADD:
        return (old + first) & mask;
    case AND:
        return old & first;
    case OR:
        return old | first;
    case XOR:
        return old ^ first;
    case AX:
        return (old & first) ^ second;
    case SWAP:
        return first;
    case CSWAP:
        return old == first ? second : old;
    case IMIN:
        return t < a ? old : first;
    case IMAX:
        return t > a ? old : first;
    case FPMIN:
    case FPMAX:
    case FPADD:
        return narrow ? float_apply(operation, old, first) : double_apply(operation, old, first);
    case NONE:
        break;
    }
    return old;
}
