/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Every change of stack is announced to AddressSanitizer, every stack to Valgrind; without them
 * these cost nothing.
 */
#ifndef JACQUARD_ENGINE_SANITIZER_H
#define JACQUARD_ENGINE_SANITIZER_H

#include <stddef.h>

#ifdef HAVE_VALGRIND_H
#include <valgrind/valgrind.h>
#else
#define VALGRIND_STACK_REGISTER(start, end) ((void)(start), (void)(end), 0)
#define VALGRIND_STACK_DEREGISTER(id) ((void)(id))
#endif

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZER_ADDRESS 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZER_ADDRESS 1
#endif

#ifdef SANITIZER_ADDRESS
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

/* fake: where to keep the stack that is left, NULL when it is left for good. */
static inline void sanitizer_leave(void **fake, const void *bottom, size_t bytes)
{
    __sanitizer_start_switch_fiber(fake, bottom, bytes);
}

static inline void sanitizer_arrive(void *fake, const void **old_bottom, size_t *old_bytes)
{
    __sanitizer_finish_switch_fiber(fake, old_bottom, old_bytes);
}

static inline void sanitizer_unpoison(void *from, size_t bytes)
{
    __asan_unpoison_memory_region(from, bytes);
}
#else
static inline void sanitizer_leave(void **fake, const void *bottom, size_t bytes)
{
}

static inline void sanitizer_arrive(void *fake, const void **old_bottom, size_t *old_bytes)
{
}

static inline void sanitizer_unpoison(void *from, size_t bytes)
{
}
#endif

#endif
