/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a program that runs on the simulated nodes sees besides the public API that it tests
 * (gni_pub.h): who it is, its arguments, a cheap out-of-band exchange for start-up, clocks, and
 * where to record what it measured. Workloads compiled into sim-run and a user's shared object
 * (`program: ./x.so`) use the same interface: define one `const struct workload` and name it in
 * WORKLOAD().
 *
 * One call of `main` per rank, each on a fiber of its own; every call here acts for the calling
 * rank. Return 0 for success; anything else fails the job with that exit code.
 */
#ifndef JACQUARD_RUN_WORKLOAD_H
#define JACQUARD_RUN_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct rank; /* the calling rank */

enum arg_type { ARG_COUNT, ARG_BYTES, ARG_TIME, ARG_REAL, ARG_BOOL, ARG_CHOICE };

/* An argument that the scenario may give: `args: {bytes: 4KiB}`. Range and default are text as in a
 * scenario. */
struct workload_arg {
    const char *name;
    enum arg_type type;
    const char *fallback; /* used when the scenario does not give it */
    const char *minimum, *maximum; /* NULL: the type's own */
    const char *choices; /* ARG_CHOICE: "put|get" */
    const char *meaning;
};

struct workload {
    const char *name;
    const char *meaning; /* one line for --list-workloads */
    const char *metrics; /* "latency (ps), bandwidth (B/s)", for --list-workloads */
    const struct workload_arg *args; /* ends with name == NULL */
    uint32_t ranks_min; /* fewer ranks are refused when the scenario is checked; 0: 1 */
    int (*main)(struct rank *rank);
};

/* In a shared object: the symbol that sim-run looks for. */
#define WORKLOAD(definition)                       \
    const struct workload *jacquard_workload(void) \
    {                                              \
        return &(definition);                      \
    }
const struct workload *jacquard_workload(void);

uint32_t rank_id(const struct rank *rank); /* 0 … size-1 in its job */
uint32_t rank_size(const struct rank *rank);
uint32_t rank_node(const struct rank *rank); /* node that it runs on */
uint32_t rank_node_of(const struct rank *rank, uint32_t other); /* of another rank of the job */
uint32_t rank_on_node(const struct rank *rank); /* 0 … ranks per node - 1 */
uint8_t rank_ptag(const struct rank *rank);
uint32_t rank_cookie(const struct rank *rank);

uint64_t rank_arg_count(const struct rank *rank, const char *name); /* ARG_COUNT, ARG_BYTES */
uint64_t rank_arg_ps(const struct rank *rank, const char *name); /* ARG_TIME, in picoseconds */
double rank_arg_real(const struct rank *rank, const char *name);
bool rank_arg_bool(const struct rank *rank, const char *name);
const char *rank_arg_choice(const struct rank *rank, const char *name);

/*
 * The harness's own meeting: 10 us after the last arrival all go on at the same time, so that what
 * is measured behind it begins together. Cannot fail, waits for no rank that is gone. All ranks of
 * the job must call.
 */
void rank_barrier(struct rank *rank);
/*
 * Everybody's part by rank, one read-only table for the whole job, kept to its end; zeros for who
 * is gone. What large jobs use for addresses and memory handles. Goes through PMI (put, fence, read
 * the committed table; docs/pmi2.md, "In simulation") and takes the time that this takes, then as
 * rank_barrier(). Before PMI2_Finalize() only.
 */
const void *rank_exchange(struct rank *rank, const void *mine, size_t bytes);
void rank_allgather(struct rank *rank, const void *mine, void *all,
                    size_t bytes); /* all: size × bytes, by rank */

/* Virtual time in picoseconds. Reading it makes a polling loop be simulated poll by poll. */
uint64_t rank_now(void);
/*
 * The same for a program that only notes the time, and waits by other means: nobody else gets on
 * meanwhile, which costs the simulator less.
 */
uint64_t rank_stamp(void);
void rank_compute(uint64_t ps); /* the CPU is busy */
/*
 * Bytes of data that the NIC of this rank's node has moved for its own PUTs, GETs and atomics so
 * far, also of those that go on. Ranks of one node share the NIC. False: nobody counts them here.
 */
bool rank_delivered_bytes(const struct rank *rank, uint64_t *bytes);
/* False: the scenario has no faults, so an operation that fails is a bug. On hardware always true.
 */
bool rank_has_faults(const struct rank *rank);
/* Spins until *word == value as a CPU does on memory that the NIC writes. */
void rank_spin_until(const volatile uint64_t *word, uint64_t value);
uint64_t rank_random(struct rank *rank); /* from the rank's own stream */
/*
 * As alarm(2): rings once after `ps` of virtual time; 0 cancels. Looking whether it rang costs
 * nothing and, unlike the clock, does not make a polling loop be simulated poll by poll: how a
 * program stops waiting for a peer that is gone.
 */
void rank_alarm(struct rank *rank, uint64_t ps);
bool rank_alarm_rang(const struct rank *rank);
/* As rank_spin_until(), but no longer than until the alarm rings. False: it rang. */
bool rank_spin_until_alarm(struct rank *rank, const volatile uint64_t *word, uint64_t value);
/*
 * Between the two calls this thread polls queues and looks at the alarm, and reads no memory that
 * other ranks or threads write. A rank whose memory is written then stays idle for the simulator.
 */
void rank_queues_only_begin(void);
void rank_queues_only_end(void);
/*
 * The same for a loop that polls one queue and does nothing else but look at the alarm: all its
 * empty passes take the same time.
 */
void rank_same_poll_begin(void);
void rank_same_poll_end(void);

/*
 * Threads. A rank begins with one; further ones run on fibers of their own, share its memory and
 * its uGNI objects, and end with it: when `main` of the workload returns, they are gone, as after
 * exit(3). They take turns only inside of calls, so plain memory needs no lock between calls; uGNI
 * may be called from all of them as the real one may (docs/model.md, "Threads"). Barrier and
 * exchange are for one thread of a rank at a time.
 */
struct rank_thread;
#define RANK_THREAD_CANCELLED (-1)
/* NULL: no stack is left for it. */
struct rank_thread *rank_thread_start(struct rank *rank, int (*main)(struct rank *rank, void *arg),
                                      void *arg);
/* What its main returned, or RANK_THREAD_CANCELLED. */
int rank_thread_join(struct rank *rank, struct rank_thread *thread);
/*
 * As pthread_kill(3) with a signal whose handler returns: the uGNI call in which the thread blocks,
 * or will block next, ends early. thread NULL: the first one.
 */
void rank_thread_interrupt(struct rank *rank, struct rank_thread *thread);
/* As pthread_cancel(3) of type ASYNCHRONOUS: it stops where it is. Not the calling one. */
void rank_thread_cancel(struct rank *rank, struct rank_thread *thread);
/*
 * Waits until ready(arg), at most `ps` (UINT64_MAX: for ever); false: not ready in time. It is
 * asked again whenever something of the rank changed: an event, or rank_notify(), which a thread
 * calls after it changed what others wait for.
 */
bool rank_wait(struct rank *rank, bool (*ready)(const void *arg), const void *arg, uint64_t ps);
void rank_notify(struct rank *rank);
/*
 * poll(2) in virtual time, for the descriptors of completion channels and for epoll sets of them: a
 * real poll(2), select(2) or epoll_wait(2) that blocks would stop all ranks, and one that does not
 * block takes no virtual time. `ps` UINT64_MAX: for ever. Returns as poll(2) does; also 0 after
 * rank_thread_interrupt().
 */
struct pollfd;
int rank_poll(struct rank *rank, struct pollfd *fds, uint32_t count, uint64_t ps);

/* Records into "<job>.<metric>": latencies in ps, byte rates in B/s. */
void rank_record_latency(struct rank *rank, const char *metric, uint64_t ps);
void rank_record_bandwidth(struct rank *rank, const char *metric, uint64_t bytes, uint64_t ps);
void rank_record_rate(struct rank *rank, const char *metric, uint64_t operations, uint64_t ps);
void rank_count(struct rank *rank, const char *metric, uint64_t add);
void rank_progress(struct rank *rank); /* something was achieved: feeds the progress bar and the
                                          no-progress limit */

/* Books a failed verification: the job fails and the text (printf-like) is in the report. Returns
 * -1. */
int rank_fail(struct rank *rank, const char *format, ...) __attribute__((format(printf, 2, 3)));

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
