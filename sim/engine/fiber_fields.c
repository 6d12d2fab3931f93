/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What others keep with a fiber. */
#include "internal.h"

const char *sim_fiber_name(const struct sim_fiber *fiber)
{
    return fiber->name;
}

void *sim_fiber_owner(const struct sim_fiber *fiber)
{
    return fiber->owner;
}

void sim_fiber_set_owner(struct sim_fiber *fiber, void *owner)
{
    fiber->owner = owner;
}

void *sim_fiber_note(const struct sim_fiber *fiber)
{
    return fiber->note;
}

void sim_fiber_set_note(struct sim_fiber *fiber, void *note)
{
    fiber->note = note;
}

void *sim_fiber_thread(const struct sim_fiber *fiber)
{
    return fiber->thread;
}

void sim_fiber_set_thread(struct sim_fiber *fiber, void *thread)
{
    fiber->thread = thread;
}

void *sim_fiber_program(const struct sim_fiber *fiber)
{
    return fiber->program;
}

void sim_fiber_set_program(struct sim_fiber *fiber, void *program)
{
    fiber->program = program;
}

uint32_t sim_fiber_memory(const struct sim_fiber *fiber)
{
    return fiber->memory;
}

void sim_fiber_set_memory(struct sim_fiber *fiber, uint32_t memory)
{
    fiber->memory = memory;
}
