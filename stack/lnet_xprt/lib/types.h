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
#define M0_BINDEX_MAX ((m0_bindex_t)0xffffffffffffffff)
#define M0_BCOUNT_MAX ((m0_bcount_t)0xffffffffffffffff)

struct m0_uint128 {
    uint64_t u_hi, u_lo;
};

#endif
