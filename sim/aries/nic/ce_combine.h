/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a collective engine computes: the commands of gni_ce_cmd_type_t on two operands, rounding,
 * floating-point exceptions. Which operand comes first is the caller's order: a sum of floats
 * depends on it.
 *
 * What no source says is assumed: NaN loses against a number in minimum and maximum, signalling
 * ones raise OP_INVAL; a sum with NaN is that NaN, quieted, the first of two; infinities of
 * different signs add up to the NaN without payload. -0 equals +0. Integers wrap around.
 */
#ifndef JACQUARD_ARIES_CE_COMBINE_H
#define JACQUARD_ARIES_CE_COMBINE_H

#include <stdbool.h>
#include <stdint.h>
#include "nic/gni.h"

struct aries_ce_value {
    uint64_t operand[2]; /* minimum and maximum: value and index */
    uint32_t exceptions; /* GNI_CE_FPE_ */
};

bool aries_ce_command_valid(uint32_t command); /* one of gni_ce_cmd_type_t */

static inline bool aries_ce_command_short(uint32_t command) /* 32-bit operands, in the low halves */
{
    return (command & 1) == 0;
}
/* Does the second operand travel: as another one to reduce, or as an index? mode: GNI_CEMODE_. */
bool aries_ce_two_operands(uint32_t command, uint32_t mode);

/* The operands of a post as the engine takes them: unused parts cleared, injected exceptions. */
struct aries_ce_value aries_ce_value_of(uint32_t command, uint32_t mode, uint64_t first,
                                        uint64_t second);

/* into := into ∘ next. rounding: one of GNI_CE_MODE_ROUND_. */
void aries_ce_combine(uint32_t command, uint32_t mode, uint32_t rounding,
                      struct aries_ce_value *into, const struct aries_ce_value *next);

#endif
