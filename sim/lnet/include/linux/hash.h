/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The kernel's functions of numbers that hash tables have. */
#ifndef JACQUARD_LINUX_HASH_H
#define JACQUARD_LINUX_HASH_H

#include "libcfs/libcfs.h"

#define GOLDEN_RATIO_32 0x61C88647u
#define GOLDEN_RATIO_64 0x61C8864680B583EBull
#define GOLDEN_RATIO_PRIME GOLDEN_RATIO_64
static inline u32 __hash_32(u32 value)
{
    return value * GOLDEN_RATIO_32;
}
static inline u32 hash_32(u32 value, unsigned bits)
{
    return __hash_32(value) >> (32 - bits);
}
static inline u32 hash_64(u64 value, unsigned bits)
{
    return (u32)(value * GOLDEN_RATIO_64 >> (64 - bits));
}
#define hash_long(value, bits) hash_64(value, bits)
static inline u32 hash_ptr(const void *pointer, unsigned bits)
{
    return hash_64((uintptr_t)pointer, bits);
}
static inline u32 hash32_ptr(const void *pointer)
{
    return (u32)((uintptr_t)pointer ^ (uintptr_t)pointer >> 32);
}

#endif
