/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * gnilnd: LNet over uGNI. A thread of the node's kernel makes all calls of uGNI; LNet's calls queue
 * work for it. What its files share:
 *
 *   gni.c       the driver's entries: interface up and down, send and receive of LNet
 *   thread.c    the thread: completion queues, time-outs
 *   connect.c   peers, connection requests by datagram, connections
 *   transmit.c  transmit descriptors: queue, mailbox, registration, transfers, completion
 *   message.c   what an arriving message does
 */
#ifndef JACQUARD_LNET_GNI_H
#define JACQUARD_LNET_GNI_H

#include <glib.h>
#include "core/internal.h"
#include "wire.h"

struct aries_process;

#define LNET_GNI_PTAG 1u /* of the driver on each node; jobs of programs have others */
#define LNET_GNI_COOKIE 0x6b676e69u
#define LNET_GNI_INSTANCE 1u

/* The driver's parameters, in the order of its table. */
enum lnet_gni_param {
    LNET_GNI_MAX_IMMEDIATE,
    LNET_GNI_MBOX_CREDITS,
    LNET_GNI_MBOX_PER_BLOCK,
    LNET_GNI_NWILDCARD,
    LNET_GNI_TIMEOUT,
    LNET_GNI_DGRAM_TIMEOUT,
    LNET_GNI_FMA_CQ_SIZE,
    LNET_GNI_EAGER_CREDITS,
    LNET_GNI_MAX_RETRANSMITS,
    LNET_GNI_SOFTWARE_NS,
    LNET_GNI_PARAMS
};

/* Mailboxes that are registered together. */
struct lnet_gni_block {
    struct list_head on_ni;
    uint8_t *memory;
    size_t bytes;
    gni_mem_handle_t handle;
    uint32_t used; /* handed out so far */
};

struct lnet_gni_mailbox {
    struct list_head on_ni; /* the free ones */
    gni_smsg_attr_t attributes;
};

struct lnet_gni_ni {
    struct lnet_ni *ni;
    struct aries_process *process;
    struct sim_fiber *fiber;
    gni_cdm_handle_t cdm;
    gni_nic_handle_t nic;
    gni_cq_handle_t tx_cq, rx_cq;
    bool started; /* the thread has made its objects */
    bool stopping; /* the thread must end by itself */
    bool asleep; /* the thread waits for work, and is in no call of LNet */
    struct list_head peers, connections, datagrams;
    struct list_head blocks, free_mailboxes, idle;
    struct list_head tx_blocks;
    GHashTable *by_nid; /* struct lnet_gni_peer by the address of its NID */
    GPtrArray *by_queue; /* struct lnet_gni_conn, by the number that events carry */
    struct sim_timer scan;
    bool scan_due;
    bool work; /* somebody queued something for the thread */
    uint64_t next_cookie, next_stamp, next_datagram;
    uint32_t mailbox_bytes, eager_copies;
    uint32_t sent[LNET_GNI_TYPES]; /* messages, by type */
    uint32_t transfers;
    uint32_t retransmits; /* transfers posted again after a recoverable error */
};

enum lnet_gni_tx_state {
    LNET_GNI_TX_QUEUED, /* waits for a connection or for room in the mailbox */
    LNET_GNI_TX_SENT, /* in the mailbox of the peer, the event is to come */
    LNET_GNI_TX_ANSWER, /* waits for the peer's answer */
    LNET_GNI_TX_TRANSFER, /* its transfer is on the way */
};

struct lnet_gni_tx {
    struct list_head on_list;
    struct lnet_gni_ni *owner;
    struct lnet_gni_conn *conn;
    struct lnet_msg *msg[2]; /* to finalize; the second is the REPLY of an optimized GET */
    int status[2];
    uint8_t state; /* enum lnet_gni_tx_state */
    bool answered; /* the peer's answer came before the event of the send */
    bool transfer; /* a transfer goes before the message */
    bool register_memory; /* the message describes the memory below */
    bool registered;
    uint32_t retries; /* of the transfer */
    sim_time_t deadline;
    uint64_t cookie;
    struct lnet_fragments fragments; /* of the memory */
    uint32_t offset, length; /* in the fragments */
    gni_mem_handle_t handle;
    uint64_t address; /* of the memory for the NIC */
    uint8_t *bounce; /* NULL: the memory itself is registered */
    bool incoming; /* the peer writes into the memory */
    struct lnet_gni_memory remote; /* where a transfer goes */
    gni_post_descriptor_t post;
    struct lnet_gni_message message;
    uint32_t message_bytes, data_bytes;
    uint8_t *data; /* of an IMMEDIATE whose fragments are not one */
};

/* OFFERED: its request is under way; the peer may know of it, and write to its mailbox, already. */
enum lnet_gni_conn_state { LNET_GNI_OFFERED, LNET_GNI_ESTABLISHED, LNET_GNI_CLOSED };

struct lnet_gni_conn {
    struct list_head on_ni;
    struct lnet_gni_ni *owner;
    struct lnet_gni_peer *peer;
    gni_ep_handle_t ep;
    struct lnet_gni_mailbox *mailbox;
    uint8_t state; /* enum lnet_gni_conn_state */
    sim_time_t state_since;
    bool closing; /* to be closed by the thread */
    int why;
    uint32_t queue; /* number that events carry */
    uint64_t own_stamp, peer_stamp;
    uint32_t tx_sequence, rx_sequence;
    bool close_in_flight; /* the message that tells the peer, whose event is close_event */
    uint32_t close_event;
    struct list_head queued, active;
    sim_time_t last_tx, last_rx;
    uint32_t delayed; /* messages of it that LNet keeps */
};

struct lnet_gni_peer {
    struct list_head on_ni;
    struct lnet_gni_ni *owner;
    lnet_nid_t nid;
    struct lnet_gni_conn *conn; /* NULL: none */
    struct lnet_gni_datagram *datagram; /* NULL: not connecting */
    struct list_head waiting;
    uint64_t stamp; /* of the peer's instance */
    sim_time_t last_alive;
};

/* A connection request that was offered. */
struct lnet_gni_datagram {
    struct list_head on_ni;
    struct lnet_gni_peer *peer; /* NULL: any peer may take it */
    gni_ep_handle_t ep;
    uint64_t id;
    bool cancelled;
    sim_time_t deadline;
    struct lnet_gni_mailbox *mailbox;
    struct lnet_gni_conn *conn; /* that the exchange makes */
    struct lnet_gni_request mine, theirs;
};

/* A message that LNet has not taken yet. */
struct lnet_gni_receive {
    struct lnet_gni_conn *conn;
    struct lnet_gni_message message;
    const uint8_t *payload; /* in the mailbox, or an own copy */
    bool copied; /* payload is an own copy, and this object is on the heap */
};

/* ---- thread.c -------------------------------------------------------------------------------- */

void lnet_gni_thread(void *owner);
/* Something is to do for the thread. From any context. */
void lnet_gni_wake(struct lnet_gni_ni *owner);
void lnet_gni_scan_fires(struct sim_event *event);

/* ---- connect.c ------------------------------------------------------------------------------- */

struct lnet_gni_peer *lnet_gni_peer_get(struct lnet_gni_ni *owner, lnet_nid_t nid, bool create);
void lnet_gni_launch(struct lnet_gni_ni *owner, struct lnet_gni_tx *tx, lnet_nid_t nid);
/* By the thread: */
bool lnet_gni_connect_wanted(struct lnet_gni_ni *owner); /* true: it did something */
bool lnet_gni_datagrams_ended(struct lnet_gni_ni *owner);
void lnet_gni_datagrams_scan(struct lnet_gni_ni *owner);
void lnet_gni_wildcards_offer(struct lnet_gni_ni *owner);
void lnet_gni_conn_close(struct lnet_gni_conn *conn, int status);
/* Frees a closed one with which nothing is under way; true: it did. */
bool lnet_gni_conn_destroy_if_idle(struct lnet_gni_conn *conn);
/* Without calls of uGNI, when the node stops. */
void lnet_gni_peers_free(struct lnet_gni_ni *owner);

/* ---- transmit.c ------------------------------------------------------------------------------ */

struct lnet_gni_tx *lnet_gni_tx_new(struct lnet_gni_ni *owner, enum lnet_gni_type type);
/* Finalizes its messages. The node's lock is held. */
void lnet_gni_tx_done(struct lnet_gni_tx *tx);
void lnet_gni_tx_fail_list(struct list_head *list, int status);
/* Releases what the NIC has of them. By the thread. */
void lnet_gni_tx_release_list(struct list_head *list);
void lnet_gni_tx_queue(struct lnet_gni_conn *conn, struct lnet_gni_tx *tx);
/* By the thread: sends what is queued; true: it did something. */
bool lnet_gni_send_queued(struct lnet_gni_conn *conn);
/* What the event of a send carries: the connection, and the low bits of the message's number. Fewer
 * messages than these bits tell apart are in a mailbox. */
uint32_t lnet_gni_event_number(const struct lnet_gni_conn *conn, uint32_t sequence);
void lnet_gni_tx_event(struct lnet_gni_ni *owner, gni_cq_entry_t event, gni_return_t rc);
struct lnet_gni_tx *lnet_gni_tx_find(struct lnet_gni_conn *conn, uint64_t cookie);
/* The peer has answered: the exchange is over. */
void lnet_gni_tx_answered(struct lnet_gni_tx *tx, int send_status, int reply_status);

/* ---- message.c ------------------------------------------------------------------------------- */

bool lnet_gni_receive_all(struct lnet_gni_conn *conn); /* by the thread; true: a message came */
void lnet_gni_receive_free(struct lnet_gni_receive *receive);

#endif
