/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the files of the engine share; no other folder includes it. */
#ifndef JACQUARD_ENGINE_INTERNAL_H
#define JACQUARD_ENGINE_INTERNAL_H

#include "engine/sim.h"
#include "queue.h"
#include "stack.h"

#define POLL_CYCLE_MAX 16
#define POLL_LEARNED 4

/* What a fiber polled lately, see poll.c. What every poll and every break touches lies together. */
struct poll_history {
    sim_time_t start; /* of the last poll */
    uint64_t parked_cycle; /* the cycle that the fiber was parked in last; 0: none */
    uint32_t parked_length;
    uint32_t count; /* polls since the last break */
    uint32_t quiet; /* polls begun since the last sim_wake */
    uint32_t length; /* of the presumed cycle; 0: none */
    uint32_t repeats; /* how many of the last polls equal the one `length` before */
    uint16_t queues_only; /* sim_queues_only_begin: it reads no memory between its polls */
    uint8_t learned_next;
    bool idle; /* the last poll repeated the cycle, and there was no break since */
    union {
        uint64_t special; /* 0: no poll needs more than its record */
        struct {
            /* Polls before it may be parked again: sim_wake may have been for something else, and
             * of polls between which it reads memory, because that was written. */
            uint8_t awake, written;
            uint16_t held; /* sim_hold: it must not be parked */
            uint16_t locks; /* that the fiber has */
            uint16_t same_poll; /* sim_same_poll_begin: it repeats one poll */
        };
    };
    uint32_t in_same; /* polls since then, or since the last break */
    uint32_t alone; /* polls since another fiber of the group acted */
    uint32_t unheld; /* polls since time passed while the fiber had a lock, or was held */
    uint64_t acts; /* of its group, as the last poll saw it */
    uint64_t mark; /* of the next poll, see sim_poll_mark() */
    sim_time_t locked_at;
    struct polled {
        const void *what;
        bool (*ready)(const void *what);
        uint32_t *count; /* counts the empty polls, see sim_poll_count(); or NULL */
    } polled[POLL_CYCLE_MAX]; /* what the last polls polled */
    uint64_t signature[POLL_CYCLE_MAX]; /* of the last polls, a ring */
    sim_time_t distance[POLL_CYCLE_MAX]; /* from the start of the poll before */
    uint64_t learned[POLL_LEARNED]; /* cycles seen long enough to be sure of them */
};

enum fiber_state { FIBER_RUNNABLE, FIBER_WAITING, FIBER_ENDED };

/* Fibers that share memory, see group.c. */
struct sim_group {
    struct sim_fiber *first;
    uint32_t parked; /* how many of them are */
    uint64_t acts; /* how often one of them stopped after it may have changed memory */
};

/* In lines: the first two are what a switch and a wake-up touch. */
struct sim_fiber {
    struct sim_prefetch_event resume; /* at the fiber's wake time */
    void *context;
    sim_time_t local; /* while it does not run; sim_core.local otherwise */
    const struct sim_wait *wait;
    sim_time_t since; /* start of the wait */
    uint8_t state; /* enum fiber_state */
    bool woken;
    bool prepared; /* between sim_wait_prepare() and the wait: each wake-up counts */
    bool parked; /* waits in a cycle of polls: sim_notify evaluates them first */
    uint8_t prefetch_next;
    uint32_t index; /* in order of creation */
    uint32_t memory; /* see sim_fiber_memory() */
    uint32_t outside; /* while it does not run; sim_core.outside otherwise */
    uintptr_t call, last_call; /* see sim_call_begin() */
    struct sim_group *group; /* NULL: it shares memory with no other fiber */
    struct sim_fiber *sibling; /* the next one of the group */
    bool polling; /* is suspended in sim_poll */
    bool catching_up; /* repeats polls that were over before this instant; only in a group */
    bool unparked; /* was parked since it was suspended */
    bool resume_scheduled; /* while parked: its resume event is still in the queue */
    struct sim_timer timeout __attribute__((aligned(64)));
    struct poll_history polls;
    sim_time_t late_at; /* it was parked, and woken after its turn at this instant; or SIM_NEVER */
    /* Lines: where they begin, and in the low bits how many. */
    uintptr_t prefetch[SIM_FIBER_PREFETCHES] __attribute__((aligned(64)));
    void (*main)(void *arg);
    void *arg;
    void *owner, *note, *thread, *program;
    char *name;
    struct sim_stack stack;
    void *thread_pointer; /* NULL: that of sim_run's caller */
};

struct engine {
    struct sim_queue queue;
    struct sim_options options;
    bool running;
    bool stopped;
    enum sim_outcome outcome;
    struct sim_fiber *next; /* a resume event fired: the fiber that runs when the event is over */

    /* When one of these is reached, limits are checked. */
    sim_time_t alarm_time;
    uint64_t alarm_events;
    uint64_t alarm_polls;

    uint32_t ids; /* given out by sim_new_ids */
    uint64_t polls; /* fruitless polls simulated in place */
    uint64_t progress_seen;
    sim_time_t progress_time;
    uint64_t progress_steps; /* events + polls */

    struct sim_fiber **fibers; /* in order of creation */
    uint32_t fibers_started, fibers_capacity;
    uint32_t fibers_live;
    uint32_t *due; /* see due.c; room for all fibers */
    uint32_t due_count;
    /* The last instant at which fibers had their turns, and the last of them in order of creation.
     */
    sim_time_t turn_time;
    uint32_t turn_index;
};
extern struct engine sim_engine;

/* A broken promise inside the simulator or its caller: says so on stderr and aborts. */
void sim_panic(const char *text) __attribute__((noreturn, cold));

/* Fires events until one resumes a fiber, and returns it; NULL: the run is over. */
struct sim_fiber *sim_dispatch(void);

/* The engine's horizon follows the queue's, but never passes the next check of limits, nor this
 * instant while fibers are due at it. */
static inline void sim_update_horizon(void)
{
    sim_time_t horizon = sim_queue_horizon(&sim_engine.queue);

    sim_core.horizon = horizon < sim_engine.alarm_time ? horizon : sim_engine.alarm_time;
    if (sim_unlikely(sim_engine.due_count > 0) && sim_core.now < sim_core.horizon)
        sim_core.horizon = sim_core.now;
}

/* The fiber runs at this instant, when all events of it have fired and its turn has come. */
void sim_due_add(const struct sim_fiber *fiber);
/* The next of those; NULL: none is left. */
struct sim_fiber *sim_due_take(void);

/*
 * A parked fiber is woken. Fibers with a higher number may have had their turns at this instant
 * before that. Then the fiber has had its own, in which what wakes it now had not happened.
 */
static inline void sim_fiber_woken(struct sim_fiber *fiber)
{
    uint32_t turn = sim_engine.turn_time == sim_core.now ? sim_engine.turn_index : 0;

    if (sim_core.fiber != NULL && sim_core.fiber->index > turn)
        turn = sim_core.fiber->index;
    fiber->late_at = turn > fiber->index ? sim_core.now : SIM_NEVER;
}

void sim_fibers_init(void); /* after sim_stacks_init */
/* From sim_run's stack: runs fibers and events until the run is over. */
void sim_fibers_run(void);
void sim_fibers_free(void);
/*
 * Waits, from sim_now() on, for sim_wake or `deadline`. True when woken. The local clock still
 * shows the beginning of the wait afterwards.
 */
bool sim_fiber_wait(struct sim_fiber *self, sim_time_t deadline, const struct sim_wait *wait);
/* Whether one of the polls in whose cycle the fiber is parked would notice something now. */
bool sim_parked_ready(const struct sim_fiber *fiber);
/* Whether the poll in which the fiber is suspended notices something now. */
bool sim_poll_ready(const struct sim_fiber *fiber);
/* Whether the fiber idles in a cycle that is certain, and every queue of it is known to be empty.
 */
bool sim_poll_may_park(struct sim_fiber *fiber);

/* ---- group.c --------------------------------------------------------------------------------- */

/*
 * Parks the other fibers of the running fiber's group that poll; the rest of them wait. False: one
 * of them will run soon, or polls and may not be parked.
 */
bool sim_group_park(struct sim_fiber *self);
/* A fiber of the group is about to run: those that are parked catch up first. */
void sim_group_unpark(struct sim_group *group);
/* The fiber has repeated its polls up to this instant. It goes on when its turn comes. */
void sim_group_caught_up(struct sim_fiber *self);
void sim_group_leave(struct sim_fiber *fiber); /* it has ended, or was killed */
/* The running fiber begins a poll. If it is alone in its group, it is parked without one again. */
void sim_group_leave_last(struct sim_fiber *self);
/* The running fiber is about to be suspended. */
static inline void sim_group_suspend(struct sim_fiber *self)
{
    self->catching_up = false;
    if (!self->polls.idle)
        self->group->acts++;
}
/* For sim_group_caught_up(): suspends the running fiber until its resume event. */
void sim_fiber_block(struct sim_fiber *self);

/* ---- limits ---------------------------------------------------------------------------------- */

/* After STEPS_PER_CHECK polls in place: false when the run must end, and the fiber block. */
void sim_check_polls(void);

#endif
