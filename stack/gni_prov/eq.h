/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Event queues (eq.c). */
#ifndef GNIP_EQ_H
#define GNIP_EQ_H

#include "lock.h"
#include "progress.h"
#include "waitable.h"
#include "port/list.h"

struct gnip_eq_event;

struct gnip_eq {
    struct fid_eq fid;
    struct gnip_fabric *fabric;
    struct gnip_refs refs;
    enum fi_wait_obj wait_obj;
    bool writable;
    struct gnip_waitable wait;
    struct gnip_progress_list progress; /* of PEPs and MSG endpoints */
    struct fid_wait *wait_set; /* FI_WAIT_SET */
    struct gnip_lock lock; /* protects what follows */
    struct port_link events, errors; /* gnip_eq_event.link */
    uint32_t event_count;
    struct gnip_eq_event *last_error; /* whose data the application may still read */
};
int gnip_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **eq,
                 void *context);
/* 0; -FI_EAGAIN: 1024 events are unread; -FI_ENOMEM. Connection events go beyond that limit. */
int gnip_eq_add(struct gnip_eq *eq, uint32_t event, const void *buffer, size_t bytes);
int gnip_eq_add_error(struct gnip_eq *eq, const struct fi_eq_err_entry *entry, const void *data,
                      size_t data_bytes);
/* The object is being closed: drops its events. */
void gnip_eq_forget(struct gnip_eq *eq, struct fid *object);
uint32_t gnip_eq_progress(struct gnip_eq *eq); /* returns the number of queues polled */
bool gnip_eq_pending(struct gnip_eq *eq); /* events or errors to be read */

#endif
