/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Byte order: numbers, those that a pointer names (p), and in place (s). x86-64 is little-endian.
 * libcfs/shims.h has le16_to_cpu() and the like. */
#ifndef JACQUARD_LIBCFS_KERNEL_BYTEORDER_H
#define JACQUARD_LIBCFS_KERNEL_BYTEORDER_H

#include <arpa/inet.h>
#include <string.h>
#include <linux/swab.h>

#include "libcfs/shims.h"

#define be16_to_cpu(x) ((__u16)__builtin_bswap16((__u16)(x)))
#define be32_to_cpu(x) ((__u32)__builtin_bswap32((__u32)(x)))
#define be64_to_cpu(x) ((__u64)__builtin_bswap64((__u64)(x)))
#define cpu_to_be16(x) ((__be16)be16_to_cpu(x))
#define cpu_to_be32(x) ((__be32)be32_to_cpu(x))
#define cpu_to_be64(x) ((__be64)be64_to_cpu(x))

#define LIBCFS_BYTE_ORDER(bits)                                         \
    static inline __u##bits le##bits##_to_cpup(const __le##bits *p)     \
    {                                                                   \
        return *p;                                                      \
    }                                                                   \
    static inline __le##bits cpu_to_le##bits##p(const __u##bits *p)     \
    {                                                                   \
        return *p;                                                      \
    }                                                                   \
    static inline __u##bits be##bits##_to_cpup(const __be##bits *p)     \
    {                                                                   \
        return be##bits##_to_cpu(*p);                                   \
    }                                                                   \
    static inline __be##bits cpu_to_be##bits##p(const __u##bits *p)     \
    {                                                                   \
        return cpu_to_be##bits(*p);                                     \
    }                                                                   \
    static inline void be##bits##_add_cpu(__be##bits *p, __u##bits by)  \
    {                                                                   \
        *p = cpu_to_be##bits(be##bits##_to_cpu(*p) + by);               \
    }                                                                   \
    static inline void le##bits##_add_cpu(__le##bits *p, __u##bits by)  \
    {                                                                   \
        *p = (__le##bits)(*p + by);                                     \
    }                                                                   \
    /* of addresses that are no multiple of the size */                 \
    static inline __u##bits get_unaligned_le##bits(const void *p)       \
    {                                                                   \
        __u##bits value;                                                \
        memcpy(&value, p, sizeof(value));                               \
        return value;                                                   \
    }                                                                   \
    static inline __u##bits get_unaligned_be##bits(const void *p)       \
    {                                                                   \
        return be##bits##_to_cpu(get_unaligned_le##bits(p));            \
    }                                                                   \
    static inline void put_unaligned_le##bits(__u##bits value, void *p) \
    {                                                                   \
        memcpy(p, &value, sizeof(value));                               \
    }                                                                   \
    static inline void put_unaligned_be##bits(__u##bits value, void *p) \
    {                                                                   \
        put_unaligned_le##bits(be##bits##_to_cpu(value), p);            \
    }                                                                   \
    _Static_assert(sizeof(__u##bits) == bits / 8, "")
LIBCFS_BYTE_ORDER(16);
LIBCFS_BYTE_ORDER(32);
LIBCFS_BYTE_ORDER(64);

#define le16_to_cpus(p) ((void)(p))
#define le32_to_cpus(p) ((void)(p))
#define le64_to_cpus(p) ((void)(p))
#define cpu_to_le16s(p) ((void)(p))
#define cpu_to_le32s(p) ((void)(p))
#define cpu_to_le64s(p) ((void)(p))
#define be16_to_cpus(p) __swab16s(p)
#define be32_to_cpus(p) __swab32s(p)
#define be64_to_cpus(p) __swab64s(p)
#define cpu_to_be16s(p) __swab16s(p)
#define cpu_to_be32s(p) __swab32s(p)
#define cpu_to_be64s(p) __swab64s(p)

#define swab16 __swab16
#define swab32 __swab32
#define swab64 __swab64
#define swab16p __swab16p
#define swab32p __swab32p
#define swab64p __swab64p
#define swab16s __swab16s
#define swab32s __swab32s
#define swab64s __swab64s

#define get_unaligned(p)                                      \
    ({                                                        \
        __typeof__(*(p)) unaligned__;                         \
        memcpy((void *)&unaligned__, p, sizeof(unaligned__)); \
        unaligned__;                                          \
    })
#define put_unaligned(value, p)                                     \
    ((void)({                                                       \
        __typeof__(*(p)) unaligned__ = (value);                     \
        memcpy(p, (const void *)&unaligned__, sizeof(unaligned__)); \
    }))

#endif
