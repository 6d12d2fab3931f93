/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The original has this part of its interface in a header of its own. */
#ifndef JACQUARD_MADELEINE_ORIGINAL_MAD_CONNECTION
#define JACQUARD_MADELEINE_ORIGINAL_MAD_CONNECTION

#include <madeleine.h>

#endif
