/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Calls of LNet and what its events mean. */
#include <errno.h>

#include "lib/assert.h"
#include "net/lnet/linux_kernel/klnet_pvt.h"

/* ---- texts and locations --------------------------------------------------------------------- */

int nlx_kcore_nidstr_decode(const char *nidstr, uint64_t *nid)
{
    *nid = libcfs_str2nid(nidstr);
    return *nid == LNET_NID_ANY ? -EINVAL : 0;
}

int nlx_kcore_nidstr_encode(uint64_t nid, char nidstr[M0_NET_LNET_NIDSTR_SIZE])
{
    libcfs_nid2str_r(nid, nidstr, M0_NET_LNET_NIDSTR_SIZE);
    return 0;
}

int nlx_kcore_nidstrs_get(struct nlx_kcore_host *host, char *buffer, size_t size)
{
    void *before = nlx_kcore_enter(host);
    struct lnet_process_id id;
    size_t used = 0;
    int count = 0;

    while (host->kh_running && LNetGetId((unsigned)count, &id) == 0) {
        char text[M0_NET_LNET_NIDSTR_SIZE];
        size_t bytes;

        nlx_kcore_nidstr_encode(id.nid, text);
        bytes = strlen(text) + 1;
        if (used + bytes + 1 > size) {
            count = -EFBIG;
            break;
        }
        memcpy(buffer + used, text, bytes);
        used += bytes;
        count++;
    }
    nlx_kcore_leave(host, before);
    if (count >= 0 && used >= size)
        return -EFBIG;
    if (count >= 0)
        buffer[used] = '\0';
    return count;
}

void nlx_kcore_kmem_loc_set(struct nlx_core_kmem_loc *loc, struct page *page, uint32_t offset)
{
    M0_PRE(page != NULL && offset < PAGE_SIZE);
    loc->kl_page = page;
    loc->kl_offset = offset;
    loc->kl_checksum = loc->kl_data[0] ^ loc->kl_data[1] ^ loc->kl_data[2];
}

bool nlx_kcore_kmem_loc_eq(const struct nlx_core_kmem_loc *a, const struct nlx_core_kmem_loc *b)
{
    return a->kl_page == b->kl_page && a->kl_offset == b->kl_offset;
}

void *nlx_kcore_map(const struct nlx_kcore_domain *kd, const struct nlx_core_kmem_loc *loc)
{
    char *page = kd->kd_map != NULL ? kd->kd_map(kd, loc->kl_page) : page_address(loc->kl_page);

    return page + loc->kl_offset;
}

void nlx_kcore_unmap(const struct nlx_kcore_domain *kd, const struct nlx_core_kmem_loc *loc)
{
    if (kd->kd_unmap != NULL)
        kd->kd_unmap(kd, loc->kl_page);
}

/* ---- calls of LNet --------------------------------------------------------------------------- */

void nlx_kcore_umd_init(struct nlx_kcore_transfer_mc *ktm, struct nlx_kcore_buffer *kb,
                        int threshold, int max_size, unsigned options, struct lnet_md *umd)
{
    *umd = (struct lnet_md){
        .start = kb->kb_kiov,
        .length = kb->kb_kiov_len,
        .threshold = threshold,
        .max_size = max_size,
        .options = options | LNET_MD_KIOV | (max_size > 0 ? LNET_MD_MAX_SIZE : 0),
        .user_ptr = kb,
        .eq_handle = ktm->ktm_eqh,
    };
    LNetInvalidateMDHandle(&umd->bulk_handle);
}

int nlx_kcore_LNetMDAttach(struct nlx_kcore_transfer_mc *ktm, const struct nlx_core_buffer *cb,
                           struct nlx_kcore_buffer *kb, struct lnet_md *umd)
{
    struct lnet_process_id anybody = {LNET_NID_ANY, LNET_PID_ANY};
    struct lnet_handle_me me;
    int rc = LNetMEAttach(ktm->ktm_addr.cepa_portal, anybody, cb->cb_match_bits, 0, LNET_UNLINK,
                          LNET_INS_AFTER, &me);

    if (rc != 0)
        return rc;
    rc = LNetMDAttach(me, *umd, LNET_UNLINK, &kb->kb_mdh);
    if (rc != 0)
        LNetMEUnlink(me);
    return rc;
}

/* The operation was not accepted: its descriptor goes without an event. */
static void unbind(struct nlx_kcore_buffer *kb)
{
    kb->kb_suppressed = true;
    LNetMDUnlink(kb->kb_mdh);
    kb->kb_suppressed = false;
    LNetInvalidateMDHandle(&kb->kb_mdh);
}

static struct lnet_process_id target_of(const struct nlx_core_buffer *cb)
{
    return (struct lnet_process_id){cb->cb_addr.cepa_nid, cb->cb_addr.cepa_pid};
}

int nlx_kcore_LNetPut(struct nlx_kcore_transfer_mc *ktm, const struct nlx_core_buffer *cb,
                      struct nlx_kcore_buffer *kb, struct lnet_md *umd)
{
    uint64_t sender =
        (uint64_t)ktm->ktm_addr.cepa_tmid << M0_NET_LNET_TMID_SHIFT | ktm->ktm_addr.cepa_portal;
    int rc = LNetMDBind(*umd, LNET_UNLINK, &kb->kb_mdh);

    if (rc != 0)
        return rc;
    rc = LNetPut(ktm->ktm_addr.cepa_nid, kb->kb_mdh, LNET_NOACK_REQ, target_of(cb),
                 cb->cb_addr.cepa_portal, cb->cb_match_bits, 0, sender);
    if (rc != 0)
        unbind(kb);
    return rc;
}

int nlx_kcore_LNetGet(struct nlx_kcore_transfer_mc *ktm, const struct nlx_core_buffer *cb,
                      struct nlx_kcore_buffer *kb, struct lnet_md *umd)
{
    int rc = LNetMDBind(*umd, LNET_UNLINK, &kb->kb_mdh);

    if (rc != 0)
        return rc;
    rc = LNetGet(ktm->ktm_addr.cepa_nid, kb->kb_mdh, target_of(cb), cb->cb_addr.cepa_portal,
                 cb->cb_match_bits, 0, false);
    if (rc != 0)
        unbind(kb);
    return rc;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Hands an event to the consumer. After the buffer's last one the core does not touch it. */
static void produce(struct nlx_kcore_transfer_mc *ktm, struct nlx_kcore_buffer *kb,
                    struct nlx_core_buffer_event *event)
{
    event->cbe_buffer_id = kb->kb_buffer_id;
    event->cbe_time = m0_time_sub(m0_time_now(), kb->kb_add_time);
    spin_lock(&ktm->ktm_bevq_lock);
    if (event->cbe_unlinked) {
        M0_ASSERT(ktm->ktm_buffers > 0);
        ktm->ktm_buffers--;
        kb->kb_ktm = NULL;
    }
    if (!nlx_kcore_bevq_put(ktm, event))
        __atomic_add_fetch(&ktm->ktm_kd->kd_host->kh_internal_errors, 1, __ATOMIC_RELAXED);
    /* Before the lock goes: the machine may be stopped as soon as its last event is seen. */
    if (__atomic_exchange_n(&ktm->ktm_waiting, 0, __ATOMIC_SEQ_CST) != 0)
        port_semaphore_post(&ktm->ktm_wait);
    spin_unlock(&ktm->ktm_bevq_lock);
}

/* What an event of an active receive means: a SEND and a REPLY, in either order. False: nothing
 * yet. */
static bool active_receive(struct nlx_kcore_buffer *kb, const struct lnet_event *event,
                           struct nlx_core_buffer_event *result)
{
    if (event->type == LNET_EVENT_REPLY && !event->unlinked) {
        kb->kb_ooo_reply = true;
        kb->kb_ooo_status = event->status;
        kb->kb_ooo_mlength = event->mlength;
        kb->kb_ooo_offset = event->offset;
        return false;
    }
    if (event->type != LNET_EVENT_SEND)
        return true;
    if (!event->unlinked)
        return false;
    if (event->status == 0 && kb->kb_ooo_reply) {
        result->cbe_status = kb->kb_ooo_status;
        result->cbe_length = kb->kb_ooo_mlength;
        result->cbe_offset = kb->kb_ooo_offset;
    } else if (event->status == 0) {
        result->cbe_status = -ECANCELED; /* unlinked together with the SEND */
    }
    return true;
}

static void set_sender(const struct lnet_event *event, struct nlx_core_ep_addr *sender)
{
    if (event->hdr_data == 0)
        return;
    sender->cepa_nid = event->initiator.nid;
    sender->cepa_pid = event->initiator.pid;
    sender->cepa_portal = (uint32_t)(event->hdr_data & M0_NET_LNET_PORTAL_MASK);
    sender->cepa_tmid = (uint32_t)(event->hdr_data >> M0_NET_LNET_TMID_SHIFT);
}

/* Under LNet's lock: no waiting, and no call of LNet. */
void nlx_kcore_eq_cb(struct lnet_event *event)
{
    struct nlx_kcore_buffer *kb = event->md.user_ptr;
    struct nlx_core_buffer_event result = {.cbe_unlinked = event->unlinked != 0};
    struct nlx_kcore_transfer_mc *ktm;

    if (event->type == LNET_EVENT_ACK || kb->kb_suppressed)
        return;
    ktm = kb->kb_ktm;
    M0_ASSERT(kb->kb_magic == M0_NET_LNET_KCORE_BUF_MAGIC && ktm != NULL);
    if (event->unlinked)
        LNetInvalidateMDHandle(&kb->kb_mdh);
    result.cbe_status = event->status;
    /* LNet also unlinks a GET whose answer does not come in time, and since 2.12 it says of what
     * was unlinked in transit that it timed out. */
    if (event->type == LNET_EVENT_UNLINK)
        result.cbe_status = -ETIMEDOUT;
    if (kb->kb_cancelled && result.cbe_status == -ETIMEDOUT)
        result.cbe_status = -ECANCELED;
    if (event->type != LNET_EVENT_UNLINK) {
        result.cbe_length = event->mlength;
        result.cbe_offset = event->offset;
        if (event->type == LNET_EVENT_PUT)
            set_sender(event, &result.cbe_sender);
        if (kb->kb_qtype == M0_NET_QT_ACTIVE_BULK_RECV && !active_receive(kb, event, &result))
            return;
    }
    if (!result.cbe_unlinked && kb->kb_qtype != M0_NET_QT_MSG_RECV) {
        __atomic_add_fetch(&ktm->ktm_kd->kd_host->kh_internal_errors, 1, __ATOMIC_RELAXED);
        return;
    }
    produce(ktm, kb, &result);
}

void nlx_kcore_event_refused(struct nlx_kcore_transfer_mc *ktm, struct nlx_kcore_buffer *kb,
                             int status)
{
    struct nlx_core_buffer_event result = {.cbe_status = status, .cbe_unlinked = true};

    M0_PRE(status < 0);
    if (nlx_kcore_operation_begin(ktm, kb, kb->kb_qtype) == 0)
        produce(ktm, kb, &result);
}
