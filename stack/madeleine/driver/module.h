/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Drivers that are modules beside the library: libmadeleine-KIND.so. */
#ifndef JACQUARD_MADELEINE_MODULE_H
#define JACQUARD_MADELEINE_MODULE_H

#include <stdbool.h>

enum { MAD_PATH_BYTES = 4096 };
/* Where the module is; false: it was not built. */
bool mad_module_path(const char *kind, char path[MAD_PATH_BYTES]);

#endif
