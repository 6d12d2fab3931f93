/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Endpoints (ep.c, ep_*.c). */
#ifndef GNIP_EP_H
#define GNIP_EP_H

#include "queue.h"
#include "lock.h"
#include "name.h"
#include "nic.h"
#include "waitable.h"
#include "port/list.h"

enum gnip_connection { /* States of a MSG endpoint's connection. */
                       GNIP_UNCONNECTED,
                       GNIP_CONNECTING,
                       GNIP_CONNECTED,
                       GNIP_SHUTDOWN
};

struct gnip_ep {
    struct fid_ep fid; /* in a context of a SEP: the transmit side */
    struct fid_ep rx_fid; /* in a context of a SEP: the receive side */
    enum fi_ep_type type;
    struct gnip_domain *domain;
    struct gnip_auth *auth;
    struct gnip_refs refs; /* users of an STX, contexts of a SEP */
    struct fi_info *info; /* a copy */
    uint64_t caps, tx_flags, rx_flags; /* default operation flags, with or without FI_COMPLETION */
    uint64_t allowed; /* FI_INJECT, and the caps that have a CQ or a counter */
    bool directed, source, source_err, rma_event, notify_flags_only;
    bool tx_selective, rx_selective;
    bool tx_enabled, rx_enabled, closing, shared_tx, hashed;
    /* a thread may sleep on a descriptor for completions of this EP: the helper must see them */
    bool slept_on;
    bool checks; /* the application is watched for mistakes: findings.h */
    struct gnip_lock lock; /* protects what follows, and all VCs of the EP */
    struct gnip_cq *send_cq, *recv_cq;
    struct gnip_cntr *send_cntr, *recv_cntr, *write_cntr, *read_cntr, *rwrite_cntr, *rread_cntr;
    struct gnip_av *av;
    struct gnip_eq *eq;
    struct gnip_stx *stx;
    struct gnip_sep *sep; /* the scalable endpoint that this EP is a context of */
    uint32_t sep_index;
    struct gnip_nic *nic;
    struct gnip_cm_nic *cm_nic;
    bool own_cm_nic;
    struct gnip_name name;
    size_t min_multi_recv;
    struct gnip_match *tagged, *untagged; /* made when the EP is enabled */
    /* requests */
    struct gnip_req **req_chunks; /* arrays of requests, by id */
    struct gnip_queue req_free; /* free requests, last in, first out */
    uint32_t req_made, tx_used, rx_used, own_used, tx_size, rx_size;
    struct gnip_waitable room; /* threads that got -FI_EAGAIN wait here */
    bool wants_room; /* a thread waits there */
    bool mrecv_stalled; /* messages wait for a part of a multi-receive buffer */
    /* memory of the unexpected store */
    struct gnip_queue unexpected_free; /* messages of the small size */
    struct gnip_unexpected_chunk *unexpected_chunks;
    uint32_t rx_credits_advertised,
        rx_messages_advertised; /* to all peers together (rx_window.c) */
    uint32_t unexpected_messages;
    /* gnip_req.link: triggered operations to be submitted; under fired_lock */
    struct gnip_queue fired;
    struct gnip_lock fired_lock;
    /* connections */
    struct port_link vcs; /* gnip_vc.ep_link */
    uint32_t vc_count;
    struct gnip_vc_known { /* by fi_addr: each place remembers one VC */
        fi_addr_t peer;
        struct gnip_vc *vc;
        uint32_t av_version;
    } * vc_known;
    struct gnip_vc **vc_names; /* hash by device_addr and cdm_id, chained by gnip_vc.name_next */
    uint32_t vc_bits; /* both have 1 << vc_bits places; 0: not allocated yet */
    struct gnip_vc *chains; /* VCs with a chain (gnip_vc.more), linked by chain_next */
    struct gnip_ep *cm_next; /* hash of the cm_nic */
    uint32_t cm_users; /* atomic; messages that are being delivered */
    struct port_thread *closer; /* the thread that waits for the VCs to end; NULL: none */
    struct gnip_msg_connection *connection; /* MSG (msg_cm.c); NULL: RDM and DGRAM */
    enum gnip_connection conn_state;
    struct gnip_vc *msg_vc;
    struct gnip_bounces *bounces; /* buffers of bounce.c; NULL: not allocated so far */
    struct port_link domain_link; /* domain->eps */
    struct gnip_ce_edge *ce_edge; /* its place in a tree of reductions (ops_ce.c); NULL: none */
};
/* The completion queue of GNI for transactions of this EP. */
static inline gni_cq_handle_t gnip_ep_events(const struct gnip_ep *ep)
{
    return gnip_unlikely(ep->slept_on) && ep->nic->tx_cq_blk != NULL ? ep->nic->tx_cq_blk
                                                                     : ep->nic->tx_cq;
}
static inline struct gnip_ep *gnip_ep_of(struct fid_ep *fid)
{
    return fid->fid.fclass == FI_CLASS_RX_CTX ? gnip_container(fid, struct gnip_ep, rx_fid)
                                              : gnip_container(fid, struct gnip_ep, fid);
}
int gnip_endpoint(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
                  void *context);
/* Also for contexts of a SEP: a name with this cdm_id. base NULL: an endpoint by itself. */
int gnip_ep_new(struct gnip_domain *domain, struct fi_info *info, struct gnip_sep *sep,
                uint32_t index, void *context, struct gnip_ep **ep);
int gnip_ep_bind(struct gnip_ep *ep, struct fid *object, uint64_t flags, uint64_t directions);
/*
 * directions: FI_TRANSMIT | FI_RECV. strict: an AV, and a CQ or counter for each direction, must be
 * bound.
 */
int gnip_ep_enable(struct gnip_ep *ep, uint64_t directions, bool strict);
/* Which operations have a CQ or a counter: to be called when these have changed. */
void gnip_ep_set_allowed(struct gnip_ep *ep);
/* The list makes progress for the EP. list may be NULL. 0 or -errno. */
int gnip_ep_join(struct gnip_ep *ep, struct gnip_progress_list *list);
int gnip_ep_close(struct gnip_ep *ep);
/*
 * Finds its cm_nic, name and NIC (an STX brings the NIC). 0 or -errno; call detach after an error,
 * too.
 */
int gnip_ep_attach(struct gnip_ep *ep);
void gnip_ep_detach(struct gnip_ep *ep); /* of the cm_nic */
int gnip_ep_cancel(struct gnip_ep *ep, void *context);
/* Ends all posted receives with an error, in order. ep->lock is held. */
void gnip_ep_flush_receives(struct gnip_ep *ep, int error);
extern const struct fi_ops_ep gnip_ep_ops_table;
extern const struct fi_ops_cm gnip_ep_cm_ops; /* name functions; MSG: msg_cm.c */
extern const struct fi_ops_cm gnip_msg_cm_ops;
extern const struct fi_ops_msg gnip_msg_ops; /* msg.c */
extern const struct fi_ops_tagged gnip_tagged_ops; /* msg.c */
extern const struct fi_ops_rma gnip_rma_ops; /* rma.c */
extern const struct fi_ops_atomic gnip_atomic_ops; /* amo.c */

/*
 * Each call that transfers data begins with this check: 0, -FI_EOPBADSTATE, -FI_EOPNOTSUPP,
 * -FI_ENOCQ, -FI_ENOTCONN. needs: FI_MSG|FI_SEND, FI_RMA|FI_READ ..., and FI_INJECT for an
 * operation that reports nothing.
 */
int gnip_ep_may(const struct gnip_ep *ep, uint64_t needs);
/* FI_INJECT for the flags of an inject call, else 0. */
static inline uint64_t gnip_reports_nothing(uint64_t flags)
{
    return (flags & (FI_INJECT | FI_COMPLETION)) == FI_INJECT ? FI_INJECT : 0;
}
/* Flags of an operation: the given ones or the defaults; adds FI_COMPLETION where it applies. */
static inline uint64_t gnip_tx_flags(const struct gnip_ep *ep, uint64_t flags)
{
    return flags | (ep->tx_selective ? 0 : FI_COMPLETION);
}

#endif
