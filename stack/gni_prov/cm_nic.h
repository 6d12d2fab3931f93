/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* NICs that carry connection messages (cm_nic.c). */
#ifndef GNIP_CM_NIC_H
#define GNIP_CM_NIC_H

#include "lock.h"
#include "name.h"
#include "port/list.h"

struct gnip_datagram;

/* A job of the cm_nic that is tried until it is done. */
struct gnip_work {
    struct port_link link;
    /* 0: done; -FI_EAGAIN: to be tried again later; else a final error. No lock is held. */
    int (*run)(struct gnip_work *work);
    /* called after the last run, and may free it; NULL: nothing is called */
    void (*over)(struct gnip_work *work, int status);
    bool queued; /* what follows belongs to cm_nic.c */
    bool running, again;
    uint32_t users;
};
/* jobs in the queue; with more of them, operations that need a new VC return -FI_EAGAIN */
#define GNIP_CM_WORK 1024

struct gnip_cm_nic {
    struct port_link domain_link; /* domain->cm_nics */
    struct gnip_ctx *ctx;
    struct gnip_domain *domain; /* NULL: of a passive endpoint */
    struct gnip_nic *nic;
    bool automatic; /* has a helper when it is enabled */
    int32_t datagram_timeout; /* of the helper, in ms; -1: none */
    uint32_t refs; /* endpoints; under the domain's lock */
    struct gnip_name name;
    struct gnip_lock lock; /* protects what follows */
    struct port_link work; /* gnip_work.link */
    uint32_t work_count;
    struct gnip_ep **eps; /* hash of endpoints by cdm_id, chained by gnip_ep.cm_next */
    uint32_t ep_buckets, ep_count;
    struct gnip_msg_cm *msg; /* connections of MSG endpoints (msg_cm.c); NULL: none so far */
    struct port_link free_bound, free_wildcard; /* gnip_datagram.link */
    struct port_link failed; /* to be posted again */
    struct gnip_datagram **datagrams; /* by id; made when first needed */
    uint32_t bound_count, wildcard_count; /* how many there may be */
    uint32_t bound_made, wildcard_made, datagrams_active;
    bool enabled;
    bool sleeping; /* the helper waits for datagrams only: wake it for anything else */
    bool work_added; /* a job was added that has not been tried yet */
    bool awaits; /* a connection request was sent, which may have no answer; atomic */
    struct gnip_gate gate; /* for gnip_ep.cm_users, gnip_work.users */
    struct port_thread *helper;
    bool stop;
};
/* cdm_id UINT32_MAX: any. 0 or -errno. */
int gnip_cm_nic_open(struct gnip_ctx *ctx, struct gnip_domain *domain, struct gnip_auth *auth,
                     const struct gnip_fabric *fabric, uint32_t cdm_id,
                     enum gnip_name_type name_type, struct gnip_cm_nic **cm_nic);
void gnip_cm_nic_close(struct gnip_cm_nic *cm_nic); /* waits for what is in flight */
int gnip_cm_nic_enable(struct gnip_cm_nic *cm_nic); /* posts the wildcards that are free */
/* The same, without its NIC: ends and starts the helper and the datagrams. */
void gnip_cm_nic_suspend(struct gnip_cm_nic *cm_nic);
int gnip_cm_nic_resume(struct gnip_cm_nic *cm_nic);
void gnip_cm_nic_add_ep(struct gnip_cm_nic *cm_nic, struct gnip_ep *ep);
/*
 * Waits until no message is being delivered to the EP: no lock may be held. A second call has no
 * effect.
 */
void gnip_cm_nic_remove_ep(struct gnip_cm_nic *cm_nic, struct gnip_ep *ep);
/* The EP with this cdm_id; it is not freed until gnip_cm_nic_put_ep. NULL: there is none. */
struct gnip_ep *gnip_cm_nic_find_ep(struct gnip_cm_nic *cm_nic, uint32_t cdm_id);
void gnip_cm_nic_put_ep(struct gnip_cm_nic *cm_nic, struct gnip_ep *ep);
/*
 * Sends a connection message. One to the cm_nic itself is delivered from the work queue. 0;
 * -FI_EAGAIN: no datagram is free, or one to this target is in flight; else an error. When the
 * datagram has failed ten times, gnip_vc_cm_lost is called.
 */
int gnip_cm_send(struct gnip_cm_nic *cm_nic, uint32_t device_addr, uint32_t cdm_id,
                 const void *message, uint32_t bytes);
void gnip_cm_work_add(struct gnip_cm_nic *cm_nic, struct gnip_work *work);
/* Waits until the job does not run. No lock may be held; not to be called by the job. */
void gnip_cm_work_remove(struct gnip_cm_nic *cm_nic, struct gnip_work *work);
/*
 * Makes progress. No lock may be held. Returns the amount of work done; adds the number of queues
 * polled.
 */
uint32_t gnip_cm_nic_progress(struct gnip_cm_nic *cm_nic, uint32_t *polls);
/* A message has come (vc_cm.c, or msg_cm.c for types from GNIP_CM_CONNREQ on). No lock is held. */
void gnip_vc_cm_receive(struct gnip_cm_nic *cm_nic, uint32_t device_addr, uint32_t cdm_id,
                        const void *message, uint32_t bytes);
void gnip_msg_cm_receive(struct gnip_cm_nic *cm_nic, uint32_t device_addr, uint32_t cdm_id,
                         const void *message, uint32_t bytes);
/* A message could not be delivered (vc_cm.c; those of MSG endpoints are repeated anyway). */
void gnip_vc_cm_lost(struct gnip_cm_nic *cm_nic, const void *message, uint32_t bytes, int error);

#endif
