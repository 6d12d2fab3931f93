/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sequences of LNet's calls on four nodes, drawn at random or by the bytes of a fuzzer. */
#ifndef JACQUARD_TESTS_LNET_SEQUENCE_H
#define JACQUARD_TESTS_LNET_SEQUENCE_H

#include <stddef.h>
#include <stdint.h>

extern struct sequence_counts { /* of all sequences */
    uint64_t messages, failures, unlinks, stops;
} sequence_counts;

/* One sequence: 2000 steps drawn from the seed, or with `bytes` as many as they last. Fails the
 * test in which it runs when something is wrong. */
void sequence_run(uint64_t seed, const uint8_t *bytes, size_t length);

#endif
