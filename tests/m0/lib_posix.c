/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The cases of M0_CASES on POSIX threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include M0_CASES

#define CASE(name)                        \
    static void test_##name(void **state) \
    {                                     \
        assert_int_equal(name(), 0);      \
    }
M0_RUN_CASES(CASE)

#ifdef M0_BREAKS
/* The process ends as by abort(3), and the text has the clause. */
static void a_violated_precondition_aborts(void **state)
{
    char text[512] = "";
    int ends[2], status;
    ssize_t bytes;
    pid_t child;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        signal(SIGABRT, SIG_DFL);
        m0_lib_break_a_precondition();
        _exit(0);
    }
    close(ends[1]);
    bytes = read(ends[0], text, sizeof(text) - 1);
    close(ends[0]);
    assert_true(bytes > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_non_null(strstr(text, "precondition of m0_list_fini"));
    assert_non_null(strstr(text, "m0_list_is_empty(list)"));
}
#define BREAKS cmocka_unit_test(a_violated_precondition_aborts),
#else
#define BREAKS
#endif

int main(void)
{
#define LISTED(name) cmocka_unit_test(test_##name),
    const struct CMUnitTest tests[] = {M0_RUN_CASES(LISTED) BREAKS};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
