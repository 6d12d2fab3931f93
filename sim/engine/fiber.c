/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Fibers. There is no scheduler context: a fiber that blocks fires events until one of them resumes
 * a fiber. When that is itself it just returns, else it jumps there. When the run is over it jumps
 * to sim_run's stack.
 *
 * The events' handlers run on one stack for all, as calls from the fiber that blocks: so their
 * frames stay in the cache, and a fiber's stack holds its own few lines only. Where that call is
 * not written in assembler, and under AddressSanitizer, they run on the blocked fiber's stack.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "engine/outside.h"
#include "internal.h"
#include "sanitizer.h"
#include "thread_pointer.h"

/* Boost.Context's C interface (boost/context/detail/fcontext.hpp is C++). */
struct transfer {
    void *context; /* of the code that jumped here */
    void *data;
};
struct transfer jump_fcontext(void *to, void *data);
void *make_fcontext(void *top, size_t bytes, void (*entry)(struct transfer));

/* sim_run's stack. */
static struct {
    void *context, *fake;
    const void *bottom;
    size_t bytes;
} root;
static struct sim_fiber *host; /* whose stack this is; NULL: sim_run's */
static struct sim_fiber *zombie; /* has ended; its stack is freed after the switch to another */

static struct sim_stack events; /* of the handlers */

static struct {
    bool used; /* some fiber has one of its own */
    void *of_root, *present;
} thread_pointers;

/* ---- switching ------------------------------------------------------------------------------- */

#ifndef SANITIZER_ADDRESS
/* sim_dispatch() on the events' stack. What a call may change is changed; rbx is kept by it. */
static inline struct sim_fiber *dispatch(void)
{
    struct sim_fiber *next;
    struct sim_fiber *(*call)(void) = sim_dispatch;
    char *top = events.top;

    __asm__ volatile("movq %%rsp, %%rbx\n\t"
                     "movq %2, %%rsp\n\t"
                     "callq *%1\n\t"
                     "movq %%rbx, %%rsp"
                     : "=&a"(next), "+r"(call), "+r"(top)
                     :
                     : "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc",
                       "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
                       "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "st", "mm0");
    sim_stack_check(&events, sim_stack_guarded());
    return next;
}
#else
static inline struct sim_fiber *dispatch(void)
{
    return sim_dispatch();
}
#endif

/* The machine's thread pointer becomes that of a fiber, or of sim_run's caller (NULL). */
static sim_noinline void adopt_thread_pointer(const struct sim_fiber *fiber)
{
    void *pointer = fiber != NULL && fiber->thread_pointer != NULL ? fiber->thread_pointer
                                                                   : thread_pointers.of_root;

    if (pointer == thread_pointers.present)
        return;
    thread_pointers.present = pointer;
    thread_pointer_set(pointer);
}

/* First thing after every jump, on the stack that was jumped to. */
static inline void arrive(struct transfer from)
{
    const void *bottom = NULL;
    size_t bytes = 0;

    *(void **)from.data = from.context;
    sanitizer_arrive(host != NULL ? host->stack.fake : root.fake, &bottom, &bytes);
    if (from.data == &root.context) {
        root.bottom = bottom;
        root.bytes = bytes;
    }
    if (sim_unlikely(thread_pointers.used))
        adopt_thread_pointer(host);
    if (sim_unlikely(zombie != NULL)) {
        sim_stack_free(&zombie->stack);
        zombie = NULL;
    }
}

/* Goes on with the stack of `to` (NULL: sim_run's); returns when another fiber switches back. */
static void switch_to(struct sim_fiber *to)
{
    struct sim_fiber *from = host;
    bool ended = from != NULL && from->state == FIBER_ENDED;
    void **fake = from == NULL ? &root.fake : ended ? NULL : &from->stack.fake;

    sim_core.fiber_switches++;
    if (from != NULL)
        sim_stack_check(&from->stack, sim_stack_guarded());
    if (ended)
        zombie = from;
    host = to;
#ifdef SANITIZER_ADDRESS /* it knows threads by their pointer: one of them leaves and arrives */
    if (thread_pointers.used)
        adopt_thread_pointer(NULL);
#endif
    if (to != NULL)
        sanitizer_leave(fake, to->stack.bottom, sim_stack_bytes());
    else
        sanitizer_leave(fake, root.bottom, root.bytes);
    arrive(jump_fcontext(to != NULL ? to->context : root.context,
                         from != NULL ? &from->context : &root.context));
}

/* The running fiber is `self` again. */
static inline void enter(struct sim_fiber *self)
{
    sim_core.fiber = self;
    sim_core.local = self->local;
    sim_core.call = self->call;
    sim_core.last_call = self->last_call;
    sim_core.outside = self->outside;
}

/* Blocks the running fiber until its resume event or its timeout has fired. */
static void block(struct sim_fiber *self)
{
    struct sim_fiber *next;

    if (sim_unlikely(self->group != NULL))
        sim_group_suspend(self);
    self->local = sim_core.local;
    self->call = sim_core.call;
    self->last_call = sim_core.last_call;
    self->outside = sim_core.outside;
    sim_core.call = sim_core.last_call = 0;
    sim_core.fiber = NULL;
    next = dispatch();
    if (next != self)
        switch_to(next);
    enter(self);
}

/* Notes that the running fiber had its turn at this instant: see sim_fiber_woken(). */
static inline void note_turn(const struct sim_fiber *self)
{
    if (sim_engine.turn_time != sim_core.now || sim_engine.turn_index < self->index)
        sim_engine.turn_index = self->index;
    sim_engine.turn_time = sim_core.now;
}

void sim_fiber_block(struct sim_fiber *self)
{
    block(self);
}

static void fiber_entry(struct transfer from)
{
    struct sim_fiber *self = host;

    arrive(from);
    enter(self);
    self->main(self->arg);
    note_turn(self);
    self->state = FIBER_ENDED;
    sim_group_leave(self);
    sim_engine.fibers_live--;
    sim_core.call = sim_core.last_call = 0;
    sim_core.fiber = NULL;
    switch_to(dispatch());
    __builtin_unreachable();
}

void sim_fibers_run(void)
{
    struct sim_fiber *next = dispatch();

    if (next != NULL)
        switch_to(next);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void on_resume(struct sim_event *event)
{
    struct sim_fiber *fiber = sim_container_of(event, struct sim_fiber, resume.event);

    if (fiber->state == FIBER_ENDED)
        return;
    if (sim_unlikely(fiber->group != NULL && fiber->group->parked > 0)) {
        if (fiber->parked) { /* at a poll that would have begun now */
            fiber->resume_scheduled = false;
            return;
        }
        sim_group_unpark(fiber->group);
    }
    sim_engine.next = fiber;
}

/* Lines of its stack from where it was left: its frames, and above them what the program keeps. */
#define STACK_LINES 12

void sim_fiber_fetch(const struct sim_fiber *fiber, unsigned stage)
{
    unsigned i, left;

    switch (stage) {
    case 0:
        sim_fetch(fiber, offsetof(struct sim_fiber, prefetch) / SIM_LINE + 1);
        break;
    case 1:
        /* no further than its page: behind the stack there may be nothing */
        left = (unsigned)(4096 - (uintptr_t)fiber->context % 4096) / SIM_LINE;
        if (sim_likely(left >= STACK_LINES))
            sim_fetch(fiber->context, STACK_LINES);
        else
            sim_fetch(fiber->context, left);
        break;
    default:
        for (i = 0; i < SIM_FIBER_PREFETCHES && fiber->prefetch[i] != 0; i++)
            sim_fetch((const void *)(fiber->prefetch[i] & ~(uintptr_t)(SIM_LINE - 1)),
                      (unsigned)(fiber->prefetch[i] % SIM_LINE));
        break;
    }
}

static void fetch_resume(struct sim_event *event, unsigned stage)
{
    sim_fiber_fetch(sim_container_of(event, struct sim_fiber, resume.event), stage);
}

void sim_fiber_prefetch_add(struct sim_fiber *fiber, const void *what, size_t bytes)
{
    uintptr_t first = (uintptr_t)what / SIM_LINE, last = ((uintptr_t)what + bytes - 1) / SIM_LINE;
    uintptr_t place = first * SIM_LINE | (last - first + 1);
    uint32_t before;

    if (fiber == NULL)
        fiber = sim_core.fiber;
    if (fiber == NULL)
        return;
    assert(last - first + 1 < SIM_LINE); /* it is kept in the low bits */
    assert(fiber->prefetch_next < SIM_FIBER_PREFETCHES);
    before = (fiber->prefetch_next + SIM_FIBER_PREFETCHES - 1) % SIM_FIBER_PREFETCHES;
    if (fiber->prefetch[before] == place)
        return;
    fiber->prefetch[fiber->prefetch_next] = place;
    fiber->prefetch_next = (uint8_t)((fiber->prefetch_next + 1) % SIM_FIBER_PREFETCHES);
}

static void on_timeout(struct sim_event *event)
{
    struct sim_fiber *fiber = sim_container_of(event, struct sim_fiber, timeout.event);

    assert(fiber->state == FIBER_WAITING); /* sim_wake and sim_fiber_kill cancel the timer */
    fiber->state = FIBER_RUNNABLE;
    if (sim_unlikely(fiber->group != NULL))
        sim_group_unpark(fiber->group);
    sim_engine.next = fiber;
}

static const char *name_of_stack(const char *bottom)
{
    uint32_t i;

    if (bottom == events.bottom)
        return "the events' handlers";
    for (i = 0; i < sim_engine.fibers_started; i++)
        if (sim_engine.fibers[i]->stack.bottom == bottom)
            return sim_engine.fibers[i]->name;
    return NULL;
}

void sim_fibers_init(void)
{
    sim_stack_name = name_of_stack;
    if (!sim_stack_alloc(&events))
        sim_panic("no stack for events");
    events.top -= 64; /* the pointer itself lies on the stack, as Valgrind wants it */
}

static void keep(struct sim_fiber *fiber)
{
    struct engine *engine = &sim_engine;

    if (engine->fibers_started == engine->fibers_capacity) {
        sim_outside_begin();
        engine->fibers_capacity = engine->fibers_capacity == 0 ? 64 : engine->fibers_capacity * 2;
        engine->fibers = realloc(engine->fibers, engine->fibers_capacity * sizeof *engine->fibers);
        engine->due = realloc(engine->due, engine->fibers_capacity * sizeof *engine->due);
        if (engine->fibers == NULL || engine->due == NULL)
            sim_panic("fibers: out of memory");
        sim_outside_end();
    }
    assert(engine->fibers_started < engine->fibers_capacity);
    fiber->index = engine->fibers_started;
    engine->fibers[engine->fibers_started++] = fiber;
}

struct sim_fiber *sim_fiber_start(void (*main)(void *arg), void *arg, const char *name,
                                  sim_time_t at)
{
    struct sim_fiber *fiber;
    struct sim_stack stack;

    assert(main != NULL && name != NULL);
    if (!sim_stack_alloc(&stack))
        return NULL;
    assert(stack.bottom < (char *)stack.top);
    fiber = aligned_alloc(SIM_LINE, sizeof *fiber);
    if (fiber == NULL)
        sim_panic("fibers: out of memory");
    memset(fiber, 0, sizeof *fiber);
    fiber->stack = stack;
    fiber->context = make_fcontext(stack.top, (size_t)(stack.top - stack.bottom), fiber_entry);
    fiber->resume.event.fire = on_resume;
    fiber->resume.fetch = fetch_resume;
    fiber->timeout.event.fire = on_timeout;
    fiber->main = main;
    fiber->arg = arg;
    fiber->local = at;
    fiber->late_at = SIM_NEVER;
    fiber->memory = sim_core.fiber != NULL ? sim_core.fiber->memory : 0;
    fiber->name = strdup(name);
    if (fiber->name == NULL)
        sim_panic("fibers: out of memory");
    keep(fiber);
    sim_engine.fibers_live++;
    sim_prefetch_schedule(&fiber->resume, at);
    return fiber;
}

void sim_fiber_kill(struct sim_fiber *fiber)
{
    if (fiber == sim_core.fiber)
        sim_panic("a fiber killed itself");
    if (fiber->state == FIBER_ENDED)
        return;
    assert(sim_engine.fibers_live > 0);
    fiber->state = FIBER_ENDED;
    sim_group_leave(fiber);
    sim_engine.fibers_live--;
    sim_timer_cancel(&fiber->timeout);
    if (sim_engine.next == fiber)
        sim_engine.next = NULL;
    if (fiber != host) /* else these events run on its stack; switch_to gives it back */
        sim_stack_free(&fiber->stack);
}

void sim_fibers_free(void)
{
    uint32_t i;

    for (i = 0; i < sim_engine.fibers_started; i++) {
        sim_group_leave(sim_engine.fibers[i]);
        free(sim_engine.fibers[i]->name);
        free(sim_engine.fibers[i]);
    }
    free(sim_engine.fibers);
    free(sim_engine.due);
    host = zombie = NULL;
    events = (struct sim_stack){NULL};
    /* The caller may be another thread next time. */
    thread_pointers.used = false;
}

void *sim_thread_pointer(void)
{
    return thread_pointer_get();
}

void sim_fiber_set_thread_pointer(struct sim_fiber *fiber, void *pointer)
{
    if (!thread_pointers.used) {
        thread_pointers.of_root = thread_pointers.present = thread_pointer_get();
        thread_pointers.used = true;
    }
    fiber->thread_pointer = pointer;
    if (fiber == host)
        adopt_thread_pointer(fiber);
}

void sim_for_each_waiter(void (*visit)(const char *name, const char *why, sim_time_t since,
                                       void *arg),
                         void *arg)
{
    char why[512];
    size_t length;
    uint32_t i;

    for (i = 0; i < sim_engine.fibers_started; i++) {
        const struct sim_fiber *fiber = sim_engine.fibers[i];
        const struct sim_wait *wait = fiber->wait;

        if (fiber->state == FIBER_ENDED)
            continue;
        if (fiber->state == FIBER_RUNNABLE || wait == NULL) {
            visit(fiber->name, "runnable", fiber->local, arg);
            continue;
        }
        length = strnlen(wait->text, sizeof why - 1);
        memcpy(why, wait->text, length);
        why[length] = '\0';
        if (wait->describe != NULL)
            wait->describe(wait->what, why + length, sizeof why - length);
        visit(fiber->name, why, fiber->since, arg);
    }
}

/* ---- waiting --------------------------------------------------------------------------------- */

void sim_settle_blocking(void)
{
    struct sim_queue *queue = &sim_engine.queue;
    sim_time_t local = sim_core.local;

    assert(sim_core.fiber != NULL && local >= sim_core.now);
    /* Not while others are due: they may still schedule something before this fiber's time. */
    if (queue->head == queue->tail && sim_engine.due_count == 0) {
        sim_queue_fill(queue, local < sim_engine.alarm_time ? local : sim_engine.alarm_time);
        sim_update_horizon();
        if (local < sim_core.horizon) {
            sim_core.now = local;
            return;
        }
    }
    sim_prefetch_schedule(&sim_core.fiber->resume, local);
    note_turn(sim_core.fiber);
    block(sim_core.fiber);
}

void sim_sleep_until(sim_time_t at)
{
    sim_idle_break();
    if (at > sim_core.local)
        sim_core.local = at;
    sim_settle();
}

bool sim_fiber_wait(struct sim_fiber *self, sim_time_t deadline, const struct sim_wait *wait)
{
    assert(self == sim_core.fiber && self->state == FIBER_RUNNABLE && wait != NULL);
    self->woken = false;
    self->state = FIBER_WAITING;
    self->wait = wait;
    self->since = sim_core.now;
    if (deadline != SIM_NEVER)
        sim_timer_arm(&self->timeout, deadline);
    note_turn(self);
    block(self);
    self->wait = NULL;
    return self->woken;
}

void sim_wait_prepare(void)
{
    sim_idle_break();
    sim_core.fiber->woken = false;
    sim_core.fiber->prepared = true;
}

bool sim_wait_prepared(sim_time_t deadline, const struct sim_wait *wait)
{
    struct sim_fiber *self = sim_core.fiber;
    sim_time_t began;
    bool woken;

    assert(self != NULL);
    sim_settle();
    self->prepared = false;
    if (self->woken || deadline <= sim_core.now)
        return self->woken;
    began = sim_core.local;
    woken = sim_fiber_wait(self, deadline, wait);
    sim_core.local = sim_core.now;
    if (sim_unlikely(sim_trace_on))
        sim_trace_call_waited(wait->text, began);
    return woken;
}

bool sim_wait_until(sim_time_t deadline, const struct sim_wait *wait)
{
    assert(sim_core.fiber != NULL);
    /* The caller checked its condition before: a wake-up during sim_settle() ends the wait. */
    sim_wait_prepare();
    return sim_wait_prepared(deadline, wait);
}

static void wake(struct sim_fiber *fiber)
{
    fiber->polls.quiet = 0;
    fiber->woken = true;
    if (fiber->state != FIBER_WAITING)
        return;
    if (sim_unlikely(fiber->group != NULL)) {
        sim_group_unpark(fiber->group);
        if (fiber->state != FIBER_WAITING) /* it was parked itself */
            return;
    }
    fiber->state = FIBER_RUNNABLE;
    if (fiber->parked)
        sim_fiber_woken(fiber);
    sim_timer_cancel(&fiber->timeout);
    if (fiber->polling && !fiber->parked && fiber->group == NULL && fiber->local > sim_core.now)
        sim_prefetch_schedule(&fiber->resume, fiber->local); /* its poll has not begun */
    /* In a handler, with nothing else due now, its resume event would be the very next one. */
    else if (sim_core.fiber == NULL && sim_engine.next == NULL && sim_core.horizon > sim_core.now)
        sim_engine.next = fiber;
    else
        sim_prefetch_schedule(&fiber->resume, sim_core.now);
}

void sim_wake(struct sim_fiber *fiber)
{
    /* The program may read more than its polls do, at any place in a cycle of polls. */
    fiber->polls.awake = POLL_CYCLE_MAX + 1;
    wake(fiber);
}

void sim_notify(struct sim_fiber *fiber)
{
    if (fiber->state == FIBER_WAITING && fiber->parked) {
        if (sim_parked_ready(fiber))
            wake(fiber);
    } else if (fiber->state == FIBER_WAITING && fiber->polling && fiber->group == NULL &&
               !fiber->prepared && !sim_poll_ready(fiber)) {
        fiber->polls.quiet = 0; /* its poll goes on: woken, it would look, and wait again */
    } else {
        wake(fiber);
    }
}

void sim_written(struct sim_fiber *fiber)
{
    /* The program may read it at any place in a cycle of polls, but not before it says so. */
    fiber->polls.written = POLL_CYCLE_MAX + 1;
    if (fiber->polls.queues_only > 0)
        sim_notify(fiber);
    else
        wake(fiber);
}

sim_time_t sim_clock_read(void)
{
    sim_idle_break();
    sim_settle();
    return sim_local_time();
}
