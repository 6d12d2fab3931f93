/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The slow set: a test that does less by default than its item of the checklist says takes the
 * item's number when JACQUARD_FULL is set, as ./dev test --slow does for the programs registered
 * with FULL (cmake/jacquard.cmake). */
#ifndef TESTS_FULL_H
#define TESTS_FULL_H

#include <stdlib.h>

static inline long test_full(long by_default, long full)
{
    return getenv("JACQUARD_FULL") != NULL ? full : by_default;
}

/* A number of seeds or repetitions, of which builds with the address sanitizer, in which each takes
 * several times as long, take a third by default. */
static inline long test_seeds(long by_default, long full)
{
#ifdef __SANITIZE_ADDRESS__
    by_default = (by_default + 2) / 3;
#endif
    return test_full(by_default, full);
}

#endif
