/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Room for the thread-local variables of the executables that sim-run loads. Their code finds them
 * right below the thread pointer, at distances that were fixed when they were linked; of all
 * modules only the program that the kernel started, sim-run, has its own variables there. So
 * sim-run's end with this room. The linker places common variables behind all others of their kind;
 * foreign_locals_possible() checks that it did. (Written in assembler: a compiler cannot
 * say "common" that both GCC and Clang take.)
 */
#include "internal.h"

#if FOREIGN_LOCALS_MAX != 65536 || FOREIGN_LOCALS_ALIGNMENT != 4096
#error "the numbers below are these two"
#endif

#if defined(__x86_64__)
__asm__(".tls_common foreign_room, 65536, 4096");
#endif
