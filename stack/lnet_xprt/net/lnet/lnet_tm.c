/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The event thread of a transfer machine, part of lnet_main.c. It starts the core, delivers events
 * (or signals the application's channel), cancels buffers whose time is over, and stops the core
 * when the machine stops and nothing is queued any more.
 */
static bool nlx_tm_invariant(const struct m0_net_transfer_mc *tm)
{
    const struct nlx_xo_transfer_mc *tp = tm->ntm_xprt_private;

    return tp != NULL && tp->xtm_tm == tm;
}

static m0_time_t nlx_tm_get_buffer_timeout_tick(const struct m0_net_transfer_mc *tm)
{
    const struct nlx_xo_domain *dp = tm->ntm_dom->nd_xprt_private;

    return dp->xd_timeout_tick;
}

/* Cancels what is late; the event says that it timed out. Returns how many. */
static int nlx_tm_timeout_buffers(struct m0_net_transfer_mc *tm, m0_time_t now)
{
    struct nlx_xo_domain *dp = tm->ntm_dom->nd_xprt_private;
    struct nlx_xo_transfer_mc *tp = tm->ntm_xprt_private;
    struct m0_net_buffer *nb;
    int count = 0, qt;

    M0_PRE(m0_mutex_is_locked(&tm->ntm_mutex));
    for (qt = 0; qt < M0_NET_QT_NR; qt++) {
        m0_tl_for(m0_net_tm, &tm->ntm_q[qt], nb)
        {
            struct nlx_xo_buffer *bp = nb->nb_xprt_private;

            if (nb->nb_timeout > now)
                continue;
            nb->nb_flags |= M0_NET_BUF_TIMED_OUT;
            nlx_core_buf_del(&dp->xd_core, &tp->xtm_core, &bp->xb_core);
            count++;
        }
        m0_tl_endfor;
    }
    return count;
}

static bool tm_queues_empty(struct m0_net_transfer_mc *tm)
{
    int qt;

    for (qt = 0; qt < M0_NET_QT_NR; qt++)
        if (!m0_net_tm_tlist_is_empty(&tm->ntm_q[qt]))
            return false;
    return true;
}

static void tm_post_state(struct m0_net_transfer_mc *tm, enum m0_net_tm_state state, int status,
                          struct m0_net_end_point *ep)
{
    struct m0_net_tm_event event = {
        .nte_type = M0_NET_TEV_STATE_CHANGE,
        .nte_tm = tm,
        .nte_time = m0_time_now(),
        .nte_status = status,
        .nte_next_state = state,
        .nte_ep = ep,
    };

    m0_net_tm_event_post(&event);
}

/* ---- start ----------------------------------------------------------------------------------- */

/* ntm_mutex is held. On success *ep is the machine's own end point. */
static int tm_start_core(struct m0_net_transfer_mc *tm, struct m0_net_end_point **ep)
{
    struct nlx_xo_domain *dp = tm->ntm_dom->nd_xprt_private;
    struct nlx_xo_transfer_mc *tp = tm->ntm_xprt_private;
    int rc = 0;

    if (tp->xtm_processors.b_nr != 0)
        rc = m0_thread_confine(&tp->xtm_ev_thread, &tp->xtm_processors);
    if (rc == 0)
        rc = nlx_core_tm_start(&dp->xd_core, tm, &tp->xtm_core);
    if (rc != 0)
        return rc;
    rc = nlx_xo_iv._nlx_ep_create(ep, tm, &tp->xtm_core.ctm_addr);
    if (rc != 0)
        nlx_core_tm_stop(&dp->xd_core, &tp->xtm_core);
    else
        tp->xtm_core_started = true;
    return rc;
}

/* ---- work ------------------------------------------------------------------------------------ */

static bool tm_delivers_itself(const struct m0_net_transfer_mc *tm)
{
    return tm->ntm_bev_auto_deliver || tm->ntm_state == M0_NET_TM_STOPPING;
}

/* Events are in the ring. ntm_mutex is held, and may be released meanwhile. */
static void tm_events(struct m0_net_transfer_mc *tm)
{
    struct nlx_xo_transfer_mc *tp = tm->ntm_xprt_private;
    struct m0_chan *chan = tp->xtm_ev_chan;

    if (chan != NULL) {
        tp->xtm_ev_chan = NULL;
        if (chan->ch_guard == &tm->ntm_mutex) {
            m0_chan_signal(chan);
        } else {
            /* The application may hold that guard and wait for ntm_mutex. */
            tp->xtm_ev_signals = true;
            m0_mutex_unlock(&tm->ntm_mutex);
            m0_chan_signal_lock(chan);
            m0_mutex_lock(&tm->ntm_mutex);
            tp->xtm_ev_signals = false;
            m0_cond_broadcast(&tp->xtm_ev_cond);
        }
    }
    if (tm_delivers_itself(tm))
        nlx_xo_bev_deliver_all(tm);
}

/* Waits for events or until `limit`; ntm_mutex is held and released meanwhile. */
static int tm_wait(struct m0_net_transfer_mc *tm, m0_time_t limit)
{
    struct nlx_xo_domain *dp = tm->ntm_dom->nd_xprt_private;
    struct nlx_xo_transfer_mc *tp = tm->ntm_xprt_private;
    bool itself = tm_delivers_itself(tm);
    m0_time_t end = m0_time_from_now(
        itself ? M0_NET_LNET_EVT_SHORT_WAIT_SECS : M0_NET_LNET_EVT_LONG_WAIT_SECS, 0);
    int rc;

    if (end > limit)
        end = limit;
    if (!itself && tp->xtm_ev_chan == NULL) {
        (void)m0_cond_timedwait(&tp->xtm_ev_cond, end);
        return -ETIMEDOUT;
    }
    m0_mutex_unlock(&tm->ntm_mutex);
    rc = nlx_xo_iv._nlx_core_buf_event_wait(&dp->xd_core, &tp->xtm_core, end);
    m0_mutex_lock(&tm->ntm_mutex);
    return rc;
}

/*
 * The core has gone, as when its daemon ended: `rc` ends everything that is queued. ntm_mutex is
 * held, and is released meanwhile.
 */
static void tm_lost(struct m0_net_transfer_mc *tm, int rc)
{
    struct nlx_xo_transfer_mc *tp = tm->ntm_xprt_private;
    struct m0_net_tm_event error = {
        .nte_type = M0_NET_TEV_ERROR, .nte_tm = tm, .nte_time = m0_time_now(), .nte_status = rc};
    struct m0_net_buffer *nb;
    int qt;

    tp->xtm_lost = rc;
    m0_mutex_unlock(&tm->ntm_mutex);
    m0_net_tm_event_post(&error);
    m0_mutex_lock(&tm->ntm_mutex);
    for (qt = 0; qt < M0_NET_QT_NR; qt++) {
        while ((nb = m0_net_tm_tlist_head(&tm->ntm_q[qt])) != NULL) {
            struct nlx_xo_buffer *bp = nb->nb_xprt_private;
            struct m0_net_buffer_event event = {
                .nbe_buffer = nb, .nbe_time = m0_time_now(), .nbe_status = rc};

            nb->nb_flags &= ~(uint64_t)(M0_NET_BUF_TIMED_OUT | M0_NET_BUF_CANCELLED);
            nlx_core_bevq_release(&tp->xtm_core, bp->xb_core.cb_max_operations);
            tm->ntm_callback_counter++;
            m0_mutex_unlock(&tm->ntm_mutex);
            m0_net_buffer_event_post(&event);
            m0_mutex_lock(&tm->ntm_mutex);
            tm->ntm_callback_counter--;
        }
    }
}

/* Until the machine stops, or the core is lost (a negative code). ntm_mutex is held. */
static int tm_work(struct m0_net_transfer_mc *tm)
{
    m0_time_t tick = nlx_xo_iv._nlx_tm_get_buffer_timeout_tick(tm);
    m0_time_t sweep = m0_time_add(m0_time_now(), tick);

    for (;;) {
        int rc;

        if (tm->ntm_state == M0_NET_TM_STOPPING && tm->ntm_callback_counter == 0 &&
            tm_queues_empty(tm))
            return 0;
        rc = tm_wait(tm, sweep);
        if (rc == 0)
            tm_events(tm);
        else if (rc != -ETIMEDOUT && rc != -EINTR)
            return rc;
        if (m0_time_now() >= sweep) {
            nlx_xo_iv._nlx_tm_timeout_buffers(tm, m0_time_now());
            sweep = m0_time_add(m0_time_now(), tick);
        }
    }
}

static void nlx_tm_ev_worker(struct m0_net_transfer_mc *tm)
{
    struct nlx_xo_domain *dp = tm->ntm_dom->nd_xprt_private;
    struct nlx_xo_transfer_mc *tp = tm->ntm_xprt_private;
    enum m0_net_tm_state last = M0_NET_TM_STOPPED;
    struct m0_net_end_point *ep = NULL;
    int rc = 0;

    m0_mutex_lock(&tm->ntm_mutex);
    if (tm->ntm_state == M0_NET_TM_STARTING) {
        rc = tm_start_core(tm, &ep);
        m0_mutex_unlock(&tm->ntm_mutex);
        if (rc == 0)
            tm_post_state(tm, M0_NET_TM_STARTED, 0, ep);
        m0_mutex_lock(&tm->ntm_mutex);
        if (rc == 0)
            rc = tm_work(tm);
        if (rc != 0 && tp->xtm_core_started)
            tm_lost(tm, rc);
        if (rc != 0 && tm->ntm_state != M0_NET_TM_STOPPING)
            last = M0_NET_TM_FAILED;
    }
    if (tp->xtm_core_started) {
        nlx_core_tm_stop(&dp->xd_core, &tp->xtm_core);
        tp->xtm_core_started = false;
    }
    if (ep != NULL && tm->ntm_ep != ep)
        m0_ref_put(&ep->nep_ref); /* a stop came before the machine was reported as started */
    m0_mutex_unlock(&tm->ntm_mutex);
    tm_post_state(tm, last, last == M0_NET_TM_FAILED ? rc : 0, NULL);
}
