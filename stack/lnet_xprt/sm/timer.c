/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Timers of state machines, whose functions run under the group's lock. */
#include "sm/sm.h"

enum { FRESH, ARMED, OVER };

/* In the timer's thread. An AST of a timer that is cancelled meanwhile goes with it. */
static unsigned long expired(unsigned long data)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): timers give a number to their functions */
    struct m0_sm_timer *timer = (struct m0_sm_timer *)data;

    m0_sm_ast_post(timer->tr_grp, &timer->tr_ast);
    return 0;
}

static void end(struct m0_sm_timer *timer)
{
    timer->tr_state = OVER;
    m0_timer_stop(&timer->tr_timer);
}

static void run(struct m0_sm_group *group, struct m0_sm_ast *ast)
{
    struct m0_sm_timer *timer = container_of(ast, struct m0_sm_timer, tr_ast);

    (void)group;
    M0_ASSERT(timer->tr_state == ARMED);
    end(timer);
    timer->tr_cb(timer);
}

void m0_sm_timer_init(struct m0_sm_timer *timer)
{
    *timer = (struct m0_sm_timer){.tr_state = FRESH, .tr_ast = {.sa_cb = run}};
}

void m0_sm_timer_fini(struct m0_sm_timer *timer)
{
    M0_PRE(timer->tr_state != ARMED);
    M0_PRE(timer->tr_ast.sa_next == NULL);
    if (timer->tr_state == OVER)
        m0_timer_fini(&timer->tr_timer);
}

int m0_sm_timer_start(struct m0_sm_timer *timer, struct m0_sm_group *group,
                      void (*function)(struct m0_sm_timer *timer), m0_time_t deadline)
{
    int rc;

    M0_PRE(m0_sm_group_is_locked(group));
    M0_PRE(timer->tr_state == FRESH && function != NULL);
    rc = m0_timer_init(&timer->tr_timer, M0_TIMER_HARD, NULL, expired, (unsigned long)timer);
    if (rc != 0)
        return rc;
    timer->tr_state = ARMED;
    timer->tr_grp = group;
    timer->tr_cb = function;
    m0_timer_start(&timer->tr_timer, deadline);
    return 0;
}

void m0_sm_timer_cancel(struct m0_sm_timer *timer)
{
    M0_PRE(timer->tr_state != FRESH);
    M0_PRE(m0_sm_group_is_locked(timer->tr_grp));
    if (timer->tr_state == OVER)
        return;
    end(timer);
    m0_sm_ast_cancel(timer->tr_grp, &timer->tr_ast);
}

bool m0_sm_timer_is_armed(const struct m0_sm_timer *timer)
{
    return timer->tr_state == ARMED;
}

/* ---- timeouts of a state --------------------------------------------------------------------- */

static void timed_out(struct m0_sm_timer *timer)
{
    const struct m0_sm_timeout *timeout = container_of(timer, struct m0_sm_timeout, st_timer);

    m0_sm_state_set(timer->tr_ast.sa_mach, timeout->st_state);
}

static bool state_changed(struct m0_clink *clink)
{
    struct m0_sm_timeout *timeout = container_of(clink, struct m0_sm_timeout, st_clink);
    const struct m0_sm *machine = timeout->st_timer.tr_ast.sa_mach;

    if ((M0_BITS(machine->sm_state) & timeout->st_bitmask) == 0)
        m0_sm_timer_cancel(&timeout->st_timer);
    return true;
}

void m0_sm_timeout_init(struct m0_sm_timeout *timeout)
{
    *timeout = (struct m0_sm_timeout){.st_state = M0_SM_BREAK};
    m0_sm_timer_init(&timeout->st_timer);
    m0_clink_init(&timeout->st_clink, state_changed);
}

void m0_sm_timeout_fini(struct m0_sm_timeout *timeout)
{
    m0_sm_timer_fini(&timeout->st_timer);
    if (m0_clink_is_armed(&timeout->st_clink))
        m0_clink_del(&timeout->st_clink);
    m0_clink_fini(&timeout->st_clink);
}

int m0_sm_timeout_arm(struct m0_sm *machine, struct m0_sm_timeout *timeout, m0_time_t deadline,
                      int state, uint64_t ignored)
{
    int rc;

    M0_PRE(m0_sm_invariant(machine));
    M0_PRE((machine->sm_conf->scf_state[machine->sm_state].sd_allowed & M0_BITS(state)) != 0);
    M0_PRE(m0_forall(i, machine->sm_conf->scf_nr_states,
                     (M0_BITS(i) & ignored) == 0 ||
                         (machine->sm_conf->scf_state[i].sd_allowed & M0_BITS(state)) != 0));
    timeout->st_state = state;
    timeout->st_bitmask = ignored;
    timeout->st_timer.tr_ast.sa_mach = machine;
    rc = m0_sm_timer_start(&timeout->st_timer, machine->sm_grp, timed_out, deadline);
    if (rc == 0)
        m0_clink_add(&machine->sm_chan, &timeout->st_clink);
    return rc;
}

bool m0_sm_timeout_is_armed(const struct m0_sm_timeout *timeout)
{
    return m0_sm_timer_is_armed(&timeout->st_timer);
}
