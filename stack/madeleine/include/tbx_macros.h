/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The original has this part of its toolbox in a header of its own. */
#ifndef JACQUARD_MADELEINE_ORIGINAL_TBX_MACROS
#define JACQUARD_MADELEINE_ORIGINAL_TBX_MACROS

#include "madeleine/toolbox.h"

#endif
