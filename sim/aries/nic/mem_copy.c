/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Copies that survive unmapped pages. A program may unmap memory that is still registered. Then
 * the NIC must report a page fault to the sender, and the simulator must not crash.
 *
 * The copy is a short routine whose instructions the SIGSEGV handler knows: after a fault inside
 * it, execution continues at a fix-up address. Copies without faults pay nothing for this.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "nic/mem_copy.h"

#include <signal.h>
#include <ucontext.h>
#include "nic/registration.h"

/*
 * Returns the number of bytes that were not copied. Loads of up to 64 bytes come before any store;
 * rep movsb can stop at any byte.
 */
uint64_t aries_guarded_copy(void *to, const void *from, uint64_t length);
extern const char aries_copy_short[], aries_copy_short_end[];
extern const char aries_copy_long[], aries_copy_long_end[], aries_copy_fault[];

__asm__(".text\n"
        ".balign 16\n"
        ".globl aries_guarded_copy, aries_copy_short, aries_copy_short_end\n"
        ".globl aries_copy_long, aries_copy_long_end, aries_copy_fault\n"
        ".hidden aries_guarded_copy, aries_copy_short, aries_copy_short_end\n"
        ".hidden aries_copy_long, aries_copy_long_end, aries_copy_fault\n"
        ".type aries_guarded_copy, @function\n"
        "aries_guarded_copy:\n"
        "aries_copy_short:\n"
        "        cmpq $64, %rdx\n"
        "        ja aries_copy_long\n"
        "        cmpl $16, %edx\n"
        "        jae 2f\n"
        "        cmpl $8, %edx\n"
        "        jae 1f\n"
        "        cmpl $4, %edx\n"
        "        jb 4f\n"
        "        movl (%rsi), %eax\n" /* 4 … 7 */
        "        movl -4(%rsi,%rdx), %ecx\n"
        "        movl %eax, (%rdi)\n"
        "        movl %ecx, -4(%rdi,%rdx)\n"
        "        xorl %eax, %eax\n"
        "        ret\n"
        "1:      movq (%rsi), %rax\n" /* 8 … 15 */
        "        movq -8(%rsi,%rdx), %rcx\n"
        "        movq %rax, (%rdi)\n"
        "        movq %rcx, -8(%rdi,%rdx)\n"
        "        xorl %eax, %eax\n"
        "        ret\n"
        "2:      movups (%rsi), %xmm0\n" /* 16 … 64 */
        "        movups -16(%rsi,%rdx), %xmm1\n"
        "        cmpl $32, %edx\n"
        "        ja 3f\n"
        "        movups %xmm0, (%rdi)\n"
        "        movups %xmm1, -16(%rdi,%rdx)\n"
        "        xorl %eax, %eax\n"
        "        ret\n"
        "3:      movups 16(%rsi), %xmm2\n"
        "        movups -32(%rsi,%rdx), %xmm3\n"
        "        movups %xmm0, (%rdi)\n"
        "        movups %xmm2, 16(%rdi)\n"
        "        movups %xmm3, -32(%rdi,%rdx)\n"
        "        movups %xmm1, -16(%rdi,%rdx)\n"
        "        xorl %eax, %eax\n"
        "        ret\n"
        "4:      cmpl $1, %edx\n"
        "        jne aries_copy_long\n"
        "        movb (%rsi), %al\n" /* tests whether the page is mapped */
        "        movb %al, (%rdi)\n"
        "        xorl %eax, %eax\n"
        "        ret\n"
        "aries_copy_short_end:\n"
        "aries_copy_long:\n"
        "        movq %rdx, %rcx\n"
        "        rep movsb\n"
        "aries_copy_long_end:\n"
        "        xorl %eax, %eax\n"
        "        ret\n"
        "aries_copy_fault:\n"
        "        movq %rcx, %rax\n"
        "        ret\n"
        ".size aries_guarded_copy, . - aries_guarded_copy\n");

static const int fault_signals[] = {SIGSEGV, SIGBUS};
#define FAULT_SIGNALS (sizeof(fault_signals) / sizeof(fault_signals[0]))

static struct sigaction before[FAULT_SIGNALS];
static unsigned users;

static bool within(uintptr_t address, const char *begin, const char *end)
{
    return address >= (uintptr_t)begin && address < (uintptr_t)end;
}

/* Passes a fault that is not ours to the handler that was installed before. */
static void pass_on(int number, siginfo_t *info, void *context)
{
    const struct sigaction *next = &before[number == SIGBUS];

    if (next->sa_flags & SA_SIGINFO)
        next->sa_sigaction(number, info, context);
    else if (next->sa_handler != SIG_DFL && next->sa_handler != SIG_IGN)
        next->sa_handler(number);
    else
        sigaction(number, &(struct sigaction){.sa_handler = SIG_DFL}, NULL); /* faults again */
}

static void fault(int number, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    uintptr_t at = (uintptr_t)registers[REG_RIP];

    /* Repeats byte by byte up to the page. */
    if (within(at, aries_copy_short, aries_copy_short_end))
        registers[REG_RIP] = (greg_t)(uintptr_t)aries_copy_long;
    else if (within(at, aries_copy_long, aries_copy_long_end))
        registers[REG_RIP] = (greg_t)(uintptr_t)aries_copy_fault;
    else
        pass_on(number, info, context);
}

void aries_copy_guard(void)
{
    struct sigaction action = {.sa_sigaction = fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    unsigned i;

    if (users++ > 0)
        return;
    sigemptyset(&action.sa_mask);
    for (i = 0; i < FAULT_SIGNALS; i++)
        sigaction(fault_signals[i], &action, &before[i]);
}

void aries_copy_unguard(void)
{
    unsigned i;

    if (--users > 0)
        return;
    for (i = 0; i < FAULT_SIGNALS; i++) {
        struct sigaction now;

        sigaction(fault_signals[i], NULL, &now);
        if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == fault)
            sigaction(fault_signals[i], &before[i], NULL);
    }
}

bool aries_copy(void *to, const void *from, uint64_t length)
{
    return aries_guarded_copy(to, from, length) == 0;
}
