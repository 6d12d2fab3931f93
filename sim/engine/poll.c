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
 * learned, and from then on recognised after L. When what a fiber polls after it was parked
 * contradicts the cycle, that is forgotten.
 *
 * Parking is safe when every queue of the cycle was polled since the last sim_notify (`quiet` >=
 * L): all are empty then, and whatever fills one wakes the fiber. Between two polls the program may
 * read other state, such as memory that the NIC writes. The code that changes such state calls
 * sim_wake, after which the fiber is not parked for the length of the longest cycle.
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
        if (sim_unlikely(sim_core.local < sim_core.now))
            sim_core.local = sim_core.now;
    }
}

bool sim_idling(void)
{
    return sim_core.fiber != NULL && sim_core.fiber->polls.count != 0;
}

bool sim_catching_up(void)
{
    if (!sim_idling())
        return false;
    sim_settle();
    return sim_core.local < sim_core.now;
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
                                    sim_time_t distance)
{
    uint64_t sum = wait->id * 0x9e3779b97f4a7c15ull + distance * 0xd1342543de82ef95ull +
                   cost * 0xaf251af3b0f025b5ull;

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

/* Notes a poll. */
static inline void record(struct poll_history *polls, const struct sim_wait *wait,
                          bool (*ready)(const void *what), sim_time_t cost, sim_time_t start)
{
    uint32_t at = polls->count++ % POLL_CYCLE_MAX;
    sim_time_t distance = start - polls->start;
    uint64_t signature;

    polls->polled[at] = (struct polled){wait->what, ready};
    polls->start = start;
    polls->quiet++;
    polls->awake -= polls->awake > 0;
    if (polls->count == 1) { /* its distance means nothing: equal to no other */
        polls->signature[at] = 0;
        polls->length = polls->repeats = 0;
        return;
    }
    signature = signature_of(wait, cost, distance);
    if (polls->length != 0 &&
        sim_likely(polls->signature[(at - polls->length) % POLL_CYCLE_MAX] == signature)) {
        polls->repeats++;
    } else {
        if (polls->parked_cycle != 0 && polls->parked_length == polls->length)
            unlearn(polls, polls->parked_cycle);
        polls->parked_cycle = 0;
        polls->length = guess(polls, at, signature);
        polls->repeats = polls->length != 0;
    }
    polls->signature[at] = signature;
    polls->distance[at] = distance;
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

/* Whether the fiber idles in a cycle that is certain, and every queue of it is known to be empty.
 */
static bool may_park(struct poll_history *polls)
{
    uint32_t length = polls->length;
    uint64_t cycle;

    if (length == 0 || polls->repeats < length || polls->quiet < length || polls->awake > 0 ||
        polls->held > 0 || sim_engine.options.no_parking)
        return false;
    cycle = cycle_of(polls, length);
    if (!learned(polls, cycle)) {
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

/* Sleeps until woken; the local clock then shows the start of the last repetition of this poll. */
static void park(struct sim_fiber *self, const struct sim_wait *wait)
{
    sim_time_t start = sim_core.local, period = period_of(&self->polls, self->polls.length);

    assert(!self->parked && self->polls.length != 0);
    self->parked = true;
    sim_fiber_wait(self, SIM_NEVER, wait);
    self->parked = false;
    if (period > 0)
        sim_core.local = start + (sim_core.now - start) / period * period;
    else
        sim_core.local = sim_core.now;
    self->polls.start = sim_core.local;
}

bool sim_poll(const struct sim_wait *wait, bool (*ready)(const void *what), sim_time_t cost)
{
    struct sim_fiber *self = sim_core.fiber;
    struct poll_history *polls = &self->polls;
    sim_time_t end;

    assert(self != NULL && wait != NULL && ready != NULL);
    if (sim_core.local > sim_core.now)
        sim_settle();
    record(polls, wait, ready, cost, sim_core.local);
    end = sim_core.local + cost;
    if (sim_core.local == sim_core.now && !ready(wait->what)) {
        if (may_park(polls)) {
            park(self, wait);
            end = sim_core.local + cost;
        } else if (end <= sim_core.horizon || cost == 0) { /* nothing can happen in the window */
            if (sim_unlikely(++sim_engine.polls >= sim_engine.alarm_polls))
                sim_check_polls();
            sim_core.local = end;
            return false;
        }
    }
    if (sim_core.local < sim_core.now && end <= sim_core.now)
        polls->quiet = 0; /* it was over before anybody looked */
    while (sim_core.local >= sim_core.now || end > sim_core.now) {
        if (ready(wait->what)) {
            sim_core.local = sim_core.now;
            sim_idle_break();
            return true;
        }
        sim_fiber_wait(self, end, wait);
    }
    sim_core.local = end;
    return false;
}
