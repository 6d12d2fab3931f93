/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the files of the self-test share.
 *
 *   node.c     the process as a test node: event queue, the worker thread, start and stop
 *   slot.c     a descriptor and its events
 *   client.c   RPCs that this node sends
 *   server.c   RPCs that it answers: services, request buffers
 *   session.c  the framework services: sessions, batches, statistics
 *   units.c    batches at work: streams of RPCs
 *   brw.c      bulk data and its check
 *   console.c, console_group.c, console_test.c   the console
 *
 * The worker thread executes everything but the console's calls. LNet's callback only puts a slot
 * into a list that is empty of locks, and raises the worker's semaphore; it may run on any thread,
 * or in an event of a simulation.
 */
#ifndef LST_INTERNAL_H
#define LST_INTERNAL_H

#include <lnet/api.h>
#include "libcfs/libcfs.h"
#include "lst/lst.h"
#include "port/port.h"
#include "wire.h"

#define LST_NANOSECONDS 1000000000ull
#define LST_BYTES_MAX LNET_MAX_PAYLOAD
#define LST_BUFFERS_MAX 65536u /* of a service, whatever consoles ask for */

struct lst_node;

/* ---- slot.c ---------------------------------------------------------------------------------- */

/* A descriptor that ends with one event that says so. */
struct lst_slot {
    struct lst_slot *next; /* of those that ended */
    struct lst_node *node;
    void (*ended)(struct lst_slot *slot); /* by the worker */
    struct lnet_handle_md md;
    bool active; /* its last event has not been handled */
    int status; /* of the first event that failed */
    struct lnet_process_id initiator; /* of the request that came */
    lnet_nid_t self; /* NID that it came to */
    uint32_t bytes; /* placed */
};

lnet_eq_handler_t lst_slot_callback(void); /* for the event queue of all slots */
/* Posts memory for a PUT or GET of `from`. */
int lst_slot_post(struct lst_slot *slot, struct lst_node *node, uint32_t portal,
                  struct lnet_process_id from, uint64_t bits, enum lnet_ins_pos position,
                  void *memory, uint32_t bytes, uint32_t options);
/* Sends memory by LNetPut, or fetches it by LNetGet. If LNet refuses, the slot ends by its UNLINK
 * event all the same. */
int lst_slot_put(struct lst_slot *slot, struct lst_node *node, lnet_nid_t self,
                 struct lnet_process_id to, uint32_t portal, uint64_t bits, void *memory,
                 uint32_t bytes);
int lst_slot_get(struct lst_slot *slot, struct lst_node *node, lnet_nid_t self,
                 struct lnet_process_id from, uint32_t portal, uint64_t bits, void *memory,
                 uint32_t bytes);
/* Its last event comes soon. */
void lst_slot_abort(struct lst_slot *slot);

/* ---- client.c -------------------------------------------------------------------------------- */

enum { LST_NO_BULK, LST_BULK_SINK, LST_BULK_SOURCE };

struct lst_rpc {
    struct list_head on_node; /* those that run */
    struct lst_node *node;
    struct lnet_process_id peer;
    enum lst_service service;
    uint64_t deadline_ns;
    int status; /* after the end: 0 or a negative errno */
    bool ending; /* its slots are being aborted */
    struct lst_slot request_slot, reply_slot, bulk_slot;
    struct lst_message request, reply;
    int bulk; /* LST_NO_BULK, ... */
    void *bulk_memory; /* of the caller */
    uint32_t bulk_bytes;
    void (*done)(struct lst_rpc *rpc); /* by the worker; may send it again or free it */
    void *owner;
};

/* Fills in the request's head and reply bits, and sends it. */
void lst_rpc_start(struct lst_rpc *rpc, enum lst_type type);
void lst_rpc_abort(struct lst_rpc *rpc, int status);
/* Aborts those that are too late; the time of the next deadline, or UINT64_MAX. */
uint64_t lst_rpc_expire(struct lst_node *node, uint64_t now_ns);

/* ---- server.c -------------------------------------------------------------------------------- */

/* A request buffer, and the RPC that is in it. */
struct lst_server_rpc {
    struct list_head on_service;
    struct lst_node *node;
    enum lst_service service;
    struct lst_slot request_slot, bulk_slot, reply_slot;
    struct lst_message request, reply;
    struct lnet_process_id peer;
    lnet_nid_t self;
    bool busy;
    void *bulk_memory;
    uint32_t bulk_bytes;
    int bulk_status;
    void (*bulk_done)(struct lst_server_rpc *rpc);
};

int lst_services_start(struct lst_node *node);
/* Adds request buffers to a service, up to LST_BUFFERS_MAX in all: more tests share those. */
int lst_service_grow(struct lst_node *node, enum lst_service service, uint32_t buffers);
/* Moves bulk data of the peer; bulk_done follows. */
void lst_server_bulk(struct lst_server_rpc *rpc, bool fetch, uint64_t bits, uint32_t bytes);
void lst_server_reply(struct lst_server_rpc *rpc);
void lst_services_stop(struct lst_node *node);

/* ---- session.c, units.c, brw.c --------------------------------------------------------------- */

struct lst_batch {
    struct list_head on_node;
    uint64_t id;
    struct list_head tests;
    uint32_t active; /* streams that run */
};

/* The streams of a test at its source. */
struct lst_work {
    struct list_head on_batch;
    struct lst_node *node;
    struct lst_batch *batch;
    enum lst_service service;
    int32_t loop;
    uint32_t concurrency, targets;
    bool stop_on_error, stopping;
    uint32_t operation, bytes, check, offset;
    struct lnet_process_id_packed *target;
    struct lst_unit *units;
};

struct lst_session {
    bool exists;
    struct lst_session_id id;
    char name[LST_NAME_BYTES];
    uint32_t features;
    uint64_t began_ns, last_request_ns;
    struct list_head batches;
    uint32_t brw_errors, ping_errors;
};

void lst_session_handle(struct lst_server_rpc *rpc); /* a request of the framework */
void lst_session_expire(struct lst_node *node, uint64_t now_ns);
void lst_session_remove(struct lst_node *node);
void lst_session_free(struct lst_node *node); /* all streams have ended */
void lst_ping_handle(struct lst_server_rpc *rpc);
void lst_brw_handle(struct lst_server_rpc *rpc);

int lst_units_start(struct lst_work *work);
void lst_units_stop(struct lst_work *work);
void lst_work_free(struct lst_work *work);

void *lst_pages_alloc(uint32_t bytes);
void lst_pages_free(void *memory, uint32_t bytes);
/* Whether a brw of so many bytes can begin so many bytes inside a page. */
bool lst_brw_valid(uint32_t bytes, uint32_t offset);
/* Writes the pattern of the check, or bytes that no check accepts. */
void lst_brw_fill(void *memory, uint32_t bytes, uint32_t check);
void lst_brw_poison(void *memory, uint32_t bytes);
bool lst_brw_good(const void *memory, uint32_t bytes, uint32_t check);

/* ---- node.c ---------------------------------------------------------------------------------- */

#define LST_SERVICES 13

struct lst_node {
    struct lst_parameters parameters;
    struct lnet_handle_eq eq;
    struct port_thread *worker;
    struct port_semaphore work; /* for the worker */
    struct port_mutex lock; /* of what other threads ask the worker for */
    struct port_semaphore answer; /* for the console's thread */
    struct lst_slot *ended; /* a list without a lock: LNet's callback adds */
    struct list_head asked; /* RPCs that the console wants to send */
    bool stopping, stopped;
    struct list_head rpcs; /* that run */
    struct list_head services[LST_SERVICES]; /* struct lst_server_rpc */
    uint32_t buffers[LST_SERVICES]; /* how many */
    uint64_t next_bits;
    struct lst_session session;
    struct lst_counters counters; /* rpc */
    uint32_t slots_active;
};

/* For the console: lets the worker send RPCs, and waits until all have ended. */
void lst_node_send_all(struct lst_node *node, struct lst_rpc *rpcs, uint32_t count,
                       const enum lst_type *types);

#endif
