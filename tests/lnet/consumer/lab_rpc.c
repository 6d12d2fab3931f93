/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Requests and their services. One event queue with a callback; all else is done by work items. */
#include "lab.h"

static struct {
    spinlock_t rpc_glock;
    struct lnet_handle_eq rpc_eq;
    __u64 rpc_matchbits;
    struct lab_service *rpc_service;
} lab_data;

DEFINE_PER_CPU(long, lab_handled);

static __u64 lab_next_id(void)
{
    __u64 id;

    spin_lock(&lab_data.rpc_glock);
    id = lab_data.rpc_matchbits++;
    spin_unlock(&lab_data.rpc_glock);
    return id;
}

/* ---- bulk data ---- */

static int lab_bulk_pages(lab_bulk_t *bulk, int npages, int cpt)
{
    int i;

    bulk->bk_niov = npages;
    LNetInvalidateMDHandle(&bulk->bk_mdh);
    for (i = 0; i < npages; i++) {
        struct page *pg = cfs_page_cpt_alloc(lnet_cpt_table(), cpt, GFP_KERNEL);

        if (pg == NULL)
            return -ENOMEM;
        bulk->bk_iovs[i].kiov_page = pg;
        bulk->bk_iovs[i].kiov_offset = 0;
        bulk->bk_iovs[i].kiov_len = min_t(unsigned int, PAGE_SIZE, 1U << 20);
    }
    return 0;
}

static void lab_bulk_release(lab_bulk_t *bulk)
{
    int i;

    for (i = 0; i < bulk->bk_niov && bulk->bk_iovs[i].kiov_page != NULL; i++)
        __free_page(bulk->bk_iovs[i].kiov_page);
}

void lab_bulk_fill(lab_bulk_t *bulk, __u64 pattern)
{
    unsigned int j;
    int i;

    for (i = 0; i < bulk->bk_niov; i++) {
        char *addr = page_address(bulk->bk_iovs[i].kiov_page);

        for (j = 0; j < PAGE_SIZE / sizeof(pattern); j++)
            memcpy(addr + j * sizeof(pattern), &pattern, sizeof(pattern));
    }
}

int lab_bulk_check(lab_bulk_t *bulk, __u64 pattern)
{
    unsigned int j;
    int i;

    for (i = 0; i < bulk->bk_niov; i++) {
        __u64 *data = page_address(bulk->bk_iovs[i].kiov_page);

        for (j = 0; j < PAGE_SIZE / sizeof(pattern); j++) {
            if (data[j] == pattern)
                continue;
            CERROR("Bad data in page %d: %#llx, %#llx expected\n", i, data[j], pattern);
            return -EBADMSG;
        }
    }
    return 0;
}

/* ---- transfers ---- */

static int lab_post_passive(int portal, __u64 bits, enum lnet_ins_pos pos, void *buf, int len,
                            int options, struct lnet_process_id peer, struct lnet_handle_md *mdh,
                            lab_event_t *ev)
{
    struct lnet_handle_me meh;
    struct lnet_md md;
    int rc;

    rc = LNetMEAttach(portal, peer, bits, 0, LNET_UNLINK, pos, &meh);
    if (rc != 0) {
        LASSERT(rc == -ENOMEM);
        return rc;
    }
    md.threshold = 1;
    md.user_ptr = ev;
    md.start = buf;
    md.length = len;
    md.options = options;
    md.eq_handle = lab_data.rpc_eq;
    rc = LNetMDAttach(meh, md, LNET_UNLINK, mdh);
    if (rc != 0) {
        LASSERT(rc == -ENOMEM);
        rc = LNetMEUnlink(meh);
        LASSERT(rc == 0);
        return -ENOMEM;
    }
    return 0;
}

static int lab_post_active(int portal, __u64 bits, void *buf, int len, int options,
                           struct lnet_process_id peer, lnet_nid_t self, struct lnet_handle_md *mdh,
                           lab_event_t *ev)
{
    struct lnet_md md;
    int rc;

    md.user_ptr = ev;
    md.start = buf;
    md.length = len;
    md.eq_handle = lab_data.rpc_eq;
    md.threshold = (options & LNET_MD_OP_GET) != 0 ? 2 : 1;
    md.options = options & ~(LNET_MD_OP_PUT | LNET_MD_OP_GET);
    rc = LNetMDBind(md, LNET_UNLINK, mdh);
    if (rc != 0) {
        LASSERT(rc == -ENOMEM);
        return rc;
    }
    if ((options & LNET_MD_OP_PUT) != 0)
        rc = LNetPut(self, *mdh, LNET_NOACK_REQ, peer, portal, bits, 0, 0);
    else
        rc = LNetGet(self, *mdh, peer, portal, bits, 0, false);
    if (rc != 0) {
        CNETERR("Can't send to %s: %d\n", libcfs_id2str(peer), rc);
        /* the event of the unlink ends the operation */
        rc = LNetMDUnlink(*mdh);
        LASSERT(rc == 0);
    }
    return 0;
}

static void lab_event_init(lab_event_t *ev, lab_event_type_t type, void *data)
{
    ev->ev_type = type;
    ev->ev_fired = 0;
    ev->ev_status = 0;
    ev->ev_data = data;
}

/* ---- the service ---- */

static int lab_post_buffer(struct lab_service_cd *scd, struct lab_buffer *buf)
    __must_hold(&scd->scd_lock)
{
    struct lnet_process_id any = {.nid = LNET_NID_ANY, .pid = LNET_PID_ANY};
    int rc;

    LNetInvalidateMDHandle(&buf->buf_mdh);
    list_add(&buf->buf_list, &scd->scd_posted);
    scd->scd_nposted++;
    spin_unlock(&scd->scd_lock);
    rc = lab_post_passive(LAB_REQUEST_PORTAL, 0, LNET_INS_LOCAL, &buf->buf_msg,
                          sizeof(buf->buf_msg), LNET_MD_OP_PUT, any, &buf->buf_mdh, &scd->scd_ev);
    spin_lock(&scd->scd_lock);
    LASSERT(rc == 0);
    if (scd->scd_svc->sv_shuttingdown) {
        /* whoever ends the service may have seen the handle before it was valid */
        spin_unlock(&scd->scd_lock);
        LNetMDUnlink(buf->buf_mdh);
        spin_lock(&scd->scd_lock);
    }
    return rc;
}

static void lab_server_done(lab_server_rpc_t *rpc, int status)
{
    struct lab_service_cd *scd = rpc->srpc_scd;

    CDEBUG_LIMIT(status == 0 ? D_NET : D_NETERROR, "request of %s done: %d\n",
                 libcfs_id2str(rpc->srpc_buf->buf_peer), status);
    if (rpc->srpc_bulk != NULL) {
        lab_bulk_release(rpc->srpc_bulk);
        LIBCFS_FREE(rpc->srpc_bulk, offsetof(lab_bulk_t, bk_iovs[rpc->srpc_bulk->bk_niov]));
        rpc->srpc_bulk = NULL;
    }
    this_cpu_inc(lab_handled);
    cfs_wi_exit(lab_sched[scd->scd_cpt], &rpc->srpc_wi);
    spin_lock(&scd->scd_lock);
    list_move(&rpc->srpc_list, &scd->scd_free);
    if (!scd->scd_svc->sv_shuttingdown)
        lab_post_buffer(scd, rpc->srpc_buf);
    else
        LIBCFS_FREE(rpc->srpc_buf, sizeof(*rpc->srpc_buf));
    spin_unlock(&scd->scd_lock);
}

static int lab_server_bulk(lab_server_rpc_t *rpc)
{
    lab_msg_t *msg = &rpc->srpc_buf->buf_msg;
    int npages = msg->msg_len >> PAGE_SHIFT, rc;

    if (npages <= 0 || npages > LAB_PAGES)
        return -EPROTO;
    LIBCFS_CPT_ALLOC(rpc->srpc_bulk, lnet_cpt_table(), rpc->srpc_scd->scd_cpt,
                     offsetof(lab_bulk_t, bk_iovs[npages]));
    if (rpc->srpc_bulk == NULL)
        return -ENOMEM;
    rc = lab_bulk_pages(rpc->srpc_bulk, npages, rpc->srpc_scd->scd_cpt);
    if (rc != 0)
        return rc;
    lab_bulk_fill(rpc->srpc_bulk, msg->msg_type == LAB_READ ? msg->msg_stamp : 0);
    lab_event_init(&rpc->srpc_ev, LAB_EV_BULK_DONE, rpc);
    return lab_post_active(
        LAB_BULK_PORTAL, msg->msg_bulkid, &rpc->srpc_bulk->bk_iovs[0], npages,
        LNET_MD_KIOV | (msg->msg_type == LAB_READ ? LNET_MD_OP_PUT : LNET_MD_OP_GET),
        rpc->srpc_buf->buf_peer, rpc->srpc_buf->buf_self, &rpc->srpc_bulk->bk_mdh, &rpc->srpc_ev);
}

static int lab_server_run(struct cfs_workitem *wi)
{
    lab_server_rpc_t *rpc = wi->wi_data;
    lab_msg_t *msg = &rpc->srpc_buf->buf_msg;
    int rc = 0;

    switch (rpc->srpc_state) {
    default:
        LBUG();
        /* fallthrough */
    case LAB_NEW:
        rpc->srpc_state = LAB_BULK;
        if (msg->msg_magic != LAB_MAGIC || msg->msg_type >= LAB_REPLY) {
            lab_server_done(rpc, -EPROTO);
            return 1;
        }
        if (msg->msg_type != LAB_ECHO) {
            rc = lab_server_bulk(rpc);
            if (rc == 0)
                return 0;
            rpc->srpc_ev.ev_status = rc;
        }
        /* fallthrough */
    case LAB_BULK:
        rc = rpc->srpc_ev.ev_status;
        if (rc == 0 && msg->msg_type == LAB_WRITE)
            rc = lab_bulk_check(rpc->srpc_bulk, msg->msg_stamp);
        rpc->srpc_state = LAB_REPLYING;
        memset(&rpc->srpc_reply, 0, sizeof(rpc->srpc_reply));
        rpc->srpc_reply.msg_magic = LAB_MAGIC;
        rpc->srpc_reply.msg_type = LAB_REPLY;
        rpc->srpc_reply.msg_status = rc < 0 ? -rc : rc;
        rpc->srpc_reply.msg_stamp = msg->msg_stamp + 1;
        lab_event_init(&rpc->srpc_ev, LAB_EV_REPLY_SENT, rpc);
        rc = lab_post_active(LAB_BULK_PORTAL, msg->msg_rpyid, &rpc->srpc_reply,
                             sizeof(rpc->srpc_reply), LNET_MD_OP_PUT, rpc->srpc_buf->buf_peer,
                             rpc->srpc_buf->buf_self, &rpc->srpc_replymdh, &rpc->srpc_ev);
        if (rc == 0)
            return 0;
        lab_server_done(rpc, rc);
        return 1;
    case LAB_REPLYING:
        LASSERT(rpc->srpc_ev.ev_fired);
        rpc->srpc_state = LAB_DONE;
        lab_server_done(rpc, rpc->srpc_ev.ev_status);
        return 1;
    }
}

static void lab_request_in(struct lab_service_cd *scd, struct lnet_event *ev)
{
    struct lab_buffer *buf = container_of(ev->md.start, struct lab_buffer, buf_msg);
    lab_server_rpc_t *rpc;

    spin_lock(&scd->scd_lock);
    LASSERT(ev->unlinked);
    LASSERT(ev->type == LNET_EVENT_PUT || ev->type == LNET_EVENT_UNLINK);
    LASSERT(ev->type != LNET_EVENT_UNLINK || scd->scd_svc->sv_shuttingdown);
    scd->scd_nposted--;
    if (scd->scd_svc->sv_shuttingdown) { /* the buffer stays in scd_posted */
        spin_unlock(&scd->scd_lock);
        return;
    }
    buf->buf_peer = ev->source;
    buf->buf_self = ev->target.nid;
    if (ev->status != 0 || ev->mlength != sizeof(buf->buf_msg))
        buf->buf_msg.msg_magic = 0;
    list_del(&buf->buf_list);
    LASSERT(!list_empty(&scd->scd_free)); /* one for each buffer */
    rpc = list_entry(scd->scd_free.next, lab_server_rpc_t, srpc_list);
    list_del(&rpc->srpc_list);
    memset(rpc, 0, sizeof(*rpc));
    rpc->srpc_scd = scd;
    rpc->srpc_buf = buf;
    rpc->srpc_ev.ev_fired = 1;
    LNetInvalidateMDHandle(&rpc->srpc_replymdh);
    cfs_wi_init(&rpc->srpc_wi, rpc, lab_server_run);
    list_add_tail(&rpc->srpc_list, &scd->scd_active);
    cfs_wi_schedule(lab_sched[scd->scd_cpt], &rpc->srpc_wi);
    spin_unlock(&scd->scd_lock);
}

int lab_service_add(struct lab_service *svc)
{
    struct lab_service_cd *scd;
    int i, j;

    svc->sv_shuttingdown = 0;
    svc->sv_cpt_data = cfs_percpt_alloc(lnet_cpt_table(), sizeof(struct lab_service_cd));
    if (svc->sv_cpt_data == NULL)
        return -ENOMEM;
    cfs_percpt_for_each(scd, i, svc->sv_cpt_data)
    {
        scd->scd_cpt = i;
        scd->scd_svc = svc;
        spin_lock_init(&scd->scd_lock);
        INIT_LIST_HEAD(&scd->scd_posted);
        INIT_LIST_HEAD(&scd->scd_active);
        INIT_LIST_HEAD(&scd->scd_free);
        lab_event_init(&scd->scd_ev, LAB_EV_REQUEST_RCVD, scd);
        for (j = 0; j < LAB_BUFFERS; j++) {
            struct lab_buffer *buf;
            lab_server_rpc_t *rpc;

            LIBCFS_CPT_ALLOC(rpc, lnet_cpt_table(), i, sizeof(*rpc));
            LIBCFS_ALLOC(buf, sizeof(*buf));
            LASSERT(rpc != NULL && buf != NULL);
            spin_lock(&scd->scd_lock);
            list_add(&rpc->srpc_list, &scd->scd_free);
            lab_post_buffer(scd, buf);
            spin_unlock(&scd->scd_lock);
        }
    }
    lab_data.rpc_service = svc;
    return 0;
}

void lab_service_remove(struct lab_service *svc)
{
    struct lab_service_cd *scd;
    struct lab_buffer *buf, *next;
    lab_server_rpc_t *rpc, *tmp;
    int i;

    cfs_percpt_for_each(scd, i, svc->sv_cpt_data) spin_lock(&scd->scd_lock);
    svc->sv_shuttingdown = 1;
    cfs_percpt_for_each(scd, i, svc->sv_cpt_data) spin_unlock(&scd->scd_lock);
    cfs_percpt_for_each(scd, i, svc->sv_cpt_data)
    {
        /* nobody changes scd_posted any more */
        list_for_each_entry (buf, &scd->scd_posted, buf_list)
            LNetMDUnlink(buf->buf_mdh);
        spin_lock(&scd->scd_lock);
        lab_wait_until(scd->scd_nposted == 0 && list_empty(&scd->scd_active), scd->scd_lock,
                       "waiting for %d buffers\n", scd->scd_nposted);
        spin_unlock(&scd->scd_lock);
        list_for_each_entry_safe (buf, next, &scd->scd_posted, buf_list) {
            list_del(&buf->buf_list);
            LIBCFS_FREE(buf, sizeof(*buf));
        }
        list_for_each_entry_safe (rpc, tmp, &scd->scd_free, srpc_list) {
            list_del(&rpc->srpc_list);
            LIBCFS_FREE(rpc, sizeof(*rpc));
        }
    }
    cfs_percpt_free(svc->sv_cpt_data);
    svc->sv_cpt_data = NULL;
}

/* ---- clients ---- */

#define lab_event_pending(rpc)                                                   \
    ((rpc)->crpc_requestev.ev_fired == 0 || (rpc)->crpc_replyev.ev_fired == 0 || \
     (rpc)->crpc_bulkev.ev_fired == 0)

static void lab_client_abort(lab_client_rpc_t *rpc, int why)
{
    if (rpc->crpc_aborted || rpc->crpc_closed)
        return;
    rpc->crpc_aborted = 1;
    rpc->crpc_status = why;
    cfs_wi_schedule(lab_sched_serial, &rpc->crpc_wi);
}

static void lab_client_expired(void *data)
{
    lab_client_rpc_t *rpc = data;

    spin_lock(&rpc->crpc_lock);
    rpc->crpc_timeout = 0;
    lab_client_abort(rpc, -ETIMEDOUT);
    spin_unlock(&rpc->crpc_lock);
}

static int lab_client_finish(lab_client_rpc_t *rpc, int status)
{
    spin_lock(&rpc->crpc_lock);
    rpc->crpc_closed = 1;
    if (rpc->crpc_status == 0)
        rpc->crpc_status = status;
    if (rpc->crpc_timeout != 0 && !lab_timer_del(&rpc->crpc_timer)) {
        while (rpc->crpc_timeout != 0) { /* its function is about to run */
            spin_unlock(&rpc->crpc_lock);
            schedule();
            spin_lock(&rpc->crpc_lock);
        }
    }
    LASSERT(!lab_event_pending(rpc));
    cfs_wi_exit(lab_sched_serial, &rpc->crpc_wi);
    spin_unlock(&rpc->crpc_lock);
    (*rpc->crpc_done)(rpc);
    return 1;
}

static int lab_client_begin(lab_client_rpc_t *rpc)
{
    lab_msg_t *msg = &rpc->crpc_request;
    int rc;

    rpc->crpc_begun = 1;
    msg->msg_rpyid = lab_next_id();
    lab_event_init(&rpc->crpc_replyev, LAB_EV_REPLY_RCVD, rpc);
    rc = lab_post_passive(LAB_BULK_PORTAL, msg->msg_rpyid, LNET_INS_AFTER, &rpc->crpc_reply,
                          sizeof(rpc->crpc_reply), LNET_MD_OP_PUT, rpc->crpc_dest,
                          &rpc->crpc_replymdh, &rpc->crpc_replyev);
    LASSERT(rc == 0);
    if (rpc->crpc_bulk.bk_niov > 0) {
        msg->msg_bulkid = lab_next_id();
        lab_event_init(&rpc->crpc_bulkev, LAB_EV_BULK_RCVD, rpc);
        rc = lab_post_passive(LAB_BULK_PORTAL, msg->msg_bulkid, LNET_INS_AFTER,
                              &rpc->crpc_bulk.bk_iovs[0], rpc->crpc_bulk.bk_niov,
                              LNET_MD_KIOV |
                                  (msg->msg_type == LAB_READ ? LNET_MD_OP_PUT : LNET_MD_OP_GET),
                              rpc->crpc_dest, &rpc->crpc_bulk.bk_mdh, &rpc->crpc_bulkev);
        LASSERT(rc == 0);
    }
    lab_event_init(&rpc->crpc_requestev, LAB_EV_REQUEST_SENT, rpc);
    return lab_post_active(LAB_REQUEST_PORTAL, 0, msg, sizeof(*msg), LNET_MD_OP_PUT, rpc->crpc_dest,
                           LNET_NID_ANY, &rpc->crpc_requestmdh, &rpc->crpc_requestev);
}

static int lab_client_run(struct cfs_workitem *wi)
{
    lab_client_rpc_t *rpc = wi->wi_data;
    int rc = 0;

    LASSERT(wi == &rpc->crpc_wi);
    if (!rpc->crpc_aborted && !rpc->crpc_begun)
        rc = lab_client_begin(rpc);
    if (rc == 0 && rpc->crpc_requestev.ev_fired)
        rc = rpc->crpc_requestev.ev_status;
    if (rc == 0 && rpc->crpc_replyev.ev_fired) {
        rc = rpc->crpc_replyev.ev_status;
        if (rc == 0 && rpc->crpc_reply.msg_status != 0)
            rc = -(int)rpc->crpc_reply.msg_status;
    }
    if (rc != 0) {
        spin_lock(&rpc->crpc_lock);
        lab_client_abort(rpc, rc);
        spin_unlock(&rpc->crpc_lock);
    }
    if (rpc->crpc_aborted) {
        /* each may be in use, or gone: then the handle is of none */
        LNetMDUnlink(rpc->crpc_requestmdh);
        LNetMDUnlink(rpc->crpc_replymdh);
        LNetMDUnlink(rpc->crpc_bulk.bk_mdh);
    }
    if (rpc->crpc_begun && lab_event_pending(rpc))
        return 0;
    rc = rpc->crpc_bulkev.ev_status;
    return lab_client_finish(rpc, rc);
}

lab_client_rpc_t *lab_client_rpc_create(struct lnet_process_id dest, int type, int npages,
                                        void (*done)(lab_client_rpc_t *), void *priv)
{
    lab_client_rpc_t *rpc;

    LIBCFS_ALLOC(rpc, offsetof(lab_client_rpc_t, crpc_bulk.bk_iovs[npages]));
    if (rpc == NULL)
        return NULL;
    INIT_LIST_HEAD(&rpc->crpc_list);
    INIT_LIST_HEAD(&rpc->crpc_timer.tm_list);
    spin_lock_init(&rpc->crpc_lock);
    atomic_set(&rpc->crpc_refcount, 1);
    cfs_wi_init(&rpc->crpc_wi, rpc, lab_client_run);
    rpc->crpc_dest = dest;
    rpc->crpc_done = done;
    rpc->crpc_priv = priv;
    rpc->crpc_requestev.ev_fired = rpc->crpc_replyev.ev_fired = rpc->crpc_bulkev.ev_fired = 1;
    LNetInvalidateMDHandle(&rpc->crpc_requestmdh);
    LNetInvalidateMDHandle(&rpc->crpc_replymdh);
    rpc->crpc_request.msg_magic = LAB_MAGIC;
    rpc->crpc_request.msg_type = type;
    rpc->crpc_request.msg_len = npages << PAGE_SHIFT;
    if (lab_bulk_pages(&rpc->crpc_bulk, npages, CFS_CPT_ANY) == 0)
        return rpc;
    lab_client_rpc_decref(rpc);
    return NULL;
}

void lab_client_rpc_destroy(lab_client_rpc_t *rpc)
{
    LASSERT(!lab_event_pending(rpc));
    lab_bulk_release(&rpc->crpc_bulk);
    LIBCFS_FREE(rpc, offsetof(lab_client_rpc_t, crpc_bulk.bk_iovs[rpc->crpc_bulk.bk_niov]));
}

void lab_client_rpc_post(lab_client_rpc_t *rpc)
{
    spin_lock(&rpc->crpc_lock);
    rpc->crpc_timeout = lab_rpc_timeout;
    if (rpc->crpc_timeout != 0) {
        rpc->crpc_timer.tm_data = rpc;
        rpc->crpc_timer.tm_func = lab_client_expired;
        rpc->crpc_timer.tm_expires = ktime_get_seconds() + rpc->crpc_timeout;
        lab_timer_add(&rpc->crpc_timer);
    }
    cfs_wi_schedule(lab_sched_serial, &rpc->crpc_wi);
    spin_unlock(&rpc->crpc_lock);
}

/* ---- events ---- */

static void lab_event_handler(struct lnet_event *ev)
{
    lab_event_t *own = ev->md.user_ptr;
    lab_client_rpc_t *crpc;
    lab_server_rpc_t *srpc;

    LASSERT(!in_interrupt());
    switch (own->ev_type) {
    default:
        LBUG();
        break;
    case LAB_EV_REQUEST_SENT:
    case LAB_EV_REPLY_RCVD:
    case LAB_EV_BULK_RCVD:
        crpc = own->ev_data;
        spin_lock(&crpc->crpc_lock);
        LASSERT(own->ev_fired == 0);
        own->ev_fired = 1;
        own->ev_status = ev->type == LNET_EVENT_UNLINK ? -EINTR : ev->status;
        cfs_wi_schedule(lab_sched_serial, &crpc->crpc_wi);
        spin_unlock(&crpc->crpc_lock);
        break;
    case LAB_EV_REQUEST_RCVD:
        lab_request_in(own->ev_data, ev);
        break;
    case LAB_EV_BULK_DONE:
        LASSERT(ev->type == LNET_EVENT_SEND || ev->type == LNET_EVENT_REPLY ||
                ev->type == LNET_EVENT_UNLINK);
        if (!ev->unlinked)
            break; /* the reply is still to come */
        /* fallthrough */
    case LAB_EV_REPLY_SENT:
        srpc = own->ev_data;
        spin_lock(&srpc->srpc_scd->scd_lock);
        own->ev_fired = 1;
        own->ev_status = ev->type == LNET_EVENT_UNLINK ? -EINTR : ev->status;
        cfs_wi_schedule(lab_sched[srpc->srpc_scd->scd_cpt], &srpc->srpc_wi);
        spin_unlock(&srpc->srpc_scd->scd_lock);
        break;
    }
}

int lab_rpc_startup(void)
{
    int rc;

    memset(&lab_data, 0, sizeof(lab_data));
    spin_lock_init(&lab_data.rpc_glock);
    lab_data.rpc_matchbits = (__u64)ktime_get_real_seconds() << 48;
    rc = LNetNIInit(LNET_PID_LUSTRE);
    if (rc < 0) {
        CERROR("LNetNIInit: %d\n", rc);
        return rc;
    }
    LNetInvalidateEQHandle(&lab_data.rpc_eq);
    rc = LNetEQAlloc(0, lab_event_handler, &lab_data.rpc_eq);
    LASSERT(rc == 0);
    rc = LNetSetLazyPortal(LAB_REQUEST_PORTAL);
    LASSERT(rc == 0);
    return lab_timers_start();
}

void lab_rpc_shutdown(void)
{
    int rc;

    lab_timers_stop();
    rc = LNetClearLazyPortal(LAB_REQUEST_PORTAL);
    LASSERT(rc == 0);
    rc = LNetEQFree(lab_data.rpc_eq);
    LASSERT(rc == 0); /* nobody uses it any more */
    LNetNIFini();
}
