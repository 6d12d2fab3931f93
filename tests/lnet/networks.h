/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What tests of the drivers share, besides world.h. */
#ifndef JACQUARD_TESTS_LNET_NETWORKS_H
#define JACQUARD_TESTS_LNET_NETWORKS_H

#include "wire.h"

/* Drops packets of a network: "net.packet" or "aries.packet". */
void lose(const char *point, uint64_t skip, uint64_t count, double probability);

/* Data that depends on a seed. */
uint8_t pattern_at(uint32_t seed, uint32_t i);
void fill(uint8_t *bytes, uint32_t length, uint32_t seed);
void expect_filled(const uint8_t *bytes, uint32_t length, uint32_t seed);

void put_to(lnet_nid_t target, uint64_t bits, void *start, unsigned length);
void get_from(lnet_nid_t target, uint64_t bits, void *start, unsigned length);
/* Waits for the n-th event of that kind; NULL: it did not come in time. */
const struct lnet_event *wait_event(unsigned node, enum lnet_event_kind kind, unsigned n,
                                    sim_time_t limit);

#endif
