/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* All of it as one unit. */
#include "lab_timer.c"
#include "lab_rpc.c"
#include "lab_module.c"
