/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Crashes of simulated code, code that computes for ever, and interrupts of a run.
 *
 * A fatal signal (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) while a fiber runs on its own stack is
 * a crash of that fiber. The handler notes the calling frames and leaves the signal: the fiber goes
 * on in the `crashed` callback, on another stack, and must not return. A signal in an event handler
 * or in the scheduler is a mistake of the simulator and keeps its default action. A fiber that
 * makes no call for `compute_ms` of wall time, because it computes or because the operating system
 * lets it wait, is ended in the same way. Virtual clock only; not
 * together with AddressSanitizer, which has handlers of its own.
 */
#ifndef JACQUARD_ENGINE_CRASH_H
#define JACQUARD_ENGINE_CRASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_CRASH_FRAMES 64

struct sim_crash {
    int signal; /* 0: it makes no call */
    bool blocked; /* signal 0: it does not compute, but waits in the operating system */
    bool overflow; /* of the fiber's stack */
    bool null; /* it used an address in the first page */
    bool by_program; /* raise() or abort(): no instruction failed */
    unsigned depth;
    void *frames[SIM_CRASH_FRAMES]; /* innermost first: instruction, then return addresses */
};

struct sim_crash_options {
    uint32_t compute_ms; /* 0: a fiber may compute for ever */
    /* Runs as ordinary code of the fiber that crashed. It must make sure that something ends the
     * fiber, and return; the fiber waits for that. False: this fiber's crash is not to be caught,
     * and the signal gets its default action. */
    bool (*crashed)(const struct sim_crash *crash);
};

/* From sim_init to sim_fini; the thread that calls sim_run calls these. False: not possible here
 * (AddressSanitizer). */
bool sim_crash_catch(const struct sim_crash_options *options);
void sim_crash_release(void);
bool sim_crash_caught(void); /* between these two */

/*
 * Catches SIGINT and SIGTERM until sim_interrupt_release(): sim_run() ends as by sim_stop(), also
 * when a fiber computes. A second signal ends the process at once. Ignored signals stay ignored.
 */
void sim_interrupt_catch(void);
void sim_interrupt_release(void);
int sim_interrupted(void); /* the signal since sim_interrupt_catch(); 0: none */

#endif
