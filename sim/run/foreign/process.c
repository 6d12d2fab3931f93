/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A rank that executes a foreign program, from start to end. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "engine/crash.h"
#include "internal.h"
#include "cluster/cluster.h"
#include "cluster/libfabric.h"

enum {
    EXIT_ABORTED = 134,
    EXIT_NOT_STARTED = 127
}; /* the codes that a shell reports for these signals */

struct foreign_process *foreign_self(void)
{
    struct rank *rank = rank_self();

    g_assert(rank != NULL && rank->foreign != NULL); /* only this rank's copy has the shims */
    return rank->foreign;
}

/* ---- what the cluster asks of it ------------------------------------------------------------- */

static void end(struct rank *rank)
{
    if (rank->foreign != NULL)
        foreign_threads_kill(rank->foreign);
}

static void free_process(struct rank *rank)
{
    struct foreign_process *process = rank->foreign;

    if (process == NULL)
        return;
    rank->foreign = NULL;
    foreign_free_handlers(process->exit_handlers);
    foreign_threads_free(process);
    foreign_image_unload(&process->copy);
    foreign_environment_free(process);
    g_free(process);
}

static const char *get_environment(const struct rank *rank, const char *name)
{
    return foreign_environment_get(rank->foreign, name);
}

static const struct program_operations operations = {
    .end = end, .free = free_process, .getenv = get_environment};

/* ---- start ----------------------------------------------------------------------------------- */

static char **make_arguments(const struct app *app, int *count)
{
    const struct tree *argv = app->scenario->argv;
    size_t given = app->argv != NULL ? g_strv_length(app->argv) : argv != NULL ? argv->count : 0, i;
    char **arguments = calloc(given + 2, sizeof(char *));

    if (arguments == NULL)
        g_error("no memory for the arguments of a rank");
    arguments[0] = strdup(app->scenario->program);
    for (i = 0; i < given; i++)
        arguments[i + 1] = strdup(app->argv != NULL ? app->argv[i] : argv->items[i]->text);
    *count = (int)given + 1;
    return arguments;
}

static void free_arguments(char **arguments)
{
    size_t i;

    for (i = 0; arguments[i] != NULL; i++)
        free(arguments[i]);
    free(arguments);
}

static struct foreign_process *create(struct rank *rank)
{
    struct foreign_process *process = g_new0(struct foreign_process, 1);

    process->rank = rank;
    process->image = rank->app->scenario->workload->foreign;
    rank->foreign = process;
    rank->operations = &operations;
    /* As in a process that never called srandom(). */
    initstate_r(1, process->random_state, sizeof(process->random_state), &process->random);
    foreign_threads_begin(process);
    return process;
}

int foreign_main(struct rank *rank)
{
    struct foreign_process *process = create(rank);
    const char *name = rank->job->name;
    char *why = NULL, **arguments;
    int count, code;

    foreign_thread_polls(rank);
    if (!foreign_environment_fill(process) ||
        !foreign_image_load(process->image, name, &process->variables, &process->copy, &why) ||
        /* One of the program's libraries may have loaded libfabric. */
        (cluster_libfabric_is_loaded() && !cluster_libfabric_start(&why))) {
        rank_fail(rank, "%s: %s", rank->app->scenario->program, why != NULL ? why : "no memory");
        g_free(why);
        return EXIT_NOT_STARTED;
    }
    if (!foreign_threads_main_locals(process)) {
        rank_fail(rank, "%s: the host has no more threads for thread-local variables",
                  rank->app->scenario->program);
        return EXIT_NOT_STARTED;
    }
    arguments = make_arguments(rank->app, &count);
    foreign_image_construct(process->image, &process->copy, count, arguments,
                            process->variables.environment);
    code = process->copy.main(count, arguments, process->variables.environment);
    free_arguments(arguments);
    foreign_exit(process, code);
}

/* ---- end ------------------------------------------------------------------------------------- */

void foreign_run_handlers(struct foreign_exit_handler **handlers)
{
    struct foreign_exit_handler *handler;

    while ((handler = *handlers) != NULL) {
        *handlers = handler->next;
        handler->call(handler->arg);
        free(handler);
    }
}

void foreign_free_handlers(struct foreign_exit_handler *handler)
{
    struct foreign_exit_handler *next;

    for (; handler != NULL; handler = next) {
        next = handler->next;
        free(handler);
    }
}

void foreign_exit(struct foreign_process *process, int code)
{
    if (!process->exiting) { /* a handler may call exit() again: the rest is not run twice */
        process->exiting = true;
        foreign_run_handlers(&foreign_thread_self()->at_end);
        foreign_run_handlers(&process->exit_handlers);
        foreign_image_destruct(process->image, &process->copy);
    }
    fflush(NULL);
    rank_exit(process->rank, code);
}

void foreign_abort(struct foreign_process *process, const char *text)
{
    rank_fail(process->rank, "%s", text);
    fflush(NULL);
    if (sim_crash_caught())
        raise(SIGABRT); /* is reported with a backtrace, and does not return */
    rank_exit(process->rank, EXIT_ABORTED);
}
