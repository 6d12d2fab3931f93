/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The kernel that the headers of linux/ and asm/ here are like. */
#ifndef JACQUARD_LINUX_VERSION_H
#define JACQUARD_LINUX_VERSION_H
#define KERNEL_VERSION(a, b, c) (((a) << 16) + ((b) << 8) + (c))
#define LINUX_VERSION_CODE KERNEL_VERSION(4, 18, 0)
#define LINUX_VERSION_MAJOR 4
#define LINUX_VERSION_PATCHLEVEL 18
#define LINUX_VERSION_SUBLEVEL 0
#define UTS_RELEASE "4.18.0"
#endif
