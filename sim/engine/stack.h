/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Fiber stacks: slots of one large mapping of address space, touched lazily, reused last in first
 * out. An overflow runs into a guard (Linux 6.13 and later: madvise(MADV_GUARD_INSTALL), which
 * needs no mapping of its own; mprotect would end at 65,530 mappings), elsewhere it is found by
 * canaries at the next switch.
 */
#ifndef JACQUARD_ENGINE_STACK_H
#define JACQUARD_ENGINE_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_stack {
    char *bottom; /* lowest address of the slot, guard included; NULL: none */
    char *top; /* where the fiber's frames begin */
    void *context; /* initial context, for fcontext */
    void *fake; /* AddressSanitizer's stack of the same fiber */
};

struct sim_fiber;

/* bytes: of a slot, 0 for 64 KiB; slots: 0 for 2^17; canaries: even where guards work (for tests).
 */
void sim_stacks_init(size_t bytes, uint32_t slots, bool canaries);
void sim_stacks_fini(void);

bool sim_stack_alloc(struct sim_stack *stack); /* false: all slots are taken */
void sim_stack_free(struct sim_stack *stack); /* nothing may run on it any more */
size_t sim_stack_bytes(void);
bool sim_stack_guarded(void); /* guards are in use */

/* Overflow is reported with the name that this gives for a slot's lowest address. */
extern const char *(*sim_stack_name)(const char *bottom);
void sim_stack_overflow(const struct sim_stack *stack) __attribute__((noreturn, cold));

#define STACK_CANARY 0x5bd1e9955bd1e995ull
static inline void sim_stack_check(const struct sim_stack *stack, bool guarded)
{
    if (!guarded && __builtin_expect(*(const volatile uint64_t *)stack->bottom != STACK_CANARY, 0))
        sim_stack_overflow(stack);
}

#endif
