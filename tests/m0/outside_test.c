/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Code as the storage system's own sources are written: a transport that is not ours, under the
 * layer with its switches for older applications, in suites of ut/ut.h, with the names, include
 * lines and ways to wait that these sources use. Its events come from threads that it starts for
 * each of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lib/types.h"
#include "lib/arith.h"
#include "lib/assert.h"
#include "lib/errno.h"
#include "lib/finject.h"
#include "lib/memory.h"
#include "lib/misc.h"
#include "lib/mutex.h"
#include "lib/string.h"
#include "lib/thread.h"
#include "lib/time.h"
#include "lib/trace.h"
#include "lib/vec.h"
#include "addb2/addb2.h"
#include "motr/magic.h"
#include "net/buffer_pool.h"
#include "net/bulk_mem.h"
#include "net/net.h"
#include "net/net_internal.h"
#include "net/net_otw_types.h"
#include "sm/sm.h"
#include "ut/ut.h"
#include "xcode/xcode_attr.h"

M0_BASSERT(M0_NET_QT_NR == 6);

enum { BUFFER = 8192, SEGMENT = 2048, SEGMENTS = 4, DESCRIPTOR = 32, COLOURS = 5, POOL = 8 };

/* ---- the transport --------------------------------------------------------------------------- */

struct outside_ep {
    struct m0_net_end_point oe_ep;
    char *oe_addr;
};

static struct m0_net_end_point *released;
static struct m0_thread machine_thread, buffer_thread;
static struct m0_net_tm_event machine_event;

static m0_bcount_t buffer_size(const struct m0_net_domain *dom)
{
    return BUFFER;
}
static m0_bcount_t segment_size(const struct m0_net_domain *dom)
{
    return SEGMENT;
}
static int32_t segments(const struct m0_net_domain *dom)
{
    return SEGMENTS;
}
static m0_bcount_t desc_size(const struct m0_net_domain *dom)
{
    return DESCRIPTOR;
}

static int dom_init(const struct m0_net_xprt *xprt, struct m0_net_domain *dom)
{
    M0_ENTRY("domain %p", dom);
    M0_UT_ASSERT(m0_mutex_is_locked(&m0_net_mutex));
    M0_UT_ASSERT(m0_mutex_is_not_locked(&dom->nd_mutex));
    dom->nd_xprt_private = &released;
    return M0_RC(0);
}
static void dom_fini(struct m0_net_domain *dom)
{
    M0_UT_ASSERT(m0_mutex_is_locked(&m0_net_mutex));
}

static void ep_release(struct m0_ref *ref)
{
    struct m0_net_end_point *ep = container_of(ref, struct m0_net_end_point, nep_ref);
    struct outside_ep *own = container_of(ep, struct outside_ep, oe_ep);

    M0_UT_ASSERT(m0_mutex_is_locked(&ep->nep_tm->ntm_mutex));
    m0_nep_tlist_del(ep);
    released = ep;
    m0_free(own->oe_addr);
    m0_free(own);
}

static int ep_create(struct m0_net_end_point **epp, struct m0_net_transfer_mc *tm, const char *addr)
{
    struct m0_net_end_point *ep;
    struct outside_ep *own;

    M0_UT_ASSERT(m0_mutex_is_locked(&tm->ntm_mutex));
    if (addr == NULL)
        return M0_ERR(-ENOSYS);
    ep = m0_tl_find(m0_nep, scan, &tm->ntm_end_points, m0_streq(scan->nep_addr, addr));
    if (ep != NULL) {
        M0_UT_ASSERT(m0_net__ep_invariant(ep, tm, true));
        m0_ref_get(&ep->nep_ref);
        *epp = ep;
        return 0;
    }
    M0_ALLOC_PTR(own);
    M0_UT_ASSERT(own != NULL);
    own->oe_addr = m0_strdup(addr);
    ep = &own->oe_ep;
    ep->nep_addr = own->oe_addr;
    ep->nep_tm = tm;
    m0_ref_init(&ep->nep_ref, 1, ep_release);
    m0_nep_tlink_init_at_tail(ep, &tm->ntm_end_points);
    *epp = ep;
    return 0;
}

static void machine_poster(int next)
{
    machine_event.nte_type = M0_NET_TEV_STATE_CHANGE;
    machine_event.nte_next_state = next;
    machine_event.nte_time = m0_time_now();
    m0_net_tm_event_post(&machine_event);
}
static int machine_post(struct m0_net_transfer_mc *tm, struct m0_net_end_point *ep, int next)
{
    M0_UT_ASSERT(m0_mutex_is_locked(&tm->ntm_mutex));
    M0_SET0(&machine_thread);
    M0_SET0(&machine_event);
    machine_event.nte_tm = tm;
    machine_event.nte_ep = ep;
    return M0_THREAD_INIT(&machine_thread, int, NULL, &machine_poster, next, "state%d", next);
}

static int tm_init(struct m0_net_transfer_mc *tm)
{
    M0_UT_ASSERT(m0_mutex_is_locked(&tm->ntm_dom->nd_mutex));
    return 0;
}
static void tm_fini(struct m0_net_transfer_mc *tm)
{
    M0_UT_ASSERT(m0_mutex_is_locked(&tm->ntm_dom->nd_mutex));
}
static const struct m0_bitmap *confined_to;
static int tm_confine(struct m0_net_transfer_mc *tm, const struct m0_bitmap *processors)
{
    confined_to = processors;
    return 0;
}
static int tm_start(struct m0_net_transfer_mc *tm, const char *addr)
{
    struct m0_net_end_point *ep;
    int rc = tm->ntm_dom->nd_xprt->nx_ops->xo_end_point_create(&ep, tm, addr);

    return rc ?: machine_post(tm, ep, M0_NET_TM_STARTED);
}

static int buf_register(struct m0_net_buffer *nb)
{
    M0_UT_ASSERT(m0_mutex_is_locked(&nb->nb_dom->nd_mutex));
    return 0;
}
static void buf_deregister(struct m0_net_buffer *nb)
{
    M0_UT_ASSERT(m0_mutex_is_locked(&nb->nb_dom->nd_mutex));
}

static void make_desc(struct m0_net_buf_desc *desc)
{
    desc->nbd_len = sizeof("where it is");
    desc->nbd_data = m0_alloc(desc->nbd_len);
    strcpy((char *)desc->nbd_data, "where it is");
}
static int buf_add(struct m0_net_buffer *nb)
{
    M0_UT_ASSERT(m0_mutex_is_locked(&nb->nb_tm->ntm_mutex));
    M0_UT_ASSERT((nb->nb_flags & M0_NET_BUF_QUEUED) && !(nb->nb_flags & M0_NET_BUF_IN_USE));
    if (M0_IN(nb->nb_qtype, (M0_NET_QT_PASSIVE_BULK_RECV, M0_NET_QT_PASSIVE_BULK_SEND)))
        make_desc(&nb->nb_desc);
    return 0;
}

static void buffer_poster(struct m0_net_buffer *nb)
{
    struct m0_net_buffer_event ev = {
        .nbe_buffer = nb,
        .nbe_status = nb->nb_flags & M0_NET_BUF_CANCELLED ? -ECANCELED : 0,
        .nbe_time = m0_time_now(),
    };

    m0_net_buffer_event_post(&ev);
}
static void buf_del(struct m0_net_buffer *nb)
{
    int rc;

    M0_UT_ASSERT(m0_mutex_is_locked(&nb->nb_tm->ntm_mutex));
    if (!(nb->nb_flags & M0_NET_BUF_IN_USE))
        nb->nb_flags |= M0_NET_BUF_CANCELLED;
    M0_SET0(&buffer_thread);
    rc = M0_THREAD_INIT(&buffer_thread, struct m0_net_buffer *, NULL, &buffer_poster, nb, "del");
    M0_UT_ASSERT(rc == 0);
}

/* Takes the buffers out of the receive queue one by one, with the machine unlocked meanwhile. */
static int tm_stop(struct m0_net_transfer_mc *tm, bool cancel)
{
    struct m0_net_buffer *nb;
    struct m0_clink wait;

    M0_UT_ASSERT(m0_mutex_is_locked(&tm->ntm_mutex));
    m0_clink_init(&wait, NULL);
    m0_tl_for(m0_net_tm, &tm->ntm_q[M0_NET_QT_MSG_RECV], nb)
    {
        m0_clink_add(&tm->ntm_chan, &wait);
        m0_mutex_unlock(&tm->ntm_mutex);
        M0_UT_ASSERT(m0_net_buffer_del(nb, tm));
        m0_chan_wait(&wait);
        m0_mutex_lock(&tm->ntm_mutex);
        m0_clink_del(&wait);
        M0_UT_ASSERT(m0_thread_join(&buffer_thread) == 0);
    }
    m0_tl_endfor;
    m0_clink_fini(&wait);
    return machine_post(tm, NULL, M0_NET_TM_STOPPED);
}

static bool synchronous, asked;
static int bev_deliver_sync(struct m0_net_transfer_mc *tm)
{
    synchronous = true;
    return 0;
}
static void bev_deliver_all(struct m0_net_transfer_mc *tm)
{
    asked = false;
}
static bool bev_pending(struct m0_net_transfer_mc *tm)
{
    return asked;
}
static void bev_notify(struct m0_net_transfer_mc *tm, struct m0_chan *chan)
{
    M0_UT_ASSERT(chan == &tm->ntm_chan);
    asked = true;
}

static struct m0_net_xprt_ops outside_ops = {
    .xo_dom_init = dom_init,
    .xo_dom_fini = dom_fini,
    .xo_get_max_buffer_size = buffer_size,
    .xo_get_max_buffer_segment_size = segment_size,
    .xo_get_max_buffer_segments = segments,
    .xo_get_max_buffer_desc_size = desc_size,
    .xo_end_point_create = ep_create,
    .xo_buf_register = buf_register,
    .xo_buf_deregister = buf_deregister,
    .xo_buf_add = buf_add,
    .xo_buf_del = buf_del,
    .xo_tm_init = tm_init,
    .xo_tm_fini = tm_fini,
    .xo_tm_start = tm_start,
    .xo_tm_stop = tm_stop,
    .xo_bev_deliver_all = bev_deliver_all,
    .xo_bev_pending = bev_pending,
    .xo_bev_notify = bev_notify,
    /* xo_tm_confine and xo_bev_deliver_sync come later */
};
static struct m0_net_xprt outside_xprt = {.nx_name = "outside", .nx_ops = &outside_ops};

/* ---- an application -------------------------------------------------------------------------- */

static struct m0_net_domain dom;
static int states, ended[M0_NET_QT_NR];
static bool expect_queued;

static void tm_event(const struct m0_net_tm_event *ev)
{
    if (ev->nte_tm->ntm_state == M0_NET_TM_STARTED)
        M0_UT_ASSERT(m0_net_tm_tlist_is_empty(&ev->nte_tm->ntm_q[M0_NET_QT_MSG_RECV]));
    M0_CNT_INC(states);
}
static void buffer_event(const struct m0_net_buffer_event *ev)
{
    struct m0_net_buffer *nb = ev->nbe_buffer;

    M0_UT_ASSERT(equi(nb->nb_flags & M0_NET_BUF_QUEUED, expect_queued));
    ended[nb->nb_qtype]++;
}
static void pool_event(const struct m0_net_buffer_event *ev)
{
    struct m0_net_buffer *nb = ev->nbe_buffer;

    m0_net_buffer_pool_lock(nb->nb_pool);
    if (nb->nb_tm->ntm_state == M0_NET_TM_STARTED && nb->nb_pool->nbp_free > 0)
        M0_UT_ASSERT(m0_atomic64_get(&nb->nb_tm->ntm_recv_queue_deficit) == 0);
    if (!(nb->nb_flags & M0_NET_BUF_QUEUED))
        m0_net_buffer_pool_put(nb->nb_pool, nb, nb->nb_tm->ntm_pool_colour);
    m0_net_buffer_pool_unlock(nb->nb_pool);
}
static const struct m0_net_tm_callbacks tm_cbs = {.ntc_event_cb = tm_event};
static const struct m0_net_buffer_callbacks buffer_cbs = {
    .nbc_cb = {
        [M0_NET_QT_MSG_RECV] = buffer_event,
        [M0_NET_QT_MSG_SEND] = buffer_event,
        [M0_NET_QT_PASSIVE_BULK_RECV] = buffer_event,
        [M0_NET_QT_PASSIVE_BULK_SEND] = buffer_event,
        [M0_NET_QT_ACTIVE_BULK_RECV] = buffer_event,
        [M0_NET_QT_ACTIVE_BULK_SEND] = buffer_event,
    }};
static const struct m0_net_buffer_callbacks pool_cbs = {
    .nbc_cb = {[M0_NET_QT_MSG_RECV] = pool_event}};

/* Waits on the channel for one callback, and until the thread that brought it has ended. */
static void machine_wait(struct m0_net_transfer_mc *tm, struct m0_clink *link)
{
    m0_chan_wait(link);
    m0_clink_del_lock(link);
    M0_UT_ASSERT(m0_thread_join(&machine_thread) == 0);
    m0_thread_fini(&machine_thread);
}
static void machine_up(struct m0_net_transfer_mc *tm, const char *addr)
{
    struct m0_clink link;

    m0_clink_init(&link, NULL);
    m0_clink_add_lock(&tm->ntm_chan, &link);
    M0_UT_ASSERT(m0_net_tm_start(tm, addr) == 0);
    machine_wait(tm, &link);
    M0_UT_ASSERT(tm->ntm_state == M0_NET_TM_STARTED);
    m0_clink_fini(&link);
}
static void machine_down(struct m0_net_transfer_mc *tm)
{
    struct m0_clink link;

    m0_clink_init(&link, NULL);
    m0_clink_add_lock(&tm->ntm_chan, &link);
    M0_UT_ASSERT(m0_net_tm_stop(tm, false) == 0);
    m0_chan_wait(&link);
    while (tm->ntm_state != M0_NET_TM_STOPPED) /* of the buffers that the stop took out */
        m0_chan_wait(&link);
    m0_clink_del_lock(&link);
    M0_UT_ASSERT(m0_thread_join(&machine_thread) == 0);
    m0_thread_fini(&machine_thread);
    m0_clink_fini(&link);
    m0_net_tm_fini(tm);
    M0_UT_ASSERT(tm->ntm_state == M0_NET_TM_UNDEFINED);
}

static void queue_of_each_kind(void)
{
    static struct m0_net_transfer_mc tm = {.ntm_callbacks = &tm_cbs,
                                           .ntm_state = M0_NET_TM_UNDEFINED};
    struct m0_bitmap *processors = (void *)-1; /* the layer only passes it on */
    struct m0_net_buffer *nbs, *nb;
    struct m0_net_end_point *ep;
    struct m0_net_qstats qs[M0_NET_QT_NR];
    int round, i;

    M0_ALLOC_ARR(nbs, M0_NET_QT_NR);
    for (i = 0; i < M0_NET_QT_NR; ++i) {
        M0_UT_ASSERT(m0_bufvec_alloc(&nbs[i].nb_buffer, SEGMENTS, SEGMENT) == 0);
        M0_UT_ASSERT(m0_net_buffer_register(&nbs[i], &dom) == 0);
        M0_UT_ASSERT(nbs[i].nb_timeout == M0_TIME_NEVER);
    }
    M0_UT_ASSERT(m0_net_tm_init(&tm, &dom) == 0);
    M0_UT_ASSERT(m0_list_contains(&dom.nd_tms, &tm.ntm_dom_linkage));
    M0_UT_ASSERT(m0_net_tm_confine(&tm, processors) == -ENOSYS);
    outside_ops.xo_tm_confine = tm_confine;
    M0_UT_ASSERT(m0_net_tm_confine(&tm, processors) == 0 && confined_to == processors);
    M0_UT_ASSERT(m0_net_buffer_event_deliver_synchronously(&tm) == -ENOSYS);
    M0_UT_ASSERT(tm.ntm_bev_auto_deliver);
    machine_up(&tm, "addr1");

    M0_UT_ASSERT(m0_net_end_point_create(&ep, &tm, NULL) == -ENOSYS);
    M0_UT_ASSERT(m0_nep_tlist_length(&tm.ntm_end_points) == 1);
    M0_UT_ASSERT(m0_net_end_point_create(&ep, &tm, "addr1") == 0 && ep == tm.ntm_ep);
    M0_UT_ASSERT(m0_atomic64_get(&ep->nep_ref.ref_cnt) == 2);

    for (i = 0; i < M0_NET_QT_NR; ++i) {
        nb = &nbs[i];
        nb->nb_qtype = i;
        nb->nb_callbacks = &buffer_cbs;
        nb->nb_min_receive_size = BUFFER;
        nb->nb_max_receive_msgs = 2;
        nb->nb_msgs_received = 999;
        nb->nb_length = BUFFER;
        nb->nb_ep = ep; /* bulk has one, too, in older sources */
        if (i == M0_NET_QT_MSG_RECV)
            nb->nb_ep = NULL;
        if (M0_IN(i, (M0_NET_QT_ACTIVE_BULK_RECV, M0_NET_QT_ACTIVE_BULK_SEND)))
            make_desc(&nb->nb_desc);
        nb->nb_timeout = m0_time_sub(m0_time_now(), M0_TIME_ONE_MSEC);
        M0_UT_ASSERT(m0_net_buffer_add(nb, &tm) == -ETIME);
        nb->nb_timeout = m0_time_from_now(120, 0);
        M0_UT_ASSERT(m0_net_buffer_add(nb, &tm) == 0);
        M0_UT_ASSERT(nb->nb_tm == &tm && nb->nb_msgs_received == 0);
    }
    /* A transport may retain a buffer of any queue. */
    for (round = 0; round < 2; ++round)
        for (i = 0; i < M0_NET_QT_NR; ++i) {
            struct m0_net_buffer_event ev = {
                .nbe_buffer = &nbs[i], .nbe_time = m0_time_now(), .nbe_length = BUFFER};
            bool retain = round == 0;

            nb = &nbs[i];
            nb->nb_flags |= M0_NET_BUF_IN_USE | (retain ? M0_NET_BUF_RETAIN : 0);
            if (i == M0_NET_QT_MSG_RECV)
                m0_net_end_point_get(ev.nbe_ep = ep);
            if (i == M0_NET_QT_MSG_SEND && retain)
                m0_net_end_point_get(ep);
            expect_queued = retain;
            m0_net_buffer_event_post(&ev);
            M0_UT_ASSERT(!(nb->nb_flags & M0_NET_BUF_RETAIN));
            M0_UT_ASSERT(equi(nb->nb_flags & M0_NET_BUF_IN_USE, retain));
            M0_UT_ASSERT(equi(nb->nb_timeout == M0_TIME_NEVER, !retain));
            M0_UT_ASSERT(ended[i] == round + 1);
        }
    M0_UT_ASSERT(m0_net_tm_stats_get(&tm, M0_NET_QT_NR, qs, true) == 0);
    for (i = 0; i < M0_NET_QT_NR; ++i)
        M0_UT_ASSERT(qs[i].nqs_num_adds == 1 && qs[i].nqs_num_s_events == 2 &&
                     qs[i].nqs_total_bytes == 2 * BUFFER && qs[i].nqs_max_bytes == BUFFER);

    m0_net_end_point_put(ep);
    machine_down(&tm);
    M0_UT_ASSERT(released == ep);

    M0_UT_ASSERT(m0_net_tm_init(&tm, &dom) == 0);
    outside_ops.xo_bev_deliver_sync = bev_deliver_sync;
    M0_UT_ASSERT(m0_net_buffer_event_deliver_synchronously(&tm) == 0 && synchronous);
    machine_up(&tm, "addr2");
    M0_UT_ASSERT(!m0_net_buffer_event_pending(&tm));
    m0_net_buffer_event_notify(&tm, &tm.ntm_chan);
    M0_UT_ASSERT(m0_net_buffer_event_pending(&tm));
    m0_net_buffer_event_deliver_all(&tm);
    M0_UT_ASSERT(!m0_net_buffer_event_pending(&tm));
    machine_down(&tm);

    for (i = 0; i < M0_NET_QT_NR; ++i) {
        m0_net_desc_free(&nbs[i].nb_desc);
        m0_net_buffer_deregister(&nbs[i], &dom);
        m0_bufvec_free(&nbs[i].nb_buffer);
    }
    m0_free(nbs);
}

static bool not_empty_called;
static void not_empty(struct m0_net_buffer_pool *pool)
{
    m0_net_domain_buffer_pool_not_empty(pool);
    not_empty_called = true;
}
static void low(struct m0_net_buffer_pool *pool)
{
}
static const struct m0_net_buffer_pool_ops pool_ops = {.nbpo_not_empty = not_empty,
                                                       .nbpo_below_threshold = low};

static size_t receiving(struct m0_net_transfer_mc *tm)
{
    return m0_net_tm_tlist_length(&tm->ntm_q[M0_NET_QT_MSG_RECV]);
}

static void receive_queues_of_a_pool(void)
{
    static struct m0_net_transfer_mc one = {.ntm_callbacks = &tm_cbs},
                                     two = {.ntm_callbacks = &tm_cbs};
    struct m0_net_buffer_pool *pool;
    struct m0_net_buffer *nb;
    struct m0_clink link;

    states = 0;
    M0_ALLOC_PTR(pool);
    pool->nbp_ops = &pool_ops;
    M0_UT_ASSERT(m0_net_buffer_pool_init(pool, &dom, M0_NET_BUFFER_POOL_THRESHOLD, SEGMENTS,
                                         SEGMENT, COLOURS, 12, false) == 0);
    m0_net_buffer_pool_lock(pool);
    M0_UT_ASSERT(m0_net_buffer_pool_provision(pool, POOL) == POOL);
    m0_net_buffer_pool_unlock(pool);

    M0_UT_ASSERT(m0_net_tm_init(&one, &dom) == 0 && m0_net_tm_init(&two, &dom) == 0);
    m0_net_tm_colour_set(&one, 1);
    m0_net_tm_colour_set(&two, 2);
    M0_UT_ASSERT(m0_net_tm_colour_get(&two) == 2);
    M0_UT_ASSERT(
        m0_net_tm_pool_attach(&one, pool, &pool_cbs, 4096, 1, M0_NET_TM_RECV_QUEUE_DEF_LEN) == 0);
    M0_UT_ASSERT(
        m0_net_tm_pool_attach(&two, pool, &pool_cbs, 4096, 2, M0_NET_TM_RECV_QUEUE_DEF_LEN) == 0);
    machine_up(&one, "one"); /* the queue is filled before the channel tells */
    M0_UT_ASSERT(receiving(&one) == 2 && pool->nbp_free == POOL - 2 && states == 1);
    m0_net_tm_pool_length_set(&one, 10);
    M0_UT_ASSERT(receiving(&one) == POOL && pool->nbp_free == 0);
    M0_UT_ASSERT(m0_atomic64_get(&one.ntm_recv_queue_deficit) == 2);
    machine_up(&two, "two");
    M0_UT_ASSERT(receiving(&two) == 0 && m0_atomic64_get(&two.ntm_recv_queue_deficit) == 2);

    m0_net_buffer_pool_lock(pool);
    M0_UT_ASSERT(m0_net_buffer_pool_provision(pool, 6) == 6);
    m0_net_buffer_pool_unlock(pool);
    M0_UT_ASSERT(not_empty_called);
    M0_UT_ASSERT(m0_atomic64_get(&one.ntm_recv_queue_deficit) == 0);
    M0_UT_ASSERT(receiving(&one) == 10 && receiving(&two) == 2 && pool->nbp_free == 2);

    /* The buffer that leaves is replaced before its callback, which gives it its colour. The length
     * of a colour's list is asked for by the functions of the queues. */
    nb = m0_net_tm_tlist_head(&one.ntm_q[M0_NET_QT_MSG_RECV]);
    m0_clink_init(&link, NULL);
    m0_clink_add_lock(&one.ntm_chan, &link);
    M0_UT_ASSERT(m0_net_buffer_del(nb, &one));
    m0_chan_wait(&link);
    m0_clink_del_lock(&link);
    m0_clink_fini(&link);
    M0_UT_ASSERT(m0_thread_join(&buffer_thread) == 0);
    M0_UT_ASSERT(receiving(&one) == 10 && pool->nbp_free == 2);
    M0_UT_ASSERT(m0_net_tm_tlist_length(&pool->nbp_colours[1]) == 1);
    M0_UT_ASSERT(m0_net_tm_tlist_length(&pool->nbp_colours[2]) == 0);
    m0_net_tm_pool_length_set(&one, 11);
    M0_UT_ASSERT(m0_net_tm_tlist_tail(&one.ntm_q[M0_NET_QT_MSG_RECV]) == nb);

    machine_down(&one);
    machine_down(&two);
    M0_UT_ASSERT(pool->nbp_free == pool->nbp_buf_nr && pool->nbp_buf_nr == POOL + 6);
    m0_net_buffer_pool_fini(pool);
    m0_free(pool);
}

/* Helpers that the sources use on the way. */
static void small_things(void)
{
    struct m0_bufvec from, to;
    void *place;

    M0_UT_ASSERT(max64u(1, ~0ULL) == ~0ULL && min64u(1, ~0ULL) == 1 && min32u(3, 2) == 2);
    M0_UT_ASSERT(max64(-1, 1) == 1 && min64(-1, 1) == -1 && clip64u(2, 9, 5) == 5);
    M0_UT_ASSERT(max32(-1, 1) == 1 && min32(-1, 1) == -1 && max32u(3, 2) == 3);
    M0_UT_ASSERT(m0_bufvec_alloc(&from, 3, 5) == 0 && m0_bufvec_alloc(&to, 2, 7) == 0);
    memcpy(from.ov_buf[2], "abcd", 5);
    M0_UT_ASSERT(m0_bufvec_copy(&to, &from, 15) == 14);
    place = (char *)to.ov_buf[1] + 3;
    M0_UT_ASSERT(memeq(place, "abcd", 4));
    m0_bufvec_free(&from);
    m0_bufvec_free(&to);
    M0_UT_ASSERT(m0_net__qtype_is_valid(M0_NET_QT_ACTIVE_BULK_SEND));
    M0_UT_ASSERT(!m0_net__qtype_is_valid(M0_NET_QT_NR));
    M0_UT_ASSERT(m0_mem_xprt_init() == 0 && m0_net_check_xprt(&m0_net_bulk_mem_xprt));
    m0_mem_xprt_fini();
    M0_UT_ASSERT(!m0_net_check_xprt(&m0_net_bulk_mem_xprt));
    M0_ADDB2_ADD(an_identifier_that_nobody_knows, 1, 2);
    M0_ADDB2_IN(an_identifier_that_nobody_knows, m0_nanosleep(m0_time(0, 1), NULL));
    m0_console_printf("%d\n", 1);
}

static int suite_init(void)
{
    return m0_net_init() ?: m0_net_domain_init(&dom, &outside_xprt);
}
static int suite_fini(void)
{
    m0_net_domain_fini(&dom);
    m0_net_fini();
    return 0;
}

static const struct m0_ut_suite suite = {.ts_name = "outside",
                                         .ts_init = suite_init,
                                         .ts_fini = suite_fini,
                                         .ts_tests = {
                                             {"queues", queue_of_each_kind},
                                             {"pool", receive_queues_of_a_pool},
                                             {"small", small_things},
                                             {NULL, NULL},
                                         }};

static void m0_159_sources_of_others_run_unchanged(void **state)
{
    (void)state;
    assert_int_equal(m0_ut_suite_run(&suite), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(m0_159_sources_of_others_run_unchanged)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
