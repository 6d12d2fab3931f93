/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What m0_init() (motr/init.h) takes: what is global in a program. Here only modules use it. */
#ifndef M0_MODULE_INSTANCE_H
#define M0_MODULE_INSTANCE_H

#include "module/module.h"

enum m0_module_id {
    M0_MODULE_NET,
    M0_MODULE_UT,
    M0_MODULE_ADDB2,
    M0_MODULE_LOCALITY,
    M0_MODULE_HA,
    M0_MODULE_PROCESSOR,
    M0_MODULE_POOL,
    M0_MODULE_ISC,
    M0_MODULE_NR
};

struct m0 {
    uint64_t i_dep_gen; /* how many dependencies between its modules were added */
    void *i_moddata[M0_MODULE_NR]; /* of each module */
};

/* The instance of the calling process, which is m0_init()'s; if that had none, one that lasts until
 * m0_net_fini(). Not NULL. */
struct m0 *m0_get(void);
void m0_set(struct m0 *instance); /* pre: not NULL */

#endif
