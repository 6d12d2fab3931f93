/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* NICs: opening, sharing and closing them; ids of their VCs. */
#include "ctx.h"
#include "domain.h"
#include "gnip.h"
#include "lock.h"
#include "mbox.h"
#include "nic.h"
#include "nic_internal.h"
#include "params.h"
#include "req.h"
#include "txd.h"
#include "vc.h"
#include "watch.h"

#include <stdlib.h>
#include "port/list.h"

#define DEVICE 0
#define MODES                                                                                    \
    (GNI_CDM_MODE_FAST_DATAGRAM_POLL | GNI_CDM_MODE_FMA_SHARED | GNI_CDM_MODE_FMA_SMALL_WINDOW | \
     GNI_CDM_MODE_FORK_PARTCOPY | GNI_CDM_MODE_ERR_NO_KILL)
#define ID_TRIES 64 /* to find an instance id that no other process of the node uses */
#define DOORBELL_BYTES 4096u
#define SMSG_RETRIES 10u
#define TXDS_RESERVED 16u

static int error_of(gni_return_t rc)
{
    return rc == GNI_RC_ERROR_RESOURCE ? -FI_EAGAIN : -gnip_errno(rc);
}

/* ---- creation -------------------------------------------------------------------------------- */

static int attach(struct gnip_nic *nic, uint32_t cdm_id)
{
    bool any = cdm_id == UINT32_MAX;
    gni_return_t rc;
    unsigned tries;

    for (tries = 0;; tries++) {
        nic->cdm_id = any ? gnip_ctx_cdm(nic->ctx, 1) : cdm_id;
        rc = GNI_CdmCreate(nic->cdm_id, nic->auth->ptag, nic->auth->cookie, MODES, &nic->cdm);
        if (rc != GNI_RC_SUCCESS)
            return error_of(rc);
        nic->ctx->counts.cdm_created++;
        rc = GNI_CdmAttach(nic->cdm, DEVICE, &nic->device_addr, &nic->gni);
        if (rc == GNI_RC_SUCCESS)
            return 0;
        GNI_CdmDestroy(nic->cdm);
        nic->cdm = NULL;
        if (rc != GNI_RC_INVALID_STATE)
            return error_of(rc);
        if (!any || tries == ID_TRIES)
            return -FI_EADDRINUSE;
    }
}

static gni_return_t make_queue(struct gnip_nic *nic, uint32_t entries, gni_cq_mode_t mode,
                               gni_cq_handle_t *cq)
{
    gni_return_t rc;

    gnip_lock(&nic->lock);
    rc = GNI_CqCreate(nic->gni, entries, 0, mode, NULL, NULL, cq);
    gnip_unlock(&nic->lock);
    return rc;
}

/* Two more than there are descriptors, because the driver uses some entries itself. */
static uint32_t tx_entries(const struct gnip_nic *nic)
{
    return nic->params.tx_cq_size + 2;
}

static gni_return_t find_mbox_bytes(struct gnip_nic *nic)
{
    gni_smsg_attr_t attr = {
        .msg_type = GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT,
        .mbox_maxcredit = (uint16_t)nic->params.mbox_credits,
        .msg_maxsize = nic->params.mbox_message,
    };
    unsigned bytes;
    gni_return_t rc = GNI_SmsgBufferSizeNeeded(&attr, &bytes);

    if (rc == GNI_RC_SUCCESS)
        gnip_mbox_sizes(nic, bytes);
    return rc;
}

static void limit_params(struct gnip_params *params)
{
    if (params->mbox_credits > UINT16_MAX)
        params->mbox_credits = UINT16_MAX;
    if (params->mbox_message > GNI_SMSG_MAX_SIZE)
        params->mbox_message = GNI_SMSG_MAX_SIZE;
}

static int set_up(struct gnip_nic *nic)
{
    uint32_t retries = nic->params.max_retransmits;
    gni_return_t rc = find_mbox_bytes(nic);

    if (rc == GNI_RC_SUCCESS && nic->tx_cq == NULL)
        rc = make_queue(nic, tx_entries(nic), GNI_CQ_NOBLOCK, &nic->tx_cq);
    if (rc == GNI_RC_SUCCESS && nic->rx_cq == NULL)
        rc = make_queue(nic, nic->params.rx_cq_size, GNI_CQ_NOBLOCK, &nic->rx_cq);
    if (rc != GNI_RC_SUCCESS)
        return error_of(rc);
    if (retries < SMSG_RETRIES)
        retries = SMSG_RETRIES;
    GNI_SmsgSetMaxRetrans(nic->gni, retries > UINT16_MAX ? UINT16_MAX : (uint16_t)retries);
    return 0;
}

/* ---- automatic progress ---------------------------------------------------------------------- */

static gni_return_t make_doorbell(struct gnip_nic *nic)
{
    gni_return_t rc;

    nic->doorbell = port_pages_alloc(DOORBELL_BYTES, DOORBELL_BYTES);
    if (nic->doorbell == NULL)
        return GNI_RC_ERROR_NOMEM;
    gnip_lock(&nic->lock);
    rc = GNI_MemRegister(nic->gni, (uintptr_t)nic->doorbell, DOORBELL_BYTES, nic->rx_cq_blk,
                         GNI_MEM_READWRITE, UINT32_MAX, &nic->doorbell_handle);
    gnip_unlock(&nic->lock);
    if (rc != GNI_RC_SUCCESS) {
        port_pages_free(nic->doorbell, DOORBELL_BYTES);
        nic->doorbell = NULL;
    }
    return rc;
}

/* Opens the queues on which the helper waits and into which peers ring. */
static int make_automatic(struct gnip_nic *nic)
{
    gni_cq_handle_t tx = NULL, rx = NULL;
    gni_return_t rc;

    rc = make_queue(nic, tx_entries(nic), GNI_CQ_BLOCKING, &tx);
    if (rc == GNI_RC_SUCCESS)
        rc = make_queue(nic, nic->params.rx_cq_size, GNI_CQ_BLOCKING, &rx);
    nic->rx_cq_blk = rx;
    if (rc == GNI_RC_SUCCESS)
        rc = make_doorbell(nic);
    if (rc != GNI_RC_SUCCESS) {
        gnip_lock(&nic->lock);
        if (rx != NULL)
            GNI_CqDestroy(rx);
        if (tx != NULL)
            GNI_CqDestroy(tx);
        gnip_unlock(&nic->lock);
        nic->rx_cq_blk = NULL;
        return error_of(rc);
    }
    __atomic_store_n(&nic->tx_cq_blk, tx, __ATOMIC_RELEASE); /* from now on it is polled */
    return 0;
}

static int start_helper(struct gnip_nic *nic)
{
    nic->helper = port_thread_start("gni-data", gnip_nic_helper, nic);
    if (nic->helper == NULL)
        return -FI_EAGAIN;
    __atomic_store_n(&nic->automatic, true, __ATOMIC_RELEASE);
    return 0;
}

/* Sends an event to a helper that waits. */
static gnip_noinline gni_return_t ring_own_doorbell(struct gnip_nic *nic)
{
    gni_post_descriptor_t post = {
        .type = GNI_POST_CQWRITE,
        .cq_mode = GNI_CQMODE_SILENT,
        .dlvr_mode = GNI_DLVMODE_IN_ORDER,
        .remote_mem_hndl = nic->doorbell_handle,
    };
    gni_ep_handle_t ep = NULL;
    gni_return_t rc;

    gnip_lock(&nic->lock);
    rc = GNI_EpCreate(nic->gni, nic->tx_cq, &ep);
    if (rc == GNI_RC_SUCCESS)
        rc = GNI_EpBind(ep, nic->device_addr, nic->cdm_id);
    if (rc == GNI_RC_SUCCESS)
        rc = GNI_PostCqWrite(ep, &post);
    if (ep != NULL)
        GNI_EpDestroy(ep);
    gnip_unlock(&nic->lock);
    return rc;
}

void gnip_nic_wake_helper(struct gnip_nic *nic)
{
    if (gnip_unlikely(__atomic_load_n(&nic->asleep, __ATOMIC_SEQ_CST)))
        ring_own_doorbell(nic);
}

/* Wakes the helper, which then reads nic->stop. */
static void wake_helper(struct gnip_nic *nic)
{
    struct port_timer timer;
    gni_return_t rc;
    uint32_t polls = 0;

    port_timer_start(&timer, UINT64_MAX);
    while ((rc = ring_own_doorbell(nic)) == GNI_RC_ERROR_RESOURCE)
        if (gnip_nic_progress(nic, &polls) == 0)
            port_idle(&timer, true);
    port_timer_stop(&timer);
    if (rc == GNI_RC_SUCCESS)
        return;
    /* the NIC does not work any more: destroying it is an event for the helper, too */
    gnip_lock(&nic->lock);
    GNI_CqDestroy(nic->rx_cq_blk);
    nic->rx_cq_blk = NULL;
    gnip_unlock(&nic->lock);
}

static void stop_helper(struct gnip_nic *nic)
{
    if (nic->helper == NULL)
        return;
    __atomic_store_n(&nic->stop, true, __ATOMIC_SEQ_CST);
    port_thread_wake(nic->helper);
    wake_helper(nic);
    port_thread_join(nic->helper);
    nic->helper = NULL;
}

/* ---- opening, suspending, closing ------------------------------------------------------------ */

static void release_gni(struct gnip_nic *nic)
{
    if (nic->gni == NULL)
        return;
    gnip_mbox_free_all(nic);
    gnip_watch_suspend(nic);
    if (nic->doorbell != NULL) {
        GNI_MemDeregister(nic->gni, &nic->doorbell_handle);
        port_pages_free(nic->doorbell, DOORBELL_BYTES);
    }
    if (nic->tx_cq_blk != NULL && nic->tx_cq_blk != nic->tx_cq)
        GNI_CqDestroy(nic->tx_cq_blk);
    if (nic->rx_cq_blk != NULL && nic->rx_cq_blk != nic->rx_cq)
        GNI_CqDestroy(nic->rx_cq_blk);
    if (nic->tx_cq != NULL)
        GNI_CqDestroy(nic->tx_cq);
    if (nic->rx_cq != NULL)
        GNI_CqDestroy(nic->rx_cq);
    GNI_CdmDestroy(nic->cdm);
    nic->doorbell = NULL;
    nic->tx_cq = nic->rx_cq = nic->tx_cq_blk = nic->rx_cq_blk = NULL;
    nic->cdm = NULL;
    nic->gni = NULL;
}

static void destroy(struct gnip_nic *nic)
{
    struct gnip_vc *vc;

    stop_helper(nic);
    gnip_nic_stop_probes(nic);
    release_gni(nic);
    while ((vc = nic->vc_pool) != NULL) {
        nic->vc_pool = vc->name_next;
        free(vc);
    }
    gnip_txd_free_all(nic);
    gnip_watch_end(nic);
    free(nic->vc_slots);
    gnip_gate_fini(&nic->gate);
    gnip_lock_fini(&nic->vc_lock);
    gnip_lock_fini(&nic->txd_lock);
    gnip_lock_fini(&nic->lock);
    free(nic);
}

static int bring_up(struct gnip_nic *nic, uint32_t cdm_id, bool automatic)
{
    int rc = attach(nic, cdm_id);

    if (rc == 0 && automatic)
        rc = make_automatic(nic);
    if (rc == 0 && automatic && nic->params.eager_auto_progress != 0) {
        nic->tx_cq = nic->tx_cq_blk;
        nic->rx_cq = nic->rx_cq_blk;
    }
    if (rc == 0)
        rc = set_up(nic);
    if (rc == 0 && automatic)
        rc = start_helper(nic);
    return rc;
}

void gnip_nic_suspend(struct gnip_nic *nic)
{
    stop_helper(nic);
    gnip_nic_stop_probes(nic);
    release_gni(nic);
}

int gnip_nic_resume(struct gnip_nic *nic)
{
    int rc = 0;

    nic->stop = false;
    if (nic->gni == NULL)
        rc = bring_up(nic, nic->cdm_id, nic->automatic);
    if (rc == 0 && nic->watch != NULL)
        gnip_watch_begin(nic);
    return rc;
}

static int create(struct gnip_ctx *ctx, struct gnip_domain *domain, struct gnip_auth *auth,
                  uint32_t cdm_id, struct gnip_nic **made)
{
    bool elided = domain != NULL && gnip_single(domain);
    bool automatic = domain != NULL && domain->data_progress == FI_PROGRESS_AUTO;
    struct gnip_nic *nic = aligned_alloc(64, (sizeof(*nic) + 63) & ~(size_t)63);
    int rc;

    if (nic == NULL)
        return -FI_ENOMEM;
    memset(nic, 0, sizeof(*nic));
    nic->ctx = ctx;
    nic->auth = auth;
    nic->refs = 1;
    nic->sole = elided ? domain : NULL;
    nic->alone = domain == NULL;
    if (domain != NULL)
        nic->params = domain->params;
    else
        gnip_params_init(&nic->params);
    limit_params(&nic->params);
    nic->txd_count = nic->params.tx_cq_size;
    nic->txd_reserved = nic->txd_count / 4 < TXDS_RESERVED ? nic->txd_count / 4 : TXDS_RESERVED;
    gnip_lock_init(&nic->lock, elided);
    gnip_lock_init(&nic->txd_lock, elided);
    gnip_lock_init(&nic->vc_lock, elided);
    gnip_gate_init(&nic->gate, elided);
    port_list_init(&nic->vcs_ready);
    nic->vc_slot_first = nic->vc_slot_last = UINT32_MAX;
    rc = bring_up(nic, cdm_id, automatic);
    if (rc != 0) {
        destroy(nic);
        return rc;
    }
    *made = nic;
    return 0;
}

/* The NIC with the fewest users that this domain may share. `ready`: it needs no further helper. */
static struct gnip_nic *least_used(const struct gnip_domain *domain, struct gnip_auth *auth,
                                   bool ready)
{
    const struct gnip_domain *sole = domain != NULL && gnip_single(domain) ? domain : NULL;
    struct gnip_nic *least = NULL;
    struct port_link *link;

    for (link = auth->nics.next; link != &auth->nics; link = link->next) {
        struct gnip_nic *nic = gnip_container(link, struct gnip_nic, auth_link);

        if ((nic->sole == NULL || nic->sole == sole) && (nic->helper != NULL || !ready) &&
            (least == NULL || nic->refs < least->refs))
            least = nic;
    }
    return least;
}

/* ctx->lock is held. */
static struct gnip_nic *share(struct gnip_domain *domain, struct gnip_auth *auth)
{
    bool automatic = domain != NULL && domain->data_progress == FI_PROGRESS_AUTO;
    struct gnip_nic *nic = least_used(domain, auth, false);

    if (nic != NULL && automatic && nic->helper == NULL &&
        ((nic->tx_cq_blk == NULL && make_automatic(nic) != 0) || start_helper(nic) != 0))
        nic = least_used(domain, auth, true);
    if (nic != NULL)
        nic->refs++;
    return nic;
}

static int get(struct gnip_ctx *ctx, struct gnip_domain *domain, struct gnip_auth *auth,
               uint32_t cdm_id, bool own, struct gnip_nic **nic)
{
    bool may_share = !own && cdm_id == UINT32_MAX;
    int rc;

    *nic = NULL;
    port_mutex_lock(&ctx->lock);
    if (may_share && auth->nic_count >= ctx->nics_per_ptag)
        *nic = share(domain, auth);
    if (*nic == NULL)
        auth->nic_count++;
    port_mutex_unlock(&ctx->lock);
    if (*nic != NULL)
        return 0;
    rc = create(ctx, domain, auth, cdm_id, nic);
    port_mutex_lock(&ctx->lock);
    if (rc == 0)
        port_list_append(&auth->nics, &(*nic)->auth_link);
    else
        auth->nic_count--;
    if (rc != 0 && may_share && (*nic = share(domain, auth)) != NULL)
        rc = 0;
    port_mutex_unlock(&ctx->lock);
    return rc;
}

int gnip_nic_get(struct gnip_domain *domain, struct gnip_auth *auth, uint32_t cdm_id, bool own,
                 struct gnip_nic **nic)
{
    return get(domain->ctx, domain, auth, cdm_id, own, nic);
}

int gnip_nic_get_alone(struct gnip_ctx *ctx, struct gnip_auth *auth, uint32_t cdm_id,
                       struct gnip_nic **nic)
{
    return get(ctx, NULL, auth, cdm_id, true, nic);
}

void gnip_nic_ref(struct gnip_nic *nic)
{
    port_mutex_lock(&nic->ctx->lock);
    nic->refs++;
    port_mutex_unlock(&nic->ctx->lock);
}

void gnip_nic_put(struct gnip_nic *nic)
{
    struct gnip_ctx *ctx = nic->ctx;
    bool last;

    port_mutex_lock(&ctx->lock);
    assert(nic->refs > 0);
    last = --nic->refs == 0;
    if (last) {
        port_list_remove(&nic->auth_link);
        assert(nic->auth->nic_count > 0);
        nic->auth->nic_count--;
    }
    port_mutex_unlock(&ctx->lock);
    if (last)
        destroy(nic);
}

/* ---- ids of VCs ------------------------------------------------------------------------------ */

/*
 * Bits 15:0 are a slot, bits 23:16 its generation, never 0. Slots are used again in the order in
 * which they were freed, so that a late event finds a free slot rather than another VC.
 */
#define SLOTS 65536u
#define SLOT_MASK GNIP_VC_SLOT_MASK
#define NONE UINT32_MAX

static void slot_free(struct gnip_nic *nic, uint32_t at)
{
    struct gnip_vc_slot *slot = &nic->vc_slots[at];

    slot->vc = NULL;
    slot->next = NONE;
    if (++slot->generation == 0)
        slot->generation = 1;
    if (nic->vc_slot_last == NONE)
        nic->vc_slot_first = at;
    else
        nic->vc_slots[nic->vc_slot_last].next = at;
    nic->vc_slot_last = at;
}

static bool slots_grow(struct gnip_nic *nic)
{
    uint32_t at = nic->vc_slot_count, count = at != 0 ? 2 * at : nic->params.vc_id_capacity;
    struct gnip_vc_slot *slots;

    if (count > SLOTS)
        count = SLOTS;
    if (at >= count)
        return false;
    slots = realloc(nic->vc_slots, count * sizeof(*slots));
    if (slots == NULL)
        return false;
    nic->vc_slots = slots;
    nic->vc_slot_count = count;
    for (; at < count; at++) {
        slots[at].generation = 0;
        slot_free(nic, at);
    }
    return true;
}

uint32_t gnip_vc_id_get(struct gnip_nic *nic, struct gnip_vc *vc)
{
    uint32_t at, id = 0;

    gnip_lock(&nic->vc_lock);
    if (nic->vc_slot_first != NONE || slots_grow(nic)) {
        at = nic->vc_slot_first;
        nic->vc_slot_first = nic->vc_slots[at].next;
        if (nic->vc_slot_first == NONE)
            nic->vc_slot_last = NONE;
        nic->vc_slots[at].vc = vc;
        id = at | (uint32_t)nic->vc_slots[at].generation << 16;
    }
    gnip_unlock(&nic->vc_lock);
    return id;
}

void gnip_vc_id_put(struct gnip_nic *nic, uint32_t id)
{
    gnip_lock(&nic->vc_lock);
    slot_free(nic, id & SLOT_MASK);
    gnip_unlock(&nic->vc_lock);
}

struct gnip_vc *gnip_vc_of_id(struct gnip_nic *nic, uint32_t id)
{
    uint32_t at = id & SLOT_MASK;
    const struct gnip_vc_slot *slot;

    gnip_assert_held(&nic->vc_lock);
    if (gnip_unlikely(at >= nic->vc_slot_count))
        return NULL;
    slot = &nic->vc_slots[at];
    return slot->generation == id >> 16 ? slot->vc : NULL;
}

gnip_noinline void gnip_nic_wake_all(struct gnip_nic *nic)
{
    uint32_t at;

    gnip_assert_held(&nic->vc_lock);
    for (at = 0; at < nic->vc_slot_count; at++) {
        struct gnip_vc *vc = nic->vc_slots[at].vc;

        if (vc == NULL)
            continue;
        __atomic_store_n(&vc->rx_ready, GNIP_RX_LOST, __ATOMIC_RELAXED);
        gnip_vc_link(nic, vc);
    }
}
