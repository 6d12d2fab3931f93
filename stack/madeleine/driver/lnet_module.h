/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The LNet driver is a module of its own, so that libmadeleine.so does not need liblnet. A
 * simulation has it built in.
 */
#ifndef JACQUARD_MADELEINE_LNET_MODULE_H
#define JACQUARD_MADELEINE_LNET_MODULE_H

#include "madeleine/driver.h"

enum { MAD_LNET_ALIGNMENT = 64 };
#define MAD_LNET_MODULE_INTERFACE "mad_lnet_module_interface"
#pragma GCC visibility push(default)
const mad_driver_interface_t *mad_lnet_module_interface(void);
#pragma GCC visibility pop

#endif
