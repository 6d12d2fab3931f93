/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Common to counter_test.c, queue_test.c. */
#ifndef GNI_QUEUE_FRAME_H
#define GNI_QUEUE_FRAME_H

/* Completion queues, counters, event queues; waiting for them; triggered operations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <poll.h>
#include <rdma/fi_trigger.h>
#include "fixture.h"

static __attribute__((unused)) const struct gni_how plain = {0};

#define MS 1000000000ull /* in ps */

#endif
