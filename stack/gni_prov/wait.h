/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Wait sets (wait.c) and poll sets (poll.c). */
#ifndef GNIP_WAIT_H
#define GNIP_WAIT_H

#include "gnip.h"

/* What a CQ, counter or EQ may wait with: 0, -FI_EINVAL, -FI_ENOSYS. */
int gnip_wait_check(enum fi_wait_obj type, struct fid_wait *set, struct gnip_fabric *fabric);
int gnip_wait_open(struct fid_fabric *fabric, struct fi_wait_attr *attr, struct fid_wait **wait);
int gnip_trywait(struct fid_fabric *fabric, struct fid **fids, int count);
/*
 * The waitable of an object that is being opened, and its place in a wait set (*joined; NULL:
 * none): the last thing, for the set looks at it at once. 0 or -errno. And the first thing of
 * closing it.
 */
int gnip_waitable_open(struct gnip_waitable *waitable, enum fi_wait_obj type, struct fid_wait *set,
                       struct fid *object, struct fid_wait **joined);
void gnip_waitable_close(struct gnip_waitable *waitable, struct fid_wait *joined,
                         struct fid *object);
void gnip_wait_leave(struct fid_wait *set, struct fid *object); /* what the latter does first */
int gnip_poll_open(struct fid_domain *domain, struct fi_poll_attr *attr, struct fid_poll **poll);

#endif
