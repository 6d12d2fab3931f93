/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The kernel's types, beside the system's header of that name, which libcfs/shims.h and headers of
 * the system include: only kernel code gets them from here, and not before shims.h is complete.
 */
#include_next <linux/types.h>
#if defined(__KERNEL__) && \
    (!defined(JACQUARD_LIBCFS_SHIMS_H) || defined(JACQUARD_LIBCFS_SHIMS_COMPLETE))
#include "libcfs/libcfs.h" /* NOLINT(llvm-header-guard): see above */
#endif
