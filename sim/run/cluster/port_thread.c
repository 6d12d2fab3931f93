/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Threads that a stack starts in a rank, the rank's timers, and the CPU time of stacks. */
#include <errno.h>

#include "cluster/port_fiber.h"

#define EMPTY_POLL_PS (20 * SIM_NS) /* a call that reads some memory */

/* ---- threads --------------------------------------------------------------------------------- */

static int thread_main(struct rank *rank, void *arg)
{
    struct port_thread *thread = arg;

    thread->fiber = sim_fiber_self();
    sim_fiber_set_note(thread->fiber, thread);
    thread->run(thread->argument);
    return 0;
}

struct port_thread *port_thread_start(const char *name, void (*run)(void *), void *argument)
{
    struct port_process *self = port_self();
    struct port_thread *thread = port_thread_new(self);

    thread->run = run;
    thread->argument = argument;
    thread->started = rank_thread_start(self->rank, thread_main, thread);
    if (thread->started != NULL)
        return thread;
    thread->over = true;
    return NULL;
}

void port_thread_join(struct port_thread *thread)
{
    rank_thread_join(port_self()->rank, thread->started);
    thread->over = true;
}

void port_thread_wake(struct port_thread *thread)
{
    if (thread->fiber == sim_fiber_self())
        return;
    thread->woken = true;
    sim_settle();
    sim_idle_break();
    if (thread->fiber != NULL)
        sim_wake(thread->fiber);
}

/* ---- processors ------------------------------------------------------------------------------ */

enum { PROCESSORS = 64 }; /* of each host */

unsigned port_processors(void)
{
    return PROCESSORS;
}

int port_thread_confine(struct port_thread *thread, const uint64_t *set, size_t count)
{
    uint64_t allowed = count == 0 ? 0 : set[0];

    if (count < PROCESSORS)
        allowed &= (1ull << count) - 1;
    if (allowed == 0)
        return -EINVAL;
    thread->barred = ~allowed;
    return 0;
}

bool port_thread_allowed(unsigned processor)
{
    return (port_thread_self()->barred >> processor & 1) == 0;
}

/* ---- timers ---------------------------------------------------------------------------------- */

/* A started timer. It is in the program's memory, often on a stack, so it is cancelled when its
 * thread ends. */
struct port_armed {
    struct sim_timer timer;
    struct port_armed *next, **link; /* of its rank's; link NULL: not armed */
    struct sim_fiber *fiber;
    bool rang;
};
_Static_assert(sizeof(struct port_armed) <= sizeof(struct port_timer), "room for a timer");

static struct port_armed *native(const struct port_timer *timer)
{
    return (struct port_armed *)(uintptr_t)timer->opaque;
}

static void disarm(struct port_armed *timer)
{
    if (timer->link == NULL)
        return;
    sim_timer_cancel(&timer->timer);
    *timer->link = timer->next;
    if (timer->next != NULL)
        timer->next->link = timer->link;
    timer->link = NULL;
}

static void ring(struct sim_event *event)
{
    struct port_armed *timer = sim_container_of(event, struct port_armed, timer.event);

    disarm(timer);
    timer->rang = true;
    sim_wake(timer->fiber);
}

void port_timer_start(struct port_timer *timer, uint64_t nanoseconds)
{
    struct port_armed *mine = native(timer);
    struct port_process *self;

    sim_settle();
    sim_idle_break();
    *mine = (struct port_armed){.timer.event.fire = ring, .fiber = sim_fiber_self()};
    if (nanoseconds >= (SIM_NEVER - sim_now()) / SIM_NS)
        return;
    self = port_self();
    mine->next = self->timers;
    mine->link = &self->timers;
    if (mine->next != NULL)
        mine->next->link = &mine->next;
    self->timers = mine;
    sim_timer_arm(&mine->timer, sim_now() + nanoseconds * SIM_NS);
}

bool port_timer_rang(const struct port_timer *timer)
{
    /* A thread whose clock is behind was woken by the timer at a later time. */
    return sim_is_current() && native(timer)->rang;
}

void port_timer_stop(struct port_timer *timer)
{
    disarm(native(timer));
}

void port_forget(struct rank *rank, const struct sim_fiber *fiber)
{
    struct port_armed *timer, *next;
    struct port_thread *thread;

    for (thread = rank->port != NULL && fiber != NULL ? rank->port->threads : NULL; thread != NULL;
         thread = thread->next)
        if (thread->fiber == fiber)
            port_turn_forget(rank->port, thread);

    for (timer = rank->port != NULL ? rank->port->timers : NULL; timer != NULL; timer = next) {
        next = timer->next;
        if (fiber == NULL || timer->fiber == fiber)
            disarm(timer);
    }
}

/* A poll takes virtual time, and the engine parks a loop of polls until a timer or
 * port_thread_wake() ends it. A loop without polls has to wait here. */
void port_idle(struct port_timer *timer, bool polled)
{
    static const struct sim_wait wait = {.text = "another thread (event)"};
    struct port_thread *thread;

    if (polled)
        return;
    thread = port_thread_self();
    sim_settle();
    if (!thread->woken && !native(timer)->rang)
        sim_wait_until(SIM_NEVER, &wait);
    thread->woken = false;
}

bool port_timer_preempted(const struct port_timer *timer)
{
    (void)timer;
    return false; /* each fiber has a core */
}

static bool was_woken(const void *what)
{
    return ((const struct port_thread *)what)->woken;
}

/* Polls the thread's wake-ups, so that the engine can park a loop of such calls. */
void port_poll_memory(void)
{
    struct port_thread *thread = port_thread_self();
    const struct sim_wait wait = {
        .text = "another thread (memory)", .what = thread, .id = thread->id};

    sim_poll(&wait, was_woken, EMPTY_POLL_PS);
    if (!sim_behind()) /* otherwise it was woken after this poll */
        thread->woken = false;
}

void port_poll_mark(uint32_t id)
{
    sim_poll_mark(id);
}

uint32_t port_new_id(void)
{
    return sim_new_ids(1);
}

/* The thread found something that came when it was woken. Its clock may still be behind that time.
 */
void port_idle_break(void)
{
    sim_idle_break();
}

/* ---- costs ----------------------------------------------------------------------------------- */

/* In units of 1/1024 ps, so that the time of a single copied byte is not lost. One simulation runs
 * at a time. */
static uint64_t costs[PORT_COSTS] = {
    /* of a Linux server with page-table isolation; no figure of a Cray is known */
    [PORT_COST_SYSCALL] = 300 * (SIM_NS << 10),
    [PORT_COST_PIN] = 100 * (SIM_NS << 10),
};

/* Those that have none are the same everywhere. */
static const char *const parameters[PORT_COSTS] = {
    [PORT_COST_SEND] = "gni.send_ns",
    [PORT_COST_RECEIVE] = "gni.receive_ns",
    [PORT_COST_POST] = "gni.post_ns",
    [PORT_COST_RMA] = "gni.rma_ns",
    [PORT_COST_COMPLETION] = "gni.completion_ns",
    [PORT_COST_COPY] = "gni.copy_GBps",
    [PORT_COST_RENDEZVOUS] = "gni.rendezvous_ns",
    [PORT_COST_CONNECT] = "gni.connect_ns",
};

void port_costs_set(const struct aries_params *params)
{
    enum port_cost cost;
    double value;

    for (cost = 0; cost < PORT_COSTS; cost++) {
        if (parameters[cost] == NULL)
            continue;
        value = aries_params_get(params, parameters[cost]);
        if (cost == PORT_COST_COPY)
            value = 1 / value; /* ns for each byte */
        costs[cost] = (uint64_t)(value * SIM_NS * 1024 + 0.5);
    }
}

void port_spend(enum port_cost cost, uint64_t amount)
{
    sim_spend(costs[cost] * amount >> 10);
}
