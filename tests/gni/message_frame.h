/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Common to message_failure_unit.c, message_receive_unit.c, message_unit.c: progress, endpoints and
 * data. */
#ifndef GNI_MESSAGE_FRAME_H
#define GNI_MESSAGE_FRAME_H

#include "message_standin.h"

/* ---- its progress ---------------------------------------------------------------------------- */

static inline void deliver(void)
{
    const void *message = wire[wire_first].bytes;

    wire_first = (wire_first + 1) % WIRE;
    wire_count--;
    switch (*(const uint8_t *)message) {
    case GNIP_EAGER:
        gnip_eager_arrived(&vc, message);
        break;
    case GNIP_EAGER_ACK:
        gnip_eager_ack_arrived(&vc, message);
        break;
    case GNIP_RNDZV_RTS:
        gnip_rts_arrived(&vc, message);
        break;
    case GNIP_RNDZV_IOV_RTS:
        gnip_iov_rts_arrived(&vc, message);
        break;
    case GNIP_RNDZV_FIN:
        gnip_fin_arrived(&vc, message);
        break;
    default:
        fail();
    }
}

static inline void report(void)
{
    uint32_t i = chance(event_count);
    struct gnip_txd *txd = events[i];
    bool posted = txd->buffer[0] == 0;
    gni_return_t status = GNI_RC_SUCCESS;

    events[i] = events[--event_count];
    if (posted && chance(100) < fail_posts)
        status = GNI_RC_TRANSACTION_ERROR;
    txd->recoverable = true;
    txd->buffer[0] = 0; /* a header begins with its kind */
    txd->done(txd, status);
}

static inline void work_on(struct gnip_queue *queue, bool counts)
{
    struct gnip_qlink *link = gnip_queue_pop(queue);
    struct gnip_req *req;
    int rc;

    if (link == NULL)
        return;
    req = gnip_container(link, struct gnip_req, link);
    if (counts)
        vc.outstanding++;
    rc = req->issue(req);
    if (rc == 0)
        return;
    if (counts)
        vc.outstanding--;
    if (rc == -FI_EAGAIN)
        gnip_queue_prepend(queue, link);
    else
        gnip_req_drop(req, -rc);
}

static inline void progress_once(void)
{
    switch (chance(4)) {
    case 0:
        if (wire_count > 0)
            deliver();
        break;
    case 1:
        if (event_count > 0)
            report();
        break;
    case 2:
        work_on(&vc.work, false);
        break;
    default:
        work_on(&vc.tx_queue, true);
    }
    if (ep->mrecv_stalled)
        gnip_mrecv_retry(ep);
}

static inline void progress_until(uint32_t count)
{
    uint32_t turns = 0;

    while (entry_count < count) {
        progress_once();
        assert_true(++turns < 1000000);
    }
}

static inline void progress_all(void)
{
    uint32_t calm = 0;

    while (calm < 100) {
        bool busy = wire_count + event_count > 0 || !gnip_queue_empty(&vc.work) ||
                    !gnip_queue_empty(&vc.tx_queue);

        progress_once();
        calm = busy ? 0 : calm + 1;
    }
}

static inline void open_ep(uint64_t seed)
{
    struct gnip_lock elided = {.elided = true};

    state = seed;
    ep = calloc(1, sizeof *ep);
    memset(&vc, 0, sizeof vc);
    memset(&nic, 0, sizeof nic);
    memset(regions, 0, sizeof regions);
    memset(txds, 0, sizeof txds);
    memset(txd_used, 0, sizeof txd_used);
    memset(kinds, 0, sizeof kinds);
    wire_first = wire_count = event_count = entry_count = regions_used = 0;
    window_used = window_kept = gets = largest_get = 0;
    trouble = fail_posts = 0;
    broken = 0;
    domain.ctx = &ctx;
    domain.fabric = &fabric;
    domain.params = (struct gnip_params){.rma_rdma_threshold = 8192, .max_retransmits = 5};
    send_cq = (struct gnip_cq){.capacity = 10000, .format = FI_CQ_FORMAT_TAGGED};
    recv_cq = send_cq;
    nic.lock = elided;
    nic.params.mbox_message = 16384;
    ep->type = FI_EP_RDM;
    ep->domain = &domain;
    ep->nic = &nic;
    ep->caps = FI_MSG | FI_TAGGED | FI_SEND | FI_RECV;
    ep->allowed = ep->caps | FI_INJECT;
    ep->lock = elided;
    ep->fid.fid.fclass = FI_CLASS_EP;
    ep->fid.ops = (struct fi_ops_ep *)&gnip_ep_ops_table;
    ep->fid.msg = (struct fi_ops_msg *)&gnip_msg_ops;
    ep->fid.tagged = (struct fi_ops_tagged *)&gnip_tagged_ops;
    ep->send_cq = &send_cq;
    ep->recv_cq = &recv_cq;
    ep->source = true;
    ep->tx_flags = ep->rx_flags = FI_COMPLETION;
    ep->tx_enabled = ep->rx_enabled = true;
    ep->tx_size = ep->rx_size = 500;
    ep->min_multi_recv = 64;
    ep->tagged = gnip_match_new(4, false);
    ep->untagged = gnip_match_new(0, false);
    port_list_init(&ep->vcs);
    port_list_append(&ep->vcs, &vc.ep_link);
    vc.ep = ep;
    vc.nic = &nic;
    vc.state = GNIP_VC_CONNECTED;
    vc.message_bytes = 16384;
    vc.eager_max = 16352;
    vc.tx_credits = 64;
}

/* Operations that have ended leave nothing behind. */
static inline void close_ep(void)
{
    uint32_t place = 0, i, bounces = 0;

    trouble = 0;
    progress_all();
    assert_null(gnip_req_each(ep, &place));
    assert_int_equal(vc.outstanding, 0);
    assert_int_equal(ep->tx_used + ep->rx_used + ep->own_used, 0);
    assert_int_equal(send_cq.reserved + recv_cq.reserved, 0);
    assert_int_equal(vc.tx_credits - 64, vc.tx_credits_used);
    for (i = 0; i < REGIONS; i++) /* pools of bounce buffers stay */
        bounces += regions[i].uses != 0 && regions[i].bytes == 128 * 64;
    assert_int_equal(regions_used, bounces);
    gnip_unexpected_free_all(ep);
    gnip_req_pool_free(ep);
    gnip_bounce_free_all(ep);
    assert_int_equal(regions_used, 0);
    gnip_match_free(ep->tagged);
    gnip_match_free(ep->untagged);
    free(ep);
}

/* ---- messages -------------------------------------------------------------------------------- */

#define AREA (1u << 18)
#define GUARD 0xee

static __attribute__((unused)) uint8_t *source_area, *target_area;

static inline uint8_t pattern(uint64_t place)
{
    return (uint8_t)(place * 131 + (place >> 8) * 7 + 1);
}

/* Cuts `bytes` into pieces that lie apart, begin anywhere, and may be empty. Returns their number.
 */
static inline size_t cut(uint8_t *area, uint64_t bytes, size_t pieces, struct iovec *iov)
{
    uint64_t left = bytes, at = chance(8);
    size_t i;

    for (i = 0; i < pieces; i++) {
        uint64_t part = i == pieces - 1 ? left : chance((uint32_t)left + 1);

        if (chance(3) == 0 && i < pieces - 1)
            part = chance(9) < left ? chance(9) % (left + 1) : left;
        iov[i].iov_base = area + at;
        iov[i].iov_len = part;
        left -= part;
        at += part + 1 + chance(9);
    }
    return pieces;
}

static inline void fill(const struct iovec *iov, size_t count)
{
    uint64_t place = 0;
    size_t i, k;

    for (i = 0; i < count; i++)
        for (k = 0; k < iov[i].iov_len; k++)
            ((uint8_t *)iov[i].iov_base)[k] = pattern(place++);
}

/* The first `bytes` bytes are there, and nothing else was written. */
static inline void check(const struct iovec *iov, size_t count, uint64_t bytes)
{
    uint8_t *area = target_area;
    uint64_t place = 0;
    size_t i, k;

    for (i = 0; i < count; i++) {
        for (; area < (uint8_t *)iov[i].iov_base; area++)
            assert_int_equal(*area, GUARD);
        for (k = 0; k < iov[i].iov_len; k++, area++) {
            if (place < bytes)
                assert_int_equal(*area, pattern(place++));
            else
                assert_int_equal(*area, GUARD);
        }
    }
    for (k = 0; k < 64; k++)
        assert_int_equal(area[k], GUARD);
    assert_int_equal(place, bytes);
}

static __attribute__((unused)) int a_send, a_receive;

static inline const struct entry *entry_of(const void *context)
{
    const struct entry *found = NULL;
    uint32_t i;

    for (i = 0; i < entry_count; i++) {
        if (entries[i].entry.op_context != context)
            continue;
        assert_null(found);
        found = &entries[i];
    }
    assert_non_null(found);
    return found;
}

static inline int areas(void **unused)
{
    source_area = calloc(1, AREA);
    target_area = malloc(AREA);
    wire = malloc(WIRE * sizeof *wire);
    return source_area == NULL || target_area == NULL || wire == NULL ? -1 : 0;
}

static inline int no_areas(void **unused)
{
    free(source_area);
    free(target_area);
    free(wire);
    return 0;
}

#endif
