/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * M-VIA on Fast Ethernet: a NIC that the host's kernel emulates. Each API object is a struct of its
 * own; programs hold handles, which are numbers, so that a wrong one is found out.
 *
 * A message goes through four times: it is posted; the kernel of the sender takes it (checks,
 * copies and cuts it into frames); its last frame leaves the wire; the kernel of the receiver has
 * placed it. Everything of another host happens in the last one.
 */
#ifndef JACQUARD_LEGACY_VIA_H
#define JACQUARD_LEGACY_VIA_H

#include <vipl.h>

#include "engine/ledger.h"
#include "engine/sim.h"
#include "model.h"

enum via_param {
    VIA_POST = LEGACY_STEPS,
    VIA_POST_RECEIVE,
    VIA_FRAME,
    VIA_INTERRUPT,
    VIA_WAIT,
    VIA_POLL,
    VIA_BYTE,
    VIA_REGISTER,
    VIA_REGISTER_PAGE,
    VIA_DEREGISTER,
    VIA_DEREGISTER_PAGE,
    VIA_LOST,
    VIA_RETRY,
    VIA_HEADER,
    VIA_MTU,
    VIA_MAX_REGISTER_BYTES,
    VIA_MAX_REGISTER_REGIONS,
    VIA_MAX_VI,
    VIA_MAX_CQ,
    VIA_MAX_PTAGS,
    VIA_MAX_DESCRIPTORS,
    VIA_RELIABILITY,
    VIA_PARAMS
};

enum {
    VIA_ADDRESS_BYTES = 6, /* of a host */
    VIA_DISCRIMINATOR_MAX = 16,
    VIA_SEGMENTS_MAX = 252,
    VIA_TRANSFER_MAX = 65536,
    VIA_CQ_ENTRIES_MAX = 65536,
    VIA_TRIES_MAX = 5, /* of a frame on reliable services */
    VIA_PAGE = 4096,
    VIA_ADAPTERS_MAX = 256,
    VIA_HANDLE_PTAG = 1,
    VIA_HANDLE_NIC,
    VIA_HANDLE_VI,
    VIA_HANDLE_CQ,
    VIA_HANDLE_CONNECTION
};

struct via_offer;

struct via_devices {
    struct legacy_network *network;
    struct via_host *hosts; /* by endpoint */
    struct via_process *processes;
    struct via_vi **vis; /* by number; NULL: destroyed */
    uint32_t vi_count, vi_room;
    struct via_request *requests; /* connections that are being made */
    uint32_t request_count; /* numbers handed out */
    struct via_message *messages;
    bool ending; /* nothing is sent any more */
    struct sim_ledger_book book;
    uint64_t registered; /* regions now */
    uint64_t errors[VIP_ERROR_CATASTROPHIC + 1]; /* asynchronous ones, by code */
};

/* The kernel of a host. */
struct via_host {
    struct legacy_resource kernel, wire, input, interrupt;
    struct via_listener *listeners; /* oldest first */
    struct via_offer *offers; /* requests of peers that nobody here has made; oldest first */
};

/* ---- a process ------------------------------------------------------------------------------- */

struct via_handle {
    void *object; /* NULL: free */
    uint32_t generation;
    uint8_t kind;
};

struct via_process {
    struct via_process *next;
    struct via_devices *devices;
    uint32_t endpoint;
    uint64_t number;
    uint32_t adapter; /* number of its device */
    struct via_handle *handles;
    uint32_t handle_count;
    struct via_thread { /* that has called the API */
        struct sim_fiber *fiber;
        bool waits, handler; /* handler: it was started for one */
        void *argument; /* of the handler, malloc'd */
    } * threads;
    uint32_t thread_count;
    struct via_nic *nics;
};

/* The calling process, with its device number `adapter`, or with the one that a handle belongs to;
 * NULL: it has no such device. It is made at its first call. The world catches up first. */
struct via_process *via_process_on(uint32_t adapter);
struct via_process *via_process_of(const void *handle);
/* A number that means the object, or NULL: no memory. */
void *via_handle_new(struct via_process *process, uint8_t kind, void *object);
void *via_handle_get(const struct via_process *process, uint8_t kind, const void *handle);
void via_handle_free(struct via_process *process, const void *handle);
/* Waits until the process is woken, or `deadline`. False: it has passed. */
bool via_process_wait(struct via_process *process, sim_time_t deadline,
                      const struct sim_wait *wait);
void via_process_wake(struct via_process *process);
void via_process_end(struct via_process *process);
/* Runs `run` on a thread of the process, which takes `arg` over (g_free). It calls
 * via_thread_over() at its end. */
bool via_process_thread(struct via_process *process, void (*run)(void *), void *arg);
void via_thread_over(struct via_process *process);
/* The end of a wait of so many milliseconds from now. */
sim_time_t via_deadline(VIP_ULONG timeout);

/* ---- a NIC, protection tags, memory ---------------------------------------------------------- */

struct via_ptag {
    struct via_nic *nic;
    struct via_ptag *next;
    void *handle;
    uint32_t users; /* VIs and regions */
};

struct via_region {
    bool used;
    uint8_t generation;
    uint64_t address, length;
    struct via_ptag *ptag; /* NULL: none */
    VIP_BOOLEAN write;
};

struct via_nic {
    struct via_nic *next;
    struct via_process *process;
    void *handle;
    uint8_t address[VIA_ADDRESS_BYTES];
    bool names; /* VipNSInit */
    VIP_ERROR_HANDLER handler;
    void *context;
    struct via_ptag *ptags;
    uint32_t ptag_count;
    struct via_region *regions;
    uint32_t region_room, region_count;
    uint64_t registered; /* bytes */
    struct via_vi *vis;
    uint32_t vi_count;
    struct via_cq *cqs;
    uint32_t cq_count;
};

struct via_nic *via_nic_get(VIP_NIC_HANDLE handle); /* NULL: not one of the calling process */
void via_nic_free(struct via_nic *nic);
/* The endpoint of a host's address; false: there is none. */
bool via_host_find(const struct via_devices *devices, const VIP_NET_ADDRESS *address,
                   uint32_t *endpoint);
struct via_region *via_region_get(const struct via_nic *nic, VIP_MEM_HANDLE handle);
/* The tag of a handle; a NULL handle is no tag. False: it is none of the NIC's. */
bool via_ptag_find(const struct via_nic *nic, VIP_PROTECTION_HANDLE handle, struct via_ptag **ptag);
void via_ptag_use(struct via_ptag *ptag);
void via_ptag_unuse(struct via_ptag *ptag);
/*
 * Whether the memory is registered under the handle with this tag, page by page. A VI or region
 * without a tag (NULL) matches all tags.
 */
bool via_region_covers(const struct via_nic *nic, VIP_MEM_HANDLE handle,
                       const struct via_ptag *ptag, uint64_t address, uint64_t length);
/* Reports an asynchronous error; `vi`, `cq` and `descriptor` may be NULL. */
void via_error(struct via_nic *nic, struct via_vi *vi, struct via_cq *cq,
               VIP_DESCRIPTOR *descriptor, VIP_RESOURCE_CODE resource, VIP_ERROR_CODE code);

/* ---- completion queues ----------------------------------------------------------------------- */

struct via_cq {
    struct via_nic *nic;
    struct via_cq *next;
    void *handle;
    uint32_t id, room, count, first, users;
    struct via_entry {
        void *vi; /* handle */
        VIP_BOOLEAN receive;
    } * entries; /* ring */
    VIP_CQ_NOTIFY_HANDLER handler; /* NULL: none */
    void *context;
};

struct via_cq *via_cq_get(VIP_CQ_HANDLE handle);
void via_cq_push(struct via_cq *cq, struct via_vi *vi, bool receive);
void via_cq_free(struct via_cq *cq);

/* ---- virtual interfaces ---------------------------------------------------------------------- */

struct via_work { /* a descriptor in a queue */
    struct via_work *next;
    VIP_DESCRIPTOR *descriptor;
    VIP_MEM_HANDLE handle;
    bool done;
};

struct via_queue {
    struct via_vi *vi;
    struct via_work *first, *last;
    struct via_work *open; /* the first that is not done */
    uint32_t count, id;
    bool receive;
    struct via_cq *cq; /* NULL: none */
    VIP_VI_NOTIFY_HANDLER handler; /* NULL: none */
    void *context;
};

struct via_address {
    uint16_t host_length, discriminator_length;
    uint8_t bytes[VIA_ADDRESS_BYTES + VIA_DISCRIMINATOR_MAX];
};

struct via_vi {
    struct via_nic *nic;
    struct via_vi *next;
    void *handle;
    uint32_t number, peer; /* in via_devices; peer: valid when connected */
    uint32_t peer_endpoint;
    VIP_VI_STATE state;
    VIP_VI_ATTRIBUTES attributes;
    struct via_ptag *ptag; /* NULL: none */
    struct via_queue send, receive;
    uint32_t era; /* counts connections, so that what belongs to an old one is found out */
    sim_time_t ordered; /* nothing of it arrives before what it sent earlier */
    struct via_peer *peer_request; /* of VipConnectPeerRequest(); NULL: none */
};

struct via_vi *via_vi_get(VIP_VI_HANDLE handle);
static inline struct via_vi *via_vi_number(const struct via_devices *devices, uint32_t number)
{
    return number < devices->vi_count ? devices->vis[number] : NULL;
}
void via_vi_free(struct via_vi *vi);
static inline bool via_is_reliable(const struct via_vi *vi)
{
    return vi->attributes.ReliabilityLevel != VIP_SERVICE_UNRELIABLE;
}
/* The connection is lost: CONN_LOST if `reported`, state ERROR, descriptors are flushed. */
void via_vi_break(struct via_vi *vi, bool reported);
VIP_RETURN via_attributes_check(const struct via_nic *nic, const VIP_VI_ATTRIBUTES *attributes);

/* ---- queues (queue.c) ------------------------------------------------------------------------ */

void via_queue_init(struct via_queue *queue, struct via_vi *vi, bool receive, struct via_cq *cq);
void via_queue_free(struct via_queue *queue);
/* All descriptors that are not done end with DESC_FLUSHED_ERROR. */
void via_queue_flush(struct via_queue *queue);
/* The first open descriptor is done. */
void via_queue_complete(struct via_queue *queue, uint32_t status, uint64_t bytes);
/* Format and protection of a descriptor; sums the lengths of its data segments. Status bits. */
uint32_t via_descriptor_check(const struct via_vi *vi, const struct via_work *work, bool receive,
                              uint64_t *bytes);
const VIP_DATA_SEGMENT *via_descriptor_data(const VIP_DESCRIPTOR *descriptor, unsigned *count);

/* ---- messages (wire.c, place.c) -------------------------------------------------------------- */

enum via_kind {
    VIA_DATA,
    VIA_RDMA_WRITE,
    VIA_REQUEST,
    VIA_ACCEPT,
    VIA_REFUSE,
    VIA_DISCONNECT,
    VIA_PEER_REQUEST, /* `data` is a struct via_offer */
    VIA_PEER_WITHDRAWAL,
    VIA_SUSPICION /* an event of one host, and no message */
};

struct via_message {
    struct sim_event event;
    struct via_devices *devices;
    struct via_message *next, **link; /* of all that exist */
    enum via_kind kind;
    uint32_t source, target; /* endpoints */
    /* VIs; REQUEST, ACCEPT, REFUSE: the requester's; PEER_REQUEST: `to` is VIA_NO_VI unless known
     */
    uint32_t from, to;
    struct via_work *work; /* of the sending VI, if that is still in the same era */
    uint32_t era;
    uint32_t request; /* number of a connection that is being made */
    VIP_RETURN answer; /* REFUSE */
    bool lost, unreachable, immediate;
    uint32_t status; /* of the send that it ends, errors */
    uint32_t immediate_data;
    uint64_t remote_address;
    VIP_MEM_HANDLE remote_handle;
    sim_time_t delay;
    struct sim_ledger_entry entry; /* of data */
    uint64_t length;
    uint8_t *data;
};

/* Hands a descriptor that was posted to the kernel. */
void via_send(struct via_vi *vi, struct via_work *work);
/* A message of the kernels, without data. */
void via_send_control(struct via_devices *devices, enum via_kind kind, uint32_t source,
                      uint32_t target, uint32_t from, uint32_t to, uint32_t request,
                      VIP_RETURN answer);
void via_send_offer(struct via_devices *devices, const struct via_offer *offer, uint32_t target,
                    uint32_t to);
void via_place(struct via_message *message); /* it has arrived: DATA, RDMA_WRITE */
void via_messages_free(struct via_devices *devices);
/* The send that a message came from is done. */
void via_sent(struct via_message *message, uint32_t status);

/* ---- connections (connect.c) ----------------------------------------------------------------- */

void via_connect_arrived(struct via_message *message); /* REQUEST, ACCEPT, REFUSE, DISCONNECT */
void via_connect_unreachable(const struct via_message *message); /* it is lost */
/* What the process waits for, and connections that wait for it, are no more. */
void via_connect_end(struct via_process *process);
void via_connect_forget(struct via_vi *vi);
bool via_address_read(const VIP_NET_ADDRESS *address, struct via_address *read); /* false: wrong */
bool via_address_is_own(const struct via_nic *nic, const struct via_address *address);
VIP_RETURN via_attributes_compare(const VIP_VI_ATTRIBUTES *a, const VIP_VI_ATTRIBUTES *b);
void via_vi_connect(struct via_vi *vi, uint32_t peer, uint32_t endpoint);

/* ---- connections between peers (peer.c) ------------------------------------------------------ */

#define VIA_NO_VI UINT32_MAX

/* A request as the host of the peer knows it. */
struct via_offer {
    struct via_offer *next;
    uint32_t source, vi; /* where it comes from */
    uint32_t number; /* of the request */
    struct via_address from, to;
    VIP_VI_ATTRIBUTES attributes;
};

void via_peer_arrived(const struct via_message *message); /* PEER_REQUEST, PEER_WITHDRAWAL */
void via_peer_unreachable(const struct via_message *message); /* PEER_REQUEST */
/* The VI's request is no more, made by its owner or not; the peer's host learns it. */
void via_peer_forget(struct via_vi *vi);
void via_peer_offers_free(struct via_host *host);

#endif
