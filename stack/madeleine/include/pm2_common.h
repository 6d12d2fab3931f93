/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The header by which programs from the end of 2000 on include all libraries of PM2. */
#ifndef JACQUARD_MADELEINE_PM2_COMMON_H
#define JACQUARD_MADELEINE_PM2_COMMON_H

#include <madeleine.h>

#include "madeleine/common.h"
#include "madeleine/directory.h"

#endif
