/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Buffers: registration, queues, events. */
#include "lib/arith.h"
#include "lib/errno.h"
#include "lib/finject.h"
#include "motr/magic.h"
#include "net/net_internal.h"

M0_TL_DESCR_DEFINE(m0_net_tm, "buffers of a queue", , struct m0_net_buffer, nb_tm_linkage, nb_magic,
                   M0_NET_BUFFER_LINK_MAGIC, M0_NET_BUFFER_HEAD_MAGIC);
M0_TL_DEFINE(m0_net_tm, , struct m0_net_buffer);

enum {
    ENDS = M0_NET_BUF_QUEUED | M0_NET_BUF_IN_USE | M0_NET_BUF_CANCELLED | M0_NET_BUF_TIMED_OUT,
};

static const struct m0_net_xprt_ops *ops_of(const struct m0_net_buffer *buf)
{
    return buf->nb_dom->nd_xprt->nx_ops;
}

static bool is_passive(enum m0_net_queue_type qtype)
{
    return qtype == M0_NET_QT_PASSIVE_BULK_RECV || qtype == M0_NET_QT_PASSIVE_BULK_SEND;
}

static bool is_active(enum m0_net_queue_type qtype)
{
    return qtype == M0_NET_QT_ACTIVE_BULK_RECV || qtype == M0_NET_QT_ACTIVE_BULK_SEND;
}

static bool receives(enum m0_net_queue_type qtype)
{
    return qtype == M0_NET_QT_MSG_RECV || qtype == M0_NET_QT_PASSIVE_BULK_RECV ||
           qtype == M0_NET_QT_ACTIVE_BULK_RECV;
}

bool m0_net__buffer_invariant(const struct m0_net_buffer *buf)
{
    if ((buf->nb_flags & M0_NET_BUF_REGISTERED) == 0)
        return buf->nb_flags == 0;
    if (buf->nb_dom == NULL || buf->nb_dom->nd_xprt == NULL || buf->nb_buffer.ov_buf == NULL ||
        (buf->nb_pool != NULL && buf->nb_pool->nbp_ndom != buf->nb_dom))
        return false;
    if ((buf->nb_flags & M0_NET_BUF_QUEUED) == 0)
        return true;
    return buf->nb_qtype < M0_NET_QT_NR && buf->nb_callbacks != NULL &&
           buf->nb_callbacks->nbc_cb[buf->nb_qtype] != NULL && buf->nb_tm != NULL &&
           buf->nb_tm->ntm_dom == buf->nb_dom && m0_net_tm_tlink_is_in(buf) &&
           M0_CHECK_EX(m0_net_tm_tlist_contains(&buf->nb_tm->ntm_q[buf->nb_qtype], buf));
}

/* ---- registration ---------------------------------------------------------------------------- */

int m0_net_buffer_register(struct m0_net_buffer *buf, struct m0_net_domain *dom)
{
    int rc;

    if (M0_FI_ENABLED("fake_error"))
        return -EINVAL;
    M0_PRE(dom->nd_xprt != NULL);
    M0_PRE(buf->nb_dom == NULL);
    M0_PRE(buf->nb_flags == 0);
    M0_PRE(buf->nb_buffer.ov_buf != NULL);
    M0_PRE(m0_vec_count(&buf->nb_buffer.ov_vec) > 0);
    m0_mutex_lock(&dom->nd_mutex);
    buf->nb_dom = dom;
    buf->nb_xprt_private = NULL;
    buf->nb_timeout = M0_TIME_NEVER;
    m0_net_tm_tlink_init(buf); /* and the magic word */
    m0_net_pool_tlink_init(buf);
    m0_list_link_init(&buf->nb_dom_linkage);
    rc = ops_of(buf)->xo_buf_register(buf);
    if (rc == 0) {
        buf->nb_flags |= M0_NET_BUF_REGISTERED;
        m0_list_add_tail(&dom->nd_registered_bufs, &buf->nb_dom_linkage);
    } else {
        buf->nb_dom = NULL;
    }
    m0_mutex_unlock(&dom->nd_mutex);
    return rc;
}

/* nd_mutex comes before what may wait for the end of a callback. */
static bool is_in_callback(struct m0_net_domain *dom)
{
    struct m0_net_transfer_mc *tm;

    m0_list_for_each_entry(&dom->nd_tms, tm, struct m0_net_transfer_mc, ntm_dom_linkage)
    {
        if (__atomic_load_n(&tm->ntm_callback_thread, __ATOMIC_RELAXED) == port_thread_self())
            return true;
    }
    return false;
}

void m0_net_buffer_deregister(struct m0_net_buffer *buf, struct m0_net_domain *dom)
{
    m0_mutex_lock(&dom->nd_mutex);
    M0_PRE_EX(!is_in_callback(dom));
    M0_PRE(m0_net__buffer_invariant(buf));
    M0_PRE(buf->nb_dom == dom);
    M0_PRE(buf->nb_flags == M0_NET_BUF_REGISTERED);
    ops_of(buf)->xo_buf_deregister(buf);
    buf->nb_flags = 0;
    m0_list_del(&buf->nb_dom_linkage);
    m0_net_tm_tlink_fini(buf);
    m0_net_pool_tlink_fini(buf);
    buf->nb_xprt_private = NULL;
    buf->nb_magic = 0;
    buf->nb_dom = NULL;
    m0_mutex_unlock(&dom->nd_mutex);
}

/* ---- queues ---------------------------------------------------------------------------------- */

static void check_add(const struct m0_net_buffer *buf, const struct m0_net_transfer_mc *tm)
{
    enum m0_net_queue_type qtype = buf->nb_qtype;
    m0_bcount_t room = m0_vec_count(&buf->nb_buffer.ov_vec);

    M0_PRE(m0_net__tm_invariant(tm));
    M0_PRE(m0_net__buffer_invariant(buf));
    M0_PRE(tm->ntm_state == M0_NET_TM_STARTED);
    M0_PRE(buf->nb_dom == tm->ntm_dom);
    M0_PRE(qtype < M0_NET_QT_NR);
    M0_PRE(buf->nb_flags == M0_NET_BUF_REGISTERED);
    M0_PRE(buf->nb_offset == 0);
    if (qtype == M0_NET_QT_MSG_RECV) {
        M0_PRE(buf->nb_ep == NULL);
        M0_PRE(buf->nb_min_receive_size > 0 && buf->nb_min_receive_size <= room);
        M0_PRE(buf->nb_max_receive_msgs > 0);
    }
    if (qtype == M0_NET_QT_MSG_SEND)
        M0_PRE(buf->nb_ep != NULL && buf->nb_ep->nep_tm == tm);
    if (!receives(qtype))
        M0_PRE(buf->nb_length > 0 && buf->nb_offset + buf->nb_length <= room);
    if (is_active(qtype))
        M0_PRE(buf->nb_desc.nbd_len > 0 && buf->nb_desc.nbd_data != NULL);
}

int m0_net__buffer_add(struct m0_net_buffer *buf, struct m0_net_transfer_mc *tm)
{
    enum m0_net_queue_type qtype = buf->nb_qtype;
    m0_time_t now = m0_time_now();
    int rc;

    check_add(buf, tm);
    if (is_passive(qtype))
        buf->nb_desc = (struct m0_net_buf_desc){.nbd_len = 0};
    if (buf->nb_timeout != M0_TIME_NEVER && buf->nb_timeout <= now)
        return -ETIME;
    m0_net_tm_tlist_add_tail(&tm->ntm_q[qtype], buf);
    buf->nb_flags |= M0_NET_BUF_QUEUED;
    buf->nb_add_time = now;
    buf->nb_msgs_received = 0;
    buf->nb_tm = tm;
    rc = ops_of(buf)->xo_buf_add(buf);
    if (rc != 0) {
        m0_net_tm_tlist_del(buf);
        buf->nb_flags &= ~(uint64_t)M0_NET_BUF_QUEUED;
        return rc;
    }
    /* An operation that the transport refuses needs no callback: applications try without. */
    M0_PRE(buf->nb_callbacks != NULL && buf->nb_callbacks->nbc_cb[qtype] != NULL);
    tm->ntm_qstats[qtype].nqs_num_adds++;
    port_book(PORT_BOOK_M0_BUFFER, 1);
    if (is_passive(qtype))
        port_book(PORT_BOOK_M0_DESCRIPTOR, 1);
    if (qtype == M0_NET_QT_MSG_SEND)
        m0_net_end_point_get(buf->nb_ep);
    M0_POST(!is_passive(qtype) || buf->nb_desc.nbd_len > 0);
    return 0;
}

int m0_net_buffer_add(struct m0_net_buffer *buf, struct m0_net_transfer_mc *tm)
{
    int rc;

    if (M0_FI_ENABLED("fake_error"))
        return -EMSGSIZE;
    m0_mutex_lock(&tm->ntm_mutex);
    rc = m0_net__buffer_add(buf, tm);
    m0_mutex_unlock(&tm->ntm_mutex);
    return rc;
}

bool m0_net_buffer_del(struct m0_net_buffer *buf, struct m0_net_transfer_mc *tm)
{
    bool queued;

    m0_mutex_lock(&tm->ntm_mutex);
    M0_PRE((buf->nb_flags & M0_NET_BUF_REGISTERED) != 0);
    M0_PRE(buf->nb_tm == NULL || buf->nb_tm == tm);
    queued = (buf->nb_flags & M0_NET_BUF_QUEUED) != 0;
    if (queued) {
        ops_of(buf)->xo_buf_del(buf);
        tm->ntm_qstats[buf->nb_qtype].nqs_num_dels++;
    }
    m0_mutex_unlock(&tm->ntm_mutex);
    return queued;
}

void m0_net__buffer_unqueue(struct m0_net_buffer *buf)
{
    m0_net_tm_tlist_del(buf);
    buf->nb_flags &= ~(uint64_t)ENDS;
    buf->nb_timeout = M0_TIME_NEVER;
    port_book(PORT_BOOK_M0_BUFFER, -1);
    if (is_passive(buf->nb_qtype))
        port_book(PORT_BOOK_M0_DESCRIPTOR, -1);
}

/* ---- events ---------------------------------------------------------------------------------- */

bool m0_net__buffer_event_invariant(const struct m0_net_buffer_event *ev)
{
    const struct m0_net_buffer *buf = ev->nbe_buffer;

    return ev->nbe_status <= 0 &&
           ergo(ev->nbe_status == 0 && buf->nb_qtype == M0_NET_QT_MSG_RECV, ev->nbe_ep != NULL) &&
           ergo((buf->nb_flags & M0_NET_BUF_CANCELLED) != 0, ev->nbe_status == -ECANCELED) &&
           ergo((buf->nb_flags & M0_NET_BUF_TIMED_OUT) != 0, ev->nbe_status == -ETIMEDOUT) &&
           ergo((buf->nb_flags & M0_NET_BUF_RETAIN) != 0, ev->nbe_status == 0);
}

static void count(struct m0_net_buffer *buf, const struct m0_net_buffer_event *ev, bool retained)
{
    struct m0_net_qstats *stats = &buf->nb_tm->ntm_qstats[buf->nb_qtype];
    uint64_t bytes;

    if (!retained && ev->nbe_time > buf->nb_add_time)
        stats->nqs_time_in_queue += ev->nbe_time - buf->nb_add_time;
    if (ev->nbe_status < 0) {
        stats->nqs_num_f_events++;
        return;
    }
    stats->nqs_num_s_events++;
    bytes = receives(buf->nb_qtype) ? ev->nbe_length : buf->nb_length;
    stats->nqs_total_bytes += bytes;
    stats->nqs_max_bytes = max_type(uint64_t, stats->nqs_max_bytes, bytes);
    if (buf->nb_qtype == M0_NET_QT_MSG_RECV)
        buf->nb_msgs_received++;
}

static void run_callback(struct m0_net_transfer_mc *tm, m0_net_buffer_cb_proc_t callback,
                         const struct m0_net_buffer_event *ev)
{
    struct port_thread *self = port_thread_self();

    if (!M0_EXPENSIVE_CHECKS) {
        callback(ev);
        return;
    }
    __atomic_store_n(&tm->ntm_callback_thread, self, __ATOMIC_RELAXED);
    callback(ev);
    __atomic_compare_exchange_n(&tm->ntm_callback_thread, &self, NULL, false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
}

void m0_net__buffer_event_post(const struct m0_net_buffer_event *ev)
{
    struct m0_net_buffer *buf = ev->nbe_buffer;
    struct m0_net_transfer_mc *tm = buf->nb_tm;
    enum m0_net_queue_type qtype;
    struct m0_net_end_point *ep = NULL;
    bool retained, provision, home;
    m0_net_buffer_cb_proc_t callback;

    M0_PRE(m0_mutex_is_locked(&tm->ntm_mutex));
    M0_PRE(m0_net__tm_invariant(tm));
    M0_PRE(m0_net__buffer_invariant(buf));
    M0_PRE((buf->nb_flags & M0_NET_BUF_QUEUED) != 0);
    M0_PRE(m0_net__buffer_event_invariant(ev));
    qtype = buf->nb_qtype;
    callback = buf->nb_callbacks->nbc_cb[qtype];
    retained = (buf->nb_flags & M0_NET_BUF_RETAIN) != 0;
    count(buf, ev, retained);
    if (retained)
        buf->nb_flags &= ~(uint64_t)M0_NET_BUF_RETAIN;
    else
        m0_net__buffer_unqueue(buf);
    if (qtype == M0_NET_QT_MSG_RECV)
        ep = ev->nbe_status == 0 ? ev->nbe_ep : NULL;
    else if (qtype == M0_NET_QT_MSG_SEND)
        ep = buf->nb_ep;
    provision = qtype == M0_NET_QT_MSG_RECV && !retained && tm->ntm_recv_pool != NULL &&
                tm->ntm_state == M0_NET_TM_STARTED;
    home = qtype == M0_NET_QT_MSG_RECV && !retained && ev->nbe_status < 0 &&
           tm->ntm_state == M0_NET_TM_STOPPING && buf->nb_pool != NULL &&
           buf->nb_pool == tm->ntm_recv_pool;
#ifdef M0_NET_POOL_RETURN_BY_CB
    home = false; /* the callback returns it, as older applications expect */
#endif
    m0_net__tm_callback_begin(tm);
    m0_mutex_unlock(&tm->ntm_mutex);

    if (provision)
        m0_net__tm_provision_recv_q(tm);
    if (home)
        m0_net__buffer_pool_return(tm, buf);
    else
        run_callback(tm, callback, ev);

    m0_mutex_lock(&tm->ntm_mutex);
    if (ep != NULL)
        m0_ref_put(&ep->nep_ref);
    m0_net__tm_post_callback(tm);
}

void m0_net_buffer_event_post(const struct m0_net_buffer_event *ev)
{
    struct m0_net_transfer_mc *tm = ev->nbe_buffer->nb_tm;

    m0_mutex_lock(&tm->ntm_mutex);
    m0_net__buffer_event_post(ev);
    m0_mutex_unlock(&tm->ntm_mutex);
}
