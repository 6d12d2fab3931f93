/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the tests of the client library share: joining a scripted server, and leaving it. */
#ifndef JACQUARD_TESTS_PMI_CLIENT_COMMON_H
#define JACQUARD_TESTS_PMI_CLIENT_COMMON_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "pmi2.h"
#include "script.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int spawned, size, rank, appnum;

static inline int join(void)
{
    spawned = size = rank = appnum = -7;
    return PMI2_Init(&spawned, &size, &rank, &appnum);
}

static inline void start(const struct step *steps, size_t count, bool left)
{
    script_start(steps, count, left);
    assert_int_equal(join(), PMI2_SUCCESS);
}

static inline void end(void)
{
    assert_int_equal(PMI2_Finalize(), PMI2_SUCCESS);
    script_end();
}

/* Removes the variables of an outer process manager. */
static inline void clear_environment(void)
{
    static const char *const names[] = {"PMI_FD",   "PMI_PORT", "PMI_ID",    "PMI_JOBID",
                                        "PMI_RANK", "PMI_SIZE", "PMI_KEY_FD"};
    size_t i;

    for (i = 0; i < COUNT(names); i++)
        unsetenv(names[i]);
}

#endif
