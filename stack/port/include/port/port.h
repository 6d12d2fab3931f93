/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The small part of an operating system that the stacks need, so that the same sources run as OS
 * processes and threads (posix.c) and as fibers inside of a simulation (sim/run). "Process" is an
 * OS process there and a rank here; "thread" one of its threads here, a fiber there.
 *
 * Objects are initialised in place, never moved, and need no memory of their own.
 */
#ifndef JACQUARD_PORT_H
#define JACQUARD_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct port_mutex {
    uint64_t opaque[8];
};
void port_mutex_init(struct port_mutex *mutex);
void port_mutex_destroy(struct port_mutex *mutex);
void port_mutex_lock(struct port_mutex *mutex);
void port_mutex_unlock(struct port_mutex *mutex);
/* false: another thread has it. */
bool port_mutex_trylock(struct port_mutex *mutex);

struct port_condition {
    uint64_t opaque[8];
};
void port_condition_init(struct port_condition *condition);
void port_condition_destroy(struct port_condition *condition);
/* As pthread_cond_wait(3): spurious wake-ups are possible. */
void port_condition_wait(struct port_condition *condition, struct port_mutex *mutex);
void port_condition_signal(struct port_condition *condition);
void port_condition_broadcast(struct port_condition *condition);

/*
 * A counter that a thread waits for and that anything may raise, also a callback that runs outside
 * of the threads of the process, under a lock of the library that calls it. At most
 * PORT_SEMAPHORE_WAITERS threads wait at a time.
 */
#define PORT_SEMAPHORE_WAITERS 6
struct port_semaphore {
    uint64_t opaque[8];
};
void port_semaphore_init(struct port_semaphore *semaphore);
void port_semaphore_destroy(struct port_semaphore *semaphore);
void port_semaphore_post(struct port_semaphore *semaphore);
/* Waits until the counter is not 0, and lowers it; false: it was 0 for `nanoseconds` (UINT64_MAX:
 * no limit). */
bool port_semaphore_wait(struct port_semaphore *semaphore, uint64_t nanoseconds);

/* Monotonic, nanoseconds; virtual time in a simulation. */
uint64_t port_now(void);
/* The environment of the calling process; NULL: not set. Valid until the process changes it. */
const char *port_getenv(const char *name);
/* A number that all threads of the calling process share and no other living process has. */
uint64_t port_process(void);

/* Memory of the calling thread, zero at first. It is freed with the thread. */
#define PORT_THREAD_BYTES 256
void *port_thread_room(void);
/* Another pointer of the calling thread, NULL at first, for the support library of m0_net. */
void **port_thread_pointer(void);
/* Ends the calling process, as exit(3). */
_Noreturn void port_exit(int status);
/* The calling process has a defect that this text tells: it ends as abort(3) ends it. */
_Noreturn void port_panic(const char *text) __attribute__((cold));

/* A pointer of each process for each library, in place of the library's global variables. */
enum port_slot {
    PORT_SLOT_PMI2,
    PORT_SLOT_PMI,
    PORT_SLOT_GNI,
    PORT_SLOT_M0_FAULTS,
    PORT_SLOT_M0_NET,
    PORT_SLOT_M0_EXIT,
    PORT_SLOT_MADELEINE,
    PORT_SLOT_LIBCFS,
    PORT_SLOTS
};
/* The place of that pointer; it is NULL at first. Never fails. */
void **port_slot(enum port_slot slot);

/* A pointer of each host for each part of its kernel: all processes on the host share it. */
enum port_host_slot { PORT_HOST_M0_LNET, PORT_HOST_SLOTS };
void **port_host_slot(enum port_host_slot slot);
/*
 * What the host's kernel does when the calling process has gone, however it ended: `release` is
 * called with the process's number (port_process()), on a thread that runs none of its code, and
 * may wait. Not after the host itself has gone. `freeze` is called before, while threads of the
 * process still run, and returns with the kernel's locks of the process: no thread of it is in the
 * middle of a system call then. They are stopped at that moment. NULL: nothing.
 */
void port_at_release(void (*freeze)(uint64_t process), void (*release)(uint64_t process));

/* ---- threads --------------------------------------------------------------------------------- */

struct port_thread;
/*
 * Starts a thread of the calling process, with all signals blocked; NULL: not possible. It ends
 * when `run` returns; port_thread_join waits for that and frees it. None is detached.
 */
struct port_thread *port_thread_start(const char *name, void (*run)(void *), void *argument);
void port_thread_join(struct port_thread *thread);
/* The calling thread, also one that was not started here. Valid until the process ends. */
struct port_thread *port_thread_self(void);
/*
 * The caller has changed something that `thread` polls in a loop: it polls again. No effect on a
 * thread that does not sleep between its polls, nor on the calling one.
 */
void port_thread_wake(struct port_thread *thread);
/*
 * The thread shall run on those processors only whose bits are set in `set`, of `count` bits. 0;
 * -EINVAL: none of them exists. In a simulation the set is an attribute of the thread; it has no
 * effect on time, as every thread has a processor of its own.
 */
int port_thread_confine(struct port_thread *thread, const uint64_t *set, size_t count);
/* Whether the calling thread may run on this processor, which exists. */
bool port_thread_allowed(unsigned processor);
/* How many processors the host of the calling process has. */
unsigned port_processors(void);

/* ---- time ------------------------------------------------------------------------------------ */

/* A limit to waiting. port_timer_rang is cheap and does not count as reading the clock. */
struct port_timer {
    uint64_t opaque[12];
};
/* Rings once, `nanoseconds` from now; UINT64_MAX: never. For the calling thread. */
void port_timer_start(struct port_timer *timer, uint64_t nanoseconds);
bool port_timer_rang(const struct port_timer *timer);
void port_timer_stop(struct port_timer *timer); /* always, before the timer's memory goes */
/*
 * One fruitless pass of a loop that waits until its timer rings, for an event that GNI's queues
 * bring (`polled`: this pass polled some) or that another thread brings, which then calls
 * port_thread_wake(). Returns at once or after a while.
 */
void port_idle(struct port_timer *timer, bool polled);
/*
 * Another thread had the CPU during one of those passes. Always false where threads do not share
 * CPUs.
 */
bool port_timer_preempted(const struct port_timer *timer);
/*
 * A poll of memory that found nothing, in a loop that polls no queue: returns soon. The thread that
 * changes the memory calls port_thread_wake().
 */
void port_poll_memory(void);
/*
 * The polls since the last call were made for the object `id`, which port_new_id() numbered, and
 * the object is empty. The program may go on differently after another object, for which the same
 * queues were polled. No effect where polls are not left out.
 */
void port_poll_mark(uint32_t id);
uint32_t port_new_id(void);
/*
 * A poll has found something, so the polls that follow are not one idle loop with those before. To
 * be called where a function polls and then returns something that it had already, or that another
 * thread brought.
 */
void port_idle_break(void);

/* What the CPU does, for the model of its time. No effect where a real CPU does it. */
enum port_cost {
    PORT_COST_SEND, /* a send, from the call to the post */
    PORT_COST_RECEIVE, /* an arrived message, matched and completed */
    PORT_COST_POST, /* a receive */
    PORT_COST_RMA, /* a read, write or atomic, from the call to the post */
    PORT_COST_COMPLETION, /* an event of an operation of the provider */
    PORT_COST_COPY, /* amount: bytes */
    PORT_COST_RENDEZVOUS, /* additionally for each long message, at both ends */
    PORT_COST_CONNECT, /* one step of making a connection */
    PORT_COST_SYSCALL, /* a call of a driver in the kernel, besides what it does */
    PORT_COST_PIN, /* amount: pages that the kernel pins */
    PORT_COSTS
};
void port_spend(enum port_cost cost, uint64_t amount);

/* What a message library does on the CPU, for models of the networks of its drivers. */
enum port_step {
    PORT_STEP_BEGIN_PACKING,
    PORT_STEP_PACK,
    PORT_STEP_END_PACKING,
    PORT_STEP_BEGIN_UNPACKING,
    PORT_STEP_UNPACK,
    PORT_STEP_END_UNPACKING,
    PORT_STEP_COPY, /* amount: bytes */
    PORT_STEP_CREDIT, /* a sender goes on after it has waited for its receiver */
};
/* No effect where a real CPU does it, nor on networks that have no such model. */
void port_step_spend(const char *driver, enum port_step step, uint64_t amount);

/* ---- books -------------------------------------------------------------------------------------
 */

/*
 * What begins and has to end, for a simulation's ledger. No effect elsewhere. What a process leaves
 * open when it is killed is abandoned; what the kernel has for it (from PORT_BOOK_KERNEL on) is
 * not.
 */
enum port_book {
    PORT_BOOK_M0_BUFFER, /* network buffers that were added, until their final event */
    PORT_BOOK_M0_MESSAGE, /* messages in buffers, until their events were delivered */
    PORT_BOOK_M0_DESCRIPTOR, /* of passive buffers, as long as these are queued */
    PORT_BOOK_M0_POOL, /* buffers that are outside of their pools */
    PORT_BOOK_M0_SLOT, /* event slots that are reserved */
    PORT_BOOK_MAD_BLOCK, /* of Madeleine's messages (port_piece_sent) */
    PORT_BOOK_MAD_BUFFER, /* static buffers of its drivers (the same) */
    PORT_BOOK_KERNEL,
    PORT_BOOK_M0_PIN = PORT_BOOK_KERNEL, /* pages of processes that the driver pins */
    PORT_BOOK_M0_MACHINE, /* of processes in the driver, with their addresses and LNet's objects */
    PORT_BOOKS
};
/* So many begin, or (negative) end, for the calling process. */
void port_book(enum port_book book, int64_t change);
/* The calling process says that nothing of a book is open any more. */
void port_book_close(enum port_book book);
/* What should be so in the book and is not. The text is static. */
void port_book_violation(enum port_book book, const char *text);

/*
 * A piece of data that one process hands to another. It must be at the receiver, in
 * port_piece_received, what it was at the sender in port_piece_sent, which came before; else `rule`
 * (static) is violated. What has not arrived at the end is counted as lost, and is no violation.
 */
struct port_piece {
    enum port_book book;
    uint64_t channel; /* these are the same at both ends */
    uint32_t from, to, link, number;
    uint64_t message;
    const char *rule; /* of the sender */
};
void port_piece_sent(const struct port_piece *piece, const void *bytes, size_t length);
void port_piece_received(const struct port_piece *piece, const void *bytes, size_t length);
uint64_t port_piece_digest(const void *bytes, size_t length); /* 0 outside of a simulation */

/* ---- API calls ---------------------------------------------------------------------------------
 */

/*
 * The calling thread enters a call of the stack's API; `name` is static: "fi_send". A simulation
 * names the call in findings, in reports of crashes and in traces. port_call_end takes what
 * port_call_begin returned.
 */
uintptr_t port_call_begin(const char *name);
void port_call_end(uintptr_t outer);
static inline void port_call_leave(const uintptr_t *outer)
{
    port_call_end(*outer);
}
/* At the head of a function of the API: the call lasts until the function returns. */
#define PORT_CALL(name)                                                           \
    uintptr_t port_call_outer __attribute__((unused, cleanup(port_call_leave))) = \
        port_call_begin(name)

/* Whether somebody wants to see the arguments of calls. False where there is no trace. */
bool port_tracing(void);
/* Adds an argument to the innermost call in progress, while port_tracing(). Names and texts are
 * static. */
void port_trace_number(const char *name, uint64_t number);
void port_trace_text(const char *name, const char *text);

/* ---- findings -------------------------------------------------------------------------------- */

/* A rule of the stack's API that a program may break. A constant of the stack. */
struct port_rule {
    const char *name; /* "libfabric.buffer-changed" */
    const char *summary;
    enum port_severity { PORT_FINDING_COUNT, PORT_FINDING_WARNING, PORT_FINDING_ERROR } severity;
};
/* Whether the port wants findings of the calling process. Without them there is nothing to check.
 */
bool port_checks(void);
/* The calling process has broken the rule: one sentence without its name, the time and the call. */
void port_finding(const struct port_rule *rule, const char *format, ...)
    __attribute__((format(printf, 2, 3), cold));
/* The time for texts of findings, in microseconds. Reading it takes no time in a simulation. */
double port_finding_time(void);
/* The name of the process with this instance at a NIC address, for texts of findings. */
void port_peer_name(uint32_t nic_address, uint32_t instance, char *name, size_t size);
/*
 * Calls `end` when the calling process ends in order, before its objects are released. Locks may
 * be held then by threads that have ended.
 */
void port_at_end(void (*end)(void));
/*
 * Calls `describe` when a run ends in which the calling process waits for ever, while none of its
 * threads runs: it writes in one phrase what the process waits for, or an empty text. The phrase
 * names a process that must act as ", peer NAME" (port_peer_name). Locks may be held.
 */
void port_at_wait(void (*describe)(char *text, size_t size));
/* memcpy(3) from memory of the program. False: a page was not mapped. */
bool port_copy(void *to, const void *from, size_t bytes);

/* ---- memory, hosts, descriptors -------------------------------------------------------------- */

/* A random number. In a simulation it comes from a stream of the process and is reproducible. */
uint64_t port_random(void);
/*
 * Zeroed memory; pages that are not touched cost nothing. page: the wanted page size, or 0. NULL:
 * no memory is left.
 */
void *port_pages_alloc(size_t bytes, size_t page);
void port_pages_free(void *pages, size_t bytes);
/*
 * Notes changes of the process's memory from now on; in an ordinary process by the kernel module
 * kdreg where the stack was built with its header and the module is loaded, else by patching the C
 * library's functions. 0; -1: not possible here.
 */
int port_memory_watch(void);
/*
 * Names memory whose changes matter, before it is registered with a NIC; kdreg reports no others.
 * Returns a number for port_memory_watch_end, which has no effect on 0.
 */
uint64_t port_memory_watch_begin(uint64_t address, uint64_t bytes);
void port_memory_watch_end(uint64_t watch);
/*
 * Memory of the process that was unmapped or mapped anew. A NIC with which it is registered may
 * still access the old pages. 1: the next such range; 0: no more ranges; -1: changes are not noted
 * (any more), so any range may have changed. *place: 0 at first, then the caller's position in the
 * sequence of changes.
 */
int port_memory_changed(uint64_t *place, uint64_t *address, uint64_t *bytes);
/* The name of the calling process's host, cut to the size. */
void port_host_name(char *name, size_t size);
/*
 * The NIC address of a host by name, as programs name hosts. A name may stand for several nodes:
 * then the one that has `instance` is meant (UINT32_MAX: no preference). 0 or a negative errno.
 */
int port_resolve(const char *host, uint32_t instance, uint32_t *nic_address);
/*
 * A descriptor that is readable from port_event_set to port_event_clear, for programs that poll(2).
 * -1: not possible.
 */
int port_event_open(void);
void port_event_set(int event);
void port_event_clear(int event);
void port_event_close(int event);
/*
 * Reports to tools that observe the process, where there are any: the connection `id` to an
 * instance at a NIC address is now in `state`, a word; NULL: it has gone.
 */
void port_connection(const void *id, uint32_t nic_address, uint32_t instance, const char *state);

#endif
