/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Threads of the port. */
#include <stdarg.h>
#include <stdio.h>

#include "lib/thread.h"
#include "lib/assert.h"
#include "lib/errno.h"

static struct m0_thread **self_place(void)
{
    return (struct m0_thread **)(void *)port_thread_pointer();
}

static void thread_main(void *argument)
{
    struct m0_thread *thread = argument;

    *self_place() = thread;
    if (thread->t_init != NULL) {
        thread->t_initrc = thread->t_init(thread->t_arg);
        m0_semaphore_up(&thread->t_wait);
        if (thread->t_initrc != 0)
            return;
    }
    thread->t_func(thread->t_arg);
}

static void make_parked(struct m0_thread *thread)
{
    thread->t_state = TS_PARKED;
    thread->t_port = NULL;
}

int m0_thread_init(struct m0_thread *thread, int (*init)(void *), void (*func)(void *), void *arg,
                   const char *namefmt, ...)
{
    va_list arguments;
    int rc = 0;

    M0_PRE(func != NULL);
    M0_PRE(thread->t_state == TS_PARKED);
    *thread =
        (struct m0_thread){.t_state = TS_RUNNING, .t_init = init, .t_func = func, .t_arg = arg};
    va_start(arguments, namefmt);
    vsnprintf(thread->t_namebuf, sizeof(thread->t_namebuf), namefmt, arguments);
    va_end(arguments);
    m0_semaphore_init(&thread->t_wait, 0);
    /* The thread may confine itself before this function returns, so t_port is not read there. */
    thread->t_port = port_thread_start(thread->t_namebuf, thread_main, thread);
    if (thread->t_port == NULL) {
        make_parked(thread);
        rc = -ENOMEM;
    } else if (init != NULL) {
        m0_semaphore_down(&thread->t_wait);
        rc = thread->t_initrc;
        if (rc != 0)
            m0_thread_join(thread);
    }
    m0_semaphore_fini(&thread->t_wait);
    return rc;
}

void m0_thread_fini(struct m0_thread *thread)
{
    M0_PRE(thread->t_state == TS_PARKED);
    thread->t_func = NULL;
}

int m0_thread_join(struct m0_thread *thread)
{
    M0_PRE(thread->t_state == TS_RUNNING);
    if (thread == m0_thread_self())
        return -EDEADLK;
    port_thread_join(thread->t_port);
    make_parked(thread);
    return 0;
}

struct m0_thread *m0_thread_self(void)
{
    return *self_place();
}

int m0_thread_confine(struct m0_thread *thread, const struct m0_bitmap *processors)
{
    struct port_thread *port = thread == m0_thread_self() ? port_thread_self() : thread->t_port;

    if (thread->t_state != TS_RUNNING)
        return -ESRCH;
    return port_thread_confine(port, processors->b_words, processors->b_nr);
}
