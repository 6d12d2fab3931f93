/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * kdreg, a kernel module of Cray systems. It reports when memory is unmapped that a process has
 * named before. Without its header (PORT_KDREG is not defined) there is no such device.
 */
#ifndef JACQUARD_PORT_POSIX_KDREG_H
#define JACQUARD_PORT_POSIX_KDREG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef PORT_KDREG
bool port_kdreg_open(void); /* once; false: the device cannot be used */
/* The number of the watched range, never 0; 0: the module has refused it. */
uint64_t port_kdreg_begin(uint64_t address, uint64_t bytes);
void port_kdreg_end(uint64_t range);
/*
 * Calls `changed` for each range that was unmapped since the last call and is still watched. False:
 * the device has failed, so changes may be missing from now on.
 */
bool port_kdreg_read(void (*changed)(const volatile void *address, size_t bytes));
#else
static inline bool port_kdreg_open(void)
{
    return false;
}
static inline uint64_t port_kdreg_begin(uint64_t address, uint64_t bytes)
{
    (void)address, (void)bytes;
    return 0;
}
static inline void port_kdreg_end(uint64_t range)
{
    (void)range;
}
static inline bool port_kdreg_read(void (*changed)(const volatile void *address, size_t bytes))
{
    (void)changed;
    return false;
}
#endif

#endif
