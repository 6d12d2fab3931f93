/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory and endpoints for tests of posts. */
#ifndef JACQUARD_TESTS_POST_FRAME_H
#define JACQUARD_TESTS_POST_FRAME_H

#include "fixture.h"

#define BYTES 16384u
#define ADDRESS_FREE 8 /* offsets that are tried where alignment is free */

extern uint8_t memory[MACHINE_RANKS][BYTES];
void open_as(struct rank *rank, struct side *side, uint32_t modes);
void open_side(struct rank *rank, struct side *side);
void post_and_complete(const struct side *side, gni_post_descriptor_t *descr);
uint8_t pattern(uint32_t seed, uint32_t at);
void expect_refused(const struct side *side, gni_post_type_t type, uint64_t local, uint64_t remote,
                    uint64_t bytes, gni_return_t expected);

#endif
