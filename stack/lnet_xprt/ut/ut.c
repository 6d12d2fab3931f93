/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The runner of suites. */
#include "ut/ut.h"
#include <stdio.h>

int m0_ut_suite_run(const struct m0_ut_suite *suite)
{
    const struct m0_ut *test;
    int rc = suite->ts_init != NULL ? suite->ts_init() : 0;

    if (rc != 0)
        return rc;
    for (test = suite->ts_tests; test->t_name != NULL; test++) {
        printf("%s: %s\n", suite->ts_name, test->t_name);
        fflush(stdout);
        test->t_proc();
    }
    return suite->ts_fini != NULL ? suite->ts_fini() : 0;
}
