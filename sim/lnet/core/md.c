/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory descriptors: building, exhaustion, unlinking. */
#include "core/internal.h"

#include <string.h>

struct lnet_libmd *lnet_md_find(struct lnet_node *node, struct lnet_handle_md handle)
{
    return lnet_handle_find(node, LNET_HANDLE_MD, handle.cookie);
}

struct lnet_libmd *lnet_md_find_wire(struct lnet_node *node, const struct lnet_handle_wire *wire)
{
    struct lnet_handle_md handle = {wire->wh_object_cookie};

    if (wire->wh_interface_cookie != node->interface_cookie)
        return NULL;

    return lnet_md_find(node, handle);
}

bool lnet_md_exhausted(const struct lnet_libmd *md)
{
    if (md->user.threshold == 0)
        return true;

    return (md->user.options & LNET_MD_MAX_SIZE) != 0 &&
           (uint64_t)md->offset + (uint32_t)md->user.max_size > md->length;
}

bool lnet_md_unlinkable(const struct lnet_libmd *md)
{
    return md->operations == 0 && (md->dead || (md->auto_unlink && lnet_md_exhausted(md)));
}

void lnet_md_snapshot(const struct lnet_libmd *md, struct lnet_md *snapshot)
{
    *snapshot = md->user;
    snapshot->bulk_handle.cookie = 0;
}

/* ---- building -------------------------------------------------------------------------------- */

/* Resolves the fragments to addresses. Every one but the first should begin on a page's border, and
 * every one but the last end there. */
static int resolve_pages(struct kvec *to, const lnet_kiov_t *from, uint32_t count, uint64_t *length,
                         bool *gap)
{
    uint32_t i;

    for (i = 0; i < count; i++) {
        if ((uint64_t)from[i].kiov_offset + from[i].kiov_len > PAGE_SIZE)
            return -EINVAL;
        *gap |= (i > 0 && from[i].kiov_offset != 0) ||
                (i + 1 < count && from[i].kiov_offset + from[i].kiov_len != PAGE_SIZE);
        to[i].iov_base = (char *)page_address(from[i].kiov_page) + from[i].kiov_offset;
        to[i].iov_len = from[i].kiov_len;
        *length += from[i].kiov_len;
    }
    return 0;
}

static int copy_vectors(struct kvec *to, const struct kvec *from, uint32_t count, uint64_t *length)
{
    uint32_t i;

    for (i = 0; i < count; i++) {
        if (from[i].iov_len == 0)
            return -EINVAL;
        to[i] = from[i];
        *length += from[i].iov_len;
    }
    return 0;
}

static int build(struct lnet_libmd *md, const struct lnet_md *user, bool *gap)
{
    struct kvec *fragment = (struct kvec *)md->fragments.fragment;
    uint64_t length = 0;
    int rc = 0;

    if ((user->options & LNET_MD_KIOV) != 0) {
        rc = resolve_pages(fragment, user->start, user->length, &length, gap);
    } else if ((user->options & LNET_MD_IOVEC) != 0) {
        rc = copy_vectors(fragment, user->start, user->length, &length);
    } else {
        fragment->iov_base = user->start;
        fragment->iov_len = user->length;
        length = user->length;
    }
    if (rc != 0 || length > INT32_MAX)
        return -EINVAL;
    if ((user->options & LNET_MD_MAX_SIZE) != 0 &&
        (user->max_size < 0 || (uint64_t)user->max_size > length))
        return -EINVAL;

    md->length = (uint32_t)length;
    md->fragments.length = (uint32_t)length;
    md->user = *user;
    return 0;
}

static int check(const struct lnet_md *user, bool passive)
{
    bool list = (user->options & (LNET_MD_KIOV | LNET_MD_IOVEC)) != 0;
    bool takes = (user->options & (LNET_MD_OP_PUT | LNET_MD_OP_GET)) != 0;

    if (user->start == NULL && user->length > 0)
        return -EINVAL;
    if (list && user->length > LNET_MAX_IOV)
        return -EINVAL;
    if (passive != takes)
        return -EINVAL;
    if (user->threshold < LNET_MD_THRESH_INF)
        return -EINVAL; /* the kernel fails an assertion later */

    return 0;
}

static void warn_of_gap(struct lnet_node *node)
{
    if (node->gap_warned || !node->params.strict_fragments)
        return;
    node->gap_warned = true;
    lnet_host_warn(node, LNET_WARNING_GAP,
                   "a descriptor has a gap between two fragments of pages: drivers with RDMA "
                   "may refuse it");
}

static int make(struct lnet_node *node, const struct lnet_md *user, enum lnet_unlink unlink,
                bool passive, struct lnet_libmd **result)
{
    bool list = (user->options & (LNET_MD_KIOV | LNET_MD_IOVEC)) != 0;
    struct lnet_libmd *md;
    bool gap = false;
    int rc = check(user, passive);

    if (rc != 0)
        return rc;
    if ((user->options & LNET_MD_KIOV) != 0 && (user->options & LNET_MD_IOVEC) != 0)
        return -EINVAL;
    md = lnet_md_new(list ? user->length : 1);
    if (md == NULL)
        return -ENOMEM;
    rc = build(md, user, &gap);
    if (rc != 0) {
        lnet_md_free(md);
        return rc;
    }
    if (gap)
        warn_of_gap(node);
    md->attached = passive;
    md->auto_unlink = unlink == LNET_UNLINK;
    *result = md;
    return 0;
}

/* Gives it a handle and makes it a user of its event queue. */
static int link_md(struct lnet_node *node, struct lnet_libmd *md)
{
    if (!LNetEQHandleIsInvalid(md->user.eq_handle)) {
        md->eq = lnet_eq_find(node, md->user.eq_handle);
        if (md->eq == NULL)
            return -ENOENT;
    }
    md->cookie = lnet_handle_new(node, LNET_HANDLE_MD, md);
    if (md->cookie == 0)
        return -ENOMEM;

    if (md->eq != NULL)
        md->eq->descriptors++;
    lnet_ledger_md(1, 0);
    list_add_tail(&md->on_node, &node->instance->mds);
    return 0;
}

int lnet_md_bind(struct lnet_node *node, const struct lnet_md *user, enum lnet_unlink unlink,
                 struct lnet_handle_md *handle)
{
    struct lnet_libmd *md;
    int rc = make(node, user, unlink, false, &md);

    if (rc != 0)
        return rc;
    rc = link_md(node, md);
    if (rc != 0) {
        lnet_md_free(md);
        return rc;
    }
    handle->cookie = md->cookie;
    return 0;
}

/* `me` NULL: its handle is unknown. */
int lnet_md_attach(struct lnet_node *node, struct lnet_me *me, const struct lnet_md *user,
                   enum lnet_unlink unlink, struct lnet_handle_md *handle)
{
    struct lnet_libmd *md;
    int rc = make(node, user, unlink, true, &md);

    if (rc != 0)
        return rc;
    if (me == NULL)
        rc = -ENOENT;
    else if (me->md != NULL)
        rc = -EBUSY;
    else
        rc = link_md(node, md);
    if (rc != 0) {
        lnet_md_free(md);
        return rc;
    }
    md->me = me;
    me->md = md;
    handle->cookie = md->cookie;
    lnet_lazy_resume(node, md);
    return 0;
}

/* ---- unlinking ------------------------------------------------------------------------------- */

void lnet_md_unlink(struct lnet_node *node, struct lnet_libmd *md)
{
    if (!md->dead) {
        struct lnet_me *me = md->me;

        md->dead = true;
        lnet_handle_free(node, md->cookie);
        if (me != NULL) {
            me->md = NULL;
            md->me = NULL;
            if (me->unlink)
                lnet_me_remove(node, me);
        }
    }
    if (md->operations > 0)
        return;

    lnet_response_forget(node, md);
    assert(md->me == NULL);
    assert(md->eq == NULL || md->eq->descriptors > 0);
    if (md->eq != NULL)
        md->eq->descriptors--;
    list_del(&md->on_node);
    lnet_md_free(md);
    lnet_ledger_md(0, 1);
}

void lnet_md_abort(struct lnet_node *node, struct lnet_libmd *md)
{
    if (md->dead)
        return;

    md->aborted = true;
    if (md->operations == 0 && md->eq != NULL) {
        struct lnet_event event;

        lnet_event_unlink(md, &event);
        lnet_eq_enqueue(node, md->eq, &event);
    }
    lnet_md_unlink(node, md);
}

/* ---- the calls ------------------------------------------------------------------------------- */

int LNetMDAttach(struct lnet_handle_me me, struct lnet_md md, enum lnet_unlink unlink,
                 struct lnet_handle_md *handle)
{
    struct lnet_node *node = lnet_enter("LNetMDAttach", true);
    int rc;

    if (node == NULL)
        return -ENODEV;

    rc = lnet_md_attach(node, lnet_handle_find(node, LNET_HANDLE_ME, me.cookie), &md, unlink,
                        handle);
    lnet_leave(node, node->params.cost_md_ns);
    return rc;
}

int LNetMDBind(struct lnet_md md, enum lnet_unlink unlink, struct lnet_handle_md *handle)
{
    struct lnet_node *node = lnet_enter("LNetMDBind", true);
    int rc;

    if (node == NULL)
        return -ENODEV;

    rc = lnet_md_bind(node, &md, unlink, handle);
    lnet_leave(node, node->params.cost_md_ns);
    return rc;
}

int LNetMDUnlink(struct lnet_handle_md handle)
{
    struct lnet_node *node = lnet_enter("LNetMDUnlink", true);
    struct lnet_libmd *md;

    if (node == NULL)
        return -ENODEV;

    md = lnet_md_find(node, handle);
    if (md != NULL)
        lnet_md_abort(node, md);
    lnet_leave(node, node->params.cost_md_ns);
    return md != NULL ? 0 : -ENOENT;
}
