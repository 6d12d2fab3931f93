/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* An agent's events and commands as messages between servers. */
#ifndef JACQUARD_PMRUN_FORWARD_H
#define JACQUARD_PMRUN_FORWARD_H

#include "agent.h"

/* For agents of further nodes: each event goes up. Their owner is the struct pmi2_server. */
extern const struct pmrun_agent_events pmrun_forward_events;
/* At the root: a message from a node as the event it was. Malformed ones are dropped. */
void pmrun_forward_deliver(uint32_t kind, const void *bytes, size_t length,
                           const struct pmrun_agent_events *events, void *owner);
/* On a node: executes a command of the root. */
void pmrun_forward_execute(uint32_t kind, const void *bytes, size_t length,
                           struct pmrun_agent *agent);

#endif
