/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The kernel's marks for the compiler and for its checkers. Those for checkers only are empty. */
#ifndef JACQUARD_LIBCFS_KERNEL_COMPILER_H
#define JACQUARD_LIBCFS_KERNEL_COMPILER_H

#include <stddef.h>
#include <sys/cdefs.h>

/* ---- of checkers ----------------------------------------------------------------------------- */

#define __acquires(lock)
#define __releases(lock)
#define __must_hold(lock)
#define __acquire(lock) ((void)0)
#define __release(lock) ((void)0)
#define __cond_lock(lock, condition) (condition)
#define __chk_user_ptr(pointer) ((void)0)
#define __chk_io_ptr(pointer) ((void)0)
#define __kernel
#define __force
#define __nocast
#define __safe
#define __private
#define __iomem
#define __percpu
#define __rcu
#ifndef __bitwise
#define __bitwise
#endif
#ifndef __user
#define __user
#endif

/* ---- of the compiler ------------------------------------------------------------------------- */

#ifndef __always_inline
#define __always_inline inline __attribute__((__always_inline__))
#endif
#ifndef __attribute_const__
#define __attribute_const__ __attribute__((__const__))
#endif
#ifndef __must_check
#define __must_check __attribute__((__warn_unused_result__))
#endif
#ifndef __packed
#define __packed __attribute__((__packed__))
#endif
#ifndef __aligned
#define __aligned(bytes) __attribute__((__aligned__(bytes)))
#endif
#ifndef __maybe_unused
#define __maybe_unused __attribute__((__unused__))
#endif
#ifndef __always_unused
#define __always_unused __attribute__((__unused__))
#endif
#ifndef __used
#define __used __attribute__((__used__))
#endif
#ifndef __weak
#define __weak __attribute__((__weak__))
#endif
#ifndef __cold
#define __cold __attribute__((__cold__))
#endif
#ifndef __pure
#define __pure __attribute__((__pure__))
#endif
#ifndef __malloc
#define __malloc __attribute__((__malloc__))
#endif
#ifndef __deprecated
#define __deprecated __attribute__((__deprecated__))
#endif
#ifndef __noreturn
#define __noreturn __attribute__((__noreturn__))
#endif
#ifndef __printf
#define __printf(format, first) __attribute__((__format__(__printf__, format, first)))
#endif
#ifndef __scanf
#define __scanf(format, first) __attribute__((__format__(__scanf__, format, first)))
#endif
#ifndef __section
#define __section(name) __attribute__((__section__(#name)))
#endif
#ifndef noinline
#define noinline __attribute__((__noinline__))
#endif
#define noinline_for_stack noinline
#define notrace
#define asmlinkage
#define __visible __attribute__((__externally_visible__))
#ifdef __clang__
#undef __visible
#define __visible
#endif
#define __same_type(a, b) __builtin_types_compatible_p(__typeof__(a), __typeof__(b))
#define uninitialized_var(x) x = x
#ifndef unreachable
#define unreachable() __builtin_unreachable()
#endif
#define OPTIMIZER_HIDE_VAR(variable) __asm__("" : "=r"(variable) : "0"(variable))
#define data_race(expression) (expression)
/* Fails to compile unless the condition, a constant, holds. */
#define compiletime_assert(condition, message)     \
    do {                                           \
        _Static_assert((condition) != 0, message); \
    } while (0)

/* ---- places and sizes of data ---------------------------------------------------------------- */

#define L1_CACHE_SHIFT 6
#define L1_CACHE_BYTES 64
#define SMP_CACHE_BYTES L1_CACHE_BYTES
#define L1_CACHE_ALIGN(bytes) (((bytes) + L1_CACHE_BYTES - 1) / L1_CACHE_BYTES * L1_CACHE_BYTES)
#define cache_line_size() L1_CACHE_BYTES
#define ____cacheline_aligned __attribute__((__aligned__(SMP_CACHE_BYTES)))
#define ____cacheline_aligned_in_smp ____cacheline_aligned
#define __cacheline_aligned ____cacheline_aligned
#define __cacheline_aligned_in_smp ____cacheline_aligned
#define __read_mostly
#define __ro_after_init
#define __initdata
#define __initconst
#define __exitdata
#define __exit_call
#define __ref
#define __refdata
#define __devinit
#define __devexit
#define __cpuinit

/* ---- texts and options ----------------------------------------------------------------------- */

#define __stringify_1(...) #__VA_ARGS__
#define __stringify(...) __stringify_1(__VA_ARGS__)
#ifndef __UNIQUE_ID
#define LIBCFS_JOIN_1(a, b) a##b
#define LIBCFS_JOIN(a, b) LIBCFS_JOIN_1(a, b)
#define __UNIQUE_ID(prefix) LIBCFS_JOIN(__UNIQUE_ID_##prefix, __COUNTER__)
#endif
/* Whether an option of the kernel's configuration is 1: it is in the kernel (CONFIG_X), or in a
 * module (CONFIG_X_MODULE). One that is not defined is not. */
#define LIBCFS_OPTION_1 0,
#define LIBCFS_SECOND(a, b, ...) b
#define LIBCFS_IS_1_IN(one) LIBCFS_SECOND(one 1, 0, 0)
#define LIBCFS_IS_1_OF(value) LIBCFS_IS_1_IN(LIBCFS_OPTION_##value)
#define LIBCFS_IS_1(value) LIBCFS_IS_1_OF(value)
#define IS_BUILTIN(option) LIBCFS_IS_1(option)
#define IS_MODULE(option) LIBCFS_IS_1(option##_MODULE)
#define IS_ENABLED(option) (LIBCFS_IS_1(option) || LIBCFS_IS_1(option##_MODULE))
#define IS_REACHABLE(option) IS_ENABLED(option)

#endif
