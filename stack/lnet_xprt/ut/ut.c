/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The runner of suites. */
#include "ut/ut.h"

bool m0_ut_assertimpl(bool condition, const char *text, const char *file, int line,
                      const char *function)
{
    if (!condition)
        m0_condition_violated("assertion", text, function, file, line);
    return true;
}

int m0_ut_suite_run(const struct m0_ut_suite *suite)
{
    const struct m0_ut *test = suite->ts_tests, *end = test + M0_UT_SUITE_TESTS_MAX;
    int rc;

    if (suite->ts_masked) {
        printf("%s: masked\n", suite->ts_name);
        return 0;
    }
    rc = suite->ts_init != NULL ? suite->ts_init() : 0;
    if (rc != 0)
        return rc;
    for (; test < end && test->t_name != NULL; test++) {
        printf("%s: %s\n", suite->ts_name, test->t_name);
        fflush(stdout);
        test->t_proc();
    }
    return suite->ts_fini != NULL ? suite->ts_fini() : 0;
}
