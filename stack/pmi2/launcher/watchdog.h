/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A small process that survives the launcher for a moment. When the launcher dies, for whatever
 * reason, the watchdog kills the process groups that were added. The kernel kills the ranks
 * themselves then, but not the processes that they have started.
 */
#ifndef JACQUARD_PMRUN_WATCHDOG_H
#define JACQUARD_PMRUN_WATCHDOG_H

#include <sys/types.h>

void pmrun_watchdog_start(void); /* once, early: it is a copy of the launcher */
void pmrun_watchdog_add(pid_t group);
void pmrun_watchdog_remove(pid_t group);

#endif
