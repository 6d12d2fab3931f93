/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How two servers of a tree prove to each other that they know the key, each with an HMAC-SHA-256
 * over who it is and both nonces:
 *
 *   below: magic, nodes [first, last), nonce
 *   above: nonce, HMAC("above", nonces, nodes)
 *   below: HMAC("below", nonces, nodes); from here on the PMI tree's messages follow
 */
#ifndef JACQUARD_PMRUN_PROOF_H
#define JACQUARD_PMRUN_PROOF_H

#include <assert.h>
#include <glib.h>
#include <stdint.h>

#define PROOF_MAGIC "JQTREE1\n"
#define PROOF_BYTES 32

struct proof_hello {
    char magic[8];
    uint32_t first, last; /* network byte order */
    uint8_t nonce[PROOF_BYTES];
};
struct proof_answer {
    uint8_t nonce[PROOF_BYTES], proof[PROOF_BYTES];
};
static_assert(sizeof(struct proof_hello) == 16 + PROOF_BYTES &&
                  sizeof(struct proof_answer) == 2 * PROOF_BYTES,
              "what is sent has no padding");
/* who: "above" or "below". */
void proof_make(const uint8_t *key, const char *who, const struct proof_hello *hello,
                const uint8_t *nonce_above, uint8_t *proof);
gboolean proof_equal(const uint8_t *one, const uint8_t *other); /* in constant time */
void proof_random(void *bytes, gsize length);

#endif
