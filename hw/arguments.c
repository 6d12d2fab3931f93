/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner.h"

struct unit {
    const char *name;
    double factor;
};

static const struct unit byte_units[] = {
    {"", 1},         {"B", 1},    {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0},
    {"TiB", 0x1p40}, {"kB", 1e3}, {"MB", 1e6},     {"GB", 1e9},        {NULL, 0}};
static const struct unit time_units[] = {{"ps", 1},   {"ns", 1e3}, {"us", 1e6},
                                         {"ms", 1e9}, {"s", 1e12}, {NULL, 0}};
static const struct unit no_units[] = {{"", 1}, {NULL, 0}};

static bool number_of(const char *text, const struct unit *units, double *number)
{
    char *end;

    errno = 0;
    *number = strtod(text, &end);
    if (end == text || errno != 0 || !isfinite(*number))
        return false;
    if (*number == 0 && *end == '\0')
        return true;
    for (; units->name != NULL; units++) {
        if (strcmp(end, units->name) == 0) {
            *number *= units->factor;
            return true;
        }
    }
    return false;
}

/* The word among "put|get", or NULL. */
static const char *choose(const char *choices, const char *text)
{
    static char words[ARGUMENTS_MAX * 4][NAME_BYTES]; /* a program asks a few times, then never */
    static size_t used;
    size_t length = strlen(text);
    const char *at = choices;

    while (at != NULL && *at != '\0') {
        size_t word = strcspn(at, "|");

        if (word == length && strncmp(at, text, word) == 0 && word < NAME_BYTES &&
            used < sizeof(words) / sizeof(words[0])) {
            memcpy(words[used], at, word);
            return words[used++];
        }
        at += word + (at[word] == '|');
    }
    return NULL;
}

static bool parse_bool(const char *text, uint64_t *number)
{
    static const char *const words[] = {"false", "true", "off", "on", "no", "yes", NULL};
    uint64_t i;

    for (i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], text) == 0) {
            *number = i & 1;
            return true;
        }
    }
    return false;
}

static bool parse_untested(const struct workload_arg *arg, const char *text, struct value *value)
{
    const struct unit *units = arg->type == ARG_BYTES  ? byte_units
                               : arg->type == ARG_TIME ? time_units
                                                       : no_units;

    if (arg->type == ARG_CHOICE)
        return (value->text = choose(arg->choices, text)) != NULL;
    if (arg->type == ARG_BOOL)
        return parse_bool(text, &value->number);
    if (!number_of(text, units, &value->real))
        return false;
    if (arg->type == ARG_REAL)
        return true;
    if (value->real < 0 || value->real >= 0x1p64)
        return false;
    value->number = (uint64_t)value->real;
    return arg->type == ARG_TIME || (double)value->number == value->real;
}

bool argument_parse(const struct workload_arg *arg, const char *text, struct value *value,
                    char *problem, size_t size)
{
    struct value limit = {0};
    bool ok = parse_untested(arg, text, value);

    if (ok && arg->minimum != NULL && parse_untested(arg, arg->minimum, &limit))
        ok = value->real >= limit.real;
    if (ok && arg->maximum != NULL && parse_untested(arg, arg->maximum, &limit))
        ok = value->real <= limit.real;
    if (!ok)
        snprintf(problem, size, "%s=%s is not allowed; allowed: %s%s%s%s%s", arg->name, text,
                 arg->choices != NULL     ? arg->choices
                 : arg->type == ARG_BOOL  ? "true, false"
                 : arg->type == ARG_BYTES ? "a size such as 4KiB"
                 : arg->type == ARG_TIME  ? "a time such as 10us"
                                          : "a number",
                 arg->minimum != NULL ? ", at least " : "",
                 arg->minimum != NULL ? arg->minimum : "", arg->maximum != NULL ? ", at most " : "",
                 arg->maximum != NULL ? arg->maximum : "");
    return ok;
}
