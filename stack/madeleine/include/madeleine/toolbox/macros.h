/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The macros of the toolbox. A name that the program has defined before it includes this header
 * stays the program's. DEBUG, TRACING and TIMING switch messages on, as they did in 2000.
 */
#ifndef JACQUARD_MADELEINE_TOOLBOX_MACROS_H
#define JACQUARD_MADELEINE_TOOLBOX_MACROS_H

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "types.h"

/* ---- messages on standard error, one line each ----------------------------------------------- */

/* These expect a literal as the first argument, as the macros of 2000 did. */
#define TBX_PRINT(format, ...) fprintf(stderr, format "\n", ##__VA_ARGS__)
#define TBX_PRINT_VAL(text, value) fprintf(stderr, text " = %d\n", (int)(value))
#define TBX_PRINT_PTR(text, pointer) fprintf(stderr, text " = %p\n", (void *)(pointer))
#define TBX_PRINT_STR(text, string) fprintf(stderr, text " : %s\n", (const char *)(string))
#define TBX_PRINT_IN() fprintf(stderr, "%s: -->\n", __FUNCTION__)
#define TBX_PRINT_OUT() fprintf(stderr, "%s: <--\n", __FUNCTION__)

#ifndef DISP
#define DISP(...) TBX_PRINT(__VA_ARGS__)
#endif
#ifndef DISP_VAL
#define DISP_VAL(text, value) TBX_PRINT_VAL(text, value)
#define DISP_PTR(text, pointer) TBX_PRINT_PTR(text, pointer)
#define DISP_STR(text, string) TBX_PRINT_STR(text, string)
#define DISP_CHAR(character) fputc((character), stderr)
#define DISP_IN() TBX_PRINT_IN()
#define DISP_OUT() TBX_PRINT_OUT()
#define DISP_NO_NL(...) fprintf(stderr, __VA_ARGS__)
#endif

#ifndef LOG
#ifdef DEBUG
#define LOG(...) TBX_PRINT(__VA_ARGS__)
#define LOG_VAL(text, value) TBX_PRINT_VAL(text, value)
#define LOG_PTR(text, pointer) TBX_PRINT_PTR(text, pointer)
#define LOG_STR(text, string) TBX_PRINT_STR(text, string)
#define LOG_CHAR(character) fputc((character), stderr)
#define LOG_IN() TBX_PRINT_IN()
#define LOG_OUT() TBX_PRINT_OUT()
#else
#define LOG(...) ((void)0)
#define LOG_VAL(text, value) ((void)0)
#define LOG_PTR(text, pointer) ((void)0)
#define LOG_STR(text, string) ((void)0)
#define LOG_CHAR(character) ((void)0)
#define LOG_IN() ((void)0)
#define LOG_OUT() ((void)0)
#endif
#define LOG_RETURN(value)                        \
    do {                                         \
        __typeof__(value) tbx_result_ = (value); \
        LOG_OUT();                               \
        return tbx_result_;                      \
    } while (0)
#endif

#ifndef TRACE
#ifdef TRACING
#define TRACE(...) TBX_PRINT(__VA_ARGS__)
#define TRACE_VAL(text, value) TBX_PRINT_VAL(text, value)
#define TRACE_PTR(text, pointer) TBX_PRINT_PTR(text, pointer)
#define TRACE_STR(text, string) TBX_PRINT_STR(text, string)
#define TRACE_IN() TBX_PRINT_IN()
#define TRACE_OUT() TBX_PRINT_OUT()
#else
#define TRACE(...) ((void)0)
#define TRACE_VAL(text, value) ((void)0)
#define TRACE_PTR(text, pointer) ((void)0)
#define TRACE_STR(text, string) ((void)0)
#define TRACE_IN() ((void)0)
#define TRACE_OUT() ((void)0)
#endif
#endif

#ifndef TIME_INIT
#ifdef TIMING
/* Microseconds since the last one of these macros in this process. */
#define TIME_INIT() TBX_GET_TICK(tbx_last_event)
#define TBX_PRINT_TIME(format, ...)                            \
    (TBX_GET_TICK(tbx_new_event),                              \
     fprintf(stderr, format " [%4f usecs]\n", ##__VA_ARGS__,   \
             TBX_TIMING_DELAY(tbx_last_event, tbx_new_event)), \
     TBX_GET_TICK(tbx_last_event))
#define TIME(text) TBX_PRINT_TIME("%s", text)
#define TIME_VAL(text, value) TBX_PRINT_TIME(text " = %d", (int)(value))
#define TIME_PTR(text, pointer) TBX_PRINT_TIME(text " = %p", (void *)(pointer))
#define TIME_STR(text, string) TBX_PRINT_TIME(text " : %s", (const char *)(string))
#define TIME_IN() TIME_INIT()
#define TIME_OUT() TIME(__FUNCTION__)
#else
#define TIME_INIT() ((void)0)
#define TIME(text) ((void)0)
#define TIME_VAL(text, value) ((void)0)
#define TIME_PTR(text, pointer) ((void)0)
#define TIME_STR(text, string) ((void)0)
#define TIME_IN() ((void)0)
#define TIME_OUT() ((void)0)
#endif
#endif

/* ---- failures: as the library reports its own, see error.h ----------------------------------- */

#ifndef FAILURE
#define FAILURE(text) tbx_failure((text), __FILE__, __LINE__)
#endif
#ifndef FAILUREF
#define FAILUREF(...) tbx_failure_format(__FILE__, __LINE__, __VA_ARGS__)
#endif
#define TBX_FAILURE(text) tbx_failure((text), __FILE__, __LINE__)
#define TBX_FAILUREF(...) tbx_failure_format(__FILE__, __LINE__, __VA_ARGS__)
/* The text, and that of errno. */
#ifndef ERROR
#define ERROR(text) tbx_failure_format(__FILE__, __LINE__, "%s: %s", (text), strerror(errno))
#endif
#define TBX_ERROR(text) tbx_failure_format(__FILE__, __LINE__, "%s: %s", (text), strerror(errno))

/* Fails unless the operation has the value. */
#define TBX_CTRL(operation, value)                                                              \
    do {                                                                                        \
        if ((operation) != (value))                                                             \
            tbx_failure("assertion failed: " #operation " is not " #value, __FILE__, __LINE__); \
    } while (0)
/* The same where DEBUG or PM2DEBUG is defined; elsewhere only the operation. */
#if defined(DEBUG) || defined(PM2DEBUG)
#define TBX_VERIFY(operation, value) TBX_CTRL(operation, value)
#else
#define TBX_VERIFY(operation, value) ((void)(operation))
#endif
#ifndef CTRL
#define CTRL(operation, value) TBX_CTRL(operation, value)
#endif
#ifndef VERIFY
#define VERIFY(operation, value) TBX_VERIFY(operation, value)
#endif
#ifndef CTRL_ALLOC
#define CTRL_ALLOC(pointer)               \
    {                                     \
        if ((pointer) == NULL)            \
            FAILURE("not enough memory"); \
    }
#endif
/* A system call that is repeated after a signal, and fails the program otherwise. */
#ifndef SYSCALL
#define SYSCALL(operation)                 \
    while ((operation) == -1) {            \
        if (errno != EINTR) {              \
            perror(#operation);            \
            FAILURE("system call failed"); \
        }                                  \
    }
#endif
#ifndef SYSTEST
#define SYSTEST(operation)                 \
    if ((operation) == -1) {               \
        if (errno != EINTR) {              \
            perror(#operation);            \
            FAILURE("system call failed"); \
        }                                  \
    }
#endif

/* ---- values ---------------------------------------------------------------------------------- */

#define tbx_max(a, b)           \
    (__extension__({            \
        __typeof__(a) a_ = (a); \
        __typeof__(b) b_ = (b); \
        a_ > b_ ? a_ : b_;      \
    }))
#define tbx_min(a, b)           \
    (__extension__({            \
        __typeof__(a) a_ = (a); \
        __typeof__(b) b_ = (b); \
        a_ < b_ ? a_ : b_;      \
    }))

/* These take the address of a flag; those without `flag`, of 2000, take the flag itself. */
#define tbx_flag_set(flag) (*(flag) = tbx_flag_set)
#define tbx_flag_clear(flag) (*(flag) = tbx_flag_clear)
#define tbx_flag_toggle(flag) (*(flag) = *(flag) ? tbx_flag_clear : tbx_flag_set)
#define tbx_flag_test(flag) (*(flag) != tbx_flag_clear)
#define tbx_flag_is_set(flag) (*(flag) != tbx_flag_clear)
#define tbx_flag_is_clear(flag) (*(flag) == tbx_flag_clear)
#define tbx_set(flag) ((flag) = tbx_flag_set)
#define tbx_clear(flag) ((flag) = tbx_flag_clear)
#define tbx_toggle(flag) ((flag) = (flag) ? tbx_flag_clear : tbx_flag_set)
#define tbx_test(flag) (flag)

#define TBX_UNUSED __attribute__((unused))
#define TBX_NORETURN __attribute__((noreturn))
#define TBX_FORMAT(...) __attribute__((format(__VA_ARGS__)))
#define tbx_likely(condition) __builtin_expect(!!(condition), 1)
#define tbx_unlikely(condition) __builtin_expect(!!(condition), 0)
#define TBX_ALIGN(bytes) __attribute__((aligned(bytes)))
/* The next multiple of `alignment`, a power of two. */
#define tbx_aligned(value, alignment) (((value) + ((alignment)-1)) & ~((alignment)-1))
#define tbx_offset_of(type, member) offsetof(type, member)
#define tbx_container_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))
#define TBX_STR(token) #token
#define TBX_MACRO_TO_STR(macro) TBX_STR(macro)

/* ---- memory ---------------------------------------------------------------------------------- */

#define TBX_MALLOC(size) malloc(size)
#define TBX_CALLOC(count, size) calloc((count), (size))
#define TBX_REALLOC(pointer, size) realloc((pointer), (size))
#define TBX_FREE(pointer) free(pointer)
#define TBX_FREE2(pointer) (free(pointer), (pointer) = NULL)
#define TBX_CFREE(pointer) free(pointer)
#define TBX_CFREE2(pointer) (free(pointer), (pointer) = NULL)

/* ---- locks: a structure with TBX_SHARED as a member has one ---------------------------------- */

#define TBX_SHARED pthread_mutex_t tbx_mutex
#define TBX_INIT_SHARED(object) pthread_mutex_init(&(object)->tbx_mutex, NULL)
#define TBX_LOCK_SHARED(object) pthread_mutex_lock(&(object)->tbx_mutex)
#define TBX_TRYLOCK_SHARED(object) pthread_mutex_trylock(&(object)->tbx_mutex)
#define TBX_UNLOCK_SHARED(object) pthread_mutex_unlock(&(object)->tbx_mutex)
#define TBX_CRITICAL_SECTION(name) pthread_mutex_t tbx_section_##name = PTHREAD_MUTEX_INITIALIZER
#define TBX_CRITICAL_SECTION_ENTER(name) pthread_mutex_lock(&tbx_section_##name)
#define TBX_CRITICAL_SECTION_TRY_ENTERING(name) pthread_mutex_trylock(&tbx_section_##name)
#define TBX_CRITICAL_SECTION_LEAVE(name) pthread_mutex_unlock(&tbx_section_##name)
/* They held the scheduler of PM2's own threads, which are not there. */
#define TBX_LOCK() ((void)0)
#define TBX_UNLOCK() ((void)0)
#define TBX_YIELD() sched_yield()
#define tbx_main main

/* The names before the toolbox had a prefix. */
#define PM2_SHARED TBX_SHARED
#define PM2_INIT_SHARED(object) TBX_INIT_SHARED(object)
#define PM2_LOCK_SHARED(object) TBX_LOCK_SHARED(object)
#define PM2_TRYLOCK_SHARED(object) TBX_TRYLOCK_SHARED(object)
#define PM2_UNLOCK_SHARED(object) TBX_UNLOCK_SHARED(object)
#define PM2_LOCK() TBX_LOCK()
#define PM2_UNLOCK() TBX_UNLOCK()
#define PM2_YIELD() TBX_YIELD()

/* ---- starting and ending the toolbox: the library needs neither ------------------------------ */

#define tbx_init(...) ((void)0)
#define tbx_purge_cmd_line(argc, argv) ((void)(argc), (void)(argv))
#define tbx_exit() ((void)0)
#define tbx_timing_init() ((void)0)
#define tbx_timing_exit() ((void)0)
#define tbx_list_manager_init() ((void)0)
#define tbx_list_manager_exit() ((void)0)
#define tbx_slist_manager_init() ((void)0)
#define tbx_slist_manager_exit() ((void)0)
#define tbx_htable_manager_init() ((void)0)
#define tbx_htable_manager_exit() ((void)0)
#define tbx_string_manager_init() ((void)0)
#define tbx_string_manager_exit() ((void)0)
#define tbx_darray_manager_init() ((void)0)
#define tbx_darray_manager_exit() ((void)0)
#define tbx_safe_malloc_init() ((void)0)

#endif
