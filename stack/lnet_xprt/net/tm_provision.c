/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Receive queues that are filled from pools. A pool that is no longer empty wakes a thread of the
 * domain, as it does so with its lock held, on the stack of whoever put a buffer.
 */
#include "lib/errno.h"
#include "lib/memory.h"
#include "net/net_internal.h"

/* ---- one machine ----------------------------------------------------------------------------- */

static void try_again(struct m0_net_domain *dom);

/* With the pool's lock and ntm_mutex. What is missing is stored before the pool can get a buffer,
 * which is announced once. */
static void provision(struct m0_net_transfer_mc *tm, struct m0_net_buffer_pool *pool)
{
    struct m0_tl *queue = &tm->ntm_q[M0_NET_QT_MSG_RECV];
    int64_t missing, before = m0_atomic64_get(&tm->ntm_recv_queue_deficit);
    struct m0_net_buffer *buf;

    if (tm->ntm_state != M0_NET_TM_STARTED)
        return;
    missing = (int64_t)tm->ntm_recv_queue_min_length - (int64_t)m0_net_tm_tlist_length(queue);
    for (; missing > 0; missing--) {
        buf = m0_net_buffer_pool_get(pool, tm->ntm_pool_colour);
        if (buf == NULL)
            break;
        buf->nb_qtype = M0_NET_QT_MSG_RECV;
        buf->nb_callbacks = tm->ntm_recv_pool_callbacks;
        buf->nb_min_receive_size = tm->ntm_recv_queue_min_recv_size;
        buf->nb_max_receive_msgs = tm->ntm_recv_queue_max_recv_msgs;
        buf->nb_ep = NULL;
        if (m0_net__buffer_add(buf, tm) != 0) {
            m0_net__buffer_pool_put(pool, buf, tm->ntm_pool_colour, false);
            try_again(tm->ntm_dom);
            break;
        }
    }
    if (missing < 0)
        missing = 0;
    m0_atomic64_set(&tm->ntm_recv_queue_deficit, missing);
    if (missing > before)
        tm->ntm_qstats[M0_NET_QT_MSG_RECV].nqs_num_f_events += (uint64_t)(missing - before);
}

void m0_net__tm_provision_recv_q(struct m0_net_transfer_mc *tm)
{
    struct m0_net_buffer_pool *pool = tm->ntm_recv_pool;
    bool locked = m0_net_buffer_pool_is_locked(pool); /* the caller may have it */

    if (!locked)
        m0_net_buffer_pool_lock(pool);
    m0_mutex_lock(&tm->ntm_mutex);
    provision(tm, pool);
    m0_mutex_unlock(&tm->ntm_mutex);
    if (!locked)
        m0_net_buffer_pool_unlock(pool);
}

int m0_net_tm_pool_attach(struct m0_net_transfer_mc *tm, struct m0_net_buffer_pool *bufpool,
                          const struct m0_net_buffer_callbacks *callbacks,
                          m0_bcount_t min_recv_size, uint32_t max_recv_msgs,
                          uint32_t min_recv_queue_len)
{
    int rc;

    M0_PRE(bufpool != NULL && callbacks != NULL);
    M0_PRE(callbacks->nbc_cb[M0_NET_QT_MSG_RECV] != NULL);
    M0_PRE(min_recv_size > 0 && max_recv_msgs > 0);
    rc = m0_net__provisioner_start(tm->ntm_dom);
    if (rc != 0)
        return rc;
    m0_mutex_lock(&tm->ntm_mutex);
    M0_PRE(m0_net__tm_invariant(tm));
    M0_PRE(tm->ntm_state == M0_NET_TM_INITIALIZED);
    if (bufpool->nbp_ndom == tm->ntm_dom) {
        tm->ntm_recv_pool = bufpool;
        tm->ntm_recv_pool_callbacks = callbacks;
        tm->ntm_recv_queue_min_recv_size = min_recv_size;
        tm->ntm_recv_queue_max_recv_msgs = max_recv_msgs;
        tm->ntm_recv_queue_min_length =
            min_recv_queue_len > 0 ? min_recv_queue_len : M0_NET_TM_RECV_QUEUE_DEF_LEN;
    } else {
        rc = -EINVAL;
    }
    m0_mutex_unlock(&tm->ntm_mutex);
    return rc;
}

void m0_net_tm_pool_length_set(struct m0_net_transfer_mc *tm, uint32_t len)
{
    bool started;

    M0_PRE(len >= 1);
    m0_mutex_lock(&tm->ntm_mutex);
    M0_PRE(m0_net__tm_invariant(tm));
    M0_PRE(M0_IN(tm->ntm_state, (M0_NET_TM_INITIALIZED, M0_NET_TM_STARTING, M0_NET_TM_STARTED)));
    tm->ntm_recv_queue_min_length = len;
    started = tm->ntm_state == M0_NET_TM_STARTED && tm->ntm_recv_pool != NULL;
    if (started)
        m0_net__tm_callback_begin(tm);
    m0_mutex_unlock(&tm->ntm_mutex);
    if (!started)
        return;
    m0_net__tm_provision_recv_q(tm);
    m0_mutex_lock(&tm->ntm_mutex);
    m0_net__tm_post_callback(tm);
    m0_mutex_unlock(&tm->ntm_mutex);
}

/* ---- the machines of a domain ---------------------------------------------------------------- */

/* Machines that miss buffers, `turn` places round, each with a callback begun; NULL: none. */
static struct m0_net_transfer_mc **machines_with_deficit(struct m0_net_domain *dom, size_t turn,
                                                         size_t *count)
{
    struct m0_net_transfer_mc *tm, **all;
    size_t machines = m0_list_length(&dom->nd_tms), at = 0;

    *count = 0;
    M0_ALLOC_ARR(all, machines + 1);
    if (all == NULL)
        return NULL;
    m0_list_for_each_entry(&dom->nd_tms, tm, struct m0_net_transfer_mc, ntm_dom_linkage)
        all[(at++ + turn) % machines] = tm;
    for (at = 0; at < machines; at++) {
        tm = all[at];
        if (tm->ntm_recv_pool == NULL || m0_atomic64_get(&tm->ntm_recv_queue_deficit) == 0)
            continue;
        m0_mutex_lock(&tm->ntm_mutex);
        if (tm->ntm_state == M0_NET_TM_STARTED) {
            m0_net__tm_callback_begin(tm);
            all[(*count)++] = tm;
        }
        m0_mutex_unlock(&tm->ntm_mutex);
    }
    return all;
}

static void provision_all(struct m0_net_domain *dom, size_t turn)
{
    struct m0_net_transfer_mc **all;
    size_t count, i;

    m0_mutex_lock(&dom->nd_mutex);
    all = machines_with_deficit(dom, turn, &count);
    m0_mutex_unlock(&dom->nd_mutex);
    for (i = 0; i < count; i++) {
        m0_net__tm_provision_recv_q(all[i]);
        m0_mutex_lock(&all[i]->ntm_mutex);
        m0_net__tm_post_callback(all[i]);
        m0_mutex_unlock(&all[i]->ntm_mutex);
    }
    m0_free(all);
}

struct provisioner {
    struct m0_list_link link;
    struct m0_net_domain *dom;
    struct m0_thread thread;
    struct m0_semaphore wake;
    bool stop;
    bool works; /* it provisions now, and looks at `again` when it is done */
    bool again; /* a buffer could not be added */
};

static void provisioner_main(struct provisioner *self)
{
    size_t turn = 0;

    for (;;) {
        /* Nobody wakes the thread when whatever was lacking is there again. */
        if (__atomic_exchange_n(&self->again, false, __ATOMIC_SEQ_CST))
            m0_semaphore_timeddown(&self->wake, m0_time_from_now(1, 0));
        else
            m0_semaphore_down(&self->wake);
        while (m0_semaphore_trydown(&self->wake)) {
        }
        if (__atomic_load_n(&self->stop, __ATOMIC_ACQUIRE))
            return;
        __atomic_store_n(&self->works, true, __ATOMIC_SEQ_CST);
        provision_all(self->dom, turn++);
        __atomic_store_n(&self->works, false, __ATOMIC_SEQ_CST);
    }
}

static struct provisioner *find(struct m0_net_root *root, const struct m0_net_domain *dom)
{
    struct provisioner *it;

    m0_list_for_each_entry(&root->nr_provisioners, it, struct provisioner,
                           link) if (it->dom == dom) return it;
    return NULL;
}

static void try_again(struct m0_net_domain *dom)
{
    struct m0_net_root *root = m0_net_root();
    struct provisioner *self;

    m0_mutex_lock(&root->nr_leaf);
    self = find(root, dom);
    if (self != NULL && !__atomic_exchange_n(&self->again, true, __ATOMIC_SEQ_CST) &&
        !__atomic_load_n(&self->works, __ATOMIC_SEQ_CST))
        m0_semaphore_up(&self->wake);
    m0_mutex_unlock(&root->nr_leaf);
}

int m0_net__provisioner_start(struct m0_net_domain *dom)
{
    struct m0_net_root *root = m0_net_root();
    struct provisioner *self;
    int rc = 0;

    m0_mutex_lock(&root->nr_mutex);
    m0_mutex_lock(&root->nr_leaf);
    self = find(root, dom);
    m0_mutex_unlock(&root->nr_leaf);
    if (self != NULL)
        goto out;
    M0_ALLOC_PTR(self);
    rc = self == NULL ? -ENOMEM : 0;
    if (rc != 0)
        goto out;
    self->dom = dom;
    m0_list_link_init(&self->link);
    m0_semaphore_init(&self->wake, 0);
    rc = M0_THREAD_INIT(&self->thread, struct provisioner *, NULL, provisioner_main, self,
                        "m0_provision");
    if (rc != 0) {
        m0_free(self);
        goto out;
    }
    m0_mutex_lock(&root->nr_leaf);
    m0_list_add_tail(&root->nr_provisioners, &self->link);
    m0_mutex_unlock(&root->nr_leaf);
out:
    m0_mutex_unlock(&root->nr_mutex);
    return rc;
}

void m0_net__provisioner_stop(struct m0_net_domain *dom)
{
    struct m0_net_root *root = m0_net_root();
    struct provisioner *self;

    m0_mutex_lock(&root->nr_leaf);
    self = find(root, dom);
    if (self != NULL)
        m0_list_del(&self->link);
    m0_mutex_unlock(&root->nr_leaf);
    if (self == NULL)
        return;
    __atomic_store_n(&self->stop, true, __ATOMIC_RELEASE);
    m0_semaphore_up(&self->wake);
    m0_thread_join(&self->thread);
    m0_thread_fini(&self->thread);
    m0_semaphore_fini(&self->wake);
    m0_free(self);
}

void m0_net_domain_buffer_pool_not_empty(struct m0_net_buffer_pool *pool)
{
    struct m0_net_root *root = m0_net_root();
    struct provisioner *self;

    M0_PRE(m0_net_buffer_pool_is_locked(pool));
#ifdef M0_NET_PROV_INLINE
    (void)root, (void)self;
    provision_all(pool->nbp_ndom, 0);
#else
    m0_mutex_lock(&root->nr_leaf);
    self = find(root, pool->nbp_ndom);
    if (self != NULL)
        m0_semaphore_up(&self->wake);
    m0_mutex_unlock(&root->nr_leaf);
#endif
}
