/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Common to fault_test.c, rx_window_test.c. */
#ifndef GNI_FAULT_FRAME_H
#define GNI_FAULT_FRAME_H

/* What must hold when connections come and go, windows wrap around, regions are large, and the
 * network is gone for a while. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <cmocka.h>
#include "av.h"
#include "ctx.h"
#include "domain.h"
#include "ep.h"
#include "fixture.h"
#include "gnip.h"
#include "lock.h"
#include "name.h"
#include "nic_internal.h"
#include "vc.h"
#include "rx_window.h"

static __attribute__((unused)) const struct gni_how plain = {0};

#define MS 1000000000ull

#endif
