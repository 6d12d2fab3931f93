/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Arithmetic. */
#ifndef M0_LIB_ARITH_H
#define M0_LIB_ARITH_H

#include "lib/assert.h"
#include "lib/misc.h"
#include "lib/types.h"

/* Both arguments are of the same type. */
#define M0_CHOICE__(x, y, a, b, test) \
    ({                                \
        __typeof__(a) x = (a);        \
        __typeof__(b) y = (b);        \
        (void)(&x == &y);             \
        x test y ? x : y;             \
    })
#define min_check(a, b) M0_CHOICE__(M0_UNIQUE__(m0_a_), M0_UNIQUE__(m0_b_), a, b, <)
#define max_check(a, b) M0_CHOICE__(M0_UNIQUE__(m0_a_), M0_UNIQUE__(m0_b_), a, b, >)
#define min_type(type, a, b) min_check((type)(a), (type)(b))
#define max_type(type, a, b) max_check((type)(a), (type)(b))
static inline int32_t min32(int32_t a, int32_t b)
{
    return a < b ? a : b;
}
static inline int32_t max32(int32_t a, int32_t b)
{
    return a > b ? a : b;
}
static inline uint32_t min32u(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}
static inline uint32_t max32u(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}
static inline int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
static inline int64_t max64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}
static inline uint64_t min64u(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}
static inline uint64_t max64u(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}
static inline uint64_t clip64u(uint64_t low, uint64_t value, uint64_t high)
{
    return min64u(max64u(low, value), high);
}
#define min3(a, b, c) min_check(a, min_check(b, c))
#define max3(a, b, c) max_check(a, max_check(b, c))
#define clip(low, value, high) min_check(max_check(low, value), high)
#define M0_3WAY(a, b)                              \
    ({                                             \
        __typeof__(a) m0_3a__ = (a);               \
        __typeof__(b) m0_3b__ = (b);               \
        (m0_3a__ > m0_3b__) - (m0_3a__ < m0_3b__); \
    })
#define M0_SWAP(a, b)                       \
    ({                                      \
        __typeof__(&(a)) m0_pa__ = &(a);    \
        __typeof__(&(b)) m0_pb__ = &(b);    \
        __typeof__(a) m0_swap__ = *m0_pa__; \
        *m0_pa__ = *m0_pb__;                \
        *m0_pb__ = m0_swap__;               \
    })
#define M0_CNT_INC(counter)            \
    ({                                 \
        M0_ASSERT((counter) + 1 != 0); \
        ++(counter);                   \
    })
#define M0_CNT_DEC(counter)        \
    ({                             \
        M0_ASSERT((counter) != 0); \
        --(counter);               \
    })

static inline bool m0_is_po2(uint64_t value)
{
    return (value & (value - 1)) == 0;
}
static inline uint64_t m0_align(uint64_t value, uint64_t alignment)
{
    M0_ASSERT(m0_is_po2(alignment));
    return (value + alignment - 1) & ~(alignment - 1);
}
static inline bool m0_is_aligned(uint64_t value, uint64_t alignment)
{
    M0_ASSERT(m0_is_po2(alignment));
    return (value & (alignment - 1)) == 0;
}
static inline uint64_t m0_round_up(uint64_t value, uint64_t step)
{
    return (value + step - 1) / step * step;
}
static inline uint64_t m0_round_down(uint64_t value, uint64_t step)
{
    return value / step * step;
}
/* The exponent of the largest power of two that is not larger; -1 for 0. */
static inline int m0_log2(uint64_t value)
{
    return value == 0 ? -1 : 63 - __builtin_clzll(value);
}
static inline bool m0_addu64_will_overflow(uint64_t a, uint64_t b)
{
    return a + b < a;
}
/* The next number of a generator with this state, in [0, max). */
uint64_t m0_rnd64(uint64_t *state);
uint64_t m0_rnd(uint64_t max, uint64_t *state);

#endif
