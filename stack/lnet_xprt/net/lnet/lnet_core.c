/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What both flavours of the core have in common, part of lnet_main.c. */

/* ---- locations ------------------------------------------------------------------------------- */

static uint32_t nlx_core_kmem_loc_checksum(const struct nlx_core_kmem_loc *loc)
{
    return loc->kl_data[0] ^ loc->kl_data[1] ^ loc->kl_data[2];
}

static bool nlx_core_kmem_loc_is_empty(const struct nlx_core_kmem_loc *loc)
{
    return (loc->kl_data[0] | loc->kl_data[1] | loc->kl_data[2]) == 0;
}

static bool nlx_core_kmem_loc_invariant(const struct nlx_core_kmem_loc *loc)
{
    return loc->kl_page != NULL && loc->kl_checksum == nlx_core_kmem_loc_checksum(loc);
}

/* ---- event slots ----------------------------------------------------------------------------- */

static int nlx_core_new_blessed_bev(struct nlx_core_domain *cd, struct nlx_core_transfer_mc *ctm,
                                    struct nlx_core_buffer_event **bev)
{
    return nlx_core_new_blessed_bevs(cd, ctm, 1, bev);
}

/* The ring grows by blocks, and never shrinks. Slots of a failed attempt stay. */
static int nlx_core_bevq_provision(struct nlx_core_domain *cd, struct nlx_core_transfer_mc *ctm,
                                   size_t need)
{
    size_t wanted = ctm->ctm_bev_needed + need + M0_NET_LNET_BEVQ_NUM_RESERVED;

    while (bev_cqueue_size(&ctm->ctm_bevq) < wanted) {
        struct nlx_core_buffer_event *slots;
        unsigned i;
        int rc = nlx_core_new_blessed_bevs(cd, ctm, NLX_BEV_BLOCK, &slots);

        if (rc != 0)
            return rc;
        for (i = 0; i < NLX_BEV_BLOCK; i++)
            bev_cqueue_add(&ctm->ctm_bevq, (void *)((char *)slots + (size_t)i * NLX_BEV_STRIDE));
    }
    ctm->ctm_bev_needed += need;
    port_book(PORT_BOOK_M0_SLOT, (int64_t)need);
    return 0;
}

static void nlx_core_bevq_release(struct nlx_core_transfer_mc *ctm, size_t release)
{
    M0_PRE(release <= ctm->ctm_bev_needed);
    ctm->ctm_bev_needed -= release;
    port_book(PORT_BOOK_M0_SLOT, -(int64_t)release);
}

static bool nlx_core_buf_event_get(struct nlx_core_transfer_mc *ctm,
                                   struct nlx_core_buffer_event *event)
{
    const struct nlx_core_buffer_event *slot = bev_cqueue_get(&ctm->ctm_bevq);

    if (slot == NULL)
        return false;
    *event = *slot;
    memset(&event->cbe_tm_link, 0, sizeof(event->cbe_tm_link));
    return true;
}

/* ---- addresses ------------------------------------------------------------------------------- */

static bool nlx_core_ep_eq(const struct nlx_core_ep_addr *a, const struct nlx_core_ep_addr *b)
{
    return a->cepa_nid == b->cepa_nid && a->cepa_pid == b->cepa_pid &&
           a->cepa_portal == b->cepa_portal && a->cepa_tmid == b->cepa_tmid;
}

/* Decimal digits only, up to `end`, which is then behind the number. */
static const char *decode_number(const char *text, char end, uint32_t *number)
{
    uint64_t value = 0;
    const char *at = text;

    while (*at >= '0' && *at <= '9' && value <= UINT32_MAX)
        value = value * 10 + (uint64_t)(*at++ - '0');
    if (at == text || *at != end || value > UINT32_MAX)
        return NULL;
    *number = (uint32_t)value;
    return end == '\0' ? at : at + 1;
}

static int nlx_core_ep_addr_decode(struct nlx_core_domain *cd, const char *ep_addr,
                                   struct nlx_core_ep_addr *cepa)
{
    const char *colon = strchr(ep_addr, ':');
    char nidstr[M0_NET_LNET_NIDSTR_SIZE];
    uint32_t pid, portal, tmid = M0_NET_LNET_TMID_INVALID;
    uint64_t nid;
    int rc;

    if (colon == NULL || colon == ep_addr || colon - ep_addr >= M0_NET_LNET_NIDSTR_SIZE)
        return -EINVAL;
    memcpy(nidstr, ep_addr, (size_t)(colon - ep_addr));
    nidstr[colon - ep_addr] = '\0';
    rc = nlx_core_nidstr_decode(cd, nidstr, &nid);
    if (rc != 0)
        return rc;

    ep_addr = decode_number(colon + 1, ':', &pid);
    if (ep_addr != NULL)
        ep_addr = decode_number(ep_addr, ':', &portal);
    if (ep_addr == NULL)
        return -EINVAL;
    if (strcmp(ep_addr, "*") != 0) {
        if (decode_number(ep_addr, '\0', &tmid) == NULL || tmid > M0_NET_LNET_TMID_MAX ||
            tmid + 1 <= M0_NET_LNET_TMID_MIN)
            return -EINVAL;
    }
    *cepa = (struct nlx_core_ep_addr){nid, pid, portal, tmid};
    return 0;
}

static void nlx_core_ep_addr_encode(struct nlx_core_domain *cd, const struct nlx_core_ep_addr *cepa,
                                    char buf[M0_NET_LNET_XEP_ADDR_LEN])
{
    char nidstr[M0_NET_LNET_NIDSTR_SIZE];
    int rc = nlx_core_nidstr_encode(cd, cepa->cepa_nid, nidstr);

    M0_ASSERT(rc == 0);
    if (cepa->cepa_tmid == M0_NET_LNET_TMID_INVALID)
        snprintf(buf, M0_NET_LNET_XEP_ADDR_LEN, "%s:%u:%u:*", nidstr, cepa->cepa_pid,
                 cepa->cepa_portal);
    else
        snprintf(buf, M0_NET_LNET_XEP_ADDR_LEN, "%s:%u:%u:%u", nidstr, cepa->cepa_pid,
                 cepa->cepa_portal, cepa->cepa_tmid);
}

/* ---- match bits and descriptors -------------------------------------------------------------- */

static uint64_t nlx_core_match_bits_encode(uint32_t tmid, uint64_t counter)
{
    M0_PRE(tmid <= M0_NET_LNET_TMID_MAX && counter <= M0_NET_LNET_BUFFER_ID_MAX);
    return (uint64_t)tmid << M0_NET_LNET_TMID_SHIFT | counter;
}

static void nlx_core_match_bits_decode(uint64_t match_bits, uint32_t *tmid, uint64_t *counter)
{
    *tmid = (uint32_t)(match_bits >> M0_NET_LNET_TMID_SHIFT);
    *counter = match_bits & M0_NET_LNET_BUFFER_ID_MASK;
}

static uint64_t nlx_core_buf_desc_checksum(const struct nlx_core_buf_desc *cbd)
{
    return cbd->cbd_data[0] ^ cbd->cbd_data[1] ^ cbd->cbd_data[2] ^ cbd->cbd_data[3] ^
           cbd->cbd_data[4];
}

static void nlx_core_buf_desc_encode(struct nlx_core_transfer_mc *ctm, struct nlx_core_buffer *cb,
                                     struct nlx_core_buf_desc *cbd)
{
    M0_PRE(cb->cb_qtype == M0_NET_QT_PASSIVE_BULK_RECV ||
           cb->cb_qtype == M0_NET_QT_PASSIVE_BULK_SEND);
    cb->cb_match_bits = nlx_core_match_bits_encode(ctm->ctm_addr.cepa_tmid, ctm->ctm_mb_counter);
    if (++ctm->ctm_mb_counter > M0_NET_LNET_BUFFER_ID_MAX)
        ctm->ctm_mb_counter = M0_NET_LNET_BUFFER_ID_MIN;

    memset(cbd, 0, sizeof(*cbd));
    cbd->cbd_match_bits = cb->cb_match_bits;
    cbd->cbd_passive_ep = ctm->ctm_addr;
    cbd->cbd_qtype = cb->cb_qtype;
    cbd->cbd_size = cb->cb_length;
    cbd->cbd_checksum = nlx_core_buf_desc_checksum(cbd);
}

static int nlx_core_buf_desc_decode(struct nlx_core_transfer_mc *ctm, struct nlx_core_buffer *cb,
                                    const struct nlx_core_buf_desc *cbd)
{
    uint64_t counter;
    uint32_t tmid;

    (void)ctm;
    if (nlx_core_buf_desc_checksum(cbd) != cbd->cbd_checksum)
        return -EINVAL;
    if (cbd->cbd_qtype == M0_NET_QT_PASSIVE_BULK_SEND) {
        if (cb->cb_qtype != M0_NET_QT_ACTIVE_BULK_RECV)
            return -EPERM;
        if (cbd->cbd_size > cb->cb_length)
            return -EFBIG;
        cb->cb_length = cbd->cbd_size; /* LNet drops a request for more than there is */
    } else if (cbd->cbd_qtype == M0_NET_QT_PASSIVE_BULK_RECV) {
        if (cb->cb_qtype != M0_NET_QT_ACTIVE_BULK_SEND)
            return -EPERM;
        if (cb->cb_length > cbd->cbd_size)
            return -EFBIG;
    } else {
        return -EINVAL;
    }
    nlx_core_match_bits_decode(cbd->cbd_match_bits, &tmid, &counter);
    if (counter < M0_NET_LNET_BUFFER_ID_MIN || tmid != cbd->cbd_passive_ep.cepa_tmid)
        return -EINVAL;
    cb->cb_match_bits = cbd->cbd_match_bits;
    cb->cb_addr = cbd->cbd_passive_ep;
    return 0;
}

/* ---- what needs no kernel -------------------------------------------------------------------- */

static int nlx_core_init(void)
{
    return 0;
}

static void nlx_core_fini(void)
{
}

static void *nlx_core_mem_alloc(size_t size, unsigned shift)
{
    return m0_alloc_aligned(size, shift);
}

static void nlx_core_mem_free(void *data, size_t size, unsigned shift)
{
    m0_free_aligned(data, size, shift);
}

static void nlx_core_nidstrs_put(struct nlx_core_domain *cd, char ***nidary)
{
    (void)cd;
    m0_free(*nidary);
    *nidary = NULL;
}

static void nlx_core_dom_set_debug(struct nlx_core_domain *cd, unsigned dbg)
{
    cd->_debug_ = dbg;
}

static void nlx_core_tm_set_debug(struct nlx_core_transfer_mc *ctm, unsigned dbg)
{
    ctm->_debug_ = dbg;
}
