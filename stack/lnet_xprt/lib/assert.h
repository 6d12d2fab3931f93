/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Conditions that always hold. One that does not ends the calling process with the condition's
 * text: in a simulation the simulated process only.
 */
#ifndef M0_LIB_ASSERT_H
#define M0_LIB_ASSERT_H

#include <stdbool.h>

#include "lib/cdefs.h"

/* kind: "precondition", "assertion" …; condition: its text. */
_Noreturn void m0_condition_violated(const char *kind, const char *condition, const char *function,
                                     const char *file, int line) __attribute__((cold));
/* The same for a place that cannot be reached, with printf's arguments for the reason. */
_Noreturn void m0_impossible(const char *function, const char *file, int line, const char *format,
                             ...) __attribute__((cold, format(printf, 4, 5)));

#define M0_CONDITION__(kind, ...)                                                    \
    do {                                                                             \
        if (__builtin_expect(!(__VA_ARGS__), 0))                                     \
            m0_condition_violated(kind, #__VA_ARGS__, __func__, __FILE__, __LINE__); \
    } while (0)

#define M0_ASSERT(...) M0_CONDITION__("assertion", __VA_ARGS__)
#define M0_PRE(...) M0_CONDITION__("precondition", __VA_ARGS__)
#define M0_POST(...) M0_CONDITION__("postcondition", __VA_ARGS__)
#define M0_INVARIANT(...) M0_CONDITION__("invariant", __VA_ARGS__)
#define M0_ASSERT_INFO(condition, ...) M0_CONDITION__("assertion", condition)
#define M0_PRE_INFO(condition, ...) M0_CONDITION__("precondition", condition)
#define M0_POST_INFO(condition, ...) M0_CONDITION__("postcondition", condition)
#define M0_IMPOSSIBLE(...) m0_impossible(__func__, __FILE__, __LINE__, __VA_ARGS__)

/* Checks that cost more than the code that they guard, in builds that check. */
#if defined(M0_CHECKING) || !defined(NDEBUG)
#define M0_EXPENSIVE_CHECKS 1
#define M0_CHECK_EX(condition) (condition)
#define M0_ASSERT_EX(...) M0_ASSERT(__VA_ARGS__)
#define M0_PRE_EX(...) M0_PRE(__VA_ARGS__)
#define M0_POST_EX(...) M0_POST(__VA_ARGS__)
#define M0_INVARIANT_EX(...) M0_INVARIANT(__VA_ARGS__)
#else
#define M0_EXPENSIVE_CHECKS 0
#define M0_CHECK_EX(condition) (true)
#define M0_CONDITION_UNUSED__(...) \
    do {                           \
        if (0)                     \
            (void)(__VA_ARGS__);   \
    } while (0)
#define M0_ASSERT_EX(...) M0_CONDITION_UNUSED__(__VA_ARGS__)
#define M0_PRE_EX(...) M0_CONDITION_UNUSED__(__VA_ARGS__)
#define M0_POST_EX(...) M0_CONDITION_UNUSED__(__VA_ARGS__)
#define M0_INVARIANT_EX(...) M0_CONDITION_UNUSED__(__VA_ARGS__)
#endif

/* A part of a larger condition. */
#define _0C(condition) (condition)
/* Checked by the compiler: a statement, and a declaration. */
#define M0_CASSERT(condition)                  \
    ({                                         \
        _Static_assert(condition, #condition); \
        (void)0;                               \
    })
#define M0_BASSERT(condition) _Static_assert(condition, #condition)

#endif
