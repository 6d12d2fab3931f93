/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "engine/real.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

/* ln 2 in two parts: the product of the first one and an exponent is exact. */
#define LN2_HIGH 0x1.62e42feep-1
#define LN2_LOW 0x1.a39ef35793c76p-33

static double from_bits(uint64_t bits)
{
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* x = m 2^e with m in [sqrt(1/2), sqrt(2)); ln m = 2 artanh((m - 1) / (m + 1)). */
double sim_log(double x)
{
    uint64_t bits;
    double exponent, s, square, sum = 0;
    int i;

    assert(x >= 0x1p-1022);
    memcpy(&bits, &x, sizeof bits);
    exponent = (double)(int64_t)(bits >> 52) - 1023;
    x = from_bits((bits & 0xfffffffffffffull) | 1023ull << 52);
    if (x > 0x1.6a09e667f3bcdp+0) {
        x /= 2;
        exponent += 1;
    }
    s = (x - 1) / (x + 1);
    square = s * s;
    for (i = 23; i > 1; i -= 2) /* s < 0.172: s^24 is less than 1e-18 */
        sum = (sum + 1.0 / i) * square;
    return exponent * LN2_HIGH + (2 * s + (2 * s * sum + exponent * LN2_LOW));
}

/* x = k ln 2 + r with |r| <= ln 2 / 2; the series of e^r. */
double sim_exp(double x)
{
    double r, sum = 1;
    int k, i;

    assert(x <= 709);
    if (x < -708)
        return 0;
    k = (int)(x * 0x1.71547652b82fep+0 + (x < 0 ? -0.5 : 0.5));
    r = x - k * LN2_HIGH - k * LN2_LOW;
    for (i = 16; i > 0; i--)
        sum = sum * r / i + 1;
    return sum * from_bits((uint64_t)(k + 1023) << 52);
}

double sim_power(double base, double exponent)
{
    assert(base >= 0 && base <= 1 && exponent >= 0);
    if (exponent == 0 || base == 1)
        return 1;
    return base < 0x1p-1022 ? 0 : sim_exp(exponent * sim_log(base));
}
