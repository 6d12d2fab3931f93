/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a program calls before and after everything else. */
#ifndef M0_MOTR_INIT_H
#define M0_MOTR_INIT_H

#include "module/instance.h"

/*
 * Initialises the network layer and registers its transports: that in memory, and that over LNet if
 * the program is linked with it, which is then the default; else that in memory is. So
 * m0_net_init() is not called besides. 0 or a negative errno.
 */
int m0_init(struct m0 *instance); /* may be NULL */
void m0_fini(void);
/* Around a change of the configuration: there is nothing to stop and to begin again. */
void m0_quiesce(void);
int m0_resume(struct m0 *instance); /* 0 */

#endif
