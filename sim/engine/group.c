/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Fibers that share memory, as the threads of a process do. What one of them writes, another one
 * reads between two polls, so a fiber may be parked only while no other fiber of its group runs.
 *
 * - The fibers of a group that poll are parked together, when each of them may be parked and the
 *   others wait.
 * - Before any fiber of the group runs, those that are parked catch up. They repeat their polls up
 *   to this instant, with memory as it was while they were parked. Then they go on in order of
 *   creation, as if each poll had been simulated, and polls are simulated until all are idle again.
 * - A fiber is parked only after it has polled its whole cycle since another one acted, that is,
 *   was suspended after it did something else than repeat its cycle. So it has read at each place
 *   of its cycle what the other one wrote.
 * - Two cycles interfere if one fiber holds a lock while time passes. So fibers that poll are not
 *   parked together if one of them did that in its cycle.
 */
#include <assert.h>
#include <stdlib.h>

#include "internal.h"

void sim_fiber_share(struct sim_fiber *fiber, struct sim_fiber *with)
{
    struct sim_group *group = with->group;

    assert(fiber != with && fiber->group == NULL);
    if (fiber->state == FIBER_ENDED || with->state == FIBER_ENDED)
        return;
    if (group == NULL) {
        group = calloc(1, sizeof *group);
        if (group == NULL)
            sim_panic("fibers: out of memory");
        assert(!with->parked); /* it shares memory with nobody: who started `fiber`? */
        with->group = group;
        group->first = with;
    }
    sim_group_unpark(group);
    group->acts++;
    fiber->group = group;
    fiber->sibling = group->first;
    group->first = fiber;
}

void sim_group_leave(struct sim_fiber *fiber)
{
    struct sim_group *group = fiber->group;
    struct sim_fiber **link;

    if (group == NULL)
        return;
    for (link = &group->first; *link != fiber; link = &(*link)->sibling)
        assert(*link != NULL);
    *link = fiber->sibling;
    group->parked -= fiber->parked;
    group->acts++;
    fiber->group = NULL;
    fiber->sibling = NULL;
    fiber->parked = fiber->catching_up = false;
    if (group->first == NULL)
        free(group);
}

void sim_group_leave_last(struct sim_fiber *self)
{
    if (self->group->first != self || self->sibling != NULL || self->unparked || self->catching_up)
        return;
    assert(self == sim_core.fiber && self->group->parked == 0);
    sim_group_leave(self);
    /* It may read what the others wrote before they ended, at any place in its cycle. */
    self->polls.awake = POLL_CYCLE_MAX + 1;
}

/* ---- parking --------------------------------------------------------------------------------- */

/* The fiber is suspended in a poll of an idle cycle: it may be parked there, at any time. */
static bool idles(struct sim_fiber *fiber)
{
    if (!fiber->polling || !sim_poll_may_park(fiber))
        return false;
    /* It waits in the poll's window, or for the poll's beginning. */
    return fiber->state == FIBER_WAITING || fiber->local > sim_core.now;
}

/* Nothing happens between this instant and the fiber's next event. */
static bool waits(const struct sim_fiber *fiber)
{
    if (fiber->polling)
        return false;
    if (fiber->state == FIBER_WAITING)
        return true;
    /* It computes. One that repeats a cycle will poll soon, and is parked then. */
    return fiber->local > sim_core.now && !fiber->polls.idle;
}

static void park(struct sim_fiber *fiber)
{
    static const struct sim_wait wait = {.text = "polls, as other threads of its process do"};

    fiber->resume_scheduled = fiber->state == FIBER_RUNNABLE;
    if (fiber->resume_scheduled) {
        fiber->since = sim_core.now;
        fiber->wait = &wait;
    }
    fiber->state = FIBER_WAITING;
    fiber->woken = false;
    fiber->parked = fiber->unparked = true;
    sim_timer_cancel(&fiber->timeout);
    fiber->group->parked++;
}

bool sim_group_park(struct sim_fiber *self)
{
    bool holds = self->polls.unheld <= self->polls.length, others = false;
    struct sim_fiber *fiber;

    assert(self->group->parked == 0);
    for (fiber = self->group->first; fiber != NULL; fiber = fiber->sibling) {
        if (fiber == self || waits(fiber))
            continue;
        if (!idles(fiber))
            return false;
        others = true;
        holds |= fiber->polls.unheld <= fiber->polls.length;
    }
    if (others && holds)
        return false;
    for (fiber = self->group->first; fiber != NULL; fiber = fiber->sibling)
        if (fiber != self && fiber->polling)
            park(fiber);
    self->group->parked++;
    return true;
}

/* ---- catching up ----------------------------------------------------------------------------- */

void sim_group_unpark(struct sim_group *group)
{
    struct sim_fiber *fiber;

    for (fiber = group->parked > 0 ? group->first : NULL; fiber != NULL; fiber = fiber->sibling) {
        if (!fiber->parked)
            continue;
        assert(fiber->state == FIBER_WAITING);
        fiber->parked = false;
        fiber->state = FIBER_RUNNABLE;
        sim_fiber_woken(fiber);
        fiber->polls.unheld = 0;
        if (fiber->resume_scheduled) /* its poll has not begun yet */
            continue;
        fiber->catching_up = true;
        sim_prefetch_schedule(&fiber->resume, sim_core.now);
    }
    group->parked = 0;
}

void sim_group_caught_up(struct sim_fiber *self)
{
    self->catching_up = false;
    if (sim_core.horizon > sim_core.now) /* nothing else is due now */
        return;
    sim_prefetch_schedule(&self->resume, sim_core.now);
    sim_fiber_block(self);
}
