/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Stack overflows end the process with a clear message and exit code. Each case is a child process.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "internal.h"
#include "sanitizer.h"

/* Each frame is reached through the next one, so that no compiler folds them. */
__attribute__((noinline)) static void dive(int depth, volatile char *above)
{
    volatile char frame[512];

    frame[depth] = above[0];
    if (depth > 0)
        dive(depth - 1, &frame[depth]);
    above[0] = frame[depth];
}

static void deep(void *arg)
{
    volatile char first = 1;

    dive((int)(intptr_t)arg, &first);
    sim_sleep_until(10);
}

/* Exit code of a child that runs a fiber of so many frames; its stderr in `text`. */
static int child(int frames, bool canaries, char *text, size_t size)
{
    const struct sim_options options = {.seed = 1, .stack_bytes = 32u << 10};
    int channel[2], status;
    size_t length = 0;
    ssize_t got;
    pid_t pid;

    assert_int_equal(pipe(channel), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(channel[1], STDERR_FILENO);
        sim_init(&options);
        if (canaries) {
            sim_stacks_fini();
            sim_stacks_init(options.stack_bytes, 0, true);
            sim_fibers_init();
        }
        sim_fiber_start(deep, (void *)(intptr_t)frames, "deep thought", 0);
        _exit(sim_run() == SIM_DONE ? 0 : 1);
    }
    close(channel[1]);
    while (length < size - 1 && (got = read(channel[0], text + length, size - 1 - length)) > 0)
        length += (size_t)got;
    text[length] = '\0';
    close(channel[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void overflow(bool canaries)
{
    char text[1024];

    assert_int_equal(child(8, canaries, text, sizeof text), 0);
    assert_string_equal(text, "");
    /* 60 frames of 512 bytes and more are past 32 KiB, but not past the slot below that canaries
     * need. */
    assert_int_equal(child(60, canaries, text, sizeof text), SIM_EXIT_STACK_OVERFLOW);
    assert_non_null(strstr(text, "the stack of fiber \"deep thought\" overflowed its 32 KiB"));
}

static void guards_catch_an_overflow(void **state)
{
    const struct sim_options options = {.seed = 1};
    bool guarded;

    sim_init(&options);
    guarded = sim_stack_guarded();
    sim_fini();
    if (guarded)
        overflow(false);
}

static char *slot; /* room below the first slot, for the canary case */

static void below(void *arg)
{
    memset(slot, 0, 64); /* what an overflow would have done */
    sim_sleep_until(10);
}

static void canaries_catch_an_overflow(void **state)
{
    const struct sim_options options = {.seed = 1};
    struct sim_fiber *fiber;
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        close(STDERR_FILENO);
        sim_init(&options);
        sim_stacks_fini();
        sim_stacks_init(0, 0, true);
        sim_fibers_init();
        fiber = sim_fiber_start(below, NULL, "deep thought", 0);
        sim_fiber_start(deep, NULL, "other", 1);
        slot = fiber->stack.bottom;
        sim_run();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), SIM_EXIT_STACK_OVERFLOW);
}

static volatile uintptr_t nowhere = 64; /* not 0, which UBSan would catch */

/* Somebody else's fault must not be taken for ours. */
static void other_faults_go_to_the_previous_handler(void **state)
{
    const struct sim_options options = {.seed = 1};
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        close(STDERR_FILENO);
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        signal(SIGSEGV, SIG_DFL);
        sim_init(&options);
        *(volatile char *)nowhere = 1;
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSEGV);
}

/* An idle fiber keeps its top page and no more. */
static long resident_pages(void)
{
    char text[128];
    long total, resident;
    FILE *file = fopen("/proc/self/statm", "r");

    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    assert_int_equal(sscanf(text, "%ld %ld", &total, &resident), 2);
    return resident;
}

static bool never(const void *what)
{
    return false;
}

static void idle(void *arg)
{
    static const struct sim_wait wait = {.text = "nothing"};

    while (!sim_poll(&wait, never, 100))
        ;
}

static void an_idle_fiber_is_small(void **state)
{
    enum { COUNT = 5000 };
    const struct sim_options options = {.seed = 1};
    long before, after;
    int i;

#ifdef SANITIZER_ADDRESS
    return; /* frames are larger and shadow memory counts */
#endif
    sim_init(&options);
    before = resident_pages();
    for (i = 0; i < COUNT; i++)
        sim_fiber_start(idle, NULL, "idle", 0);
    assert_int_equal(sim_run(), SIM_DEADLOCK);
    after = resident_pages();
    assert_true((after - before) * 4096 <= 24l * 1024 * COUNT);
    sim_fini();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guards_catch_an_overflow),
        cmocka_unit_test(canaries_catch_an_overflow),
        cmocka_unit_test(other_faults_go_to_the_previous_handler),
        cmocka_unit_test(an_idle_fiber_is_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
