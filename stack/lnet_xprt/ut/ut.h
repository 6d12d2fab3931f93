/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Unit tests in suites, as sources of the storage system define them. */
#ifndef M0_UT_UT_H
#define M0_UT_UT_H

#include <stdio.h>

#include "lib/assert.h"
#include "lib/list.h"
#include "lib/misc.h"
#include "lib/types.h"
#include "module/module.h"

/* A condition that does not hold ends the process, as that of M0_ASSERT() does. True. */
#define M0_UT_ASSERT(...) \
    m0_ut_assertimpl((__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__, __func__)
bool m0_ut_assertimpl(bool condition, const char *text, const char *file, int line,
                      const char *function);
/* Lines about the progress of a test; they are not printed. */
#define M0_UT_ENTER(...)
#define M0_UT_LOG(...)
#define M0_UT_RETURN(...)

struct m0_ut {
    const char *t_name; /* NULL: the end of the list */
    void (*t_proc)(void);
    const char *t_owner;
    bool t_enabled; /* not looked at */
};

enum { M0_UT_SUITE_TESTS_MAX = 128 };
/* Of the members, the runner looks at ts_masked and those from ts_name on that say so. */
struct m0_ut_suite {
    struct m0_module ts_module;
    const struct m0_ut_moddep *ts_deps;
    unsigned ts_deps_nr;
    struct m0_list_link ts_linkage;
    bool ts_enabled;
    bool ts_masked; /* its tests do not run, which the runner prints */
    const char *ts_name; /* printed */
    const char *ts_owners;
    const char *ts_yaml_config_string;
    int (*ts_init)(void); /* before the tests; may be NULL */
    int (*ts_fini)(void); /* after them; may be NULL */
    struct m0_ut ts_tests[M0_UT_SUITE_TESTS_MAX];
    int ts_order;
};
/* Runs the tests of a suite in their order and prints their names; 0, or what ts_init or ts_fini
 * returned, in which case the tests did not run or the suite was not cleaned up. */
int m0_ut_suite_run(const struct m0_ut_suite *suite);

#endif
