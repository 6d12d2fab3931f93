/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The name of motr/magic.h in older sources. */
#include "motr/magic.h"
