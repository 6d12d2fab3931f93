/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Integers in the order of bytes of a message or a disk. */
#ifndef M0_LIB_BYTEORDER_H
#define M0_LIB_BYTEORDER_H

#include <endian.h>

#include "lib/types.h"

#define M0_BYTEORDER_DEFINE__(bits)                                               \
    static inline uint##bits##_t m0_byteorder_cpu_to_be##bits(uint##bits##_t x)   \
    {                                                                             \
        return htobe##bits(x);                                                    \
    }                                                                             \
    static inline uint##bits##_t m0_byteorder_cpu_to_le##bits(uint##bits##_t x)   \
    {                                                                             \
        return htole##bits(x);                                                    \
    }                                                                             \
    static inline uint##bits##_t m0_byteorder_be##bits##_to_cpu(uint##bits##_t x) \
    {                                                                             \
        return be##bits##toh(x);                                                  \
    }                                                                             \
    static inline uint##bits##_t m0_byteorder_le##bits##_to_cpu(uint##bits##_t x) \
    {                                                                             \
        return le##bits##toh(x);                                                  \
    }                                                                             \
    _Static_assert(sizeof(uint##bits##_t) * 8 == (bits), "")

M0_BYTEORDER_DEFINE__(16);
M0_BYTEORDER_DEFINE__(32);
M0_BYTEORDER_DEFINE__(64);

#endif
