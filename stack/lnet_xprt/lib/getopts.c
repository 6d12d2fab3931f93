/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Options of a command line. The words are scanned here, not by getopt(3), whose position is a
 * variable of the whole address space: processes of a simulation share it.
 */
#include "lib/getopts.h"

#include <stdlib.h>

#include "lib/errno.h"
#include "lib/string.h"

const char M0_GETOPTS_DECIMAL_POINT = '.';

/* ---- numbers --------------------------------------------------------------------------------- */

/* The digits at *text; false: there are none. *text moves behind them. */
static bool number_at(const char **text, int base, uint64_t *value, int *error)
{
    char *end;

    if (!isdigit((unsigned char)**text))
        return false;
    errno = 0;
    *value = strtoull(*text, &end, base);
    if (errno == ERANGE)
        *error = -EOVERFLOW;
    *text = end;
    return true;
}

int m0_bcount_get(const char *argument, m0_bcount_t *out)
{
    static const char suffixes[] = "bkmgKMG";
    static const uint64_t factors[] = {512, 1 << 10, 1 << 20, 1 << 30, 1000, 1000000, 1000000000};
    const char *suffix;
    uint64_t value, factor = 1;
    int error = 0;

    if (!number_at(&argument, 0, &value, &error))
        return -EINVAL;
    if (*argument != 0) {
        suffix = strchr(suffixes, *argument);
        if (suffix == NULL || argument[1] != 0)
            return -EINVAL;
        factor = factors[suffix - suffixes];
    }
    if (error != 0 || __builtin_mul_overflow(value, factor, out))
        return -EOVERFLOW;
    return 0;
}

int m0_time_get(const char *argument, m0_time_t *out)
{
    static const struct {
        const char *name;
        uint64_t nanoseconds;
    } units[] = {{"", 1000000000}, {"s", 1000000000}, {"ms", 1000000}, {"us", 1000}, {"ns", 1}};
    uint64_t whole = 0, fraction = 0, step;
    const char *digit, *begin;
    bool any;
    size_t i;
    int error = 0;

    any = number_at(&argument, 10, &whole, &error);
    begin = argument;
    if (*argument == M0_GETOPTS_DECIMAL_POINT) {
        begin++;
        for (argument = begin; isdigit((unsigned char)*argument); argument++)
            any = true;
    }
    for (i = 0; i < ARRAY_SIZE(units) && !m0_streq(argument, units[i].name); i++) {
    }
    if (!any || i == ARRAY_SIZE(units))
        return -EINVAL;
    step = units[i].nanoseconds;
    for (digit = begin; digit < argument && isdigit((unsigned char)*digit); digit++) {
        step /= 10;
        fraction += (uint64_t)(*digit - '0') * step;
    }
    if (error != 0 || __builtin_mul_overflow(whole, units[i].nanoseconds, out) ||
        __builtin_add_overflow(*out, fraction, out))
        return -EOVERFLOW;
    return 0;
}

/* ---- options --------------------------------------------------------------------------------- */

static bool has_argument(const struct m0_getopts_opt *option)
{
    return M0_IN(option->go_type, (GOT_NUMBER, GOT_SCALED, GOT_STRING, GOT_FORMAT));
}

static void usage(const char *progname, const struct m0_getopts_opt *options, unsigned count)
{
    unsigned i;

    fprintf(stderr, "Usage: %s options...\n\nwhere valid options are\n\n", progname);
    for (i = 0; i < count; i++)
        fprintf(stderr, "\t -%c %-8s: %s\n", options[i].go_opt,
                has_argument(&options[i]) ? "arg" : "", options[i].go_desc);
}

/* False: the argument is malformed. */
static bool apply(const struct m0_getopts_opt *option, const char *argument)
{
    const union m0_getopts_union *u = &option->go_u;
    m0_bcount_t scaled;
    int64_t number;
    char *end;

    switch (option->go_type) {
    case GOT_VOID:
        u->got_void();
        return true;
    case GOT_FLAG:
        *u->got_flag = true;
        return true;
    case GOT_STRING:
        u->got_string(argument);
        return true;
    case GOT_FORMAT:
        return sscanf(argument, u->got_fmt.f_string, u->got_fmt.f_out) == 1;
    case GOT_NUMBER:
        errno = 0;
        number = (int64_t)strtoull(argument, &end, 0);
        if (end == argument || *end != 0 || errno != 0)
            return false;
        u->got_number(number);
        return true;
    case GOT_SCALED:
        if (m0_bcount_get(argument, &scaled) != 0)
            return false;
        u->got_scaled(scaled);
        return true;
    case GOT_HELP:
        break;
    }
    return false;
}

int m0_getopts(const char *progname, int argc, char *const *argv,
               const struct m0_getopts_opt *options, unsigned count)
{
    const struct m0_getopts_opt *option;
    const char *letter, *argument;
    unsigned i;
    int word;

    for (i = 0; i < count; i++)
        if (options[i].go_type == GOT_FLAG)
            *options[i].go_u.got_flag = false;
    for (word = 1; word < argc && !m0_streq(argv[word], "--"); word++) {
        if (argv[word][0] != '-')
            continue; /* not an option */
        for (letter = argv[word] + 1; *letter != 0; letter++) {
            for (i = 0; i < count && options[i].go_opt != *letter; i++) {
            }
            if (i == count) {
                fprintf(stderr, "%s: unknown option '%c'\n", progname, *letter);
                usage(progname, options, count);
                return -EINVAL;
            }
            option = &options[i];
            if (option->go_type == GOT_HELP) {
                usage(progname, options, count);
                port_exit(EXIT_FAILURE);
            }
            argument = NULL;
            if (has_argument(option)) {
                argument = letter[1] != 0 ? letter + 1 : ++word < argc ? argv[word] : NULL;
                if (argument == NULL) {
                    fprintf(stderr, "%s: option '%c' needs an argument\n", progname, *letter);
                    usage(progname, options, count);
                    return -EINVAL;
                }
            }
            if (!apply(option, argument)) {
                fprintf(stderr, "%s: failed conversion of \"%s\" for option '%c'\n", progname,
                        argument, *letter);
                usage(progname, options, count);
                return -EINVAL;
            }
            if (argument != NULL)
                break; /* it was the rest of the word, or the next word */
        }
    }
    return 0;
}
