/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared message queues: the state that the instances of one job on one node share, and the state
 * of each instance.
 *
 * The shared region consists of plain bytes without pointers:
 *
 * header | instances | pools | connection table | connections | mailboxes
 *
 * A connection stands for one remote node. Its mailbox holds the messages that any instance of
 * that node sent to any instance of this node. The mailbox has as many slots of a fixed size as
 * there are credits, and uses them in turn. The sender writes a slot through the registration of
 * the target instance, so the event arrives at that instance's private queue. Messages of a
 * connection are received strictly in order, by whichever instance polls first. A message for
 * another instance is moved to that instance's pool.
 *
 * In live mode the instances are processes of the system, and each has a region of its own. The
 * other processes see only its mailboxes. Then a connection, with its mailbox, stands for one
 * instance of the remote node: a lane. All instances of a node make the same changes in their
 * regions.
 *
 * Credits are returned as a count of received messages: inside each message of the other direction
 * or, when half of the credits are owed, by a small PUT into the control block of the mailbox.
 * Every write carries the generation of the mailbox. The owner of the mailbox draws a new
 * generation at each GNI_MsgqGetConnAttrs, so a late write of a released connection is not
 * mistaken for one of its successor.
 */
#ifndef JACQUARD_ARIES_MSGQ_H
#define JACQUARD_ARIES_MSGQ_H

#include "api/front.h"

#define ARIES_MSGQ_PAGE_BYTES (UINT64_C(2) << 20) /* the huge page of a compute node */
#define ARIES_MSGQ_LINE \
    64u /* mailboxes and slots begin at cache lines, so the low bits of an offset are free */
#define ARIES_MSGQ_GENERATIONS 63u /* values 1 … 63, sent in the low bits of mdh_off */
#define ARIES_MSGQ_EVENT                                                                         \
    (0x51u << 24) /* ORed with the key of the sender: the datum of an event at the private queue \
                   */
#define ARIES_MSGQ_PE_BITS 18u
#define ARIES_MSGQ_LANES_MAX 64u
/* ORed with the generation: in every record and count, so that none is 0. */
#define ARIES_MSGQ_MARK 0x40u

/* ---- the shared region ----------------------------------------------------------------------- */

struct aries_msgq_record { /* header and data follow */
    uint16_t length;
    uint8_t tag, mark;
    uint32_t number;
    uint32_t returned; /* number of messages received in the other direction */
    uint32_t sender, target; /* instance ids */
    uint32_t checksum; /* of the fields above and what follows */
};
_Static_assert(sizeof(struct aries_msgq_record) == 24, "no holes: it is checksummed and sent");

/* Checksum of a record with its header and data, which may lie elsewhere. */
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
    uint32_t index; /* index among the connections */
    uint64_t offset; /* offset in the region */
    uint32_t pe; /* address of the node as the job knows it: virtual under node translation */
    uint32_t lane; /* index of the remote instance; 0: the connection serves all instances */
    uint32_t generation; /* generation of our mailbox */
    uint32_t drawn; /* number of generations drawn so far */
    /* Sending. */
    uint32_t sent, returned; /* returned: received by the peer */
    uint32_t next_slot; /* slot of the next message */
    uint32_t in_flight; /* number of messages whose PUT has not ended */
    uint32_t remote_generation;
    /* Offset of the peer's mailbox in the memory that the peer registered. */
    uint64_t remote_mailbox;
    uint32_t remote_count; /* number of remote instances */
    /* Receiving. */
    uint32_t received; /* number of messages received, which is the number of the next one */
    uint32_t reported; /* number of received messages that the peer knows of */
    uint32_t take_slot; /* slot of the next message */
    /* Index in `remote` of the sender of the last message, which is probably alive. */
    uint32_t last_sender;
    struct aries_msgq_remote remote[GNI_MSGQ_NODE_INSTS_MAX];
    /* One byte per slot follows this structure: 1 while a PUT into the slot is in flight. */
};

enum aries_msgq_presence { ARIES_MSGQ_NOBODY, ARIES_MSGQ_COMING, ARIES_MSGQ_ATTACHED };

struct aries_msgq_instance {
    uint32_t id;
    uint32_t present; /* enum aries_msgq_presence */
    gni_mem_handle_t handle; /* the instance's registration of the mailboxes */
    uint32_t pool_head, pool_count;
};

enum aries_msgq_state {
    ARIES_MSGQ_FORMING, /* instances are missing */
    ARIES_MSGQ_READY,
    ARIES_MSGQ_CLOSING /* one has left */
};

struct aries_msgq_layout {
    /* Offsets, and the size of the whole region. */
    uint64_t instances, pools, table, connections, mailboxes, bytes;
    uint32_t connection_bytes, slot_bytes, mailbox_bytes, table_size;
};

struct aries_msgq_region {
    gni_msgq_attr_t attrs;
    struct aries_msgq_layout layout;
    uint32_t state;
    uint32_t attached; /* instances */
    uint32_t connections; /* number of connected nodes */
    /*
     * Lanes of a connection with a node: 1, or ARIES_MSGQ_LANES_MAX if instances have regions of
     * their own.
     */
    uint32_t lanes;
    uint32_t slots; /* number of entries for connections; the entries of one node are consecutive */
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
/*
 * Finds a connection by key. The key names a lane, or is the PE address alone: then the first lane
 * is returned, which exists if any does.
 */
struct aries_msgq_connection *aries_msgq_connection_of(struct aries_msgq_region *region,
                                                       uint32_t pe); /* or NULL */
static inline uint32_t aries_msgq_key(uint32_t pe, uint32_t lane)
{
    return pe | lane << ARIES_MSGQ_PE_BITS;
}
/* Returns the same connection, but creates the lane if only the first one exists. */
struct aries_msgq_connection *aries_msgq_lane_of(struct aries_msgq_region *region, uint32_t key);
/* Index at which a connection with another node has room. The caller knows that there is room. */
uint32_t aries_msgq_vacant(struct aries_msgq_region *region);
struct aries_msgq_connection *aries_msgq_connection_new(struct aries_msgq_region *region,
                                                        uint32_t pe, uint32_t index,
                                                        uint32_t generation);
/* The generation of the next connection at this index. */
uint32_t aries_msgq_next_generation(struct aries_msgq_region *region, uint32_t index);
/* Sets what the peer's GNI_MsgqGetConnAttrs returned. `place` is the index of this instance. */
void aries_msgq_connect(struct aries_msgq_region *region, struct aries_msgq_connection *first,
                        const struct aries_msgq_remote *remote, uint32_t count, uint64_t mailbox,
                        uint32_t place);
/* Frees the connection with all its lanes. */
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
                                   uint32_t index); /* relative to the first mailbox */
struct aries_msgq_count *aries_msgq_count_of(struct aries_msgq_connection *connection);
/* The slot of the next message to be received, or of the one `ahead` positions after it. */
struct aries_msgq_record *aries_msgq_record_of(struct aries_msgq_connection *connection,
                                               uint32_t ahead);
/* Whether that message has arrived completely. */
bool aries_msgq_arrived(struct aries_msgq_connection *connection, uint32_t ahead);

/* ---- what finds the region: the back end's part ---------------------------------------------- */

/* A region, identified by node, protection tag and cookie. */
struct aries_msgq_shared {
    struct aries_msgq_shared *next; /* hw->msgqs */
    struct aries_nic *hw;
    uint32_t cookie;
    uint8_t ptag;
    bool closed; /* all instances have left: it cannot be found any more */
    uint32_t refs; /* handles */
    struct aries_msgq_region *region;
    struct gni_msgq **owners; /* handles by instance; NULL: the instance has not joined */
    struct aries_msgq_other *others; /* live mode: the processes, by instance */
};

/* Finds or creates the region of this job. NULL: no memory. Takes a reference. */
struct aries_msgq_shared *aries_msgq_shared_open(struct gni_nic *nic, const gni_msgq_attr_t *attrs,
                                                 uint32_t lanes,
                                                 const struct aries_msgq_layout *layout);
void aries_msgq_shared_unref(struct aries_msgq_shared *shared);
/* Wakes instance `index`, or all instances: something that they may wait for has changed. */
void aries_msgq_notify_instance(struct aries_msgq_shared *shared, uint32_t index);
void aries_msgq_notify_all(struct aries_msgq_shared *shared);

/* ---- a handle -------------------------------------------------------------------------------- */

/* The state of one connection as one instance has seen it. */
struct aries_msgq_view {
    struct gni_msgq *msgq;
    uint32_t index; /* index of the connection */
    uint32_t generation; /* generation of the connection that the other fields describe */
    /* For this instance: number of events received, and of messages passed to the callback. */
    uint32_t events, messages;
    bool watched; /* listed in `watch` */
    bool owes; /* returning credits failed and must be repeated */
};

struct aries_msgq_send { /* a PUT in flight: of a message, or of a count of credits */
    struct gni_msgq *msgq;
    struct aries_msgq_send *next_free;
    struct gni_cq *cq; /* NULL: this is a count of credits */
    struct aries_request *request;
    struct aries_nic *target;
    gni_mem_handle_t handle;
    uint64_t address;
    uint32_t connection, generation, number, slot, msg_id;
    uint32_t attempts, bytes;
    /* A count: number of instances of the peer through which it was tried and failed. */
    uint32_t instances_tried;
    union {
        struct aries_msgq_record record;
        struct aries_msgq_count count;
        uint64_t data[(sizeof(struct aries_msgq_record) + GNI_MSGQ_MSG_SZ_MAX) / 8];
    };
};

/*
 * Ids of a handle for sim_poll: one for its sends and one for its messages. Each connection's ids
 * for sends and credits follow.
 */
#define ARIES_MSGQ_IDS 2

struct gni_msgq {
    uint32_t magic;
    /*
     * One for the handle, and one for each call that blocks or runs a callback and for each PUT in
     * flight.
     */
    uint32_t refs;
    struct gni_nic *nic; /* NULL when the handle died */
    struct aries_fabric *fabric;
    struct aries_msgq_shared *shared;
    struct aries_msgq_region *region;
    uint32_t index; /* index of its instance */
    uint32_t ids; /* the first of its ARIES_MSGQ_IDS ids */
    uint32_t pe; /* address of this node as the job's other nodes know it (node translation) */
    uint32_t in_flight; /* number of messages whose PUT has not ended */
    gni_msgq_rcv_cb_func *callback;
    void *data;
    struct gni_cq *send_cq, *receive_cq;
    gni_mem_handle_t handle;
    struct aries_msgq_view *views; /* indexed by connection */
    uint32_t *watch; /* connections whose mailbox is polled without an event */
    uint32_t watch_count;
    uint32_t owes_count;
    bool stalled; /* the last send found no credit */
    gni_return_t progressed; /* what the last GNI_MsgqProgress() returned */
    bool overran; /* events were lost: all connections are polled from now on */
    struct aries_msgq_send *free;
    struct aries_msgq_chunk *chunks;
    struct gni_msgq *process_next; /* next handle of the process */
};

static inline bool aries_msgq_ok(const struct gni_msgq *msgq)
{
    return aries_handle_ok(msgq, ARIES_MAGIC_MSGQ);
}
void aries_msgq_unref(struct gni_msgq *msgq);
void aries_msgq_discard(void *msgq); /* frees the memory that the handle holds */
/* An instance has joined; an instance has left. */
void aries_msgq_instance_joined(struct gni_msgq *msgq, uint32_t place, uint32_t id,
                                gni_mem_handle_t handle);
void aries_msgq_instance_left(struct gni_msgq *msgq, uint32_t place);

/* msgq_send.c */
bool aries_msgq_queue_full(const struct gni_cq *cq); /* there is no room for one more event */
/* The peer reports how many messages it has received. An older or impossible count is ignored. */
void aries_msgq_credits_returned(struct aries_msgq_connection *connection, uint32_t count);
/* Reports the received messages to the peer. False: not possible now. */
bool aries_msgq_return_credits(struct gni_msgq *msgq, struct aries_msgq_connection *connection);

#endif
