/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The signals that the launcher passes on. */
#ifndef JACQUARD_PMRUN_SIGNALS_H
#define JACQUARD_PMRUN_SIGNALS_H

#include <uv.h>

struct pmrun_signals;
/* INT, QUIT, TERM, USR1, USR2, ALRM, HUP, TSTP, CONT; not those that were ignored before. */
struct pmrun_signals *pmrun_signals_new(uv_loop_t *loop, void (*got)(void *owner, int signal),
                                        void *owner);
void pmrun_signals_close(struct pmrun_signals *signals); /* g_free() after a turn of the loop */

#endif
