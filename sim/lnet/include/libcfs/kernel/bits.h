/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* More bits and numbers of the kernel, beside those of libcfs/kernel/base.h: words and maps of
 * bits, divisions, limits of types. */
#ifndef JACQUARD_LIBCFS_KERNEL_BITS_H
#define JACQUARD_LIBCFS_KERNEL_BITS_H

#include "libcfs/kernel/base.h"

/* ---- words ----------------------------------------------------------------------------------- */

#define BIT_MASK(n) (1UL << ((n) % BITS_PER_LONG))
#define BIT_WORD(n) ((n) / BITS_PER_LONG)
#define BITS_PER_TYPE(type) (sizeof(type) * BITS_PER_BYTE)
#define BITS_PER_LONG_LONG 64
#define GENMASK(high, low) ((~0UL << (low)) & (~0UL >> (BITS_PER_LONG - 1 - (high))))
#define GENMASK_ULL(high, low) ((~0ULL << (low)) & (~0ULL >> (BITS_PER_LONG_LONG - 1 - (high))))
static inline bool test_and_change_bit(long n, volatile unsigned long *words)
{
    unsigned long bit = BIT_MASK(n);

    return (__atomic_fetch_xor(&words[BIT_WORD(n)], bit, __ATOMIC_SEQ_CST) & bit) != 0;
}
#define change_bit(n, words) ((void)test_and_change_bit(n, words))
#define __change_bit(n, words) change_bit(n, words)
#define __test_and_set_bit(n, words) test_and_set_bit(n, words)
#define __test_and_clear_bit(n, words) test_and_clear_bit(n, words)
#define __test_and_change_bit(n, words) test_and_change_bit(n, words)
#define test_and_set_bit_lock(n, words) test_and_set_bit(n, words)
#define clear_bit_unlock(n, words) clear_bit(n, words)
#define __clear_bit_unlock(n, words) clear_bit(n, words)
/* These are not defined for a word without such a bit. */
static inline unsigned long ffz(unsigned long word)
{
    return (unsigned long)__builtin_ctzl(~word);
}
static inline unsigned long __fls(unsigned long word)
{
    return BITS_PER_LONG - 1 - (unsigned long)__builtin_clzl(word);
}
static inline unsigned long __ffs64(u64 word)
{
    return (unsigned long)__builtin_ctzll(word);
}
static inline unsigned fls_long(unsigned long word)
{
    return word != 0 ? (unsigned)__fls(word) + 1 : 0;
}
#define hweight8(byte) ((unsigned)__builtin_popcount((u8)(byte)))
#define hweight16(word) ((unsigned)__builtin_popcount((u16)(word)))
static inline unsigned long hweight_long(unsigned long word)
{
    return (unsigned long)__builtin_popcountl(word);
}
#define LIBCFS_ROTATE(bits)                                                 \
    static inline u##bits rol##bits(u##bits word, unsigned shift)           \
    {                                                                       \
        return (u##bits)(word << (shift % bits) | word >> (-shift % bits)); \
    }                                                                       \
    static inline u##bits ror##bits(u##bits word, unsigned shift)           \
    {                                                                       \
        return (u##bits)(word >> (shift % bits) | word << (-shift % bits)); \
    }                                                                       \
    _Static_assert((bits & (bits - 1)) == 0, "")
LIBCFS_ROTATE(8);
LIBCFS_ROTATE(16);
LIBCFS_ROTATE(32);
LIBCFS_ROTATE(64);
static inline s32 sign_extend32(u32 value, int index)
{
    unsigned shift = 31 - (unsigned)index;

    return (s32)(value << shift) >> shift;
}

/* ---- maps ------------------------------------------------------------------------------------ */

/* The first bit from `at` on that is `on`; `size`: there is none. */
static inline unsigned long libcfs_find_bit(const unsigned long *words, unsigned long size,
                                            unsigned long at, bool on)
{
    while (at < size) {
        unsigned long word = on ? words[BIT_WORD(at)] : ~words[BIT_WORD(at)];

        word &= ~0UL << at % BITS_PER_LONG;
        if (word != 0) {
            at = at / BITS_PER_LONG * BITS_PER_LONG + (unsigned long)__builtin_ctzl(word);
            return at < size ? at : size;
        }
        at = (at / BITS_PER_LONG + 1) * BITS_PER_LONG;
    }
    return size;
}
#define find_next_bit(words, size, from) libcfs_find_bit(words, size, from, true)
#define find_next_zero_bit(words, size, from) libcfs_find_bit(words, size, from, false)
#define find_first_bit(words, size) libcfs_find_bit(words, size, 0, true)
#define find_first_zero_bit(words, size) libcfs_find_bit(words, size, 0, false)
static inline unsigned long find_last_bit(const unsigned long *words, unsigned long size)
{
    unsigned long at;

    for (at = size; at-- > 0;)
        if (test_bit((long)at, words))
            return at;
    return size;
}
#define for_each_set_bit(bit, words, size)                    \
    for ((bit) = find_first_bit(words, size); (bit) < (size); \
         (bit) = find_next_bit(words, size, (bit) + 1))
#define for_each_set_bit_from(bit, words, size)                   \
    for ((bit) = find_next_bit(words, size, bit); (bit) < (size); \
         (bit) = find_next_bit(words, size, (bit) + 1))
#define for_each_clear_bit(bit, words, size)                       \
    for ((bit) = find_first_zero_bit(words, size); (bit) < (size); \
         (bit) = find_next_zero_bit(words, size, (bit) + 1))

#define BITMAP_LAST_WORD_MASK(bits) (~0UL >> (-(bits) & (BITS_PER_LONG - 1)))
static inline void bitmap_zero(unsigned long *map, unsigned bits)
{
    memset(map, 0, BITS_TO_LONGS(bits) * sizeof(*map));
}
static inline void bitmap_fill(unsigned long *map, unsigned bits)
{
    memset(map, 0xff, BITS_TO_LONGS(bits) * sizeof(*map));
}
static inline void bitmap_copy(unsigned long *to, const unsigned long *from, unsigned bits)
{
    memmove(to, from, BITS_TO_LONGS(bits) * sizeof(*to));
}
static inline void bitmap_set(unsigned long *map, unsigned from, unsigned count)
{
    for (; count > 0; from++, count--)
        map[BIT_WORD(from)] |= BIT_MASK(from);
}
static inline void bitmap_clear(unsigned long *map, unsigned from, unsigned count)
{
    for (; count > 0; from++, count--)
        map[BIT_WORD(from)] &= ~BIT_MASK(from);
}
static inline int bitmap_empty(const unsigned long *map, unsigned bits)
{
    return find_first_bit(map, bits) == bits;
}
static inline int bitmap_full(const unsigned long *map, unsigned bits)
{
    return find_first_zero_bit(map, bits) == bits;
}
static inline int bitmap_weight(const unsigned long *map, unsigned bits)
{
    unsigned long at;
    int count = 0;

    for_each_set_bit(at, map, bits) count++;
    return count;
}
/* The word of a map without the bits behind its end. */
static inline unsigned long libcfs_bitmap_word(const unsigned long *map, unsigned word,
                                               unsigned bits)
{
    return word + 1 < BITS_TO_LONGS(bits) ? map[word] : map[word] & BITMAP_LAST_WORD_MASK(bits);
}
static inline int bitmap_equal(const unsigned long *a, const unsigned long *b, unsigned bits)
{
    unsigned i;

    for (i = 0; i < BITS_TO_LONGS(bits); i++)
        if (libcfs_bitmap_word(a, i, bits) != libcfs_bitmap_word(b, i, bits))
            return 0;
    return 1;
}
static inline int bitmap_intersects(const unsigned long *a, const unsigned long *b, unsigned bits)
{
    unsigned i;

    for (i = 0; i < BITS_TO_LONGS(bits); i++)
        if ((libcfs_bitmap_word(a, i, bits) & b[i]) != 0)
            return 1;
    return 0;
}
static inline int bitmap_subset(const unsigned long *a, const unsigned long *b, unsigned bits)
{
    unsigned i;

    for (i = 0; i < BITS_TO_LONGS(bits); i++)
        if ((libcfs_bitmap_word(a, i, bits) & ~b[i]) != 0)
            return 0;
    return 1;
}
static inline void bitmap_complement(unsigned long *to, const unsigned long *from, unsigned bits)
{
    unsigned i;

    for (i = 0; i < BITS_TO_LONGS(bits); i++)
        to[i] = ~from[i];
}
/* Whether a bit is left. */
#define LIBCFS_BITMAP(name, ...)                                               \
    static inline int bitmap_##name(unsigned long *to, const unsigned long *a, \
                                    const unsigned long *b, unsigned bits)     \
    {                                                                          \
        unsigned i;                                                            \
                                                                               \
        for (i = 0; i < BITS_TO_LONGS(bits); i++)                              \
            to[i] = __VA_ARGS__;                                               \
        return !bitmap_empty(to, bits);                                        \
    }                                                                          \
    _Static_assert(1, "")
LIBCFS_BITMAP(and, a[i] & b[i]);
LIBCFS_BITMAP(andnot, a[i] & ~b[i]);
LIBCFS_BITMAP(or, a[i] | b[i]);
LIBCFS_BITMAP(xor, a[i] ^ b[i]);
#define bitmap_alloc(bits, flags) \
    ((unsigned long *)kmalloc_array(BITS_TO_LONGS(bits), sizeof(long), flags))
#define bitmap_zalloc(bits, flags) \
    ((unsigned long *)kcalloc(BITS_TO_LONGS(bits), sizeof(long), flags))
#define bitmap_free(map) kfree(map)

/* ---- numbers --------------------------------------------------------------------------------- */

#define U8_MAX ((u8)~0U)
#define S8_MAX ((s8)0x7f)
#define S8_MIN ((s8)(-S8_MAX - 1))
#define U16_MAX ((u16)~0U)
#define S16_MAX ((s16)0x7fff)
#define S16_MIN ((s16)(-S16_MAX - 1))
#define U32_MAX ((u32)~0U)
#define S32_MAX ((s32)0x7fffffff)
#define S32_MIN ((s32)(-S32_MAX - 1))
#define U64_MAX ((u64)~0ULL)
#define S64_MAX ((s64)0x7fffffffffffffffLL)
#define S64_MIN ((s64)(-S64_MAX - 1))

/* The exponent of the smallest power of two that is not below the value; 0 and 1: 0. */
static inline int libcfs_order_base_2(unsigned long value)
{
    return value > 1 ? (int)fls_long(value - 1) : 0;
}
#define order_base_2(value) libcfs_order_base_2(value)
static inline u64 div64_u64(u64 value, u64 by)
{
    return value / by;
}
static inline s64 div64_s64(s64 value, s64 by)
{
    return value / by;
}
static inline u64 div_u64(u64 value, u32 by)
{
    return value / by;
}
static inline s64 div_s64(s64 value, s32 by)
{
    return value / by;
}
static inline u64 div_u64_rem(u64 value, u32 by, u32 *left)
{
    *left = (u32)(value % by);
    return value / by;
}
static inline u64 div64_u64_rem(u64 value, u64 by, u64 *left)
{
    *left = value % by;
    return value / by;
}
static inline u64 mul_u32_u32(u32 a, u32 b)
{
    return (u64)a * b;
}
#define DIV_ROUND_DOWN_ULL(value, by) ((unsigned long long)(value) / (by))
#define DIV_ROUND_UP_ULL(value, by) (((unsigned long long)(value) + (by)-1) / (by))
#define DIV_ROUND_UP_SECTOR_T(value, by) DIV_ROUND_UP_ULL(value, by)
/* To the nearest number, a half away from 0; the divisor is positive. */
#define DIV_ROUND_CLOSEST(value, by)                         \
    ({                                                       \
        __typeof__(value) round_value__ = (value);           \
        __typeof__(by) round_by__ = (by);                    \
        ((__typeof__(value))-1) > 0 || round_value__ > 0     \
            ? (round_value__ + round_by__ / 2) / round_by__  \
            : (round_value__ - round_by__ / 2) / round_by__; \
    })
#define DIV_ROUND_CLOSEST_ULL(value, by)                             \
    ({                                                               \
        unsigned long long round_by__ = (by);                        \
        ((unsigned long long)(value) + round_by__ / 2) / round_by__; \
    })
/* value * numerator / denominator, without an overflow of the product. */
#define mult_frac(value, numerator, denominator)                                                   \
    ({                                                                                             \
        __typeof__(value) frac_value__ = (value);                                                  \
        __typeof__(denominator) frac_by__ = (denominator);                                         \
        frac_value__ / frac_by__ *(numerator) + frac_value__ % frac_by__ *(numerator) / frac_by__; \
    })
#define clamp_val(value, low, high) clamp_t(__typeof__(value), value, low, high)
#define min_not_zero(a, b)                                                             \
    ({                                                                                 \
        __typeof__(a) zero_a__ = (a);                                                  \
        __typeof__(b) zero_b__ = (b);                                                  \
        zero_a__ == 0 ? zero_b__ : zero_b__ == 0 ? zero_a__ : min(zero_a__, zero_b__); \
    })
#define abs_diff(a, b) ((a) > (b) ? (a) - (b) : (b) - (a))

#ifndef offsetofend
#define offsetofend(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))
#endif
#ifndef sizeof_field
#define sizeof_field(type, member) sizeof(((type *)0)->member)
#endif
#ifndef FIELD_SIZEOF
#define FIELD_SIZEOF(type, member) sizeof_field(type, member)
#endif
#define typeof_member(type, member) __typeof__(((type *)0)->member)
/* A statement, also behind `if` and a label: the compiler refuses it if the condition holds. */
#define BUILD_BUG_ON(condition) ((void)sizeof(char[(condition) ? -1 : 1]))
#define BUILD_BUG_ON_MSG(condition, message) compiletime_assert(!(condition), message)
#define BUILD_BUG_ON_ZERO(condition) ((int)(sizeof(char[(condition) ? -1 : 1]) - 1))
#define BUILD_BUG_ON_NULL(condition) ((void *)(long)BUILD_BUG_ON_ZERO(condition))
#define BUILD_BUG_ON_NOT_POWER_OF_2(n) BUILD_BUG_ON((n) == 0 || (((n) & ((n)-1)) != 0))
#define BUILD_BUG_ON_INVALID(expression) ((void)sizeof((long)(expression)))
#define BUILD_BUG() BUILD_BUG_ON(1)
#ifndef static_assert
#define static_assert(condition, ...) _Static_assert(condition, "" #condition)
#endif
#define __must_be_array(array) BUILD_BUG_ON_ZERO(__same_type((array), &(array)[0]))
/* Additions and the like; whether the result has not enough room. */
#define check_add_overflow(a, b, result) __builtin_add_overflow(a, b, result)
#define check_sub_overflow(a, b, result) __builtin_sub_overflow(a, b, result)
#define check_mul_overflow(a, b, result) __builtin_mul_overflow(a, b, result)
static inline size_t array_size(size_t a, size_t b)
{
    size_t all;

    return __builtin_mul_overflow(a, b, &all) ? SIZE_MAX : all;
}

/* Sorts an array of `count` elements of `size` bytes; `exchange` NULL: their bytes are exchanged.
 */
static inline void sort(void *base, size_t count, size_t size,
                        int (*compare)(const void *a, const void *b),
                        void (*exchange)(void *a, void *b, int size))
{
    char *all = (char *)base;
    size_t heads, end, root, child, i;

    if (count < 2)
        return;
    /* A heap: it needs no memory, and not more steps with any order. */
    for (heads = count / 2, end = count; end > 1;) {
        if (heads > 0)
            heads--;
        else
            end--;
        if (heads == 0 && end < count) {
            if (exchange != NULL)
                exchange(all, all + end * size, (int)size);
            else
                for (i = 0; i < size; i++)
                    swap(all[i], all[end * size + i]);
        }
        for (root = heads; (child = 2 * root + 1) < end; root = child) {
            if (child + 1 < end && compare(all + child * size, all + (child + 1) * size) < 0)
                child++;
            if (compare(all + root * size, all + child * size) >= 0)
                break;
            if (exchange != NULL)
                exchange(all + root * size, all + child * size, (int)size);
            else
                for (i = 0; i < size; i++)
                    swap(all[root * size + i], all[child * size + i]);
        }
    }
}

#endif
