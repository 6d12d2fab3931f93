/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Typed texts: arguments of workloads, and the fields of a scenario. Nothing here depends on the
 * locale or, except for reals, on binary floating point. */
#define _GNU_SOURCE /* strtod_l */
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run/arguments.h"

struct unit {
    const char *name;
    uint64_t factor;
};

static const struct unit byte_units[] = {
    {"B", 1},
    {"kB", 1000},
    {"KB", 1000},
    {"MB", 1000000},
    {"GB", 1000000000},
    {"TB", 1000000000000},
    {"KiB", 1ull << 10},
    {"MiB", 1ull << 20},
    {"GiB", 1ull << 30},
    {"TiB", 1ull << 40},
    {NULL, 0},
};

static const struct unit time_units[] = {
    {"ps", 1}, {"ns", 1000}, {"us", 1000000}, {"ms", 1000000000}, {"s", 1000000000000}, {NULL, 0},
};

/* Largest value of a count, size or time: fits a signed 64-bit integer, so that JSON can say it. */
#define NUMBER_MAX ((uint64_t)INT64_MAX)

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static uint64_t unit_factor(const struct unit *units, const char *name)
{
    for (; units->name != NULL; units++) {
        if (strcmp(units->name, name) == 0)
            return units->factor;
    }
    return 0;
}

/*
 * "12", "1.5us", "4 KiB" as an exact integer. Without units only an integer is accepted. A unit is
 * required where `unit_required`, except for zero.
 */
static bool parse_number(const char *text, const struct unit *units, bool unit_required,
                         uint64_t *number)
{
    unsigned __int128 mantissa = 0, scale = 1, product;
    uint64_t factor = 1;
    bool digits = false;

    for (; is_digit(*text); text++, digits = true) {
        mantissa = mantissa * 10 + (unsigned)(*text - '0');
        if (mantissa > NUMBER_MAX)
            return false;
    }
    if (units != NULL && *text == '.' && digits) {
        for (text++; is_digit(*text); text++) {
            mantissa = mantissa * 10 + (unsigned)(*text - '0');
            scale *= 10;
            if (scale > 1000000000000ull || mantissa > NUMBER_MAX)
                return false;
        }
    }
    if (!digits)
        return false;
    if (units != NULL && *text == ' ')
        text++;
    if (*text != '\0') {
        factor = units != NULL ? unit_factor(units, text) : 0;
        if (factor == 0)
            return false;
    } else if (unit_required && mantissa != 0) {
        return false;
    }
    product = mantissa * factor;
    if (product % scale != 0 || product / scale > NUMBER_MAX)
        return false;
    *number = (uint64_t)(product / scale);
    return true;
}

static bool parse_real(const char *text, double *real)
{
    locale_t plain;
    char *end;
    int error;

    if (text[0] == '\0' || strspn(text, "0123456789+-.eE") != strlen(text))
        return false;
    plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (plain == (locale_t)0)
        return false;
    errno = 0;
    *real = strtod_l(text, &end, plain);
    error = errno;
    freelocale(plain);
    return *end == '\0' && error == 0 && isfinite(*real);
}

static bool parse_bool(const char *text, uint64_t *truth)
{
    static const char *const words[] = {"false", "true", "False", "True", "no",
                                        "yes",   "off",  "on",    NULL};
    uint64_t i;

    for (i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], text) == 0) {
            *truth = i & 1;
            return true;
        }
    }
    return false;
}

static bool parse_choice(const char *text, const char *choices, uint64_t *index)
{
    size_t length = strlen(text);
    const char *word = choices;

    if (length == 0)
        return false;
    for (*index = 0;; ++*index) {
        size_t span = strcspn(word, "|");
        if (span == length && memcmp(word, text, length) == 0)
            return true;
        if (word[span] == '\0')
            return false;
        word += span + 1;
    }
}

static bool parse_unlimited(enum arg_type type, const char *text, const char *choices,
                            struct value *value)
{
    bool ok = false;

    memset(value, 0, sizeof(*value));
    value->text = text;
    switch (type) {
    case ARG_COUNT:
        ok = parse_number(text, NULL, false, &value->number);
        break;
    case ARG_BYTES:
        ok = parse_number(text, byte_units, false, &value->number);
        break;
    case ARG_TIME:
        ok = parse_number(text, time_units, true, &value->number);
        break;
    case ARG_REAL:
        return parse_real(text, &value->real);
    case ARG_BOOL:
        ok = parse_bool(text, &value->number);
        break;
    case ARG_CHOICE:
        ok = parse_choice(text, choices, &value->number);
        break;
    }
    value->real = (double)value->number;
    return ok;
}

static int compare(enum arg_type type, const struct value *a, const struct value *b)
{
    if (type == ARG_REAL)
        return (a->real > b->real) - (a->real < b->real);
    return (a->number > b->number) - (a->number < b->number);
}

bool wl_value_parse(enum arg_type type, const char *text, const char *minimum, const char *maximum,
                    const char *choices, struct value *value)
{
    struct value limit;

    return parse_unlimited(type, text, choices, value) &&
           (minimum == NULL || !parse_unlimited(type, minimum, choices, &limit) ||
            compare(type, value, &limit) >= 0) &&
           (maximum == NULL || !parse_unlimited(type, maximum, choices, &limit) ||
            compare(type, value, &limit) <= 0);
}
