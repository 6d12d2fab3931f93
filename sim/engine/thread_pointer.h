/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The register in which the C library keeps the address of the running thread's own data: its
 * thread-local variables and errno: the base of %fs. Writing it takes some twenty cycles where the
 * kernel lets user space do it (FSGSBASE, Linux 5.9), else a system call.
 */
#ifndef JACQUARD_ENGINE_THREAD_POINTER_H
#define JACQUARD_ENGINE_THREAD_POINTER_H

#include <stdbool.h>

#include <asm/prctl.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HWCAP2_FSGSBASE 2u /* <asm/hwcap2.h> of Linux 5.9; older headers lack it */

static inline void *thread_pointer_get(void)
{
    void *pointer;

    __asm__ volatile("movq %%fs:0, %0" : "=r"(pointer)); /* the block begins with its own address */
    return pointer;
}

static inline void thread_pointer_set(void *pointer)
{
    static enum { UNKNOWN, INSTRUCTION, SYSTEM_CALL } how;

    if (how == UNKNOWN)
        how = getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE ? INSTRUCTION : SYSTEM_CALL;
    if (how == INSTRUCTION)
        __asm__ volatile("wrfsbase %0" : : "r"(pointer) : "memory");
    else
        syscall(SYS_arch_prctl, ARCH_SET_FS, pointer); /* sets no errno: it cannot fail here */
}

#endif
