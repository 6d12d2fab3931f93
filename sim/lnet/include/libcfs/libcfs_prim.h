/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Signals of threads. There are none (libcfs/kernel/task.h), so what is blocked has no effect. */
#ifndef JACQUARD_LIBCFS_PRIM_H
#define JACQUARD_LIBCFS_PRIM_H

#include <signal.h>

/* What was blocked before. */
static inline sigset_t libcfs_no_signals(void)
{
    sigset_t none;

    sigemptyset(&none);
    return none;
}
#define cfs_block_allsigs() libcfs_no_signals()
#define cfs_block_sigs(signals) ((void)(signals), libcfs_no_signals())
#define cfs_block_sigsinv(signals) ((void)(signals), libcfs_no_signals())
#define cfs_restore_sigs(before) ((void)(before))
#define cfs_clear_sigpending() ((void)0)

#endif
