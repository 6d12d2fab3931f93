/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Small macros that every source uses. */
#ifndef M0_LIB_MISC_H
#define M0_LIB_MISC_H

#include <limits.h>
#include <string.h>

#include "lib/assert.h"
#include "lib/buf.h"
#include "lib/types.h"

#define M0_QUOTE__(text) #text
#define M0_QUOTE(text) M0_QUOTE__(text)
#define M0_CAT__(a, b) a##b
#define M0_CAT(a, b) M0_CAT__(a, b)
/* How many arguments there are, up to nine. */
#define M0_COUNT__(...) M0_COUNT_PICK__(, ##__VA_ARGS__, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define M0_COUNT_PICK__(_0, _1, _2, _3, _4, _5, _6, _7, _8, _9, count, ...) count
/* The arguments after the first, as others count them. */
#define M0_COUNT_PARAMS(...) M0_COUNT_PARAMS_PICK__(__VA_ARGS__, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0)
#define M0_COUNT_PARAMS_PICK__(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, count, ...) count
#define M0_UNPACK(...) __VA_ARGS__
/* A name that no other expansion has. */
#define M0_UNIQUE__(name) M0_CAT(name, __COUNTER__)

#ifndef container_of
#define container_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))
#endif
#ifndef ARRAY_SIZE
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#endif
#define IS_IN_ARRAY(index, array) ((unsigned long)(index) < ARRAY_SIZE(array))
#define M0_HAS_TYPE(expression, type) __builtin_types_compatible_p(__typeof__(expression), type)
#define M0_FIELD_VALUE(type, field) (((type *)0)->field)
#define M0_FIELD_IS(type, field, expected) M0_HAS_TYPE(M0_FIELD_VALUE(type, field), expected)
#define M0_MEMBER_SIZE(type, member) sizeof(M0_FIELD_VALUE(type, member))
/* The offset of a word by which objects are told apart. */
#define M0_MAGIX_OFFSET(type, field) \
    (offsetof(type, field) + 0 * sizeof(char[M0_FIELD_IS(type, field, uint64_t) ? 1 : -1]))
/* The object that has what the pointer points to as its field; `object` is only for the type. */
#define M0_AMB(object, pointer, field) container_of(pointer, __typeof__(*(object)), field)
/* A member, or its address; NULL if the pointer is. */
#define M0_MEMBER(pointer, member)                \
    ({                                            \
        __typeof__(pointer) m0_of__ = (pointer);  \
        m0_of__ == NULL ? NULL : m0_of__->member; \
    })
#define M0_MEMBER_PTR(pointer, member)             \
    ({                                             \
        __typeof__(pointer) m0_of__ = (pointer);   \
        m0_of__ == NULL ? NULL : &m0_of__->member; \
    })
#define m0_is_array(expression) \
    (!__builtin_types_compatible_p(__typeof__(&(expression)[0]), __typeof__(expression)))
/* An `if` without an alternative, for those who count branches. */
#define AND_NOTHING_ELSE else(void) 0;
#define M0_BYTES(bits) (((bits) + 7) / 8)
#define ARRAY_SIZE_FOR_BITS(bits, element_bytes) \
    (((bits) + (element_bytes)*8 - 1) / ((element_bytes)*8))
#define M0_CIRCULAR_SHIFT_LEFT(value, bits)                                                   \
    ({                                                                                        \
        __typeof__(value) m0_turned__ = (value);                                              \
        unsigned m0_by__ = (unsigned)(bits) % (sizeof(m0_turned__) * CHAR_BIT);               \
        m0_by__ == 0                                                                          \
            ? m0_turned__                                                                     \
            : (__typeof__(value))(m0_turned__ << m0_by__ |                                    \
                                  m0_turned__ >> (sizeof(m0_turned__) * CHAR_BIT - m0_by__)); \
    })
#define M0_IS_8ALIGNED(value) (((uint64_t)(value)&7) == 0)

#define M0_SET0(object)                            \
    ({                                             \
        _Static_assert(sizeof(*(object)) > 0, ""); \
        memset(object, 0, sizeof(*(object)));      \
    })
#define M0_SET_ARR0(array) memset(array, 0, sizeof(array))
#define M0_IS0(object) m0_is_zeroed(object, sizeof(*(object)))
bool m0_is_zeroed(const void *memory, size_t bytes);
/* Two arguments are compared as memory. */
#define memeq(a, b, size) (memcmp(a, b, size) == 0)

/* Implication and equivalence; constant if both are. */
#define ergo(a, b) ((a) ? (bool)(b) : true)
#define equi(a, b) (!!(a) == !!(b))

/* Whether all (one) of the numbers below `count` satisfies the statement expression. */
#define M0_FORALL__(n, var, count, ...)                       \
    ({                                                        \
        uint64_t n = (uint64_t)(count);                       \
        uint64_t var;                                         \
        for (var = 0; var < n && ({ __VA_ARGS__; }); ++var) { \
        }                                                     \
        var == n;                                             \
    })
#define m0_forall(var, count, ...) M0_FORALL__(M0_UNIQUE__(m0_nr_), var, count, __VA_ARGS__)
#define m0_exists(var, count, ...) (!m0_forall(var, count, !({ __VA_ARGS__; })))
#define m0_array_forall(var, array, ...) m0_forall(var, ARRAY_SIZE(array), __VA_ARGS__)
#define m0_array_exists(var, array, ...) m0_exists(var, ARRAY_SIZE(array), __VA_ARGS__)
#define M0_FOLD__(n, var, sofar, count, init, ...) \
    ({                                             \
        uint64_t n = (uint64_t)(count), var;       \
        __typeof__(init) sofar = (init);           \
        for (var = 0; var < n; ++var)              \
            sofar = ({ __VA_ARGS__; });            \
        sofar;                                     \
    })
#define m0_fold(var, sofar, count, init, ...) \
    M0_FOLD__(M0_UNIQUE__(m0_nr_), var, sofar, count, init, __VA_ARGS__)
#define m0_reduce(var, count, init, expression)       \
    ({                                                \
        __typeof__(init) m0_sum__ = (init);           \
        uint64_t m0_count__ = (uint64_t)(count), var; \
        for (var = 0; var < m0_count__; ++var)        \
            m0_sum__ = m0_sum__ expression;           \
        m0_sum__;                                     \
    })

/* How many of the numbers below `count` satisfy the condition. */
#define m0_count(var, count, ...)                   \
    m0_fold(var, M0_CAT(var, _so_far__), count, 0u, \
            M0_CAT(var, _so_far__) + (({ __VA_ARGS__; }) ? 1u : 0u))

/* M0_IN(value, (a, b, c)): the value is one of up to twelve. */
#define M0_IN(value, set)                          \
    ({                                             \
        __typeof__((value) + 0) m0_in__ = (value); \
        M0_IN_ANY__ set;                           \
    })
#define M0_IN_1__(a) (m0_in__ == (a))
#define M0_IN_2__(a, ...) (m0_in__ == (a) || M0_IN_1__(__VA_ARGS__))
#define M0_IN_3__(a, ...) (m0_in__ == (a) || M0_IN_2__(__VA_ARGS__))
#define M0_IN_4__(a, ...) (m0_in__ == (a) || M0_IN_3__(__VA_ARGS__))
#define M0_IN_5__(a, ...) (m0_in__ == (a) || M0_IN_4__(__VA_ARGS__))
#define M0_IN_6__(a, ...) (m0_in__ == (a) || M0_IN_5__(__VA_ARGS__))
#define M0_IN_7__(a, ...) (m0_in__ == (a) || M0_IN_6__(__VA_ARGS__))
#define M0_IN_8__(a, ...) (m0_in__ == (a) || M0_IN_7__(__VA_ARGS__))
#define M0_IN_9__(a, ...) (m0_in__ == (a) || M0_IN_8__(__VA_ARGS__))
#define M0_IN_10__(a, ...) (m0_in__ == (a) || M0_IN_9__(__VA_ARGS__))
#define M0_IN_11__(a, ...) (m0_in__ == (a) || M0_IN_10__(__VA_ARGS__))
#define M0_IN_12__(a, ...) (m0_in__ == (a) || M0_IN_11__(__VA_ARGS__))
#define M0_IN_PICK__(a, b, c, d, e, f, g, h, i, j, k, l, chosen, ...) chosen
#define M0_IN_ANY__(...)                                                                           \
    M0_IN_PICK__(__VA_ARGS__, M0_IN_12__, M0_IN_11__, M0_IN_10__, M0_IN_9__, M0_IN_8__, M0_IN_7__, \
                 M0_IN_6__, M0_IN_5__, M0_IN_4__, M0_IN_3__, M0_IN_2__, M0_IN_1__, )               \
    (__VA_ARGS__)

/* The mask of up to nine numbers of bits: M0_BITS(0, 3) is 9. */
#define M0_BITS(...) M0_CAT(M0_BITS_, M0_CAT(M0_COUNT__(__VA_ARGS__), __))(__VA_ARGS__)
#define M0_BITS_0__() 0ULL
#define M0_BITS_1__(a) (1ULL << (a))
#define M0_BITS_2__(a, ...) (M0_BITS_1__(a) | M0_BITS_1__(__VA_ARGS__))
#define M0_BITS_3__(a, ...) (M0_BITS_1__(a) | M0_BITS_2__(__VA_ARGS__))
#define M0_BITS_4__(a, ...) (M0_BITS_1__(a) | M0_BITS_3__(__VA_ARGS__))
#define M0_BITS_5__(a, ...) (M0_BITS_1__(a) | M0_BITS_4__(__VA_ARGS__))
#define M0_BITS_6__(a, ...) (M0_BITS_1__(a) | M0_BITS_5__(__VA_ARGS__))
#define M0_BITS_7__(a, ...) (M0_BITS_1__(a) | M0_BITS_6__(__VA_ARGS__))
#define M0_BITS_8__(a, ...) (M0_BITS_1__(a) | M0_BITS_7__(__VA_ARGS__))
#define M0_BITS_9__(a, ...) (M0_BITS_1__(a) | M0_BITS_8__(__VA_ARGS__))

const char *m0_bool_to_str(bool value); /* "true" or "false" */
/* The path from the folder "motr" or "mero" on, without it; all of it if it does not lie there. */
const char *m0_short_file_name(const char *path);
/* As strtoull(3) and strtoul(3). */
uint64_t m0_strtou64(const char *text, char **end, int base);
uint32_t m0_strtou32(const char *text, char **end, int base);
bool m0_elems_are_unique(const void *array, unsigned count, size_t element_bytes);
uint32_t m0_no_of_bits_set(uint64_t value);
void m0_array_sort(uint64_t *array, uint64_t count); /* the smallest first */
/* Bits of memory, the lowest of each byte first. */
bool m0_bit_get(void *memory, m0_bcount_t index);
void m0_bit_set(void *memory, m0_bcount_t index, bool value);
uint64_t m0_dummy_id_generate(void); /* no two of a program's are equal */

#endif
