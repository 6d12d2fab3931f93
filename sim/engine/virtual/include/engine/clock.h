/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The engine's interface over the virtual clock: what the simulation has of its own. Included by
 * engine/sim.h. sim/engine/wall has the version of an ordinary process.
 */
#ifndef JACQUARD_ENGINE_CLOCK_H
#define JACQUARD_ENGINE_CLOCK_H

/* Whether time is modelled, so that a test knows how long something takes. */
#define SIM_VIRTUAL_TIME 1

/* Virtual time of the event being handled. Inside a fiber prefer sim_local_time(). */
static inline sim_time_t sim_now(void)
{
    return sim_core.now;
}

static inline struct sim_fiber *sim_fiber_self(void)
{
    return sim_core.fiber;
}

void sim_fiber_prefetch_add(struct sim_fiber *fiber, const void *what, size_t bytes);

/*
 * The running fiber enters an API call; `name` is static: "GNI_PostFma". Calls nest: sim_call_end
 * takes what sim_call_begin returned. Findings, reports of crashes and traces name the call, or the
 * last one if none is in progress.
 */
extern bool sim_trace_on; /* engine/trace.h */
struct sim_trace_argument;
void sim_trace_call_begin(const char *name);
void sim_trace_call_end(const struct sim_trace_argument *arguments, size_t number);
/* A wait of the running fiber, from `began` until now; `why` is static. */
void sim_trace_call_waited(const char *why, sim_time_t began);
/* The running fiber was parked at `since` in a cycle of polls that takes `period`. */
void sim_trace_call_parked(const char *why, sim_time_t since, sim_time_t period);

static inline uintptr_t sim_call_begin(const char *name)
{
    uintptr_t outer = sim_core.call;

    if (sim_unlikely(sim_trace_on))
        sim_trace_call_begin(name);

    sim_core.call = (uintptr_t)name;
    return outer;
}
/* The same; the trace shows the arguments. */
static inline void sim_call_end_arguments(uintptr_t outer,
                                          const struct sim_trace_argument *arguments, size_t number)
{
    if (sim_unlikely(sim_trace_on))
        sim_trace_call_end(arguments, number);

    sim_core.last_call = sim_core.call;
    sim_core.call = outer;
}
static inline void sim_call_end(uintptr_t outer)
{
    sim_call_end_arguments(outer, NULL, 0);
}
/* For a call that is polled again and again and does not block in the middle of anything: it is the
 * last one, unless it is a part of another. */
static inline void sim_call_note(const char *name)
{
    sim_core.last_call = (uintptr_t)name;
}
/* The call in progress, or the last one, of the running fiber; NULL: none, or no fiber runs. */
static inline const char *sim_call_name(void)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): it was a pointer */
    return (const char *)(sim_core.call != 0 ? sim_core.call : sim_core.last_call);
}
/* Whether the running fiber is in a call. */
static inline bool sim_in_call(void)
{
    return sim_core.call != 0;
}

/* Charges CPU time to the running fiber; no effect in an event handler. */
static inline void sim_spend(sim_time_t cost)
{
    sim_core.local += cost;
}

/*
 * The running fiber's clock: sim_now() plus what it spent and has not settled. While a fiber that
 * was parked in sim_poll catches up it may be less than sim_now(). In an event handler: sim_now().
 */
static inline sim_time_t sim_local_time(void)
{
    return sim_core.fiber != NULL ? sim_core.local : sim_core.now;
}

/* sim_local_time() where it is of use to the model of CPU time only; whether the fiber is behind.
 */
static inline sim_time_t sim_charged_time(void)
{
    return sim_local_time();
}
static inline bool sim_behind(void)
{
    return sim_local_time() < sim_now();
}

void sim_settle_blocking(void); /* slow path of sim_settle */

/* Lets the world catch up with the fiber's local time. No effect in a handler, nor on a fiber that
 * was parked and is behind the world: sim_idle_break() ends that. */
static inline void sim_settle(void)
{
    if (sim_likely(sim_core.fiber != NULL) && sim_core.local > sim_core.now) {
        if (sim_likely(sim_core.local < sim_core.horizon))
            sim_core.now = sim_core.local;
        else
            sim_settle_blocking();
    }
}

/* The reason of a wait, for the deadlock report. `text` is static; `describe` (may be NULL) appends
 * to it. */
struct sim_wait {
    const char *text;
    void (*describe)(const void *what, char *buffer, size_t size);
    const void *what;
    uint32_t id; /* for sim_poll: of `what`, among all there ever were (sim_new_ids) */
};

/*
 * For a fiber that looks at several things, in calls that let time pass, before it waits: a wake-up
 * after sim_wait_prepare() makes sim_wait_prepared() return at once. sim_wait_until() is both.
 */
void sim_wait_prepare(void);
bool sim_wait_prepared(sim_time_t deadline, const struct sim_wait *wait);

/* A wait's condition plays a part over the wall clock only; its functions are unused here. */
#define SIM_WAKES(function, object)

/*
 * One poll of a queue by the running fiber, the heart of idle polling. Settles; when `ready(what)`
 * returns true at once. Otherwise the poll lasts `cost` and watches all the time: true as soon as
 * ready, false at its end. wait->id names the queue that `wait->what` points to; an address does
 * not, because the host's allocator uses it again, in an order that is not part of the simulation.
 * `ready` must depend only on state whose every change is followed by sim_notify() of this fiber at
 * the time of the change. Every change of other state that the program reads between polls must be
 * followed by sim_wake().
 *
 * A poll watches the half-open interval [local, local + cost): what happens at its very end is for
 * the next.
 *
 * When a fiber repeats the same cycle of at most 16 fruitless polls, at the same distances
 * (sim_spend() between polls is part of the cycle), and changes nothing, it is parked until it is
 * woken, and resumes at the very poll of its cycle that would have noticed: times are those of
 * polling. Reading the clock (sim_clock_read), sim_idle_break() and every other blocking call end a
 * cycle; so calls that change something must break, and so must code that counts its fruitless
 * polls.
 */
bool sim_poll(const struct sim_wait *wait, bool (*ready)(const void *what), sim_time_t cost);

/*
 * Between the two calls the running fiber polls, and reads no memory between its polls that others
 * write. They nest. What it reads besides, such as an alarm, wakes it by sim_wake().
 */
void sim_queues_only_begin(void);
void sim_queues_only_end(void);
/*
 * The same, and the fiber repeats one poll, each as long after the one before, until it finds
 * something or is woken. Then its second poll can tell that it idles.
 */
void sim_same_poll_begin(void);
void sim_same_poll_end(void);
/* Memory of the fiber's program has changed: sim_wake(), unless the program reads none now. */
void sim_written(struct sim_fiber *fiber);

/*
 * sim_poll() for one of several places that are polled in turn, as queues are. Over the wall clock
 * one poll makes progress for all of them, so it is skipped if another place was polled since the
 * last poll of this one. The caller keeps `looked` for the place, 0 at first.
 */
static inline bool sim_poll_turn(const struct sim_wait *wait, bool (*ready)(const void *what),
                                 sim_time_t cost, uint32_t *last_poll)
{
    (void)last_poll;
    return sim_poll(wait, ready, cost);
}

/* The last poll found something and delivered what had arrived with it, so the next one may skip
 * its progress. */
static inline void sim_poll_found(uint32_t *last_poll)
{
    (void)last_poll;
}

/*
 * What the program read before its next poll, and found empty: an id of sim_new_ids(). For code
 * that polls the same queues for several objects and continues differently after each of them. The
 * polls then do not look alike.
 */
void sim_poll_mark(uint32_t id);

/* Counts the last poll, which was empty. Polls that are left out while the fiber is parked count as
 * well. */
void sim_poll_count(uint32_t *counter);

/* The first of `count` numbers in a row that nothing else in this run has. */
uint32_t sim_new_ids(uint32_t count);

/* The running fiber did something between two polls: it is not idling. When it is behind the world
 * (it was parked) its clock catches up. */
void sim_idle_break(void);

/*
 * For a call that polls and reads shared state by itself before. A fiber whose polls were all empty
 * may be ahead of the world by what it spent; then the world catches up, as it would in sim_poll(),
 * so that the call reads the same with parking and without. True: the fiber was parked and is
 * behind the world. Then the call must not read shared state, which may be later than the fiber's
 * own time, but leave that to sim_poll(), which reads at the right time.
 */
bool sim_catching_up(void);

/*
 * The same for code that reads what events change, such as whether an alarm rang, between two
 * polls. The world catches up with the running fiber. False: the fiber was parked and is behind the
 * world, so what it reads may be later than its own time.
 */
bool sim_is_current(void);

/* Whether the running fiber has done nothing since its last empty poll. A call whose own reading
 * and whose poll have different consequences then polls only. */
bool sim_idling(void);

#endif
