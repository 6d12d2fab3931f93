/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The transport's kernel flavour: the xo layer directly on the core in the kernel. */
#define M0_LNET_KERNEL 1
#include "net/lnet/lnet_main.c" /* NOLINT(bugprone-suspicious-include): one compilation unit */
