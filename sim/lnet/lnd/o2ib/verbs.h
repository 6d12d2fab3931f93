/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The part of InfiniBand that o2iblnd uses, in virtual time over sim/net: a channel adapter (HCA)
 * per NI, reliable connections (queue pairs) made through a connection manager, SEND, and RDMA
 * WRITE into registered memory.
 *
 * A queue pair delivers works in the order of posting, each exactly once. What the network loses is
 * sent again: after a sequence error at once, otherwise after the acknowledge timeout. After
 * `retry_count` attempts the queue pair fails: each of its works completes with -ETIMEDOUT.
 *
 * All functions are called in event handlers or under the node's lock. No callback runs inside the
 * call that caused it.
 */
#ifndef JACQUARD_LNET_VERBS_H
#define JACQUARD_LNET_VERBS_H

#include <stdbool.h>
#include <stdint.h>
#include "core/lnd.h"

#define LNET_HCA_MTU 4096u /* bytes of a packet */

struct lnet_hca;
struct lnet_qp;
struct net;

#define LNET_CM_PRIVATE_BYTES 92 /* an InfiniBand connection request carries no more */

struct lnet_hca_parameters {
    sim_time_t latency; /* of the adapter and its driver, for each work, at either end */
    sim_time_t ack_timeout;
    uint32_t retry_count;
    sim_time_t cm_timeout; /* the connection manager repeats a request that got no answer */
    uint32_t cm_retries;
};

enum lnet_work_kind { LNET_WORK_SEND, LNET_WORK_WRITE };

/* A posted work. Owned by the caller until its completion. */
struct lnet_work {
    enum lnet_work_kind kind;
    const void *message; /* SEND: bytes that stay valid until the completion */
    uint32_t bytes; /* of the message, or to write */
    const struct lnet_fragments *source; /* WRITE: from these fragments, at */
    uint32_t source_offset;
    uint32_t key; /* WRITE: memory of the peer, at */
    uint32_t target_offset;
    struct lnet_flight *flight; /* private: its state on the network */
    struct lnet_work *next; /* private */
};

struct lnet_qp_handler {
    /* Of lnet_qp_connect. 0: the peer accepted, with this private data. -ECONNREFUSED: it rejected,
     * with this private data. -ETIMEDOUT or -EHOSTUNREACH: no answer (no private data). */
    void (*connected)(void *owner, int status, const void *private_data, uint32_t bytes);
    void (*received)(void *owner, const void *message, uint32_t bytes); /* a SEND of the peer */
    /* In the order of posting. An error: the queue pair has failed. */
    void (*completed)(void *owner, struct lnet_work *work, int status);
    /* The peer disconnected, or the queue pair failed (after the completions). Not after
     * lnet_qp_destroy. */
    void (*disconnected)(void *owner, int status);
};

/* A request of a peer to connect. */
struct lnet_cm_request {
    struct lnet_hca *hca;
    uint32_t endpoint; /* of the peer */
    uint64_t id; /* private */
    const void *private_data;
    uint32_t bytes;
};

/* `address` is the IPv4 address of the interface, by which peers find it. `requested` answers at
 * once with lnet_cm_accept or lnet_cm_reject. NULL: the endpoint or the address is in use. */
struct lnet_hca *lnet_hca_create(struct net *net, uint32_t endpoint, uint32_t address,
                                 const struct lnet_hca_parameters *parameters,
                                 void (*requested)(void *owner, const struct lnet_cm_request *),
                                 void *owner);
/* Destroys its queue pairs, too; no callback comes. The peers see it by their timeouts. */
void lnet_hca_destroy(struct lnet_hca *hca);

/* The endpoint that has, or had, this address. False: no adapter ever had it. */
bool lnet_hca_resolve(const struct lnet_hca *hca, uint32_t address, uint32_t *endpoint);

/* Connects to the adapter at an endpoint; `connected` comes later, unless it is destroyed before.
 */
struct lnet_qp *lnet_qp_connect(struct lnet_hca *hca, uint32_t endpoint, const void *private_data,
                                uint32_t bytes, const struct lnet_qp_handler *handler, void *owner);
struct lnet_qp *lnet_cm_accept(const struct lnet_cm_request *request, const void *private_data,
                               uint32_t bytes, const struct lnet_qp_handler *handler, void *owner);
void lnet_cm_reject(const struct lnet_cm_request *request, const void *private_data,
                    uint32_t bytes);
/* Tells the peer that it is gone. Works that have not completed are the caller's again. */
void lnet_qp_destroy(struct lnet_qp *qp);

void lnet_qp_post(struct lnet_qp *qp, struct lnet_work *work);

/* Registers `length` bytes of the fragments from `offset` on for writes of peers; the result is the
 * key, never 0. The fragments stay valid until it is released. A write to a key that is not
 * registered, or beyond its end, fails the queue pair. */
uint32_t lnet_hca_register(struct lnet_hca *hca, const struct lnet_fragments *memory,
                           uint32_t offset, uint32_t length);
void lnet_hca_release(struct lnet_hca *hca, uint32_t key);

/* At the end of a simulation: frees what all adapters shared. */
void lnet_verbs_end(void);

#endif
