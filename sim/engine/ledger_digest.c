/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The digest by which the ledger compares what was handed in with what was delivered. */
#include "engine/ledger.h"

#include <endian.h>
#include <string.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif

/*
 * The message is seen as 8-byte words of two halves. Word i contributes (low + a_i) * (high + b_i),
 * where the sums are taken modulo 2^32 and the product is not (the NH hash), and a_i, b_i are two
 * arithmetic progressions of odd step: one multiplication for 8 bytes, of a kind that processors
 * have for several words at a time, and no state from word to word, so pieces may be summed in any
 * order. A word of which a piece has only some bytes gets a_i and b_i of its own for each (first
 * byte, count), so that "ab" is not "ab\0".
 */
#define A_STEP 0x9e3779b1u
#define A_FIRST 0x72be579bu
#define B_STEP 0x85ebca77u
#define B_FIRST 0xb3f025b5u
#define PARTIAL 0x27d4eb2fu

static inline uint64_t product(uint64_t word, uint32_t a, uint32_t b)
{
    return (uint64_t)((uint32_t)word + a) * ((uint32_t)(word >> 32) + b);
}

static inline uint64_t load(const uint8_t *bytes)
{
    uint64_t word;

    memcpy(&word, bytes, sizeof word);
    return le64toh(word);
}

/* `count` bytes that start `first` bytes into word i; first + count <= 8 */
static uint64_t digest_partial(const uint8_t *bytes, unsigned first, unsigned count, uint64_t i)
{
    uint32_t a = A_FIRST + (uint32_t)i * A_STEP, b = B_FIRST + (uint32_t)i * B_STEP;
    uint32_t part = (first << 3 | count) * PARTIAL;
    uint8_t word[8] = {0};

    memcpy(word + first, bytes, count);
    return product(load(word), a ^ part, b + part);
}

/* Less than 8 words of which the first is word 0. */
static inline uint64_t digest_head(const uint8_t *at, uint64_t words)
{
    uint64_t sum = 0;

#define WORD(i) product(load(at + 8 * (i)), A_FIRST + (i)*A_STEP, B_FIRST + (i)*B_STEP)
    switch (words) {
    case 7:
        sum += WORD(6); /* fall through */
    case 6:
        sum += WORD(5); /* fall through */
    case 5:
        sum += WORD(4); /* fall through */
    case 4:
        sum += WORD(3); /* fall through */
    case 3:
        sum += WORD(2); /* fall through */
    case 2:
        sum += WORD(1); /* fall through */
    case 1:
        sum += WORD(0);
    }
#undef WORD
    return sum;
}

/* Whole words from word i on. Every processor computes the same value. */
static uint64_t digest_each(const uint8_t *at, uint64_t words, uint64_t i)
{
    uint32_t a = A_FIRST + (uint32_t)i * A_STEP, b = B_FIRST + (uint32_t)i * B_STEP;
    uint64_t sum = 0;

    for (; words > 0; words--, at += 8, a += A_STEP, b += B_STEP)
        sum += product(load(at), a, b);
    return sum;
}

#ifdef __SSE2__
static inline __m128i product_of_two(const uint8_t *at, __m128i keys)
{
    __m128i sums = _mm_add_epi32(_mm_loadu_si128((const __m128i *)at), keys);

    return _mm_mul_epu32(sums, _mm_srli_epi64(sums, 32));
}

/* The keys of words i and i + 1. */
static inline __m128i keys_of_two(uint64_t i)
{
    uint32_t a = A_FIRST + (uint32_t)i * A_STEP, b = B_FIRST + (uint32_t)i * B_STEP;

    return _mm_set_epi32((int)(b + B_STEP), (int)(a + A_STEP), (int)b, (int)a);
}

static inline uint64_t sum_of_two(__m128i sums)
{
    return (uint64_t)_mm_cvtsi128_si64(_mm_add_epi64(sums, _mm_srli_si128(sums, 8)));
}

static uint64_t digest_pairs(const uint8_t *at, uint64_t words, uint64_t i)
{
    const __m128i step =
        _mm_set_epi32((int)(2 * B_STEP), (int)(2 * A_STEP), (int)(2 * B_STEP), (int)(2 * A_STEP));
    __m128i keys = keys_of_two(i), sum = _mm_setzero_si128(), other = sum;

    for (; words >= 4; words -= 4, at += 32, i += 4) {
        sum = _mm_add_epi64(sum, product_of_two(at, keys));
        keys = _mm_add_epi32(keys, step);
        other = _mm_add_epi64(other, product_of_two(at + 16, keys));
        keys = _mm_add_epi32(keys, step);
    }
    return sum_of_two(_mm_add_epi64(sum, other)) + digest_each(at, words, i);
}

#define WIDE __attribute__((target("avx2")))

WIDE static inline __m256i product_of_four(const uint8_t *at, __m256i keys)
{
    __m256i sums = _mm256_add_epi32(_mm256_loadu_si256((const __m256i *)at), keys);

    return _mm256_mul_epu32(sums, _mm256_srli_epi64(sums, 32));
}

WIDE static uint64_t digest_fours(const uint8_t *at, uint64_t words, uint64_t i)
{
    const __m256i next = _mm256_set1_epi64x((int64_t)((uint64_t)(4 * B_STEP) << 32 | 4 * A_STEP));
    const __m256i step = _mm256_add_epi32(next, next);
    __m256i sum = _mm256_setzero_si256(), other = sum;
    __m256i keys = _mm256_set_m128i(keys_of_two(i + 2), keys_of_two(i));
    __m256i more = _mm256_add_epi32(keys, next);
    const uint8_t *end = at + words / 8 * 64;

    i += words / 8 * 8;
    words %= 8;
#pragma GCC unroll 4
    for (; at != end; at += 64) {
        sum = _mm256_add_epi64(sum, product_of_four(at, keys));
        other = _mm256_add_epi64(other, product_of_four(at + 32, more));
        keys = _mm256_add_epi32(keys, step);
        more = _mm256_add_epi32(more, step);
    }
    sum = _mm256_add_epi64(sum, other);
    return sum_of_two(
               _mm_add_epi64(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1))) +
           digest_each(at, words, i);
}

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2");
}

static inline uint64_t digest_words(const uint8_t *at, uint64_t words, uint64_t i, bool wide)
{
    if (words < 8)
        return digest_each(at, words, i);
    return wide ? digest_fours(at, words, i) : digest_pairs(at, words, i);
}
#else
static bool has_avx2(void)
{
    return false;
}

static inline uint64_t digest_words(const uint8_t *at, uint64_t words, uint64_t i, bool wide)
{
    (void)wide;
    return digest_each(at, words, i);
}
#endif

static inline uint64_t digest(const void *bytes, uint64_t length, uint64_t offset, bool wide)
{
    const uint8_t *at = bytes;
    uint64_t i = offset / 8, sum = 0;
    unsigned first = offset % 8, count;

    if (sim_unlikely(first != 0) && length > 0) {
        count = length < 8 - first ? (unsigned)length : 8 - first;
        sum = digest_partial(at, first, count, i);
        at += count;
        length -= count;
        i++;
    }
    sum += digest_words(at, length / 8, i, wide);
    if (length % 8 != 0)
        sum += digest_partial(at + (length & ~UINT64_C(7)), 0, length % 8, i + length / 8);
    return sum;
}

#define FEW 64 /* bytes */

uint64_t sim_ledger_digest(const void *bytes, uint64_t length, uint64_t offset)
{
    if (sim_likely(length < FEW && length % 8 == 0 && offset == 0))
        return digest_head(bytes, length / 8);
    return digest(bytes, length, offset, has_avx2());
}

uint64_t sim_ledger_digest_narrow(const void *bytes, uint64_t length, uint64_t offset)
{
    return digest(bytes, length, offset, false);
}
