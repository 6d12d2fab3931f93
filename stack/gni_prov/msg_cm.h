/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the files about connections of MSG endpoints share: msg_wire.c (messages and their
 * repetition), msg_cm.c (connections), msg_listen.c (requests at a passive endpoint).
 *
 * Locks: fabric->msg_lock → gnip_msg_cm.lock → ep->lock.
 */
#ifndef GNIP_MSG_CM_H
#define GNIP_MSG_CM_H

#include "cm_nic.h"
#include "domain.h"
#include "ep.h"
#include "eq.h"
#include "gnip.h"
#include "name.h"
#include "pep.h"
#include "proto.h"
#include "vc.h"
#include "port/list.h"

/* The two ends of a connection, seen from one of them. */
struct gnip_msg_ends {
    uint32_t device_addr, cm_cdm; /* of the peer's cm_nic */
    uint32_t target_cdm, source_cdm;
    uint32_t connection;
    uint32_t incarnation; /* ours */
    bool active; /* we are the active side */
};

/* A message that is repeated until the peer acknowledges it. */
struct gnip_msg_out {
    struct port_timer timer; /* of this attempt */
    uint64_t delay; /* of this attempt, in ns */
    uint8_t type;
    uint8_t fragments, next; /* next: the fragment to be sent next */
    uint8_t tries; /* number of attempts so far */
    bool started;
    uint16_t reason, data_bytes;
    struct gnip_cm_connect head;
    uint8_t data[];
};
/* head and data may be NULL. NULL: no memory. */
struct gnip_msg_out *gnip_msg_out_new(enum gnip_cm_type type, const struct gnip_cm_connect *head,
                                      const void *data, size_t data_bytes);
void gnip_msg_out_free(struct gnip_msg_out *out); /* out may be NULL */
/* Sends as much as possible now. 0, or -FI_ETIMEDOUT: the peer does not answer. */
int gnip_msg_out_push(struct gnip_cm_nic *cm_nic, const struct gnip_msg_ends *ends,
                      struct gnip_msg_out *out);
/*
 * The peer has received the request, and its answer may take long: from now on the message only
 * asks now and then whether the peer still exists.
 */
void gnip_msg_out_probe(struct gnip_msg_out *out);
/* Messages that are not repeated. False: not possible now. */
bool gnip_msg_ack(struct gnip_cm_nic *cm_nic, const struct gnip_msg_ends *ends,
                  enum gnip_cm_type type);
bool gnip_msg_unknown(struct gnip_cm_nic *cm_nic, const struct gnip_msg_ends *ends);

/* A message that arrives in fragments. */
struct gnip_msg_in {
    uint8_t type; /* 0: no fragment so far */
    uint8_t fragments;
    uint8_t have; /* one bit for each fragment */
    uint16_t data_bytes;
    struct gnip_cm_connect head;
    uint8_t data[GNIP_CM_DATA_MAX];
};
/* Splits a message into its header and the bytes behind it. False: the message is invalid. */
bool gnip_msg_parse(const void *message, uint32_t bytes, struct gnip_cm_message *header,
                    const uint8_t **payload);
/* Adds a fragment. True: all have arrived. */
bool gnip_msg_in_add(struct gnip_msg_in *in, const struct gnip_cm_message *header,
                     const uint8_t *payload);

/* An event of the EQ. 0 or -errno. */
int gnip_msg_event(struct gnip_eq *eq, uint32_t kind, struct fid *fid, struct fi_info *info,
                   const void *data, size_t data_bytes);

/* The MSG connections of one cm_nic. */
struct gnip_msg_cm {
    struct gnip_cm_nic *cm_nic;
    /* the cm_nic belongs to this listener, and has requests only; NULL: to an endpoint */
    struct gnip_pep *pep;
    struct gnip_work work; /* queued while a message is to be sent or an answer is expected */
    struct port_mutex lock; /* protects what follows */
    struct port_link connections; /* gnip_msg_connection.link */
};
/* NULL: no memory. */
struct gnip_msg_cm *gnip_msg_cm_get(struct gnip_cm_nic *cm_nic);

/* A request at a passive endpoint, from its first fragment until it is accepted or rejected. */
enum gnip_msg_request_state {
    GNIP_REQUEST_ARRIVING,
    GNIP_REQUEST_OFFERED, /* the application has its event */
    GNIP_REQUEST_REJECTED /* the peer gets a REJECT */
};
struct gnip_msg_request {
    struct fid handle; /* fi_info.handle */
    struct port_link link; /* fabric->msg_requests */
    struct gnip_pep *pep;
    enum gnip_msg_request_state state;
    struct gnip_msg_ends ends;
    uint32_t incarnation; /* of the peer's process */
    /* the connection of the EP that was opened for it; NULL: none */
    struct gnip_msg_connection *owner;
    struct gnip_msg_in in;
    struct gnip_msg_out *out; /* of state REJECTED */
    struct port_timer timer; /* of state ARRIVING */
    bool ack_due;
};
/* The following functions need fabric->msg_lock. NULL: no such request. */
struct gnip_msg_request *gnip_msg_request_find(struct gnip_fabric *fabric,
                                               const struct fid *handle);
/* The request was accepted: frees it. */
void gnip_msg_request_taken(struct gnip_msg_request *request);
/* The request is gone; the EP that was opened for it cannot accept it any more (msg_cm.c). */
void gnip_msg_request_gone(struct gnip_msg_connection *owner);

struct gnip_msg_connection {
    struct port_link link; /* msg->connections */
    struct gnip_msg_cm *msg; /* NULL: neither connected nor accepted so far */
    struct gnip_ep *ep; /* NULL: closed */
    struct gnip_msg_request *request; /* the request that it may accept; under fabric->msg_lock */
    struct gnip_msg_ends ends;
    struct gnip_name peer;
    uint32_t peer_incarnation; /* 0: not known so far */
    uint8_t attempts;
    bool lost; /* the VC has failed, and the peer must be informed; atomic */
    uint32_t acks; /* one bit for each type of message that is to be acknowledged */
    struct gnip_msg_out *out; /* the message that is being sent to the peer; NULL: none */
    struct gnip_msg_in *in; /* an ACCEPT or REJECT that is arriving; NULL: none */
    struct gnip_cm_connect theirs; /* of the request; passive side only */
    struct gnip_vc *old_vc; /* of an attempt that failed; freed later */
};
/* msg_cm.c, for msg_ep.c; msg->lock is held. */
void gnip_msg_connection_free(struct gnip_msg_connection *connection);
void gnip_msg_send(struct gnip_msg_connection *connection, struct gnip_msg_out *out);
void gnip_msg_send_shutdown(struct gnip_msg_connection *connection, enum gnip_cm_reason reason);
/*
 * Waits a short time until a connection's message has been sent. When its EP closes, there may be
 * no thread left that makes progress for the cm_nic. No lock is held; the connection may be gone.
 */
void gnip_msg_flush(struct gnip_msg_cm *msg, const struct gnip_msg_connection *connection);
/* frees the VC of an attempt that failed, once it is closed; false: it is not; msg->lock is held */
bool gnip_msg_retire(struct gnip_msg_connection *connection);
/* ends a connection that was established; ep->lock is held */
void gnip_msg_shut(struct gnip_ep *ep);
static inline bool gnip_msg_is_sending(const struct gnip_msg_connection *connection,
                                       enum gnip_cm_type type)
{
    return connection->out != NULL && connection->out->type == type;
}

/* ---- msg_listen.c ---------------------------------------------------------------------------- */

void gnip_msg_listen_receive(struct gnip_msg_cm *msg, const struct gnip_cm_message *header,
                             const uint8_t *payload, uint32_t device_addr, uint32_t cdm_id);
bool gnip_msg_listen_progress(struct gnip_msg_cm *msg); /* true: there is more to do */
int gnip_msg_listener_open(struct gnip_pep *pep); /* 0 or -FI_ENOMEM */
/*
 * Rejects the requests that are left. Then the cm_nic closes and waits for acknowledgements; the
 * second function frees the listener.
 */
void gnip_msg_listener_close(struct gnip_pep *pep);
void gnip_msg_listener_free(struct gnip_pep *pep);
int gnip_msg_reject(struct gnip_pep *pep, const struct fid *handle, const void *data, size_t bytes);

#endif
