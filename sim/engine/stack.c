/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "stack.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/outside.h"
#include "internal.h"
#include "sanitizer.h"

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

#define PAGE 4096u
#define STACKS_MIN 64u
#define SIGNAL_STACK_BYTES (64u << 10)
/*
 * Stacks begin at different offsets in their top page, or the hot frames of all fibers would share
 * a handful of cache sets.
 */
#define COLOURS 16
#define COLOUR_BYTES 128

static struct {
    char *slab;
    size_t bytes; /* of a slot */
    uint32_t slots, used;
    uint32_t *free; /* slots given back, a stack */
    uint32_t free_count;
    uint32_t first_id, last_id; /* Valgrind's numbers of the slots: it counts on */
    bool guarded;
    bool own_signal_stack;
    struct sigaction previous;
    void *signal_stack;
} stacks;

const char *(*sim_stack_name)(const char *bottom);

static void say(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        return; /* the standard error is closed */
}

/* Async-signal-safe. */
void sim_stack_overflow(const struct sim_stack *stack)
{
    const char *name = sim_stack_name != NULL ? sim_stack_name(stack->bottom) : NULL;
    char digits[24], *at = digits + sizeof digits - 1;
    size_t kilobytes = stacks.bytes >> 10;

    *at = '\0';
    do {
        *--at = (char)('0' + kilobytes % 10);
    } while ((kilobytes /= 10) > 0);
    say("jacquard: the stack of fiber \"");
    say(name != NULL ? name : "?");
    say("\" overflowed its ");
    say(at);
    say(" KiB; give fibers larger stacks (stack_bytes)\n");
    _exit(SIM_EXIT_STACK_OVERFLOW);
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
    char *address = info->si_addr;
    struct sim_stack stack;

    if (address >= stacks.slab && address < stacks.slab + stacks.bytes * stacks.used) {
        stack.bottom = address - (size_t)(address - stacks.slab) % stacks.bytes;
        if (address < stack.bottom + PAGE)
            sim_stack_overflow(&stack);
    }
    /* Not ours: the instruction faults again, under the handler that was there before. */
    sigaction(signal, &stacks.previous, NULL);
}

static void install_handler(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    stack_t present, alternate = {.ss_size = SIGNAL_STACK_BYTES};

    stacks.own_signal_stack =
        sigaltstack(NULL, &present) != 0 || (present.ss_flags & SS_DISABLE) != 0;
    if (stacks.own_signal_stack) {
        stacks.signal_stack = alternate.ss_sp = malloc(SIGNAL_STACK_BYTES);
        if (alternate.ss_sp == NULL || sigaltstack(&alternate, NULL) != 0)
            sim_panic("cannot set up a signal stack");
    }
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, &stacks.previous);
}

static void remove_handler(void)
{
    stack_t none = {.ss_flags = SS_DISABLE};

    sigaction(SIGSEGV, &stacks.previous, NULL);
    if (stacks.own_signal_stack)
        sigaltstack(&none, NULL);
    free(stacks.signal_stack);
}

void sim_stacks_init(size_t bytes, uint32_t slots, bool canaries)
{
    memset(&stacks, 0, sizeof stacks);
    if (bytes == 0)
        bytes = 64u << 10;
    bytes = (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
    stacks.bytes = bytes < 4 * PAGE ? 4 * PAGE : bytes;
    stacks.slots = slots != 0 ? slots : 1u << 17;
    /* A host may limit addresses: then there are fewer stacks, and threads that get none. */
    for (;;) {
        stacks.slab = mmap(NULL, stacks.bytes * stacks.slots, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (stacks.slab != MAP_FAILED || stacks.slots <= STACKS_MIN)
            break;
        stacks.slots /= 2;
    }
    if (stacks.slab == MAP_FAILED)
        sim_panic("no address space for the fibers' stacks (fibers_max, stack_bytes)");
    /* One huge page per 32 fibers would make each cost 64 KiB. */
    madvise(stacks.slab, stacks.bytes * stacks.slots, MADV_NOHUGEPAGE);
    stacks.guarded = !canaries && madvise(stacks.slab, PAGE, MADV_GUARD_INSTALL) == 0;
    if (stacks.guarded)
        install_handler();
}

void sim_stacks_fini(void)
{
    uint32_t id;

    if (stacks.slab == NULL)
        return;
    for (id = stacks.first_id; stacks.used > 0 && id <= stacks.last_id; id++)
        VALGRIND_STACK_DEREGISTER(id);
    if (stacks.guarded)
        remove_handler();
    sanitizer_unpoison(stacks.slab, stacks.bytes * stacks.used);
    munmap(stacks.slab, stacks.bytes * stacks.slots);
    free(stacks.free);
    memset(&stacks, 0, sizeof stacks);
}

size_t sim_stack_bytes(void)
{
    return stacks.bytes;
}

bool sim_stack_guarded(void)
{
    return stacks.guarded;
}

/* Without, Valgrind would take a switch for the growth of one stack. */
static void name_slot(uint32_t slot)
{
    char *bottom = stacks.slab + stacks.bytes * slot;

    stacks.last_id = VALGRIND_STACK_REGISTER(bottom, bottom + stacks.bytes - 1);
    if (slot == 0)
        stacks.first_id = stacks.last_id;
}

bool sim_stack_alloc(struct sim_stack *stack)
{
    uint32_t slot;

    assert(stacks.slab != NULL && stacks.used <= stacks.slots);
    if (stacks.free_count > 0) {
        slot = stacks.free[--stacks.free_count];
    } else {
        if (stacks.used == stacks.slots)
            return false;
        slot = stacks.used++;
        name_slot(slot);
    }
    stack->bottom = stacks.slab + stacks.bytes * slot;
    stack->top = stack->bottom + stacks.bytes - slot % COLOURS * COLOUR_BYTES;
    stack->fake = NULL;
    if (!stacks.guarded)
        *(uint64_t *)stack->bottom = STACK_CANARY;
    else if (madvise(stack->bottom, PAGE, MADV_GUARD_INSTALL) != 0)
        sim_panic("cannot guard a fiber's stack");
    return true;
}

void sim_stack_free(struct sim_stack *stack)
{
    if (stacks.free == NULL) {
        sim_outside_begin();
        stacks.free = malloc(sizeof *stacks.free * stacks.slots); /* touched as far as it is used */
        sim_outside_end();
        if (stacks.free == NULL)
            sim_panic("fibers: out of memory");
    }
    assert(stack->bottom >= stacks.slab && stacks.free_count < stacks.used);
    assert((size_t)(stack->bottom - stacks.slab) % stacks.bytes == 0);
    sanitizer_unpoison(stack->bottom, stacks.bytes);
    stacks.free[stacks.free_count++] =
        (uint32_t)((size_t)(stack->bottom - stacks.slab) / stacks.bytes);
    stack->bottom = NULL;
}
