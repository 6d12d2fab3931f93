/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * For programs of Madeleine III: they find processes and channels as directory.h says, and their
 * mad_init has two arguments. The folder of the library's own header follows this one in the list
 * of include directories.
 */
#ifndef JACQUARD_MADELEINE_COMPAT_3_H
#define JACQUARD_MADELEINE_COMPAT_3_H

#if defined(JACQUARD_MADELEINE_H) && !defined(JACQUARD_MADELEINE_2008)
#error "A program includes the header of 2000 or that of Madeleine III."
#endif
#define JACQUARD_MADELEINE_2008
#include_next <madeleine.h>

#include "madeleine/common.h"

#undef mad_init
#define mad_init(argc, argv) mad_init_directory((argc), (argv), NULL, NULL)

#endif
