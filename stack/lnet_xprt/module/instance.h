/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What m0_init() (motr/init.h) takes: it holds nothing here. */
#ifndef M0_MODULE_INSTANCE_H
#define M0_MODULE_INSTANCE_H

struct m0 {
    int i_unused;
};

#endif
