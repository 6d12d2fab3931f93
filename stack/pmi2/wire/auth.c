/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * SHA-256 (FIPS 180-4), HMAC (RFC 2104), and the answers to a challenge. They are here and not
 * taken from a library because the client libraries must need nothing but libc: they are loaded
 * into programs that have a cryptographic library, or GLib, of another version.
 */
#define _GNU_SOURCE /* explicit_bzero */
#include "pmi2/auth.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define BLOCK 64

struct sha256 {
    uint32_t state[8];
    uint64_t length;
    uint8_t block[BLOCK];
};
static_assert(PMI2_AUTH_ANSWER == 2 * PMI2_SHA256_BYTES + 1, "a digest in hexadecimal and a NUL");
static_assert(PMI2_SHA256_BYTES <= BLOCK, "the digest of a long key fits where a key goes");

static const uint32_t rounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t word, int bits)
{
    return word >> bits | word << (32 - bits);
}

static void expand(const uint8_t block[64], uint32_t w[64])
{
    int i;

    for (i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (; i < 64; i++)
        w[i] = w[i - 16] + w[i - 7] +
               (rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3) +
               (rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10);
}

static void compress(uint32_t state[8], const uint8_t block[64])
{
    uint32_t w[64], s[8], t1, t2;
    int i;

    expand(block, w);
    memcpy(s, state, sizeof(s));
    for (i = 0; i < 64; i++) {
        t1 = s[7] + (rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25)) +
             ((s[4] & s[5]) ^ (~s[4] & s[6])) + rounds[i] + w[i];
        t2 = (rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22)) +
             ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof(*s));
        s[4] += t1;
        s[0] = t1 + t2;
    }
    for (i = 0; i < 8; i++)
        state[i] += s[i];
}

static void start_hash(struct sha256 *hash)
{
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

    memset(hash, 0, sizeof(*hash));
    memcpy(hash->state, start, sizeof(start));
}

static void add(struct sha256 *hash, const void *bytes, size_t length)
{
    const uint8_t *from = bytes;

    for (; length != 0; length--) {
        hash->block[hash->length++ % 64] = *from++;
        if (hash->length % 64 == 0)
            compress(hash->state, hash->block);
    }
}

static void finish(struct sha256 *hash, uint8_t digest[32])
{
    uint64_t bits = hash->length * 8;
    uint8_t byte = 0x80;
    int i;

    assert(hash->length < UINT64_MAX / 8);
    do {
        add(hash, &byte, 1);
        byte = 0;
    } while (hash->length % 64 != 56);
    for (i = 56; i >= 0; i -= 8) {
        byte = (uint8_t)(bits >> i);
        add(hash, &byte, 1);
    }
    for (i = 0; i < 32; i++)
        digest[i] = (uint8_t)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
}

void pmi2_hmac_sha256(const uint8_t *key, size_t key_bytes, const struct pmi2_slice *parts,
                      size_t count, uint8_t digest[PMI2_SHA256_BYTES])
{
    uint8_t inner[BLOCK] = {0}, outer[BLOCK];
    struct sha256 hash;
    size_t i;

    if (key_bytes > BLOCK) {
        start_hash(&hash);
        add(&hash, key, key_bytes);
        finish(&hash, inner);
    } else if (key_bytes > 0) {
        memcpy(inner, key, key_bytes);
    }
    for (i = 0; i < BLOCK; i++) {
        outer[i] = inner[i] ^ 0x5c;
        inner[i] ^= 0x36;
    }
    start_hash(&hash);
    add(&hash, inner, BLOCK);
    for (i = 0; i < count; i++)
        add(&hash, parts[i].at, parts[i].length);
    finish(&hash, digest);
    start_hash(&hash);
    add(&hash, outer, BLOCK);
    add(&hash, digest, PMI2_SHA256_BYTES);
    finish(&hash, digest);
    explicit_bzero(inner, sizeof(inner));
    explicit_bzero(outer, sizeof(outer));
    explicit_bzero(&hash, sizeof(hash));
}

static void write_hexadecimal(const uint8_t digest[PMI2_SHA256_BYTES],
                              char answer[PMI2_AUTH_ANSWER])
{
    int i;

    for (i = 0; i < PMI2_SHA256_BYTES; i++)
        snprintf(answer + (size_t)(2 * i), 3, "%02x", digest[i]);
}

void pmi2_auth_answer(const uint8_t *key, size_t key_bytes, struct pmi2_slice nonce,
                      struct pmi2_slice jobid, uint32_t rank, char answer[PMI2_AUTH_ANSWER])
{
    static const struct pmi2_slice separator = {"", 1}; /* a NUL: it is in none of the others */
    uint8_t digest[PMI2_SHA256_BYTES];
    char decimal[16];

    snprintf(decimal, sizeof(decimal), "%u", rank);
    pmi2_hmac_sha256(
        key, key_bytes,
        (const struct pmi2_slice[]){nonce, separator, jobid, separator, {decimal, strlen(decimal)}},
        5, digest);
    write_hexadecimal(digest, answer);
}

void pmi2_auth_answer_draft(const uint8_t *key, size_t key_bytes, struct pmi2_slice nonce,
                            char answer[PMI2_AUTH_ANSWER])
{
    struct sha256 hash;
    uint8_t digest[PMI2_SHA256_BYTES];

    start_hash(&hash);
    add(&hash, key, key_bytes);
    add(&hash, nonce.at, nonce.length);
    finish(&hash, digest);
    explicit_bzero(&hash, sizeof(hash));
    write_hexadecimal(digest, answer);
}
