/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Unit tests in suites, as sources of the storage system define them. */
#ifndef M0_UT_UT_H
#define M0_UT_UT_H

#include "lib/assert.h"

/* A condition that does not hold ends the process, as M0_ASSERT() does. */
#define M0_UT_ASSERT(condition) M0_ASSERT(condition)

struct m0_ut {
    const char *t_name; /* NULL: the end of the list */
    void (*t_proc)(void);
    const char *t_owner;
};

struct m0_ut_suite {
    const char *ts_name;
    const char *ts_owners;
    int (*ts_init)(void); /* before the tests; may be NULL */
    int (*ts_fini)(void); /* after them; may be NULL */
    struct m0_ut ts_tests[];
};

/* Runs the tests of a suite in their order and prints their names; 0, or what ts_init or ts_fini
 * returned, in which case the tests did not run or the suite was not cleaned up. */
int m0_ut_suite_run(const struct m0_ut_suite *suite);

#endif
