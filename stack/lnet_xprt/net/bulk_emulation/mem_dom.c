/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Domains, registered buffers and end points of the transport in memory, part of mem_xprt_xo.c. */
enum {
    MEM_MAX_SEGMENT = 1 << 18,
    MEM_MAX_SEGMENTS = 16,
    MEM_MAX_BUFFER = 1 << 22,
};

/* ---- domains and buffers --------------------------------------------------------------------- */

static int mem_dom_init(const struct m0_net_xprt *xprt, struct m0_net_domain *dom)
{
    struct m0_net_root *root = m0_net_root();
    struct mem_fabric *fabric = root->nr_mem;

    if (fabric == NULL) {
        M0_ALLOC_PTR(fabric);
        if (fabric == NULL)
            return -ENOMEM;
        m0_mutex_init(&fabric->lock);
        m0_list_init(&fabric->machines);
        root->nr_mem = fabric;
    }
    fabric->domains++;
    return 0;
}

static void mem_dom_fini(struct m0_net_domain *dom)
{
    struct m0_net_root *root = m0_net_root();
    struct mem_fabric *fabric = root->nr_mem;

    if (--fabric->domains > 0)
        return;
    m0_list_fini(&fabric->machines);
    m0_mutex_fini(&fabric->lock);
    m0_free(fabric);
    root->nr_mem = NULL;
}

static m0_bcount_t mem_max_buffer_size(const struct m0_net_domain *dom)
{
    return MEM_MAX_BUFFER;
}

static m0_bcount_t mem_max_segment_size(const struct m0_net_domain *dom)
{
    return MEM_MAX_SEGMENT;
}

static int32_t mem_max_segments(const struct m0_net_domain *dom)
{
    return MEM_MAX_SEGMENTS;
}

static m0_bcount_t mem_max_desc_size(const struct m0_net_domain *dom)
{
    return sizeof(struct mem_desc);
}

static int mem_buf_register(struct m0_net_buffer *nb)
{
    const struct m0_vec *vec = &nb->nb_buffer.ov_vec;
    struct mem_buffer *buffer;
    uint32_t i;

    if (vec->v_nr > MEM_MAX_SEGMENTS || m0_vec_count(vec) > MEM_MAX_BUFFER)
        return -EFBIG;
    for (i = 0; i < vec->v_nr; i++) {
        if (vec->v_count[i] > MEM_MAX_SEGMENT)
            return -EFBIG;
        if (vec->v_count[i] == 0 || nb->nb_buffer.ov_buf[i] == NULL)
            return -EINVAL;
    }
    M0_ALLOC_PTR(buffer);
    if (buffer == NULL)
        return -ENOMEM;
    buffer->nb = nb;
    m0_list_link_init(&buffer->link);
    nb->nb_xprt_private = buffer;
    return 0;
}

static void mem_buf_deregister(struct m0_net_buffer *nb)
{
    m0_free(nb->nb_xprt_private);
}

/* ---- end points ------------------------------------------------------------------------------ */

static int mem_place_parse(struct mem_place *place, const char *text)
{
    unsigned a, b, c, d, port;
    char rest;

    if (strlen(text) >= M0_NET_BULK_MEM_XEP_ADDR_LEN ||
        sscanf(text, "%u.%u.%u.%u:%u%c", &a, &b, &c, &d, &port, &rest) != 5 || a > 255 || b > 255 ||
        c > 255 || d > 255 || port == 0 || port > 65535)
        return -EINVAL;
    memset(place, 0, sizeof(*place));
    place->octets[0] = (uint8_t)a;
    place->octets[1] = (uint8_t)b;
    place->octets[2] = (uint8_t)c;
    place->octets[3] = (uint8_t)d;
    place->port = (uint16_t)port;
    return 0;
}

static bool mem_same(const struct mem_place *a, const struct mem_place *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

static void mem_ep_release(struct m0_ref *ref)
{
    struct m0_net_end_point *ep = container_of(ref, struct m0_net_end_point, nep_ref);

    m0_nep_tlink_del_fini(ep);
    m0_free(container_of(ep, struct mem_ep, ep));
}

/* One more reference; NULL: no memory. With ntm_mutex. */
static struct m0_net_end_point *mem_ep_at(struct m0_net_transfer_mc *tm,
                                          const struct mem_place *place)
{
    const uint8_t *o = place->octets;
    struct m0_net_end_point *ep;
    struct mem_ep *mine;

    ep = m0_tl_find(m0_nep, it, &tm->ntm_end_points,
                    mem_same(&container_of(it, struct mem_ep, ep)->place, place));
    if (ep != NULL) {
        m0_ref_get(&ep->nep_ref);
        return ep;
    }
    M0_ALLOC_PTR(mine);
    if (mine == NULL)
        return NULL;
    mine->place = *place;
    snprintf(mine->addr, sizeof(mine->addr), "%u.%u.%u.%u:%u", o[0], o[1], o[2], o[3], place->port);
    mine->ep.nep_tm = tm;
    mine->ep.nep_addr = mine->addr;
    m0_ref_init(&mine->ep.nep_ref, 1, mem_ep_release);
    m0_nep_tlink_init_at_tail(&mine->ep, &tm->ntm_end_points);
    return &mine->ep;
}

static int mem_end_point_create(struct m0_net_end_point **epp, struct m0_net_transfer_mc *tm,
                                const char *addr)
{
    struct mem_place place;
    int rc = addr == NULL ? -ENOSYS : mem_place_parse(&place, addr);

    if (rc == 0 && (*epp = mem_ep_at(tm, &place)) == NULL)
        rc = -ENOMEM;
    return rc;
}
