/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The core in the kernel: hosts, domains, transfer machines and operations on LNet. */
#include <errno.h>
#include <string.h>

#include "lib/assert.h"
#include "net/lnet/linux_kernel/klnet_pvt.h"
#include "net/lnet/lnet.h"

/* ---- hosts ----------------------------------------------------------------------------------- */

static struct nlx_kcore_host *(*find_host)(void);

void nlx_kcore_host_set_find(struct nlx_kcore_host *(*find)(void))
{
    find_host = find;
}

struct nlx_kcore_host *nlx_kcore_host_current(void)
{
    static struct nlx_kcore_host only;

    if (find_host != NULL)
        return find_host();
    if (only.kh_tms.next == NULL) /* at the first domain, which m0_net_mutex protects */
        nlx_kcore_host_init(&only, NULL, NULL);
    return &only;
}

void nlx_kcore_host_init(struct nlx_kcore_host *host, const struct nlx_kcore_host_ops *ops,
                         void *lnet)
{
    memset(host, 0, sizeof(*host));
    m0_mutex_init(&host->kh_mutex);
    INIT_LIST_HEAD(&host->kh_tms);
    host->kh_limits = (struct nlx_kcore_limits){
        .kl_max_buffer_size = LNET_MAX_PAYLOAD,
        .kl_max_segment_size = PAGE_SIZE,
        .kl_max_segments = LNET_MAX_IOV,
    };
    host->kh_ops = ops;
    host->kh_lnet = lnet;
}

void nlx_kcore_host_fini(struct nlx_kcore_host *host)
{
    M0_PRE(host->kh_domains == 0 && list_empty(&host->kh_tms));
    m0_mutex_fini(&host->kh_mutex);
}

void *nlx_kcore_enter(const struct nlx_kcore_host *host)
{
    return host->kh_ops != NULL ? host->kh_ops->kho_enter(host->kh_lnet) : NULL;
}

void nlx_kcore_leave(const struct nlx_kcore_host *host, void *before)
{
    if (host->kh_ops != NULL)
        host->kh_ops->kho_leave(before);
}

/* ---- domains --------------------------------------------------------------------------------- */

/* A host whose LNet does not start has domains, but nothing starts in them. */
static int dom_init(struct nlx_kcore_domain *kd, struct nlx_core_domain *cd)
{
    struct nlx_kcore_host *host = kd->kd_host;

    (void)cd;
    kd->kd_magic = M0_NET_LNET_KCORE_DOM_MAGIC;
    m0_mutex_init(&kd->kd_drv_mutex);
    INIT_LIST_HEAD(&kd->kd_drv_tms);
    INIT_LIST_HEAD(&kd->kd_drv_bufs);
    if (kd->kd_drv_ops == NULL)
        kd->kd_drv_ops = &nlx_kcore_def_ops;
    m0_mutex_lock(&host->kh_mutex);
    host->kh_domains++;
    if (!host->kh_running) {
        void *before = nlx_kcore_enter(host);

        host->kh_running = LNetNIInit(M0_NET_LNET_PID) >= 0;
        nlx_kcore_leave(host, before);
    }
    m0_mutex_unlock(&host->kh_mutex);
    return 0;
}

static void dom_fini(struct nlx_kcore_domain *kd, struct nlx_core_domain *cd)
{
    struct nlx_kcore_host *host = kd->kd_host;

    (void)cd;
    M0_PRE(kd->kd_magic == M0_NET_LNET_KCORE_DOM_MAGIC);
    M0_PRE(list_empty(&kd->kd_drv_tms) && list_empty(&kd->kd_drv_bufs));
    m0_mutex_lock(&host->kh_mutex);
    if (--host->kh_domains == 0 && host->kh_running) {
        void *before = nlx_kcore_enter(host);

        LNetNIFini();
        nlx_kcore_leave(host, before);
        host->kh_running = false;
    }
    m0_mutex_unlock(&host->kh_mutex);
    m0_mutex_fini(&kd->kd_drv_mutex);
    kd->kd_magic = 0;
}

static int buf_register(struct nlx_kcore_domain *kd, nlx_core_opaque_ptr_t buffer_id,
                        struct nlx_core_buffer *cb, struct nlx_kcore_buffer *kb)
{
    M0_PRE(kb->kb_kiov != NULL);
    (void)kd;
    kb->kb_magic = M0_NET_LNET_KCORE_BUF_MAGIC;
    kb->kb_buffer_id = buffer_id;
    kb->kb_ktm = NULL;
    LNetInvalidateMDHandle(&kb->kb_mdh);
    cb->cb_buffer_id = buffer_id;
    cb->cb_kpvt = kb;
    cb->cb_magic = M0_NET_LNET_CORE_BUF_MAGIC;
    return 0;
}

static void buf_deregister(struct nlx_core_buffer *cb, struct nlx_kcore_buffer *kb)
{
    M0_PRE(kb->kb_magic == M0_NET_LNET_KCORE_BUF_MAGIC && !nlx_kcore_buffer_busy(kb));
    kb->kb_magic = 0;
    cb->cb_kpvt = NULL;
    cb->cb_magic = 0;
}

/* ---- transfer machines ----------------------------------------------------------------------- */

static bool is_local(const struct nlx_kcore_host *host, const struct nlx_core_ep_addr *addr)
{
    struct lnet_process_id id;
    unsigned i;

    if (!host->kh_running)
        return false;
    for (i = 0; LNetGetId(i, &id) == 0; i++)
        if (id.nid == addr->cepa_nid && id.pid == addr->cepa_pid)
            return true;
    return false;
}

/* Gives a machine its address; kh_mutex is held. */
static int claim_address(struct nlx_kcore_host *host, struct nlx_core_ep_addr *addr)
{
    uint64_t used[(M0_NET_LNET_TMID_MAX + 1) / 64] = {0};
    const struct nlx_kcore_transfer_mc *other;
    uint32_t tmid;

    list_for_each_entry (other, &host->kh_tms, ktm_tm_linkage) {
        const struct nlx_core_ep_addr *taken = &other->ktm_addr;

        if (taken->cepa_nid == addr->cepa_nid && taken->cepa_pid == addr->cepa_pid &&
            taken->cepa_portal == addr->cepa_portal)
            used[taken->cepa_tmid / 64] |= 1ull << (taken->cepa_tmid % 64);
    }
    if (addr->cepa_tmid != M0_NET_LNET_TMID_INVALID) {
        tmid = addr->cepa_tmid;
        if (tmid > M0_NET_LNET_TMID_MAX || tmid < host->kh_limits.kl_tmid_min)
            return -EINVAL;
        return (used[tmid / 64] >> (tmid % 64) & 1) != 0 ? -EADDRINUSE : 0;
    }
    for (tmid = M0_NET_LNET_TMID_MAX + 1; tmid > host->kh_limits.kl_tmid_min; tmid--)
        if ((used[(tmid - 1) / 64] >> ((tmid - 1) % 64) & 1) == 0) {
            addr->cepa_tmid = tmid - 1;
            return 0;
        }
    return -EADDRNOTAVAIL;
}

static int tm_start(struct nlx_kcore_domain *kd, struct nlx_core_transfer_mc *ctm,
                    struct nlx_kcore_transfer_mc *ktm)
{
    struct nlx_kcore_host *host = kd->kd_host;
    struct nlx_core_ep_addr addr = ctm->ctm_addr;
    void *before;
    int rc = 0;

    if (addr.cepa_portal == 0 || addr.cepa_portal >= M0_NET_LNET_MAX_PORTALS)
        return -EINVAL;
    before = nlx_kcore_enter(host);
    if (!is_local(host, &addr))
        rc = -ENOENT;
    if (rc == 0)
        rc = LNetEQAlloc(M0_NET_LNET_EQ_SIZE, nlx_kcore_eq_cb, &ktm->ktm_eqh);
    if (rc == 0) {
        m0_mutex_lock(&host->kh_mutex);
        rc = claim_address(host, &addr);
        if (rc == 0) {
            ktm->ktm_addr = addr;
            list_add_tail(&ktm->ktm_tm_linkage, &host->kh_tms);
        }
        m0_mutex_unlock(&host->kh_mutex);
        if (rc != 0)
            LNetEQFree(ktm->ktm_eqh);
    }
    nlx_kcore_leave(host, before);
    if (rc != 0)
        return rc;

    ktm->ktm_magic = M0_NET_LNET_KCORE_TM_MAGIC;
    ktm->ktm_kd = kd;
    INIT_LIST_HEAD(&ktm->ktm_drv_bevs);
    spin_lock_init(&ktm->ktm_bevq_lock);
    port_semaphore_init(&ktm->ktm_wait);
    ktm->ktm_producer = NULL;
    ktm->ktm_buffers = 0;
    ktm->ktm_waiting = 0;
    ktm->ktm_poisoned = false;
    ctm->ctm_addr = addr;
    ctm->ctm_mb_counter = M0_NET_LNET_BUFFER_ID_MIN;
    ctm->ctm_kpvt = ktm;
    ctm->ctm_magic = M0_NET_LNET_CORE_TM_MAGIC;
    return 0;
}

static void tm_stop(struct nlx_core_transfer_mc *ctm, struct nlx_kcore_transfer_mc *ktm)
{
    struct nlx_kcore_host *host = ktm->ktm_kd->kd_host;
    void *before;
    int rc;

    M0_PRE(ktm->ktm_magic == M0_NET_LNET_KCORE_TM_MAGIC && nlx_kcore_tm_idle(ktm));
    before = nlx_kcore_enter(host);
    rc = LNetEQFree(ktm->ktm_eqh);
    nlx_kcore_leave(host, before);
    M0_ASSERT(rc != -EBUSY);
    m0_mutex_lock(&host->kh_mutex);
    list_del(&ktm->ktm_tm_linkage);
    m0_mutex_unlock(&host->kh_mutex);
    port_semaphore_destroy(&ktm->ktm_wait);
    ktm->ktm_magic = 0;
    ctm->ctm_kpvt = NULL;
    ctm->ctm_magic = 0;
}

/* The lock also waits for a callback that is about to return. */
bool nlx_kcore_tm_idle(struct nlx_kcore_transfer_mc *ktm)
{
    bool idle;

    spin_lock(&ktm->ktm_bevq_lock);
    idle = ktm->ktm_buffers == 0;
    spin_unlock(&ktm->ktm_bevq_lock);
    return idle;
}

void nlx_kcore_tm_drain(struct nlx_kcore_transfer_mc *ktm)
{
    while (!nlx_kcore_tm_idle(ktm)) {
        __atomic_store_n(&ktm->ktm_waiting, 1, __ATOMIC_SEQ_CST);
        if (!nlx_kcore_tm_idle(ktm))
            port_semaphore_wait(&ktm->ktm_wait, UINT64_MAX);
    }
}

bool nlx_kcore_buffer_busy(struct nlx_kcore_buffer *kb)
{
    return __atomic_load_n(&kb->kb_ktm, __ATOMIC_ACQUIRE) != NULL;
}

static int event_wait(struct nlx_kcore_transfer_mc *ktm, m0_time_t timeout)
{
    for (;;) {
        m0_time_t now;

        if (nlx_kcore_bevq_has_events(ktm))
            return 0;
        now = timeout != 0 ? m0_time_now() : 0;
        if (timeout <= now)
            return -ETIMEDOUT;
        __atomic_store_n(&ktm->ktm_waiting, 1, __ATOMIC_SEQ_CST);
        if (nlx_kcore_bevq_has_events(ktm))
            continue;
        if (port_semaphore_wait(&ktm->ktm_wait,
                                timeout == M0_TIME_NEVER ? UINT64_MAX : timeout - now) &&
            !nlx_kcore_bevq_has_events(ktm))
            return -EINTR;
    }
}

void nlx_kcore_event_wake(struct nlx_kcore_transfer_mc *ktm)
{
    port_semaphore_post(&ktm->ktm_wait);
}

/* ---- operations ------------------------------------------------------------------------------ */

int nlx_kcore_operation_begin(struct nlx_kcore_transfer_mc *ktm, struct nlx_kcore_buffer *kb,
                              enum m0_net_queue_type qtype)
{
    m0_time_t now = m0_time_now(); /* before the lock: others may run meanwhile */
    int rc = 0;

    spin_lock(&ktm->ktm_bevq_lock);
    if (kb->kb_ktm != NULL)
        rc = -EBUSY;
    else
        ktm->ktm_buffers++;
    if (rc == 0) {
        /* All that the callback reads: an event may come inside of the call of LNet. */
        kb->kb_ktm = ktm;
        kb->kb_qtype = qtype;
        kb->kb_ooo_reply = false;
        kb->kb_cancelled = false;
        kb->kb_add_time = now;
    }
    spin_unlock(&ktm->ktm_bevq_lock);
    return rc;
}

void nlx_kcore_operation_undo(struct nlx_kcore_transfer_mc *ktm, struct nlx_kcore_buffer *kb)
{
    spin_lock(&ktm->ktm_bevq_lock);
    kb->kb_ktm = NULL;
    ktm->ktm_buffers--;
    spin_unlock(&ktm->ktm_bevq_lock);
}

/* Attaches the first `length` bytes to the match list. */
static int expose(struct nlx_kcore_transfer_mc *ktm, const struct nlx_core_buffer *cb,
                  struct nlx_kcore_buffer *kb, struct lnet_md *umd, m0_bcount_t length)
{
    void *before = nlx_kcore_enter(ktm->ktm_kd->kd_host);
    int rc;

    nlx_kcore_kiov_trim(kb, umd, length);
    rc = nlx_kcore_iv._nlx_kcore_LNetMDAttach(ktm, cb, kb, umd);
    /* LNet has a copy. The buffer's next operation may have begun on another processor only when
     * its mutex was released, which the caller holds. */
    nlx_kcore_kiov_restore(kb);
    nlx_kcore_leave(ktm->ktm_kd->kd_host, before);
    if (rc != 0)
        nlx_kcore_operation_undo(ktm, kb);
    return rc;
}

static int transfer(struct nlx_kcore_transfer_mc *ktm, const struct nlx_core_buffer *cb,
                    struct nlx_kcore_buffer *kb, enum m0_net_queue_type qtype)
{
    struct lnet_md umd;
    void *before;
    int rc;

    if (cb->cb_length == 0)
        return -EINVAL;
    if (cb->cb_length > kb->kb_size)
        return -EFBIG;
    rc = nlx_kcore_operation_begin(ktm, kb, qtype);
    if (rc != 0)
        return rc;
    /* A GET has two events: SEND and REPLY. */
    nlx_kcore_umd_init(ktm, kb, qtype == M0_NET_QT_ACTIVE_BULK_RECV ? 2 : 1, 0, 0, &umd);
    before = nlx_kcore_enter(ktm->ktm_kd->kd_host);
    nlx_kcore_kiov_trim(kb, &umd, cb->cb_length);
    rc = qtype == M0_NET_QT_ACTIVE_BULK_RECV ? nlx_kcore_iv._nlx_kcore_LNetGet(ktm, cb, kb, &umd)
                                             : nlx_kcore_iv._nlx_kcore_LNetPut(ktm, cb, kb, &umd);
    nlx_kcore_kiov_restore(kb);
    nlx_kcore_leave(ktm->ktm_kd->kd_host, before);
    if (rc != 0)
        nlx_kcore_operation_undo(ktm, kb);
    return rc;
}

static int buf_msg_recv(struct nlx_kcore_transfer_mc *ktm, const struct nlx_core_buffer *cb,
                        struct nlx_kcore_buffer *kb)
{
    struct nlx_core_buffer copy = *cb;
    struct lnet_md umd;
    int rc;

    if (cb->cb_min_receive_size == 0 || cb->cb_min_receive_size > kb->kb_size ||
        cb->cb_max_operations == 0 || cb->cb_max_operations > INT_MAX)
        return -EINVAL;
    rc = nlx_kcore_operation_begin(ktm, kb, M0_NET_QT_MSG_RECV);
    if (rc != 0)
        return rc;
    copy.cb_match_bits = (uint64_t)ktm->ktm_addr.cepa_tmid << M0_NET_LNET_TMID_SHIFT;
    nlx_kcore_umd_init(ktm, kb, (int)cb->cb_max_operations, (int)cb->cb_min_receive_size,
                       LNET_MD_OP_PUT, &umd);
    return expose(ktm, &copy, kb, &umd, kb->kb_size);
}

static int buf_msg_send(struct nlx_kcore_transfer_mc *ktm, const struct nlx_core_buffer *cb,
                        struct nlx_kcore_buffer *kb)
{
    struct nlx_core_buffer copy = *cb;

    if (cb->cb_addr.cepa_tmid > M0_NET_LNET_TMID_MAX)
        return -EINVAL;
    copy.cb_match_bits = (uint64_t)cb->cb_addr.cepa_tmid << M0_NET_LNET_TMID_SHIFT;
    return transfer(ktm, &copy, kb, M0_NET_QT_MSG_SEND);
}

static int buf_active_recv(struct nlx_kcore_transfer_mc *ktm, const struct nlx_core_buffer *cb,
                           struct nlx_kcore_buffer *kb)
{
    return transfer(ktm, cb, kb, M0_NET_QT_ACTIVE_BULK_RECV);
}

static int buf_active_send(struct nlx_kcore_transfer_mc *ktm, const struct nlx_core_buffer *cb,
                           struct nlx_kcore_buffer *kb)
{
    return transfer(ktm, cb, kb, M0_NET_QT_ACTIVE_BULK_SEND);
}

/* The match bits of a passive buffer are this machine's, with a counter. */
static bool bits_are_own(const struct nlx_kcore_transfer_mc *ktm, const struct nlx_core_buffer *cb)
{
    return cb->cb_match_bits >> M0_NET_LNET_TMID_SHIFT == ktm->ktm_addr.cepa_tmid &&
           (cb->cb_match_bits & M0_NET_LNET_BUFFER_ID_MASK) != 0;
}

static int passive(struct nlx_kcore_transfer_mc *ktm, const struct nlx_core_buffer *cb,
                   struct nlx_kcore_buffer *kb, enum m0_net_queue_type qtype, m0_bcount_t length)
{
    struct lnet_md umd;
    int rc;

    if (!bits_are_own(ktm, cb) || length == 0)
        return -EINVAL;
    if (length > kb->kb_size)
        return -EFBIG;
    rc = nlx_kcore_operation_begin(ktm, kb, qtype);
    if (rc != 0)
        return rc;
    nlx_kcore_umd_init(ktm, kb, 1, 0,
                       qtype == M0_NET_QT_PASSIVE_BULK_RECV ? LNET_MD_OP_PUT : LNET_MD_OP_GET,
                       &umd);
    return expose(ktm, cb, kb, &umd, length);
}

static int buf_passive_recv(struct nlx_kcore_transfer_mc *ktm, const struct nlx_core_buffer *cb,
                            struct nlx_kcore_buffer *kb)
{
    return passive(ktm, cb, kb, M0_NET_QT_PASSIVE_BULK_RECV, kb->kb_size);
}

static int buf_passive_send(struct nlx_kcore_transfer_mc *ktm, const struct nlx_core_buffer *cb,
                            struct nlx_kcore_buffer *kb)
{
    return passive(ktm, cb, kb, M0_NET_QT_PASSIVE_BULK_SEND, cb->cb_length);
}

static int buf_del(struct nlx_kcore_transfer_mc *ktm, struct nlx_kcore_buffer *kb)
{
    struct lnet_handle_md mdh = kb->kb_mdh;
    void *before;
    int rc;

    if (kb->kb_ktm != ktm || LNetMDHandleIsInvalid(mdh))
        return -ENOENT;
    kb->kb_cancelled = true;
    before = nlx_kcore_enter(ktm->ktm_kd->kd_host);
    rc = LNetMDUnlink(mdh);
    nlx_kcore_leave(ktm->ktm_kd->kd_host, before);
    return rc;
}

struct nlx_kcore_interceptable_subs nlx_kcore_iv = {
    ._nlx_kcore_LNetMDAttach = nlx_kcore_LNetMDAttach,
    ._nlx_kcore_LNetPut = nlx_kcore_LNetPut,
    ._nlx_kcore_LNetGet = nlx_kcore_LNetGet,
};

const struct nlx_kcore_ops nlx_kcore_def_ops = {
    .ko_dom_init = dom_init,
    .ko_dom_fini = dom_fini,
    .ko_buf_register = buf_register,
    .ko_buf_deregister = buf_deregister,
    .ko_tm_start = tm_start,
    .ko_tm_stop = tm_stop,
    .ko_buf_msg_recv = buf_msg_recv,
    .ko_buf_msg_send = buf_msg_send,
    .ko_buf_active_recv = buf_active_recv,
    .ko_buf_active_send = buf_active_send,
    .ko_buf_passive_recv = buf_passive_recv,
    .ko_buf_passive_send = buf_passive_send,
    .ko_buf_del = buf_del,
    .ko_buf_event_wait = event_wait,
};
