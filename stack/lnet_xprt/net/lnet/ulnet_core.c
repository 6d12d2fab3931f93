/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The core interface of the user flavour, part of lnet_main.c: each call is at most one crossing to
 * the driver. In batched mode operations go into the submission ring; lnet_ioctl.h has its layout.
 */
#include "net/lnet/ulnet_core.h"

enum { NLX_UC_SQ_NR = 64 };

struct nlx_uc_domain { /* cd_upvt */
    const struct nlx_ucore_device *ucd_device;
    void *ucd_handle;
    m0_bcount_t ucd_max_buffer_size, ucd_max_segment_size;
    int32_t ucd_max_segments;
    bool ucd_batched;
};

struct nlx_uc_block { /* of event slots */
    struct nlx_uc_block *ucb_next;
    void *ucb_slots;
    unsigned ucb_nr;
};

struct nlx_uc_tm { /* ctm_upvt, while it is started */
    struct nlx_uc_block *uct_blocks;
    struct nlx_core_sq *uct_sq; /* NULL: each operation is a crossing */
    uint64_t uct_seq;
    unsigned uct_nesting; /* of batches */
    struct port_thread *uct_worker; /* the machine's event thread: its next call is a wait */
};

static struct nlx_uc_domain *uc_domain(const struct nlx_core_domain *cd)
{
    return cd->cd_upvt;
}

static struct nlx_uc_tm *uc_tm(const struct nlx_core_transfer_mc *ctm)
{
    return ctm->ctm_upvt;
}

/* The only way to the driver. */
static int nlx_ucore_ioctl(const struct nlx_core_domain *cd, unsigned cmd, void *arg)
{
    const struct nlx_uc_domain *ud = uc_domain(cd);

    return (int)ud->ucd_device->ud_ioctl(ud->ucd_handle, cmd, arg);
}

/* After the driver has gone, events that are still in the rings must not be delivered. */
static bool nlx_core_is_lost(const struct nlx_core_domain *cd)
{
    const struct nlx_uc_domain *ud = uc_domain(cd);

    return ud->ucd_device->ud_is_lost != NULL && ud->ucd_device->ud_is_lost(ud->ucd_handle);
}

#include "net/lnet/ulnet_shadow.c"

/* ---- domains and buffers --------------------------------------------------------------------- */

static int nlx_core_dom_init(struct m0_net_domain *dom, struct nlx_core_domain *cd)
{
    struct m0_lnet_dev_dom_init_params params = {.ddi_cd = cd};
    struct nlx_uc_domain *ud;
    int rc;

    (void)dom;
    M0_ALLOC_PTR(ud);
    if (ud == NULL)
        return -ENOMEM;
    ud->ucd_device = nlx_ucore_device_find(nlx_ucore_dev_name);
    rc = ud->ucd_device->ud_open(nlx_ucore_dev_name, &ud->ucd_handle);
    if (rc != 0) {
        m0_free(ud);
        return rc;
    }
    cd->cd_upvt = ud;
    rc = nlx_ucore_ioctl(cd, M0_LNET_DOM_INIT, &params);
    if (rc != 0) {
        ud->ucd_device->ud_close(ud->ucd_handle);
        cd->cd_upvt = NULL;
        m0_free(ud);
        return rc;
    }
    ud->ucd_max_buffer_size = params.ddi_max_buffer_size;
    ud->ucd_max_segment_size = params.ddi_max_buffer_segment_size;
    ud->ucd_max_segments = params.ddi_max_buffer_segments;
    return 0;
}

/* The driver frees all that belongs to the descriptor. */
static void nlx_core_dom_fini(struct nlx_core_domain *cd)
{
    struct nlx_uc_domain *ud = uc_domain(cd);

    ud->ucd_device->ud_close(ud->ucd_handle);
    cd->cd_upvt = NULL;
    m0_free(ud);
}

static void nlx_core_dom_set_batched(struct nlx_core_domain *cd, bool batched)
{
    uc_domain(cd)->ucd_batched = batched;
}

static m0_bcount_t nlx_core_get_max_buffer_size(struct nlx_core_domain *cd)
{
    return uc_domain(cd)->ucd_max_buffer_size;
}

static m0_bcount_t nlx_core_get_max_buffer_segment_size(struct nlx_core_domain *cd)
{
    return uc_domain(cd)->ucd_max_segment_size;
}

static int32_t nlx_core_get_max_buffer_segments(struct nlx_core_domain *cd)
{
    return uc_domain(cd)->ucd_max_segments;
}

static int nlx_core_buf_register(struct nlx_core_domain *cd, nlx_core_opaque_ptr_t buffer_id,
                                 const struct m0_bufvec *bvec, struct nlx_core_buffer *cb)
{
    struct m0_lnet_dev_buf_register_params params = {
        .dbr_lcbuf = cb, .dbr_buffer_id = buffer_id, .dbr_bvec = *bvec};
    struct nlx_uc_shadow *shadow;
    int rc = uc_shadow_new(uc_domain(cd), bvec, &shadow);

    if (rc != 0)
        return rc;
    if (shadow != NULL)
        params.dbr_bvec = shadow->us_vector;
    rc = nlx_ucore_ioctl(cd, M0_LNET_BUF_REGISTER, &params);
    if (rc != 0)
        uc_shadow_free(shadow);
    else
        cb->cb_upvt = shadow;
    return rc;
}

static void nlx_core_buf_deregister(struct nlx_core_domain *cd, struct nlx_core_buffer *cb)
{
    struct m0_lnet_dev_buf_deregister_params params = {.dbd_kb = cb->cb_kpvt};
    int rc = nlx_ucore_ioctl(cd, M0_LNET_BUF_DEREGISTER, &params);

    M0_ASSERT(rc != -EBADR && rc != -EBUSY);
    uc_shadow_free(cb->cb_upvt);
    cb->cb_upvt = NULL;
}

/* ---- operations ------------------------------------------------------------------------------ */

static bool uc_pending(const struct nlx_uc_tm *tm)
{
    return tm->uct_sq != NULL &&
           m0_atomic64_get(&tm->uct_sq->sq_tail) != m0_atomic64_get(&tm->uct_sq->sq_head);
}

/* Hands what is in the ring to the driver. Operations that it refuses have an event. */
static int uc_flush(const struct nlx_core_domain *cd, const struct nlx_core_transfer_mc *ctm)
{
    struct m0_lnet_dev_tm_params params = {.dtp_ktm = ctm->ctm_kpvt};
    int rc;

    if (!uc_pending(uc_tm(ctm)))
        return 0;
    rc = nlx_ucore_ioctl(cd, M0_LNET_SQ_SUBMIT, &params);
    return rc < 0 ? rc : 0;
}

/* The ring has room. */
static void uc_enqueue(struct nlx_uc_tm *tm, unsigned cmd, const struct nlx_core_buffer *cb)
{
    struct nlx_core_sq *sq = tm->uct_sq;
    uint64_t tail = (uint64_t)m0_atomic64_get(&sq->sq_tail);

    sq->sq_e[tail & sq->sq_mask] = (struct nlx_core_sqe){
        .sq_op = _IOC_NR(cmd),
        .sq_kb = (uintptr_t)cb->cb_kpvt,
        .sq_seq = tm->uct_seq++,
        .sq_length = cb->cb_length,
        .sq_min_receive_size = cb->cb_min_receive_size,
        .sq_max_operations = cb->cb_max_operations,
        .sq_match_bits = cb->cb_match_bits,
        .sq_addr = cb->cb_addr,
    };
    m0_atomic64_set(&sq->sq_tail, (int64_t)tail + 1); /* publishes the entry */
}

/* Others may learn of a passive buffer as soon as its add returns, so it never waits in the ring.
 */
static int uc_operation(const struct nlx_core_domain *cd, const struct nlx_core_transfer_mc *ctm,
                        const struct nlx_core_buffer *cb, unsigned cmd, bool may_wait)
{
    struct m0_lnet_dev_buf_queue_params params = {.dbq_ktm = ctm->ctm_kpvt, .dbq_kb = cb->cb_kpvt};
    struct nlx_uc_tm *tm = uc_tm(ctm);
    const struct nlx_core_sq *sq = tm->uct_sq;
    int rc = 0;

    uc_shadow_fill(cb);
    if (sq == NULL) {
        rc = nlx_ucore_ioctl(cd, cmd, &params);
        M0_ASSERT(rc != -EBADR && rc != -EFAULT);
        return rc;
    }
    if (m0_atomic64_get(&sq->sq_tail) - m0_atomic64_get(&sq->sq_head) >= (int64_t)sq->sq_nr)
        rc = uc_flush(cd, ctm);
    if (rc != 0)
        return rc;
    uc_enqueue(tm, cmd, cb);
    return tm->uct_nesting > 0 && may_wait ? 0 : uc_flush(cd, ctm);
}

static int nlx_core_buf_msg_recv(struct nlx_core_domain *cd, struct nlx_core_transfer_mc *ctm,
                                 struct nlx_core_buffer *cb)
{
    return uc_operation(cd, ctm, cb, M0_LNET_BUF_MSG_RECV, true);
}

static int nlx_core_buf_msg_send(struct nlx_core_domain *cd, struct nlx_core_transfer_mc *ctm,
                                 struct nlx_core_buffer *cb)
{
    return uc_operation(cd, ctm, cb, M0_LNET_BUF_MSG_SEND, true);
}

static int nlx_core_buf_active_recv(struct nlx_core_domain *cd, struct nlx_core_transfer_mc *ctm,
                                    struct nlx_core_buffer *cb)
{
    return uc_operation(cd, ctm, cb, M0_LNET_BUF_ACTIVE_RECV, true);
}

static int nlx_core_buf_active_send(struct nlx_core_domain *cd, struct nlx_core_transfer_mc *ctm,
                                    struct nlx_core_buffer *cb)
{
    return uc_operation(cd, ctm, cb, M0_LNET_BUF_ACTIVE_SEND, true);
}

static int nlx_core_buf_passive_recv(struct nlx_core_domain *cd, struct nlx_core_transfer_mc *ctm,
                                     struct nlx_core_buffer *cb)
{
    return uc_operation(cd, ctm, cb, M0_LNET_BUF_PASSIVE_RECV, false);
}

static int nlx_core_buf_passive_send(struct nlx_core_domain *cd, struct nlx_core_transfer_mc *ctm,
                                     struct nlx_core_buffer *cb)
{
    return uc_operation(cd, ctm, cb, M0_LNET_BUF_PASSIVE_SEND, false);
}

static int nlx_core_buf_del(struct nlx_core_domain *cd, struct nlx_core_transfer_mc *ctm,
                            struct nlx_core_buffer *cb)
{
    struct m0_lnet_dev_buf_queue_params params = {.dbq_ktm = ctm->ctm_kpvt, .dbq_kb = cb->cb_kpvt};
    int rc = uc_flush(cd, ctm);

    return rc != 0 ? rc : nlx_ucore_ioctl(cd, M0_LNET_BUF_DEL, &params);
}

static void nlx_core_batch_begin(struct nlx_core_domain *cd, struct nlx_core_transfer_mc *ctm)
{
    (void)cd;
    uc_tm(ctm)->uct_nesting++;
}

/* The event thread submits with its next wait. */
static void nlx_core_batch_end(struct nlx_core_domain *cd, struct nlx_core_transfer_mc *ctm)
{
    struct nlx_uc_tm *tm = uc_tm(ctm);

    M0_PRE(tm->uct_nesting > 0);
    if (--tm->uct_nesting == 0 && port_thread_self() != tm->uct_worker)
        (void)uc_flush(cd, ctm); /* if it fails, so does the next wait */
}

/* ---- events ---------------------------------------------------------------------------------- */

static int nlx_core_buf_event_wait(struct nlx_core_domain *cd, struct nlx_core_transfer_mc *ctm,
                                   m0_time_t timeout)
{
    struct m0_lnet_dev_buf_event_wait_params params = {.dbw_ktm = ctm->ctm_kpvt,
                                                       .dbw_timeout = timeout};

    if (nlx_core_is_lost(cd))
        return -ECONNRESET;
    if (!bev_cqueue_is_empty(&ctm->ctm_bevq))
        return 0;
    if (timeout == 0)
        return -ETIMEDOUT;
    return nlx_ucore_ioctl(
        cd, uc_pending(uc_tm(ctm)) ? M0_LNET_SQ_SUBMIT_AND_WAIT : M0_LNET_BUF_EVENT_WAIT, &params);
}

/* A driver that does not know the verb: the wait ends by itself after some seconds. */
static void nlx_core_buf_event_wake(struct nlx_core_domain *cd, struct nlx_core_transfer_mc *ctm)
{
    struct m0_lnet_dev_tm_params params = {.dtp_ktm = ctm->ctm_kpvt};

    (void)nlx_ucore_ioctl(cd, M0_LNET_TM_WAKE, &params);
}

/* One crossing, or one for each where the driver does not know more. */
static int uc_bless(const struct nlx_core_domain *cd, const struct nlx_core_transfer_mc *ctm,
                    const struct nlx_uc_block *block)
{
    struct m0_lnet_dev_bev_bless_n_params params = {.dbn_ktm = ctm->ctm_kpvt,
                                                    .dbn_nr = block->ucb_nr};
    unsigned i;
    int rc;

    for (i = 0; i < block->ucb_nr; i++)
        params.dbn_bevs[i] = (void *)((char *)block->ucb_slots + (size_t)i * NLX_BEV_STRIDE);
    rc = nlx_ucore_ioctl(cd, M0_LNET_BEV_BLESS_N, &params);
    if (rc != -ENOTTY)
        return rc < 0 ? rc : 0;
    for (i = 0, rc = 0; rc == 0 && i < block->ucb_nr; i++) {
        struct m0_lnet_dev_bev_bless_params one = {ctm->ctm_kpvt, params.dbn_bevs[i]};

        rc = nlx_ucore_ioctl(cd, M0_LNET_BEV_BLESS, &one);
    }
    return rc;
}

static int nlx_core_new_blessed_bevs(struct nlx_core_domain *cd, struct nlx_core_transfer_mc *ctm,
                                     unsigned nr, struct nlx_core_buffer_event **bevs)
{
    struct nlx_uc_tm *tm = uc_tm(ctm);
    struct nlx_uc_block *block;

    M0_PRE(nr > 0 && nr <= NLX_BEV_BLOCK);
    if (M0_FI_ENABLED("fail"))
        return -ENOMEM;
    M0_ALLOC_PTR(block);
    if (block == NULL)
        return -ENOMEM;
    block->ucb_slots = nlx_core_mem_alloc((size_t)nr * NLX_BEV_STRIDE, 7);
    if (block->ucb_slots == NULL) {
        m0_free(block);
        return -ENOMEM;
    }
    block->ucb_nr = nr;
    block->ucb_next = tm->uct_blocks;
    tm->uct_blocks = block;
    *bevs = block->ucb_slots;
    return uc_bless(cd, ctm, block);
}

/* ---- NIDs ------------------------------------------------------------------------------------ */

static int nlx_core_nidstr_decode(struct nlx_core_domain *cd, const char *nidstr, uint64_t *nid)
{
    struct m0_lnet_dev_nid_encdec_params params = {.dn_nid = 0};
    int rc;

    if (strlen(nidstr) >= sizeof(params.dn_buf))
        return -EINVAL;
    memcpy(params.dn_buf, nidstr, strlen(nidstr) + 1);
    rc = nlx_ucore_ioctl(cd, M0_LNET_NIDSTR_DECODE, &params);
    *nid = params.dn_nid;
    return rc;
}

/*
 * The NIDs of common networks, so that the end point of a new sender needs no crossing: an address
 * of 32 bits, and above it the kind of the network and its number.
 */
static bool uc_nidstr(uint64_t nid, char nidstr[M0_NET_LNET_NIDSTR_SIZE])
{
    static const struct {
        unsigned kind;
        const char *name;
        bool dotted;
    } kinds[] = {{2, "tcp", true}, {5, "o2ib", true}, {9, "lo", false}, {13, "gni", false}};
    unsigned kind = (unsigned)(nid >> 48), number = (unsigned)(nid >> 32) & 0xffff, i;
    uint32_t address = (uint32_t)nid;
    char suffix[8] = "";

    if (number != 0)
        snprintf(suffix, sizeof(suffix), "%u", number);
    for (i = 0; i < ARRAY_SIZE(kinds); i++) {
        if (kinds[i].kind != kind)
            continue;
        if (kinds[i].dotted)
            snprintf(nidstr, M0_NET_LNET_NIDSTR_SIZE, "%u.%u.%u.%u@%s%s", address >> 24,
                     address >> 16 & 0xff, address >> 8 & 0xff, address & 0xff, kinds[i].name,
                     suffix);
        else
            snprintf(nidstr, M0_NET_LNET_NIDSTR_SIZE, "%u@%s%s", address, kinds[i].name, suffix);
        return true;
    }
    return false;
}

static int nlx_core_nidstr_encode(struct nlx_core_domain *cd, uint64_t nid,
                                  char nidstr[M0_NET_LNET_NIDSTR_SIZE])
{
    struct m0_lnet_dev_nid_encdec_params params = {.dn_nid = nid};
    int rc;

    if (uc_nidstr(nid, nidstr))
        return 0;
    rc = nlx_ucore_ioctl(cd, M0_LNET_NIDSTR_ENCODE, &params);
    memcpy(nidstr, params.dn_buf, M0_NET_LNET_NIDSTR_SIZE);
    return rc;
}

/* The pointers and, behind them, the texts are one block. */
/* The bytes that are offered at first, enough for most hosts; tests set fewer. */
static unsigned nlx_ucore_nidstrs_thunk = 128;

static int nlx_core_nidstrs_get(struct nlx_core_domain *cd, char ***nidary)
{
    struct m0_lnet_dev_nidstrs_get_params params = {.dng_size = nlx_ucore_nidstrs_thunk};
    size_t pointers;
    char *block, *text;
    int count, i;

    for (;; params.dng_size *= 2) {
        pointers = (params.dng_size / 4 + 1) * sizeof(char *);
        block = m0_alloc(pointers + params.dng_size);
        if (block == NULL)
            return -ENOMEM;
        params.dng_buf = block + pointers;
        count = nlx_ucore_ioctl(cd, M0_LNET_NIDSTRS_GET, &params);
        if (count != -EFBIG)
            break;
        m0_free(block);
    }
    if (count < 0) {
        m0_free(block);
        return count;
    }
    *nidary = (char **)(void *)block;
    for (i = 0, text = params.dng_buf; i < count; i++, text += strlen(text) + 1)
        (*nidary)[i] = text;
    (*nidary)[count] = NULL;
    return 0;
}

/* ---- transfer machines ----------------------------------------------------------------------- */

static size_t uc_sq_bytes(void)
{
    return sizeof(struct nlx_core_sq) + NLX_UC_SQ_NR * sizeof(struct nlx_core_sqe);
}

static void uc_tm_free(struct nlx_uc_tm *tm)
{
    while (tm->uct_blocks != NULL) {
        struct nlx_uc_block *block = tm->uct_blocks;

        tm->uct_blocks = block->ucb_next;
        nlx_core_mem_free(block->ucb_slots, (size_t)block->ucb_nr * NLX_BEV_STRIDE, 7);
        m0_free(block);
    }
    if (tm->uct_sq != NULL)
        nlx_core_mem_free(tm->uct_sq, uc_sq_bytes(), 12);
    m0_free(tm);
}

/* A driver without the ring leaves the machine in immediate mode. */
static int uc_sq_setup(const struct nlx_core_domain *cd, const struct nlx_core_transfer_mc *ctm)
{
    struct nlx_uc_tm *tm = uc_tm(ctm);
    struct m0_lnet_dev_sq_setup_params params = {.dss_ktm = ctm->ctm_kpvt, .dss_nr = NLX_UC_SQ_NR};
    int rc;

    params.dss_sq = nlx_core_mem_alloc(uc_sq_bytes(), 12);
    if (params.dss_sq == NULL)
        return -ENOMEM;
    rc = nlx_ucore_ioctl(cd, M0_LNET_SQ_SETUP, &params);
    if (rc == 0)
        tm->uct_sq = params.dss_sq;
    else
        nlx_core_mem_free(params.dss_sq, uc_sq_bytes(), 12);
    return rc == -ENOTTY ? 0 : rc;
}

static void uc_tm_stop(const struct nlx_core_domain *cd, const struct nlx_core_transfer_mc *ctm)
{
    struct m0_lnet_dev_tm_stop_params params = {.dts_ktm = ctm->ctm_kpvt};
    int rc = nlx_ucore_ioctl(cd, M0_LNET_TM_STOP, &params);

    M0_ASSERT(rc != -EBADR && rc != -EBUSY);
}

static int nlx_core_tm_start(struct nlx_core_domain *cd, struct m0_net_transfer_mc *tm,
                             struct nlx_core_transfer_mc *ctm)
{
    struct m0_lnet_dev_tm_start_params params = {.dts_ctm = ctm};
    struct nlx_core_buffer_event *bevs;
    struct nlx_uc_tm *ut;
    int rc;

    (void)tm;
    M0_ALLOC_PTR(ut);
    if (ut == NULL)
        return -ENOMEM;
    ut->uct_worker = port_thread_self();
    rc = nlx_ucore_ioctl(cd, M0_LNET_TM_START, &params);
    if (rc != 0) {
        m0_free(ut);
        return rc;
    }
    ctm->ctm_upvt = ut;
    rc = nlx_core_new_blessed_bevs(cd, ctm, 2, &bevs);
    if (rc == 0 && uc_domain(cd)->ucd_batched)
        rc = uc_sq_setup(cd, ctm);
    if (rc != 0) {
        uc_tm_stop(cd, ctm);
        uc_tm_free(ut);
        ctm->ctm_upvt = NULL;
        return rc;
    }
    bev_cqueue_init(&ctm->ctm_bevq, bevs, (void *)((char *)bevs + NLX_BEV_STRIDE));
    ctm->ctm_bev_needed = 0;
    return 0;
}

static void nlx_core_tm_stop(struct nlx_core_domain *cd, struct nlx_core_transfer_mc *ctm)
{
    uc_tm_stop(cd, ctm);
    bev_cqueue_fini(&ctm->ctm_bevq);
    uc_tm_free(uc_tm(ctm));
    ctm->ctm_upvt = NULL;
}
