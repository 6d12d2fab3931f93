/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sizes and positions in data. */
#ifndef M0_LIB_TYPES_H
#define M0_LIB_TYPES_H

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/cdefs.h"

typedef uint64_t m0_bindex_t; /* an offset in bytes, or an index */
typedef uint64_t m0_bcount_t; /* a number of bytes, or of segments */

enum {
    M0_BITS_PER_BYTE = 8,
    M0_BITS_PER_LONG = 64,
};
#define M0_BCOUNT_MAX ((m0_bcount_t)0xffffffffffffffff)
#define M0_BINDEX_MAX (M0_BCOUNT_MAX - 1)
#define M0_BSIGNED_MAX 0x7fffffffffffffff

struct m0_uint128 {
    uint64_t u_hi, u_lo;
};
#define M0_UINT128(hi, lo)         \
    (struct m0_uint128)            \
    {                              \
        .u_hi = (hi), .u_lo = (lo) \
    }
/* Formats for printf(3) and scanf(3), and the arguments of both. */
#define U128X_F "%" PRIx64 ":%" PRIx64
#define U128D_F "%" PRId64 ":%" PRId64
#define U128I_F "%" PRIi64 ":%" PRIi64
#define U128_P(number) (number)->u_hi, (number)->u_lo
#define U128_S(number) &(number)->u_hi, &(number)->u_lo

bool m0_uint128_eq(const struct m0_uint128 *a, const struct m0_uint128 *b);
int m0_uint128_cmp(const struct m0_uint128 *a, const struct m0_uint128 *b); /* as strcmp(3) */
void m0_uint128_init(struct m0_uint128 *number, const char *magic); /* the bytes of 16 characters */
/* The result may be one of the arguments; carries out of 128 bits are lost. */
void m0_uint128_add(struct m0_uint128 *sum, const struct m0_uint128 *a, const struct m0_uint128 *b);
void m0_uint128_mul64(struct m0_uint128 *product, uint64_t a, uint64_t b);
/* "HI:LO", each decimal, hexadecimal (0x) or octal (0). 0; -EINVAL. */
int m0_uint128_sscanf(const char *text, struct m0_uint128 *number);

#endif
