/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Buffers that the device's driver cannot reach, part of lnet_main.c. The driver gets a shadow of
 * the buffer in memory that it can reach. Bytes are copied there when an operation that sends
 * begins, and back when one that receives has ended.
 */
struct nlx_uc_shadow { /* cb_upvt */
    const struct m0_bufvec *us_bvec; /* of the process */
    char *us_pages, *us_begin; /* the shadow, and its first byte: that of the buffer in its page */
    size_t us_room;
    struct m0_bufvec us_vector; /* the segments again, in the shadow */
};

static void uc_shadow_free(struct nlx_uc_shadow *shadow)
{
    if (shadow == NULL)
        return;
    if (shadow->us_pages != NULL)
        nlx_core_mem_free(shadow->us_pages, shadow->us_room, M0_SEG_SHIFT);
    m0_free(shadow->us_vector.ov_buf);
    m0_free(shadow);
}

/* Whether each segment goes on where the one before ends in its page. The bytes of all. */
static bool uc_is_regular(const struct m0_bufvec *bvec, m0_bcount_t *bytes)
{
    uintptr_t first = (uintptr_t)bvec->ov_buf[0];
    uint32_t i;

    for (i = 0, *bytes = 0; i < bvec->ov_vec.v_nr; i++) {
        if (((uintptr_t)bvec->ov_buf[i] - first - *bytes) % M0_SEG_SIZE != 0 ||
            bvec->ov_buf[i] == NULL || bvec->ov_vec.v_count[i] > M0_SEG_SIZE)
            return false;
        *bytes += bvec->ov_vec.v_count[i];
    }
    return true;
}

static bool uc_is_reachable(const struct nlx_uc_domain *ud, const struct m0_bufvec *bvec)
{
    uint32_t i;

    if (ud->ucd_device->ud_reaches == NULL)
        return true;
    for (i = 0; i < bvec->ov_vec.v_nr; i++)
        if (!ud->ucd_device->ud_reaches(bvec->ov_buf[i], bvec->ov_vec.v_count[i]))
            return false;
    return true;
}

/* *result NULL: the driver reaches the buffer, or will refuse its shape. */
static int uc_shadow_new(const struct nlx_uc_domain *ud, const struct m0_bufvec *bvec,
                         struct nlx_uc_shadow **result)
{
    uint32_t nr = bvec->ov_vec.v_nr, i;
    struct nlx_uc_shadow *shadow;
    m0_bcount_t bytes, at;
    size_t offset;

    *result = NULL;
    if (nr == 0 || nr > (uint32_t)ud->ucd_max_segments || uc_is_reachable(ud, bvec) ||
        !uc_is_regular(bvec, &bytes) || bytes == 0 || bytes > ud->ucd_max_buffer_size)
        return 0;
    M0_ALLOC_PTR(shadow);
    if (shadow == NULL)
        return -ENOMEM;
    offset = (uintptr_t)bvec->ov_buf[0] % M0_SEG_SIZE;
    shadow->us_bvec = bvec;
    shadow->us_room = offset + bytes;
    shadow->us_pages = nlx_core_mem_alloc(shadow->us_room, M0_SEG_SHIFT);
    M0_ALLOC_ARR(shadow->us_vector.ov_buf, nr);
    if (shadow->us_pages == NULL || shadow->us_vector.ov_buf == NULL) {
        uc_shadow_free(shadow);
        return -ENOMEM;
    }
    shadow->us_begin = shadow->us_pages + offset;
    shadow->us_vector.ov_vec = bvec->ov_vec;
    for (i = 0, at = 0; i < nr; at += bvec->ov_vec.v_count[i++])
        shadow->us_vector.ov_buf[i] = shadow->us_begin + at;
    *result = shadow;
    return 0;
}

/* Copies bytes of the buffer to the shadow, or back. */
static void uc_shadow_copy(const struct nlx_uc_shadow *shadow, m0_bindex_t from, m0_bcount_t bytes,
                           bool back)
{
    const struct m0_bufvec *bvec = shadow->us_bvec;
    m0_bindex_t begin = 0, end = from + bytes;
    uint32_t i;

    for (i = 0; i < bvec->ov_vec.v_nr && begin < end; begin += bvec->ov_vec.v_count[i++]) {
        m0_bindex_t low = begin > from ? begin : from, high = begin + bvec->ov_vec.v_count[i];
        char *own = bvec->ov_buf[i];

        if (high > end)
            high = end;
        if (high <= low)
            continue;
        if (back)
            memcpy(own + (low - begin), shadow->us_begin + low, high - low);
        else
            memcpy(shadow->us_begin + low, own + (low - begin), high - low);
    }
}

/* An operation begins. */
static void uc_shadow_fill(const struct nlx_core_buffer *cb)
{
    const struct nlx_uc_shadow *shadow = cb->cb_upvt;

    if (shadow != NULL &&
        (cb->cb_qtype == M0_NET_QT_MSG_SEND || cb->cb_qtype == M0_NET_QT_PASSIVE_BULK_SEND ||
         cb->cb_qtype == M0_NET_QT_ACTIVE_BULK_SEND))
        uc_shadow_copy(shadow, 0, cb->cb_length, false);
}

static void nlx_core_buf_arrived(const struct nlx_core_buffer *cb,
                                 const struct nlx_core_buffer_event *event)
{
    const struct nlx_uc_shadow *shadow = cb->cb_upvt;

    if (shadow != NULL &&
        (cb->cb_qtype == M0_NET_QT_MSG_RECV || cb->cb_qtype == M0_NET_QT_PASSIVE_BULK_RECV ||
         cb->cb_qtype == M0_NET_QT_ACTIVE_BULK_RECV))
        uc_shadow_copy(shadow, event->cbe_offset, event->cbe_length, true);
}
