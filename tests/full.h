/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The slow set: a test that does less by default than its item of the checklist says takes the
 * item's number when JACQUARD_FULL is set, as ./dev test --full does for the programs registered
 * with FULL (cmake/jacquard.cmake). */
#ifndef TESTS_FULL_H
#define TESTS_FULL_H

#include <stdlib.h>

static inline long test_full(long by_default, long full)
{
    return getenv("JACQUARD_FULL") != NULL ? full : by_default;
}

#endif
