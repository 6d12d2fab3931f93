/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Programs that were not written for sim-run: they have a main() and were linked to libugni, libpmi
 * and so on as for a real machine. Each rank has a copy of the program with its own globals. In the
 * copy, calls that would reach the host's operating system are replaced (shims.c): environment,
 * clock, sleeping, exit, threads. docs/foreign-programs.md describes the limits.
 *
 *   image_open ──▶ (per rank) image_load ──▶ constructors, main ──▶ foreign_exit ──▶ image_unload
 */
#ifndef JACQUARD_RUN_FOREIGN_INTERNAL_H
#define JACQUARD_RUN_FOREIGN_INTERNAL_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include "engine/sim.h"
#include "foreign/foreign.h"

struct rank;

/* ---- the program (image.c) ------------------------------------------------------------------- */

bool foreign_image_has_locals(const struct foreign_image *image); /* thread-local variables */

/*
 * Variables of the C library that a program and the library both write: each rank has its own. `at`
 * is where the program sees them.
 */
enum { FOREIGN_OPTIND, FOREIGN_OPTERR, FOREIGN_OPTOPT, FOREIGN_OPTARG, FOREIGN_VARIABLES };
struct foreign_variables {
    char **environment;
    int optind, opterr, optopt;
    char *optarg;
    void *at[FOREIGN_VARIABLES];
    bool parsing; /* getopt() was called */
};

/* A private copy in memory, with the shims in place; nothing of it has run. */
struct foreign_copy {
    void *object; /* dlopen handle */
    uintptr_t base;
    /* Thread-local variables of an executable: see locals.c. Distance 0: not an executable's. */
    uintptr_t locals_image; /* from base on */
    size_t locals_filled, locals_distance;
    int (*main)(int argc, char **argv, char **environment);
};
bool foreign_image_load(struct foreign_image *image, const char *name,
                        struct foreign_variables *variables, struct foreign_copy *copy,
                        char **error);
void foreign_image_construct(const struct foreign_image *image, const struct foreign_copy *copy,
                             int argc, char **argv, char **environment);
void foreign_image_destruct(const struct foreign_image *image, const struct foreign_copy *copy);
void foreign_image_unload(struct foreign_copy *copy);

/* ---- thread-local variables (locals.c, room.c) ----------------------------------------------- */

/* Of an executable, all together: what sim-run keeps free below each thread pointer. */
#define FOREIGN_LOCALS_MAX 65536
#define FOREIGN_LOCALS_ALIGNMENT 4096

/*
 * A fiber borrows the thread pointer of a host thread. The program's variables begin at
 * thread_pointer - locals_distance of the copy; if the distance is 0, the loader has placed them
 * elsewhere.
 */
struct foreign_locals;
bool foreign_locals_possible(void); /* for executables: whether sim-run's reserved memory is at the
                                       place that their code uses */
/* NULL: the host has no more threads. The fiber uses these variables from now on. */
struct foreign_locals *foreign_locals_start(const struct foreign_copy *copy,
                                            struct sim_fiber *fiber);
/* The fiber has ended, or is about to: it runs under the simulation's thread pointer again. */
void foreign_locals_end(struct foreign_locals *locals, struct sim_fiber *fiber);

/* ---- a rank that executes it (process.c) ----------------------------------------------------- */

#define FOREIGN_ENVIRONMENT_MAX 4096
#define FOREIGN_KEYS_MAX 128

struct foreign_exit_handler {
    struct foreign_exit_handler *next;
    void (*call)(void *arg);
    void *arg;
};

struct foreign_thread {
    struct foreign_thread *next, *previous, *next_waiter;
    struct foreign_process *process;
    struct sim_fiber *fiber;
    struct foreign_locals *locals; /* NULL: it shares the simulation's */
    struct foreign_exit_handler *at_end; /* destructors of its thread-local variables */
    struct sim_event leave; /* frees its fiber after the thread has ended */
    void *(*start)(void *arg);
    void *arg, *result;
    const void *waits_for; /* NULL: nothing */
    void *specific[FOREIGN_KEYS_MAX];
    int number; /* 1: the one that executes main */
    bool ended, detached;
    bool gone; /* nothing of it will run again */
};

struct foreign_key {
    bool used;
    void (*destroy)(void *value);
};

struct foreign_process {
    struct rank *rank;
    struct foreign_image *image;
    struct foreign_copy copy;
    /* environment: FOREIGN_ENVIRONMENT_MAX places; the array never moves */
    struct foreign_variables variables;
    char **own; /* the text of the environment that is ours to free; same places */
    struct foreign_exit_handler *exit_handlers;
    struct foreign_thread main_thread, *threads; /* the list contains main_thread */
    struct foreign_thread *waiters, **waiters_end;
    uint32_t threads_live;
    int threads_started;
    struct foreign_key keys[FOREIGN_KEYS_MAX];
    struct random_data random;
    char random_state[128];
    char *strtok_next;
    bool exiting;
};

struct foreign_process *foreign_self(void); /* of the calling rank */
/* exit(): runs handlers and destructors, and ends the rank. Any of its threads may call it. */
_Noreturn void foreign_exit(struct foreign_process *process, int code);
_Noreturn void foreign_abort(struct foreign_process *process, const char *text);

/* ---- its environment (environment.c) --------------------------------------------------------- */

bool foreign_environment_fill(struct foreign_process *process);
char *foreign_environment_get(const struct foreign_process *process,
                              const char *name); /* NULL: not set */
void foreign_environment_free(struct foreign_process *process);

/* ---- replacements (shims.c, threads.c, locks.c, files.c) ------------------------------------- */

struct foreign_shim {
    const char *name;
    void *function;
};
extern const struct foreign_shim foreign_shims[], foreign_environment_shims[],
    foreign_thread_shims[], foreign_lock_shims[], foreign_file_shims[]; /* end with name == NULL */
void *foreign_shim_find(const char *name); /* NULL: none */

void foreign_threads_begin(struct foreign_process *process);
/*
 * The running fiber becomes a thread of a program. The program's code between two polls is unknown
 * and may count them. Therefore its idle loops are simulated poll by poll, unless the scenario says
 * that this is not necessary (limits.parking).
 */
void foreign_thread_polls(const struct rank *rank);
bool foreign_threads_main_locals(struct foreign_process *process); /* false: out of threads */
/* Runs the handlers of atexit() and of its relatives for threads. */
void foreign_run_handlers(struct foreign_exit_handler **handlers);
void foreign_free_handlers(struct foreign_exit_handler *handler); /* without calling them */
struct foreign_thread *foreign_thread_self(void);
/*
 * Waits for foreign_wake(what). False: the time is over. The thread enters the list of waiters
 * before another thread can run, so no wake-up between the caller's check and the wait is lost.
 */
bool foreign_wait_for(const void *what, sim_time_t until);
void foreign_wake(const void *what, bool all); /* in the order in which they came */
sim_time_t foreign_deadline(const struct timespec *at, bool since_1970);
void foreign_threads_kill(struct foreign_process *process); /* not the running one */
void foreign_threads_free(struct foreign_process *process);
void foreign_sleep(sim_time_t ps);
sim_time_t foreign_clock(void); /* ps since the machine was booted: */
#define FOREIGN_BOOTED_S 1600000000 /* 2020-09-13 */

#endif
