/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How two programs prove to each other that they know a key, each with an HMAC-SHA-256 over its
 * role and both nonces. Servers of a tree:
 *
 *   below: magic, nodes [first, last), nonce
 *   above: nonce, HMAC("above", nonces, nodes)
 *   below: HMAC("below", nonces, nodes); from here on the PMI tree's messages follow
 *
 * A name server and its clients likewise, as "server" and "client" and without nodes.
 */
#ifndef JACQUARD_PMRUN_PROOF_H
#define JACQUARD_PMRUN_PROOF_H

#include <assert.h>
#include <glib.h>
#include <stdint.h>

#define PMRUN_PROOF_BYTES 32

struct pmrun_proof_kind { /* the protocol, so that no proof is valid for another one */
    char magic[9];
    const char *here, *there; /* roles of the side that listens and of the side that connects */
};
extern const struct pmrun_proof_kind pmrun_proof_tree, pmrun_proof_names;

struct pmrun_proof_hello {
    char magic[8];
    uint32_t first, last; /* network byte order */
    uint8_t nonce[PMRUN_PROOF_BYTES];
};
struct pmrun_proof_answer {
    uint8_t nonce[PMRUN_PROOF_BYTES], proof[PMRUN_PROOF_BYTES];
};
static_assert(sizeof(struct pmrun_proof_hello) == 16 + PMRUN_PROOF_BYTES &&
                  sizeof(struct pmrun_proof_answer) == 2 * PMRUN_PROOF_BYTES,
              "what is sent has no padding");
/* who: one of the kind's roles. */
void pmrun_proof_make(const uint8_t *key, const char *who, const struct pmrun_proof_hello *hello,
                      const uint8_t *nonce_above, uint8_t *proof);
/* The connecting side, on a blocking stream. */
gboolean pmrun_proof_send(int fd, const struct pmrun_proof_kind *kind, const uint8_t *key,
                          uint32_t first, uint32_t last);
gboolean pmrun_proof_equal(const uint8_t *one, const uint8_t *other); /* in constant time */
void pmrun_proof_random(void *bytes, gsize length);

#endif
