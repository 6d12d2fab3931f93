/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How a process proves to be a rank of a job, `authtype=challenge-sha256`: the server sends a nonce
 * (text, used once), the client answers with SHA-256(key || nonce || jobid || rank), rank in
 * decimal; the draft's form is SHA-256(key || nonce). In hexadecimal, lower case.
 */
#ifndef JACQUARD_PMI2_AUTH_H
#define JACQUARD_PMI2_AUTH_H

#include <stddef.h>
#include <stdint.h>

#include "pmi2/wire.h"

#define PMI2_AUTH_TYPE "challenge-sha256"
#define PMI2_AUTH_ANSWER 65 /* bytes, with the NUL */

/* rank < 0: the draft's form, without job and rank. */
void pmi2_auth_answer(const uint8_t *key, size_t key_bytes, struct pmi2_slice nonce,
                      struct pmi2_slice jobid, int64_t rank, char answer[PMI2_AUTH_ANSWER]);

#endif
