/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The tests of posts: each rank has a side with registered memory. */
#ifndef JACQUARD_TESTS_API_POST_SIDE_H
#define JACQUARD_TESTS_API_POST_SIDE_H

#include "fixture.h"
#include <string.h>

#define BYTES 16384u
#define ADDRESS_FREE 8 /* offsets that are tried where alignment is free */

/* The memory that the ranks register. */
extern uint8_t memory[MACHINE_RANKS][BYTES];

/* Clears the rank's memory and opens its side, in a domain with these modes. */
void open_as(struct rank *rank, struct side *side, uint32_t modes);

void open_side(struct rank *rank, struct side *side);

/* Posts the descriptor and waits for its event. */
void post_and_complete(const struct side *side, gni_post_descriptor_t *descr);

/* The byte at this place of a pattern; never 0. */
uint8_t pattern(uint32_t seed, uint32_t at);

/* Asserts that the post of these addresses returns `expected`. */
void expect_refused(const struct side *side, gni_post_type_t type, uint64_t local, uint64_t remote,
                    uint64_t bytes, gni_return_t expected);

#endif
