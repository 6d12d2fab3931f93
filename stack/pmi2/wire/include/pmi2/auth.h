/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How a process authenticates as a rank of a job. The server sends a nonce (text, used once). With
 * `authtype=challenge-hmac-sha256` the client answers with
 *
 *     HMAC-SHA-256(key, nonce NUL jobid NUL rank)
 *
 * rank in decimal. The draft's type is `challenge-sha256` with SHA-256(key || nonce): it proves no
 * rank, and a server accepts it only if it is configured to. Answers are in hexadecimal, lower
 * case.
 */
#ifndef JACQUARD_PMI2_AUTH_H
#define JACQUARD_PMI2_AUTH_H

#include <stddef.h>
#include <stdint.h>

#include "pmi2/wire.h"

#define PMI2_AUTH_TYPE_HMAC "challenge-hmac-sha256"
#define PMI2_AUTH_TYPE_DRAFT "challenge-sha256"
#define PMI2_AUTH_ANSWER 65 /* bytes, with the NUL */
#define PMI2_SHA256_BYTES 32

/* Of the parts one after the other. */
void pmi2_hmac_sha256(const uint8_t *key, size_t key_bytes, const struct pmi2_slice *parts,
                      size_t count, uint8_t digest[PMI2_SHA256_BYTES]);
void pmi2_auth_answer(const uint8_t *key, size_t key_bytes, struct pmi2_slice nonce,
                      struct pmi2_slice jobid, uint32_t rank, char answer[PMI2_AUTH_ANSWER]);
void pmi2_auth_answer_draft(const uint8_t *key, size_t key_bytes, struct pmi2_slice nonce,
                            char answer[PMI2_AUTH_ANSWER]);

#endif
