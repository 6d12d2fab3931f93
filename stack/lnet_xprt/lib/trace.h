/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages of the storage system's own tracing. They cost nothing: a simulation and the stack have
 * their own traces. The arguments are checked as printf's.
 */
#ifndef M0_LIB_TRACE_H
#define M0_LIB_TRACE_H

#include <errno.h>
#include <stdio.h>

#define M0_LOG(level, ...)             \
    do {                               \
        if (0)                         \
            (void)printf(__VA_ARGS__); \
    } while (0)
/* There is no file of messages to read, so: -EOPNOTSUPP. */
#define M0_TRACE_PARSE_DEFAULT_FLAGS 0
static inline int m0_trace_parse(FILE *messages, FILE *output, const char *magic_symbol,
                                 unsigned flags, const void *magic, size_t size)
{
    (void)messages, (void)output, (void)magic_symbol, (void)flags, (void)magic, (void)size;
    return -EOPNOTSUPP;
}

/* Prints a line for the user of a program. */
#define m0_console_printf(...) ((void)printf(__VA_ARGS__))
#define M0_ENTRY(...) \
    do {              \
    } while (0)
#define M0_LEAVE(...) \
    do {              \
    } while (0)
#define M0_RC(rc) (rc)
#define M0_ERR(rc) (rc)
#define M0_RC_INFO(rc, ...) (rc)
#define M0_ERR_INFO(rc, ...) (rc)

#endif
