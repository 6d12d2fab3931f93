/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What LNet needs of the host that it runs on. Time, timers, metrics, trace and ledger come from
 * the engine: jacquard_engine (virtual clock) or jacquard_engine_wall (the clock of an ordinary
 * process). This header is the rest; sim/ implements it for simulated nodes, live/ for ordinary
 * processes.
 */
#ifndef JACQUARD_LNET_HOST_H
#define JACQUARD_LNET_HOST_H

#include <stdbool.h>
#include <stdint.h>
#include "engine/sim.h"
#include "lnet/node.h"

/* The host's own state of a node (node->host), made with the node and freed with it. */
void lnet_host_open(struct lnet_node *node);
void lnet_host_close(struct lnet_node *node);

/* The node on which the calling process runs; in live mode the process itself is the node. NULL: it
 * has no LNet. */
struct lnet_node *lnet_host_current(void);
/* The same, and in a callback of an event queue the node that the queue is on. */
struct lnet_node *lnet_host_of_caller(void);

/*
 * One lock per node. LNet's calls take it, drivers and timers run with it, and callbacks of event
 * queues run under it, as under the kernel's resource lock. In a simulation nothing runs at the
 * same time, so the lock only records that it is held.
 */
void lnet_host_lock(struct lnet_node *node);
void lnet_host_unlock(struct lnet_node *node);
/* Whether the calling thread holds the lock: an API call then comes from a callback. */
bool lnet_host_locked_by_me(const struct lnet_node *node);

/* Waits for lnet_host_wake(node), at most until `deadline` (SIM_NEVER: none); releases the lock
 * meanwhile. Spurious returns are allowed. `why` is static. */
void lnet_host_wait(struct lnet_node *node, sim_time_t deadline, const char *why);
void lnet_host_wake(struct lnet_node *node);

/* Calls the callback of an event queue. In a simulation it may end before it returns: an assertion
 * of it stops the node (libcfs/libcfs_debug.h). */
void lnet_host_call(struct lnet_node *node, lnet_eq_handler_t callback, struct lnet_event *event);

/* At the end of a call of the API on a node whose assertion failed in a callback: the caller goes
 * no further. */
void lnet_host_stay(struct lnet_node *node);

/* An interface that the node was not created with, for an NI that is added while LNet runs. False:
 * the machine has none of that name. */
bool lnet_host_interface(uint32_t lnd_type, const char *name, struct lnet_interface *interface);

enum lnet_warning {
    LNET_WARNING_GAP, /* a driver of a real network may not take the fragments of a descriptor */
    LNET_WARNING_SETTING, /* a setting has no effect on the node */
};
/* LNet goes on, and `text` says what may be a mistake. */
void lnet_host_warn(struct lnet_node *node, enum lnet_warning warning, const char *text);

/* An assertion of LNet failed: `text` names it. The node stops (a simulated node crashes, and the
 * run fails; a process aborts). Does not return to the caller in live mode; in a simulation it does
 * not return where a fiber runs, and elsewhere the caller must leave the node alone. */
void lnet_host_panic(struct lnet_node *node, const char *text);

#endif
