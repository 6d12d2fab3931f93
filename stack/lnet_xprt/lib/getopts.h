/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Options of a command line: each is described by one of the macros M0_*ARG(). */
#ifndef M0_LIB_GETOPTS_H
#define M0_LIB_GETOPTS_H

#include "lib/misc.h"
#include "lib/thread.h"
#include "lib/time.h"
#include "lib/types.h"

enum m0_getopts_opt_type {
    GOT_VOID,
    GOT_NUMBER,
    GOT_SCALED,
    GOT_STRING,
    GOT_FORMAT,
    GOT_FLAG,
    GOT_HELP,
};

struct m0_getopts_opt {
    enum m0_getopts_opt_type go_type;
    char go_opt; /* the character behind the dash */
    const char *go_desc; /* for the summary of the usage */
    union m0_getopts_union {
        void (*got_void)(void);
        void (*got_number)(int64_t number);
        void (*got_scaled)(m0_bcount_t number);
        void (*got_string)(const char *string); /* part of argv */
        struct {
            const char *f_string;
            void *f_out;
        } got_fmt;
        bool *got_flag;
    } go_u;
};

/*
 * Calls what the options name, in the order of the command line. 0; -EINVAL: an option is unknown,
 * or its argument missing or malformed, which is explained on standard error together with the
 * usage. `progname` begins these messages.
 */
int m0_getopts(const char *progname, int argc, char *const *argv,
               const struct m0_getopts_opt *options, unsigned count);
#define M0_GETOPTS(progname, argc, argv, ...)                                            \
    m0_getopts((progname), (argc), (argv), (const struct m0_getopts_opt[]){__VA_ARGS__}, \
               ARRAY_SIZE(((const struct m0_getopts_opt[]){__VA_ARGS__})))

#define M0_GETOPT__(type, option, description, ...)                                              \
    {                                                                                            \
        .go_type = (type), .go_opt = (option), .go_desc = (description), .go_u = { __VA_ARGS__ } \
    }
/* Without an argument: calls func(). */
#define M0_VOIDARG(ch, desc, func) M0_GETOPT__(GOT_VOID, ch, desc, .got_void = (func))
/* A whole number, also hexadecimal (0x) or octal (0). */
#define M0_NUMBERARG(ch, desc, func) M0_GETOPT__(GOT_NUMBER, ch, desc, .got_number = (func))
/* A number as m0_bcount_get() reads it. */
#define M0_SCALEDARG(ch, desc, func) M0_GETOPT__(GOT_SCALED, ch, desc, .got_scaled = (func))
#define M0_STRINGARG(ch, desc, func) M0_GETOPT__(GOT_STRING, ch, desc, .got_string = (func))
/* Read with sscanf's conversion `fmt` into *ptr. */
#define M0_FORMATARG(ch, desc, fmt, ptr) \
    M0_GETOPT__(GOT_FORMAT, ch, desc, .got_fmt = {.f_string = (fmt), .f_out = (ptr)})
/* *ptr says whether the option is there. */
#define M0_FLAGARG(ch, desc, ptr) M0_GETOPT__(GOT_FLAG, ch, desc, .got_flag = (ptr))
/* Prints the usage and ends the process. */
#define M0_HELPARG(ch) M0_GETOPT__(GOT_HELP, ch, "display this help and exit", .got_void = NULL)

/*
 * A number with one of the suffixes b (512), k, m, g (powers of 1024), K, M, G (powers of 1000), or
 * none. 0; -EINVAL: not a number, or another suffix; -EOVERFLOW.
 */
int m0_bcount_get(const char *argument, m0_bcount_t *out);
/* A duration such as "1.5", "20ms", "7us" or "3ns"; without a unit, or with "s", in seconds. 0;
 * -EINVAL; -EOVERFLOW. */
int m0_time_get(const char *argument, m0_time_t *out);
extern const char M0_GETOPTS_DECIMAL_POINT;

#endif
