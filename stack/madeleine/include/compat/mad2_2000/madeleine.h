/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * For programs of April 2000: the library's own header has their names. Its folder follows this one
 * in the list of include directories.
 */
#ifndef JACQUARD_MADELEINE_COMPAT_2000_H
#define JACQUARD_MADELEINE_COMPAT_2000_H

#ifdef JACQUARD_MADELEINE_2008
#error "A program includes the header of 2000 or that of 2008."
#endif
#include_next <madeleine.h>

#endif
