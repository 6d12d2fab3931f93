/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The header by which programs of 2008 include all libraries of their time. */
#ifndef JACQUARD_MADELEINE_PM2_COMMON_H
#define JACQUARD_MADELEINE_PM2_COMMON_H

#include <madeleine.h>

#endif
