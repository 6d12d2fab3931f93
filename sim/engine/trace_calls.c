/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * API calls in the trace. A call is written when it returns, as one slice. Consecutive calls that
 * polled and found nothing are written together, as one slice "idle", without the calls that they
 * made themselves. That is decided at the return, from what the engine knows (sim_idling), so a
 * rank that is parked and one that polls on leave the same picture. The digest does not see any of
 * it.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "engine/outside.h"
#include "engine/trace.h"
#include "trace_internal.h"

#define DEPTH_MAX 8
#define NOTES_MAX 6 /* arguments of a call that it notes itself */

struct frame {
    const char *name;
    sim_time_t began;
    uint64_t flow, value;
    bool written; /* something of it is in the trace, so it is no idling */
    bool has_value;
    uint8_t notes;
    struct sim_trace_argument note[NOTES_MAX];
};

struct caller {
    const struct sim_fiber *fiber;
    uint32_t node, index;
    uint32_t depth; /* frames open; those above DEPTH_MAX are not kept */
    struct frame frames[DEPTH_MAX];
    bool idle;
    const char *idle_call, *idle_wait;
    sim_time_t idle_began, idle_ended;
};

static struct sim_trace_map of_fiber; /* address → place in callers + 1 */
static struct caller **callers;
static size_t count;

static struct caller *caller_of(const struct sim_fiber *fiber)
{
    uint64_t *place;

    if (fiber == NULL)
        return NULL;
    place = sim_trace_map_at(&of_fiber, (uint64_t)(uintptr_t)fiber, 0);
    return *place != 0 ? callers[*place - 1] : NULL;
}

void sim_trace_set_caller(const struct sim_fiber *fiber, uint32_t node, uint32_t index)
{
    struct caller *caller;
    uint64_t *place;

    if (!sim_trace_on)
        return;
    sim_outside_begin();
    place = sim_trace_map_at(&of_fiber, (uint64_t)(uintptr_t)fiber, 0);
    caller = calloc(1, sizeof *caller);
    if (caller == NULL)
        abort();
    callers = sim_trace_grow(callers, count, sizeof *callers);
    callers[count++] = caller;
    *place = count;
    caller->fiber = fiber;
    caller->node = node;
    caller->index = index;
    sim_outside_end();
}

static void write_slice(const struct caller *caller, const char *name, sim_time_t began,
                        sim_time_t ended, const struct frame *frame,
                        const struct sim_trace_argument *arguments, size_t number)
{
    struct sim_trace_point point = {.kind = SIM_TRACE_SLICE,
                                    .track = SIM_TRACK_RANK,
                                    .node = caller->node,
                                    .index = caller->index,
                                    .name = name,
                                    .time = began,
                                    .duration = ended > began ? ended - began : 0};

    if (frame != NULL) {
        point.flow = frame->flow;
        point.value = frame->value;
    }
    sim_trace_write_arguments(&point, frame != NULL && frame->has_value, arguments, number);
}

static void write_idle(struct caller *caller)
{
    struct sim_trace_argument arguments[2];
    size_t number = 0;

    if (!caller->idle)
        return;
    caller->idle = false;
    arguments[number++] = (struct sim_trace_argument){"call", caller->idle_call, 0};
    if (caller->idle_wait != NULL)
        arguments[number++] = (struct sim_trace_argument){"waits for", caller->idle_wait, 0};
    write_slice(caller, "idle", caller->idle_began, caller->idle_ended, NULL, arguments, number);
}

static void mark_written(struct caller *caller)
{
    uint32_t i;

    for (i = 0; i < caller->depth && i < DEPTH_MAX; i++)
        caller->frames[i].written = true;
}

void sim_trace_call_begin(const char *name)
{
    struct caller *caller = caller_of(sim_core.fiber);

    if (caller == NULL)
        return;
    if (caller->depth++ < DEPTH_MAX)
        caller->frames[caller->depth - 1] = (struct frame){.name = name, .began = sim_core.local};
}

void sim_trace_call_note(const char *name, const char *text, uint64_t number)
{
    struct caller *caller = caller_of(sim_core.fiber);
    struct frame *frame;

    if (caller == NULL || caller->depth == 0 || caller->depth > DEPTH_MAX)
        return;
    frame = &caller->frames[caller->depth - 1];
    if (frame->notes < NOTES_MAX)
        frame->note[frame->notes++] =
            (struct sim_trace_argument){.name = name, .text = text, .number = number};
}

void sim_trace_call_end(const struct sim_trace_argument *arguments, size_t number)
{
    struct caller *caller = caller_of(sim_core.fiber);
    struct frame *frame;

    if (caller == NULL || caller->depth == 0 || caller->depth-- > DEPTH_MAX)
        return;
    frame = &caller->frames[caller->depth];
    if (sim_idling() && !frame->written) {
        if (!caller->idle) {
            caller->idle = true;
            caller->idle_wait = NULL;
            caller->idle_began = frame->began;
        }
        caller->idle_call = frame->name; /* of the outermost call in the end */
        if (frame->began < caller->idle_began)
            caller->idle_began = frame->began;
        caller->idle_ended = sim_core.local;
        return;
    }
    write_idle(caller);
    mark_written(caller);
    if (frame->notes != 0 && number == 0) {
        arguments = frame->note;
        number = frame->notes;
    }
    write_slice(caller, frame->name, frame->began, sim_core.local, frame, arguments, number);
}

bool sim_trace_call_takes(const struct sim_trace_point *point)
{
    struct caller *caller;
    struct frame *frame;

    if (point->track != SIM_TRACK_RANK || point->kind != SIM_TRACE_SLICE)
        return false;
    caller = caller_of(sim_core.fiber);
    if (caller == NULL || caller->depth == 0 || caller->depth > DEPTH_MAX)
        return false;
    frame = &caller->frames[caller->depth - 1];
    if (strcmp(frame->name, point->name) != 0)
        return false;
    frame->flow = point->flow;
    frame->value = point->value;
    frame->has_value = frame->written = true;
    return true;
}

void sim_trace_call_waited(const char *why, sim_time_t began)
{
    struct caller *caller = caller_of(sim_core.fiber);
    struct sim_trace_argument argument = {"waits for", why, 0};

    if (caller == NULL)
        return;
    write_idle(caller);
    mark_written(caller);
    write_slice(caller, "wait", began, sim_core.local, NULL, &argument, 1);
}

void sim_trace_call_parked(const char *why, sim_time_t since, sim_time_t period)
{
    struct caller *caller = caller_of(sim_core.fiber);
    uint32_t i;

    if (caller == NULL)
        return;
    if (!caller->idle && caller->depth > 0)
        caller->idle_call = caller->frames[0].name;
    if (!caller->idle)
        caller->idle_began = since;
    caller->idle = caller->depth > 0;
    caller->idle_wait = why;
    caller->idle_ended = sim_core.local;
    for (i = 0; i < caller->depth && i < DEPTH_MAX; i++)
        if (caller->frames[i].began + period > since)
            caller->frames[i].began += sim_core.local - since;
}

/* Ends the calls that have not returned, the outermost one last. */
static void end_calls(struct caller *caller, const char *why)
{
    struct sim_trace_argument argument = {"result", why, 0};
    sim_time_t now = sim_now();

    write_idle(caller);
    for (; caller->depth > 0; caller->depth--) {
        const struct frame *frame = &caller->frames[caller->depth - 1];

        if (caller->depth <= DEPTH_MAX)
            write_slice(caller, frame->name, frame->began, now, frame, &argument, 1);
    }
}

void sim_trace_caller_killed(const struct sim_fiber *fiber, const char *why)
{
    struct sim_trace_point point = {
        .kind = SIM_TRACE_INSTANT, .track = SIM_TRACK_RANK, .name = "killed", .time = sim_now()};
    struct sim_trace_argument argument = {"reason", why, 0};
    struct caller *caller = sim_trace_on ? caller_of(fiber) : NULL;

    if (caller == NULL)
        return;
    end_calls(caller, "killed");
    point.node = caller->node;
    point.index = caller->index;
    sim_trace_write_arguments(&point, false, &argument, 1);
}

/* Writes the wait in which the run ends for this fiber. A parked fiber is in a cycle of polls, so
 * its last call gets no slice of its own. */
static void end_wait(struct caller *caller)
{
    const struct sim_fiber *fiber = caller->fiber;
    struct sim_trace_argument argument;

    if (caller_of(fiber) != caller || fiber->state != FIBER_WAITING || fiber->wait == NULL)
        return;
    if (fiber->parked && caller->depth > 0) {
        if (!caller->idle)
            caller->idle_began = fiber->since;
        caller->idle = true;
        caller->idle_call = caller->frames[0].name;
        caller->idle_wait = fiber->wait->text;
        caller->idle_ended = sim_now();
        caller->depth = 0;
        return;
    }
    write_idle(caller);
    argument = (struct sim_trace_argument){"waits for", fiber->wait->text, 0};
    write_slice(caller, "wait", fiber->since, sim_now(), NULL, &argument, 1);
}

void sim_trace_calls_end(void)
{
    size_t i;

    for (i = 0; i < count; i++) {
        end_wait(callers[i]);
        end_calls(callers[i], "has not returned");
    }
}

void sim_trace_calls_free(void)
{
    size_t i;

    for (i = 0; i < count; i++)
        free(callers[i]);
    free(callers);
    callers = NULL;
    count = 0;
    sim_trace_map_free(&of_fiber);
}
