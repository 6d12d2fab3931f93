/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The interface of the Aries fabric for its host: sim-run uses it to build nodes and processes
 * that call uGNI (gni_pub.h). Programs on the nodes use only gni_pub.h.
 */
#ifndef JACQUARD_ARIES_ARIES_H
#define JACQUARD_ARIES_ARIES_H

#include <stdbool.h>
#include <stdint.h>
#include "engine/sim.h"
#include "net/net.h"

struct aries_fabric;
struct aries_process;

/* ---- parameters ------------------------------------------------------------------------------ */

enum aries_confidence {
    ARIES_PUBLISHED,
    ARIES_DERIVED,
    ARIES_FITTED,
    ARIES_ASSUMED,
    ARIES_RECALLED
};

/* One row of the parameter table (params.c), which holds all numbers of the model. */
struct aries_param {
    const char *name; /* as in scenarios, e.g. "aries.nic.tx_ns" */
    const char *unit; /* "ns", "ps", "MB/s", "Mphit/s", "", ... */
    const char *meaning;
    const char *source;
    enum aries_confidence confidence;
    double minimum, maximum;
    double value[3]; /* default for profiles xc40_hsw, xc30_snb, xc40_knl */
};
const struct aries_param *aries_param_table(size_t *count);

struct aries_params; /* a complete set of values; opaque outside sim/aries */
struct aries_params *aries_params_new(const char *profile); /* NULL: no such profile */
void aries_params_free(struct aries_params *params);
/* False: no such name, or out of range; *error is malloc'd text that says what is allowed. */
bool aries_params_set(struct aries_params *params, const char *name, double value, char **error);
double aries_params_get(const struct aries_params *params,
                        const char *name); /* NAN: no such name */
/* Writes link, router and route parameters into the network's configuration. */
void aries_params_to_net(const struct aries_params *params, struct net_config *config);

/* ---- fabric ---------------------------------------------------------------------------------- */

/*
 * Creates one NIC per endpoint of `net`, which must outlive the fabric. The parameters are copied.
 */
struct aries_fabric *aries_fabric_create(struct net *net, const struct aries_params *params,
                                         uint64_t seed);
void aries_fabric_destroy(struct aries_fabric *fabric);
/* Registers the rules of uGNI (engine/finding.h); the first call counts. */
void aries_findings_register(void);
/* Whether programs are watched for mistakes. In simulation they are, unless this says otherwise. */
void aries_fabric_check(struct aries_fabric *fabric, bool on);
/*
 * The run is over: events that are still queued count as lost and reported. To be called before
 * sim_ledger_balance().
 */
void aries_fabric_abandon_events(struct aries_fabric *fabric);
uint32_t aries_nic_address(const struct aries_fabric *fabric,
                           uint32_t node); /* PE address, 18 bits */
/*
 * The node of a host that is named as on a Cray system: by its NIC's address (a number), nid00005,
 * an IP address (10.128.0.6 is node 5, and so is 127.128.0.6) or c0-0c0s1n1. Returns false and
 * leaves *node alone if the text is no such name, or if no node has this IP address. Returns true
 * with a *node beyond the last one if no node has the number or place.
 */
bool aries_node_of_host(const struct aries_fabric *fabric, const char *host, uint32_t *node);

/* Makes (ptag, cookie) known on every node, as ALPS does before a job starts. */
void aries_job_configure(struct aries_fabric *fabric, uint64_t job_id, uint8_t ptag,
                         uint32_t cookie);

/*
 * Creates a process on a node. The calls of gni_pub.h act for the process of the running fiber, so
 * each fiber of a process must be bound to it before its first call. `killed` (may be NULL) is
 * called when the error policy kills the process (CDM modes ERR_ALL_KILL, default) or its node
 * dies. It must stop the fibers of the process.
 */
struct aries_process *aries_process_create(struct aries_fabric *fabric, uint32_t node,
                                           uint64_t job_id, uint32_t pid, bool privileged,
                                           const char *name,
                                           void (*killed)(void *arg, const char *why), void *arg);
void aries_process_bind(struct aries_process *process, struct sim_fiber *fiber);
/* Must be called for a thread that ends, and for one that will be killed: before sim_fiber_kill. */
/* Must be called for a thread that ends, and for one that will be killed: before sim_fiber_kill. */
void aries_process_unbind(struct aries_process *process, const struct sim_fiber *fiber);
void *aries_process_arg(const struct aries_process *process); /* the argument of `killed` */
uint32_t
aries_process_trace_index(const struct aries_process *process); /* of its track on the node */
/*
 * Acts like a signal with a handler that returns: the call in which the thread blocks, or will
 * block next, ends early as gni_pub.h says (NOT_DONE, GNI_CqVectorMonitor INVALID_STATE).
 */
void aries_process_interrupt(struct aries_process *process, struct sim_fiber *fiber);
/*
 * The program has ended by itself, without a failure: what it leaves behind is recorded as findings
 * (docs/findings.md). To be called before aries_process_exit(), and not for a killed process.
 */
void aries_process_ended(struct aries_process *process);
/*
 * Writes the name of the process with this instance id at a NIC address: its rank, or numbers if
 * no such process is attached. For texts.
 */
void aries_instance_name(const struct aries_process *process, uint32_t pe_addr, uint32_t inst_id,
                         char *name, size_t size);
/* memcpy(3) while a fabric exists. False: a page was not mapped, and a part was copied. */
bool aries_copy(void *to, const void *from, uint64_t length);
/* The process will be started at that time. Without this call it is taken to run already. */
void aries_process_starts_at(struct aries_process *process, sim_time_t time);
/* Releases all objects of the process, as the kernel would, and frees it. */
void aries_process_exit(struct aries_process *process);
struct aries_process *aries_process_self(void); /* process of the running fiber; NULL: none */

/*
 * Polls memory of this process until the NIC has changed it: returns when `ready(arg)` is true,
 * after the time that a spinning CPU needs to see the write. Not part of uGNI: programs on
 * hardware load the memory in a loop.
 */
void aries_spin(bool (*ready)(const void *arg), const void *arg);

/*
 * poll(2) in virtual time: suspends the running fiber until one of the descriptors is ready,
 * `timeout` (ps, SIM_NEVER: none) has passed, or a signal arrives. The descriptors are checked
 * whenever something of the process changed. If anything else makes a descriptor ready, sim_wake()
 * must be called for the fiber. Returns as poll(2) does.
 */
struct pollfd;
int aries_poll(struct pollfd *fds, unsigned long count, sim_time_t timeout);

/* Name of a completion status without A_STATUS_; NULL: none. */
const char *aries_status_text(uint32_t status);

/* ---- faults ---------------------------------------------------------------------------------- */

/*
 * The fault points of the fabric: "aries.packet" (drop, corrupt = poison, fail = refused with the
 * rule's status; kind 0 request, 1 response), "aries.cq" (drop = the event finds its queue full;
 * target = node, kind = 0 source, 1 destination queue), "aries.datagram" (drop, delay, duplicate).
 */
void aries_node_crash(struct aries_fabric *fabric, uint32_t node);
/*
 * The same, but the node boots again at that time, when aries_node_boot() is to be called:
 * processes that start then or later (aries_process_starts_at()) are spared.
 */
void aries_node_crash_until(struct aries_fabric *fabric, uint32_t node, sim_time_t boots_at);
/*
 * The node runs again with an empty NIC: no process, no registration, no suspended job, the default
 * of balanced injection. A transfer that it began before the crash sends and receives nothing more.
 */
void aries_node_boot(struct aries_fabric *fabric, uint32_t node);
bool aries_node_alive(const struct aries_fabric *fabric, uint32_t node);
void aries_nic_hang(struct aries_fabric *fabric, uint32_t node,
                    sim_time_t duration); /* the NIC accepts requests but answers none */
void aries_pcie_stall(struct aries_fabric *fabric, uint32_t node, sim_time_t duration);
void aries_quiesce(struct aries_fabric *fabric, sim_time_t duration);
void aries_throttle(struct aries_fabric *fabric, double percent,
                    sim_time_t duration); /* limits injection to `percent` */
#define ARIES_EVERY UINT32_MAX
/*
 * The next read of a queue of the node reports an overrun: of the queue with this number, in order
 * of creation, or of every queue.
 */
void aries_cq_force_overrun_of(struct aries_fabric *fabric, uint32_t node, uint32_t queue);
void aries_cq_force_overrun(struct aries_fabric *fabric, uint32_t node); /* of every queue */
/*
 * Corrupts the memory descriptor of a registration of the node, counted from 0 in order of
 * attachment and registration, or of all: accesses end with AT_MDD_UNCORRECTABLE until the memory
 * is registered anew. Raises a critical error event.
 */
void aries_mdd_corrupt(struct aries_fabric *fabric, uint32_t node, uint32_t region);
/* The system controller limits the request packets in flight of a NIC; 0: no limit. */
void aries_bi_set(struct aries_fabric *fabric, uint32_t node, uint32_t orb_entries);
/*
 * The NIC reports an error event: a category of GNI_ERRMASK_, a hardware code, and a tag or 0 for
 * all tags.
 */
void aries_error_inject(struct aries_fabric *fabric, uint32_t node, uint8_t category, uint16_t code,
                        uint8_t ptag);

struct aries_counters {
    uint64_t transactions, request_packets, response_packets, payload_bytes, events, errors,
        smsg_sent, smsg_received, msgq_sent, msgq_received, datagrams, overruns, retransmits,
        orb_max, error_events;
    /*
     * Number of NIC flits (16 bytes) of all requests: for each packet a header and its data,
     * rounded up.
     */
    uint64_t request_flits;
};
void aries_get_counters(const struct aries_fabric *fabric, struct aries_counters *counters);
/*
 * Simulation: bytes of data that transfers of a node's NIC have moved so far. They count as soon as
 * the NIC knows of it, packet by packet (F1: chunk by chunk), also while the transfer goes on.
 */
uint64_t aries_delivered_bytes(const struct aries_fabric *fabric, uint32_t node);

#endif
