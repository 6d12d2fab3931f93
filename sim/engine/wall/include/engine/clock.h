/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The engine's interface over the clock of an ordinary process: CPU time is what a call takes, and
 * threads are those of the system. The caller holds a lock, so that one thread at a time is inside.
 * Events and timers fire when the process polls. Included by engine/sim.h; sim/engine/virtual has
 * the version of the simulation.
 */
#ifndef JACQUARD_ENGINE_CLOCK_H
#define JACQUARD_ENGINE_CLOCK_H

/* Whether time is modelled, so that a test knows how long something takes. */
#define SIM_VIRTUAL_TIME 0

/* The reason of a wait, for the deadlock report. `text` is static; `describe` (may be NULL) appends
 * to it. */
struct sim_wait {
    const char *text;
    void (*describe)(const void *what, char *buffer, size_t size);
    const void *what;
    uint32_t id; /* for sim_poll: of `what`, among all there ever were (sim_new_ids) */
    /* Whether there is a reason to wake it; NULL: each change is one. */
    bool (*ready)(const void *on);
    const void *on;
};
#define SIM_WAKES(function, object) .ready = (function), .on = (object)

struct sim_wall {
    bool armed; /* there may be events: only then does a poll read the clock */
    uint32_t changes; /* counts changes that a waiting call may wait for */
    uint32_t turns; /* counts sim_wall_poll() and sim_poll_found() */
};
extern struct sim_wall sim_wall;

void sim_wall_init(void);
void sim_wall_fini(void);
/* Fires what is due. */
void sim_wall_fire(void);
/* When sim_wall_fire() is due; SIM_NEVER: nothing is scheduled. */
sim_time_t sim_wall_next(void);

/* Provided by the program that links this library: makes progress once, and fires events that are
 * due. */
void sim_wall_poll(void);

/* Identifies the calling thread. */
extern _Thread_local char sim_wall_self __attribute__((tls_model("initial-exec")));
static inline struct sim_fiber *sim_fiber_self(void)
{
    return (struct sim_fiber *)&sim_wall_self;
}

sim_time_t sim_now(void); /* of CLOCK_MONOTONIC */

static inline sim_time_t sim_local_time(void)
{
    return sim_now();
}

/* There is no model of CPU time, so the clock is not read. */
static inline sim_time_t sim_charged_time(void)
{
    return 0;
}

static inline bool sim_behind(void)
{
    return false;
}

/* Calls of ordinary processes are not followed. */
static inline uintptr_t sim_call_begin(const char *name)
{
    (void)name;
    return 0;
}
static inline void sim_call_end(uintptr_t outer)
{
    (void)outer;
}
static inline const char *sim_call_name(void)
{
    return NULL;
}
static inline bool sim_in_call(void)
{
    return false;
}

static inline void sim_spend(sim_time_t cost)
{
    (void)cost;
}

static inline void sim_settle(void)
{
}

static inline void sim_idle_break(void)
{
}

static inline bool sim_catching_up(void)
{
    return false;
}

static inline bool sim_idling(void)
{
    return false;
}

static inline void sim_fiber_prefetch_add(struct sim_fiber *fiber, const void *what, size_t bytes)
{
    (void)fiber, (void)what, (void)bytes;
}

static inline void sim_poll_count(uint32_t *counter)
{
    ++*counter;
}

static inline uint32_t sim_new_ids(uint32_t count)
{
    return count;
}

static inline bool sim_poll(const struct sim_wait *wait, bool (*ready)(const void *what),
                            sim_time_t cost)
{
    (void)cost;
    sim_wall_poll();
    return ready(wait->what);
}

static inline bool sim_poll_turn(const struct sim_wait *wait, bool (*ready)(const void *what),
                                 sim_time_t cost, uint32_t *last_poll)
{
    (void)cost;
    if (*last_poll == sim_wall.turns)
        sim_wall_poll();
    *last_poll = sim_wall.turns;
    return ready(wait->what);
}

/* Whether sim_poll_turn would skip its progress because another place was polled; that then counts
 * as the poll of this place. Needs no lock. */
static inline bool sim_poll_served(uint32_t *last_poll)
{
    uint32_t turns = __atomic_load_n(&sim_wall.turns, __ATOMIC_RELAXED);

    if (__atomic_load_n(last_poll, __ATOMIC_RELAXED) == turns)
        return false;
    __atomic_store_n(last_poll, turns, __ATOMIC_RELAXED);
    return true;
}

/* Counts as a poll: this place and those polled after it skip their progress until this place is
 * polled again. So that poll finds at once what it waits for. */
static inline void sim_poll_found(uint32_t *last_poll)
{
    *last_poll = sim_wall.turns++;
}

#endif
