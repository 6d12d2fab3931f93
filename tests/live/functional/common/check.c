/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Errors, and the watchdog. */
#include "internal.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static struct {
    const char *program, *role;
    char step[128];
} self = {.program = "?", .role = "?"};

void fail(const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fprintf(stderr, "%s (%s): %s%s%s\n", self.program, self.role, self.step,
            self.step[0] != '\0' ? ": " : "", text);
    /* Not exit(): destructors of providers are not what is tested, after an error. */
    fflush(NULL);
    _exit(1);
}

void step(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(self.step, sizeof(self.step), format, args);
    va_end(args);
}

void check_at(const char *file, int line, const char *what, ssize_t status)
{
    if (status < 0)
        fail("%s:%d: %s: %s (%zd)", file, line, what, fi_strerror((int)-status), status);
}

void expect_at(const char *file, int line, const char *what, ssize_t status, ssize_t expected)
{
    if (status != expected)
        fail("%s:%d: %s is %zd (%s), expected %zd (%s)", file, line, what, status,
             status < 0 ? fi_strerror((int)-status) : "a number", expected,
             expected < 0 ? fi_strerror((int)-expected) : "a number");
}

static void on_alarm(int number)
{
    static const char text[] = ": took too long\n";
    ssize_t ignored = write(2, self.program, strlen(self.program));

    (void)number;
    ignored += write(2, " (", 2);
    ignored += write(2, self.role, strlen(self.role));
    ignored += write(2, "): ", 3);
    ignored += write(2, self.step, strlen(self.step));
    ignored += write(2, text, sizeof(text) - 1);
    (void)ignored;
    _exit(1);
}

double now_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void check_begin(const char *program, const char *role, unsigned seconds)
{
    self.program = program;
    self.role = role;
    signal(SIGALRM, on_alarm);
    alarm(seconds);
}
