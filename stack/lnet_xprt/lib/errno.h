/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Error numbers; functions return them negated. */
#ifndef M0_LIB_ERRNO_H
#define M0_LIB_ERRNO_H

#include <errno.h>

#endif
