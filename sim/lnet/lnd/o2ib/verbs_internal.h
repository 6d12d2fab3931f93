/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the files of the channel adapter share: hca.c moves packets, qp.c keeps order and repeats,
 * cm.c connects. */
#ifndef JACQUARD_LNET_VERBS_INTERNAL_H
#define JACQUARD_LNET_VERBS_INTERNAL_H

#include "net/net.h"
#include "verbs.h"

struct lnet_verbs_net; /* the adapters of a network */

/* The kinds of flights. */
enum lnet_flight_kind {
    LNET_FLIGHT_WORK,
    LNET_FLIGHT_REQUEST, /* of the connection manager, with private data */
    LNET_FLIGHT_REPLY,
    LNET_FLIGHT_REJECT,
    LNET_FLIGHT_DISCONNECT,
};

/*
 * A message of a queue pair or of the connection manager on its way, cut into chunks. It lives
 * until none of its chunks and answers is on the network, longer than its queue pair if need be;
 * `qp` is NULL then.
 */
struct lnet_flight {
    struct lnet_flight *next; /* of its queue pair: not yet acknowledged */
    struct lnet_flight *next_queued; /* of the adapter: to be injected; or of the free list */
    struct lnet_verbs_net *on;
    struct lnet_qp *qp; /* at the source; NULL: nobody waits for the outcome */
    struct lnet_work *work;
    struct sim_event acknowledged, refused; /* at the source */
    uint64_t sequence, source_qp, target_qp;
    uint32_t bytes, sent; /* to send in all, and injected so far */
    uint32_t refused_offset; /* where the target wants it to be repeated */
    uint32_t refused_attempt;
    uint32_t away; /* chunks and answers on the network */
    uint32_t attempt; /* chunks of earlier ones are ignored */
    uint32_t source, target; /* endpoints */
    uint8_t kind; /* enum lnet_flight_kind */
    bool queued, done; /* done: completed or cancelled */
    bool memory_error; /* the target refused the access for good */
    uint32_t private_bytes;
    uint8_t private_data[LNET_CM_PRIVATE_BYTES];
};

struct lnet_memory {
    const struct lnet_fragments *fragments; /* NULL: free */
    uint32_t offset, length; /* in them */
    uint32_t generation;
};

struct lnet_hca {
    struct lnet_verbs_net *on;
    struct net *net;
    struct lnet_hca_parameters parameters;
    uint32_t endpoint;
    void (*requested)(void *owner, const struct lnet_cm_request *request);
    void *owner;
    struct lnet_flight *first, **last; /* to be injected */
    struct sim_timer pump;
    sim_time_t busy_until; /* the port injects until then */
    struct lnet_qp **qps;
    uint32_t qp_count, qp_room;
    struct lnet_memory *memory;
    uint32_t memory_count;
};

enum lnet_qp_state { LNET_QP_CONNECTING, LNET_QP_CONNECTED, LNET_QP_FAILED };

struct lnet_qp {
    struct lnet_hca *hca;
    uint64_t number, peer_number; /* never used again; 0: the peer's is not known */
    uint32_t peer; /* endpoint */
    uint8_t state; /* enum lnet_qp_state */
    uint8_t attempts; /* without progress */
    uint32_t repeated_offset; /* in the first work, of the last repetition */
    bool passive;
    bool peer_connected; /* it has answered or sent something */
    int status; /* of a failed one */
    const struct lnet_qp_handler *handler;
    void *owner;
    struct lnet_flight *first, **last; /* not acknowledged, in order */
    uint64_t next_sequence, expected; /* to send; to receive */
    uint32_t expected_offset; /* in the message to receive */
    uint64_t refused_at; /* sequence + 1 that was refused, and where, so that it is done once */
    uint32_t refused_offset;
    struct sim_timer timer; /* no acknowledgement, or no answer to the request */
    struct sim_timer report; /* tells the owner of the failure */
    uint32_t private_bytes; /* of the request or of the reply, for repeating it */
    uint8_t private_data[LNET_CM_PRIVATE_BYTES];
};

/* ---- hca.c ----------------------------------------------------------------------------------- */

struct lnet_flight *lnet_flight_new(struct lnet_hca *hca, uint32_t target,
                                    enum lnet_flight_kind kind);
void lnet_flight_release(struct lnet_flight *flight); /* frees it when nothing of it is away */
void lnet_hca_inject(struct lnet_hca *hca, struct lnet_flight *flight); /* puts it into the queue */
void lnet_hca_withdraw(struct lnet_hca *hca,
                       struct lnet_flight *flight); /* takes it out, if there */
sim_time_t lnet_hca_back(const struct lnet_flight *flight); /* time of an answer to the source */
/* NULL: no memory is registered with this key. */
const struct lnet_memory *lnet_hca_memory(const struct lnet_hca *hca, uint32_t key);

/* ---- qp.c ------------------------------------------------------------------------------------ */

struct lnet_qp *lnet_qp_new(struct lnet_hca *hca, uint32_t peer,
                            const struct lnet_qp_handler *handler, void *owner);
struct lnet_qp *lnet_qp_find(struct lnet_hca *hca, uint64_t number); /* NULL: it is gone */
struct lnet_qp *lnet_qp_find_peer(struct lnet_hca *hca, uint32_t endpoint, uint64_t peer_number);
void lnet_qp_fail(struct lnet_qp *qp, int status);
void lnet_qp_ready(struct lnet_qp *qp); /* connected: what was posted goes */
void lnet_qp_forget(struct lnet_qp *qp); /* frees it; its flights go on without it */
/* A chunk of a work has arrived. */
void lnet_qp_arrived(struct lnet_qp *qp, struct lnet_flight *flight, uint32_t offset,
                     uint32_t bytes, bool last);

/* ---- cm.c ------------------------------------------------------------------------------------ */

/* `hca` NULL: no adapter works at the target (any more). */
void lnet_cm_arrived(struct lnet_hca *hca, const struct lnet_flight *flight);
void lnet_cm_timeout(struct lnet_qp *qp);
void lnet_cm_reply(struct lnet_qp *qp); /* of the passive side, once more */
void lnet_cm_disconnect(struct lnet_qp *qp);

#endif
