/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The stacks' port (port/port.h) for ranks: a process is a rank, a thread is one of its fibers,
 * environment variables come from the scenario, and pages of memory cost address space only.
 */
#ifndef JACQUARD_RUN_PORT_FIBER_H
#define JACQUARD_RUN_PORT_FIBER_H

#include "cluster/cluster.h"
#include "port/port.h"

/* The state of the stacks in a rank. */
struct port_process {
    struct rank *rank;
    void *slots[PORT_SLOTS];
    int64_t booked[PORT_BOOK_KERNEL]; /* what it has begun and not ended */
    struct port_thread *threads;
    struct port_armed *timers; /* that may fire */
    struct sim_random random; /* port_random() */
    bool random_ready;
    GHashTable *connections; /* that are in the trace; NULL: none */
    uint32_t connections_made;
    void (*at_end)(void); /* port_at_end(); NULL: none */
    void (*at_wait)(char *text, size_t size); /* port_at_wait(); NULL: none */
    void (*at_freeze)(uint64_t process); /* port_at_release(); NULL: none */
    void (*at_release)(uint64_t process);
};

struct port_process *port_process_get(struct rank *rank); /* makes it */
struct port_process *port_self(void); /* of the calling rank */
void port_process_free(struct rank *rank);

struct port_thread { /* of a rank that has called a stack; lives as long as the rank */
    struct port_thread *next;
    struct sim_fiber *fiber; /* NULL: it was started and has not run */
    const struct port_condition *waits_for; /* NULL: none */
    struct port_mutex *wants; /* waits for it; NULL: none */
    uint64_t turn; /* its place among the threads that wait */
    uint32_t id; /* for sim_poll */
    bool woken; /* by port_thread_wake, since it last waited */
    bool over; /* was joined: the record may be used again */
    /* of one that was started here */
    struct rank_thread *started;
    void (*run)(void *argument);
    void *argument;
    void *pointer; /* port_thread_pointer() */
    uint64_t barred; /* processors that it does not run on */
    uint64_t room[PORT_THREAD_BYTES / sizeof(uint64_t)];
};
struct port_thread *port_thread_new(struct port_process *self);
/* The thread has ended: removes it from the queues of the locks that it waits for. */
void port_turn_forget(struct port_process *self, struct port_thread *thread);

/* A fiber stops where it is, or (NULL) all fibers of the rank do: their timers are cancelled, as
 * the memory of those is about to be freed, and they get no more locks. */
void port_forget(struct rank *rank, const struct sim_fiber *fiber);

/* The rank ends in order: calls what the stacks want to be called then. On a fiber of the rank. */
void port_process_ended(struct rank *rank);
/*
 * The rank has gone, and its threads do not run any more: the kernel releases what it had. On a
 * fiber of the rank, which may wait. True of `port_process_releases`: there is something to do.
 */
void port_process_release(struct rank *rank);
bool port_process_releases(const struct rank *rank);
/* Before its threads are stopped: no one is in a system call when it returns. */
void port_process_freeze(struct rank *rank);
/* What the stacks say that a waiting rank waits for; g_free(). NULL: nothing. Outside of fibers. */
char *port_process_waits(struct rank *rank);
/* Registers the rules of the stacks (engine/finding.h). */
void port_findings_register(void);

/* The rank or the run ends: writes the states in which connections are then to the trace. */
void port_connections_end(struct rank *rank);
void port_connections_end_all(struct cluster *cluster);
/* What ended processes and crashed nodes have left open is abandoned. Before the ledger is closed.
 */
void port_books_end(struct cluster *cluster);
/* A node that has crashed boots again: what its kernel had of the stacks is lost. */
void port_node_boots(struct cluster *cluster, uint32_t node);
void port_pieces_end(struct cluster *cluster);
/* Counts in a book without a look at what the calling process has open. */
void port_book_count(enum port_book book, uint64_t opened, uint64_t delivered);
/* Sets the CPU time of what stacks do (port_spend) from the scenario's parameters. */
void port_costs_set(const struct aries_params *params);

/* Frees all memory of port_pages_alloc() that is still in use. */
void port_pages_end(void);

#endif
