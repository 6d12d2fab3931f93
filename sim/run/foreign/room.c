/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reserved memory for the thread-local variables of the executables that sim-run loads. Their code
 * expects these variables directly below the thread pointer, at distances that were fixed by the
 * linker. Of all modules, only the main program (sim-run) has its variables there, so its
 * thread-local segment ends with this array. The linker places common symbols behind all other
 * thread-local variables; foreign_locals_possible() checks that it did so. This is assembler code
 * because GCC and Clang have no common notation for a common thread-local symbol.
 */
#include "internal.h"

#if FOREIGN_LOCALS_MAX != 65536 || FOREIGN_LOCALS_ALIGNMENT != 4096
#error "the numbers below are these two"
#endif

#if defined(__x86_64__)
__asm__(".tls_common foreign_room, 65536, 4096");
#endif
