/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Poll sets: report which of several CQs and counters have something new. */
#include <stdlib.h>

#include "cntr.h"
#include "cq.h"
#include "domain.h"
#include "gnip.h"
#include "members.h"
#include "nosys.h"
#include "wait.h"
#include "waitable.h"

struct gnip_poll {
    struct fid_poll fid;
    struct gnip_domain *domain;
    struct gnip_refs refs; /* members */
    struct gnip_members members;
};

static struct gnip_poll *poll_of(struct fid_poll *fid)
{
    return gnip_container(fid, struct gnip_poll, fid);
}

/* The reference count of an object that may be a member. NULL: it may not. */
static struct gnip_refs *member_refs(const struct gnip_poll *set, struct fid *object)
{
    struct gnip_cq *cq;
    struct gnip_cntr *cntr;

    if (object == NULL)
        return NULL;
    switch (object->fclass) {
    case FI_CLASS_CQ:
        cq = gnip_container(object, struct gnip_cq, fid.fid);
        return cq->domain == set->domain ? &cq->refs : NULL;
    case FI_CLASS_CNTR:
        cntr = gnip_container(object, struct gnip_cntr, fid.fid);
        return cntr->domain == set->domain ? &cntr->refs : NULL;
    default:
        return NULL;
    }
}

static int poll_add(struct fid_poll *fid, struct fid *object, uint64_t flags)
{
    PORT_CALL("fi_poll_add");
    struct gnip_poll *set = poll_of(fid);
    struct gnip_refs *refs = member_refs(set, object);
    int rc;

    if (refs == NULL || flags != 0)
        return -FI_EINVAL;
    rc = gnip_members_add(&set->members, object);
    if (rc != 0)
        return rc;
    gnip_ref(refs);
    gnip_ref(&set->refs);
    return 0;
}

static int poll_del(struct fid_poll *fid, struct fid *object, uint64_t flags)
{
    PORT_CALL("fi_poll_del");
    struct gnip_poll *set = poll_of(fid);
    struct gnip_refs *refs = member_refs(set, object);
    int rc;

    if (refs == NULL || flags != 0)
        return -FI_EINVAL;
    rc = gnip_members_remove(&set->members, object);
    if (rc != 0)
        return rc;
    gnip_unref(refs);
    gnip_unref(&set->refs);
    return 0;
}

static int poll_poll(struct fid_poll *fid, void **contexts, int count)
{
    PORT_CALL("fi_poll");
    struct gnip_poll *set = poll_of(fid);
    struct gnip_member *member;
    uint32_t polls = 0;
    int found = 0;

    if (count < 0 || (contexts == NULL && count > 0))
        return -FI_EINVAL;
    for (member = gnip_members_sweep(&set->members); member != NULL && found < count;
         member = __atomic_load_n(&member->next, __ATOMIC_ACQUIRE)) {
        if (gnip_member_ready(member, &polls))
            contexts[found++] = member->object->context;
        else
            gnip_waitable_idle(gnip_waitable_of(member->object));
    }
    gnip_members_swept(&set->members);
    if (found > 0)
        port_idle_break();
    return found;
}

static int poll_close(struct fid *fid)
{
    PORT_CALL("fi_close");
    struct gnip_poll *set = gnip_container(fid, struct gnip_poll, fid.fid);

    if (gnip_busy(&set->refs))
        return -FI_EBUSY;
    gnip_members_fini(&set->members);
    gnip_unref(&set->domain->refs);
    free(set);
    return 0;
}

static const struct fi_ops poll_fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = poll_close,
    .bind = gnip_no_bind,
    .control = gnip_no_control,
    .ops_open = gnip_no_ops_open,
};

static const struct fi_ops_poll poll_ops = {
    .size = sizeof(struct fi_ops_poll),
    .poll = poll_poll,
    .poll_add = poll_add,
    .poll_del = poll_del,
};

int gnip_poll_open(struct fid_domain *fid, struct fi_poll_attr *attr, struct fid_poll **result)
{
    PORT_CALL("fi_poll_open");
    struct gnip_poll *set;

    if (attr == NULL || result == NULL || attr->flags != 0)
        return -FI_EINVAL;
    set = calloc(1, sizeof(*set));
    if (set == NULL)
        return -FI_ENOMEM;
    gnip_members_init(&set->members);
    set->domain = gnip_container(fid, struct gnip_domain, fid);
    set->fid.fid.fclass = FI_CLASS_POLL;
    set->fid.fid.ops = (struct fi_ops *)&poll_fid_ops;
    set->fid.ops = (struct fi_ops_poll *)&poll_ops;
    gnip_ref(&set->domain->refs);
    *result = &set->fid;
    return 0;
}
