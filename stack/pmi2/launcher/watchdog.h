/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A small process that outlives the launcher by a moment: when the launcher dies, whatever killed
 * it, the keeper kills the process groups it was told of. The kernel kills the ranks themselves
 * then, but not what they have started.
 */
#ifndef JACQUARD_PMRUN_WATCHDOG_H
#define JACQUARD_PMRUN_WATCHDOG_H

#include <sys/types.h>

void pmrun_watchdog_start(void); /* once, early: it is a copy of the launcher */
void pmrun_watchdog_add(pid_t group);
void pmrun_watchdog_remove(pid_t group);

#endif
