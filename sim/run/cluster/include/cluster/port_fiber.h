/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The stacks' port (port/port.h) for ranks: a process is a rank, a thread one of its fibers, an
 * environment variable one of the scenario, a page of memory one that costs address space only.
 */
#ifndef JACQUARD_RUN_PORT_FIBER_H
#define JACQUARD_RUN_PORT_FIBER_H

#include "cluster/cluster.h"
#include "port/port.h"

/* What the stacks keep of a rank. */
struct port_process {
    struct rank *rank;
    void *slots[PORT_SLOTS];
    struct port_thread *threads;
    struct port_armed *timers; /* that may fire */
    struct sim_random random; /* port_random() */
    bool random_ready;
};

struct port_process *port_process_get(struct rank *rank); /* makes it */
struct port_process *port_self(void); /* of the calling rank */
void port_process_free(struct rank *rank);

struct port_thread { /* of a rank that has called a stack; lives as long as the rank */
    struct port_thread *next;
    struct sim_fiber *fiber; /* NULL: it was started and has not run */
    const struct port_condition *waits_for; /* NULL: none */
    struct port_mutex *wants; /* waits for it; NULL: none */
    uint64_t turn; /* among those that do */
    uint32_t id; /* for sim_poll */
    bool woken; /* by port_thread_wake, since it last waited */
    bool over; /* was joined: the record may be used again */
    /* of one that was started here */
    struct rank_thread *started;
    void (*run)(void *argument);
    void *argument;
    uint64_t room[PORT_THREAD_BYTES / sizeof(uint64_t)];
};
struct port_thread *port_thread_new(struct port_process *self);
/* It is gone: what it waits for goes to others. */
void port_turn_forget(struct port_process *self, struct port_thread *thread);

/*
 * A fiber that stops where it is, or (NULL) all of the rank's: timers do not ring, as their memory
 * is about to go, and no lock is given to it.
 */
void port_forget(struct rank *rank, const struct sim_fiber *fiber);

/* What CPUs of this machine take for what stacks do (port_spend), from the scenario's parameters.
 */
void port_costs_set(const struct aries_params *params);

/* Memory of port_pages_alloc that nobody gave back. */
void port_pages_end(void);

#endif
