/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The simulation core: virtual clock, events, timers, fibers.
 *
 * One simulation runs in a process at a time; its state is sim_core. The emulated APIs have no
 * context argument, so a singleton is what they need, and a field of it costs one load. Seeds in
 * parallel are processes, not threads. Nothing here may be called from a second OS thread.
 *
 * There are two libraries with this interface. jacquard_engine has a virtual clock;
 * jacquard_engine_wall has the clock of an ordinary process. engine/clock.h and engine/trace_emit.h
 * exist once for each, and the library that a target links brings the include directory with its
 * versions.
 *
 * Time is unsigned 64-bit picoseconds. Order of events is (time, order of scheduling);
 * fibers run after the events of the same time, in order of creation.
 */
#ifndef JACQUARD_ENGINE_SIM_H
#define JACQUARD_ENGINE_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t sim_time_t;

#define SIM_PS 1ull
#define SIM_NS 1000ull
#define SIM_US 1000000ull
#define SIM_MS 1000000000ull
#define SIM_S 1000000000000ull
#define SIM_NEVER UINT64_MAX

#define sim_likely(x) __builtin_expect(!!(x), 1)
#define sim_unlikely(x) __builtin_expect(!!(x), 0)
/* Code off the short-message path: `sim_noinline` stays a call, and rare code is `sim_cold`, which
 * the compiler makes small instead of fast. */
#define sim_cold __attribute__((cold))
#define sim_noinline __attribute__((noinline))
#define sim_container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

/* ---- events ---------------------------------------------------------------------------------- */

/*
 * Embedded in the object that the event concerns; scheduling allocates nothing. It cannot be
 * cancelled (see struct sim_timer). Nothing is written into it, so it may be scheduled again before
 * it has fired, and fires once for each time. Its memory must stay valid until it has fired. `fire`
 * runs on the stack of whatever fiber is blocked; it must not block.
 */
struct sim_event {
    void (*fire)(struct sim_event *event);
};

/*
 * An event with a prefetch callback, which fetches the lines that the handler will read into the
 * cache. Shortly before the event's time the queue calls `fetch` with stage 0, some events later
 * with stage 1, then with 2: lines that one stage fetched are in the cache in the next stage, so
 * the callback can follow pointers. The line in which the event begins is in the cache at stage 0.
 * A stage may be skipped or repeated. The callback must change nothing; NULL: there is none.
 */
struct sim_prefetch_event {
    struct sim_event event;
    void (*fetch)(struct sim_event *event, unsigned stage);
};
#define SIM_LINE 64u /* bytes that are fetched at a time */
static inline void sim_fetch(const void *what, unsigned lines)
{
    unsigned i;

    if (what == NULL) /* an address without memory costs a walk through the page tables each time */
        return;
#pragma GCC unroll 8 /* with a constant number of lines nothing of the loop is left */
    for (i = 0; i < lines; i++)
        __builtin_prefetch((const char *)what + i * SIM_LINE, 1);
    /* GCC takes a function that does nothing else for one without effect, and leaves it out. */
    __asm__ volatile("");
}

/* An event that can be cancelled in O(1); after sim_timer_cancel its memory may be freed at once.
 */
struct sim_timer {
    struct sim_event event; /* first: the queue stores timers as events */
    struct sim_queue_entry *entry; /* where the queue holds it; NULL when not armed */
};

struct sim_fiber;
struct sim_wait; /* in engine/clock.h */

struct sim_core {
    sim_time_t now;
    sim_time_t
        horizon; /* nothing happens before it: at most the time of the next event, or of a limit */
    sim_time_t local; /* local clock of `fiber` */
    struct sim_fiber *fiber; /* the one that runs now; NULL while sim_run's caller runs */
    uint64_t events_fired;
    uint64_t fiber_switches;
    uint64_t *digests; /* of the lines of the picture, see trace_emit.h */
    uint32_t digest_lines;
    uint64_t flows; /* flow numbers handed out, see sim_trace_flow_new() */
    uint64_t progress; /* bumped by sim_progress(): something the user would call progress */
    /* Not 0: what `fiber` runs is not its program, but the simulator: memory that is allocated
     * meanwhile is not the program's. Each fiber has its own. */
    uint32_t outside;
    uintptr_t call, last_call; /* of `fiber`: see sim_call_begin() */
};
extern struct sim_core sim_core;

void sim_event_schedule(struct sim_event *event, sim_time_t at); /* at >= sim_now() */
void sim_prefetch_schedule(struct sim_prefetch_event *event, sim_time_t at); /* the same */
/* The event n places behind the next one, as far as the queue knows now, or NULL. For prefetching.
 */
struct sim_event *sim_event_ahead(uint32_t n);
void sim_timer_arm(struct sim_timer *timer, sim_time_t at); /* re-arming moves it */
void sim_timer_cancel(struct sim_timer *timer); /* no effect when not armed */
static inline bool sim_timer_armed(const struct sim_timer *timer)
{
    return timer->entry != NULL;
}

/* ---- running --------------------------------------------------------------------------------- */

#define SIM_EXIT_STACK_OVERFLOW 70 /* exit code of the process when a fiber's stack overflows */

enum sim_outcome {
    SIM_DONE, /* every fiber returned and no event is left, or sim_stop() was called */
    SIM_DEADLOCK, /* no event is left and fibers still wait */
    SIM_TIME_LIMIT, /* the virtual-time limit was reached */
    SIM_NO_PROGRESS, /* `no_progress_limit` of virtual time, or `no_progress_events` events, without
                        sim_progress() */
};

struct sim_options {
    uint64_t seed;
    sim_time_t time_limit; /* 0: none */
    sim_time_t no_progress_limit; /* 0: none */
    uint64_t no_progress_events; /* 0: 1e9 */
    size_t stack_bytes; /* per fiber, rounded up to pages; 0: 64 KiB */
    uint32_t fibers_max; /* stacks reserved (address space only); 0: 1 << 17 */
    void (*tick)(void *arg); /* called about every 2^16 events, for progress bars; may be NULL */
    void *tick_arg;
    bool no_parking; /* simulate every idle poll: slow, for checking that parking is exact */
};

void sim_init(const struct sim_options *options); /* one simulation at a time */
enum sim_outcome sim_run(void); /* to the end; returns to the caller's stack */
void sim_stop(void); /* sim_run returns SIM_DONE after the current event */
void sim_fini(void); /* frees everything, also of fibers that never ended */
static inline void sim_progress(void)
{
    sim_core.progress++;
}

/* ---- fibers ---------------------------------------------------------------------------------- */

/*
 * A fiber runs one thread of simulated code on its own stack. It has a local clock: sim_spend()
 * moves only that one, and the fiber catches up with the world (runs what is due before) in
 * sim_settle(), which every call that reads shared state makes first. So a rank pays for CPU
 * time without a switch per call, and when nothing is due before its local time the world's clock
 * is moved in place.
 */
/*
 * `name` is copied. NULL when fibers_max stacks are in use. The result stays valid until sim_fini,
 * also when the fiber has ended (waking or killing it has no effect then).
 */
struct sim_fiber *sim_fiber_start(void (*main)(void *arg), void *arg, const char *name,
                                  sim_time_t at);
void sim_fiber_kill(
    struct sim_fiber *fiber); /* never runs again (a crashed node); not the running one */
/*
 * sim_fiber_prefetch_add() adds `bytes` bytes from `what` on, at most 1 KiB, to the prefetch set of
 * a fiber (NULL: the running one, if any): the engine fetches them before the fiber continues after
 * a wait. The set has the last SIM_FIBER_PREFETCHES places; they may become invalid.
 */
#define SIM_FIBER_PREFETCHES 14
/* For the `fetch` of an event that wakes the fiber. */
void sim_fiber_fetch(const struct sim_fiber *fiber, unsigned stage);
const char *sim_fiber_name(const struct sim_fiber *fiber);
void *sim_fiber_owner(
    const struct sim_fiber *fiber); /* whatever sim_fiber_set_owner stored, NULL at first */
void sim_fiber_set_owner(struct sim_fiber *fiber, void *owner);
/* The same, for what its owner keeps of it. */
void *sim_fiber_note(const struct sim_fiber *fiber);
void sim_fiber_set_note(struct sim_fiber *fiber, void *note);
/* The same, for the program that the fiber executes. */
void *sim_fiber_program(const struct sim_fiber *fiber);
void sim_fiber_set_program(struct sim_fiber *fiber, void *program);
/*
 * The number of the memory from which the fiber allocates; that of the fiber that started it, 0 if
 * none did. The engine does nothing with it.
 */
uint32_t sim_fiber_memory(const struct sim_fiber *fiber);
void sim_fiber_set_memory(struct sim_fiber *fiber, uint32_t memory);
/* The same, for the thread of a program that the fiber executes. */
void *sim_fiber_thread(const struct sim_fiber *fiber);
void sim_fiber_set_thread(struct sim_fiber *fiber, void *thread);
/*
 * The fiber runs under this thread pointer: that of a thread of the host which does nothing
 * meanwhile (NULL: of sim_run's caller). So it has thread-local variables and an errno of its own.
 * From any fiber or handler; of the running fiber it takes effect at once.
 */
void sim_fiber_set_thread_pointer(struct sim_fiber *fiber, void *pointer);
void *sim_thread_pointer(void); /* of the calling thread */

/*
 * The two fibers share memory, as threads of one process do; groups of fibers grow this way.
 * `fiber` is new. What a fiber does before it polls may then depend on what the others of its group
 * wrote, and parking stays exact. (Fibers without a group must wake each other, or notify.)
 */
void sim_fiber_share(struct sim_fiber *fiber, struct sim_fiber *with);

void sim_sleep_until(sim_time_t at);

/*
 * Blocks until sim_wake(fiber) or until `deadline` (SIM_NEVER: none), whichever is first. Settles
 * first. True when woken. Spurious wake-ups are allowed: callers loop on their condition.
 */
bool sim_wait_until(sim_time_t deadline, const struct sim_wait *wait);

/* Resumes a fiber that is blocked in sim_wait_until or sim_poll, at sim_now(). O(1), idempotent.
 */
void sim_wake(struct sim_fiber *fiber);

/*
 * The same for a change of state that only polls read. A fiber that is parked in a cycle of polls
 * stays parked if none of them would notice the change: completions of its own do not wake a rank
 * that waits for a message.
 */
void sim_notify(struct sim_fiber *fiber);

/*
 * Between the two calls the running fiber holds something that others wait for, such as a lock. It
 * is not parked meanwhile: its polls are simulated one by one. (It may be parked in another poll of
 * the same cycle.)
 */
void sim_hold(void);
void sim_release(void);

/*
 * Between the two calls the running fiber has a lock, which others may want. Its polls do not wait
 * meanwhile. Before it checks whether it may lock, it calls sim_catching_up().
 */
void sim_lock_begin(void);
void sim_lock_end(void);

/* sim_local_time() for user code that may decide on it: polling that reads the clock is simulated
 * poll by poll. */
sim_time_t sim_clock_read(void);

/*
 * Calls `visit` for each fiber that has not ended, in order of creation: its name, why it waits (or
 * "runnable") and since when. For deadlock reports.
 */
void sim_for_each_waiter(void (*visit)(const char *name, const char *why, sim_time_t since,
                                       void *arg),
                         void *arg);

/* The calls of which the virtual clock and the wall clock have one version each, most of them
 * inline. */
#include "engine/clock.h"

#endif
