/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Threads of the calling process. */
#ifndef M0_LIB_THREAD_H
#define M0_LIB_THREAD_H

#include "lib/bitmap.h"
#include "lib/semaphore.h"
#include "lib/types.h"

enum m0_thread_state { TS_PARKED = 0, TS_RUNNING };
enum { M0_THREAD_NAME_LEN = 16 };

struct m0_thread {
    enum m0_thread_state t_state;
    struct port_thread *t_port;
    int (*t_init)(void *);
    int t_initrc;
    struct m0_semaphore t_wait; /* until t_init has returned */
    void (*t_func)(void *);
    void *t_arg;
    char t_namebuf[M0_THREAD_NAME_LEN];
};

/*
 * Starts a thread that runs `init`, if it is not NULL, and then `func` with the argument. The
 * structure is zeroed or finalised. Returns when `init` has returned: 0, or its error, or that of
 * starting (-ENOMEM); in case of an error no thread is left and the state is TS_PARKED.
 */
int m0_thread_init(struct m0_thread *thread, int (*init)(void *), void (*func)(void *), void *arg,
                   const char *namefmt, ...) __attribute__((format(printf, 5, 6)));
#define M0_THREAD_INIT(thread, TYPE, init, func, arg, namefmt, ...)                 \
    ({                                                                              \
        int (*m0_thread_init__)(TYPE) = (init);                                     \
        void (*m0_thread_func__)(TYPE) = (func);                                    \
        TYPE m0_thread_arg__ = (arg);                                               \
        m0_thread_init((thread), (int (*)(void *))(void (*)(void))m0_thread_init__, \
                       (void (*)(void *))(void (*)(void))m0_thread_func__,          \
                       (void *)(uintptr_t)m0_thread_arg__, namefmt, ##__VA_ARGS__); \
    })
/* pre: parked, so joined or never started */
void m0_thread_fini(struct m0_thread *thread);
/* Waits until it has ended; 0. pre: running, and not the caller; -EDEADLK: it is the caller */
int m0_thread_join(struct m0_thread *thread);
/*
 * A function written where its address is taken, as GCC allows: LAMBDA(int, (int x) { return -x;
 * }). It may use the variables around it and lives as long as they do.
 */
#define LAMBDA(T, ...)          \
    ({                          \
        T lambda__ __VA_ARGS__; \
        &lambda__;              \
    })
#define LAMBDA_T *
/* The calling thread; NULL: it was not started here. */
struct m0_thread *m0_thread_self(void);
/*
 * The thread shall run on these processors only. 0; -EINVAL: none of them exists; -ESRCH: it does
 * not run; or another error of the operating system.
 */
int m0_thread_confine(struct m0_thread *thread, const struct m0_bitmap *processors);

#endif
