/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Groups of state machines: the lock, and what other threads ask to be done under it. */
#include "lib/semaphore.h"
#include "lib/thread.h"
#include "sm/sm.h"

/* Follows the last AST of a queue, so that sa_next is NULL only if an AST is in none. */
static struct m0_sm_ast end;

void m0_sm_group_init(struct m0_sm_group *group)
{
    *group = (struct m0_sm_group){.s_forkq = &end};
    m0_mutex_init(&group->s_lock);
    m0_chan_init(&group->s_chan, &group->s_lock);
    m0_clink_init(&group->s_clink, NULL);
    m0_clink_add_lock(&group->s_chan, &group->s_clink);
}

void m0_sm_group_fini(struct m0_sm_group *group)
{
    M0_PRE(group->s_forkq == &end);
    /* The user may have taken the clink away, to give it a function or a group of clinks. */
    if (m0_clink_is_armed(&group->s_clink))
        m0_clink_del_lock(&group->s_clink);
    m0_clink_fini(&group->s_clink);
    m0_chan_fini_lock(&group->s_chan);
    m0_mutex_fini(&group->s_lock);
}

static void lock(struct m0_sm_group *group, bool run)
{
    m0_mutex_lock(&group->s_lock);
    M0_ASSERT(group->s_nesting == 0);
    group->s_nesting = 1;
    if (run)
        m0_sm_asts_run(group);
}

static void unlock(struct m0_sm_group *group, bool run)
{
    M0_PRE(m0_sm_group_is_locked(group) && group->s_nesting == 1);
    if (run)
        m0_sm_asts_run(group);
    group->s_nesting = 0;
    m0_mutex_unlock(&group->s_lock);
}

void m0_sm_group_lock(struct m0_sm_group *group)
{
    lock(group, true);
}

void m0_sm_group_unlock(struct m0_sm_group *group)
{
    unlock(group, true);
}

bool m0_sm_group_is_locked(const struct m0_sm_group *group)
{
    return m0_mutex_is_locked(&group->s_lock);
}

void m0_sm_group_lock_rec(struct m0_sm_group *group, bool runast)
{
    if (m0_sm_group_is_locked(group))
        group->s_nesting++;
    else
        lock(group, runast);
}

void m0_sm_group_unlock_rec(struct m0_sm_group *group, bool runast)
{
    M0_PRE(m0_sm_group_is_locked(group));
    if (group->s_nesting > 1)
        group->s_nesting--;
    else
        unlock(group, runast);
}

/* ---- asynchronous system traps --------------------------------------------------------------- */

void m0_sm_ast_post(struct m0_sm_group *group, struct m0_sm_ast *ast)
{
    struct m0_sm_ast *first = __atomic_load_n(&group->s_forkq, __ATOMIC_RELAXED);

    M0_PRE(ast->sa_cb != NULL && ast->sa_next == NULL);
    do
        ast->sa_next = first;
    while (!__atomic_compare_exchange_n(&group->s_forkq, &first, ast, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED));
    m0_clink_signal(&group->s_clink);
}

/* Only who has the lock takes ASTs out, so the one behind the first stays where it is. */
static struct m0_sm_ast *take_first(struct m0_sm_group *group)
{
    struct m0_sm_ast *first = __atomic_load_n(&group->s_forkq, __ATOMIC_ACQUIRE);

    while (first != &end &&
           !__atomic_compare_exchange_n(&group->s_forkq, &first, first->sa_next, false,
                                        __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
    }
    return first == &end ? NULL : first;
}

void m0_sm_asts_run(struct m0_sm_group *group)
{
    struct m0_sm_ast *ast;

    M0_PRE(m0_sm_group_is_locked(group));
    while ((ast = take_first(group)) != NULL) {
        ast->sa_next = NULL; /* its function may post or free it */
        ast->sa_cb(group, ast);
    }
}

void m0_sm_ast_cancel(struct m0_sm_group *group, struct m0_sm_ast *ast)
{
    struct m0_sm_ast *before = ast;

    M0_PRE(m0_sm_group_is_locked(group));
    if (ast->sa_next == NULL)
        return;
    if (!__atomic_compare_exchange_n(&group->s_forkq, &before, ast->sa_next, false,
                                     __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
        while (before->sa_next != ast)
            before = before->sa_next;
        before->sa_next = ast->sa_next;
    }
    ast->sa_next = NULL;
}

struct call {
    struct m0_sm_ast ast; /* first */
    int (*function)(void *);
    void *data;
    int result;
    struct m0_semaphore done;
};

static void run_call(struct m0_sm_group *group, struct m0_sm_ast *ast)
{
    struct call *call = container_of(ast, struct call, ast);

    (void)group;
    call->result = call->function(call->data);
    m0_semaphore_up(&call->done);
}

int m0_sm_group_call(struct m0_sm_group *group, int (*function)(void *), void *data)
{
    struct call call = {.ast = {.sa_cb = run_call}, .function = function, .data = data};

    M0_PRE(!m0_sm_group_is_locked(group));
    m0_semaphore_init(&call.done, 0);
    m0_sm_ast_post(group, &call.ast);
    m0_semaphore_down(&call.done);
    m0_semaphore_fini(&call.done);
    return call.result;
}

/* ---- waiting until they have run ------------------------------------------------------------- */

void m0_sm_ast_wait_init(struct m0_sm_ast_wait *wait, struct m0_mutex *guard)
{
    *wait = (struct m0_sm_ast_wait){.aw_allowed = true};
    m0_chan_init(&wait->aw_chan, guard);
}

void m0_sm_ast_wait_fini(struct m0_sm_ast_wait *wait)
{
    M0_PRE(m0_atomic64_get(&wait->aw_active) == 0);
    m0_chan_fini(&wait->aw_chan);
}

void m0_sm_ast_wait_post(struct m0_sm_ast_wait *wait, struct m0_sm_group *group,
                         struct m0_sm_ast *ast)
{
    M0_PRE(wait->aw_allowed);
    m0_atomic64_inc(&wait->aw_active);
    m0_sm_ast_post(group, ast);
}

void m0_sm_ast_wait_signal(struct m0_sm_ast_wait *wait)
{
    M0_PRE(m0_mutex_is_locked(wait->aw_chan.ch_guard));
    M0_PRE(m0_atomic64_get(&wait->aw_active) > 0);
    m0_atomic64_dec(&wait->aw_active);
    m0_chan_signal(&wait->aw_chan);
}

void m0_sm_ast_wait(struct m0_sm_ast_wait *wait)
{
    struct m0_mutex *guard = wait->aw_chan.ch_guard;
    struct m0_clink clink;

    M0_PRE(m0_mutex_is_locked(guard));
    wait->aw_allowed = false;
    m0_clink_init(&clink, NULL);
    m0_clink_add(&wait->aw_chan, &clink);
    while (m0_atomic64_get(&wait->aw_active) > 0) {
        m0_mutex_unlock(guard);
        m0_chan_wait(&clink);
        m0_mutex_lock(guard);
    }
    m0_clink_del(&clink);
    m0_clink_fini(&clink);
}
