/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The core interface of the kernel flavour, part of lnet_main.c: everything is in one address
 * space. */
#include "net/lnet/linux_kernel/klnet_core.h"

/* A block of event slots with what the kernel keeps for them. */
struct nlx_kx_block {
    struct list_head kxb_linkage;
    void *kxb_slots;
    unsigned kxb_nr;
    struct nlx_kcore_buffer_event kxb_kbe[];
};

/* A machine's part in the kernel, at ctm_kpvt while it is started. */
struct nlx_kx_tm {
    struct nlx_kcore_transfer_mc kx_ktm;
    struct list_head kx_blocks;
};

static struct nlx_kcore_domain *kx_domain(const struct nlx_core_domain *cd)
{
    return cd->cd_kpvt;
}

static struct nlx_kcore_transfer_mc *kx_tm(const struct nlx_core_transfer_mc *ctm)
{
    return ctm->ctm_kpvt;
}

static struct nlx_kcore_buffer *kx_buffer(const struct nlx_core_buffer *cb)
{
    return cb->cb_kpvt;
}

static void kx_locate(struct nlx_core_kmem_loc *loc, const void *object)
{
    nlx_kcore_kmem_loc_set(loc, virt_to_page(object), (uint32_t)((uintptr_t)object & ~PAGE_MASK));
}

/* ---- domains and buffers --------------------------------------------------------------------- */

static int nlx_core_dom_init(struct m0_net_domain *dom, struct nlx_core_domain *cd)
{
    struct nlx_kcore_host *host = nlx_kcore_host_current();
    struct nlx_kcore_domain *kd;
    int rc;

    (void)dom;
    if (host == NULL)
        return -ENOENT;
    M0_ALLOC_PTR(kd);
    if (kd == NULL)
        return -ENOMEM;
    kd->kd_host = host;
    kx_locate(&kd->kd_cd_loc, cd);
    rc = nlx_kcore_def_ops.ko_dom_init(kd, cd);
    if (rc != 0) {
        m0_free(kd);
        return rc;
    }
    cd->cd_kpvt = kd;
    return 0;
}

static void nlx_core_dom_fini(struct nlx_core_domain *cd)
{
    struct nlx_kcore_domain *kd = kx_domain(cd);

    kd->kd_drv_ops->ko_dom_fini(kd, cd);
    cd->cd_kpvt = NULL;
    m0_free(kd);
}

/* Nothing is saved: there is no crossing. */
static void nlx_core_dom_set_batched(struct nlx_core_domain *cd, bool batched)
{
    (void)cd;
    (void)batched;
}

static m0_bcount_t nlx_core_get_max_buffer_size(struct nlx_core_domain *cd)
{
    return kx_domain(cd)->kd_host->kh_limits.kl_max_buffer_size;
}

static m0_bcount_t nlx_core_get_max_buffer_segment_size(struct nlx_core_domain *cd)
{
    return kx_domain(cd)->kd_host->kh_limits.kl_max_segment_size;
}

static int32_t nlx_core_get_max_buffer_segments(struct nlx_core_domain *cd)
{
    return kx_domain(cd)->kd_host->kh_limits.kl_max_segments;
}

static int nlx_core_buf_register(struct nlx_core_domain *cd, nlx_core_opaque_ptr_t buffer_id,
                                 const struct m0_bufvec *bvec, struct nlx_core_buffer *cb)
{
    struct nlx_kcore_domain *kd = kx_domain(cd);
    struct nlx_kcore_buffer *kb;
    int rc;

    M0_ALLOC_PTR(kb);
    if (kb == NULL)
        return -ENOMEM;
    kx_locate(&kb->kb_cb_loc, cb);
    rc = nlx_kcore_kiov_build(kd, kb, bvec->ov_vec.v_nr, bvec->ov_vec.v_count, bvec->ov_buf, NULL,
                              NULL, NULL);
    if (rc == 0)
        rc = kd->kd_drv_ops->ko_buf_register(kd, buffer_id, cb, kb);
    if (rc != 0) {
        nlx_kcore_kiov_free(kb);
        m0_free(kb);
        return rc;
    }
    list_add_tail(&kb->kb_drv_linkage, &kd->kd_drv_bufs);
    return 0;
}

static void nlx_core_buf_deregister(struct nlx_core_domain *cd, struct nlx_core_buffer *cb)
{
    struct nlx_kcore_buffer *kb = kx_buffer(cb);

    list_del(&kb->kb_drv_linkage);
    kx_domain(cd)->kd_drv_ops->ko_buf_deregister(cb, kb);
    nlx_kcore_kiov_free(kb);
    m0_free(kb);
}

/* ---- operations ------------------------------------------------------------------------------ */

static int nlx_core_buf_msg_recv(struct nlx_core_domain *cd, struct nlx_core_transfer_mc *ctm,
                                 struct nlx_core_buffer *cb)
{
    return kx_domain(cd)->kd_drv_ops->ko_buf_msg_recv(kx_tm(ctm), cb, kx_buffer(cb));
}

static int nlx_core_buf_msg_send(struct nlx_core_domain *cd, struct nlx_core_transfer_mc *ctm,
                                 struct nlx_core_buffer *cb)
{
    return kx_domain(cd)->kd_drv_ops->ko_buf_msg_send(kx_tm(ctm), cb, kx_buffer(cb));
}

static int nlx_core_buf_active_recv(struct nlx_core_domain *cd, struct nlx_core_transfer_mc *ctm,
                                    struct nlx_core_buffer *cb)
{
    return kx_domain(cd)->kd_drv_ops->ko_buf_active_recv(kx_tm(ctm), cb, kx_buffer(cb));
}

static int nlx_core_buf_active_send(struct nlx_core_domain *cd, struct nlx_core_transfer_mc *ctm,
                                    struct nlx_core_buffer *cb)
{
    return kx_domain(cd)->kd_drv_ops->ko_buf_active_send(kx_tm(ctm), cb, kx_buffer(cb));
}

static int nlx_core_buf_passive_recv(struct nlx_core_domain *cd, struct nlx_core_transfer_mc *ctm,
                                     struct nlx_core_buffer *cb)
{
    return kx_domain(cd)->kd_drv_ops->ko_buf_passive_recv(kx_tm(ctm), cb, kx_buffer(cb));
}

static int nlx_core_buf_passive_send(struct nlx_core_domain *cd, struct nlx_core_transfer_mc *ctm,
                                     struct nlx_core_buffer *cb)
{
    return kx_domain(cd)->kd_drv_ops->ko_buf_passive_send(kx_tm(ctm), cb, kx_buffer(cb));
}

static int nlx_core_buf_del(struct nlx_core_domain *cd, struct nlx_core_transfer_mc *ctm,
                            struct nlx_core_buffer *cb)
{
    return kx_domain(cd)->kd_drv_ops->ko_buf_del(kx_tm(ctm), kx_buffer(cb));
}

static int nlx_core_buf_event_wait(struct nlx_core_domain *cd, struct nlx_core_transfer_mc *ctm,
                                   m0_time_t timeout)
{
    return kx_domain(cd)->kd_drv_ops->ko_buf_event_wait(kx_tm(ctm), timeout);
}

static void nlx_core_buf_arrived(const struct nlx_core_buffer *cb,
                                 const struct nlx_core_buffer_event *event)
{
    (void)cb, (void)event; /* where they belong */
}

static bool nlx_core_is_lost(const struct nlx_core_domain *cd)
{
    (void)cd;
    return false;
}

static void nlx_core_buf_event_wake(struct nlx_core_domain *cd, struct nlx_core_transfer_mc *ctm)
{
    (void)cd;
    nlx_kcore_event_wake(kx_tm(ctm));
}

/* Nothing is saved by submitting operations together. */
static void nlx_core_batch_begin(struct nlx_core_domain *cd, struct nlx_core_transfer_mc *ctm)
{
    (void)cd;
    (void)ctm;
}

static void nlx_core_batch_end(struct nlx_core_domain *cd, struct nlx_core_transfer_mc *ctm)
{
    (void)cd;
    (void)ctm;
}

/* ---- NIDs ------------------------------------------------------------------------------------ */

static int nlx_core_nidstr_decode(struct nlx_core_domain *cd, const char *nidstr, uint64_t *nid)
{
    (void)cd;
    return nlx_kcore_nidstr_decode(nidstr, nid);
}

static int nlx_core_nidstr_encode(struct nlx_core_domain *cd, uint64_t nid,
                                  char nidstr[M0_NET_LNET_NIDSTR_SIZE])
{
    (void)cd;
    return nlx_kcore_nidstr_encode(nid, nidstr);
}

/* The pointers and, behind them, the texts are one block. */
static int nlx_core_nidstrs_get(struct nlx_core_domain *cd, char ***nidary)
{
    struct nlx_kcore_host *host = kx_domain(cd)->kd_host;
    size_t texts = 128, pointers;
    char *block, *text;
    int count, i;

    for (;; texts *= 2) {
        /* The shortest text has four bytes with its NUL: "0@lo" has five. */
        pointers = (texts / 4 + 1) * sizeof(char *);
        block = m0_alloc(pointers + texts);
        if (block == NULL)
            return -ENOMEM;
        count = nlx_kcore_nidstrs_get(host, block + pointers, texts);
        if (count != -EFBIG)
            break;
        m0_free(block);
    }
    *nidary = (char **)(void *)block;
    for (i = 0, text = block + pointers; i < count; i++, text += strlen(text) + 1)
        (*nidary)[i] = text;
    (*nidary)[count] = NULL;
    return 0;
}

/* ---- transfer machines ----------------------------------------------------------------------- */

static int nlx_core_new_blessed_bevs(struct nlx_core_domain *cd, struct nlx_core_transfer_mc *ctm,
                                     unsigned nr, struct nlx_core_buffer_event **bevs)
{
    struct nlx_kx_tm *kx = container_of(kx_tm(ctm), struct nlx_kx_tm, kx_ktm);
    struct nlx_kx_block *block;
    unsigned i;

    (void)cd;
    M0_PRE(nr > 0 && nr <= NLX_BEV_BLOCK);
    if (M0_FI_ENABLED("fail"))
        return -ENOMEM;
    block = m0_alloc(sizeof(*block) + nr * sizeof(block->kxb_kbe[0]));
    if (block == NULL)
        return -ENOMEM;
    block->kxb_slots = nlx_core_mem_alloc((size_t)nr * NLX_BEV_STRIDE, 7);
    if (block->kxb_slots == NULL) {
        m0_free(block);
        return -ENOMEM;
    }
    block->kxb_nr = nr;
    for (i = 0; i < nr; i++) {
        struct nlx_core_buffer_event *bev =
            (void *)((char *)block->kxb_slots + (size_t)i * NLX_BEV_STRIDE);

        kx_locate(&block->kxb_kbe[i].kbe_loc, bev);
        nlx_kcore_bev_bless(&kx->kx_ktm, &block->kxb_kbe[i], bev);
    }
    list_add_tail(&block->kxb_linkage, &kx->kx_blocks);
    *bevs = block->kxb_slots;
    return 0;
}

static void kx_tm_free(struct nlx_kx_tm *kx)
{
    while (!list_empty(&kx->kx_blocks)) {
        struct nlx_kx_block *block =
            list_first_entry(&kx->kx_blocks, struct nlx_kx_block, kxb_linkage);

        list_del(&block->kxb_linkage);
        nlx_core_mem_free(block->kxb_slots, (size_t)block->kxb_nr * NLX_BEV_STRIDE, 7);
        m0_free(block);
    }
    m0_free(kx);
}

static int nlx_core_tm_start(struct nlx_core_domain *cd, struct m0_net_transfer_mc *tm,
                             struct nlx_core_transfer_mc *ctm)
{
    struct nlx_kcore_domain *kd = kx_domain(cd);
    struct nlx_core_buffer_event *bevs;
    struct nlx_kx_tm *kx;
    int rc;

    (void)tm;
    M0_ALLOC_PTR(kx);
    if (kx == NULL)
        return -ENOMEM;
    INIT_LIST_HEAD(&kx->kx_blocks);
    kx_locate(&kx->kx_ktm.ktm_ctm_loc, ctm);
    rc = kd->kd_drv_ops->ko_tm_start(kd, ctm, &kx->kx_ktm);
    if (rc != 0) {
        kx_tm_free(kx);
        return rc;
    }
    rc = nlx_core_new_blessed_bevs(cd, ctm, 2, &bevs);
    if (rc != 0) {
        kd->kd_drv_ops->ko_tm_stop(ctm, &kx->kx_ktm);
        kx_tm_free(kx);
        return rc;
    }
    bev_cqueue_init(&ctm->ctm_bevq, bevs, (void *)((char *)bevs + NLX_BEV_STRIDE));
    ctm->ctm_bev_needed = 0;
    ctm->ctm_upvt = NULL;
    return 0;
}

static void nlx_core_tm_stop(struct nlx_core_domain *cd, struct nlx_core_transfer_mc *ctm)
{
    struct nlx_kx_tm *kx = container_of(kx_tm(ctm), struct nlx_kx_tm, kx_ktm);

    kx_domain(cd)->kd_drv_ops->ko_tm_stop(ctm, &kx->kx_ktm);
    bev_cqueue_fini(&ctm->ctm_bevq);
    kx_tm_free(kx);
}
