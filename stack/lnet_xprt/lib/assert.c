/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A condition that does not hold ends the process with its text. */
#include <stdarg.h>
#include <stdio.h>

#include "lib/assert.h"
#include "port/port.h"

void m0_condition_violated(const char *kind, const char *condition, const char *function,
                           const char *file, int line)
{
    char text[512];

    snprintf(text, sizeof(text), "%s of %s does not hold: %s (%s:%d)", kind, function, condition,
             file, line);
    port_panic(text);
}

void m0_impossible(const char *function, const char *file, int line, const char *format, ...)
{
    char reason[256], text[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(reason, sizeof(reason), format, arguments);
    va_end(arguments);
    snprintf(text, sizeof(text), "%s came to an impossible place: %s (%s:%d)", function, reason,
             file, line);
    port_panic(text);
}
