/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The arithmetic of a collective engine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fenv.h>
#include <math.h>
#include <string.h>
#include "nic/ce_combine.h"

#define NEAR GNI_CE_MODE_ROUND_NEAR
#define UP GNI_CE_MODE_ROUND_UP
#define DOWN GNI_CE_MODE_ROUND_DOWN
#define ZERO GNI_CE_MODE_ROUND_ZERO
#define GARBAGE 0xdeadbeef00000000u

static uint64_t wide(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint64_t narrow(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static struct aries_ce_value two(uint32_t command, uint32_t mode, uint32_t rounding, uint64_t a1,
                                 uint64_t a2, uint64_t b1, uint64_t b2)
{
    struct aries_ce_value a = aries_ce_value_of(command, mode, a1, a2),
                          b = aries_ce_value_of(command, mode, b1, b2);

    aries_ce_combine(command, mode, rounding, &a, &b);
    return a;
}

static void assert_value(struct aries_ce_value value, uint64_t first, uint64_t second,
                         uint32_t exceptions)
{
    assert_int_equal(value.operand[0], first);
    assert_int_equal(value.operand[1], second);
    assert_int_equal(value.exceptions, exceptions);
}

static void commands(void **state)
{
    uint32_t command, valid = 0;

    for (command = 0; command < 256; command++)
        valid += aries_ce_command_valid(command);
    assert_int_equal(valid, 26);
    assert_true(aries_ce_command_valid(GNI_FMA_CE_AND_S) &&
                aries_ce_command_valid(GNI_FMA_CE_FPMAX_GIDX));
    assert_false(aries_ce_command_valid(0x6) || aries_ce_command_valid(0x16) ||
                 aries_ce_command_valid(0x34) || aries_ce_command_valid(0x3c) ||
                 aries_ce_command_valid(0x40) || aries_ce_command_valid(UINT32_MAX));
}

static void integers(void **state)
{
    const uint32_t both = GNI_CEMODE_TWO_OP;

    assert_value(two(GNI_FMA_CE_AND, both, NEAR, 12, 0xff0, 10, 0x0ff), 8, 0x0f0, 0);
    assert_value(two(GNI_FMA_CE_OR, both, NEAR, 12, 0xff0, 10, 0x0ff), 14, 0xfff, 0);
    assert_value(two(GNI_FMA_CE_XOR, both, NEAR, 12, 0xff0, 10, 0x0ff), 6, 0xf0f, 0);
    assert_value(two(GNI_FMA_CE_IADD, both, NEAR, UINT64_MAX, 5, 2, 6), 1, 11, 0);
    /* Without the second operand there is no second result. */
    assert_value(two(GNI_FMA_CE_IADD, 0, NEAR, 3, 5, 4, 6), 7, 0, 0);
    assert_value(two(GNI_FMA_CE_AND, 0, NEAR, 3, 5, 2, 5), 2, 0, 0);
}

static void short_operands(void **state)
{
    const uint32_t both = GNI_CEMODE_TWO_OP;

    assert_value(two(GNI_FMA_CE_OR_S, both, NEAR, GARBAGE | 1, GARBAGE | 2, 4, 8), 5, 10, 0);
    assert_value(two(GNI_FMA_CE_IADD_S, both, NEAR, GARBAGE | UINT32_MAX, 7, 1, 8), 0, 15, 0);
    assert_value(two(GNI_FMA_CE_IMIN_LIDX_S, 0, NEAR, GARBAGE | 5, 1, GARBAGE | 0xfffffffe, 2),
                 0xfffffffe, 2, 0);
    assert_value(two(GNI_FMA_CE_IMAX_LIDX_S, 0, NEAR, 5, GARBAGE | 1, 0xfffffffe, 2), 5, 1, 0);
    assert_value(two(GNI_FMA_CE_FPADD_S, both, NEAR, GARBAGE | narrow(1.5f), narrow(-1.f),
                     narrow(2.25f), narrow(1.f)),
                 narrow(3.75f), 0, 0);
}

static void ties(void **state)
{
    static const struct {
        uint32_t lowest, greatest;
        bool real, wide;
    } pairs[] = {
        {GNI_FMA_CE_IMIN_LIDX, GNI_FMA_CE_IMIN_GIDX, false, true},
        {GNI_FMA_CE_IMAX_LIDX, GNI_FMA_CE_IMAX_GIDX, false, true},
        {GNI_FMA_CE_IMIN_LIDX_S, GNI_FMA_CE_IMIN_GIDX_S, false, false},
        {GNI_FMA_CE_IMAX_LIDX_S, GNI_FMA_CE_IMAX_GIDX_S, false, false},
        {GNI_FMA_CE_FPMIN_LIDX, GNI_FMA_CE_FPMIN_GIDX, true, true},
        {GNI_FMA_CE_FPMAX_LIDX, GNI_FMA_CE_FPMAX_GIDX, true, true},
        {GNI_FMA_CE_FPMIN_LIDX_S, GNI_FMA_CE_FPMIN_GIDX_S, true, false},
        {GNI_FMA_CE_FPMAX_LIDX_S, GNI_FMA_CE_FPMAX_GIDX_S, true, false},
    };
    size_t i;

    for (i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        uint64_t x = !pairs[i].real ? 7 : pairs[i].wide ? wide(7) : narrow(7);

        assert_value(two(pairs[i].lowest, 0, NEAR, x, 3, x, 9), x, 3, 0);
        assert_value(two(pairs[i].lowest, 0, NEAR, x, 9, x, 3), x, 3, 0);
        assert_value(two(pairs[i].greatest, 0, NEAR, x, 3, x, 9), x, 9, 0);
        assert_value(two(pairs[i].greatest, 0, NEAR, x, 9, x, 3), x, 9, 0);
    }
    /* Zeros of both signs are equal. */
    assert_value(two(GNI_FMA_CE_FPMIN_LIDX, 0, NEAR, wide(0.), 1, wide(-0.), 2), wide(0.), 1, 0);
}

static void extremes(void **state)
{
    assert_value(two(GNI_FMA_CE_IMIN_LIDX, 0, NEAR, (uint64_t)-5, 1, 3, 0), (uint64_t)-5, 1, 0);
    assert_value(two(GNI_FMA_CE_IMAX_GIDX, 0, NEAR, (uint64_t)-5, 9, 3, 0), 3, 0, 0);
    assert_value(two(GNI_FMA_CE_FPMIN_GIDX, 0, NEAR, wide(-1e300), 1, wide(1e-300), 2),
                 wide(-1e300), 1, 0);
    assert_value(two(GNI_FMA_CE_FPMAX_LIDX, 0, NEAR, wide(-INFINITY), 1, wide(-1e308), 2),
                 wide(-1e308), 2, 0);
    assert_value(two(GNI_FMA_CE_FPMAX_LIDX_S, 0, NEAR, narrow(-3.f), 1, narrow(-2.f), 2),
                 narrow(-2.f), 2, 0);
}

static void rounding(void **state)
{
    const uint64_t one = wide(1), half = wide(ldexp(1, -53)), inexact = GNI_CE_FPE_PRECISION;
    const uint64_t above = one + 1, minus = wide(-1);

    assert_value(two(GNI_FMA_CE_FPADD, 0, NEAR, one, 0, half, 0), one, 0, inexact);
    assert_value(two(GNI_FMA_CE_FPADD, 0, UP, one, 0, half, 0), above, 0, inexact);
    assert_value(two(GNI_FMA_CE_FPADD, 0, DOWN, one, 0, half, 0), one, 0, inexact);
    assert_value(two(GNI_FMA_CE_FPADD, 0, ZERO, one, 0, half, 0), one, 0, inexact);
    assert_value(two(GNI_FMA_CE_FPADD, 0, UP, minus, 0, half | 1ull << 63, 0), minus, 0, inexact);
    assert_value(two(GNI_FMA_CE_FPADD, 0, DOWN, minus, 0, half | 1ull << 63, 0), minus + 1, 0,
                 inexact);
    assert_value(two(GNI_FMA_CE_FPADD, 0, ZERO, minus, 0, half | 1ull << 63, 0), minus, 0, inexact);
    assert_value(two(GNI_FMA_CE_FPADD_S, 0, UP, narrow(1.f), 0, narrow(ldexpf(1, -24)), 0),
                 narrow(1.f) + 1, 0, inexact);
    assert_value(two(GNI_FMA_CE_FPADD_S, 0, NEAR, narrow(1.f), 0, narrow(ldexpf(1, -24)), 0),
                 narrow(1.f), 0, inexact);
    /* The sign of an exact zero depends on the mode. */
    assert_value(two(GNI_FMA_CE_FPADD, 0, NEAR, one, 0, minus, 0), 0, 0, 0);
    assert_value(two(GNI_FMA_CE_FPADD, 0, DOWN, one, 0, minus, 0), wide(-0.), 0, 0);
    /* The rounding mode of the caller is unchanged. */
    assert_int_equal(fegetround(), FE_TONEAREST);
}

static void exceptions(void **state)
{
    const uint64_t most = wide(1.7976931348623157e308), infinite = wide(INFINITY);
    const uint64_t quiet = 0x7ff8000000000123, signalling = 0x7ff0000000000123;

    feclearexcept(FE_ALL_EXCEPT);
    assert_value(two(GNI_FMA_CE_FPADD, 0, NEAR, most, 0, most, 0), infinite, 0,
                 GNI_CE_FPE_OFLOW | GNI_CE_FPE_PRECISION);
    assert_value(two(GNI_FMA_CE_FPADD, 0, ZERO, most, 0, most, 0), most, 0,
                 GNI_CE_FPE_OFLOW | GNI_CE_FPE_PRECISION);
    assert_value(two(GNI_FMA_CE_FPADD, 0, NEAR, infinite, 0, infinite | 1ull << 63, 0),
                 0x7ff8000000000000, 0, GNI_CE_FPE_OP_INVAL);
    assert_value(two(GNI_FMA_CE_FPADD, 0, NEAR, quiet, 0, wide(1), 0), quiet, 0, 0);
    assert_value(two(GNI_FMA_CE_FPADD, 0, NEAR, wide(1), 0, signalling, 0), quiet, 0,
                 GNI_CE_FPE_OP_INVAL);
    assert_value(two(GNI_FMA_CE_FPMIN_LIDX, 0, NEAR, quiet, 1, wide(1), 2), wide(1), 2, 0);
    assert_value(two(GNI_FMA_CE_FPMAX_GIDX, 0, NEAR, wide(1), 1, signalling, 2), wide(1), 1,
                 GNI_CE_FPE_OP_INVAL);
    assert_value(two(GNI_FMA_CE_FPMIN_GIDX, 0, NEAR, quiet, 1, quiet + 1, 2), quiet + 1, 2, 0);
    assert_int_equal(fetestexcept(FE_ALL_EXCEPT), 0);
}

/* Both operands count, and so do the exception flags that the post brings. */
static void injected(void **state)
{
    const uint32_t both = GNI_CEMODE_TWO_OP;
    struct aries_ce_value a =
        aries_ce_value_of(GNI_FMA_CE_FPADD, both | GNI_CEMODE_FPE_UFLOW, 0, 0);
    struct aries_ce_value b =
        aries_ce_value_of(GNI_FMA_CE_FPADD, both | GNI_CEMODE_FPE_OP_INVAL, 0, wide(1e-300));

    assert_int_equal(a.exceptions, GNI_CE_FPE_UFLOW);
    a.operand[1] = wide(1);
    aries_ce_combine(GNI_FMA_CE_FPADD, both, NEAR, &a, &b);
    assert_value(a, 0, wide(1), GNI_CE_FPE_UFLOW | GNI_CE_FPE_OP_INVAL | GNI_CE_FPE_PRECISION);
    a = aries_ce_value_of(GNI_FMA_CE_IADD, GNI_CEMODE_FPE_OFLOW | GNI_CEMODE_FPE_PRECISION, 1, 2);
    assert_value(a, 1, 0, GNI_CE_FPE_OFLOW | GNI_CE_FPE_PRECISION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands),   cmocka_unit_test(integers), cmocka_unit_test(short_operands),
        cmocka_unit_test(ties),       cmocka_unit_test(extremes), cmocka_unit_test(rounding),
        cmocka_unit_test(exceptions), cmocka_unit_test(injected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
