/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Numbers of 128 bits. */
#include <stdio.h>
#include <string.h>

#include "lib/assert.h"
#include "lib/errno.h"
#include "lib/types.h"

static unsigned __int128 whole(const struct m0_uint128 *number)
{
    return (unsigned __int128)number->u_hi << 64 | number->u_lo;
}

static struct m0_uint128 halves(unsigned __int128 number)
{
    return M0_UINT128((uint64_t)(number >> 64), (uint64_t)number);
}

bool m0_uint128_eq(const struct m0_uint128 *a, const struct m0_uint128 *b)
{
    return whole(a) == whole(b);
}

int m0_uint128_cmp(const struct m0_uint128 *a, const struct m0_uint128 *b)
{
    return (whole(a) > whole(b)) - (whole(a) < whole(b));
}

void m0_uint128_init(struct m0_uint128 *number, const char *magic)
{
    M0_PRE(strlen(magic) == sizeof(*number));
    memcpy(number, magic, sizeof(*number));
}

void m0_uint128_add(struct m0_uint128 *sum, const struct m0_uint128 *a, const struct m0_uint128 *b)
{
    *sum = halves(whole(a) + whole(b));
}

void m0_uint128_mul64(struct m0_uint128 *product, uint64_t a, uint64_t b)
{
    *product = halves((unsigned __int128)a * b);
}

int m0_uint128_sscanf(const char *text, struct m0_uint128 *number)
{
    int end = 0;

    return sscanf(text, "%" SCNi64 ":%" SCNi64 "%n", (int64_t *)&number->u_hi,
                  (int64_t *)&number->u_lo, &end) == 2 &&
                   text[end] == '\0'
               ? 0
               : -EINVAL;
}
