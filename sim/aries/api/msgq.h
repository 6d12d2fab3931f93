/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared message queues: what the instances of one job on one node share, and what each has of its
 * own.
 *
 * The shared region is plain bytes without pointers:
 *
 *   header | instances | pools | connection table | connections | mailboxes
 *
 * A connection stands for one remote node. Its mailbox holds what the instances there sent to any
 * instance here, in as many slots of a fixed size as there are credits, used in turn. The sender
 * writes it with the registration of the instance that it is for, so the event comes to that
 * instance's private queue; but messages of a connection are taken strictly in order, by whichever
 * instance looks first, and what is for another goes into that one's pool.
 *
 * Where the instances are processes of the system (the live back end) each has a region of its own,
 * which nobody else sees but for the mailboxes. Then a connection, with a mailbox, stands for one
 * instance of the remote node: a lane. All instances of a node do the same with their regions.
 *
 * Credits come back as a count of messages that were taken, inside each message of the other
 * direction or, when half of them are owed, by a small PUT into the mailbox's control block. Every
 * write carries the generation of the mailbox, which its owner draws at each GNI_MsgqGetConnAttrs:
 * what is late from a connection that was released is not taken for one of the next.
 */
#ifndef JACQUARD_ARIES_MSGQ_H
#define JACQUARD_ARIES_MSGQ_H

#include "api/front.h"

#define ARIES_MSGQ_PAGE_BYTES (UINT64_C(2) << 20) /* the huge page of a compute node */
#define ARIES_MSGQ_LINE                                                            \
    64u /* mailboxes and slots begin at cache lines; an offset's low bits are free \
         */
#define ARIES_MSGQ_GENERATIONS 63u /* 1 … 63: sent in the low bits of mdh_off */
#define ARIES_MSGQ_EVENT \
    (0x51u << 24) /* | key of the sender: datum of the private queue's events */
#define ARIES_MSGQ_PE_BITS 18u
#define ARIES_MSGQ_LANES_MAX 64u
#define ARIES_MSGQ_MARK 0x40u /* | generation: in every record and count, so that none is 0 */

/* ---- the shared region ----------------------------------------------------------------------- */

struct aries_msgq_record { /* header and data follow */
    uint16_t length;
    uint8_t tag, mark;
    uint32_t number;
    uint32_t returned; /* messages of the other direction that were taken */
    uint32_t sender, target; /* instance ids */
    uint32_t checksum; /* of the fields above and what follows */
};
_Static_assert(sizeof(struct aries_msgq_record) == 24, "no holes: it is checksummed and sent");

/* Of a record and its header and data, which may lie elsewhere. */
static inline uint32_t aries_msgq_checksum(const struct aries_msgq_record *record,
                                           const void *payload)
{
    const uint32_t fields[] = {record->number, record->returned, record->sender, record->target};
    uint64_t sum = (uint64_t)record->mark << 24 | record->tag << 16 | record->length, word;
    const uint8_t *at = payload;
    uint32_t left = record->length, i;

    for (i = 0; i < G_N_ELEMENTS(fields); i++)
        sum = (sum ^ (sum >> 29) ^ fields[i]) * 0x9e3779b97f4a7c15ull;
    for (; left != 0; at += 8) {
        uint32_t part = left < 8 ? left : 8;

        word = 0;
        memcpy(&word, at, part);
        sum = (sum ^ (sum >> 29) ^ word) * 0xbf58476d1ce4e5b9ull;
        left -= part;
    }
    return (uint32_t)(sum >> 32);
}

struct aries_msgq_count { /* the control block of a mailbox, written by the peer */
    uint32_t returned;
    uint32_t mark; /* 0: never written */
};

struct aries_msgq_message { /* in a pool */
    uint32_t sender, pe;
    uint32_t connection, generation;
    uint16_t length;
    uint8_t tag;
    uint64_t data[GNI_MSGQ_MSG_SZ_MAX / 8];
};

struct aries_msgq_remote { /* an instance of the other node */
    uint32_t id;
    gni_mem_handle_t handle;
};

enum aries_msgq_connection_state {
    ARIES_MSGQ_FREE,
    ARIES_MSGQ_ASSIGNED, /* GNI_MsgqGetConnAttrs */
    ARIES_MSGQ_ACTIVE, /* GNI_MsgqConnect */
    ARIES_MSGQ_BROKEN /* a message is lost for good */
};

struct aries_msgq_connection {
    uint32_t state;
    uint32_t index; /* its place among the connections */
    uint64_t offset; /* its place in the region */
    uint32_t pe; /* as the job names the node: virtual under node translation */
    uint32_t lane; /* place of the instance there; 0: of all */
    uint32_t generation; /* of our mailbox */
    uint32_t drawn; /* generations so far */
    /* sending */
    uint32_t sent, returned; /* returned: taken by the peer */
    uint32_t next_slot; /* of the next message */
    uint32_t in_flight; /* messages whose PUT has not ended */
    uint32_t remote_generation;
    uint64_t remote_mailbox; /* offset in what the peer registered */
    uint32_t remote_count; /* instances there */
    /* receiving */
    uint32_t received; /* messages taken; number of the next one */
    uint32_t reported; /* as the peer knows */
    uint32_t take_slot; /* of the next message */
    uint32_t last_sender; /* place in `remote` of who sent the last message: surely alive */
    struct aries_msgq_remote remote[GNI_MSGQ_NODE_INSTS_MAX];
    /* a byte for each slot follows: 1 while the PUT into it goes on */
};

enum aries_msgq_presence { ARIES_MSGQ_NOBODY, ARIES_MSGQ_COMING, ARIES_MSGQ_ATTACHED };

struct aries_msgq_instance {
    uint32_t id;
    uint32_t present; /* enum aries_msgq_presence */
    gni_mem_handle_t handle; /* its registration of the mailboxes */
    uint32_t pool_head, pool_count;
};

enum aries_msgq_state {
    ARIES_MSGQ_FORMING, /* instances are missing */
    ARIES_MSGQ_READY,
    ARIES_MSGQ_CLOSING /* one has left */
};

struct aries_msgq_layout {
    uint64_t instances, pools, table, connections, mailboxes, bytes; /* offsets; all of it */
    uint32_t connection_bytes, slot_bytes, mailbox_bytes, table_size;
};

struct aries_msgq_region {
    gni_msgq_attr_t attrs;
    struct aries_msgq_layout layout;
    uint32_t state;
    uint32_t attached; /* instances */
    uint32_t connections; /* nodes that it is connected with */
    uint32_t lanes; /* of a connection with a node: 1, or with regions of their own
                       ARIES_MSGQ_LANES_MAX */
    uint32_t slots; /* places of connections: those of a node follow each other */
};

/* False: an attribute is out of range. */
bool aries_msgq_layout_of(const gni_msgq_attr_t *attrs, uint32_t lanes,
                          struct aries_msgq_layout *layout);

struct aries_msgq_instance *aries_msgq_instance_at(struct aries_msgq_region *region,
                                                   uint32_t index);
uint32_t aries_msgq_instance_of(struct aries_msgq_region *region,
                                uint32_t id); /* UINT32_MAX: none */
struct aries_msgq_message *aries_msgq_pool_at(struct aries_msgq_region *region, uint32_t index,
                                              uint32_t place);
struct aries_msgq_connection *aries_msgq_connection_at(struct aries_msgq_region *region,
                                                       uint32_t index);
/* By key: that of an instance, or the PE address alone: the first, which is there if any is. */
struct aries_msgq_connection *aries_msgq_connection_of(struct aries_msgq_region *region,
                                                       uint32_t pe); /* or NULL */
static inline uint32_t aries_msgq_key(uint32_t pe, uint32_t lane)
{
    return pe | lane << ARIES_MSGQ_PE_BITS;
}
/* The same, made if only the first is there. */
struct aries_msgq_connection *aries_msgq_lane_of(struct aries_msgq_region *region, uint32_t key);
/* Where one with another node has room; the caller knows that there is some. */
uint32_t aries_msgq_vacant(struct aries_msgq_region *region);
struct aries_msgq_connection *aries_msgq_connection_new(struct aries_msgq_region *region,
                                                        uint32_t pe, uint32_t index,
                                                        uint32_t generation);
/* Of the next connection at this place. */
uint32_t aries_msgq_next_generation(struct aries_msgq_region *region, uint32_t index);
/* What the peer's GNI_MsgqGetConnAttrs says; `place`: the own one. */
void aries_msgq_connect(struct aries_msgq_region *region, struct aries_msgq_connection *first,
                        const struct aries_msgq_remote *remote, uint32_t count, uint64_t mailbox,
                        uint32_t place);
/* With all its lanes. */
void aries_msgq_connection_free(struct aries_msgq_region *region,
                                struct aries_msgq_connection *first);
bool aries_msgq_connection_idle(struct aries_msgq_region *region,
                                struct aries_msgq_connection *first);
static inline struct aries_msgq_region *
aries_msgq_region_of(struct aries_msgq_connection *connection)
{
    return (struct aries_msgq_region *)((uint8_t *)connection - connection->offset);
}
uint8_t *aries_msgq_slot_busy(struct aries_msgq_connection *connection, uint32_t slot);
static inline uint32_t aries_msgq_slot_after(struct aries_msgq_connection *connection,
                                             uint32_t slot, uint32_t ahead)
{
    return (uint32_t)(((uint64_t)slot + ahead) % aries_msgq_region_of(connection)->attrs.smsg_q_sz);
}
uint64_t aries_msgq_mailbox_offset(const struct aries_msgq_region *region,
                                   uint32_t index); /* from the first */
struct aries_msgq_count *aries_msgq_count_of(struct aries_msgq_connection *connection);
/* Where the next message to be taken comes to lie, and those `ahead` of it. */
struct aries_msgq_record *aries_msgq_record_of(struct aries_msgq_connection *connection,
                                               uint32_t ahead);
/* Whether it has arrived, whole. */
bool aries_msgq_arrived(struct aries_msgq_connection *connection, uint32_t ahead);

/* ---- what finds the region: the back end's part ---------------------------------------------- */

/* Of one node, protection tag and cookie. */
struct aries_msgq_shared {
    struct aries_msgq_shared *next; /* hw->msgqs */
    struct aries_nic *hw;
    uint32_t cookie;
    uint8_t ptag;
    bool closed; /* everybody left: not to be found any more */
    uint32_t refs; /* handles */
    struct aries_msgq_region *region;
    struct gni_msgq **owners; /* handles by instance; NULL: not there */
    struct aries_msgq_other *others; /* live back end: the processes, by instance */
};

/* The one of this job, made when there is none; NULL: no memory. Counts a reference. */
struct aries_msgq_shared *aries_msgq_shared_open(struct gni_nic *nic, const gni_msgq_attr_t *attrs,
                                                 uint32_t lanes,
                                                 const struct aries_msgq_layout *layout);
void aries_msgq_shared_unref(struct aries_msgq_shared *shared);
/* Something changed that instance `index` may wait for, or all of them. */
void aries_msgq_notify_instance(struct aries_msgq_shared *shared, uint32_t index);
void aries_msgq_notify_all(struct aries_msgq_shared *shared);

/* ---- a handle -------------------------------------------------------------------------------- */

/* What one instance has seen of a connection. */
struct aries_msgq_view {
    struct gni_msgq *msgq;
    uint32_t index; /* of the connection */
    uint32_t generation; /* that the rest is about */
    uint32_t events, messages; /* for this instance: told of, handed to the callback */
    bool watched; /* in `watch` */
    bool owes; /* credits could not be returned */
};

struct aries_msgq_send { /* a PUT in flight: a message, or a count of credits */
    struct gni_msgq *msgq;
    struct aries_msgq_send *next_free;
    struct gni_cq *cq; /* NULL: a count */
    struct aries_request *request;
    struct aries_nic *target;
    gni_mem_handle_t handle;
    uint64_t address;
    uint32_t connection, generation, number, slot, msg_id;
    uint32_t attempts, bytes;
    uint32_t instances_tried; /* a count: instances of the peer that it was tried with in vain */
    union {
        struct aries_msgq_record record;
        struct aries_msgq_count count;
        uint64_t data[(sizeof(struct aries_msgq_record) + GNI_MSGQ_MSG_SZ_MAX) / 8];
    };
};

/* A handle's ids for sim_poll: its sends, its messages; then each connection's sends and credit. */
#define ARIES_MSGQ_IDS 2

struct gni_msgq {
    uint32_t magic;
    uint32_t refs; /* the handle, calls that block or call back, and PUTs in flight */
    struct gni_nic *nic; /* NULL when the handle died */
    struct aries_fabric *fabric;
    struct aries_msgq_shared *shared;
    struct aries_msgq_region *region;
    uint32_t index; /* of its instance */
    uint32_t ids; /* the first: ARIES_MSGQ_IDS */
    uint32_t pe; /* of this node, as the job's other nodes name it (node translation) */
    uint32_t in_flight; /* messages whose PUT has not ended */
    gni_msgq_rcv_cb_func *callback;
    void *data;
    struct gni_cq *send_cq, *receive_cq;
    gni_mem_handle_t handle;
    struct aries_msgq_view *views; /* by connection */
    uint32_t *watch; /* connections whose mailbox is looked at without an event */
    uint32_t watch_count;
    uint32_t owes_count;
    bool stalled; /* the last send found no credit */
    gni_return_t progressed; /* what the last GNI_MsgqProgress() returned */
    bool overran; /* events were lost: all connections are watched from now on */
    struct aries_msgq_send *free;
    struct aries_msgq_chunk *chunks;
    struct gni_msgq *process_next; /* handles of a process */
};

static inline bool aries_msgq_ok(const struct gni_msgq *msgq)
{
    return aries_handle_ok(msgq, ARIES_MAGIC_MSGQ);
}
void aries_msgq_unref(struct gni_msgq *msgq);
void aries_msgq_discard(void *msgq); /* frees what the handle's memory holds */
/* An instance is there; it has left. */
void aries_msgq_instance_joined(struct gni_msgq *msgq, uint32_t place, uint32_t id,
                                gni_mem_handle_t handle);
void aries_msgq_instance_left(struct gni_msgq *msgq, uint32_t place);

/* aries_msgq_send.c */
bool aries_msgq_queue_full(const struct gni_cq *cq); /* no room for one more event */
/* The peer says that it has taken so many. An older or impossible count is ignored. */
void aries_msgq_credits_returned(struct aries_msgq_connection *connection, uint32_t count);
/* Tells the peer what was taken. False: not now. */
bool aries_msgq_return_credits(struct gni_msgq *msgq, struct aries_msgq_connection *connection);

#endif
