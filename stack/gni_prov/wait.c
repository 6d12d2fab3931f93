/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Wait sets, and what other objects wait with. */
#include <stdlib.h>

#include "cntr.h"
#include "cq.h"
#include "domain.h"
#include "eq.h"
#include "gnip.h"
#include "lock.h"
#include "members.h"
#include "nosys.h"
#include "progress.h"
#include "wait.h"
#include "waitable.h"

struct gnip_wait {
    struct fid_wait fid;
    struct gnip_fabric *fabric;
    struct gnip_refs refs; /* members */
    enum fi_wait_obj wait_obj;
    struct gnip_waitable wait; /* signalled whenever a member is */
    struct gnip_members members;
};

static struct gnip_wait *wait_of(struct fid_wait *fid)
{
    return gnip_container(fid, struct gnip_wait, fid);
}

int gnip_wait_check(enum fi_wait_obj type, struct fid_wait *set, struct gnip_fabric *fabric)
{
    switch (type) {
    case FI_WAIT_NONE:
    case FI_WAIT_UNSPEC:
    case FI_WAIT_FD:
    case FI_WAIT_YIELD:
    case FI_WAIT_POLLFD:
        return 0;
    case FI_WAIT_SET:
        return set != NULL && set->fid.fclass == FI_CLASS_WAIT && wait_of(set)->fabric == fabric
                   ? 0
                   : -FI_EINVAL;
    case FI_WAIT_MUTEX_COND: /* a thread that sleeps there would make no progress */
        return -FI_ENOSYS;
    default:
        return -FI_EINVAL;
    }
}

static bool has_descriptor(enum fi_wait_obj type)
{
    return type == FI_WAIT_FD || type == FI_WAIT_POLLFD;
}

static int join(struct fid_wait *fid, struct fid *object)
{
    struct gnip_wait *set = wait_of(fid);
    int rc = gnip_members_add(&set->members, object);

    if (rc != 0)
        return rc;
    gnip_waitable_of(object)->set = &set->wait;
    gnip_ref(&set->refs);
    return 0;
}

void gnip_wait_leave(struct fid_wait *fid, struct fid *object)
{
    struct gnip_wait *set = wait_of(fid);

    if (gnip_members_remove(&set->members, object) != 0)
        return;
    gnip_waitable_of(object)->set = NULL;
    gnip_unref(&set->refs);
}

int gnip_waitable_open(struct gnip_waitable *waitable, enum fi_wait_obj type, struct fid_wait *set,
                       struct fid *object, struct fid_wait **joined)
{
    int rc = gnip_waitable_init(waitable, has_descriptor(type));

    *joined = NULL;
    if (rc != 0 || type != FI_WAIT_SET)
        return rc;
    *joined = set;
    rc = join(set, object);
    if (rc != 0)
        gnip_waitable_fini(waitable);
    return rc;
}

void gnip_waitable_close(struct gnip_waitable *waitable, struct fid_wait *joined,
                         struct fid *object)
{
    if (joined != NULL)
        gnip_wait_leave(joined, object);
    gnip_waitable_fini(waitable);
}

/* Makes progress for all members. True: one has something to be read, or was signalled. */
static bool any_ready(void *argument, uint32_t *polls)
{
    struct gnip_wait *set = argument;
    bool found = false,
         signalled_since = __atomic_load_n(&set->wait.signalled_since, __ATOMIC_RELAXED);
    struct gnip_member *member;

    /*
     * The flag is cleared first, so that what comes from here on sets it again. The thread that
     * added the last entry may have set the descriptor after the entry was read.
     */
    if (signalled_since || !__atomic_load_n(&set->wait.armed, __ATOMIC_RELAXED))
        gnip_waitable_clear(&set->wait);
    for (member = gnip_members_sweep(&set->members); member != NULL;
         member = __atomic_load_n(&member->next, __ATOMIC_ACQUIRE))
        found |= gnip_member_ready(member, polls);
    gnip_members_swept(&set->members);
    return found || signalled_since;
}

static int wait_wait(struct fid_wait *fid, int timeout)
{
    PORT_CALL("fi_wait");
    struct gnip_wait *set = wait_of(fid);
    uint32_t polls = 0;
    int rc;

    if (any_ready(set, &polls))
        return 0;
    rc = gnip_waitable_wait(&set->wait, timeout, any_ready, set);
    if (rc != 0)
        return rc < 0 ? rc : 0;
    return -FI_ETIMEDOUT;
}

/*
 * A thread may sleep in poll(2) when the object is empty and its descriptor clear; what comes
 * afterwards sets it.
 */
static int arm(struct fid *object)
{
    struct gnip_cq *cq;
    struct gnip_eq *eq;
    struct gnip_cntr *cntr;
    int rc = -FI_EAGAIN;

    switch (object->fclass) {
    case FI_CLASS_CQ:
        cq = gnip_container(object, struct gnip_cq, fid.fid);
        if (cq->wait_obj == FI_WAIT_NONE)
            return -FI_EINVAL;
        gnip_progress_list_run(&cq->progress);
        gnip_lock(&cq->lock);
        if (gnip_cq_pending(cq) == 0) {
            gnip_waitable_clear(&cq->wait);
            rc = 0;
        }
        gnip_unlock(&cq->lock);
        return rc;
    case FI_CLASS_EQ:
        eq = gnip_container(object, struct gnip_eq, fid.fid);
        if (eq->wait_obj == FI_WAIT_NONE)
            return -FI_EINVAL;
        gnip_eq_progress(eq);
        gnip_lock(&eq->lock);
        if (!gnip_eq_pending(eq)) {
            gnip_waitable_clear(&eq->wait);
            rc = 0;
        }
        gnip_unlock(&eq->lock);
        return rc;
    case FI_CLASS_CNTR:
        cntr = gnip_container(object, struct gnip_cntr, fid.fid);
        if (cntr->wait_obj == FI_WAIT_NONE)
            return -FI_EINVAL;
        gnip_progress_list_run(&cntr->progress);
        gnip_lock(&cntr->lock);
        if (!__atomic_load_n(&cntr->wait.signalled_since, __ATOMIC_RELAXED))
            rc = 0;
        gnip_waitable_clear(&cntr->wait);
        gnip_unlock(&cntr->lock);
        return rc;
    case FI_CLASS_WAIT: {
        uint32_t polls = 0;

        return any_ready(gnip_container(object, struct gnip_wait, fid.fid), &polls) ? -FI_EAGAIN
                                                                                    : 0;
    }
    default:
        return -FI_EINVAL;
    }
}

int gnip_trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
    PORT_CALL("fi_trywait");
    int i, rc, result = 0;

    if (count < 0 || (fids == NULL && count > 0))
        return -FI_EINVAL;
    for (i = 0; i < count; i++) {
        rc = arm(fids[i]);
        if (rc == -FI_EINVAL)
            return rc;
        if (rc != 0)
            result = rc;
    }
    return result;
}

static int wait_control(struct fid *fid, int command, void *argument)
{
    PORT_CALL("fi_control");
    struct gnip_wait *set = gnip_container(fid, struct gnip_wait, fid.fid);

    return gnip_waitable_control(&set->wait, set->wait_obj, command, argument);
}

static int wait_close(struct fid *fid)
{
    PORT_CALL("fi_close");
    struct gnip_wait *set = gnip_container(fid, struct gnip_wait, fid.fid);

    if (gnip_busy(&set->refs))
        return -FI_EBUSY;
    gnip_waitable_fini(&set->wait);
    gnip_members_fini(&set->members);
    gnip_unref(&set->fabric->refs);
    free(set);
    return 0;
}

static const struct fi_ops wait_fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = wait_close,
    .bind = gnip_no_bind,
    .control = wait_control,
    .ops_open = gnip_no_ops_open,
};

static const struct fi_ops_wait wait_ops = {
    .size = sizeof(struct fi_ops_wait),
    .wait = wait_wait,
};

int gnip_wait_open(struct fid_fabric *fid, struct fi_wait_attr *attr, struct fid_wait **result)
{
    PORT_CALL("fi_wait_open");
    struct gnip_wait *set;
    int rc;

    if (attr == NULL || result == NULL || attr->flags != 0 || attr->wait_obj == FI_WAIT_NONE ||
        attr->wait_obj == FI_WAIT_SET || gnip_wait_check(attr->wait_obj, NULL, NULL) != 0)
        return -FI_EINVAL;
    set = calloc(1, sizeof(*set));
    if (set == NULL)
        return -FI_ENOMEM;
    rc = gnip_waitable_init(&set->wait, has_descriptor(attr->wait_obj));
    if (rc != 0) {
        free(set);
        return rc;
    }
    gnip_members_init(&set->members);
    set->wait_obj = attr->wait_obj;
    set->fabric = gnip_container(fid, struct gnip_fabric, fid);
    set->fid.fid.fclass = FI_CLASS_WAIT;
    set->fid.fid.ops = (struct fi_ops *)&wait_fid_ops;
    set->fid.ops = (struct fi_ops_wait *)&wait_ops;
    gnip_ref(&set->fabric->refs);
    *result = &set->fid;
    return 0;
}
