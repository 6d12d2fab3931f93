/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Signals that end a fiber or the run. See engine/crash.h. */
#define _GNU_SOURCE /* registers of a context, gettid */
#include "engine/crash.h"

#include <assert.h>
#include <errno.h>
#include <execinfo.h>
#include <fenv.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "internal.h"
#include "sanitizer.h"

#define PAGE 4096u
#define ALTERNATE_BYTES (64u << 10)
#define CRASH_STACK_BYTES (1u << 20)
#define TICKS_TO_LIMIT 8u /* of the timer, until a fiber has computed for too long */
#define TICK_MS_MAX 1000u
#define TICK_MS_MIN 10u
#define INTERRUPT_TICK_MS 50u
#define SAFE_TRIES                                                                \
    200u /* ticks at which a fiber may be inside the C library before it is ended \
          */

static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
#define FATAL (sizeof fatal / sizeof *fatal)
static const int stops[] = {SIGINT, SIGTERM};
#define STOPS (sizeof stops / sizeof *stops)

static struct {
    bool on, busy, own_alternate, timed;
    struct sim_crash_options options;
    struct sigaction before[FATAL], tick_before;
    timer_t timer;
    void *alternate;
    char *stack; /* what runs after a crash; one fiber at a time */
    struct sim_crash crash;
    uint64_t seen; /* what the last tick saw */
    unsigned ticks, tries; /* since the fiber's last call */
    uint64_t wall_ns, cpu_ns; /* of the host, at the first tick after it */
    uintptr_t libc_begin, libc_end; /* the C library's code */
} crashes;

static struct {
    bool on;
    struct sigaction before[STOPS];
    volatile sig_atomic_t signal;
} interrupts;

/* ---- leaving a signal ------------------------------------------------------------------------ */

static void default_action(int signal)
{
    struct sigaction action = {.sa_handler = SIG_DFL};

    sigaction(signal, &action, NULL);
}

/* The fiber that crashed runs this on the crash stack, outside the signal. */
static void aftermath(void)
{
    static const struct sim_wait over = {.text = "nothing: it has crashed"};
    bool caught;

    fesetenv(FE_DFL_ENV); /* the program may have unmasked exceptions */
    caught = crashes.options.crashed(&crashes.crash);
    crashes.busy = false;
    if (!caught) {
        default_action(crashes.crash.signal != 0 ? crashes.crash.signal : SIGKILL);
        raise(crashes.crash.signal != 0 ? crashes.crash.signal : SIGKILL);
    }
    for (;;)
        sim_wait_until(SIM_NEVER, &over);
}

/* The run is interrupted, and this fiber does not let go. */
static void held_up(void)
{
    static const struct sim_wait over = {.text = "nothing: it computed when the run was stopped"};

    for (;;)
        sim_wait_until(SIM_NEVER, &over);
}

/* The running fiber, if the signal came while it ran on its own stack. */
static struct sim_fiber *victim(const ucontext_t *context)
{
    struct sim_fiber *fiber = sim_core.fiber;
    uintptr_t sp = (uintptr_t)context->uc_mcontext.gregs[REG_RSP];

    if (fiber == NULL || fiber->state != FIBER_RUNNABLE)
        return NULL;
    return sp - (uintptr_t)fiber->stack.bottom <= sim_stack_bytes() ? fiber : NULL;
}

/* After a call of a wrong address there are no frames to find; the caller is on the stack. */
static void undo_wild_call(ucontext_t *context)
{
    greg_t *registers = context->uc_mcontext.gregs;

    registers[REG_RIP] =
        *(const greg_t *)registers[REG_RSP]; /* NOLINT: a register holds an address */
    registers[REG_RSP] += (greg_t)sizeof(greg_t);
}

static void note_frames(ucontext_t *context, const siginfo_t *info)
{
    void *all[SIM_CRASH_FRAMES + 8],
        *at = (void *)context->uc_mcontext.gregs[REG_RIP]; /* NOLINT: a register holds an address */
    int count, i;

    if (info != NULL && info->si_signo == SIGSEGV && info->si_addr == at && !crashes.crash.overflow)
        undo_wild_call(context);
    at = (void *)context->uc_mcontext.gregs[REG_RIP]; /* NOLINT: a register holds an address */
    count = backtrace(all, (int)(sizeof all / sizeof *all));
    for (i = 0; i < count && all[i] != at; i++)
        ;
    crashes.crash.depth = 0;
    if (i == count) { /* not unwound through the signal's frame */
        crashes.crash.frames[crashes.crash.depth++] = at;
        return;
    }
    for (; i < count && crashes.crash.depth < SIM_CRASH_FRAMES; i++)
        crashes.crash.frames[crashes.crash.depth++] = all[i];
}

/* The signal returns into `where`, on a stack of its own, not into the fiber. */
static void leave_to(ucontext_t *context, void (*where)(void))
{
    greg_t *registers = context->uc_mcontext.gregs;
    char *top = crashes.stack + CRASH_STACK_BYTES - 64;

    registers[REG_RSP] = (greg_t)(top - sizeof(greg_t)); /* as after a call */
    registers[REG_RBP] = 0;
    registers[REG_RIP] = (greg_t)where;
    registers[REG_EFL] &= ~(greg_t)0x400; /* the direction flag */
}

/* ---- fatal signals --------------------------------------------------------------------------- */

static void on_fatal(int signal, siginfo_t *info, void *arg)
{
    ucontext_t *context = arg;
    const struct sim_fiber *fiber = victim(context);
    const char *address = info->si_addr;
    size_t i;

    if (fiber == NULL || crashes.busy) {
        /* Not a fiber's: under the handler that was there before, the instruction fails again. */
        for (i = 0; i < FATAL; i++)
            if (fatal[i] == signal)
                sigaction(signal, &crashes.before[i], NULL);
        if (info->si_code <= 0)
            raise(signal);
        return;
    }
    crashes.busy = true;
    crashes.crash = (struct sim_crash){.signal = signal};
    if (info->si_code <= 0) {
        crashes.crash.by_program = true;
    } else if (signal == SIGSEGV || signal == SIGBUS) {
        crashes.crash.overflow = sim_stack_guarded() && address >= fiber->stack.bottom &&
                                 address < fiber->stack.bottom + PAGE;
        crashes.crash.null = (uintptr_t)address < PAGE && info->si_code != SI_KERNEL;
    }
    note_frames(context, info);
    leave_to(context, aftermath);
}

/* ---- time without a call --------------------------------------------------------------------- */

/* Changes with whatever a fiber asks of the simulation. */
static uint64_t signature(void)
{
    uint64_t all = sim_core.local;

    all = all * 31 + sim_core.now;
    all = all * 31 + sim_core.events_fired;
    all = all * 31 + sim_core.fiber_switches;
    all = all * 31 + sim_engine.polls;
    return all * 31 + sim_core.call + sim_core.last_call;
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Whether the thread hardly had the processor since the fiber's last call: it sleeps in the
 * operating system. On a busy host, one that computes still has more than a fiftieth. */
static bool was_blocked(void)
{
    uint64_t wall = clock_ns(CLOCK_MONOTONIC) - crashes.wall_ns,
             cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID) - crashes.cpu_ns;

    return cpu < wall / 50;
}

static void set_timer(uint32_t ms)
{
    struct itimerspec every = {.it_interval = {ms / 1000, (long)(ms % 1000) * 1000000}};

    every.it_value = every.it_interval;
    timer_settime(crashes.timer, 0, &every, NULL);
}

static uint32_t tick_ms(void)
{
    uint32_t ms = crashes.options.compute_ms / TICKS_TO_LIMIT;

    return ms > TICK_MS_MAX ? TICK_MS_MAX : ms < TICK_MS_MIN ? TICK_MS_MIN : ms;
}

/* It may hold a lock of the C library, which others would wait for: try again soon. */
static bool in_libc(const ucontext_t *context)
{
    uintptr_t at = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];

    return at >= crashes.libc_begin && at < crashes.libc_end && crashes.tries++ < SAFE_TRIES;
}

static void stop_the_run(void)
{
    sim_engine.stopped = true;
    sim_engine.alarm_time = 0;
    sim_engine.alarm_events = 0;
    sim_engine.alarm_polls = 0;
    sim_core.horizon = 0;
}

static void tick(ucontext_t *context)
{
    uint64_t now = signature();
    unsigned limit = TICKS_TO_LIMIT;

    if (interrupts.signal != 0) {
        limit = 3;
        stop_the_run(); /* a check that was under way may have set the alarms again */
    } else if (crashes.options.compute_ms == 0) {
        return;
    } else if (tick_ms() == TICK_MS_MAX) {
        limit = crashes.options.compute_ms / TICK_MS_MAX;
    }
    if (now != crashes.seen || crashes.busy || victim(context) == NULL) {
        if (crashes.tries != 0)
            set_timer(interrupts.signal != 0 ? INTERRUPT_TICK_MS : tick_ms());
        crashes.seen = now;
        crashes.ticks = crashes.tries = 0;
        crashes.wall_ns = clock_ns(CLOCK_MONOTONIC);
        crashes.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        return;
    }
    if (++crashes.ticks < limit)
        return;
    if (in_libc(context)) {
        set_timer(1);
        return;
    }
    crashes.ticks = crashes.tries = 0;
    set_timer(interrupts.signal != 0 ? INTERRUPT_TICK_MS : tick_ms());
    if (interrupts.signal != 0) {
        leave_to(context, held_up);
        return;
    }
    crashes.busy = true;
    crashes.crash = (struct sim_crash){.signal = 0, .blocked = was_blocked()};
    note_frames(context, NULL);
    leave_to(context, aftermath);
}

static void on_tick(int signal, siginfo_t *info, void *arg)
{
    int before = errno;

    tick(arg);
    errno = before;
}

/* ---- begin and end --------------------------------------------------------------------------- */

#ifndef SANITIZER_ADDRESS
static void find_libc(void)
{
    char line[512];
    void *end, *begin;
    FILE *maps = fopen("/proc/self/maps", "r");
    uintptr_t probe = (uintptr_t)&qsort;

    if (maps == NULL)
        return;
    while (fgets(line, sizeof line, maps) != NULL)
        if (sscanf(line, "%p-%p", &begin, &end) == 2 && (uintptr_t)begin <= probe &&
            probe < (uintptr_t)end) {
            crashes.libc_begin = (uintptr_t)begin;
            crashes.libc_end = (uintptr_t)end;
        }
    fclose(maps);
}

static void set_alternate_stack(void)
{
    stack_t present, alternate = {.ss_size = ALTERNATE_BYTES};

    if (sigaltstack(NULL, &present) == 0 && (present.ss_flags & SS_DISABLE) == 0)
        return;
    crashes.own_alternate = true;
    crashes.alternate = alternate.ss_sp = malloc(ALTERNATE_BYTES);
    if (alternate.ss_sp == NULL || sigaltstack(&alternate, NULL) != 0)
        sim_panic("cannot set up a signal stack");
}

static void start_timer(void)
{
    struct sigaction action = {.sa_sigaction = on_tick,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGVTALRM};

    sigfillset(&action.sa_mask);
    /* Debuggers pass this signal on without stopping. */
    event._sigev_un._tid = gettid(); /* threads of the host that lend their pointer take none */
    if (timer_create(CLOCK_MONOTONIC, &event, &crashes.timer) != 0)
        return; /* the host has no timers left: a rank that computes for ever is not noticed */
    crashes.timed = true;
    sigaction(SIGVTALRM, &action, &crashes.tick_before);
    set_timer(crashes.options.compute_ms != 0 ? tick_ms() : TICK_MS_MAX);
}

bool sim_crash_catch(const struct sim_crash_options *options)
{
    struct sigaction action = {.sa_sigaction = on_fatal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    void *first[1];
    size_t i;

    assert(!crashes.on && options->crashed != NULL);
    memset(&crashes, 0, sizeof crashes);
    crashes.options = *options;
    crashes.stack = mmap(NULL, CRASH_STACK_BYTES, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (crashes.stack == MAP_FAILED)
        return false;
    (void)backtrace(first, 1); /* it loads a library the first time, which no handler may do */
    find_libc();
    set_alternate_stack();
    sigfillset(&action.sa_mask);
    for (i = 0; i < FATAL; i++)
        sigdelset(&action.sa_mask, fatal[i]); /* a fault in the handler ends the process */
    for (i = 0; i < FATAL; i++)
        sigaction(fatal[i], &action, &crashes.before[i]);
    crashes.on = true;
    start_timer();
    return true;
}

void sim_crash_release(void)
{
    stack_t none = {.ss_flags = SS_DISABLE};
    size_t i;

    if (!crashes.on)
        return;
    if (crashes.timed) {
        timer_delete(crashes.timer);
        sigaction(SIGVTALRM, &crashes.tick_before, NULL);
    }
    for (i = 0; i < FATAL; i++)
        sigaction(fatal[i], &crashes.before[i], NULL);
    if (crashes.own_alternate)
        sigaltstack(&none, NULL);
    free(crashes.alternate);
    munmap(crashes.stack, CRASH_STACK_BYTES);
    crashes.on = false;
}
#else /* the sanitizer reports crashes itself */
bool sim_crash_catch(const struct sim_crash_options *options)
{
    (void)on_fatal, (void)on_tick;
    return false;
}

void sim_crash_release(void)
{
}
#endif

bool sim_crash_caught(void)
{
    return crashes.on;
}

/* ---- interrupts ------------------------------------------------------------------------------ */

static void on_stop(int signal)
{
    int before = errno;

    if (interrupts.signal != 0) {
        default_action(signal);
        raise(signal);
        return;
    }
    interrupts.signal = signal;
    stop_the_run();
    if (crashes.on && crashes.timed)
        set_timer(INTERRUPT_TICK_MS);
    errno = before;
}

void sim_interrupt_catch(void)
{
    struct sigaction action = {.sa_handler = on_stop, .sa_flags = SA_ONSTACK | SA_RESTART};
    size_t i;

    if (interrupts.on)
        return;
    interrupts.signal = 0;
    sigemptyset(&action.sa_mask);
    for (i = 0; i < STOPS; i++) {
        sigaction(stops[i], NULL, &interrupts.before[i]);
        if (interrupts.before[i].sa_handler != SIG_IGN)
            sigaction(stops[i], &action, NULL);
    }
    interrupts.on = true;
}

void sim_interrupt_release(void)
{
    size_t i;

    for (i = 0; i < STOPS && interrupts.on; i++)
        sigaction(stops[i], &interrupts.before[i], NULL);
    interrupts.on = false;
}

int sim_interrupted(void)
{
    return interrupts.signal;
}
