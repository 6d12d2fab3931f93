/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Atomic memory operations: the meaning of the command words of gni_pub.h and their computation. */
#ifndef JACQUARD_ARIES_AMO_H
#define JACQUARD_ARIES_AMO_H

#include <stdbool.h>
#include <stdint.h>

bool aries_amo_valid(uint32_t command); /* whether gni_pub.h defines the command */

static inline bool aries_amo_fetches(uint32_t command)
{
    return (command & 0x100) == 0;
}
static inline bool aries_amo_second_generation(uint32_t command)
{
    return (command & 0x040) != 0;
}
static inline uint32_t aries_amo_width(uint32_t command) /* bytes of an element */
{
    return (command & 0x200) != 0 ? 4 : 8;
}
static inline bool aries_amo_cached(uint32_t command)
{
    return (command & (aries_amo_second_generation(command) ? 0x020 : 0x010)) != 0;
}
bool aries_amo_two_operands(uint32_t command); /* true for compare-swap and and-xor */
/*
 * The number of bytes that a command changes if its post says `length`. A 64-bit command other
 * than and-xor may change several elements. Any other changes one element, also if the length says
 * twice the operand (ugni item 84: programs post AX_S with 8).
 */
uint64_t aries_amo_length(uint32_t command, uint64_t length);

/*
 * Returns the new value of an element. 32-bit forms use the low halves and return a zero-extended
 * value.
 */
uint64_t aries_amo_apply(uint32_t command, uint64_t old, uint64_t first, uint64_t second);

#endif
