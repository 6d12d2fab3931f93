/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * o2iblnd: LNet over reliable connections of InfiniBand. What its files share.
 *
 *   o2ib.c      the driver's entries: interface up and down, send and receive of LNet
 *   peer.c      peers, making connections, messages that wait for one
 *   conn.c      a connection: its credits, its receive buffers, its end
 *   transmit.c  transmit descriptors: queues, posting, completion, time-outs
 *   message.c   what an arriving message does
 */
#ifndef JACQUARD_LNET_O2IB_H
#define JACQUARD_LNET_O2IB_H

#include "core/internal.h"
#include "verbs.h"
#include "wire.h"

struct lnet_ib_conn;
struct lnet_ib_peer;

/* The driver's parameters, in the order of its table. */
enum lnet_ib_param {
    LNET_IB_PEER_CREDITS_HIW,
    LNET_IB_CONCURRENT_SENDS,
    LNET_IB_KEEPALIVE,
    LNET_IB_RETRY_COUNT,
    LNET_IB_LATENCY_NS,
    LNET_IB_ACK_TIMEOUT_MS,
    LNET_IB_CM_TIMEOUT_MS,
    LNET_IB_CM_RETRIES,
    LNET_IB_PARAMS
};

struct lnet_ib_ni {
    struct lnet_ni *ni;
    struct lnet_hca *hca;
    struct list_head peers;
    struct list_head closed; /* connections that are freed soon */
    struct lnet_ib_peer **buckets; /* by NID; a power of two */
    uint32_t bucket_count, peer_count;
    struct sim_timer scan; /* time-outs and keep-alive; armed while there are peers */
    uint64_t next_cookie;
    struct list_head idle; /* transmit descriptors */
    struct list_head free_receives;
    struct list_head all_blocks; /* memory of both */
    uint32_t sent[LNET_IB_TYPE_COUNT]; /* messages, by lnet_ib_type_index() */
};

enum lnet_ib_queue {
    LNET_IB_UNQUEUED,
    LNET_IB_ON_PEER, /* waits for a connection */
    LNET_IB_NEEDS_RESERVED, /* PUT_REQ, GET_REQ: wait for a reserved credit */
    LNET_IB_NEEDS_CREDIT,
    LNET_IB_NEEDS_NOTHING,
};

/* A transmit descriptor: a message, and the RDMA write that goes before it. */
struct lnet_ib_tx {
    struct list_head on_list; /* of a queue, or of its connection's active ones */
    struct lnet_ib_conn *conn; /* once queued there */
    struct lnet_ib_ni *owner;
    struct lnet_msg *msg[2]; /* to finalize: the message, and the REPLY of an optimized GET */
    enum lnet_msg_hstatus health_status;
    uint8_t queue; /* enum lnet_ib_queue */
    uint8_t type; /* enum lnet_ib_type of the message */
    uint8_t sending; /* works that have not completed */
    bool waiting; /* for the peer's answer */
    bool write; /* an RDMA write goes before the message */
    bool needs_credit;
    int status;
    uint32_t key; /* registered memory; 0: none */
    uint64_t cookie;
    sim_time_t deadline;
    struct lnet_fragments fragments; /* of the payload */
    struct lnet_work work[4]; /* request, write, answer */
    uint32_t works;
    uint32_t bytes; /* of the message */
    uint8_t message[LNET_IB_MESSAGE_BYTES];
};

/* A receive buffer in use: LNet has not placed its message yet. */
struct lnet_ib_receive {
    struct list_head on_list;
    struct lnet_ib_conn *conn; /* NULL: it has gone */
    struct lnet_ib_message message;
    struct lnet_ib_memory memory;
    uint8_t bytes[LNET_IB_MESSAGE_BYTES];
};

enum lnet_ib_conn_state { LNET_IB_CONNECTING, LNET_IB_ESTABLISHED, LNET_IB_CLOSED };

struct lnet_ib_conn {
    struct list_head on_peer;
    struct lnet_ib_peer *peer;
    struct lnet_ib_ni *owner;
    struct lnet_qp *qp;
    uint64_t peer_stamp;
    uint8_t state; /* enum lnet_ib_conn_state */
    bool passive;
    sim_time_t state_since;
    uint16_t queue_depth;
    int credits, reserved, owed; /* to send; for requests; of the peer, to be returned */
    uint32_t posted; /* messages */
    struct list_head queue, reserved_queue, free_queue; /* by enum lnet_ib_queue */
    struct list_head active; /* posted, or waiting for an answer */
    struct list_head receives;
    sim_time_t last_sent;
    struct sim_timer dispose;
};

struct lnet_ib_peer {
    struct list_head on_ni;
    struct lnet_ib_peer *next; /* bucket */
    struct lnet_ib_ni *owner;
    lnet_nid_t nid;
    struct list_head conns, waiting; /* transmit descriptors */
    struct lnet_ib_conn *connecting;
    uint32_t races;
    uint16_t queue_depth; /* to ask for */
    uint64_t stamp; /* of the peer, when it told it */
    sim_time_t last_alive;
    struct sim_timer reconnect;
};

/* ---- peer.c ---------------------------------------------------------------------------------- */

struct lnet_ib_peer *lnet_ib_peer_get(struct lnet_ib_ni *owner, lnet_nid_t nid, bool create);
void lnet_ib_peer_destroy(struct lnet_ib_peer *peer);
/* Sends the descriptor to the peer, over a connection that is made if need be. */
void lnet_ib_launch(struct lnet_ib_ni *owner, struct lnet_ib_tx *tx, lnet_nid_t nid);
void lnet_ib_requested(void *owner, const struct lnet_cm_request *request);
void lnet_ib_peer_connected(struct lnet_ib_peer *peer, struct lnet_ib_conn *conn);
/* The attempt failed: `status`, or rejected. */
void lnet_ib_peer_not_connected(struct lnet_ib_peer *peer, int status);
void lnet_ib_peer_is_alive(struct lnet_ib_peer *peer);

/* ---- conn.c ---------------------------------------------------------------------------------- */

struct lnet_ib_conn *lnet_ib_conn_new(struct lnet_ib_peer *peer, uint16_t queue_depth);
void lnet_ib_conn_set_state(struct lnet_ib_conn *conn, enum lnet_ib_conn_state state);
extern const struct lnet_qp_handler lnet_ib_qp_handler;
/* Ends it: its descriptors complete, the peer is told. status 0: LNet stops. */
void lnet_ib_conn_close(struct lnet_ib_conn *conn, int status, enum lnet_msg_hstatus queued);
void lnet_ib_conn_free(struct lnet_ib_conn *conn); /* a closed one */
/* A receive buffer is free again. */
enum lnet_ib_repost { LNET_IB_OWE_CREDIT, LNET_IB_RESERVED_CREDIT, LNET_IB_NO_CREDIT };
void lnet_ib_repost(struct lnet_ib_conn *conn, enum lnet_ib_repost how);
struct lnet_ib_receive *lnet_ib_receive_new(struct lnet_ib_conn *conn);
void lnet_ib_receive_free(struct lnet_ib_ni *owner, struct lnet_ib_receive *receive);

/* ---- transmit.c ------------------------------------------------------------------------------ */

struct lnet_ib_tx *lnet_ib_tx_new(struct lnet_ib_ni *owner);
/* Packs the message of `type` into it; fields by type as in struct lnet_ib_message. */
void lnet_ib_tx_pack(struct lnet_ib_tx *tx, struct lnet_ib_message *message, lnet_nid_t peer);
void lnet_ib_tx_queue(struct lnet_ib_conn *conn, struct lnet_ib_tx *tx);
/* Posts what credits allow. */
void lnet_ib_send_queued(struct lnet_ib_conn *conn);
/* Ends it: finalizes its messages. */
void lnet_ib_tx_done(struct lnet_ib_tx *tx);
void lnet_ib_tx_finish_if_idle(struct lnet_ib_tx *tx);
void lnet_ib_tx_completed(struct lnet_ib_conn *conn, struct lnet_work *work, int status);
struct lnet_ib_tx *lnet_ib_tx_waiting(struct lnet_ib_conn *conn, uint8_t type, uint64_t cookie);
/* Of all descriptors of a list, which is emptied. */
void lnet_ib_tx_fail_list(struct list_head *list, int status, enum lnet_msg_hstatus health);
void lnet_ib_scan(struct sim_event *event);
void lnet_ib_scan_arm(struct lnet_ib_ni *owner);
sim_time_t lnet_ib_timeout(const struct lnet_ib_ni *owner);

/* ---- message.c ------------------------------------------------------------------------------- */

void lnet_ib_message_arrived(struct lnet_ib_conn *conn, const void *bytes, uint32_t length);
/* Answers a request without data. */
void lnet_ib_send_completion(struct lnet_ib_conn *conn, uint8_t type, int32_t status,
                             uint64_t cookie);
/* Writes `length` bytes of the fragments into the peer's memory, then sends the message. */
void lnet_ib_tx_write(struct lnet_ib_tx *tx, uint32_t key, const struct lnet_fragments *from,
                      uint32_t offset, uint32_t length);

#endif
