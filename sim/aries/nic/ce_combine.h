/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The computation of a collective engine: the commands of gni_ce_cmd_type_t on two operands, with
 * rounding and floating-point exceptions. The caller decides which operand comes first, on which a
 * sum of floats depends.
 *
 * Assumed, because no source states it: in minimum and maximum a number wins over a NaN, and a
 * signalling NaN raises OP_INVAL. A sum with NaN operands is the first of them, quieted.
 * Infinities of different signs add up to the NaN without payload. -0 equals +0. Integers wrap
 * around.
 */
#ifndef JACQUARD_ARIES_CE_COMBINE_H
#define JACQUARD_ARIES_CE_COMBINE_H

#include <stdbool.h>
#include <stdint.h>
#include "nic/gni.h"

struct aries_ce_value {
    uint64_t operand[2]; /* for minimum and maximum: value and index */
    uint32_t exceptions; /* GNI_CE_FPE_ */
};

bool aries_ce_command_valid(uint32_t command); /* whether gni_ce_cmd_type_t has it */

static inline bool aries_ce_command_short(uint32_t command) /* 32-bit operands, in the low halves */
{
    return (command & 1) == 0;
}
/*
 * Whether the packet carries the second operand, either to reduce it or as an index. mode:
 * GNI_CEMODE_.
 */
bool aries_ce_two_operands(uint32_t command, uint32_t mode);

/*
 * The operands of a post as the engine uses them: unused parts are cleared, and exceptions that
 * the mode injects are set.
 */
struct aries_ce_value aries_ce_value_of(uint32_t command, uint32_t mode, uint64_t first,
                                        uint64_t second);

/* Into := into ∘ next. rounding: one of GNI_CE_MODE_ROUND_. */
void aries_ce_combine(uint32_t command, uint32_t mode, uint32_t rounding,
                      struct aries_ce_value *into, const struct aries_ce_value *next);

#endif
