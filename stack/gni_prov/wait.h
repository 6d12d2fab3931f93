/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Wait sets (wait.c) and poll sets (poll.c). */
#ifndef GNIP_WAIT_H
#define GNIP_WAIT_H

#include "gnip.h"

/* Checks the wait object of a CQ, counter or EQ: 0, -FI_EINVAL, -FI_ENOSYS. */
int gnip_wait_check(enum fi_wait_obj type, struct fid_wait *set, struct gnip_fabric *fabric);
int gnip_wait_open(struct fid_fabric *fabric, struct fi_wait_attr *attr, struct fid_wait **wait);
int gnip_trywait(struct fid_fabric *fabric, struct fid **fids, int count);
/*
 * gnip_waitable_open makes the waitable of an object that is being opened, and adds the object to a
 * wait set (*joined; NULL: none). It must be the last step, because the set polls the object at
 * once. 0 or -errno. gnip_waitable_close must be the first step of closing it.
 */
int gnip_waitable_open(struct gnip_waitable *waitable, enum fi_wait_obj type, struct fid_wait *set,
                       struct fid *object, struct fid_wait **joined);
void gnip_waitable_close(struct gnip_waitable *waitable, struct fid_wait *joined,
                         struct fid *object);
/* leaves the set; the first step of gnip_waitable_close */
void gnip_wait_leave(struct fid_wait *set, struct fid *object);
int gnip_poll_open(struct fid_domain *domain, struct fi_poll_attr *attr, struct fid_poll **poll);

#endif
