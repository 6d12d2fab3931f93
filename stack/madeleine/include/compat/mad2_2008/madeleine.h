/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * For programs of the last Madeleine II, of 2008: `configuration` is a pointer in the session
 * object, common_init starts the library, and memory has an alignment by MAD_ALIGNED. The folder of
 * the library's own header follows this one in the list of include directories.
 */
#ifndef JACQUARD_MADELEINE_COMPAT_2008_H
#define JACQUARD_MADELEINE_COMPAT_2008_H

#if defined(JACQUARD_MADELEINE_H) && !defined(JACQUARD_MADELEINE_2008)
#error "A program includes the header of 2000 or that of 2008."
#endif
#define JACQUARD_MADELEINE_2008
#include_next <madeleine.h>

#include "madeleine/common.h"

#endif
