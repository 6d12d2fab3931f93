/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Idle polling. A poll that finds nothing and has nothing coming in its window only moves the local
 * clock. When a fiber repeats a cycle of such polls it is parked, and nothing is simulated until it
 * is woken.
 *
 * A cycle of length L is recognised by signatures (what was polled, for how long, and how long
 * after the poll before): the last L equal the L before them. That alone could take the A A A of a
 * cycle A A A B for a cycle A. A sequence with periods p and L has period gcd(p, L) once it is p +
 * L long (Fine and Wilf), so with p <= 16 a cycle is certain when 16 + L polls repeat; it is then
 * learned, and from then on recognised after L. A program that says that it repeats one poll is
 * believed after two. When what a fiber polls after it was parked
 * contradicts the cycle, that is forgotten.
 *
 * Parking is safe when every queue of the cycle was polled since the last sim_notify (`quiet` >=
 * L): all are empty then, and whatever fills one wakes the fiber. Between two polls the program may
 * read other state, such as memory that the NIC writes. The code that changes such state calls
 * sim_wake, after which the fiber is not parked for the length of the longest cycle. Memory that
 * changes (sim_written) does not matter to a fiber that says that it reads none.
 *
 * The fiber wakes at W, inside or after some poll of its cycle, in which it would have been. So its
 * clock is set to the start of the last repetition, and the polls that would have been over by W
 * return false without reading anything until a poll's window contains W.
 */
#include <assert.h>
#include <string.h>

#include "engine/random.h"
#include "internal.h"

#define CERTAIN(length) (POLL_CYCLE_MAX + (length))

void sim_idle_break(void)
{
    if (sim_core.fiber != NULL) {
        sim_core.fiber->polls.count = 0;
        sim_core.fiber->polls.parked_cycle = 0;
        sim_core.fiber->polls.idle = false;
        if (sim_unlikely(sim_core.local < sim_core.now))
            sim_core.local = sim_core.now;
    }
}

bool sim_idling(void)
{
    return sim_core.fiber != NULL && sim_core.fiber->polls.count != 0;
}

/* What happened at this instant came after the fiber's turn, see sim_fiber_woken(). */
static inline bool is_late(const struct sim_fiber *self)
{
    return sim_unlikely(self->late_at == sim_core.local);
}

bool sim_is_current(void)
{
    if (sim_core.fiber == NULL)
        return true;
    sim_settle();
    if (sim_unlikely(sim_core.fiber->catching_up) && sim_core.local >= sim_core.now)
        sim_group_caught_up(sim_core.fiber);
    return sim_core.local >= sim_core.now && !is_late(sim_core.fiber);
}

static sim_noinline bool is_behind(void)
{
    return !sim_is_current();
}

bool sim_catching_up(void)
{
    return sim_idling() && is_behind();
}

void sim_hold(void)
{
    if (sim_core.fiber != NULL)
        sim_core.fiber->polls.held++;
}

void sim_release(void)
{
    if (sim_core.fiber != NULL)
        sim_core.fiber->polls.held--;
}

void sim_queues_only_begin(void)
{
    if (sim_core.fiber != NULL)
        sim_core.fiber->polls.queues_only++;
}

void sim_queues_only_end(void)
{
    if (sim_core.fiber != NULL) {
        assert(sim_core.fiber->polls.queues_only > 0);
        sim_core.fiber->polls.queues_only--;
    }
}

void sim_same_poll_begin(void)
{
    sim_queues_only_begin();
    if (sim_core.fiber != NULL) {
        sim_core.fiber->polls.same_poll++;
        sim_core.fiber->polls.in_same = 0;
    }
}

void sim_same_poll_end(void)
{
    sim_queues_only_end();
    if (sim_core.fiber != NULL) {
        assert(sim_core.fiber->polls.same_poll > 0);
        sim_core.fiber->polls.same_poll--;
    }
}

void sim_lock_begin(void)
{
    struct poll_history *polls = &sim_core.fiber->polls;

    assert(sim_core.fiber != NULL);
    if (polls->locks++ == 0)
        polls->locked_at = sim_core.now;
}

void sim_lock_end(void)
{
    struct poll_history *polls = &sim_core.fiber->polls;

    assert(sim_core.fiber != NULL && polls->locks > 0);
    if (--polls->locks == 0 && sim_core.now != polls->locked_at)
        polls->unheld = 0;
}

void sim_poll_mark(uint32_t id)
{
    if (sim_core.fiber != NULL)
        sim_core.fiber->polls.mark = sim_mix(sim_core.fiber->polls.mark + id);
}

void sim_poll_count(uint32_t *counter)
{
    struct poll_history *polls = &sim_core.fiber->polls;

    ++*counter;
    if (polls->count != 0)
        polls->polled[(polls->count - 1) % POLL_CYCLE_MAX].count = counter;
}

uint32_t sim_new_ids(uint32_t count)
{
    uint32_t first = sim_engine.ids + 1;

    sim_engine.ids += count;
    return first;
}

static bool learned(const struct poll_history *polls, uint64_t cycle)
{
    int i;

    for (i = 0; i < POLL_LEARNED; i++)
        if (polls->learned[i] == cycle)
            return true;
    return false;
}

static void learn(struct poll_history *polls, uint64_t cycle)
{
    polls->learned[polls->learned_next] = cycle;
    polls->learned_next = (polls->learned_next + 1) % POLL_LEARNED;
}

static void unlearn(struct poll_history *polls, uint64_t cycle)
{
    int i;

    for (i = 0; i < POLL_LEARNED; i++)
        if (polls->learned[i] == cycle)
            polls->learned[i] = 0;
}

/* Odd multipliers far apart: different polls give different numbers. Never 0. */
static inline uint64_t signature_of(const struct sim_wait *wait, sim_time_t cost,
                                    sim_time_t distance, uint64_t mark)
{
    uint64_t sum = wait->id * 0x9e3779b97f4a7c15ull + distance * 0xd1342543de82ef95ull +
                   cost * 0xaf251af3b0f025b5ull + mark;

    return sum + (sum == 0);
}

/*
 * The shortest cycle, longer than the one that just failed if there is such, that the newest poll
 * could be part of. A sequence with period p never fails for p, so going up finds p or a multiple
 * after a few failures.
 */
static uint32_t guess(const struct poll_history *polls, uint32_t at, uint64_t signature)
{
    uint32_t longest = polls->count - 1 < POLL_CYCLE_MAX ? polls->count - 1 : POLL_CYCLE_MAX;
    uint32_t i, length = polls->length < longest ? polls->length : 0;

    assert(polls->count > 1 && at < POLL_CYCLE_MAX);

    for (i = 0; i < longest; i++) {
        length = length < longest ? length + 1 : 1;
        if (polls->signature[(at - length) % POLL_CYCLE_MAX] == signature)
            return length;
    }
    return 0;
}

/* Whether the program has said that the last two polls are the same, and all that follow. */
static inline bool knows_cycle(const struct poll_history *polls)
{
    return polls->same_poll > 0 && polls->in_same >= 2;
}

/* The counters of a poll that change only while polls->special is not 0. */
static sim_noinline void record_special(struct poll_history *polls)
{
    if (polls->same_poll > 0)
        polls->in_same = polls->count == 1 ? 1 : polls->in_same + 1;
    polls->awake -= polls->awake > 0;
    if (polls->written > 0 && polls->queues_only == 0)
        polls->written--; /* the program has read its memory */
    if (polls->held > 0)
        polls->unheld = 0;
}

/* Notes a poll. */
static inline void record(struct poll_history *polls, const struct sim_wait *wait,
                          bool (*ready)(const void *what), sim_time_t cost, sim_time_t start)
{
    uint32_t at = polls->count++ % POLL_CYCLE_MAX;
    sim_time_t distance = start - polls->start;
    uint64_t signature, mark;

    polls->polled[at].what = wait->what;
    polls->polled[at].ready = ready;
    polls->start = start;
    polls->quiet++;
    polls->alone++;
    polls->unheld++;
    if (sim_unlikely(polls->special != 0))
        record_special(polls);
    mark = polls->mark;
    polls->mark = 0;
    if (polls->count == 1) { /* its distance means nothing: equal to no other */
        polls->signature[at] = 0;
        polls->length = polls->repeats = 0;
        polls->polled[at].count = NULL;
        return;
    }
    signature = signature_of(wait, cost, distance, mark);
    if (polls->length != 0 &&
        sim_likely(polls->signature[(at - polls->length) % POLL_CYCLE_MAX] == signature)) {
        polls->repeats++;
    } else {
        if (polls->parked_cycle != 0 && polls->parked_length == polls->length)
            unlearn(polls, polls->parked_cycle);
        polls->parked_cycle = 0;
        polls->length = knows_cycle(polls) ? 1 : guess(polls, at, signature);
        polls->repeats = polls->length != 0;
    }
    polls->signature[at] = signature;
    polls->distance[at] = distance;
    polls->idle = polls->length != 0 && polls->repeats >= polls->length;
    /* A poll that repeats an earlier one counts what that one counted. (length 16: the same place)
     */
    polls->polled[at].count =
        polls->length != 0 ? polls->polled[(at - polls->length) % POLL_CYCLE_MAX].count : NULL;
}

/* The fiber's cycle in any rotation. */
static uint64_t cycle_of(const struct poll_history *polls, uint32_t length)
{
    uint64_t sum = length;
    uint32_t i;

    assert(length <= POLL_CYCLE_MAX && length < polls->count);

    for (i = 1; i <= length; i++)
        sum += sim_mix(polls->signature[(polls->count - i) % POLL_CYCLE_MAX]);
    return sum;
}

static sim_time_t period_of(const struct poll_history *polls, uint32_t length)
{
    sim_time_t sum = 0;
    uint32_t i;

    assert(length <= POLL_CYCLE_MAX && length < polls->count);

    for (i = 1; i <= length; i++)
        sum += polls->distance[(polls->count - i) % POLL_CYCLE_MAX];
    return sum;
}

/* What parking needs besides a cycle that is certain. False stays false until the next poll. */
static inline bool idles(const struct poll_history *polls)
{
    return polls->idle && polls->quiet >= polls->length && polls->awake == 0 &&
           (polls->written == 0 || polls->queues_only > 0) && polls->held == 0 &&
           !sim_engine.options.no_parking;
}

bool sim_poll_may_park(struct sim_fiber *fiber)
{
    struct poll_history *polls = &fiber->polls;
    uint32_t length = polls->length;
    uint64_t cycle;

    if (!idles(polls))
        return false;
    /* It has read at each place of its cycle what others of its group wrote. */
    if (fiber->group != NULL && (polls->acts != fiber->group->acts || polls->alone < length))
        return false;
    cycle = cycle_of(polls, length);
    if (!knows_cycle(polls) && !learned(polls, cycle)) {
        if (polls->repeats < CERTAIN(length))
            return false;
        learn(polls, cycle);
    }
    polls->parked_cycle = cycle;
    polls->parked_length = length;
    return true;
}

bool sim_parked_ready(const struct sim_fiber *fiber)
{
    const struct poll_history *polls = &fiber->polls;
    uint32_t i;

    for (i = 1; i <= polls->length; i++) {
        const struct polled *polled = &polls->polled[(polls->count - i) % POLL_CYCLE_MAX];

        if (polled->ready(polled->what))
            return true;
    }
    return false;
}

bool sim_poll_ready(const struct sim_fiber *fiber)
{
    const struct poll_history *polls = &fiber->polls;
    const struct polled *polled = &polls->polled[(polls->count - 1) % POLL_CYCLE_MAX];

    assert(fiber->polling && polls->count > 0);
    return polled->ready(polled->what);
}

/*
 * The fiber was parked in the poll that began last. The local clock is set to the beginning of the
 * last repetition of this poll before the present instant. Not at this instant: what the program
 * does before that repetition may depend on what happens now.
 */
static void repeat(struct sim_fiber *self, const struct sim_wait *wait)
{
    struct poll_history *polls = &self->polls;
    sim_time_t start = polls->start, period = period_of(polls, polls->length), times = 0;
    uint32_t i;

    self->unparked = false;
    if (sim_core.now <= start)
        return; /* it begins now, or later */
    if (period > 0)
        times = (sim_core.now - start - 1) / period;
    sim_core.local = period > 0 ? start + times * period : sim_core.now;
    polls->start = sim_core.local;
    for (i = 1; i <= polls->length; i++) {
        uint32_t *count = polls->polled[(polls->count - i) % POLL_CYCLE_MAX].count;

        if (sim_unlikely(count != NULL))
            *count += (uint32_t)times;
    }
    if (sim_unlikely(sim_trace_on) && times > 0)
        sim_trace_call_parked(wait->text, start, period);
}

/* Sleeps until woken, then see repeat(). */
static void park(struct sim_fiber *self, const struct sim_wait *wait)
{
    assert(!self->parked && self->polls.length != 0);
    self->parked = true;
    self->resume_scheduled = false;
    sim_fiber_wait(self, SIM_NEVER, wait);
    self->parked = false;
    repeat(self, wait);
}

/* What sim_poll() does besides for a fiber of a group, before it polls: it has been parked while it
 * was suspended, or it catches up with the world in this poll. Returns the poll's end. */
static sim_noinline sim_time_t continue_in_group(struct sim_fiber *self,
                                                 const struct sim_wait *wait, sim_time_t cost)
{
    if (self->unparked)
        repeat(self, wait);
    if (self->catching_up && sim_core.local + cost >= sim_core.now)
        sim_group_caught_up(self);
    return sim_core.local + cost;
}

static bool may_park(struct sim_fiber *self)
{
    return sim_poll_may_park(self) && (self->group == NULL || sim_group_park(self));
}

/*
 * A poll by a fiber that has a lock. Others may want the lock, so the poll does not wait: it looks
 * once, and takes its time. Otherwise two threads that poll would disturb each other for ever.
 */
#define LOCKED_MAX (10 * SIM_US) /* how far a fiber that has a lock may get ahead of the world */

static sim_noinline bool poll_locked(struct sim_fiber *self, const struct sim_wait *wait,
                                     bool (*ready)(const void *what), sim_time_t cost)
{
    if (sim_unlikely(sim_core.local > sim_core.now + LOCKED_MAX))
        sim_settle();
    if (sim_core.local >= sim_core.now && !is_late(self) && ready(wait->what)) {
        sim_idle_break();
        return true;
    }
    if (sim_core.local < sim_core.now || is_late(self))
        self->polls.quiet = 0; /* nobody looked */
    if (sim_unlikely(++sim_engine.polls >= sim_engine.alarm_polls))
        sim_check_polls();
    sim_core.local += cost;
    return false;
}

/*
 * Instead of sim_settle() for a poll that begins later than now. Nothing is there yet, so the fiber
 * is suspended once, until something comes or the poll is over: sim_wake() resumes it no earlier
 * than the poll begins. True: the poll is over and has found nothing.
 */
static bool settle_in_poll(struct sim_fiber *self, const struct sim_wait *wait,
                           bool (*ready)(const void *what), sim_time_t end)
{
    const struct sim_queue *queue = &sim_engine.queue;

    if (sim_core.local < sim_core.horizon || queue->head == queue->tail || self->group != NULL ||
        self->prepared || idles(&self->polls) || ready(wait->what)) {
        sim_settle();
        return false;
    }
    sim_fiber_wait(self, end, wait);
    return sim_core.now >= end && sim_core.now > sim_core.local;
}

/* The rest of a poll that may find something, has to wait, or is one in which the fiber may be
 * parked. */
static sim_noinline bool poll_further(struct sim_fiber *self, const struct sim_wait *wait,
                                      bool (*ready)(const void *what), sim_time_t cost)
{
    struct poll_history *polls = &self->polls;
    sim_time_t end = sim_core.local + cost;

    if (sim_unlikely(self->group != NULL))
        sim_group_leave_last(self);
    self->polling = true;
    if (sim_core.local > sim_core.now && settle_in_poll(self, wait, ready, end)) {
        sim_core.local = end;
        self->polling = false;
        return false;
    }
    if (sim_unlikely(self->group != NULL)) {
        if (polls->acts != self->group->acts)
            polls->alone = 0;
        polls->acts = self->group->acts;
        end = continue_in_group(self, wait, cost);
    }
    if (sim_core.local == sim_core.now && !ready(wait->what)) {
        if (may_park(self)) {
            park(self, wait);
            end = self->group != NULL ? continue_in_group(self, wait, cost) : sim_core.local + cost;
        } else if (end < sim_core.horizon || cost == 0) { /* nothing can happen up to its end */
            if (sim_unlikely(++sim_engine.polls >= sim_engine.alarm_polls))
                sim_check_polls();
            sim_core.local = end;
            self->polling = false;
            return false;
        }
    }
    if (sim_core.local < sim_core.now && end <= sim_core.now)
        polls->quiet = 0; /* it was over before anybody looked */
    while (sim_core.local >= sim_core.now || end > sim_core.now) {
        self->late_at = SIM_NEVER;
        if (ready(wait->what)) {
            sim_core.local = sim_core.now;
            self->polling = false;
            sim_idle_break();
            return true;
        }
        sim_fiber_wait(self, end, wait);
        if (sim_unlikely(self->group != NULL))
            end = continue_in_group(self, wait, cost);
    }
    sim_core.local = end;
    self->polling = false;
    return false;
}

bool sim_poll(const struct sim_wait *wait, bool (*ready)(const void *what), sim_time_t cost)
{
    struct sim_fiber *self = sim_core.fiber;
    struct poll_history *polls = &self->polls;
    sim_time_t local = sim_core.local;

    assert(self != NULL && wait != NULL && ready != NULL);
    record(polls, wait, ready, cost, local);
    if (sim_unlikely(polls->locks > 0))
        return poll_locked(self, wait, ready, cost);
    /* Mostly nothing is there, and nothing can happen up to its end. */
    if (local + cost < sim_core.horizon && local >= sim_core.now && !polls->idle &&
        self->group == NULL) {
        sim_core.now = local;
        if (!ready(wait->what)) {
            if (sim_unlikely(++sim_engine.polls >= sim_engine.alarm_polls))
                sim_check_polls();
            sim_core.local = local + cost;
            return false;
        }
    }
    return poll_further(self, wait, ready, cost);
}
