/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completion queues (cq.c). */
#ifndef GNIP_CQ_H
#define GNIP_CQ_H

#include "port/list.h"
#include "lock.h"
#include "progress.h"
#include "waitable.h"

struct gnip_cq_slot;
struct gnip_cq_data;
#define GNIP_CQ_CODES 32u /* more codes than gnip_errno and the provider use */

struct gnip_cq {
    struct fid_cq fid;
    struct gnip_domain *domain;
    enum fi_cq_format format;
    enum fi_wait_obj wait_obj;
    struct gnip_refs refs;
    struct gnip_waitable wait;
    struct gnip_progress_list progress;
    uint32_t reserved, capacity; /* entries promised or unread, and their limit */
    uint32_t reads; /* calls that found entries at once */
    uint32_t number; /* in its domain, from 0, for findings */
    bool checks; /* the application is watched for mistakes: findings.h */
    struct port_link domain_link; /* domain->cqs */
    struct gnip_lock lock; /* protects what follows */
    struct gnip_cq_slot *slots; /* ring */
    uint32_t room; /* of the ring: 0, or a power of two not below `reserved` */
    uint32_t head, tail;
    uint32_t errors, holes; /* of the slots from head to tail: error entries, and those read */
    uint32_t error_scan; /* no error entry lies before it */
    uint32_t counted_errors; /* nameless errors without a slot, and the number of each code */
    struct {
        int error; /* positive errno */
        uint32_t count;
    } counted[GNIP_CQ_CODES];
    struct gnip_cq_data *data_first, *data_last; /* error data of the error entries, in order */
    struct fid_wait *wait_set; /* FI_WAIT_SET */
    struct gnip_vc *vcs_waiting; /* by cq_wait_next: scheduled when entries have been read */
    uint8_t error_data[80]; /* of the last error entry read */
};
/* The CQ has no room for what the VC has received: schedules the VC when there may be some. */
void gnip_cq_wait_for_room(struct gnip_cq *cq, struct gnip_vc *vc);
void gnip_cq_forget(struct gnip_cq *cq, struct gnip_vc *vc);
int gnip_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq,
                 void *context);
/* Reserves one entry, until it is read or the reservation is returned. False: the CQ is full. */
bool gnip_cq_reserve(struct gnip_cq *cq);
/* For error entries and remote CQ data: reserves beyond the capacity, too. False: no memory. */
bool gnip_cq_reserve_always(struct gnip_cq *cq);
void gnip_cq_unreserve(struct gnip_cq *cq);
/* Writes an entry that was reserved. */
void gnip_cq_add(struct gnip_cq *cq, const struct fi_cq_tagged_entry *entry, fi_addr_t source);
/* An error entry. It uses the reservation of its operation. data: for err_data, or NULL. */
void gnip_cq_add_error(struct gnip_cq *cq, const struct fi_cq_err_entry *entry, const void *data,
                       size_t data_bytes);
/*
 * An error without an entry: one read returns -error. For operations without a context. Needs
 * neither a reservation nor memory.
 */
void gnip_cq_add_nameless(struct gnip_cq *cq, int error);
uint32_t gnip_cq_pending(struct gnip_cq *cq); /* entries and errors to be read */

#endif
