/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The operations of the transport, part of lnet_main.c. */
static struct nlx_xo_domain *xo_dom(const struct m0_net_domain *dom)
{
    return dom->nd_xprt_private;
}

static struct nlx_xo_transfer_mc *xo_tm(const struct m0_net_transfer_mc *tm)
{
    return tm->ntm_xprt_private;
}

static bool nlx_dom_invariant(const struct m0_net_domain *dom)
{
    return dom->nd_xprt == &NLX_XPRT && xo_dom(dom) != NULL && xo_dom(dom)->xd_dom == dom;
}

static bool nlx_buffer_invariant(const struct m0_net_buffer *nb)
{
    const struct nlx_xo_buffer *bp = nb->nb_xprt_private;

    return bp != NULL && bp->xb_nb == nb && nlx_dom_invariant(nb->nb_dom);
}

/* ---- domains --------------------------------------------------------------------------------- */

static int nlx_xo_dom_init(const struct m0_net_xprt *xprt, struct m0_net_domain *dom)
{
    struct nlx_xo_domain *dp;
    int rc;

    M0_PRE(xprt == &NLX_XPRT);
    dp = nlx_core_mem_alloc(sizeof(*dp), NLX_PO2_SHIFT(sizeof(*dp)));
    if (dp == NULL)
        return -ENOMEM;
    dp->xd_dom = dom;
    dp->xd_flavour = &xo_flavour;
    dp->xd_timeout_tick = m0_time(M0_NET_LNET_BUF_TIMEOUT_TICK_SECS, 0);
    rc = nlx_core_dom_init(dom, &dp->xd_core);
    if (rc != 0) {
        nlx_core_mem_free(dp, sizeof(*dp), NLX_PO2_SHIFT(sizeof(*dp)));
        return rc;
    }
    dom->nd_xprt_private = dp;
    return 0;
}

static void nlx_xo_dom_fini(struct m0_net_domain *dom)
{
    struct nlx_xo_domain *dp = xo_dom(dom);

    nlx_core_dom_fini(&dp->xd_core);
    nlx_core_mem_free(dp, sizeof(*dp), NLX_PO2_SHIFT(sizeof(*dp)));
    dom->nd_xprt_private = NULL;
}

static m0_bcount_t nlx_xo_get_max_buffer_size(const struct m0_net_domain *dom)
{
    return nlx_core_get_max_buffer_size(&xo_dom(dom)->xd_core);
}

static m0_bcount_t nlx_xo_get_max_buffer_segment_size(const struct m0_net_domain *dom)
{
    return nlx_core_get_max_buffer_segment_size(&xo_dom(dom)->xd_core);
}

static int32_t nlx_xo_get_max_buffer_segments(const struct m0_net_domain *dom)
{
    return nlx_core_get_max_buffer_segments(&xo_dom(dom)->xd_core);
}

static m0_bcount_t nlx_xo_get_max_buffer_desc_size(const struct m0_net_domain *dom)
{
    (void)dom;
    return sizeof(struct nlx_core_buf_desc);
}

static m0_bcount_t nlx_xo_rpc_max_seg_size(struct m0_net_domain *dom)
{
    m0_bcount_t limit = nlx_xo_get_max_buffer_segment_size(dom);

    return limit < M0_SEG_SIZE ? limit : M0_SEG_SIZE;
}

static uint32_t nlx_xo_rpc_max_segs_nr(struct m0_net_domain *dom)
{
    return (uint32_t)(nlx_xo_get_max_buffer_size(dom) / nlx_xo_rpc_max_seg_size(dom));
}

static m0_bcount_t nlx_xo_rpc_max_msg_size(struct m0_net_domain *dom, m0_bcount_t rpc_size)
{
    m0_bcount_t limit = nlx_xo_get_max_buffer_size(dom);

    if (rpc_size == 0 || rpc_size > limit)
        return limit;
    return rpc_size < M0_SEG_SIZE ? M0_SEG_SIZE : rpc_size;
}

static uint32_t nlx_xo_rpc_max_recv_msgs(struct m0_net_domain *dom, m0_bcount_t rpc_size)
{
    return (uint32_t)(nlx_xo_get_max_buffer_size(dom) / nlx_xo_rpc_max_msg_size(dom, rpc_size));
}

/* ---- transfer machines ----------------------------------------------------------------------- */

static int nlx_xo_tm_init(struct m0_net_transfer_mc *tm)
{
    struct nlx_xo_transfer_mc *tp;

    tp = nlx_core_mem_alloc(sizeof(*tp), NLX_PO2_SHIFT(sizeof(*tp)));
    if (tp == NULL)
        return -ENOMEM;
    tp->xtm_tm = tm;
    m0_cond_init(&tp->xtm_ev_cond, &tm->ntm_mutex);
    xo_ep_cache_init(tp);
    tm->ntm_xprt_private = tp;
    return 0;
}

static int nlx_xo_tm_confine(struct m0_net_transfer_mc *tm, const struct m0_bitmap *processors)
{
    struct nlx_xo_transfer_mc *tp = xo_tm(tm);
    struct m0_bitmap copy;
    int rc = m0_bitmap_init(&copy, processors->b_nr);

    if (rc != 0)
        return rc;
    m0_bitmap_copy(&copy, processors);
    if (tp->xtm_processors.b_nr != 0)
        m0_bitmap_fini(&tp->xtm_processors);
    tp->xtm_processors = copy;
    return 0;
}

static int xo_tm_thread_start(struct m0_net_transfer_mc *tm)
{
    struct nlx_xo_transfer_mc *tp = xo_tm(tm);
    int rc = M0_THREAD_INIT(&tp->xtm_ev_thread, struct m0_net_transfer_mc *, NULL,
                            &nlx_tm_ev_worker, tm, "nlx_tm");

    tp->xtm_ev_started = rc == 0;
    return rc;
}

static int nlx_xo_tm_start(struct m0_net_transfer_mc *tm, const char *addr)
{
    struct nlx_xo_transfer_mc *tp = xo_tm(tm);
    int rc;

    M0_PRE(m0_mutex_is_locked(&tm->ntm_mutex) && nlx_tm_invariant(tm));
    rc = nlx_core_ep_addr_decode(&xo_dom(tm->ntm_dom)->xd_core, addr, &tp->xtm_core.ctm_addr);
    return rc != 0 ? rc : xo_tm_thread_start(tm);
}

static void xo_tm_cancel(struct m0_net_transfer_mc *tm, enum m0_net_queue_type qt, bool count)
{
    struct m0_net_buffer *nb;

    m0_tl_for(m0_net_tm, &tm->ntm_q[qt], nb)
    {
        struct nlx_xo_buffer *bp = nb->nb_xprt_private;

        nlx_core_buf_del(&xo_dom(tm->ntm_dom)->xd_core, &xo_tm(tm)->xtm_core, &bp->xb_core);
        tm->ntm_qstats[qt].nqs_num_dels += count;
    }
    m0_tl_endfor;
}

static int nlx_xo_tm_stop(struct m0_net_transfer_mc *tm, bool cancel)
{
    struct nlx_xo_transfer_mc *tp = xo_tm(tm);
    int qt;

    M0_PRE(m0_mutex_is_locked(&tm->ntm_mutex) && nlx_tm_invariant(tm));
    if (!tp->xtm_ev_started)
        return xo_tm_thread_start(tm); /* to report the end */
    for (qt = 0; qt < M0_NET_QT_NR; qt++)
        if (cancel || qt == M0_NET_QT_MSG_RECV)
            xo_tm_cancel(tm, qt, cancel);
    m0_cond_signal(&tp->xtm_ev_cond);
    if (tp->xtm_core_started)
        nlx_core_buf_event_wake(&xo_dom(tm->ntm_dom)->xd_core, &tp->xtm_core);
    return 0;
}

static void nlx_xo_tm_fini(struct m0_net_transfer_mc *tm)
{
    struct nlx_xo_transfer_mc *tp = xo_tm(tm);

    if (tp->xtm_ev_started) {
        m0_thread_join(&tp->xtm_ev_thread);
        m0_thread_fini(&tp->xtm_ev_thread);
    }
    if (tp->xtm_processors.b_nr != 0)
        m0_bitmap_fini(&tp->xtm_processors);
    m0_mutex_lock(&tm->ntm_mutex);
    m0_cond_fini(&tp->xtm_ev_cond);
    m0_mutex_unlock(&tm->ntm_mutex);
    xo_ep_cache_fini(tp);
    nlx_core_mem_free(tp, sizeof(*tp), NLX_PO2_SHIFT(sizeof(*tp)));
    tm->ntm_xprt_private = NULL;
}

static int nlx_xo_end_point_create(struct m0_net_end_point **epp, struct m0_net_transfer_mc *tm,
                                   const char *addr)
{
    struct nlx_core_ep_addr cepa;
    int rc;

    if (addr == NULL)
        return -ENOSYS;
    rc = nlx_core_ep_addr_decode(&xo_dom(tm->ntm_dom)->xd_core, addr, &cepa);
    if (rc == 0 && cepa.cepa_tmid == M0_NET_LNET_TMID_INVALID)
        rc = -EINVAL;
    return rc != 0 ? rc : nlx_xo_iv._nlx_ep_create(epp, tm, &cepa);
}

/* ---- buffers --------------------------------------------------------------------------------- */

static int nlx_xo_buf_register(struct m0_net_buffer *nb)
{
    struct nlx_xo_buffer *bp = nlx_core_mem_alloc(sizeof(*bp), NLX_PO2_SHIFT(sizeof(*bp)));
    int rc;

    if (bp == NULL)
        return -ENOMEM;
    bp->xb_nb = nb;
    bp->xb_size = m0_vec_count(&nb->nb_buffer.ov_vec);
    rc = nlx_core_buf_register(&xo_dom(nb->nb_dom)->xd_core, (nlx_core_opaque_ptr_t)(uintptr_t)nb,
                               &nb->nb_buffer, &bp->xb_core);
    if (rc != 0) {
        nlx_core_mem_free(bp, sizeof(*bp), NLX_PO2_SHIFT(sizeof(*bp)));
        return rc;
    }
    nb->nb_xprt_private = bp;
    return 0;
}

static void nlx_xo_buf_deregister(struct m0_net_buffer *nb)
{
    struct nlx_xo_buffer *bp = nb->nb_xprt_private;

    M0_PRE(nlx_buffer_invariant(nb));
    nlx_core_buf_deregister(&xo_dom(nb->nb_dom)->xd_core, &bp->xb_core);
    nlx_core_mem_free(bp, sizeof(*bp), NLX_PO2_SHIFT(sizeof(*bp)));
    nb->nb_xprt_private = NULL;
}

static int nlx_xo__nbd_allocate(struct m0_net_transfer_mc *tm, const struct nlx_core_buf_desc *cbd,
                                struct m0_net_buf_desc *nbd)
{
    (void)tm;
    nbd->nbd_data = m0_alloc(sizeof(*cbd));
    if (nbd->nbd_data == NULL)
        return -ENOMEM;
    nbd->nbd_len = sizeof(*cbd);
    memcpy(nbd->nbd_data, cbd, sizeof(*cbd));
    return 0;
}

static int nlx_xo__nbd_recover(struct m0_net_transfer_mc *tm, const struct m0_net_buf_desc *nbd,
                               struct nlx_core_buf_desc *cbd)
{
    (void)tm;
    if (nbd->nbd_len != sizeof(*cbd))
        return -EINVAL;
    memcpy(cbd, nbd->nbd_data, sizeof(*cbd));
    return 0;
}

static int xo_add_passive(struct m0_net_buffer *nb, struct nlx_xo_buffer *bp)
{
    struct nlx_core_domain *cd = &xo_dom(nb->nb_dom)->xd_core;
    struct nlx_core_transfer_mc *ctm = &xo_tm(nb->nb_tm)->xtm_core;
    struct nlx_core_buf_desc cbd;
    int rc;

    nlx_core_buf_desc_encode(ctm, &bp->xb_core, &cbd);
    rc = nlx_xo__nbd_allocate(nb->nb_tm, &cbd, &nb->nb_desc);
    if (rc != 0)
        return rc;
    rc = nb->nb_qtype == M0_NET_QT_PASSIVE_BULK_RECV
             ? nlx_core_buf_passive_recv(cd, ctm, &bp->xb_core)
             : nlx_core_buf_passive_send(cd, ctm, &bp->xb_core);
    if (rc != 0)
        m0_net_desc_free(&nb->nb_desc);
    return rc;
}

static int xo_add_active(struct m0_net_buffer *nb, struct nlx_xo_buffer *bp)
{
    struct nlx_core_domain *cd = &xo_dom(nb->nb_dom)->xd_core;
    struct nlx_core_transfer_mc *ctm = &xo_tm(nb->nb_tm)->xtm_core;
    struct nlx_core_buf_desc cbd;
    int rc = nlx_xo__nbd_recover(nb->nb_tm, &nb->nb_desc, &cbd);

    if (rc == 0)
        rc = nlx_core_buf_desc_decode(ctm, &bp->xb_core, &cbd);
    if (rc != 0)
        return rc;
    return nb->nb_qtype == M0_NET_QT_ACTIVE_BULK_RECV
               ? nlx_core_buf_active_recv(cd, ctm, &bp->xb_core)
               : nlx_core_buf_active_send(cd, ctm, &bp->xb_core);
}

static int nlx_xo_buf_add(struct m0_net_buffer *nb)
{
    struct nlx_core_domain *cd = &xo_dom(nb->nb_dom)->xd_core;
    struct nlx_core_transfer_mc *ctm = &xo_tm(nb->nb_tm)->xtm_core;
    struct nlx_xo_buffer *bp = nb->nb_xprt_private;
    struct nlx_core_buffer *cb = &bp->xb_core;
    int rc;

    M0_PRE(m0_mutex_is_locked(&nb->nb_tm->ntm_mutex));
    M0_PRE(nlx_buffer_invariant(nb) && nlx_tm_invariant(nb->nb_tm));
    M0_PRE(nb->nb_offset == 0);
    if (xo_tm(nb->nb_tm)->xtm_lost != 0)
        return xo_tm(nb->nb_tm)->xtm_lost;
    cb->cb_qtype = nb->nb_qtype;
    cb->cb_length = nb->nb_length;
    cb->cb_max_operations = 1;
    bp->xb_filled = 0;
    bp->xb_messages = 0;
    if (nb->nb_qtype == M0_NET_QT_MSG_RECV)
        cb->cb_max_operations = nb->nb_max_receive_msgs;
    rc = nlx_core_bevq_provision(cd, ctm, cb->cb_max_operations);
    if (rc != 0)
        return rc;
    switch (nb->nb_qtype) {
    case M0_NET_QT_MSG_RECV:
        cb->cb_length = bp->xb_size;
        cb->cb_min_receive_size = nb->nb_min_receive_size;
        rc = nlx_core_buf_msg_recv(cd, ctm, cb);
        break;
    case M0_NET_QT_MSG_SEND:
        M0_PRE(nb->nb_ep != NULL && nb->nb_ep->nep_tm == nb->nb_tm);
        cb->cb_addr = xo_ep_of(nb->nb_ep)->xe_core;
        rc = nlx_core_buf_msg_send(cd, ctm, cb);
        break;
    case M0_NET_QT_PASSIVE_BULK_RECV:
        cb->cb_length = bp->xb_size;
        rc = xo_add_passive(nb, bp);
        break;
    case M0_NET_QT_PASSIVE_BULK_SEND:
        rc = xo_add_passive(nb, bp);
        break;
    case M0_NET_QT_ACTIVE_BULK_RECV:
        cb->cb_length = bp->xb_size;
        rc = xo_add_active(nb, bp);
        break;
    case M0_NET_QT_ACTIVE_BULK_SEND:
        rc = xo_add_active(nb, bp);
        break;
    default:
        M0_IMPOSSIBLE("queue %d", nb->nb_qtype);
    }
    if (rc != 0)
        nlx_core_bevq_release(ctm, cb->cb_max_operations);
    return rc;
}

static void nlx_xo_buf_del(struct m0_net_buffer *nb)
{
    struct nlx_xo_buffer *bp = nb->nb_xprt_private;

    M0_PRE(nlx_buffer_invariant(nb));
    nlx_core_buf_del(&xo_dom(nb->nb_dom)->xd_core, &xo_tm(nb->nb_tm)->xtm_core, &bp->xb_core);
}

/* ---- events ---------------------------------------------------------------------------------- */

/*
 * 0, or why the sender of a message is not known. If the buffer stays queued, an event with a code
 * is nobody's: the message is lost.
 */
static int nlx_xo_core_bev_to_net_bev(struct m0_net_transfer_mc *tm,
                                      const struct nlx_core_buffer_event *cbev,
                                      struct m0_net_buffer_event *nbev)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): the id is this pointer */
    struct m0_net_buffer *nb = (struct m0_net_buffer *)(uintptr_t)cbev->cbe_buffer_id;
    int rc = 0;

    M0_PRE(m0_mutex_is_locked(&tm->ntm_mutex));
    M0_PRE(nb != NULL && nb->nb_tm == tm && (nb->nb_flags & M0_NET_BUF_QUEUED) != 0);
    *nbev = (struct m0_net_buffer_event){
        .nbe_buffer = nb,
        .nbe_time = m0_time_add(nb->nb_add_time, cbev->cbe_time),
        .nbe_status = cbev->cbe_status,
    };
    if (!cbev->cbe_unlinked)
        nb->nb_flags |= M0_NET_BUF_RETAIN;
    if (nbev->nbe_status != 0) {
        if (nbev->nbe_status == -ECANCELED && (nb->nb_flags & M0_NET_BUF_TIMED_OUT) != 0)
            nbev->nbe_status = -ETIMEDOUT;
        else if (cbev->cbe_unlinked)
            nb->nb_flags &= ~(uint64_t)M0_NET_BUF_TIMED_OUT;
        return cbev->cbe_unlinked ? 0 : nbev->nbe_status;
    }

    nb->nb_flags &= ~(uint64_t)M0_NET_BUF_TIMED_OUT;
    if (nb->nb_qtype == M0_NET_QT_MSG_RECV) {
        rc = nlx_xo_iv._nlx_ep_create(&nbev->nbe_ep, tm, &cbev->cbe_sender);
        if (rc != 0) {
            nbev->nbe_status = rc;
            nbev->nbe_ep = NULL;
            return rc;
        }
        nbev->nbe_offset = cbev->cbe_offset;
    }
    if (nb->nb_qtype == M0_NET_QT_MSG_RECV || nb->nb_qtype == M0_NET_QT_PASSIVE_BULK_RECV ||
        nb->nb_qtype == M0_NET_QT_ACTIVE_BULK_RECV) {
        const struct nlx_xo_buffer *bp = nb->nb_xprt_private;

        nlx_core_buf_arrived(&bp->xb_core, cbev);
        nbev->nbe_length = cbev->cbe_length;
    }
    return 0;
}

/* Messages in a receive buffer, which lie behind each other. */
static void xo_book_message(const struct m0_net_buffer_event *event)
{
    struct nlx_xo_buffer *bp = event->nbe_buffer->nb_xprt_private;

    port_book(PORT_BOOK_M0_MESSAGE, 1);
    bp->xb_filled += event->nbe_length;
    bp->xb_messages++;
    if (bp->xb_messages > bp->xb_core.cb_max_operations)
        port_book_violation(PORT_BOOK_M0_MESSAGE, "a buffer has more messages than it may take");
    if (bp->xb_filled > bp->xb_size || event->nbe_offset + event->nbe_length > bp->xb_size)
        port_book_violation(PORT_BOOK_M0_MESSAGE, "a buffer has longer messages than it has room");
}

/* One event, with ntm_mutex held but during the callback. False: it had no callback. */
static bool xo_deliver(struct m0_net_transfer_mc *tm, const struct nlx_core_buffer_event *cbev)
{
    struct m0_net_buffer_event nbev;
    int rc = nlx_xo_core_bev_to_net_bev(tm, cbev, &nbev);
    bool message = nbev.nbe_buffer->nb_qtype == M0_NET_QT_MSG_RECV && cbev->cbe_status == 0;

    if (message)
        xo_book_message(&nbev);
    if (cbev->cbe_unlinked) {
        struct nlx_xo_buffer *bp = nbev.nbe_buffer->nb_xprt_private;

        nlx_core_bevq_release(&xo_tm(tm)->xtm_core, bp->xb_core.cb_max_operations);
    } else if (rc != 0) {
        nbev.nbe_buffer->nb_flags &= ~(uint64_t)M0_NET_BUF_RETAIN;
        tm->ntm_qstats[M0_NET_QT_MSG_RECV].nqs_num_f_events++;
        if (message)
            port_book(PORT_BOOK_M0_MESSAGE, -1);
        return false;
    }
    tm->ntm_callback_counter++;
    m0_net__buffer_event_post(&nbev);
    tm->ntm_callback_counter--;
    if (message)
        port_book(PORT_BOOK_M0_MESSAGE, -1);
    return true;
}

static void nlx_xo_bev_deliver_all(struct m0_net_transfer_mc *tm)
{
    struct nlx_core_domain *cd = &xo_dom(tm->ntm_dom)->xd_core;
    struct nlx_core_transfer_mc *ctm = &xo_tm(tm)->xtm_core;
    struct nlx_core_buffer_event event;
    bool delivered = false;

    M0_PRE(m0_mutex_is_locked(&tm->ntm_mutex));
    nlx_core_batch_begin(cd, ctm);
    while (xo_tm(tm)->xtm_lost == 0 && !nlx_core_is_lost(cd) && nlx_core_buf_event_get(ctm, &event))
        delivered |= xo_deliver(tm, &event);
    nlx_core_batch_end(cd, ctm);
    if (!delivered || tm->ntm_callback_counter != 0)
        return;
    m0_chan_broadcast(&tm->ntm_chan);
    if (tm->ntm_state == M0_NET_TM_STOPPING)
        nlx_core_buf_event_wake(cd, ctm); /* perhaps that was the last one */
}

static int nlx_xo_bev_deliver_sync(struct m0_net_transfer_mc *tm)
{
    (void)tm;
    return 0;
}

static bool nlx_xo_bev_pending(struct m0_net_transfer_mc *tm)
{
    return !bev_cqueue_is_empty(&xo_tm(tm)->xtm_core.ctm_bevq);
}

static void nlx_xo_bev_notify(struct m0_net_transfer_mc *tm, struct m0_chan *chan)
{
    M0_PRE(m0_mutex_is_locked(&tm->ntm_mutex));
    xo_tm(tm)->xtm_ev_chan = chan;
    m0_cond_signal(&xo_tm(tm)->xtm_ev_cond);
    /* Whoever takes the channel back may finalise it now. */
    while (chan == NULL && xo_tm(tm)->xtm_ev_signals)
        m0_cond_wait(&xo_tm(tm)->xtm_ev_cond);
}
