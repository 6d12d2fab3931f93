/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Transfer machines. */
#include "lib/errno.h"
#include "lib/finject.h"
#include "motr/magic.h"
#include "net/net_internal.h"

static const struct m0_net_xprt_ops *ops_of(const struct m0_net_transfer_mc *tm)
{
    return tm->ntm_dom->nd_xprt->nx_ops;
}

bool m0_net__tm_state_is_valid(enum m0_net_tm_state state)
{
    return state >= M0_NET_TM_INITIALIZED && state <= M0_NET_TM_FAILED;
}

bool m0_net__tm_invariant(const struct m0_net_transfer_mc *tm)
{
    enum m0_net_tm_state state = tm->ntm_state;

    return tm->ntm_callbacks != NULL && tm->ntm_callbacks->ntc_event_cb != NULL &&
           tm->ntm_dom != NULL && m0_net__tm_state_is_valid(state) &&
           ergo(state == M0_NET_TM_STARTED, tm->ntm_ep != NULL) &&
           ergo(state != M0_NET_TM_STARTED && state != M0_NET_TM_STOPPING,
                m0_forall(i, M0_NET_QT_NR, m0_net_tm_tlist_is_empty(&tm->ntm_q[i]))) &&
           ergo(state != M0_NET_TM_STARTED, m0_atomic64_get(&tm->ntm_recv_queue_deficit) == 0) &&
           ergo(tm->ntm_recv_pool != NULL, tm->ntm_recv_pool->nbp_ndom == tm->ntm_dom);
}

static bool state_in_use(const struct m0_net_transfer_mc *tm)
{
    return M0_IN(tm->ntm_state, (M0_NET_TM_INITIALIZED, M0_NET_TM_STARTING, M0_NET_TM_STARTED));
}

/* ---- callbacks ------------------------------------------------------------------------------- */

void m0_net__tm_callback_begin(struct m0_net_transfer_mc *tm)
{
    M0_PRE(m0_mutex_is_locked(&tm->ntm_mutex));
    tm->ntm_callback_counter++;
}

void m0_net__tm_post_callback(struct m0_net_transfer_mc *tm)
{
    M0_PRE(m0_mutex_is_locked(&tm->ntm_mutex));
    M0_PRE(tm->ntm_callback_counter > 0);
    if (--tm->ntm_callback_counter == 0)
        m0_chan_broadcast(&tm->ntm_chan);
}

bool m0_net__qtype_is_valid(enum m0_net_queue_type qtype)
{
    return qtype < M0_NET_QT_NR;
}

bool m0_net__tm_ev_type_is_valid(enum m0_net_tm_ev_type type)
{
    return type < M0_NET_TEV_NR;
}

bool m0_net__tm_event_invariant(const struct m0_net_tm_event *ev)
{
    if (!m0_net__tm_ev_type_is_valid(ev->nte_type) || ev->nte_tm == NULL)
        return false;
    if (ev->nte_type != M0_NET_TEV_STATE_CHANGE)
        return true;
    return m0_net__tm_state_is_valid(ev->nte_next_state) &&
           ergo(ev->nte_next_state == M0_NET_TM_STARTED,
                m0_net__ep_invariant(ev->nte_ep, ev->nte_tm, false));
}

/* Buffers of a pool that are still in the receive queue leave it; `returned` gathers them. */
static void leave_receive_queue(struct m0_net_transfer_mc *tm, struct m0_tl *returned)
{
    struct m0_net_buffer *buf;

    m0_tl_for(m0_net_tm, &tm->ntm_q[M0_NET_QT_MSG_RECV], buf)
    {
        if (buf->nb_pool != NULL) {
            m0_net__buffer_unqueue(buf);
            m0_net_tm_tlist_add_tail(returned, buf);
        }
    }
    m0_tl_endfor;
}

static void change_state(struct m0_net_transfer_mc *tm, const struct m0_net_tm_event *ev,
                         struct m0_tl *returned)
{
    tm->ntm_state = ev->nte_next_state;
    if (ev->nte_next_state == M0_NET_TM_STARTED)
        tm->ntm_ep = ev->nte_ep;
    if (M0_IN(ev->nte_next_state, (M0_NET_TM_STOPPED, M0_NET_TM_FAILED))) {
        m0_atomic64_set(&tm->ntm_recv_queue_deficit, 0);
        leave_receive_queue(tm, returned);
    }
}

/* The machine is to stop: it is not started any more, and its end point stays the transport's. */
static bool starts_too_late(const struct m0_net_tm_event *ev)
{
    return ev->nte_type == M0_NET_TEV_STATE_CHANGE && ev->nte_next_state == M0_NET_TM_STARTED &&
           ev->nte_tm->ntm_state == M0_NET_TM_STOPPING;
}

void m0_net_tm_event_post(const struct m0_net_tm_event *ev)
{
    struct m0_net_transfer_mc *tm = ev->nte_tm;
    bool provision = false;
    struct m0_net_buffer *buf;
    struct m0_tl returned;

    M0_PRE(m0_net__tm_event_invariant(ev));
    m0_net_tm_tlist_init(&returned);
    m0_mutex_lock(&tm->ntm_mutex);
    if (starts_too_late(ev)) {
        m0_mutex_unlock(&tm->ntm_mutex);
        m0_net_tm_tlist_fini(&returned);
        return;
    }
    if (ev->nte_type == M0_NET_TEV_STATE_CHANGE) {
        change_state(tm, ev, &returned);
        provision = ev->nte_next_state == M0_NET_TM_STARTED && tm->ntm_recv_pool != NULL;
    }
    M0_ASSERT(m0_net__tm_invariant(tm));
    m0_net__tm_callback_begin(tm);
    m0_mutex_unlock(&tm->ntm_mutex);
    m0_tl_teardown(m0_net_tm, &returned, buf) m0_net__buffer_pool_return(tm, buf);
    m0_net_tm_tlist_fini(&returned);

    tm->ntm_callbacks->ntc_event_cb(ev);
    if (provision)
        m0_net__tm_provision_recv_q(tm);

    m0_mutex_lock(&tm->ntm_mutex);
    m0_net__tm_post_callback(tm);
    m0_mutex_unlock(&tm->ntm_mutex);
}

/* ---- begin and end --------------------------------------------------------------------------- */

int m0_net_tm_init(struct m0_net_transfer_mc *tm, struct m0_net_domain *dom)
{
    int i, rc;

    M0_PRE(dom->nd_xprt != NULL);
    M0_PRE(tm->ntm_state == M0_NET_TM_UNDEFINED);
    M0_PRE(tm->ntm_callbacks != NULL && tm->ntm_callbacks->ntc_event_cb != NULL);
    if (M0_FI_ENABLED("fake_error"))
        return -EINVAL;
    m0_mutex_lock(&dom->nd_mutex);
    m0_sm_group_init(&tm->ntm_group);
    m0_chan_init(&tm->ntm_chan, &tm->ntm_mutex);
    tm->ntm_callback_counter = 0;
    tm->ntm_dom = dom;
    tm->ntm_ep = NULL;
    m0_nep_tlist_init(&tm->ntm_end_points);
    for (i = 0; i < M0_NET_QT_NR; i++)
        m0_net_tm_tlist_init(&tm->ntm_q[i]);
    M0_SET_ARR0(tm->ntm_qstats);
    tm->ntm_xprt_private = NULL;
    tm->ntm_bev_auto_deliver = true;
    tm->ntm_recv_pool = NULL;
    tm->ntm_recv_pool_callbacks = NULL;
    tm->ntm_recv_queue_min_length = M0_NET_TM_RECV_QUEUE_DEF_LEN;
    m0_atomic64_set(&tm->ntm_recv_queue_deficit, 0);
    tm->ntm_pool_colour = (uint32_t)M0_BUFFER_ANY_COLOUR;
    tm->ntm_recv_queue_min_recv_size = 0;
    tm->ntm_recv_queue_max_recv_msgs = 0;
    m0_list_link_init(&tm->ntm_dom_linkage);
    rc = ops_of(tm)->xo_tm_init(tm);
    if (rc == 0) {
        m0_list_add_tail(&dom->nd_tms, &tm->ntm_dom_linkage);
        tm->ntm_state = M0_NET_TM_INITIALIZED;
    } else {
        m0_chan_fini_lock(&tm->ntm_chan);
        m0_sm_group_fini(&tm->ntm_group);
        tm->ntm_dom = NULL;
    }
    m0_mutex_unlock(&dom->nd_mutex);
    return rc;
}

/* Callbacks may still run when the event that ends the machine has been told. */
static void await_callbacks(struct m0_net_transfer_mc *tm)
{
    struct m0_clink clink;

    m0_clink_init(&clink, NULL);
    m0_mutex_lock(&tm->ntm_mutex);
    m0_clink_add(&tm->ntm_chan, &clink);
    while (tm->ntm_callback_counter > 0) {
        M0_PRE(tm->ntm_state != M0_NET_TM_STARTED);
        m0_mutex_unlock(&tm->ntm_mutex);
        m0_chan_wait(&clink);
        m0_mutex_lock(&tm->ntm_mutex);
    }
    m0_clink_del(&clink);
    m0_mutex_unlock(&tm->ntm_mutex);
    m0_clink_fini(&clink);
}

static void release_own_end_point(struct m0_net_transfer_mc *tm)
{
    struct m0_net_end_point *own = tm->ntm_ep;

    m0_mutex_lock(&tm->ntm_mutex);
    M0_PRE(m0_forall(i, M0_NET_QT_NR, m0_net_tm_tlist_is_empty(&tm->ntm_q[i])));
    M0_PRE(m0_tl_forall(m0_nep, ep, &tm->ntm_end_points, ep == own));
    if (own != NULL) {
        M0_PRE(m0_ref_read(&own->nep_ref) == 1);
        tm->ntm_ep = NULL;
        m0_ref_put(&own->nep_ref);
    }
    m0_mutex_unlock(&tm->ntm_mutex);
}

void m0_net_tm_fini(struct m0_net_transfer_mc *tm)
{
    struct m0_net_domain *dom = tm->ntm_dom;
    int i;

    M0_PRE(m0_net__tm_state_is_valid(tm->ntm_state));
    await_callbacks(tm);
    M0_PRE(M0_IN(tm->ntm_state, (M0_NET_TM_STOPPED, M0_NET_TM_FAILED, M0_NET_TM_INITIALIZED)));
    m0_mutex_lock(&dom->nd_mutex);
    release_own_end_point(tm);
    ops_of(tm)->xo_tm_fini(tm);
    m0_list_del(&tm->ntm_dom_linkage);
    m0_mutex_unlock(&dom->nd_mutex);
    tm->ntm_dom = NULL;
    tm->ntm_xprt_private = NULL;
    m0_nep_tlist_fini(&tm->ntm_end_points);
    for (i = 0; i < M0_NET_QT_NR; i++)
        m0_net_tm_tlist_fini(&tm->ntm_q[i]);
    m0_chan_fini_lock(&tm->ntm_chan);
    m0_sm_group_fini(&tm->ntm_group);
    tm->ntm_state = M0_NET_TM_UNDEFINED;
}

int m0_net_tm_confine(struct m0_net_transfer_mc *tm, const struct m0_bitmap *processors)
{
    int rc = -ENOSYS;

    M0_PRE(processors != NULL);
    m0_mutex_lock(&tm->ntm_mutex);
    M0_PRE(m0_net__tm_invariant(tm));
    M0_PRE(tm->ntm_state == M0_NET_TM_INITIALIZED);
    if (ops_of(tm)->xo_tm_confine != NULL)
        rc = ops_of(tm)->xo_tm_confine(tm, processors);
    m0_mutex_unlock(&tm->ntm_mutex);
    return rc;
}

int m0_net_tm_start(struct m0_net_transfer_mc *tm, const char *addr)
{
    int rc;

    M0_PRE(addr != NULL);
    m0_mutex_lock(&tm->ntm_mutex);
    M0_PRE(m0_net__tm_invariant(tm));
    M0_PRE(tm->ntm_state == M0_NET_TM_INITIALIZED);
    if (M0_FI_ENABLED("fake_error")) { /* as if the event of the failure had come already */
        tm->ntm_state = M0_NET_TM_FAILED;
        rc = 0;
    } else {
        tm->ntm_state = M0_NET_TM_STARTING;
        rc = ops_of(tm)->xo_tm_start(tm, addr);
        if (rc < 0)
            tm->ntm_state = M0_NET_TM_FAILED;
    }
    m0_mutex_unlock(&tm->ntm_mutex);
    return rc;
}

int m0_net_tm_stop(struct m0_net_transfer_mc *tm, bool abort)
{
    enum m0_net_tm_state before;
    int64_t deficit;
    int rc;

    m0_mutex_lock(&tm->ntm_mutex);
    M0_PRE(m0_net__tm_invariant(tm));
    M0_PRE(state_in_use(tm));
    before = tm->ntm_state;
    deficit = m0_atomic64_get(&tm->ntm_recv_queue_deficit);
    tm->ntm_state = M0_NET_TM_STOPPING;
    m0_atomic64_set(&tm->ntm_recv_queue_deficit, 0);
    rc = ops_of(tm)->xo_tm_stop(tm, abort); /* which may release ntm_mutex for a while */
    if (rc < 0) {
        tm->ntm_state = before;
        m0_atomic64_set(&tm->ntm_recv_queue_deficit, deficit);
    }
    m0_mutex_unlock(&tm->ntm_mutex);
    return rc;
}

void m0_net__tm_cancel(struct m0_net_transfer_mc *tm)
{
    struct m0_net_buffer *buf;
    int i;

    M0_PRE(m0_mutex_is_locked(&tm->ntm_mutex));
    for (i = 0; i < M0_NET_QT_NR; i++) {
        m0_tl_for(m0_net_tm, &tm->ntm_q[i], buf)
        {
            ops_of(tm)->xo_buf_del(buf);
            tm->ntm_qstats[i].nqs_num_dels++;
        }
        m0_tl_endfor;
    }
}

int m0_net__tm_stats_get(struct m0_net_transfer_mc *tm, enum m0_net_queue_type qtype,
                         struct m0_net_qstats *qs, bool reset)
{
    size_t first = qtype == M0_NET_QT_NR ? 0 : qtype,
           bytes = (qtype == M0_NET_QT_NR ? M0_NET_QT_NR : 1) * sizeof(*qs);

    M0_PRE(m0_mutex_is_locked(&tm->ntm_mutex));
    M0_PRE(reset || qs != NULL);
    M0_PRE(qtype <= M0_NET_QT_NR);
    if (qs != NULL)
        memcpy(qs, &tm->ntm_qstats[first], bytes);
    if (reset)
        memset(&tm->ntm_qstats[first], 0, bytes);
    return 0;
}

int m0_net_tm_stats_get(struct m0_net_transfer_mc *tm, enum m0_net_queue_type qtype,
                        struct m0_net_qstats *qs, bool reset)
{
    int rc;

    m0_mutex_lock(&tm->ntm_mutex);
    rc = m0_net__tm_stats_get(tm, qtype, qs, reset);
    m0_mutex_unlock(&tm->ntm_mutex);
    return rc;
}

void m0_net_tm_colour_set(struct m0_net_transfer_mc *tm, uint32_t colour)
{
    m0_mutex_lock(&tm->ntm_mutex);
    M0_PRE(m0_net__tm_invariant(tm));
    M0_PRE(state_in_use(tm));
    tm->ntm_pool_colour = colour;
    m0_mutex_unlock(&tm->ntm_mutex);
}

uint32_t m0_net_tm_colour_get(struct m0_net_transfer_mc *tm)
{
    uint32_t colour;

    m0_mutex_lock(&tm->ntm_mutex);
    colour = tm->ntm_pool_colour;
    m0_mutex_unlock(&tm->ntm_mutex);
    return colour;
}

/* ---- delivery by the application ------------------------------------------------------------- */

int m0_net_buffer_event_deliver_synchronously(struct m0_net_transfer_mc *tm)
{
    int rc = -ENOSYS;

    m0_mutex_lock(&tm->ntm_mutex);
    M0_PRE(m0_net__tm_invariant(tm));
    M0_PRE(tm->ntm_state == M0_NET_TM_INITIALIZED);
    M0_PRE(tm->ntm_bev_auto_deliver);
    if (ops_of(tm)->xo_bev_deliver_sync != NULL)
        rc = ops_of(tm)->xo_bev_deliver_sync(tm);
    if (rc == 0)
        tm->ntm_bev_auto_deliver = false;
    m0_mutex_unlock(&tm->ntm_mutex);
    return rc;
}

static void lock_synchronous(struct m0_net_transfer_mc *tm)
{
    m0_mutex_lock(&tm->ntm_mutex);
    M0_PRE(m0_net__tm_invariant(tm));
    M0_PRE(M0_IN(tm->ntm_state, (M0_NET_TM_STARTED, M0_NET_TM_STOPPING)));
    M0_PRE(!tm->ntm_bev_auto_deliver);
}

bool m0_net_buffer_event_pending(struct m0_net_transfer_mc *tm)
{
    bool pending;

    lock_synchronous(tm);
    pending = ops_of(tm)->xo_bev_pending(tm);
    m0_mutex_unlock(&tm->ntm_mutex);
    return pending;
}

void m0_net_buffer_event_deliver_all(struct m0_net_transfer_mc *tm)
{
    lock_synchronous(tm);
    ops_of(tm)->xo_bev_deliver_all(tm);
    m0_mutex_unlock(&tm->ntm_mutex);
}

void m0_net_buffer_event_notify(struct m0_net_transfer_mc *tm, struct m0_chan *chan)
{
    lock_synchronous(tm);
    ops_of(tm)->xo_bev_notify(tm, chan);
    m0_mutex_unlock(&tm->ntm_mutex);
}
