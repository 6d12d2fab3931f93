/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Objects of a wait set or poll set (members.c). */
#ifndef GNIP_MEMBERS_H
#define GNIP_MEMBERS_H

#include "gnip.h"

/* Objects of a wait or poll set (members.c). */
struct gnip_member {
    struct gnip_member *next;
    struct fid *object; /* CQ, counter or EQ */
    uint64_t seen; /* of a counter in a poll set: value and errors at its last report */
};
struct gnip_members {
    struct port_mutex lock; /* protects the structure of the list */
    struct gnip_member *first;
    uint32_t sweeps; /* traversals of the list that are going on, without the lock */
};
void gnip_members_init(struct gnip_members *members);
void gnip_members_fini(struct gnip_members *members);
int gnip_members_add(struct gnip_members *members, struct fid *object); /* 0 or -errno */
/* Removes an object. Waits until no traversal uses it. -FI_EINVAL: it is not in the list. */
int gnip_members_remove(struct gnip_members *members, struct fid *object);
/* Begins and ends a traversal. Members are not removed meanwhile. */
struct gnip_member *gnip_members_sweep(struct gnip_members *members);
void gnip_members_swept(struct gnip_members *members);
/* Makes progress for a member. True: there is something to read. */
bool gnip_member_ready(struct gnip_member *member, uint32_t *polls);
/* The waitable of a CQ, counter or EQ; NULL: another class. */
struct gnip_waitable *gnip_waitable_of(struct fid *object);

#endif
